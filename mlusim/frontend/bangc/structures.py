"""A structure as a kernel's argument: a tuple of its members, in their order, in which arrays and structures are sequences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlusim.counted import counted
from mlusim.errors import LaunchError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.fitting import misfit
from mlusim.frontend.bangc.render.layouts import dtype
from mlusim.frontend.bangc.runtime.layouts import NULL, ArrayLayout, PointerLayout, RecordLayout
from mlusim.frontend.bangc.runtime.pointers import Layout, Value, see
from mlusim.frontend.bangc.scalars import converted
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr


def check(argument: object, parameter: ir.Local) -> None:
    """Raise `LaunchError` where *argument* is no structure as *parameter* takes one."""
    kind = parameter.type
    _check(argument, kind, f"{parameter.source_name} of {kind} at {parameter.span}")


def _check(value: Value, kind: t.Type, named: str) -> None:
    if isinstance(kind, t.Record):
        found = kind.paired(value)
        if found is None:
            raise LaunchError(f"{named} is given {value!r:.80}; give {kind.as_tuple}")
        for field, part in found:
            _check(part, field.type, f"{field.name} of {named}")
    elif isinstance(kind, t.Array):
        flat = isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= kind.count
        if not flat:
            raise LaunchError(f"{named} is given {value!r:.80}; give up to {counted(kind.count, 'value')}")
        for n, part in enumerate(value):
            _check(part, kind.of, f"element {n} of {named}")
    else:
        wanted = _unfit(value, kind)
        if wanted:
            raise LaunchError(f"{named} is given {wanted}")


def _unfit(value: object, kind: t.Type) -> str | None:
    """Return what a number or a pointer of *kind* is given, and what it takes; None where *value* fits."""
    if isinstance(kind, t.Arithmetic):
        number = isinstance(value, int | float | np.generic)
        return misfit(kind, value) if number else f"{value!r:.80}; give a number"
    if isinstance(kind, t.Pointer):
        # An integer is refused although C would take it as an address: on the host it is a mistake as a rule.
        memory = value is None or isinstance(value, DeviceTensor | Ptr)
        return misfit(kind, value) if memory else f"{value!r:.80}; it takes a tensor, a pointer or None"
    return f"{value!r:.80}; a {kind} cannot come from the host"


def made(value: Value, kind: t.Type, layout: Layout) -> Any:
    """Make the Python engine's object for *value*, which fits *kind* and the *layout* of it."""
    if isinstance(kind, t.Record):
        assert isinstance(layout, RecordLayout)
        parts = kind.paired(value) or []
        return layout.make(*(made(part, field.type, layout.fields[field.name][0]) for field, part in parts))
    if isinstance(kind, t.Array):
        assert isinstance(layout, ArrayLayout)
        return layout.make(*(made(part, kind.of, layout.element) for part in value))
    if isinstance(kind, t.Pointer):
        assert isinstance(layout, PointerLayout)
        return NULL if value is None else see(value, layout.pointee)
    assert isinstance(kind, t.Arithmetic)
    return converted(value.item() if isinstance(value, np.generic) else value, kind)


def packed(value: object, kind: t.Type, pointer: Callable[[Ptr], int]) -> bytes:
    """Return the bytes of C of *value*, which fits *kind*; *pointer* names a pointer by a word."""
    raw = bytearray(kind.size)
    _pack(raw, 0, value, kind, pointer)
    return bytes(raw)


def _pack(raw: bytearray, at: int, value: Value, kind: t.Type, pointer: Callable[[Ptr], int]) -> None:
    if isinstance(kind, t.Record):
        for field, part in kind.paired(value) or ():
            _pack(raw, at + field.offset, part, field.type, pointer)
    elif isinstance(kind, t.Array):
        for n, part in enumerate(value):
            _pack(raw, at + n * kind.of.size, part, kind.of, pointer)
    elif isinstance(kind, t.Pointer):
        # None is the null pointer, whose word is 0.
        word = pointer(value) if isinstance(value, Ptr) else 0
        raw[at : at + 8] = word.to_bytes(8, "little")
    else:
        assert isinstance(kind, t.Arithmetic)
        raw[at : at + kind.size] = number(value, kind)


def number(value: object, kind: t.Arithmetic) -> bytes:
    """Return the bytes of the number *value* as a *kind*."""
    given = converted(value.item() if hasattr(value, "item") else value, kind)
    if kind.kind != "float":
        return (int(given) & (1 << 8 * kind.size) - 1).to_bytes(kind.size, "little")
    form = np.float64 if kind.size == 8 else dtype(kind).dtype.type
    return bytes(form(given).tobytes())
