"""Accesses of different tasks to GDRAM and SRAM that are not ordered.

The bytes are divided into cells, so that only accesses of one cell have to be compared with each other.
"""

import itertools
import operator
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.machine.hub import Effect, SharedRun
from mlusim.machine.observed import Site
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, Ints, Mask
from mlusim.observe.races.clocks import Clocks, Segment

Pairs = tuple[Ints, Ints]  # of rows: the earlier and the later row of each
LOW, SIZE, KIND, SEGMENT, SITE, TIME, COLUMNS = 0, 1, 2, 3, 4, 5, 6  # columns of a table of accesses
READ, ATOMIC, WRITE = 0, 1, 2  # kinds
WINDOW = 1 << 16  # accesses that are judged together
UNKNOWN = float("nan")
WORD = 8  # bytes; values of writes of at most this size are kept
MOST = 256  # accesses of a statement for which a hint is tried
FEW = 8  # numbers that are told apart one after another
NUMBER = 1 << 63  # no number of an array is as large


class Statement(NamedTuple):
    """An intrinsic at a site of the kernel."""

    name: str
    pipe: Pipe
    site: Site


class Party(NamedTuple):
    """One of two unordered accesses: its statement, task, bytes and time."""

    statement: Statement
    segment: Segment
    kind: int
    low: int
    high: int
    time: int


class Conflict(NamedTuple):
    """Two statements of different tasks whose accesses are not ordered: an example, and all such pairs.

    A pair is (task, time, task, time) of the earlier and the later access.  ``same`` says that both write the same
    value to the same word; pairs with different or unknown values form another conflict.
    """

    allocation: Allocation
    first: Party
    second: Party
    pairs: Ints
    same: bool = False

    @property
    def memory(self) -> tuple[str, str, int]:
        """The identity of the memory: the same declaration in the SRAM of each cluster counts as one."""
        return self.allocation.space.name, self.allocation.site, self.allocation.address


