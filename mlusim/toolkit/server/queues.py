"""Queues and notifiers: the clock of each queue, and accesses to memory that are not ordered by a wait.

Work runs here as soon as it is submitted to a queue; on a card it runs later.  Work in one queue is ordered.  Between
queues, and between a queue and the host, only waits and notifiers order work.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from attrs import define, field, frozen

from mlusim.machine.hub import ObservedScreen, Observer
from mlusim.machine.launch import Launch
from mlusim.machine.observed import CHANGES, READS, WRITES, Screened
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, ByteRuns
from mlusim.memory.space import GDRAM

HOST = -1  # in place of a queue: accesses by the host itself
MOST = 4096  # pieces of work with which later work is compared; if there are more, the oldest are dropped
MANY = 4096  # accesses of a launch that are stored before they are merged
Clock = dict[int, int]  # the last completed piece of work of each queue
# By allocation of the device; None: the host's memory, by address.
Bytes = Mapping[Allocation | None, ByteRuns]


@frozen
class Touched:
    """The bytes that a piece of work reads and writes."""

    reads: Bytes = field(factory=dict)
    writes: Bytes = field(factory=dict)


@frozen(eq=False)
class QueueWork:
    """A launch, a copy or a set: a phrase *what*, the queue, its number there and the address of the call that submitted it."""

    what: str
    queue: int
    number: int
    caller: int
    touched: Touched


class QueueClash(NamedTuple):
    """New work that accesses bytes of earlier work, *first*, for which nothing has waited.

    *does* is "reads" or "writes"; *first_wrote* is true if *first* writes the bytes.  *allocation* is None for memory
    of the host.
    """

    first: QueueWork
    does: str
    first_wrote: bool
    allocation: Allocation | None
    low: int
    high: int


@define(eq=False)
class QueueOrder:
    """The work that the host knows to be complete, and the work submitted to queues since."""

    _host: Clock = field(factory=dict)
    _queues: dict[int, Clock] = field(factory=dict)
    _works: dict[Any, QueueWork] = field(factory=dict)

    def clashes(self, queue: int, touched: Touched) -> Iterator[QueueClash]:
        """Yield the clashes of work that accesses *touched* in *queue* with earlier work: the first common bytes of each."""
        seen = self._known(queue)
        for work in self._works.values():
            if work.number > seen.get(work.queue, 0):
                clash = _between(work, touched)
                if clash is not None:
                    yield clash

    def give(self, what: str, queue: int, caller: int, touched: Touched) -> QueueWork:
        """Record work that is submitted to *queue*, and return it."""
        clock = self._queues[queue] = self._known(queue)
        clock[queue] = number = clock.get(queue, 0) + 1
        key = queue, caller, _key(touched.reads), _key(touched.writes)
        # If this is not ordered with other work, the earlier one was not either, and was reported.
        self._works.pop(key, None)
        self._works[key] = work = QueueWork(what, queue, number, caller, touched)
        if len(self._works) > MOST:
            del self._works[next(iter(self._works))]
        return work

    def over(self, work: QueueWork) -> bool:
        """Return whether the host has waited for *work*."""
        return work.number <= self._host.get(work.queue, 0)

    def waited(self, queue: int) -> None:
        """Record that the host has waited for all work in *queue*."""
        self.met(self._queues.get(queue, {}))

    def met(self, clock: Clock) -> None:
        """Record that the host has waited for the work before a notifier with *clock*."""
        _join(self._host, clock)
        over = [key for key, work in self._works.items() if self.over(work)]
        for key in over:
            del self._works[key]

    def place(self, queue: int) -> Clock:
        """Return the clock of a notifier that is placed in *queue* now."""
        return self._known(queue)

    def queue_waits(self, queue: int, clock: Clock) -> None:
        """Let *queue* wait for the work before the notifier with *clock*."""
        self._queues[queue] = _join(self._known(queue), clock)

    def unwaited(self) -> list[QueueWork]:
        """Return the last work of each queue for which the host has not waited."""
        return list({work.queue: work for work in self._works.values()}.values())

    def _known(self, queue: int) -> Clock:
        return _join(dict(self._queues.get(queue, {})), self._host)


class TouchedGdram(Observer):
    """Records the bytes of GDRAM that a launch reads and writes."""

    name = "touched"
    screens = Screened.RACE  # C then records all accesses to shared memory
    every_read = True

    def __init__(self) -> None:
        self._reads, self._writes = GatheredAccesses(), GatheredAccesses()

    def effect(self, effect: Any) -> bool:
        """Record accesses to GDRAM; a repeated step accesses the same bytes."""
        for gathered, accesses in ((self._reads, effect.reads), (self._writes, effect.writes)):
            for access in accesses:
                if access.allocation.space is GDRAM:
                    gathered.add(access)
        return True

    def screen_begin(self, launch: Any, _screen: ObservedScreen) -> bool:
        """Return whether C records all reads: it does not for memory to which no kernel stores."""
        return all(allocation.writable for allocation in launch.given)

    def screened(self, screen: ObservedScreen) -> None:
        """Copy the accesses that C has recorded."""
        for allocation, rows in screen.shared(alone=True):
            if allocation.space is GDRAM:
                for gathered, kinds in ((self._reads, (READS, CHANGES)), (self._writes, (CHANGES, WRITES))):
                    spans = rows[np.isin(rows[:, 2], kinds)]
                    gathered.add_runs(allocation, ByteRuns.joined(spans[:, 0], spans[:, 1]))

    def repeats(self, _kernel: object) -> bool:
        """Return True: a launch without memory arguments accesses nothing."""
        return True

    @property
    def touched(self) -> Touched:
        """Return the bytes that the launch accessed."""
        return Touched(self._reads.joined(), self._writes.joined())


@define(eq=False)
class GatheredAccesses:
    """Accesses, which are merged when there are many."""

    _few: list[Access] = field(factory=list)
    _runs: dict[Allocation | None, ByteRuns] = field(factory=dict)

    def add(self, access: Access) -> None:
        """Add one more access."""
        self._few.append(access)
        if len(self._few) > MANY:
            self.joined()

    def add_runs(self, allocation: Allocation, runs: ByteRuns) -> None:
        """Add the bytes *runs* of *allocation*."""
        held = self._runs.get(allocation)
        if len(runs.lows):
            self._runs[allocation] = runs if held is None else held | runs

    def joined(self) -> Bytes:
        """Return all accesses, with adjacent ones merged."""
        for allocation, runs in _runs(self._few).items():
            self.add_runs(allocation, runs)
        self._few.clear()
        return self._runs


def bytes_at(allocation: Allocation | None, low: int, nbytes: int) -> Bytes:
    """Return *nbytes* bytes of *allocation* from *low* on; if it is None, of the host's memory from the address *low* on."""
    return {allocation: ByteRuns(np.array([low], np.int64), np.array([low + nbytes], np.int64))}


