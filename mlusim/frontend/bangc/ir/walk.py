"""A way through the intermediate form."""

import functools
from collections.abc import Iterator
from typing import Any

import attrs

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.names import Global, Local
from mlusim.frontend.bangc.ir.statements import Block, Finally, If, Labelled, Try


def parts_of(node: Any) -> list[tuple[Any, ...]]:
    """The statements in a statement that is no loop and no switch: a break in them belongs to what is around it."""
    if isinstance(node, If):
        return [node.then, node.other]
    if isinstance(node, Block):
        return [node.body]
    if isinstance(node, Labelled):
        return list(node.sections)
    if isinstance(node, Finally):
        return [node.body, node.last]
    if isinstance(node, Try):
        return [node.body, *(h.body for h in node.handlers)]
    return []


_LEAVES = (Local, Global, t.Arithmetic, t.Pointer, t.Array, t.Record)


def walk(node: Any) -> Iterator[Any]:
    """*node* and every statement, expression and place in it."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif attrs.has(type(node)) and not isinstance(node, _LEAVES):
        yield node
        for name in _names(type(node)):  # type: ignore[arg-type]  # classes are hashable
            yield from walk(getattr(node, name))


@functools.cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(
        a.name for a in attrs.fields(kind) if a.name not in ("type", "span", "within", "local", "overload")
    )
