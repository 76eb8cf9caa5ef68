"""The variables that an operand of a running BANG C kernel comes from: through calls, up to the declared array."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import FunctionUses, Root, roots, uses_of
from mlusim.bangc.runtime.variables import Cell
from mlusim.isa.table import ISA
from mlusim.machine.hub import Effect
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.bangc.module import BangKernel

DEEPEST = 32  # variables that one pointer is followed through


@frozen
class PointerVariable:
    """A pointer variable: its function, its spelling in the source, and its declaration."""

    function: str
    text: str
    type: str
    file: str
    line: int


@frozen(eq=False)
class PointerStep:
    """A variable on the way from an operand to its array, with its current value; *plain*: it is a copy of the next variable.

    A variable that *moved* has had another value in the same task; one that is *apart* has differed from the next
    variable at some time.
    """

    name: PointerVariable | None
    allocation: Allocation | None
    offset: int
    plain: bool = False
    moved: bool = False
    apart: bool = False


Held = tuple[Allocation | None, int, bool, bool]
"""The value of a pointer variable: allocation and offset; then whether it had another value before in the same task,
and whether it differed from the variable that it is computed from."""


class FunctionCall(Protocol):
    """An active call of a function of the kernel: its uses of pointers, and its current line."""

    @property
    def uses(self) -> FunctionUses: ...
    @property
    def line(self) -> int: ...
    def held(self, root: Root) -> Held | None: ...


class CalledFunction:
    """A function of the kernel on the Python stack: its frame, and its uses of pointers."""

    def __init__(self, frame: FrameType, uses: FunctionUses) -> None:
        self.uses = uses
        self._frame = frame

    @property
    def line(self) -> int:
        """The line that the function is at."""
        return self._frame.f_lineno

    @cached_property
    def locals(self) -> Mapping[str, Any]:
        """Its local variables, copied once, since an instruction reads several."""
        return self._frame.f_locals

    def held(self, root: Root) -> Held | None:
        """Return the current value of the variable *root*."""
        assert root.local is not None
        value = _of_cell(self.locals.get(root.local.name))
        for name in root.path:
            value = _of_cell(getattr(value, name, None))
        return (value.view.allocation, value.offset, False, False) if isinstance(value, Ptr) else None


Chain = tuple[PointerStep, ...]
"""From the nearest variable to the array, whose step has no name."""


class Frames:
    """Finds the variables that lead to the operands of a kernel's instructions."""

    def __init__(self, kernel: "BangKernel") -> None:
        self.uses: dict[str, FunctionUses] = {}  # by the symbol of the function
        # Code objects hash and compare by all of their contents; identity is cheaper.
        self._codes: dict[int, FunctionUses] = {}
        self._roots: dict[tuple[str, int, str | None, int], list[Root]] = {}  # of arguments at lines
        self._origins: dict[tuple[ir.Local | None, tuple[str, ...]], _Origin] = {}
        for part in kernel.plan.parts:
            for symbol, code in part.code.items():
                self.uses[symbol] = self._codes[id(code)] = uses_of(part.file.form.functions[symbol])

    def behind(self, effect: Effect) -> Iterator[tuple[int, Ptr | None, Sequence[Chain]]]:
        """Yield for each pointer argument of *effect* its number, the pointer, and the chains to its array.

        A scalar access has only its element.  There are several chains after a conditional expression, or if a line
        has several calls.
        """
        stack = list(self._stack(sys._getframe(1)))  # noqa: SLF001 - the kernel's frame is above that of the instruction
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
        """Return the chains to the array of argument number *argument* of *row*, which the top of *stack* calls; without *row* those of an element."""
        line, uses = stack[0].line, stack[0].uses
        key = uses.function.symbol, line, row, argument
        origins = self._roots.get(key)
        if origins is None:
            if row is None:
                pointers = [*uses.elements.get(line, ())]
                # Instructions that are scalar accesses, such as `__store_nram`, too.
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
        """Yield each chain of variables from *root*, a variable of the frame at *depth*, to a declared array."""
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
        """Yield the chains through the caller's argument for the parameter *root*."""
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
    """A variable in the source: its name, the variable *before* it from which it is computed, and whether it is a copy of that."""

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
    """Return whether a root is a local array itself, which has a part of its own only if it is accessed by its name."""
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
        kind = kind.field(member).type if isinstance(kind, t.Struct) else t.VOID
    spelling = str(kind) if root.path else local.spelling
    return PointerVariable(function.name, text, spelling, local.span.file, local.span.line)
