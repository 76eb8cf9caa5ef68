"""The moments of a core by its counters: what a run passes on the way to the moment of interest is counted, and not announced."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from mlusim.debug.run.milestones import Mark
from mlusim.isa.table import ISA
from mlusim.machine.announcer import Announcer
from mlusim.machine.events import Effect

if TYPE_CHECKING:
    from mlusim.debug.run.run_observer import RunObserver
    from mlusim.machine.core import Core
    from mlusim.machine.session import Session


ANNOUNCED = tuple(
    number
    for number, row in enumerate(ISA.values())
    if row.form in ("copy", "gather", "discrete", "async")
    or (row.operands and row.form not in ("load", "store"))
)
"""Rows whose issue is announced with their operands."""

WAITING = tuple(
    number
    for number, name in enumerate(ISA)
    if number not in ANNOUNCED and (name.startswith("sync") or name in ("bang_lock", "bang_unlock"))
)
"""Rows that begin a wait, for pipes, for other cores or for a mutex."""

FLYING = tuple(
    number
    for number, (name, row) in enumerate(ISA.items())
    if row.form == "async" or (row.form in ("copy", "gather") and name.endswith("_async"))
)
"""Rows whose effect lands behind their issue, which is a moment of its own."""

HEARD = frozenset(name for number, name in enumerate(ISA) if number in ANNOUNCED or number in WAITING)
"""Intrinsics that the machine announces by name; of others only their lines are known."""


LOCKING = tuple(number for number, name in enumerate(ISA) if name in ("bang_lock", "bang_unlock"))


FEW = 16  # cores under way, of which counters are read at a rare event


def counts_tell(session: "Session") -> bool:
    """Return whether the counters of *session* tell its moments so far.

    They do not on boards of MLU2xx, which may copy on the vector pipe where others have an effect in flight.
    """
    return session.board.arch.generation != 2 and session.choices is None


def issues(core: "Core") -> int:
    """How many instructions and scalar accesses *core* has begun that are announced with their operands."""
    counts = core.mlu.counts
    return sum(core.loads) + sum(core.stores) + sum(counts[number] for number in ANNOUNCED)


def elapsed(session: "Session") -> tuple[int, int]:
    """Return how many rare events and how many moments the tasks of *session* have had that have ended, by its tally."""
    tally = session.tally
    counts, ended = tally.counts, len(tally.tasks)
    rare = 2 * ended + sum(counts[number] for number in WAITING)
    issued = tally.scalars + sum(counts[number] for number in ANNOUNCED)
    return rare, rare + issued + sum(counts[number] for number in FLYING)


def under_way(cores: "Iterable[Core]") -> tuple[int, int] | None:
    """Return how many rare events and moments *cores* have had that have begun and not ended.

    None where that is not known: one has an effect in flight, or has asked for a mutex, for which it may wait.
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
    """Return the mark of a rare event of *run*, at which *groups* have begun and a core may be *ending*; None where the counters do not tell."""
    session = run.session
    if session is None or not counts_tell(session) or len(run.cores) > FEW:
        return None
    found = under_way(run.cores)
    if found is None:
        return None
    rare, moments = (a + b for a, b in zip(elapsed(session), found, strict=True))
    if run.only_latest(ending):
        return Mark(moments, rare, groups - 1, run.members(ending))
    return Mark(moments, rare)


# The way to the moment of interest through a task: what the task does is counted, and not announced.


class Counting(Protocol):
    """A run that counts its moments."""

    def unheard(self) -> None: ...


class DozingAnnouncer:
    """Stands for the *announcer* of a core on the way: tells *run* of each moment, and makes no effect of it.

    Effects that are in flight when the run wakes are announced as they land, so they are made.
    """

    __slots__ = ("_announcer", "_run")

    def __init__(self, run: Counting, announcer: Announcer) -> None:
        self._run, self._announcer = run, announcer

    def row(self, *announced: object) -> None:
        """Count a moment, and announce nothing: there is no effect for who asks."""
        del announced
        self._run.unheard()

    # Intrinsics, blocking effects with strides, landings and scalar accesses are each one moment.
    copy = lands = scalar = row

    def flight(self, *announced: Any) -> Effect:
        """Count the issue of an asynchronous effect, which is announced as `Announcer.in_flight` makes it."""
        effect = self._announcer.in_flight(*announced)
        self._run.unheard()
        return effect

    def retire(self, effect: Effect | None) -> None:
        """Note that the bytes of *effect* have changed."""
        if effect is not None:
            effect.landed = True
