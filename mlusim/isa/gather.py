"""Gather and scatter: pieces at places that a vector of byte offsets gives.

All of these are inferred from how vendor kernels for arch 592 use them.  *offset* holds *count* uint32
byte offsets in NRAM, which are read when the instruction is issued, by ``__gather`` behind the copies before it on its
pipe; a bit of *bitmask* that is 0 leaves its piece out: ``bitmask[i / 8] >> i % 8 & 1``.  *stride* is in bytes.
"""

from collections.abc import Callable
from typing import Any

from mlusim.arch.board import Pipe
from mlusim.isa.declare import Intrinsic, Offsets, Tile, intrinsic
from mlusim.memory.space import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, Direction

_PLAIN = "int size, mluMemcpyDirection_t direction, int stride, int count"


_TO_NRAM = (GDRAM2NRAM, NRAM2NRAM)
_GATHERS, _STARTS_TO_GATHER = Offsets("src", _TO_NRAM), Offsets("src", _TO_NRAM, waits=False)
_FROM_NRAM = (NRAM2GDRAM, NRAM2NRAM)
_SCATTERS, _STARTS_TO_SCATTER = Offsets("dst", _FROM_NRAM), Offsets("dst", _FROM_NRAM, waits=False)


def _row(
    spelling: str, offsets: Offsets, since: int = 592, certainty: str = "I"
) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(
        spelling,
        form="gather",
        offsets=offsets,
        pipe=Pipe.IO,
        since=since,
        aligned=False,
        certainty=certainty,
        # Without a mask, and with one.
        c={"offset": "const unsigned int *", "rest": (_PLAIN, f"const void *bitmask, {_PLAIN}")},
        source="vendor operator kernels, gather",
    )


@_row("__gather", _GATHERS, 372, "C")
def gather(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Gather and wait: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` for i below *count*, b below *size*.

    ``(dst, src, offset, size, direction, stride, count)`` or
    ``(dst, src, offset, bitmask, size, direction, stride, count)``; *direction* is ``GDRAM2NRAM`` or ``NRAM2NRAM``.
    MLU370 has it, as kernels that were accepted there show; of the others of this page that is not known.
    """


@_row("__gather_async", _STARTS_TO_GATHER)
def gather_async(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Start a gather like ``__gather`` and go on; it is done after the sync that waits for its pipe.

    ``(dst, src, offset, size, direction, stride, count)`` or
    ``(dst, src, offset, bitmask, size, direction, stride, count)``.
    """


@_row("__scatter", _SCATTERS)
def scatter(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Scatter and wait: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]``, in the order of i.

    ``(dst, src, offset, size, direction, stride, count)`` or
    ``(dst, src, offset, bitmask, size, direction, stride, count)``; *direction* is ``NRAM2GDRAM`` or ``NRAM2NRAM``.
    """


@_row("__scatter_async", _STARTS_TO_SCATTER)
def scatter_async(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Start to scatter: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]``, in the order of i.

    ``(dst, src, offset, size, direction, stride, count)`` or
    ``(dst, src, offset, bitmask, size, direction, stride, count)``; *direction* is ``NRAM2GDRAM`` or
    ``NRAM2NRAM``.  It is done after the sync that waits for its pipe.
    """


@_row("__bang_gather_async", _STARTS_TO_GATHER)
def bang_gather_async(
    dst: Tile, src: Tile, offset: Tile, bitmask: Tile, size: int, stride: int, count: int
) -> None:
    """Start a gather to NRAM: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` where bit i is set.

    *src* is in NRAM, and it is done after a sync that waits for the move-DMA; or in GDRAM, and it is done after one
    that waits for the IO-DMA, as the vendor's attention kernels for arch 592 have it.
    """


@intrinsic(
    "__extension",
    form="gather",
    since=592,
    aligned=False,
    certainty="I",
    source="vendor operator kernels, gather",
)
def extension(dst: Tile, src: Tile, repeats: Tile, size: int, direction: Direction, count: int) -> None:
    """Repeat pieces, in order with vectors: piece i of *size* bytes of *src* ``repeats[i]`` times, one behind the other.

    ``dst = [src[i] for i in range(count) for _ in range(repeats[i])]``; *repeats* are *count* bytes, 0 leaves a
    piece out; *direction* is ``NRAM2NRAM`` (the one vendor kernel that has it).
    """


@intrinsic(
    "__mlisa_gather_vector",
    form="gather",
    offsets=Offsets("src", (NRAM2NRAM,)),
    pipe=Pipe.MOVE,
    since=372,
    aligned=False,
    c={"offset": "const unsigned int *"},
    certainty="I",
    source="vendor operator kernels, inline assembly",
)
def mlisa_gather_vector(dst: Tile, src: Tile, offset: Tile, size: int, count: int, stride: int) -> None:
    """Gather inside NRAM in order with vectors: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]``.

    The instruction ``gather.vector.nram.nram.nram.u32 [dst], [src], [offset], size, count, stride`` of inline
    assembly.  That it waits for the vectors before it, and those behind for it, is inferred.
    """
