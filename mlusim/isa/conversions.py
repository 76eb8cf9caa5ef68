"""Conversions between element types, rounded by suffix; a name without a suffix that must round rounds toward zero.

Floats to integers are scaled by a fixed-point position: ``dst[i] = saturate(round(src[i] / 2**pos))``; *pos* lies
in [-127, 127] and is 0 in most kernels.  Values beyond the range of the integer become its nearest limit
(inferred), and NaN becomes 0 (unknown on the hardware, default chosen).

From integers: ``dst[i] = src[i] * 2**pos`` (the manual prints a division; the product is inferred from the
meaning of a fixed-point position).
"""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, bfloat16, float32, half, int8, int16, int32, uint8, uint32
from mlusim.isa.declare import Generation, Intrinsic, Tile, alias, between, intrinsic
from mlusim.isa.rounding import TO_WHOLE, WORDS, narrow, saturate

PUBLIC = "public kernels for MLU590"
IMAGES = "public kernels for MLU370, image preprocessing"

# -- floats to integers ------------------------------------------------------------------------------


def to_int(spelling: str, source: DType, target: DType, mode: str, /, **properties: Any) -> Intrinsic:
    """``(dst, src, elem_count, pos)``: floats of *source* to integers of *target*, rounded in *mode*."""
    to_whole = TO_WHOLE[mode]
    widen = source is half
    truncates = mode == "tz"
    # 0 for unsigned types: the quick test below compares magnitudes, and would let negative numbers pass.
    limit = np.array(np.iinfo(target.dtype).max + 1 if target.kind == "int" else 0, np.float32)

    def body(dst: Tile, src: Tile, elem_count: int, pos: int = 0) -> None:
        # NumPy's functions on halves convert element by element.
        wide = src.astype(np.float32) if widen else src
        if pos:
            wide = np.ldexp(wide.astype(np.float64), -pos)
        whole = wide if truncates else to_whole(wide)
        if np.count_nonzero(np.less(np.absolute(whole), limit)) == elem_count:
            dst[...] = whole  # NumPy's own conversion truncates; defined, as all are in range
        else:
            dst[...] = saturate(whole, dst.dtype)

    body.__doc__ = (
        f"Convert {source} to {target}, {WORDS[mode]}: ``dst[i] = saturate(round(src[i] / 2**pos))``.\n\n"
        f"*dst* may be exactly *src*.  Beyond the range of {target} the nearest limit is the result (inferred); "
        "NaN becomes 0 (unknown, default chosen)."
    )
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes={"dst": (target,), "src": (source,)},
        same=False,
        rules=(between("pos", -127, 127),),
        native=("to_int", mode),
        **{"source": "vendor declaration header, conversions"} | properties,
    )(body)


