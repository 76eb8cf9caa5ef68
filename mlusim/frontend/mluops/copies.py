"""Strided loads and stores in elements, which take short rows as one block."""

from mlusim.errors import RuleFault
from mlusim.frontend.mluops.checks import Helper
from mlusim.machine.mlu import Mlu
from mlusim.memory.direction import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, NRAM, Space

# Bytes of a row in GDRAM up to which rows travel as one block; transfers are best from there on (vendor's common.h).
SHORT = 512

_LOAD_2D, _STORE_2D, _LOAD_3D, _STORE_3D = (
    Helper(f"__mluop_{way}_str_{rank}") for rank in ("2D", "3D") for way in ("load", "store")
)


def _reach(size: int, stride: int, segments: int) -> int:
    """Elements from the first to the last of *segments* rows."""
    return stride * (segments - 1) + size


def _sizes(helper: Helper, mlu: Mlu, **numbers: object) -> list[int]:
    """Whole numbers of elements and rows; where there are several rows, those of dst must not overlap."""
    found = {name: helper.count(mlu, name, value) for name, value in numbers.items()}
    for name, rows in (("dst_str", "seg_num"), ("dst_str_in", "seg_num_in")):
        if found.get(rows, 1) > 1 and found[name] < found["size"]:
            raise helper.refuse(
                mlu,
                RuleFault(
                    f"{name} = {found[name]} makes rows of {found['size']} elements overlap",
                    operand=name,
                    legal=f"{found['size']} or more elements",
                    hint=f"sizes and strides are elements here, not bytes, and {rows} is the true number of rows",
                ),
            )
    return list(found.values())


def _item(dst: object) -> int:
    """Bytes of an element; 1 for what is not a pointer and will be refused."""
    return dst.dtype.size if isinstance(dst, Ptr) else 1


def _pair(
    helper: Helper, mlu: Mlu, dst: object, src: object, reach: tuple[int, int], spaces: tuple[Space, Space]
) -> int:
    """Check both ends; returns the bytes of an element."""
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
    size, dst_str, src_str, seg_num = _sizes(
        _LOAD_2D, mlu, size=size, dst_str=dst_str, src_str=src_str, seg_num=seg_num
    )
    _load(_LOAD_2D, mlu, dst, src, size, dst_str, src_str, seg_num)


def _is_short(dst: Ptr, dst_str: int, src_str: int) -> bool:
    """Return whether a load takes its rows as one block."""
    return src_str <= dst_str and src_str * _item(dst) <= SHORT


def _load_reach(dst: Ptr, size: int, dst_str: int, src_str: int, seg_num: int) -> tuple[int, int]:
    """Elements of dst and of src that a load of two dimensions touches."""
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
    size, dst_str, src_str, seg_num = _sizes(
        _STORE_2D, mlu, size=size, dst_str=dst_str, src_str=src_str, seg_num=seg_num
    )
    _store(_STORE_2D, mlu, dst, src, size, dst_str, src_str, seg_num)


def _store(
    helper: Helper, mlu: Mlu, dst: Ptr, src: Ptr, size: int, dst_str: int, src_str: int, seg_num: int
) -> None:
    reach = _reach(size, dst_str, seg_num), _reach(size, src_str, seg_num)
    item = _pair(helper, mlu, dst, src, reach, (GDRAM, NRAM))
    if size == dst_str <= src_str and size * item <= SHORT:
        if dst_str != src_str and seg_num > 1:
            # Each row moves to the front, over what has been moved.
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

    All numbers are elements; the strides "out" lead from plane to plane.  Each plane of dst needs the room
    that the loads of two dimensions need; where planes are interleaved in NRAM, the block of short rows
    overwrites what earlier planes left in the gaps.  Certain (vendor's common.h); the order of the arguments is inferred.
    Raises faults as `mluop_load_str_2D` does.
    """
    size, rows, planes, near_dst, far_dst, near_src, far_src = _sizes(
        _LOAD_3D,
        mlu,
        size=size,
        seg_num_in=seg_num_in,
        seg_num_out=seg_num_out,
        dst_str_in=dst_str_in,
        dst_str_out=dst_str_out,
        src_str_in=src_str_in,
        src_str_out=src_str_out,
    )
    near = _load_reach(dst, size, near_dst, near_src, rows)
    reach = _reach(near[0], far_dst, planes), _reach(near[1], far_src, planes)
    _pair(_LOAD_3D, mlu, dst, src, reach, (NRAM, GDRAM))
    for plane in range(planes):
        _load(_LOAD_3D, mlu, dst + plane * far_dst, src + plane * far_src, size, near_dst, near_src, rows)


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

    All numbers are elements; the strides "out" lead from plane to plane.  Short rows are packed in src,
    which is destroyed.  Certain (vendor's common.h); the order of the arguments is inferred.  Raises
    faults as `mluop_store_str_2D` does.
    """
    size, rows, planes, near_dst, far_dst, near_src, far_src = _sizes(
        _STORE_3D,
        mlu,
        size=size,
        seg_num_in=seg_num_in,
        seg_num_out=seg_num_out,
        dst_str_in=dst_str_in,
        dst_str_out=dst_str_out,
        src_str_in=src_str_in,
        src_str_out=src_str_out,
    )
    near = _reach(size, near_dst, rows), _reach(size, near_src, rows)
    reach = _reach(near[0], far_dst, planes), _reach(near[1], far_src, planes)
    _pair(_STORE_3D, mlu, dst, src, reach, (GDRAM, NRAM))
    for plane in range(planes):
        _store(_STORE_3D, mlu, dst + plane * far_dst, src + plane * far_src, size, near_dst, near_src, rows)
