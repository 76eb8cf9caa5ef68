"""A launch in C that looks for what checkers may report: its flags, its accesses to shared memory, the parts of its on-chip arrays.

Nothing is told here.  A run in which nothing may be found is the launch; of any other the bytes are restored, and Python makes
the launch again for the checkers in doubt, which tell what it was.  What may be in no order on a core is kept for them (`Windows`), in a
second run in C, and so are numbers that arithmetic changes, in the first.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from attrs import define

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
    LeftOut,
    MetAlone,
    MisplacedScalar,
    Observer,
    OnMemoryCore,
    SharedRun,
    TaskRan,
)
from mlusim.machine.native.text.screen import (
    ALL_HAVE,
    ALONE,
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
    ChangedValue,
    ChangedVector,
    CountedEscape,
    EscapedAt,
    Screened,
    Site,
    Step,
    TaskPlace,
    TensorStore,
    ValueChange,
    WordSign,
)
from mlusim.machine.parts import KeptParts, Overwritten, TaskParts
from mlusim.memory.allocation import Allocation, Bytes
from mlusim.memory.footprint import Access, Mask, WrittenBytes
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, NRAM, SRAM, WRAM
from mlusim.time.log import WAITS

if TYPE_CHECKING:
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.run import NativeProgram


COLUMNS = 5  # of an access:
LOW, HIGH, KIND, SEGMENT, KEY = range(COLUMNS)
"""The bytes [low, high), what was done, the segment, task or union that did it, the memory."""
Rows = np.ndarray[Any, np.dtype[np.int64]]
MOST_ACCESSES = 1 << 22  # of which half may be left once they are joined
MOST_SHARED = 1 << 21  # that are kept by themselves
WORD = 8  # bytes of a small store
MOST_NUMBER = (1 << 32) - 1
MOST_SITES = 192  # of a kernel, beyond which initcheck may not tell all writes apart (`observe.shadow.MOST`) and goes another way back
KINDS = len((READS, CHANGES, WRITES))
SCALARS = 2  # kinds of scalar accesses: loads, and stores
WAIT = "sync_io_move_compute"
# Rows that Python executes in a run in C and that touch no memory.
HARMLESS = frozenset({"bang_printf", "assert_", "sync_all_mpu"})


Change = ValueChange | VectorChange | MisplacedScalar | MetAlone


class Looks(Protocol):
    """The record of a launch in C, as its cores write it: that of a screen, or of tasks that run at once."""

    knows_declarations: bool  # whether it keeps something of memory on the chip from its declaration on

    def begin(self, core: "NativeCore") -> None: ...
    def again(self, core: "NativeCore") -> None: ...
    def looked_at(self, core: "NativeCore", allocation: Allocation) -> tuple[int, int, bool, bool]: ...
    def row(self, core: "NativeCore", row: Intrinsic, arguments: Sequence[Any], *, native: bool) -> None: ...
    def executed(self, core: "NativeCore", row: Intrinsic) -> None: ...
    def allows(self, arguments: Sequence[Any]) -> bool: ...
    def may_undo(self, pointer: object) -> bool: ...
    def suspected(self, core: "NativeCore", why: int, change: Change | None = None) -> None: ...


ON_CHIP = (NRAM, WRAM, SRAM)
ROWS = tuple(ISA)

# What a core of a screened launch did between two waits for all, where C has found that it may be in no order.  Behind such a
# wait nothing is in flight, so that what comes then has to do with nothing before.  A loop has the same window in each
# turn, but for where in its memories it is; it is judged once, and counted.

PIPES = {WAITS[pipe]: pipe for pipe in (Pipe.IO, Pipe.MOVE)}
MOST_WINDOWS = 2048  # that differ; beyond that Python runs the launch
EACH = "copy", "strided"  # forms of which Python announces each call as a step of its own
UNCLEAR = "gather", "discrete"  # forms that read a part of their operands when they are issued
STREAMS = (Pipe.IO,), (Pipe.MOVE,), (Pipe.VECTOR, Pipe.TENSOR)
WAITED = {"sync_io": STREAMS[0], "sync_move": STREAMS[1], "sync_compute": STREAMS[2]}
Noted = np.ndarray[Any, Any]
Memories = Mapping[int, Allocation]


class WindowCore:
    """The core of a window, for a checker that hears of it: its place, and what it has executed since it was asked last."""

    def __init__(self, place: TaskPlace) -> None:
        self.place = place
        self._fresh: dict[Step, None] = {}

    def ran(self, step: Step) -> None:
        """It has executed *step*, which is the same object each time."""
        self._fresh[step] = None

    def fresh_steps(self) -> list[Step]:
        """Return the steps since the last time, each once."""
        fresh, self._fresh = self._fresh, {}
        return list(fresh)

    def announce_again(self) -> None:
        """Do nothing: here all steps are announced."""


@define(eq=False)
class Window:
    """The work of a core between two waits for all, in its order, and how often the launch has such a window.

    Of each the window says whether it is a step that Python has once, however often it runs.
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
    """The reading of what was noted of a window, on a stand-in of the core that ran *program*; *memories* by their numbers."""

    def __init__(self, core: WindowCore, program: "NativeProgram", memories: Memories) -> None:
        self._core: Any = core
        self._program = program
        self._memories = memories
        self._steps: dict[bytes, Step] = {}

    def happened(self, noted: Noted) -> Iterator[tuple[Effect | Sync, bool]]:
        """Yield what happened.  Raises `Suspicion` where one that runs twice cannot be told from two, and for waits that are not known here."""
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
        """Return the step of an event, and whether Python has it once, however often it runs."""
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
        for _, _, _, how, alloc, low, size, more, step in sorted(
            operands.tolist(), key=lambda operand: operand[3] // HOW_PLACE
        ):
            access = Access(self._memories[alloc], low, size, () if more < 0 else ((step, more + 1),))
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
    """The windows of a launch in which something may be in no order; at *most* so many that differ."""

    def __init__(self, most: int = MOST_WINDOWS) -> None:
        self._most = most
        self._found: dict[Any, Window] = {}
        self._open: NativeCore | None = None
        self._last: dict[NativeCore, Window] = {}  # that has ended

    def begins(self, core: "NativeCore") -> None:
        """Note that something in the window of *core* may be in no order.  Raises `Suspicion` while another core's has not ended."""
        if core.union.block:
            return
        if self._open is not None:
            raise Suspicion
        self._open = core

    def ends(self, core: "NativeCore") -> None:
        """Keep the window of *core*, which ends, if it was noted.  Raises `Suspicion` where not all of it is known."""
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
        # Bytes are in common in the same way wherever the window is in a memory; what is in order off chip has no part in it.
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
        reading = _Reading(stand_in, core.session.native.program, memories)
        self._last[core] = self._found[whole] = Window(stand_in, list(reading.happened(noted)))

    def __iter__(self) -> Iterator[Window]:
        """Yield those that differ, in the order in which they came."""
        yield from self._found.values()


