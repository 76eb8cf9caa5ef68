"""Walks over a function's form: all nodes, stores, changed locals, control flow, recursion, roots of pointers; and the locations that ``#line`` sets."""

import functools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import attrs
from attrs import define, field, frozen

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir import Span, TranslationUnit

_STORES = (ir.Assign, ir.Update)
_CALLS = (ir.Call, ir.Invoke)
_EFFECTS = (*_STORES, *_CALLS, ir.IntrinsicCall, ir.LibraryCall, ir.Asm, ir.Dispatch)
_STATEMENTS = (ir.Evaluate, ir.If, ir.Loop, ir.Switch, ir.Return)


def parts_of(node: object) -> list[tuple[Any, ...]]:
    """Return the bodies of a statement other than a loop or a switch; a ``break`` in them leaves an enclosing statement."""
    if isinstance(node, ir.If):
        return [node.then, node.other]
    if isinstance(node, ir.Block):
        return [node.body]
    if isinstance(node, ir.Labelled):
        return list(node.sections)
    if isinstance(node, ir.Finally):
        return [node.body, node.last]
    return []


def falls(statements: tuple[Any, ...]) -> bool:
    """Return whether control may reach the end of *statements*, judged by the last statement."""
    last = statements[-1] if statements else None
    if isinstance(last, ir.Return | ir.Goto):
        return False
    if isinstance(last, ir.If):
        return falls(last.then) or falls(last.other)
    if isinstance(last, ir.Block):
        return falls(last.body)
    return True


def changed(nodes: Iterable[Any]) -> Mapping[ir.Local, int]:
    """Return how many of *nodes* store to each local."""
    stores = (n.place for n in nodes if isinstance(n, _STORES))
    return Counter(place.local for place in stores if isinstance(place, ir.LocalStorage))


def may_store(nodes: Iterable[Any]) -> bool:
    """Return whether *nodes* may store to memory without an instruction: anywhere but in a function's own variables."""
    return any(
        isinstance(n, ir.LibraryCall | ir.Asm)
        or (isinstance(n, _STORES) and not isinstance(innermost(n.place), ir.LocalStorage))
        for n in nodes
    )


def innermost(place: ir.Place) -> ir.Place:
    """Return the object of which *place* is a (nested) member, or *place* itself."""
    while isinstance(place, ir.Member):
        place = place.base
    return place


def acts(value: ir.Expr, *, calls: bool = True) -> bool:
    """Return whether *value* contains a store or, with *calls*, a call that may store."""
    kinds = (*_STORES, *_CALLS) if calls else _STORES
    return any(isinstance(node, kinds) for node in walk(value))


def effectful(node: object) -> bool:
    """Return whether evaluating *node* may have a side effect, so that its order relative to others may matter."""
    return any(isinstance(n, _EFFECTS) for n in walk(node))


def within(place: ir.Place) -> tuple[ir.Expr, ...]:
    """Return the expressions that determine the address of *place*, in order of evaluation."""
    if isinstance(place, ir.Element):
        return place.pointer, place.index
    if isinstance(place, ir.Member):
        return within(place.base)
    return (place.value,) if isinstance(place, ir.Temporary) else ()


@frozen
class MemberArray:
    """The array member *at* to which an element belongs; *whole* if the element's pointer is the start of that array."""

    at: ir.Member
    whole: bool

    @property
    def words(self) -> str:
        """Return how a fault names the array."""
        struct, name = self.at.base.type, self.at.name.partition(t.MARK)[0]
        named = isinstance(struct, t.Struct) and "(" not in struct.name and not struct.closure
        return f"the member {name} of {struct.name}" if named else f"the member {name}"  # type: ignore[union-attr]

    @property
    def open(self) -> bool:
        """True if it may stand for an array of any length: the last member, with one element or none."""
        struct, kind = self.at.base.type, self.at.type
        last = isinstance(struct, t.Struct) and struct.fields[-1] is self.at.field
        return last and isinstance(kind, t.Array) and kind.count <= 1


def member_array(at: ir.Element) -> MemberArray | None:
    """Return the array member of a struct to which the element *at* belongs, also through nested arrays; None if only a pointer leads to it."""
    pointer, whole = at.pointer, True
    while isinstance(pointer, ir.AddressOf):
        array = pointer.place
        if isinstance(array, ir.Member):
            inside = isinstance(array.type, t.Array) and not effectful(array)
            return MemberArray(array, whole) if inside else None
        if not isinstance(array, ir.Element):
            return None
        pointer, whole = array.pointer, False
    return None