bang_float2int32 = to_int("__bang_float2int32", float32, int32, "tz", since=322, certainty="I")
bang_float2int32_tz = to_int("__bang_float2int32_tz", float32, int32, "tz", since=322)
bang_float2int32_oz = to_int("__bang_float2int32_oz", float32, int32, "oz", since=322, certainty="I")
bang_float2int32_up = to_int("__bang_float2int32_up", float32, int32, "up", since=322, certainty="I")
bang_float2int32_dn = to_int("__bang_float2int32_dn", float32, int32, "dn", since=322, certainty="I")
bang_float2int32_rd = to_int("__bang_float2int32_rd", float32, int32, "rd", since=322)
bang_float2int32_rn = to_int("__bang_float2int32_rn", float32, int32, "rn", since=322, certainty="I")
bang_float2int32_rm = to_int("__bang_float2int32_rm", float32, int32, "rm", since=322, certainty="I")
bang_float2int16_tz = to_int("__bang_float2int16_tz", float32, int16, "tz", certainty="I")
bang_float2int16_oz = to_int("__bang_float2int16_oz", float32, int16, "oz", certainty="I")
bang_float2int16_up = to_int("__bang_float2int16_up", float32, int16, "up", certainty="I")
bang_float2int16_dn = to_int("__bang_float2int16_dn", float32, int16, "dn")
bang_float2int16_rd = to_int("__bang_float2int16_rd", float32, int16, "rd")
bang_float2int16_rn = to_int("__bang_float2int16_rn", float32, int16, "rn", since=322, certainty="I")
bang_float2int16_rm = to_int("__bang_float2int16_rm", float32, int16, "rm", since=322, certainty="I")
bang_float2int8_tz = to_int("__bang_float2int8_tz", float32, int8, "tz", certainty="I")
bang_float2int8_oz = to_int("__bang_float2int8_oz", float32, int8, "oz", certainty="I")
bang_float2int8_up = to_int("__bang_float2int8_up", float32, int8, "up", certainty="I")
bang_float2int8_dn = to_int("__bang_float2int8_dn", float32, int8, "dn")
bang_float2int8_rd = to_int("__bang_float2int8_rd", float32, int8, "rd")
bang_float2int8_rn = to_int("__bang_float2int8_rn", float32, int8, "rn", since=322, certainty="I")
bang_float2int8_rm = to_int("__bang_float2int8_rm", float32, int8, "rm", since=322, certainty="I")
bang_half2int32 = to_int(
    "__bang_half2int32", half, int32, "tz", since=322, source="public kernels accepted on MLU370"
)
bang_half2int32_tz = to_int("__bang_half2int32_tz", half, int32, "tz", since=322)
bang_half2int32_oz = to_int("__bang_half2int32_oz", half, int32, "oz", since=322, certainty="I")
bang_half2int32_up = to_int("__bang_half2int32_up", half, int32, "up", since=322, certainty="I")
bang_half2int32_dn = to_int("__bang_half2int32_dn", half, int32, "dn", since=322, certainty="I")
bang_half2int32_rd = to_int("__bang_half2int32_rd", half, int32, "rd", since=322)
bang_half2int32_rn = to_int("__bang_half2int32_rn", half, int32, "rn", since=322, certainty="I")
bang_half2int32_rm = to_int("__bang_half2int32_rm", half, int32, "rm", since=322, certainty="I")
bang_half2int16_tz = to_int("__bang_half2int16_tz", half, int16, "tz", certainty="I")
bang_half2int16_oz = to_int("__bang_half2int16_oz", half, int16, "oz", certainty="I")
bang_half2int16_up = to_int("__bang_half2int16_up", half, int16, "up", certainty="I")
bang_half2int16_dn = to_int("__bang_half2int16_dn", half, int16, "dn")
bang_half2int16_rd = to_int("__bang_half2int16_rd", half, int16, "rd")
bang_half2int16_rn = to_int("__bang_half2int16_rn", half, int16, "rn", since=322, certainty="I")
bang_half2int16_rm = to_int("__bang_half2int16_rm", half, int16, "rm", since=322, certainty="I")
bang_half2int8 = to_int(
    "__bang_half2int8", half, int8, "tz", source="public kernels: fused_matmul_fwd, accepted on MLU370"
)
bang_half2int8_tz = to_int("__bang_half2int8_tz", half, int8, "tz", certainty="I")
bang_half2int8_oz = to_int("__bang_half2int8_oz", half, int8, "oz", certainty="I")
bang_half2int8_up = to_int("__bang_half2int8_up", half, int8, "up", certainty="I")
bang_half2int8_dn = to_int("__bang_half2int8_dn", half, int8, "dn")
bang_half2int8_rd = to_int("__bang_half2int8_rd", half, int8, "rd")
bang_half2int8_rn = to_int("__bang_half2int8_rn", half, int8, "rn", since=322, certainty="I")
bang_half2int8_rm = to_int("__bang_half2int8_rm", half, int8, "rm", since=322, certainty="I")
bang_half2uchar_dn = to_int("__bang_half2uchar_dn", half, uint8, "dn", certainty="I")
bang_float2uchar_dn = to_int("__bang_float2uchar_dn", float32, uint8, "dn", certainty="I")
bang_half2uchar_tz = to_int("__bang_half2uchar_tz", half, uint8, "tz", since=322, certainty="I")
bang_half2uchar_oz = to_int("__bang_half2uchar_oz", half, uint8, "oz", since=322, certainty="I")
bang_half2uchar_up = to_int("__bang_half2uchar_up", half, uint8, "up", since=322, certainty="I")
bang_half2uchar_rd = to_int("__bang_half2uchar_rd", half, uint8, "rd", since=322, certainty="I")
bang_half2uchar_rn = to_int("__bang_half2uchar_rn", half, uint8, "rn", since=322, certainty="I")
bang_half2uchar_rm = to_int("__bang_half2uchar_rm", half, uint8, "rm", since=322, certainty="I")
bang_float2uchar_tz = to_int("__bang_float2uchar_tz", float32, uint8, "tz", since=322, certainty="I")
bang_float2uchar_oz = to_int("__bang_float2uchar_oz", float32, uint8, "oz", since=322, certainty="I")
bang_float2uchar_up = to_int("__bang_float2uchar_up", float32, uint8, "up", since=322, certainty="I")
bang_float2uchar_rd = to_int("__bang_float2uchar_rd", float32, uint8, "rd", since=322, certainty="I")
bang_float2uchar_rn = to_int("__bang_float2uchar_rn", float32, uint8, "rn", since=322, certainty="I")
bang_float2uchar_rm = to_int("__bang_float2uchar_rm", float32, uint8, "rm", since=322, certainty="I")
bang_float2uint32_tz = to_int(
    "__bang_float2uint32_tz", float32, uint32, "tz", since=322, certainty="I", source=IMAGES
)
bang_float2uint32_oz = to_int(
    "__bang_float2uint32_oz", float32, uint32, "oz", since=322, certainty="I", source=IMAGES
)
bang_float2uint32_up = to_int(
    "__bang_float2uint32_up", float32, uint32, "up", since=322, certainty="I", source=IMAGES
)
bang_float2uint32_dn = to_int(
    "__bang_float2uint32_dn", float32, uint32, "dn", since=322, certainty="I", source=IMAGES
)
bang_float2uint32_rd = to_int(
    "__bang_float2uint32_rd", float32, uint32, "rd", since=322, certainty="I", source=IMAGES
)
bang_float2uint32_rn = to_int(
    "__bang_float2uint32_rn", float32, uint32, "rn", since=322, certainty="I", source=IMAGES
)
bang_float2uint32_rm = to_int(
    "__bang_float2uint32_rm", float32, uint32, "rm", since=322, certainty="I", source=IMAGES
)
bang_float2int_tz = alias("__bang_float2int_tz", bang_float2int32_tz)
bang_float2int_oz = alias("__bang_float2int_oz", bang_float2int32_oz)
bang_float2int_up = alias("__bang_float2int_up", bang_float2int32_up)
bang_float2int_dn = alias("__bang_float2int_dn", bang_float2int32_dn)
bang_float2int_rd = alias("__bang_float2int_rd", bang_float2int32_rd)
bang_float2int_rn = alias("__bang_float2int_rn", bang_float2int32_rn)
bang_float2int_rm = alias("__bang_float2int_rm", bang_float2int32_rm)
bang_half2short_oz = alias("__bang_half2short_oz", bang_half2int16_oz)
bang_half2short_up = alias("__bang_half2short_up", bang_half2int16_up)
bang_half2short_dn = alias("__bang_half2short_dn", bang_half2int16_dn)
bang_half2short_rd = alias("__bang_half2short_rd", bang_half2int16_rd)
bang_half2short_tz = alias("__bang_half2short_tz", bang_half2int16_tz)


