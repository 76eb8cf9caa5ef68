"""The counts of what C passes in a launch: a row for each task, and the last for all memory cores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mlusim.machine.session import Session

Cover = tuple[str, int, int, bool | None]
"""A statement (None) or an outcome of a test, by file, line and column."""


class CoverCounts:
    """``counts`` of each of *covers* in each of so many *tasks*.

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
        made = CoverCounts(self.covers, len(self.counts) - 1)
        self._parts.append(made)
        return made

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


def counts_of(session: "Session") -> CoverCounts:
    """Return counts, all 0, of what the compiled kernel of *session* counts."""
    x, y, z = session.dim
    return CoverCounts(session.native.program.covers, x * y * z)
