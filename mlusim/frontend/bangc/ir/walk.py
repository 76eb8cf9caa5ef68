"""Walks over a function's form: every node, which locals change, which pointers are cast, where it falls through."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.expressions import (
    Assign,
    Conditional,
    Const,
    Convert,
    Load,
    LocalStorage,
    Logical,
    Unary,
    Update,
)
from mlusim.frontend.bangc.ir.names import Global, Local, Span
from mlusim.frontend.bangc.ir.statements import (
    Block,
    Declare,
    Evaluate,
    Finally,
    Goto,
    If,
    Labelled,
    Loop,
    Return,
    Switch,
)

_STATEMENTS = (Evaluate, If, Loop, Switch, Return)


def parts_of(node: Any) -> list[tuple[Any, ...]]:
    """Return the statements in a statement that is no loop and no switch: a break in them belongs to what is around it."""
    if isinstance(node, If):
        return [node.then, node.other]
    if isinstance(node, Block):
        return [node.body]
    if isinstance(node, Labelled):
        return list(node.sections)
    if isinstance(node, Finally):
        return [node.body, node.last]
    return []


def falls(statements: tuple[Any, ...]) -> bool:
    """Return whether control may come to the end of *statements*, as far as their last one tells."""
    last = statements[-1] if statements else None
    if isinstance(last, Return | Goto):
        return False
    if isinstance(last, If):
        return falls(last.then) or falls(last.other)
    if isinstance(last, Block):
        return falls(last.body)
    return True


def changed(nodes: Iterable[Any]) -> Mapping[Local, int]:
    """Return how many of *nodes* store to each local."""
    stores = (n.place for n in nodes if isinstance(n, Assign | Update))
    return Counter(place.local for place in stores if isinstance(place, LocalStorage))


def casts(nodes: Iterable[Any]) -> Mapping[tuple[Local, t.Type], int]:
    """Return how many of *nodes* cast each local to a pointer to each type."""
    return Counter(
        (n.value.place.local, n.type.to)
        for n in nodes
        if isinstance(n, Convert)
        and isinstance(n.type, t.Pointer)
        and isinstance(n.value, Load)
        and isinstance(n.value.place, LocalStorage)
    )


def is_branch(test: Any) -> bool:
    """Return whether the outcome of *test* counts by itself: that of a constant is known, that of ``&&`` and ``||`` is its operands'."""
    while isinstance(test, Convert) or (isinstance(test, Unary) and test.op == "!"):
        test = test.value
    return not isinstance(test, Const | Logical)


def branches(body: tuple[Any, ...]) -> Iterator[Span]:
    """Yield the places of the tests in *body*: of if, loops and ``?:``, and the operands of ``&&`` and ``||``."""
    for node in walk(body):
        tests: tuple[Any, ...] = ()
        if isinstance(node, If | Loop | Conditional):
            tests = (node.test,)
        elif isinstance(node, Logical):
            tests = (node.left, node.right)
        for test in tests:
            if test is not None and is_branch(test):
                yield test.span


def is_counted(node: Any) -> bool:
    """Return whether coverage counts the statement *node*; what jumps has nothing to count but the test before it."""
    return isinstance(node, _STATEMENTS) or (isinstance(node, Declare) and node.value is not None)


def steps(body: tuple[Any, ...]) -> Iterator[Span]:
    """Yield the places of the statements in *body* that coverage counts."""
    return (node.span for node in walk(body) if is_counted(node))


def walk(node: Any) -> list[Any]:
    """*node* and every statement, expression and place in it."""
    found: list[Any] = []
    _collect(node, found)
    return found


def _collect(node: Any, found: list[Any]) -> None:
    # Not isinstance: a Span is a tuple, too, and has no nodes in it. The walk is over every node of every file.
    if node.__class__ is tuple:
        for part in node:
            _collect(part, found)
        return
    names = inner_names(node.__class__)
    if names is not None:
        found.append(node)
        for name in names:
            _collect(getattr(node, name), found)


@functools.cache
def inner_names(kind: type) -> tuple[str, ...] | None:
    """Return the attributes of a node in which there may be nodes; None for what is no node."""
    # They are shared between nodes, and records refer to themselves.
    types_and_names = (Local, Global, t.Arithmetic, t.Pointer, t.Array, t.Record)
    if not attrs.has(kind) or issubclass(kind, types_and_names):
        return None
    return tuple(
        a.name for a in attrs.fields(kind) if a.name not in ("type", "span", "within", "local", "overload")
    )
