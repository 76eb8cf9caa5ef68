"""The roots of pointers of BANG C: the variable from which each operand is computed, by the intermediate form."""

from collections.abc import Iterator
from typing import Any

import attrs
from attrs import define, field, frozen

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t

_LEAVES = (ir.Local, ir.Global, t.Arithmetic, t.Pointer, t.Array, t.Record)
_STATEMENTS = (
    ir.Declare, ir.Evaluate, ir.If, ir.Loop, ir.Switch, ir.Section, ir.Break, ir.Continue, ir.Return, ir.Block,
    ir.Labelled, ir.Goto, ir.Finally,
)  # fmt: skip


@frozen(eq=False)
class Root:
    """The variable that a pointer is computed from: a local or a member of it, or an array at file scope.

    With ``plain`` nothing was added on the way, so that it is the same pointer by another name.
    """

    local: ir.Local | None = None
    path: tuple[str, ...] = ()
    variable: ir.Global | None = None
    plain: bool = True

    def of(self, *names: str) -> "Root":
        """Return the root of a member."""
        return attrs.evolve(self, path=(*self.path, *names))

    def moved(self) -> "Root":
        """Return the root of a pointer that is no longer the variable itself."""
        return attrs.evolve(self, plain=False)


@define(eq=False)
class FunctionUses:
    """The uses in a function, by line: instructions, pointers to elements that are accessed, calls; and what its locals are given."""

    function: ir.Function
    rows: dict[tuple[int, str], list[ir.IntrinsicCall]] = field(factory=dict)
    elements: dict[int, list[ir.Expr]] = field(factory=dict)
    calls: dict[tuple[int, str], list[ir.Call]] = field(factory=dict)
    given: dict[ir.Local, list[ir.Expr]] = field(factory=dict)


def uses_of(function: ir.Function) -> FunctionUses:
    """Read the uses of pointers in *function* once."""
    found = FunctionUses(function)
    for statement in function.body:
        for node, line in _walk(statement, statement.span.line):
            # A call that is spread over lines is announced by the machine at its first or at its statement's.
            lines = dict.fromkeys((line, node.span.line)) if hasattr(node, "span") else {line: None}
            for at in lines:
                if isinstance(node, ir.IntrinsicCall):
                    found.rows.setdefault((at, node.row), []).append(node)
                elif isinstance(node, ir.Element):
                    found.elements.setdefault(at, []).append(node.pointer)
                elif isinstance(node, ir.Call):
                    found.calls.setdefault((at, node.symbol), []).append(node)
            if isinstance(node, ir.Declare) and node.value is not None:
                found.given.setdefault(node.local, []).append(node.value)
            elif isinstance(node, ir.Assign | ir.Update) and isinstance(node.place, ir.LocalStorage):
                found.given.setdefault(node.place.local, []).append(node.value)
    return found


def _walk(node: object, line: int) -> Iterator[tuple[Any, int]]:
    """*node* and all that is in it, each with the line of its statement."""
    if isinstance(node, tuple):
        for part in node:
            yield from _walk(part, line)
    elif attrs.has(type(node)) and not isinstance(node, _LEAVES):
        line = node.span.line if isinstance(node, _STATEMENTS) else line
        yield node, line
        for name in _names(type(node)):
            yield from _walk(getattr(node, name), line)


def _names(kind: type) -> tuple[str, ...]:
    left_out = ("type", "span", "within", "local", "overload")
    return tuple(a.name for a in attrs.fields(kind) if a.name not in left_out)


def roots(node: ir.Expr) -> list[Root]:
    """Find the variables that a pointer is computed from; several where a condition chooses, none where it cannot be told."""
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
    """Find the variables that the address of *place* is computed from."""
    match place:
        case ir.LocalStorage():
            return [Root(place.local)]
        case ir.GlobalPlace():
            return [Root(variable=place.variable)]
        case ir.Element():
            # &a[0] is a itself.
            known = isinstance(place.index, ir.Const) and place.index.value == 0
            return [root if known else root.moved() for root in roots(place.pointer)]
        case ir.Member():
            return [root.of(place.name) for root in address_roots(place.base)]
        case _:
            return []


def _stored(place: ir.Place) -> list[Root]:
    """Return the variable or the member that holds a pointer; a reference is what it refers to."""
    if isinstance(place, ir.Element):
        pointer = place.pointer
        refers = isinstance(pointer, ir.Load) and isinstance(pointer.place, ir.LocalStorage)
        return [Root(pointer.place.local)] if refers else []  # type: ignore[union-attr]
    return address_roots(place)
