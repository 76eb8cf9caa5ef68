"""Overlaps of on-chip array parts, found by runs in C, before `carve` runs a kernel twice in Python.

In a first run C records which pointer variables the operands of each call go through, their values, and the accessed
bytes (`machine.parts.TaskParts`).  An overlap is possible only if two parts share a byte that both write and one of
them reads; in that case a second run records which part wrote each byte last, as `carve` does.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import FunctionUses, Root, roots
from mlusim.bangc.native.screening import followed
from mlusim.errors import MlusimError
from mlusim.isa.table import ISA
from mlusim.machine.core import RunningLaunch
from mlusim.machine.engine import Engine
from mlusim.machine.hub import ObservedScreen, Observer
from mlusim.machine.machine import Machine
from mlusim.machine.observed import READS, Screened, Site
from mlusim.machine.parts import APART, ELSEWHERE, Overwritten, PartChoices, TaskParts
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import MOST_WRITERS
from mlusim.observe.checker import Allowed
from mlusim.observe.finding import Finding
from mlusim.programs.carving import Extents, PointerPlaces, on_chip
from mlusim.programs.pointer_frames import Chain, Frames, Held

if TYPE_CHECKING:
    from mlusim.bangc.module import BangKernel
    from mlusim.programs.kernel_call import KernelCall
    from mlusim.programs.launch_again import LaunchAgain

ROWS = tuple(ISA)
FEW = 2_000  # instructions and scalar accesses that Python runs twice, with observers, in the time of one compilation


class UnclearPart(MlusimError):
    """C cannot tell which variable an access goes through, or did not run the launch."""


@frozen
class Overlaps:
    """The findings about parts that overwrite each other, and those that comments in the kernel allow."""

    findings: tuple[Finding, ...] = ()
    allowed: tuple[Allowed, ...] = ()


def overlaps_in_c(call: "KernelCall | LaunchAgain", length: int) -> Overlaps | None:
    """Return the overlaps of on-chip array parts in *call*; None if `carve` has to find them.

    *length* is the number of instructions and scalar accesses: `carve` handles a short call faster than the compiler
    does.
    """
    kernel = call.loaded()
    frames = Frames(kernel)
    if not _Outside(kernel, frames).may_have_parts():
        return Overlaps()
    if length < FEW or Engine.asked().compiler is None:
        return None
    call = call.natively()
    with contextlib.suppress(MlusimError):
        first = PartsQuestion()
        call.run([first])
        parts = _Parts(kernel, frames, first)
        if not parts.may_overlap():
            return Overlaps()
        second = PartsQuestion(parts.choices())
        name = call.run([second]).launch.kernel
        return parts.overlaps(second, name)
    return None


class _Outside:
    """Decides from a kernel's source whether a pointer variable of its functions may point to on-chip memory."""

    def __init__(self, kernel: "BangKernel", frames: Frames) -> None:
        self._uses = frames.uses
        self._own = kernel.form.symbol
        self._pointed = kernel.plan.pointed
        self._asked: set[ir.Local] = set()  # variables that point elsewhere, as far as they were examined

    def may_have_parts(self) -> bool:
        """Return whether any array can have parts."""
        return any(
            self._may_be_inside(uses, local)
            for uses in self._uses.values()
            for local in uses.function.locals
            if not local.parameter and _leads(local.type)
        )

    def _may_be_inside(self, uses: FunctionUses, local: ir.Local) -> bool:
        if local in self._asked:
            return False
        self._asked.add(local)
        if not isinstance(local.type, t.Pointer):
            return local.storage not in (ir.Storage.VALUE, ir.Storage.CELL) or _leads(local.type)
        if local.storage is not ir.Storage.VALUE:
            return True
        if not local.parameter:
            return any(self._inside(uses, value) for value in uses.assigned.get(local, ()))
        symbol, at = uses.function.symbol, uses.function.parameters.index(local)
        if symbol == self._own:
            return False
        calls = [
            (caller, call)
            for caller in self._uses.values()
            for (_, called), nodes in caller.calls.items()
            for call in nodes
            if called == symbol
        ]
        return symbol in self._pointed or any(self._inside(c, call.arguments[at]) for c, call in calls)

    def _inside(self, uses: FunctionUses, value: ir.Expr) -> bool:
        """Return whether *value* may point to on-chip memory; an integer that is added to a pointer does not."""
        while isinstance(value, ir.Convert):
            value = value.value
        if not isinstance(value.type, t.Pointer | t.Array):
            return not isinstance(value, ir.Const) and isinstance(value.type, t.Struct)
        origins = roots(value)
        return not origins or any(
            r.local is None or bool(r.path) or self._may_be_inside(uses, r.local) for r in origins
        )


def _leads(kind: t.Type) -> bool:
    """Return whether a value of type *kind* contains pointers; an array in memory does not count."""
    if isinstance(kind, t.Struct):
        return any(_leads(member.type) or isinstance(member.type, t.Array) for member in kind.fields)
    return isinstance(kind, t.Pointer)