class KeptValues:
    """The values of small stores that are heard one by one, by the numbers of their instructions."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def put(self, time: int, value: object) -> None:
        """Keep the *value* that the instruction *time* stores."""
        self._values[time] = value

    def get(self, time: int) -> Any:
        """Return the value that the instruction *time* stores; None if it is unknown."""
        return self._values.get(time)

    def equal(self, first: Ints, second: Ints) -> Mask:
        """Return which instructions of *first* store what their counterparts in *second* store; an unknown value equals no other."""
        values = (
            map(self._values.get, times.tolist(), itertools.repeat(UNKNOWN)) for times in (first, second)
        )
        return np.fromiter(map(operator.eq, *values), np.bool_, len(first))

    def keep_only(self, tables: Iterable[Ints]) -> None:
        """Drop the values of instructions that are not in *tables*."""
        if self._values:
            held = {time for table in tables for time in table[:, TIME].tolist()}
            self._values = {time: self._values[time] for time in held & self._values.keys()}


class Sharing:
    """The accesses to shared memory, judged in windows; *told* receives the conflicts of each window."""

    def __init__(self, clocks: Clocks, told: Callable[[list[Conflict]], None]) -> None:
        self.clocks = clocks
        self.kept = KeptValues()  # of the small writes that are added one by one
        # Of all; a run that is taken has its own.
        self.value: Callable[[int], Any] = self.kept.get
        self.equal: Callable[[Ints, Ints], Mask] = self.kept.equal
        self.statements: list[Statement] = []
        self._told = told
        self._places: dict[tuple[str, Site], int] = {}
        # A run, and the number here of each of its statements.
        self._placed: tuple[SharedRun, dict[int, int]] | None = None
        self._tables: dict[Allocation, array[int]] = {}
        self._judged: dict[Allocation, int] = {}
        self._pending, self._window = 0, WINDOW
        self.whole = False  # whether all accesses are kept, to find out later what another sync would change

    # -- events --------------------------------------------------------------------------------

    def add(self, effect: Effect, access: Access, kind: int, task: int) -> None:
        """Record an access; after every `WINDOW` accesses they are judged."""
        step = effect.step
        place = self._places.get((step.name, step.site))
        if place is None:
            place = self._place(step.name, step.pipe, step.site)
        table = self._tables.get(access.allocation)
        if table is None:
            table = self._tables[access.allocation] = array("q")
        segment = self.clocks.now[task]
        if access.steps:
            for start in sorted(access.starts.tolist()):
                table.extend((start, access.size, kind, segment, place, effect.number))
            self._pending += access.nbytes // access.size
        else:
            table.extend((access.start, access.size, kind, segment, place, effect.number))
            self._pending += 1
        if self._pending >= self._window:
            self.judge()

    def _place(self, name: str, pipe: Pipe, site: Site) -> int:
        place = self._places[name, site] = len(self.statements)
        self.statements.append(Statement(name, pipe, site))
        return place

    def take(self, run: SharedRun, first: int, end: int) -> None:
        """Record the accesses of *run* from *first* up to, and without, *end*, as `add` does one by one; no task synchronizes meanwhile."""
        while first < end:
            stop, room = end, self._window - self._pending
            if end - first >= room:  # all pieces of an operand are recorded before the window is judged
                stop = first + room + int(run.ends[first + room - 1 : end].argmax())
            self._extend(run, first, stop)
            self._pending += stop - first
            first = stop
            if self._pending >= self._window:
                self.judge()

    def fills(self, many: int) -> bool:
        """Return whether the accesses are judged once *many* more are recorded."""
        return self._pending + many >= self._window

    def _extend(self, run: SharedRun, first: int, stop: int) -> None:
        rows, memory = run.accesses[first:stop].copy(), run.memory[first:stop]
        rows[:, SEGMENT] = np.array(self.clocks.now, np.int64)[rows[:, SEGMENT]]
        rows[:, SITE] = self._numbered(run, rows[:, SITE])
        for n in in_turn(memory):
            held = rows.take((memory == n).nonzero()[0], axis=0)
            self._tables.setdefault(run.memories[n], array("q")).frombytes(held.tobytes())
        self.value, self.equal = run.value, run.equal

    def _numbered(self, run: SharedRun, statements: Ints) -> Ints:
        """Return the numbers here of *statements*, which have those of *run*."""
        if self._placed is None or self._placed[0] is not run:
            self._placed = run, {}
        turns, places = in_turn(statements), self._placed[1]
        for n in turns:
            if n not in places:
                name, pipe, site = run.statement(n)
                place = self._places.get((name, site))
                places[n] = self._place(name, pipe, site) if place is None else place
        turns.sort()
        return np.array([places[n] for n in turns], np.int64)[np.searchsorted(turns, statements)]

    def judge(self, ending: dict[Allocation, list[Conflict]] | None = None, *, last: bool = False) -> None:
        """Report the conflicts, and keep only accesses that may conflict with later ones; none, if the run is over (*last*).

        Of memory that is *ending* the conflicts have been looked for.
        """
        of = ending or {}
        conflicts = [
            conflict for a in self._tables for conflict in (of[a] if a in of else self._conflicts_of(a))
        ]
        if conflicts:
            self._told(conflicts)
        if last:
            self._tables, self._judged = {}, {}
            return
        for allocation, table in self.tables().items():
            if allocation in of or len(table) == self._judged.get(allocation, 0):
                continue
            if self.whole:
                self._judged[allocation] = len(table)
                continue
            reduced = latest(table, self.tasks(table))
            self._tables[allocation] = array("q", reduced.tobytes())
            self._judged[allocation] = len(reduced)
        self.clocks.forget()
        self._window = max(WINDOW, sum(self._judged.values()))
        self._pending = 0
        self.kept.keep_only(self.tables().values())

    def _conflicts_of(self, allocation: Allocation) -> list[Conflict]:
        """Return the conflicts of *allocation* that have not been reported."""
        table, seen = table_of(self._tables[allocation]), self._judged.get(allocation, 0)
        return [] if len(table) == seen else list(self.conflicts(allocation, table, seen))

    def forget(self, allocations: Iterable[Allocation]) -> None:
        """Drop the accesses to *allocations*, which end; if they have conflicts, everything is judged first."""
        ending = {a: self._conflicts_of(a) for a in allocations if a in self._tables}
        if any(ending.values()):
            self.judge(ending)
        for allocation in ending:
            del self._tables[allocation]
            self._judged.pop(allocation, None)

    def tables(self) -> dict[Allocation, Ints]:
        """Return the accesses that are held now."""
        return {allocation: table_of(held) for allocation, held in self._tables.items()}

    # -- conflicts -----------------------------------------------------------------------------

    def conflicts(
        self, allocation: Allocation, table: Ints, seen: int = 0, segments: list[Segment] | None = None
    ) -> Iterator[Conflict]:
        """Yield the conflicts of *table*; the first *seen* rows were compared with each other before.

        *segments* replace those of the run, to evaluate another run.
        """
        segments = self.clocks.segments if segments is None else segments
        kinds = table[:, KIND]
        if not len(table) or (kinds[0] != WRITE and not np.count_nonzero(kinds != kinds[0])):
            return  # reads alone need no order, and neither do atomics
        tasks = self.tasks(table)
        if not np.count_nonzero(tasks != tasks[0]):
            return
        parts = list(_racing(table, tasks, segments, seen))
        if not parts:
            return
        earlier, later = map(np.concatenate, zip(*parts, strict=True))
        sites = table[earlier, SITE], table[later, SITE]
        both = np.minimum(*sites) * len(self.statements) + np.maximum(*sites)
        statements = both * 2 + self._same(table, earlier, later)
        for number in in_turn(statements):
            these = (statements == number).nonzero()[0]
            racing = earlier[these], later[these]
            if len(parts) > 1:  # otherwise they are distinct and sorted
                racing = different_pairs(*racing, len(table))
            rows, other = (table.take(ends, axis=0) for ends in racing)
            example = np.lexsort((rows[:, TIME], other[:, TIME], rows[:, KIND] == READ))[0]
            parties = self._party(rows[example]), self._party(other[example])
            yield Conflict(allocation, *parties, _as_pairs(table, tasks, racing), bool(number & 1))

    def _same(self, table: Ints, earlier: Ints, later: Ints) -> Mask:
        """Return which pairs of rows write the same value to the same word."""
        columns = table.T
        size, kind, time = columns[SIZE], columns[KIND], columns[TIME]
        same: Mask = (size[earlier] <= WORD) & (kind[earlier] == WRITE)
        for column in columns[: KIND + 1]:
            same &= column[earlier] == column[later]
        if np.count_nonzero(same):
            same[same] = self.equal(time[earlier[same]], time[later[same]])
        return same

    def other_pairs(self, conflict: Conflict) -> Ints:
        """Return the unordered accesses of the two statements of *conflict*, in the form of ``conflict.pairs``, also of others than these.

        There are more, since with another sync the tasks might run in another order.  Of many
        accesses only the first ones are considered.
        """
        table = table_of(self._tables[conflict.allocation])
        numbers = [
            self._places[s.name, s.site] for s in (conflict.first.statement, conflict.second.statement)
        ]
        rows = np.concatenate([rows_of(table, n)[:MOST] for n in dict.fromkeys(numbers)])
        rows = rows[rows[:, TIME].argsort(kind="stable")]
        tasks, kinds, (a, b) = self.tasks(rows), rows[:, KIND], _overlapping(rows)
        differ = (tasks[a] != tasks[b]) & ((kinds[a] == WRITE) | (kinds[b] == WRITE) | (kinds[a] != kinds[b]))
        free = _unordered(rows, (a[differ], b[differ]), self.clocks.segments)
        return _as_pairs(rows, tasks, free)

    def tasks(self, table: Ints) -> Ints:
        """Return the task of each row of *table*."""
        return self.clocks.tasks(table[:, SEGMENT])

    def _party(self, row: Ints) -> Party:
        low = int(row[LOW])
        return Party(
            self.statements[int(row[SITE])],
            self.clocks.segments[int(row[SEGMENT])],
            int(row[KIND]),
            low,
            low + int(row[SIZE]),
            int(row[TIME]),
        )


def rows_of(table: Ints, statement: int) -> Ints:
    """Return the accesses of *statement*."""
    rows: Ints = table.take((table[:, SITE] == statement).nonzero()[0], axis=0)
    return rows


def different(rows: Ints) -> Ints:
    """Return the distinct *rows*, sorted by their columns; NumPy's function compares them as bytes, which takes several times as long."""
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[changes(*rows.T)]


