"""Why a copy was refused, one sentence for each way to get it wrong."""

from typing import TYPE_CHECKING, Any

from mlusim.counted import plural
from mlusim.engine.refuse import count_of, foreign, no_pointer, refuse_here
from mlusim.engine.routes import steps_of
from mlusim.errors import Fault, RuleFault, Unsupported, WrongSpace
from mlusim.memory.direction import DIRECTIONS, SRAM2SRAM, Direction, grain
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import NRAM, SRAM, WRAM

if TYPE_CHECKING:
    from mlusim.engine.contract import Mlu
    from mlusim.isa.declare import Intrinsic

# By the numbers behind the direction; 1, 4 and 9 end with a cluster.
FORMS = {0: "1-D", 1: "1-D", 3: "2-D", 4: "2-D", 8: "3-D", 9: "3-D"}


def explain_copy(
    mlu: "Mlu",
    row: "Intrinsic",
    dst: Any,
    src: Any,
    size: object,
    direction: Any,
    shape: tuple[Any, ...],
    *,
    asynchronous: bool,
) -> int:
    """Raise the fault of a refused copy; return the size as an int where only its type was at fault."""
    count = count_of(mlu, row, "size", size)
    numbers = tuple(count_of(mlu, row, "a stride or segment count", n) for n in shape)
    strides = numbers[:-1] if len(numbers) in (1, 4, 9) else numbers  # without the cluster
    fault = (
        # In this order: each asks of what the ones before it have made sure.
        _arguments(dst, src, direction, numbers)
        or _token(mlu, dst, src, direction, numbers, asynchronous=asynchronous)
        or foreign(mlu, "dst", dst)
        or foreign(mlu, "src", src)
        or _cluster(mlu, direction, numbers)
        or _sizes(count, numbers)
        or _ranges(dst, src, count, strides)
        or _alignment(mlu, dst, src, count, direction, strides)
        or (_overlap(dst, src, count, strides) if _own_cluster(mlu, numbers) else None)
    )
    if fault is not None:
        raise refuse_here(mlu, row, fault)
    return count


def _arguments(dst: object, src: object, direction: object, shape: tuple[int, ...]) -> Fault | None:
    for name, pointer in (("dst", dst), ("src", src)):
        if not isinstance(pointer, Ptr):
            space = (
                getattr(direction, name)
                if isinstance(direction, Direction)
                else "the memory of its direction"
            )
            return no_pointer(name, pointer, space)
    if not isinstance(direction, Direction):
        return RuleFault(
            f"{direction!r} is no copy direction",
            operand="direction",
            legal="one of " + ", ".join(d.name for d in DIRECTIONS),
            hint="the order is dst, src, size, direction, then strides",
        )
    if len(shape) not in FORMS:
        return RuleFault(
            f"{len(shape)} numbers follow the direction",
            legal="none; dst_stride, src_stride, segments - 1; or the eight numbers of a 3-D copy",
        )
    return None


def _token(
    mlu: "Mlu", dst: Ptr, src: Ptr, direction: Direction, shape: tuple[int, ...], *, asynchronous: bool
) -> Fault | None:
    for name, pointer, space in (("dst", dst, direction.dst), ("src", src, direction.src)):
        if pointer.space is not space:
            fits = f"{src.space}2{dst.space}"
            return WrongSpace(
                f"{direction} needs {name} in {space}, but it points into {pointer.space}",
                operand=name,
                address=pointer.address,
                space=pointer.space.name,
                hint=f"these two pointers are {fits}",
            )
    form, lanes = FORMS[len(shape)], mlu.directions
    if form == "1-D":
        allowed = lanes.one_async if asynchronous else lanes.one
    elif form == "2-D":
        allowed = lanes.two_async if asynchronous else lanes.two
    else:
        allowed = lanes.three
    if direction in allowed:
        return None
    # Said before the architecture: no other board would help.
    if mlu.core.place.memory_core and {direction.src, direction.dst} & {NRAM, WRAM}:
        return Unsupported(
            f"a memory core cannot copy {direction}: it has no NRAM and no WRAM",
            legal=", ".join(d.name for d in allowed),
            hint="let the IPU cores do it: `if mlu.is_ipu(): ...`",
        )
    if SRAM in (direction.src, direction.dst) and mlu.core.union.block:
        return Unsupported(
            f"a Block task cannot copy {direction}: it shares no SRAM", hint="launch as UNION1 or wider"
        )
    arch = mlu.core.session.board.arch.name
    return Unsupported(
        f"{arch} has no {form} {'asynchronous ' if asynchronous else ''}copy {direction}",
        legal=", ".join(d.name for d in allowed) or f"{form} copies from __BANG_ARCH__ 322 on",
    )


def _cluster(mlu: "Mlu", direction: Direction, shape: tuple[int, ...]) -> Fault | None:
    if len(shape) not in (1, 4, 9):
        return None
    if direction is not SRAM2SRAM:
        return RuleFault(f"{direction} takes no destination cluster", hint="only SRAM2SRAM names one")
    clusters = len(mlu.core.union.clusters)
    if not 0 <= shape[-1] < clusters:
        return RuleFault(
            f"there is no cluster {shape[-1]} in this union",
            legal=f"0 to {clusters - 1}",
            operand="id_dst_cluster",
        )
    return None


