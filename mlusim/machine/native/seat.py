"""The seat of a core that runs in C: its structure of C, and the buffers that the structure points to; later cores reuse it."""

import ctypes
import functools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import frozen

from mlusim.engine.contract import BUILT_INS
from mlusim.engine.values import TYPED
from mlusim.isa.table import ISA
from mlusim.machine.native.text import layout, screen
from mlusim.machine.native.text.loops import table
from mlusim.machine.observed import TaskPlace
from mlusim.memory.allocation import Allocation, Bytes, pages
from mlusim.memory.space import Space
from mlusim.time.log import CHUNK, COLUMNS, Rows
from mlusim.time.quantities import CORE, LAUNCH, OPENING, TASK, TASK_PLACES

if TYPE_CHECKING:
    from mlusim.machine.native.core import NativeCore


ALLOCATIONS = 1 << 16  # allocations that a pointer can name
NO_STORE = 0xFFFFFFFF << 32  # the last store, in the upper half of a word: -1
NO_READ = 0xFFFFFFFF  # the last read, in the lower half
WORDS = 8  # words of an allocation: bytes, size, address, space and access, bytes read; three of a screen (`layout.Alloc`)
READ = 4  # the position of the bytes that copies read
LEAVING_HEAD = 4  # words before the calls of a record of returns
WINDOW_HEAD = len(screen.WINDOW.names or ()) - 2  # words before the recorded events
FLAGS, KEY, LAST = 5, 6, 7  # the positions of a screen's words
FIRST_FLIGHTS = 64
FIRST_WORDS = 64  # words for a kernel's arguments, and for its variables at file scope
MORE_LOGS = 8  # full logs for which there is space at first; how many times more afterwards
MOST_PACKED = MORE_LOGS**2 * layout.PACKED  # words of the full logs of a task; Python takes more
KEPT = 128  # idle seats that a process keeps: those of the largest union; unused pages take no memory

CALL, DROP = (
    ctypes.cast(f, ctypes.c_void_p).value
    for f in (ctypes.pythonapi.PyObject_CallNoArgs, ctypes.pythonapi.Py_DecRef)
)
# Release Python's lock, and acquire it.
SAVE, RESTORE = (
    ctypes.cast(f, ctypes.c_void_p).value
    for f in (ctypes.pythonapi.PyEval_SaveThread, ctypes.pythonapi.PyEval_RestoreThread)
)
OWN_SUMS = getattr(layout.Core, CORE[0].name).offset  # bytes of a task's own counters
REST = getattr(layout.Core, LAUNCH[0].name).offset  # after the counters that all tasks of the core share
SITUATION = getattr(layout.Core, BUILT_INS[0]).offset  # the built-in variables and the fields after them
TASK_ID, X, Y, Z, CORE_ID = map(BUILT_INS.index, ("taskId", "taskIdX", "taskIdY", "taskIdZ", "coreId"))
MET = layout.Core.met.offset
LOG = layout.Core.log.offset  # after the fields that change while a task runs
ASKED = layout.Core.asked.offset
NO_SUMS = bytes(OWN_SUMS)


NO_WORDS: Rows = np.empty(0, np.int64)


def _where(array: "np.ndarray[Any, Any]") -> int:
    return int(array.__array_interface__["data"][0])


