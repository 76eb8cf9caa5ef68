"""The time of each row of the logs: the replay once more, with notes, for those who ask.

Times are those of a task or union by itself, in us from its start; `mlusim.time.timeline` puts them on the board.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.time.log import (
    END,
    FOR_COMPUTE,
    FOR_IO,
    FOR_MOVE,
    IO_FLIGHT,
    KIND,
    MEET,
    MOVE_FLIGHT,
    WAIT,
    CoreLog,
)
from mlusim.time.pace import Pace, Times
from mlusim.time.replay import CoreReplay, meet
from mlusim.time.timed_log import TimedLog

BEGIN, START, STOP, HERE, FIRST, LAST, CAUSE = range(7)
"""Times of a row: when the core comes to it; when its work starts on the compute stream or as a blocking
instruction, and stops; when the core comes to its flight, wait or meeting; first and last moment of that; and
what a wait was for in the end (FOR_IO, FOR_MOVE, FOR_COMPUTE or 0), of a meeting when the own pipes were done."""


@define
class TracedClock(CoreReplay):
    """A clock that notes its times at every row; what it adds up is what `CoreReplay` adds up."""

    noted: list[tuple[float, ...]] = field(factory=list)
    meeting: bool = False

    def advance(self) -> tuple[int, int] | None:
        """Go on to the next barrier, as `CoreReplay` does."""
        if self.meeting:
            *before, _, cause = self.noted[-1]
            self.noted[-1] = (*before, self.now, cause)
            self.meeting = False
        while self.at < len(self.chunk) or self._more():
            kind, argument, meeting, nbytes, front, compute, blocking, flight, channel = self.chunk[self.at]
            self.at += 1
            self.moved += nbytes
            begin = self.now
            self.now += front
            start = stop = max(self.compute, self.now)
            if compute:
                self.compute = stop = start + compute
            if blocking:
                self.compute = self.now = stop = max(self.now, self.compute) + blocking
            self.noted.append(
                (begin, start, stop, self.now, *self._act(int(kind), int(argument), flight, int(channel)))
            )
            if kind == MEET:
                self.meeting = True
                return int(argument), int(meeting)
        return None

    def _act(self, kind: int, argument: int, flight: float, channel: int) -> tuple[float, float, float]:
        """Return the flight, wait or end of a row: first and last moment, and the cause."""
        here = self.now
        if kind == WAIT:
            self._wait(argument)
            return here, self.now, float(self._cause(argument, here))
        if kind in (IO_FLIGHT, MOVE_FLIGHT):
            return *self._fly(kind, flight, channel), 0.0
        if kind == END:
            self.now = self.idle()
            return here, self.now, float(self._cause(FOR_IO | FOR_MOVE | FOR_COMPUTE, here))
        return here, here, self.idle()

    def _cause(self, streams: int, here: float) -> int:
        """Return the stream that finished last, if a wait from *here* on waited for it."""
        if self.now <= here:
            return 0
        done = ((FOR_IO, self.io_done), (FOR_MOVE, self.move_done), (FOR_COMPUTE, self.compute))
        return next(which for which, when in done if streams & which and when == self.now)


@frozen(eq=False)
class Track:
    """One core by itself: for each row its kind, its times and what it takes, in us."""

    timed: TimedLog
    kinds: np.ndarray[Any, np.dtype[np.int64]]
    times: Times
    parts: Times

    @property
    def log(self) -> CoreLog:
        """The log of the core."""
        return self.timed.log

    @property
    def pace(self) -> Pace:
        """The pace of the core."""
        return self.timed.pace

    @property
    def end(self) -> float:
        """When the core ends."""
        return float(self.times[-1, LAST]) if len(self.times) else 0.0

    def column(self, column: int) -> Any:
        """Return one column of all rows of the log."""
        chunks = [distinct[turns, column] for distinct, turns in self.log.chunks]
        return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)


def tracks(logs: Sequence[TimedLog], board: Board) -> list[Track]:
    """Replay cores that run together as `mlusim.time.replay` does, and note every row."""
    clocks = [TracedClock(log.rows(), log.pace) for log in logs]
    meet(clocks, board)
    return [_track(log, clock.noted) for log, clock in zip(logs, clocks, strict=True)]


def _track(timed: TimedLog, noted: list[tuple[float, ...]]) -> Track:
    kinds = [distinct[turns, KIND] for distinct, turns in timed.log.chunks]
    return Track(
        timed,
        np.concatenate(kinds) if kinds else np.zeros(0, np.int64),
        np.array(noted, np.float64).reshape(-1, 7),
        timed.all_parts(),
    )


# -- how intervals lie to each other -----------------------------------------------------------------

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@frozen(eq=False)
class Spans:
    """Intervals in us, and whose each is."""

    owner: Numbers
    starts: Times
    ends: Times


def joined(spans: Spans) -> Spans:
    """Return the union of the intervals of each owner, in order."""
    order = np.lexsort((spans.starts, spans.owner))
    owner, starts, ends = spans.owner[order], spans.starts[order], spans.ends[order]
    by_end = np.lexsort((ends, owner))
    rank = np.empty(len(ends), np.int64)
    rank[by_end] = np.arange(len(ends))  # every end of a later owner ranks above those of an earlier one
    reach = ends[by_end][np.maximum.accumulate(rank)]
    fresh = np.ones(len(starts), bool)
    fresh[1:] = (starts[1:] > reach[:-1]) | (owner[1:] != owner[:-1])
    last = np.concatenate([fresh[1:], np.ones(min(1, len(fresh)), bool)])
    return Spans(owner[fresh], starts[fresh], reach[last])


def coverage(spans: Sequence[Spans], owners: int) -> tuple[Times, Times]:
    """Return for how long at least one of the intervals of each owner lasts, and at least two."""
    owner = np.concatenate([s.owner for s in spans] * 2)
    when = np.concatenate([*(s.starts for s in spans), *(s.ends for s in spans)])
    change = np.repeat(np.array([1, -1]), len(owner) // 2)
    order = np.lexsort((when, owner))
    lasting, count, owner = np.diff(when[order]), np.cumsum(change[order])[:-1], owner[order][:-1]
    return tuple(  # type: ignore[return-value]
        np.bincount(owner[count >= least], lasting[count >= least], owners) for least in (1, 2)
    )
