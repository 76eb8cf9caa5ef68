"""Elementwise functions: reciprocals, powers, logarithms, roots, sine, rounding, activations.

The hardware computes them with errors of some units in the last place, the ``active_*`` rows from tables with
relative errors of up to some per cent. The simulator computes the exact function, rounded to the type. So the
accuracy of a kernel on the board may still depend on the argument ranges given below.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.dtypes import DType, bfloat16, float32, half
from mlusim.isa.declare import FLOATS, Approximation, Intrinsic, Passes, Tile, Value, alias, intrinsic, unary
from mlusim.isa.extremes import nan_maximum, nan_minimum

BOTH = (half, float32)
FLOAT = (float32,)
ANYWHERE = {"half": (None, None), "float": (None, None)}
_HALF = "Half is accepted too, as in newer toolkits (inferred)."

_IN_PLACE = "\n\nThe old manual wants *dst* apart from *src*; vendor kernels use it in place."
_LATE: dict[str, Any] = {"since": 322, "passes": Passes.FUNCTION}


bang_recip = unary(
    "__bang_recip",
    np.reciprocal,
    f"Reciprocal: ``dst[i] = 1 / src[i]``; of 0 it is infinity (inferred).  {_HALF}",
    BOTH,
    **_LATE,
)
bang_pow2 = unary("__bang_pow2", np.exp2, "Power of two: ``dst[i] = 2 ** src[i]``.", FLOAT, **_LATE)
bang_log2 = unary(
    "__bang_log2",
    np.log2,
    "Binary logarithm: ``dst[i] = log2(src[i])``; of 0 it is -infinity, of negative numbers NaN (inferred).",
    FLOAT,
    **_LATE,
)
# According to the vendor's older header it is the binary logarithm, in spite of its name.
bang_log = alias("__bang_log", bang_log2)
bang_sqrt = unary(
    "__bang_sqrt",
    np.sqrt,
    "Square root: ``dst[i] = sqrt(src[i])``; of negative numbers NaN (inferred).  Half and bfloat16 are accepted too, as "
    "in newer toolkits (inferred).",
    FLOATS,
    **_LATE,
)
bang_sin = unary("__bang_sin", np.sin, "Sine: ``dst[i] = sin(src[i])``, in radians.", FLOAT, **_LATE)
bang_cos = unary("__bang_cos", np.cos, "Cosine: ``dst[i] = cos(src[i])``, in radians.", FLOAT, **_LATE)
bang_floor = unary(
    "__bang_floor", np.floor, f"Round down: ``dst[i] = floor(src[i])``.{_IN_PLACE}", BOTH, since=322
)
bang_ceil = unary("__bang_ceil", np.ceil, f"Round up: ``dst[i] = ceil(src[i])``.{_IN_PLACE}", BOTH, since=322)
bang_trunc = unary(
    "__bang_trunc", np.trunc, f"Round toward zero: ``dst[i] = trunc(src[i])``.{_IN_PLACE}", BOTH, since=322
)


@intrinsic(
    "__bang_round",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=BOTH,
    since=322,
    certainty="I",
    source="vendor declaration header, arithmetic",
    native=("map", "round_away_(a)"),
)
def bang_round(dst: Tile, src: Tile, elem_count: int) -> None:
    """Round: ``dst[i] = round(src[i])``, to the nearest, ties away from zero as C does (inferred).

    The old manual wants *dst* apart from *src*; vendor kernels use it in place.
    """
    whole = np.trunc(src)
    # np.round rounds ties to even; C, and the hardware as kernels use it, rounds them away from zero.
    step = np.copysign(np.abs(src - whole) >= 0.5, src).astype(src.dtype)
    np.add(whole, step, out=dst)


@intrinsic(
    "__bang_rsqrt",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=BOTH,
    passes=Passes.FUNCTION,
    since=322,
    source="vendor declaration header, arithmetic",
    native=(
        "for (int64_t i = 0; i < elem_count; i++) dst[i] = narrow_to_$dst(1 / "
        "sqrt((double)GET_$src(src[i])), RN);"
    ),
)
def bang_rsqrt(dst: Tile, src: Tile, elem_count: int) -> None:
    """Reciprocal square root: ``dst[i] = 1 / sqrt(src[i])``; of 0 infinity, of negative numbers NaN (inferred).

    Half is accepted too, as in newer toolkits (inferred).
    """
    # In double, so that the result is rounded once, as by one instruction. Infinity for 0 gives no warning:
    # the scheduler configures NumPy so.
    dst[...] = 1 / np.sqrt(src.astype(np.float64))


bang_active_reciphp = unary(
    "__bang_active_reciphp",
    np.reciprocal,
    "Approximate reciprocal: ``dst[i] = 1 / src[i]``.\n\nThe hardware's average relative error is 4e-4 for float in [0.00391, 2e6] and half in [0.00391, 65504]; its results beyond these ranges are unknown, default chosen: 1 / x.",
    BOTH,
    approximation=Approximation(4e-4, {"half": (0.00391, 65504.0), "float": (0.00391, 2e6)}),
)


def _table(
    spelling: str,
    function: Callable[..., Any],
    formula: str,
    at: str,
    source: str,
    dtypes: tuple[DType, ...] = BOTH,
    **properties: Any,
) -> Intrinsic:
    """``(dst, src, elem_count)``: a function from a table of the hardware whose error is not published."""
    return unary(
        spelling,
        function,
        f"Approximate {formula}.\n\n{at}  The error of the hardware's table is not published; here it is the function itself.",
        dtypes,
        **{"source": source, "certainty": "I", "passes": Passes.FUNCTION} | properties,
    )


MLU270, MLU370 = "public kernels for MLU270", "public kernels accepted on MLU370"
_LOG = (
    "natural logarithm: ``dst[i] = ln(src[i])``",
    "Of 0 it is -infinity, of negative numbers NaN (inferred).",
)
_ROOT = ("square root: ``dst[i] = sqrt(src[i])``", "Of negative numbers it is NaN (inferred).")
_INVERSE_ROOT = (
    "reciprocal square root: ``dst[i] = 1 / sqrt(src[i])``",
    "Of 0 it is infinity, of negative numbers NaN (inferred).",
)
_INVERSE = ("reciprocal: ``dst[i] = 1 / src[i]``", "Of 0 it is infinity (inferred).")
bang_active_log = _table("__bang_active_log", np.log, *_LOG, MLU370, certainty="C")
bang_active_loghp = _table("__bang_active_loghp", np.log, *_LOG, MLU270)
bang_active_sqrt = _table("__bang_active_sqrt", np.sqrt, *_ROOT, MLU270)
bang_active_sqrthp = _table("__bang_active_sqrthp", np.sqrt, *_ROOT, MLU370, certainty="C")
bang_active_rsqrt = evolve(
    bang_rsqrt,
    spelling="__bang_active_rsqrt",
    doc=_table("__bang_active_rsqrt", np.sqrt, *_INVERSE_ROOT, MLU270).doc,
    since=0,
    certainty="I",
    source=MLU270,
)
bang_active_rsqrthp = evolve(bang_active_rsqrt, spelling="__bang_active_rsqrthp")
bang_active_recip = _table("__bang_active_recip", np.reciprocal, *_INVERSE, MLU270)
bang_active_recip_greater_1 = _table(
    "__bang_active_recip_greater_1",
    np.reciprocal,
    "reciprocal of numbers above 1: ``dst[i] = 1 / src[i]``",
    "What the hardware gives for others is unknown, default chosen: 1 / x.",
    MLU270,
)
bang_active_sin = _table("__bang_active_sin", np.sin, "sine: ``dst[i] = sin(src[i])``", "In radians.", MLU270)
bang_active_cos = _table(
    "__bang_active_cos", np.cos, "cosine: ``dst[i] = cos(src[i])``", "In radians.", MLU270
)
bang_active_pow2 = _table(
    "__bang_active_pow2", np.exp2, "power of two: ``dst[i] = 2 ** src[i]``", "For any number.", MLU270
)
bang_active_exp_less_0 = _table(
    "__bang_active_exp_less_0",
    np.exp,
    "exponential of numbers that are not positive: ``dst[i] = e ** src[i]``",
    "For half the result has no floor, as softmax kernels accepted on MLU370 show (scores down to -16); for float that is "
    "inferred.  The hardware's result for positive numbers is unknown, default chosen: e ** x.  bfloat16 is accepted too, as "
    "in public kernels for MLU590 (inferred).",
    MLU370,
    (half, bfloat16, float32),
    certainty="C",
)
bang_active_sign = unary(
    "__bang_active_sign",
    np.sign,
    "Sign: ``dst[i] = -1`` for negative numbers, 1 for positive ones; 0 for zeros and NaN for NaN (unknown, default chosen).",
    BOTH,
    certainty="I",
    source="vendor operator kernels for MLU2xx",
)


def _exponential(src: Tile) -> Any:
    if src.itemsize == 2:
        # The floors are in the header's comments: 2**-24 is the smallest half.
        return np.where(src < -7.75, src.dtype.type(2.0**-24), np.exp(src))
    return np.exp(np.maximum(src, src.dtype.type(-15)))


def exponential(spelling: str, doc: str, **properties: Any) -> Intrinsic:
    """``(dst, src, elem_count)``: an approximation of e ** x with the floors of the hardware's table."""

    def body(dst: Tile, src: Tile, elem_count: int) -> None:
        dst[...] = _exponential(src)

    body.__doc__ = doc
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes=BOTH,
        native=("exponential",),
        passes=Passes.EXPONENTIAL,
        **{"source": "vendor declaration header, arithmetic"} | properties,
    )(body)


