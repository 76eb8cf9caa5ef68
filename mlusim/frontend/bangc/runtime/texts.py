"""String literals in device code: arguments of prints, and bytes that may be read."""

from typing import Any, NoReturn, Self

import numpy as np

from mlusim.arch.dtypes import DType, int8
from mlusim.errors import MemoryFault, Unsupported
from mlusim.frontend.bangc.runtime.pointers import beyond, no_number, number, unrelated
from mlusim.frontend.bangc.runtime.referred import Layout, Ordered, Pointer


class TextPointer(Ordered, str):
    """A pointer to a character of a literal; as a string of Python, what is from there to the end."""

    __slots__ = ("dtype", "offset", "raw")

    raw: bytes  # of the whole literal; equal ones are one
    offset: int  # in bytes
    dtype: DType  # of what it is said to point to

    def __new__(cls, text: str) -> Self:
        """Return the pointer to the first character of *text*."""
        return cls.at(text.encode("utf-8", "surrogateescape") + b"\0", 0, int8)

    @classmethod
    def at(cls, raw: bytes, offset: int, dtype: DType) -> Self:
        """Return the pointer *offset* bytes into a literal, to elements of *dtype*."""
        rest = raw[offset:] if offset >= 0 else b""
        made = super().__new__(cls, rest.partition(b"\0")[0].decode("utf-8", "surrogateescape"))
        made.raw, made.offset, made.dtype = raw, offset, dtype
        return made

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return super().__getitem__(i)
        size = self.dtype.size
        start = self.offset + i * size
        if not 0 <= start <= len(self.raw) - size:
            raise beyond(start // size, len(self.raw) // size, size)
        return number(np.frombuffer(self.raw, self.dtype.dtype, 1, start)[0], self.dtype)

    def __setitem__(self, i: int, value: object) -> None:
        raise MemoryFault("a store to a string literal", hint="make it an array: char text[] = ...")

    @property
    def v(self) -> Any:
        """The character, for a reference to it."""
        return self[0]

    def __add__(self, n: Any) -> Any:
        return self.at(self.raw, self.offset + n * self.dtype.size, self.dtype)

    def __sub__(self, other: Pointer) -> Any:
        return self._ahead(other) if isinstance(other, TextPointer) else self + -other

    def _ahead(self, other: object) -> int:
        if not isinstance(other, TextPointer) or other.raw != self.raw:
            unrelated()
        return (self.offset - other.offset) // self.dtype.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextPointer):
            return isinstance(other, str) and str(self) == other
        return other.raw == self.raw and other.offset == self.offset

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))

    def __bool__(self) -> bool:
        return True

    @property
    def address(self) -> NoReturn:
        """A literal is in no simulated memory."""
        raise no_number()

    def cast(self, layout: Layout) -> "TextPointer":
        """Return the same bytes as elements of another type."""
        if not isinstance(layout, DType):
            raise Unsupported(f"a string literal is seen as {layout}")
        return self.at(self.raw, self.offset, layout)
