"""Variables outside simulated memory, each also the pointer to itself."""

from types import FunctionType
from typing import Any

from mlusim.arch.dtypes import DType
from mlusim.bangc.runtime.followed import Value
from mlusim.bangc.runtime.pointers import (
    InVariable,
    Layout,
    Pointer,
    Unplaced,
    VariableAddress,
    no_bytes,
    outside,
    past,
    read_only,
    see,
    size_of,
    unrelated,
)
from mlusim.errors import Fault


class LonePointer(Unplaced):
    """A pointer to a single variable, without neighbours."""

    __slots__ = ()

    @property
    def _unit(self) -> int:  # type: ignore[override]
        return size_of(self)

    def part(self, at: int, layout: Layout) -> Any:  # noqa: ARG002 - a number or a pointer has none
        """Return the struct of *layout* at byte *at*, or None."""
        return None

    def leaf(self, at: int) -> tuple[Any, int]:
        """Return a pointer to the number or pointer that contains byte *at*, and the byte's index in it; None between members."""
        return self, at

    def __add__(self, n: int) -> Any:
        return InVariable(self, self.layout, n * size_of(self)) if n else self  # type: ignore[attr-defined]  # each has one


class Cell(LonePointer, VariableAddress):
    """A variable outside simulated memory whose address is taken, and the pointer to it.

    ``v`` is the value: a number, or a pointer.
    """

    __slots__ = ("layout", "v")

    def __init__(self, layout: Layout, v: Value = 0) -> None:
        self.layout = layout
        self.v = v

    def __getitem__(self, i: int) -> Any:
        if i:
            raise past(i, size_of(self))
        return self.v

    def __setitem__(self, i: int, value: Value) -> None:
        if i:
            raise past(i, size_of(self))
        if self.layout.__class__ is DType:
            self.v = value
            return
        # A pointer stored through void ** gets the element type of the variable.
        inner = getattr(self.layout, "pointee", None)
        # Pointers to variables and functions keep their own element type.
        self.v = value if inner is None or isinstance(value, Cell | FunctionType) else see(value, inner)

    @property
    def here(self) -> Any:
        """The value, if it is an object."""
        return self.v

    @property
    def shown(self) -> Any:
        """The value, for debuggers."""
        return self.v

    def cast(self, layout: Layout) -> "Cell | InVariable":
        """Return a pointer to the variable with another type."""
        pointers = hasattr(layout, "pointee") and hasattr(self.layout, "pointee")
        return self if layout is self.layout or pointers else InVariable(self, layout, 0)


class VariableOfC(VariableAddress):
    """A pointer to a variable of C code: Python cannot read the variable, and only reports the fault of an access.

    It points *offset* bytes into the variable: an array of *count* elements of *element* bytes, or with
    *count* 0 a single value; *nbytes* is the total size. The pointer's elements have *size* bytes. *words*
    describe a constant.
    """

    __slots__ = ("count", "element", "nbytes", "offset", "size", "words")

    def __init__(self, offset: int, size: int, nbytes: int, element: int, words: str) -> None:
        self.offset, self.size, self.nbytes, self.words = offset, size, nbytes, words
        self.count, self.element = nbytes // element if element > 0 else 0, abs(element)

    def _refuse(self, i: int) -> Fault:
        at = self.offset + i * self.size
        inside = 0 <= at <= self.nbytes - self.size
        return no_bytes() if inside else outside(at, self.size, self.element, self.count)

    def __getitem__(self, i: int) -> Any:
        raise self._refuse(i)

    def __setitem__(self, i: int, value: Value) -> None:
        inside = 0 <= self.offset + i * self.size <= self.nbytes - self.size
        raise read_only(self.words) if self.words and inside else self._refuse(i)

    def __sub__(self, other: Pointer) -> Any:
        unrelated()
