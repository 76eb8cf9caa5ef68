"""The origin of a byte: the instruction that wrote it last, with its task, line and moment, and the origins of its sources."""

import itertools
import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen

from mlusim.debug.look.describe import access_text
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.run.runs import LaunchRun, RunListener, RunMaker
from mlusim.debug.run.tracer import Tracer
from mlusim.debug.source.frames import name_of, owner_of
from mlusim.debug.stop.stops import END, Position
from mlusim.errors import UsageError
from mlusim.isa.declare import Flow
from mlusim.isa.pool import BY_WINDOWS, window_rows
from mlusim.isa.reduce import BY_LINES, LINE
from mlusim.machine.core import Core
from mlusim.machine.hub import Effect
from mlusim.machine.observed import Step
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.space import GDRAM, Space
from mlusim.observe.checker import operand_told

WRITES = 2_000_000  # writes in a log, of 12 bytes each
STEPS = 50_000  # different steps in a log, of about 1 KiB each
WINDOW = 1 << 14  # moments that the first log of a launch covers
UNWRITTEN = "it was never written; it holds poison, or what its declaration gave it"
SOURCES = 8  # sources of one write that are followed
NOT_FURTHER = "not followed any further"
GIVEN = "as the host gave it to the device"
NODES, DEPTH = 24, 6


@frozen
class Byte:
    """One byte of the device: its memory, its address, and the owner of the memory."""

    space: Space
    address: int
    owner: str | None


