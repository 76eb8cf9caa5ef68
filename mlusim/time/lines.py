"""The time of each source line of a kernel, over all tasks: busy pipes, waits, bytes and counts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.errors import UsageError
from mlusim.time.log import IO_FLIGHT, KIND, LEAVE, CoreSteps, Table, TaskWork
from mlusim.time.pace import FLIGHT, FRONT, IO, MOVE, SCALAR, TENSOR, VECTOR, Times, parts_of
from mlusim.time.row_times import WAITING, Track, pieces, tracks
from mlusim.time.timing import PIPES, Beside, TaskSpan, groups_of, neighbours, timed_group


@frozen
class Line:
    """One source line of the kernel, over all tasks of the launch; times in us, added up.

    ``busy_us`` is by pipe; "scalar" is the time of issue and of scalar accesses. ``wait_us`` is the time in
    which cores wait at this line for their pipes or for other cores, ``memory_us`` the additional time
    because cores share the off-chip memory. ``count`` is the number of instructions and scalar accesses,
    ``nbytes`` the number of copied bytes. ``names`` are the intrinsics. The end of a task, where a core waits
    for its flights, is line 0.
    """

    file: str
    line: int
    count: int
    busy_us: Mapping[str, float]
    wait_us: float
    memory_us: float
    nbytes: int
    names: tuple[str, ...]

    @property
    def time_us(self) -> float:
        """The total time: busy on any pipe, and waiting."""
        return sum(self.busy_us.values()) + self.wait_us + self.memory_us


@define
class _LineSums:
    """The sums of one line."""

    count: int = 0
    busy: Times = field(factory=lambda: np.zeros(len(PIPES)))
    wait: float = 0.0
    memory: float = 0.0
    nbytes: int = 0
    names: dict[str, None] = field(factory=dict)


def lines(tasks: Sequence[TaskWork], spans: Sequence[TaskSpan], board: Board) -> tuple[Line, ...]:
    """Return the lines of a launch, ordered by file and line. Raises `UsageError` if the launch kept no steps."""
    if not tasks or any(task.steps is None for task in tasks):
        raise UsageError(
            "the launch kept no instructions, so nothing is known of its lines; launch it timed and with "
            "observe=[mlusim.EveryStep()]"
        )
    table = next(task.steps.table for task in tasks if task.steps is not None)
    sums: dict[int, _LineSums] = {}
    beside = neighbours(tasks, board)
    for alike in _alike(tasks, spans):
        _add(sums, table, _cores(alike.group, board, beside), alike)
    every = []
    for site, s in sums.items():
        busy = dict(zip(PIPES, s.busy.tolist(), strict=True))
        every.append(Line(*table.sites[site], s.count, busy, s.wait, s.memory, s.nbytes, tuple(s.names)))
    some = (line for line in every if line.count or line.time_us)
    return tuple(sorted(some, key=lambda line: (line.file, line.line)))


@define(eq=False)
class _Alike:
    """A task or union, the number of equal ones, and their total running time over all cores in us."""

    group: Sequence[TaskWork]
    number: int = 0
    lasting: float = 0.0


def _alike(tasks: Sequence[TaskWork], spans: Sequence[TaskSpan]) -> Iterable[_Alike]:
    alike: dict[Any, _Alike] = {}
    at = 0
    for group in groups_of(tasks):
        # Compared by identity of logs: tasks with equal work share a log, and are replayed once.
        key = tuple((t.log, t.steps, t.memory_core, t.cluster) for t in group)
        same = alike.setdefault(key, _Alike(group))
        same.number += 1
        same.lasting += sum(span.end_us - span.start_us for span in spans[at : at + len(group)])
        at += len(group)
    return alike.values()


@frozen(eq=False)
class _Core:
    """One core without contention: its end, and by step number the busy time per pipe, the waiting time and the count."""

    end: float
    busy: Times
    wait: Times
    times: Any


def _cores(group: Sequence[TaskWork], board: Board, beside: Beside) -> list["_Core"]:
    timed = tracks(timed_group(group, board, beside), board)
    return [
        _core(track, task.steps) for track, task in zip(timed, group, strict=True) if task.steps is not None
    ]


def _core(track: Track, steps: CoreSteps) -> _Core:
    rows = steps.table.rows
    parts, size = parts_of(rows, track.pace), len(rows)
    times = np.zeros(size, np.int64)
    times[: len(steps.times)] = steps.times
    # Copies of one row overlap each other's latency, so together they may take less than their sum.
    each = math.fsum(parts[:, IO] * times)
    parts[:, IO] *= float(track.parts[:, IO].sum()) / each if each else 1.0
    flies = rows[:, KIND] == IO_FLIGHT
    flight = parts[:, FLIGHT]
    busy = np.stack(
        [
            parts[:, FRONT] + parts[:, SCALAR],
            parts[:, VECTOR],
            parts[:, TENSOR],
            parts[:, IO] + flight * flies,
            parts[:, MOVE] + flight * ~flies,
        ],
        axis=1,
    )
    spans = pieces(track, steps)
    waits = spans.chosen((spans.where == WAITING) & (spans.step >= 0))
    wait = np.bincount(waits.step, waits.end - waits.start, minlength=size).astype(np.float64)
    return _Core(track.end, busy * times[:, None], wait, times)


def _add(sums: dict[int, _LineSums], table: Table, cores: Sequence[_Core], alike: _Alike) -> None:
    """Add the *cores* of equal groups. Waits for the shared memory are distributed to the lines that use it, in proportion."""
    busy, wait, times = (
        alike.number * sum(getattr(core, name) for core in cores) for name in ("busy", "wait", "times")
    )
    # The spans exceed the times without contention by the effect of the shared memory.
    extra = max(0.0, alike.lasting - alike.number * sum(core.end for core in cores))
    on = busy[:, PIPES.index("IO-DMA")]
    # A kernel without copies loads by scalar accesses, which then wait for the memory.
    if not on.any():
        on = busy[:, PIPES.index("scalar")] if busy[:, PIPES.index("scalar")].any() else busy.sum(axis=1)
    whole = math.fsum(on)
    share = on * (extra / whole) if whole else on
    done = np.flatnonzero((times > 0) | (wait > 0)).tolist()
    for number in done:
        step = table.steps[number]
        line = sums.setdefault(step.at.site, _LineSums())
        if step.at.number != LEAVE:
            line.names[table.name(step.at.number)] = None
    # The engines reach the steps of a line in different orders if cores wait for each other; the order of
    # these sums must not depend on it.
    for number in sorted(done, key=lambda n: (table.steps[n].at[1:], table.steps[n][1:])):
        step = table.steps[number]
        line = sums[step.at.site]
        line.count += step.issued * int(times[number])
        line.busy = line.busy + busy[number]
        line.wait += float(wait[number])
        line.memory += float(share[number])
        line.nbytes += step.nbytes * int(times[number])
