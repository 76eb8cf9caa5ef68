"""``new`` and ``delete``."""

import re

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Assign,
    Call,
    Comma,
    Delete,
    Element,
    Expr,
    Load,
    LocalStorage,
    New,
)  # fmt: skip
from mlusim.frontend.bangc.lower import braces, calls, endings, expressions
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import Node


def new(scope: FunctionScope, node: Node) -> Expr:
    """``new T``, ``new T(values)`` and ``new T[count]``."""
    if not scope.host:
        scope.refuse(
            "new",
            "new is of the host, not of the device; declare an array, or give the kernel memory",
            node.span,
        )
    text = _behind(scope, node)
    if not _begins(text, "new") and _makes_one(node):
        text = "new T(0)"  # one object, from a macro
    text = re.sub(r"^new\s*\(\s*(std::)?nothrow\s*\)", "new", _checked(scope, node, text, "new"))
    mark, zero = _shape(text[3:])
    if text[3:].lstrip().startswith("("):
        scope.refuse("placement new", "new at a place of its own is not supported", node.span)
    assert isinstance(node.type, t.Pointer)
    of, given = node.type.to, [c for c in node.children if c.type is not None and not _names_nothrow(c)]
    if _shape(text[3:])[0] == "[":
        scope.refuse_destructor(of, node.span)
    if mark == "[":
        return _array(scope, node, of, given, zero=zero)
    if isinstance(of, t.ClassType):
        arguments = given[0].children if given and given[0].kind == "CALL_EXPR" else given
        values = tuple(expressions.value(scope, c) for c in arguments if c.type is not None)
        return New(of, None, zero, values, node.type, node.span)
    made = New(of, None, zero, (), node.type, node.span)
    if not given:
        return made
    here = LocalStorage(scope.hold(node.type, node.span), node.type, node.span)
    held = Load(here, node.type, node.span)
    filled = _filled(scope, node, of, given[0], held)
    if filled is None:
        return made
    stored = Assign(here, made, node.type, node.span)
    return Comma(stored, Comma(filled, held, node.type, node.span), node.type, node.span)


def _names_nothrow(node: Node) -> bool:
    return node.kind == "DECL_REF_EXPR" and node.decl is not None and node.decl.name == "nothrow"


def _array(scope: FunctionScope, node: Node, of: t.Type, given: list[Node], *, zero: bool) -> Expr:
    for rest in given[1:]:
        target = rest.decl
        plain = target is not None and target.kind == "CONSTRUCTOR" and not calls.acts(target)
        empty = zero and not rest.children
        if not (plain or empty or isinstance(of, t.ClassType)):
            scope.refuse("new[]", "values for the elements of an array of new are not supported", rest.span)
    count = expressions.valued(scope, given[0], t.INT64)
    return New(of, count, zero, (), node.type, node.span)


def _filled(scope: FunctionScope, node: Node, of: t.Type, given: Node, held: Expr) -> Expr | None:
    """What gives the new object its value; None where it has none of its own."""
    target = given.decl
    if given.kind == "CALL_EXPR" and target is not None and target.kind == "CONSTRUCTOR":
        if calls.acts(target):
            arguments = calls.passed(scope, given, target, [c for c in given.children if c.type is not None])
            return Call(scope.around.need(target), target.title, (held, *arguments), t.VOID, node.span)
        if not given.children and not braces.has_values(scope, of):
            return None
    at = Element(held, number(0, t.INT64, node), of, node.span)
    return Assign(at, expressions.valued(scope, given, of), of, node.span)


def delete(scope: FunctionScope, node: Node) -> Expr:
    """``delete p`` and ``delete[] p``."""
    array = _checked(scope, node, _behind(scope, node), "delete")[6:].lstrip().startswith("[")
    pointer = expressions.value(scope, node.children[0])
    pointer, end = endings.deleted(scope, pointer, node.span)
    if array and end is not None:
        scope.refuse("destructor", "delete[] of objects with a destructor is not supported", node.span)
    made = Delete(pointer, array, t.VOID, node.span)
    return made if end is None else Comma(end, made, t.VOID, node.span)


def _makes_one(node: Node) -> bool:
    """Whether ``new`` calls the constructor of one object: that of an array has the array's type."""
    made = next((c.type for c in node.children if c.kind == "CALL_EXPR"), None)
    return isinstance(made, t.Record) and isinstance(node.type, t.Pointer) and made is node.type.to


def _behind(scope: FunctionScope, node: Node) -> str:
    """The source from *node* on, for the library does not say what is an array."""
    lines = scope.around.unit.text_of(node.span.file).split("\n")[node.span.line - 1 :][:20]
    return "\n".join([lines[0][node.span.column - 1 :], *lines[1:]]) if lines else ""


def _checked(scope: FunctionScope, node: Node, text: str, word: str) -> str:
    """*text*, which begins with *word* unless a macro has written it."""
    if not _begins(text, word):
        scope.refuse(word, f"{word} in a macro is not supported; write it where it is used", node.span)
    return text


def _begins(text: str, word: str) -> bool:
    """Whether *text* begins with *word*, not with a longer name, as of a macro."""
    return re.match(rf"{word}\b", text) is not None


def _shape(text: str) -> tuple[str, bool]:
    """The first bracket behind ``new``, and whether empty parentheses or braces follow, which make zeros."""
    start = next((n for n, mark in enumerate(text) if mark in "([{;"), len(text) - 1)
    end, depth = start, 0
    if text[start] == "[":
        while end < len(text) and (depth or end == start):
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
    rest = text[end:].lstrip()
    closed = rest[1:].lstrip()[:1]
    return text[start].strip(";"), (rest[:1], closed) in (("(", ")"), ("{", "}"))
