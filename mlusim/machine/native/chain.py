"""Block tasks that a core runs in C one after the other: Python hears of what they did when the last of them has ended.

To begin a task in Python and to end it takes 0.1 ms, in which no other thread has Python's lock.  A task that calls for nothing
needs neither: C lets the next one begin as the core's first task has begun, and writes down what it counted.  The first that calls
for Python, or leaves something to be done, is the last of its chain; Python's part of the core is brought to that task then.
"""

import ctypes
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mlusim.engine.native import layout
from mlusim.machine.observed import TaskPlace
from mlusim.machine.tally import SilentTask
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import View
from mlusim.time.log import COLUMNS
from mlusim.time.quantities import LAUNCH, TASK_PLACES

MOST_TASKS = 64  # of a chain
# What changes while a task runs begins here in a core's structure, behind the counters, and ends before the addresses of its buffers.
BEGINS, ENDS = getattr(layout.Core, LAUNCH[0].name).offset, layout.Core.log.offset


class DeclaredLocal(NamedTuple):
    """An array of a function as a task has declared it: its number in the program, that of its line, its first view, the word of its pointer."""

    place: int
    site: int
    view: View
    word: int

    @property
    def allocation(self) -> Allocation:
        """Its bytes."""
        return self.view.allocation


class Chain:
    """The chain of the tasks of a core, each of which begins with so many allocations *given*.

    *pieces* are the memory that is poison then, by address and size; *words* those of variables at file scope.  *arrays* are the
    arrays of functions that the first task has declared, in this order; the core keeps their numbers.
    """

    def __init__(
        self, given: int, pieces: Sequence[tuple[int, int]], words: bytes, arrays: Sequence[DeclaredLocal]
    ) -> None:
        self.arrays = arrays
        self.declared = 0  # of the arrays, those that Python's part of the core has, too
        self.begun = 0  # the task that it is at
        self._places: list[TaskPlace] = []
        self._given = given
        self._arrays = np.array(
            [(a.place, a.site, a.word, a.allocation.where(), a.allocation.nbytes) for a in arrays],
            np.uint64,
        ).reshape(-1, len(layout.CHAIN_ARRAY))
        self._pieces = np.array(pieces, np.uint64)
        self._tasks = np.zeros((MOST_TASKS, len(layout.CHAIN_TASK)), np.int64)
        self._done = np.empty((MOST_TASKS, TASK_PLACES + len(layout.CHAIN_DONE) + self._given), np.int64)
        self._rows = np.empty((layout.CHAIN_ROWS, COLUMNS), np.int64)  # the system provides what is written
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

    def begin(self, places: Sequence[TaskPlace], structure: memoryview) -> int:
        """Let the tasks of *places* come one after the other; Python has begun the first on the core with the *structure*.

        Returns the address of the chain in C.
        """
        self.begun = self.declared = 0
        self._places = list(places)
        self._tasks[: len(places)] = [(*p[:4], p.core_id, p.task) for p in places]
        self._rest[:] = structure[BEGINS:ENDS]
        c = self.c
        c.many, c.at, c.called, c.met, c.nrows = len(places), 0, 0, 0, 0
        c.known = len(self.arrays)
        return ctypes.addressof(c)

    @property
    def place(self) -> TaskPlace:
        """The place of the task that Python's part of the core is at."""
        return self._places[self.begun]

    def ended(self) -> Iterator[SilentTask]:
        """Yield the doings of the tasks that have ended without Python; the core is brought to the task behind them."""
        first = 0
        # A task that has called for Python has nothing before it to tell.
        done = self._done[: self.c.at].tolist()
        for place, counted in zip(self._places, done, strict=False):
            *head, many = counted[TASK_PLACES : TASK_PLACES + len(layout.CHAIN_DONE)]
            yield SilentTask(
                place,
                counted[:TASK_PLACES],
                self._rows[first : first + many],
                (head[0], head[1]),
                [0, *counted[TASK_PLACES + len(layout.CHAIN_DONE) :]],
            )
            first += many
        self.begun, self.declared = self.c.at, 0

    def declares(self) -> Sequence[View]:
        """Return the views of the arrays that C has declared for the task and Python has not."""
        found = [array.view for array in self.arrays[self.declared : self.c.met]]
        self.declared = self.c.met
        return found
