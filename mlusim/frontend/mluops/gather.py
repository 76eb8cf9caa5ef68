"""Gather and scatter with an optional mask, in pieces where the architecture limits the count.

*offset* holds *n* uint32 byte offsets, *mask* one bit for each piece (None: all pieces), both in NRAM;
*size* and *stride* are bytes.  The intrinsics exist from arch 592 on, ``__gather`` from 372; older ones raise `Unsupported`.
"""

from collections.abc import Callable, Iterator

from mlusim.arch.dtypes import int8, uint8, uint32
from mlusim.errors import WrongSpace
from mlusim.frontend.mluops.checks import Helper
from mlusim.machine.mlu import Mlu
from mlusim.memory.direction import Direction
from mlusim.memory.pointer import Ptr

MOST = 65535  # pieces of one instruction above arch 592
MOST_MASKED = 65528  # the same in whole bytes of the mask

_GATHER, _SCATTER, _GATHER_ASYNC, _SCATTER_ASYNC = (
    Helper(f"__mluop_{name}") for name in ("gather", "scatter", "gather_async", "scatter_async")
)


def _parts(mlu: Mlu, n: int, mask: Ptr | None) -> Iterator[tuple[int, int]]:
    """First piece and number of pieces of each instruction."""
    most = n if mlu.BANG_ARCH <= 592 else MOST if mask is None else MOST_MASKED
    return ((first, min(most, n - first)) for first in range(0, n, most))


def _check(
    helper: Helper, mlu: Mlu, offset: object, mask: object, stride: object, direction: object, n: object
) -> int:
    """Return the number of pieces; *offset* and *mask* have room for them."""
    pieces = helper.count(mlu, "n", n)
    helper.count(mlu, "stride", stride, 0)
    if not isinstance(direction, Direction):
        raise helper.refuse(
            mlu,
            WrongSpace(
                f"dir is {direction!r:.80}",
                operand="dir",
                legal="a direction, as GDRAM2NRAM",
                hint="the order is dst, src, offset, mask, size, dir, stride, n",
            ),
        )
    helper.span(mlu, "offset", offset, pieces * uint32.size, (uint32,))
    if mask is not None:
        helper.span(mlu, "mask", mask, -(-pieces // 8))
    return pieces


def _run(
    mlu: Mlu,
    instruction: Callable[..., None],
    ends: tuple[Ptr, Ptr],
    offset: Ptr,
    mask: Ptr | None,
    numbers: tuple[int, Direction, int, int],
    row: int,
) -> None:
    """One instruction for each part; end number *row* is the one whose pieces lie in a row."""
    size, direction, stride, n = numbers
    for first, count in _parts(mlu, n, mask):
        moved = list(ends)
        if first:
            moved[row] = ends[row].cast(int8) + first * stride
        # Whole bytes: parts begin at multiples of 8.
        bits = () if mask is None else (mask.cast(uint8) + first // 8,)
        instruction(*moved, offset + first, *bits, size, direction, stride, count)


def mluop_gather_async(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,  # noqa: A002 - the vendor's name
    stride: int,
    n: int,
) -> None:
    """Start to gather: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` where bit i of *mask* is set.

    *dir* is ``GDRAM2NRAM`` or ``NRAM2NRAM``; pieces left out leave dst as it is.  It is done after the sync
    that waits for its pipe.  Above arch 592 one instruction takes up to 65535 pieces, 65528 with a mask
    (inferred: whole bytes of it).  Certain (vendor's scatter_gather.h).  Raises `RuleFault` for counts,
    `OutOfBounds` and `WrongSpace` for operands and offsets, `Unsupported` before arch 592.
    """
    n = _check(_GATHER_ASYNC, mlu, offset, mask, stride, dir, n)
    _run(mlu, mlu.gather_async, (dst, src), offset, mask, (size, dir, stride, n), 0)


def mluop_gather(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,  # noqa: A002 - the vendor's name
    stride: int,
    n: int,
) -> None:
    """Gather and wait; operands and faults as of `mluop_gather_async`.

    Without a mask it is ``__gather``; with one the asynchronous instruction and the sync for its pipe,
    which waits for what else is in flight there (inferred).
    """
    n = _check(_GATHER, mlu, offset, mask, stride, dir, n)
    if mask is None:
        _run(mlu, mlu.gather, (dst, src), offset, None, (size, dir, stride, n), 0)
    else:
        _run(mlu, mlu.gather_async, (dst, src), offset, mask, (size, dir, stride, n), 0)
        _wait(mlu, dir)


def mluop_scatter_async(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,  # noqa: A002 - the vendor's name
    stride: int,
    n: int,
) -> None:
    """Start to scatter: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]`` where bit i of *mask* is set.

    *dir* is ``NRAM2GDRAM`` or ``NRAM2NRAM``.  All else is as of `mluop_gather_async`.
    """
    n = _check(_SCATTER_ASYNC, mlu, offset, mask, stride, dir, n)
    _run(mlu, mlu.scatter_async, (dst, src), offset, mask, (size, dir, stride, n), 1)


def mluop_scatter(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,  # noqa: A002 - the vendor's name
    stride: int,
    n: int,
) -> None:
    """Scatter and wait: `mluop_scatter_async` and the sync for its pipe (inferred)."""
    n = _check(_SCATTER, mlu, offset, mask, stride, dir, n)
    _run(mlu, mlu.scatter_async, (dst, src), offset, mask, (size, dir, stride, n), 1)
    _wait(mlu, dir)


def _wait(mlu: Mlu, direction: Direction) -> None:
    (mlu.sync_io if direction.off_chip else mlu.sync_move)()
