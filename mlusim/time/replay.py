"""The time of the cores of one task or union without contention: a replay of their logs at a pace.

A core issues in order. Vector and tensor instructions form one stream beside it; the IO-DMA and the move-DMA
are two more. A blocking copy or a scalar access waits for the compute stream; an asynchronous copy is queued
on its pipe; waits and barriers wait. Every step starts at the latest of the times for which it waits, so more
work never makes anything end earlier.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from attrs import define, frozen

from mlusim.arch.board import Board
from mlusim.time.log import (
    ARGUMENT,
    ARRIVES,
    COLUMNS,
    END,
    FOR_COMPUTE,
    FOR_IO,
    FOR_MOVE,
    IO_FLIGHT,
    KIND,
    MEET,
    MOVE_FLIGHT,
    OWN,
    ROLE,
    WAIT,
    CoreLog,
    Rows,
    moved,
    stored_pieces,
)
from mlusim.time.pace import (
    FLIGHT,
    FRONT,
    IO,
    LOADING,
    MOVE,
    SCALAR,
    STORING,
    TENSOR,
    VECTOR,
    Pace,
    Times,
    channels,
    parts_of,
)
from mlusim.time.rates import BARRIER, DRAM_CEILING, Bound

# -- logs at a pace --------------------------------------------------------------------------------

NO_TIMES: Rows = np.zeros(0, np.int64)


@frozen
class CoreSummary:
    """One core without contention: the busy time of each pipe in us, in the order of `Pipe`, and the off-chip bytes."""

    busy: tuple[float, ...]
    moved: int


@frozen(eq=False)
class TimedLog:
    """A log evaluated at a pace.

    ``parts`` has the times of its distinct rows, chunk after chunk. ``ready`` has the same rows in the form
    for a clock: kind, argument, load, off-chip bytes; the times in us before the work, of the compute stream,
    of blocking work and of the flight; and the flight's channels. ``busy`` is each pipe's busy time in us
    without asynchronous off-chip copies.
    """

    log: CoreLog
    pace: Pace
    parts: Times
    ready: Sequence[tuple[float, ...]]
    busy: tuple[float, ...]
    moved: int

    def rows(self) -> Iterator[Iterable[tuple[float, ...]]]:
        """Yield the rows in order, as a clock takes them, a chunk at a time."""
        first = 0
        for distinct, turns in self.log.chunks:
            chunk = self.ready[first : first + len(distinct)]
            first += len(distinct)
            yield map(chunk.__getitem__, turns.tolist())

    def all_parts(self) -> Times:
        """Return the times of all rows, in order."""
        pieces, first = [], 0
        for distinct, turns in self.log.chunks:
            pieces.append(self.parts[first : first + len(distinct)][turns])
            first += len(distinct)
        return np.concatenate(pieces) if pieces else np.zeros((0, FLIGHT + 1))

    def summary(self, flying: float) -> CoreSummary:
        """Return the totals; *flying* is the time in which asynchronous copies occupy the IO-DMA, in us."""
        scalar, vector, tensor, io, move = self.busy
        return CoreSummary((scalar, vector, tensor, io + flying, move), self.moved)


@frozen(eq=False)
class Stack:
    """The distinct rows of several logs, concatenated, with everything that does not depend on the pace.

    ``ends`` has the end of each log among the rows, ``times`` the number of occurrences of each row,
    ``nbytes`` its off-chip bytes, ``stored`` its stored pieces; ``lists`` are the columns for a clock that do
    not depend on the pace.
    """

    logs: tuple[CoreLog, ...]
    rows: Rows
    ends: Sequence[int]
    times: Rows
    nbytes: Rows
    stored: Rows
    lists: tuple[list[int], ...]

    @classmethod
    def of(cls, logs: Sequence[CoreLog]) -> "Stack":
        """Return the stack of *logs*."""
        # Concatenated because NumPy has a cost per call, and most logs have a few dozen distinct rows.
        chunks = [distinct for log in logs for distinct, _ in log.chunks]
        rows = np.concatenate(chunks) if chunks else np.zeros((0, COLUMNS), np.int64)
        ends, times = [0], [NO_TIMES]
        for log in logs:
            ends.append(sum(map(len, log.times), ends[-1]))
            times += log.times
        columns: Iterable[Any] = (rows[:, KIND], rows[:, ARGUMENT], rows[:, OWN], channels(rows))
        lists = tuple([column.tolist() for column in columns])
        return cls(
            tuple(logs), rows, ends[1:], np.concatenate(times), moved(rows), stored_pieces(rows), lists
        )

    def at(self, pace: Pace) -> list[TimedLog]:
        """Return each of the logs at *pace*."""
        parts = parts_of(self.rows, pace)
        kinds, arguments, loads, ways = self.lists
        # For each stored piece the memory is busy with some additional bytes.
        nbytes = self.nbytes + self.stored * pace.piece
        totals = _added(self.times * nbytes, self.ends).tolist()
        front, computed = parts[:, FRONT], parts[:, VECTOR] + parts[:, TENSOR]
        blocked = parts[:, SCALAR] + parts[:, IO] + parts[:, MOVE]
        taken = [column.tolist() for column in (front, computed, blocked, parts[:, FLIGHT])]
        ready = list(zip(kinds, arguments, loads, nbytes.tolist(), *taken, ways, strict=True))
        busy = _added(self.times[:, None] * _busy(self.rows, parts), self.ends).tolist()
        timed, first = [], 0
        for log, last, pipes, total in zip(self.logs, self.ends, busy, totals, strict=True):
            timed.append(TimedLog(log, pace, parts[first:last], ready[first:last], tuple(pipes), total))
            first = last
        return timed


def _busy(rows: Rows, parts: Times) -> Times:
    """Return the busy time of each pipe for each of *rows*, without off-chip flights."""
    busy = parts[:, FRONT : MOVE + 1].copy()
    busy[:, SCALAR] += parts[:, FRONT]
    busy[:, MOVE] += parts[:, FLIGHT] * (rows[:, KIND] == MOVE_FLIGHT)
    return busy[:, (SCALAR, VECTOR, TENSOR, IO, MOVE)]


def _added(values: Any, ends: Sequence[int]) -> Any:
    """Return the sums of *values* between consecutive *ends*."""
    sums = np.zeros((len(ends), *values.shape[1:]), values.dtype)
    lasts = np.array(ends)
    firsts = np.concatenate((lasts[:1] * 0, lasts[:-1]))  # a 0 in front; empty without logs
    # For an empty range, reduceat returns the element itself instead of 0.
    there = lasts > firsts
    if there.any():
        sums[there] = np.add.reduceat(values, firsts[there], axis=0)
    return sums


# -- the replay ------------------------------------------------------------------------------------


@define
class CoreReplay:
    """Cores with the same replay: their time, and when their streams and outstanding operations end.

    ``cores`` is their number; all of them do the same at the same time.
    """

    rows: Iterator[tuple[float, ...]]
    pace: Pace
    cores: int = 1
    now: float = 0.0
    compute: float = 0.0
    load_free: float = 0.0
    store_free: float = 0.0
    flying: float = 0.0
    io_done: float = 0.0
    move_free: float = 0.0
    move_done: float = 0.0
    moved: float = 0.0

    def idle(self) -> float:
        """Return when the core and all its streams are done."""
        return max(self.now, self.compute, self.io_done, self.move_done)

    def advance(self) -> tuple[int, int] | None:
        """Continue to the next barrier, and return its number and number of cores; None at the end."""
        for kind, argument, meeting, nbytes, front, compute, blocking, flight, channel in self.rows:
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

    def _fly(self, kind: int, duration: float, channel: int) -> tuple[float, float]:
        """Queue an asynchronous copy and return its start and end; the next copy overlaps its latency."""
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
            # The channel is free when the last byte has left; the data arrives a latency later.
            latency = self.pace.off_chip if channel & LOADING else self.pace.stored
            self.io_done = max(self.io_done, end + self.pace.setup + latency)
            return begin, end
        begin = max(self.now, self.move_free)
        self.move_free = begin + duration
        self.move_done = self.move_free + self.pace.moving
        return begin, self.move_free

    def _wait(self, streams: int) -> None:
        if streams & FOR_IO:
            self.now = max(self.now, self.io_done)
        if streams & FOR_MOVE:
            self.now = max(self.now, self.move_done)
        if streams & FOR_COMPUTE:
            self.now = max(self.now, self.compute)


@frozen
class Alone:
    """A task or union without contention: the end and the busy times of each core in us, and the total off-chip bytes."""

    ends: tuple[float, ...]
    cores: tuple[CoreSummary, ...]

    @property
    def duration(self) -> float:
        """The end of the last core."""
        return max(self.ends)

    @property
    def moved(self) -> int:
        """Off-chip bytes of all cores."""
        return sum([core.moved for core in self.cores])


def replay(logs: Sequence[TimedLog], board: Board, bound: Bound = Bound.USUAL) -> Alone:
    """Replay the *logs* of cores that run together."""
    clocks = clocks_of(CoreReplay, logs)
    meet(list(clocks.values()), board, bound)
    done = {log: (clock.idle(), log.summary(clock.flying)) for log, clock in clocks.items()}
    ends, cores = zip(*[done[log] for log in logs], strict=True)
    return Alone(ends, cores)


Clock = TypeVar("Clock", bound=CoreReplay)


def clocks_of(kind: type[Clock], logs: Sequence[TimedLog]) -> dict[TimedLog, Clock]:
    """Return a clock of *kind* for each of *logs*, one for all cores that have it."""
    # Meetings have numbers, so that cores with one log are always in the same meeting.
    return {
        log: kind(chain.from_iterable(log.rows()), log.pace, cores) for log, cores in Counter(logs).items()
    }


class Halves:
    """Split barriers during a replay: the arrival times, and the waiting cores; *cost* is the cost of a barrier in us."""

    def __init__(self, cost: float) -> None:
        self._cost = cost
        self._arrived: dict[int, list[float]] = {}
        self._waiting: dict[int, list[CoreReplay]] = {}

    def met(self, clock: CoreReplay, role: int, number: int, needed: int) -> list[CoreReplay]:
        """Let *clock* arrive at or wait for a split barrier; return the clocks that may continue."""
        arrived, waiting = self._arrived.setdefault(number, []), self._waiting.setdefault(number, [])
        if role == ARRIVES:
            clock.now = clock.idle()
            arrived += [clock.now] * clock.cores
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
    """Advance *clocks* from barrier to barrier until all have ended.

    Between two barriers of all cores, the off-chip bytes of all cores take at least their time at the board's
    ceiling.
    """
    running, waiting = list(clocks), dict[int, list[CoreReplay]]()
    everyone = sum([clock.cores for clock in clocks])
    phase, cost = 0.0, barrier_us(board, bound)
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
        if sum([c.cores for c in group]) == needed:
            until = max([c.idle() for c in group])
            # Only a barrier of all cores divides the bytes by time; the concurrent traffic of other groups is
            # unknown here.
            if needed == everyone:
                until = phase = max(until, phase + _drained(clocks) / ceiling(board, bound))
            # All continue at the same time, when the last core has arrived and the off-chip bytes are
            # transferred.
            for c in group:
                c.now = until + cost
            running.extend(waiting.pop(number))


def _drained(clocks: Iterable[CoreReplay]) -> float:
    """Return the bytes of all *clocks* since the last call."""
    nbytes = 0.0
    for clock in clocks:
        nbytes += clock.moved * clock.cores
        clock.moved = 0.0
    return nbytes


def barrier_us(board: Board, bound: Bound = Bound.USUAL) -> float:
    """Return the time of a barrier on *board*, in us."""
    return BARRIER.at(bound, board) / board.clock_mhz


def ceiling(board: Board, bound: Bound = Bound.USUAL) -> float:
    """Return the bytes per us that the off-chip memory of *board* can transfer."""
    return board.bandwidth * DRAM_CEILING.at(bound, board) / 1e6
