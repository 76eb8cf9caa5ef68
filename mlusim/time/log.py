"""The log of a core for the timing model, in order: one row wherever something overlaps or waits.

Consecutive blocking instructions leave no rows, only sums in `Mlu.work`; a row is written when an
asynchronous effect starts, when the core waits for one, at barriers and at the end. It holds the sums since
the previous row, so a task without asynchronous copies has one row. Rows are stored as arrays of distinct
rows with indices, and a log that still grows too large is merged, so memory is bounded.

A `NotedLog` also keeps every instruction, if an observer wants them. `TaskWork` is the result of a task.
"""

import operator
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Pipe
from mlusim.kernel_frames import file_of, kernel_frame
from mlusim.memory.space import SPACES
from mlusim.time import quantities
from mlusim.time.quantities import IO, MOVE, PLACES, CopyLoad
from mlusim.time.rates import TRANSACTION

END, IO_FLIGHT, MOVE_FLIGHT, WAIT, MEET = range(5)  # kinds of rows
FOR_IO, FOR_MOVE, FOR_COMPUTE = 1, 2, 4  # what a WAIT row waits for, as bits
FOR_ALL = FOR_IO | FOR_MOVE | FOR_COMPUTE
ARRIVES, WAITS_FOR = 1, 2  # a core's part in a split barrier; 0 in a whole barrier
ROLE = 1 << 16  # a MEET row holds the number of cores plus ROLE times the core's part
WAITS = {
    Pipe.IO: FOR_IO,
    Pipe.MOVE: FOR_MOVE,
    Pipe.VECTOR: FOR_COMPUTE,
    Pipe.TENSOR: FOR_COMPUTE,
    Pipe.SCALAR: 0,
}

# Columns: kind; argument (what is waited for, or the barrier's number); the load of a flight (for a barrier:
# the number of cores); then the sums: the counters of a task in the layout of `time.quantities`.
KIND, ARGUMENT, OWN = 0, 1, 2
STORES_OF = OWN + CopyLoad._fields.index("stores")
STALLS_OF = OWN + CopyLoad._fields.index("stalls")
PIECES_OF = OWN + CopyLoad._fields.index("lines")
SUMS = OWN + len(CopyLoad._fields)
LOADS = SUMS + quantities.places_before(quantities.LOADS)
STORES = SUMS + quantities.places_before(quantities.STORES)
COLUMNS = SUMS + quantities.TASK_PLACES

# The memory spaces of scalar accesses, in the order of a core's counters:
OFF_CHIP, OF_CORE, SHARED = slice(0, 2), slice(2, 4), slice(4, 5)

CHUNK = 1024  # rows per array
MOST = 1 << 17  # rows of one core, beyond which rows are merged

Rows = np.ndarray[Any, np.dtype[np.int64]]
NO_SUMS: Rows = np.zeros(COLUMNS, np.int64)


@frozen(eq=False, slots=False)
class CoreLog:
    """A finished log: chunks of (distinct rows, indices of the rows in order).

    Derived sums are cached, because the prediction, its band and the figures of a launch use them again for
    each task.
    """

    chunks: tuple[tuple[Rows, np.ndarray[Any, np.dtype[np.uint16]]], ...]
    key: bytes = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "key", b"".join(u.tobytes() + n.tobytes() for u, n in self.chunks))

    def __iter__(self) -> Iterator[Rows]:
        """Yield the rows in order, one chunk at a time."""
        for distinct, turns in self.chunks:
            yield distinct[turns]

    @cached_property
    def times(self) -> tuple[Rows, ...]:
        """For each chunk: how often each distinct row occurs."""
        return tuple(np.bincount(turns, minlength=len(distinct)) for distinct, turns in self.chunks)

    @cached_property
    def total(self) -> Rows:
        """The sums over all rows, by column."""
        total = np.zeros(COLUMNS, np.int64)
        for (distinct, _), times in zip(self.chunks, self.times, strict=True):
            total += times @ distinct
        return total

    @cached_property
    def far_loads(self) -> int:
        """The number of scalar loads from GDRAM."""
        return int(loads_of(self.total[None])[0, :, 0].sum())

    @cached_property
    def off_chip(self) -> tuple[int, int]:
        """The number of off-chip transfers of the core, and the bytes of the lines that they touch."""
        starts = SUMS + quantities.IO_STARTS
        transfers = lines = 0
        for (distinct, _), times in zip(self.chunks, self.times, strict=True):
            transfers += int(times @ (distinct[:, starts] + (distinct[:, KIND] == IO_FLIGHT)))
            lines += int(times @ moved(distinct))
        return transfers, lines


