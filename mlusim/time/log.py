"""The log of a core, in order, as the timing model needs it: a row where something overlaps or waits.

Instructions that simply follow each other leave no rows, only sums in `Mlu.work`; a row is written
when an asynchronous effect starts, when the core waits for one, at barriers and at the end.  It holds
the sums since the row before, so a task without asynchronous copies is one row.  Rows are kept as
arrays of the distinct ones, and a log that grows all the same is merged, so that memory stays bounded.

For those who ask, a `NotedLog` keeps every instruction too.  `TaskWork` is what a task leaves behind.
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
# how many meet), then the sums: what a task counts, as `time.quantities` lays it out.
KIND, ARGUMENT, OWN = 0, 1, 2
STORES_OF = OWN + CopyLoad._fields.index("stores")
STALLS_OF = OWN + CopyLoad._fields.index("stalls")
PIECES_OF = OWN + CopyLoad._fields.index("lines")
SUMS = OWN + len(CopyLoad._fields)
LOADS = SUMS + quantities.places_before(quantities.LOADS)
STORES = SUMS + quantities.places_before(quantities.STORES)
COLUMNS = SUMS + quantities.TASK_PLACES

# The spaces of scalar accesses, in the order in which a core counts them:
OFF_CHIP, OF_CORE, SHARED = slice(0, 2), slice(2, 4), slice(4, 5)

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

    @cached_property
    def off_chip(self) -> tuple[int, int]:
        """How many off-chip transfers the core makes, and the bytes of the lines that they touch."""
        starts = SUMS + quantities.IO_STARTS
        transfers = lines = 0
        for (distinct, _), times in zip(self.chunks, self.times, strict=True):
            transfers += int(times @ (distinct[:, starts] + (distinct[:, KIND] == IO_FLIGHT)))
            lines += int(times @ moved(distinct))
        return transfers, lines


def moved(rows: Rows) -> Any:
    """Return the bytes that the off-chip memory moves for each of *rows*; scalar stores read their line first."""
    units = rows[:, SUMS + quantities.TRANSACTIONS] + rows[:, OWN] * (rows[:, KIND] == IO_FLIGHT)
    units += loads_of(rows)[:, :, OFF_CHIP].sum(axis=(1, 2)) + 2 * rows[:, STORES:][:, OFF_CHIP].sum(axis=1)
    return units * int(TRANSACTION.value)


def loads_of(rows: Rows) -> Any:
    """Return the scalar loads of each of *rows*, by what waits for them and by the number of the space."""
    return rows[:, LOADS:STORES].reshape(len(rows), -1, len(SPACES))


def stored_pieces(rows: Rows) -> Any:
    """Return how many pieces that lie apart each of *rows* stores off the chip."""
    flies = (rows[:, KIND] == IO_FLIGHT) & (rows[:, STORES_OF] > 0)
    return rows[:, SUMS + quantities.STORED] + rows[:, PIECES_OF] * flies


FEW = 8  # rows of a log that are compared as they are: what is packed is compared by its bytes, which takes longer to make


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
        """The rows of a log that has few; none of another."""
        return tuple(self._rows) if len(self._rows) <= FEW and not self._chunks else ()

    def note(self, kind: int, argument: int, load: tuple[int, ...], sums: tuple[int, ...]) -> int:
        """Write a row; *sums* are those of the whole task so far.  Returns the bytes that the log has grown by."""
        self._rows.append((kind, argument, *load, *sums))
        if len(self._rows) < CHUNK:
            return 0
        self._pack()
        return sum(part.nbytes for part in self._chunks[-1])

    def extend(self, rows: Rows) -> int:
        """Append *rows*, laid out as a chunk is; the sums and the result are as for `note`."""
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

    def steps(self) -> "CoreSteps | None":
        """Return every instruction, when the log is finished; None where they are not kept."""
        return None

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
    """Return the distinct rows of *rows* (at least one) in order, and the index among them of each row.

    Rows are told apart by their bytes, in 10 us for a few of them, of which `np.unique` takes 70.  Their type has a
    name: NumPy asks a function in Python about ``(np.void, n)``, and drops a Ctrl-C that comes meanwhile.
    """
    words = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}")[:, 0].tolist()
    distinct = list(dict.fromkeys(words))
    distinct_rows = np.frombuffer(b"".join(distinct), rows.dtype).reshape(len(distinct), -1)
    order = np.lexsort(distinct_rows.T[::-1])
    numbers = {distinct[place]: number for number, place in enumerate(order.tolist())}
    return distinct_rows[order], np.array([numbers[word] for word in words], np.uint16)


def _merged(rows: Rows) -> Rows:
    """Return fewer rows with the same sums: between barriers one flight a pipe, one wait, all the work.

    What overlapped in part now overlaps as far as it can; barriers stay, for others are part of them.
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


# -- logs that keep every instruction --------------------------------------------------------------

# Distinct steps are kept once a launch, and a core keeps their numbers in turn, so that loops cost four bytes an
# instruction.  Beyond `MOST_STEPS` of a core, or `MOST_LAUNCH` of a launch, steps are counted but no longer kept in turn:
# lines stay complete, and time spans begin to be whole rows of the log.
MOST_STEPS = 1 << 16
MOST_LAUNCH = 1 << 22
LOAD, STORE, LEAVE = -3, -2, -1  # numbers beside those of the intrinsics
_OTHERS = ("scalar load", "scalar store", "end of the task")  # by those numbers, counted from the end
NOWHERE = ("", 0)

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class At(NamedTuple):
    """An instruction at a place: the number of the place, of the intrinsic, and how many elements it takes.

    Of a copy ``lanes`` is negative: -1 less the number of its direction.
    """

    site: int
    number: int
    lanes: int


