"""Queues and notifiers: the clock of each queue, and which work is in order: what is touched before anything has waited for it.

Work runs here when it is given to a queue; on a card it runs later.  Work of one queue is in order.  Between queues,
and between a queue and the host, only waits and notifiers put anything in order.
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

HOST = -1  # in place of a queue: what the host does itself
MOST = 4096  # pieces of work that later work is compared with; if there are more, the oldest are forgotten
MANY = 4096  # accesses of a launch that are kept apart before they are joined
Clock = dict[int, int]  # the last piece of work of each queue that is over
# By allocation of the device; None: memory of the host, by address.
Bytes = Mapping[Allocation | None, ByteRuns]


@frozen
class Touched:
    """The bytes that a piece of work reads and writes."""

    reads: Bytes = field(factory=dict)
    writes: Bytes = field(factory=dict)


@frozen(eq=False)
class QueueWork:
    """A launch, a copy or a set: *what* it is, the queue, its number there and the address from which it was given."""

    what: str
    queue: int
    number: int
    caller: int
    touched: Touched


class QueueClash(NamedTuple):
    """A clash of work that is about to be done with bytes of *first*, which nothing has waited for.

    *does* is "reads" or "writes"; *first_wrote* tells whether *first* writes them.  *allocation* is None for memory of the host.
    """

    first: QueueWork
    does: str
    first_wrote: bool
    allocation: Allocation | None
    low: int
    high: int


@define(eq=False)
class QueueOrder:
    """The work that the host knows to be over, and what it has given to queues since."""

    _host: Clock = field(factory=dict)
    _queues: dict[int, Clock] = field(factory=dict)
    _works: dict[Any, QueueWork] = field(factory=dict)

    def clashes(self, queue: int, touched: Touched) -> Iterator[QueueClash]:
        """Return the works that *touched*, by work that *queue* is about to be given, is not in order with: the first bytes of each."""
        seen = self._known(queue)
        for work in self._works.values():
            if work.number > seen.get(work.queue, 0):
                clash = _between(work, touched)
                if clash is not None:
                    yield clash

    def give(self, what: str, queue: int, caller: int, touched: Touched) -> QueueWork:
        """Note that work is given to *queue*, and return it."""
        clock = self._queues[queue] = self._known(queue)
        clock[queue] = number = clock.get(queue, 0) + 1
        key = queue, caller, _key(touched.reads), _key(touched.writes)
        # Where this is not in order with something, that was not either, and is reported once.
        self._works.pop(key, None)
        self._works[key] = work = QueueWork(what, queue, number, caller, touched)
        if len(self._works) > MOST:
            del self._works[next(iter(self._works))]
        return work

    def over(self, work: QueueWork) -> bool:
        """Return whether the host has waited for *work*."""
        return work.number <= self._host.get(work.queue, 0)

    def waited(self, queue: int) -> None:
        """Note that the host has waited for all of *queue*."""
        self.met(self._queues.get(queue, {}))

    def met(self, clock: Clock) -> None:
        """Note that the host has waited for what a notifier with *clock* was placed behind."""
        _join(self._host, clock)
        over = [key for key, work in self._works.items() if self.over(work)]
        for key in over:
            del self._works[key]

    def place(self, queue: int) -> Clock:
        """Return the clock of a notifier that is placed in *queue* now."""
        return self._known(queue)

    def queue_waits(self, queue: int, clock: Clock) -> None:
        """Let *queue* wait for the work in front of the notifier that has *clock*."""
        self._queues[queue] = _join(self._known(queue), clock)

    def unwaited(self) -> list[QueueWork]:
        """Return the last work of each queue that the host has not waited for."""
        return list({work.queue: work for work in self._works.values()}.values())

    def _known(self, queue: int) -> Clock:
        return _join(dict(self._queues.get(queue, {})), self._host)


class TouchedGdram(Observer):
    """Hears which bytes of GDRAM a launch reads and writes."""

    name = "touched"
    screens = Screened.RACE  # then C keeps all accesses to what is shared
    every_read = True

    def __init__(self) -> None:
        self._reads, self._writes = GatheredAccesses(), GatheredAccesses()

    def effect(self, effect: Any) -> bool:
        """Note what is of GDRAM; a step that is done again touches the same."""
        for gathered, accesses in ((self._reads, effect.reads), (self._writes, effect.writes)):
            for access in accesses:
                if access.allocation.space is GDRAM:
                    gathered.add(access)
        return True

    def screen_begin(self, launch: Any, _screen: ObservedScreen) -> bool:
        """Return whether C keeps all that is read: not of memory that no kernel stores to."""
        return all(allocation.writable for allocation in launch.given)

    def screened(self, screen: ObservedScreen) -> None:
        """Take over what C has kept."""
        for allocation, rows in screen.shared():
            if allocation.space is GDRAM:
                for gathered, kinds in ((self._reads, (READS, CHANGES)), (self._writes, (CHANGES, WRITES))):
                    spans = rows[np.isin(rows[:, 2], kinds)]
                    gathered.add_runs(allocation, ByteRuns.joined(spans[:, 0], spans[:, 1]))

    def repeats(self, _kernel: object) -> bool:
        """Answer that what is given no memory touches none."""
        return True

    @property
    def touched(self) -> Touched:
        """Return the bytes that the launch touched."""
        return Touched(self._reads.joined(), self._writes.joined())


@define(eq=False)
class GatheredAccesses:
    """Accesses, joined when they have become many."""

    _few: list[Access] = field(factory=list)
    _runs: dict[Allocation | None, ByteRuns] = field(factory=dict)

    def add(self, access: Access) -> None:
        """Note one more access."""
        self._few.append(access)
        if len(self._few) > MANY:
            self.joined()

    def add_runs(self, allocation: Allocation, runs: ByteRuns) -> None:
        """Note the bytes *runs* of *allocation*."""
        held = self._runs.get(allocation)
        if len(runs.lows):
            self._runs[allocation] = runs if held is None else held | runs

    def joined(self) -> Bytes:
        """Return all accesses, joined where they meet."""
        for allocation, runs in _runs(self._few).items():
            self.add_runs(allocation, runs)
        self._few.clear()
        return self._runs


def bytes_at(allocation: Allocation | None, low: int, nbytes: int) -> Bytes:
    """Return *nbytes* bytes of *allocation* from *low* on; where it is None, of the host's memory from the address *low* on."""
    return {allocation: ByteRuns(np.array([low], np.int64), np.array([low + nbytes], np.int64))}