def moved(rows: Rows) -> Any:
    """Return the bytes that the off-chip memory moves for each of *rows*; scalar stores first read their line."""
    units = rows[:, SUMS + quantities.TRANSACTIONS] + rows[:, OWN] * (rows[:, KIND] == IO_FLIGHT)
    units += loads_of(rows)[:, :, OFF_CHIP].sum(axis=(1, 2)) + 2 * rows[:, STORES:][:, OFF_CHIP].sum(axis=1)
    return units * int(TRANSACTION.value)


def loads_of(rows: Rows) -> Any:
    """Return the scalar loads of each of *rows*, by wait class and by index of the space."""
    return rows[:, LOADS:STORES].reshape(len(rows), -1, len(SPACES))


def stored_pieces(rows: Rows) -> Any:
    """Return the number of separate pieces that each of *rows* stores off the chip."""
    flies = (rows[:, KIND] == IO_FLIGHT) & (rows[:, STORES_OF] > 0)
    return rows[:, SUMS + quantities.STORED] + rows[:, PIECES_OF] * flies


FEW = 8  # a log of so few rows is compared directly, as packing takes longer


class Log:
    """The log of one core while it runs."""

    __slots__ = ("_base", "_chunks", "_kept", "_rows")

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._chunks: list[Any] = []
        self._base = NO_SUMS
        self._kept = 0

    @property
    def few(self) -> tuple[tuple[int, ...], ...]:
        """The rows of a log with few rows; empty for a longer log."""
        return tuple(self._rows) if len(self._rows) <= FEW and not self._chunks else ()

    def note(self, kind: int, argument: int, load: tuple[int, ...], sums: tuple[int, ...]) -> int:
        """Append a row; *sums* are the task's sums so far. Return the number of bytes by which the log has grown."""
        self._rows.append((kind, argument, *load, *sums))
        if len(self._rows) < CHUNK:
            return 0
        self._pack()
        return sum(part.nbytes for part in self._chunks[-1])

    def extend(self, rows: Rows) -> int:
        """Append *rows* in the layout of a chunk; sums and result are as in `note`."""
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
        """Record that the core waits for its compute stream while nothing is in flight; the next flight notes it."""
        return True

    def steps(self) -> "CoreSteps | None":
        """Return the steps of the finished log; None if they are not kept."""
        return None

    def finished(self) -> CoreLog:
        """Return the finished log; its last row has been written."""
        self._pack()
        return CoreLog(tuple(self._chunks))

    def _pack(self) -> None:
        if self._rows:
            self._keep_chunk(np.array(self._rows, np.int64))
            self._rows.clear()

    def _keep_chunk(self, rows: Rows) -> None:
        """Store *rows*, whose sums are those of the task so far, as one chunk."""
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
    """Return the distinct rows of *rows* (at least one) in order, and for each row its index among them.

    Rows are compared by their bytes, which takes 10 us for a few rows, where `np.unique` takes 70. The dtype
    is given by name: for ``(np.void, n)`` NumPy calls Python code and drops a Ctrl-C during that call.
    """
    words = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}")[:, 0].tolist()
    distinct = list(dict.fromkeys(words))
    distinct_rows = np.frombuffer(b"".join(distinct), rows.dtype).reshape(len(distinct), -1)
    order = np.lexsort(distinct_rows.T[::-1])
    numbers = {distinct[place]: number for number, place in enumerate(order.tolist())}
    return distinct_rows[order], np.array([numbers[word] for word in words], np.uint16)


