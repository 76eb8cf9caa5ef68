"""Copy helpers: strided loads and stores counted in elements, gather and scatter with an optional mask."""

from collections.abc import Callable, Sequence

from mlusim.arch.dtypes import int8, uint8, uint32
from mlusim.errors import RuleFault, WrongSpace
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, GDRAM2NRAM, NRAM, NRAM2GDRAM, NRAM2NRAM, Direction, Space
from mlusim.mluops.checks import Helper

# Rows in GDRAM up to this size (bytes) are copied as one block; larger transfers are efficient by themselves
# (vendor's common.h).
SHORT = 512

_LOAD_2D, _STORE_2D, _LOAD_3D, _STORE_3D = (
    Helper(f"__mluop_{way}_str_{rank}") for rank in ("2D", "3D") for way in ("load", "store")
)

_OF_ROWS = ("size", "dst_str", "src_str", "seg_num")
_OF_PLANES = ("size", "seg_num_in", "seg_num_out", "dst_str_in", "dst_str_out", "src_str_in", "src_str_out")


def _reach(size: int, stride: int, segments: int) -> int:
    """Return the number of elements from the first to the end of the last of *segments* rows."""
    return stride * (segments - 1) + size


def _sizes(helper: Helper, mlu: Mlu, names: Sequence[str], *numbers: object) -> list[int]:
    """Return *numbers*, the arguments called *names*, as integers; several rows of dst must not overlap."""
    sizes = {name: helper.count(mlu, name, value) for name, value in zip(names, numbers, strict=True)}
    for name, rows in (("dst_str", "seg_num"), ("dst_str_in", "seg_num_in")):
        if sizes.get(rows, 1) > 1 and sizes[name] < sizes["size"]:
            said = f"{name} = {sizes[name]} makes rows of {sizes['size']} elements overlap"
            hint = f"sizes and strides are elements here, not bytes, and {rows} is the true number of rows"
            legal = f"{sizes['size']} or more elements"
            raise helper.refuse(mlu, RuleFault, said, operand=name, legal=legal, hint=hint)
    return list(sizes.values())


def _item(dst: object) -> int:
    """Return the size of an element; 1 if *dst* is not a pointer, which will be refused."""
    return dst.dtype.size if isinstance(dst, Ptr) else 1


def _pair(
    helper: Helper, mlu: Mlu, dst: object, src: object, reach: tuple[int, int], spaces: tuple[Space, Space]
) -> int:
    """Check both operands, and return the size of an element in bytes."""
    size = _item(dst)
    to = helper.span(mlu, "dst", dst, reach[0] * size, space=spaces[0])
    helper.span(mlu, "src", src, reach[1] * size, (to.pointer.dtype,), spaces[1])
    return size


def mluop_load_str_2D(
    mlu: Mlu, dst: Ptr, src: Ptr, size: int, dst_str: int, src_str: int, seg_num: int
) -> None:
    """Load *seg_num* rows of *size* elements from GDRAM, *src_str* apart, to NRAM, *dst_str* apart, and wait.

    All numbers are **elements**, and *seg_num* is the true number of rows.  Rows without gaps on both
    sides are one copy.  Rows that are at most 512 bytes apart in GDRAM, and not closer in NRAM, are loaded
    with their gaps as one block into the tail of dst and spread from there on the chip: **the gaps of dst
    are overwritten**, and dst holds ``dst_str * seg_num - src_str + size`` elements at least.  All others
    are a strided copy, which leaves the gaps alone.

    Certain (vendor's common.h); that the block is taken only where ``src_str <= dst_str`` is inferred, for
    the tail would begin before dst.  Raises `RuleFault` for sizes, `OutOfBounds` and `WrongSpace` for ends.
    """
    _load(_LOAD_2D, mlu, dst, src, *_sizes(_LOAD_2D, mlu, _OF_ROWS, size, dst_str, src_str, seg_num))


def _is_short(dst: Ptr, dst_str: int, src_str: int) -> bool:
    """Return whether a load copies its rows as one block."""
    return src_str <= dst_str and src_str * _item(dst) <= SHORT


def _load_reach(dst: Ptr, size: int, dst_str: int, src_str: int, seg_num: int) -> tuple[int, int]:
    """Return the number of elements of dst and of src that a two-dimensional load accesses."""
    block = _reach(size, src_str, seg_num)
    if _is_short(dst, dst_str, src_str):
        return (dst_str - src_str) * seg_num + block, block
    return _reach(size, dst_str, seg_num), block


