"""A launch in C that searches for possible findings of checkers: its flags, its accesses to shared memory, the parts of its on-chip arrays.

Nothing is reported here.  A run without possible findings is the launch's result; for any other the bytes are
restored, and Python repeats the launch for the checkers in doubt, which report the finding.  Possibly unordered
events on a core are recorded for them (`Windows`) in a second run in C, and numbers that arithmetic changes in the
first.
"""

import functools
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from attrs import define, frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import MEMORY_TYPES
from mlusim.engine.values import RULES, VectorChange
from mlusim.errors import Fault
from mlusim.isa.declare import Flow, Intrinsic
from mlusim.isa.table import ISA
from mlusim.machine.cluster import Sync
from mlusim.machine.core import Core
from mlusim.machine.hub import (
    Effect,
    MetAlone,
    MisplacedScalar,
    ObservedScreen,
    Observer,
    OnMemoryCore,
    SharedRun,
    TaskRan,
    TaskWay,
)
from mlusim.machine.native.leaving import Ways
from mlusim.machine.native.text.screen import (
    ALL_HAVE,
    ALONE,
    DECIDED,
    DECISIONS,
    DECISIONS_LATE,
    ESCAPED,
    ESCAPES,
    FLAG_LINE,
    FLAGS_SAY,
    HEAD,
    HOW_FLIES,
    HOW_PENDING,
    HOW_PIPE,
    HOW_PLACE,
    HOW_READS,
    HOW_UNCLEAR,
    HOW_WAITS,
    HOW_WORD,
    HOW_WRITES,
    LISTS,
    MADE,
    MISPLACED,
    MIXED_ESCAPED,
    MIXED_ESCAPES,
    MOST_NOTED,
    MOST_PIECES,
    NONE_HAS,
    READ_FIRST,
    SHARED,
    SHARED_FULL,
    STORES,
    STORES_CONST,
    TOUCHED,
    TYPE_BYTES,
    WINDOW_ENDS,
    WINDOW_MET,
    Suspicion,
)
from mlusim.machine.observed import (
    CHANGES,
    READS,
    SCALAR_ACCESSES,
    WRITES,
    ChangedVector,
    CountedEscape,
    Escape,
    EscapedAt,
    MutexTurn,
    Screened,
    Site,
    Step,
    TaskPlace,
    TensorStore,
    ValueChange,
    WordSign,
)
from mlusim.machine.parts import KeptParts, Overwritten, TaskParts
from mlusim.memory.allocation import Allocation, Bytes, pages
from mlusim.memory.footprint import Access, Ints, Mask, WrittenBytes
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, NRAM, SRAM, WRAM
from mlusim.time.log import WAITS

if TYPE_CHECKING:
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.run import NativeProgram
    from mlusim.machine.options import Request
    from mlusim.machine.tally import Tally


COLUMNS = 5  # of a row of accesses:
LOW, HIGH, KIND, SEGMENT, KEY = range(COLUMNS)
"""The bytes [low, high), the kind of access, the segment, task or union, and the key of the memory."""
Rows = np.ndarray[Any, np.dtype[np.int64]]
Numbers = np.ndarray[Any, np.dtype[np.intp]]
MOST_ACCESSES = 1 << 22  # rows; half of them may remain after joining
MOST_MET = 1 << 16  # words on which tasks begin and meet, if C begins them
MOST_SHARED = 1 << 21  # accesses that are recorded separately
FIRST_SHARED = 1 << 14  # and for which there is space at first
WORD = 8  # bytes of a small store
MOST_NUMBER = (1 << 32) - 1
MOST_SITES = 192  # of a kernel; with more, initcheck may not distinguish all writes (`observe.shadow.MOST`)
KINDS = len((READS, CHANGES, WRITES))
_ESCAPES = {ESCAPED: Escape.STORED, MIXED_ESCAPED: Escape.MIXED, DECIDED: Escape.DECIDES}
_COUNTED = {ESCAPES: Escape.STORED, MIXED_ESCAPES: Escape.MIXED, DECISIONS: Escape.DECIDES}
"""How uninitialized bytes escape, by what C reports of the first at a site, and by the number under which it counts further ones."""
SCALARS = 2  # kinds of scalar accesses: loads and stores
WAIT = "sync_io_move_compute"
# Rows that Python executes in a run in C and that access no memory.
HARMLESS = frozenset({"bang_printf", "assert_", "sync_all_mpu", "bang_lock", "bang_unlock"})


Change = ValueChange | VectorChange | MisplacedScalar | MetAlone | EscapedAt


class Looks(Protocol):
    """The record of a launch in C, as its cores write it: that of a screen, or of tasks that run at once."""

    knows_declarations: bool  # whether it records on-chip memory from its declaration on

    def begin(self, core: "NativeCore") -> None: ...
    def again(self, core: "NativeCore") -> None: ...
    def looked_at(self, core: "NativeCore", allocation: Allocation) -> tuple[int, int, bool, bool]: ...
    def row(self, core: "NativeCore", row: Intrinsic, arguments: Sequence[Any], *, native: bool) -> None: ...
    def executed(self, core: "NativeCore", row: Intrinsic) -> None: ...
    def allows(self, arguments: Sequence[Any]) -> bool: ...
    def may_undo(self, pointer: object) -> bool: ...
    def suspected(self, core: "NativeCore", why: int, change: Change | None = None) -> None: ...


EIGHT_TRUE = 0x0101010101010101  # bytes of a mask as one number
ON_CHIP = (NRAM, WRAM, SRAM)
ROWS = tuple(ISA)

# A window is a core's work in a screened launch between two waits for all pipes, recorded if C found it
# possibly unordered.  After such a wait nothing is in flight, so later events do not depend on earlier ones.
# The iterations of a loop have the same window except for the offsets in its memories; it is judged once, and
# counted.

PIPES = {WAITS[pipe]: pipe for pipe in (Pipe.IO, Pipe.MOVE)}
MOST_WINDOWS = 2048  # different windows; with more, Python runs the launch
EACH = "copy", "strided", "gather"  # forms with a separate step for each call in Python
UNCLEAR = ("discrete",)  # a form that reads a part of its operands at its issue, as its arguments say
STREAMS = (Pipe.IO,), (Pipe.MOVE,), (Pipe.VECTOR, Pipe.TENSOR)
WAITED = {"sync_io": STREAMS[0], "sync_move": STREAMS[1], "sync_compute": STREAMS[2]}
Noted = np.ndarray[Any, Any]
Memories = Mapping[int, Allocation]


class WindowCore:
    """The core of a window, for a checker: its place, and the steps that it has executed since the last query."""

    def __init__(self, place: TaskPlace) -> None:
        self.place = place
        self._fresh: dict[Step, None] = {}

    def ran(self, step: Step) -> None:
        """Record the execution of *step*, which is the same object each time."""
        self._fresh[step] = None

    def fresh_steps(self) -> list[Step]:
        """Return the steps since the last call, each once."""
        fresh, self._fresh = self._fresh, {}
        return list(fresh)

    def announce_again(self) -> None:
        """Do nothing: here all steps are announced."""


@define(eq=False)
class Window:
    """The work of a core between two waits for all pipes, in its order, and how often the launch has such a window.

    For each event the window says whether it is a step that Python announces once, however often it runs.
    """

    core: WindowCore
    happened: Sequence[tuple[Effect | Sync, bool]]
    times: int = 1

    def happenings(self) -> Iterator[Effect | Sync]:
        """Yield its instructions, scalar accesses and waits, each before it acts."""
        for happening, again in self.happened:
            if again:
                assert isinstance(happening, Effect)
                self.core.ran(happening.step)
            yield happening