# -- to floats, and between integers -----------------------------------------------------------------

EXACT = {half: 1 << 11, bfloat16: 1 << 8, float32: 1 << 24}  # integers up to these are exact

TAIL = "may contain *src* at its end, as in vendor kernels (inferred), and must not overlap it otherwise."


def narrowing(spelling: str, target: DType, mode: str, **properties: Any) -> Intrinsic:
    """``(dst, src, elem_count)``: float to *target*, rounded in *mode*."""

    def body(dst: Tile, src: Tile, elem_count: int, generation: Generation) -> None:
        if mode == "rn" and generation != 2:
            dst[...] = src
            return
        narrowed = narrow(src.astype(np.float64), dst.dtype, mode)
        if generation == 2:
            # MLU2xx has no infinity.
            narrowed = np.clip(narrowed, np.finfo(dst.dtype).min, np.finfo(dst.dtype).max)
        dst[...] = narrowed

    body.__doc__ = (
        f"Convert float to {target}, {WORDS[mode]}: ``dst[i] = round(src[i])``.\n\n"
        "*dst* may be exactly *src*.  NaN and infinities stay; numbers that are too large become infinity, "
        "or the largest finite number if the rounding is toward it.  On MLU2xx there is no "
        "infinity: results saturate (inferred)."
    )
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes={"dst": (target,), "src": (float32,)},
        same=False,
        native=("narrowing", mode),
        **{"source": "vendor declaration header, conversions"} | properties,
    )(body)


