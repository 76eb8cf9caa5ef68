"""The moments of a run: the observer that follows its cores, the number of moments, and the part that another run may skip.

A mark is the moment of the n-th rare event (a task begins or ends, a wait begins), so that a run may
be unobserved, at full speed, up to a mark before the requested moment.  A snapshot has the tensors at a
moment at which no task was active, so that a run may skip everything before it.  Both are computed from
the counters of the cores, which give the number of moments without announcements.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from attrs import define, field, frozen

from mlusim.debug.source.frames import name_of
from mlusim.isa.table import ISA
from mlusim.machine.announcer import Announcer
from mlusim.machine.hub import Effect, Observer
from mlusim.machine.observed import Step
from mlusim.memory.allocation import Allocation, Bytes

if TYPE_CHECKING:
    from mlusim.errors import Fault
    from mlusim.machine.cluster import Union
    from mlusim.machine.core import Core, RunningLaunch
    from mlusim.machine.machine import Machine

MARKS = 1 << 16  # marks stored for a launch; if there are more, every other one is dropped
SNAPSHOTS = 12  # snapshots stored for a launch
SPACING = 2000  # moments between two snapshots, at least


class RunObserver(Observer):
    """Tracks the active cores of a run (begun and not ended), and its failure."""

    name = "debugger"

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self.cores: list[Core] = []
        self.finished = 0  # the number of tasks and memory cores that have ended
        self.ended: set[str] = set()  # their names, as far as they were observed
        self.raised: BaseException | None = None
        self.failed: Core | None = None
        self.latest: Union | None = None  # the group of tasks that began last
        self.begun = 0  # the number of cores of that group that have begun

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Record the machine of the launch."""
        self.machine = cast("Machine", launch)

    def task_begin(self, core: "Core") -> None:
        """Record the core that runs the task, and its group."""
        self.cores.append(core)
        self.begun = self.begun + 1 if core.union is self.latest else 1
        self.latest = core.union

    def core(self, name: str) -> "Core | None":
        """Return the core called *name*, if it has begun and not ended."""
        return next((core for core in self.cores if name_of(core) == name), None)

    def only_latest(self, ending: "Core | None" = None) -> bool:
        """Return whether the group that began last is the only active one; *ending* is a core that is about to end."""
        return all(core.union is self.latest for core in (*self.cores, *([ending] if ending else ())))

    def members(self, ending: "Core | None" = None) -> int:
        """Return how many cores of the group that began last have ended; 0 if the others may still depend on them.

        They cannot if only one core is active, including *ending*, and nothing was declared in SRAM.
        """
        clusters = () if self.latest is None else self.latest.clusters
        if len(self.cores) + (ending is not None) != 1 or any(c.sram.high_water for c in clusters):
            return 0
        return self.begun - 1

    def task_end(self, core: "Core") -> None:
        """Remove the core that ran the task."""
        self.cores.remove(core)
        self.finished += 1
        self.ended.add(name_of(core))

    def fault(self, core: "Core", fault: "Fault") -> None:
        """Record the core that faulted."""
        self.failed, self.raised = core, fault

    def error(self, core: "Core", error: BaseException) -> None:
        """Record the core whose kernel raised an exception."""
        self.failed, self.raised = core, error


# -- milestones ------------------------------------------------------------------------------------


class Mark(NamedTuple):
    """The moment of the *rare*-th rare event, and how many groups of tasks had ended before it; -1 if several were active.

    ``members`` is how many cores of the next group had ended as well: the first ones, on which the others do
    not depend.
    """

    moment: int
    rare: int
    groups: int = -1
    members: int = 0


@frozen(eq=False)
class Snapshot:
    """The launch just before *moment*, at which a group of tasks begins and no other is active.

    *rare* counts the rare events before it, *groups* the groups that had ended, *finished* their cores,
    *ended* are the names of these cores, *pieces* counts the pieces of output so far, and *printed* are the lines of
    ``__bang_printf``.
    """

    moment: int
    rare: int
    groups: int
    finished: int
    tensors: dict[Allocation, Bytes]
    ended: frozenset[str] = frozenset()
    pieces: int = 0
    printed: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return sum(raw.size for raw in self.tensors.values())


@define(eq=False)
class Milestones:
    """The marks and snapshots of one launch; snapshots take at most *room* bytes."""

    room: int
    _marks: list[Mark] = field(factory=list, init=False)
    _snapshots: list[Snapshot] = field(factory=list, init=False)
    _stride: int = field(default=1, init=False)
    _spacing: int = field(default=SPACING, init=False)

    def note(self, mark: Mark) -> None:
        """Record a rare event at which no effect is in flight."""
        if mark.rare % self._stride:
            return
        if not self._marks or mark.moment > self._marks[-1].moment:
            self._marks.append(mark)
        else:
            at = bisect_right(self._marks, (mark.moment, 1 << 62))
            if at and self._marks[at - 1].moment == mark.moment:
                return
            insort(self._marks, mark)
        if len(self._marks) > MARKS:
            self._marks, self._stride = self._marks[1::2], self._stride * 2

    def mark(self, moment: int) -> Mark | None:
        """Return the last mark at or before *moment*."""
        at = bisect_right(self._marks, (moment, 1 << 62))
        return self._marks[at - 1] if at else None

    def wanted(self, moment: int, nbytes: int) -> bool:
        """Return whether a snapshot of *nbytes* bytes should be made at *moment*."""
        last = self._snapshots[-1].moment if self._snapshots else 0
        return moment >= last + self._spacing and 2 * nbytes <= self.room

    def keep(self, snapshot: Snapshot) -> None:
        """Add a snapshot that is later than all others; drop every second one if there are too many."""
        self._snapshots.append(snapshot)
        total = sum(one.nbytes for one in self._snapshots)
        if len(self._snapshots) > SNAPSHOTS or total > self.room:
            self._snapshots, self._spacing = self._snapshots[1::2], self._spacing * 2

    def forget(self) -> None:
        """Drop the snapshots; the marks stay."""
        self._snapshots, self._spacing = [], SPACING

    def snapshot(self, moment: int) -> Snapshot | None:
        """Return the last snapshot at or before *moment*."""
        before = [snapshot for snapshot in self._snapshots if snapshot.moment <= moment]
        return before[-1] if before else None


