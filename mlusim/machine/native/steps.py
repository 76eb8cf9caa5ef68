"""Every instruction of cores that run in C, for lines, traces and timelines: the data of `time.log.NotedLog`, counted in C.

C stores the distinct steps of a launch in one table, and for each core the numbers of its steps in turn, so that
memory is bounded as in Python: `time.log` explains the bound.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlusim.machine.native.text import layout
from mlusim.time.log import COLUMNS, LEAVE, MOST, MOST_STEPS, At, CoreSteps, Log, LoggedStep, Table

FIRST = 256  # steps in the first table
HEAD = len(layout.STEP)
SLOTS = 4  # hash slots for each step
LINE, NUMBER, LANES, ISSUED, NBYTES = map(layout.STEP.index, ("site", "number", "lanes", "issued", "nbytes"))

Words = np.ndarray[Any, Any]


def _where(array: Words) -> int:
    return int(array.__array_interface__["data"][0])


class StepTable:
    """The distinct steps of a launch in C, with their numbers in Python's *table*; *sites* are the places by C's numbers."""

    def __init__(self, table: Table, sites: Sequence[tuple[str, int]], library: ctypes.PyDLL) -> None:
        self.table, self.library = table, library
        self._sites = [table.site(*site) for site in sites]
        self._accesses = np.zeros(len(sites) * layout.ACCESSES, np.uint32)
        self._last = np.zeros(len(sites) + 1, np.uint32)
        self._rows: Words = np.zeros((0, HEAD + COLUMNS), np.int64)
        self._numbers: Words = np.zeros(0, np.int64)
        self.c = layout.Steps(room=table.room, accesses=_where(self._accesses), last=_where(self._last))
        self.at = ctypes.addressof(self.c)
        for name in ("noted", "rehash", "fenced"):
            function = getattr(library, f"mlusim_{name}")
            function.argtypes = [ctypes.c_void_p] * (1 + (name == "noted"))
            function.restype = None
        self.grow()

    def grow(self) -> None:
        """Double the space for steps."""
        rows = np.zeros((max(FIRST, 2 * len(self._rows)), HEAD + COLUMNS), np.int64)
        rows[: len(self._rows)] = self._rows
        self._rows, self._hash = rows, np.zeros(SLOTS * len(rows), np.uint32)
        self.c.rows, self.c.hash = _where(rows), _where(self._hash)
        self.c.places, self.c.mask = len(rows), len(self._hash) - 1
        self.library.mlusim_rehash(self.at)

    @property
    def numbers(self) -> Words:
        """Return the numbers in Python's table of all steps so far."""
        count = len(self._numbers)
        if count < self.c.many:
            fresh = []
            for step in self._rows[count : self.c.many].tolist():
                # The end of a task has no place.
                site = 0 if step[NUMBER] == LEAVE else self._sites[step[LINE]]
                at = At(site, step[NUMBER], step[LANES])
                fresh.append(
                    self.table.number(LoggedStep(at, step[ISSUED], step[NBYTES], tuple(step[HEAD:])))
                )
            self._numbers = np.concatenate([self._numbers, fresh])
        return self._numbers


class StepLog(Log):
    """The log of a core that runs in C, with its steps, which C records; *seat* returns the address of its structure while it runs."""

    __slots__ = ("_cuts", "_more", "_owners", "_seat", "_steps", "_turns", "at", "c")

    def __init__(self, seat: Callable[[], int], steps: StepTable) -> None:
        super().__init__()
        self._seat, self._steps = seat, steps
        self._turns = np.empty(MOST_STEPS, np.uint32)
        self._cuts, self._owners = np.empty(MOST, np.uint32), np.empty(MOST, np.uint32)
        self._more = np.zeros(0, np.int64)
        self.c = layout.Noted(
            site=-1,
            number=LEAVE,
            whole=-1,
            turns=_where(self._turns),
            cuts=_where(self._cuts),
            owners=_where(self._owners),
            table=steps.at,
        )
        self.at = ctypes.addressof(self.c)

    def grow(self, *, of_core: bool) -> None:
        """Provide space for more steps: for the counts of this core, or in the table of the launch."""
        if not of_core:
            self._steps.grow()
            return
        more = np.zeros(self._steps.c.places, np.int64)
        more[: len(self._more)] = self._more
        self._more = more
        self.c.more, self.c.room = _where(more), len(more)

    def note(self, kind: int, argument: int, load: tuple[int, ...], sums: tuple[int, ...]) -> int:
        """Write a row for work that Python has done for the core; C records its step."""
        row = (ctypes.c_int64 * (1 + len(load)))(kind, *load)
        self._steps.library.mlusim_noted(self._seat(), ctypes.addressof(row))
        return super().note(kind, argument, load, sums)

    def fence(self) -> bool:
        """Let the core wait for its compute stream while nothing is in flight; the next flight logs it."""
        self._steps.library.mlusim_fenced(self._seat())
        return True

    def steps(self) -> CoreSteps:
        """Return the steps after the end of the log."""
        numbers, c = self._steps.numbers, self.c
        turns, owners = numbers[self._turns[: c.nturns]], numbers[self._owners[: c.ncuts]]
        times = np.bincount(np.concatenate([turns, owners]), minlength=len(self._steps.table.steps))
        often = np.flatnonzero(self._more)
        np.add.at(times, numbers[often], self._more[often])
        cuts = self._cuts[: c.ncuts if c.whole < 0 else c.whole].astype(np.int64)
        return CoreSteps(self._steps.table, turns, cuts, owners, np.trim_zeros(times, "b"))
