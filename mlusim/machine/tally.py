"""The sums of a launch: instructions, traffic, work by pipe, high-water marks, lines passed in C."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.isa.table import ISA
from mlusim.machine.observed import TaskPlace
from mlusim.memory.allocation import Allocation, Arena
from mlusim.memory.space import DIRECTIONS, GDRAM, NRAM, SPACES, SRAM, WRAM, Space
from mlusim.time.log import END, CoreLog, CoreSteps, Lanes, Log, NotedLog, Rows, TaskWork
from mlusim.time.quantities import COUNTS, LOADS, STORES, TRAFFIC, CopyLoad, places_before
from mlusim.time.work import VECTOR_BYTES

if TYPE_CHECKING:
    from mlusim.machine.core import Core


NO_LOG = CoreLog(())
NO_LOAD = CopyLoad()
LOADS_AT, STORES_AT = places_before(LOADS), places_before(STORES)  # of what a task counts
NAMES = tuple(ISA)
EVERY = range(len(ISA))
NOTHING = COUNTS.zeros(len(ISA))
NO_TRAFFIC = TRAFFIC.zeros()
NO_BYTES: dict[Space, int] = {NRAM: 0, WRAM: 0, SRAM: 0}


class Instructions(dict[str, int]):
    """Counts by intrinsic; ``counts["__bang_add"]`` and ``counts["bang_add"]`` are the same entry."""

    def __missing__(self, name: str) -> int:
        bare = name.lstrip("_")
        if bare == name and bare not in ISA:
            raise KeyError(name)
        return self.get(bare, 0)


@frozen
class Usage:
    """Bytes of one memory space: what the kernel may declare, and the most that any core (cluster) declared."""

    capacity: int
    high_water: int


class SilentTasks(NamedTuple):
    """Tasks that C ran without telling Python, and that all did the same: their places, counters, log rows, and what each loaded first and read.

    A place is the number of the task, whether a memory core ran it, its union, its cluster there, and its core.  ``counted`` are the counters of a task, as `time.quantities` lays them out; ``reads`` are bytes by the number of the allocation; 0 stands for none of them.
    ``met`` is how many arrays of functions each has declared.
    """

    places: Sequence[Sequence[int]]
    met: int
    counted: list[int]
    rows: Rows
    head: tuple[int, int]
    reads: list[int]

    @property
    def of_memory(self) -> bool:
        """Return whether memory cores ran them."""
        return bool(self.places[0][1])


@define(eq=False)
class Tally:
    """Collects what cores of *board*, whose kernel may declare as many bytes as *limits* says, did as they end."""

    board: Board
    limits: Mapping[str, int]
    tasks: list[TaskWork] = field(factory=list)
    # Cores that nothing watches write here.
    counts: list[int] = field(factory=NOTHING.copy)
    traffic_by: list[int] = field(factory=NO_TRAFFIC.copy)
    # All cores of the launch write here.
    lines: list[int] = field(factory=NOTHING.copy)
    spare: list[int] = field(factory=NOTHING.copy)
    _high: dict[Space, int] = field(factory=NO_BYTES.copy)
    # What the first task declared, by memory, behind the base of each.
    declared: tuple[tuple[int, tuple[Allocation, ...]], ...] = ()
    scalar_loads: dict[str, int] = field(factory=dict)
    scalar_stores: dict[str, int] = field(factory=dict)
    memory_core_stores: int = 0  # of memory cores, to GDRAM
    _logs: dict[bytes, CoreLog] = field(factory=dict)  # tasks that do the same share a log
    _rows: dict[tuple[tuple[int, ...], ...], CoreLog] = field(factory=dict)  # those of few rows, by these
    _steps: dict[bytes, CoreSteps] = field(factory=dict)  # and their steps

    def add(self, core: "Core") -> None:
        """Count what *core* did."""
        for space, arena in core.used.items():
            if space in self._high:
                self._high[space] = max(self._high[space], arena.high_water)
        place, logged = core.place, core.log is not None
        if place.memory_core:
            self.memory_core_stores += core.stores[GDRAM.number]
        else:
            self.declares(core)
        log = self._finished(core.log)
        steps = None if core.log is None else core.log.steps()
        if steps is not None:
            steps = self._steps.setdefault(steps.key, steps)
        head = core.head.transactions, core.head.transfers
        counted = core.mlu.work, core.loads, core.stores
        reads = _reads(core) if logged else ()
        self._add(place, core.union.number, counted, log, reads, head, steps)

    def declares(self, core: "Core", more: Sequence[Allocation] = ()) -> None:
        """Note what *core* has declared, and *more* that it had, if no task before it has declared anything."""
        if self.declared:
            return
        arenas = [(arena, space) for space in (NRAM, WRAM) if (arena := core.used.get(space)) is not None]
        declarations = [
            (a.base, (*a.allocations, *(b for b in more if b.space is space))) for a, space in arenas
        ]
        self.declared = tuple((base, allocations) for base, allocations in declarations if allocations)

    def add_silent(self, tasks: SilentTasks, tensors: Mapping[Allocation, int] | None) -> None:
        """Count what *tasks* did, which Python has not heard of: all of them on IPU cores, or all on memory cores.

        *tensors* have the number of each tensor, in the order that `_reads` has; None where time is not predicted.
        """
        counted = tasks.counted
        reads = tuple([(a.address, a.nbytes, tasks.reads[number]) for a, number in (tensors or {}).items()])
        parts = counted[:LOADS_AT], counted[LOADS_AT:STORES_AT], counted[STORES_AT:]
        log = NO_LOG if tensors is None else self._logged(tasks.rows, (END, 0, *NO_LOAD, *counted))
        number, of_memory, union, cluster, core = tasks.places[0]
        first = TaskPlace(number, 0, 0, 0, cluster, core, bool(of_memory))
        task_work = self._add(first, union, parts, log, reads, tasks.head, None)
        if of_memory:
            self.memory_core_stores += len(tasks.places) * parts[2][GDRAM.number]
        if others := tasks.places[1:]:
            # What they did once more is their places, and the accesses of all of them.
            for named, counts in ((self.scalar_loads, parts[1]), (self.scalar_stores, parts[2])):
                _add_accesses(named, [len(others) * n for n in counts])
            core = task_work.core if of_memory else -1
            self.tasks += [
                TaskWork(
                    task,
                    task_work.memory_core,
                    union,
                    cluster,
                    task_work.work,
                    log,
                    core_number if core < 0 else core,
                    None,
                    reads,
                    tasks.head,
                )
                for task, _, union, cluster, core_number in others
            ]

    def _logged(self, rows: Rows, end: tuple[int, ...]) -> CoreLog:
        """Return the log of *rows* and of the *end* of the task."""
        log = self._rows.get((end,)) if not len(rows) else None
        if log is None:
            fresh = Log()
            fresh.extend(rows)
            fresh.extend(np.array([end], np.int64))
            log = self._finished(fresh)
        return log

    def _add(
        self,
        place: TaskPlace,
        union: int,
        counted: tuple[Sequence[int], Sequence[int], Sequence[int]],
        log: CoreLog,
        reads: tuple[tuple[int, int, int], ...],
        head: tuple[int, int],
        steps: CoreSteps | None,
    ) -> TaskWork:
        work, loads, stores = counted
        scalars, *others = work[:5]  # by pipe; what is behind them describes waits
        if any(loads):
            scalars += _add_accesses(self.scalar_loads, loads)
        if any(stores):
            scalars += _add_accesses(self.scalar_stores, stores)
        number = self.board.arch.cores_per_cluster if place.memory_core else place.core_id
        task_work = TaskWork(
            place.task,
            place.memory_core,
            union,
            place.cluster_id,
            (scalars, *others),
            log,
            number,
            steps,
            reads,
            head,
        )
        self.tasks.append(task_work)
        return task_work

    @property
    def scalars(self) -> int:
        """The scalar accesses of the tasks that have ended."""
        return sum(self.scalar_loads.values()) + sum(self.scalar_stores.values())

    @property
    def length(self) -> int:
        """The instructions and scalar accesses of the tasks that have ended: each takes time in Python, and is heard of by who watches."""
        return sum(self.counts) + self.scalars

    @property
    def vector_bytes(self) -> int:
        """The bytes of the lines of the vector unit that its instructions took."""
        return sum(self.lines) * VECTOR_BYTES

    def count(self, core: "Core") -> None:
        """Add the instructions and the traffic of *core*, where it counted them by itself."""
        mlu = core.mlu
        if mlu.counts is not self.counts:
            _add(self.counts, mlu.counts)
            _add(self.traffic_by, mlu.traffic)

    def add_counts(
        self, counts: Sequence[int], traffic: Sequence[int], lines: Sequence[int], spare: Sequence[int]
    ) -> None:
        """Add instructions, traffic and lanes that were counted elsewhere."""
        _add(self.counts, counts)
        _add(self.traffic_by, traffic)
        _add(self.lines, lines)
        _add(self.spare, spare)

    def join(self, parts: "Iterable[Tally]") -> None:
        """Add what *parts* of the launch did, each of them some of its tasks."""
        for part in parts:
            self.add_counts(part.counts, part.traffic_by, part.lines, part.spare)
            _add_named(self.scalar_loads, part.scalar_loads)
            _add_named(self.scalar_stores, part.scalar_stores)
            self.memory_core_stores += part.memory_core_stores
            for space, high in part._high.items():  # noqa: SLF001 - its own class
                self._high[space] = max(self._high[space], high)
            self.declared = self.declared or part.declared
            for task in part.tasks:
                log = self._logs.setdefault(task.log.key, task.log)
                self.tasks.append(task if log is task.log else task._replace(log=log))
        self.tasks.sort(key=lambda task: (task.task, task.memory_core))

    def reaches(self, space: Space, nbytes: int) -> None:
        """Note that a core has declared so many bytes of *space*."""
        self._high[space] = max(self._high[space], nbytes)

    def _finished(self, log: Log | None) -> CoreLog:
        """Return the log of a core that has ended; equal ones are one."""
        if log is None:
            return NO_LOG
        rows = () if isinstance(log, NotedLog) else log.few
        finished = self._rows.get(rows) if rows else None
        if finished is None:
            finished = _of_one_row(rows[0]) if len(rows) == 1 else log.finished()
            finished = self._logs.setdefault(finished.key, finished)
            if rows:
                self._rows[rows] = finished
        return finished

    def add_sram(self, arena: Arena) -> None:
        """Note the high-water mark of a cluster's SRAM."""
        self._high[SRAM] = max(self._high[SRAM], arena.high_water)

    @property
    def instructions(self) -> Instructions:
        """Counts of the intrinsics that were executed, in the order of the table."""
        return Instructions({NAMES[number]: self.counts[number] for number in _met(self.counts)})

    @property
    def traffic(self) -> dict[str, int]:
        """Bytes copied by direction."""
        return {d.name: n for d, n in zip(DIRECTIONS, self.traffic_by, strict=True) if n}

    @property
    def lanes(self) -> dict[str, Lanes]:
        """Lanes by vector intrinsic, for those that were executed."""
        paid = {number: self.lines[number] * VECTOR_BYTES for number in _met(self.lines)}
        return {NAMES[number]: Lanes(most - self.spare[number], most) for number, most in paid.items()}

    @property
    def io_bytes(self) -> int:
        """Bytes that the IO-DMA carried, for copies, atomics and fills."""
        return sum(task.work[3] for task in self.tasks)  # of the IO-DMA, in the order of the pipes

    @property
    def memory(self) -> dict[str, Usage]:
        """Capacity and high-water mark of each on-chip memory."""
        return {space.name: Usage(self.limits[space.name], high) for space, high in self._high.items()}


