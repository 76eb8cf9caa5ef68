"""Fusions: two operations in one instruction."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlusim.arch.dtypes import int16, int32, uint16, uint32
from mlusim.isa.declare import FLOATS, Flow, FusionOp, Passes, Refused, Tile, TileOrValue, demand, intrinsic
from mlusim.isa.rounding import odd_sum, to_nearest

FUSION_FMA, FUSION_FMS, FUSION_FAM, FUSION_FSM, FUSION_FAA, FUSION_FAS, FUSION_FSS, FUSION_FSA = range(8)

# The bits of a float64 below the first bit that the type drops: all zero at a tie.
BELOW_TIE: Mapping[str, Tile] = {
    name: np.array((1 << bits) - 1) for name, bits in (("float16", 41), ("bfloat16", 44), ("float32", 28))
}


def fused(a: Tile, b: Tile, c: Tile, dtype: np.dtype[Any]) -> Any:
    """``a * b + c`` rounded once to *dtype*; the operands are of *dtype* or of float64.

    The product is exact in float64, but the sum may not be. Where the sum lies halfway between two numbers of
    *dtype*, so that a second rounding could change the result, it is rounded to odd.
    """
    product = np.multiply(a, b, dtype=np.float64)
    wide = np.asarray(c).astype(np.float64)
    total = np.add(product, wide)
    low = np.bitwise_and(total.view(np.int64), BELOW_TIE[dtype.name])
    # If no sum can be a tie, skip the passes of `odd_sum`.
    if np.count_nonzero(low) != low.size:
        total = odd_sum(product, wide, total)
    return to_nearest(total, dtype)


OPERATIONS: Mapping[int, Callable[[Any, Any, Any], Any]] = {
    FUSION_FMA: lambda a, b, c: (
        np.add(np.multiply(a, b), c) if a.dtype.kind in "iu" else fused(a, b, c, a.dtype)
    ),
    FUSION_FMS: lambda a, b, c: (
        np.subtract(np.multiply(a, b), c) if a.dtype.kind in "iu" else fused(a, b, np.negative(c), a.dtype)
    ),
    FUSION_FAM: lambda a, b, c: np.multiply(np.add(a, b), c),
    FUSION_FSM: lambda a, b, c: np.multiply(np.subtract(a, b), c),
    FUSION_FAA: lambda a, b, c: np.add(np.add(a, b), c),
    FUSION_FAS: lambda a, b, c: np.subtract(np.add(a, b), c),
    FUSION_FSS: lambda a, b, c: np.subtract(np.subtract(a, b), c),
    FUSION_FSA: lambda a, b, c: np.add(np.subtract(a, b), c),
}


@intrinsic(
    "__bang_fusion",
    writes={"dst": "elem_count"},
    reads={"src0": "elem_count", "src1": "src12_elem_count", "src2": "src12_elem_count"},
    dtypes=(*FLOATS, int16, int32, uint16, uint32),
    in_place=("src0",),
    whole=("src1", "src2"),
    flow=Flow.REPEATING,
    rules=(
        demand(
            "src12_elem_count is None and (pointer(src1) or pointer(src2))",
            "src1 or src2 is a vector, and src12_elem_count is missing",
            "the number of elements of the vectors src1 and src2 as the last argument",
        ),
        demand(
            "src12_elem_count is not None and not pointer(src1) and not pointer(src2)",
            "src12_elem_count = {src12_elem_count} is given, and neither src1 nor src2 is a vector",
            "no last argument where both are scalars",
        ),
        demand(
            "src12_elem_count is not None and src12_elem_count > 0 and elem_count % src12_elem_count != 0",
            "elem_count = {elem_count} is not a multiple of src12_elem_count ({src12_elem_count})",
            "multiples of src12_elem_count",
        ),
    ),
    since=322,
    source="vendor declaration header, arithmetic",
    native=("fusion",),
    passes=Passes.FUSION,
)
def bang_fusion(
    op: FusionOp,
    dst: Tile,
    src0: Tile,
    src1: TileOrValue,
    src2: TileOrValue,
    elem_count: int,
    src12_elem_count: int | None = None,
) -> None:
    """Two operations in one: ``FUSION_FMA: dst[i] = src0[i] * src1[i % m] + src2[i % m]``, m = *src12_elem_count*.

    FMA ``a * b + c``, FMS ``a * b - c``, FAM ``(a + b) * c``, FSM ``(a - b) * c``, FAA ``a + b + c``, FAS ``a
    + b - c``, FSS ``a - b - c``, FSA ``a - b + c``. *src1* and *src2* are vectors of m elements, which are
    used again and again, or scalars; m is given exactly if one of them is a vector. *dst* may be exactly any
    source that is as long (*src1* and *src2*: inferred). FMA and FMS of floats round once, the others after
    each operation (unknown, default chosen); integers, accepted as in newer toolkits (inferred), wrap.
    """
    operation = OPERATIONS.get(op)
    if operation is None:
        raise Refused(f"op = {op!r} is not a fusion", operand="op", legal="FUSION_FMA to FUSION_FSA, 0 to 7")
    if src12_elem_count is None or src12_elem_count == elem_count:
        dst[...] = operation(src0, src1, src2)
    else:
        rows = (-1, src12_elem_count)
        dst.reshape(rows)[...] = operation(src0.reshape(rows), src1, src2)
