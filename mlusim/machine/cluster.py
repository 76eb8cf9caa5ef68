"""Clusters and unions: the cores that share SRAM, and those that meet at a barrier, in one step or in two halves."""

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.arch.dtypes import DType
from mlusim.errors import Deadlock, Divergence, RuleFault, SyncFault
from mlusim.isa.declare import Refused
from mlusim.machine.observed import Site
from mlusim.memory.allocation import Allocation, Arena, MemoryDeclaration
from mlusim.time.log import ARRIVES, ROLE, WAITS_FOR

if TYPE_CHECKING:
    from mlusim.machine.core import Core


SCOPES = {
    "cluster": "the IPU cores and the memory core of the cluster",
    "cluster_ipu": "the IPU cores of the cluster",
    "all": "every core of the union",
    "all_ipu": "the IPU cores of the union",
    "all_mpu": "the memory cores of the union",
}


@define(eq=False)
class Meeting:
    """A barrier that some cores have reached and others have not; *left* had ended before the first arrived."""

    name: str
    scope: str
    expected: tuple["Core", ...]
    arrived: list["Core"] = field(factory=list)
    left: list["Core"] = field(factory=list)

    @property
    def missing(self) -> list["Core"]:
        """Return the cores that have not arrived."""
        return [core for core in self.expected if core not in self.arrived]

    @property
    def wanted(self) -> str:
        """Return the arrivals that would end the wait, in words, if they need not come from all missing cores."""
        return ""


def participants(core: "Core", scope: str) -> tuple["Core", ...]:
    """Return the cores that must arrive at a barrier of *scope* that *core* reaches."""
    cores = core.cluster.cores if scope.startswith("cluster") and core.cluster else core.union.cores
    if scope.endswith("_ipu"):
        return tuple(c for c in cores if not c.place.memory_core)
    if scope.endswith("_mpu"):
        return tuple(c for c in cores if c.place.memory_core)
    return tuple(cores)


@define(eq=False)
class Half(Meeting):
    """One completion of the split barrier *ident*: the *number*-th meeting of the union, of *count* arrivals."""

    ident: int = 0
    number: int = 0
    count: int = 1
    waiting: list["Core"] = field(factory=list)

    @property
    def complete(self) -> bool:
        """Return whether all arrivals have come."""
        return len(self.arrived) >= self.count

    @property
    def missing(self) -> list["Core"]:
        """Return the cores that have not arrived: if possible only those that do not wait either."""
        left = [core for core in self.expected if core not in self.arrived]
        return [core for core in left if core not in self.waiting] or left

    @property
    def wanted(self) -> str:
        """Return how many of the arrivals that complete it have come, in words."""
        return f" ({len(self.arrived)} of {self.count} arrivals at barrier {self.ident} came)"


