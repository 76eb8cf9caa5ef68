"""Requests for memory that a function makes before its atomics need them, where its parameters say so from the beginning."""

from collections.abc import Iterator, Mapping, Sequence

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import changed, walk
from mlusim.frontend.bangc.native.rendering import Rendering
from mlusim.isa.table import ISA

_SIMPLE = ("+", "-", "*")  # which no operand makes a fault


def ahead(c: Rendering, form: ir.Function) -> Iterator[str]:
    """Yield the lines for the beginning of *form*, where its statements follow each other and an atomic is behind other ones."""
    _, *later = _in_order(form.body) or (None,)
    stores = changed(walk(form.body))
    for call in later:
        if call is None or not ISA[call.row].atomic or len(call.arguments) != 3:
            continue
        to, _, count = call.arguments
        if isinstance(to.type, t.Pointer) and _known(to, stores) and _known(count, stores):
            yield f"ahead_(m, {c.value(to)}, (int64_t)({c.value(count)}) * {to.type.to.size});"


def _in_order(body: Sequence[ir.Statement]) -> "list[ir.IntrinsicCall | None]":
    """Return the calls of instructions that *body* makes one after another, None for other expressions; nothing where it decides."""
    found: list[ir.IntrinsicCall | None] = []
    for node in body:
        if isinstance(node, ir.Block):
            inner = _in_order(node.body)
            if node.body and not inner:
                return []
            found += inner
        elif isinstance(node, ir.Evaluate):
            found.append(node.value if isinstance(node.value, ir.IntrinsicCall) else None)
        else:
            return []
    return found


def _known(node: ir.Expr, stores: Mapping[ir.Local, int]) -> bool:
    """Return whether *node* is the same from the beginning of the function on, and computing it is all that it does."""
    if isinstance(node, ir.Const):
        return True
    if isinstance(node, ir.Load):
        place = node.place
        return isinstance(place, ir.LocalStorage) and _given(place.local) and not stores.get(place.local)
    if isinstance(node, ir.Convert):
        return _known(node.value, stores)
    if isinstance(node, ir.Offset):
        return _known(node.pointer, stores) and _known(node.count, stores)
    return (
        isinstance(node, ir.Binary)
        and node.op in _SIMPLE
        and _known(node.left, stores)
        and _known(node.right, stores)
    )


def _given(local: ir.Local) -> bool:
    return local.parameter and local.storage is ir.Storage.VALUE
