"""The record of who wrote each byte of an allocation last, and whose bytes were overwritten by it: one that Python and C keep alike."""

from typing import Any

import numpy as np

from mlusim.memory.footprint import Access

WORD = 8  # bytes of the record for each byte: two numbers of 16 bits and one of 32
MOST_WRITERS = (1 << 16) - 1  # what 16 bits can name; 0 is no writer


class WrittenBytes:
    """The last writer of each of *nbytes* bytes, whose they were before, and the number of the place where they were written.

    Writers are numbers from 1 on.  The three tables lie one behind the other, as `screen.h` has them (``written_``).
    """

    def __init__(self, nbytes: int) -> None:
        self.table = np.zeros(WORD * nbytes, np.uint8)
        self.last = self.table[: 2 * nbytes].view(np.uint16)
        self.lost_of = self.table[2 * nbytes : 4 * nbytes].view(np.uint16)
        self.place = self.table[4 * nbytes :].view(np.int32)

    def store(self, access: Access, who: int, place: int) -> None:
        """Let *who* write the bytes at *place*."""
        at = _indices(access)
        last = self.last[at]
        # A second store by the same writer must not hide whose bytes its first one took.
        self.lost_of[at] = np.where(last == who, self.lost_of[at], last)
        self.last[at] = who
        self.place[at] = place

    def lost(self, access: Access, who: int) -> list[tuple[int, int, int]]:
        """Find who overwrote bytes of *who* that it reads now: (who did, at which place, how many bytes)."""
        at = _indices(access)
        last = self.last[at]
        gone = (self.lost_of[at] == who) & (last != who)
        if not gone.any():
            return []
        pairs, counts = np.unique(
            np.stack([last[gone].astype(np.int32), self.place[at][gone]]), axis=1, return_counts=True
        )
        return [(int(p[0]), int(p[1]), int(n)) for p, n in zip(pairs.T, counts, strict=True)]


def _indices(access: Access) -> Any:
    """Return the bytes of *access* as an index."""
    if not access.steps:
        return slice(access.start, access.start + access.size)
    return (access.starts[:, None] + np.arange(access.size)).reshape(-1)
