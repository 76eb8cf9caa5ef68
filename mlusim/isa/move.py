"""Copies and fills."""

from typing import Any

import numpy as np

from mlusim.isa.declare import ANY, Flow, Pipe, Tile, intrinsic
from mlusim.memory.space import GDRAM, LDRAM, NRAM, SRAM


@intrinsic("__memcpy", form="copy", pipe=Pipe.IO, memory_core=True, source="bangc 4", aligned=False)
def memcpy(dst: Tile, src: Tile, size: int, direction: Any, *shape: int) -> None:
    """Copy and wait: *size* bytes a segment from *src* to *dst*, sizes and strides in bytes.

    1-D: ``(dst, src, size, direction)``.
    2-D: ``(dst, src, size, direction, dst_stride, src_stride, segments - 1)``.
    3-D: ``(dst, src, size, direction, dst_stride0, dst_segments1 - 1, dst_stride1, dst_segments2 - 1,
    src_stride0, src_segments1 - 1, src_stride1, src_segments2 - 1)``: the inner index runs over
    segments1 with stride0, the outer one over segments2 with stride1.
    ``SRAM2SRAM`` takes the destination's cluster as one more argument.
    A source that overlaps the destination is read whole first (unknown on the hardware, default chosen).
    """
    np.copyto(dst, src)


@intrinsic("__memcpy_async", form="copy", pipe=Pipe.IO, memory_core=True, source="bangc 4", aligned=False)
def memcpy_async(dst: Tile, src: Tile, size: int, direction: Any, *shape: int) -> None:
    """Start a copy like ``__memcpy`` and go on; it is done after the sync that waits for its pipe.

    ``__sync_io`` waits for copies with a side in GDRAM or LDRAM, ``__sync_move`` for the others,
    ``__sync`` and every barrier for all.  Copies of one pipe complete in order.
    """
    np.copyto(dst, src)


@intrinsic(
    "__bang_write_value",
    writes={"dst": "elem_count"},
    dtypes=ANY,
    void={"dst": "value"},
    source="bangc 4, memory fill",
)
def bang_write_value(dst: Tile, elem_count: int, value: Any) -> None:
    """Fill *dst* with *value*; the width of an element is that of the **value's** type, not of *dst*."""
    dst.fill(value)


@intrinsic("__bang_write_zero", writes={"dst": "elem_count"}, dtypes=ANY, source="bangc 4, memory fill")
def bang_write_zero(dst: Tile, elem_count: int) -> None:
    """Fill *elem_count* elements of *dst* with zero."""
    dst.fill(0)


def _fill(spelling: str, space: Any, pipe: Pipe, doc: str, *, memory_core: bool = False) -> Any:
    def body(dst: Tile, elem_count: int, value: Any) -> None:
        dst.fill(value)

    body.__doc__ = doc
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        dtypes=ANY,
        spaces={"dst": (space,)},
        void={"dst": "value"},
        pipe=pipe,
        flow=Flow.LANEWISE,
        memory_core=memory_core,
        aligned=False,
        source="bangc 4, memory fill",
    )(body)


nramset = _fill("__nramset", NRAM, Pipe.VECTOR, "Fill NRAM with *value*, whose type sets the element width.")
memset_nram = _fill("__memset_nram", NRAM, Pipe.VECTOR, "Fill NRAM with *value*; any count, on 2xx too.")
sramset = _fill(
    "__sramset", SRAM, Pipe.MOVE, "Fill SRAM with *value*, whose type sets the width.", memory_core=True
)
gdramset = _fill(
    "__gdramset", GDRAM, Pipe.IO, "Fill GDRAM with *value*, whose type sets the width.", memory_core=True
)
ldramset = _fill(
    "__ldramset", LDRAM, Pipe.IO, "Fill LDRAM with *value*, whose type sets the width.", memory_core=True
)


@intrinsic(
    "__bang_move",
    writes={"dst": "size"},
    reads={"src": "size"},
    dtypes=ANY,
    void={"dst": "uint8", "src": "uint8"},
    certainty="I",
    source="bangc 5.2",
)
def bang_move(dst: Tile, src: Tile, size: int) -> None:
    """Copy *size* bytes inside NRAM in the compute stream: in order with the other vector instructions."""
    np.copyto(dst, src)