class WordBuffer:
    """Words of 64 bits that C reads, in a buffer that grows as needed."""

    def __init__(self) -> None:
        self._grow(FIRST_WORDS)

    def _grow(self, many: int) -> None:
        self._words = layout.words_type(many)()
        self.bytes = memoryview(self._words).cast("B")
        self.at = ctypes.addressof(self._words)

    def take(self, other: "WordBuffer") -> None:
        """Copy the words of *other*."""
        if len(other.bytes) > len(self.bytes):
            self._grow(len(other.bytes) // 8)
        self.bytes[: len(other.bytes)] = other.bytes

    def write(self, words: Sequence[int]) -> None:
        """Write *words* at the beginning; `at` may be another address afterwards."""
        if 8 * len(words) > len(self.bytes):
            self._grow(2 * len(words))
        struct.pack_into(f"={len(words)}Q", self.bytes, 0, *words)


@frozen(eq=False)
class LongLog:
    """The log of a task that has been full in C: the *packed* rows of each full log, and the rows behind them, *many* in all."""

    packed: Rows
    rest: Rows
    many: int

    def __len__(self) -> int:
        """Return the number of its rows."""
        return self.many

    def write(self, rows: Rows) -> None:
        """Write all rows into *rows*."""
        at, packed = 0, self.packed
        for full in rows[: self.many - len(self.rest)].reshape(-1, CHUNK, COLUMNS):
            bits, first = int(packed[at]), at + 1 + COLUMNS
            columns = [column for column in range(COLUMNS) if bits >> column & 1]
            full[:] = packed[at + 1 : first]
            at = first + CHUNK * len(columns)
            full[:, columns] = packed[first:at].reshape(len(columns), CHUNK).T
        rows[self.many - len(self.rest) :] = self.rest


def joined(logs: Sequence[Rows | LongLog]) -> Rows:
    """Return the rows of *logs*."""
    if len(logs) == 1 and not isinstance(logs[0], LongLog):
        return logs[0]
    rows, at = np.empty((sum(map(len, logs)), COLUMNS), np.int64), 0
    for log in logs:
        part, at = rows[at : at + len(log)], at + len(log)
        if isinstance(log, LongLog):
            log.write(part)
        else:
            part[:] = log
    return rows


class Seat:
    """A core's structure of C, ``c``, and its bytes; the views of its counters; the buffers that it points to."""

    def __init__(self) -> None:
        self.c = c = layout.Core()
        self.at = ctypes.addressof(c)
        self.called: Callable[[int, int, int], None] | None = None  # handler of calls from C
        self.bytes = memoryview(c).cast("B")
        self.built_in = self.bytes[SITUATION:][: 4 * len(BUILT_INS)].cast("i")
        self.met = self.bytes[MET:][:16].cast("q")  # the number of a meeting, and of its cores
        self.counters = {f.name: memoryview(getattr(c, f.name)).cast("B").cast("q") for f in (*TASK, *CORE)}
        self.log = pages(8 * CHUNK * COLUMNS).view(np.int64).reshape(CHUNK, COLUMNS)
        self._packed = NO_WORDS
        self.allocs = pages(8 * ALLOCATIONS * WORDS).view(np.uint64).reshape(ALLOCATIONS, WORDS)
        self.allocs[0] = 0, 0, 0, layout.NOWHERE, 0, 0, 0, 0
        self.words = memoryview(self.allocs.data).cast("B").cast("Q")
        self.cells = pages(layout.CELL_BYTES)
        self.flights = (layout.Flight * FIRST_FLIGHTS)()
        self.most_flights = FIRST_FLIGHTS
        self.given, self.places = WordBuffer(), WordBuffer()
        self.asked = self.bytes[ASKED:][:24].cast("q")  # the reason of a call from C, and two arguments
        self._up = self._call
        self._describe()
        self._empty = bytes(self.bytes)

    def _describe(self) -> None:
        """Write the fields that are the same for every core in this seat."""
        c = self.c
        c.log, c.allocs, c.cells = _where(self.log), _where(self.allocs), _where(self.cells)
        c.flights, c.most_flights = self.flights_at, self.most_flights
        c.globals = self.places.at
        c.call, c.drop, c.up, c.look = CALL, DROP, id(self._up), id(_look)
        c.save, c.restore = SAVE, RESTORE
        c.loops = ctypes.addressof(table())
        c.nallocs, c.fuel, c.source, c.pending = 1, layout.FUEL, -1, OPENING

    def _call(self) -> None:
        assert self.called is not None
        self.called(*self.asked)

    def lengthen(self) -> None:
        """Provide more space for a log that is full in C, up to the most."""
        used, many = self.c.packed_words, MORE_LOGS * max(layout.PACKED, len(self._packed))
        if many <= MOST_PACKED:
            words = pages(8 * many).view(np.int64)
            words[:used] = self._packed[:used]
            self._packed, self.c.packed, self.c.packed_room = words, _where(words), many

    def taken_log(self) -> "LongLog":
        """Return the log of a task, with the space by which it has grown."""
        c = self.c
        rest = self.log[: c.nlog].copy()
        log = LongLog(self._packed[: c.packed_words], rest, c.packed_rows + c.nlog)
        self._packed, c.packed = NO_WORDS, None
        c.packed_words = c.packed_rows = c.packed_room = c.nlog = 0
        return log

    def deepen(self) -> None:
        """Provide space for the variables of recursive calls, before a core takes the seat."""
        if len(self.cells) < layout.DEEP_CELL_BYTES:
            self.cells = pages(layout.DEEP_CELL_BYTES)
            self.__dict__.pop("_cell_flags", None)  # as large as the cells
            self.bytes[:] = self._empty
            self.c.cells = _where(self.cells)
            self._empty = bytes(self.bytes)

    def shrink(self) -> None:
        """Provide space for the first effects in flight again, of which an ended core had more."""
        self.flights, self.most_flights = (layout.Flight * FIRST_FLIGHTS)(), FIRST_FLIGHTS
        self.bytes[:] = self._empty
        self.c.flights = self.flights_at
        self._empty = bytes(self.bytes)

    def take(self, core: "NativeCore", situation: Sequence[int], lines: int, spare: int) -> None:
        """Assign the seat to *core*: the structure is reset, except for *situation* and the place where lines are counted."""
        self.called = core.called
        self.bytes[:] = self._empty
        struct.pack_into(f"={len(situation)}i", self.bytes, SITUATION, *situation)
        struct.pack_into("=2Q", self.bytes, REST, lines, spare)

    def place(self, place: TaskPlace) -> None:
        """Set the built-in variables to those of the task at *place*."""
        variables = self.built_in
        variables[TASK_ID], variables[CORE_ID] = place.task, place.core_id
        variables[X], variables[Y], variables[Z] = place.task_x, place.task_y, place.task_z

    def copy(self, other: "Seat", moved: Sequence[int], lines: int, spare: int) -> None:
        """Copy the state of *other* before a task begins, except for the buffers and the place where lines are counted; allocations are shifted by *moved* bytes."""
        many = len(moved)
        self.bytes[:] = self._empty
        self.bytes[REST:LOG] = other.bytes[REST:LOG]
        struct.pack_into("=2Q", self.bytes, REST, lines, spare)
        self.c.nflights, self.c.most_flights = 0, self.most_flights
        self.allocs[1:many] = other.allocs[1:many]
        self.allocs[1:many, 0] += np.array(moved[1:], np.int64).view(np.uint64)
        self.allocs[1:many, LAST] = 0
        self.places.take(other.places)
        self.c.globals = self.places.at

    def takes(
        self, counted: Sequence[int], rows: "Sequence[Any] | np.ndarray[Any, Any]", reads: Sequence[int]
    ) -> None:
        """Set the state after a task with the counts *counted*, followed by its first loads, the *rows* of its log, and the bytes *reads*."""
        struct.pack_into(f"={TASK_PLACES}q", self.bytes, 0, *counted[:TASK_PLACES])
        self.c.head_transactions, self.c.head_transfers = counted[TASK_PLACES : TASK_PLACES + 2]
        self.c.nlog = len(rows)
        if len(rows):
            self.log[: len(rows)] = rows
        for number, read in enumerate(reads, 1):
            self.words[WORDS * number + READ] = read

    def hand(self, words: Sequence[int], places: Sequence[int]) -> None:
        """Write the *words* of the kernel's arguments, and the words *places* of variables at file scope."""
        self.given.write(words)
        self.places.write(places)
        if self.c.globals != self.places.at:
            self.c.globals = self.places.at

    @property
    def flights_at(self) -> int:
        """Return the address of the effects in flight."""
        return ctypes.addressof(self.flights)

    def describe(self, number: int, allocation: Allocation) -> None:
        """Write the description of allocation *number*, with the address of its bytes."""
        raw = allocation.where() if allocation.nbytes else 0
        counted = allocation.declared.counted
        flags = allocation.space.number | allocation.writable << 32 | counted.number << 48
        words, at = self.words, WORDS * number
        words[at], words[at + 1] = raw, allocation.nbytes
        words[at + 2], words[at + 3] = allocation.address, flags

    def look_at(self, number: int, flags: int, key: int, only_read: bool, only_written: bool) -> None:
        """Write a screen's data about allocation *number*: the address of its flags, its key, whether it is *only_read*, or *only_written*."""
        at = WORDS * number
        self.words[at + FLAGS], self.words[at + KEY] = flags, key
        self.words[at + LAST] = NO_STORE * only_read | NO_READ * only_written

    def lines_of(self, number: int) -> tuple[int, int]:
        """Return the address of what a screen says of the lines of allocation *number*, and for how many it does."""
        at = WORDS * number
        flags, lines = self.words[at + FLAGS], -(-self.words[at + 1] // screen.FLAG_LINE)
        return (flags - screen.HEAD - lines, lines) if flags else (0, 0)

    def describes_nothing(self, number: int) -> None:
        """Remove the bytes of allocation *number*; the rest of its description stays."""
        self.words[WORDS * number + 1] = 0

    def forget(self, first: int, end: int, cells: int) -> None:
        """Clear the allocations from *first* to before *end*, the *cells* at the other end, and the counts of reads of the rest."""
        if first < end:
            self.allocs[first:end] = 0
        for number in range(1, first):
            self.words[WORDS * number + READ] = 0
        if cells:
            self.allocs[ALLOCATIONS - cells :] = 0

    def read(self, number: int) -> int:
        """Return the bytes that copies in C read from allocation *number*."""
        return self.words[WORDS * number + READ]

    # Space that a screen requests.

    @functools.cached_property
    def _spans(self) -> "np.ndarray[Any, Any]":
        return pages(screen.SPAN_BYTES)

    @functools.cached_property
    def _window(self) -> "np.ndarray[Any, Any]":
        return pages(screen.WINDOW.itemsize).view(screen.WINDOW)

    @functools.cached_property
    def _cell_flags(self) -> "np.ndarray[Any, Any]":
        return pages(len(self.cells))

    @functools.cached_property
    def _parts(self) -> "np.ndarray[Any, Any]":
        return pages(screen.PARTS_BYTES)

    @functools.cached_property
    def _written(self) -> "np.ndarray[Any, Any]":
        return pages(8 * ALLOCATIONS).view(np.int64)  # addresses of records, by number of allocation

    def spans(self, stores: int, *, windows: bool) -> int:
        """Return the address of the space for pending accesses, cleared; *stores* is the address of the launch's stores.

        With *windows* there is space for `window`, too.
        """
        window = 0
        if windows:
            words = self._window.view(np.int64)
            words[:WINDOW_HEAD], window = 0, _where(words)  # the record itself would spell out its type
        self._spans[: 8 * screen.SPAN_LISTS] = 0
        words = self._spans.view(np.int64)
        words[screen.SPAN_WORDS : screen.SPAN_HEAD], words[screen.SPAN_HEAD :] = (-1, stores, window), 0
        return _where(self._spans)

    @property
    def keeps_window(self) -> bool:
        """Return whether the core records its events between two waits for all pipes."""
        return bool(self._spans.view(np.int64)[screen.SPAN_HEAD - 1])

    @property
    def window(self) -> "np.void":
        """Return the record of the core's events since it waited for all pipes (`machine.native.text.screen.WINDOW`)."""
        window: np.void = self._window[0]
        return window

    def parts(self) -> int:
        """Return the address of the space for the parts of on-chip arrays, cleared."""
        self._parts[: 8 * screen.HEAD_WORDS] = 0
        self._parts[-4 * sum(most for _, _, most in screen.PARTS) :] = 0
        return _where(self._parts)

    def knows(self, rows: int, first: "np.ndarray[Any, Any]", choices: "np.ndarray[Any, Any]") -> None:
        """Let C track which part wrote each byte: *rows* rows, with the *first* of the *choices* of each."""
        words = rows, _where(first), _where(choices), _where(self._written)
        self._parts[8 * screen.KNOWN :][: 8 * len(words)].view(np.int64)[:] = words

    def record(self, number: int, table: "np.ndarray[Any, Any]") -> None:
        """Write the address of the record of the bytes of allocation *number*."""
        self._written[number] = _where(table)

    def overwritten(self) -> dict[str, int]:
        """Return C's read of bytes that another part wrote, by `PART_WORDS`."""
        words = self._parts[8 * screen.KNOWN : 8 * screen.HEAD_WORDS].view(np.int64).tolist()
        return dict(zip(screen.PART_WORDS, words, strict=False))

    def span_words(self) -> "np.ndarray[Any, Any]":
        """Return the pending accesses as words: a number for each list, and its spans."""
        return self._spans.view(np.int64)

    def pending(self, name: str) -> "np.ndarray[Any, Any]":
        """Return the pending accesses of the list *name*, each with the number of its allocation, its span, and whether it stores."""
        words, number = self.span_words(), screen.LISTS.index(name)
        spans = words[screen.SPAN_LISTS : screen.SPAN_WORDS].reshape(screen.SPAN_LISTS, screen.MOST_SPANS, 4)
        return spans[number, : words[number]]

    def failed_again(self) -> list[list[int]]:
        """Return the tests of values that have failed again: one more than the number of each, that of its place, how often."""
        tests: list[list[int]] = (
            self._spans.view(np.int64)[screen.SPAN_HEAD : screen.SPAN_TYPES].reshape(-1, 3).tolist()
        )
        return [test for test in tests if test[2]]

    @property
    def typed(self) -> "np.ndarray[Any, Any]":
        """Return the types that vectors last wrote in NRAM, recorded by C."""
        return self._spans[8 * screen.SPAN_TYPES : 8 * screen.SPAN_RECENT].view(TYPED)

    def parts_now(self) -> "tuple[bool, list[np.ndarray[Any, Any]]]":
        """Return whether there was enough space, and copies of the tables of parts."""
        *many, short = self._parts[: 8 * screen.KNOWN].view(np.int64).tolist()
        tables, at = [], 8 * screen.HEAD_WORDS
        for (_, kind, most), n in zip(screen.PARTS, many, strict=True):
            tables.append(self._parts[at : at + n * kind.itemsize].view(kind).copy())
            at += most * kind.itemsize
        return not short, tables

    @staticmethod
    def led_to(words: "np.ndarray[Any, Any]") -> list[tuple[int, int]]:
        """Return the number of the allocation and the offset for each of the pointers *words*."""
        numbers = words + (1 << layout.OFFSET_BITS - 1) >> layout.OFFSET_BITS
        return list(
            zip(numbers.tolist(), (words - (numbers << layout.OFFSET_BITS)).view("i8").tolist(), strict=True)
        )

    def over(self, lists: Iterable[str]) -> None:
        """Clear *lists* of pending accesses (`machine.native.text.screen.LISTS`)."""
        for name in lists:
            at = 8 * screen.LISTS.index(name)
            self._spans[at : at + 8] = 0

    def cell_flags(self) -> int:
        """Return the address of the flags of variables that have an address."""
        return _where(self._cell_flags)

    @functools.cached_property
    def leaving(self) -> "np.ndarray[Any, Any]":
        """The record of a task's returns from functions, one element (`machine.native.text.screen.LEAVING`)."""
        return pages(screen.LEAVING.itemsize).view(screen.LEAVING)

    def begins_leaving(self) -> int:
        """Return the address of the record of returns, for a task that begins."""
        self.leaving.view(np.int64)[:LEAVING_HEAD] = 0
        return _where(self.leaving)

    def variable(self, number: int) -> tuple[int, int, int]:
        """Return the bytes of a variable in C and of its elements, as the program's ``nowhere`` expects them.

        The last value is the number of a constant's text; -1 for others.
        """
        described = self.allocs[number].view(np.int64)
        flags = int(described[3])
        fixed = number != 0 and not flags >> 32 & 0xFFFF
        # Of a variable with pointers the size stands where memory has its last load.
        mixed = flags & 0xFFFFFFFF == layout.MIXED
        nbytes = int(described.view(np.int32)[2 * LAST] if mixed else described[1])
        return nbytes, int(described[READ]), flags >> 48 if fixed else -1

    def variables(self) -> tuple[bytes, bytes]:
        """Return the bytes of variables that have an address, and the words of those at file scope."""
        return self.cells[: self.c.cells_top].tobytes(), bytes(self.places.bytes)

    def grow(self) -> None:
        """Double the space for effects in flight."""
        more = (layout.Flight * (2 * self.most_flights))()
        ctypes.memmove(more, self.flights, ctypes.sizeof(self.flights))
        self.flights, self.most_flights = more, 2 * self.most_flights
        self.c.flights, self.c.most_flights = self.flights_at, self.most_flights


_kept: list[Seat] = []
"""The idle seats of ended cores, for later ones of any launch of the process."""


def taken() -> Seat:
    """Return a seat for a new core; the only allocation described is that of the null pointer."""
    try:
        return _kept.pop()
    except IndexError:
        return Seat()


def give(seat: Seat) -> None:
    """Keep the seat of an ended core for a later one."""
    seat.called = None
    if seat.c.packed_room:
        seat.taken_log()
    if len(_kept) < KEPT:
        if seat.most_flights > FIRST_FLIGHTS:
            seat.shrink()
        _kept.append(seat)


def shared_counters() -> tuple[tuple[int, int], "tuple[memoryview[int], memoryview[int]]"]:
    """Return the addresses and views of the counters that all cores of a launch share: the lines and spare bytes of each instruction."""
    rows = len(ISA)
    words = layout.words_type(2 * rows)()
    at, counts = ctypes.addressof(words), memoryview(words).cast("B").cast("q")
    return (at, at + 8 * rows), (counts[:rows], counts[rows:])


def _look() -> None:
    """Do nothing; Python handles signals and alarms during the call."""


class Start(NamedTuple):
    """The state of a core at the beginning of each of its tasks: its numbers of views and bindings, and its structure's bytes.

    ``declared`` are the first free byte and the number of declarations of each memory, ``places`` the words of the
    variables at file scope, followed by those of functions as they are declared.  ``filled`` are the declarations
    that begin with values, and the values.
    """

    views: int
    bindings: int
    declared: Mapping[Space, tuple[int, int]]
    rest: bytes
    places: bytes
    filled: tuple[tuple[Allocation, Bytes], ...]

    @classmethod
    def of(cls, core: "NativeCore", seat: "Seat") -> "Start":
        """Return the state of *core* on *seat*, after the declaration of its variables at file scope."""
        return cls(
            views=len(core.views),
            bindings=len(core.bindings),
            declared={space: (arena.top, len(arena.allocations)) for space, arena in core.used.items()},
            rest=bytes(seat.bytes[REST:]),
            places=bytes(seat.places.bytes),
            filled=tuple(
                (a, a.raw.copy()) for arena in core.used.values() for a in arena.allocations if a.filled
            ),
        )

    def again(self, seat: "Seat") -> None:
        """Restore this state in *seat*, except for the counters that all tasks of its core share."""
        seat.bytes[:OWN_SUMS] = NO_SUMS
        seat.bytes[REST:] = self.rest
        seat.places.bytes[:] = self.places
        if seat.most_flights > FIRST_FLIGHTS:
            seat.c.flights, seat.c.most_flights = seat.flights_at, seat.most_flights
