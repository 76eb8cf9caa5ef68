"""``new`` and ``delete``."""

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Assign,
    Call,
    Comma,
    Delete,
    Element,
    Expr,
    Load,
    New,
    Variable,
)  # fmt: skip
from mlusim.frontend.bangc.lower import calls, expressions
from mlusim.frontend.bangc.lower.scope import Scope, number
from mlusim.frontend.bangc.parse.tree import Node


def new(scope: Scope, node: Node) -> Expr:
    """``new T``, ``new T(values)`` and ``new T[count]``."""
    words = scope.around.unit.reader.tokens(node)
    mark = next((w for w in words[1:] if w in ("(", "[", "{")), "")
    if words[1:2] == ["("]:
        scope.refuse("placement new", "new at a place of its own is not supported", node.span)
    assert isinstance(node.type, t.Pointer)
    of, given = node.type.to, [c for c in node.children if c.type is not None]
    scope.refuse_destructor(of, node.span)
    zero = words[-2:] in (["(", ")"], ["{", "}"])
    if mark == "[":
        return _array(scope, node, of, given, zero=zero)
    if isinstance(of, t.ClassType):
        arguments = given[0].children if given and given[0].kind == "CALL_EXPR" else given
        values = tuple(expressions.value(scope, c) for c in arguments if c.type is not None)
        return New(of, None, zero, values, node.type, node.span)
    made = New(of, None, zero, (), node.type, node.span)
    if not given:
        return made
    here = Variable(scope.hold(node.type, node.span), node.type, node.span)
    held = Load(here, node.type, node.span)
    filled = _filled(scope, node, of, given[0], held)
    if filled is None:
        return made
    stored = Assign(here, made, node.type, node.span)
    return Comma(stored, Comma(filled, held, node.type, node.span), node.type, node.span)


def _array(scope: Scope, node: Node, of: t.Type, given: list[Node], *, zero: bool) -> Expr:
    for rest in given[1:]:
        target = rest.decl
        plain = target is not None and target.kind == "CONSTRUCTOR" and not calls.acts(target)
        if not plain and not isinstance(of, t.ClassType):
            scope.refuse("new[]", "values for the elements of an array of new are not supported", rest.span)
    count = expressions.valued(scope, given[0], t.INT64)
    return New(of, count, zero, (), node.type, node.span)


def _filled(scope: Scope, node: Node, of: t.Type, given: Node, held: Expr) -> Expr | None:
    """What gives the new object its value; None where it has none of its own."""
    target = given.decl
    if given.kind == "CALL_EXPR" and target is not None and target.kind == "CONSTRUCTOR":
        if calls.acts(target):
            arguments = calls.passed(scope, given, target, [c for c in given.children if c.type is not None])
            return Call(scope.around.need(target), target.title, (held, *arguments), t.VOID, node.span)
        if not given.children and not scope.around.unit.reader.has_defaults(target):
            return None
    at = Element(held, number(0, t.INT64, node), of, node.span)
    return Assign(at, expressions.valued(scope, given, of), of, node.span)


def delete(scope: Scope, node: Node) -> Expr:
    """``delete p`` and ``delete[] p``."""
    words = scope.around.unit.reader.tokens(node)
    return Delete(expressions.value(scope, node.children[0]), words[1:2] == ["["], t.VOID, node.span)
