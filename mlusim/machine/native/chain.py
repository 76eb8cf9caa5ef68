"""Block tasks that a core runs in C one after the other; Python gets their results when the last of them has ended.

Beginning and ending a task in Python takes 0.1 ms, during which no other thread has Python's lock.  A task without
calls to Python needs neither: C begins the next one as the core's first task began, and records its counts.  The
first task that calls Python, or leaves work for it, is the last of its chain; Python's part of the core is then
brought to that task.
"""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mlusim.machine.native.text import layout
from mlusim.machine.observed import TaskPlace
from mlusim.machine.tally import SilentTasks
from mlusim.memory.allocation import POISON, Allocation, Bytes, pages
from mlusim.memory.pointer import View
from mlusim.memory.space import Space
from mlusim.time.log import CHUNK, COLUMNS, Rows
from mlusim.time.quantities import LAUNCH, TASK_PLACES

MOST_TASKS = 64  # tasks of a chain
# The state that changes while a task runs begins here in a core's structure, after the counters, and ends
# before the addresses of its buffers.
BEGINS, ENDS = getattr(layout.Core, LAUNCH[0].name).offset, layout.Core.log.offset
NUMBER, CORE_ID, GROUP, CLUSTER, OF_MEMORY = map(
    layout.CHAIN_TASK.index, ("taskId", "coreId", "segment", "clusterId", "memory_core")
)
RAW = layout.CHAIN_ARRAY.index("raw")
LOGGED, MET, WHO = (TASK_PLACES + layout.CHAIN_DONE.index(name) for name in ("nlog", "met", "who"))
MASK = (1 << 64) - 1
READS = TASK_PLACES + len(layout.CHAIN_DONE)


class FreshMemory(NamedTuple):
    """A piece of memory at the beginning of each task: its bytes are all poison, or have the *content* stored for it.

    With a *number* it is the allocation of that number, which may become poison later, as far as a task accesses it.
    """

    space: Space
    start: int
    nbytes: int
    content: Bytes | None = None
    number: int = 0

    def row(self) -> tuple[int, int, int, int]:
        """Return the piece as a row of `layout.CHAIN_PIECE`."""
        if self.content is None:
            return self.start, self.nbytes, layout.POISONED, self.number
        zeros = not self.content.any()
        return self.start, self.nbytes, layout.ZEROS if zeros else self.content.ctypes.data, 0


class DeclaredLocal(NamedTuple):
    """An array of a function as a task has declared it: its numbers in the program and of its line, its first view, the word of its pointer.

    Its bytes are filled with *fill*, unless that is negative, because other cores that share them fill them.
    """

    place: int
    site: int
    view: View
    word: int
    fill: int = POISON

    @property
    def allocation(self) -> Allocation:
        """Return the allocation of its bytes."""
        return self.view.allocation

    def row(self) -> tuple[int, ...]:
        """Return the array as a row of `layout.CHAIN_ARRAY`."""
        a = self.allocation
        return self.place, self.site, self.word, a.where(), a.nbytes, self.fill & MASK


