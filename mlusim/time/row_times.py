"""The time of each log row and of its steps: a second replay with detailed times, on request.

Times are those of a task or union without contention, in us from its start; `mlusim.time.timeline` converts
them to times on the board.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

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
    OWN,
    STORES_OF,
    WAIT,
    CoreLog,
    CoreSteps,
)
from mlusim.time.pace import FLIGHT, FRONT, IO, SCALAR, VECTOR, Pace, Times, parts_of
from mlusim.time.replay import CoreReplay, TimedLog, clocks_of, meet

Numbers = np.ndarray[Any, np.dtype[np.int64]]

BEGIN, START, STOP, HERE, FIRST, LAST, CAUSE = range(7)
"""The times of a row, and the cause of a wait.

When the core reaches the row; start and stop of its work on the compute stream or as a blocking instruction;
when the core reaches its flight, wait or barrier; first and last moment of that; and the last stream for
which a wait waited (FOR_IO, FOR_MOVE, FOR_COMPUTE or 0), or for a barrier when the core's own pipes were
done.
"""


@define
class TracedClock(CoreReplay):
    """A clock that advances row by row and records the times of each row."""

    noted: list[tuple[float, ...]] = field(factory=list)
    row: tuple[float, ...] = ()  # the one that it is at
    _begin: float = 0.0  # when the core reached the row
    _busy: float = 0.0  # the end of its compute stream's work at that time
    _flight: tuple[float, float] = 0.0, 0.0

    def __attrs_post_init__(self) -> None:
        """Note each row when the next one is asked for: it is done then, a meeting when all have come."""
        self.rows = self._noting(self.rows)

    def _noting(self, rows: Iterator[tuple[float, ...]]) -> Iterator[tuple[float, ...]]:
        for self.row in rows:
            self._begin, self._busy = self.now, self.compute
            yield self.row
            self.note()

    def _fly(self, kind: int, duration: float, channel: int) -> tuple[float, float]:
        self._flight = super()._fly(kind, duration, channel)
        return self._flight

    def note(self) -> None:
        """Record the times of the finished row."""
        kind, argument, _, _, front, compute, blocking, _, _ = self.row
        self.row = ()
        here = self._begin + front
        start = stop = max(self._busy, here)
        if compute or blocking:
            stop = self.compute
        if blocking:
            here = self.compute
        self.noted.append((self._begin, start, stop, here, *self._acted(kind, int(argument), here)))

    def _acted(self, kind: float, argument: int, here: float) -> tuple[float, float, float]:
        """Return first and last moment, and the cause, of a row's flight, wait, barrier or end."""
        if kind == WAIT:
            return here, self.now, float(self._cause(argument, here))
        if kind in (IO_FLIGHT, MOVE_FLIGHT):
            return *self._flight, 0.0
        if kind == END:
            self.now = self.idle()
            return here, self.now, float(self._cause(FOR_IO | FOR_MOVE | FOR_COMPUTE, here))
        return here, self.now, max(here, self.compute, self.io_done, self.move_done)

    def _cause(self, streams: int, here: float) -> int:
        """Return the stream that finished last, if a wait that began at *here* waited for it."""
        if self.now <= here:
            return 0
        done = ((FOR_IO, self.io_done), (FOR_MOVE, self.move_done), (FOR_COMPUTE, self.compute))
        return next(which for which, when in done if streams & which and when == self.now)


@frozen(eq=False)
class Track:
    """One core without contention: the kind, the times and the parts of each row, in us."""

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
        """The end of the core."""
        return float(self.times[-1, LAST]) if len(self.times) else 0.0

    def column(self, column: int) -> Any:
        """Return one column of all rows of the log."""
        chunks = [distinct[turns, column] for distinct, turns in self.log.chunks]
        return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)


def tracks(logs: Sequence[TimedLog], board: Board) -> list[Track]:
    """Replay cores that run together as `mlusim.time.replay` does, and record every row."""
    clocks = clocks_of(TracedClock, logs)
    meet(list(clocks.values()), board)
    for clock in clocks.values():  # record the row of a core that still waits at a barrier
        if clock.row:
            clock.note()
    traced = {log: _track(log, clock.noted) for log, clock in clocks.items()}
    return [traced[log] for log in logs]


def _track(timed: TimedLog, noted: list[tuple[float, ...]]) -> Track:
    kinds = [distinct[turns, KIND] for distinct, turns in timed.log.chunks]
    return Track(
        timed,
        np.concatenate(kinds) if kinds else np.zeros(0, np.int64),
        np.array(noted, np.float64).reshape(-1, 7),
        timed.all_parts(),
    )


# -- overlap of intervals ----------------------------------------------------------------------------


@frozen(eq=False)
class Spans:
    """Intervals in us, each with its owner."""

    owner: Numbers
    starts: Times
    ends: Times


