"""How the cores of a launch spend their time: busy by pipe, side by side, waiting; by core; in waves."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.time.log import END, MEET, WAIT, CoreLog
from mlusim.time.replay import summary
from mlusim.time.row_times import (
    BEGIN,
    CAUSE,
    FIRST,
    FRONT,
    HERE,
    IO,
    LAST,
    START,
    Track,
    busy_spans,
    coverage,
    tracks,
)
from mlusim.time.task_work import TaskWork
from mlusim.time.timing import PIPES, TaskSpan, groups_of, paces_of


@frozen
class CoreUse:
    """One core of the board: its cluster and number, its tasks, and times in us.

    ``active_us`` is how long at least one of its pipes is busy, ``end_us`` when its last task ends, from
    the start of the first task of the launch on.  A memory core has the number behind the IPU cores'.
    """

    cluster: int
    core: int
    memory_core: bool
    tasks: int
    active_us: float
    end_us: float


@frozen
class Profile:
    """The time of all cores of a launch, added up in us.

    ``busy_us`` is by pipe.  ``active_us`` is the time in which at least one pipe of a core is busy,
    ``overlap_us`` in which two or more are.  ``pipe_wait_us`` is what cores wait for their own pipes,
    ``core_wait_us`` what they wait at barriers for others and for the barrier itself, ``memory_wait_us`` what
    tasks are longer for sharing the off-chip memory.  ``elapsed_us`` adds up how long the tasks run.
    ``cores`` has those that ran a task; ``waves`` says how many tasks or unions began as the first, second,
    ... on their place, ``places`` how many have room at once.
    """

    busy_us: Mapping[str, float]
    active_us: float
    overlap_us: float
    pipe_wait_us: float
    core_wait_us: float
    memory_wait_us: float
    elapsed_us: float
    cores: tuple[CoreUse, ...]
    waves: tuple[int, ...]
    places: int

    @property
    def overlap(self) -> float:
        """The part of the active time in which two or more pipes are busy."""
        return self.overlap_us / self.active_us if self.active_us else 0.0

    @property
    def balance(self) -> float:
        """The active time of the busiest IPU core over the mean of those that worked; 1 where all did the same."""
        active = [core.active_us for core in self.cores if core.active_us > 0 and not core.memory_core]
        return max(active) * len(active) / math.fsum(active) if active else 1.0


NO_PROFILE = Profile({}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (), (), 0)


@frozen
class _Alone:
    """The times in us of a core without contention."""

    busy: tuple[float, ...]
    active: float
    overlap: float
    pipe_wait: float
    core_wait: float


@define
class _Use:
    """What is added up for a core of the board."""

    tasks: int = 0
    active: float = 0.0
    end: float = 0.0


@define
class _LaunchSums:
    """What is added up for the launch."""

    busy: list[float] = field(factory=lambda: [0.0] * len(PIPES))
    active: float = 0.0
    overlap: float = 0.0
    pipe_wait: float = 0.0
    core_wait: float = 0.0
    memory_wait: float = 0.0
    elapsed: float = 0.0

    def add(self, core: _Alone) -> None:
        """One more task."""
        self.busy = [a + b for a, b in zip(self.busy, core.busy, strict=True)]
        self.active += core.active
        self.overlap += core.overlap
        self.pipe_wait += core.pipe_wait
        self.core_wait += core.core_wait


def profile(tasks: Sequence[TaskWork], spans: Sequence[TaskSpan], board: Board, unions: int) -> Profile:
    """The profile of a launch whose *tasks* were predicted to run in *spans*; *unions*: clusters of a union."""
    known: dict[tuple[tuple[CoreLog, bool, int], ...], list[tuple[_Alone, float]]] = {}
    sums, uses, waves, at = _LaunchSums(), dict[tuple[int, int], _Use](), dict[int, int](), 0
    for group in groups_of(tasks):
        key = tuple((task.log, task.memory_core, task.cluster) for task in group)
        if key not in known:
            known[key] = _alone(group, board)
        for (core, end), task in zip(known[key], group, strict=True):
            span = spans[at]
            at += 1
            sums.add(core)
            sums.memory_wait += span.end_us - span.start_us - end
            sums.elapsed += span.end_us - span.start_us
            use = uses.setdefault(home(span, task, board, unions), _Use())
            use.tasks += 1
            use.active += core.active
            use.end = max(use.end, span.end_us)
        waves[span.slot] = waves.get(span.slot, 0) + 1
    return Profile(
        busy_us=dict(zip(PIPES, sums.busy, strict=True)),
        active_us=sums.active,
        overlap_us=sums.overlap,
        pipe_wait_us=sums.pipe_wait,
        core_wait_us=sums.core_wait,
        memory_wait_us=max(0.0, sums.memory_wait),
        elapsed_us=sums.elapsed,
        cores=tuple(_use(where, use, board) for where, use in sorted(uses.items())),
        waves=tuple(sum(n > wave for n in waves.values()) for wave in range(max(waves.values(), default=0))),
        places=board.places(unions),
    )


def home(span: TaskSpan, task: TaskWork, board: Board, unions: int) -> tuple[int, int]:
    """The cluster and the core of the board that ran *task*."""
    if unions:
        return span.slot * unions + task.cluster, task.core
    return divmod(span.slot, board.arch.cores_per_cluster)


def _use(where: tuple[int, int], use: _Use, board: Board) -> CoreUse:
    cluster, core = where
    return CoreUse(cluster, core, core == board.arch.cores_per_cluster, use.tasks, use.active, use.end)


def _alone(group: Sequence[TaskWork], board: Board) -> list[tuple[_Alone, float]]:
    logs, paces = [task.log for task in group], paces_of(group, board)
    return [(_figures(track), track.end) for track in tracks(logs, paces, board)]


def _figures(track: Track) -> _Alone:
    times, kinds = track.times, track.kinds
    spans = busy_spans(track)
    flying = next(float((ends - starts).sum()) for stream, starts, ends in spans if stream == IO)
    active, overlap = coverage([(starts, ends) for _, starts, ends in spans])
    lasting = times[:, LAST] - times[:, FIRST]
    ready = np.maximum(times[:, CAUSE], times[:, FIRST]) - times[:, FIRST]
    own = np.where(kinds == MEET, np.minimum(ready, lasting), lasting)  # half a barrier waits for no pipes
    waits = (kinds == WAIT) | (kinds == END) | (kinds == MEET)
    queued = (times[:, START] - times[:, BEGIN] - track.parts[:, FRONT])[times[:, HERE] >= times[:, START]]
    others = (lasting - own)[kinds == MEET]
    return _Alone(
        summary(track.log, track.pace, flying).busy,
        active,
        overlap,
        float(own[waits].sum() + queued.sum()),
        float(others.sum()),
    )
