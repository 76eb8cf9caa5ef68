"""Links files for a kernel: the code it reaches by symbol, rows, declarations, and the memory of its variables."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from types import CodeType
from typing import Any

from attrs import define, field, frozen

from mlusim.arch.board import Arch
from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.leaving import STAYING, Outliving, PointerFlow, flow_of, leaving
from mlusim.bangc.ir.walk import circles, inner_names
from mlusim.bangc.render import emit as b
from mlusim.bangc.render.emit import Uses, named_layout
from mlusim.bangc.render.statements import Rendered, initial, render
from mlusim.counted import plural
from mlusim.errors import Unsupported, shown_file
from mlusim.memory.allocation import StackVariable


class Home:
    """The owner of the GDRAM variables of one file, which stays the same if the file is translated again."""


@define(eq=False)
class File:
    """A lowered file; ``rendered`` collects functions as they are rendered."""

    form: ir.TranslationUnit
    home: Home = field(factory=Home)
    rendered: dict[tuple[str, bool, bool, bool, bool], Rendered] = field(factory=dict)
    initials: dict[str, tuple[ast.expr, Uses]] = field(factory=dict)
    flows: dict[str, PointerFlow] = field(factory=dict)  # how pointers go through its functions, by symbol

    def function(
        self,
        symbol: str,
        *,
        leaving: Outliving = STAYING,
        deep: bool = False,
        checked: bool = False,
        covered: bool = False,
    ) -> Rendered:
        """Return the rendered function *symbol*; its variables *leaving*, and the rest, are as in `render`."""
        key = symbol, bool(leaving), deep, checked, covered
        rendered = self.rendered.get(key)
        if rendered is None:
            rendered = self.rendered[key] = render(
                self.form.functions[symbol], leaving=leaving, deep=deep, checked=checked, covered=covered
            )
        return rendered

    def flow(self, symbol: str) -> PointerFlow:
        """Return how pointers go through the function *symbol*."""
        if symbol not in self.flows:
            self.flows[symbol] = flow_of(self.form.functions[symbol])
        return self.flows[symbol]

    def initial(self, symbol: str) -> tuple[ast.expr, Uses] | None:
        """Return the non-constant initial value of a host variable at file scope, with its references; None without one."""
        expression = self.form.initialisers.get(symbol)
        if expression is None:
            return None
        rendered = self.initials.get(symbol)
        if rendered is None:
            rendered = self.initials[symbol] = initial(self.form.globals[symbol], expression)
        return rendered


@define(eq=False)
class FilePart:
    """The reached part of one file: code by symbol, code that declares variables, by symbol, and layouts by name."""

    file: "File"
    code: dict[str, CodeType] = field(factory=dict)
    declarations: dict[str, CodeType] = field(factory=dict)
    layouts: dict[str, t.Type] = field(factory=dict)
    symbols: dict[str, None] = field(factory=dict)  # symbols of variables at file scope


@define(eq=False, slots=False)
class LinkPlan:
    """Everything that the function ``symbol`` reaches.

    ``variables`` are those in GDRAM, each with its file; ``absent`` has stubs of missing functions, which
    raise the reason; ``deep`` has the code of recursive device functions.
    """

    symbol: str
    parts: list[FilePart] = field(factory=list)
    rows: dict[str, None] = field(factory=dict)
    variables: dict[ir.Global, File] = field(factory=dict)
    absent: dict[str, Callable[..., Any]] = field(factory=dict)
    deep: frozenset[CodeType] = frozenset()
    # Variables whose addresses leave their function, by its symbol.
    leaving: Mapping[str, Outliving] = field(factory=dict)
    # Functions whose address is taken, in the order of their addresses.
    pointed: dict[str, None] = field(factory=dict)
    again: "Callable[[bool, bool], LinkPlan] | None" = None
    _watched: "dict[tuple[bool, bool], LinkPlan]" = field(factory=dict)

    def watched(self, *, checked: bool, covered: bool) -> "LinkPlan":
        """Return this plan with code that reports silently changing values, outcomes of tests, or both; rendered on first use."""
        if self.again is None or not (checked or covered):
            return self
        key = checked, covered
        if key not in self._watched:
            self._watched[key] = self.again(checked, covered)
        return self._watched[key]


def find(files: "Sequence[File]", file: "File", symbol: str) -> "tuple[File, ir.Function] | None":
    """Return the definition of *symbol*, preferably the one in *file*, or None."""
    # Its own file first: several files may have static functions with the same name.
    for candidate in (file, *files):
        function = candidate.form.functions.get(symbol)
        if function is not None and not function.external and function.hosted is None:
            return candidate, function
    return None


def link(
    files: "Sequence[File]", file: "File", symbol: str, *, checked: bool = False, covered: bool = False
) -> LinkPlan:
    """Return the plan of all that *symbol* of *file* reaches; each file keeps its own variables.

    *checked* code reports values that change silently, *covered* code the outcomes of tests.
    """
    how = {"checked": checked, "covered": covered}
    again = None if checked or covered else lambda a, b: link(files, file, symbol, checked=a, covered=b)
    plan = LinkPlan(symbol, again=again)
    parts: dict[int, FilePart] = {}
    work = [(file, symbol)]
    done: set[str] = set()
    calls: dict[str, tuple[str, ...]] = {}
    invoking: list[str] = []
    while work:
        unit, wanted = work.pop()
        if wanted in done:
            continue
        done.add(wanted)
        definition = find(files, unit, wanted)
        if definition is None or definition[1].problem is not None:
            plan.absent[wanted] = _absent(unit, wanted, None if definition is None else definition[1])
            continue
        part = parts.setdefault(id(definition[0]), FilePart(definition[0]))
        rendered = part.file.function(wanted, checked=checked, covered=covered)
        part.code[wanted] = rendered.code
        calls[wanted] = tuple(_met(plan, part, rendered.uses))
        work += [(part.file, s) for s in calls[wanted]]
        if rendered.uses.invokes:
            invoking.append(wanted)
    for caller in invoking:
        # A call through a pointer may reach any function whose address is taken, including the caller.
        calls[caller] += tuple(plan.pointed)
    plan.parts = list(parts.values())
    plan.leaving = leaving({s: part.file.flow(s) for part in plan.parts for s in part.code})
    _again(plan, circles(calls) if file.form.functions[symbol].kind != "host" else frozenset(), how)
    for part in plan.parts:
        _declare(plan, part)
    return plan


def _again(plan: LinkPlan, deep: frozenset[str], how: Mapping[str, bool]) -> None:
    """Render again the recursive functions *deep*, with code that counts their depth, and those whose variables leave them, with code that ends these."""
    for part in plan.parts:
        for symbol in part.code.keys() & (deep | plan.leaving.keys()):
            outliving, recursive = plan.leaving.get(symbol, STAYING), symbol in deep
            rendered = part.file.function(symbol, leaving=outliving, deep=recursive, **how)
            part.code[symbol] = rendered.code
    plan.deep = frozenset(c for part in plan.parts for s, c in part.code.items() if s in deep)


def _met(plan: LinkPlan, part: FilePart, uses: Uses) -> Iterator[str]:
    """Record the references of the code in *part*, and yield the functions among them."""
    part.layouts.update(uses.layouts)
    plan.rows.update(uses.rows)
    plan.pointed.update(uses.pointed)
    yield from uses.symbols
    for symbol in uses.globals:
        if symbol not in part.symbols:
            part.symbols[symbol] = None
            initial = part.file.initial(symbol)
            if initial is not None:
                yield from _met(plan, part, initial[1])


def _absent(unit: "File", symbol: str, function: ir.Function | None) -> Callable[..., Any]:
    """Return a stub for *symbol* that raises `Unsupported` with the reason when it is called."""
    declared = function or unit.form.functions.get(symbol)
    name = declared.name if declared is not None else symbol
    problem = None if function is None else function.problem
    why = (
        "is not defined in any of the loaded files"
        if problem is None
        else f"does not translate: {problem.span}: {problem.message}"
    )

    # A fault only on a call: a kernel that never calls the function can run.
    def missing(*_: object) -> None:
        raise Unsupported(f"{name} {why}")

    return missing


def _declare(plan: LinkPlan, part: FilePart) -> None:
    """Generate code that declares the reached variables at file scope, in order, each at its own source line."""
    globals_: Mapping[str, ir.Global] = part.file.form.globals
    for variable in sorted((globals_[s] for s in part.symbols), key=lambda g: (g.span.file, g.span.line)):
        name, kind = named_layout(variable.type)
        part.layouts[name] = kind
        initial = part.file.initial(variable.symbol)
        if initial is not None:
            value: ast.expr = initial[0]
        elif variable.space == ir.GDRAM:
            value = b.call("_c_device_variable", b.constant(len(plan.variables)), b.name(name))
            plan.variables[variable] = part.file
        elif variable.space:
            values = () if variable.initial is None else (b.constant(variable.initial),)
            declared = b.constant((variable.space, variable.name, variable.align))
            value = b.call("_c_declare", declared, b.name(name), *values)
        else:
            value = b.call("_c_constant", b.name(name), b.constant(variable.initial))
        if variable.fixed and variable.space != ir.GDRAM:
            value = b.call("_c_fixed", value, b.constant(variable.fixed))
        # The alias is unique among files; the source name, if unique in the file, is added for users who
        # inspect the kernel.
        targets: list[ast.expr] = [
            b.target(name) for name in dict.fromkeys((variable.alias, variable.called))
        ]
        node = b.at(ast.Assign(targets, value), variable.span)
        tree = ast.fix_missing_locations(ast.Module([node], []))
        part.declarations[variable.symbol] = compile(tree, variable.span.file, "exec")


# The on-chip memory that a kernel and the functions it reaches declare, compared with what an architecture
# has.

SPACES = ("NRAM", "WRAM", "SRAM")


@frozen
class DeclaredMemory:
    """On-chip memory declared by a kernel: ``nbytes`` by space; ``largest`` describes the largest variable in each space."""

    nbytes: dict[str, int]
    largest: dict[str, str]

    def too_large(self, name: str, arch: Arch) -> Iterator[str]:
        """Yield a sentence for each space in which the kernel *name* declares more than *arch* has; the vendor's compiler refuses that."""
        for space, limit in arch.limits(compiled=True).items():
            have = self.nbytes[space]
            if have > limit:
                yield (
                    f"{name} declares {have:,} {plural(have, 'byte')} of {space}, {have - limit:,} more than the "
                    f"{limit:,} of {arch.name}, most for {self.largest[space]}; declare less, or let arrays share their bytes"
                )


