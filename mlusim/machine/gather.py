"""Gather and scatter: one side in a row, the other at offsets; checks, announcements and accounts as for copies."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.errors import Fault, ReadOnly, RuleFault, WrongSpace
from mlusim.isa.declare import Intrinsic, Pipe
from mlusim.machine.core import Flight
from mlusim.machine.events import Access
from mlusim.machine.refuse import count_of, foreign, no_pointer, refuse_here
from mlusim.machine.work import LEAST, UNIT, Load, charge, charge_flight
from mlusim.memory.direction import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, Direction
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import NRAM

if TYPE_CHECKING:
    from mlusim.machine.mlu import Mlu

LINE = 128  # bytes that the move-DMA takes in a cycle
Offsets = np.ndarray[Any, np.dtype[np.int64]]


@frozen
class Call:
    """One gather or scatter, as the kernel wrote it; ``scatters`` says which side the offsets are of."""

    dst: Any
    src: Any
    offset: Any
    bitmask: Any
    size: int
    direction: Any
    stride: int
    count: int
    scatters: bool

    @property
    def scattered(self) -> Any:
        """The pointer that the offsets are added to."""
        return self.dst if self.scatters else self.src

    @property
    def row(self) -> Any:
        """The pointer of the side whose pieces lie in a row."""
        return self.src if self.scatters else self.dst


def _method(
    row: Intrinsic, number: int, parse: Callable[..., tuple[Any, ...]], *, scatters: bool, waits: bool
) -> Callable[..., None]:
    """The method of a gathering row; *parse* puts its arguments in the order of `Call`."""

    def method(mlu: "Mlu", *given: Any, **named: Any) -> None:
        try:
            arguments = parse(*given, **named)
        except (TypeError, ValueError):
            fault = RuleFault(f"{len(given) + len(named)} arguments", legal=row.signature)
            raise refuse_here(mlu, row, fault) from None
        dst, src, offset, bitmask, size, direction, stride, count = arguments
        size = count_of(mlu, row, "size", size)
        stride, count = count_of(mlu, row, "stride", stride), count_of(mlu, row, "count", count)
        call = Call(dst, src, offset, bitmask, size, direction, stride, count, scatters)
        fault_or_offsets = _look(mlu, call)
        if isinstance(fault_or_offsets, Fault):
            raise refuse_here(mlu, row, fault_or_offsets)
        _act(mlu, row, number, call, *fault_or_offsets, waits=waits)

    method.__name__ = row.name
    return method


def _look(mlu: "Mlu", call: Call) -> Fault | tuple[Offsets, Offsets]:
    """The places of the pieces on both sides, in bytes from the start of each allocation, or what is wrong."""
    fault = _check_shape(call) or _check_spaces(mlu, call)
    if fault is not None:
        return fault
    fault = _check_vector(call.offset, "offset", call.count, "uint32")
    if fault is not None:
        return fault
    chosen = np.arange(call.count)
    if call.bitmask is not None:
        mask = call.bitmask.cast("uint8")
        fault = _check_vector(mask, "bitmask", -(-call.count // 8), "uint8")
        if fault is not None:
            return fault
        bits = mask.view.array[mask.index : mask.index + -(-call.count // 8)]
        chosen = np.flatnonzero(np.unpackbits(bits, bitorder="little")[: call.count])
    first = call.offset.index
    offsets = call.offset.view.array[first : first + call.count].astype(np.int64)[chosen]
    apart = call.scattered.offset + offsets
    inline = call.row.offset + chosen * call.stride
    for places, pointer, name in ((apart, call.scattered, "offset"), (inline, call.row, "row")):
        fault = _check_places(call, places, chosen, pointer, name)
        if fault is not None:
            return fault
    target = call.dst.view.allocation
    if not target.writable:
        return ReadOnly(f"it would change {target.site}, which the host passed as const", operand="dst")
    return apart, inline


def _check_shape(call: Call) -> Fault | None:
    for name, value in (("size", call.size), ("count", call.count)):
        if value <= 0:
            return RuleFault(f"{name} = {value}", operand=name, legal="1 or more", hint="guard the call")
    for name, value in (("size", call.size), ("stride", call.stride), ("count", call.count)):
        if abs(value) >> 31:
            return RuleFault(f"{name} = {value} is no int of C", operand=name, legal="up to 2**31 - 1")
    if call.count > 1 and call.stride < call.size and not call.scatters:
        return RuleFault(
            f"stride = {call.stride} makes pieces of {call.size} bytes overlap",
            operand="stride",
            legal=f"{call.size} or more",
        )
    legal = (NRAM2GDRAM, NRAM2NRAM) if call.scatters else (GDRAM2NRAM, NRAM2NRAM)
    if call.direction not in legal:
        return RuleFault(
            f"direction = {call.direction!r} is not for this",
            operand="direction",
            legal=" or ".join(str(d) for d in legal),
        )
    return None


def _check_spaces(mlu: "Mlu", call: Call) -> Fault | None:
    spaces = {"dst": call.direction.dst, "src": call.direction.src, "offset": NRAM, "bitmask": NRAM}
    for name, space in spaces.items():
        pointer = getattr(call, name)
        if name == "bitmask" and pointer is None:
            continue
        if not isinstance(pointer, Ptr):
            return no_pointer(name, pointer, space)
        fault = foreign(mlu, name, pointer)
        if fault is not None:
            return fault
        if pointer.space is not space:
            return WrongSpace(
                f"{name} points into {pointer.space}",
                operand=name,
                space=pointer.space.name,
                legal=str(space),
            )
    return None


def _check_vector(pointer: Ptr, name: str, count: int, dtype: str) -> Fault | None:
    if pointer.dtype.name != dtype:
        return WrongSpace(f"{name} is {pointer.dtype}", operand=name, legal=dtype, hint="cast the pointer")
    fault = bounds_fault(pointer.view, pointer.offset, count * pointer.view.itemsize)
    if fault is not None:
        fault.operand = name
    return fault


def _check_places(call: Call, places: Offsets, chosen: Offsets, pointer: Ptr, name: str) -> Fault | None:
    wrong = np.flatnonzero((places < 0) | (places + call.size > pointer.view.nbytes))
    if not wrong.size:
        return None
    at = int(wrong[0])
    fault = bounds_fault(pointer.view, int(places[at]), call.size)
    if fault is not None:
        i = int(chosen[at])
        of = f"offset[{i}] = {int(places[at]) - pointer.offset}" if name == "offset" else f"piece {i}"
        fault.operand = (
            ("dst" if call.scatters else "src") if name == "offset" else ("src" if call.scatters else "dst")
        )
        fault.message = f"{of} of {fault.operand}; {fault.message}"
        if name == "offset":
            fault.read = (element(call.offset, i),)
    return fault


def element(pointer: Ptr, i: int) -> Access:
    """The bytes of element *i* behind *pointer*."""
    size = pointer.view.itemsize
    return Access(pointer.view.allocation, pointer.offset + i * size, size)


def _act(
    mlu: "Mlu", row: Intrinsic, number: int, call: Call, apart: Offsets, inline: Offsets, *, waits: bool
) -> None:
    """Announce, move or start to move, account."""
    core, watch = mlu.core, mlu.watch
    to, frm = (apart, inline) if call.scatters else (inline, apart)
    pipe = Pipe.IO if call.direction.off_chip else Pipe.MOVE
    move = functools.partial(_move, call.dst.view.raw, to, call.src.view.raw, frm, call.size)
    nbytes, load = len(apart) * call.size, _load(mlu, call, apart, pipe)
    seen = None
    if watch is not None:
        reads, writes = _accesses(call, to, frm)
        given = (
            call.dst,
            call.src,
            call.offset,
            call.bitmask,
            call.size,
            call.direction,
            call.stride,
            call.count,
        )
        seen = (watch.copy if waits else watch.flight)(row, pipe, reads, writes, given)
    if waits:
        if core.pending:
            core.settle(pipe)
        move()
        if watch is not None and seen is not None:
            watch.retire(seen)
        charge(mlu, pipe, load, nbytes)
    else:
        core.fly(Flight(pipe, move, seen), load)
        charge_flight(mlu, pipe, nbytes)
    mlu.counts[number] += 1
    mlu.traffic[call.direction.value] += nbytes


def _move(target: Any, to: Offsets, source: Any, frm: Offsets, size: int) -> None:
    """Move pieces of *size* bytes, all of them at once; of pieces at one place the last one stays."""
    within = np.arange(size)
    target[to[:, None] + within] = source[frm[:, None] + within]


def _load(mlu: "Mlu", call: Call, apart: Offsets, pipe: Pipe) -> Load:
    pieces = len(apart)
    if pipe is Pipe.MOVE:
        return Load(lines=pieces * -(-call.size // LINE))
    transactions = int(((apart % UNIT + call.size + UNIT - 1) // UNIT + 2 * call.scatters).sum())
    return Load(transactions, max(0, pieces * LEAST - transactions * mlu.core.each))


def _accesses(call: Call, to: Offsets, frm: Offsets) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    offset = call.offset
    reads = [Access(offset.view.allocation, offset.offset, call.count * offset.view.itemsize)]
    if call.bitmask is not None:
        reads.append(Access(call.bitmask.view.allocation, call.bitmask.offset, -(-call.count // 8)))
    reads += [Access(call.src.view.allocation, int(at), call.size) for at in frm]
    return tuple(reads), tuple(Access(call.dst.view.allocation, int(at), call.size) for at in to)


# -- the rows --------------------------------------------------------------------------------------


def _dense(
    dst: Any, src: Any, offset: Any, size: Any, direction: Direction, stride: Any, count: Any
) -> tuple[Any, ...]:
    return dst, src, offset, None, size, direction, stride, count


def _masked(dst: Any, src: Any, offset: Any, *rest: Any) -> tuple[Any, ...]:
    if len(rest) == 4:
        return dst, src, offset, None, *rest
    bitmask, size, direction, stride, count = rest
    return dst, src, offset, bitmask, size, direction, stride, count


def _in_nram(
    dst: Any, src: Any, offset: Any, bitmask: Any, size: Any, stride: Any, count: Any
) -> tuple[Any, ...]:
    return dst, src, offset, bitmask, size, NRAM2NRAM, stride, count


GATHER_METHODS: Mapping[str, Callable[[Intrinsic, int], Callable[..., None]]] = MappingProxyType(
    {
        "gather": functools.partial(_method, parse=_dense, scatters=False, waits=True),
        "gather_async": functools.partial(_method, parse=_masked, scatters=False, waits=False),
        "scatter_async": functools.partial(_method, parse=_masked, scatters=True, waits=False),
        "bang_gather_async": functools.partial(_method, parse=_in_nram, scatters=False, waits=False),
    }
)
