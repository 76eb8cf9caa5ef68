"""Conversions of floats to integers: scaled by a fixed-point position, rounded by suffix, saturated.

``dst[i] = saturate(round(src[i] / 2**pos))``; *pos* lies in [-127, 127] and is 0 in most kernels.
A name without a suffix rounds toward zero.  Values beyond the range of the integer become its
nearest limit (inferred), and NaN becomes 0 (unknown on the hardware, default chosen).
"""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, float32, half, int8, int16, int32, uint8, uint32
from mlusim.isa.declare import Intrinsic, Tile, alias, between, intrinsic
from mlusim.isa.rounding import TO_WHOLE, WORDS, saturate

PUBLIC = "public kernels for MLU370, image preprocessing"


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
    "__bang_float2uint32_tz", float32, uint32, "tz", since=322, certainty="I", source=PUBLIC
)
bang_float2uint32_oz = to_int(
    "__bang_float2uint32_oz", float32, uint32, "oz", since=322, certainty="I", source=PUBLIC
)
bang_float2uint32_up = to_int(
    "__bang_float2uint32_up", float32, uint32, "up", since=322, certainty="I", source=PUBLIC
)
bang_float2uint32_dn = to_int(
    "__bang_float2uint32_dn", float32, uint32, "dn", since=322, certainty="I", source=PUBLIC
)
bang_float2uint32_rd = to_int(
    "__bang_float2uint32_rd", float32, uint32, "rd", since=322, certainty="I", source=PUBLIC
)
bang_float2uint32_rn = to_int(
    "__bang_float2uint32_rn", float32, uint32, "rn", since=322, certainty="I", source=PUBLIC
)
bang_float2uint32_rm = to_int(
    "__bang_float2uint32_rm", float32, uint32, "rm", since=322, certainty="I", source=PUBLIC
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