class LoggedStep(NamedTuple):
    """A distinct step: its place, how many instructions it issues (0: the rest of one), its bytes, and its row of the log."""

    at: At
    issued: int
    nbytes: int
    row: tuple[int, ...]


@define(eq=False)
class Table:
    """The distinct steps and the places of a launch; ``room`` is how many more steps of cores may be kept.

    ``intrinsics`` are the spellings of the instructions, by their numbers.
    """

    intrinsics: Sequence[str] = ()
    steps: list[LoggedStep] = field(factory=list)
    sites: list[tuple[str, int]] = field(factory=lambda: [NOWHERE])
    room: int = MOST_LAUNCH
    numbers: dict[Any, int] = field(factory=dict)
    _site_numbers: dict[tuple[str, int], int] = field(factory=lambda: {NOWHERE: 0})
    places: dict[tuple[int, int], int] = field(factory=dict)
    _rows: Rows = field(factory=lambda: np.zeros((0, COLUMNS), np.int64))
    _codes: list[CodeType] = field(factory=list)  # kept alive, so that nothing else gets their ids

    def name(self, number: int) -> str:
        """Return the name of the instruction of *number*: an intrinsic, or one of the accesses beside them."""
        return _OTHERS[number] if number < 0 else self.intrinsics[number]

    def add(self, key: Any, step: LoggedStep) -> int:
        """Return the number of *step*, which is new; it will be known by *key*."""
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
    """The steps of a core: their numbers in turn, where each row of the log ends them, whose each row is.

    ``times`` counts all steps, those that are not kept in turn too.  Where there are such, ``cuts`` has only the
    rows all of whose steps are kept, and behind the last of them come the first steps of the next row.
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
    """The log of one core, and its steps.  ``at`` is the instruction that the core is in."""

    __slots__ = ("_core", "_cuts", "_fence", "_flight", "_fresh", "_more", "_owners", "_sums", "_table", "_turns", "_whole", "at")  # fmt: skip

    def __init__(self, core: Any, table: Table) -> None:
        super().__init__()
        self._core, self._table = core, table
        self._sums = [0] * PLACES
        self._turns, self._cuts, self._owners = array("I"), array("I"), array("I")
        self._more: dict[int, int] = {}  # steps that are counted only
        self._whole: int | None = None  # rows all of whose steps are kept, once some are not
        self._fresh = False  # the instruction has not been counted yet
        self._flight: tuple[int, tuple[int, ...]] | None = None  # its count and load; its bytes come later
        self._fence: tuple[int, int, int] | None = None
        self.at: tuple[int, int, int] = (0, LEAVE, 0)

    # -- from the intrinsics -------------------------------------------------------------------

    def begin(self, frame: FrameType, number: int, lanes: int) -> None:
        """Note that the core comes to an intrinsic, which *frame* calls.

        What `_settle` does is written out here for the common case, since this is called for every instruction.
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
        """Note a known scalar access, if *frame* made it; return False if nothing is known of that.

        *space* is the place of its counter among those of loads or of stores.
        """
        number = self._table.numbers.get(((id(frame.f_code), frame.f_lasti), space, store))
        if number is None:
            return False
        self._settle()
        self._keep(number)
        return True

    def access(self, frame: FrameType, space: int, *, store: bool) -> None:
        """Note that the core has made a scalar access, at the kernel's *frame*."""
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
        """Let the core wait for its compute stream while nothing is in flight; the next flight notes it."""
        self._fence = self.at
        return True

    # -- from the core -------------------------------------------------------------------------

    def note(self, kind: int, argument: int, load: tuple[int, ...], sums: tuple[int, ...]) -> int:
        """Write a row, and whose it is; returns the bytes that the rows have grown by."""
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
        """A log with steps is finished by itself."""
        return None

    def finished(self) -> CoreLog:
        """Return the log, whose last row was written."""
        self._settle()
        return super().finished()

    def steps(self) -> CoreSteps:
        """Return the steps, when the log is finished."""
        turns, owners = (np.array(part, np.int64) for part in (self._turns, self._owners))
        times = np.bincount(np.concatenate([turns, owners]), minlength=len(self._table.steps))
        for number, more in self._more.items():
            times[number] += more
        cuts = np.array(self._cuts, np.int64)[: self._whole]
        return CoreSteps(self._table, turns, cuts, owners, np.trim_zeros(times, "b"))

    def _settle(self) -> None:
        """Attribute what has been added since then to the instruction that the core is in."""
        work, before = self._core.mlu.work, self._sums
        if work == before:
            self._flight = None
            if self._fresh:
                self._fresh = False
                self._add(True, _IDLE)
            return
        added = tuple(map(operator.sub, work, before))
        before[:] = work
        if self._flight is not None:  # only bytes are added behind a flight
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
        """Return the number of a step that is new: whose, whether it is an instruction's first, what it added."""
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


# -- what a task leaves ----------------------------------------------------------------------------


class TaskWork(NamedTuple):
    """The work of one task: scalar operations, vector cycles, tensor MACs, IO bytes, move bytes; its log."""

    task: int
    memory_core: bool
    union: int
    cluster: int
    work: tuple[int, ...]
    log: CoreLog
    core: int = 0  # coreId; of a memory core, the number of IPU cores beside it
    steps: CoreSteps | None = None  # where every step was asked for
    reads: tuple[tuple[int, int, int], ...] = ()  # tensors: address, bytes, bytes that copies read of it
    head: tuple[int, int] = (0, 0)  # transactions and transfers before it could compute


@frozen
class Lanes:
    """Lanes of the vector unit, in bytes: those that held an element, and those of all lines that were taken."""

    used: int
    paid: int