class PartsQuestion(Observer):
    """Has C record the parts of arrays in a launch, and with *choices* the part that wrote each byte; a launch in Python is refused.

    ``program`` explains the numbers in the records, ``tasks`` are the records of C; ``overwritten`` are bytes of
    parts that another part overwrote.
    """

    name = "parts"
    screens = Screened.PARTS

    def __init__(self, choices: Mapping[tuple[int, bool], PartChoices] | None = None) -> None:
        self._choices = choices
        self.tasks: Sequence[TaskParts] = ()
        self.overwritten: Sequence[Overwritten] = ()

    def screen_begin(self, launch: RunningLaunch, screen: ObservedScreen) -> bool:
        """Keep the program, which explains the numbers, and pass the choices to *screen*."""
        assert isinstance(launch, Machine)
        self.program = launch.native.program
        screen.parts.choices = self._choices or {}
        return True

    def launch_begin(self, launch: RunningLaunch) -> None:
        """Refuse a launch in Python.  Raises `UnclearPart`."""
        if not isinstance(launch, Machine) or launch.native is None:
            raise UnclearPart("the launch is not one for C")

    def screened(self, screen: ObservedScreen) -> None:
        """Copy the records of *screen*."""
        self.tasks = list(screen.parts.by_tables.values())
        self.overwritten = list(screen.parts.overwritten.values())


@define(eq=False)
class _Call:
    """A function call as C recorded it: its uses of pointers, its current line, the values of its variables."""

    uses: FunctionUses
    line: int
    places: Mapping[Any, Held]
    inner: str | None  # the function that it is calling

    def held(self, root: Root) -> Held | None:
        """Return the value of the variable *root*.  Raises `UnclearPart` if C does not follow it."""
        assert root.local is not None
        if isinstance(root.local.type, t.Array) and not root.path:
            return None, 0, False, False
        if not _leads(root.local.type):  # a reference to a number
            return None
        if not followed(root):
            raise UnclearPart(root.local.source_name)
        if root.local.storage is ir.Storage.CELL and self._may_change(root.local):
            raise UnclearPart(root.local.source_name)
        return self.places.get(root.local)

    def _may_change(self, local: ir.Local) -> bool:
        """Return whether the called function receives the address of *local*, whose value C knows only from before the call."""
        calls = self.uses.calls.get((self.line, self.inner), ()) if self.inner is not None else ()
        return any(
            isinstance(a.type, t.Pointer)
            and isinstance(a.type.to, t.Pointer)
            and any(r.local is local for r in roots(a))
            for call in calls
            for a in call.arguments
        )


@define
class _Pieces:
    """The bytes of a part that are read and written, as pairs of bounds."""

    reads: list[tuple[int, int]] = field(factory=list)
    writes: list[tuple[int, int]] = field(factory=list)


