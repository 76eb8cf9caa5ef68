"""Vector clocks: for each task, the work that is known to be complete, by its own order and by barriers and mutexes."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mlusim.memory.footprint import Ints

NOTHING: Ints = np.zeros(0, np.int64)


class Segment:
    """A stretch of one task without synchronization with other tasks.

    ``knows`` gives, for each task, how many of its segments are complete for this one.
    """

    __slots__ = ("knows", "number", "task")

    def __init__(self, task: int, number: int, knows: Ints) -> None:
        self.task = task
        self.number = number
        self.knows = knows

    def before(self, later: "Segment") -> bool:
        """Return whether the work of this segment is complete for the *later* one."""
        if self.task == later.task:
            return True
        return self.task < len(later.knows) and int(later.knows[self.task]) > self.number


class Clocks:
    """The segments of every task; ``now`` has the index of each task's current segment in ``segments``."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.now: list[int] = []
        self._tasks = np.zeros(0, np.int64)  # of the segments that have been asked for
        self._mutexes: dict[Any, Ints] = {}
        # Kept only if idle barriers are to be found, since it grows with the launch.
        self._log: list[tuple[Any, ...]] | None = None

    def keep_log(self) -> None:
        """Record all calls, for `without`."""
        self._log = []

    def without(self, barrier: object) -> list[Segment]:
        """Return the segments of a run without the barriers that were passed as *barrier*."""
        other = Clocks()
        for what, *arguments in self._log or ():
            if what == "meet" and arguments[1] == barrier:
                for task in arguments[0]:
                    # The segment ends all the same, so that numbers are the same as with the barrier.
                    other._advance(task, other._current(task).knows, 1)
            elif what == "meet":
                other.meet(arguments[0])
            elif what == "begin":
                other.begin()
            else:
                getattr(other, what)(*arguments)
        return other.segments

    def _note(self, *event: object) -> None:
        if self._log is not None:
            self._log.append(event)

    def tasks(self, segments: Ints) -> Ints:
        """Return the task of each of *segments*, which are places in ``segments``."""
        if len(self._tasks) < len(self.segments):
            more = [segment.task for segment in self.segments[len(self._tasks) :]]
            self._tasks = np.append(self._tasks, np.array(more, np.int64))
        tasks: Ints = self._tasks[segments]
        return tasks

    def begin(self) -> int:
        """Number a new task."""
        self._note("begin")
        task = len(self.now)
        self.now.append(len(self.segments))
        self.segments.append(Segment(task, 0, NOTHING))
        return task

    def meet(self, tasks: Iterable[int], barrier: object = None) -> None:
        """Let *tasks* pass a *barrier*: the work of each is complete for all."""
        met = list(tasks)
        self._note("meet", met, barrier)
        joint = _joined([self._past(task) for task in met])
        for task in met:
            self._advance(task, joint, 1)

    def acquire(self, task: int, key: object) -> None:
        """Let *task* acquire *key*: the work known to the tasks that released it is complete for *task*."""
        self._note("acquire", task, key)
        released = self._mutexes.get(key)
        if released is not None:
            self._advance(task, _joined([self._current(task).knows, released]), 0)

    def release(self, task: int, key: object) -> None:
        """Let *task* release *key*: its work is complete for every later acquirer of *key*."""
        self._note("release", task, key)
        past, before = self._past(task), self._mutexes.get(key)
        self._mutexes[key] = past if before is None else _joined([before, past])
        self._advance(task, self._current(task).knows, 1)

    def forget(self) -> None:
        """Drop the knowledge of completed segments, since only later accesses will be compared with them."""
        if self._log is not None:
            return
        # The segments stay, since accesses refer to their indices; their knowledge is most of the memory.
        current = set(self.now)
        for place, segment in enumerate(self.segments):
            if place not in current:
                segment.knows = NOTHING

    def _current(self, task: int) -> Segment:
        return self.segments[self.now[task]]

    def _past(self, task: int) -> Ints:
        segment = self._current(task)
        past = np.zeros(max(len(segment.knows), task + 1), np.int64)
        past[: len(segment.knows)] = segment.knows
        past[task] = segment.number + 1
        return past

    def _advance(self, task: int, knows: Ints, step: int) -> None:
        number = self._current(task).number + step
        self.now[task] = len(self.segments)
        self.segments.append(Segment(task, number, knows))


def _joined(clocks: list[Ints]) -> Ints:
    joined = np.zeros(max(len(k) for k in clocks), np.int64)
    for k in clocks:
        np.maximum(joined[: len(k)], k, out=joined[: len(k)])
    return joined