def casts(nodes: Iterable[Any]) -> Mapping[tuple[ir.Local, t.Type], int]:
    """Return how many of *nodes* cast each local to each pointer type."""
    return Counter(
        (n.value.place.local, n.type.to)
        for n in nodes
        if isinstance(n, ir.Convert)
        and isinstance(n.type, t.Pointer)
        and isinstance(n.value, ir.Load)
        and isinstance(n.value.place, ir.LocalStorage)
    )


def is_branch(test: Any) -> bool:
    """Return whether coverage counts the outcome of *test*: a constant has a known outcome, and ``&&`` and ``||`` are counted by operand."""
    while isinstance(test, ir.Convert) or (isinstance(test, ir.Unary) and test.op == "!"):
        test = test.value
    return not isinstance(test, ir.Const | ir.Logical)


def branches(body: tuple[Any, ...]) -> Iterator[ir.Span]:
    """Yield the locations of the tests in *body*: of if, loops and ``?:``, and the operands of ``&&`` and ``||``."""
    for node in walk(body):
        tests: tuple[Any, ...] = ()
        if isinstance(node, ir.If | ir.Loop | ir.Conditional):
            tests = (node.test,)
        elif isinstance(node, ir.Logical):
            tests = (node.left, node.right)
        for test in tests:
            if test is not None and is_branch(test):
                yield test.span


def is_counted(node: object) -> bool:
    """Return whether coverage counts the statement *node*; jumps are not counted, only the tests before them."""
    return isinstance(node, _STATEMENTS) or (isinstance(node, ir.Declare) and node.value is not None)


def steps(body: tuple[Any, ...]) -> Iterator[ir.Span]:
    """Yield the locations of the statements in *body* that coverage counts."""
    return (node.span for node in walk(body) if is_counted(node))


def walk(node: Any) -> list[Any]:
    """Return *node* and every statement, expression and place below it."""
    nodes: list[Any] = []
    _collect(node, nodes)
    return nodes


def _collect(node: Any, nodes: list[Any]) -> None:
    # Not isinstance: a Span is a tuple too, but contains no nodes. This walk visits every node of every file.
    if node.__class__ is tuple:
        for part in node:
            _collect(part, nodes)
        return
    names = inner_names(node.__class__)
    if names is not None:
        nodes.append(node)
        for name in names:
            _collect(getattr(node, name), nodes)


@functools.cache
def inner_names(kind: type) -> tuple[str, ...] | None:
    """Return the attributes of a node that may contain nodes; None if *kind* is not a node class."""
    # Types and variables are shared between nodes, and structs may refer to themselves.
    types_and_names = (ir.Local, ir.Global, t.Arithmetic, t.Pointer, t.Array, t.Struct)
    if not attrs.has(kind) or issubclass(kind, types_and_names):
        return None
    return tuple(
        a.name
        for a in attrs.fields(kind)
        if a.name not in ("type", "span", "within", "local", "overload", "field")
    )


# Recursive functions, and the limit of the depth of their calls on a core.

DEEP = 4096
"""Limit of nested calls of recursive functions; a further call is a fault (the device's limit is unknown)."""


