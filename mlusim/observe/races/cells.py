"""Accesses cut into cells of bytes, and which accesses of a cell have to be in order.

A table of accesses has one row each: low, size, kind, segment, site, time.  The bytes are cut wherever
an access begins or ends; an entry says that a row touches a cell.  Within a cell the rows are taken in
the order of the run: each is held against the last write before it, and each read against the next
write.  What is in order along that chain is in order altogether.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mlusim.memory.footprint import Ints

LOW, SIZE, KIND, SEGMENT, SITE, TIME, COLUMNS = 0, 1, 2, 3, 4, 5, 6
READ, ATOMIC, WRITE = 0, 1, 2

Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Cells(NamedTuple):
    """Entries by cell and, within a cell, by time: ``cell[n]`` is touched by row ``row[n]``."""

    edges: Ints
    cell: Ints
    row: Ints


def cut(table: Ints) -> Cells:
    """Cut the bytes of *table*, whose rows are in the order of the run."""
    low, high = table[:, LOW], table[:, LOW] + table[:, SIZE]
    edges = np.unique(np.concatenate([low, high]))
    first, last = np.searchsorted(edges, low), np.searchsorted(edges, high)
    count = last - first
    ends = np.cumsum(count)
    cell = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - count - first, count)
    row = np.repeat(np.arange(len(table)), count)
    # Stable: within a cell the entries stay in the order of the run.
    by = np.argsort(cell, kind="stable")
    return Cells(edges, cell[by], row[by])


def pairs(cells: Cells, kinds: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of rows (earlier, later) that touch a common cell and have to be in order.

    *kinds* gives the kind of each entry.
    """
    # Against the last write, and of atomics against what is none: two atomics need no order.
    for earlier, later in ((kinds == WRITE, kinds >= READ), (kinds == ATOMIC, kinds != ATOMIC)):
        held, before = _last_before(cells, earlier)
        held &= later
        yield cells.row[before[held]], cells.row[held]
    for earlier, later in (
        (kinds != WRITE, kinds == WRITE),
        (kinds == READ, kinds == ATOMIC),
        (kinds == ATOMIC, kinds == READ),
    ):
        held, behind = _next_behind(cells, later)
        held &= earlier
        yield cells.row[held], cells.row[behind[held]]


def latest(table: Ints, tasks: Ints) -> Ints:
    """Reduce *table* to what a later access may conflict with.

    That is, per cell, the last write, and per task the newest read and atomic since.  *tasks* gives each
    row's task.
    """
    cells = cut(table)
    kinds = table[cells.row, KIND]
    place = np.arange(len(kinds))
    begin = _begins(cells)
    start = np.maximum.accumulate(np.where((kinds == WRITE) | begin, place, 0))
    group = np.cumsum(begin) - 1
    ends = np.append(np.flatnonzero(begin)[1:], len(kinds)) - 1
    kept = np.flatnonzero(place >= start[ends][group])
    key = (cells.cell[kept] * 3 + kinds[kept]) * (int(tasks.max()) + 1) + tasks[cells.row[kept]]
    # Backwards, since unique returns the first of equal keys.
    _, newest = np.unique(key[::-1], return_index=True)
    kept = kept[len(kept) - 1 - newest]
    return _merged(table, cells, kept)


def _merged(table: Ints, cells: Cells, kept: Ints) -> Ints:
    """Return the rows for the entries *kept*, neighbouring cells of one row joined again."""
    by = np.lexsort((cells.cell[kept], cells.row[kept]))
    cell, row = cells.cell[kept][by], cells.row[kept][by]
    apart = np.append(True, (row[1:] != row[:-1]) | (cell[1:] != cell[:-1] + 1))
    first = np.flatnonzero(apart)
    last = np.append(first[1:], len(row)) - 1
    joined = table[row[first]].copy()
    joined[:, LOW] = cells.edges[cell[first]]
    joined[:, SIZE] = cells.edges[cell[last] + 1] - joined[:, LOW]
    return joined[np.argsort(joined[:, TIME], kind="stable")]


def _begins(cells: Cells) -> Flags:
    """Return for each entry whether it is the first of its cell."""
    return np.append(True, cells.cell[1:] != cells.cell[:-1]) if len(cells.cell) else np.zeros(0, np.bool_)


def _last_before(cells: Cells, wanted: Flags) -> tuple[Flags, Ints]:
    """Return for each entry whether its cell has an earlier *wanted* one, and the last such."""
    place = np.arange(len(cells.cell))
    floor = np.maximum.accumulate(np.where(_begins(cells), place, 0))
    last = np.maximum.accumulate(np.where(wanted, place, -1))
    before = np.append(-1, last[:-1]) if len(last) else last
    return before >= floor, before


def _next_behind(cells: Cells, wanted: Flags) -> tuple[Flags, Ints]:
    """Return for each entry whether its cell has a later *wanted* one, and the next such."""
    count = len(cells.cell)
    place = np.arange(count)
    begin = _begins(cells)
    end = np.append(begin[1:], True) if count else begin
    ceiling = np.minimum.accumulate(np.where(end, place, count)[::-1])[::-1]
    following = np.minimum.accumulate(np.where(wanted, place, count)[::-1])[::-1]
    behind = np.append(following[1:], count) if count else following
    return behind <= ceiling, behind
