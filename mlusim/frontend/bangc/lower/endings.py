"""The ends of objects: destructors, those of members and bases behind their own."""

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Call,
    Element,
    Evaluate,
    Local,
    LocalStorage,
    Member,
    Place,
    Span,
    Statement,
)  # fmt: skip
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import END
from mlusim.frontend.bangc.parse.type_reader import ends

Statements = tuple[Statement, ...]


def of_local(scope: FunctionScope, local: Local) -> Statements:
    """Return the statements at the end of a local."""
    return of_place(scope, LocalStorage(local, local.type, local.span), local.span)


def of_place(scope: FunctionScope, at: Place, span: Span) -> Statements:
    """Return the statements at the end of the object at a place."""
    kind = at.type
    if isinstance(kind, t.Array):
        scope.refuse("destructor", f"an array of {kind.of}, which has a destructor, is not supported", span)
    assert isinstance(kind, t.Record)
    reader = scope.around.unit.reader
    found = reader.destructor(kind)
    if found is None and kind.destroyed and reader.hidden_end(kind):
        scope.around.hidden.add(f"{END}{kind.name}>")
        text = f"the destructor of {kind}, which is made from a template, is not known; give its class a name"
        scope.refuse("destructor", text, span)
    if found is not None:
        this = scope.address(at, t.Pointer(kind), span)
        return (Evaluate(Call(scope.around.need(found), found.title, (this,), t.VOID, span), span),)
    return of_parts(scope, kind, at, span)


def of_parts(scope: FunctionScope, kind: t.Record, at: Place, span: Span) -> Statements:
    """Return the ends of the members of an object, the last first, and of its base."""
    base = kind.bases[0] if kind.bases else None
    inherited = len(base.fields) if base is not None else 0
    made: list[Statement] = []
    for field in reversed(kind.fields[inherited:]):
        if ends(field.type):
            made += of_place(scope, Member(at, field.name, field.offset, field.type, span), span)
    if base is not None and base.destroyed:
        this = scope.address(at, t.Pointer(base), span)
        made += of_place(scope, Element(this, number(0, t.INT64, span), base, span), span)
    return tuple(made)
