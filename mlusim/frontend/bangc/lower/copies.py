"""Copies of objects as C++ makes them: by the copy constructors and assignments of classes, their members and bases."""

from collections.abc import Callable, Sequence

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Assign,
    Call,
    Comma,
    Compose,
    Element,
    Expr,
    GlobalPlace,
    Load,
    LocalStorage,
    Member,
    Place,
    Span,
    Temporary,
)  # fmt: skip
from mlusim.frontend.bangc.lower import arguments, dispatch, places
from mlusim.frontend.bangc.lower.conversions import convert
from mlusim.frontend.bangc.lower.scope import FunctionScope, element_of, number
from mlusim.frontend.bangc.parse.nodes import Declaration, Node
from mlusim.frontend.bangc.parse.type_reader import ends

Find = Callable[[FunctionScope, t.Record, Span, bool], Declaration | None]
_MOST = 1024  # elements of an array that are copied one by one


def of_node(scope: FunctionScope, node: Node, kind: t.Record, *, moved: bool = False) -> Expr:
    """Return a new object of *kind* from what *node* names, or its value where that is a new one already."""
    if not places.is_place(node) or not _calls(scope, kind, node.span, _constructor, moved=moved):
        made = scope.value(node)
        derived = isinstance(made.type, t.Record) and kind in made.type.bases
        return base_of(scope, made, kind, node.span) if derived else convert(scope, made, kind, node.span)
    return copied(scope, places.place(scope, node), kind, node.span, moved=moved)


def copied(scope: FunctionScope, at: Place, kind: t.Type, span: Span, *, moved: bool = False) -> Expr:
    """Return a new object of *kind* from that at a place, whose class may be derived from it."""
    if not _calls(scope, kind, span, _constructor, moved=moved):
        if kind is at.type or not isinstance(kind, t.Record) or not isinstance(at.type, t.Record):
            return Load(at, at.type, span)
        return sliced(scope, at, kind, span)
    before, at = _steady(scope, at, span)
    to = LocalStorage(scope.temporary(kind, span), kind, span)
    return _after([*before, *filled(scope, to, at, kind, span, moved=moved)], Load(to, kind, span), span)


def sliced(scope: FunctionScope, at: Place, kind: t.Record, span: Span) -> Expr:
    """Return the members that the base *kind* of the object at a place has, as an object of that class."""
    assert isinstance(at.type, t.Record)
    scope.refuse_beside(at.type, kind, span)
    if not kind.fields:
        return Compose((), kind, span)
    before, at = _steady(scope, at, span)
    parts = (Load(Member(at, f.name, f.offset, f.type, span), f.type, span) for f in kind.fields)
    return _after(before, Compose(tuple(parts), kind, span), span)


def base_of(scope: FunctionScope, made: Expr, kind: t.Record, span: Span) -> Expr:
    """Return the base *kind* of a value."""
    at = made.place if isinstance(made, Load) else Temporary(made, made.type, span)
    return sliced(scope, at, kind, span)


def filled(
    scope: FunctionScope, to: Place, at: Place, kind: t.Type, span: Span, *, moved: bool = False
) -> list[Expr]:
    """Return the statements that make the object at one place a copy of that at another."""
    return _each(scope, to, at, kind, span, _constructor, moved=moved)


def assigned(
    scope: FunctionScope, to: Place, given: Node, kind: t.Record, span: Span, *, moved: bool
) -> Expr:
    """Return the assignment that the compiler makes of those of the members and bases."""
    if not _calls(scope, kind, span, _assignment, moved=moved):
        if ends(kind) and not places.is_place(given):  # what is new ends after that
            return Assign(to, copied(scope, places.place(scope, given), kind, span), kind, span)
        return Assign(to, of_node(scope, given, kind), kind, span)
    first, at = _steady(scope, places.place(scope, given), span)
    second, to = _steady(scope, to, span)
    reference = t.Pointer(kind, reference=True)
    here = convert(scope, places.address_of(scope, to, span), reference, span)
    here.type = reference  # convert() leaves an alike pointer as it is
    return _after([*first, *second, *_each(scope, to, at, kind, span, _assignment, moved=moved)], here, span)


# -- which functions ---------------------------------------------------------------------------------


def _calls(scope: FunctionScope, kind: t.Type, span: Span, find: Find, *, moved: bool) -> bool:
    """Return whether a copy of *kind* is more than its bytes."""
    kind = element_of(kind)
    if not isinstance(kind, t.Record) or kind.union:
        return False
    known = scope.around.copying.get((kind.name, find, moved))
    if known is None:
        parts = (*kind.bases[:1], *(f.type for f in kind.fields))
        known = find(scope, kind, span, moved) is not None or any(
            _calls(scope, part, span, find, moved=moved) for part in parts
        )
        scope.around.copying[kind.name, find, moved] = known
    return known


def _constructor(scope: FunctionScope, kind: t.Record, span: Span, moved: bool) -> Declaration | None:
    """Return the constructor of the sources that copies, or moves, objects of a class."""
    reader = scope.around.unit.reader
    found = [c for c in reader.constructors(kind) if c.makes_copy and not c.implicit]
    if not found and reader.hides(kind, "CONSTRUCTOR"):
        _refuse_hidden(scope, kind, "copy constructor", span)
    return _chosen(found, moved=moved)