def widening(spelling: str, source: DType, target: DType, **properties: Any) -> Intrinsic:
    """``(dst, src, elem_count)``: from one type to a type that represents all its values."""

    def body(
        dst: Tile,
        src: Tile,
        elem_count: int,
        dst_stride: int | None = None,
        src_stride: int | None = None,
        segnum: int | None = None,
    ) -> None:
        dst[...] = src

    body.__doc__ = (
        f"Convert {source} to {target}: ``dst[i] = src[i]``, exactly.\n\n"
        f"*dst* {TAIL}  With strides in bytes, ``segnum + 1`` pieces of *elem_count* elements."
    )
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes={"dst": (target,), "src": (source,)},
        strides={"dst": (("dst_stride", "segnum"),), "src": (("src_stride", "segnum"),)},
        same=False,
        tail=("src",),
        native="for (int64_t i = 0; i < elem_count; i++) dst[i] = GET_$src(src[i]);",
        **{"source": "vendor declaration header, conversions"} | properties,
    )(body)


def from_int(spelling: str, source: DType, target: DType, mode: str, /, **properties: Any) -> Intrinsic:
    """``(dst, src, elem_count, pos)``: integers of *source* to floats of *target*."""
    magnitude = np.dtype(f"u{source.size}")  # so that the smallest integer has an absolute value
    exact = np.array(min(EXACT[target], np.iinfo(magnitude).max), magnitude)
    always = np.iinfo(source.dtype).max < EXACT[target]
    nearest = mode == "rn" and target is float32

    def body(dst: Tile, src: Tile, elem_count: int, pos: int = 0) -> None:
        if not pos and (
            # NumPy's conversion is right if nothing is rounded, or if it rounds in the required mode.
            always
            or nearest
            or np.count_nonzero(np.less(np.absolute(src).view(magnitude), exact)) == elem_count
        ):
            dst[...] = src
        else:
            dst[...] = narrow(np.ldexp(src.astype(np.float64), pos), dst.dtype, mode)

    rounded = "exactly if *pos* is 0" if always else WORDS[mode]
    wider = source.size < target.size
    body.__doc__ = (
        f"Convert {source} to {target}, {rounded}: ``dst[i] = src[i] * 2**pos``.\n\n"
        f"*dst* {TAIL if wider else 'may be exactly *src*.'}  That the factor is ``2**pos``, not its inverse, is inferred."
    )
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes={"dst": (target,), "src": (source,)},
        same=False,
        in_place=not wider,
        tail=("src",) * wider,
        rules=(between("pos", -127, 127),),
        native=("from_int", mode),
        **{"source": "vendor declaration header, conversions"} | properties,
    )(body)