def _runs(accesses: Iterable[Access]) -> dict[Allocation, ByteRuns]:
    by: dict[Allocation, list[Access]] = {}
    for access in accesses:
        by.setdefault(access.allocation, []).append(access)
    return {allocation: ByteRuns.of(held) for allocation, held in by.items()}


def _join(clock: Clock, other: Clock) -> Clock:
    """Let *clock* know what *other* knows, too."""
    for queue, number in other.items():
        clock[queue] = max(number, clock.get(queue, 0))
    return clock


def _key(touched: Bytes) -> tuple[Any, ...]:
    return tuple(
        (allocation, runs.lows.tobytes(), runs.highs.tobytes()) for allocation, runs in touched.items()
    )


def _between(work: QueueWork, touched: Touched) -> QueueClash | None:
    """Return the first bytes that both touch and at least one of them writes."""
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


# Queues and notifiers: the clock of each queue is the predicted time of its launches, worked out when it
# is asked for.

MOST_PENDING = 256  # launches of a queue whose time is not worked out yet


@define(eq=False)
class NativeNotifier:
    """A notifier: the queue that it was placed in last, and the number of steps in front of it there; None before."""

    timed: bool = True  # whether its time may be asked
    foreign: bool = False  # whether it is another process's, which says by itself when it is met
    queue: "NativeQueue | None" = None
    step: int = 0
    clock: dict[int, int] = field(factory=dict)  # the last work of each queue that is over when it is met

    @property
    def us(self) -> float:
        """When it is met."""
        assert self.queue is not None
        return self.queue.at(self.step)


@define(eq=False)
class NativeQueue:
    """A queue: what was given to it since the first notifier, each step a launch or a wait for another queue's notifier.

    ``fault`` is the address from which the kernel was launched that had the first fault; 0 where none had one.  Once a wait has
    returned that, the queue has ``failed``.  ``refused`` is the code of a launch that was refused, until a wait returns it.
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
        """How many steps were given to it."""
        return len(self._times) - 1 + len(self._pending)

    def forget(self) -> None:
        """Forget the errors of its launches."""
        self.fault, self.failed, self.refused = 0, False, 0

    def add(self, step: "Launch | tuple[NativeQueue, int]") -> None:
        """Add a launch, or the place of a notifier that is to be waited for."""
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