def declared_memory(plan: LinkPlan) -> DeclaredMemory:
    """Return the on-chip memory that *plan* declares, by space."""
    nbytes = dict.fromkeys(SPACES, 0)
    most: dict[str, tuple[int, str]] = {}
    for space, name, size, span in _variables(plan):
        nbytes[space] += size
        if space not in most or size > most[space][0]:
            most[space] = size, f"{name} ({shown_file(span.file)}:{span.line})"
    return DeclaredMemory(nbytes, {space: name for space, (_, name) in most.items()})


def _variables(plan: LinkPlan) -> Iterator[tuple[str, str, int, ir.Span]]:
    """Yield the space, name, size and location of each on-chip variable in the reached files and functions."""
    for part in plan.parts:
        for symbol in part.symbols:
            variable = part.file.form.globals[symbol]
            if variable.space.upper() in SPACES:
                yield variable.space.upper(), variable.name, variable.type.size, variable.span
        for symbol in part.code:
            for local in part.file.form.functions[symbol].locals:
                if local.space.upper() in SPACES:
                    yield local.space.upper(), local.source_name, local.type.size, local.span


# The stack of a kernel: the local variables of its functions that are alive together at the peak of stack
# use.

# Structs, and arrays of anything but numbers, up to this many bytes use no stack [I].
IN_REGISTERS = 256

