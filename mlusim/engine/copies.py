"""Copies: the directions of a core, the check of each copy, and the general copy, which handles every form.

The general copy resolves a direction, sizes and strides to two byte views, and copies one to the other.  The rendered methods of copies (`engine.recipes.render`) handle the common forms and call the general copy for the others.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Arch, Pipe
from mlusim.counted import plural
from mlusim.engine.contract import POLL_BYTES, Flight, IssuingCore, IssuingMlu
from mlusim.engine.refuse import count_of, foreign, forgotten, no_pointer, refuse_here
from mlusim.errors import Fault, RuleFault, Unsupported, WrongSpace
from mlusim.isa.declare import Intrinsic
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, View, bounds_fault
from mlusim.memory.space import (
    DIRECTIONS,
    NRAM,
    NRAM2NRAM,
    ONE_D,
    ONE_D_ASYNC,
    SRAM,
    SRAM2SRAM,
    THREE_D,
    TWO_D,
    TWO_D_ASYNC,
    WRAM,
    Direction,
    grain,
)
from mlusim.time.work import charge, charge_flight, load_of, rows_load

Lanes = Mapping[Direction, Pipe]


@frozen(eq=False)
class Routes:
    """The directions that a core may copy, by form of the copy, each with the pipe that carries it."""

    one: Lanes
    one_async: Lanes
    two: Lanes
    two_async: Lanes
    three: Lanes
    rows: Lanes  # the directions of `two` without alignment rules

    def form(self, numbers: int, asynchronous: bool) -> Lanes:
        """Return the directions of the copy with *numbers* integers after its direction; raises KeyError if no copy has so many."""
        blocking = {0: self.one, 3: self.two, 8: self.three}[numbers]
        return {0: self.one_async, 3: self.two_async, 8: self.three}[numbers] if asynchronous else blocking


@functools.cache
def routes(arch: Arch, *, memory_core: bool, block: bool) -> Routes:
    """Return the legal directions of a core of *arch*; a memory core reaches GDRAM, LDRAM and SRAM only."""

    def lanes(allowed: frozenset[Direction]) -> Lanes:
        pipes = {}
        for token in DIRECTIONS:
            ends = {token.src, token.dst}
            no_sram = SRAM in ends and (arch.sram == 0 or block)
            if token in allowed and not no_sram and not (memory_core and ends & {NRAM, WRAM}):
                # On 2xx, NRAM2NRAM belongs to the compute stream.
                on_chip = Pipe.VECTOR if token is NRAM2NRAM and arch.generation == 2 else Pipe.MOVE
                pipes[token] = Pipe.IO if token.off_chip else on_chip
        return pipes

    three = THREE_D if arch.bang_arch >= 322 else frozenset()
    two = lanes(TWO_D)
    rows = {token: pipe for token, pipe in two.items() if WRAM not in (token.src, token.dst)}
    return Routes(lanes(ONE_D), lanes(ONE_D_ASYNC), two, lanes(TWO_D_ASYNC), lanes(three), rows)


def steps_of(shape: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return the (stride, count) pairs of the destination and of the source, outermost first, from the stride arguments of a copy.

    The stride of a single segment has no effect and is returned as 0.
    """
    if len(shape) == 3:
        dst_stride, src_stride, more = shape
        return ((dst_stride if more else 0, more + 1),), ((src_stride if more else 0, more + 1),)
    # In the call, the inner stride and count of each side come before the outer ones.
    pairs = [(shape[i] if shape[i + 1] else 0, shape[i + 1] + 1) for i in (2, 0, 6, 4)]
    return tuple(pairs[:2]), tuple(pairs[2:])


# -- the faults of refused copies ----------------------------------------------------------------------

# The keys are the number of integers that follow the direction.
FORMS = {0: "1-D", 1: "1-D", 3: "2-D", 4: "2-D", 8: "3-D", 9: "3-D"}
WITH_CLUSTER = (1, 4, 9)  # the forms whose last integer is the destination cluster