def _load(
    helper: Helper, mlu: Mlu, dst: Ptr, src: Ptr, size: int, dst_str: int, src_str: int, seg_num: int
) -> None:
    reach = _load_reach(dst, size, dst_str, src_str, seg_num)
    item = _pair(helper, mlu, dst, src, reach, (NRAM, GDRAM))
    if dst_str == src_str == size:
        mlu.memcpy(dst, src, size * seg_num * item, GDRAM2NRAM)
    elif _is_short(dst, dst_str, src_str):
        skipped = (dst_str - src_str) * seg_num
        tail = dst + skipped
        mlu.memcpy(tail, src, reach[1] * item, GDRAM2NRAM)
        if skipped:
            mlu.memcpy(dst, tail, size * item, NRAM2NRAM, dst_str * item, src_str * item, seg_num - 1)
    else:
        mlu.memcpy(dst, src, size * item, GDRAM2NRAM, dst_str * item, src_str * item, seg_num - 1)


def mluop_store_str_2D(
    mlu: Mlu, dst: Ptr, src: Ptr, size: int, dst_str: int, src_str: int, seg_num: int
) -> None:
    """Store *seg_num* rows of *size* elements from NRAM, *src_str* apart, to GDRAM, *dst_str* apart, and wait.

    All numbers are **elements**, and *seg_num* is the true number of rows.  Rows that lie side by side in
    GDRAM (``size == dst_str <= src_str``) and have at most 512 bytes are packed on the chip first, **in src
    itself, which is destroyed**, and stored as one block.  All others are a strided copy.

    Certain (vendor's common.h), but for the exact condition, which is inferred.  Raises `RuleFault` for
    sizes, `OutOfBounds`, `ReadOnly` and `WrongSpace` for ends.
    """
    _store(_STORE_2D, mlu, dst, src, *_sizes(_STORE_2D, mlu, _OF_ROWS, size, dst_str, src_str, seg_num))


def _store_reach(_dst: Ptr, size: int, dst_str: int, src_str: int, seg_num: int) -> tuple[int, int]:
    return _reach(size, dst_str, seg_num), _reach(size, src_str, seg_num)


def _store(
    helper: Helper, mlu: Mlu, dst: Ptr, src: Ptr, size: int, dst_str: int, src_str: int, seg_num: int
) -> None:
    reach = _store_reach(dst, size, dst_str, src_str, seg_num)
    item = _pair(helper, mlu, dst, src, reach, (GDRAM, NRAM))
    if size == dst_str <= src_str and size * item <= SHORT:
        if dst_str != src_str and seg_num > 1:
            # Each row moves to the front, over rows that have already moved.
            mlu.memcpy(src, src, size * item, NRAM2NRAM, dst_str * item, src_str * item, seg_num - 1)
        mlu.memcpy(dst, src, size * seg_num * item, NRAM2GDRAM)
    else:
        mlu.memcpy(dst, src, size * item, NRAM2GDRAM, dst_str * item, src_str * item, seg_num - 1)


def mluop_load_str_3D(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    size: int,
    seg_num_in: int,
    seg_num_out: int,
    dst_str_in: int,
    dst_str_out: int,
    src_str_in: int,
    src_str_out: int,
) -> None:
    """Load *seg_num_out* planes of *seg_num_in* rows: `mluop_load_str_2D` for each plane.

    All numbers are elements; the strides "out" are distances between planes. Each plane of dst needs the same
    space as a two-dimensional load; where planes are interleaved in NRAM, the block of short rows overwrites
    what earlier planes left in the gaps. Certain (vendor's common.h); the order of the arguments is inferred.
    Raises faults as `mluop_load_str_2D` does.
    """
    numbers = size, seg_num_in, seg_num_out, dst_str_in, dst_str_out, src_str_in, src_str_out
    _planes(_LOAD_3D, mlu, dst, src, numbers, (NRAM, GDRAM), _load_reach, _load)


def mluop_store_str_3D(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    size: int,
    seg_num_in: int,
    seg_num_out: int,
    dst_str_in: int,
    dst_str_out: int,
    src_str_in: int,
    src_str_out: int,
) -> None:
    """Store *seg_num_out* planes of *seg_num_in* rows: `mluop_store_str_2D` for each plane.

    All numbers are elements; the strides "out" are distances between planes.  Short rows are packed in src,
    which is destroyed.  Certain (vendor's common.h); the order of the arguments is inferred.  Raises
    faults as `mluop_store_str_2D` does.
    """
    numbers = size, seg_num_in, seg_num_out, dst_str_in, dst_str_out, src_str_in, src_str_out
    _planes(_STORE_3D, mlu, dst, src, numbers, (GDRAM, NRAM), _store_reach, _store)


def _planes(
    helper: Helper,
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    numbers: tuple[int, ...],
    spaces: tuple[Space, Space],
    reach: Callable[[Ptr, int, int, int, int], tuple[int, int]],
    copy: Callable[..., None],
) -> None:
    """Check the whole operands, then *copy* plane by plane; *reach* returns the extent of a plane."""
    size, rows, planes, near_dst, far_dst, near_src, far_src = _sizes(helper, mlu, _OF_PLANES, *numbers)
    to, at = reach(dst, size, near_dst, near_src, rows)
    _pair(helper, mlu, dst, src, (_reach(to, far_dst, planes), _reach(at, far_src, planes)), spaces)
    for plane in range(planes):
        copy(helper, mlu, dst + plane * far_dst, src + plane * far_src, size, near_dst, near_src, rows)