def different_pairs(first: Ints, second: Ints, many: int) -> Pairs:
    """Return the distinct pairs of numbers, the *second* below *many*, sorted by the *first* one and by the second."""
    if len(first) and int(first.max()) >= NUMBER // many:
        rows = different(np.array([first, second]).T)
        return rows[:, 0], rows[:, 1]
    numbers = np.sort(first * many + second)
    return np.divmod(numbers[changes(numbers)], many)


def parts_of(*columns: Ints) -> list[slice]:
    """Return the parts of the sorted *columns* that have equal rows."""
    bounds = [*changes(*columns).nonzero()[0].tolist(), len(columns[0])]
    return list(map(slice, bounds, bounds[1:]))


def how_many(*columns: Ints) -> int:
    """Return the number of `parts_of` the sorted *columns*."""
    return int(np.count_nonzero(changes(*columns)))


def changes(*columns: Ints) -> Mask:
    """Return which rows of *columns* differ from the row before; the first one does."""
    differ = np.empty(len(columns[0]), np.bool_)
    differ[:1] = True
    np.not_equal(columns[0][1:], columns[0][:-1], out=differ[1:])
    for column in columns[1:]:
        differ[1:] |= column[1:] != column[:-1]
    return differ


def in_turn(numbers: Ints) -> list[int]:
    """Return the distinct *numbers* in the order of their first occurrences."""
    turns: list[int] = []
    while len(numbers) and len(turns) < FEW:
        turns.append(int(numbers[0]))
        numbers = numbers[numbers != numbers[0]]
    if not len(numbers):
        return turns
    distinct, first = np.unique(numbers[changes(numbers)], return_index=True)
    return [*turns, *distinct[first.argsort()].tolist()]


