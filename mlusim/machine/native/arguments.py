"""The arguments and results of calls between C and Python: numbers, pointers, texts."""

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.dtypes import MEMORY_TYPES, DType
from mlusim.engine.native import layout
from mlusim.isa.register import BYTES, Register
from mlusim.memory.direction import direction_of
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.machine.native.core import NativeCore


class RegisterInC(Register):
    """A vector register whose bytes C keeps."""

    __slots__ = ("_raw",)

    def __init__(self, dtype: DType, address: int) -> None:
        self.dtype = dtype
        self._raw = np.frombuffer(memoryview((ctypes.c_uint8 * BYTES).from_address(address)), np.uint8)

    @property
    def values(self) -> "np.ndarray[Any, Any] | None":
        """Its elements; None where nothing has written it."""
        unset = self._raw[: len(layout.UNSET)].tobytes() == layout.UNSET
        return None if unset else self._raw.view(self.dtype.dtype)

    @values.setter
    def values(self, elements: "np.ndarray[Any, Any] | None") -> None:
        assert elements is not None
        self._raw.view(self.dtype.dtype)[:] = elements


def answer(core: "NativeCore", value: Any) -> None:
    """Hand C the *value* of its call on *core*."""
    place = core.c.argv[0]
    if value is None:
        place.kind, place.bits = layout.INTEGER, 0
    elif isinstance(value, Ptr):
        place.kind, place.bits = layout.POINTER, core.pointer(value)
    elif isinstance(value, float | np.floating) or getattr(value, "dtype", None) == MEMORY_TYPES[1].dtype:
        place.kind = layout.FLOAT
        place.bits = int(np.float64(value).view(np.uint64))
    else:
        place.kind = layout.INTEGER
        place.bits = int(value) & (1 << 64) - 1


def value_of(core: "NativeCore", argument: Any) -> Any:
    """Return the Python value of an argument that C passed on *core*."""
    kind, bits, dtype = argument.kind, argument.bits, argument.dtype
    if kind == layout.POINTER:
        return core.pointer_of(bits, dtype)
    if kind == layout.REGISTER:
        return RegisterInC(MEMORY_TYPES[dtype], bits)
    if kind == layout.TEXT:
        return core.text(bits)
    if kind == layout.FLOAT:
        number = np.uint64(bits).view(np.float64)
        return float(number) if dtype < 0 else MEMORY_TYPES[dtype].dtype.type(number)
    whole = bits - (1 << 64) if bits >> 63 and kind != layout.UNSIGNED else bits
    if kind == layout.DIRECTION:
        return direction_of(whole)
    return whole if dtype < 0 else MEMORY_TYPES[dtype](whole)