def explain_copy(
    mlu: IssuingMlu,
    row: Intrinsic,
    dst: Any,
    src: Any,
    size: object,
    direction: Any,
    shape: tuple[Any, ...],
    *,
    asynchronous: bool,
) -> int:
    """Raise the fault of a refused copy; if only the type of the size was wrong, return the size as an int."""
    count = count_of(mlu, row, "size", size)
    numbers = tuple(count_of(mlu, row, "a stride or segment count", n) for n in shape)
    strides = numbers[:-1] if len(numbers) in WITH_CLUSTER else numbers
    fault = (
        # The order matters: each check relies on the checks before it.
        _size(count)
        or _arguments(dst, src, direction, numbers)
        or _token(mlu, dst, src, direction, numbers, asynchronous=asynchronous)
        or foreign(mlu, "dst", dst)
        or foreign(mlu, "src", src)
        or _cluster(mlu, direction, numbers)
        or _sizes(numbers)
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
            directed = isinstance(direction, Direction)
            space = getattr(direction, name) if directed else "the memory of its direction"
            return no_pointer(name, pointer, space)
    if not isinstance(direction, Direction):
        return RuleFault(
            f"{direction!r} is not a copy direction",
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
    mlu: IssuingMlu, dst: Ptr, src: Ptr, direction: Direction, shape: tuple[int, ...], *, asynchronous: bool
) -> Fault | None:
    for name, pointer, space in (("dst", dst, direction.dst), ("src", src, direction.src)):
        if pointer.space is not space:
            fits = f"{src.space}2{dst.space}"
            return WrongSpace(
                f"{direction} needs {name} in {space}, but it points into {pointer.space}",
                operand=name,
                address=pointer.address,
                space=pointer.space.name,
                hint=forgotten(pointer.view, space) or f"these two pointers are {fits}",
            )
    form = FORMS[len(shape)]
    allowed = mlu.directions.form(len(shape) - (len(shape) in WITH_CLUSTER), asynchronous)
    if direction in allowed:
        return None
    # Report this before faults of the architecture: another board would not help.
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
    arch = mlu.core.machine.board.arch.name
    return Unsupported(
        f"{arch} has no {form} {'asynchronous ' if asynchronous else ''}copy {direction}",
        legal=", ".join(d.name for d in allowed) or f"{form} copies from __BANG_ARCH__ 322 on",
    )


def _cluster(mlu: IssuingMlu, direction: Direction, shape: tuple[int, ...]) -> Fault | None:
    if len(shape) not in WITH_CLUSTER:
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


def _size(size: int) -> Fault | None:
    if size > 0:
        return None
    return RuleFault(
        f"size is {size} {plural(size, 'byte')}",
        operand="size",
        legal="1 or more",
        hint="guard the copy with `if n > 0`",
    )


def _sizes(shape: tuple[int, ...]) -> Fault | None:
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
    # Each stride alone is long enough, so there are two, and they interlace.
    (far, many), (near, few) = writes.steps
    return RuleFault(
        f"destination segments of {size} {plural(size, 'byte')} overlap: {few} of them {near} {plural(near, 'byte')} apart, and that {many} {plural(many, 'time')} "
        f"{far} {plural(far, 'byte')} apart",
        operand="dst_stride",
        legal="strides that put every segment on bytes of its own",
        hint="dst_stride0 belongs to dst_segnum1, dst_stride1 to dst_segnum2, all in bytes",
    )


def _alignment(
    mlu: IssuingMlu, dst: Ptr, src: Ptr, size: int, direction: Direction, shape: tuple[int, ...]
) -> Fault | None:
    arch = mlu.core.machine.board.arch
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
            "a stride to WRAM is not a multiple of 8 bytes", operand="dst_stride", legal="multiples of 8"
        )
    return None


def _own_cluster(mlu: IssuingMlu, shape: tuple[int, ...]) -> bool:
    cluster = mlu.core.cluster
    return len(shape) not in WITH_CLUSTER or (
        cluster is not None and mlu.core.union.clusters[shape[-1]] is cluster
    )


def _overlap(dst: Ptr, src: Ptr, size: int, shape: tuple[int, ...]) -> Fault | None:
    writes, reads = _accesses(dst, src, size, shape)
    shared = writes.before_read_by(reads)
    if not shared:
        return None
    # The address of the first shared byte, for a user who compares two pointers.
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


def observed_copy(
    watch: Any, row: Intrinsic, pipe: Pipe, call: tuple[Ptr, Ptr, int, Direction], d: int, s: int
) -> None:
    """Perform a blocking copy from byte *s* to byte *d*, and announce it to the observers."""
    size, to, frm = call[2], call[0].view, call[1].view
    seen = watch.copy(row, pipe, (Access(frm.allocation, s, size),), (Access(to.allocation, d, size),), call)
    # If both sides overlap, the caller has made sure that NumPy's result equals that of a copy in ascending
    # order.
    to.raw[d : d + size] = frm.raw[s : s + size]
    watch.retire(seen)


