"""``printf``: a format with its values as text."""

import functools
import re
from collections.abc import Sequence
from typing import Any

from mlusim.errors import RuleFault
from mlusim.frontend.bangc.runtime.classes.strings import text_of

_DIRECTIVE = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|-?\d+)?)?(hh|h|ll|l|j|z|t|L)?(.)", re.DOTALL)
_WIDTH = {"hh": 8, "h": 16, "": 32}  # bits of an integer; other lengths have 64


@functools.lru_cache(maxsize=512)
def _parts(form: str) -> tuple[Any, ...]:
    """The pieces of a format: texts, and directives as (flags, width, precision, length, conversion, text)."""
    found: list[Any] = []
    at = 0
    for match in _DIRECTIVE.finditer(form):
        if match.start() > at:
            found.append(form[at : match.start()])
        at = match.end()
        precision = match[3] if match[3] is not None else ("0" if "." in match[0][:-1] else None)
        found.append(
            "%" if match[5] == "%" else (match[1], match[2], precision, match[4] or "", match[5], match[0])
        )
    found.append(form[at:])
    return tuple(found)


def formatted(form: str, values: Sequence[Any]) -> str:
    """What ``printf(form, values...)`` writes.

    Raises `RuleFault` for a value that is missing, and for one of another type than its directive.
    """
    given = iter(values)
    made = (part if isinstance(part, str) else _directive(part, given, form) for part in _parts(form))
    return "".join(made)


def _directive(part: tuple[str, ...], given: Any, form: str) -> str:
    flags, width, precision, length, conversion, text = part
    shape = flags
    for mark, size in (("", width), (".", precision)):
        if size is not None:
            number = _next(given, text, form) if size == "*" else int(size)
            if mark and number < 0:
                continue
            shape += f"{mark}{number}"
    value = _next(given, text, form)
    if conversion in "diouxX":
        return str(f"%{shape}{conversion}" % _whole(value, length, conversion, text))
    if conversion in "fFeEgGaA":
        return _real(value, shape, conversion, text)
    if conversion == "c":
        return str(f"%{shape}s" % chr(_whole(value, "hh", "u", text)))
    if conversion == "s":
        return str(f"%{shape}s" % (text_of(value) if value else "(null)"))
    if conversion == "p":
        address = getattr(value, "address", 0)
        return str(f"%{shape}s" % (f"{address:#x}" if address else "(nil)"))
    raise RuleFault(f"printf does not know {text!r}", hint="see man 3 printf")


def _next(given: Any, text: str, form: str) -> Any:
    value = next(given, None)
    if value is None:
        raise RuleFault(
            f"printf has no value for {text!r} of {form!r}", hint="pass one value for each directive"
        )
    return value


def _whole(value: Any, length: str, conversion: str, text: str) -> int:
    if not isinstance(value, int):
        raise _unfit(value, text, "an integer")
    bits = _WIDTH.get(length, 64)
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if conversion in "di" and low >> (bits - 1) else low


def _real(value: Any, shape: str, conversion: str, text: str) -> str:
    if not isinstance(value, float):
        raise _unfit(value, text, "a float or a double")
    if conversion in "aA":
        return value.hex()
    if value in (float("inf"), float("-inf")) or value != value:  # noqa: PLR0124 - NaN is what differs from itself
        shape = shape.replace("0", "", 1) if shape.startswith(("0", "-0", "+0")) else shape
    return str(f"%{shape}{conversion}" % value)


def _unfit(value: Any, text: str, wanted: str) -> RuleFault:
    kind = "a float" if isinstance(value, float) else "an integer" if isinstance(value, int) else "a pointer"
    return RuleFault(
        f"printf takes {wanted} for {text!r} and is given {kind}", hint="mend the format, or cast the value"
    )