def _merged(rows: Rows) -> Rows:
    """Return fewer rows with the same sums: between two barriers one flight per pipe, one wait, and all the work.

    Partial overlap becomes maximal overlap; barriers stay, because other cores take part in them.
    """
    merged: list[Rows] = []
    first = 0
    for at in [*np.flatnonzero((rows[:, KIND] == MEET) | (rows[:, KIND] == END)), len(rows)]:
        span = rows[first:at]
        for kind in (IO_FLIGHT, MOVE_FLIGHT):
            flights = span[span[:, KIND] == kind]
            if len(flights):
                row = np.zeros(COLUMNS, np.int64)
                row[KIND] = kind
                row[OWN:SUMS] = flights[:, OWN:SUMS].sum(axis=0)
                merged.append(row)
        if len(span):
            row = np.zeros(COLUMNS, np.int64)
            row[KIND], row[ARGUMENT] = WAIT, FOR_ALL
            row[SUMS:] = span[:, SUMS:].sum(axis=0)
            merged.append(row)
        if at < len(rows):
            merged.append(rows[at])
        first = at + 1
    return np.array(merged)


# -- logs with every instruction -------------------------------------------------------------------

# Distinct steps are stored once per launch, and a core stores only their numbers in order, so that loops cost
# four bytes per instruction. Beyond `MOST_STEPS` of a core, or `MOST_LAUNCH` of a launch, steps are counted
# but no longer stored in order: source lines stay complete, but time spans become whole rows of the log.
MOST_STEPS = 1 << 16
MOST_LAUNCH = 1 << 22
LOAD, STORE, LEAVE = -3, -2, -1  # pseudo-numbers of steps that are not intrinsics
_OTHERS = ("scalar load", "scalar store", "end of the task")  # names by those numbers, from the end
NOWHERE = ("", 0)

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class At(NamedTuple):
    """An instruction at a place: the number of the place, the number of the intrinsic, and its elements.

    For a copy ``lanes`` is -1 minus the number of its direction.
    """

    site: int
    number: int
    lanes: int


class LoggedStep(NamedTuple):
    """A distinct step: its place, its number of instructions (0: the rest of one), its bytes, and its row of sums."""

    at: At
    issued: int
    nbytes: int
    row: tuple[int, ...]


@define(eq=False)
class Table:
    """The distinct steps and the places of a launch; ``room`` is the number of steps that cores may still store.

    ``intrinsics`` has the spellings of the instructions by number.
    """

    intrinsics: Sequence[str] = ()
    steps: list[LoggedStep] = field(factory=list)
    sites: list[tuple[str, int]] = field(factory=lambda: [NOWHERE])
    room: int = MOST_LAUNCH
    numbers: dict[Any, int] = field(factory=dict)
    _site_numbers: dict[tuple[str, int], int] = field(factory=lambda: {NOWHERE: 0})
    places: dict[tuple[int, int], int] = field(factory=dict)
    _rows: Rows = field(factory=lambda: np.zeros((0, COLUMNS), np.int64))
    _codes: list[CodeType] = field(factory=list)  # keeps the objects alive, so that their ids stay unique

    def name(self, number: int) -> str:
        """Return the name of instruction *number*: an intrinsic, or one of the pseudo-instructions."""
        return _OTHERS[number] if number < 0 else self.intrinsics[number]

    def add(self, key: Any, step: LoggedStep) -> int:
        """Add *step*, which is new, under *key*, and return its number."""
        self.numbers[key] = len(self.steps)
        self.steps.append(step)
        return len(self.steps) - 1

    def number(self, step: LoggedStep) -> int:
        """Return the number of *step*."""
        number = self.numbers.get(step)
        return self.add(step, step) if number is None else number

    def place(self, frame: FrameType) -> int:
        """Return the number of the kernel's line at or above *frame*."""
        kernel = kernel_frame(frame)
        if kernel is None:
            return 0
        key = id(kernel.f_code), kernel.f_lasti
        number = self.places.get(key)
        if number is None:
            number = self.places[key] = self.site(file_of(kernel.f_code), kernel.f_lineno)
            self._codes.append(kernel.f_code)
        return number

    def site(self, file: str, line: int) -> int:
        """Return the number of *line* of *file*."""
        number = self._site_numbers.setdefault((file, line), len(self.sites))
        if number == len(self.sites):
            self.sites.append((file, line))
        return number

    @property
    def rows(self) -> Rows:
        """The distinct steps as rows of a log."""
        if len(self._rows) != len(self.steps):  # steps are only ever added
            self._rows = np.array([step.row for step in self.steps], np.int64).reshape(-1, COLUMNS)
        return self._rows