def misaligned(generation: int, direction: Direction, d: int, s: int, size: int) -> bool:
    """Return whether a copy of *size* bytes from byte *s* to byte *d* breaks the alignment rule of *direction*."""
    of_dst, of_src, of_size = grain(direction, generation, strided=False)
    return bool(d % of_dst or s % of_src or size % of_size)


def look(core: IssuingCore, to: View, frm: View, start: int, nbytes: int, *, small: bool) -> None:
    """Count a copy from shared memory as a possible poll; *small*: of few bytes, else repeated.

    This does not depend on whether the launch may write the source, so that a lent tensor and a copy of it
    give the same schedule.
    """
    if frm.space.shared and not to.space.shared:
        if small:
            core.polls.copy(frm.allocation.address + start, nbytes)
        else:
            core.polls.again(nbytes)


def remember_flight(core: IssuingCore, dst: Ptr, src: Ptr, size: int, shape: tuple[int, ...]) -> None:
    """Record the source of an asynchronous copy, and count a repeated source as polling."""
    frm, start = src.view, src.offset
    small = not shape and size <= POLL_BYTES
    if not small and (frm.allocation is not core.source or start != core.source_at):
        core.source, core.source_at = frm.allocation, start
    else:
        nbytes = size if not shape else _accesses(dst, src, size, shape)[1].nbytes
        look(core, dst.view, frm, start, nbytes, small=small)


