"""Elementwise arithmetic, maximum and minimum in the operands' own type: floats round to nearest even, integers wrap.

On the architectures from 322 on the float results are those of IEEE 754, NaN and infinities included.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.dtypes import float32, half, int16, int32, int64, uint16, uint32
from mlusim.isa.declare import (
    FLOATS,
    INTS,
    NUMBERS,
    Approximation,
    Intrinsic,
    Passes,
    Tile,
    TileOrValue,
    alias,
    binary,
    intrinsic,
    refuse_zero,
    unary,
    with_scalar,
)
from mlusim.isa.extremes import ZEROS, maximum, minimum, nan_maximum, nan_minimum
from mlusim.isa.rounding import narrow, odd_sum

_NUMBERS: dict[str, Any] = {
    "dtypes": NUMBERS,
    "dtypes_2xx": FLOATS,
}  # integers and bfloat16 exist from the third generation on
bang_add = binary(
    "__bang_add",
    np.add,
    "Add: ``dst[i] = src0[i] + src1[i]``.  int64 is accepted too, because public kernels for MLU590 use it (inferred).",
    (*NUMBERS, int64),
    dtypes_2xx=FLOATS,
)
bang_sub = binary("__bang_sub", np.subtract, "Subtract: ``dst[i] = src0[i] - src1[i]``.", **_NUMBERS)
bang_mul = binary("__bang_mul", np.multiply, "Multiply: ``dst[i] = src0[i] * src1[i]``.", **_NUMBERS)
bang_add_scalar = with_scalar(
    "__bang_add_scalar", np.add, "Add a scalar: ``dst[i] = src[i] + value``.", **_NUMBERS
)
bang_sub_scalar = with_scalar(
    "__bang_sub_scalar", np.subtract, "Subtract a scalar: ``dst[i] = src[i] - value``.", **_NUMBERS
)
bang_mul_scalar = with_scalar(
    "__bang_mul_scalar", np.multiply, "Multiply by a scalar: ``dst[i] = src[i] * value``.", **_NUMBERS
)
bang_add_const = alias("__bang_add_const", bang_add_scalar)
bang_sub_const = alias("__bang_sub_const", bang_sub_scalar)
bang_mul_const = alias("__bang_mul_const", bang_mul_scalar)
bang_square = unary("__bang_square", np.square, "Square: ``dst[i] = src[i] * src[i]``.")
bang_abs = unary(
    "__bang_abs",
    np.absolute,
    "Absolute value: ``dst[i] = |src[i]|``; the smallest int32 stays as it is.",
    (*FLOATS, int32),
    dtypes_2xx=FLOATS,
)
bang_neg = unary(
    "__bang_neg",
    np.negative,
    "Change the sign: ``dst[i] = -src[i]``; the smallest int32 stays as it is.",
    (*FLOATS, int32),
    since=322,
    certainty="I",
)
bang_active_abs = unary(
    "__bang_active_abs", np.absolute, "Absolute value: ``dst[i] = |src[i]|``.", (half, float32)
)


def _toward_zero(spelling: str, exact: str) -> Callable[[Callable[..., Any]], Intrinsic]:
    """Declare a row of floats that rounds toward zero; *exact* is its formula in C, over the doubles a and b."""
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src0": "elem_count", "src1": "elem_count"},
        dtypes=(half, float32),
        certainty="I",
        source="vendor declaration header, arithmetic",
        native=(
            "for (int64_t i = 0; i < elem_count; i++) { double a = GET_$src0(src0[i]), b = "
            f"GET_$src1(src1[i]); dst[i] = narrow_to_$dst({exact}, TZ); }}"
        ),
    )


def _sum_toward_zero(dst: Tile, first: Any, second: Any) -> None:
    total = first + second
    dst[...] = narrow(odd_sum(first, second, total), dst.dtype, "tz")


@_toward_zero("__bang_add_tz", "odd_sum_(a, b)")
def bang_add_tz(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
    """Add and round toward zero: ``dst[i] = truncate(src0[i] + src1[i])``."""
    _sum_toward_zero(dst, src0.astype(np.float64), src1.astype(np.float64))


@_toward_zero("__bang_sub_tz", "odd_sum_(a, -b)")
def bang_sub_tz(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
    """Subtract and round toward zero: ``dst[i] = truncate(src0[i] - src1[i])``."""
    _sum_toward_zero(dst, src0.astype(np.float64), -src1.astype(np.float64))


@_toward_zero("__bang_mul_tz", "a * b")
def bang_mul_tz(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
    """Multiply and round toward zero: ``dst[i] = truncate(src0[i] * src1[i])``."""
    # A product of two floats is exact in double.
    dst[...] = narrow(src0.astype(np.float64) * src1, dst.dtype, "tz")


@intrinsic(
    "__bang_div",
    passes=Passes.FUNCTION,
    writes={"dst": "elem_count"},
    reads={"src0": "elem_count", "src1": "elem_count"},
    dtypes=(half, float32, int16, int32, uint16, uint32),
    since=322,
    not_on=(372,),
    overload=("bang_div_addition", "src_addition"),
    source="vendor declaration header, arithmetic",
    native=("divide",),
)
def bang_div(dst: Tile, src0: Tile, src1: TileOrValue, elem_count: int) -> None:
    """Divide: ``dst[i] = src0[i] / src1[i]``, or ``src0[i] / src1`` for a scalar *src1*.

    Integers divide toward zero, as in C, and refuse a divisor of 0; float division is that of IEEE 754. A
    call with *src_addition* before *elem_count* is a call of ``__bang_div_addition``.
    """
    if dst.dtype.kind == "f":
        np.divide(src0, src1, out=dst)
        return
    refuse_zero(src1)
    quotient = np.divide(src0, src1, dtype=np.float64)  # exact enough: integers of 32 bits at most
    dst[...] = quotient.astype(np.int64)


@intrinsic(
    "__bang_div_addition",
    passes=Passes.FUNCTION,
    writes={"dst": "elem_count", "src_addition": "elem_count"},
    reads={"src0": "elem_count", "src1": "elem_count"},
    dtypes=(half, float32),
    approximation=Approximation(4e-4, {"half": (0.00391, 65504.0), "float": (0.00391, 2e6)}),
    certainty="I",
    source="vendor declaration header, arithmetic",
    native=(
        "for (int64_t i = 0; i < elem_count; i++) { T_$dst r = PUT_$dst(1 / GET_$src1(src1[i])); "
        "T_$dst q = PUT_$dst(GET_$src0(src0[i]) * GET_$dst(r)); src_addition[i] = r; dst[i] = q; }"
    ),
)
def bang_div_addition(dst: Tile, src0: Tile, src1: Tile, src_addition: Tile, elem_count: int) -> None:
    """Divide with a buffer for reciprocals: ``src_addition[i] = 1 / src1[i]; dst[i] = src0[i] * (1 / src1[i])``.

    The low-precision form of ``__bang_div`` with five arguments, on every architecture. The content of
    *src_addition*, and that the error equals that of the approximate reciprocal, are inferred.
    """
    # Compute both results before storing one: a destination may be a source.
    reciprocal = np.reciprocal(src1)
    quotient = src0 * reciprocal
    src_addition[...] = reciprocal
    dst[...] = quotient


@intrinsic(
    "__bang_rem",
    writes={"dst": "elem_count"},
    reads={"src0": "elem_count", "src1": "elem_count"},
    dtypes=(half, float32, *INTS),
    since=322,
    not_on=(372,),
    certainty="I",
    source="vendor declaration header, arithmetic",
    native=("remainder",),
)
def bang_rem(dst: Tile, src0: Tile, src1: TileOrValue, elem_count: int) -> None:
    """Remainder: ``dst[i] = src0[i] - trunc(src0[i] / src1[i]) * src1[i]``; *src1* may be a scalar.

    The sign is that of *src0*, as of ``%`` and ``fmod`` in C (inferred).  Integers refuse a divisor of 0.
    """
    if dst.dtype.kind != "f":
        refuse_zero(src1)
    np.fmod(src0, src1, out=dst)


# -- maximum and minimum, with both behaviours toward NaN --------------------------------------------

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
