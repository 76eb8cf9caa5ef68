"""The counts of what C passes in a launch: a row for each task, and the last for all memory cores."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Cover = tuple[str, int, int, bool | None]
"""A statement (None) or an outcome of a test, by file, line and column."""


class CoverCounts:
    """``counts`` of each of *covers* in each of so many *tasks*."""

    def __init__(self, covers: Sequence[Cover], tasks: int) -> None:
        self.covers = covers
        self.counts: np.ndarray[Any, np.dtype[np.uint64]] = np.zeros(
            (tasks + 1, max(len(covers), 1)), np.uint64
        )
        self._first, self._stride = self.counts.ctypes.data, self.counts.strides[0]

    def at(self, task: int) -> int:
        """Return the address of the row of *task*; -1: a memory core."""
        return self._first + (task if task >= 0 else len(self.counts) - 1) * self._stride
