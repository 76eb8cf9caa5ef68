"""The tasks that run together, each with its log at the pace of its core."""

from collections.abc import Iterable, Iterator, Sequence

from mlusim.arch.board import Board
from mlusim.time import quantities
from mlusim.time.log import SUMS, CoreLog
from mlusim.time.pace import Pace
from mlusim.time.rates import Bound
from mlusim.time.task_work import TaskWork
from mlusim.time.timed_log import TimedLog, timed

MOST_ROWS = 1 << 16  # distinct rows that are timed together, which bounds the memory
GroupKey = tuple[tuple[CoreLog, bool, int], ...]


def groups_of(tasks: Sequence[TaskWork]) -> list[list[TaskWork]]:
    """The tasks that run together, in the order in which they begin; of a Block launch each by itself."""
    groups: dict[int, list[TaskWork]] = {}
    for task in sorted(tasks, key=lambda t: (t.task, t.memory_core)):
        groups.setdefault(task.union, []).append(task)
    return list(groups.values())


def distinct(groups: Iterable[list[TaskWork]]) -> dict[GroupKey, list[TaskWork]]:
    """One of *groups* for each that takes another time by itself."""
    return {key_of(group): group for group in groups}


def key_of(group: Sequence[TaskWork]) -> GroupKey:
    """What the time of *group* by itself depends on."""
    return tuple((task.log, task.memory_core, task.cluster) for task in group)


class Paces:
    """The paces of the cores of *board*, with every constant at *bound*."""

    def __init__(self, board: Board, bound: Bound = Bound.USUAL) -> None:
        self._board = board
        self._bound = bound
        self._known: dict[tuple[bool, int], Pace] = {}

    def of(self, group: Sequence[TaskWork]) -> list[Pace]:
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

    def timed(self, groups: Iterable[list[TaskWork]]) -> Iterator[list[list[TimedLog]]]:
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

    def _together(self, groups: Sequence[list[TaskWork]]) -> list[list[TimedLog]]:
        logs = [task.log for group in groups for task in group]
        found = iter(timed(logs, [pace for group in groups for pace in self.of(group)]))
        return [[next(found) for _ in group] for group in groups]


def timed_group(group: Sequence[TaskWork], board: Board) -> list[TimedLog]:
    """The logs of *group* at the paces of their cores."""
    return timed([task.log for task in group], Paces(board).of(group))


def uses_sram(log: CoreLog) -> bool:
    """Whether a core copied to or from SRAM."""
    total = log.total
    return bool(total[SUMS + quantities.SRAM_BYTES] or total[SUMS - 1])