class SplitBarriers:
    """The barriers in two halves of one union: a core arrives and goes on, and later it or another core waits.

    Inferred from their names: a barrier of an *id* is complete after *count* arrivals, and then
    starts over.  Arriving finishes the core's own pipes, as every barrier does, so that its effects are over
    for the cores that wait; waiting finishes nothing.  The n-th wait of a core at an id is for its n-th completion.
    """

    def __init__(self) -> None:
        self._halves: dict[Any, list[Half]] = {}
        self._waited: dict[Any, int] = {}

    def arrive(self, core: "Core", name: str, scope: str, ident: int, count: int) -> None:
        """Count an arrival of *core*; the last one releases the cores that wait."""
        halves = self._at(core, scope, ident)
        if not halves or halves[-1].complete:
            halves.append(self._new(core, name, scope, ident, count))
        half = halves[-1]
        _agree(half, count)
        half.arrived.append(core)
        core.met(half.number, count + ARRIVES * ROLE)
        _tell_half(core, name, "arrive", half)
        if half.complete:
            for other in half.waiting:
                other.waiting = None
            core.machine.scheduler.wake(half.waiting)
            half.waiting = []

    def wait(self, core: "Core", name: str, scope: str, ident: int, count: int) -> None:
        """Let *core* wait until the first completion that it has not waited for yet."""
        halves = self._at(core, scope, ident)
        turn = self._waited.get((scope, ident, core), 0)
        if turn == len(halves):
            halves.append(self._new(core, name, scope, ident, count))
        half = halves[turn]
        _agree(half, count)
        if not half.complete:
            if core.hub.block is not None:
                core.hub.block(core, f"{name}: {len(half.arrived)} of {count} arrived")
            half.name = name
            half.waiting.append(core)
            core.waiting = half
            core.machine.scheduler.block(core)
        self._waited[scope, ident, core] = turn + 1
        core.met(half.number, count + WAITS_FOR * ROLE)
        _tell_half(core, name, "wait", half)

    @property
    def begun(self) -> list[Half]:
        """Return the incomplete barriers at which some cores have arrived or wait."""
        return [half for halves in self._halves.values() for half in halves if not half.complete]

    def _at(self, core: "Core", scope: str, ident: int) -> list[Half]:
        where = core.cluster.number if scope == "cluster" and core.cluster is not None else None
        return self._halves.setdefault((scope, where, ident), [])

    @staticmethod
    def _new(core: "Core", name: str, scope: str, ident: int, count: int) -> Half:
        expected = participants(core, scope)
        return Half(name, scope, expected, ident=ident, number=core.union.next_meeting(), count=count)


