"""The variables that an operand comes from while a kernel of BANG C runs: through calls, up to the array that was declared."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.ir.walk import FunctionUses, Root, roots, uses_of
from mlusim.frontend.bangc.runtime.variables import Cell
from mlusim.isa.table import ISA
from mlusim.machine.hub import Effect
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import BangKernel

DEEPEST = 32  # variables that one pointer is followed through


@frozen
class PointerVariable:
    """A pointer variable: its function, how the programmer writes it, and its declaration."""

    function: str
    text: str
    type: str
    file: str
    line: int


@frozen(eq=False)
class PointerStep:
    """A variable on the way from an operand to its array: what it holds now.  *plain*: it is the one before it.

    *moved* ones are known to have held something else in the same task, too, and those *apart* to have been somewhere else than the one
    before at some time.
    """

    name: PointerVariable | None
    allocation: Allocation | None
    offset: int
    plain: bool = False
    moved: bool = False
    apart: bool = False


Held = tuple[Allocation | None, int, bool, bool]
"""The place that a pointer variable holds, in which memory; what is known of another moment: whether it held another one in the same task,
and whether the variable that it is computed from did."""


class FunctionCall(Protocol):
    """A function of the kernel that has been called: its uses of pointers, and the line that it is at."""

    @property
    def uses(self) -> FunctionUses: ...
    @property
    def line(self) -> int: ...
    def held(self, root: Root) -> Held | None: ...


class CalledFunction:
    """A function of the kernel that is on the stack: its frame, and its uses of pointers."""

    def __init__(self, frame: FrameType, uses: FunctionUses) -> None:
        self.uses = uses
        self._frame = frame

    @property
    def line(self) -> int:
        """The line that it is at."""
        return self._frame.f_lineno

    @cached_property
    def locals(self) -> Mapping[str, Any]:
        """Its variables, copied once: an instruction asks for several."""
        return self._frame.f_locals

    def held(self, root: Root) -> Held | None:
        """Return what the variable *root* holds now."""
        assert root.local is not None
        value = _of_cell(self.locals.get(root.local.name))
        for name in root.path:
            value = _of_cell(getattr(value, name, None))
        return (value.view.allocation, value.offset, False, False) if isinstance(value, Ptr) else None


Chain = tuple[PointerStep, ...]
"""From the nearest variable to the array, which has no name here."""


class Frames:
    """Finds the variables that lead to the operands of a kernel's instructions."""

    def __init__(self, kernel: "BangKernel") -> None:
        self.uses: dict[str, FunctionUses] = {}  # by the symbol of the function
        # By identity: code objects hash and compare by all of their contents.
        self._codes: dict[int, FunctionUses] = {}
        self._roots: dict[tuple[str, int, str | None, int], list[Root]] = {}  # of arguments at lines
        self._origins: dict[tuple[ir.Local | None, tuple[str, ...]], _Origin] = {}
        for part in kernel.plan.parts:
            for symbol, code in part.code.items():
                self.uses[symbol] = self._codes[id(code)] = uses_of(part.file.form.functions[symbol])

    def behind(self, effect: Effect) -> Iterator[tuple[int, Ptr | None, Sequence[Chain]]]:
        """Yield for each pointer that *effect* was given its number, the pointer, and the ways to its array.

        A scalar access has only its element.  There are several ways if a condition chose, or if a line has several.
        """
        stack = list(self._stack(sys._getframe(1)))  # noqa: SLF001 - the kernel is behind the instruction
        if not stack:
            return
        row = effect.step.row
        if row is None:
            yield 0, None, self.ways(stack, None)
            return
        for n, argument in enumerate(effect.arguments):
            if isinstance(argument, Ptr):
                yield n, argument, self.ways(stack, row.name, n)

    def ways(self, stack: Sequence[FunctionCall], row: str | None, argument: int = 0) -> "list[Chain]":
        """Return the ways to the array of the argument of *row* that has the number *argument*, which *stack* calls; without *row* of an element."""
        line, uses = stack[0].line, stack[0].uses
        key = uses.function.symbol, line, row, argument
        origins = self._roots.get(key)
        if origins is None:
            if row is None:
                pointers = [*uses.elements.get(line, ())]
                # Instructions that are scalar accesses, as `__store_nram`, too.
                for (at, name), calls in uses.rows.items():
                    if at == line and ISA[name].form in ("load", "store"):
                        pointers += [call.arguments[0] for call in calls]
            else:
                nodes = uses.rows.get((line, row), ())
                pointers = [node.arguments[argument] for node in nodes if argument < len(node.arguments)]
            origins = self._roots[key] = [r for pointer in pointers for r in roots(pointer)]
        return [c for r in origins for c in self._chains(r, stack, 0)]

    def _stack(self, frame: FrameType | None) -> Iterator[CalledFunction]:
        while frame is not None:
            uses = self._codes.get(id(frame.f_code))
            if uses is not None:
                yield CalledFunction(frame, uses)
            frame = frame.f_back

    def _chains(
        self, root: Root, stack: Sequence[FunctionCall], depth: int, length: int = 0
    ) -> Iterator[Chain]:
        """Yield each chain of variables that leads from *root*, a variable of the frame at *depth*, to a declared array."""
        if root.local is None or length > DEEPEST:
            yield ()
            return
        uses = stack[depth].uses
        if root.local.parameter:
            yield from self._through_call(root, stack, depth, length)
            return
        held = stack[depth].held(root)
        if held is None:
            return
        key = root.local, root.path
        origin = self._origins.get(key)
        if origin is None:
            origin = self._origins[key] = _origin(uses, root)
        here = PointerStep(origin.name, held[0], held[1], origin.plain, held[2], held[3])
        rests = () if origin.before is None else self._chains(origin.before, stack, depth, length + 1)
        rest: Chain | None = None
        for rest in rests:
            yield (here, *rest)
        if rest is None:
            yield (here,)

    def _through_call(
        self, root: Root, stack: Sequence[FunctionCall], depth: int, length: int
    ) -> Iterator[Chain]:
        """Yield the ways through what the caller gave for a parameter."""
        if depth + 1 == len(stack):
            return
        function = stack[depth].uses.function
        line, caller = stack[depth + 1].line, stack[depth + 1].uses
        at = next(n for n, p in enumerate(function.parameters) if p is root.local)
        for call in caller.calls.get((line, function.symbol), ()):
            for origin in roots(call.arguments[at]):
                yield from self._chains(origin.of(*root.path), stack, depth + 1, length + 1)


