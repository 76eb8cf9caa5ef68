"""Rows for single numbers: scalar conversions, loads and stores in a named space, pointer tests."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, bfloat16, float32, half, int16, int32
from mlusim.isa.declare import (
    ANY,
    Flow,
    Intrinsic,
    Pointer,
    Refused,
    Tile,
    Value,
    alias,
    intrinsic,
    not_in_memory,
    number,
)
from mlusim.isa.rounding import WORDS, narrow
from mlusim.memory.space import GDRAM, LDRAM, NRAM, SRAM, WRAM, Space

# -- conversions -----------------------------------------------------------------------------------


WHOLE: Mapping[str, Callable[[float], int]] = {
    "tz": math.trunc,
    "oz": lambda x: math.ceil(x) if x > 0 else math.floor(x),
    "up": math.ceil,
    "dn": math.floor,
    "rd": lambda x: int(math.copysign(math.floor(abs(x) + 0.5), x)),  # exact: a float has 24 of the 53 bits
    "rn": round,  # Python's round rounds ties to even
    "rm": lambda x: math.floor(x + 0.5),
}


def _row(
    spelling: str,
    certainty: str,
    source: str = "vendor declaration header, conversions",
    c: Mapping[str, str] = MappingProxyType({}),
    *,
    native: str,
) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(
        spelling,
        pipe=Pipe.SCALAR,
        flow=Flow.MIXING,
        memory_core=True,
        certainty=certainty,
        source=source,
        c=c,
        native=native,
    )


def _to_int(
    spelling: str, source: DType, mode: str, certainty: str = "I", target: DType = int32
) -> Intrinsic:
    whole = WHOLE[mode]
    limits = np.iinfo(target.dtype)
    low, high = int(limits.min), int(limits.max)

    def body(value: Any) -> int:
        x = float(number(value, source))
        if low < x < high:
            return min(max(whole(x), low), high)  # rounding up may leave the range again
        return 0 if math.isnan(x) else high if x > 0 else low

    body.__doc__ = (
        f"Convert one {source} to {target}, {WORDS[mode]}: returns ``saturate(round(value))``; "
        "NaN becomes 0 (unknown, default chosen)."
    )
    bits = f"i{8 * target.size}"
    native = f"result = (int32_t)saturate_(whole_((double)GET_$value(value), MODE_{mode}), LOW_{bits}, HIGH_{bits});"
    return _row(spelling, certainty, c={"value": source.c}, native=native)(body)


def _to_short(spelling: str, target: DType, mode: str, certainty: str = "I") -> Intrinsic:
    kind = target.dtype.type

    def body(value: Any) -> Any:
        exact = np.float64(number(value, float32))
        return kind(narrow(np.array([exact]), target.dtype, mode)[0])

    body.__doc__ = f"Convert one float to {target}, {WORDS[mode]}: returns ``round(value)``."
    if target is half:
        body.__annotations__["return"] = np.float16
    word = {half: "f16", bfloat16: "b16"}[target]
    native = f"result = from_{word}(narrow_to_{word}((double)GET_$value(value), MODE_{mode}));"
    return _row(spelling, certainty, c={"value": float32.c, "return": target.c}, native=native)(body)


float2int32 = _to_int("__float2int32", float32, "tz", "C")
float2int32_tz = _to_int("__float2int32_tz", float32, "tz")
float2int32_oz = _to_int("__float2int32_oz", float32, "oz")
float2int32_up = _to_int("__float2int32_up", float32, "up", "C")
float2int32_dn = _to_int("__float2int32_dn", float32, "dn")
float2int32_rd = _to_int("__float2int32_rd", float32, "rd", "C")
float2int32_rn = _to_int("__float2int32_rn", float32, "rn")
float2int32_rm = _to_int("__float2int32_rm", float32, "rm")
half2int32 = _to_int("__half2int32", half, "tz", "C")
half2int32_tz = _to_int("__half2int32_tz", half, "tz")
half2int32_oz = _to_int("__half2int32_oz", half, "oz")
half2int32_up = _to_int("__half2int32_up", half, "up", "C")
half2int32_dn = _to_int("__half2int32_dn", half, "dn")
half2int32_rd = _to_int("__half2int32_rd", half, "rd")
half2int32_rn = _to_int("__half2int32_rn", half, "rn")
half2int32_rm = _to_int("__half2int32_rm", half, "rm")
float2short_tz = _to_int("__float2short_tz", float32, "tz", target=int16)
float2short_oz = _to_int("__float2short_oz", float32, "oz", target=int16)
float2short_up = _to_int("__float2short_up", float32, "up", target=int16)
float2short_dn = _to_int("__float2short_dn", float32, "dn", target=int16)
float2short_rd = _to_int("__float2short_rd", float32, "rd", target=int16)
float2short_rn = _to_int("__float2short_rn", float32, "rn", target=int16)
half2short_tz = _to_int("__half2short_tz", half, "tz", target=int16)
half2short_oz = _to_int("__half2short_oz", half, "oz", target=int16)
half2short_up = _to_int("__half2short_up", half, "up", target=int16)
half2short_dn = _to_int("__half2short_dn", half, "dn", target=int16)
half2short_rd = _to_int("__half2short_rd", half, "rd", target=int16)
half2short_rn = _to_int("__half2short_rn", half, "rn", target=int16)
float2int = alias("__float2int", float2int32)
float2int_tz = alias("__float2int_tz", float2int32_tz)
float2int_oz = alias("__float2int_oz", float2int32_oz)
float2int_up = alias("__float2int_up", float2int32_up)
float2int_dn = alias("__float2int_dn", float2int32_dn)
float2int_rd = alias("__float2int_rd", float2int32_rd)
float2int_rn = alias("__float2int_rn", float2int32_rn)
half2int = alias("__half2int", half2int32)
half2int_tz = alias("__half2int_tz", half2int32_tz)
half2int_oz = alias("__half2int_oz", half2int32_oz)
half2int_up = alias("__half2int_up", half2int32_up)
half2int_dn = alias("__half2int_dn", half2int32_dn)
half2int_rd = alias("__half2int_rd", half2int32_rd)
half2int_rn = alias("__half2int_rn", half2int32_rn)
float2half_rn = _to_short("__float2half_rn", half, "rn", "C")
float2half = _to_short("__float2half", half, "rn")
float2bfloat16 = _to_short("__float2bfloat16", bfloat16, "rn")
float2bfloat16_rn = _to_short("__float2bfloat16_rn", bfloat16, "rn")
float2half_tz = _to_short("__float2half_tz", half, "tz")
float2half_oz = _to_short("__float2half_oz", half, "oz")
float2half_up = _to_short("__float2half_up", half, "up")
float2half_dn = _to_short("__float2half_dn", half, "dn")
float2half_rd = _to_short("__float2half_rd", half, "rd")
float2half_rm = _to_short("__float2half_rm", half, "rm")


@_row("__half2float", "C", c={"value": half.c}, native="result = GET_$value(value);")
def half2float(value: Any) -> np.float32:
    """Convert one half to float: returns ``value``, exactly."""
    return np.float32(number(value, half))


half2float_rn = evolve(
    half2float,
    spelling="__half2float_rn",
    source="public kernels: upsample_bilinear2d_out_frame, accepted on MLU370",
)


@_row("__bfloat162float", "I", c={"value": bfloat16.c}, native="result = GET_$value(value);")
def bfloat162float(value: Any) -> np.float32:
    """Convert one bfloat16 to float: returns ``value``, exactly."""
    return np.float32(number(value, bfloat16))


# -- pointers --------------------------------------------------------------------------------------


def _lies_in(spelling: str, doc: str, *spaces: Space) -> Intrinsic:
    def body(pointer: Pointer) -> bool:
        space = getattr(pointer, "space", None)
        if not isinstance(space, Space):
            raise Refused(
                f"pointer is {not_in_memory(pointer)[0]}", operand="pointer", legal="a pointer into memory"
            )
        return space in spaces

    body.__doc__ = doc
    tests = " || ".join(f"in == {space}" for space in spaces)
    # Only Python knows pointers to memory outside the device.
    native = f"const int in = see(m, pointer).a->space; if (in >= SPACES) goto slow; result = {tests};"
    return _row(spelling, "C", "vendor declaration header, control", native=native)(body)


is_dram = _lies_in(
    "__is_dram",
    "Test whether a pointer is off the chip: returns ``pointer in GDRAM or LDRAM``.",
    GDRAM,
    LDRAM,
)
is_nram = _lies_in("__is_nram", "Test whether a pointer is in NRAM: returns ``pointer in NRAM``.", NRAM)
is_wram = _lies_in("__is_wram", "Test whether a pointer is in WRAM: returns ``pointer in WRAM``.", WRAM)
is_sram = _lies_in("__is_sram", "Test whether a pointer is in SRAM: returns ``pointer in SRAM``.", SRAM)


# -- loads and stores ------------------------------------------------------------------------------


def _load(spelling: str, space: Space, *, memory_core: bool, certainty: str = "C") -> Intrinsic:
    def body(src: Tile) -> Any:
        return src[0]

    body.__doc__ = f"Load one element of {space}: returns ``src[0]``, as a typed scalar."
    return intrinsic(
        spelling,
        reads={"src": "1"},
        dtypes=ANY,
        spaces={"src": (space,)},
        pipe=Pipe.SCALAR,
        form="load",
        native="result = GET_$src(src[0]);",
        memory_core=memory_core,
        aligned=False,
        certainty=certainty,
        source="vendor declaration header, control",
    )(body)


def _store(spelling: str, space: Space, *, memory_core: bool, certainty: str = "C") -> Intrinsic:
    def body(dst: Tile, value: Value) -> None:
        dst[0] = value

    body.__doc__ = (
        f"Store one element to {space}: ``dst[0] = value``, converted to the type of *dst*.\n\n"
        "For copies and other cores the store is asynchronous; a sync must come before they read the element."
    )
    return intrinsic(
        spelling,
        writes={"dst": "1"},
        dtypes=ANY,
        spaces={"dst": (space,)},
        pipe=Pipe.SCALAR,
        form="store",
        native="dst[0] = value;",
        memory_core=memory_core,
        aligned=False,
        certainty=certainty,
        source="vendor declaration header, control",
    )(body)


load_nram = _load("__load_nram", NRAM, memory_core=False)
load_gdram = _load("__load_gdram", GDRAM, memory_core=True)
load_sram = _load("__load_sram", SRAM, memory_core=True)
load_ldram = _load("__load_ldram", LDRAM, memory_core=True, certainty="I")
store_nram = _store("__store_nram", NRAM, memory_core=False, certainty="I")
store_gdram = _store("__store_gdram", GDRAM, memory_core=True)
store_sram = _store("__store_sram", SRAM, memory_core=True)
store_ldram = _store("__store_ldram", LDRAM, memory_core=True, certainty="I")
