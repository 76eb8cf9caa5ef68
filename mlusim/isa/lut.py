"""Table look-up: each element is an index into a table."""

import numpy as np

from mlusim.arch.dtypes import DType, bfloat16, float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import Flow, Intrinsic, Refused, Tile, demand, intrinsic, multiple_of

ENTRIES = (half, bfloat16, float32, int16, int32)
_AS_WIDE = demand(  # only for rows that accept several widths
    "sizeof(src) != sizeof(dst)",
    "src and dst have elements of different width",
    "an unsigned src as wide as dst: uint16 for half and int16, uint32 for float and int32",
)


_DOC = (
    "Look up: ``dst[i] = table[src[i]]``; *table_length* is a multiple of 64.\n\n"
    "*dst* may be exactly *src*, as in vendor kernels (the manual requires them to be apart).  An index of\n"
    "*table_length* or more is refused; the hardware's result for it is unknown.  An index of all ones gives all "
    "ones (inferred: a vendor kernel uses the result of a look-up of a mask as an index again)."
)


def _refuse_beyond(src: Tile, ones: Tile, table_length: int) -> None:
    """Refuse an index beyond the end of the table, except an index of all ones (marked in *ones*)."""
    beyond = np.flatnonzero((src >= table_length) & ~ones)
    if beyond.size:
        at = int(beyond[0])
        raise Refused(
            f"src[{at}] = {src[at]} is not an index into a table of {table_length}",
            operand="src",
            legal=f"0 to {table_length - 1}",
        ) from None


def _look_up(
    spelling: str, bits: tuple[int, ...], more: str = "", indices: tuple[DType, ...] = (uint16, uint32)
) -> Intrinsic:
    """``(dst, src, table, elem_count, table_length)`` for elements of the widths *bits*."""
    entries = tuple(d for d in ENTRIES if 8 * d.size in bits)
    words = {d.size: np.dtype(f"u{d.size}") for d in indices}

    def body(dst: Tile, src: Tile, table: Tile, elem_count: int, table_length: int) -> None:
        src = src.view(words[src.itemsize])  # a negative index of a signed type is out of range too
        try:
            dst[...] = table.take(src)
        except IndexError:
            ones = src == np.iinfo(src.dtype).max
            _refuse_beyond(src, ones, table_length)
            dst[...] = table.take(np.where(ones, 0, src))
            dst.view(src.dtype)[ones] = np.iinfo(src.dtype).max

    body.__doc__ = _DOC + more
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count", "table": "table_length"},
        dtypes={"dst": entries, "src": tuple(d for d in indices if 8 * d.size in bits), "table": entries},
        same=("dst", "table"),
        in_place=("src",),
        rules=(multiple_of("table_length", 64), _AS_WIDE)[: 1 + (len(bits) > 1)],
        flow=Flow.MIXING,
        native=(  # checks all indices first: dst may be src, and Python's body stores nothing before a fault
            "for (int64_t i = 0; i < elem_count; i++) if ((uint64_t)src[i] >= (uint64_t)table_length) SLOW;\n"
            "  for (int64_t i = 0; i < elem_count; i++) dst[i] = table[src[i]];"
        ),
        source="vendor declaration header, selection and search",
    )(body)


bang_lut = _look_up("__bang_lut", (16, 32))
_OLDER = "\n\nThe older spelling of ``__bang_lut`` for {} bits; signed indices are accepted too, as public kernels use them (inferred)."
bang_lut_s16 = _look_up("__bang_lut_s16", (16,), _OLDER.format(16), (uint16, int16))
bang_lut_s32 = _look_up("__bang_lut_s32", (32,), _OLDER.format(32), (uint32, int32))