def meets(table: Ints) -> bool:
    """Return whether accesses to one memory overlap; a row begins with (low, high)."""
    by = table[:, 0].argsort(kind="stable")
    return bool((table[by[1:], 0] < np.maximum.accumulate(table[by, 1])[:-1]).any())


def in_order(table: Ints, clocks: Clocks) -> bool:
    """Return whether all accesses to one memory are ordered; a row is (low, high, kind, segment), in the order of the run."""
    tasks = clocks.tasks(table[:, 3])
    if (tasks == tasks[0]).all():
        return True
    if _neighbours_race(table, tasks, clocks.segments):
        return False
    held = np.zeros((len(table), COLUMNS), np.int64)
    held[:, LOW], held[:, SIZE] = table[:, 0], table[:, 1] - table[:, 0]
    held[:, KIND], held[:, SEGMENT], held[:, TIME] = table[:, 2], table[:, 3], np.arange(len(table))
    return not any(len(later) for _, later in _racing(held, tasks, clocks.segments))


def _neighbours_race(table: Ints, tasks: Ints, segments: list[Segment]) -> bool:
    """Return whether the first two neighbours by their low bytes that overlap and need an order have none; rows as for `in_order`."""
    by = table[:, 0].argsort(kind="stable")
    first, second = by[:-1], by[1:]
    kinds = table[:, 2]
    need = (kinds[first] != kinds[second]) | (kinds[first] == WRITE)
    need &= (table[second, 0] < table[first, 1]) & (tasks[first] != tasks[second])
    place = int(need.argmax())
    if not need[place]:
        return False
    earlier, later = sorted((int(first[place]), int(second[place])))
    return not segments[int(table[earlier, 3])].before(segments[int(table[later, 3])])