def _check(core: "Core", scope: str, ident: Any, count: Any) -> None:
    most = len(participants(core, scope))
    for name, value, low, high in (("barrier_id", ident, 0, None), ("count", count, 1, most)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < low or (high is not None and value > high):
            legal = f"{low} or more" if high is None else f"{low} to {high}, the cores that can arrive here"
            raise Refused(f"{name} = {value!r}", operand=name, legal=legal)


def _agree(half: Half, count: int) -> None:
    if half.count != count:
        others = [*half.arrived, *half.waiting]
        raise Refused(
            f"count = {count} here and {half.count} on {others[0].place.label}",
            operand="count",
            legal="the same count on every core that arrives or waits",
        )


def _tell_half(core: "Core", name: str, what: str, half: Half) -> None:
    if core.hub.sync is not None:
        core.hub.sync(Sync(name, core, (), what, (core,), (core.union.number, half.number)))


@define(eq=False)
class Cluster:
    """One cluster of a union task: its cores and its SRAM."""

    number: int
    sram: Arena
    cores: list["Core"] = field(factory=list)
    _shared: list[tuple[Allocation, DType, int]] = field(factory=list)

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
        for nth, (mine, dtype, count) in enumerate(self._shared):
            # The other cluster will declare this later.
            twin, _ = other.shared(nth, dtype, count, mine.declared)
            if mine is allocation:
                return twin
        raise ValueError(allocation)


@define(eq=False, slots=False)
class Union:
    """The clusters of one union task (or the lone core of a Block task) and their barriers."""

    block: bool
    number: int
    clusters: list[Cluster] = field(factory=list)
    cores: list["Core"] = field(factory=list)
    _meetings: dict[Any, Meeting] = field(factory=dict)
    _members: dict[Any, tuple["Core", ...]] = field(factory=dict)  # the cores that meet, by the same keys
    _completed: int = 0

    @functools.cached_property
    def splits(self) -> SplitBarriers:
        """Return the barriers in two halves of the union, created on first use."""
        return SplitBarriers()

    def participants(self, core: "Core", scope: str) -> tuple["Core", ...]:
        """Return the cores that must arrive at a barrier of *scope* that *core* reaches."""
        return participants(core, scope)

    def next_meeting(self) -> int:
        """Return a number for one more meeting."""
        self._completed += 1
        return self._completed

    def resumes_at(self, meetings: int) -> None:
        """Continue as if so many *meetings* had been completed."""
        self._completed = meetings

    def waits_in(self, meeting: Meeting, cluster: int | None) -> None:
        """Let the cores that have arrived at *meeting* wait there; *cluster* is the cluster's number, or None for the union."""
        self._meetings[meeting.scope, cluster] = meeting
        for core in meeting.arrived:
            core.waiting = meeting

    def passes(self, core: "Core", scope: str) -> bool:
        """Return whether a barrier of *scope* has no effect on *core*, not even as a wait for its own pipes.

        In a union of one cluster, a barrier of memory cores is a plain sync of every core.
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
            # Cores that end during the meeting are removed from it as they end; these ended before it began.
            left = [c for c in expected if c.ended]
            meeting = self._meetings[key] = Meeting(name, scope, expected, left=left)
        if core in meeting.arrived:  # its kernel caught the fault of this barrier and arrives again
            core.waiting = meeting
            core.machine.scheduler.block(core)
        meeting.arrived.append(core)
        if meeting.left:
            raise core.blame(left_early(meeting, meeting.left))
        if len(meeting.arrived) < len(meeting.expected):
            if core.hub.block is not None:
                core.hub.block(core, f"{name}: {len(meeting.arrived)} of {len(meeting.expected)} arrived")
            core.waiting = meeting
            core.machine.scheduler.block(core)
            return
        del self._meetings[key]
        _tell(core, name, scope, meeting.expected)
        number = self.next_meeting()
        for other in meeting.arrived:
            other.waiting = None
            other.met(number, len(meeting.arrived))
        core.machine.scheduler.wake([c for c in meeting.expected if c is not core])

    def half(self, core: "Core", name: str, scope: str, ident: int, count: int, *, waits: bool) -> None:
        """Let *core* arrive at a barrier in two halves, or wait for it; in a Block task both wait for its own pipes."""
        if not self.block:
            _check(core, scope, ident, count)
        if self.block or not waits:
            core.empty()
        if self.block:
            self.arrive(core, name, scope)
        elif waits:
            self.splits.wait(core, name, scope, ident, count)
        else:
            self.splits.arrive(core, name, scope, ident, count)

    def finished(self) -> bool:
        """Return whether every core of the union has ended."""
        for core in self.cores:  # noqa: SIM110 - called for every task
            if not core.ended:
                return False
        return True

    def check_left(self, core: "Core") -> SyncFault | None:
        """Return the fault of *core* having ended while others wait for it, or None."""
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
    """Return each of *parts* as ``WORDS at PLACE`` and the rest; places in the file of the first one are given as lines."""
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


def most_missed(waiting: list["Core"]) -> "Core":
    """Return the core of those *waiting* for which most others wait, the first of several: the mistake is most likely there."""
    return max(waiting, key=lambda core: sum(core in other.waiting.missing for other in waiting))


def stuck(waiting: list["Core"], spinning: list["Core"]) -> Deadlock:
    """Return the fault of a launch in which no core can continue, with each core's place and the cores that it waits for."""
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


@define(eq=False)
class Sync:
    """A core has waited for its own pipes (``pipes``: their names), or a barrier has completed.

    If only some pipes wait for these, ``waiting`` names them; empty, all wait.  A wait for the copies of
    one direction alone has its two spaces in ``route``.
    At a barrier, ``scope`` says which cores meet (a key of `mlusim.machine.cluster.SCOPES`), ``participants``
    are these cores and ``core`` is the last to arrive; their pipes are empty then.  A mutex that
    is locked or about to be unlocked has the scope "mutex" and its numbers in ``mutex``.  Half a barrier has
    the scope "arrive" or "wait", and in ``mutex`` the numbers of the union and of the meeting.
    """

    name: str
    core: "Core"
    pipes: tuple[str, ...]
    scope: str | None = None
    participants: tuple["Core", ...] = ()
    mutex: tuple[int, int] | None = None
    waiting: tuple[str, ...] = ()
    route: tuple[str, ...] = ()

    @property
    def site(self) -> Site:
        """Return the file and line of ``core``."""
        return Site(*self.core.site())
