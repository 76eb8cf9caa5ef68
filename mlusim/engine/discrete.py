"""Atomics at places that a vector of byte offsets gives: checks, announcements and accounts as for the dense ones."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.pipe import Pipe
from mlusim.counted import plural
from mlusim.engine.offsets import (
    Places,
    check_room,
    check_spaces,
    check_writable,
    element,
    elements,
    reads_of,
    taking_part,
)
from mlusim.engine.refuse import constant, count_of, refuse_here
from mlusim.errors import Fault, OutOfBounds, RuleFault, WrongSpace
from mlusim.isa.declare import Intrinsic
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import GDRAM, NRAM
from mlusim.time.quantities import ATOMICS
from mlusim.time.work import UNIT, charge, scattered

if TYPE_CHECKING:
    from mlusim.engine.contract import Mlu


@frozen
class DiscreteAtomic:
    """One discrete atomic, as the kernel wrote it."""

    dst: Any
    base: Any
    offset: Any
    src: Any
    bitmask: Any
    count: int


def discrete_method(row: Intrinsic, number: int) -> Callable[..., None]:
    """Return the method of the discrete atomic *row*."""

    def method(mlu: "Mlu", *given: Any, **named: Any) -> None:
        try:
            dst, base, offset, src, bitmask, count = _parse(*given, **named)
        except (TypeError, ValueError):
            fault = RuleFault(
                f"{len(given) + len(named)} {plural(len(given) + len(named), 'argument')}",
                legal=row.signature,
            )
            raise refuse_here(mlu, row, fault) from None
        call = DiscreteAtomic(dst, base, offset, src, bitmask, count_of(mlu, row, "elem_count", count))
        fault_or_places = _look(mlu, row, call)
        if isinstance(fault_or_places, Fault):
            raise refuse_here(mlu, row, fault_or_places)
        _act(mlu, row, number, call, *fault_or_places)

    method.__name__ = row.name
    return method


def _parse(dst: Any, base: Any, offset: Any, src: Any, *rest: Any, **named: Any) -> tuple[Any, ...]:
    names = ("bitmask", "elem_count")[2 - len(rest) - len(named) :]
    arguments = dict(zip((n for n in names if n not in named), rest, strict=True)) | named
    if set(arguments) != set(names) or "elem_count" not in arguments:
        raise TypeError(arguments)
    return dst, base, offset, src, arguments.get("bitmask"), arguments["elem_count"]


# -- checks ----------------------------------------------------------------------------------------


def _look(mlu: "Mlu", row: Intrinsic, call: DiscreteAtomic) -> Fault | tuple[Places, Places]:
    """Return which elements take part, and their places in bytes from the allocation's start; or what is wrong."""
    if call.count <= 0:
        return RuleFault(
            f"elem_count = {call.count}", operand="elem_count", legal="1 or more", hint="guard the call"
        )
    fault = _check_pointers(mlu, row, call) or _check_vectors(call)
    if fault is not None:
        return fault
    if mlu.core.pending:  # a load of the offsets or of the mask may be one of them
        mlu.core.settle(Pipe.IO)
    taken = taking_part(call.offset, call.bitmask, call.count)
    if isinstance(taken, Fault):
        return taken
    chosen, offsets = taken
    places = call.base.offset + offsets
    return _check_places(call, places, chosen) or (chosen, places)


def _check_pointers(mlu: "Mlu", row: Intrinsic, call: DiscreteAtomic) -> Fault | None:
    operands = {"dst": (call.dst, NRAM), "base": (call.base, GDRAM), "offset": (call.offset, NRAM)}
    if isinstance(call.src, Ptr):
        operands["src"] = (call.src, NRAM)
    if call.bitmask is not None:
        operands["bitmask"] = (call.bitmask, NRAM)
    return check_spaces(mlu, operands) or check_writable(call.base, "base") or _check_types(row, call)


def _check_types(row: Intrinsic, call: DiscreteAtomic) -> Fault | None:
    wanted = call.base.dtype
    if wanted not in row.elements:
        names = ", ".join(d.name for d in row.elements)
        return WrongSpace(f"base is {wanted}", operand="base", legal=names, hint="cast the pointer")
    for name in ("dst", "src"):
        pointer = getattr(call, name)
        if isinstance(pointer, Ptr) and pointer.dtype is not wanted:
            text = f"{name} is {pointer.dtype} and base is {wanted}"
            return WrongSpace(text, operand=name, legal="one element type for all operands")
    if call.offset.dtype.kind == "float":
        text = f"offset is {call.offset.dtype}"
        return WrongSpace(text, operand="offset", legal="integers of 8, 16, 32 or 64 bits")
    return None


