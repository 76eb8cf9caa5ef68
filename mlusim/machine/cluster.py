"""Clusters and unions: which cores share SRAM, and which meet at a barrier."""

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mlusim.arch.dtypes import DType
from mlusim.errors import Deadlock, Divergence, RuleFault, SyncFault
from mlusim.machine.events import Site, Sync
from mlusim.machine.sync.barrier import SCOPES, Meeting, participants
from mlusim.machine.sync.split_barrier import SplitBarriers
from mlusim.memory.allocation import Allocation, Arena
from mlusim.memory.declaration import MemoryDeclaration

if TYPE_CHECKING:
    from mlusim.machine.core import Core


class Cluster:
    """One cluster of a union task: its cores and its SRAM."""

    def __init__(self, number: int, sram: Arena) -> None:
        self.number = number
        self.sram = sram
        self.cores: list[Core] = []
        self._shared: list[tuple[Allocation, DType, int]] = []

    def shared(
        self, nth: int, dtype: DType, count: int, declared: MemoryDeclaration
    ) -> tuple[Allocation, bool]:
        """Return the *nth* SRAM declaration of the cluster, and whether it is new.

        Every core must declare the same types and counts in the same order, as one source file does.
        """
        if nth == len(self._shared):
            allocation = self.sram.allocate(count * dtype.size, dtype.size, declared)
            self._shared.append((allocation, dtype, count))
            return allocation, True
        allocation, first_dtype, first_count = self._shared[nth]
        if (first_dtype, first_count) != (dtype, count):
            raise RuleFault(
                f"SRAM declaration {nth} is {dtype}[{count}] here and {first_dtype}[{first_count}] on another core "
                "of the cluster",
                space="SRAM",
                hint="every core of a cluster declares the same SRAM arrays in the same order",
            )
        return allocation, False

    def twin(self, allocation: Allocation, other: "Cluster") -> Allocation:
        """Return the declaration in *other* that corresponds to *allocation* in this cluster."""
        found = None
        for nth, (mine, dtype, count) in enumerate(self._shared):
            twin, _ = other.shared(
                nth, dtype, count, mine.declared
            )  # declares what that cluster will declare later
            if mine is allocation:
                found = twin
                break
        if found is None:
            raise ValueError(allocation)
        return found


class Union:
    """The clusters of one union task (or the lone core of a Block task) and their barriers."""

    def __init__(self, block: bool, number: int) -> None:
        self.block = block
        self.number = number
        self.clusters: list[Cluster] = []
        self.cores: list[Core] = []
        self._meetings: dict[Any, Meeting] = {}
        self._members: dict[Any, tuple[Core, ...]] = {}  # who meets, by the same keys
        self._completed = 0

    @functools.cached_property
    def splits(self) -> SplitBarriers:
        """Its barriers in two halves."""
        return SplitBarriers()

    def participants(self, core: "Core", scope: str) -> tuple["Core", ...]:
        """Return the cores that must arrive at a barrier of *scope* that *core* reaches."""
        return participants(core, scope)

    def next_meeting(self) -> int:
        """Return a number for one more meeting."""
        self._completed += 1
        return self._completed

    def passes(self, core: "Core", scope: str) -> bool:
        """Return whether a barrier of *scope* is nothing at all to *core*, not even a wait for its own pipes.

        A barrier of memory cores is a plain sync of every core where the union has one cluster.
        """
        if scope.endswith("_mpu"):
            return not core.place.memory_core and len(self.clusters) > 1
        return scope.endswith("_ipu") and core.place.memory_core

    def arrive(self, core: "Core", name: str, scope: str) -> None:
        """Let *core* wait until every participant has arrived."""
        if self.block or (scope.endswith("_mpu") and not core.place.memory_core):
            _tell(core, name, scope, (core,))
            return
        key = (scope, core.cluster.number if scope.startswith("cluster") and core.cluster else None)
        meeting = self._meetings.get(key)
        if meeting is None:
            expected = self._members.get(key)
            if expected is None:
                expected = self._members[key] = participants(core, scope)
            # Who ends from here on is found when it ends.
            left = [c for c in expected if c.ended]
            meeting = self._meetings[key] = Meeting(name, scope, expected, left=left)
        if core in meeting.arrived:  # it caught the fault of this barrier and comes again
            core.waiting = meeting
            core.session.scheduler.block(core)
        meeting.arrived.append(core)
        if meeting.left:
            raise core.blame(left_early(meeting, meeting.left))
        if len(meeting.arrived) < len(meeting.expected):
            if core.hub.block is not None:
                core.hub.block(core, f"{name}: {len(meeting.arrived)} of {len(meeting.expected)} arrived")
            core.waiting = meeting
            core.session.scheduler.block(core)
            return
        del self._meetings[key]
        _tell(core, name, scope, meeting.expected)
        number = self.next_meeting()
        for other in meeting.arrived:
            other.waiting = None
            other.met(number, len(meeting.arrived))
        core.session.scheduler.wake([c for c in meeting.expected if c is not core])

    def finished(self) -> bool:
        """Return whether every core of the union has ended."""
        for core in self.cores:  # noqa: SIM110 - asked for every task
            if not core.ended:
                return False
        return True

    def check_left(self, core: "Core") -> SyncFault | None:
        """Return the fault of *core* having ended while others wait for it, if any do."""
        for meeting in self._meetings.values():
            if core in meeting.missing:
                return left_early(meeting, [core])
        return None