def note(
    core: "NativeCore", row: Intrinsic, how: int, reads: Sequence[Access] = (), writes: Sequence[Access] = ()
) -> None:
    """Note an event of *row* on *core*, which Python executes, where a window is kept; *how* as `machine.native.text.screen` has it."""
    if not core.seat.keeps_window:
        return
    window = core.seat.window
    sides = [*((HOW_READS, access) for access in reads), *((HOW_WRITES, access) for access in writes)]
    first, many = int(window["many"]), len(sides) or 1
    clear = row.form not in UNCLEAR and all(len(access.steps) < 2 for _, access in sides)
    if not clear or first + many > MOST_NOTED:
        window["unclear"] = 1
        return
    window["events"] += 1
    window["many"] += many
    rows = window["noted"][first : first + many]
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
        entry["step"], entry["more"] = (
            (access.steps[0][0], access.steps[0][1] - 1) if access.steps else (0, -1)
        )


class PartRecord:
    """Writes what *parts* keeps of the tasks of a launch in C."""

    def __init__(self, parts: KeptParts) -> None:
        self._kept = parts
        self._touched: dict[NativeCore, dict[Any, set[tuple[int, int]]]] = {}  # by what Python executes
        self._shared: dict[Allocation, WrittenBytes] = {}
        self._own: dict[NativeCore, dict[Allocation, WrittenBytes]] = {}
        self._numbers: dict[tuple[NativeCore, Allocation], int] = {}

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*.  Raises `Suspicion` where nothing is known of its parts, but of others'."""
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
        """Provide the record of the bytes of *allocation*, which *core* is going to reach by its *number*."""
        if not self._kept.choices or allocation.space not in ON_CHIP:
            return
        records = self._shared if allocation.space.shared else self._own.setdefault(core, {})
        written = records.get(allocation)
        if written is None:
            written = records[allocation] = WrittenBytes(allocation.nbytes)
        self._numbers[core, allocation] = number
        core.seat.record(number, written.table)

    def touches(self, core: "NativeCore", what: tuple[int, int, int, int], access: Access) -> None:
        """Note that *access* is touched by an instruction that Python executes: *what* is its number, that of its argument, that of the memory, the kind."""
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
        """Keep which bytes C reads that another part wrote."""
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
        """Keep the tables of the task that has ended on *core*."""
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
    """Every access of a launch to what its tasks share, at *most* so many, with what put them in order; C writes it where *stores* say."""

    def __init__(self, stores: "np.ndarray[Any, Any]", most: int) -> None:
        self.complete = True  # whether nothing but barriers and atomics has put tasks in order
        self.tasks: list[int] = []  # by segment
        self._events: list[tuple[int, TaskRan | WordSign | tuple[int, ...] | list[Allocation]]] = []
        self._stores = stores
        self._rows = np.zeros(most, SHARED)
        if most:
            stores["shared"], stores["most"] = self._rows.ctypes.data, most

    def happens(self, what: TaskRan | tuple[int, ...] | list[Allocation]) -> None:
        """Note that a task began, tasks met, or memories ended."""
        self._events.append((int(self._stores["many"]), what))

    def keep(
        self, core: "NativeCore", row: Intrinsic, pipe: Pipe, kind: int, access: Access, key: int
    ) -> None:
        """Keep an access of a *row* that Python executes.  Raises `Suspicion` if there is no room, or if more has to be known of it."""
        starts, first = np.sort(access.starts), int(self._stores["many"])
        # What a small store stores is not known here, nor what an atomic on a word tells others.
        if first + len(starts) > len(self._rows) or (kind != READS and access.size <= WORD):
            raise Suspicion
        rows = self._rows[first : first + len(starts)]
        rows["low"], rows["high"], rows["time"] = starts, starts + access.size, self._stores["time"]
        rows["key"], rows["segment"], rows["site"] = key, core.c.segment, core.c.site
        rows["row"], rows["kind"], rows["pipe"] = ROWS.index(row.name), kind, WAITS.get(pipe, 0)
        self._stores["many"] += len(starts)

    def run(self, memories: Sequence[Allocation], sites: Sequence[tuple[str, int]]) -> SharedRun | None:
        """Return what was kept, of *memories* by their keys and at *sites*; None where that is not all."""
        rows = self._rows[: int(self._stores["many"])]
        if not self.complete or (rows["how"] & HOW_UNCLEAR).any():
            return None
        tasks = np.array(self.tasks, np.int64)[rows["segment"]]
        # The site, the row behind `SCALARS` and the pipe as one number; a scalar load is 0 there, a store 1.
        row = np.where(rows["row"] < 0, rows["kind"] != READS, rows["row"] + SCALARS).astype(np.int64)
        place = rows["site"].astype(np.int64) << 32 | row << 16 | rows["pipe"]
        places, statement = np.unique(place, return_inverse=True)
        columns = rows["low"], rows["high"] - rows["low"], rows["kind"], tasks, statement, rows["time"]
        words = np.flatnonzero(rows["how"] & HOW_WORD)
        signs = [(n + 1, WordSign(n, bool(rows["how"][n] & HOW_PENDING))) for n in words.tolist()]
        valued = np.flatnonzero(rows["type"])
        last = np.ones(len(rows), np.bool_)
        last[:-1] = np.any([rows[name][1:] != rows[name][:-1] for name in ("time", "key", "kind")], axis=0)
        return SharedRun(
            np.stack([np.asarray(column, np.int64) for column in columns], axis=1),
            rows["key"].astype(np.int64),
            last,
            memories,
            [_statement(place, sites) for place in places.tolist()],
            valued.tolist(),
            _values_of(rows[valued]),
            sorted([*signs, *self._events], key=operator.itemgetter(0)),
        )


