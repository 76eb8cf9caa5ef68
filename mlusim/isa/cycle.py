"""The cycle family: a short segment is applied repeatedly along a vector.

``dst[i] = src[i] op seg[i % seg_elem_num]``; *src_elem_num* is a multiple of *seg_elem_num*.  *dst* may
be exactly *src*; it must not overlap *seg*.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, float32, half, int32
from mlusim.isa.declare import (
    FLOATS,
    INTS,
    NUMBERS,
    PREDICATES,
    Flow,
    Intrinsic,
    Tile,
    intrinsic,
    multiple_of,
)
from mlusim.isa.extremes import EXTREMES, ZEROS, maximum, minimum, nan_maximum, nan_minimum
from mlusim.isa.rounding import narrow, odd_sum


def cycle(
    spelling: str,
    ufunc: Callable[..., Any],
    formula: str,
    dtypes: tuple[DType, ...] = NUMBERS,
    dtypes_2xx: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """Declare a row of ``(dst, src, seg, src_elem_num, seg_elem_num)``."""

    def predicate(dst: Tile, src: Tile, seg: Tile, src_elem_num: int, seg_elem_num: int) -> None:
        dst.reshape(-1, seg_elem_num)[...] = ufunc(src.reshape(-1, seg_elem_num), seg)

    def operation(dst: Tile, src: Tile, seg: Tile, src_elem_num: int, seg_elem_num: int) -> None:
        ufunc(src.reshape(-1, seg_elem_num), seg, out=dst.reshape(-1, seg_elem_num))

    # A comparison gives bool, which NumPy does not convert to the sources' type by itself.
    body = predicate if ufunc in PREDICATES else operation

    body.__doc__ = (
        f"Apply a segment again and again: ``dst[i] = {formula}`` with ``k = i % seg_elem_num``.\n\n"
        f"*dst* may be exactly *src*, not *seg*.{f'  {ZEROS}' if ufunc in EXTREMES else ''}"
    )
    return intrinsic(
        spelling,
        writes={"dst": "src_elem_num"},
        reads={"src": "src_elem_num", "seg": "seg_elem_num"},
        dtypes=dtypes,
        dtypes_2xx=dtypes_2xx,
        in_place=("src",),
        flow=Flow.REPEATING,
        rules=(multiple_of("src_elem_num", "seg_elem_num"),),
        native=("cycle", ufunc),
        **{"source": "vendor declaration header, cycle family"} | properties,
    )(body)


bang_cycle_add = cycle("__bang_cycle_add", np.add, "src[i] + seg[k]")


@intrinsic(
    "__bang_cycle_add_tz",
    writes={"dst": "src_elem_num"},
    reads={"src": "src_elem_num", "seg": "seg_elem_num"},
    dtypes=(half, float32),
    in_place=("src",),
    flow=Flow.REPEATING,
    rules=(multiple_of("src_elem_num", "seg_elem_num"),),
    certainty="C",
    source="public kernels: conversions of mlu-ops for MLU2xx; fused_matmul_fwd, accepted on MLU370",
    native=(
        "for (int64_t i = 0; i < src_elem_num; i++) { double a = GET_$src(src[i]), b = "
        "GET_$seg(seg[i % seg_elem_num]); dst[i] = narrow_to_$dst(odd_sum_(a, b), TZ); }"
    ),
)
def bang_cycle_add_tz(dst: Tile, src: Tile, seg: Tile, src_elem_num: int, seg_elem_num: int) -> None:
    """Apply a segment repeatedly, rounding toward zero: ``dst[i] = truncate(src[i] + seg[k])`` with ``k = i % seg_elem_num``.

    *dst* may be exactly *src*, not *seg*.
    """
    first, second = src.astype(np.float64).reshape(-1, seg_elem_num), seg.astype(np.float64)
    # The exact sum may need more than the 53 bits of a double; rounded to odd, it narrows toward zero like
    # the exact sum.
    total = first + second
    narrowed = narrow(odd_sum(first, np.broadcast_to(second, first.shape), total), dst.dtype, "tz")
    dst[...] = narrowed.reshape(-1)


bang_cycle_sub = cycle("__bang_cycle_sub", np.subtract, "src[i] - seg[k]")
bang_cycle_mul = cycle("__bang_cycle_mul", np.multiply, "src[i] * seg[k]")
bang_cycle_eq = cycle("__bang_cycle_eq", np.equal, "src[i] == seg[k]")
bang_cycle_ne = cycle("__bang_cycle_ne", np.not_equal, "src[i] != seg[k]", certainty="I")
bang_cycle_lt = cycle("__bang_cycle_lt", np.less, "src[i] < seg[k]")
bang_cycle_le = cycle("__bang_cycle_le", np.less_equal, "src[i] <= seg[k]")
bang_cycle_gt = cycle("__bang_cycle_gt", np.greater, "src[i] > seg[k]", certainty="I")
bang_cycle_ge = cycle("__bang_cycle_ge", np.greater_equal, "src[i] >= seg[k]", certainty="I")
bang_cycle_and = cycle("__bang_cycle_and", np.logical_and, "src[i] && seg[k]")
bang_cycle_or = cycle("__bang_cycle_or", np.logical_or, "src[i] || seg[k]", certainty="I")
bang_cycle_xor = cycle("__bang_cycle_xor", np.logical_xor, "!src[i] != !seg[k]", certainty="I")
bang_cycle_band = cycle("__bang_cycle_band", np.bitwise_and, "src[i] & seg[k]", INTS, INTS)
bang_cycle_bor = cycle("__bang_cycle_bor", np.bitwise_or, "src[i] | seg[k]", INTS, INTS, certainty="I")
bang_cycle_bxor = cycle("__bang_cycle_bxor", np.bitwise_xor, "src[i] ^ seg[k]", INTS, INTS, certainty="I")
bang_cycle_maxequal = cycle("__bang_cycle_maxequal", maximum, "max(src[i], seg[k])", (*FLOATS, int32))
bang_cycle_minequal = cycle("__bang_cycle_minequal", minimum, "min(src[i], seg[k])", (*FLOATS, int32))
bang_cycle_nan_maximum = cycle(
    "__bang_cycle_nan_maximum",
    nan_maximum,
    "max(src[i], seg[k]), NaN if either is",
    (half, float32),
    since=322,
)
bang_cycle_nan_minimum = cycle(
    "__bang_cycle_nan_minimum",
    nan_minimum,
    "min(src[i], seg[k]), NaN if either is",
    (half, float32),
    since=322,
    certainty="I",
)