def _assignment(scope: FunctionScope, kind: t.Record, span: Span, moved: bool) -> Declaration | None:
    """Return the ``operator=`` of the sources for objects of a class."""
    reader = scope.around.unit.reader
    found = [m for m in reader.assignments(kind) if not m.implicit]
    if not found and reader.hides(kind, "CXX_METHOD"):
        _refuse_hidden(scope, kind, "operator=", span)
    return _chosen(found, moved=moved)


def _chosen(found: Sequence[Declaration], *, moved: bool) -> Declaration | None:
    """Return the one for what is given of those that copy and move: what is moved is copied where nothing moves."""
    moving = [f for f in found if f.takes_temporary]
    copying = [f for f in found if not f.takes_temporary]
    return next(iter([*moving, *copying] if moved else copying), None)


def _refuse_hidden(scope: FunctionScope, kind: t.Record, what: str, span: Span) -> None:
    scope.refuse(
        "copy",
        f"the {what} of {kind}, which is made from a template, is not known here; copy its members",
        span,
    )


# -- the parts ---------------------------------------------------------------------------------------


def _each(
    scope: FunctionScope, to: Place, at: Place, kind: t.Type, span: Span, find: Find, *, moved: bool
) -> list[Expr]:
    """Return the copies of an object, or of its base and members, or of the elements of an array."""
    if not _calls(scope, kind, span, find, moved=moved):
        value: Expr = Load(at, kind, span)
        if isinstance(kind, t.Record) and isinstance(at.type, t.Record) and kind is not at.type:
            value = sliced(scope, at, kind, span)
        return [Assign(to, value, kind, span)]
    if isinstance(kind, t.Array):
        return _elements(scope, to, at, kind, span, find, moved=moved)
    assert isinstance(kind, t.Record)
    target = find(scope, kind, span, moved)
    if target is not None:
        this = convert(scope, places.address_of(scope, to, span), t.Pointer(kind), span)
        source = convert(scope, places.address_of(scope, at, span), t.Pointer(kind), span)
        if not (isinstance(target.parameters[0].type, t.Pointer)):
            source = copied(scope, at, kind, span)  # by value
        rest = arguments.passed(scope, Node("CALL_EXPR", span, None), target, [], first=1)
        return [Call(scope.around.need(target), target.title, (this, source, *rest), target.result, span)]
    made: list[Expr] = []
    inherited = len(kind.bases[0].fields) if kind.bases else 0
    if kind.bases:
        first, second = (_as_base(scope, one, kind.bases[0], span) for one in (to, at))
        made += _each(scope, first, second, kind.bases[0], span, find, moved=moved)
        if kind.virtual and find is _constructor:
            made.append(dispatch.become(places.address_of(scope, to, span), kind, span))
    for field in kind.fields[inherited:]:
        if field.bits:
            scope.refuse(
                "bit field", f"{field.name} of {kind} is a bit field; use shifts and masks instead", span
            )
        here, there = (Member(one, field.name, field.offset, field.type, span) for one in (to, at))
        made += _each(scope, here, there, field.type, span, find, moved=moved)
    return made


def _as_base(scope: FunctionScope, at: Place, base: t.Record, span: Span) -> Element:
    here = convert(scope, places.address_of(scope, at, span), t.Pointer(base), span)
    return Element(here, number(0, t.INT64, span), base, span)


def _elements(
    scope: FunctionScope, to: Place, at: Place, kind: t.Array, span: Span, find: Find, *, moved: bool
) -> list[Expr]:
    if kind.count > _MOST:
        scope.refuse(
            "copy", f"a copy of {kind.count} {kind.of} by their class is not supported; write a loop", span
        )
    first = [scope.address(one, t.Pointer(kind.of), span) for one in (to, at)]
    made: list[Expr] = []
    for n in range(kind.count):
        here, there = (Element(one, number(n, t.INT64, span), kind.of, span) for one in first)
        made += _each(scope, here, there, kind.of, span, find, moved=moved)
    return made


def _steady(scope: FunctionScope, at: Place, span: Span) -> tuple[list[Expr], Place]:
    """Find a place once; return what comes before that, and the place."""
    inner = at
    while isinstance(inner, Member):
        inner = inner.base
    if isinstance(inner, LocalStorage | GlobalPlace):
        return [], at
    if isinstance(at, Temporary):
        held = LocalStorage(scope.temporary(at.type, span), at.type, span)
        return [Assign(held, at.value, at.type, span)], held
    here = places.address_of(scope, at, span)
    pointer = LocalStorage(scope.hold(here.type, span), here.type, span)
    found = Element(Load(pointer, here.type, span), number(0, t.INT64, span), at.type, span)
    return [Assign(pointer, here, here.type, span)], found


def _after(before: list[Expr], made: Expr, span: Span) -> Expr:
    for step in reversed(before):
        made = Comma(step, made, made.type, span)
    return made