def circles(calls: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the functions that call themselves, directly or indirectly; *calls* has the callees of each function."""
    recursive = set()
    for symbol, called_here in calls.items():
        seen: set[str] = set()
        work = list(called_here)
        while work:
            called = work.pop()
            if called not in seen:
                seen.add(called)
                work += calls.get(called, ())
        if symbol in seen:
            recursive.add(symbol)
    return frozenset(recursive)


# The roots of pointers: the variable from which each operand is computed.

_PLACED = (
    ir.Declare, ir.Evaluate, ir.If, ir.Loop, ir.Switch, ir.Section, ir.Break, ir.Continue, ir.Return, ir.Block,
    ir.Labelled, ir.Goto, ir.Finally,
)  # fmt: skip


@frozen(eq=False)
class Root:
    """The variable from which a pointer is computed: a local or a member of it, or an array at file scope.

    With ``plain`` no offset was added, so the pointer equals the variable.
    """

    local: ir.Local | None = None
    path: tuple[str, ...] = ()
    variable: ir.Global | None = None
    plain: bool = True

    def of(self, *names: str) -> "Root":
        """Return the root for the member *names* of this root."""
        return attrs.evolve(self, path=(*self.path, *names))

    def moved(self) -> "Root":
        """Return the root of a pointer that differs from the variable by an offset."""
        return attrs.evolve(self, plain=False)


@define(eq=False)
class FunctionUses:
    """Indexes a function by line: its instructions, the pointers of accessed elements and its calls; and the values assigned to its locals."""

    function: ir.Function
    rows: dict[tuple[int, str], list[ir.IntrinsicCall]] = field(factory=dict)
    elements: dict[int, list[ir.Expr]] = field(factory=dict)
    calls: dict[tuple[int, str], list[ir.Call]] = field(factory=dict)
    assigned: dict[ir.Local, list[ir.Expr]] = field(factory=dict)


def uses_of(function: ir.Function) -> FunctionUses:
    """Return the index of *function*, from one pass over its nodes."""
    uses = FunctionUses(function)
    for statement in function.body:
        for node, line in _with_lines(statement, statement.span.line):
            # The machine announces a call that spans lines at its own first line or at the first line of its
            # statement.
            lines = dict.fromkeys((line, node.span.line)) if hasattr(node, "span") else {line: None}
            for at in lines:
                if isinstance(node, ir.IntrinsicCall):
                    uses.rows.setdefault((at, node.row), []).append(node)
                elif isinstance(node, ir.Element):
                    uses.elements.setdefault(at, []).append(node.pointer)
                elif isinstance(node, ir.Call):
                    uses.calls.setdefault((at, node.symbol), []).append(node)
            if isinstance(node, ir.Declare) and node.value is not None:
                uses.assigned.setdefault(node.local, []).append(node.value)
            elif isinstance(node, ir.Assign | ir.Update) and isinstance(node.place, ir.LocalStorage):
                uses.assigned.setdefault(node.place.local, []).append(node.value)
    return uses


def _with_lines(node: Any, line: int) -> Iterator[tuple[Any, int]]:
    """Yield *node* and all nodes in it, each with the line of its statement."""
    if isinstance(node, tuple):
        for part in node:
            yield from _with_lines(part, line)
        return
    names = inner_names(node.__class__)
    if names is not None:
        line = node.span.line if isinstance(node, _PLACED) else line
        yield node, line
        for name in names:
            yield from _with_lines(getattr(node, name), line)


def roots(node: ir.Expr) -> list[Root]:
    """Return the variables from which a pointer is computed: several for a conditional expression, none if unknown."""
    match node:
        case ir.Convert():
            return roots(node.value)
        case ir.Offset():
            return [root.moved() for root in roots(node.pointer)]
        case ir.Conditional():
            return roots(node.then) + roots(node.other)
        case ir.Assign():
            return roots(node.value)
        case ir.Comma():
            return roots(node.second)
        case ir.AddressOf():
            return address_roots(node.place)
        case ir.Load():
            return [] if isinstance(node.place, ir.GlobalPlace) else _stored(node.place)
        case _:
            return []


def address_roots(place: ir.Place) -> list[Root]:
    """Return the variables from which the address of *place* is computed."""
    match place:
        case ir.LocalStorage():
            return [Root(place.local)]
        case ir.GlobalPlace():
            return [Root(variable=place.variable)]
        case ir.Element():
            # &a[0] is a itself.
            first = isinstance(place.index, ir.Const) and place.index.value == 0
            return [root if first else root.moved() for root in roots(place.pointer)]
        case ir.Member():
            return [root.of(place.name) for root in address_roots(place.base)]
        case _:
            return []


def _stored(place: ir.Place) -> list[Root]:
    """Return the variable or member that holds a pointer; for a reference its referent."""
    if isinstance(place, ir.Element):
        pointer = place.pointer
        refers = isinstance(pointer, ir.Load) and isinstance(pointer.place, ir.LocalStorage)
        return [Root(pointer.place.local)] if refers else []  # type: ignore[union-attr]
    return address_roots(place)


# Pointers that outlive variables on the stack: returned from the function, or used after the block.


class Outlived(NamedTuple):
    """A stack variable that a pointer outlives: its name, its location, the location of the pointer's use, and a description."""

    name: str
    declared: ir.Span
    used: ir.Span
    how: str


def outlived(function: ir.Function) -> Iterator[Outlived]:
    """Yield the stack variables of *function* to which it returns a pointer, or whose pointer is used after their block.

    A use after the block counts if the last assignment to the pointer may give the address of such a
    variable.
    """
    uses, nodes = uses_of(function), walk(function.body)
    for node in nodes:
        if isinstance(node, ir.Return) and node.value is not None and isinstance(node.value.type, t.Pointer):
            for local in _on_stack(node.value, uses, set()):
                yield Outlived(
                    local.source_name, local.span, node.span, f"{function.name} returns a pointer to it"
                )
    for pointer, values in uses.assigned.items():
        if pointer.storage is not ir.Storage.STATIC and isinstance(pointer.type, t.Pointer):
            yield from _behind_block(pointer, values[-1], uses, nodes)


def _behind_block(
    pointer: ir.Local, value: ir.Expr, uses: FunctionUses, nodes: Sequence[Any]
) -> Iterator[Outlived]:
    """Yield the variable to which *pointer* points after *value* is assigned, if the pointer is loaded after that variable's block."""
    for local in _on_stack(value, uses, set()):
        if local.block is None or pointer.block == local.block:
            continue
        end = local.block.end_line, local.block.end_column
        behind = (
            n for n in nodes if isinstance(n, ir.Load | ir.Assign) and (n.span.line, n.span.column) >= end
        )
        first = next(
            (n for n in behind if isinstance(n.place, ir.LocalStorage) and n.place.local is pointer), None
        )
        if isinstance(first, ir.Load):
            how = f"{pointer.source_name} points to it behind its block, which ends at line {local.block.end_line}"
            yield Outlived(local.source_name, local.span, first.span, how)


def _on_stack(value: ir.Expr, uses: FunctionUses, seen: set[ir.Local]) -> Iterator[ir.Local]:
    """Yield the stack variables to which the pointer *value* may point, also through pointer variables of the function."""
    for root in roots(value):
        local = root.local
        if local is None or local in seen or local.parameter or root.path:
            continue
        seen.add(local)
        is_array = local.stack and isinstance(local.type, t.Array)
        if (is_array or _takes_address(value, local)) and local.storage is not ir.Storage.STATIC:
            yield local
        elif isinstance(local.type, t.Pointer) and not isinstance(local.type.to, t.Pointer):
            for source in uses.assigned.get(local, ()):
                yield from _on_stack(source, uses, seen)


def _takes_address(value: ir.Expr, local: ir.Local) -> bool:
    """Return whether *value* contains ``&v`` of *local*, a variable that is named in the source and not in on-chip memory."""
    if not local.source_name or (local.space and not local.stack):
        return False
    addresses = (node.place for node in walk(value) if isinstance(node, ir.AddressOf))
    return any(isinstance(place, ir.LocalStorage) and place.local is local for place in addresses)


_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)[ \t]+"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)


