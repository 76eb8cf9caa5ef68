"""The vector and scalar functions of the device library: the count comes first."""

import numpy as np

from mlusim.arch.dtypes import float32, int32
from mlusim.isa.declare import Tile, intrinsic
from mlusim.isa.rounding import saturate

SOURCE = "bangc 5.3"


@intrinsic(
    "__cn_vector_sin_f32",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(float32,),
    source=SOURCE,
)
def cn_vector_sin_f32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Sine: ``dst[i] = sin(src[i])``, in radians."""
    np.sin(src, out=dst)


@intrinsic(
    "__cn_vector_cos_f32",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(float32,),
    source=SOURCE,
)
def cn_vector_cos_f32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Cosine: ``dst[i] = cos(src[i])``, in radians."""
    np.cos(src, out=dst)


@intrinsic(
    "__cn_vector_hypot_f32",
    writes={"dst": "elem_count"},
    reads={"src0": "elem_count", "src1": "elem_count"},
    dtypes=(float32,),
    source=SOURCE,
)
def cn_vector_hypot_f32(elem_count: int, dst: Tile, src0: Tile, src1: Tile) -> None:
    """Length: ``dst[i] = sqrt(src0[i] ** 2 + src1[i] ** 2)`` without overflow on the way."""
    np.hypot(src0, src1, out=dst)


@intrinsic(
    "__cn_vector_cast_f32_to_s32",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes={"dst": (int32,), "src": (float32,)},
    same=False,
    certainty="I",
    source=SOURCE,
)
def cn_vector_cast_f32_to_s32(elem_count: int, dst: Tile, src: Tile) -> None:
    """Convert toward zero: ``dst[i] = saturate(trunc(src[i]))``; NaN becomes 0 (unknown, default chosen)."""
    dst[...] = saturate(np.trunc(src), dst.dtype)