class _Parts:
    """The array parts of a kernel, from the records of its tasks in *run*.  Raises `UnclearPart`."""

    def __init__(self, kernel: "BangKernel", frames: Frames, run: PartsQuestion) -> None:
        self._program = run.program
        self._tasks = tasks = run.tasks
        self._frames = frames
        self._own = kernel.form.symbol
        held = PointerPlaces(kernel, frames)
        if not all(record.whole for record in tasks):
            raise UnclearPart("there was no room for all")
        self._reached = [(record, list(self._ways(record))) for record in tasks]
        for record, rows in self._reached:
            for chain in (chain for _, chains in rows for chain in chains):
                _certain(chain)
                for task, _ in record.tasks:
                    held.note(chain, task)
        self._extents = Extents(held)

    def may_overlap(self) -> bool:
        """Return whether a part reads bytes that it and another part write, at any time."""
        touched: dict[Any, dict[int, _Pieces]] = {}
        for record, rows in self._reached:
            for entry, chains in rows:
                allocation = record.allocations[int(entry["alloc"])]
                # Tasks share only SRAM; each task has its own instance of any other array.
                memory = allocation if allocation.space.shared else (id(record), allocation)
                choices = self._choices(allocation, chains)
                for low, high in entry["span"][: entry["many"]].tolist():
                    for part in _of(choices, low, high):
                        pieces = touched.setdefault(memory, {}).setdefault(part, _Pieces())
                        (pieces.reads if entry["kind"] == READS else pieces.writes).append((low, high))
        return any(_overlap(list(parts.values())) for parts in touched.values() if len(parts) > 1)

    def _choices(self, allocation: Allocation, chains: Sequence[Chain]) -> list[tuple[int, int]]:
        """Return the (offset, number) of the parts that an access through one of *chains* may belong to, ordered by offset."""
        extents = self._extents
        reached = (extents.nearest(chain, allocation) for chain in chains)
        parts = [part for part in reached if part is not None] or [extents.whole(allocation)]
        first: dict[int, int] = {}
        for part in parts:
            first.setdefault(part.offset, extents.number(part) + 1)
        return sorted(first.items())

    def choices(self) -> Mapping[tuple[int, bool], PartChoices]:
        """Return the parts that the accesses of each task may belong to.  Raises `UnclearPart`."""
        choices = {}
        for record, rows in self._reached:
            offsets = [
                self._choices(record.allocations[int(entry["alloc"])], chains) for entry, chains in rows
            ]
            if any(number > MOST_WRITERS for row in offsets for _, number in row):
                raise UnclearPart("there are too many parts")
            choices.update(dict.fromkeys(record.tasks, PartChoices.made(record, offsets)))
        return choices

    def overlaps(self, run: PartsQuestion, kernel: str) -> Overlaps:
        """Return the overlaps in *run*, which was made with `choices`.  Raises `UnclearPart`."""
        before, now = (
            {task: record for record in tasks for task in record.tasks} for tasks in (self._tasks, run.tasks)
        )
        if before.keys() != now.keys() or not all(now[task].like(record) for task, record in before.items()):
            raise UnclearPart("the launch went another way")
        sites, extents = self._program.sites, self._extents
        for record, rows in self._reached:
            for entry, chains in rows:
                row = int(entry["row"])  # loads and stores of scalars are instructions by themselves
                call = Site(*sites[entry["site"]]), row, row < 0 and int(entry["kind"])
                for _, number in self._choices(record.allocations[int(entry["alloc"])], chains):
                    extents.goes_through(call, extents.numbered(number - 1), stores=entry["kind"] != READS)
        for lost in run.overwritten:
            by, of = (extents.numbered(number - 1) for number in (lost.by, lost.of))
            for _ in range(lost.times):
                extents.lose(
                    by, of, Site(*sites[lost.written]), Site(*sites[lost.read]), lost.task, lost.nbytes
                )
        extents.launch_end(None)
        return Overlaps(tuple(evolve(f, kernel=kernel) for f in extents.findings), extents.allowed)

    def _ways(self, record: TaskParts) -> Iterator[tuple[Any, list[Chain]]]:
        """Yield each row of accessed bytes, and the chains to its array."""
        places: dict[tuple[int, int], dict[Any, Held]] = {}
        locals_ = self._program.followed[1]
        for row, (number, offset) in zip(record.kept, record.led_to, strict=True):
            moved = int(row["moved"])
            held = record.allocations[number], offset, bool(moved & ~APART), bool(moved & APART)
            places.setdefault((int(row["context"]), int(row["site"])), {})[locals_[row["local"]]] = held
            if moved & ELSEWHERE:
                raise UnclearPart("it leads to several arrays")
        stacks: dict[tuple[int, int], list[_Call]] = {}
        for entry in record.touched:
            key = int(entry["context"]), int(entry["site"])
            if key not in stacks:
                stacks[key] = list(self._stack(record, *key, places))
            name = None if entry["row"] < 0 else ROWS[entry["row"]]
            yield entry, self._frames.ways(stacks[key], name, int(entry["given"]))

    def _stack(
        self, record: TaskParts, context: int, site: int, places: Mapping[tuple[int, int], Mapping[Any, Held]]
    ) -> Iterator[_Call]:
        """Yield the active calls, from the innermost, which is at *site*."""
        inner: str | None = None
        while True:
            call = record.contexts[context - 1] if context else None
            symbol = self._own if call is None else self._program.followed[0][call["function"]]
            line, held = self._program.sites[site][1], places.get((context, site), {})
            yield _Call(self._frames.uses[symbol], line, held, inner)
            inner = symbol
            if call is None:
                return
            context, site = int(call["outer"]), int(call["site"])


def _certain(chain: Chain) -> None:
    """Raise `UnclearPart` if a variable of *chain* equals another one only at times."""
    for step, behind in pairwise(chain):
        if step.moved or step.apart or behind.name is None or not on_chip(step.allocation):
            continue
        if behind.moved:
            raise UnclearPart(behind.name.text)


def _of(choices: Sequence[tuple[int, int]], low: int, high: int) -> Iterator[int]:
    """Yield the parts in *choices* that accesses to bytes [low, high) may belong to."""
    ends = [*(offset for offset, _ in choices[1:]), high]
    for (offset, part), end in zip(choices, ends, strict=True):
        if offset < high and low < end:
            yield part
    if low < choices[0][0] and choices[-1][0] >= high:
        yield choices[-1][1]


def _overlap(parts: Sequence[_Pieces]) -> bool:
    """Return whether one of *parts* reads bytes that it and another one write."""
    bounds = sorted({b for p in parts for pair in (*p.reads, *p.writes) for b in pair})
    for at in bounds:
        writers = [p for p in parts if any(low <= at < high for low, high in p.writes)]
        if len(writers) > 1 and any(low <= at < high for p in writers for low, high in p.reads):
            return True
    return False
