"""Texts of a host program: C strings, and ``std::string``."""

from typing import Any

from mlusim.arch.dtypes import int8
from mlusim.errors import OutOfBounds, RuleFault
from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout, HostObject
from mlusim.frontend.bangc.runtime.host_memory import HostBlock, HostMemory, HostPtr
from mlusim.frontend.bangc.runtime.pointers import Items


def text_of(pointer: Any) -> str:
    """The characters from *pointer* to the next zero."""
    if isinstance(pointer, String):
        return pointer.text
    if isinstance(pointer, HostPtr):
        block = pointer.view.block
        start = pointer.offset
        if not start and block.text is not None:
            return block.text
        raw = bytes(pointer.span(max(block.used - start, 0), "load"))
        end = raw.find(b"\0")
        if end < 0:
            raise OutOfBounds(f"the text in {block.what} has no zero at its end")
        return raw[:end].decode("utf-8", "surrogateescape")
    if isinstance(pointer, Items):  # a member of a record that is kept in registers
        letters, n = bytearray(), 0
        while pointer[n]:
            letters.append(pointer[n] & 0xFF)
            n += 1
        return letters.decode("utf-8", "surrogateescape")
    pointer[0]  # null, or a pointer to something else: its own fault
    raise RuleFault(f"{pointer!r:.60} is no text")


def string(layout: ClassLayout, *values: Any) -> "String":
    """``std::string``: empty, of a C string, of a part of one, or of a count of characters."""
    if not values:
        return String(layout.memory, "")
    if len(values) == 2 and isinstance(values[0], int):
        return String(layout.memory, chr(values[1]) * values[0])
    if len(values) == 2 and isinstance(values[1], int):
        return String(layout.memory, text_of(values[0])[: values[1]])
    return String(layout.memory, text_of(values[0]))


class String(HostObject):
    """``std::string``."""

    __slots__ = ("_block", "_text", "memory")
    CONVERTS = True

    def __init__(self, memory: HostMemory, text: str) -> None:
        self.memory = memory
        self._text = text
        self._block: HostBlock | None = None

    @property
    def text(self) -> str:
        """The characters."""
        if self._block is not None:
            return bytes(self._block.raw[:-1]).decode("utf-8", "surrogateescape")
        return self._text

    def put(self, text: str) -> "String":
        """Have other characters; pointers to the old ones are dangling."""
        if self._block is not None:
            self._block.end()
            self._block = None
        self._text = text
        return self

    def data(self) -> HostPtr:
        """A pointer to the first character; behind the last is a zero."""
        if self._block is None:
            raw = self._text.encode("utf-8", "surrogateescape")
            self._block = HostBlock(self.memory, bytearray(raw + b"\0"), "a string")
        return HostPtr(self._block.view(int8))

    c_str = data
    begin = data

    def end(self) -> HostPtr:
        """A pointer behind the last character."""
        return self.data() + self.size()

    def size(self) -> int:
        """Bytes."""
        return len(self.text.encode("utf-8", "surrogateescape"))

    length = size

    def empty(self) -> bool:
        """Whether there are no characters."""
        return not self.text

    def clear(self) -> None:
        """Drop all characters."""
        self.put("")

    def push_back(self, character: int) -> None:
        """Append one."""
        self.put(self.text + chr(character & 0xFF))

    def append(self, other: Any) -> "String":
        """Append a text."""
        return self.put(self.text + (chr(other & 0xFF) if isinstance(other, int) else text_of(other)))

    __iadd__ = append

    def assign(self, other: Any) -> "String":
        """Take the characters of another."""
        return self.put(text_of(other))

    def substr(self, start: int, count: int = 1 << 62) -> "String":
        """A part of it.  Raises `OutOfBounds` for a start behind its end."""
        if start > len(self.text):
            raise OutOfBounds(f"substr({start}) of a string of {len(self.text)} characters")
        return String(self.memory, self.text[start : start + count])

    def find(self, other: Any, start: int = 0) -> int:
        """Where *other* begins in it; npos where it does not."""
        wanted = chr(other & 0xFF) if isinstance(other, int) else text_of(other)
        found = self.text.find(wanted, start)
        return found if found >= 0 else (1 << 64) - 1

    def compare(self, other: Any) -> int:
        """-1, 0 or 1."""
        mine, theirs = self.text, text_of(other)
        return (mine > theirs) - (mine < theirs)

    def copied(self) -> "String":
        """Another one with the same characters."""
        return String(self.memory, self.text)

    def __repr__(self) -> str:
        return repr(self.text)
