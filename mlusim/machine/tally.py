"""The sums of a launch: instructions, traffic, work by pipe, high-water marks, lines executed in C."""

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
LOADS_AT, STORES_AT = places_before(LOADS), places_before(STORES)  # positions in a task's counters
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
    """Bytes of one memory space: the most that a kernel may declare, and the most that any core (cluster) declared."""

    capacity: int
    high_water: int


class SilentTasks(NamedTuple):
    """Tasks that C ran without calling Python, and that all did the same: their places, counters, log rows, first load and reads.

    A place is the number of the task, whether a memory core ran it, its union, its cluster there, and its core.
    ``counted`` are the counters of a task, as laid out by `time.quantities`; ``reads`` are bytes by the number of the
    allocation; 0 means none of them. ``met`` is the number of arrays of functions that each has declared.
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
    """Sums the work of the cores of *board* as they end; *limits* are the bytes that the kernel may declare."""

    board: Board
    limits: Mapping[str, int]
    tasks: list[TaskWork] = field(factory=list)
    # Unobserved cores write here.
    counts: list[int] = field(factory=NOTHING.copy)
    traffic_by: list[int] = field(factory=NO_TRAFFIC.copy)
    # All cores of the launch write here.
    lines: list[int] = field(factory=NOTHING.copy)
    spare: list[int] = field(factory=NOTHING.copy)
    _high: dict[Space, int] = field(factory=NO_BYTES.copy)
    # The declarations of the first task, by memory, after the base of each.
    declared: tuple[tuple[int, tuple[Allocation, ...]], ...] = ()
    scalar_loads: dict[str, int] = field(factory=dict)
    scalar_stores: dict[str, int] = field(factory=dict)
    memory_core_stores: int = 0  # stores of memory cores to GDRAM
    _logs: dict[bytes, CoreLog] = field(factory=dict)  # equal tasks share a log
    _rows: dict[tuple[tuple[int, ...], ...], CoreLog] = field(factory=dict)  # logs of few rows, by their rows
    _steps: dict[bytes, CoreSteps] = field(factory=dict)  # and their steps

    def add(self, core: "Core") -> None:
        """Add the work of *core*."""
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
        """Record the declarations of *core*, and its earlier ones *more*, if no task before it has declared anything."""
        if self.declared:
            return
        arenas = [(arena, space) for space in (NRAM, WRAM) if (arena := core.used.get(space)) is not None]
        declarations = [
            (a.base, (*a.allocations, *(b for b in more if b.space is space))) for a, space in arenas
        ]
        self.declared = tuple((base, allocations) for base, allocations in declarations if allocations)

    def add_silent(self, tasks: SilentTasks, tensors: Mapping[Allocation, int] | None) -> None:
        """Add the work of *tasks*, which C did not report to Python: all of them on IPU cores, or all on memory cores.

        *tensors* has the number of each tensor, in the order of `_reads`; None if time is not predicted.
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
            # For the further tasks only the places, and the accesses of all of them, are added.
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
        """Return the log with *rows* and the *end* of the task."""
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
        scalars, *others = work[:5]  # by pipe; the following entries describe waits
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
        """Return the scalar accesses of the tasks that have ended."""
        return sum(self.scalar_loads.values()) + sum(self.scalar_stores.values())

    @property
    def length(self) -> int:
        """Return the instructions and scalar accesses of the tasks that have ended: each takes time in Python and is announced to observers."""
        return sum(self.counts) + self.scalars

    @property
    def vector_bytes(self) -> int:
        """Return the bytes of the vector unit's lines used by its instructions."""
        return sum(self.lines) * VECTOR_BYTES

    def count(self, core: "Core") -> None:
        """Add the instructions and the traffic of *core*, if it counted them separately."""
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
        """Add the sums of *parts* of the launch, each with some of its tasks."""
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
        """Record that a core has declared *nbytes* of *space*."""
        self._high[space] = max(self._high[space], nbytes)

    def _finished(self, log: Log | None) -> CoreLog:
        """Return the log of a core that has ended; equal logs are one object."""
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
        """Record the high-water mark of a cluster's SRAM."""
        self._high[SRAM] = max(self._high[SRAM], arena.high_water)

    @property
    def instructions(self) -> Instructions:
        """Return how often each executed intrinsic was executed, in the order of the table."""
        return Instructions({NAMES[number]: self.counts[number] for number in _met(self.counts)})

    @property
    def traffic(self) -> dict[str, int]:
        """Return the bytes copied by direction."""
        return {d.name: n for d, n in zip(DIRECTIONS, self.traffic_by, strict=True) if n}

    @property
    def lanes(self) -> dict[str, Lanes]:
        """Return the lanes of each executed vector intrinsic."""
        paid = {number: self.lines[number] * VECTOR_BYTES for number in _met(self.lines)}
        return {NAMES[number]: Lanes(most - self.spare[number], most) for number, most in paid.items()}

    @property
    def io_bytes(self) -> int:
        """Return the bytes that the IO-DMA carried for copies, atomics and fills."""
        return sum([task.work[3] for task in self.tasks])  # the IO-DMA's place in the order of the pipes

    @property
    def memory(self) -> dict[str, Usage]:
        """Return the capacity and high-water mark of each on-chip memory."""
        return {space.name: Usage(self.limits[space.name], high) for space, high in self._high.items()}