@frozen(eq=False)
class CoreSteps:
    """The steps of a core: their numbers in order, the end of each log row among them, and the step to which each row belongs.

    ``times`` counts all steps, including those that are not stored in order. If there are any of these,
    ``cuts`` has only the rows whose steps are all stored; the last row is followed by the first steps of the
    next row.
    """

    table: Table
    turns: Numbers
    cuts: Numbers
    rows: Numbers
    times: Numbers
    key: bytes = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        parts = (self.turns, self.cuts, self.rows, self.times)
        object.__setattr__(self, "key", b"|".join(part.tobytes() for part in parts))


class NotedLog(Log):
    """The log of one core with its steps. ``at`` is the core's current instruction."""

    __slots__ = ("_core", "_cuts", "_fence", "_flight", "_fresh", "_more", "_owners", "_sums", "_table", "_turns", "_whole", "at")  # fmt: skip

    def __init__(self, core: Any, table: Table) -> None:
        super().__init__()
        self._core, self._table = core, table
        self._sums = [0] * PLACES
        self._turns, self._cuts, self._owners = array("I"), array("I"), array("I")
        self._more: dict[int, int] = {}  # steps that are only counted
        self._whole: int | None = None  # number of rows with all steps stored, once some are missing
        self._fresh = False  # the current instruction has not been counted yet
        self._flight: tuple[int, tuple[int, ...]] | None = None  # its count and load; its bytes come later
        self._fence: tuple[int, int, int] | None = None
        self.at: tuple[int, int, int] = (0, LEAVE, 0)

    # -- called by intrinsics ----------------------------------------------------------------------

    def begin(self, frame: FrameType, number: int, lanes: int) -> None:
        """Record that the core starts an intrinsic, called from *frame*.

        The common case of `_settle` is inlined here, because this runs for every instruction.
        """
        work, before = self._core.mlu.work, self._sums
        if self._flight is not None or work == before:
            self._settle()
        else:
            key = self.at, self._fresh, tuple(map(operator.sub, work, before))
            before[:] = work
            step = self._table.numbers.get(key)
            self._keep(self._new(key) if step is None else step)
        place = self._table.places.get((id(frame.f_code), frame.f_lasti))
        self.at = self._table.place(frame) if place is None else place, number, lanes
        self._fresh = True

    def again(self, frame: FrameType, space: int, *, store: bool) -> bool:
        """Record a scalar access by *frame* if it was recorded before; return False if it is new.

        *space* is the index of its counter among those of loads or of stores.
        """
        number = self._table.numbers.get(((id(frame.f_code), frame.f_lasti), space, store))
        if number is None:
            return False
        self._settle()
        self._keep(number)
        return True

    def access(self, frame: FrameType, space: int, *, store: bool) -> None:
        """Record a scalar access by the core, at the kernel's *frame*."""
        self._settle()
        place = id(frame.f_code), frame.f_lasti
        key = place, space, store
        number = self._table.numbers.get(key)
        if number is None:
            row = [END] + [0] * (COLUMNS - 1)
            row[(STORES if store else LOADS) + space] = 1
            at = At(self._table.place(frame), STORE if store else LOAD, 0)
            number = self._table.number(LoggedStep(at, 1, 0, tuple(row)))
            self._table.numbers[key] = number
        self._keep(number)

    def fence(self) -> bool:
        """Record that the core waits for its compute stream while nothing is in flight; the next flight notes it."""
        self._fence = self.at
        return True

    # -- called by the core ------------------------------------------------------------------------

    def note(self, kind: int, argument: int, load: tuple[int, ...], sums: tuple[int, ...]) -> int:
        """Append a row with the step to which it belongs; return the bytes by which the rows have grown."""
        if kind == END or self._core.mlu.work != self._sums:
            self._settle()
        self._flight = None
        grown = super().note(kind, argument, load, sums)
        at, count = self.at, int(self._fresh)
        if kind == WAIT and self._fence is not None:
            at, count, self._fence = self._fence, 0, None
        elif kind == END:
            at = (0, LEAVE, 0)
        else:
            self._fresh = False
        if len(self._cuts) < MOST:
            self._cuts.append(len(self._turns))
            self._owners.append(self._table.number(_row_step(at, count, 0, kind, load)))
            if kind in (IO_FLIGHT, MOVE_FLIGHT):
                self._flight = count, (kind, *load)
        else:
            number = self._table.number(_row_step(at, count, 0, kind, load))
            self._more[number] = self._more.get(number, 0) + 1
        return grown

    @property
    def only(self) -> None:
        """A log with steps cannot be shared with other tasks."""
        return None

    def finished(self) -> CoreLog:
        """Return the finished log; its last row has been written."""
        self._settle()
        return super().finished()

    def steps(self) -> CoreSteps:
        """Return the steps of the finished log."""
        turns, owners = (np.array(part, np.int64) for part in (self._turns, self._owners))
        times = np.bincount(np.concatenate([turns, owners]), minlength=len(self._table.steps))
        for number, more in self._more.items():
            times[number] += more
        cuts = np.array(self._cuts, np.int64)[: self._whole]
        return CoreSteps(self._table, turns, cuts, owners, np.trim_zeros(times, "b"))

    def _settle(self) -> None:
        """Attribute the work since the last call to the current instruction."""
        work, before = self._core.mlu.work, self._sums
        if work == before:
            self._flight = None
            if self._fresh:
                self._fresh = False
                self._add(True, _IDLE)
            return
        added = tuple(map(operator.sub, work, before))
        before[:] = work
        if self._flight is not None:  # after a flight, only bytes are added
            count, (kind, *load) = self._flight
            self._flight = None
            self._owners[-1] = self._table.number(
                _row_step(self.at, count, added[IO] + added[MOVE], kind, tuple(load))
            )
            return
        count, self._fresh = self._fresh, False
        self._add(count, added)

    def _add(self, issued: bool, added: tuple[int, ...]) -> None:
        key = self.at, issued, added
        number = self._table.numbers.get(key)
        self._keep(self._new(key) if number is None else number)

    def _new(self, key: tuple[tuple[int, int, int], bool, tuple[int, ...]]) -> int:
        """Add a new step and return its number; *key* is its place, whether it starts an instruction, and its work."""
        at, issued, added = key
        row = (*_HEAD, *added, *_NO_SCALARS)
        return self._table.add(key, LoggedStep(At(*at), int(issued), added[IO] + added[MOVE], row))

    def _keep(self, number: int) -> None:
        if self._whole is None and len(self._turns) < MOST_STEPS and self._table.room > 0:
            self._turns.append(number)
            self._table.room -= 1
            return
        if self._whole is None:
            self._whole = len(self._cuts)
        self._more[number] = self._more.get(number, 0) + 1


_HEAD = (END, 0, *CopyLoad())
_NO_SCALARS = (0,) * (COLUMNS - LOADS)
_IDLE = (0,) * PLACES


def _row_step(
    at: tuple[int, int, int], count: int, nbytes: int, kind: int, load: tuple[int, ...]
) -> LoggedStep:
    return LoggedStep(At(*at), count, nbytes, (kind, 0, *load, *(0,) * PLACES, *_NO_SCALARS))


# -- the result of a task --------------------------------------------------------------------------


class TaskWork(NamedTuple):
    """The work of one task: scalar operations, vector cycles, tensor MACs, IO bytes, move bytes; its log."""

    task: int
    memory_core: bool
    union: int
    cluster: int
    work: tuple[int, ...]
    log: CoreLog
    core: int = 0  # coreId; for a memory core, the number of IPU cores in its cluster
    steps: CoreSteps | None = None  # if every step was recorded
    reads: tuple[tuple[int, int, int], ...] = ()  # per tensor: address, size, bytes that copies read
    head: tuple[int, int] = (0, 0)  # transactions and transfers before the first computation


@frozen
class Lanes:
    """Lanes of the vector unit, in bytes: lanes with an element, and all lanes of the used lines."""

    used: int
    paid: int