class _Reading:
    """Converts the record of a window into events, on a stand-in for the core that ran *program*; *memories* by their numbers."""

    def __init__(self, core: WindowCore, program: "NativeProgram", memories: Memories) -> None:
        self._core: Any = core
        self._program = program
        self._memories = memories
        self._steps: dict[bytes, Step] = {}

    def happened(self, noted: Noted) -> Iterator[tuple[Effect | Sync, bool]]:
        """Yield the events.  Raises `Suspicion` if a step that runs twice cannot be distinguished from two steps, and for unknown waits."""
        starts = np.flatnonzero(np.diff(noted["event"], prepend=-1))
        for operands in np.split(noted, starts[1:]):
            row, how = int(operands[0]["row"]), int(operands[0]["how"])
            if how & HOW_WAITS:
                yield from ((wait, False) for wait in self._waits(ROWS[row], how // HOW_PIPE))
                continue
            step, again = self._step(operands, None if row < 0 else ISA[ROWS[row]])
            yield Effect(step, self._core, 0, asynchronous=bool(how & HOW_FLIES)), again

    def _waits(self, name: str, flags: int) -> Iterator[Sync]:
        spelled = f"__{name}"
        if name == "sync_io_move_compute":
            pipes, waiting = (
                tuple(p.value for n, group in enumerate(STREAMS) for p in group if flags >> first + n & 1)
                for first in (0, len(STREAMS))
            )
            if pipes and waiting:
                every = flags >> len(STREAMS) == (1 << len(STREAMS)) - 1
                yield Sync(spelled, self._core, pipes, waiting=() if every else waiting)
            return
        if name not in WAITED:
            raise Suspicion
        yield Sync(spelled, self._core, tuple(pipe.value for pipe in WAITED[name]))
        if name == "sync_compute":
            yield Sync(spelled, self._core, (Pipe.MOVE.value,), route=(NRAM.name, NRAM.name))

    def _step(self, operands: Noted, row: Intrinsic | None) -> tuple[Step, bool]:
        """Return the step of an event, and whether Python announces it once, however often it runs."""
        if row is None:
            once = not self._memories[int(operands[0]["alloc"])].space.shared
        else:
            once = not operands[0]["how"] & HOW_FLIES and row.form not in EACH
        if not once:
            return self._made(operands, row), False
        key = operands.copy()
        key["event"] = 0
        step = self._steps.get(key.tobytes())
        if step is None:
            step = self._steps[key.tobytes()] = self._made(operands, row)
        elif (operands[0]["site"], operands[0]["row"]) in self._program.crowded:
            raise Suspicion
        return step, True

    def _made(self, operands: Noted, row: Intrinsic | None) -> Step:
        reads: list[Access] = []
        writes: list[Access] = []
        for _, _, _, how, alloc, low, size, more, step, rows, far in sorted(
            operands.tolist(), key=lambda operand: operand[3] // HOW_PLACE
        ):
            inner = () if more < 0 else ((step, more + 1),)
            access = Access(self._memories[alloc], low, size, (((far, rows),) if rows else ()) + inner)
            reads += [access] * bool(how & HOW_READS)
            writes += [access] * bool(how & HOW_WRITES)
        site, how = Site(*self._program.sites[operands[0]["site"]]), int(operands[0]["how"])
        touched = tuple(reads), tuple(writes)
        if row is None:
            name = "scalar load" if reads else "scalar store"
            return Step(name, None, Pipe.SCALAR, Flow.LANEWISE, *touched, site)
        pipe = PIPES.get(how % HOW_PLACE // HOW_PIPE, row.pipe)
        return Step(row.name, row, pipe, row.flow, *touched, site)


class Windows:
    """The possibly unordered windows of a launch; at most *most* different ones."""

    def __init__(self, most: int = MOST_WINDOWS) -> None:
        self._most = most
        self._found: dict[Any, Window] = {}
        self._open: NativeCore | None = None
        self._last: dict[NativeCore, Window] = {}  # the last ended window

    def begins(self, core: "NativeCore") -> None:
        """Record that the window of *core* may be unordered.  Raises `Suspicion` while another core's has not ended."""
        if core.union.block:
            return
        if self._open is not None:
            raise Suspicion
        self._open = core

    def ends(self, core: "NativeCore") -> None:
        """Store the window of *core*, which ends, if it was recorded.  Raises `Suspicion` if the record is incomplete."""
        if not core.seat.keeps_window:
            return  # it began before windows were recorded, and has had none that is not in order
        window = core.seat.window
        if window["again"]:
            self._last[core].times += int(window["again"])
            window["again"] = 0
        if not window["met"] if core.union.block else self._open is not core:
            return
        self._open = None
        if window["unclear"]:
            raise Suspicion
        noted = window["noted"][: int(window["many"])].copy()
        numbers, which = np.unique(noted["alloc"], return_inverse=True)
        views = ((number, core.views[number]) for number in numbers.tolist())
        memories = {number: view.allocation for number, view in views if view is not None}
        # Overlaps are the same wherever the window is in a memory; ordered off-chip accesses do not matter.
        key, first = noted.copy(), np.full(len(numbers), np.iinfo(np.int64).max)
        np.minimum.at(first, which, key["low"])
        key["low"] -= first[which]
        if not window["shared"]:
            far = [number for number, memory in memories.items() if memory.space is GDRAM]
            key["low"][np.isin(key["alloc"], far)] = 0
        whole = key.tobytes(), *((number, memory.space) for number, memory in memories.items())
        like = self._found.get(whole)
        if like is not None:
            like.times += 1
            self._last[core] = like
            return
        if len(self._found) == self._most:
            raise Suspicion
        stand_in = WindowCore(core.place)
        reading = _Reading(stand_in, core.machine.native.program, memories)
        self._last[core] = self._found[whole] = Window(stand_in, list(reading.happened(noted)))

    def __iter__(self) -> Iterator[Window]:
        """Yield the different windows, in the order of their first occurrence."""
        yield from self._found.values()


def note(
    core: "NativeCore", row: Intrinsic, how: int, reads: Sequence[Access] = (), writes: Sequence[Access] = ()
) -> None:
    """Record an event of *row* on *core*, which Python executes, if a window is being recorded; *how* is as in `machine.native.text.screen`."""
    if not core.seat.keeps_window:
        return
    window = core.seat.window
    sides = [*((HOW_READS, access) for access in reads), *((HOW_WRITES, access) for access in writes)]
    first, many = int(window["many"]), len(sides) or 1
    clear = row.form not in UNCLEAR and all(len(access.steps) < 3 for _, access in sides)
    if not clear or first + many > MOST_NOTED:
        window["unclear"] = 1
        return
    window["events"] += 1
    window["many"] += many
    rows = window["noted"][first : first + many]
    rows[:] = 0  # a wait has no operand; its row may have had one
    rows["more"] = -1
    rows["event"], rows["site"], rows["how"] = window["events"], core.c.site, how
    rows["row"] = ROWS.index(row.name)
    for place, (bit, access) in enumerate(sides):
        entry = rows[place]
        entry["how"] = how | bit | place * HOW_PLACE
        entry["alloc"], entry["low"], entry["size"] = (
            core.number_of(access.allocation),
            access.start,
            access.size,
        )
        if access.steps:
            entry["step"], entry["more"] = access.steps[-1][0], access.steps[-1][1] - 1
        if len(access.steps) > 1:
            entry["far"], entry["rows"] = access.steps[0]


class PartRecord:
    """Records the *parts* of the tasks of a launch in C."""

    def __init__(self, parts: KeptParts) -> None:
        self._kept = parts
        self._touched: dict[NativeCore, dict[Any, set[tuple[int, int]]]] = {}  # in rows run by Python
        self._shared: dict[Allocation, WrittenBytes] = {}
        self._own: dict[NativeCore, dict[Allocation, WrittenBytes]] = {}
        self._numbers: dict[tuple[NativeCore, Allocation], int] = {}

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*.  Raises `Suspicion` if its parts are unknown while those of others are known."""
        core.c.parts = core.seat.parts()
        if self._kept.choices:
            mine = self._kept.choices.get(_task_of(core))
            if mine is None:
                raise Suspicion
            core.seat.knows(mine.known, mine.first, mine.choices)

    def again(self, core: "NativeCore") -> None:
        """Begin new records of the declarations that *core* keeps from task to task."""
        for allocation in list(self._own.pop(core, ())):
            if allocation.live:
                self.looked_at(core, allocation, self._numbers[core, allocation])

    def looked_at(self, core: "NativeCore", allocation: Allocation, number: int) -> None:
        """Provide the record of the bytes of *allocation*, which *core* is about to access by its *number*."""
        if not self._kept.choices or allocation.space not in ON_CHIP:
            return
        records = self._shared if allocation.space.shared else self._own.setdefault(core, {})
        written = records.get(allocation)
        if written is None:
            written = records[allocation] = WrittenBytes(allocation.nbytes)
        self._numbers[core, allocation] = number
        core.seat.record(number, written.table)

    def touches(self, core: "NativeCore", what: tuple[int, int, int, int], access: Access) -> None:
        """Record *access* by an instruction that Python executes: *what* is its number, that of its argument, that of the memory, the kind."""
        allocation = access.allocation
        if allocation.space not in ON_CHIP:
            return
        kind, key = what[-1], (core.c.context, core.c.site, *what)
        spans = self._touched.setdefault(core, {}).setdefault(key, set())
        spans.add(access.span)
        if len(spans) > MOST_PIECES:
            low, high = min(s[0] for s in spans), max(s[1] for s in spans)
            self._touched[core][key] = {(low, high)}
        if self._kept.choices:
            part = self._kept.choices[_task_of(core)].chosen(key, access.span[0])
            if part is None:
                raise Suspicion
            if kind == READS:
                self._looks(core, access, part)
            else:
                self._written(core, allocation).store(access, part, core.c.site)

    def read(self, core: "NativeCore") -> None:
        """Record the bytes that C reads after another part wrote them."""
        words = core.seat.overwritten()
        view = core.views[words["alloc"]]
        assert view is not None
        steps = ((words["step"], words["more"] + 1),) if words["more"] else ()
        access = Access(view.allocation, words["low"], words["size"], steps)
        self._looks(core, access, words["part"])

    def _looks(self, core: "NativeCore", access: Access, part: int) -> None:
        site = core.c.site
        for by, place, count in self._written(core, access.allocation).lost(access, part):
            overwritten = self._kept.overwritten.get((by, part, place))
            if overwritten is None:
                task = core.place.task
                self._kept.overwritten[by, part, place] = Overwritten(by, part, place, site, task, count)
            else:
                overwritten.times += 1

    def _written(self, core: "NativeCore", allocation: Allocation) -> WrittenBytes:
        return (self._shared if allocation.space.shared else self._own[core])[allocation]

    def task_end(self, core: "NativeCore") -> None:
        """Store the tables of the task that has ended on *core*."""
        whole, tables = core.seat.parts_now()
        more = self._touched.pop(core, {})
        executed = np.zeros(len(more), TOUCHED)
        for entry, (key, spans) in zip(executed, more.items(), strict=True):
            for name, value in zip(TOUCHED.names or (), (*key, len(spans)), strict=False):
                entry[name] = value
            entry["span"][: len(spans)] = sorted(spans)
        tables[2] = np.concatenate([tables[2], executed])
        contexts, variables, touched = tables
        led_to = core.seat.led_to(variables["first"])
        numbers = {*touched["alloc"].tolist(), *(number for number, _ in led_to)}
        named = {n: view.allocation for n in sorted(numbers) if (view := core.views[n]) is not None}
        key = (
            *(table.tobytes() for table in tables),
            *((a.declared.file, a.declared.line, a if a.space.shared else a.space) for a in named.values()),
        )
        parts = TaskParts(True, contexts, variables, touched, len(executed), led_to, named, set())
        like = self._kept.by_tables.setdefault(key, parts)
        like.whole &= whole
        like.tasks.add(_task_of(core))


def _task_of(core: "NativeCore") -> tuple[int, bool]:
    return core.place.task, core.place.memory_core


class SharedLog:
    """Every access of a launch to memory that tasks share, at most *most*, with the events that order them; C writes it at the place in *stores*."""

    def __init__(self, stores: "np.ndarray[Any, Any]", most: int) -> None:
        self.complete = True  # whether only barriers, atomics and mutexes have ordered tasks
        self.tasks: list[int] = []  # by segment
        self._events: list[
            tuple[int, TaskRan | WordSign | MutexTurn | tuple[int, ...] | list[Allocation]]
        ] = []
        self._stores = stores
        self.most = most
        self._rows = np.empty(0, SHARED)
        if most:
            self.grow(min(most, FIRST_SHARED))

    @property
    def records(self) -> bool:
        """Return whether it records anything."""
        return bool(self._stores["most"])

    def grow(self, many: int) -> bool:
        """Make space for *many* more accesses; return False if they are too many."""
        used = int(self._stores["many"])
        if used + many > self.most:
            return False
        before, room = self._rows[:used], min(used + max(many, 3 * used), self.most)
        self._rows = np.empty(room, SHARED)
        self._rows[:used] = before
        self._stores["shared"], self._stores["most"] = self._rows.ctypes.data, room
        return True

    def stop(self) -> None:
        """Record no more, and forget what happened."""
        self._stores["shared"] = self._stores["most"] = 0
        self._events.clear()
        self.drop()

    def happens(self, what: TaskRan | MutexTurn | tuple[int, ...] | list[Allocation]) -> None:
        """Record that a task began, tasks met, a mutex changed hands, or memories ended."""
        self._events.append((int(self._stores["many"]), what))

    def keep(
        self, core: "NativeCore", row: Intrinsic, pipe: Pipe, kind: int, access: Access, key: int
    ) -> bool:
        """Record an access of a *row* that Python executes; return False if there is no space, or if more about it must be known."""
        starts, first = np.sort(access.starts), int(self._stores["many"])
        # The value of a small store is unknown here, and so is the meaning of an atomic on a word for other
        # tasks.
        if kind != READS and access.size <= WORD:
            return False
        if first + len(starts) > len(self._rows) and not self.grow(len(starts)):
            return False
        rows = self._rows[first : first + len(starts)]
        rows["low"], rows["high"], rows["time"] = starts, starts + access.size, self._stores["time"]
        rows["key"], rows["segment"], rows["site"] = key, core.c.segment, core.c.site
        rows["row"], rows["kind"], rows["pipe"] = ROWS.index(row.name), kind, WAITS.get(pipe, 0)
        rows["value"] = rows["type"] = rows["how"] = 0
        self._stores["many"] += len(starts)
        return True

    def drop(self) -> None:
        """Release the memory of the accesses, after the last task."""
        self._rows = self._rows[:0].copy()

    def run(self, memories: Sequence[Allocation], sites: Sequence[tuple[str, int]]) -> SharedRun | None:
        """Return the record, with *memories* by their keys and *sites*; None if it is incomplete."""
        rows = self._rows[: int(self._stores["many"])]
        if not self.complete or (rows["how"] & HOW_UNCLEAR).any():
            return None
        tasks = np.array(self.tasks, np.int64)[rows["segment"]]
        # The site, the row after `SCALARS` and the pipe as one number; a scalar load is 0 there, a store 1.
        row = np.where(rows["row"] < 0, rows["kind"] != READS, rows["row"] + SCALARS).astype(np.int64)
        statement = rows["site"].astype(np.int64) << 32 | row << 16 | rows["pipe"]
        columns = rows["low"], rows["high"] - rows["low"], rows["kind"], tasks, statement, rows["time"]
        accesses = np.empty((len(rows), len(columns)), np.int64)
        for n, column in enumerate(columns):
            accesses[:, n] = column
        words = np.flatnonzero(rows["how"] & HOW_WORD)
        signs = [(n + 1, WordSign(n, bool(rows["how"][n] & HOW_PENDING))) for n in words.tolist()]
        last = np.ones(len(rows), np.bool_)
        last[:-1] = rows["time"][1:] != rows["time"][:-1]
        for name in ("key", "kind"):
            last[:-1] |= rows[name][1:] != rows[name][:-1]
        values = StoredWords(rows)
        return SharedRun(
            accesses,
            rows["key"].astype(np.int64),
            last,
            memories,
            functools.partial(_statement, sites),
            values.get,
            values.equal,
            sorted([*signs, *self._events], key=operator.itemgetter(0)),
        )


def _statement(sites: Sequence[tuple[str, int]], number: int) -> tuple[str, Pipe, Site]:
    site, (row, pipe) = Site(*sites[number >> 32]), divmod(number & MOST_NUMBER, 1 << 16)
    if row < SCALARS:
        return "scalar store" if row else "scalar load", Pipe.SCALAR, site
    name = ROWS[row - SCALARS]
    return name, PIPES.get(pipe, ISA[name].pipe), site


class StoredWords:
    """The values of the small stores among the *rows* of a `SharedLog`, by the numbers of their instructions: numbers, or copied bytes."""

    def __init__(self, rows: "np.ndarray[Any, Any]") -> None:
        valued = np.flatnonzero(rows["type"])
        self._times, self._types, self._words = (rows[name][valued] for name in ("time", "type", "value"))
        self._sizes = rows["high"][valued] - rows["low"][valued]
        self._kinds = np.unique(self._types).tolist()

    def get(self, time: int) -> Any:
        """Return the value that the instruction *time* stores; None if it is unknown."""
        at = int(np.searchsorted(self._times, time, "right")) - 1
        return self._value(at) if at >= 0 and self._times[at] == time else None

    def _value(self, at: int) -> Any:
        held, kind = self._words[at].tobytes(), int(self._types[at])
        if kind == TYPE_BYTES:
            return held[: int(self._sizes[at])]
        return np.frombuffer(held, MEMORY_TYPES[kind - 1].dtype, 1)[0]

    def equal(self, first: Ints, second: Ints) -> Mask:
        """Return which instructions of *first* store what their counterparts in *second* store; an unknown value equals no other."""
        equal = np.zeros(len(first), np.bool_)
        if not len(self._times):
            return equal
        # The last one at each time or before it, or else the first of all.
        a, b = (np.searchsorted(self._times[1:], times, "right") for times in (first, second))
        valued, types = (self._times[a] == first) & (self._times[b] == second), self._types[a]
        alike = valued & (types == self._types[b])
        for kind in self._kinds:
            of_kind = np.flatnonzero(alike & (types == kind))
            equal[of_kind] = self._equal(kind, a[of_kind], b[of_kind])
        for n in np.flatnonzero(valued & ~alike).tolist():
            equal[n] = self._value(a[n]) == self._value(b[n])
        return equal

    def _equal(self, kind: int, a: Numbers, b: Numbers) -> Mask:
        """Return which values at *a*, of the type *kind*, equal those at *b*, of the same type."""
        if kind == TYPE_BYTES:
            same: Mask = (self._sizes[a] == self._sizes[b]) & (self._words[a] == self._words[b])
            return same
        dtype = MEMORY_TYPES[kind - 1].dtype
        first, second = (self._words[at].view(dtype)[:: WORD // dtype.itemsize] for at in (a, b))
        equal: Mask = first == second
        return equal


class Flags:
    """The uninitialized ones among *nbytes* bytes, in the form of `screen.h`: a flag for each byte, and for each line a summary; ``at`` is the address of the flags."""

    def __init__(self, nbytes: int, lacks: int = NONE_HAS) -> None:
        lines = -(-nbytes // FLAG_LINE)
        room = pages(lines + HEAD + lines * FLAG_LINE)  # unused ones take no memory
        self._nbytes, self._lines, self._flags = nbytes, room[:lines][::-1], room[lines + HEAD :]
        self.stored = room[lines + HEAD - 1 : lines + HEAD].view(np.bool_)  # one byte: whether anything was
        self.at = int(room.ctypes.data) + lines + HEAD
        self.say(lacks)

    def say(self, lacks: int) -> None:
        """Set all bytes to initialized, or to uninitialized, and clear the mark of stores."""
        self._lines[:], self.stored[:] = lacks, False

    def at_bytes(self, low: int, high: int) -> Bytes:
        """Return a view of the flags of the bytes [*low*, *high*), which is valid until the next store."""
        lines = slice(low // FLAG_LINE, -(-high // FLAG_LINE))
        said, flags = self._lines[lines], self._flags.reshape(-1, FLAG_LINE)[lines]
        for lacks in (ALL_HAVE, NONE_HAS):
            flags[said == lacks] = lacks
        return self._flags[low:high]

    def spell_out(self, low: int, high: int) -> Bytes:
        """Return the same flags, which may be changed: the summaries of their lines are dropped."""
        flags = self.at_bytes(low, high)
        self._lines[low // FLAG_LINE : -(-high // FLAG_LINE)] = FLAGS_SAY
        return flags

    def put(self, low: int, high: int, lacks: int) -> None:
        """Set all bytes of [*low*, *high*) to initialized, or to uninitialized."""
        first, end = -(-low // FLAG_LINE), high // FLAG_LINE
        for start, stop in ((low, min(high, first * FLAG_LINE)), (max(low, end * FLAG_LINE), high)):
            if start < stop:
                self.spell_out(start, stop)[:] = lacks
        if first < end:
            self._lines[first:end] = lacks

    def take(self, low: int, high: int, has: Mask) -> None:
        """Set the bytes of [*low*, *high*) to those that the mask *has* does not select; only lines that are mixed take memory."""
        first, end = -(-low // FLAG_LINE), high // FLAG_LINE
        for start, stop in ((low, min(high, first * FLAG_LINE)), (max(low, end * FLAG_LINE), high)):
            if start < stop:
                np.logical_not(has[start:stop], out=self.spell_out(start, stop).view(np.bool_))
        if first >= end:
            return
        lines = has[first * FLAG_LINE : end * FLAG_LINE].reshape(-1, FLAG_LINE)
        words = lines.view(np.uint64)
        some, every = words.any(axis=1), np.bitwise_and.reduce(words, axis=1) == EIGHT_TRUE
        self._lines[first:end] = np.where(every, ALL_HAVE, np.where(some, FLAGS_SAY, NONE_HAS))
        mixed = np.flatnonzero(some & ~every)
        self._flags.reshape(-1, FLAG_LINE)[first + mixed] = ~lines[mixed]

    def having(self) -> Mask | None:
        """Return the mask of initialized bytes; None if all are."""
        if not self._lines.any():
            return None
        has = np.repeat(self._lines == ALL_HAVE, FLAG_LINE)
        mixed = np.flatnonzero(self._lines == FLAGS_SAY)
        has.reshape(-1, FLAG_LINE)[mixed] = self._flags.reshape(-1, FLAG_LINE)[mixed] == 0
        has = has[: self._nbytes]
        return None if has.all() else has


@frozen
class ReadyLaunch:
    """A checked launch that is prepared (`machine.native.prepared`).

    ``machine_of`` returns its machine, which is that of a request from then on.  ``check`` runs it with arguments, lets a screen have what C notes,
    and returns what computes its sums, or None where a task has called for Python; it has to ``end`` then.
    """

    machine_of: "Callable[[Request], Machine]"
    check: "Callable[[Screen, Sequence[Any]], Callable[[], Tally] | None]"
    end: Callable[[], None]


class Screen(ObservedScreen, Observer):
    """The record of a launch that C runs for checkers; *looks* says for which problems it searches.

    ``flags`` has the flags of tensors.  A task's time is divided into segments: one from its beginning, and one after each
    barrier.
    """

    name = "screen"
    knows_declarations = True
    read: Collection[Allocation] = ()
    """The kernel's const memories: their original bytes are not kept, so a store ends the run."""
    only_written: Collection[Allocation] = ()
    """Memories that no task has read: their original bytes are not kept, unless ``keep`` is called."""
    keep: Callable[[Allocation], None]
    clashed = False  # whether events may be unordered; unless it is whole, it ends then
    hopeless = False  # whether the kernel makes a call that no screen supports
    asks: Callable[[], bool] | None = None
    """Returns whether shared accesses are ordered so far."""
    _steps = 0  # number of ended tasks and of meetings
    _shared: SharedRun | None = None  # the result of `sharing`, once computed
    _sites: Sequence[tuple[str, int]] = ()
    _over = False  # whether the last task has ended
    _seen = 0  # rows of accesses whose memories and kinds are in `_kinds`
    _kinds: frozenset[tuple[int, int]] = frozenset()
    read_late = False  # whether it ended because a task read a memory after a store to it

    def __init__(
        self,
        looks: int,
        watch: Callable[["Screen", "NativeCore"], Any],
        *,
        whole: bool = False,
        at_first: bool = False,
        disordered: bool = False,
    ) -> None:
        super().__init__(disordered=disordered)
        self.looks = looks
        self.whole = whole  # whether it records everything needed to find unordered accesses
        self.windows = Windows() if whole else None
        self.watch = watch
        self.flags: dict[Allocation, Flags] = {}
        self._released: set[tuple[int, int]] = set()  # the mutexes that order tasks from now on
        self._holders: dict[tuple[int, int], tuple[NativeCore, Site]] = {}
        self.part_record = PartRecord(self.parts)
        self.ends: Callable[[NativeCore, Fault], None] | None = None  # hears a fault before any state changes
        self._refused_on: NativeCore | None = None
        self._doubted = Screened(0)
        self._labels: list[str] = []  # labels of the cores, by segment
        self._stores = np.zeros((), STORES)
        # If every access is recorded *at_first*, that goes on, and the screen is whole, if some are in no order.
        self._log = SharedLog(self._stores, MOST_SHARED if whole else FIRST_SHARED if at_first else 0)
        self._tasks: dict[NativeCore, int] = {}
        self._begun = 0
        # References that keep the allocations alive, so that keys stay unique.
        self._keys: dict[Allocation, int] = {}
        self._own: dict[NativeCore, dict[Allocation, Flags]] = {}
        self._running: dict[NativeCore, None] = {}
        self._ways = Ways()
        self._accesses = np.zeros((2 if not looks & Screened.RACE else MOST_ACCESSES + 1, COLUMNS), np.int64)
        self._accesses[0, 1] = MOST_ACCESSES

    # -- calls by cores ----------------------------------------------------------------------

    def equip(self, core: "NativeCore") -> None:
        """Let the C of *core* write down here what it notes."""
        c = core.c
        c.screens = self.looks & ~int(self._doubted)
        c.hears = self._log.records or bool(self.looks & Screened.PARTS)
        self._sites = core.machine.native.program.sites
        self._stores["alone"] = core.union.block
        c.screen = core.seat.spans(self._stores.ctypes.data, windows=self.whole)
        c.cell_flags = core.seat.cell_flags()
        c.records = self._accesses.ctypes.data
        c.context = 0
        c.parts = 0

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*."""
        self.equip(core)
        if self.looks & Screened.SYNC and not core.union.block:
            core.c.leaving = core.seat.begins_leaving()
        if core.union.block and self._stores["lacking"]:
            self._forget_lacking()
        core.mlu.watch = self.watch(self, core)
        if self.looks & Screened.PARTS:
            self.part_record.begin(core)
        self._running[core] = None
        if self._log.records:
            self._log.happens(_ran(core))
        self._tasks[core] = self._begun
        self._begun += 1
        self.met.append(())
        self._next(core)

    def c_begins_tasks(self) -> None:
        """Let C begin the tasks, and write down which meet."""
        self._meetings = np.empty(MOST_MET, np.int64)
        self._stores["met"], self._stores["most_met"] = self._meetings.ctypes.data, MOST_MET

    def takes_meetings(self) -> bool:
        """Take over which tasks have begun and met; return False where C had no room for all of it."""
        many = int(self._stores["many_met"])
        words = iter(self._meetings[:many].tolist())
        if many <= MOST_MET:
            self.met = [() if word < 0 else tuple(itertools.islice(words, word)) for word in words]
        return many <= MOST_MET

    def tensor(self, allocation: Allocation) -> tuple[int, int, bool, bool]:
        """Return the same as `looked_at` of a tensor of which each byte has a value."""
        key = self._keys.setdefault(allocation, len(self._keys))
        return 0, key, allocation in self.read, allocation in self.only_written

    def _forget_lacking(self) -> None:
        """Forget the sources of uninitialized bytes in memory that ends, except where lanes were mixed."""
        rows = self._stores["lack"][: int(self._stores["lacking"])]
        mixing = sorted(set(rows["site"][rows["mixes"] != 0].tolist()))
        rows["low"] = rows["high"] = 0
        rows["site"][: len(mixing)], rows["mixes"][: len(mixing)] = mixing, 1
        self._stores["lacking"] = len(mixing)

    def _next(self, core: "NativeCore") -> None:
        core.c.segment = len(self._labels)
        self._labels.append(core.place.label)
        self._log.tasks.append(self._tasks[core])

    def again(self, core: "NativeCore") -> None:
        """Set the declarations that *core* keeps from task to task to uninitialized."""
        self._stores["odd"] |= bool(self._stores["lacking"]) and not core.union.block
        for allocation, flags in list(self._own.get(core, {}).items()):
            if allocation.live:
                flags.say(NONE_HAS)
            else:
                del self._own[core][allocation]
        self.part_record.again(core)

    def looked_at(self, core: "NativeCore", allocation: Allocation) -> tuple[int, int, bool, bool]:
        """Return the address of the flags of *allocation* (0 if all its bytes are initialized), its key, and whether it is only read, or so far only written."""
        key = self._keys.setdefault(allocation, len(self._keys))
        self.part_record.looked_at(core, allocation, core.number_of(allocation))
        if allocation.space is GDRAM:
            flags = self.flags.get(allocation)
        elif allocation.filled or not self.looks & Screened.INIT:
            flags = None
        elif allocation.space.shared:
            flags = self.flags.get(allocation)
            if flags is None:
                flags = self.flags[allocation] = Flags(allocation.nbytes)
        else:
            flags = self._own.setdefault(core, {})[allocation] = Flags(allocation.nbytes)
            if self._stores["lacking"]:  # its address may have belonged to another one
                rows = self._stores["lack"][: int(self._stores["lacking"])]
                ended = (rows["low"] < flags.at + allocation.nbytes) & (rows["high"] > flags.at)
                rows["low"][ended] = rows["high"][ended] = 0
        at = 0 if flags is None else flags.at
        return at, key, allocation in self.read, allocation in self.only_written

    def row(self, core: "NativeCore", row: Intrinsic, arguments: Sequence[Any], *, native: bool) -> None:
        """Check *row* before Python executes it: it has no C, or is *native* but has no C for these *arguments*."""
        if row.name == WAIT:
            flags = [*arguments, *[True] * (6 - len(arguments))]
            if all(flags[3:]):  # otherwise only some pipes wait, and flights still count as pending
                # The wait says nothing about scalar stores or loads.
                core.seat.over(name for name, waits in zip(LISTS, flags[:3], strict=False) if waits)
            note(core, row, HOW_WAITS | HOW_PIPE * sum(bool(flag) << n for n, flag in enumerate(flags)))
        elif row.name not in HARMLESS and (row.pipe is Pipe.SCALAR or row.control):
            self.hopeless = not native
            raise Suspicion

    def left_out(self, core: Core, row: Intrinsic) -> None:
        """Record that a memory core has reached an instruction that needs NRAM or WRAM: the first at each place, and how often."""
        site = Site(*core.site())
        self._skip(OnMemoryCore(_ran(core), site, row.name, 1))

    def executed(self, core: "NativeCore", row: Intrinsic) -> None:
        """Raise `Suspicion` if the watch did not hear the *row* that Python has executed."""
        watch = cast("Any", core.mlu.watch)
        if row.name not in (WAIT, *HARMLESS) and not watch.heard:
            raise Suspicion
        watch.heard = False

    def flags_of(self, core: "NativeCore", allocation: Allocation) -> Flags | None:
        """Return the flags of *allocation* on *core*; None if all its bytes are initialized."""
        core.number_of(allocation)
        flags = self.flags.get(allocation)
        return self._own.get(core, {}).get(allocation) if flags is None else flags

    def guesses(self) -> None:
        """Record that a byte with an uninitialized flag may be initialized."""
        self._stores["guessed"] = 1

    def shares(
        self, core: "NativeCore", row: Intrinsic, pipe: Pipe, accesses: Iterable[tuple[int, Access]]
    ) -> None:
        """Record the *accesses* of a *row* that Python executes to shared memory, each with its kind."""
        self._stores["time"] += 1
        for kind, access in accesses:
            if self._log.records and not self._log.keep(
                core, row, pipe, kind, access, self._keys[access.allocation]
            ):
                self._incomplete()
            self._share(core, kind, access)

    def _incomplete(self) -> None:
        """Do without the record of every access, which cannot be complete.  Raises `Suspicion` if it is needed."""
        if self.whole:
            self.clashed = False
            raise Suspicion
        self._log.stop()

    def _read_first(self, allocation: Allocation) -> None:
        """Keep the bytes of *allocation*, some of which are about to be read.  Raises `Suspicion` if some have been stored: the launch begins again."""
        if allocation not in self.only_written:
            return  # already kept for another core
        rows = self._accesses[1 : 1 + int(self._accesses[0, 0])]
        if (rows[:, KEY] == self._keys[allocation]).any():
            self.read_late = True
            raise Suspicion
        self.keep(allocation)

    def _share(self, core: "NativeCore", kind: int, access: Access) -> None:
        if kind != WRITES:
            self._read_first(access.allocation)
        if kind != READS and access.allocation in self.read:
            raise Suspicion
        if kind != READS and access.allocation in self.flags and access.allocation.space is GDRAM:
            self._stores["unclear"] = 1
        table, starts = self._accesses, access.starts
        if int(table[0, 0]) + len(starts) > MOST_ACCESSES:
            self.suspected(core, 0)
        first = 1 + int(table[0, 0])
        if first + len(starts) > MOST_ACCESSES:
            raise Suspicion
        rows = table[first : first + len(starts)]
        rows[:, LOW], rows[:, HIGH] = starts, starts + access.size
        rows[:, KIND], rows[:, SEGMENT], rows[:, KEY] = kind, core.c.segment, self._keys[access.allocation]
        table[0, 0] += len(starts)

    @staticmethod
    def allows(arguments: Sequence[Any]) -> bool:
        """Return whether Python may act on *arguments*: there are no pointers among them."""
        return not any(isinstance(a, Ptr) for a in arguments)

    def may_undo(self, pointer: object) -> bool:
        """Return whether Python may store through *pointer* to detect a fault: the original bytes are kept."""
        return not isinstance(pointer, Ptr) or pointer.view.allocation not in self.read

    def suspected(self, core: "NativeCore", why: int, change: Change | None = None) -> None:
        """Handle a possible finding of C, such as the *change* of a value; if *why* is 0 the accesses need space, and adjacent ones are joined."""
        if change is not None:
            self._happened(core, change)
            return
        if self._provides(core, why):
            return
        if why in _ESCAPES:
            at = EscapedAt(Site(*core.site()), _ESCAPES[why])
            self._escaped(at, CountedEscape(core.place.task, 1))
            return
        if self.windows is not None and why in (WINDOW_MET, WINDOW_ENDS):
            self.clashed = True
            (self.windows.begins if why == WINDOW_MET else self.windows.ends)(core)
            return
        if why & (Screened.RACE | STORES_CONST):
            self.clashed = bool(why & WINDOW_MET)
            raise Suspicion
        if why:
            self.doubt(core, Screened(why))
            return
        rows = joined(self._accesses[1:])
        if 2 * len(rows) > MOST_ACCESSES:
            raise Suspicion
        # The segments begin in an order that the run has had, so ordered events stay ordered.
        self._accesses[1 : 1 + len(rows)] = rows[np.argsort(rows[:, SEGMENT], kind="stable")]
        self._accesses[0, 0], self._seen = len(rows), 0

    def _provides(self, core: "NativeCore", why: int) -> bool:
        """Do what C needs before it goes on; return whether that is *why* it has stopped."""
        if why == Screened.PARTS:
            self.part_record.read(core)
        elif why == READ_FIRST:
            view = core.views[core.c.argv[0].bits]
            assert view is not None
            self._read_first(view.allocation)
        elif why == SHARED_FULL:
            if not self._log.grow(1):
                self._incomplete()
        else:
            return False
        return True

    def _happened(self, core: "NativeCore", change: Change) -> None:
        match change:
            case VectorChange():
                self.made(core, change)
            case MisplacedScalar() | MetAlone():
                self._skip(change)
            case EscapedAt():
                self._escaped(change, CountedEscape(core.place.task, 1))
            case _:
                self._change(Site(*core.site()), core.place.task, change)

    def doubt(self, core: "NativeCore", why: Screened) -> None:
        """Leave the findings of the checkers for *why* to Python; C continues for the others."""
        self._doubted |= why
        core.c.screens &= ~int(why)

    def starts_at(self) -> Sequence[int]:
        """Return the Block tasks that can each run alone to reproduce the first of `escapes`; without any, the launch runs from its beginning."""
        stores = self._stores
        if not (self.looks & Screened.RACE and stores["alone"]) or stores["far"]:
            return ()
        rows = self.accesses()
        rows[:, KIND] = rows[:, KIND] != READS
        return sorted({escape.task for escape in self._escapes.values()}) if apart(rows) else ()

    def written(self, tasks: Sequence[int]) -> Sequence[tuple[Allocation, int, int]] | None:
        """Return the bytes of each memory to which the Block *tasks* have stored; None without tasks."""
        if not tasks:
            return None
        labels = {f"task {task}" for task in tasks}
        ran = np.array([label in labels for label in self._labels], np.bool_)
        rows = self.accesses()
        rows, memories = joined(rows[ran[rows[:, SEGMENT]] & (rows[:, KIND] != READS)]), tuple(self._keys)
        return [(memories[key], low, high) for low, high, _, _, key in rows.tolist()]

    def made(self, core: "NativeCore", change: VectorChange) -> None:
        """Record a number that a vector instruction of *core* has changed: the first at a place, and how often."""
        changed = ChangedVector(change, Site(*core.site()), core.place.task, 0)
        first = self._vectors.setdefault((changed.site, change.rule, change.name), changed)
        self._vectors[changed.site, change.rule, change.name] = first._replace(times=first.times + 1)

    @property
    def doubted(self) -> Screened:
        """Return the checks that Python has to repeat, including those of values if some may be computed from uninitialized bytes."""
        doubted = self._doubted
        mixed = self._stores["mixes"] and len(self._sites) > MOST_SITES
        if self._escapes and (self._stores["guessed"] or mixed or self.refused is not None):
            doubted |= Screened.INIT
        if self._changes and any(at.how is Escape.DECIDES for at in self._escapes):
            doubted |= Screened.INIT
        unclear = bool(self._changes) and bool(doubted & Screened.INIT)
        return doubted | (Screened.VALUE if unclear else Screened(0))

    @property
    def quiet(self) -> bool:
        """Return whether there is nothing to tell, and each byte of tensors had a value from the beginning."""
        told = self._doubted or self._escapes or self._changes or self._vectors or self._left_out
        return not (self.whole or self.refused or told or any(a.space is GDRAM for a in self.flags))

    def clashes(self, core: "NativeCore", allocation: Allocation) -> None:
        """Record that an instruction executed by Python on *core* may be unordered with pending effects, on bytes of *allocation*."""
        self.clashed = True
        if self.windows is None:
            raise Suspicion
        window = core.seat.window
        window["shared"] |= allocation.space is GDRAM
        if not window["met"]:
            window["met"] = 1
            self.windows.begins(core)

    # -- events ----------------------------------------------------------------------------

    def task_end(self, core: Any) -> None:
        """Store the parts of on-chip arrays and the last window, and check whether the stack had space for the local variables."""
        self._judged(core)
        if core.c.leaving:
            self._ways.task_end(core)
        for mutex in [key for key, (holder, _) in self._holders.items() if holder is core]:
            self._held.append((_ran(core), mutex, self._holders.pop(mutex)[1]))
        if self.looks & Screened.PARTS:
            self.part_record.task_end(core)
        if self._log.records and core.union.finished():
            ended = [a for cluster in core.union.clusters for a in cluster.sram.allocations]
            if ended:
                self._log.happens(ended)
        self._look_again()
        variables = core.machine.request.kernel.on_stack
        if not (variables and self.looks & Screened.MEMORY) or core.place.memory_core:
            return
        if sum(v.nbytes for v in variables) > core.machine.board.arch.stack_left(core.arenas[NRAM].top):
            self.doubt(core, Screened.MEMORY)

    def launch_end(self, _launch: object) -> None:
        """Release the flags of memories on chip, which have ended."""
        self._over = True
        self._own.clear()

    def drop(self) -> None:
        """Release the memory of the record, which is not read again; what it says of the run as a whole stays."""
        self.launch_end(None)
        self.flags.clear()
        self.asks = self.ends = self._shared = None
        self._log.drop()
        self._accesses = self._accesses[:0].copy()

    def _judged(self, core: "NativeCore") -> None:
        """Store the last window of *core*, and count its repeated changes of numbers, as its task ends."""
        del self._running[core]
        if self.windows is not None:
            self.windows.ends(core)
        for change, site, times in core.seat.failed_again():
            if ALONE <= change < MADE:
                self._counted(core, change, Site(*self._sites[site]), times)
                continue
            if change >= DECISIONS_LATE:
                loaded = Site(*self._sites[change - DECISIONS_LATE])
                at = EscapedAt(Site(*self._sites[site]), Escape.DECIDES, loaded)
                self._escaped(at, CountedEscape(core.place.task, times))
                continue
            if change >= MADE:
                row, rule = divmod(change - MADE, len(RULES))
                where = Site(*self._sites[site]), RULES[rule], ROWS[row]
                self._vectors[where] = self._vectors[where]._replace(times=self._vectors[where].times + times)
                continue
            test = core.machine.native.program.changes[change - 1]
            key = Site(*self._sites[site]), test.rule, test.have, test.to
            self._changes[key] = self._changes[key]._replace(times=self._changes[key].times + times)

    def _counted(self, core: "NativeCore", what: int, site: Site, times: int) -> None:
        """Add C's count of repetitions of *what* on *core* at *site*, whose first occurrence was reported to Python."""
        if what in _COUNTED:
            self._escaped(EscapedAt(site, _COUNTED[what]), CountedEscape(core.place.task, times))
        else:
            name = SCALAR_ACCESSES[what - MISPLACED] if what >= MISPLACED else f"__{ROWS[what - ALONE]}"
            self._skip(self._left_out[site, name, core.place.memory_core]._replace(times=times))

    def fault(self, core: Core, fault: Fault) -> None:
        """Let the checkers hear *fault*, which ends all tasks here."""
        if self.ends is not None:
            at = cast("NativeCore", core)
            self.refused, self._refused_on = fault, at
            self._ways.end(tuple(self._running))
            for running in tuple(self._running):
                self._judged(running)
            self.ends(at, fault)

    def sync(self, sync: Sync) -> None:
        """Record that cores meet at a barrier, or that a mutex changes hands."""
        if sync.mutex is not None and sync.scope == "mutex":
            self._turn(cast("NativeCore", sync.core), sync.mutex, releases=sync.name == "__bang_unlock")
        elif sync.scope in ("arrive", "wait"):
            self._log.complete = False
        elif sync.scope is not None and sync.core.c.leaving:  # type: ignore[attr-defined]
            self._ways.meets(sync)
        if len(sync.participants) > 1:
            cores: Sequence[Any] = sync.participants
            self.met.append(tuple(self._tasks[core] for core in cores))
            if self._log.records:
                self._log.happens(self.met[-1])
            for core in cores:
                self._next(core)
            self._look_again()

    def _turn(self, core: "NativeCore", key: tuple[int, int], *, releases: bool) -> None:
        """Record that *core* has taken the mutex *key*, or releases it."""
        site = Site(*core.site())
        pending = releases and self._stores_pending(core)
        turn = MutexTurn(site, self._tasks[core], key, int(self._stores["time"]), releases, pending)
        self.met.append(turn)
        if self._log.records:
            self._log.happens(turn)
        if not releases:
            self._holders[key] = core, site
        else:
            del self._holders[key]
            self._released |= set() if pending else {key}
        if key in self._released and not pending:
            self._next(core)

    def _stores_pending(self, core: "NativeCore") -> bool:
        """Return whether an access of *core* to memory that tasks share may be pending; if it is the move-DMA's, there is no record of the launch."""
        if not self.looks & Screened.RACE:
            return False
        io, move = ({*core.seat.pending(name)[:, 0].tolist()} for name in ("IO", "MOVE"))
        shared = {n for n in io | move if core.views[n].space.shared}
        self._log.complete &= not shared & move
        return bool(shared or len(core.seat.pending("STORES")))

    def _look_again(self) -> None:
        """Check after two, four, eight and so on tasks and meetings whether all accesses are ordered, to end an unordered launch early.

        A record of every access is continued if the first ones are in no order, and not if they are.
        """
        self._steps += 1
        if self.asks is None or self._steps & (self._steps - 1) or self._steps == 1:
            return
        ordered = self.asks()
        if not (ordered or self._log.records):
            raise Suspicion
        if not ordered:
            self._log.most = MOST_SHARED
            # No core has had a window with unordered events: the run would have ended.
            self.whole, self.windows, self.asks, self.clashed = True, Windows(), None, False
        elif self._log.records:
            self._log.stop()

    def ways(self) -> Mapping[str, TaskWay] | None:
        """Read the returns that C has noted."""
        at = self._refused_on
        if at is None:
            return None
        return self._ways.told(at.machine.native.program.returns, self._sites)

    def needs_values(self) -> bool:
        """Look at the flags of what the refused instruction read."""
        if self.refused is None or self._refused_on is None:
            return False
        flags = ((self.flags_of(self._refused_on, read.allocation), read) for read in self.refused.read)
        return any(at_flags(held, read).any() for held, read in flags)

    # -- results ----------------------------------------------------------------------------

    def accesses(self) -> Rows:
        """Return a copy of the rows of accesses, in their order."""
        return self._accesses[1 : 1 + int(self._accesses[0, 0])].copy()

    def keys_for(self, part: "Screen") -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the number of each memory here, by its number in *part*."""
        return np.array([self._keys.setdefault(a, len(self._keys)) for a in part._keys], np.int64)  # noqa: SLF001 - of its kind

    def take(self, part: "Screen") -> None:
        """Add the record *part* of other tasks of the launch, which have met none of the tasks here."""
        rows = part.accesses()
        rows[:, KEY] = self.keys_for(part)[rows[:, KEY]]
        rows[:, SEGMENT] += len(self._labels)
        met = (tasks for tasks in part.met if not isinstance(tasks, MutexTurn))  # of which it has none
        self.met += [tuple(task + self._begun for task in tasks) for tasks in met]
        self._labels += part._labels  # noqa: SLF001 - of its kind
        self._stores["unclear"] |= part._stores["unclear"] | part._stores["stored"]  # noqa: SLF001 - nor in which order
        for name in ("alone", "guessed", "far", "mixes", "turned"):
            self._stores[name] |= part._stores[name]  # noqa: SLF001 - of its kind
        # Which statements have mixed lanes so far depends on the order of tasks.
        self._stores["guessed"] |= self._stores["mixes"] & self._stores["turned"]
        for at, escape in part._escapes.items():  # noqa: SLF001 - of its kind
            self._escaped(at, escape)
        outs, self._left_out = (*self._left_out.values(), *part.left()), {}
        for out in sorted(outs, key=lambda left: left.core.place.task):  # each task ran on one thread
            self._skip(out)
        self._begun += part._begun  # noqa: SLF001 - of its kind
        self.hopeless |= part.hopeless
        # With threads it is unknown which change was the first.
        self._doubted |= part._doubted | (Screened.VALUE if part._changes else Screened(0))  # noqa: SLF001 - of its kind
        for key, changed in part._vectors.items():  # noqa: SLF001 - of its kind
            ours = self._vectors.get(key, changed._replace(times=0))
            # Of tasks that run at once, the first in their order counts.
            first = min(ours, changed, key=lambda change: change.task)
            self._vectors[key] = first._replace(times=ours.times + changed.times)
        self._accesses = np.concatenate([self._accesses[:1], self.accesses(), rows])
        self._accesses[0] = len(self._accesses) - 1, len(self._accesses) - 1, 0, 0, 0

    def lack(
        self,
        allocation: Allocation,
        low: int,
        high: int,
        has: Mask | None,
    ) -> None:
        """Set the flags of the tensor."""
        flags = self.flags[allocation] = Flags(allocation.nbytes, ALL_HAVE)
        if has is None:
            flags.put(low, high, NONE_HAS)
        else:
            flags.take(low, high, has)

    def lacking(self) -> Iterator[tuple[Allocation, Mask | None]]:
        """Yield the tensors to whose flags C has added."""
        for allocation, flags in self.flags.items():
            if allocation.space is GDRAM and flags.stored.any():
                yield allocation, flags.having()

    def stores(self, allocation: Allocation) -> tuple[TensorStore, ...] | None:
        """Read them from C's table of stores."""
        if not self.looks & Screened.RACE or self._stores["unclear"]:
            return None
        rows = self._stores["store"][: int(self._stores["stored"])]
        rows = rows[rows["key"] == self._keys[allocation]]
        return tuple(
            self._store(int(row["site"]), went) for row in rows for went in (row["last"], row["furthest"])
        )

    def _store(self, site: int, went: np.void) -> TensorStore:
        row = int(went["row"])
        name, spelled = ("scalar store",) * 2 if row < 0 else (ROWS[row], f"__{ROWS[row]}")
        label = self._labels[went["segment"]]
        return TensorStore(
            int(went["end"]), int(went["number"]), Site(*self._sites[site]), name, spelled, label
        )

    def unordered(self) -> "Iterator[Window]":
        """Yield the windows of a whole screen."""
        yield from () if self.windows is None else self.windows

    @property
    def tells(self) -> bool:
        """Return whether a run that records every access would find the unordered ones: no other events that order tasks occur."""
        table = self._accesses[1 : 1 + int(self._accesses[0, 0])]
        return self._log.complete and not self.hopeless and len(table) < MOST_SHARED

    def sharing(self) -> SharedRun | None:
        """Read them from the log of a whole screen, once."""
        if self.whole and self._shared is None:
            self._shared = self._log.run(tuple(self._keys), self._sites)
            if self._over and self._shared is not None:
                self._log.drop()
        return self._shared

    def shared(self, *, alone: bool = False) -> Iterator["tuple[Allocation, np.ndarray[Any, Any]]"]:
        """Sort C's table of accesses by memory."""
        table, memories = self._accesses[1 : 1 + int(self._accesses[0, 0])], tuple(self._keys)
        fresh, self._seen = table[self._seen :], len(table)
        present = np.flatnonzero(np.bincount(KINDS * fresh[:, KEY] + fresh[:, KIND])).tolist()
        self._kinds |= {divmod(number, KINDS) for number in present}
        keys = {key for key, _ in self._kinds}
        for key in sorted(keys):
            mixed = (key, WRITES) in self._kinds or {(key, READS), (key, CHANGES)} <= self._kinds
            if alone or mixed:
                yield memories[key], (table if len(keys) == 1 else table[table[:, KEY] == key])[:, :KEY]


def _ran(core: Core) -> TaskRan:
    return TaskRan(core.place, core.union, core.cluster)


def at_flags(flags: Flags | None, access: Access) -> Bytes:
    """Return the *flags* of the bytes of *access*; without flags all are initialized."""
    if flags is None:
        return np.zeros(0, np.uint8)
    return np.concatenate([flags.at_bytes(low, low + access.size) for low in access.starts.tolist()])


def joined(rows: Rows) -> Rows:
    """Return *rows* in the order of memory, kind, segment and byte, with adjacent rows joined."""
    rows = rows[np.lexsort((rows[:, LOW], rows[:, SEGMENT], rows[:, KIND], rows[:, KEY]))]
    if len(rows) < 2:
        return rows
    other = np.any(rows[1:, KIND:] != rows[:-1, KIND:], axis=1)
    group = np.concatenate(([0], np.cumsum(other)))
    # The highest end so far in each group; an offset larger than any byte separates the groups.
    wide = int(rows[:, HIGH].max()) + 1
    ends = np.maximum.accumulate(rows[:, HIGH] + group * wide) - group * wide
    first = np.concatenate(([True], other | (rows[1:, LOW] > ends[:-1])))
    starts = np.flatnonzero(first)
    pieces = rows[starts].copy()
    pieces[:, HIGH] = np.maximum.reduceat(rows[:, HIGH], starts)
    return pieces


def apart(rows: Rows) -> bool:
    """Return whether no task reads or writes bytes that another writes."""
    rows = rows[np.lexsort((rows[:, LOW], rows[:, KEY]))]
    if not np.any((rows[1:, KEY] == rows[:-1, KEY]) & (rows[1:, LOW] < rows[:-1, HIGH])):
        return True  # no byte is in two rows
    rows = joined(rows)
    for key in np.unique(rows[rows[:, KIND] == 1, KEY]).tolist():
        of_key = rows[rows[:, KEY] == key]
        writes, reads = of_key[of_key[:, KIND] == 1], of_key[of_key[:, KIND] == 0]
        writes = writes[np.argsort(writes[:, LOW], kind="stable")]
        if np.any(writes[1:, LOW] < writes[:-1, HIGH]):
            return False
        first = np.searchsorted(writes[:, HIGH], reads[:, LOW], "right")
        end = np.searchsorted(writes[:, LOW], reads[:, HIGH], "left")
        met = first < end
        task = writes[:, SEGMENT]
        changes = np.concatenate(([0], np.cumsum(task[1:] != task[:-1])))
        low, high = first[met], end[met] - 1
        if np.any((task[low] != reads[met, SEGMENT]) | (changes[low] != changes[high])):
            return False
    return True