def move_rows(
    to: View, frm: View, d: int, s: int, size: int, to_stride: int, from_stride: int, rows: int
) -> None:
    """Copy *rows* segments of *size* bytes from byte *s* to byte *d*, in words as wide as all sizes and strides allow."""
    # The lowest bit set in any of them is the widest word that divides all of them; at most 64 bits are used.
    grain = size | d | s | to_stride | from_stride
    word = min(grain & -grain, 8)
    shape, dtype = (rows, size // word), _WORDS[word]
    target = np.ndarray(shape, dtype, to.raw, d, (to_stride, word))
    target[...] = np.ndarray(shape, dtype, frm.raw, s, (from_stride, word))


def strided_copy(
    mlu: IssuingMlu, row: Intrinsic, number: int, call: tuple[Any, ...], *, asynchronous: bool
) -> None:
    """Perform a 2-D, 3-D or cluster-to-cluster copy."""
    dst, src, size, direction, shape = call
    try:
        plan = _plan(mlu, dst, src, size, direction, shape, asynchronous)
    # The successful path does not check the arguments; errors are diagnosed below.
    except (AttributeError, KeyError, TypeError, ValueError):
        plan = None
    if plan is None:
        size = explain_copy(mlu, row, dst, src, size, direction, shape, asynchronous=asynchronous)
        plan = _plan(mlu, dst, src, size, direction, tuple(int(n) for n in shape), asynchronous)
        assert plan is not None
    pipe, target, source, reads, writes, nbytes = plan
    core, watch = mlu.core, mlu.watch
    load = load_of(pipe, reads, writes)
    arguments = (dst, src, size, direction, *shape)
    # On the vector pipe, bytes change in the order of issue, so no effect is left in flight.
    if asynchronous and pipe is not Pipe.VECTOR:
        seen = None if watch is None else watch.flight(row, pipe, (reads,), (writes,), arguments)
        move = functools.partial(_move, target, source)
        core.fly(Flight(pipe, move, seen, inside=direction is NRAM2NRAM), load)
        charge_flight(mlu.work, pipe, nbytes)
    else:
        if core.pending:
            core.settle(pipe)
        seen = None if watch is None else watch.copy(row, pipe, (reads,), (writes,), arguments)
        _move(target, source)
        if seen is not None:
            watch.retire(seen)
        charge(mlu.work, pipe, load, nbytes)
    mlu.counts[number] += 1
    mlu.traffic[direction.value] += nbytes
    src.view.read += nbytes


def _move(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    if target.shape == source.shape:
        target[...] = source
    else:  # a 3-D copy with different segment counts on both sides: element k goes to element k
        target[...] = source.reshape(target.shape)


def _plan(
    mlu: IssuingMlu,
    dst: Ptr,
    src: Ptr,
    size: int,
    direction: Direction,
    shape: tuple[int, ...],
    asynchronous: bool,
) -> tuple[Pipe, Any, Any, Access, Access, int] | None:
    """Return the pipe, both views and accesses and the size of a strided copy, or None if a check fails."""
    if len(shape) in WITH_CLUSTER:
        if direction is not SRAM2SRAM:
            return None
        dst, shape = other_cluster(mlu, dst, shape[-1]), shape[:-1]
    to, frm = dst.view, src.view
    if frm.port is not mlu.core or to.port is not mlu.core or any(n.__class__ is not int for n in shape):
        return None
    pipe = mlu.directions.form(len(shape), asynchronous)[direction]
    if to.space is not direction.dst or frm.space is not direction.src or not to.allocation.writable:
        return None
    if size.__class__ is not int or size <= 0:
        return None
    d_steps, s_steps = steps_of(shape) if shape else ((), ())
    writes = Access(to.allocation, to.phase + dst.index * to.itemsize, size, d_steps)
    reads = Access(frm.allocation, frm.phase + src.index * frm.itemsize, size, s_steps)
    if not (_fits(writes, to) and _fits(reads, frm) and writes.apart) or writes.nbytes != reads.nbytes:
        return None
    if not _aligned(mlu, direction, writes, reads):
        return None
    if writes.allocation is reads.allocation and writes.before_read_by(reads):
        return None
    return pipe, *_views(to, writes, frm, reads), reads, writes, writes.nbytes


def _aligned(mlu: IssuingMlu, direction: Direction, writes: Access, reads: Access) -> bool:
    generation = mlu.core.machine.board.arch.generation
    of_dst, of_src, of_size = grain(direction, generation, strided=bool(writes.steps))
    if writes.start % of_dst or reads.start % of_src or writes.size % of_size:
        return False
    # `grain` depends on addresses and sizes only.
    return direction.dst is not WRAM or not any(stride % 8 for stride, _ in writes.steps)


def _fits(access: Access, view: View) -> bool:
    # The hardware counter has 16 bits and holds the number of segments minus one.
    if any(count <= 0 or count > 65536 for _, count in access.steps):
        return False
    low, high = access.span
    return low >= 0 and high <= view.nbytes


_WORDS: Mapping[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
}


def _views(to: View, writes: Access, frm: View, reads: Access) -> tuple[Any, Any]:
    """Return both sides as arrays of the widest word that divides every size, offset and stride."""
    grain = writes.size | writes.start | reads.start
    for stride, _ in writes.steps + reads.steps:
        grain |= stride
    word = min(grain & -grain, 8)
    inner = writes.size // word
    sides = []
    for view, access in ((to, writes), (frm, reads)):
        counts = tuple(count for _, count in access.steps)
        strides = tuple(stride for stride, _ in access.steps)
        # Without an axis of length 1, NumPy has one loop fewer.
        if inner != 1 or not counts:
            counts, strides = (*counts, inner), (*strides, word)
        sides.append(np.ndarray(counts, _WORDS[word], view.raw, access.start, strides))
    return sides[0], sides[1]


def other_cluster(mlu: IssuingMlu, dst: Ptr, number: int) -> Ptr:
    """Return a pointer to the same SRAM declaration in cluster *number* of the union."""
    core = mlu.core
    # The caller takes ValueError as an illegal argument; `explain_copy` says which.
    if core.cluster is None or not 0 <= number < len(core.union.clusters):
        raise ValueError(number)
    key = dst.view, number
    if key not in core.away:
        try:
            allocation = core.cluster.twin(dst.view.allocation, core.union.clusters[number])
        except Fault as fault:
            raise core.blame(fault) from None
        core.away[key] = view = View(allocation, dst.dtype, core, dst.view.phase)
        core.bindings.append(view.siblings)
    return Ptr(core.away[key], dst.index)


NAMES: Mapping[str, Any] = {
    "WRAM": WRAM,
    **{
        f.__name__: f
        for f in (
            explain_copy,
            strided_copy,
            observed_copy,
            move_rows,
            look,
            remember_flight,
            misaligned,
            charge,
            rows_load,
        )
    },
}
"""The functions that the rendered methods of copies call, by name."""