def _statement(place: int, sites: Sequence[tuple[str, int]]) -> tuple[str, Pipe, Site]:
    site, (row, pipe) = Site(*sites[place >> 32]), divmod(place & MOST_NUMBER, 1 << 16)
    if row < SCALARS:
        return "scalar store" if row else "scalar load", Pipe.SCALAR, site
    name = ROWS[row - SCALARS]
    return name, PIPES.get(pipe, ISA[name].pipe), site


def _values_of(rows: "np.ndarray[Any, Any]") -> list[Any]:
    """Return what small stores store: numbers, or bytes that were copied."""
    values = np.zeros(len(rows), object)
    for kind in np.unique(rows["type"]).tolist():
        of_kind = rows["type"] == kind
        held, sizes = rows["value"][of_kind], (rows["high"] - rows["low"])[of_kind]
        if kind == TYPE_BYTES:
            whole = held.tobytes()
            words = (whole[at : at + 8] for at in range(0, len(whole), 8))
            values[of_kind] = [word[:size] for word, size in zip(words, sizes.tolist(), strict=True)]
        else:
            dtype = MEMORY_TYPES[kind - 1].dtype
            numbers = held.view(np.uint8).reshape(-1, 8)[:, : dtype.itemsize].copy().view(dtype)[:, 0]
            values[of_kind] = list(numbers)
    return list(values)