Frame = tuple[int, tuple[StackVariable, ...]]  # number of bytes, and the variables that have them


class StackFrames:
    """The stack frames of functions by symbol; a recursive call counts once, a call through a pointer not at all."""

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self._functions = functions
        self._frames: dict[str, Frame] = {}

    def most(self, symbol: str) -> Frame:
        """Return the variables of the function *symbol* and its callees that are alive at the peak of its stack use."""
        function = self._functions.get(symbol)
        if function is None:
            return 0, ()
        if symbol not in self._frames:
            self._frames[symbol] = 0, ()  # the contribution of a recursive call
            parameters = tuple(_stack_variables(function.parameters, function))
            self._frames[symbol] = self._peak(
                function.body, (sum(v.nbytes for v in parameters), parameters), function
            )
        return self._frames[symbol]

    def _peak(self, node: Any, live: Frame, function: ir.Function) -> Frame:
        """Return the variables alive at the peak within *node*, if *live* is alive before it."""
        best = live
        if node.__class__ is tuple:
            for part in node:
                best = max(best, self._peak(part, live, function), key=itemgetter(0))
                if isinstance(part, ir.Declare):
                    live = _both(live, _stack_variables((part.local,), function))
            return max(best, live, key=itemgetter(0))
        for name in inner_names(node.__class__) or ():
            best = max(best, self._peak(getattr(node, name), live, function), key=itemgetter(0))
        if isinstance(node, ir.Call):
            best = max(best, _both(live, self.most(node.symbol)[1]), key=itemgetter(0))
        return best


def _both(live: Frame, more: Iterable[StackVariable]) -> Frame:
    added = tuple(more)
    return (live[0] + sum(v.nbytes for v in added), (*live[1], *added)) if added else live


def _stack_variables(locals_: Iterable[ir.Local], function: ir.Function) -> Iterable[StackVariable]:
    for local in locals_:
        held = isinstance(local.type, t.Array | t.Struct) and local.storage is ir.Storage.CELL
        if local.stack or (held and local.type.size > IN_REGISTERS):
            span, kind = local.span, "array" if isinstance(local.type, t.Array) else "structure"
            name = f"{local.source_name or 'a variable'} of {function.name}"
            yield StackVariable(name, kind, local.type.size, span.file, span.line)
