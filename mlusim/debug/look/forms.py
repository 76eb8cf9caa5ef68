"""The forms that numbers are shown in: ``print/x`` and its like."""

from typing import Any

import numpy as np

from mlusim.errors import UsageError
from mlusim.memory.pointer import Ptr

FORM_LETTERS = {
    "x": "hexadecimal",
    "d": "signed",
    "u": "unsigned",
    "o": "octal",
    "t": "binary",
    "z": "hexadecimal with leading zeros",
    "a": "an address",
    "c": "character",
    "f": "float",
}
"""The letters, with their meanings."""


def in_form(value: Any, letter: str, bits: int = 0) -> str:
    """Return a number, a pointer's address or the elements of an array as *letter* says.

    *bits* is the width of the number's type where the value does not say it.  Raises `UsageError` for what has no such form.
    """
    if isinstance(value, np.ndarray):
        return "{" + ", ".join(in_form(one, letter) for one in value.reshape(-1)) + "}"
    if isinstance(value, Ptr):
        value = value.address
    if not isinstance(value, int | float | np.generic):
        raise UsageError(f"print/{letter} takes numbers, pointers, arrays and records, and this is {value!r}")
    if letter == "f":
        return f"{float(value):.9g}"
    if not np.isfinite(float(value)):
        return str(float(value))  # which is no integer
    whole = int(value)
    bits = 8 * value.dtype.itemsize if isinstance(value, np.generic) else bits or 32
    if letter == "d":
        return str(whole)
    if letter == "c":
        return f"{whole} {chr(whole)!r}" if 0 <= whole < 0x110000 else str(whole)
    if whole < 0:  # as the machine has it, in two's complement
        whole %= 1 << max(bits, whole.bit_length() + 1)
    if letter == "z":
        return f"0x{whole:0{bits // 4}x}"
    return {"u": str(whole), "o": f"0{whole:o}", "t": f"{whole:#b}"}.get(letter, f"{whole:#x}")
