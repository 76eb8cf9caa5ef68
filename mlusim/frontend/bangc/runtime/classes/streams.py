"""``std::cout`` and its like: values as text, with manipulators."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.frontend.bangc.runtime.classes.objects import HostObject
from mlusim.frontend.bangc.runtime.classes.strings import String, text_of
from mlusim.frontend.bangc.runtime.host_memory import HostPtr

Write = Callable[[str], None]


class Stream(HostObject):
    """An output stream; what is written goes to *write*."""

    __slots__ = (
        "bool_words",
        "fill_with",
        "hexadecimal",
        "left_side",
        "mode",
        "places",
        "wide",
        "write_text",
    )

    def __init__(self, write: Write) -> None:
        self.write_text = write
        self.places = 6
        self.mode = "g"
        self.wide = 0
        self.fill_with = " "
        self.left_side = self.hexadecimal = self.bool_words = False

    def __lshift__(self, value: Any) -> "Stream":
        if isinstance(value, Manipulator):
            value.change(self)
            return self
        text = self._text(value)
        padding = self.fill_with * (self.wide - len(text))
        self.wide = 0
        self.write_text(text + padding if self.left_side else padding + text)
        return self

    def _text(self, value: Any) -> str:
        if isinstance(value, bool):
            return ("true" if value else "false") if self.bool_words else str(int(value))
        if isinstance(value, int):
            return f"{value:x}" if self.hexadecimal else str(value)
        if isinstance(value, float):
            return f"{value:.{self.places}{self.mode}}"
        if isinstance(value, String | HostPtr):
            return text_of(value)
        address = getattr(value, "address", 0)
        return f"{address:#x}" if address else "0"

    def put_char(self, value: int) -> "Stream":
        """Write one character."""
        kept, self.hexadecimal = self.hexadecimal, False
        padding = self.fill_with * (self.wide - 1)
        self.wide, self.hexadecimal = 0, kept
        self.write_text(chr(value & 0xFF) + padding if self.left_side else padding + chr(value & 0xFF))
        return self

    put = put_char

    def put_address(self, value: Any) -> "Stream":
        """Write a pointer that does not point to text."""
        address = getattr(value, "address", 0)
        self.write_text(f"{address:#x}" if address else "0")
        return self

    def flush(self) -> "Stream":
        """Do nothing: output is not buffered."""
        return self

    def precision(self, places: int) -> int:
        """Digits of reals; those that there were."""
        before, self.places = self.places, places
        return before

    def width(self, count: int) -> int:
        """The least width of the next value; that which there was."""
        before, self.wide = self.wide, count
        return before


class Manipulator(HostObject):
    """What changes a stream where it is written to it."""

    __slots__ = ("change",)

    def __init__(self, change: Callable[[Stream], Any]) -> None:
        self.change = change


def _setting(name: str, value: Any) -> Manipulator:
    return Manipulator(lambda stream: setattr(stream, name, value))


MANIPULATORS: Mapping[str, Manipulator] = MappingProxyType(
    {
        "endl": Manipulator(lambda stream: stream.write_text("\n")),
        "flush": Manipulator(Stream.flush),
        "fixed": _setting("mode", "f"),
        "scientific": _setting("mode", "e"),
        "defaultfloat": _setting("mode", "g"),
        "boolalpha": _setting("bool_words", True),
        "noboolalpha": _setting("bool_words", False),
        "hex": _setting("hexadecimal", True),
        "dec": _setting("hexadecimal", False),
        "left": _setting("left_side", True),
        "right": _setting("left_side", False),
    }
)
PARAMETRIC: Mapping[str, Callable[..., Manipulator]] = MappingProxyType(
    {
        "setw": lambda count: _setting("wide", count),
        "setprecision": lambda places: _setting("places", places),
        "setfill": lambda character: _setting("fill_with", chr(character & 0xFF)),
    }
)