def _racing(table: Ints, tasks: Ints, segments: list[Segment], seen: int = 0) -> Iterator[Pairs]:
    """Yield the pairs of unordered rows of different *tasks*, some twice; the later row is not among the first *seen*."""
    cells = cut(table)
    for earlier, later in pairs(cells, table[cells.row, KIND]):
        foreign = (tasks[earlier] != tasks[later]) & (later >= seen)
        if np.count_nonzero(foreign):
            both = different_pairs(earlier[foreign], later[foreign], len(table))
            yield _unordered(table, both, segments)


def _overlapping(rows: Ints) -> Pairs:
    """Return all pairs of *rows* that have bytes in common, the earlier row first."""
    by = rows[:, LOW].argsort(kind="stable")
    low, high = rows[by, LOW], rows[by, LOW] + rows[by, SIZE]
    # Those that begin before the end of one of them, and not before it.
    place = np.arange(len(rows))
    count = np.maximum(low.searchsorted(high) - place - 1, 0)
    ends = count.cumsum()
    first = place.repeat(count)
    second = first + np.arange(len(first)) - (ends - count).repeat(count) + 1
    both = by[first], by[second]
    return np.minimum(*both), np.maximum(*both)


def _as_pairs(table: Ints, tasks: Ints, rows: Pairs) -> Ints:
    """Return pairs of *rows* in the form of ``Conflict.pairs``."""
    earlier, later = rows
    return np.array((tasks[earlier], table[earlier, TIME], tasks[later], table[later, TIME])).T


def _unordered(table: Ints, both: Pairs, segments: list[Segment]) -> Pairs:
    """Return the pairs of rows of different tasks whose segments are not ordered."""
    first, second = (table[ends, SEGMENT] for ends in both)
    if not any(len(segments[n].knows) for n in second[changes(second)].tolist()):
        return both  # nothing has ordered the tasks
    many = len(segments)
    apart, inverse = np.unique(first * many + second, return_inverse=True)
    ordered = (segments[a].before(segments[b]) for a, b in (divmod(key, many) for key in apart.tolist()))
    free = ~np.fromiter(ordered, np.bool_, len(apart))[inverse]
    return both[0][free], both[1][free]


def table_of(held: "array[int]") -> Ints:
    """Return the accesses as a table with one row each."""
    return np.array(held, np.int64).reshape(-1, COLUMNS)


# -- cells: accesses that have to be ordered -------------------------------------------------------

# A table of accesses has the columns low, size, kind, segment, site, time.  The bytes are divided wherever an
# access begins or ends; an entry says that a row overlaps a cell.  Within a cell the rows are in the order of
# the run: each is compared with the last write before it, and each read with the next write.  If all these
# pairs are ordered, all accesses of the cell are ordered.


class Cells(NamedTuple):
    """Entries by cell and, within a cell, by time: row ``row[n]`` overlaps ``cell[n]``."""

    edges: Ints
    cell: Ints
    row: Ints


