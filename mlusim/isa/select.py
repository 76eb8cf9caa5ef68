"""Selection of elements by a mask: filter, select, masked move.

A mask is a vector of the sources' type, in which any value but zero is true, or has one bit per element: bit
``i % 8`` of byte ``i / 8`` belongs to element i.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlusim.arch.dtypes import uint8
from mlusim.counted import plural
from mlusim.isa.declare import (
    FLOATS,
    NUMBERS,
    Comparison,
    Flow,
    Generation,
    Refused,
    Tile,
    TileOrValue,
    Unsigned,
    alias,
    intrinsic,
    multiple_of,
)

LINE = 128  # bytes
GENERATION_OF_SHORT_HEADS = 3  # the comparing filter of this generation puts four bytes before the elements
SELECTED = f"({LINE} + max({LINE}, -(-elem_count * sizeof(T) // {LINE}) * {LINE})) // sizeof(T)"

CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE = range(6)
COMPARISONS: Mapping[int, Callable[..., Any]] = {
    CMP_EQ: np.equal,
    CMP_NE: np.not_equal,
    CMP_LT: np.less,
    CMP_LE: np.less_equal,
    CMP_GT: np.greater,
    CMP_GE: np.greater_equal,
}
_BITS = (multiple_of("elem_count", 8, (3, 5, 6)), multiple_of("elem_count", 1024, (2,)))


def _compact(dst: Tile, chosen: Tile, generation: int) -> int:
    """Store the elements *chosen* at the start of *dst*; MLU2xx fills the last line of 128 bytes with zeros."""
    count: int = chosen.size
    # -count * size % LINE: the bytes missing to a whole line.
    end = count if generation > 2 else count + -count * dst.itemsize % LINE // dst.itemsize
    if end > dst.size:
        raise Refused(
            f"{count} {plural(count, 'element is', 'elements are')} chosen", operand="dst", needs=end
        )
    dst[:count] = chosen
    if end > count:
        dst[count:end] = 0
    return count


def _unpack(bitmask: Tile, count: int) -> Any:
    return np.unpackbits(bitmask, -1, count, "little").view(np.bool_)


_EACH = "for (int64_t i = 0; i < elem_count; i++)"
_BIT_IN_C = "bitmask[i >> 3] >> (i & 7) & 1"


def _filtered(test: str) -> str:
    """Render `_compact` in C, of the elements for which *test* is true."""
    return (
        f"int64_t kept_ = 0, line_ = 128 / (int64_t)sizeof *dst; {_EACH} kept_ += {test}; "
        "const int64_t end_ = generation > 2 ? kept_ : (kept_ + line_ - 1) / line_ * line_; if (end_ > room_dst) SLOW; "
        f"int64_t k = 0; {_EACH} if ({test}) dst[k++] = src[i]; "
        "if (end_ > k) memset(dst + k, 0, (size_t)((end_ - k) * (int64_t)sizeof *dst)); result = kept_;"
    )


def _selected(test: str) -> str:
    """Render `_select` in C, of the elements for which *test* is true."""
    return (
        f"int64_t kept_ = 0, line_ = 128 / (int64_t)sizeof *dst; {_EACH} kept_ += {test}; "
        "int64_t end_ = line_ * (1 + (kept_ + line_ - 1) / line_); if (end_ > room_dst) SLOW; "
        "if (generation == 2) memset(dst, 0, 128); uint32_t number_of = (uint32_t)kept_; memcpy(dst, &number_of, 4); "
        f"int64_t k = line_; {_EACH} if ({test}) dst[k++] = src[i]; "
        "memset(dst + k, 0, (size_t)((end_ - k) * (int64_t)sizeof *dst));"
    )


@intrinsic(
    "__bang_filter",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count", "mask": "elem_count"},
    dtypes=NUMBERS,
    dtypes_2xx=FLOATS,
    in_place=("src",),
    partial=("dst",),
    flow=Flow.MIXING,
    source="vendor declaration header, selection and search",
    native=_filtered("GET_$mask(mask[i]) != 0"),
)
def bang_filter(dst: Tile, src: Tile, mask: Tile, elem_count: int, generation: Generation) -> Unsigned:
    """Keep the elements whose mask is not zero, packed; returns their number.

    ``dst[0:k] = [src[i] for i in range(elem_count) if mask[i] != 0]``. *dst* may be exactly *src*; the rest
    of *dst* is unchanged, but on MLU2xx the last 128-byte line is filled with zeros.
    """
    return _compact(dst, src.compress(mask), generation)


@intrinsic(
    "__bang_filter_bitindex",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count", "bitmask": "elem_count // 8"},
    dtypes={"dst": NUMBERS, "src": NUMBERS, "bitmask": (uint8,)},
    same=("dst", "src"),
    in_place=("src",),
    void={"bitmask": "uint8"},
    partial=("dst",),
    flow=Flow.MIXING,
    rules=_BITS,
    aligned=("dst", "src"),
    source="vendor declaration header, selection and search",
    native=_filtered(_BIT_IN_C),
)
def bang_filter_bitindex(
    dst: Tile, src: Tile, bitmask: Tile, elem_count: int, generation: Generation
) -> Unsigned:
    """Keep the elements whose bit is set, packed; returns their number.

    ``dst[0:k] = [src[i] for i in range(elem_count) if bitmask[i / 8] >> i % 8 & 1]``.  *dst* may be
    exactly *src*.  *elem_count* is a multiple of 8, on MLU2xx of 1024.
    """
    return _compact(dst, src.compress(_unpack(bitmask, elem_count)), generation)


bang_collect = alias("__bang_collect", bang_filter)
bang_collect_bitindex = alias("__bang_collect_bitindex", bang_filter_bitindex)
bang_maskmove_bitindex = alias("__bang_maskmove_bitindex", bang_filter_bitindex)


def _select(dst: Tile, chosen: Tile, generation: int) -> None:
    """Store a line with the count, then the elements *chosen*, filled with zeros to whole lines."""
    per_line = LINE // dst.itemsize
    end = per_line * (1 + -(-len(chosen) // per_line))
    if end > len(dst):
        raise Refused(
            f"{len(chosen)} {plural(len(chosen), 'element is', 'elements are')} chosen",
            operand="dst",
            needs=end,
        )
    if generation == 2:
        dst[:per_line] = 0
    dst[:per_line].view(np.uint32)[0] = len(chosen)
    dst[per_line : per_line + len(chosen)] = chosen
    dst[per_line + len(chosen) : end] = 0


@intrinsic(
    "__bang_select",
    writes={"dst": SELECTED},
    reads={"src": "elem_count", "index": "elem_count"},
    dtypes=NUMBERS,
    dtypes_2xx=FLOATS,
    in_place=False,
    partial=("dst",),
    flow=Flow.MIXING,
    source="vendor declaration header, selection and search",
    native=_selected("GET_$index(index[i]) != 0"),
)
def bang_select(dst: Tile, src: Tile, index: Tile, elem_count: int, generation: Generation) -> None:
    """Keep the elements whose *index* is not zero, after a line of 128 bytes with their number.

    ``dst`` begins with a uint32 count k; the rest of its first 128 bytes stays (on MLU2xx: zero).  From
    byte 128 on follow the k elements, filled with zeros to a multiple of 128 bytes.
    """
    _select(dst, src.compress(index), generation)


@intrinsic(
    "__bang_select_bitindex",
    writes={"dst": SELECTED},
    reads={"src": "elem_count", "bitmask": "elem_count // 8"},
    dtypes={"dst": NUMBERS, "src": NUMBERS, "bitmask": (uint8,)},
    same=("dst", "src"),
    in_place=False,
    void={"bitmask": "uint8"},
    partial=("dst",),
    flow=Flow.MIXING,
    rules=_BITS,
    aligned=("dst", "src"),
    source="vendor declaration header, selection and search",
    native=_selected(_BIT_IN_C),
)
def bang_select_bitindex(
    dst: Tile, src: Tile, bitmask: Tile, elem_count: int, generation: Generation
) -> None:
    """Keep the elements whose bit is set, after a line of 128 bytes with their number.

    ``dst`` is laid out as by ``__bang_select``; element i belongs to bit ``i % 8`` of byte ``i / 8``.
    """
    _select(dst, src.compress(_unpack(bitmask, elem_count)), generation)


@intrinsic(
    "__bang_fcmpfilter",
    writes={"dst": SELECTED},
    reads={"src0": "elem_count", "src1": "elem_count"},
    in_place=("src0",),
    partial=("dst",),
    flow=Flow.MIXING,
    source="vendor declaration header, comparisons; Masked_select, accepted on MLU370",
    native=("compared_filter",),
)
def bang_fcmpfilter(
    mode: Comparison, dst: Tile, src0: Tile, src1: TileOrValue, elem_count: int, generation: Generation
) -> None:
    """Keep the elements of *src0* that compare true with *src1*, a vector or a scalar, after their number.

    ``[src0[i] for i in range(elem_count) if src0[i] op src1[i]]`` with *mode* ``CMP_EQ``, ``CMP_NE``,
    ``CMP_LT``, ``CMP_LE``, ``CMP_GT`` or ``CMP_GE``. On mtp_372 *dst*, which may be exactly *src0*, begins
    with a uint32 count, directly followed by the elements; this is known for a scalar from Masked_select and
    inferred for a vector. Elsewhere *dst* has the layout of ``__bang_select`` (inferred).
    """
    if mode not in COMPARISONS:
        raise Refused(
            f"mode = {mode!r} is not a comparison", operand="mode", legal="CMP_EQ to CMP_GE, 0 to 5"
        )
    chosen = src0.compress(COMPARISONS[mode](src0, src1))
    if generation != GENERATION_OF_SHORT_HEADS:
        _select(dst, chosen, generation)
        return
    head = 4 // dst.itemsize  # the count is a uint32
    if head + len(chosen) > len(dst):
        few = plural(len(chosen), "element is", "elements are")
        raise Refused(f"{len(chosen)} {few} chosen", operand="dst", needs=head + len(chosen))
    dst[:head].view(np.uint32)[0] = len(chosen)
    dst[head : head + len(chosen)] = chosen


@intrinsic(
    "__bang_maskmove",
    updates={"dst": "elem_count"},
    reads={"src": "elem_count", "mask": "elem_count"},
    dtypes=NUMBERS,
    source="vendor declaration header, selection and search",
    certainty="U",
    native=(
        "for (int64_t i = 0; i < elem_count * (int64_t)sizeof *dst; i++) if (((const uint8_t "
        "*)mask)[i]) ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i];"
    ),
)
def bang_maskmove(dst: Tile, src: Tile, mask: Tile, elem_count: int) -> None:
    """Copy bytes where the mask's byte is not zero: ``dst.byte[i] = mask.byte[i] ? src.byte[i] : dst.byte[i]``.

    *elem_count* counts elements of the pointers' type (unknown, default chosen).
    """
    np.copyto(dst.view(np.uint8), src.view(np.uint8), where=mask.view(np.uint8) != 0)