def _runs(accesses: Iterable[Access]) -> dict[Allocation, ByteRuns]:
    by: dict[Allocation, list[Access]] = {}
    for access in accesses:
        by.setdefault(access.allocation, []).append(access)
    return {allocation: ByteRuns.of(held) for allocation, held in by.items()}


def _join(clock: Clock, other: Clock) -> Clock:
    """Raise the entries of *clock* to those of *other*, and return it."""
    for queue, number in other.items():
        clock[queue] = max(number, clock.get(queue, 0))
    return clock


def _key(touched: Bytes) -> tuple[Any, ...]:
    return tuple(
        (allocation, runs.lows.tobytes(), runs.highs.tobytes()) for allocation, runs in touched.items()
    )


def _between(work: QueueWork, touched: Touched) -> QueueClash | None:
    """Return the first bytes that both access and at least one of them writes; None if there are none."""
    for firsts, wrote, seconds, does in (
        (work.touched.writes, True, touched.reads, "reads"),
        (work.touched.writes, True, touched.writes, "writes"),
        (work.touched.reads, False, touched.writes, "writes"),
    ):
        for allocation, runs in seconds.items():
            both = firsts[allocation] & runs if allocation in firsts else None
            if both is not None and len(both.lows):
                return QueueClash(work, does, wrote, allocation, int(both.lows[0]), int(both.highs[0]))
    return None


# Queues and notifiers: the clock of each queue is the predicted time of its launches, computed when it is
# requested.

MOST_PENDING = 256  # launches of a queue whose time is not computed yet


@define(eq=False)
class NativeNotifier:
    """A notifier: the queue in which it was placed last, and the number of steps before it there; None before the first."""

    timed: bool = True  # whether its time may be queried
    foreign: bool = False  # whether it belongs to another process, which reports when it is reached
    queue: "NativeQueue | None" = None
    step: int = 0
    clock: dict[int, int] = field(factory=dict)  # the last work of each queue before it

    @property
    def us(self) -> float:
        """The time in us at which it is reached."""
        assert self.queue is not None
        return self.queue.at(self.step)


@define(eq=False)
class NativeQueue:
    """A queue: the steps submitted to it since the first notifier, each a launch or a wait for another queue's notifier.

    ``fault`` is the address of the call that launched the first faulting kernel; 0 without a fault.  Once a wait has
    returned the fault, the queue has ``failed``.  ``refused`` is the code of a refused launch, until a wait returns
    it.
    """

    number: int
    caller: int = 0
    fault: int = 0
    failed: bool = False
    refused: int = 0
    _times: list[float] = field(factory=lambda: [0.0])  # the clock after each step
    _pending: list["Launch | tuple[NativeQueue, int]"] = field(factory=list)

    @property
    def steps(self) -> int:
        """The number of steps submitted to it."""
        return len(self._times) - 1 + len(self._pending)

    def forget(self) -> None:
        """Forget the errors of its launches."""
        self.fault, self.failed, self.refused = 0, False, 0

    def add(self, step: "Launch | tuple[NativeQueue, int]") -> None:
        """Add a launch, or the position of a notifier to wait for."""
        self._pending.append(step)
        if len(self._pending) > MOST_PENDING:
            self.at(self.steps)

    def at(self, step: int) -> float:
        """Return the clock in us after *step*."""
        while len(self._times) <= step:
            work = self._pending.pop(0)
            now = self._times[-1]
            self._times.append(
                now + work.time_us if isinstance(work, Launch) else max(now, work[0].at(work[1]))
            )
        return self._times[step]
