"""Gather and scatter: one side in a row, the other at offsets; checks, announcements and accounts as for copies."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.pipe import Pipe
from mlusim.counted import plural
from mlusim.engine.contract import Flight
from mlusim.engine.offsets import (
    Places,
    check_room,
    check_spaces,
    check_writable,
    element,
    reads_of,
    taking_part,
)
from mlusim.engine.refuse import count_of, refuse_here
from mlusim.errors import Fault, RuleFault, WrongSpace
from mlusim.isa.declare import Intrinsic
from mlusim.memory.direction import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import GDRAM, NRAM
from mlusim.time.work import LINE, UNIT, CopyLoad, charge, charge_flight, scattered

if TYPE_CHECKING:
    from mlusim.engine.contract import Mlu


@frozen
class GatherCall:
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
    def given(self) -> tuple[Any, ...]:
        """The arguments in their order."""
        return (
            self.dst,
            self.src,
            self.offset,
            self.bitmask,
            self.size,
            self.direction,
            self.stride,
            self.count,
        )

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
    """Return the method of a gathering row; *parse* puts its arguments in the order of `GatherCall`."""

    def method(mlu: "Mlu", *given: Any, **named: Any) -> None:
        try:
            arguments = parse(*given, **named)
        except (TypeError, ValueError):
            fault = RuleFault(
                f"{len(given) + len(named)} {plural(len(given) + len(named), 'argument')}",
                legal=row.signature,
            )
            raise refuse_here(mlu, row, fault) from None
        dst, src, offset, bitmask, size, direction, stride, count = arguments
        size = count_of(mlu, row, "size", size)
        stride, count = count_of(mlu, row, "stride", stride), count_of(mlu, row, "count", count)
        call = GatherCall(dst, src, offset, bitmask, size, direction, stride, count, scatters)
        fault_or_offsets = _look(mlu, call, waits=waits)
        if isinstance(fault_or_offsets, Fault):
            raise refuse_here(mlu, row, fault_or_offsets)
        _act(mlu, row, number, call, *fault_or_offsets, waits=waits)

    method.__name__ = row.name
    return method


def _look(mlu: "Mlu", call: GatherCall, *, waits: bool) -> Fault | tuple[Places, Places, Places]:
    """Return the places of the pieces on both sides, in bytes from the start of each allocation, or what is wrong.

    Behind them stand the numbers of the pieces that take part.
    """
    fault = _check_shape(call) or _check_operands(mlu, call)
    if fault is not None:
        return fault
    if waits and mlu.core.pending:  # a load of the offsets may be one of them
        mlu.core.settle(_pipe(call))
    taken = taking_part(call.offset, call.bitmask, call.count)
    if isinstance(taken, Fault):
        return taken
    chosen, offsets = taken
    apart = call.scattered.offset + offsets
    inline = call.row.offset + chosen * call.stride
    for places, pointer, name in ((apart, call.scattered, "offset"), (inline, call.row, "row")):
        fault = _check_places(call, places, chosen, pointer, name)
        if fault is not None:
            return fault
    return check_writable(call.dst, "dst") or (apart, inline, chosen)


def _check_shape(call: GatherCall) -> Fault | None:
    for name, value in (("size", call.size), ("count", call.count)):
        if value <= 0:
            return RuleFault(f"{name} = {value}", operand=name, legal="1 or more", hint="guard the call")
    for name, value in (("size", call.size), ("stride", call.stride), ("count", call.count)):
        if abs(value) >> 31:
            return RuleFault(f"{name} = {value} is no int of C", operand=name, legal="up to 2**31 - 1")
    if call.count > 1 and call.stride < call.size and not call.scatters:
        return RuleFault(
            f"stride = {call.stride} makes pieces of {call.size} {plural(call.size, 'byte')} overlap",
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


def _check_operands(mlu: "Mlu", call: GatherCall) -> Fault | None:
    operands = {
        "dst": (call.dst, call.direction.dst),
        "src": (call.src, call.direction.src),
        "offset": (call.offset, NRAM),
    }
    if call.bitmask is not None:
        operands["bitmask"] = (call.bitmask, NRAM)
    fault = check_spaces(mlu, operands)
    if fault is not None:
        return fault
    if call.offset.dtype.name != "uint32":
        text = f"offset is {call.offset.dtype}"
        return WrongSpace(text, operand="offset", legal="uint32", hint="cast the pointer")
    return check_room(call.offset, "offset", call.count)


def _check_places(call: GatherCall, places: Places, chosen: Places, pointer: Ptr, name: str) -> Fault | None:
    wrong = np.flatnonzero((places < 0) | (places + call.size > pointer.view.nbytes))
    if not wrong.size:
        return None
    at = int(wrong[0])
    fault = bounds_fault(pointer.view, pointer.offset, call.size, int(places[at]) - pointer.offset)
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


def _pipe(call: GatherCall) -> Pipe:
    return Pipe.IO if call.direction.off_chip else Pipe.MOVE


def _act(
    mlu: "Mlu",
    row: Intrinsic,
    number: int,
    call: GatherCall,
    apart: Places,
    inline: Places,
    chosen: Places,
    *,
    waits: bool,
) -> None:
    """Announce the call, move the bytes or start to, and account for it."""
    core, watch = mlu.core, mlu.watch
    to, frm = (apart, inline) if call.scatters else (inline, apart)
    pipe = _pipe(call)
    move = functools.partial(_move, call.dst.view.raw, to, call.src.view.raw, frm, call.size)
    nbytes, load = len(apart) * call.size, _load(call, apart, pipe)
    seen = None
    if watch is not None:
        reads, writes = _accesses(call, to, frm, chosen)
        seen = (watch.copy if waits else watch.flight)(row, pipe, reads, writes, call.given)
    if waits:
        move()
        if watch is not None and seen is not None:
            watch.retire(seen)
        charge(mlu, pipe, load, nbytes)
    else:
        core.fly(Flight(pipe, move, seen), load)
        charge_flight(mlu, pipe, nbytes)
    mlu.counts[number] += 1
    mlu.traffic[call.direction.value] += nbytes
    call.src.view.read += nbytes


def _move(target: Any, to: Places, source: Any, frm: Places, size: int) -> None:
    """Move pieces of *size* bytes, all of them at once; of pieces at one place the last one stays."""
    within = np.arange(size)
    target[to[:, None] + within] = source[frm[:, None] + within]


def _load(call: GatherCall, apart: Places, pipe: Pipe) -> CopyLoad:
    pieces = len(apart)
    if pipe is Pipe.MOVE:
        return CopyLoad(lines=pieces * -(-call.size // LINE))
    transactions = int(((apart % UNIT + call.size + UNIT - 1) // UNIT + 2 * call.scatters).sum())
    return scattered(pieces, transactions, stores=call.scatters)


def _accesses(
    call: GatherCall, to: Places, frm: Places, chosen: Places
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    reads = reads_of(call.offset, call.bitmask, call.count, chosen)
    reads += [Access(call.src.view.allocation, int(at), call.size) for at in frm]
    return tuple(reads), tuple(Access(call.dst.view.allocation, int(at), call.size) for at in to)


# -- the rows --------------------------------------------------------------------------------------


_BEHIND = (
    "bitmask",
    "size",
    "direction",
    "stride",
    "count",
)  # what stands behind the offsets, the first or not


def _masked(dst: Any, src: Any, offset: Any, *rest: Any, **named: Any) -> tuple[Any, ...]:
    names = _BEHIND[len(_BEHIND) - len(rest) - len(named) :]
    given = dict(zip((n for n in names if n not in named), rest, strict=True)) | named
    if set(given) != set(names) or len(names) < len(_BEHIND) - 1:
        raise TypeError(given)
    return dst, src, offset, *(given.get(name) for name in _BEHIND)


def _to_nram(
    dst: Any, src: Any, offset: Any, bitmask: Any, size: Any, stride: Any, count: Any
) -> tuple[Any, ...]:
    direction = GDRAM2NRAM if getattr(src, "space", None) is GDRAM else NRAM2NRAM
    return dst, src, offset, bitmask, size, direction, stride, count


def _assembled(dst: Any, src: Any, offset: Any, size: Any, count: Any, stride: Any) -> tuple[Any, ...]:
    return dst, src, offset, None, size, NRAM2NRAM, stride, count


GATHER_METHODS: Mapping[str, Callable[[Intrinsic, int], Callable[..., None]]] = MappingProxyType(
    {
        "gather": functools.partial(_method, parse=_masked, scatters=False, waits=True),
        "scatter": functools.partial(_method, parse=_masked, scatters=True, waits=True),
        "mlisa_gather_vector": functools.partial(_method, parse=_assembled, scatters=False, waits=True),
        "gather_async": functools.partial(_method, parse=_masked, scatters=False, waits=False),
        "scatter_async": functools.partial(_method, parse=_masked, scatters=True, waits=False),
        "bang_gather_async": functools.partial(_method, parse=_to_nram, scatters=False, waits=False),
    }
)