bang_active_exphp = exponential(
    "__bang_active_exphp",
    "Approximate exponential: ``dst[i] = e ** src[i]``.\n\n"
    "The hardware's average relative error is 0.003 for float up to 16; its results beyond are unknown, default chosen: e ** x.\n"
    "Float below -15 gives e ** -15 = 3e-7, half below -7.75 gives 5.96e-8, as documented.",
    approximation=Approximation(0.003, {"half": (None, None), "float": (None, 16.0)}),
)
bang_active_exp = exponential(
    "__bang_active_exp",
    "Approximate exponential: ``dst[i] = e ** src[i]``.\n\n"
    "The hardware's average relative error is 0.007 for float up to 10.25; its results beyond are unknown, default chosen: e ** x.\n"
    "Float below -15 gives e ** -15 = 3e-7, half below -7.75 gives 5.96e-8, as documented.",
    approximation=Approximation(0.007, {"half": (None, None), "float": (None, 10.25)}),
)


@intrinsic(
    "__bang_active_sigmoid",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=FLOATS,
    source="vendor declaration header, arithmetic; hstu_mask_var_len_fwd and lstm_cell_forward, accepted on MLU370",
    approximation=Approximation(1e-2, ANYWHERE | {"bfloat16": (None, None)}),
    native=("sigmoid",),
    passes=Passes.EXPONENTIAL,
)
def bang_active_sigmoid(dst: Tile, src: Tile, elem_count: int) -> None:
    """Sigmoid: ``dst[i] = 1 / (1 + e ** -src[i])``; 0 below -7.75 and 1 above 7.75, as documented.

    Half is within 1e-2, as hstu_mask_var_len_fwd and lstm_cell_forward show, kernels accepted on MLU370.
    bfloat16 is accepted too, as in public kernels for MLU590 (inferred).
    """
    # In double: the result is rounded once, and e ** -x of a half below -11 would be infinity in half.
    sigmoid = 1 / (1 + np.exp(-src.astype(np.float64)))
    dst[...] = np.where(src < -7.75, 0, np.where(src > 7.75, 1, sigmoid))