@define(eq=False)
class Logged:
    """A step that writes, with its core and the owners of the memories that it writes and reads."""

    step: Step
    core: Core
    owners: tuple[str | None, ...]
    read_owners: tuple[str | None, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    """The integer arguments of an instruction with windows, by name."""

    def touches(self, byte: Byte) -> Access | None:
        """Return the access that writes *byte*, the last one if there are several; None if there is none."""
        # From the last one, since its bytes remain where operands overlap.
        for access, owner in reversed(tuple(zip(self.step.writes, self.owners, strict=True))):
            if access.allocation.space is byte.space and owner == byte.owner:
                at = byte.address - access.allocation.address
                if access.touches(at, at + 1):
                    return access
        return None


class WriteLog(RunListener):
    """Every write of a run, in order; if there are too many, the oldest are dropped.

    The log is complete after moment ``since``.
    """

    name = "writes"

    def __init__(self) -> None:
        self.tracer: Tracer | None = None
        self.since = 0
        # Arrays of indices into a table of steps: a launch writes millions of times by few statements.
        self._moments = array("q")
        self._which = array("i")
        self._steps: list[Logged] = []
        self._known: dict[tuple[Step, tuple[tuple[str, int], ...]], int] = {}

    def begin(self, run: LaunchRun) -> None:
        """Listen to *run*, which is observed from some moment on."""
        self.tracer, self.since = run.tracer, run.since

    def effect(self, effect: Effect) -> None:
        """Record a write that is about to happen."""
        if not effect.step.writes or self.tracer is None:
            return
        # With other sizes, windows may read the same bytes.
        sizes = _sizes(effect) if effect.step.name in BY_WINDOWS else ()
        number = self._known.get((effect.step, sizes))
        if number is None:
            if len(self._steps) >= STEPS:
                self._drop()
            number = self._known[effect.step, sizes] = len(self._steps)
            core = effect.core
            owners, read_owners = (
                tuple(owner_of(core, access.allocation) for access in accesses)
                for accesses in (effect.step.writes, effect.step.reads)
            )
            self._steps.append(Logged(effect.step, core, owners, read_owners, sizes))
        if len(self._moments) >= WRITES:
            self._drop()
            self.effect(effect)
            return
        self._moments.append(self.tracer.moment)
        self._which.append(number)

    def _drop(self) -> None:
        """Drop the older half of the log."""
        half = len(self._moments) // 2
        self.since = self._moments[half] if half < len(self._moments) else self.since
        self._moments, which = self._moments[half:], self._which[half:]
        used = sorted(set(which))
        place = {old: new for new, old in enumerate(used)}
        self._which = array("i", (place[old] for old in which))
        self._steps = [self._steps[old] for old in used]
        self._known = {(logged.step, logged.sizes): n for n, logged in enumerate(self._steps)}

    def last(self, byte: Byte, before: int) -> tuple[int, Logged, Access] | None:
        """Return the last write of *byte* before moment *before*: its moment, its step, and the operand."""
        writers = {n: a for n, logged in enumerate(self._steps) if (a := logged.touches(byte)) is not None}
        if not writers:
            return None
        moments = np.frombuffer(self._moments, np.int64)
        stop = int(np.searchsorted(moments, before, side="left"))
        hits = np.flatnonzero(np.isin(np.frombuffer(self._which, np.int32)[:stop], list(writers)))
        if not hits.size:
            return None
        at = int(hits[-1])
        number = self._which[at]
        return self._moments[at], self._steps[number], writers[number]


# -- the chain ---------------------------------------------------------------------------------------


@define(eq=False)
class Origin:
    """A byte and its last write; ``sources`` are the bytes that the write used.

    ``launch`` and ``moment`` are 0 if the byte was never written; ``note`` then describes its value.  A link of a
    chain may also be a variable: ``verb`` says what happened to it, ``because`` which condition led to the statement.
    """

    place: str
    launch: int = 0
    moment: int = 0
    task: str = ""
    instruction: str = ""
    file: str = ""
    line: int = 0
    note: str = ""
    sources: "list[Origin]" = field(factory=list)
    verb: str = "written"
    because: str = ""


class BeyondBytes(ABC):
    """Finds the scalars that a write used."""

    @abstractmethod
    def reach(self, launch: int, logged: Logged, moment: int) -> None:
        """Prepare for the write of *logged* at *moment*, before its sources are traced and `add` is called."""

    @abstractmethod
    def add(self, origin: Origin, launch: int, logged: Logged, depth: int) -> None:
        """Add to the write *origin* the scalars that it used, followed over *depth* links."""


@define(eq=False)
class _Segment:
    """A log of the writes of a launch up to moment *until*, and the machine at that moment."""

    log: WriteLog
    until: int
    paused: PausedRun


_Found = tuple[tuple[int, Logged, Access], PausedRun]  # a write, and the machine after it


class OriginSearch:
    """Follows bytes back through the launches of *runs*, from the position *here*.

    *beyond* adds to a write its sources other than bytes.
    """

    def __init__(
        self,
        runs: RunMaker,
        here: Position,
        depth: int = DEPTH,
        nodes: int = NODES,
        beyond: "BeyondBytes | None" = None,
    ) -> None:
        self._all, self._here = runs, here
        self._depth = depth
        self.nodes = nodes
        self._beyond = beyond
        self._logs: dict[int, list[_Segment]] = {}  # the latest first
        self._replicas: list[LaunchRun] = []
        self._ends: dict[int, LaunchRun] = {}

    def origin(self, byte: Byte, text: str) -> Origin:
        """Trace the origin of *byte*, called *text* by the user."""
        here = self._here
        # If lines of the kernel have run since the moment, its own effect has happened.
        before = here.moment if here.lines == 0 else here.moment + 1
        return self.follow(byte, text, here.launch, before, self._depth)

    def follow(self, byte: Byte, text: str, launch: int, before: int, depth: int) -> Origin:
        """Trace the origin of *byte* before moment *before* of a launch, over *depth* links."""
        self.nodes -= 1
        home = self._home(byte, launch)
        while (write := self._last(byte, launch, before)) is None:
            if byte.space is not GDRAM:
                return Origin(text, note=UNWRITTEN)
            # The last launch before this one with the same tensor.
            same = (n for n in range(launch - 1, 0, -1) if home in self._all.recorded(n).homes)
            earlier = next(same, 0)
            if home is None or not earlier:
                unwritten = home is not None and not home.has(byte.address - home.address)
                return Origin(text, note=UNWRITTEN if unwritten else GIVEN)
            try:
                changed = self._changed(home, byte.address - home.address, earlier, launch)
            except UsageError as error:  # the launch's tensors are no longer stored
                return Origin(text, note=str(error))
            if changed:
                note = f"the host has changed it between launch {earlier} and launch {launch}"
                return Origin(text, note=note)
            # No write in this launch: the search continues at the end of the launch before.
            launch, before = earlier, END
        return self._write(byte, text, launch, write, depth)

    def _write(self, byte: Byte, text: str, launch: int, write: "_Found", depth: int) -> Origin:
        """Return a write of *byte* as an origin, with the bytes and scalars that it used."""
        (moment, logged, access), paused = write
        step = logged.step
        spelling = step.name if step.row is None else step.row.spelling
        origin = Origin(text, launch, moment, name_of(logged.core), spelling, *step.site)
        sources = list(self._sources(byte, logged, access, paused))
        beyond = self._beyond if depth > 1 and self.nodes > 0 else None
        if beyond is not None:
            beyond.reach(launch, logged, moment)
        for source, name in sources[:SOURCES]:
            further = depth > 1 and self.nodes > 0
            origin.sources.append(
                self.follow(source, name, launch, moment, depth - 1)
                if further
                else Origin(name, note=NOT_FURTHER)
            )
        if beyond is not None and self.nodes > 0:
            beyond.add(origin, launch, logged, depth - 1)
        if logged.step.name == "vv_store":
            note = "registers have no history; step back from here"
            origin.sources.append(Origin("a vector register", note=note))
        if len(sources) > SOURCES:
            origin.sources.append(Origin(f"{len(sources) - SOURCES} more pieces", note="not followed"))
        return origin

    def _home(self, byte: Byte, launch: int) -> Allocation | None:
        """Return the tensor's own allocation that contains a byte of GDRAM, among the arguments of *launch*."""
        if byte.space is not GDRAM or not launch:
            return None
        homes = self._all.recorded(launch).homes
        return next((a for a in homes if a.address <= byte.address < a.address + a.nbytes), None)

    def _changed(self, home: Allocation, offset: int, earlier: int, launch: int) -> bool:
        """Return whether the element at *offset* differs between the end of the launch *earlier* and the beginning of *launch*."""
        recorded = self._all.recorded(launch)
        tensors, size = recorded.tensors, recorded.homes[home].size
        first = offset - offset % size
        if earlier not in self._ends:
            self._ends[earlier] = self._all.aside(Position(earlier, END))
        copy = self._ends[earlier].tracer.copies.get(home)
        if tensors is None or home not in tensors or copy is None:
            return False
        return not np.array_equal(tensors[home][first : first + size], copy.raw[first : first + size])

    def _sources(
        self, byte: Byte, logged: Logged, written: Access, paused: PausedRun
    ) -> Iterator[tuple[Byte, str]]:
        """Yield the bytes that a written byte depends on, and their names."""
        gathered = _gathered(logged, written)
        if gathered is not None:
            at = byte.address - written.allocation.address - written.start
            for access, owner, whole in gathered:
                start = access.allocation.address + access.start + (at if whole else 0)
                yield Byte(access.allocation.space, start, owner), access_text(paused, access)
            return
        offset = written.index_of(byte.address - written.allocation.address)
        step = logged.step
        for n, (access, owner) in enumerate(zip(step.reads, logged.read_owners, strict=True)):
            if step.flow is Flow.LANEWISE:
                at = access.offset_of(_lane(offset, written, access, step.name))
                # The size of one element, as far as the operands' sizes show it.
                fours = access.size % 4 == written.size % 4 == 0
                width = 4 if fours else 2 if access.size % 2 == 0 else 1
                shown = Access(access.allocation, at - at % width, width)
                name = access_text(paused, shown) + _part(step, n, shown)
                yield Byte(access.allocation.space, access.allocation.address + at, owner), name
                continue
            for shown in _mixed(logged, access, written, byte.address):
                name = f"{access_text(paused, shown)}{_part(step, n, shown)}, mixed"
                start = access.allocation.address + shown.span[0]
                yield Byte(access.allocation.space, start, owner), name

    def _last(self, byte: Byte, launch: int, before: int) -> "_Found | None":
        """Return the last write in one launch, and the machine after it: from a log of the last moments, then from earlier logs."""
        segments = self._logs.setdefault(launch, [])
        if not segments or before > segments[0].until:
            here = self._here
            segments.clear()
            self._log(launch, here.moment + (here.lines > 0) if launch == here.launch else END, WINDOW)
        window = WINDOW
        for n in itertools.count():
            segment = segments[n]
            write = segment.log.last(byte, before) if before > segment.log.since else None
            if write is not None:
                return write, segment.paused
            if segment.log.since == 0:
                return None
            window *= 16
            if n + 1 == len(segments):
                self._log(launch, segment.log.since, window)
        return None

    def _log(self, launch: int, until: int, window: int) -> None:
        """Run the launch up to moment *until* with a log of its writes in the last *window* moments."""
        log = WriteLog()
        last = self._all.moments(launch) if until >= END else until
        run = self._all.aside(Position(launch, until), since=max(0, last - window), watching=log)
        self._replicas.append(run)
        self._logs[launch].append(
            _Segment(log, until, PausedRun(run.recorded, run.machine, run.tracer, run.stopped))
        )

    def close(self) -> None:
        """Abandon the runs that were inspected."""
        for run in (*self._replicas, *self._ends.values()):
            run.abandon()


def _part(step: Step, n: int, shown: Access) -> str:
    """Return the part of a pool that contains *shown*, by the pointer in the source for the nth operand read: " (y_buf, bytes 0:4)"."""
    access = step.reads[n]
    pool = access.allocation.declared.name
    told = operand_told(step.name, step.site, written=False, of=[at == n for at in range(len(step.reads))])
    pointer = told.partition(" is ")[2]
    if not pool or access.allocation.space is GDRAM or not pointer or re.search(rf"\b{pool}\b", pointer):
        return ""
    first = shown.start - access.start  # in bytes: the element type of the pointer is not known here
    return f" ({pointer})" if shown == access else f" ({pointer}, bytes {first}:{first + shown.size})"


def _gathered(logged: Logged, written: Access) -> "list[tuple[Access, str | None, bool]] | None":
    """Return the piece that an instruction on pieces moved to *written*, and its element in each list of addresses.

    Each comes with its owner, and whether it is the piece itself.  None for other instructions.
    """
    writes, reads, owners = logged.step.writes, logged.step.reads, logged.read_owners
    count = len(writes)
    pieces = reads[-count:]
    if count < 2 or len(reads) <= count or any(p.size != written.size or p.steps for p in (*pieces, *writes)):
        return None
    at = next(n for n, access in enumerate(writes) if access is written)
    elements = [(pieces[at], owners[-count:][at], True)]
    for access, owner in zip(reads[:-count], owners[:-count], strict=True):
        each, rest = divmod(access.size, count)
        if not rest and not access.steps and each >= 1:
            elements.append((Access(access.allocation, access.start + at * each, each), owner, False))
    return elements


def _sizes(effect: Effect) -> tuple[tuple[str, int], ...]:
    """Return the integer arguments of an instruction, by name."""
    parameters = effect.step.row.given if effect.step.row is not None else ()
    pairs = zip(parameters, effect.arguments, strict=False)
    return tuple((p.name, int(value)) for p, value in pairs if isinstance(value, int | np.integer))


def _mixed(logged: Logged, access: Access, written: Access, address: int) -> list[Access]:
    """Return the parts of the operand *access* that the byte of *written* at *address* depends on, for an instruction that mixes elements."""
    if access.steps:
        return [access]
    behind = address - written.allocation.address - written.start
    if logged.step.name in BY_LINES:
        return [Access(access.allocation, access.start + behind - behind % LINE, min(LINE, access.size))]
    sizes = dict(logged.sizes)
    if not sizes:
        return [access]
    width = access.size // (sizes["channel"] * sizes["height"] * sizes["width"])
    count = written.size // width  # of the results; addresses may follow them
    return [
        _run(access, row, width)
        for row in window_rows(sizes, written.index_of(written.start + behind) // width % count, count)
    ]


def _run(access: Access, elements: range, width: int) -> Access:
    """Return the *elements* of *access*, of *width* bytes each."""
    start = access.start + elements.start * width
    if elements.step == 1:
        return Access(access.allocation, start, len(elements) * width)
    return Access(access.allocation, start, width, ((elements.step * width, len(elements)),))


def _lane(offset: int, written: Access, read: Access, name: str) -> int:
    """Return the byte of *read*, in its order, that corresponds to byte *offset* of *written*."""
    if written.nbytes == read.nbytes:
        return offset
    if "cycle" in name:
        return offset % read.nbytes
    return min(offset * read.nbytes // written.nbytes, read.nbytes - 1)