def _check_vectors(call: DiscreteAtomic) -> Fault | None:
    vectors = {"dst": call.dst, "offset": call.offset, "src": call.src}
    for name, pointer in vectors.items():
        fault = check_room(pointer, name, call.count) if isinstance(pointer, Ptr) else None
        if fault is not None:
            return fault
        if name == "dst" or not isinstance(pointer, Ptr):
            continue
        first, second = call.dst, pointer
        width, other = call.count * first.view.itemsize, call.count * second.view.itemsize
        exact = name == "src" and first.offset == second.offset
        apart = first.offset + width <= second.offset or second.offset + other <= first.offset
        if first.view.allocation is second.view.allocation and not (apart or exact):
            legal = "dst exactly at src or apart from it" if name == "src" else f"dst apart from {name}"
            return RuleFault(f"dst overlaps {name}", operand="dst", legal=legal)
    return None


def _check_places(call: DiscreteAtomic, places: Places, chosen: Places) -> Fault | None:
    view = call.base.view
    wrong = np.flatnonzero((places < 0) | (places + view.itemsize > view.nbytes))
    if wrong.size:
        at = int(wrong[0])
        beyond = bounds_fault(view, call.base.offset, view.itemsize, int(places[at]) - call.base.offset)
        assert isinstance(beyond, OutOfBounds)
        beyond.operand = "base"
        beyond.message = f"offset[{chosen[at]}] = {places[at] - call.base.offset} of base; {beyond.message}"
        beyond.read = (element(call.offset, int(chosen[at])),)
        return beyond
    wrong = np.flatnonzero(places % view.itemsize)
    if not wrong.size:
        return None
    at = int(wrong[0])
    fault = RuleFault(
        f"offset[{chosen[at]}] = {places[at] - call.base.offset} is not aligned to the element size",
        operand="offset",
        legal=f"offsets in bytes that lead to multiples of {view.itemsize}",
        hint="multiply the index by the size of an element",
    )
    fault.read = (element(call.offset, int(chosen[at])),)
    return fault


# -- what is done ----------------------------------------------------------------------------------


def _act(
    mlu: "Mlu", row: Intrinsic, number: int, call: DiscreteAtomic, chosen: Places, places: Places
) -> None:
    """Announce, update the places round by round, account."""
    core, watch, base = mlu.core, mlu.watch, call.base
    src = call.src if isinstance(call.src, Ptr) else constant(mlu, row, "src", base.view, call.src)
    seen = None
    if watch is not None:
        given = (call.dst, call.base, call.offset, call.src, call.bitmask, call.count)
        seen = watch.copy(row, Pipe.IO, *_accesses(call, chosen, places), given)
    whole = base.view.allocation.nbytes // base.view.itemsize
    memory: Any = np.ndarray((whole,), base.dtype.dtype, base.view.allocation.raw)
    touched = places // base.view.itemsize
    before = memory[touched].tobytes()
    _update(row, call, memory, touched, chosen, src)
    if watch is not None and seen is not None:
        watch.retire(seen)
    count, nbytes = len(chosen), len(chosen) * base.view.itemsize
    transactions = count * (-(-base.view.itemsize // UNIT) + 2)
    charge(mlu, Pipe.IO, scattered(count, transactions, stores=True), nbytes)
    mlu.work[ATOMICS] += count
    mlu.counts[number] += 1
    core.atomic_step(before == memory[touched].tobytes())


def _update(
    row: Intrinsic, call: DiscreteAtomic, memory: Any, touched: Places, chosen: Places, src: Any
) -> None:
    """Change *memory* at *touched*; each round takes every place once, so that repeats follow each other."""
    out = call.dst.view.array[call.dst.index : call.dst.index + call.count]
    values = src.view.array[src.index : src.index + call.count].copy() if isinstance(src, Ptr) else None
    order = np.argsort(touched, kind="stable")
    ordered = touched[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])[: len(ordered)]
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    for turn in range(int(rank.max(initial=-1)) + 1):
        round_ = order[rank == turn]
        found, got = memory[touched[round_]], np.empty(len(round_), memory.dtype)
        row.body(got, found, None, src if values is None else values[chosen[round_]])
        memory[touched[round_]] = found
        out[chosen[round_]] = got


def _accesses(
    call: DiscreteAtomic, chosen: Places, places: Places
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    width = call.base.view.itemsize
    target, dst = call.base.view.allocation, call.dst
    updates = tuple(Access(target, int(at), width) for at in np.unique(places))
    reads = reads_of(call.offset, call.bitmask, call.count, chosen)
    if isinstance(call.src, Ptr):
        reads += elements(call.src, chosen)
    results = tuple(Access(dst.view.allocation, dst.offset + int(i) * width, width) for i in chosen)
    return (*reads, *updates), (*updates, *results)
