"""Referents of C++ references that are no variables: an element somewhere."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, uint8

Layout = Any
"""The type that memory is seen as: a `DType` of numbers, or a layout of records, arrays or pointers (`layouts`)."""
Pointer = Any
"""A pointer of any class of the run-time, or of the machine (`Ptr`)."""
Value = Any
"""A value of C as Python has it: a number, a pointer, or the object of a record."""


class Ordered:
    """The comparisons of pointers, which follow from how far one is ahead of another."""

    __slots__ = ()

    def _ahead(self, other: Pointer) -> int:
        """Return how far this pointer is ahead of *other*, in a unit of its own; raises `MemoryFault` for one without an order to it."""
        raise NotImplementedError

    def __lt__(self, other: object) -> bool:
        return self._ahead(other) < 0

    def __le__(self, other: object) -> bool:
        return self._ahead(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._ahead(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._ahead(other) >= 0


class Referred:
    """A pointer whose first element is ``v``, as a `Cell` has its value, so that code need not know what a reference is."""

    __slots__ = ()

    @property
    def v(self) -> Any:
        """The element that is pointed to; numbers are those of Python."""
        found = self[0]  # type: ignore[index]
        if not isinstance(found, np.generic):
            return found
        return int(found) if found.dtype.kind in "iub" else float(found)

    @v.setter
    def v(self, value: object) -> None:
        self[0] = value  # type: ignore[index]


class ScratchPointer(Referred):
    """A typed pointer to a byte of *raw*."""

    __slots__ = ("dtype", "offset", "raw")

    def __init__(self, raw: bytearray, offset: int = 0, dtype: DType = uint8) -> None:
        self.raw = raw
        self.offset = offset
        self.dtype = dtype

    def _element(self, i: int) -> "np.ndarray[Any, Any]":
        return np.frombuffer(self.raw, self.dtype.dtype, 1, self.offset + i * self.dtype.size)

    def __getitem__(self, i: int) -> Any:
        return self._element(i)[0]

    def __setitem__(self, i: int, value: object) -> None:
        self._element(i)[0] = value

    def __add__(self, n: int) -> "ScratchPointer":
        return ScratchPointer(self.raw, self.offset + n * self.dtype.size, self.dtype)

    def cast(self, layout: Layout) -> Any:
        """Return the same byte as a pointer to what *layout* describes."""
        if isinstance(layout, DType):
            return ScratchPointer(self.raw, self.offset, layout)
        return layout.of(self)
