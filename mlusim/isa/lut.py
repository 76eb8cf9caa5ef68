"""Table look-up."""

import numpy as np

from mlusim.arch.dtypes import bfloat16, float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import Flow, Refused, Tile, intrinsic
from mlusim.isa.rules import demand, multiple_of

ENTRIES = (half, bfloat16, float32, int16, int32)


@intrinsic(
    "__bang_lut",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count", "table": "table_length"},
    dtypes={"dst": ENTRIES, "src": (uint16, uint32), "table": ENTRIES},
    same=("dst", "table"),
    in_place=("src",),
    rules=(
        multiple_of("table_length", 64),
        demand(
            "src.view.itemsize != dst.view.itemsize",
            "src and dst have elements of different width",
            "an unsigned src as wide as dst: uint16 for half and int16, uint32 for float and int32",
        ),
    ),
    flow=Flow.MIXING,
    source="vendor declaration header, selection and search",
)
def bang_lut(dst: Tile, src: Tile, table: Tile, elem_count: int, table_length: int) -> None:
    """Look up: ``dst[i] = table[src[i]]``; *table_length* is a multiple of 64.

    *dst* may be exactly *src* (the manual wants them apart, vendor kernels do it).  An index of
    *table_length* or more is refused; what the hardware reads there is unknown.
    """
    try:
        dst[...] = table.take(src)
    except IndexError:
        at = int(np.flatnonzero(src >= table_length)[0])
        raise Refused(
            f"src[{at}] = {src[at]} is no index into a table of {table_length}",
            operand="src",
            legal=f"0 to {table_length - 1}",
        ) from None
