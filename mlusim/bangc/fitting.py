"""Checks the arguments of a launch against the kernel's parameters; converts structures (tuples) and values to C bytes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, as_elements, uint8
from mlusim.bangc import ir, types as t
from mlusim.bangc.runtime.followed import Value
from mlusim.bangc.runtime.layouts import NULL, ArrayLayout, PointerLayout, StructLayout
from mlusim.bangc.runtime.pointers import Address, Layout, see
from mlusim.bangc.scalars import converted
from mlusim.counted import counted
from mlusim.errors import LaunchError
from mlusim.machine.kernel import DeviceVariable
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import MemoryDeclaration
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM

LONG = 128  # numbers with more bits are not printed in full
_BITS_OF_BFLOAT16 = 2  # bytes; files have no bfloat16, so integers of this size carry it


def limits_of(parameter: ir.Local) -> tuple[int, int]:
    """Return the smallest and largest integer that *parameter* takes unchanged; an empty range if it takes no integers."""
    kind = parameter.type
    if isinstance(kind, t.Arithmetic) and kind.whole and kind.kind != "bool":
        return kind.low, kind.high
    return 1, 0


class Fitting:
    """The argument check of one *parameter*, with a fast path for argument types that fitted before."""

    def __init__(self, parameter: ir.Local) -> None:
        self.parameter = parameter
        self._low, self._high = limits_of(parameter)
        self._elements: set[DType] = set()

    def misfit(self, argument: Any) -> str | None:
        """Return what the function `misfit` returns for the parameter."""
        tensor = argument.__class__ is DeviceTensor
        if (
            argument.dtype in self._elements
            if tensor
            else argument.__class__ is int and self._low <= argument <= self._high
        ):
            return None
        reason = misfit(self.parameter.type, argument)
        if tensor and reason is None:
            self._elements.add(argument.dtype)
        return reason


def misfit(kind: t.Type, argument: object) -> str | None:
    """Return None if *argument* fits type *kind*, else a text that shows the argument and says what the type takes."""
    if isinstance(kind, t.Pointer):
        if isinstance(argument, DeviceTensor):
            wanted = other_elements(argument.dtype, kind.to)
            return None if wanted is None else f"a tensor of {argument.dtype}; it takes {wanted}"
        if isinstance(argument, int | float):
            return f"{argument!r}; it takes a tensor, a pointer or None"
    if isinstance(kind, t.Arithmetic) and kind.whole and kind.kind != "bool":
        value = argument.item() if hasattr(argument, "item") else argument
        if isinstance(value, float) and not value.is_integer():
            return f"{value!r}; it takes a whole number"
        if isinstance(value, int | float) and not kind.low <= value <= kind.high:
            return f"{_said(value)}; it takes {kind.low} to {kind.high}"
    if isinstance(kind, t.Arithmetic) and kind.kind == "float" and isinstance(argument, int):
        try:
            float(argument)
        except OverflowError:
            return f"{_said(argument)}; it takes what a double holds"
    return None


def _said(value: float) -> str:
    """Return a number as text, short enough for a message."""
    long = isinstance(value, int) and value.bit_length() > LONG
    return f"a number of {int(value).bit_length()} bits" if long else repr(value)


def other_elements(have: DType, to: t.Type) -> DType | None:
    """Return the element type that a pointer to *to* requires if *have* does not fit, else None; bytes and void take all types."""
    if not isinstance(to, t.Arithmetic) or to.size == 1 or to == t.DOUBLE:
        return None
    wanted = t.DTYPE_OF[next(s for s in t.SCALARS if t.alike(s, to))]
    raw = have.size == _BITS_OF_BFLOAT16 and to.name == t.BFLOAT16.name and have.kind != "float"
    fits = raw or (have.size == to.size and (have.kind == "float") == (to.kind == "float"))
    return None if fits else wanted


# A structure as a kernel argument is a tuple of its members in order; its arrays and nested structures are
# sequences.


def check_structure(argument: object, parameter: ir.Local) -> None:
    """Raise `LaunchError` if *argument* is not a valid structure for *parameter*."""
    kind = parameter.type
    _check(argument, kind, f"{parameter.source_name} of {kind} at {parameter.span}")


def _check(value: Value, kind: t.Type, named: str) -> None:
    if isinstance(kind, t.Struct):
        pairs = kind.paired(value)
        if pairs is None:
            raise LaunchError(f"{named} is given {value!r:.80}; give {kind.as_tuple}")
        for field, part in pairs:
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
    """Return a text that shows *value* and says what *kind*, a number or a pointer, takes; None if the value fits."""
    if isinstance(kind, t.Arithmetic):
        number = isinstance(value, int | float | np.generic)
        return misfit(kind, value) if number else f"{value!r:.80}; give a number"
    if isinstance(kind, t.Pointer):
        # An integer is refused although C would take it as an address: from the host it is usually a mistake.
        memory = value is None or isinstance(value, DeviceTensor | Ptr | Address)
        return misfit(kind, value) if memory else f"{value!r:.80}; it takes a tensor, a pointer or None"
    return f"{value!r:.80}; a {kind} cannot come from the host"


def made_structure(value: Value, kind: t.Type, layout: Layout) -> Any:
    """Return the Python engine's object for *value*, which fits *kind*; *layout* is the layout of *kind*."""
    if isinstance(kind, t.Struct):
        assert isinstance(layout, StructLayout)
        layouts = {field: layout.fields[t.attribute_of(field.name)][0] for field in kind.fields}
        parts = kind.paired(value) or []
        return layout.make(*(made_structure(part, field.type, layouts[field]) for field, part in parts))
    if isinstance(kind, t.Array):
        assert isinstance(layout, ArrayLayout)
        return layout.make(*(made_structure(part, kind.of, layout.element) for part in value))
    if isinstance(kind, t.Pointer):
        assert isinstance(layout, PointerLayout)
        # An invalid address is accepted too; its use is a fault.
        return NULL if value is None else see(value, layout.pointee)
    assert isinstance(kind, t.Arithmetic)
    return converted(value.item() if isinstance(value, np.generic) else value, kind)


