"""The question whether the parts of on-chip arrays can overlap, answered by a run in C, before `carve` runs a kernel twice in Python.

C keeps which pointer variables the operands of each call go through, what they hold, and which bytes are touched
(`engine.native.screen.PARTS`).  Only where two parts share a byte that both write and one of them reads may there be an overlap.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.engine.native.build import available
from mlusim.engine.native.layout import OFFSET_BITS
from mlusim.engine.native.screen import READS, Screened
from mlusim.errors import MlusimError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native.parts import followed
from mlusim.frontend.bangc.pointer_roots import FunctionUses, Root, roots
from mlusim.isa.table import ISA
from mlusim.machine.hub import Observer
from mlusim.memory.allocation import Allocation
from mlusim.programs.carving import ArrayPart, Extents, PointerPlaces, on_chip
from mlusim.programs.pointer_frames import Chain, Frames, Held

if TYPE_CHECKING:
    from mlusim.frontend.bangc.entry import BangKernel
    from mlusim.machine.native.program import NativeProgram
    from mlusim.machine.observed import Screen
    from mlusim.machine.task_parts import TaskParts
    from mlusim.programs.kernel_call import KernelCall
    from mlusim.programs.launch_again import LaunchAgain

ROWS = tuple(ISA)
FEW = 2_000  # instructions that Python executes twice, and watches, in the time that a compiler takes


class UnclearPart(MlusimError):
    """C does not know which variable an access goes through, or has not run the launch."""


def known_apart(call: "KernelCall | LaunchAgain", instructions: int) -> bool:
    """Return whether no part of an on-chip array overwrites another in *call*; False where `carve` has to find out.

    Of a call with few *instructions* that takes as long as a compiler.
    """
    kernel = call.loaded()
    if not _Outside(kernel).may_have_parts():
        return True
    if instructions < FEW or available() is None:
        return False
    call = call.natively()
    asked = PartsQuestion(kernel)
    with contextlib.suppress(MlusimError):
        call.run([asked])
    return asked.apart


class _Outside:
    """Tells by a kernel's source whether a pointer variable of its functions may lead to on-chip memory."""

    def __init__(self, kernel: "BangKernel") -> None:
        self._uses = Frames(kernel).uses
        self._own = kernel.form.symbol
        self._pointed = kernel.plan.pointed
        self._asked: set[ir.Local] = set()  # all of them lead elsewhere, as far as is known

    def may_have_parts(self) -> bool:
        """Return whether an array can have parts at all."""
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
            return any(self._inside(uses, value) for value in uses.given.get(local, ()))
        symbol, at = uses.function.symbol, uses.function.parameters.index(local)
        if symbol == self._own:
            return False
        calls = [
            (caller, call)
            for caller in self._uses.values()
            for (_, called), found in caller.calls.items()
            for call in found
            if called == symbol
        ]
        return symbol in self._pointed or any(self._inside(c, call.arguments[at]) for c, call in calls)

    def _inside(self, uses: FunctionUses, value: ir.Expr) -> bool:
        """Return whether *value* may lead to on-chip memory; a number that is added to a pointer does not."""
        while isinstance(value, ir.Convert):
            value = value.value
        if not isinstance(value.type, t.Pointer | t.Array):
            return not isinstance(value, ir.Const) and isinstance(value.type, t.Record)
        found = roots(value)
        return not found or any(
            r.local is None or bool(r.path) or self._may_be_inside(uses, r.local) for r in found
        )


def _leads(kind: t.Type) -> bool:
    """Return whether something of *kind* has pointers in it, other than an array in memory."""
    if isinstance(kind, t.Record):
        return any(_leads(one.type) or isinstance(one.type, t.Array) for one in kind.fields)
    return isinstance(kind, t.Pointer)


class PartsQuestion(Observer):
    """Asks a launch in C whether parts can overlap; a launch in Python is ended."""

    name = "parts"
    screens = Screened.PARTS

    def __init__(self, kernel: "BangKernel") -> None:
        self.kernel = kernel
        self.apart = False
        self._program: NativeProgram | None = None

    def screen_begin(self, launch: Any, screen: "Screen") -> bool:
        """Remember what the numbers of the program mean."""
        del screen
        self._program = launch.native.program
        return True

    def launch_begin(self, launch: Any) -> None:
        """Refuse a launch that Python makes.  Raises `UnclearPart`."""
        if launch.native is None:
            raise UnclearPart("the launch is not one for C")

    def screened(self, screen: "Screen") -> None:
        """Answer by what *screen* has kept."""
        assert self._program is not None
        with contextlib.suppress(UnclearPart):
            self.apart = _Parts(self.kernel, self._program, list(screen.parts())).apart()


@define(eq=False)
class _Call:
    """A call of a function as C has kept it: its uses of pointers, the line that it is at, what its variables hold."""

    uses: FunctionUses
    line: int
    places: Mapping[Any, Held]

    def held(self, root: Root) -> Held | None:
        """Return what the variable *root* holds.  Raises `UnclearPart` where C does not follow it."""
        assert root.local is not None
        if isinstance(root.local.type, t.Array) and not root.path:
            return None, 0, False
        if not _leads(root.local.type):  # a number, to which something refers
            return None
        if not followed(root):
            raise UnclearPart(root.local.source_name)
        return self.places.get(root.local)


