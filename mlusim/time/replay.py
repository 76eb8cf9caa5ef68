"""How long the cores of one task or union take by themselves: a replay of their logs.

A core issues in order.  Vector and tensor instructions are one stream beside it, the IO-DMA and the
move-DMA are two more.  A blocking copy or a scalar access waits for the compute stream; an
asynchronous copy takes its turn on its pipe; waits and barriers wait.  Every step takes the later of
what it waits for plus its own duration, so more work anywhere ends nothing earlier.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.time.log import (
    ARRIVES,
    END,
    FOR_COMPUTE,
    FOR_IO,
    FOR_MOVE,
    IO_FLIGHT,
    MEET,
    ROLE,
    WAIT,
)
from mlusim.time.pace import LOADING, STORING, Pace
from mlusim.time.rates import BARRIER, DRAM_CEILING, Bound

if TYPE_CHECKING:
    from mlusim.time.timed_log import TimedLog


@define
class CoreReplay:
    """One core during a replay: its time, when its streams are free, and when what they do is done."""

    rows: Iterator[list[tuple[float, ...]]]
    pace: Pace
    now: float = 0.0
    compute: float = 0.0
    load_free: float = 0.0
    store_free: float = 0.0
    flying: float = 0.0
    io_done: float = 0.0
    move_free: float = 0.0
    move_done: float = 0.0
    moved: float = 0.0
    chunk: list[tuple[float, ...]] = field(factory=list)
    at: int = 0

    def idle(self) -> float:
        """When the core and its streams are all done."""
        return max(self.now, self.compute, self.io_done, self.move_done)

    def advance(self) -> tuple[int, int] | None:
        """Go on to the next barrier, and return its number and how many meet; None at the end."""
        while self.at < len(self.chunk) or self._more():
            kind, argument, meeting, nbytes, front, compute, blocking, flight, channel = self.chunk[self.at]
            self.at += 1
            self.moved += nbytes
            self.now += front
            if compute:
                self.compute = max(self.compute, self.now) + compute
            if blocking:
                self.compute = self.now = max(self.now, self.compute) + blocking
            if kind == WAIT:
                self._wait(int(argument))
            elif kind == MEET:
                return int(argument), int(meeting)
            elif kind != END:
                self._fly(int(kind), flight, int(channel))
        self.now = self.idle()
        return None

    def _more(self) -> bool:
        self.chunk, self.at = next(self.rows, []), 0
        return bool(self.chunk)

    def _fly(self, kind: int, duration: float, channel: int) -> tuple[float, float]:
        """An asynchronous copy takes its turn; the latency of one is hidden behind the next.  When it starts and ends."""
        if kind == IO_FLIGHT:
            begin = max(
                self.now,
                self.load_free if channel & LOADING else 0.0,
                self.store_free if channel & STORING else 0.0,
            )
            end = begin + duration
            self.flying += max(0.0, end - max(begin, self.load_free, self.store_free))
            if channel & LOADING:
                self.load_free = end
            if channel & STORING:
                self.store_free = end
            # The channel is free when the last byte has left; the data is there a latency later.
            self.io_done = max(self.io_done, end + self.pace.setup + self.pace.off_chip)
            return begin, end
        begin = max(self.now, self.move_free)
        self.move_free = begin + duration
        self.move_done = self.move_free + self.pace.setup
        return begin, self.move_free

    def _wait(self, streams: int) -> None:
        if streams & FOR_IO:
            self.now = max(self.now, self.io_done)
        if streams & FOR_MOVE:
            self.now = max(self.now, self.move_done)
        if streams & FOR_COMPUTE:
            self.now = max(self.now, self.compute)


@frozen
class Cores:
    """The result of a replay: when each core ends, in us from the start of its task or union.

    ``flying`` is for how long asynchronous copies keep its IO-DMA busy, on one channel or both.
    """

    ends: tuple[float, ...]
    flying: tuple[float, ...]

    @property
    def duration(self) -> float:
        """When the last core ends."""
        return max(self.ends)


def replay(logs: "Sequence[TimedLog]", board: Board, bound: Bound = Bound.USUAL) -> Cores:
    """Replay the *logs* of cores that run together."""
    clocks = [CoreReplay(log.rows(), log.pace) for log in logs]
    meet(clocks, board, bound)
    return Cores(tuple(clock.idle() for clock in clocks), tuple(clock.flying for clock in clocks))


class Halves:
    """Split barriers during a replay: when cores arrived, and who waits; *cost* is that of a barrier, in us."""

    def __init__(self, cost: float) -> None:
        self._cost = cost
        self._arrived: dict[int, list[float]] = {}
        self._waiting: dict[int, list[CoreReplay]] = {}

    def met(self, clock: CoreReplay, role: int, number: int, needed: int) -> list[CoreReplay]:
        """Let *clock* arrive or wait; return those that go on."""
        arrived, waiting = self._arrived.setdefault(number, []), self._waiting.setdefault(number, [])
        if role == ARRIVES:
            clock.now = clock.idle()
            arrived.append(clock.now)
            free = [clock]
        else:
            waiting.append(clock)
            free = []
        if len(arrived) == needed:
            for other in waiting:
                other.now = max(other.now, *arrived) + self._cost
            free += waiting
            waiting.clear()
        return free


def meet(clocks: Sequence[CoreReplay], board: Board, bound: Bound = Bound.USUAL) -> None:
    """Let *clocks* go on from barrier to barrier until all have ended.

    Between two barriers that all of them meet at, the off-chip bytes of all take at least their time at the
    board's ceiling.
    """
    running, waiting = list(clocks), dict[int, list[CoreReplay]]()
    phase, cost = 0.0, BARRIER.at(bound, board) / board.clock_mhz
    halves = Halves(cost)
    while running:
        clock = running.pop()
        met = clock.advance()
        if met is None:
            continue
        number, needed = met
        role, needed = divmod(needed, ROLE)
        if role:
            running += halves.met(clock, role, number, needed)
            continue
        group = waiting.setdefault(number, [])
        group.append(clock)
        if len(group) == needed:
            until = max(c.idle() for c in group)
            # Only a barrier of all divides the bytes by time; what other groups move beside is not known here.
            if needed == len(clocks):
                until = phase = max(until, phase + _drained(clocks) / ceiling(board, bound))
            # All of them go on at once, when the last one has come and the off-chip bytes are through.
            for c in group:
                c.now = until + cost
            running.extend(waiting.pop(number))


def _drained(clocks: Iterable[CoreReplay]) -> float:
    """Return the bytes of all *clocks* since they were last asked."""
    nbytes = 0.0
    for clock in clocks:
        nbytes += clock.moved
        clock.moved = 0.0
    return nbytes


def ceiling(board: Board, bound: Bound = Bound.USUAL) -> float:
    """Bytes per us that the off-chip memory of *board* reaches."""
    return board.bandwidth * DRAM_CEILING.at(bound, board) / 1e6
