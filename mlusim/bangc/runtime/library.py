"""The C library for device code: mathematics on single numbers."""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlusim.bangc.runtime.layouts import become
from mlusim.errors import RuleFault
from mlusim.isa.extremes import maximum, minimum


def _quiet(function: Callable[..., Any]) -> Callable[..., float]:
    """Return a NumPy function for Python numbers that gives infinities and NaN as in C."""

    def called(*values: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*(np.float64(v) for v in values)))

    return called


def _round(x: float) -> float:
    # Python's round rounds ties to even.
    return math.copysign(math.floor(abs(x) + 0.5), x) if math.isfinite(x) else x


def _special(function: Callable[[float], float]) -> Callable[[float], float]:
    def called(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return called


_REAL: Mapping[str, Callable[..., float]] = ({
        name: _quiet(getattr(np, ufunc))
        for name, ufunc in {
            "sqrt": "sqrt", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil", "rint": "rint", "trunc": "trunc",
            "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
            "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
            "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "pow": "power", "fmod": "fmod",
            "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "hypot": "hypot",
            "copysign": "copysign", "nearbyint": "rint",
        }.items()
    }
    | {
        "round": _round,
        "fabs": abs,
        "fmax": _quiet(maximum),
        "fmin": _quiet(minimum),
        "erf": math.erf,
        "erfc": math.erfc,
        "lgamma": _special(math.lgamma),
        "tgamma": _special(math.gamma),
    })  # fmt: skip


def _scaled(x: float, n: int) -> float:
    """``ldexp``: *x* times two to the power of *n*."""
    with np.errstate(all="ignore"):
        return float(np.ldexp(np.float64(x), n))


def _fused(a: float, b: float, c: float) -> float:
    """``fmaf``: a double that rounds to the float of ``a * b + c``; its last bit is set if bits were lost."""
    product = a * b  # exact for floats
    total = product + c
    if not math.isfinite(total):
        return total
    part = total - product
    rest = (product - (total - part)) + (c - part)
    even = not struct.pack("<d", total)[0] & 1
    return math.nextafter(total, math.copysign(math.inf, rest)) if rest and even else total


def _unreturned(text: str) -> None:
    """Raise the fault of a function that ends without returning its result."""
    raise RuleFault(text, hint="return a value on every way through the function")


def _infinity() -> float:
    return math.inf


def _of_bits(function: Callable[[int, int], int], bits: int) -> Callable[[int], int]:
    """Return a built-in bit function on integers of *bits* bits."""
    mask = (1 << bits) - 1
    return lambda value: function(value & mask, bits)


def _sign_bits(value: int, bits: int) -> int:
    """Return how many bits after the first bit equal it."""
    positive = value if value < 1 << (bits - 1) else value ^ ((1 << bits) - 1)
    return bits - 1 - positive.bit_length()


_COUNTS: Mapping[str, Callable[[int, int], int]] = {
    "clz": lambda value, bits: (
        bits - value.bit_length()
    ),  # undefined for 0 in C: all bits, as most cards return
    "ctz": lambda value, bits: (value & -value).bit_length() - 1 if value else bits,
    "ffs": lambda value, _: (value & -value).bit_length(),
    "popcount": lambda value, _: value.bit_count(),
    "parity": lambda value, _: value.bit_count() & 1,
    "clrsb": _sign_bits,
}
_SWAPS = {
    f"__builtin_bswap{bits}": _of_bits(
        lambda value, n: int.from_bytes(value.to_bytes(n // 8, "little"), "big"), bits
    )
    for bits in (16, 32, 64)
}
BITS: Mapping[str, Callable[[int], int]] = {
    f"__builtin_{name}{suffix}": _of_bits(function, bits)
    for name, function in _COUNTS.items()
    for suffix, bits in (("", 32), ("l", 64), ("ll", 64))
} | _SWAPS
"""The compiler's built-in functions on the bits of an integer."""
BUILT_IN: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("__builtin_abs", "__builtin_labs", "__builtin_llabs"), abs),
    **{f"__builtin_{name}{end}": function for name, function in _REAL.items() for end in ("", "f")},
}
"""Built-in functions that the C library has too."""


LIBRARY: Mapping[str, Callable[..., Any]] = {
    **_REAL,
    **{f"{name}f": function for name, function in _REAL.items()},
    "abs": abs,
    "labs": abs,
    "min": min,
    "max": max,
    **dict.fromkeys(("ldexp", "ldexpf"), _scaled),
    "fmaf": _fused,
    "lround": lambda x: int(_round(x)),
    "lrint": round,  # ties to even, as in C's default mode
    "signbit": lambda x: math.copysign(1.0, x) < 0,
    "isnan": math.isnan,
    "isinf": lambda x: abs(x) == math.inf,
    "isfinite": math.isfinite,
    "__mlusim_become": become,
    "__mlusim_unreturned": _unreturned,
    "__builtin_inff": _infinity,
    "__builtin_inf": _infinity,
    "__builtin_nanf": lambda _: math.nan,
    "__builtin_nan": lambda _: math.nan,
    "__builtin_expect": lambda value, _: value,
    **BUILT_IN,
    "__builtin_huge_valf": _infinity,
    **BITS,
}