@functools.lru_cache(maxsize=1024)
def _of_one_row(row: tuple[int, ...]) -> CoreLog:
    """Return the log that has one row, which launches of the same kernel mostly share."""
    log = Log()
    log.extend(np.array([row], np.int64))
    return log.finished()


def _add_accesses(total: dict[str, int], counts: Sequence[int]) -> int:
    """Add scalar accesses by the number of the space to *total*, which has names; returns how many they are."""
    for number, accesses in enumerate(counts):  # of loads by what waits for them, too
        if accesses:
            name = SPACES[number % len(SPACES)].name
            total[name] = total.get(name, 0) + accesses
    return sum(counts)


def _add_named(total: dict[str, int], counts: dict[str, int]) -> None:
    for name, number in counts.items():
        total[name] = total.get(name, 0) + number


def _add(total: list[int], counts: Sequence[int]) -> None:
    """Add *counts* to *total*, most of them being zero."""
    for number in _met(counts):
        total[number] += counts[number]


def _met(counts: Sequence[int]) -> Iterable[int]:
    """Return the numbers of the *counts* that are not zero; few are."""
    if counts.__class__ is not list:  # counters in C are a memoryview
        return np.asarray(counts).nonzero()[0].tolist()
    return () if counts == NOTHING else compress(EVERY, counts)