bang_active_tanh = unary(
    "__bang_active_tanh",
    np.tanh,
    "Hyperbolic tangent: ``dst[i] = tanh(src[i])``; on the hardware a table with an average error of about 1e-2.\n\n"
    "Half is within 1e-2, as lstm_cell_forward shows, a kernel accepted on MLU370; for float it is inferred.",
    BOTH,
    source="vendor declaration header, arithmetic; lstm_cell_forward, accepted on MLU370",
    approximation=Approximation(1e-2, ANYWHERE),
    passes=Passes.EXPONENTIAL,
)


@intrinsic(
    "__bang_active_gelu",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=BOTH,
    certainty="C",
    source="vendor declaration header, arithmetic; MinGPTNewGelu, accepted on MLU370",
    approximation=Approximation(1e-2, ANYWHERE),
    native=("gelu",),
    passes=Passes.EXPONENTIAL,
)
def bang_active_gelu(dst: Tile, src: Tile, elem_count: int) -> None:
    """Gaussian error unit: ``dst[i] = x / 2 * (1 + tanh(0.7978846 * (x + 0.044715 * x ** 3)))`` with ``x = src[i]``.

    Half follows this form within 1e-2, as MinGPTNewGelu shows, a kernel accepted on MLU370; for float it is
    inferred.
    """
    x = src.astype(np.float64)  # in double, so that only the final result is rounded
    dst[...] = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


bang_active_gelup = evolve(
    bang_active_gelu,
    spelling="__bang_active_gelup",
    certainty="I",
    source="public kernels for MLU370",
    doc=f"{bang_active_gelu.doc}\n\nHow the vendor's form is more precise than this one is not public.",
)


@intrinsic(
    "__bang_relu",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=FLOATS,
    certainty="C",
    source="vendor declaration header, arithmetic; HingeLoss, accepted on MLU370",
    native=("map", "MAX_$dst(a, 0)"),
)
def bang_relu(dst: Tile, src: Tile, elem_count: int) -> None:
    """Rectify: ``dst[i] = max(src[i], 0)``, +0 of -0 (inferred); a NaN stays NaN (unknown, default chosen)."""
    nan_maximum(src, src.dtype.type(0), out=dst)


bang_active_relu = alias("__bang_active_relu", bang_relu)


@intrinsic(
    "__bang_relun",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=FLOATS,
    certainty="U",
    source="vendor declaration header, arithmetic",
    native=("map", "MIN_$dst(MAX_$dst(a, 0), b)"),
)
def bang_relun(dst: Tile, src: Tile, elem_count: int, value: Value) -> None:
    """Rectify up to *value*: ``dst[i] = min(max(src[i], 0), value)``; a NaN stays NaN.

    The order of the arguments and what becomes of NaN are unknown, default chosen.
    """
    nan_minimum(nan_maximum(src, src.dtype.type(0)), value, out=dst)
