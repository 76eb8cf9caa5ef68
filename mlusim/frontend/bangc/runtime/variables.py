"""Pointers to single variables that are kept outside simulated memory, and what is beside them."""

from types import FunctionType
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, uint8
from mlusim.errors import OutOfBounds, Unsupported
from mlusim.frontend.bangc.runtime.followed import like
from mlusim.frontend.bangc.runtime.pointers import (
    Layout,
    Pointer,
    Unplaced,
    Value,
    VariableAddress,
    beside,
    beyond,
    number,
    read_only,
    see,
    unrelated,
    within,
)


class LonePointer(Unplaced):
    """A pointer to one variable, beside which there is nothing."""

    __slots__ = ()

    def __add__(self, n: int) -> Any:
        return self if n == 0 else BesideVariable(self, n)

    def _ahead(self, other: object) -> int:
        return -_from(other, self)


class Cell(LonePointer, VariableAddress):
    """A variable whose address is taken, and the pointer to it; it is not in simulated memory.

    ``v`` is the value: a number, or a pointer.
    """

    __slots__ = ("layout", "v")

    def __init__(self, layout: Layout, v: Value = 0) -> None:
        self.layout = layout
        self.v = v

    def __getitem__(self, i: int) -> Any:
        return beside(self.layout, past(i, size_of(self))) if i else self.v

    def __setitem__(self, i: int, value: Value) -> None:
        if i:
            raise past(i, size_of(self))
        if self.layout.__class__ is DType:
            self.v = value
            return
        # What is stored through void ** gets the element type of the pointer.
        inner = getattr(self.layout, "pointee", None)
        # Pointers to variables and functions have the type of what they point to, and cannot get another.
        self.v = value if inner is None or isinstance(value, Cell | FunctionType) else see(value, inner)

    @property
    def here(self) -> Any:
        """The value, where it is an object."""
        return self.v

    @property
    def shown(self) -> Any:
        """The value, for who looks at the variable."""
        return self.v

    def cast(self, layout: Layout) -> "Cell | Bits":
        """Return the variable seen as another type."""
        # A pointer that a variable holds has no bytes to be seen: a copy by bytes copies it whole.
        whole = layout is uint8 and not isinstance(self.layout, DType)
        if layout is self.layout or whole or getattr(layout, "pointee", None) is not None:
            return self
        return Bits(self, layout)


class BesideVariable(VariableAddress):
    """A pointer beside a variable or a record, *n* elements away: it may be compared and moved back."""

    __slots__ = ("cell", "n")

    def __init__(self, cell: Any, n: int) -> None:
        self.cell = cell
        self.n = within(n, size_of(cell))

    def __add__(self, n: int) -> Any:
        return self.cell + (self.n + n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BesideVariable) and bool(other.cell == self.cell) and other.n == self.n

    def _ahead(self, other: object) -> int:
        return self.n - _from(other, self.cell)

    def cast(self, _layout: Layout) -> "BesideVariable":
        """Return the pointer itself: its type says nothing here."""
        return self

    @property
    def here(self) -> Any:
        """The record that is not there."""
        raise past(self.n, size_of(self.cell))

    def __getitem__(self, i: int) -> Any:
        if self.n + i:
            return beside(self.cell.layout, past(self.n + i, size_of(self.cell)))
        return self.cell[0]

    def __setitem__(self, i: int, value: Value) -> None:
        if self.n + i:
            raise past(self.n + i, size_of(self.cell))
        self.cell[0] = value


def _from(pointer: Pointer, cell: Any) -> int:
    """Return how many elements behind *cell* a pointer to it is; `MemoryFault` for one to something else."""
    if cell == pointer:
        return 0
    if isinstance(pointer, BesideVariable) and pointer.cell == cell:
        return pointer.n
    return unrelated()


