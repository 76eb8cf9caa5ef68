"""The C library as device code calls it: mathematics on single numbers."""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlusim.errors import RuleFault
from mlusim.frontend.bangc.runtime.layouts import become
from mlusim.isa.extremes import maximum, minimum


def _quiet(function: Callable[..., Any]) -> Callable[..., float]:
    """Return a NumPy function on numbers of Python, with infinities and NaN where C has them."""

    def called(*values: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*(np.float64(v) for v in values)))

    return called


def _round(x: float) -> float:
    # Python's round goes to even at ties.
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
    """``fmaf``: the double, of which the last bit says that there are more, that rounds to the float of ``a * b + c``."""
    product = a * b  # exact, of floats
    total = product + c
    if not math.isfinite(total):
        return total
    part = total - product
    rest = (product - (total - part)) + (c - part)
    even = not struct.pack("<d", total)[0] & 1
    return math.nextafter(total, math.copysign(math.inf, rest)) if rest and even else total


def _not_a_number(x: float) -> bool:
    return x != x  # noqa: PLR0124 - NaN is what differs from itself


def _unreturned(text: str) -> None:
    """Refuse the end of a function that has a result, and has returned none."""
    raise RuleFault(text, hint="return a value on every way through the function")


def _infinity() -> float:
    return math.inf


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
    "lrint": round,  # to even at ties, as C's default has it
    "signbit": lambda x: math.copysign(1.0, x) < 0,
    "isnan": _not_a_number,
    "isinf": lambda x: abs(x) == math.inf,
    "isfinite": math.isfinite,
    "__mlusim_become": become,
    "__mlusim_unreturned": _unreturned,
    "__builtin_inff": _infinity,
    "__builtin_inf": _infinity,
    "__builtin_nanf": lambda _: math.nan,
    "__builtin_nan": lambda _: math.nan,
    "__builtin_expect": lambda value, _: value,
    "__builtin_huge_valf": _infinity,
    "__builtin_popcount": lambda value: (value & 0xFFFFFFFF).bit_count(),  # a negative int is its 32 bits
}