@define
class _Pieces:
    """The bytes of a part that are read and written, as pairs of their bounds."""

    reads: list[tuple[int, int]] = field(factory=list)
    writes: list[tuple[int, int]] = field(factory=list)


class _Parts:
    def __init__(self, kernel: "BangKernel", program: "NativeProgram", tasks: "Sequence[TaskParts]") -> None:
        self._program = program
        self._tasks = tasks
        self._frames = Frames(kernel)
        self._own = kernel.form.symbol
        self._held = PointerPlaces(kernel)

    def apart(self) -> bool:
        """Return whether no part may overwrite another.  Raises `UnclearPart`."""
        if not all(one.whole for one in self._tasks):
            raise UnclearPart("there was no room for all")
        reached = [(one, entry, chains) for one in self._tasks for entry, chains in self._ways(one)]
        for one, _, chains in reached:
            for chain in chains:
                _certain(chain)
                for task in one.tasks:
                    self._held.note(chain, task)
        extents = Extents(self._held.kernel, self._held)
        found: dict[Any, dict[ArrayPart, _Pieces]] = {}
        for one, entry, chains in reached:
            allocation = one.allocations[int(entry["alloc"])]
            memory = allocation if allocation.space.shared else (id(one), allocation)
            for part, low, high in _attributed(extents, allocation, entry, chains):
                pieces = found.setdefault(memory, {}).setdefault(part, _Pieces())
                (pieces.reads if entry["kind"] == READS else pieces.writes).append((low, high))
        return not any(_overlap(list(parts.values())) for parts in found.values() if len(parts) > 1)

    def _ways(self, one: "TaskParts") -> "Iterator[tuple[Any, list[Chain]]]":
        """Yield each row of what was touched, and the ways to its array."""
        places: dict[int, dict[Any, Held]] = {}
        locals_ = self._program.followed[1]
        for row in one.kept:
            number, offset = _taken_apart(int(row["first"]))
            held = one.allocations[number], offset, bool(row["moved"])
            places.setdefault(int(row["context"]), {})[locals_[row["local"]]] = held
            if row["moved"] & 2:
                raise UnclearPart("it leads to several arrays")
        stacks: dict[tuple[int, int], list[_Call]] = {}
        for entry in one.touched:
            key = int(entry["context"]), int(entry["site"])
            if key not in stacks:
                stacks[key] = list(self._stack(one, *key, places))
            name = None if entry["row"] < 0 else ROWS[entry["row"]]
            yield entry, self._frames.ways(stacks[key], name, int(entry["given"]))

    def _stack(
        self, one: "TaskParts", context: int, site: int, places: Mapping[int, Mapping[Any, Held]]
    ) -> Iterator[_Call]:
        """Yield the calls from the innermost, which is at *site*."""
        while True:
            call = one.contexts[context - 1] if context else None
            symbol = self._own if call is None else self._program.followed[0][call["function"]]
            yield _Call(self._frames.uses[symbol], self._program.sites[site][1], places.get(context, {}))
            if call is None:
                return
            context, site = int(call["outer"]), int(call["site"])


def _taken_apart(word: int) -> tuple[int, int]:
    """Return the number of the allocation and the offset that a pointer is in C."""
    number = word + (1 << OFFSET_BITS - 1) >> OFFSET_BITS
    return number, word - (number << OFFSET_BITS)


def _certain(chain: Chain) -> None:
    """Raise `UnclearPart` where it depends on the moment whether a variable is another one."""
    for step, behind in pairwise(chain):
        if on_chip(step.allocation) and not step.moved and behind.name is not None and behind.moved:
            raise UnclearPart(behind.name.text)


def _attributed(
    extents: Extents, allocation: Allocation, entry: Any, chains: Sequence[Chain]
) -> Iterator[tuple[ArrayPart, int, int]]:
    """Yield the parts that the pieces of *entry* belong to, as `Extents` has them.  Raises `UnclearPart` where a piece may be of two."""
    reached = (extents.nearest(chain, allocation) for chain in chains)
    known = list(dict.fromkeys(part for part in reached if part is not None))
    unnamed = any(chain and chain[0].name is None for chain in chains)  # an array by its own name
    several = len(known) > 1 or (known and unnamed)
    bounds = sorted([part.offset for part in known] + [0] * unnamed)
    for low, high in entry["span"][: entry["many"]].tolist():
        if not several:
            yield (known[0] if known else extents.whole(allocation)), low, high
            continue
        if bounds[0] > low or len(set(bounds)) < len(bounds) or any(low < b < high for b in bounds):
            raise UnclearPart("a line that uses several parts")
        part = next((p for p in reversed(known) if p.offset == max(b for b in bounds if b <= low)), None)
        if part is None:  # it is the array, if that is the one
            raise UnclearPart("a line that uses an array by its name")
        yield part, low, high


def _overlap(parts: Sequence[_Pieces]) -> bool:
    """Return whether one of *parts* reads bytes that it and another one write."""
    bounds = sorted({b for p in parts for pair in (*p.reads, *p.writes) for b in pair})
    for at in bounds:
        writers = [p for p in parts if any(low <= at < high for low, high in p.writes)]
        if len(writers) > 1 and any(low <= at < high for p in writers for low, high in p.reads):
            return True
    return False