def _reads(core: "Core") -> tuple[tuple[int, int, int], ...]:
    """Return the tensors that *core* was given: address, bytes, and the bytes that its copies read."""
    reads: dict[Allocation, int] = {}
    for views in core.bindings:
        for view in views.values():
            if view.space is GDRAM:
                reads[view.allocation] = reads.get(view.allocation, 0) + view.read
    return tuple([(tensor.address, tensor.nbytes, read) for tensor, read in reads.items()])


# The counts of what C passes in a launch: a row for each task, and the last for all memory cores.

Cover = tuple[str, int, int, bool | None]
"""A statement (None) or an outcome of a test, by file, line and column."""


class CoverCounts:
    """``counts``, at first 0, of each of *covers* in each of so many *tasks*.

    Threads that run the tasks of one launch have their own `part`, for they share the row of memory cores.
    """

    def __init__(self, covers: Sequence[Cover], tasks: int) -> None:
        self.covers = covers
        self.counts: np.ndarray[Any, np.dtype[np.uint64]] = np.zeros(
            (tasks + 1, max(len(covers), 1)), np.uint64
        )
        self._parts: list[CoverCounts] = []
        self._first, self._stride = self.counts.ctypes.data, self.counts.strides[0]

    def part(self) -> "CoverCounts":
        """Return the counts of one of several threads, which are none of these before they `join`."""
        part = CoverCounts(self.covers, len(self.counts) - 1)
        self._parts.append(part)
        return part

    def join(self) -> None:
        """Add what the threads have counted."""
        while self._parts:
            self.counts += self._parts.pop().counts

    def leave(self) -> None:
        """Drop what the threads have counted."""
        self._parts.clear()

    def at(self, task: int) -> int:
        """Return the address of the row of *task*; -1: a memory core."""
        return self._first + (task if task >= 0 else len(self.counts) - 1) * self._stride
