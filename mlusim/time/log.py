"""The log of a core, in order, as the timing model needs it: a row where something overlaps or waits.

Instructions that simply follow each other leave no rows, only sums in `Mlu.work`; a row is written
when an asynchronous effect starts, when the core waits for one, at barriers and at the end.  It holds
the sums since the row before, so a task without asynchronous copies is one row.  Rows are kept as
arrays of the distinct ones, and a log that grows all the same is merged, so that memory stays bounded.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.board import Pipe
from mlusim.time import counters
from mlusim.time.quantities import CopyLoad

END, IO_FLIGHT, MOVE_FLIGHT, WAIT, MEET = range(5)  # kinds of rows
FOR_IO, FOR_MOVE, FOR_COMPUTE = 1, 2, 4  # what a WAIT row waits for
FOR_ALL = FOR_IO | FOR_MOVE | FOR_COMPUTE
ARRIVES, WAITS_FOR = 1, 2  # what a core does at half a meeting; at a whole one, 0
ROLE = 1 << 16  # a MEET row holds how many meet and this many times what the core does
WAITS = {
    Pipe.IO: FOR_IO,
    Pipe.MOVE: FOR_MOVE,
    Pipe.VECTOR: FOR_COMPUTE,
    Pipe.TENSOR: FOR_COMPUTE,
    Pipe.SCALAR: 0,
}

# Columns: kind, argument (what is waited for; a meeting's number), the load of a flight (of a meeting:
# how many meet), then the sums: what a task counts, as `time.counters` lays it out.
KIND, ARGUMENT, OWN = 0, 1, 2
STORES_OF = OWN + CopyLoad._fields.index("stores")
SUMS = OWN + len(CopyLoad._fields)
LOADS = SUMS + counters.places_before(counters.LOADS)
STORES = SUMS + counters.places_before(counters.STORES)
COLUMNS = SUMS + counters.TASK_PLACES

CHUNK = 1024  # rows that become an array
MOST = 1 << 17  # rows of one core, beyond which rows are merged

Rows = np.ndarray[Any, np.dtype[np.int64]]
NO_SUMS: Rows = np.zeros(COLUMNS, np.int64)


@frozen(eq=False, slots=False)
class CoreLog:
    """A finished log: chunks of (distinct rows, which of them in turn).

    What is counted of it is kept: a prediction, its band and the figures of a launch ask again for each task.
    """

    chunks: tuple[tuple[Rows, np.ndarray[Any, np.dtype[np.uint16]]], ...]
    key: bytes = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "key", b"".join(u.tobytes() + n.tobytes() for u, n in self.chunks))

    def __iter__(self) -> Iterator[Rows]:
        """Yield the rows in order, a chunk at a time."""
        for distinct, turns in self.chunks:
            yield distinct[turns]

    @cached_property
    def times(self) -> tuple[Rows, ...]:
        """How often each distinct row comes, for each chunk."""
        return tuple(np.bincount(turns, minlength=len(distinct)) for distinct, turns in self.chunks)

    @cached_property
    def total(self) -> Rows:
        """The sums over all rows, columns as in the rows."""
        total = np.zeros(COLUMNS, np.int64)
        for (distinct, _), times in zip(self.chunks, self.times, strict=True):
            total += times @ distinct
        return total


class Log:
    """The log of one core while it runs."""

    __slots__ = ("_base", "_chunks", "_kept", "_rows")

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._chunks: list[Any] = []
        self._base = NO_SUMS
        self._kept = 0

    @property
    def only(self) -> tuple[int, ...] | None:
        """The row of a log that has one."""
        return self._rows[0] if len(self._rows) == 1 and not self._chunks else None

    def note(self, kind: int, argument: int, load: tuple[int, ...], sums: tuple[int, ...]) -> int:
        """Write a row; *sums* are those of the whole task so far.  Returns the bytes that the log has grown by."""
        self._rows.append((kind, argument, *load, *sums))
        if len(self._rows) < CHUNK:
            return 0
        self._pack()
        return sum(part.nbytes for part in self._chunks[-1])

    def extend(self, rows: Rows) -> int:
        """Write *rows*, laid out as a chunk is, behind those that are there; sums and result as for `note`."""
        at, before = 0, len(self._chunks)
        while at < len(rows):
            piece = rows[at : at + CHUNK - len(self._rows)]
            at += len(piece)
            if len(piece) == CHUNK:
                self._keep_chunk(piece.copy())
            else:
                self._rows += map(tuple, piece.tolist())
                if len(self._rows) == CHUNK:
                    self._pack()
        return sum(part.nbytes for chunk in self._chunks[before:] for part in chunk)

    def fence(self) -> bool:
        """Let the core wait for its compute stream while nothing is in flight; the next flight notes it."""
        return True

    def finished(self) -> CoreLog:
        """Return the log, whose last row was written."""
        self._pack()
        return CoreLog(tuple(self._chunks))

    def _pack(self) -> None:
        if self._rows:
            self._keep_chunk(np.array(self._rows, np.int64))
            self._rows.clear()

    def _keep_chunk(self, rows: Rows) -> None:
        """Keep *rows*, whose sums are those of the task so far, as one chunk."""
        if len(rows) == 1 and not self._chunks:
            self._chunks.append((rows, np.zeros(1, np.uint16)))
            self._base = rows[0]
            self._kept = 1
            return
        sums = rows[:, SUMS:].copy()
        rows[1:, SUMS:] -= sums[:-1]
        rows[0, SUMS:] -= self._base[SUMS:]
        self._base = np.concatenate((NO_SUMS[:SUMS], sums[-1]))
        if self._kept >= MOST:
            rows = _merged(rows)
        self._kept += len(rows)
        if len(rows) == 1:
            self._chunks.append((rows, np.zeros(1, np.uint16)))
        else:
            self._chunks.append(_each_once(rows))


def _each_once(rows: Rows) -> tuple[Rows, np.ndarray[Any, np.dtype[np.uint16]]]:
    """Return the distinct ones of *rows*, of which there is one at least, in order, and which of them each row is.

    Rows are told apart by their bytes, in 10 us for a few of them, of which `np.unique` takes 70.  Their type has a
    name: NumPy asks a function in Python about ``(np.void, n)``, and drops a Ctrl-C that comes meanwhile.
    """
    words = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}")[:, 0].tolist()
    distinct = list(dict.fromkeys(words))
    found = np.frombuffer(b"".join(distinct), rows.dtype).reshape(len(distinct), -1)
    order = np.lexsort(found.T[::-1])
    numbers = {distinct[place]: number for number, place in enumerate(order.tolist())}
    return found[order], np.array([numbers[word] for word in words], np.uint16)


def _merged(rows: Rows) -> Rows:
    """Return fewer rows with the same sums: between barriers one flight a pipe, one wait, all the work.

    What overlapped in part now overlaps as far as it can; barriers stay, for others are part of them.
    """
    made: list[Rows] = []
    first = 0
    for at in [*np.flatnonzero((rows[:, KIND] == MEET) | (rows[:, KIND] == END)), len(rows)]:
        span = rows[first:at]
        for kind in (IO_FLIGHT, MOVE_FLIGHT):
            own = span[span[:, KIND] == kind]
            if len(own):
                row = np.zeros(COLUMNS, np.int64)
                row[KIND] = kind
                row[OWN:SUMS] = own[:, OWN:SUMS].sum(axis=0)
                made.append(row)
        if len(span):
            row = np.zeros(COLUMNS, np.int64)
            row[KIND], row[ARGUMENT] = WAIT, FOR_ALL
            row[SUMS:] = span[:, SUMS:].sum(axis=0)
            made.append(row)
        if at < len(rows):
            made.append(rows[at])
        first = at + 1
    return np.array(made)
