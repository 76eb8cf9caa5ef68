"""Logs with the time of their rows, of tasks that run together: all at one pace are worked out at once, as most are short."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Board
from mlusim.time import quantities
from mlusim.time.log import ARGUMENT, KIND, MOVE_FLIGHT, OWN, SUMS, CoreLog, Rows
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
from mlusim.time.rates import Bound

if TYPE_CHECKING:
    from mlusim.time.task_work import TaskWork

MOST_ROWS = 1 << 16  # distinct rows that are timed together, which bounds the memory
GroupKey = tuple[tuple[CoreLog, bool, int], ...]
PIPES = 5


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
        """The rows in order, as a clock takes them, a chunk at a time."""
        first = 0
        for distinct, turns in self.log.chunks:
            chunk = self.ready[first : first + len(distinct)]
            first += len(distinct)
            yield [chunk[turn] for turn in turns.tolist()]

    def all_parts(self) -> Times:
        """What the rows take, in order."""
        found, first = [], 0
        for distinct, turns in self.log.chunks:
            found.append(self.parts[first : first + len(distinct)][turns])
            first += len(distinct)
        return np.concatenate(found) if found else np.zeros((0, FLIGHT + 1))

    def summary(self, flying: float) -> CoreSummary:
        """What the rows add up to; *flying*: for how long asynchronous copies kept the IO-DMA busy, in us."""
        scalar, vector, tensor, io, move = self.busy
        return CoreSummary((scalar, vector, tensor, io + flying, move), self.moved)


def timed(logs: Sequence[CoreLog], paces: Sequence[Pace]) -> list[TimedLog]:
    """Each of *logs* at its pace."""
    members: dict[Pace, list[int]] = {}
    for number, pace in enumerate(paces):
        members.setdefault(pace, []).append(number)
    found: dict[int, TimedLog] = {}
    for pace, numbers in members.items():
        found |= zip(numbers, _timed([logs[number] for number in numbers], pace), strict=True)
    return [found[number] for number in range(len(logs))]


def _timed(logs: Sequence[CoreLog], pace: Pace) -> Iterator[TimedLog]:
    chunks = [chunk for log in logs for chunk in log.chunks]
    sizes = [sum(len(distinct) for distinct, _ in log.chunks) for log in logs]
    if not chunks:
        yield from (TimedLog(log, pace, np.zeros((0, FLIGHT + 1)), (), (0.0,) * PIPES, 0) for log in logs)
        return
    rows = np.concatenate([distinct for distinct, _ in chunks])
    times = np.concatenate([times for log in logs for times in log.times])
    parts, nbytes = parts_of(rows, pace), moved(rows)
    ready = _ready(rows, parts, nbytes)
    busy = _added(times[:, None] * _busy(rows, parts), sizes).tolist()
    totals = _added(times * nbytes, sizes).tolist()
    first = 0
    for log, size, pipes, total in zip(logs, sizes, busy, totals, strict=True):
        last = first + size
        yield TimedLog(log, pace, parts[first:last], ready[first:last], tuple(pipes), total)
        first = last


def _ready(rows: Rows, parts: Times, nbytes: Any) -> list[tuple[float, ...]]:
    columns: Iterable[Any] = (
        rows[:, KIND],
        rows[:, ARGUMENT],
        rows[:, OWN],
        nbytes,
        parts[:, FRONT],
        parts[:, VECTOR] + parts[:, TENSOR],
        parts[:, SCALAR] + parts[:, IO] + parts[:, MOVE],
        parts[:, FLIGHT],
        channels(rows),
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _busy(rows: Rows, parts: Times) -> Times:
    """What each of *rows* keeps the pipes busy with, off-chip flights apart."""
    busy = parts[:, FRONT : MOVE + 1].copy()
    busy[:, SCALAR] += parts[:, FRONT]
    busy[:, MOVE] += parts[:, FLIGHT] * (rows[:, KIND] == MOVE_FLIGHT)
    return busy[:, (SCALAR, VECTOR, TENSOR, IO, MOVE)]


def _added(values: Any, sizes: Sequence[int]) -> Any:
    """The sums of as many of *values* in turn as *sizes* say."""
    found = np.zeros((len(sizes), *values.shape[1:]), values.dtype)
    sized = np.array(sizes)
    firsts = np.cumsum(sized) - sized
    there = sized > 0
    found[there] = np.add.reduceat(values, firsts[there], axis=0)
    return found


# -- tasks that run together -------------------------------------------------------------------------


def groups_of(tasks: "Sequence[TaskWork]") -> "list[list[TaskWork]]":
    """The tasks that run together, in the order in which they begin; of a Block launch each by itself."""
    groups: dict[int, list[TaskWork]] = {}
    for task in sorted(tasks, key=lambda t: (t.task, t.memory_core)):
        groups.setdefault(task.union, []).append(task)
    return list(groups.values())


def distinct(groups: "Iterable[list[TaskWork]]") -> "dict[GroupKey, list[TaskWork]]":
    """One of *groups* for each that takes another time by itself."""
    return {key_of(group): group for group in groups}


def key_of(group: "Sequence[TaskWork]") -> GroupKey:
    """What the time of *group* by itself depends on."""
    return tuple((task.log, task.memory_core, task.cluster) for task in group)


class Paces:
    """The paces of the cores of *board*, with every constant at *bound*."""

    def __init__(self, board: Board, bound: Bound = Bound.USUAL) -> None:
        self._board = board
        self._bound = bound
        self._known: dict[tuple[bool, int], Pace] = {}

    def of(self, group: "Sequence[TaskWork]") -> list[Pace]:
        """The pace of each core of *group*; those of a cluster that use its SRAM share the port."""
        users: dict[int, int] = {}
        for task in group:
            users[task.cluster] = users.get(task.cluster, 0) + uses_sram(task.log)
        return [self._pace(task.memory_core, users[task.cluster]) for task in group]

    def _pace(self, memory_core: bool, sharers: int) -> Pace:
        key = memory_core, sharers
        if key not in self._known:
            self._known[key] = Pace.of(
                self._board, memory_core=memory_core, sharers=sharers, bound=self._bound
            )
        return self._known[key]

    def timed(self, groups: "Iterable[list[TaskWork]]") -> Iterator[list[list[TimedLog]]]:
        """The logs of each of *groups*, as many groups at once as have `MOST_ROWS` rows."""
        waiting: list[list[TaskWork]] = []
        rows = 0
        for group in groups:
            waiting.append(group)
            rows += sum(len(found) for task in group for found, _ in task.log.chunks)
            if rows >= MOST_ROWS:
                yield self._together(waiting)
                waiting, rows = [], 0
        if waiting:
            yield self._together(waiting)

    def _together(self, groups: "Sequence[list[TaskWork]]") -> list[list[TimedLog]]:
        logs = [task.log for group in groups for task in group]
        found = iter(timed(logs, [pace for group in groups for pace in self.of(group)]))
        return [[next(found) for _ in group] for group in groups]


def timed_group(group: "Sequence[TaskWork]", board: Board) -> list[TimedLog]:
    """The logs of *group* at the paces of their cores."""
    return timed([task.log for task in group], Paces(board).of(group))


def uses_sram(log: CoreLog) -> bool:
    """Whether a core copied to or from SRAM."""
    total = log.total
    return bool(total[SUMS + quantities.SRAM_BYTES] or total[SUMS - 1])