def between_ints(spelling: str, source: DType, target: DType, /, **properties: Any) -> Intrinsic:
    """``(dst, src, elem_count, dst_pos, src_pos)``: integers to integers of another width."""

    def body(dst: Tile, src: Tile, elem_count: int, dst_pos: int = 0, src_pos: int = 0) -> None:
        scaled = src if src_pos == dst_pos else np.ldexp(src.astype(np.float64), src_pos - dst_pos)
        dst[...] = saturate(np.trunc(scaled), dst.dtype)

    wider = source.size < target.size
    body.__doc__ = (
        f"Convert {source} to {target}: ``dst[i] = saturate(trunc(src[i] * 2**(src_pos - dst_pos)))``.\n\n"
        f"*dst* {TAIL if wider else 'may be exactly *src*.'}  The scaling is inferred."
    )
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes={"dst": (target,), "src": (source,)},
        same=False,
        in_place=not wider,
        tail=("src",) * wider,
        rules=(between("dst_pos", -127, 127), between("src_pos", -127, 127)),
        native=(
            "for (int64_t i = 0; i < elem_count; i++) dst[i] = (T_$dst)saturate_("
            "trunc(scaled_((double)src[i], src_pos - dst_pos)), LOW_$dst, HIGH_$dst);"
        ),
        **{"source": "vendor declaration header, conversions", "certainty": "I"} | properties,
    )(body)


bang_half2float = widening("__bang_half2float", half, float32)
bang_bfloat162float = widening("__bang_bfloat162float", bfloat16, float32, since=322, certainty="I")

bang_float2half_tz = narrowing("__bang_float2half_tz", half, "tz")
bang_float2half_oz = narrowing("__bang_float2half_oz", half, "oz")
bang_float2half_up = narrowing("__bang_float2half_up", half, "up")
bang_float2half_dn = narrowing("__bang_float2half_dn", half, "dn")
bang_float2half_rd = narrowing("__bang_float2half_rd", half, "rd")
bang_float2half_rn = narrowing("__bang_float2half_rn", half, "rn", since=322)
bang_float2half_rm = narrowing(
    "__bang_float2half_rm",
    half,
    "rm",
    since=322,
    source="vendor declaration header, conversions; conv_standard_1D, accepted on MLU370",
)
# Without a suffix, as in public kernels for MLU590: rounding to nearest is inferred; kernels accepted on
# MLU370 (renormRowsL1, Std_reduction_over_dim, QR_decomposition) do not distinguish it from other modes.
bang_float2half = narrowing("__bang_float2half", half, "rn", since=322, certainty="I", source=PUBLIC)
bang_float2bfloat16 = narrowing(
    "__bang_float2bfloat16", bfloat16, "rn", since=322, certainty="I", source=PUBLIC
)
bang_float2bfloat16_tz = narrowing("__bang_float2bfloat16_tz", bfloat16, "tz", since=322)
bang_float2bfloat16_oz = narrowing("__bang_float2bfloat16_oz", bfloat16, "oz", since=322, certainty="I")
bang_float2bfloat16_up = narrowing("__bang_float2bfloat16_up", bfloat16, "up", since=322, certainty="I")
bang_float2bfloat16_dn = narrowing("__bang_float2bfloat16_dn", bfloat16, "dn", since=322, certainty="I")
bang_float2bfloat16_rd = narrowing("__bang_float2bfloat16_rd", bfloat16, "rd", since=322, certainty="I")
bang_float2bfloat16_rn = narrowing("__bang_float2bfloat16_rn", bfloat16, "rn", since=322, certainty="I")
bang_float2bfloat16_rm = narrowing("__bang_float2bfloat16_rm", bfloat16, "rm", since=322, certainty="I")


