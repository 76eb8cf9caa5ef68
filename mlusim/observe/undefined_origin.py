"""The origin of bytes without a value: the way back from where they escaped to where they were declared."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mlusim.counted import plural
from mlusim.machine.observed import Effect, Site, Step, TensorStore
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.observe.finding import Finding, RelatedPlace
from mlusim.observe.shadow import Shadow, Write

if TYPE_CHECKING:
    from mlusim.machine.observed import Core

# Bytes that go round in a loop have no end of the trail; a reader follows no more lines than these.
HOPS = 12

ShadowOf = Callable[[Allocation], Shadow]


class Hop(NamedTuple):
    """A byte without a value, and the write that put it there; None where it was never written."""

    allocation: Allocation
    offset: int
    write: Write | None


def trail(access: Access, offset: int, shadow_of: ShadowOf) -> list[Hop]:
    """Follow the byte at *offset* of *access*'s allocation back to where it was declared."""
    hops: list[Hop] = []
    # Before any write that there is: numbers count from 0.
    allocation, number = access.allocation, 1 << 62
    while len(hops) < HOPS:
        write = _last_write(shadow_of(allocation), offset, number)
        hops.append(Hop(allocation, offset, write))
        source = None if write is None else _source(write, allocation, offset, shadow_of)
        if write is None or source is None:
            break
        allocation, offset, number = *source, write.number
    return hops


def places(hops: list[Hop]) -> Iterator[RelatedPlace]:
    """Name the instructions on the way, the last one first."""
    for hop in hops:
        if hop.write is not None:
            step = hop.write.step
            yield RelatedPlace(*step.site, f"{_name(step)} wrote byte {hop.offset} of {hop.allocation.site}")


def neighbours(hop: Hop, shadow: Shadow, here: Site) -> Iterator[str]:
    """Say who wrote the byte of *hop*, or what was last written before and behind it; *here* is the finding's place."""
    if hop.write is not None:
        yield f"{_described(hop.write, here)} wrote them out of bytes without a value"
        return
    in_place = [w for w in shadow.log() if w.covers(hop.offset) and w.access in w.step.reads]
    if in_place:
        first = min(in_place, key=lambda w: w.number)
        yield f"nothing had been written there when {_described(first, here)} took them as a source"
        return
    ends = [w for w in shadow.log() if w.access.span[1] <= hop.offset]
    begins = [w for w in shadow.log() if w.access.span[0] > hop.offset]
    if ends:
        last = max(ends, key=lambda w: (w.access.span[1], w.number))
        yield f"the last write before them, {_described(last, here)}, stopped at byte {last.access.span[1]}"
    if begins:
        first = min(begins, key=lambda w: (w.access.span[0], -w.number))
        yield f"the first write behind them, {_described(first, here)}, began at byte {first.access.span[0]}"
    if not ends and not begins:
        yield "nothing has been written there at all"


def lacking(shadow: Shadow, access: Access) -> tuple[int, int]:
    """Return the offset of the first byte of *access* without a value, and how many lack one."""
    flags = shadow.flags(access)
    first = int(flags.argmin())
    return access.offset_of(first), int(len(flags) - np.count_nonzero(flags))


def in_flight(core: "Core", hop: Hop) -> RelatedPlace | None:
    """Return the asynchronous instruction of *core* that would write the byte of *hop* and has not landed."""
    effects: list[Effect] = [flight.effect for flight in core.flights if flight.effect is not None]
    for effect in effects:
        for access in effect.writes:
            low, high = access.span
            if access.allocation is hop.allocation and low <= hop.offset < high:
                return RelatedPlace(*effect.site, f"__{effect.name} is still in flight")
    return None


def tensor_store(write: Write) -> TensorStore:
    """Return what is kept of a *write* to a tensor when the launch is over."""
    step, label = write.step, write.effect.core.place.label
    return TensorStore(write.access.span[1], write.number, step.site, step.name, _name(step), label)


def never_stored(stores: Sequence[TensorStore], allocation: Allocation, offset: int, count: int) -> Finding:
    """Return the finding of *count* bytes of a tensor, the first at *offset*, that no task has stored; *stores* are the others."""
    before = [w for w in stores if w.end <= offset]
    last = max(before or stores, key=lambda w: (w.end, w.number), default=None)
    context = (
        ()
        if last is None
        else (f"{last.told} at line {last.site.line} by {last.label} stored up to byte {last.end}",)
    )
    return Finding(
        "initcheck-never-stored",
        f"the host copies back {count} {plural(count, 'byte')} of {allocation.site} that no task has stored, from byte {offset} on",
        file=None if last is None else last.site.file,
        line=None if last is None else last.site.line,
        intrinsic=None if last is None else last.name,
        context=context or ("nothing has been stored there at all",),
        note="a new tensor holds no zeros: what is never stored holds whatever was there before",
        hint="check the share of the last task and the tail of each row, or fill the tensor before the launch",
        facts={"bytes": count, "offset": offset, "space": allocation.space.name},
    )


def _name(step: Step) -> str:
    return step.name if step.row is None else f"__{step.name}"


def _described(write: Write, here: Site | None = None) -> str:
    at = write.step.site.told_from(here or write.step.site)
    return f"{_name(write.step)} at {at} by {write.effect.core.place.label}"


def _last_write(shadow: Shadow, offset: int, number: int) -> Write | None:
    held = [w for w in shadow.log() if w.covers(offset) and w.number < number]
    return max(held, key=lambda w: w.number, default=None)


def _source(
    write: Write, allocation: Allocation, offset: int, shadow_of: ShadowOf
) -> tuple[Allocation, int] | None:
    """Return the byte without a value that *write* read for the one at *offset*, or None.

    A destination that is a source too is the last to be blamed: only if the byte had no value before the write.
    """
    step = write.step
    target = next(
        (a for a in step.writes if a.allocation is allocation and a.span[0] <= offset < a.span[1]), None
    )
    itself = None
    for access in step.reads:
        shadow = shadow_of(access.allocation)
        if target is None or not shadow.lacks(access):
            continue
        flags = shadow.flags(access)
        same = target.index_of(offset) * len(flags) // target.nbytes
        at = same if not flags[same] else int(flags.argmin())
        found = access.allocation, access.offset_of(at)
        if found != (allocation, offset):
            return found
        itself = found
    before = None if itself is None else _last_write(shadow_of(allocation), offset, write.number)
    whole = allocation.has(offset) if before is None else before.whole
    return None if whole else itself
