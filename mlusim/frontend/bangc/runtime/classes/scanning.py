"""``scanf``: values from characters by a format."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from mlusim.errors import RuleFault

_DIRECTIVE = re.compile(r"%(\*?)(\d*)(hh|h|ll|l|j|z|t|L)?(\[\^?\]?[^\]]*\]|.)|\s+|.", re.DOTALL)
_WIDTH = {"hh": 8, "h": 16, "": 32}  # bits of an integer; other lengths have 64
_SPACE = frozenset(b" \t\n\r\v\f")
END = -1


class Letters(Protocol):
    """What characters come from."""

    def next(self) -> int:
        """The next byte, or `END`."""

    def peek(self) -> int:
        """The byte that is next, or `END`."""


def scanned(source: Letters, form: str, to: Sequence[Any]) -> int:
    """``scanf(form, to...)``: how many values were stored; -1 where the characters end before the first.

    Raises `RuleFault` for a place that is missing, and for a directive that is not known.
    """
    places, count = iter(to), 0
    for match in _DIRECTIVE.finditer(form):
        kept, width, length, kind = match.groups()
        if kind is None:
            if not _literal(source, match[0]):
                return count
            continue
        value = _value(source, kind, int(width or 0), length or "")
        if value is None:
            return count if count or source.peek() != END else END
        if kept or kind == "%":
            continue
        place = next(places, None)
        if place is None:
            raise RuleFault(
                f"scanf has no place for {match[0]!r} of {form!r}", hint="pass one address for each"
            )
        _store(place, value)
        count += 1
    return count


def _literal(source: Letters, text: str) -> bool:
    if text.isspace():
        skip(source)
        return True
    if source.peek() != ord(text):
        return False
    source.next()
    return True


def skip(source: Letters) -> None:
    """Pass over white space."""
    while source.peek() in _SPACE:
        source.next()


def word(source: Letters, width: int = 0, wanted: "re.Pattern[str] | None" = None) -> str:
    """Characters up to white space, or as long as *wanted* matches all of them."""
    found = ""
    while (one := source.peek()) != END and not (width and len(found) == width):
        letter = chr(one)
        if wanted.fullmatch(found + letter) is None if wanted else one in _SPACE:
            break
        found += letter
        source.next()
    return found


WHOLE = re.compile(r"[-+]?\d*")
ANY = re.compile(r"[-+]?(0?|0[xX][0-9a-fA-F]*|\d*)")
HEXADECIMAL = re.compile(r"[-+]?(0?|0[xX]?[0-9a-fA-F]*|[0-9a-fA-F]*)")
REAL = re.compile(r"[-+]?(\d*(\.\d*)?([eE][-+]?\d*)?|i(n(f)?)?|n(a(n)?)?)")


def _value(source: Letters, kind: str, width: int, length: str) -> Any:
    """What one directive reads; None where the characters do not fit it."""
    if kind == "c":
        one = source.next()
        return None if one == END else (one if one < 128 else one - 256)
    if kind.startswith("["):
        return word(source, width, re.compile(f"(?:{kind})*")) or None
    skip(source)
    if kind == "%":
        return "%" if source.next() == ord("%") else None
    if kind == "s":
        return word(source, width) or None
    if kind in "diuxX":
        shape = WHOLE if kind in "du" else ANY if kind == "i" else HEXADECIMAL
        return _whole(word(source, width, shape), kind, _WIDTH.get(length, 64))
    if kind in "fFeEgG":
        try:
            return float(word(source, width, REAL))
        except ValueError:
            return None
    raise RuleFault(f"scanf does not know %{kind}", hint="see man 3 scanf")


def _whole(text: str, kind: str, bits: int) -> int | None:
    try:
        found = int(text, 10 if kind in "du" else 16 if kind in "xX" else 0)
    except ValueError:
        return None
    low = found & ((1 << bits) - 1)
    return low - (1 << bits) if kind in "di" and low >> (bits - 1) else low


def _store(place: Any, value: Any) -> None:
    if isinstance(value, str):
        raw = value.encode("latin-1", "replace")
        for n, letter in enumerate((*raw, 0)):
            place[n] = letter if letter < 128 else letter - 256
    else:
        place[0] = value