@intrinsic(
    "__bang_float2tf32_sr",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(float32,),
    since=322,
    certainty="U",
    source="vendor declaration header, conversions",
    native=(
        "for (int64_t i = 0; i < elem_count; i++) { uint32_t b = bits_(src[i]), draw = ((uint32_t)i * "
        "0x9E3779B1u) >> 19; dst[i] = isfinite(src[i]) ? float_((b + draw) & 0xFFFFE000u) : "
        "float_(b); }"
    ),
)
def bang_float2tf32_sr(dst: Tile, src: Tile, elem_count: int) -> None:
    """Round float to tf32 (10 bits of fraction, stored as float), stochastically: ``dst[i] = round(src[i])``.

    The nearer neighbour is more likely. The hardware's random numbers are unknown; the default chosen is a
    fixed sequence by index, so that results are reproducible.
    """
    # A multiplicative hash with 2^32 over the golden ratio; its upper 13 bits, as many as tf32 drops.
    draws = (np.arange(elem_count, dtype=np.uint32) * np.uint32(0x9E3779B1)) >> np.uint32(19)
    bits = src.view(np.uint32)
    rounded = (bits + draws) & np.uint32(0xFFFFE000)
    dst.view(np.uint32)[...] = np.where(np.isfinite(src), rounded, bits)


bang_int322float = from_int("__bang_int322float", int32, float32, "tz", since=322)
bang_int322float_tz = from_int("__bang_int322float_tz", int32, float32, "tz", since=322, certainty="I")
bang_int322float_oz = from_int("__bang_int322float_oz", int32, float32, "oz", since=322, certainty="I")
bang_int322float_up = from_int("__bang_int322float_up", int32, float32, "up", since=322, certainty="I")
bang_int322float_dn = from_int("__bang_int322float_dn", int32, float32, "dn", since=322, certainty="I")
bang_int322float_rd = from_int("__bang_int322float_rd", int32, float32, "rd", since=322)
bang_int322float_rn = from_int("__bang_int322float_rn", int32, float32, "rn", since=322)
bang_int322float_rm = from_int("__bang_int322float_rm", int32, float32, "rm", since=322, certainty="I")
bang_int2float = alias("__bang_int2float", bang_int322float)
bang_uint322float = from_int(
    "__bang_uint322float", uint32, float32, "tz", since=322, certainty="I", source=IMAGES
)
bang_int322half = from_int("__bang_int322half", int32, half, "tz", since=322, certainty="I")
bang_int322half_tz = from_int("__bang_int322half_tz", int32, half, "tz", since=322, certainty="I")
bang_int322half_rd = from_int("__bang_int322half_rd", int32, half, "rd", since=322, certainty="I")
bang_int322half_rn = from_int("__bang_int322half_rn", int32, half, "rn", since=322, certainty="I")
bang_int162half = from_int("__bang_int162half", int16, half, "tz")
bang_short2half = alias("__bang_short2half", bang_int162half)
bang_int162half_rd = from_int("__bang_int162half_rd", int16, half, "rd", certainty="I")
bang_int162half_rn = from_int("__bang_int162half_rn", int16, half, "rn", since=322, certainty="I")
bang_int162float = from_int("__bang_int162float", int16, float32, "tz", certainty="I")
bang_int82half = from_int("__bang_int82half", int8, half, "tz", certainty="I")
bang_int82float = from_int("__bang_int82float", int8, float32, "tz")
bang_uchar2half = from_int("__bang_uchar2half", uint8, half, "tz")
bang_uchar2float = from_int("__bang_uchar2float", uint8, float32, "tz", certainty="I")

bang_int322int16 = between_ints("__bang_int322int16", int32, int16, since=322)
bang_int322int8 = between_ints("__bang_int322int8", int32, int8, since=322)
bang_int162int8 = between_ints("__bang_int162int8", int16, int8)
bang_uchar2int16 = between_ints(
    "__bang_uchar2int16", uint8, int16, certainty="C", source="public kernels accepted on MLU370"
)
bang_uchar2int32 = between_ints(
    "__bang_uchar2int32", uint8, int32, since=322, source="public kernels for MLU370 and MLU590"
)
bang_int322uchar = between_ints("__bang_int322uchar", int32, uint8, since=322, source=IMAGES)
bang_int82int16 = between_ints("__bang_int82int16", int8, int16)
bang_int82int32 = between_ints("__bang_int82int32", int8, int32, since=322)
bang_int162int32 = between_ints("__bang_int162int32", int16, int32, since=322)
