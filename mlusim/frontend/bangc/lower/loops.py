"""Loops over the elements of something."""

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Block,
    Call,
    Compare,
    Declare,
    Element,
    Expr,
    Load,
    LocalStorage,
    Loop,
    Offset,
    Place,
    Statement,
    Temporary,
    Update,
)  # fmt: skip
from mlusim.frontend.bangc.lower import bindings, copies, places, statements
from mlusim.frontend.bangc.lower.conversions import convert
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import BEGIN, STOP, Node


def each(scope: FunctionScope, node: Node) -> list[Statement]:
    """``for (auto x : elements)``."""
    variable, source, inner = node.children[0], node.children[1], node.children[-1]
    before: list[Statement] = []
    first, last = _ends(scope, source, before)
    kind, span = first.type, node.span
    assert isinstance(kind, t.Pointer)
    at, stop = (LocalStorage(scope.hold(kind, span), kind, span) for _ in range(2))
    here = Load(at, kind, span)
    declaration = variable.decl
    assert declaration is not None
    if isinstance(declaration.type, t.Pointer) and declaration.type.reference:
        value: Expr = here
    else:
        element_at = Element(here, number(0, t.INT64, node), kind.to, span)
        value = Load(element_at, kind.to, span)
        if isinstance(kind.to, t.Record) and isinstance(declaration.type, t.Record):
            value = copies.copied(scope, element_at, declaration.type, span)
        else:
            value = convert(scope, value, declaration.type, span)
    if bindings.binds(variable):
        bound = bindings.bound(scope, variable, value)
    else:
        bound = Declare(scope.add(declaration), value, variable.span)
    body = (bound, *statements.turn(scope, inner))
    test = Compare("!=", here, Load(stop, kind, span), t.BOOL, span)
    step = Update(at, "+", number(1, t.INT64, node), kind, False, kind, span)
    loop = Loop(test, step, body, False, span)
    return [Block((*before, Declare(at.local, first, span), Declare(stop.local, last, span), loop), span)]


def _ends(scope: FunctionScope, source: Node, before: list[Statement]) -> tuple[Expr, Expr]:
    """Pointers to the first element and behind the last; a value is held *before* that."""
    kind, span = source.type, source.span
    if isinstance(kind, t.Array):
        first = scope.address(places.place(scope, source), t.Pointer(kind.of), span)
        return first, Offset(first, number(kind.count, t.INT64, source), False, first.type, span)
    if isinstance(kind, t.Record):
        this = places.address_of(scope, _held(scope, source, before), span)
        begin, end = (_own_end(scope, kind, word, this, source) for word in (BEGIN, STOP))
        if begin and end and isinstance(begin.type, t.Pointer) and isinstance(end.type, t.Pointer):
            return begin, end
    return scope.refuse("loop over elements", f"a loop over the elements of {kind} is not supported", span)


def _held(scope: FunctionScope, source: Node, before: list[Statement]) -> Place:
    """Return the place of the elements; a value is held *before* the loop."""
    held = places.place(scope, source)
    if not isinstance(held, Temporary):
        return held
    scope.refuse_destructor(source.type, source.span)
    kept = LocalStorage(scope.hold(source.type, source.span), source.type, source.span)
    before.append(Declare(kept.local, held.value, source.span))
    return kept


def _own_end(scope: FunctionScope, kind: t.Record, word: str, this: Expr, source: Node) -> Expr | None:
    """Return the result of ``begin`` or ``end`` of a class of the sources."""
    unit = scope.around.unit
    name = "begin" if word == BEGIN else "end"
    shown = (unit.reader.method(kind, name, (constant,)) for constant in ("False", "True"))
    target = next((f for f in shown if f is not None), None) or unit.named.get(f"{word}{kind.name}>")
    if target is None:
        scope.around.hidden.add(f"{word}{kind.name}>")
        return None
    return Call(scope.around.need(target), target.title, (this,), target.result, source.span)
