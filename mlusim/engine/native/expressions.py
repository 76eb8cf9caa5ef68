"""NumPy's functions in C: one expression for each kind of element, in ``a``, ``b`` of the computing type.

Halves and bfloat16 compute in float and are rounded once, as NumPy does; integers wrap (``-fwrapv``).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mlusim.isa.extremes import maximum, minimum, nan_maximum, nan_minimum

_ALL = ("float", "int", "uint")


def _same(text: str, *kinds: str) -> dict[str, str]:
    return dict.fromkeys(kinds or _ALL, text)


EXPRESSIONS: Mapping[Callable[..., Any], Mapping[str, str]] = MappingProxyType(
    {
        np.add: _same("a + b"),
        np.subtract: _same("a - b"),
        np.multiply: _same("a * b"),
        np.square: _same("a * a"),
        np.absolute: {"float": "fabsf(a)", "int": "a < 0 ? -a : a"},
        np.reciprocal: _same("1 / a", "float"),
        np.sqrt: _same("sqrtf(a)", "float"),
        np.floor: _same("floorf(a)", "float"),
        np.ceil: _same("ceilf(a)", "float"),
        np.trunc: _same("truncf(a)", "float"),
        np.sign: _same("a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a", "float"),  # the last one is NaN
        np.equal: _same("a == b"),
        np.not_equal: _same("a != b"),
        np.less: _same("a < b"),
        np.less_equal: _same("a <= b"),
        np.greater: _same("a > b"),
        np.greater_equal: _same("a >= b"),
        # & and |, as && branches and keeps the loop from becoming vector code.
        np.logical_and: _same("(a != 0) & (b != 0)"),
        np.logical_or: _same("(a != 0) | (b != 0)"),
        np.logical_xor: _same("(a != 0) != (b != 0)"),
        np.logical_not: _same("a == 0"),
        np.bitwise_and: _same("a & b", "int", "uint"),
        np.bitwise_or: _same("a | b", "int", "uint"),
        np.bitwise_xor: _same("a ^ b", "int", "uint"),
        np.invert: _same("~a", "int", "uint"),
        maximum: _same("FMAX_$dst(a, b)"),
        minimum: _same("FMIN_$dst(a, b)"),
        nan_maximum: _same("MAX_$dst(a, b)"),
        nan_minimum: _same("MIN_$dst(a, b)"),
    }
)


def expression(function: Callable[..., Any], kind: str) -> str | None:
    """Render the C expression of *function* on elements of *kind*, None where there is none."""
    return EXPRESSIONS.get(function, {}).get(kind)
