"""The time of a launch's cores: busy by pipe, overlapping, waiting; by core; and in waves of tasks."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.time.log import END, IO_FLIGHT, MEET, MOVE_FLIGHT, WAIT, TaskWork
from mlusim.time.pace import FRONT
from mlusim.time.row_times import (
    BEGIN,
    CAUSE,
    FIRST,
    HERE,
    LAST,
    START,
    STOP,
    Spans,
    Track,
    coverage,
    joined,
    tracks,
)
from mlusim.time.timing import PIPES, GroupedTasks, Paces, TaskSpan


@frozen
class CoreUse:
    """One core of the board: its cluster and number, its tasks, and its times in us.

    ``active_us`` is the time in which at least one of its pipes is busy, ``end_us`` the end of its last task,
    from the start of the launch's first task. The memory core of a cluster is numbered after its IPU cores.
    """

    cluster: int
    core: int
    memory_core: bool
    tasks: int
    active_us: float
    end_us: float


@frozen
class Profile:
    """The time of all cores of a launch, added up, in us.

    ``busy_us`` is by pipe. ``active_us`` is the time in which at least one pipe of a core is busy,
    ``overlap_us`` the time in which two or more are. ``pipe_wait_us`` is the time that cores wait for their
    own pipes, ``core_wait_us`` at barriers (for other cores and for the barrier itself), ``memory_wait_us``
    the additional time of tasks because they share the off-chip memory. ``elapsed_us`` is the total running
    time of the tasks. ``cores`` has the cores that ran a task; ``waves`` counts the tasks or unions that
    began as the first, second, ... on their place; ``places`` is how many run at once.
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
        """The overlap time as a fraction of the busy time of the second busiest pipe, its maximum."""
        *_, shorter, _ = sorted((0.0, 0.0, *self.busy_us.values()))
        return min(1.0, self.overlap_us / shorter) if shorter else 0.0

    @property
    def balance(self) -> float:
        """The active time of the busiest IPU core relative to the mean of the active ones; 1 for equal work."""
        active = [core.active_us for core in self.cores if core.active_us > 0 and not core.memory_core]
        # fsum: the sum for hundreds of equal cores would otherwise not give exactly 1.
        return max(active) * len(active) / math.fsum(active) if active else 1.0


NO_PROFILE = Profile({}, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, (), (), 0)


@frozen
class _Alone:
    """The times of one core without contention, in us."""

    end: float
    busy: tuple[float, ...]
    active: float
    overlap: float
    pipe_wait: float
    core_wait: float


@define
class _Use:
    """The sums for one core of the board."""

    tasks: int = 0
    active: float = 0.0
    end: float = 0.0


@define
class _LaunchSums:
    """The sums for the whole launch."""

    busy: list[float] = field(factory=lambda: [0.0] * len(PIPES))
    active: float = 0.0
    overlap: float = 0.0
    pipe_wait: float = 0.0
    core_wait: float = 0.0
    memory_wait: float = 0.0
    elapsed: float = 0.0

    def add(self, core: _Alone) -> None:
        """Add the times of one more task."""
        self.busy = [a + b for a, b in zip(self.busy, core.busy, strict=True)]
        self.active += core.active
        self.overlap += core.overlap
        self.pipe_wait += core.pipe_wait
        self.core_wait += core.core_wait


def profile(work: GroupedTasks, spans: Sequence[TaskSpan], board: Board, unions: int) -> Profile:
    """Return the profile of a launch with *work* and predicted *spans*; *unions* is the number of clusters per union."""
    sums, uses, waves, at = _LaunchSums(), dict[tuple[int, int], _Use](), dict[int, int](), 0
    by_kind = dict(zip(work.kinds, _alone(work, board), strict=True))
    for key, group in zip(work.keys, work.groups, strict=True):
        for core, task in zip(by_kind[key], group, strict=True):
            span = spans[at]
            at += 1
            sums.add(core)
            sums.memory_wait += span.end_us - span.start_us - core.end
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
        # Differences of float sums may be slightly below 0.
        memory_wait_us=max(0.0, sums.memory_wait),
        elapsed_us=sums.elapsed,
        cores=tuple(
            CoreUse(cluster, core, core == board.arch.cores_per_cluster, use.tasks, use.active, use.end)
            for (cluster, core), use in sorted(uses.items())
        ),
        waves=tuple(sum(n > wave for n in waves.values()) for wave in range(max(waves.values(), default=0))),
        places=board.places(unions),
    )


def home(span: TaskSpan, task: TaskWork, board: Board, unions: int) -> tuple[int, int]:
    """Return the cluster and the core on which *task* ran."""
    if unions:
        return span.slot * unions + task.cluster, task.core
    return divmod(span.slot, board.arch.cores_per_cluster)


def _alone(work: GroupedTasks, board: Board) -> Iterator[list[_Alone]]:
    """Yield the cores of each kind of *work*, in batches that are timed together."""
    for together in work.timed(Paces(board)):
        groups = [tracks(logs, board) for logs in together]
        each = iter(_figures([track for group in groups for track in group]))
        yield from ([next(each) for _ in group] for group in groups)


def _figures(cores: Sequence[Track]) -> list[_Alone]:
    """Compute the figures of *cores*, all together."""
    owner = np.repeat(np.arange(len(cores)), [len(core.kinds) for core in cores])
    times = np.concatenate([core.times for core in cores])
    kinds = np.concatenate([core.kinds for core in cores])
    fronts = np.concatenate([core.parts[:, FRONT] for core in cores])

    def added(values: Any, rows: Any) -> Any:
        return np.bincount(owner[rows], values[rows], len(cores))

    lasting = times[:, LAST] - times[:, FIRST]
    ready = np.maximum(times[:, CAUSE], times[:, FIRST]) - times[:, FIRST]
    waited = np.where(kinds == MEET, np.minimum(ready, lasting), lasting)  # half a barrier waits for no pipes
    waits = (kinds == WAIT) | (kinds == END) | (kinds == MEET)
    # A blocking copy issued while its pipe is busy waits as at a sync.
    queued = added(times[:, START] - times[:, BEGIN] - fronts, times[:, HERE] >= times[:, START])
    flights = _flights(owner, times, kinds, IO_FLIGHT)
    flying = np.bincount(flights.owner, flights.ends - flights.starts, len(cores))
    spans = (
        Spans(owner, times[:, BEGIN], times[:, BEGIN] + fronts),
        Spans(owner, times[:, START], times[:, STOP]),
        flights,
        _flights(owner, times, kinds, MOVE_FLIGHT),
    )
    active, overlap = coverage(spans, len(cores))
    pipe_wait, core_wait = added(waited, waits) + queued, added(lasting - waited, kinds == MEET)
    columns = (column.tolist() for column in (flying, active, overlap, pipe_wait, core_wait))
    return [
        _Alone(core.end, core.timed.summary(fly).busy, *rest)
        for core, fly, *rest in zip(cores, *columns, strict=True)
    ]


def _flights(owner: Any, times: Any, kinds: object, kind: int) -> Spans:
    rows = kinds == kind
    return joined(Spans(owner[rows], times[rows, FIRST], times[rows, LAST]))