def name_lines(form: TranslationUnit, texts: Mapping[str, str]) -> None:
    """Replace the locations in *form* by those that the ``#line`` directives in *texts* (by path) set; columns stay.

    This is the last step, because the lowering needs the real locations.
    """
    tables = {path: table for path, text in texts.items() if (table := _table(text))}
    if not tables:
        return

    def named(span: Span) -> Span:
        table = tables.get(span.file)
        at = bisect_right(table, (span.line,)) - 1 if table is not None else -1
        if table is None or at < 0:
            return span
        written, line, file = table[at]
        moved = line - written - 1
        return Span(file, span.line + moved, span.column, span.end_line + moved, span.end_column)

    for holder, name, span in [*_spans(form)]:
        object.__setattr__(holder, name, named(span))


def _table(text: str) -> list[tuple[int, int, str]]:
    """Return the directives of a text: the line of each, and the line number and file that it sets for the next line."""
    return [
        (
            text.count("\n", 0, directive.start()) + 1,
            int(directive[1]),
            directive[2].replace('\\"', '"').replace("\\\\", "\\"),
        )
        for directive in _DIRECTIVE.finditer(text)
    ]


def _spans(form: TranslationUnit) -> Iterator[tuple[Any, str, Span]]:
    """Yield each location in an object of *form* once, with the object and the name of its field."""
    seen: set[int] = set()
    waiting: list[Any] = [form.functions, form.globals, form.initialisers]
    fields: dict[type, tuple[str, ...]] = {}
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, tuple | list):
            waiting += value
        elif attrs.has(type(value)) and id(value) not in seen:
            seen.add(id(value))
            names = fields.setdefault(type(value), tuple(a.name for a in attrs.fields(type(value))))
            for name in names:
                inner = getattr(value, name)
                if isinstance(inner, Span):
                    yield value, name, inner
                elif not isinstance(inner, str | int | float):
                    waiting.append(inner)
