"""Lambdas: an object of what is captured, and a body that finds it there."""

from collections.abc import Iterator

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Compose,
    Element,
    Expr,
    Load,
)  # fmt: skip
from mlusim.frontend.bangc.lower import objects, places
from mlusim.frontend.bangc.lower.conversions import convert
from mlusim.frontend.bangc.lower.scope import Captures, FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import Declaration, Node

THIS = "this"
DECLARING = ("VAR_DECL", "UNEXPOSED_DECL")  # their values are no children
UNEVALUATED = "CXX_UNARY_EXPR"  # sizeof and alignof


def value(scope: FunctionScope, node: Node) -> Expr:
    """Return the object that a lambda is: its captured values and references, in order."""
    kind = node.type
    assert isinstance(kind, t.Record)
    wanted = list(_wanted(scope, node, kind))
    if len(wanted) != len(kind.fields):
        scope.refuse("lambda", "what this lambda captures is not known; name each variable in [ ]", node.span)
    captures = Captures()
    names: dict[str, None] = {}
    for captured in wanted:
        name = THIS if captured is None else captured.name
        while name in names:
            name += "_"
        names[name] = None
        captures.members[captured] = name
    kind.fields = tuple(t.Field(n, f.type, f.offset) for n, f in zip(names, kind.fields, strict=True))
    scope.around.closures[kind.name] = captures
    made = [_captured(scope, c, f.type, node) for c, f in zip(wanted, kind.fields, strict=True)]
    return Compose(tuple(made), kind, node.span)


# -- what is captured ----------------------------------------------------------------------------


def _wanted(scope: FunctionScope, node: Node, kind: t.Record) -> Iterator[Declaration | None]:
    """Yield the variables in the order of the record's members; None is the object around the lambda."""
    named = [c.decl for c in node.children if c.kind == "VARIABLE_REF" and c.decl is not None]
    members = list(kind.fields)
    # In an instance of a template the library shows the captures themselves instead of the body.
    body = next((c for c in reversed(node.children) if c.kind == "COMPOUND_STMT"), node)
    used = list(_met(scope, body, set(named)))
    # A constant is captured only where its address matters, which its use does not tell: by their number all are, or none.
    constants = [d for d in used if d.constant and isinstance(d.type, t.Arithmetic) and d.value is not None]
    others = len(used) - len(constants)
    if len(members) - len(named) - any(_is_this(scope, m.type) for m in members) <= others:
        used = [d for d in used if d not in constants]
    for member in members:
        if named and _fits(member.type, named[0].type):
            yield named.pop(0)
        elif _is_this(scope, member.type):
            yield None
        elif used and _fits(member.type, used[0].type):
            yield used.pop(0)
        else:
            return
    if used:
        scope.refuse(
            "lambda",
            "which constants this lambda captures is not known; name each variable in [ ]",
            node.span,
        )


def _met(scope: FunctionScope, node: Node, known: set[Declaration]) -> Iterator[Declaration]:
    """Yield the variables of the function around a lambda in the order in which its body uses them."""
    if node.kind == UNEVALUATED:
        return
    for inner in node.children:
        declaration = inner.decl
        if inner.kind in DECLARING and declaration is not None and declaration.initialiser is not None:
            yield from _met(scope, Node("", inner.span, None, declaration.initialiser), known)
        if (
            inner.kind == "DECL_REF_EXPR"
            and declaration is not None
            and declaration not in known
            and scope.knows(declaration)
            and not declaration.static
        ):
            known.add(declaration)
            yield declaration
        yield from _met(scope, inner, known)


def _fits(member: t.Type, have: t.Type) -> bool:
    """Return whether a member may hold a variable of type *have*, or refer to one."""
    if isinstance(have, t.Pointer) and have.reference:
        have = have.to
    if isinstance(member, t.Pointer) and member.reference:
        member = member.to
    return member == have


def _is_this(scope: FunctionScope, kind: t.Type) -> bool:
    around = scope.this_type
    return around is not None and (kind == around or (isinstance(around, t.Pointer) and kind is around.to))


def _captured(scope: FunctionScope, captured: Declaration | None, kind: t.Type, node: Node) -> Expr:
    span = node.span
    if captured is None:
        around = places.this(scope, node)
        if isinstance(kind, t.Pointer):
            return around
        return Load(Element(around, number(0, t.INT64, span), kind, span), kind, span)
    if not scope.knows(captured) and captured.initialiser is not None:  # [q = value]
        if isinstance(kind, t.Pointer) and kind.reference:
            return convert(scope, places.pointer(scope, captured.initialiser), kind, span)
        return scope.valued(captured.initialiser, kind)
    at = places.named(scope, captured, node)
    if isinstance(kind, t.Pointer) and kind.reference:
        return convert(scope, places.address_of(scope, at, span), kind, span)
    if isinstance(kind, t.Array):
        scope.refuse(
            "lambda", f"{captured.name} is an array that is captured by value; capture it by reference", span
        )
    return objects.copied(scope, at, kind, span)


def of_object(scope: FunctionScope, node: Node) -> Declaration | None:
    """Return the function that a call of the object *node* calls; None where it is none, or takes ``auto``."""
    if not isinstance(node.type, t.Record):
        return None
    return scope.around.unit.reader.class_of(node).call_operator
