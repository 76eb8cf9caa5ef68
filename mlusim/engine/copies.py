"""The copies: resolve a direction token, sizes and strides to two byte views, and move one to the other.

Copies are the one family whose operands depend on a token, so they have their own code instead of
generated lines; the checks, announcements and accounts are the same as everywhere.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.board import Arch
from mlusim.arch.pipe import Pipe
from mlusim.engine.contract import Core, Flight
from mlusim.engine.copy_faults import explain_copy
from mlusim.engine.polls import POLL_BYTES
from mlusim.engine.routes import steps_of
from mlusim.errors import Fault
from mlusim.isa.declare import Intrinsic
from mlusim.memory.direction import (
    NRAM2NRAM,
    SRAM2SRAM,
    Direction,
    grain,
)
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, View
from mlusim.memory.space import WRAM
from mlusim.time.work import (
    charge,
    charge_flight,
    charge_line,
    load_of,
    rows_load,
)

if TYPE_CHECKING:
    from mlusim.engine.contract import Announcer, Mlu


def _memcpy_sync(row: Intrinsic, number: int, arch: Arch) -> Callable[..., None]:
    """Return the method of ``__memcpy`` on *arch*."""
    old, misaligned = arch.generation == 2, functools.partial(_misaligned, arch.generation)

    def memcpy(mlu: "Mlu", dst: Ptr, src: Ptr, size: int, direction: Direction, *shape: int) -> None:
        if shape:
            if len(shape) != 3 or not _rows(mlu, number, dst, src, size, direction, shape):
                _strided(mlu, row, number, (dst, src, size, direction, shape), asynchronous=False)
            return
        try:
            core, to, frm = mlu.core, dst.view, src.view
            d = to.phase + dst.index * to.itemsize
            s = frm.phase + src.index * frm.itemsize
            pipe = mlu.directions.one[direction]
            legal = (
                size.__class__ is int
                and size > 0
                and to.port is core
                and frm.port is core
                and d >= 0
                and d + size <= to.nbytes
                and s >= 0
                and s + size <= frm.nbytes
                and to.space is direction.dst
                and frm.space is direction.src
                and to.allocation.writable
                and (to.allocation is not frm.allocation or d <= s or d - s >= size)
            )
        except (AttributeError, KeyError, TypeError):
            legal = False
        if not legal or (
            (old or to.space is WRAM or frm.space is WRAM) and misaligned(direction, d, s, size)
        ):
            size = explain_copy(mlu, row, dst, src, size, direction, (), asynchronous=False)
            memcpy(mlu, dst, src, size, direction)
            return
        if core.pending:
            core.settle(pipe)
        if mlu.watch is None:
            to.raw[d : d + size] = frm.raw[s : s + size]
        else:
            _watched(mlu.watch, row, pipe, (dst, src, size, direction), d, s)
        mlu.counts[number] += 1
        mlu.traffic[direction.value] += size
        charge_line(mlu.work, pipe, direction.value, d, s, size)
        frm.read += size
        if size > POLL_BYTES and (frm.allocation is not core.source or s != core.source_at):
            core.source, core.source_at = frm.allocation, s
        else:
            _look(core, to, frm, s, size)

    return memcpy


def _watched(
    watch: "Announcer", row: Intrinsic, pipe: Pipe, call: tuple[Ptr, Ptr, int, Direction], d: int, s: int
) -> None:
    """Make a blocking copy from byte *s* to byte *d* that is observed."""
    size, to, frm = call[2], call[0].view, call[1].view
    seen = watch.copy(row, pipe, (Access(frm.allocation, s, size),), (Access(to.allocation, d, size),), call)
    to.raw[d : d + size] = frm.raw[s : s + size]
    watch.retire(seen)


def _misaligned(generation: int, direction: Direction, d: int, s: int, size: int) -> bool:
    of_dst, of_src, of_size = grain(direction, generation, strided=False)
    return bool(d % of_dst or s % of_src or size % of_size)


def _look(core: Core, to: View, frm: View, start: int, size: int) -> None:
    """Report a small or repeated copy that may poll what another task changes."""
    if frm.space.shared and frm.allocation.writable and not to.space.shared:
        if size > POLL_BYTES:
            core.polls.again()
        else:
            core.polls.copy(frm.allocation.address + start)


def _memcpy_async(row: Intrinsic, number: int, arch: Arch) -> Callable[..., None]:
    """Return the method of ``__memcpy_async`` on *arch*."""
    del arch

    def memcpy_async(mlu: "Mlu", dst: Ptr, src: Ptr, size: int, direction: Direction, *shape: int) -> None:
        _strided(mlu, row, number, (dst, src, size, direction, shape), asynchronous=True)
        core, frm, start = mlu.core, src.view, src.offset
        if (shape or size > POLL_BYTES) and (frm.allocation is not core.source or start != core.source_at):
            core.source, core.source_at = frm.allocation, start
        else:
            _look(core, dst.view, frm, start, POLL_BYTES + 1 if shape else size)

    return memcpy_async


def _rows(
    mlu: "Mlu",
    number: int,
    dst: Ptr,
    src: Ptr,
    size: int,
    direction: Direction,
    shape: tuple[int, ...],
) -> bool:
    """Make the common 2-D copy, blocking and unobserved; returns False where `_strided` must look closer."""
    core = mlu.core
    dst_stride, src_stride, segnum = shape
    try:
        to, frm = dst.view, src.view
        i, j = dst.index, src.index
        d = to.phase + i * to.itemsize
        s = frm.phase + j * frm.itemsize
        pipe = mlu.directions.rows[direction]
        if not (
            mlu.watch is None
            and size.__class__ is dst_stride.__class__ is src_stride.__class__ is segnum.__class__ is int
            and 0 < size <= dst_stride
            and 0 <= segnum <= 65535
            and src_stride >= 0 <= d
            and s >= 0
            and d + segnum * dst_stride + size <= to.nbytes
            and s + segnum * src_stride + size <= frm.nbytes
            and to.space is direction.dst
            and frm.space is direction.src
            and to.port is core is frm.port
            and to.allocation.writable
            and (to.allocation is not frm.allocation or abs(d - s) >= segnum * max(shape[:2]) + size)
        ):
            return False
    except (AttributeError, KeyError, TypeError):
        return False
    if core.pending:
        core.settle(pipe)
    nbytes = size * (segnum + 1)
    mlu.counts[number] += 1
    mlu.traffic[direction.value] += nbytes
    load = rows_load(pipe, direction.value, d & 63, dst_stride, s & 63, src_stride, size, segnum + 1)
    charge(mlu, pipe, load, nbytes)
    frm.read += nbytes
    # The bytes move last: what runs right behind scattered stores may stall on them.
    step, skip = dst_stride // size, src_stride // size
    if segnum == 0:  # the strides of a single segment do not matter
        to.raw[d : d + size] = frm.raw[s : s + size]
    elif (
        to.dtype is frm.dtype
        and size == to.itemsize
        and skip
        and step * size == dst_stride
        and skip * size == src_stride
    ):  # one element a segment: plain slices of both arrays
        to.array[i : i + segnum * step + 1 : step] = frm.array[j : j + segnum * skip + 1 : skip]
    else:
        _move_rows(to, frm, d, s, size, dst_stride, src_stride, segnum + 1)
    return True


def _move_rows(
    to: View, frm: View, d: int, s: int, size: int, to_stride: int, from_stride: int, rows: int
) -> None:
    """Move *rows* segments of *size* bytes from byte *s* to byte *d*, in the widest word that divides all."""
    grain = size | d | s | to_stride | from_stride
    word = min(grain & -grain, 8)
    shape, dtype = (rows, size // word), _WORDS[word]
    target = np.ndarray(shape, dtype, to.raw, d, (to_stride, word))
    target[...] = np.ndarray(shape, dtype, frm.raw, s, (from_stride, word))


def _strided(mlu: "Mlu", row: Intrinsic, number: int, call: tuple[Any, ...], *, asynchronous: bool) -> None:
    """Make a 2-D, 3-D or cluster-to-cluster copy."""
    dst, src, size, direction, shape = call
    try:
        plan = _plan(mlu, dst, src, size, direction, shape, asynchronous)
    except (AttributeError, KeyError, TypeError, ValueError):
        plan = None
    if plan is None:
        size = explain_copy(mlu, row, dst, src, size, direction, shape, asynchronous=asynchronous)
        plan = _plan(mlu, dst, src, size, direction, tuple(int(n) for n in shape), asynchronous)
        assert plan is not None
    pipe, target, source, reads, writes, nbytes = plan
    core, watch = mlu.core, mlu.watch
    load = load_of(pipe, reads, writes)
    given = (dst, src, size, direction, *shape)
    if asynchronous and pipe is not Pipe.VECTOR:
        seen = None if watch is None else watch.flight(row, pipe, (reads,), (writes,), given)
        move = functools.partial(_move, target, source)
        core.fly(Flight(pipe, move, seen, inside=direction is NRAM2NRAM), load)
        charge_flight(mlu, pipe, nbytes)
    else:
        if core.pending:
            core.settle(pipe)
        if watch is None:
            _move(target, source)
        else:
            seen = watch.copy(row, pipe, (reads,), (writes,), given)
            _move(target, source)
            watch.retire(seen)
        charge(mlu, pipe, load, nbytes)
    mlu.counts[number] += 1
    mlu.traffic[direction.value] += nbytes
    src.view.read += nbytes


def _move(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    if target.shape == source.shape:
        target[...] = source
    else:  # a 3-D copy whose sides count their segments differently: element k goes to element k
        target[...] = source.reshape(target.shape)


def _plan(
    mlu: "Mlu",
    dst: Ptr,
    src: Ptr,
    size: int,
    direction: Direction,
    shape: tuple[int, ...],
    asynchronous: bool,
) -> tuple[Pipe, Any, Any, Access, Access, int] | None:
    """Return both byte views of a strided copy, or None when some check fails."""
    if len(shape) in (1, 4, 9):
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


def _aligned(mlu: "Mlu", direction: Direction, writes: Access, reads: Access) -> bool:
    generation = mlu.core.session.board.arch.generation
    of_dst, of_src, of_size = grain(direction, generation, strided=bool(writes.steps))
    if writes.start % of_dst or reads.start % of_src or writes.size % of_size:
        return False
    return direction.dst is not WRAM or not any(stride % 8 for stride, _ in writes.steps)


def _fits(access: Access, view: View) -> bool:
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
    made = []
    for view, access in ((to, writes), (frm, reads)):
        counts = tuple(count for _, count in access.steps)
        strides = tuple(stride for stride, _ in access.steps)
        if inner != 1 or not counts:
            counts, strides = (*counts, inner), (*strides, word)
        made.append(np.ndarray(counts, _WORDS[word], view.raw, access.start, strides))
    return made[0], made[1]


def other_cluster(mlu: "Mlu", dst: Ptr, number: int) -> Ptr:
    """Return the same SRAM declaration in cluster *number* of the union."""
    core = mlu.core
    if core.cluster is None or not 0 <= number < len(core.union.clusters):
        raise ValueError(number)
    key = dst.view, number
    if key not in core.away:
        try:
            allocation = core.cluster.twin(dst.view.allocation, core.union.clusters[number])
        except Fault as fault:
            raise core.blame(fault) from None
        core.away[key] = core.bind(allocation, dst.dtype, dst.view.phase).view
    return Ptr(core.away[key], dst.index)


COPY_METHODS: Mapping[str, Callable[[Intrinsic, int, Arch], Callable[..., None]]] = {
    "memcpy": _memcpy_sync,
    "memcpy_async": _memcpy_async,
}