# Gather and scatter with an optional mask, in parts if the architecture limits the count.
#
# *offset* holds *n* uint32 byte offsets, *mask* one bit for each piece (None: all pieces), both in NRAM;
# *size* and *stride* are bytes. The intrinsics exist from arch 592 on, ``__gather`` from 372; older ones
# raise `Unsupported`.

MOST = 65535  # limit of pieces per instruction above arch 592
MOST_MASKED = 65528  # the limit in whole bytes of the mask

_GATHER, _SCATTER, _GATHER_ASYNC = (
    Helper(f"__mluop_{name}") for name in ("gather", "scatter", "gather_async")
)


def _check_gather(
    helper: Helper, mlu: Mlu, offset: object, mask: object, stride: object, direction: object, n: object
) -> int:
    """Return the number of pieces, after checking *offset* and *mask*."""
    pieces = helper.count(mlu, "n", n)
    helper.count(mlu, "stride", stride, 0)
    if not isinstance(direction, Direction):
        said, legal = f"dir is {direction!r:.80}", "a direction, as GDRAM2NRAM"
        hint = "the order is dst, src, offset, mask, size, dir, stride, n"
        raise helper.refuse(mlu, WrongSpace, said, operand="dir", legal=legal, hint=hint)
    helper.span(mlu, "offset", offset, pieces * uint32.size, (uint32,))
    if mask is not None:
        helper.span(mlu, "mask", mask, -(-pieces // 8))
    return pieces


def _run_gather(
    mlu: Mlu,
    instruction: Callable[..., None],
    ends: tuple[Ptr, Ptr],
    offset: Ptr,
    mask: Ptr | None,
    numbers: tuple[int, Direction, int, int],
    row: int,
) -> None:
    """Issue one instruction per part; end number *row* is the contiguous side."""
    size, direction, stride, n = numbers
    most = n if mlu.BANG_ARCH <= 592 else MOST if mask is None else MOST_MASKED
    for first in range(0, n, most):
        moved = list(ends)
        if first:
            moved[row] = ends[row].cast(int8) + first * stride
        # Whole bytes of the mask: parts begin at multiples of 8.
        bits = () if mask is None else (mask.cast(uint8) + first // 8,)
        instruction(*moved, offset + first, *bits, size, direction, stride, min(most, n - first))


def mluop_gather_async(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,
    stride: int,
    n: int,
) -> None:
    """Start to gather: ``dst.byte[i * stride + b] = src.byte[offset[i] + b]`` where bit i of *mask* is set.

    *dir* is ``GDRAM2NRAM`` or ``NRAM2NRAM``; skipped pieces leave dst unchanged. It is complete after the
    sync that waits for its pipe. Above arch 592 one instruction takes up to 65535 pieces, 65528 with a mask
    (inferred: whole bytes of it). Certain (vendor's scatter_gather.h). Raises `RuleFault` for counts,
    `OutOfBounds` and `WrongSpace` for operands and offsets, `Unsupported` before arch 592.
    """
    n = _check_gather(_GATHER_ASYNC, mlu, offset, mask, stride, dir, n)
    _run_gather(mlu, mlu.gather_async, (dst, src), offset, mask, (size, dir, stride, n), 0)


def mluop_gather(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,
    stride: int,
    n: int,
) -> None:
    """Gather and wait; operands and faults as in `mluop_gather_async`.

    Without a mask it is ``__gather``; with one it is the asynchronous instruction and a sync for its pipe,
    which also waits for other copies in flight there (inferred).
    """
    n = _check_gather(_GATHER, mlu, offset, mask, stride, dir, n)
    if mask is None:
        _run_gather(mlu, mlu.gather, (dst, src), offset, None, (size, dir, stride, n), 0)
    else:
        _run_gather(mlu, mlu.gather_async, (dst, src), offset, mask, (size, dir, stride, n), 0)
        _wait_gather(mlu, dir)


def mluop_scatter(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    offset: Ptr,
    mask: Ptr | None,
    size: int,
    dir: Direction,
    stride: int,
    n: int,
) -> None:
    """Scatter and wait: ``dst.byte[offset[i] + b] = src.byte[i * stride + b]`` where bit i of *mask* is set.

    *dir* is ``NRAM2GDRAM`` or ``NRAM2NRAM``. It is the asynchronous instruction and the sync for its pipe
    (inferred); everything else is as in `mluop_gather_async`.
    """
    n = _check_gather(_SCATTER, mlu, offset, mask, stride, dir, n)
    _run_gather(mlu, mlu.scatter_async, (dst, src), offset, mask, (size, dir, stride, n), 1)
    _wait_gather(mlu, dir)


def _wait_gather(mlu: Mlu, direction: Direction) -> None:
    (mlu.sync_io if direction.off_chip else mlu.sync_move)()