def joined(spans: Spans) -> Spans:
    """Return the union of each owner's intervals, in order."""
    order = np.lexsort((spans.starts, spans.owner))
    owner, starts, ends = spans.owner[order], spans.starts[order], spans.ends[order]
    by_end = np.lexsort((ends, owner))
    rank = np.empty(len(ends), np.int64)
    rank[by_end] = np.arange(len(ends))  # an end ranks above all ends of earlier owners
    reach = ends[by_end][np.maximum.accumulate(rank)]
    fresh = np.ones(len(starts), bool)
    fresh[1:] = (starts[1:] > reach[:-1]) | (owner[1:] != owner[:-1])
    last = np.concatenate([fresh[1:], np.ones(min(1, len(fresh)), bool)])
    return Spans(owner[fresh], starts[fresh], reach[last])


def coverage(spans: Sequence[Spans], owners: int) -> tuple[Times, Times]:
    """Return, for each owner, the time covered by at least one and by at least two of its intervals."""
    owner = np.concatenate([s.owner for s in spans] * 2)
    when = np.concatenate([*(s.starts for s in spans), *(s.ends for s in spans)])
    change = np.repeat(np.array([1, -1]), len(owner) // 2)
    order = np.lexsort((when, owner))
    lasting, count, owner = np.diff(when[order]), np.cumsum(change[order])[:-1], owner[order][:-1]
    return tuple(  # type: ignore[return-value]
        np.bincount(owner[count >= least], lasting[count >= least], owners) for least in (1, 2)
    )


# -- pieces: the work of rows and steps on each pipe -----------------------------------------------

# The work of a row is placed in program order from its start in the replay, so the pieces of a row end at its
# stop in the replay. If steps were not kept, the work of a row is one piece per pipe.

ON_SCALAR, ON_VECTOR, ON_TENSOR, ON_IO, ON_MOVE, WAITING, ON_STORE = range(7)
"""The track of a piece: a pipe, in the order of `mlusim.time.timing.PIPES`; a wait of the core; or the IO-DMA's store channel."""

_PIPE_OF = np.array([ON_VECTOR, ON_TENSOR, ON_SCALAR, ON_IO, ON_MOVE])  # for a row's parts VECTOR to MOVE


@frozen(eq=False)
class Pieces:
    """Pieces as columns: the log row, the track, start and end, and the step number (-1: a whole row)."""

    row: Numbers
    where: Numbers
    start: Times
    end: Times
    step: Numbers

    def __len__(self) -> int:
        return len(self.row)

    def chosen(self, which: Any) -> "Pieces":
        """Return the pieces selected by *which*, an index or a mask."""
        columns = (self.row, self.where, self.start, self.end, self.step)
        return Pieces(*[column[which] for column in columns])


@frozen(eq=False)
class _Kept:
    """The stored steps of a core: the time and row of each, and the first step of its row."""

    steps: CoreSteps
    parts: Times  # of each step
    owner_parts: Times  # of the step to which each row belongs
    row: Numbers
    first: Numbers  # the first step in the row of each step

    @classmethod
    def of(cls, track: Track, steps: CoreSteps | None) -> "_Kept | None":
        if steps is None or not len(steps.table.steps):
            return None
        table = parts_of(steps.table.rows, track.pace)
        turns = np.arange(len(steps.turns))
        row = np.searchsorted(steps.cuts, turns, side="right")
        begins = np.concatenate([[0], steps.cuts])
        parts = table[steps.turns]
        # Copies of one row overlap each other's latency, so together they may take less than their sum.
        each, whole = np.bincount(row, parts[:, IO], len(begins)), len(steps.cuts)
        scale = np.ones(len(begins))
        np.divide(track.parts[:whole, IO], each[:whole], out=scale[:whole], where=each[:whole] > 0)
        parts[:, IO] *= scale[row]
        return cls(steps, parts, table[steps.rows], row, begins[row] if len(row) else row)

    @property
    def whole(self) -> int:
        """The number of rows with all their steps."""
        return len(self.steps.cuts)


def pieces(track: Track, steps: CoreSteps | None) -> Pieces:
    """Return the pieces of a core, by row; *steps* is None if it kept none."""
    noted = _Kept.of(track, steps)
    parts = [*_rows(track, noted), _flights(track, noted), _waits(track, noted), _queues(track, noted)]
    if noted is not None:
        parts += [_fronts(track, noted), _work(track, noted)]
    columns = zip(*[(p.row, p.where, p.start, p.end, p.step) for p in parts], strict=True)
    whole = Pieces(*map(np.concatenate, columns))
    return whole.chosen(np.argsort(whole.start, kind="stable"))


def _made(row: Any, where: Any, start: Any, lasting: Any, step: Any) -> Pieces:
    """Return pieces from columns or scalars, without pieces of zero duration."""
    row, where, start, lasting, step = np.broadcast_arrays(row, where, start, lasting, step)
    there = lasting > 0
    start = start[there]
    return Pieces(row[there], where[there], start, start + lasting[there], step[there])


def _owners(noted: _Kept | None, rows: Numbers) -> Numbers:
    """Return the steps to which *rows* belong, -1 if unknown."""
    if noted is None:
        return np.full(len(rows), -1)
    owners = noted.steps.rows
    return np.where(rows < len(owners), owners[np.minimum(rows, len(owners) - 1)], -1)


def _work(track: Track, noted: _Kept) -> Pieces:
    """Return the work of steps on the compute stream, and blocking work, in order."""
    parts = noted.parts[:, VECTOR:FLIGHT]
    before = np.concatenate([[0.0], np.cumsum(parts)])[:-1].reshape(parts.shape)
    start = track.times[noted.row, START][:, None] + before - before[noted.first, :1]
    return _made(noted.row[:, None], _PIPE_OF, start, parts, noted.steps.turns[:, None])


def _fronts(track: Track, noted: _Kept) -> Pieces:
    """Return the scalar operations of steps, before the work of their row."""
    front = noted.parts[:, FRONT]
    before = np.concatenate([[0.0], np.cumsum(front)])[:-1]
    start = track.times[noted.row, BEGIN] + before - before[noted.first]
    return _made(noted.row, ON_SCALAR, start, front, noted.steps.turns)


def _rows(track: Track, noted: _Kept | None) -> Iterator[Pieces]:
    """Yield the parts of rows outside their stored steps: the issue of a flight, wait or barrier, and work without steps."""
    rows, parts = np.arange(len(track.kinds)), track.parts[:, :FLIGHT].copy()
    done = np.zeros_like(parts)
    if noted is not None:
        owned = min(len(noted.owner_parts), len(rows))
        parts[: noted.whole] = 0.0
        if noted.whole < len(rows):
            begun = noted.row == noted.whole
            done[noted.whole] = noted.parts[begun, :FLIGHT].sum(axis=0)
            parts[noted.whole] = np.maximum(parts[noted.whole] - done[noted.whole], 0.0)
        issue = noted.owner_parts[: min(owned, noted.whole), FRONT]
        issued = rows[: len(issue)]
        at = track.times[issued, BEGIN] + track.parts[issued, FRONT] - issue
        yield _made(issued, ON_SCALAR, at, issue, _owners(noted, issued))
    yield _made(rows, ON_SCALAR, track.times[:, BEGIN] + done[:, FRONT], parts[:, FRONT], -1)
    work, offset = parts[:, VECTOR:FLIGHT], done[:, VECTOR:FLIGHT].sum(axis=1)
    start = (track.times[:, START] + offset)[:, None] + np.cumsum(work, axis=1) - work
    yield _made(rows[:, None], _PIPE_OF, start, work, -1)


def _flights(track: Track, noted: _Kept | None) -> Pieces:
    """Return asynchronous effects on their pipes."""
    rows = np.flatnonzero((track.kinds == IO_FLIGHT) | (track.kinds == MOVE_FLIGHT))
    storing = track.column(STORES_OF)[rows] == track.column(OWN)[rows]
    off_chip = np.where(storing & (track.column(OWN)[rows] > 0), ON_STORE, ON_IO)
    where = np.where(track.kinds[rows] == IO_FLIGHT, off_chip, ON_MOVE)
    return _made(rows, where, track.times[rows, FIRST], track.parts[rows, FLIGHT], _owners(noted, rows))


def _waits(track: Track, noted: _Kept | None) -> Pieces:
    """Return waits for pipes, at barriers, and at the end."""
    kinds = track.kinds
    rows = np.flatnonzero((kinds == WAIT) | (kinds == MEET) | (kinds == END))
    first, last = track.times[rows, FIRST], track.times[rows, LAST]
    waits = _made(rows, WAITING, first, last - first, _owners(noted, rows))
    return evolve(waits, end=track.times[waits.row, LAST])


def _queues(track: Track, noted: _Kept | None) -> Pieces:
    """Return waits of blocking instructions for the compute stream; they belong to the first blocking step of the row."""
    times = track.times
    ready = times[:, BEGIN] + track.parts[:, FRONT]
    rows = np.flatnonzero((times[:, HERE] >= times[:, START]) & (times[:, START] > ready))
    owner = np.full(len(rows), -1)
    if noted is not None and len(noted.row):
        blocking = np.flatnonzero(noted.parts[:, SCALAR:FLIGHT].sum(axis=1) > 0)
        at = np.searchsorted(noted.row[blocking], rows)
        inside = at < len(blocking)
        steps = blocking[at[inside]]
        same = noted.row[steps] == rows[inside]
        owner[np.flatnonzero(inside)[same]] = noted.steps.turns[steps[same]]
    return _made(rows, WAITING, ready[rows], times[rows, START] - ready[rows], owner)
