"""Gather and scatter: copies of pieces at the byte offsets in a vector.

All of these are inferred from how vendor kernels for arch 592 use them. *offset* holds *count* uint32 byte
offsets in NRAM, which are read when the instruction is issued; ``__gather`` first waits for earlier copies on
its pipe. A 0 bit of *bitmask* skips its piece: ``bitmask[i / 8] >> i % 8 & 1``. *stride* is in bytes.
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
        # Without and with a mask.
        c={"offset": "const unsigned int *", "rest": (_PLAIN, f"const void *bitmask, {_PLAIN}")},
        source="vendor operator kernels, gather",
    )


@_row("__gather", _GATHERS, 372, "C")
def gather(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Gather and wait: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` for i below *count*, b below *size*.

    ``(dst, src, offset, size, direction, stride, count)`` or ``(dst, src, offset, bitmask, size, direction,
    stride, count)``; *direction* is ``GDRAM2NRAM`` or ``NRAM2NRAM``. MLU370 has it, as kernels accepted there
    show; for the other rows of this page that is unknown.
    """


@_row("__gather_async", _STARTS_TO_GATHER)
def gather_async(dst: Tile, src: Tile, offset: Tile, *rest: Any) -> None:
    """Start a gather like ``__gather`` and continue; it is complete after the sync that waits for its pipe.

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

    ``(dst, src, offset, size, direction, stride, count)`` or ``(dst, src, offset, bitmask, size, direction,
    stride, count)``; *direction* is ``NRAM2GDRAM`` or ``NRAM2NRAM``. It is complete after the sync that waits
    for its pipe.
    """


@_row("__bang_gather_async", _STARTS_TO_GATHER)
def bang_gather_async(
    dst: Tile, src: Tile, offset: Tile, bitmask: Tile, size: int, stride: int, count: int
) -> None:
    """Start a gather to NRAM: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` where bit i is set.

    With *src* in NRAM it is complete after a sync that waits for the move-DMA; with *src* in GDRAM, after a
    sync that waits for the IO-DMA, as in the vendor's attention kernels for arch 592.
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
    """Repeat pieces, in order with vectors: write piece i of *size* bytes of *src* ``repeats[i]`` times in a row.

    ``dst = [src[i] for i in range(count) for _ in range(repeats[i])]``; *repeats* has *count* bytes, and 0
    skips a piece; *direction* is ``NRAM2NRAM``, as in the only vendor kernel that uses it.
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
    assembly. That it is in order with vector instructions before and after it is inferred.
    """
