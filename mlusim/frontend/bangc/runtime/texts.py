"""String literals in device code: arguments of prints, and bytes that may be read."""

from typing import Any, NoReturn, Self

from mlusim.arch.dtypes import int8
from mlusim.errors import MemoryFault, Unsupported
from mlusim.frontend.bangc.runtime.pointers import beyond, no_number, unrelated


class TextPointer(str):
    """A pointer to a character of a literal; as a string of Python, what is from there to the end."""

    __slots__ = ("offset", "raw", "signed")

    raw: bytes  # of the whole literal
    offset: int
    signed: bool

    def __new__(cls, text: str) -> Self:
        """The pointer to the first character of *text*."""
        return cls._at(text.encode("utf-8", "surrogateescape") + b"\0", 0, signed=True)

    @classmethod
    def _at(cls, raw: bytes, offset: int, *, signed: bool) -> Self:
        rest = raw[offset:] if offset >= 0 else b""
        made = super().__new__(cls, rest.partition(b"\0")[0].decode("utf-8", "surrogateescape"))
        made.raw, made.offset, made.signed = raw, offset, signed
        return made

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return super().__getitem__(i)
        at = self.offset + i
        if not 0 <= at < len(self.raw):
            raise beyond(at, len(self.raw), 1)
        found = self.raw[at]
        return found - 256 if self.signed and found > 127 else found

    def __setitem__(self, i: int, value: Any) -> None:
        raise MemoryFault("a store to a string literal", hint="make it an array: char text[] = ...")

    @property
    def v(self) -> Any:
        """The character, for a reference to it."""
        return self[0]

    def __add__(self, n: Any) -> Any:
        return self._at(self.raw, self.offset + n, signed=self.signed)

    def __sub__(self, other: Any) -> Any:
        return self._from(other) if isinstance(other, TextPointer) else self + -other

    def _from(self, other: Any) -> int:
        if not isinstance(other, TextPointer) or other.raw is not self.raw:
            unrelated()
        return self.offset - other.offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextPointer):
            return isinstance(other, str) and str(self) == other
        return other.raw == self.raw and other.offset == self.offset

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: Any) -> bool:
        return self._from(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._from(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._from(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._from(other) >= 0

    def __bool__(self) -> bool:
        return True

    @property
    def address(self) -> NoReturn:
        """A literal is in no simulated memory."""
        raise no_number()

    def cast(self, layout: Any) -> "TextPointer":
        """The same characters, with a sign or without."""
        if getattr(layout, "size", 1) != 1:
            raise Unsupported(f"a string literal is seen as {layout}")
        return self._at(self.raw, self.offset, signed=layout is int8)