def past(i: int, size: int) -> OutOfBounds:
    """Return the fault of an access to element *i*, of *size* bytes, of what is one variable."""
    return OutOfBounds(
        f"element {within(i, size)} of a pointer to one variable is accessed", legal="element 0"
    )


def size_of(variable: Any) -> int:
    """Return the bytes of a variable, or of a record."""
    # The layouts of pointers have no size of their own: each has eight bytes.
    return int(getattr(variable.layout, "size", 8))


class Bits(VariableAddress):
    """The bytes of a variable from *offset* on, seen as another type: ``*(int *)&x``."""

    __slots__ = ("cell", "dtype", "offset")

    def __init__(self, cell: Any, dtype: DType, offset: int = 0) -> None:
        self.cell = cell
        self.dtype = dtype
        self.offset = within(offset, 1)

    def _bytes(self) -> Any:
        if not isinstance(self.cell.layout, DType):
            raise Unsupported(
                "a pointer is seen as a number through another pointer", hint="convert the value itself"
            )
        return np.array([self.cell.v]).astype(self.cell.layout.dtype).view(np.uint8)

    def _part(self, raw: Any, i: int) -> slice:
        size = self.dtype.size
        start = self.offset + i * size
        if not 0 <= start <= raw.size - size:
            raise past(start // size, size)
        return slice(start, start + size)

    def __getitem__(self, i: int) -> Any:
        raw = self._bytes()
        return like(number(raw[self._part(raw, i)].view(self.dtype.dtype)[0], self.dtype), self.cell.v)

    def __setitem__(self, i: int, value: Value) -> None:
        raw = self._bytes()
        raw[self._part(raw, i)] = np.array([value]).astype(self.dtype.dtype).view(np.uint8)
        old = self.cell.v
        self.cell.v = like(number(raw.view(self.cell.layout.dtype)[0], self.cell.layout), value, old)

    @property
    def _unit(self) -> int:  # type: ignore[override]
        return self.dtype.size

    def __add__(self, n: int) -> "Bits":
        return Bits(self.cell, self.dtype, self.offset + n * self.dtype.size)

    def __eq__(self, other: object) -> bool:
        return bool(_cell_of(other) == self.cell) and self._ahead(other) == 0

    def _ahead(self, other: object) -> int:
        if _cell_of(other) != self.cell:
            unrelated()
        return self.offset - int(getattr(other, "offset", 0))

    def cast(self, layout: Layout) -> Any:
        """Return the same place seen as yet another type."""
        return self.cell.cast(layout) if self.offset == 0 else Bits(self.cell, layout, self.offset)


def _cell_of(pointer: Pointer) -> Any:
    return pointer.cell if isinstance(pointer, Bits) else pointer


class VariableOfC(VariableAddress):
    """A pointer from C to a variable of its own: Python cannot reach the variable, and only says what is wrong with an access.

    It is *offset* bytes from the variable, which is an array of *count* elements of *element* bytes, or one of so many bytes
    where *count* is 0, and has *nbytes* in all; the pointer's own elements have *size* bytes.  *words* name a constant.
    """

    __slots__ = ("count", "element", "nbytes", "offset", "size", "words")

    def __init__(self, offset: int, size: int, nbytes: int, element: int, words: str) -> None:
        self.offset, self.size, self.nbytes, self.words = offset, size, nbytes, words
        self.count, self.element = nbytes // element if element > 0 else 0, abs(element)

    def _refuse(self, i: int) -> OutOfBounds:
        at = self.offset + i * self.size
        if self.count:
            return beyond(at // self.element, self.count, self.element)
        size = self.element or self.size
        return past(at // size, size)

    def __getitem__(self, i: int) -> Any:
        raise self._refuse(i)

    def __setitem__(self, i: int, value: Value) -> None:
        inside = 0 <= self.offset + i * self.size <= self.nbytes - self.size
        raise read_only(self.words) if self.words and inside else self._refuse(i)

    def __sub__(self, other: Pointer) -> Any:
        unrelated()