# -- the values of the counters --------------------------------------------------------------------


ANNOUNCED = tuple(
    number
    for number, row in enumerate(ISA.values())
    if row.form in ("copy", "gather", "discrete", "async")
    or (row.operands and row.form not in ("load", "store"))
)
"""Rows that are announced with their operands when they are issued."""

WAITING = tuple(
    number
    for number, name in enumerate(ISA)
    if number not in ANNOUNCED and (name.startswith("sync") or name in ("bang_lock", "bang_unlock"))
)
"""Rows that begin a wait for pipes, other cores or a mutex."""

FLYING = tuple(
    number
    for number, (name, row) in enumerate(ISA.items())
    if row.form == "async" or (row.form in ("copy", "gather") and name.endswith("_async"))
)
"""Rows whose effect lands after their issue, at a moment of its own."""

HEARD = frozenset(name for number, name in enumerate(ISA) if number in ANNOUNCED or number in WAITING)
"""Intrinsics that the machine announces by name; of others only the lines are known."""


LOCKING = tuple(number for number, name in enumerate(ISA) if name in ("bang_lock", "bang_unlock"))


FEW = 16  # active cores whose counters are read at a rare event


def explored(machine: "Machine") -> bool:
    """Return whether the launch has another schedule than the default one."""
    return machine.choices is not None


def counts_tell(machine: "Machine") -> bool:
    """Return whether the counters of *machine* determine its moments so far.

    They do not on boards of MLU2xx, which may copy on the vector pipe where others have an effect in flight.
    """
    return machine.board.arch.generation != 2 and not explored(machine)


def issues(core: "Core") -> int:
    """Return how many instructions and scalar accesses that are announced with their operands *core* has begun."""
    counts = core.mlu.counts
    return sum(core.loads) + sum(core.stores) + sum(counts[number] for number in ANNOUNCED)


def elapsed(machine: "Machine") -> tuple[int, int]:
    """Return the numbers of rare events and moments of the ended tasks of *machine*, from its tally."""
    tally = machine.tally
    counts, ended = tally.counts, len(tally.tasks)
    rare = 2 * ended + sum(counts[number] for number in WAITING)
    issued = tally.scalars + sum(counts[number] for number in ANNOUNCED)
    return rare, rare + issued + sum(counts[number] for number in FLYING)


def under_way(cores: "Iterable[Core]") -> tuple[int, int] | None:
    """Return the numbers of rare events and moments of the active *cores*.

    None if the counters do not determine them: a core has an effect in flight, or may be waiting for a mutex.
    """
    rare = moments = 0
    for core in cores:
        counts = core.mlu.counts
        if core.in_flight or any(counts[number] for number in LOCKING):
            return None
        waits = sum(counts[number] for number in WAITING)
        rare += 1 + waits
        moments += 1 + waits + issues(core) + sum(counts[number] for number in FLYING)
    return rare, moments


def mark_here(run: "RunObserver", groups: int, ending: "Core | None" = None) -> Mark | None:
    """Return the mark of the current rare event of *run*, where *groups* have begun and *ending* is a core at its end; None if the counters do not determine it."""
    machine = run.machine
    if machine is None or not counts_tell(machine) or len(run.cores) > FEW:
        return None
    found = under_way(run.cores)
    if found is None:
        return None
    rare, moments = (a + b for a, b in zip(elapsed(machine), found, strict=True))
    if run.only_latest(ending):
        return Mark(moments, rare, groups - 1, run.members(ending))
    return Mark(moments, rare)


# Within a task, on the way to the requested moment, instructions are counted but not announced.


class DozingAnnouncer:
    """Replaces a core's *announcer* while the run dozes: it calls *passed* at each moment, without constructing an effect.

    Asynchronous effects are constructed all the same: one that is in flight when the run wakes is announced when it
    lands.
    """

    __slots__ = ("_announcer", "_passed")

    def __init__(self, passed: Callable[[], None], announcer: Announcer) -> None:
        self._passed, self._announcer = passed, announcer

    def row(self, *announced: object) -> None:
        """Count a moment, and return None in place of an effect."""
        del announced
        self._passed()

    # Intrinsics, blocking strided effects, landings and scalar accesses are one moment each.
    copy = lands = scalar = row

    def flight(self, *announced: Any) -> Effect:
        """Count the issue of an asynchronous effect, and return the effect, made by `Announcer.in_flight`."""
        effect = self._announcer.in_flight(*announced)
        self._passed()
        return effect

    def retire(self, effect: Effect | None) -> None:
        """Note that *effect* has changed its bytes."""
        if effect is not None:
            effect.landed = True

    def mark(self) -> list[Step]:
        """Return no steps, since none are constructed."""
        return []
