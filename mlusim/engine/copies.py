"""The general copy, of any form: resolve a direction, sizes and strides to two byte views, and move one to the other.

The methods that are rendered for copies (`engine.recipes.copy_code`) have the common forms, and leave the others to it.
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

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
    load_of,
    rows_load,
)

if TYPE_CHECKING:
    from mlusim.engine.contract import Announcer, Mlu


def observed_copy(
    watch: "Announcer", row: Intrinsic, pipe: Pipe, call: tuple[Ptr, Ptr, int, Direction], d: int, s: int
) -> None:
    """Make a blocking copy from byte *s* to byte *d* that is observed."""
    size, to, frm = call[2], call[0].view, call[1].view
    seen = watch.copy(row, pipe, (Access(frm.allocation, s, size),), (Access(to.allocation, d, size),), call)
    # Where the sides overlap NumPy gives what a copy from the front gives, and no other overlap comes here.
    to.raw[d : d + size] = frm.raw[s : s + size]
    watch.retire(seen)


def misaligned(generation: int, direction: Direction, d: int, s: int, size: int) -> bool:
    """Return whether a copy of *size* bytes from byte *s* to byte *d* is not in multiples of what *direction* asks for."""
    of_dst, of_src, of_size = grain(direction, generation, strided=False)
    return bool(d % of_dst or s % of_src or size % of_size)


def look(core: Core, to: View, frm: View, start: int, size: int) -> None:
    """Report a small or repeated copy that may poll what another task changes."""
    # What no other task can change is not polled.
    if frm.space.shared and frm.allocation.writable and not to.space.shared:
        if size > POLL_BYTES:
            core.polls.again()
        else:
            core.polls.copy(frm.allocation.address + start)


def remember_flight(core: Core, dst: Ptr, src: Ptr, size: int, shape: tuple[int, ...]) -> None:
    """Remember where a copy that flies reads: the same bytes again and again are polling."""
    frm, start = src.view, src.offset
    if (shape or size > POLL_BYTES) and (frm.allocation is not core.source or start != core.source_at):
        core.source, core.source_at = frm.allocation, start
    else:
        look(core, dst.view, frm, start, POLL_BYTES + 1 if shape else size)


def move_rows(
    to: View, frm: View, d: int, s: int, size: int, to_stride: int, from_stride: int, rows: int
) -> None:
    """Move *rows* segments of *size* bytes from byte *s* to byte *d*, in the widest word that divides all."""
    # The lowest bit set in any of them is the widest word that divides all; at most that of 64 bits.
    grain = size | d | s | to_stride | from_stride
    word = min(grain & -grain, 8)
    shape, dtype = (rows, size // word), _WORDS[word]
    target = np.ndarray(shape, dtype, to.raw, d, (to_stride, word))
    target[...] = np.ndarray(shape, dtype, frm.raw, s, (from_stride, word))


def strided_copy(
    mlu: "Mlu", row: Intrinsic, number: int, call: tuple[Any, ...], *, asynchronous: bool
) -> None:
    """Make a 2-D, 3-D or cluster-to-cluster copy."""
    dst, src, size, direction, shape = call
    try:
        plan = _plan(mlu, dst, src, size, direction, shape, asynchronous)
    # Nothing is asked of the arguments on the way that succeeds; what they are instead is said below.
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
    # On the vector pipe the order of issue is the order of the bytes, so that nothing flies.
    if asynchronous and pipe is not Pipe.VECTOR:
        seen = None if watch is None else watch.flight(row, pipe, (reads,), (writes,), given)
        move = functools.partial(_move, target, source)
        core.fly(Flight(pipe, move, seen, inside=direction is NRAM2NRAM), load)
        charge_flight(mlu.work, pipe, nbytes)
    else:
        if core.pending:
            core.settle(pipe)
        if watch is None:
            _move(target, source)
        else:
            seen = watch.copy(row, pipe, (reads,), (writes,), given)
            _move(target, source)
            watch.retire(seen)
        charge(mlu.work, pipe, load, nbytes)
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
    if len(shape) in (1, 4, 9):  # one number more than a form has: the destination's cluster
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
    # `grain` speaks of addresses and sizes alone.
    return direction.dst is not WRAM or not any(stride % 8 for stride, _ in writes.steps)


def _fits(access: Access, view: View) -> bool:
    # The hardware's counter has 16 bits, and counts one less.
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
        # Without an axis of length 1 NumPy has one loop fewer.
        if inner != 1 or not counts:
            counts, strides = (*counts, inner), (*strides, word)
        made.append(np.ndarray(counts, _WORDS[word], view.raw, access.start, strides))
    return made[0], made[1]


def other_cluster(mlu: "Mlu", dst: Ptr, number: int) -> Ptr:
    """Return the same SRAM declaration in cluster *number* of the union."""
    core = mlu.core
    # ValueError, which the caller takes for any argument that is wrong: `copy_faults` says which.
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


NAMES: Mapping[str, Any] = {
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
}
"""What the rendered methods of copies refer to, by its name there."""