def _tell(core: "Core", name: str, scope: str, cores: tuple["Core", ...]) -> None:
    if core.hub.sync is not None:
        core.hub.sync(Sync(name, core, (), scope, cores))


def _names(cores: list["Core"]) -> str:
    shown = [c.place.label for c in cores[:4]]
    return ", ".join(shown) + (f" and {len(cores) - 4} more" if len(cores) > 4 else "")


def _wait(core: "Core") -> tuple[str, str, str, int]:
    return core.place.label, core.waiting.name, *core.site()


def _at_places(parts: Iterable[tuple[str, Site, str]]) -> list[str]:
    """Return each of *parts* as ``WORDS at PLACE`` and what follows; a place in the file of the first is told by its line."""
    told: list[str] = []
    first: Site | None = None
    for words, site, behind in parts:
        told.append(f"{words} at {site if first is None else site.told_from(first)}{behind}")
        first = first or site
    return told


def left_early(meeting: Meeting, left: list["Core"]) -> Divergence:
    """Return the fault of a barrier whose participants *left* have ended without arriving."""
    waits = tuple(_wait(c) for c in meeting.arrived if c.waiting is meeting)
    others = "; ".join(
        _at_places((f"{core} waits in {name}", Site(file, line), "") for core, name, file, line in waits[:4])
    )
    memory = all(c.place.memory_core for c in left)
    hint = (
        "keep the memory core in the kernel until the last barrier, or use the *_ipu barriers"
        if memory
        else "every core must reach the same barriers; move the return behind the last one"
    )
    fault = Divergence(
        f"{_names(left)} returned without reaching the barrier that needs {SCOPES[meeting.scope]}"
        + (f"; {others}" if others else ""),
        intrinsic=meeting.name,
        hint=hint,
    )
    fault.waits, fault.absent = waits, tuple(core.place.label for core in left)
    return fault


def stuck(waiting: list["Core"], spinning: list["Core"]) -> Deadlock:
    """Return the fault of a launch in which no core can go on: which waits where, for which."""
    waits = tuple(_wait(core) for core in waiting)
    spins = tuple((core.place.label, *core.site()) for core in spinning)
    places = [
        (
            f"{label} waits in {name}",
            Site(file, line),
            f" for {_names(core.waiting.missing)}{core.waiting.wanted}",
        )
        for (label, name, file, line), core in zip(waits[:6], waiting, strict=False)
    ]
    places += [
        (f"{core} spins", Site(file, line), " on memory that no task changes")
        for core, file, line in spins[:6]
    ]
    parts = _at_places(places)
    more = len(waiting) + len(spinning) - len(parts)
    text = "; ".join(parts) + (f"; and {more} more" if more > 0 else "")
    hint = "let every core reach the same barriers in the same order"
    if any(core.waiting.wanted for core in waiting):
        hint = "let as many arrive as the count says, under the id that is waited for"
    if spinning:
        hint = "release the lock on every path, after its last use"
    fault = Deadlock(f"no task can go on: {text}", hint=hint)
    fault.waits, fault.spins = waits, spins
    return fault