class Chain:
    """The chain of the tasks of a core, each of which begins with *tensors* allocations.

    *pieces* are the memory that is renewed for each; *words* those of variables at file scope.  *arrays* are the
    arrays of functions that the first task has declared, in this order; the core keeps their numbers.
    """

    def __init__(
        self,
        tensors: int,
        pieces: Sequence[FreshMemory],
        words: bytes,
        arrays: Sequence[DeclaredLocal],
        most: int = MOST_TASKS,
    ) -> None:
        self.arrays = arrays
        self.declared = 0  # number of arrays that Python's part of the core has, too
        self.begun = 0  # its current task
        self.most = most
        self._given = tensors
        self._arrays = np.array([array.row() for array in arrays], np.uint64).reshape(
            -1, len(layout.CHAIN_ARRAY)
        )
        self._spaces = [piece.space for piece in pieces]
        self._contents = pieces  # from which C copies
        self._pieces = np.array([piece.row() for piece in pieces], np.uint64)
        self._tasks = np.zeros((most, len(layout.CHAIN_TASK)), np.int64)
        self._done = np.empty((most, TASK_PLACES + len(layout.CHAIN_DONE) + self._given), np.int64)
        # The system provides pages as they are written; after the counts of all tasks there is space for one
        # more.
        many = layout.CHAIN_ROWS + CHUNK + 1
        self._rows = pages(8 * many * COLUMNS).view(np.int64).reshape(many, COLUMNS)
        self._logged: Rows = self._rows  # the rows of all tasks, in their order
        self._rest = np.empty(ENDS - BEGINS, np.uint8)
        self._words = np.frombuffer(words, np.uint64)
        self.c = layout.Chain()
        self.c.given, self.c.poisoned = self._given, len(self._pieces)
        self.c.nrest, self.c.nplaces = len(self._rest), len(self._words)
        for name, array in (
            ("tasks", self._tasks), ("arrays", self._arrays), ("pieces", self._pieces), ("rest", self._rest),
            ("places", self._words), ("done", self._done), ("rows", self._rows),
        ):  # fmt: skip
            setattr(self.c, name, array.ctypes.data)

    def begin(self, tasks: "np.ndarray[Any, Any]", structure: memoryview) -> int:
        """Set *tasks*, rows of `layout.CHAIN_TASK`, as the tasks to run; Python has begun the first on the core with the *structure*.

        Returns the address of the chain in C.
        """
        self.begun = self.declared = 0
        self._logged = self._rows
        self._tasks[: len(tasks)] = tasks
        self._rest[:] = structure[BEGINS:ENDS]
        c = self.c
        c.many, c.at, c.called, c.met, c.nrows = len(tasks), 0, 0, 0, 0
        c.known = len(self.arrays)
        return ctypes.addressof(c)

    def twin(self, structure: memoryview, moves: Mapping[Space, int], rows: Rows) -> "tuple[Any, list[Any]]":
        """Return a chain of the same tasks for the core with the *structure*, whose memories are shifted by *moves* bytes, and the objects to keep alive for it.

        The logs of its tasks are in *rows*.
        """
        c = type(self.c).from_buffer_copy(self.c)
        arrays, pieces = self._arrays.copy(), self._pieces.copy()
        if len(arrays):
            arrays[:, RAW] += np.array([moves[a.allocation.space] for a in self.arrays], np.int64).view(
                np.uint64
            )
        if len(pieces):
            pieces[:, 0] += np.array([moves[space] for space in self._spaces], np.int64).view(np.uint64)
        rest = np.frombuffer(structure[BEGINS:ENDS].tobytes(), np.uint8)
        c.arrays, c.pieces, c.rest, c.rows = (a.ctypes.data for a in (arrays, pieces, rest, rows))
        return c, [arrays, pieces, rest, rows]

    def shared(self, others: Sequence[Rows]) -> "tuple[list[int], Sequence[Any] | Rows, list[int]]":
        """Move to the last task, after all have ended on the core and on twins; *others* are the rows of the twins' logs.

        Returns the results of the last task, for `Seat.takes`.
        """
        many = self.c.many
        done = self._done[:many]
        who, logged = done[:, WHO], done[:, LOGGED]
        if logged.any():
            rows, ends, pieces = (self._rows, *others), [0] * (1 + len(others)), []
            for thread, n in zip(who.tolist(), logged.tolist(), strict=True):
                pieces.append(rows[thread][ends[thread] : ends[thread] + n])
                ends[thread] += n
            self._logged = np.concatenate(pieces)
        who[:] = 0
        last = done[many - 1].tolist()
        n = last[LOGGED]
        self.c.at, self.c.met = many - 1, last[MET]
        return last[:READS], self._logged[len(self._logged) - n :] if n else (), last[READS:]

    def begin_again(self) -> None:
        """Set the same tasks to run once more, beginning with the first, in its original state."""
        self.begun = self.declared = 0
        self._logged = self._rows
        c = self.c
        c.at, c.met, c.known = 0, 0, len(self.arrays)

    def taken(self) -> Rows:
        """Return the rows of the logs so far; C then overwrites them."""
        return self._rows[: self.c.nrows].copy()

    def knows(self, rows: Rows) -> None:
        """Use *rows* as those of the logs of the ended tasks, of which earlier ones have been taken."""
        self._logged = rows

    def done(self) -> Rows:
        """Return the results of the ended tasks, a row for each."""
        return self._done[: self.c.at].copy()

    @staticmethod
    def who(done: Rows) -> Rows:
        """Return the column of *done* with the number of the thread, or in a team with that of the task."""
        column: Rows = done[:, WHO]
        return column

    def places(self) -> Rows:
        """Return the places of its tasks."""
        return self._tasks[: self.c.many]

    def stops(self) -> TaskPlace:
        """Return the place of the task at which the core is when the threads are ended; all results are dropped."""
        at = self._place(self.c.at)
        self.c.at, self.c.met = self.begun, self.declared
        return at

    def _place(self, nth: int) -> TaskPlace:
        task, x, y, z, core, *_ = self._tasks[nth].tolist()
        return TaskPlace(task, x, y, z, 0, core)

    @property
    def place(self) -> TaskPlace:
        """Return the place of the current task of Python's part of the core."""
        return self._place(self.begun)

    def ended(self) -> Iterator[SilentTasks]:
        """Yield the tasks that have ended without Python, consecutive equal ones together; the core is moved to the task after them."""
        many = self.c.at
        yield from doings(self._done[:many], self._logged, self._tasks[:many])
        self.begun, self.declared = self.c.at, 0

    def declares(self) -> Sequence[View]:
        """Return the views of the arrays that C has declared for the task but Python has not."""
        views = [array.view for array in self.arrays[self.declared : self.c.met]]
        self.declared = self.c.met
        return views


def doings(done: Rows, logged_rows: Rows, places: Rows) -> Iterator[SilentTasks]:
    """Yield the results *done* of the tasks at *places*, rows of `layout.CHAIN_TASK`, consecutive equal ones together; the rows of their logs are consecutive."""
    many, row, first = len(done), 0, 0
    told = places[:, [NUMBER, OF_MEMORY, GROUP, CLUSTER, CORE_ID]].tolist()
    raw = done.tobytes()
    # Comparing rows takes NumPy longer than everything else here, and they are usually all equal.
    if raw == raw[: len(raw) // many] * many:
        ends = [many]
    else:
        ends = [*((done[1:] != done[:-1]).any(axis=1).nonzero()[0] + 1).tolist(), many]
    for end in ends:
        counted = done[first].tolist()
        head, transfers, logged, met, _ = counted[TASK_PLACES:READS]
        rows = logged_rows[row : row + logged * (end - first)].reshape(end - first, logged, COLUMNS)
        same = not logged or bool((rows[1:] == rows[0]).all())
        row += logged * (end - first)
        for nth, stop in ((0, end - first),) if same else ((n, n + 1) for n in range(end - first)):
            yield SilentTasks(
                told[first + nth : first + stop],
                met,
                counted[:TASK_PLACES],
                rows[nth],
                (head, transfers),
                [0, *counted[READS:]],
            )
        first = end