class Flags:
    """Which of *nbytes* bytes have no value, as `screen.h` has it: a flag for each, and for each line what is said of all at once; ``at`` is the address of the flags."""

    def __init__(self, nbytes: int, lacks: int = NONE_HAS) -> None:
        lines = -(-nbytes // FLAG_LINE)
        room = np.empty(
            lines + HEAD + lines * FLAG_LINE, np.uint8
        )  # pages that no one looks at take no memory
        self._nbytes, self._lines, self._flags = nbytes, room[:lines][::-1], room[lines + HEAD :]
        self.stored = room[lines + HEAD - 1 : lines + HEAD].view(np.bool_)  # one byte: whether something was
        self.at = int(room.ctypes.data) + lines + HEAD
        self.say(lacks)

    def say(self, lacks: int) -> None:
        """Let all bytes have a value, or none, and nothing be stored since."""
        self._lines[:], self.stored[:] = lacks, False

    def at_bytes(self, low: int, high: int) -> Bytes:
        """Return a view of the flags of the bytes [*low*, *high*), which are true until something is stored."""
        lines = slice(low // FLAG_LINE, -(-high // FLAG_LINE))
        said, flags = self._lines[lines], self._flags.reshape(-1, FLAG_LINE)[lines]
        for lacks in (ALL_HAVE, NONE_HAS):
            flags[said == lacks] = lacks
        return self._flags[low:high]

    def spell_out(self, low: int, high: int) -> Bytes:
        """Return the same of flags that may be changed: nothing is said of their lines at once."""
        flags = self.at_bytes(low, high)
        self._lines[low // FLAG_LINE : -(-high // FLAG_LINE)] = FLAGS_SAY
        return flags

    def put(self, low: int, high: int, lacks: int) -> None:
        """Let all bytes of [*low*, *high*) have a value, or none."""
        first, end = -(-low // FLAG_LINE), high // FLAG_LINE
        for start, stop in ((low, min(high, first * FLAG_LINE)), (max(low, end * FLAG_LINE), high)):
            if start < stop:
                self.spell_out(start, stop)[:] = lacks
        if first < end:
            self._lines[first:end] = lacks

    def lacking(self) -> Mask | None:
        """Return which bytes have no value; None where each has one."""
        if not self._lines.any():
            return None
        flags = self.at_bytes(0, self._nbytes).view(np.bool_)
        return flags if flags.any() else None


class Screen(Observer):
    """The record of a launch that C runs for checkers; *looks* says what they want to know.

    ``flags`` has the flags of tensors, ``met`` the tasks in the order in which they begin, each ``()``, and those that met at a
    barrier.  A task's time is cut into segments: one when it begins, and one behind each barrier.
    """

    name = "screen"
    knows_declarations = True
    read: Collection[Allocation] = ()
    """What the kernel takes as const: the bytes from before are not kept, so that a store ends the run."""
    only_written: Collection[Allocation] = ()
    """Memories that no task has read: the bytes from before are not kept, unless ``keep`` is called."""
    keep: Callable[[Allocation], None]
    _seen = 0  # rows of accesses whose memories and kinds are in `_kinds`
    _kinds: frozenset[tuple[int, int]] = frozenset()
    read_late = False  # whether it ended because a task read a memory behind a store there

    def __init__(
        self, looks: int, watch: Callable[["Screen", "NativeCore"], Any], *, whole: bool = False
    ) -> None:
        self.looks = looks
        self.whole = whole  # whether it keeps all that tells what is in no order
        self.windows = Windows() if whole else None
        self.clashed = False  # whether it ended because something may be in no order
        self.asks: Callable[[], bool] | None = None  # whether all that tasks share is in order so far
        self._steps = 0  # tasks that have ended, and meetings
        self.watch = watch
        self.flags: dict[Allocation, Flags] = {}
        self.met: list[tuple[int, ...]] = []
        self.hopeless = False  # whether the kernel calls what no screen knows
        self.parts = KeptParts()  # of on-chip arrays, where that is looked for
        self.part_record = PartRecord(self.parts)
        self.ends: Callable[[NativeCore, Fault], None] | None = (
            None  # hears a fault, while nothing has changed
        )
        self.refused: Fault | None = None  # that has ended the launch, and the core that met it
        self._refused_on: NativeCore | None = None
        self._doubted = Screened(0)
        self._left_out: dict[tuple[Site, str, bool], LeftOut] = {}
        self._changes: dict[tuple[Site, str, str, str], ChangedValue] = {}
        self._escapes: dict[EscapedAt, CountedEscape] = {}
        self._vectors: dict[tuple[Site, str, str], ChangedVector] = {}
        self._labels: list[str] = []  # of the cores, by segment
        self._stores = np.zeros((), STORES)
        self._log = SharedLog(self._stores, MOST_SHARED if whole else 0)
        self._shared: SharedRun | None = None  # what it has, once it was asked for
        self._sites: Sequence[tuple[str, int]] = ()
        self._tasks: dict[NativeCore, int] = {}
        self._begun = 0
        # They keep the allocations alive, so that no two have one key.
        self._keys: dict[Allocation, int] = {}
        self._own: dict[NativeCore, dict[Allocation, Flags]] = {}
        self._running: dict[NativeCore, None] = {}
        self._accesses = np.zeros((2 if not looks & Screened.RACE else MOST_ACCESSES + 1, COLUMNS), np.int64)
        self._accesses[0, 1] = MOST_ACCESSES

    # -- what cores ask for ----------------------------------------------------------------------

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*."""
        c = core.c
        c.screens = self.looks & ~int(self._doubted)
        c.hears = self.whole or bool(self.looks & Screened.PARTS)
        self._sites = core.session.native.program.sites
        self._stores["alone"] = core.union.block
        if core.union.block and self._stores["lacking"]:
            self._forget_lacking()
        c.screen = core.seat.spans(self._stores.ctypes.data, windows=self.whole)
        c.cell_flags = core.seat.cell_flags()
        c.records = self._accesses.ctypes.data
        c.context = 0
        core.mlu.watch = self.watch(self, core)
        c.parts = 0
        if self.looks & Screened.PARTS:
            self.part_record.begin(core)
        self._running[core] = None
        if self.whole:
            self._log.happens(_ran(core))
        self._tasks[core] = self._begun
        self._begun += 1
        self.met.append(())
        self._next(core)

    def _forget_lacking(self) -> None:
        """Forget what left bytes without a value in memory that ends, but not where lanes were mixed."""
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
        """Take the values from the declarations that *core* keeps from task to task."""
        self._stores["odd"] |= bool(self._stores["lacking"]) and not core.union.block
        for allocation, flags in list(self._own.get(core, {}).items()):
            if allocation.live:
                flags.say(NONE_HAS)
            else:
                del self._own[core][allocation]
        self.part_record.again(core)

    def looked_at(self, core: "NativeCore", allocation: Allocation) -> tuple[int, int, bool, bool]:
        """Return the address of the flags of *allocation*, 0 where each byte has a value, its key, and whether it is only read, or so far only written."""
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
            if self._stores["lacking"]:  # at an address, maybe, that was that of others
                rows = self._stores["lack"][: int(self._stores["lacking"])]
                ended = (rows["low"] < flags.at + allocation.nbytes) & (rows["high"] > flags.at)
                rows["low"][ended] = rows["high"][ended] = 0
        at = 0 if flags is None else flags.at
        return at, key, allocation in self.read, allocation in self.only_written

    def row(self, core: "NativeCore", row: Intrinsic, arguments: Sequence[Any], *, native: bool) -> None:
        """Python is going to execute *row*, which has no C, or is *native* and has none for these *arguments*."""
        if row.name == WAIT:
            flags = [*arguments, *[True] * (6 - len(arguments))]
            if all(flags[3:]):  # otherwise only some pipes wait; then what is in flight counts as not over
                # Of what scalar code stores or loads it says nothing.
                core.seat.over(name for name, waits in zip(LISTS, flags[:3], strict=False) if waits)
            note(core, row, HOW_WAITS | HOW_PIPE * sum(bool(flag) << n for n, flag in enumerate(flags)))
        elif row.name not in HARMLESS and (row.pipe is Pipe.SCALAR or row.control):
            self.hopeless = not native
            raise Suspicion

    def left_out(self, core: Core, row: Intrinsic) -> None:
        """Keep that a memory core is at an instruction that needs NRAM or WRAM: the first at each place, and how often."""
        site = Site(*core.site())
        self._left(OnMemoryCore(_ran(core), site, row.name, 1))

    def _left(self, out: LeftOut) -> None:
        """Keep the first of what is left out at each place, and how often it was."""
        key = out.site, out.name, out.core.place.memory_core
        first = self._left_out.get(key)
        self._left_out[key] = out if first is None else first._replace(times=first.times + out.times)

    def executed(self, core: "NativeCore", row: Intrinsic) -> None:
        """Python has executed *row*; raises `Suspicion` where the watch has not heard of it."""
        watch = cast("Any", core.mlu.watch)
        if row.name not in (WAIT, *HARMLESS) and not watch.heard:
            raise Suspicion
        watch.heard = False

    def flags_of(self, core: "NativeCore", allocation: Allocation) -> Flags | None:
        """Return the flags of *allocation* on *core*; None where each byte has a value."""
        core.number_of(allocation)
        flags = self.flags.get(allocation)
        return self._own.get(core, {}).get(allocation) if flags is None else flags

    def guesses(self) -> None:
        """Note that a byte may have a value that is said to have none."""
        self._stores["guessed"] = 1

    def shares(
        self, core: "NativeCore", row: Intrinsic, pipe: Pipe, accesses: Iterable[tuple[int, Access]]
    ) -> None:
        """Note the *accesses* of a *row* that Python executes to memory that is shared, each with its kind."""
        self._stores["time"] += 1
        for kind, access in accesses:
            if self.whole:
                self._log.keep(core, row, pipe, kind, access, self._keys[access.allocation])
            self._share(core, kind, access)

    def _read_first(self, allocation: Allocation) -> None:
        """Let the bytes of *allocation* be kept, of which some are read.  Raises `Suspicion` if some have been stored: the launch begins again."""
        if allocation not in self.only_written:
            return  # by another core
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
        """Return whether Python may do something with *arguments*: there are no pointers among them."""
        return not any(isinstance(a, Ptr) for a in arguments)

    def may_undo(self, pointer: object) -> bool:
        """Return whether Python may store to where *pointer* leads, to learn whether that is a fault: the bytes from before are kept."""
        return not isinstance(pointer, Ptr) or pointer.view.allocation not in self.read

    def suspected(self, core: "NativeCore", why: int, change: Change | None = None) -> None:
        """A checker may report what C has found, as the *change* of a value; 0: the accesses need room, and those that meet are joined."""
        if change is not None:
            self._happened(core, change)
            return
        if why == Screened.PARTS:
            self.part_record.read(core)
            return
        if why == READ_FIRST:
            view = core.views[core.c.argv[0].bits]
            assert view is not None
            self._read_first(view.allocation)
            return
        if why in (ESCAPED, MIXED_ESCAPED):
            at = EscapedAt(Site(*core.site()), why == MIXED_ESCAPED)
            self._escaped(at, CountedEscape(core.place.task, 1))
            return
        if self.windows is not None and why in (WINDOW_MET, WINDOW_ENDS):
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
        # The segments begin in an order that the run has had: what is in order with others stays so.
        self._accesses[1 : 1 + len(rows)] = rows[np.argsort(rows[:, SEGMENT], kind="stable")]
        self._accesses[0, 0], self._seen = len(rows), 0

    def _happened(self, core: "NativeCore", change: Change) -> None:
        match change:
            case VectorChange():
                self.made(core, change)
            case MisplacedScalar() | MetAlone():
                self._left(change)
            case _:
                self._change(Site(*core.site()), core.place.task, change)

    def doubt(self, core: "NativeCore", why: Screened) -> None:
        """Let Python tell what the checkers that look for *why* may report; C goes on for the others."""
        self._doubted |= why
        core.c.screens &= ~int(why)

    def _change(self, site: Site, task: int, change: ValueChange) -> None:
        """Keep what C has changed without a word: the first of what happens again at a *site*, and how often."""
        key = site, change.rule, change.have, change.to
        first = self._changes.get(key)
        times = 1 if first is None else first.times + 1
        self._changes[key] = ChangedValue(
            change if first is None else first.change, site, task if first is None else first.task, times
        )

    def _escaped(self, at: EscapedAt, again: CountedEscape) -> None:
        """Note that bytes without a value are stored to GDRAM *again*."""
        before = self._escapes.get(at, again._replace(times=0))
        self._escapes[at] = CountedEscape(min(before.task, again.task), before.times + again.times)

    def escapes(self) -> "Mapping[EscapedAt, CountedEscape]":
        """Return where bytes without a value were stored to GDRAM, in the order in which the first of each was."""
        return self._escapes

    def starts_at(self) -> Sequence[int]:
        """Return the Block tasks of which each can be run by itself to see what of `escapes` it had first; without any, the launch runs from its beginning."""
        stores = self._stores
        if not (self.looks & Screened.RACE and stores["alone"]) or stores["far"]:
            return ()
        rows = self.accesses()
        rows[:, KIND] = rows[:, KIND] != READS
        return sorted({escape.task for escape in self._escapes.values()}) if apart(rows) else ()

    def written(self, tasks: Sequence[int]) -> Sequence[tuple[Allocation, int, int]] | None:
        """Return the bytes of each memory that the Block *tasks* have stored to; None where there are no tasks."""
        if not tasks:
            return None
        labels = {f"task {task}" for task in tasks}
        ran = np.array([label in labels for label in self._labels], np.bool_)
        rows = self.accesses()
        rows, memories = joined(rows[ran[rows[:, SEGMENT]] & (rows[:, KIND] != READS)]), tuple(self._keys)
        return [(memories[key], low, high) for low, high, _, _, key in rows.tolist()]

    def made(self, core: "NativeCore", change: VectorChange) -> None:
        """Keep a number that a vector instruction of *core* has made: the first at a place, and how often."""
        changed = ChangedVector(change, Site(*core.site()), core.place.task, 0)
        first = self._vectors.setdefault((changed.site, change.rule, change.name), changed)
        self._vectors[changed.site, change.rule, change.name] = first._replace(times=first.times + 1)

    @property
    def doubted(self) -> Screened:
        """Return the checks that Python has to make again: of values too, where some may be made of bytes that have none, of which it says nothing."""
        doubted = self._doubted
        mixed = self._stores["mixes"] and len(self._sites) > MOST_SITES
        if self._escapes and (self._stores["guessed"] or mixed or self.refused is not None):
            doubted |= Screened.INIT
        unclear = bool(self._changes) and bool(doubted & Screened.INIT)
        return doubted | (Screened.VALUE if unclear else Screened(0))

    def left(self) -> Sequence[LeftOut]:
        """Return the instructions that need NRAM or WRAM and at which memory cores were, scalar accesses that are out of place, and barriers of a cluster in Block tasks."""
        return tuple(self._left_out.values())

    def changes(self) -> Sequence[ChangedValue | ChangedVector]:
        """Return the values that C has changed without a word, and those that vectors have made, in the order in which the first of each has been."""
        return (*self._changes.values(), *self._vectors.values())

    def clashes(self, core: "NativeCore", allocation: Allocation) -> None:
        """Note that an instruction that Python executes on *core* may be in no order with what is not over, on bytes of *allocation*."""
        if self.windows is None:
            self.clashed = True
            raise Suspicion
        window = core.seat.window
        window["shared"] |= allocation.space is GDRAM
        if not window["met"]:
            window["met"] = 1
            self.windows.begins(core)

    # -- what happens ----------------------------------------------------------------------------

    def task_end(self, core: Any) -> None:
        """Keep the parts of on-chip arrays and the last window, and ask whether the stack had room for the local variables."""
        self._judged(core)
        if self.looks & Screened.PARTS:
            self.part_record.task_end(core)
        if self.whole and core.union.finished():
            self._log.happens([a for cluster in core.union.clusters for a in cluster.sram.allocations])
        self._look_again()
        variables = core.session.request.kernel.on_stack
        if not (variables and self.looks & Screened.MEMORY) or core.place.memory_core:
            return
        if sum(v.nbytes for v in variables) > core.session.board.arch.stack_left(core.arenas[NRAM].top):
            self.doubt(core, Screened.MEMORY)

    def _judged(self, core: "NativeCore") -> None:
        """Keep the last window of *core*, and count the numbers that it has changed again, as its task ends."""
        del self._running[core]
        if self.windows is not None:
            self.windows.ends(core)
        for change, site, times in core.seat.failed_again():
            if ALONE <= change < MADE:
                self._counted(core, change, Site(*self._sites[site]), times)
                continue
            if change >= MADE:
                row, rule = divmod(change - MADE, len(RULES))
                where = Site(*self._sites[site]), RULES[rule], ROWS[row]
                self._vectors[where] = self._vectors[where]._replace(times=self._vectors[where].times + times)
                continue
            test = core.session.native.program.changes[change - 1]
            key = Site(*self._sites[site]), test.rule, test.have, test.to
            self._changes[key] = self._changes[key]._replace(times=self._changes[key].times + times)

    def _counted(self, core: "NativeCore", what: int, site: Site, times: int) -> None:
        """Count *what* C has counted on *core* at *site*, of which Python has heard the first."""
        if what in (ESCAPES, MIXED_ESCAPES):
            self._escaped(EscapedAt(site, what == MIXED_ESCAPES), CountedEscape(core.place.task, times))
        else:
            name = SCALAR_ACCESSES[what - MISPLACED] if what >= MISPLACED else f"__{ROWS[what - ALONE]}"
            self._left(self._left_out[site, name, core.place.memory_core]._replace(times=times))

    def fault(self, core: Core, fault: Fault) -> None:
        """Let the checkers hear of *fault*, which ends all tasks here."""
        if self.ends is not None:
            at = cast("NativeCore", core)
            self.refused, self._refused_on = fault, at
            for running in tuple(self._running):
                self._judged(running)
            self.ends(at, fault)

    def sync(self, sync: Sync) -> None:
        """Let cores meet at a barrier."""
        if sync.scope in ("mutex", "arrive", "wait"):
            self._log.complete = False
        if len(sync.participants) > 1:
            cores: Sequence[Any] = sync.participants
            self.met.append(tuple(self._tasks[core] for core in cores))
            if self.whole:
                self._log.happens(self.met[-1])
            for core in cores:
                self._next(core)
            self._look_again()

    def _look_again(self) -> None:
        """Ask after two tasks and meetings, after four, and so on, whether all is in order: a launch in which it is not ends early."""
        self._steps += 1
        if (
            self.asks is not None
            and self._steps & (self._steps - 1) == 0 < self._steps - 1
            and not self.asks()
        ):
            raise Suspicion

    def needs_values(self) -> bool:
        """Return whether a fault has ended the launch because of bytes that have no value."""
        if self.refused is None or self._refused_on is None:
            return False
        flags = ((self.flags_of(self._refused_on, read.allocation), read) for read in self.refused.read)
        return any(at_flags(held, read).any() for held, read in flags)

    # -- what is left ----------------------------------------------------------------------------

    def accesses(self) -> Rows:
        """Return a copy of the rows of accesses, in their order."""
        return self._accesses[1 : 1 + int(self._accesses[0, 0])].copy()

    def keys_for(self, part: "Screen") -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the number of each memory here, by its number in *part*."""
        return np.array([self._keys.setdefault(a, len(self._keys)) for a in part._keys], np.int64)  # noqa: SLF001 - of its kind

    def take(self, part: "Screen") -> None:
        """Take over what *part* has noted of other tasks of the launch, which none of those here has met."""
        rows = part.accesses()
        rows[:, KEY] = self.keys_for(part)[rows[:, KEY]]
        rows[:, SEGMENT] += len(self._labels)
        self.met += [tuple(task + self._begun for task in tasks) for tasks in part.met]
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
            self._left(out)
        self._begun += part._begun  # noqa: SLF001 - of its kind
        self.hopeless |= part.hopeless
        # Which change was the first is not known of threads.
        self._doubted |= part._doubted | (Screened.VALUE if part._changes else Screened(0))  # noqa: SLF001 - of its kind
        for key, changed in part._vectors.items():  # noqa: SLF001 - of its kind
            ours = self._vectors.get(key, changed._replace(times=0))
            # Of tasks that run at once the first in their order counts.
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
        """Take the values from the bytes [*low*, *high*) of the tensor *allocation*, but from those that *has* says."""
        flags = self.flags[allocation] = Flags(allocation.nbytes, ALL_HAVE)
        if has is None:
            flags.put(low, high, NONE_HAS)
        else:
            np.logical_not(has[low:high], out=flags.spell_out(low, high).view(np.bool_))

    def lacking(self) -> Iterator[tuple[Allocation, Mask | None]]:
        """Yield the tensors that were passed to `lack` and to which something was stored, and which bytes have no value now; None where each has one."""
        for allocation, flags in self.flags.items():
            if allocation.space is GDRAM and flags.stored.any():
                yield allocation, flags.lacking()

    def stores(self, allocation: Allocation) -> tuple[TensorStore, ...] | None:
        """Return the last and the furthest store of each place to a tensor that was passed to `lack`; None where they are not known."""
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
        """Yield what cores did between two waits for all where something may be in no order, each once with how often."""
        yield from () if self.windows is None else self.windows

    @property
    def tells(self) -> bool:
        """Return whether a run that keeps every access would tell which are in no order: nothing else that puts tasks in order is seen."""
        table = self._accesses[1 : 1 + int(self._accesses[0, 0])]
        return self._log.complete and not self.hopeless and len(table) < MOST_SHARED

    def sharing(self) -> SharedRun | None:
        """Return all accesses to what tasks share, and what put them in order; None where that is not known."""
        if self.whole and self._shared is None:
            self._shared = self._log.run(tuple(self._keys), self._sites)
        return self._shared

    def shared(self) -> Iterator["tuple[Allocation, np.ndarray[Any, Any]]"]:
        """Yield each memory of which it counts who came first, and the accesses to it in their order: rows of low, high, kind, segment.

        Reads alone need no order, and neither do atomics.
        """
        table, memories = self._accesses[1 : 1 + int(self._accesses[0, 0])], tuple(self._keys)
        fresh, self._seen = table[self._seen :], len(table)
        present = np.flatnonzero(np.bincount(KINDS * fresh[:, KEY] + fresh[:, KIND])).tolist()
        self._kinds |= {divmod(number, KINDS) for number in present}
        keys = {key for key, _ in self._kinds}
        for key in sorted(keys):
            if (key, WRITES) in self._kinds or {(key, READS), (key, CHANGES)} <= self._kinds:
                yield memories[key], (table if len(keys) == 1 else table[table[:, KEY] == key])[:, :KEY]


def _ran(core: Core) -> TaskRan:
    return TaskRan(core.place, core.union, core.cluster)


def at_flags(flags: Flags | None, access: Access) -> Bytes:
    """Return the *flags* of the bytes of *access*; without any all have a value."""
    if flags is None:
        return np.zeros(0, np.uint8)
    return np.concatenate([flags.at_bytes(low, low + access.size) for low in access.starts.tolist()])


def joined(rows: Rows) -> Rows:
    """Return *rows* in the order of memory, kind, segment and byte; those that meet in all but the byte are joined."""
    rows = rows[np.lexsort((rows[:, LOW], rows[:, SEGMENT], rows[:, KIND], rows[:, KEY]))]
    if len(rows) < 2:
        return rows
    other = np.any(rows[1:, KIND:] != rows[:-1, KIND:], axis=1)
    group = np.concatenate(([0], np.cumsum(other)))
    # The highest end so far in each group: groups are set apart by more than any offset.
    wide = int(rows[:, HIGH].max()) + 1
    ends = np.maximum.accumulate(rows[:, HIGH] + group * wide) - group * wide
    first = np.concatenate(([True], other | (rows[1:, LOW] > ends[:-1])))
    starts = np.flatnonzero(first)
    pieces = rows[starts].copy()
    pieces[:, HIGH] = np.maximum.reduceat(rows[:, HIGH], starts)
    return pieces


def apart(rows: Rows) -> bool:
    """Return whether what one task writes, no other reads or writes."""
    rows = rows[np.lexsort((rows[:, LOW], rows[:, KEY]))]
    if not np.any((rows[1:, KEY] == rows[:-1, KEY]) & (rows[1:, LOW] < rows[:-1, HIGH])):
        return True  # no byte is in two pieces
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
