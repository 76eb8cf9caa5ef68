"""``auto [a, b] = pair``: names for the members of a record or the elements of an array."""

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import Declare, Element, Expr, Load, LocalStorage, Member, Place, Statement
from mlusim.frontend.bangc.lower.arguments import argument
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import Declaration, Node


def binds(node: Node) -> bool:
    """Return whether a declaration names the parts of its value."""
    return node.kind == "UNEXPOSED_DECL" and node.decl is not None and node.decl.name.startswith("[")


def declare(scope: FunctionScope, node: Node) -> list[Statement]:
    """Return the value, held by a variable that the source does not name, and its parts by name."""
    declaration = node.decl
    assert declaration is not None
    initial = declaration.initialiser
    if initial is None:
        return scope.refuse("structured binding", "this binding has no value", node.span)
    kind = declaration.type
    if isinstance(kind, t.Pointer) and kind.reference:
        value = argument(scope, initial, kind)
    elif isinstance(kind, t.Array):
        return scope.refuse("structured binding", "bind the elements of an array by reference", node.span)
    else:
        value = scope.valued(initial, kind)
    return [bound(scope, node, value)]


def bound(scope: FunctionScope, node: Node, value: Expr) -> Declare:
    """Return the parts of *value* by the names that *node* declares."""
    declaration = node.decl
    assert declaration is not None
    local = scope.unnamed(declaration)
    held: Place = LocalStorage(local, local.type, node.span)
    whole = local.type
    if isinstance(whole, t.Pointer) and whole.reference:
        whole = whole.to
        held = Element(Load(held, local.type, node.span), number(0, t.INT64, node), whole, node.span)
    for n, part in enumerate(declaration.children):
        scope.bindings[id(part)] = _part(scope, held, whole, n, part)
    return Declare(local, value, node.span)


def _part(scope: FunctionScope, held: Place, whole: t.Type, n: int, part: Declaration) -> Place:
    if isinstance(whole, t.Record):
        field = whole.fields[n]
        at = Member(held, field.name, field.offset, field.type, part.span)
        if isinstance(field.type, t.Pointer) and field.type.reference:
            return Element(
                Load(at, field.type, part.span), number(0, t.INT64, part.span), field.type.to, part.span
            )
        return at
    if isinstance(whole, t.Array):
        first = scope.address(held, t.Pointer(whole.of), part.span)
        return Element(first, number(n, t.INT64, part.span), whole.of, part.span)
    return scope.refuse("structured binding", f"the parts of {whole} cannot be named", part.span)
