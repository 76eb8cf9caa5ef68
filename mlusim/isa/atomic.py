"""Atomics on GDRAM: the update of each element is atomic, that of a whole vector is not.

A reduction only updates memory; a fetching row also stores the old values in NRAM. The source may be a vector
in NRAM or one scalar for all elements. The order of the tasks is unknown, so float sums may differ in the
last bits between schedules.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, bfloat16, float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import Cost, Intrinsic, Offsets, Tile, TileOrValue, Value, demand, intrinsic
from mlusim.isa.extremes import EXTREMES, ZEROS, maximum, minimum
from mlusim.memory.space import GDRAM

FLOATS = (half, bfloat16, float32)
INTS = (int16, int32, uint16, uint32)
WHOLE = ("and", "or", "xor", "inc", "dec")  # operations for integers only
SUMMABLE = (*FLOATS, int16, int32, uint32)

Change = Callable[[Tile, Any], Any]  # (old value, source) -> new value


def _increment(old: Tile, limit: Any) -> Any:
    # The formula of CUDA's atomicInc, as the vendor's formula is not public.
    return np.where(old >= limit, 0, old + old.dtype.type(1))


def _decrement(old: Tile, limit: Any) -> Any:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))  # that of CUDA's atomicDec


def _exchange(old: Tile, new: Any) -> Any:
    return new


# In C; a is the old value and b the source.
CHANGES: Mapping[Change, str] = {
    _increment: "a >= b ? 0 : a + 1",
    _decrement: "(a == 0) | (a > b) ? b : a - 1",
    _exchange: "b",
}


def _aligned(name: str) -> Any:
    return demand(
        f"phase({name})",
        f"{name} is not aligned to its element size",
        "an address that is a multiple of the size of an element",
    )


def _reduction_doc(formula: str, remarks: str) -> str:
    return (
        f"Atomically, element by element, in GDRAM: ``{formula.format(old='dst[i]', src='src[i]', to='dst[i]')}``.\n\n"
        f"*src* is a vector in NRAM or one scalar for all *elem_count* elements.{remarks}  With strides in "
        "bytes, which may be negative, there are ``segnum1 + 1`` vectors at the first stride, repeated ``segnum2 + 1`` times at the "
        "second; pieces of *dst* may overlap (inferred from the vendor's attention kernels for arch 592)."
    )


def reduction(
    spelling: str, change: Change, formula: str, dtypes: tuple[DType, ...], **properties: Any
) -> Intrinsic:
    """``(dst, src, elem_count[, segnum1, segnum2, strides])``: update GDRAM, no result."""

    def body(
        dst: Tile,
        src: TileOrValue,
        elem_count: int = 1,
        segnum1: int | None = None,
        segnum2: int | None = None,
        dst_stride1: int | None = None,
        dst_stride2: int | None = None,
        src_stride1: int | None = None,
        src_stride2: int | None = None,
    ) -> None:
        if segnum1 is None:
            dst[...] = change(dst, src)
            return
        src = np.broadcast_to(src, dst.shape)
        for at in np.ndindex(dst.shape[:-1]):  # one after the other, as pieces may overlap
            dst[at] = change(dst[at], src[at])

    body.__doc__ = _reduction_doc(formula, _remarks(properties, change))
    return intrinsic(
        spelling,
        updates={"dst": "elem_count"},
        reads={"src": "elem_count"},
        strides={
            "dst": (("dst_stride2", "segnum2"), ("dst_stride1", "segnum1")),
            "src": (("src_stride2", "segnum2"), ("src_stride1", "segnum1")),
        },
        dtypes=dtypes,
        spaces={"dst": (GDRAM,)},
        in_place=False,
        rules=(_aligned("dst"),),
        native=("reduction", CHANGES.get(change, change)),
        **_common("dst") | {"since": 322} | properties,
    )(body)


def fetching(
    spelling: str, change: Change, formula: str, dtypes: tuple[DType, ...], **properties: Any
) -> Intrinsic:
    """``(dst, src1, src2, elem_count)``: update GDRAM and store the old values in *dst*."""

    def body(dst: Tile, src1: Tile, src2: TileOrValue, elem_count: int = 1) -> None:
        changed = np.array(change(src1, src2), dst.dtype)  # dst may be src2
        dst[...] = src1
        src1[...] = changed

    shown = formula.format(old="src1[i]", src="src2[i]", to="src1[i]")
    body.__doc__ = (
        f"Atomically, element by element: ``dst[i] = src1[i]; {shown}``; *src1* is in GDRAM.\n\n"
        "*dst* gets the previous numbers.  *src2* is a vector in NRAM, which may be exactly *dst*, "
        f"or one scalar for all *elem_count* elements.{_remarks(properties, change)}"
    )
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        updates={"src1": "elem_count"},
        reads={"src2": "elem_count"},
        dtypes=dtypes,
        spaces={"src1": (GDRAM,)},
        in_place=("src2",),
        rules=(_aligned("src1"),),
        native=("fetching", CHANGES.get(change, change)),
        **_common("src1") | properties,
    )(body)


def _remarks(properties: dict[str, Any], change: Change) -> str:
    zeros = f"  {ZEROS}" if change in EXTREMES else ""
    return "  The formula is unknown, default chosen." if properties.get("certainty") == "U" else zeros


def _common(target: str) -> dict[str, Any]:
    return {
        "pipe": Pipe.IO,
        "cost": Cost("elem_count", target),
        "atomic": True,
        "aligned": False,
        "source": "vendor declaration header, atomics",
    }


# The operation, its formula, and the element types.
_ADD = (np.add, "{to} = {old} + {src}", SUMMABLE)
_MAX = (maximum, "{to} = max({old}, {src})", SUMMABLE)
_MIN = (minimum, "{to} = min({old}, {src})", SUMMABLE)
_AND = (np.bitwise_and, "{to} = {old} & {src}", INTS)
_OR = (np.bitwise_or, "{to} = {old} | {src}", INTS)
_XOR = (np.bitwise_xor, "{to} = {old} ^ {src}", INTS)
_EXCH = (_exchange, "{to} = {src}", (*FLOATS, *INTS))
_INC = (_increment, "{to} = {old} >= {src} ? 0 : {old} + 1", INTS)
_DEC = (_decrement, "{to} = {old} == 0 || {old} > {src} ? {src} : {old} - 1", INTS)

bang_atomic_reduce_add = reduction("__bang_atomic_reduce_add", *_ADD)
bang_atomic_reduce_add_async = evolve(
    bang_atomic_reduce_add,
    spelling="__bang_atomic_reduce_add_async",
    doc=f"{bang_atomic_reduce_add.doc}\n\nThe core does not wait for it: *src* must be complete when it is issued, and unchanged until a sync that "
    "waits for the IO-DMA; the sum is in *dst* after that sync.",
    form="async",
    native=None,
    since=372,
    source="vendor manual of BANG C 4.5, atomic reduce functions; its pipeline is IO",
)
bang_atomic_reduce_max = reduction("__bang_atomic_reduce_max", *_MAX)
bang_atomic_reduce_min = reduction("__bang_atomic_reduce_min", *_MIN)
bang_atomic_reduce_and = reduction("__bang_atomic_reduce_and", *_AND)
bang_atomic_reduce_or = reduction("__bang_atomic_reduce_or", *_OR)
bang_atomic_reduce_xor = reduction("__bang_atomic_reduce_xor", *_XOR)
bang_atomic_reduce_exch = reduction("__bang_atomic_reduce_exch", *_EXCH, certainty="I")
bang_atomic_reduce_inc = reduction("__bang_atomic_reduce_inc", *_INC, certainty="U")
bang_atomic_reduce_dec = reduction("__bang_atomic_reduce_dec", *_DEC, certainty="U")

bang_atomic_add = fetching("__bang_atomic_add", *_ADD)
bang_atomic_max = fetching("__bang_atomic_max", *_MAX)
bang_atomic_min = fetching("__bang_atomic_min", *_MIN)
bang_atomic_and = fetching("__bang_atomic_and", *_AND)
bang_atomic_or = fetching("__bang_atomic_or", *_OR)
bang_atomic_xor = fetching("__bang_atomic_xor", *_XOR)
bang_atomic_exch = fetching("__bang_atomic_exch", *_EXCH)
bang_atomic_inc = fetching("__bang_atomic_inc", *_INC, certainty="U")
bang_atomic_dec = fetching("__bang_atomic_dec", *_DEC, certainty="U")


@intrinsic(
    "__bang_atomic_cas",
    writes={"dst": "1"},
    updates={"src1": "1"},
    dtypes=(*FLOATS, *INTS),
    spaces={"src1": (GDRAM,)},
    rules=(_aligned("src1"),),
    **_common("src1") | {"cost": Cost("1", "src1")},
    native=(
        "T_$dst was = src1[0]; dst[0] = was; if (GET_$src1(was) == GET_$dst(compare)) { src1[0] = "
        "new_; changed_ |= memcmp(&was, &new_, sizeof was); }"
    ),
)
def bang_atomic_cas(dst: Tile, src1: Tile, compare: Value, new: Value) -> None:
    """Compare and swap one element: ``dst[0] = src1[0]; if (src1[0] == compare) src1[0] = new``.

    *src1* is in GDRAM; *dst*, in NRAM, receives the old value: *compare* if the swap took place.
    """
    dst[0] = src1[0]
    if src1[0] == compare:
        src1[0] = new


@intrinsic(
    "__bang_atomic_reduce_cas",
    updates={"dst": "1"},
    dtypes=(*FLOATS, *INTS),
    spaces={"dst": (GDRAM,)},
    rules=(_aligned("dst"),),
    **_common("dst") | {"cost": Cost("1", "dst"), "since": 322, "certainty": "I"},
    native="if (GET_$dst(dst[0]) == GET_$dst(compare)) dst[0] = new_;",
)
def bang_atomic_reduce_cas(dst: Tile, compare: Value, new: Value) -> None:
    """Compare and swap one element of GDRAM: ``if (dst[0] == compare) dst[0] = new``, no result."""
    if dst[0] == compare:
        dst[0] = new


def discrete(op: str, change: Change, formula: str, **properties: Any) -> Intrinsic:
    """``(dst, base, offset, src[, bitmask], elem_count)``: update elements of GDRAM at offsets.

    The body receives the gathered elements as *base*, each address at most once.
    """

    def body(dst: Tile, base: Tile, offset: Tile, src: TileOrValue, *rest: Any) -> None:
        changed = np.array(change(base, src), dst.dtype)
        dst[...] = base
        base[...] = changed

    body.__doc__ = (
        f"Atomically, element by element: ``dst[i] = *p; *p = {formula}`` with ``p = (char*)base + offset[i]``.\n\n"
        "``(dst, base, offset, src, elem_count)`` or ``(dst, base, offset, src, bitmask, elem_count)``: *base* is in "
        "GDRAM, *offset* is a vector of distances from it in bytes, of 8, 16, 32 or 64 bits, signed or not; *src* is a vector in "
        "NRAM, which may be exactly *dst*, or one scalar.  An element whose bit in *bitmask* is 0 is left out.  "
        "Several updates of the same element happen one after the other, in the order of i.  That offsets count bytes and "
        f"masks are bits is inferred; the types are those of ``__bang_atomic_{op}``.{_remarks(properties, change)}"
    )
    common = _common("base") | {"cost": None, "certainty": "I", "source": "vendor kernels, atomics"}
    types = INTS if op in WHOLE else (*FLOATS, *INTS) if op == "exch" else SUMMABLE
    return intrinsic(
        f"__bang_discrete_atomic_{op}",
        form="discrete",
        offsets=Offsets("base"),
        since=592,
        elements=types,
        c={
            "dst": "{T} *",
            "base": "{T} *",
            "offset": "const Offset *",
            "src": ("const {T} *", "{T}"),
            "rest": ("int elem_count", "const void *bitmask, int elem_count"),
        },
        **common | properties,
    )(body)


bang_discrete_atomic_add = discrete("add", np.add, "*p + src[i]")
bang_discrete_atomic_max = discrete("max", maximum, "max(*p, src[i])")
bang_discrete_atomic_min = discrete("min", minimum, "min(*p, src[i])")
bang_discrete_atomic_and = discrete("and", np.bitwise_and, "*p & src[i]")
bang_discrete_atomic_or = discrete("or", np.bitwise_or, "*p | src[i]")
bang_discrete_atomic_xor = discrete("xor", np.bitwise_xor, "*p ^ src[i]")
bang_discrete_atomic_exch = discrete("exch", _exchange, "src[i]")
bang_discrete_atomic_inc = discrete("inc", _increment, "*p >= src[i] ? 0 : *p + 1", certainty="U")
bang_discrete_atomic_dec = discrete(
    "dec", _decrement, "*p == 0 || *p > src[i] ? src[i] : *p - 1", certainty="U"
)
