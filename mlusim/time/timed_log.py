"""Logs with the time of their rows: all at one pace are worked out at once, as most are short."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.time.log import ARGUMENT, COLUMNS, KIND, MOVE_FLIGHT, OWN, CoreLog, Rows
from mlusim.time.pace import (
    FLIGHT,
    FRONT,
    IO,
    MOVE,
    SCALAR,
    TENSOR,
    VECTOR,
    Pace,
    Times,
    channels,
    moved,
    parts_of,
)

NO_TIMES: Rows = np.zeros(0, np.int64)


@frozen
class CoreSummary:
    """One core alone: each pipe's busy time in us, in the order of `Pipe`, and the off-chip bytes."""

    busy: tuple[float, ...]
    moved: int


@frozen(eq=False)
class TimedLog:
    """A log at a pace.

    ``parts`` has what its distinct rows take, of one chunk after the other, and ``ready`` the same rows as a clock
    takes them: kind, argument, load, off-chip bytes, then in us what comes in front, is computed, blocks, flies;
    the flight's channels.  ``busy`` is each pipe's time in us without asynchronous off-chip copies.
    """

    log: CoreLog
    pace: Pace
    parts: Times
    ready: Sequence[tuple[float, ...]]
    busy: tuple[float, ...]
    moved: int

    def rows(self) -> Iterator[list[tuple[float, ...]]]:
        """Yield the rows in order, as a clock takes them, a chunk at a time."""
        first = 0
        for distinct, turns in self.log.chunks:
            chunk = self.ready[first : first + len(distinct)]
            first += len(distinct)
            yield [chunk[turn] for turn in turns.tolist()]

    def all_parts(self) -> Times:
        """Return the times of the rows, in order."""
        found, first = [], 0
        for distinct, turns in self.log.chunks:
            found.append(self.parts[first : first + len(distinct)][turns])
            first += len(distinct)
        return np.concatenate(found) if found else np.zeros((0, FLIGHT + 1))

    def summary(self, flying: float) -> CoreSummary:
        """Add the rows up; *flying*: for how long asynchronous copies kept the IO-DMA busy, in us."""
        scalar, vector, tensor, io, move = self.busy
        return CoreSummary((scalar, vector, tensor, io + flying, move), self.moved)


@frozen(eq=False)
class Stack:
    """The distinct rows of some logs, one log behind the other, and what of them is the same at every pace.

    ``ends`` has for each log how many rows there are up to its end, ``times`` how often each row comes,
    ``totals`` the off-chip bytes of each log; ``known`` are the columns of what a clock takes that no pace changes.
    """

    logs: tuple[CoreLog, ...]
    rows: Rows
    ends: Sequence[int]
    times: Rows
    totals: Sequence[int]
    known: tuple[list[int], ...]

    @classmethod
    def of(cls, logs: Sequence[CoreLog]) -> "Stack":
        """Return the stack of *logs*."""
        # Behind each other, since NumPy costs per call: most logs have a few dozen distinct rows.
        chunks = [distinct for log in logs for distinct, _ in log.chunks]
        rows = np.concatenate(chunks) if chunks else np.zeros((0, COLUMNS), np.int64)
        ends = list(accumulate(sum([len(distinct) for distinct, _ in log.chunks]) for log in logs))
        times = np.concatenate([NO_TIMES, *(times for log in logs for times in log.times)])
        nbytes = moved(rows)
        columns: Iterable[Any] = (rows[:, KIND], rows[:, ARGUMENT], rows[:, OWN], nbytes, channels(rows))
        known = tuple(column.tolist() for column in columns)
        return cls(tuple(logs), rows, ends, times, _added(times * nbytes, ends).tolist(), known)

    def at(self, pace: Pace) -> list[TimedLog]:
        """Return each of the logs at *pace*."""
        parts = parts_of(self.rows, pace)
        kinds, arguments, own, nbytes, ways = self.known
        front, computed = parts[:, FRONT], parts[:, VECTOR] + parts[:, TENSOR]
        blocked = parts[:, SCALAR] + parts[:, IO] + parts[:, MOVE]
        taken = [column.tolist() for column in (front, computed, blocked, parts[:, FLIGHT])]
        ready = list(zip(kinds, arguments, own, nbytes, *taken, ways, strict=True))
        busy = _added(self.times[:, None] * _busy(self.rows, parts), self.ends).tolist()
        found, first = [], 0
        for log, last, pipes, total in zip(self.logs, self.ends, busy, self.totals, strict=True):
            found.append(TimedLog(log, pace, parts[first:last], ready[first:last], tuple(pipes), total))
            first = last
        return found


def _busy(rows: Rows, parts: Times) -> Times:
    """Time each of *rows* on the pipes that it keeps busy, off-chip flights apart."""
    busy = parts[:, FRONT : MOVE + 1].copy()
    busy[:, SCALAR] += parts[:, FRONT]
    busy[:, MOVE] += parts[:, FLIGHT] * (rows[:, KIND] == MOVE_FLIGHT)
    return busy[:, (SCALAR, VECTOR, TENSOR, IO, MOVE)]


def _added(values: Any, ends: Sequence[int]) -> Any:
    """Return the sums of *values* from one of *ends* to the next."""
    found = np.zeros((len(ends), *values.shape[1:]), values.dtype)
    lasts = np.array(ends)
    firsts = np.concatenate((lasts[:1] * 0, lasts[:-1]))  # a 0 in front, and nothing where there are no logs
    # reduceat returns the element itself for an empty range, and not 0.
    there = lasts > firsts
    if there.any():
        found[there] = np.add.reduceat(values, firsts[there], axis=0)
    return found