def packed_structure(value: object, kind: t.Type, pointer: Callable[[Ptr], int]) -> bytes:
    """Return the C bytes of *value*, which fits *kind*; *pointer* converts a pointer to a 64-bit word."""
    raw = bytearray(kind.size)
    _pack(raw, 0, value, kind, pointer)
    return bytes(raw)


def _pack(raw: bytearray, at: int, value: Value, kind: t.Type, pointer: Callable[[Ptr], int]) -> None:
    if isinstance(kind, t.Struct):
        for field, part in kind.paired(value) or ():
            _pack(raw, at + field.offset, part, field.type, pointer)
    elif isinstance(kind, t.Array):
        for n, part in enumerate(value):
            _pack(raw, at + n * kind.of.size, part, kind.of, pointer)
    elif isinstance(kind, t.Pointer):
        # None is the null pointer, 0; an address that points to nothing keeps its value.
        word = (
            pointer(value) if isinstance(value, Ptr) else value.address if isinstance(value, Address) else 0
        )
        raw[at : at + 8] = word.to_bytes(8, "little")
    else:
        assert isinstance(kind, t.Arithmetic)
        raw[at : at + kind.size] = packed_number(value, kind)


def packed_number(value: object, kind: t.Arithmetic) -> bytes:
    """Return the C bytes of the number *value*, converted to *kind*."""
    number = converted(value.item() if hasattr(value, "item") else value, kind)
    if kind.kind != "float":
        return (int(number) & (1 << 8 * kind.size) - 1).to_bytes(kind.size, "little")
    form = np.float64 if kind.size == 8 else t.memory_dtype(kind).dtype.type
    return bytes(form(number).tobytes())


# -- variables at file scope in GDRAM --------------------------------------------------------------------

CONSTANT_BYTES = 64  # constants are padded with zeros to a multiple of this size


def device_variable(variable: ir.Global, home: object) -> DeviceVariable:
    """Return the device memory of *variable* in the file *home*, as numbers, or as bytes if its elements are not numbers."""
    kind, leaf, span = variable.type, t.element_of(variable.type), variable.span
    dtype = t.memory_dtype(leaf) if isinstance(leaf, t.Arithmetic) else uint8
    declared = MemoryDeclaration(
        GDRAM, dtype, kind.size // dtype.size, span.file, span.line, variable.name, const=bool(variable.fixed)
    )
    # A published kernel for MLU370 copies four numbers from a constant of three, so the compiler pads
    # constants (inferred).
    nbytes = -(-kind.size // CONSTANT_BYTES) * CONSTANT_BYTES if variable.fixed else kind.size
    content = _content(kind, leaf, variable.initial or ())
    return DeviceVariable(home, variable.symbol, declared, content, nbytes)


def _content(kind: t.Type, leaf: t.Type, scalars: Sequence[Any]) -> bytes:
    """Return the C bytes of the first *scalars* of a *kind*, in order of memory."""
    if isinstance(leaf, t.Arithmetic):
        elements = as_elements(scalars, t.memory_dtype(leaf))
        assert elements is not None  # all are numbers
        return bytes(elements.tobytes())
    raw = bytearray()
    for (at, inner), value in zip(_scalars(kind, 0), scalars, strict=False):
        raw += bytes(at - len(raw))
        raw += packed_number(value, inner) if isinstance(inner, t.Arithmetic) else bytes(inner.size)
    return bytes(raw)


def _scalars(kind: t.Type, at: int) -> Iterator[tuple[int, t.Type]]:
    """Yield the byte offset and the type of each number and pointer in a *kind* that starts at byte *at*."""
    if isinstance(kind, t.Array):
        for n in range(kind.count):
            yield from _scalars(kind.of, at + n * kind.of.size)
    elif isinstance(kind, t.Struct):
        for field in kind.fields:
            yield from _scalars(field.type, at + field.offset)
    else:
        yield at, kind