def cut(table: Ints) -> Cells:
    """Divide the bytes of *table*, whose rows are in the order of the run, into cells."""
    low, high = table[:, LOW], table[:, LOW] + table[:, SIZE]
    # The rows of a task ascend mostly, which a stable sort uses.
    ends = np.concatenate([low, high])
    ascending = ends.argsort(kind="stable")
    ends = ends[ascending]
    differ = changes(ends)
    edges, place = ends[differ], np.empty(len(ends), np.int64)
    place[ascending] = differ.cumsum() - 1
    first, last = place[: len(table)], place[len(table) :]
    count = last - first
    ends = count.cumsum()
    cell = np.arange(int(ends[-1]) if len(ends) else 0) - (ends - count - first).repeat(count)
    row = np.arange(len(table)).repeat(count)
    # Stable, so that the entries of a cell stay in the order of the run.
    by = cell.argsort(kind="stable")
    return Cells(edges, cell[by], row[by])


def pairs(cells: Cells, kinds: Ints) -> Iterator[Pairs]:
    """Yield pairs of rows (earlier, later) that overlap a common cell and have to be ordered.

    *kinds* is the kind of each entry.
    """
    write, atomic = kinds == WRITE, kinds == ATOMIC
    read = ~(write | atomic)
    # Each is compared with the last write, and non-atomic ones with the last atomic: two atomics need no
    # order.
    for earlier, later in ((write, write | ~write), (atomic, ~atomic)):
        if np.count_nonzero(earlier) and np.count_nonzero(later):
            held, before = _last_before(cells.cell, earlier)
            held &= later
            yield cells.row[before[held]], cells.row[held]
    for earlier, later in ((~write, write), (read, atomic), (atomic, read)):
        if np.count_nonzero(earlier) and np.count_nonzero(later):
            held, before = _last_before(cells.cell[::-1], later[::-1])
            held &= earlier[::-1]
            row = cells.row[::-1]
            yield row[held][::-1], row[before[held]][::-1]


def latest(table: Ints, tasks: Ints) -> Ints:
    """Reduce *table* to the accesses that may conflict with a later one.

    These are, for each cell, the last write, and the latest read and atomic of each task since.  *tasks* is the task
    of each row.
    """
    cells = cut(table)
    kinds = table[cells.row, KIND]
    place = np.arange(len(kinds))
    begin = changes(cells.cell)
    start = np.maximum.accumulate(np.where((kinds == WRITE) | begin, place, 0))
    group = begin.cumsum() - 1
    ends = np.append(np.flatnonzero(begin)[1:], len(kinds)) - 1
    entries = np.flatnonzero(place >= start[ends][group])
    key = (cells.cell[entries] * 3 + kinds[entries]) * (int(tasks.max()) + 1) + tasks[cells.row[entries]]
    # Backwards, since unique returns the first of equal keys.
    _, newest = np.unique(key[::-1], return_index=True)
    entries = entries[len(entries) - 1 - newest]
    return _merged(table, cells, entries)


def _merged(table: Ints, cells: Cells, entries: Ints) -> Ints:
    """Return the rows for *entries*, with adjacent cells of one row joined again."""
    by = np.lexsort((cells.cell[entries], cells.row[entries]))
    cell, row = cells.cell[entries][by], cells.row[entries][by]
    apart = np.append(True, (row[1:] != row[:-1]) | (cell[1:] != cell[:-1] + 1))
    first = np.flatnonzero(apart)
    last = np.append(first[1:], len(row)) - 1
    joined = table[row[first]].copy()
    joined[:, LOW] = cells.edges[cell[first]]
    joined[:, SIZE] = cells.edges[cell[last] + 1] - joined[:, LOW]
    return joined[joined[:, TIME].argsort(kind="stable")]


def _last_before(cell: Ints, wanted: Mask) -> tuple[Mask, Ints]:
    """Return for each entry whether its *cell* has an earlier *wanted* entry, and the last such entry."""
    last = np.maximum.accumulate(np.where(wanted, np.arange(len(cell)), -1))
    before = np.empty_like(last)
    before[:1], before[1:] = -1, last[:-1]
    return (before >= 0) & (cell[before] == cell), before
