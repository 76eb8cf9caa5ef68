"""The functions of the device library; vector functions have the count as first parameter."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, float32, half, int32, uint64
from mlusim.isa.declare import Flow, Intrinsic, Refused, Tile, Value, intrinsic, number
from mlusim.isa.rounding import saturate

SOURCE = "vendor declaration header, arithmetic"
OPTIMIZERS = "public kernels of torch_mlu's optimizers"


def _loop(spelling: str, ufunc: np.ufunc, *sources: str) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads=dict.fromkeys(sources, "elem_count"),
        dtypes=(float32,),
        source=SOURCE,
        native=("loop", ufunc),
    )


@_loop("__cn_vector_sin_f32", np.sin, "src")
def cn_vector_sin_f32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Sine: ``dst[i] = sin(src[i])``, in radians."""
    np.sin(src, out=dst)


@_loop("__cn_vector_cos_f32", np.cos, "src")
def cn_vector_cos_f32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Cosine: ``dst[i] = cos(src[i])``, in radians."""
    np.cos(src, out=dst)


@_loop("__cn_vector_hypot_f32", np.hypot, "src0", "src1")
def cn_vector_hypot_f32(elem_count: int, dst: Tile, src0: Tile, src1: Tile) -> None:
    """Length: ``dst[i] = sqrt(src0[i] ** 2 + src1[i] ** 2)`` without overflow on the way."""
    np.hypot(src0, src1, out=dst)


@intrinsic(
    "__cn_vector_accurate_sqrt_f32",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(float32,),
    certainty="I",
    source=OPTIMIZERS,
    native=("map", "sqrtf(a)"),
)
def cn_vector_accurate_sqrt_f32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Square root, rounded once: ``dst[i] = sqrt(src[i])``; of negative numbers NaN."""
    np.sqrt(src, out=dst)


@intrinsic(
    "__cn_vector_cast_f32_to_s32",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes={"dst": (int32,), "src": (float32,)},
    same=False,
    certainty="I",
    source=SOURCE,
    native=(
        "for (int64_t i = 0; i < elem_count; i++) dst[i] = (int32_t)saturate_(trunc((double)src[i]), "
        "LOW_i32, HIGH_i32);"
    ),
)
def cn_vector_cast_f32_to_s32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Convert toward zero: ``dst[i] = saturate(trunc(src[i]))``; NaN becomes 0 (unknown, default chosen)."""
    dst[...] = saturate(np.trunc(src), dst.dtype)


@intrinsic(
    "__cn_vector_mod_scalar_u64",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(uint64,),
    certainty="I",
    source=SOURCE,
    native="if (!value) SLOW; for (int64_t i = 0; i < elem_count; i++) dst[i] = src[i] % value;",
)
def cn_vector_mod_scalar_u64(elem_count: int, dst: Tile, src: Tile, value: Value) -> None:
    """Remainder: ``dst[i] = src[i] % value``; a *value* of 0 is refused."""
    if not value:
        raise Refused("value is 0, and nothing can be divided by it", operand="value", legal="1 or more")
    np.remainder(src, value, out=dst)


def _function(
    spelling: str,
    function: Callable[[Any], Any],
    dtype: DType,
    doc: str,
    *,
    returned: DType | None = None,
    native: str = "",
) -> Intrinsic:
    """Declare a function of one number; with *native*, its C text, for functions known from public kernels only."""
    result = returned or dtype

    def body(value: Any) -> Any:
        # In double and rounded once: the tables of the vendor's library are not published.
        return result.dtype.type(function(np.float64(number(value, dtype))))

    body.__doc__ = doc
    return intrinsic(
        spelling,
        pipe=Pipe.SCALAR,
        flow=Flow.MIXING,
        memory_core=True,
        c={"value": dtype.c, "return": result.c},
        certainty="I" if native else "C",
        source=OPTIMIZERS if native else SOURCE,
        native=native or ("one", function, "f16" if dtype is half else "f32"),
    )(body)


cn_scalar_sin_f32 = _function(
    "__cn_scalar_sin_f32", np.sin, float32, "Sine of one float: returns ``sin(value)``, in radians."
)
cn_scalar_cos_f32 = _function(
    "__cn_scalar_cos_f32", np.cos, float32, "Cosine of one float: returns ``cos(value)``, in radians."
)
cn_scalar_sin_f16 = _function(
    "__cn_scalar_sin_f16", np.sin, half, "Sine of one half: returns ``sin(value)``, in radians."
)
cn_scalar_cos_f16 = _function(
    "__cn_scalar_cos_f16", np.cos, half, "Cosine of one half: returns ``cos(value)``, in radians."
)
cn_scalar_accurate_sqrt_f32 = _function(
    "__cn_scalar_accurate_sqrt_f32",
    np.sqrt,
    float32,
    "Square root of one float, rounded once: returns ``sqrt(value)``; of a negative number NaN.",
    native="result = sqrtf(value);",
)
cn_scalar_isfinite_f32 = _function(
    "__cn_scalar_isfinite_f32",
    np.isfinite,
    float32,
    "Test one float: returns 1 where it is neither infinite nor NaN, and 0 otherwise.",
    returned=int32,
    native="result = value - value == 0;",
)


def _extreme(spelling: str, function: Callable[[Any, Any], Any], word: str, doc: str) -> Intrinsic:

    def body(first: Any, second: Any) -> Any:
        return np.float32(function(number(first, float32), number(second, float32)))

    body.__doc__ = doc
    return intrinsic(
        spelling,
        pipe=Pipe.SCALAR,
        flow=Flow.MIXING,
        memory_core=True,
        c={"first": "float", "second": "float", "return": "float"},
        certainty="I",
        source="public kernels, generated for MLU370",
        native=f"result = f{word}f(first, second);",
    )(body)


cn_scalar_max_f32 = _extreme(
    "__cn_scalar_max_f32",
    np.fmax,
    "max",
    "Larger of two floats: returns ``max(first, second)``; a NaN loses.",
)
cn_scalar_min_f32 = _extreme(
    "__cn_scalar_min_f32",
    np.fmin,
    "min",
    "Smaller of two floats: returns ``min(first, second)``; a NaN loses.",
)
