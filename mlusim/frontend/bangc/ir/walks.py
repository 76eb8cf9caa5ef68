"""What is in a function's form: every node, which locals change, which pointers are cast."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t


def changed(nodes: Iterable[Any]) -> Mapping[ir.Local, int]:
    """How many of *nodes* store to each local."""
    stores = (n.place for n in nodes if isinstance(n, ir.Assign | ir.Update))
    return Counter(place.local for place in stores if isinstance(place, ir.LocalStorage))


def casts(nodes: Iterable[Any]) -> Mapping[tuple[ir.Local, t.Type], int]:
    """How many of *nodes* cast each local to a pointer to each type."""
    return Counter(
        (n.value.place.local, n.type.to)
        for n in nodes
        if isinstance(n, ir.Convert)
        and isinstance(n.type, t.Pointer)
        and isinstance(n.value, ir.Load)
        and isinstance(n.value.place, ir.LocalStorage)
    )


def walk(node: Any) -> list[Any]:
    """*node* and every statement, expression and place in it."""
    found: list[Any] = []
    _collect(node, found)
    return found


def _collect(node: Any, found: list[Any]) -> None:
    if node.__class__ is tuple:
        for part in node:
            _collect(part, found)
        return
    names = _parts(node.__class__)
    if names is not None:
        found.append(node)
        for name in names:
            _collect(getattr(node, name), found)


@functools.cache
def _parts(kind: type) -> tuple[str, ...] | None:
    """The attributes of a node in which there may be nodes; None for what is no node."""
    types_and_names = (ir.Local, ir.Global, t.Arithmetic, t.Pointer, t.Array, t.Record)
    if not attrs.has(kind) or issubclass(kind, types_and_names):
        return None
    return tuple(
        a.name for a in attrs.fields(kind) if a.name not in ("type", "span", "within", "local", "overload")
    )