@frozen(eq=False)
class _Origin:
    """A variable as the source shows it: its name, whether it is the one *before* it, from which it is computed."""

    name: PointerVariable | None
    plain: bool
    before: Root | None


def _origin(uses: FunctionUses, root: Root) -> _Origin:
    name = None if _is_array(root) else _variable(uses.function, root)
    values = [] if root.path or root.local is None else uses.assigned.get(root.local, [])
    before = next((r for value in values for r in roots(value) if r.local is not root.local), None)
    plain = len(values) == 1 and before is not None and before.plain
    return _Origin(name, plain and before.local is not None and not _is_array(before), before)  # type: ignore[union-attr, arg-type]


def _is_array(root: Root) -> bool:
    """Return whether a root is a local array itself, which has a line of its own only where it is used by its name."""
    return root.local is not None and not root.path and isinstance(root.local.type, t.Array)


def _of_cell(value: object) -> Any:
    return value.v if isinstance(value, Cell) else value


def _variable(function: ir.Function, root: Root) -> PointerVariable:
    local = root.local
    assert local is not None
    text = ".".join((local.source_name, *root.path))
    kind: t.Type = local.type
    for member in root.path:
        kind = kind.to if isinstance(kind, t.Pointer) else kind
        kind = kind.field(member).type if isinstance(kind, t.Record) else t.VOID
    spelling = str(kind) if root.path else local.spelling
    return PointerVariable(function.name, text, spelling, local.span.file, local.span.line)
