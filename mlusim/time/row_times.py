"""Where each row of the logs lies in time: the replay once more, with notes, for those who ask.

Times are those of a task or union by itself, in us from its start; `machine.timeline` puts them on the board.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.time import quantities
from mlusim.time.log import (
    END,
    FOR_COMPUTE,
    FOR_IO,
    FOR_MOVE,
    IO_FLIGHT,
    KIND,
    LOADS,
    MEET,
    MOVE_FLIGHT,
    SUMS,
    WAIT,
    CoreLog,
    Rows,
)
from mlusim.time.replay import CoreReplay, Pace, durations, io, meet, move, prepared, scalar, vector

BEGIN, START, STOP, HERE, FIRST, LAST, CAUSE = range(7)
"""Times of a row: when the core comes to it; when its work starts on the compute stream or as a blocking
instruction, and stops; when the core comes to its flight, wait or meeting; first and last moment of that; and
what a wait was for in the end (FOR_IO, FOR_MOVE, FOR_COMPUTE or 0), of a meeting when the own pipes were done."""

FRONT, VECTOR, TENSOR, SCALAR, IO, MOVE, FLIGHT = range(7)
"""What a row takes: before its work, then its work in the order in which it is placed, then its flight."""

Times = np.ndarray[Any, np.dtype[np.float64]]


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
        """The flight, wait or end of a row: first and last moment, and the cause."""
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
        """The stream that finished last, if a wait from *here* on waited for it."""
        if self.now <= here:
            return 0
        done = ((FOR_IO, self.io_done), (FOR_MOVE, self.move_done), (FOR_COMPUTE, self.compute))
        return next(which for which, when in done if streams & which and when == self.now)


@frozen(eq=False)
class Track:
    """One core by itself: for each row its kind, its times and what it takes, in us."""

    log: CoreLog
    pace: Pace
    kinds: np.ndarray[Any, np.dtype[np.int64]]
    times: Times
    parts: Times

    @property
    def end(self) -> float:
        """When the core ends."""
        return float(self.times[-1, LAST]) if len(self.times) else 0.0

    def column(self, column: int) -> Any:
        """One column of all rows of the log."""
        chunks = [distinct[turns, column] for distinct, turns in self.log.chunks]
        return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)


def parts_of(rows: Rows, pace: Pace) -> Times:
    """What each of *rows* takes, in us: the columns `FRONT` to `FLIGHT`."""
    sums, found = rows[:, SUMS:LOADS], durations(rows, pace)
    columns = (
        found.front,
        vector(sums, pace),
        sums[:, quantities.TENSOR_CYCLES] * pace.cycle,
        scalar(rows, pace),
        io(sums, pace),
        move(sums, pace),
        found.flight,
    )
    return np.stack(columns, axis=1)


def tracks(logs: Sequence[CoreLog], paces: Sequence[Pace], board: Board) -> list[Track]:
    """Replay cores that run together as `machine.replay` does, and note every row."""
    clocks = [TracedClock(prepared(log, pace), pace) for log, pace in zip(logs, paces, strict=True)]
    meet(clocks, board)
    return [_track(log, pace, clock.noted) for log, pace, clock in zip(logs, paces, clocks, strict=True)]


def _track(log: CoreLog, pace: Pace, noted: list[tuple[float, ...]]) -> Track:
    kinds = [distinct[turns, KIND] for distinct, turns in log.chunks]
    parts = [parts_of(distinct, pace)[turns] for distinct, turns in log.chunks]
    return Track(
        log,
        pace,
        np.concatenate(kinds) if kinds else np.zeros(0, np.int64),
        np.array(noted, np.float64).reshape(-1, 7),
        np.concatenate(parts) if parts else np.zeros((0, 7)),
    )


# -- what overlaps ---------------------------------------------------------------------------------


def busy_spans(track: Track) -> list[tuple[int, Times, Times]]:
    """The streams of a core that are busy side by side: (kind of stream, starts, ends).

    Streams: the front of issue, the compute stream with what blocks it, the flights of IO-DMA and move-DMA.
    """
    times, parts = track.times, track.parts
    found = [
        (FRONT, times[:, BEGIN], times[:, BEGIN] + parts[:, FRONT]),
        (VECTOR, times[:, START], times[:, STOP]),
    ]
    for stream, kind in ((IO, IO_FLIGHT), (MOVE, MOVE_FLIGHT)):
        rows = track.kinds == kind
        found.append((stream, *joined(times[rows, FIRST], times[rows, LAST])))
    return found


def joined(starts: Times, ends: Times) -> tuple[Times, Times]:
    """The union of intervals: where it begins and ends."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    fresh = np.ones(len(starts), bool)
    fresh[1:] = starts[1:] > ends[:-1]
    last = np.flatnonzero(np.concatenate([fresh[1:], [True]]))[: fresh.sum()]
    return starts[fresh], ends[last]


def coverage(spans: Sequence[tuple[Times, Times]]) -> tuple[float, float]:
    """For how long at least one of *spans* (starts, ends) lasts, and at least two."""
    starts = np.concatenate([s for s, _ in spans])
    ends = np.concatenate([e for _, e in spans])
    when = np.concatenate([starts, ends])
    change = np.concatenate([np.ones(len(starts), np.int64), np.full(len(ends), -1)])
    order = np.argsort(when, kind="stable")
    lasting = np.diff(when[order])
    count = np.cumsum(change[order])[:-1]
    return float(lasting[count >= 1].sum()), float(lasting[count >= 2].sum())
