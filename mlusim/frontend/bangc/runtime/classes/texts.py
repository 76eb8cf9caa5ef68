"""Functions of the C library on bytes and texts."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.frontend.bangc.runtime.classes.strings import text_of
from mlusim.frontend.bangc.runtime.host_bytes import host_bytes
from mlusim.frontend.bangc.runtime.layouts import NULL


def memcpy(target: Any, source: Any, count: int) -> Any:
    """Copy bytes; the blocks may overlap."""
    host_bytes(target, count, "store")[:] = bytes(host_bytes(source, count, "load"))
    return target


def memset(target: Any, value: int, count: int) -> Any:
    """Set every byte to a value."""
    host_bytes(target, count, "store")[:] = bytes([value & 0xFF]) * count
    return target


def memcmp(a: Any, b: Any, count: int) -> int:
    """Compare bytes: -1, 0 or 1."""
    return _compare(bytes(host_bytes(a, count, "load")), bytes(host_bytes(b, count, "load")))


def _compare(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


def raw_of(pointer: Any) -> bytes:
    """The bytes of a text."""
    return text_of(pointer).encode("utf-8", "surrogateescape")


def strcpy(target: Any, source: Any) -> Any:
    """Copy a text with its zero."""
    raw = raw_of(source) + b"\0"
    host_bytes(target, len(raw), "store")[:] = raw
    return target


def strstr(text: Any, part: Any) -> Any:
    """Where *part* begins in *text*, or null."""
    at = raw_of(text).find(raw_of(part))
    return NULL if at < 0 else text + at


def strchr(text: Any, character: int) -> Any:
    """Where *character* is in *text*, or null."""
    at = (raw_of(text) + b"\0").find(bytes([character & 0xFF]))
    return NULL if at < 0 else text + at


def strncpy(target: Any, source: Any, count: int) -> Any:
    """Copy a text into so many bytes; zeros fill what is left."""
    host_bytes(target, count, "store")[:] = raw_of(source)[:count].ljust(count, b"\0")
    return target


def strcat(target: Any, source: Any) -> Any:
    """Copy a text behind another."""
    strcpy(target + len(raw_of(target)), source)
    return target


def number_at(text: str, *, whole: bool) -> float:
    """The number that *text* begins with; 0 without one."""
    text = text.strip()
    for end in range(len(text), 0, -1):
        try:
            return int(text[:end]) if whole else float(text[:end])
        except ValueError:
            continue
    return 0 if whole else 0.0


def _converted(*, whole: bool) -> Callable[..., float]:
    """``strtol`` and ``strtod``: a number, and where it ends."""

    def convert(text: Any, end: Any, base: int = 10) -> float:
        words = text_of(text)
        start = len(words) - len(words.lstrip())
        for stop in range(len(words), start, -1):
            try:
                found = int(words[start:stop], base) if whole else float(words[start:stop])
            except ValueError:
                continue
            break
        else:
            found, stop = 0 if whole else 0.0, 0
        if end:
            end[0] = text + stop
        return found

    return convert


def _tests(name: str) -> Callable[[int], int]:
    return lambda character: int(getattr(chr(character & 0x7F), name)())


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "memcpy": memcpy, "memmove": memcpy, "memset": memset, "memcmp": memcmp,
        "strlen": lambda p: len(raw_of(p)), "strcmp": lambda a, b: _compare(raw_of(a), raw_of(b)),
        "strncmp": lambda a, b, n: _compare(raw_of(a)[:n], raw_of(b)[:n]), "strcpy": strcpy, "strncpy": strncpy,
        "strcat": strcat, "strstr": strstr, "strchr": strchr,
        "atoi": lambda p: int(number_at(text_of(p), whole=True)), "atol": lambda p: int(number_at(text_of(p), whole=True)),
        "atof": lambda p: number_at(text_of(p), whole=False),
        "strtol": _converted(whole=True), "strtoul": _converted(whole=True),
        "strtod": _converted(whole=False), "strtof": _converted(whole=False),
        "toupper": lambda c: ord(chr(c & 0x7F).upper()), "tolower": lambda c: ord(chr(c & 0x7F).lower()),
        "isdigit": _tests("isdigit"), "isalpha": _tests("isalpha"), "isalnum": _tests("isalnum"), "isspace": _tests("isspace"),
    }
)  # fmt: skip
