"""Elementwise maximum and minimum, with both behaviours toward NaN."""

from collections.abc import Callable
from typing import Any

from mlusim.arch.dtypes import float32, half, int32
from mlusim.isa.declare import FLOATS, Intrinsic, binary, with_scalar
from mlusim.isa.extremes import ZEROS, maximum, minimum, nan_maximum, nan_minimum

_ORDERED: dict[str, Any] = {"dtypes": (*FLOATS, int32), "dtypes_2xx": FLOATS}  # MLU2xx compares floats only
_NUMBER = f"A NaN loses against a number (inferred); {ZEROS}"
_NAN = f"A NaN in either source is the result; {ZEROS}"

_OLD_FORM = "The four-argument form of old toolkits was another instruction."


def _extreme(
    spelling: str, choose: Callable[..., Any], word: str, *remarks: str, **properties: Any
) -> Intrinsic:
    doc = f"{word}imum: ``dst[i] = {word.lower()}(src0[i], src1[i])``.\n\n{'  '.join(remarks)}"
    return binary(spelling, choose, doc, **properties)


def _extreme_scalar(spelling: str, choose: Callable[..., Any], word: str) -> Intrinsic:
    doc = f"{word}imum with a scalar: ``dst[i] = {word.lower()}(src[i], value)``.\n\n{_NUMBER}"
    return with_scalar(spelling, choose, doc, **_ORDERED)


bang_nan_maximum = _extreme("__bang_nan_maximum", nan_maximum, "Max", _NAN, dtypes=(half, float32), since=322)
bang_nan_minimum = _extreme("__bang_nan_minimum", nan_minimum, "Min", _NAN, dtypes=(half, float32), since=322)
bang_maximum = _extreme("__bang_maximum", maximum, "Max", _NUMBER, _OLD_FORM, **_ORDERED)
bang_minimum = _extreme("__bang_minimum", minimum, "Min", _NUMBER, _OLD_FORM, **_ORDERED)
bang_maxequal = _extreme("__bang_maxequal", maximum, "Max", _NUMBER, **_ORDERED)
bang_minequal = _extreme("__bang_minequal", minimum, "Min", _NUMBER, **_ORDERED)
bang_maxeq_scalar = _extreme_scalar("__bang_maxeq_scalar", maximum, "Max")
bang_mineq_scalar = _extreme_scalar("__bang_mineq_scalar", minimum, "Min")
