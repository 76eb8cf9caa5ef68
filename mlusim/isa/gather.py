"""Gather and scatter: pieces at places that a vector of byte offsets gives.

All of these are inferred from how vendor kernels for arch 592 use them.  *offset* holds *count* uint32
byte offsets in NRAM, which are read when the instruction is issued, by ``__gather`` behind the copies before it on its
pipe; a bit of *bitmask* that is 0 leaves
its piece out: ``bitmask[i / 8] >> i % 8 & 1``.  *stride* is in bytes.
"""

from collections.abc import Callable
from typing import Any

from mlusim.isa.declare import Intrinsic, Pipe, intrinsic
from mlusim.isa.parameters import Tile
from mlusim.memory.direction import Direction

_PLAIN = "int size, mluMemcpyDirection_t direction, int stride, int count"


def _row(spelling: str) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(
        spelling,
        form="gather",
        pipe=Pipe.IO,
        since=592,
        aligned=False,
        certainty="I",
        c={"offset": "const unsigned int *", "rest": (_PLAIN, f"const void *bitmask, {_PLAIN}")},
        source="vendor operator kernels, gather",
    )


@_row("__gather")
def gather(
    dst: Tile, src: Tile, offset: Tile, size: int, direction: Direction, stride: int, count: int
) -> None:
    """Gather and wait: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` for i below *count*, b below *size*.

    *direction* is ``GDRAM2NRAM`` or ``NRAM2NRAM``.
    """


@_row("__gather_async")
def gather_async(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Start a gather like ``__gather`` and go on; it is done after the sync that waits for its pipe.

    ``(dst, src, offset, size, direction, stride, count)`` or
    ``(dst, src, offset, bitmask, size, direction, stride, count)``.
    """


@_row("__scatter_async")
def scatter_async(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Start to scatter: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]``, in the order of i.

    ``(dst, src, offset, size, direction, stride, count)`` or
    ``(dst, src, offset, bitmask, size, direction, stride, count)``; *direction* is ``NRAM2GDRAM`` or
    ``NRAM2NRAM``.  It is done after the sync that waits for its pipe.
    """


@_row("__bang_gather_async")
def bang_gather_async(
    dst: Tile, src: Tile, offset: Tile, bitmask: Tile, size: int, stride: int, count: int
) -> None:
    """Start a gather inside NRAM: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` where bit i is set.

    It is done after a sync that waits for the move-DMA.
    """