@functools.lru_cache(maxsize=1024)
def _of_one_row(row: tuple[int, ...]) -> CoreLog:
    """Return the log with the single row *row*, which launches of the same kernel usually share."""
    log = Log()
    log.extend(np.array([row], np.int64))
    return log.finished()


def _add_accesses(total: dict[str, int], counts: Sequence[int]) -> int:
    """Add scalar accesses, counted by the number of the space, to *total*, which is by name; return their sum."""
    for number, accesses in enumerate(counts):  # loads are also divided by the waiting pipe
        if accesses:
            name = SPACES[number % len(SPACES)].name
            total[name] = total.get(name, 0) + accesses
    return sum(counts)


def _add_named(total: dict[str, int], counts: dict[str, int]) -> None:
    for name, number in counts.items():
        total[name] = total.get(name, 0) + number


def _add(total: list[int], counts: Sequence[int]) -> None:
    """Add *counts* to *total*; most are zero."""
    for number in _met(counts):
        total[number] += counts[number]


def _met(counts: Sequence[int]) -> Iterable[int]:
    """Return the numbers of the non-zero *counts*, which are few."""
    if counts.__class__ is not list:  # counters in C are a memoryview
        return np.asarray(counts).nonzero()[0].tolist()
    return () if counts == NOTHING else compress(EVERY, counts)


def _reads(core: "Core") -> tuple[tuple[int, int, int], ...]:
    """Return the tensors of *core*: address, bytes, and the bytes that its copies read."""
    reads: dict[Allocation, int] = {}
    for views in core.bindings:
        for view in views.values():
            if view.space is GDRAM:
                reads[view.allocation] = reads.get(view.allocation, 0) + view.read
    return tuple([(tensor.address, tensor.nbytes, read) for tensor, read in reads.items()])


# Counts of executed statements in C in a launch: a row for each task, and the last for all memory cores.

Cover = tuple[str, int, int, bool | None]
"""A statement (None) or an outcome of a condition, by file, line and column."""


class CoverCounts:
    """``counts``, initially 0, of each of *covers* in each of so many *tasks*.

    Threads that run the tasks of one launch have a `part` each, because they would share the row of memory cores.
    """

    def __init__(self, covers: Sequence[Cover], tasks: int) -> None:
        self.covers = covers
        self.counts: np.ndarray[Any, np.dtype[np.uint64]] = np.zeros(
            (tasks + 1, max(len(covers), 1)), np.uint64
        )
        self._parts: list[CoverCounts] = []
        self._first, self._stride = self.counts.ctypes.data, self.counts.strides[0]

    def part(self) -> "CoverCounts":
        """Return the counts of one of several threads, which are added by `join`."""
        part = CoverCounts(self.covers, len(self.counts) - 1)
        self._parts.append(part)
        return part

    def join(self) -> None:
        """Add the counts of the threads."""
        while self._parts:
            self.counts += self._parts.pop().counts

    def leave(self) -> None:
        """Drop the counts of the threads."""
        self._parts.clear()

    def at(self, task: int) -> int:
        """Return the address of the row of *task*; -1 is a memory core."""
        return self._first + (task if task >= 0 else len(self.counts) - 1) * self._stride