def _sizes(size: int, shape: tuple[int, ...]) -> Fault | None:
    if size <= 0:
        return RuleFault(
            f"size is {size} {plural(size, 'byte')}",
            operand="size",
            legal="1 or more",
            hint="guard the copy with `if n > 0`",
        )
    segments = shape[2:3] if len(shape) in (3, 4) else shape[1:8:2] if len(shape) in (8, 9) else ()
    for count in segments:
        if not 0 <= count <= 65535:
            return RuleFault(
                f"the segment count argument is {count}",
                operand="segnum",
                legal="0 to 65535, which is the number of segments minus one",
                hint="skip the copy when there is nothing to copy" if count < 0 else "split the copy",
            )
    if len(shape) in (8, 9):
        to, frm = (shape[1] + 1) * (shape[3] + 1), (shape[5] + 1) * (shape[7] + 1)
        if to != frm:
            return RuleFault(
                f"the destination has {to} segments and the source {frm}", legal="as many on both sides"
            )
    return None


def _accesses(dst: Ptr, src: Ptr, size: int, shape: tuple[int, ...]) -> tuple[Access, Access]:
    d_steps, s_steps = steps_of(shape) if len(shape) in (3, 8) else ((), ())
    return (
        Access(dst.view.allocation, dst.offset, size, d_steps),
        Access(src.view.allocation, src.offset, size, s_steps),
    )


def _ranges(dst: Ptr, src: Ptr, size: int, shape: tuple[int, ...]) -> Fault | None:
    writes, reads = _accesses(dst, src, size, shape)
    for name, pointer, access in (("dst", dst, writes), ("src", src, reads)):
        low, high = access.span
        fault = bounds_fault(pointer.view, access.start, high - low, low - access.start)
        if fault is not None:
            fault.operand = name
            fault.message = f"{name}: {fault.message}"
            return fault
    if not dst.view.allocation.writable:
        return dst.view.allocation.const_fault("dst")
    if writes.apart:
        return None
    close = [stride for stride, count in writes.steps if count > 1 and abs(stride) < size]
    if close:
        return RuleFault(
            f"destination segments of {size} {plural(size, 'byte')}, {close[0]} {plural(close[0], 'byte')} apart, overlap",
            operand="dst_stride",
            legal=f"a dst_stride of {size} {plural(size, 'byte')} or more",
            hint="dst_stride comes before src_stride, both in bytes",
        )
    (far, many), (near, few) = writes.steps  # no stride is too short, so that there are two, which interlace
    return RuleFault(
        f"destination segments of {size} {plural(size, 'byte')} overlap: {few} of them {near} {plural(near, 'byte')} apart, and that {many} {plural(many, 'time')} "
        f"{far} {plural(far, 'byte')} apart",
        operand="dst_stride",
        legal="strides that put every segment on bytes of its own",
        hint="dst_stride0 belongs to dst_segnum1, dst_stride1 to dst_segnum2, all in bytes",
    )


def _alignment(
    mlu: "Mlu", dst: Ptr, src: Ptr, size: int, direction: Direction, shape: tuple[int, ...]
) -> Fault | None:
    arch = mlu.core.session.board.arch
    of_dst, of_src, of_size = grain(direction, arch.generation, strided=bool(shape))
    where = "to and from WRAM, " if WRAM in (dst.space, src.space) else f"for {direction} on {arch.name}, "
    for name, pointer, unit in (("dst", dst, of_dst), ("src", src, of_src)):
        if pointer.offset % unit:
            return RuleFault(
                f"{name} is at {pointer.address:#x}",
                operand=name,
                address=pointer.address,
                space=pointer.space.name,
                legal=f"{where}addresses that are multiples of {unit}",
            )
    if size % of_size:
        return RuleFault(
            f"size is {size} {plural(size, 'byte')}",
            operand="size",
            legal=f"{where}multiples of {of_size} bytes",
            hint="pad the rows",
        )
    writes, _ = _accesses(dst, src, size, shape)
    if dst.space is WRAM and any(stride % 8 for stride, _ in writes.steps):
        return RuleFault(
            "a stride to WRAM is no multiple of 8 bytes", operand="dst_stride", legal="multiples of 8"
        )
    return None


def _own_cluster(mlu: "Mlu", shape: tuple[int, ...]) -> bool:
    cluster = mlu.core.cluster
    return len(shape) not in (1, 4, 9) or (
        cluster is not None and mlu.core.union.clusters[shape[-1]] is cluster
    )


def _overlap(dst: Ptr, src: Ptr, size: int, shape: tuple[int, ...]) -> Fault | None:
    writes, reads = _accesses(dst, src, size, shape)
    shared = writes.before_read_by(reads)
    if not shared:
        return None
    # The address of the first byte that is shared, for a user who has two pointers in hand.
    first = writes.common(reads)
    assert first is not None
    return RuleFault(
        f"dst overlaps src by {shared} {plural(shared, 'byte')}, which are written before they are read",
        operand="dst",
        address=dst.view.allocation.address + first[0],
        space=dst.space.name,
        legal="dst in front of src, exactly at src or apart from it",
        hint="copy through a third buffer: a copy takes its bytes from the front on",
    )
