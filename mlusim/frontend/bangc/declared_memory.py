"""The memory that a kernel and the functions below it declare: on the chip, against what an architecture has, and on the stack."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from mlusim.arch.board import Arch
from mlusim.counted import plural
from mlusim.errors import shown_file
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import inner_names
from mlusim.frontend.bangc.link import LinkPlan
from mlusim.memory.declaration import StackVariable

SPACES = ("NRAM", "WRAM", "SRAM")


@frozen
class DeclaredMemory:
    """The memory that a kernel declares: ``nbytes`` of each on-chip space, and ``largest``, the words for the variable that takes most."""

    nbytes: dict[str, int]
    largest: dict[str, str]

    def too_large(self, name: str, arch: Arch) -> Iterator[str]:
        """Return a sentence for each space of which the kernel *name* declares more than *arch* has, which the vendor's compiler refuses."""
        for space, limit in arch.limits(compiled=True).items():
            have = self.nbytes[space]
            if have > limit:
                yield (
                    f"{name} declares {have:,} {plural(have, 'byte')} of {space}, {have - limit:,} more than the "
                    f"{limit:,} of {arch.name}, most for {self.largest[space]}; declare less, or let arrays share their bytes"
                )


def declared_memory(plan: LinkPlan) -> DeclaredMemory:
    """Return what *plan* declares of each on-chip space."""
    nbytes = dict.fromkeys(SPACES, 0)
    most: dict[str, tuple[int, str]] = {}
    for space, name, size, span in _variables(plan):
        nbytes[space] += size
        if space not in most or size > most[space][0]:
            most[space] = size, f"{name} ({shown_file(span.file)}:{span.line})"
    return DeclaredMemory(nbytes, {space: told for space, (_, told) in most.items()})


def _variables(plan: LinkPlan) -> Iterator[tuple[str, str, int, ir.Span]]:
    """Yield the space, name, bytes and place of each on-chip variable, of the files and of the functions that are reached."""
    for part in plan.parts:
        for symbol in part.symbols:
            variable = part.file.form.globals[symbol]
            if variable.space.upper() in SPACES:
                yield variable.space.upper(), variable.name, variable.type.size, variable.span
        for symbol in part.code:
            for local in part.file.form.functions[symbol].locals:
                if local.space.upper() in SPACES:
                    yield local.space.upper(), local.source_name, local.type.size, local.span


# The stack of a kernel: which local variables of its functions are alive at once where they take most
# bytes.

IN_REGISTERS = (
    256  # bytes up to which a record, or an array of what is no number, takes nothing of the stack [I]
)

Frame = tuple[int, tuple[StackVariable, ...]]  # bytes, and whose they are


class StackFrames:
    """The frames of the functions called by their symbols; a call inside itself counts once, a call by address not."""

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self._functions = functions
        self._found: dict[str, Frame] = {}

    def most(self, symbol: str) -> Frame:
        """Return the variables of the function *symbol*, and of those that it calls, that are alive where they take most."""
        function = self._functions.get(symbol)
        if function is None:
            return 0, ()
        if symbol not in self._found:
            self._found[symbol] = 0, ()  # what a call inside itself adds
            given = tuple(_stack_variables(function.parameters, function))
            self._found[symbol] = self._peak(function.body, (sum(v.nbytes for v in given), given), function)
        return self._found[symbol]

    def _peak(self, node: Any, live: Frame, function: ir.Function) -> Frame:
        """Return the most that is alive in *node*, where *live* is alive in front of it."""
        best = live
        if node.__class__ is tuple:
            for part in node:
                best = max(best, self._peak(part, live, function), key=_bytes)
                if isinstance(part, ir.Declare):
                    live = _both(live, _stack_variables((part.local,), function))
            return max(best, live, key=_bytes)
        for name in inner_names(node.__class__) or ():
            best = max(best, self._peak(getattr(node, name), live, function), key=_bytes)
        if isinstance(node, ir.Call):
            best = max(best, _both(live, self.most(node.symbol)[1]), key=_bytes)
        return best


def _bytes(frame: Frame) -> int:
    return frame[0]


def _both(live: Frame, more: Iterable[StackVariable]) -> Frame:
    added = tuple(more)
    return (live[0] + sum(v.nbytes for v in added), (*live[1], *added)) if added else live


def _stack_variables(locals_: Iterable[ir.Local], function: ir.Function) -> Iterable[StackVariable]:
    for local in locals_:
        if _on_stack(local):
            span, kind = local.span, "array" if isinstance(local.type, t.Array) else "structure"
            told = f"{local.source_name or 'a variable'} of {function.name}"
            yield StackVariable(told, kind, local.type.size, span.file, span.line)


def _on_stack(local: ir.Local) -> bool:
    if local.stack:
        return True
    held = isinstance(local.type, t.Array | t.Record) and local.storage is ir.Storage.CELL
    return held and local.type.size > IN_REGISTERS
