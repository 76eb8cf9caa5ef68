"""Values from lists in braces."""

import itertools
from collections.abc import Iterator

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import Compose, Const, Construct, Expr, Span
from mlusim.frontend.bangc.lower import calls, expressions
from mlusim.frontend.bangc.lower.containers import LISTED, element
from mlusim.frontend.bangc.lower.conversions import convert, letters
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import Node


def value(scope: FunctionScope, node: Node) -> Expr:
    """The value of a list in braces."""
    if isinstance(node.type, t.Array | t.Record):
        return compose(scope, node, node.type)
    if isinstance(node.type, t.ClassType):
        values = tuple(expressions.value(scope, c) for c in node.children)
        return Compose(values, node.type, node.span)
    if not node.children:
        return convert(scope, number(0, t.INT32, node), node.type, node.span)
    return expressions.valued(scope, node.children[0], node.type)


def compose(scope: FunctionScope, node: Node, kind: t.Type) -> Expr:
    """The value of an array or a record from a list in braces, the inner braces of which may be left out."""
    given = iter(node.children)
    return _filled(scope, given, kind, node)


def _filled(scope: FunctionScope, given: "Iterator[Node]", kind: t.Type, node: Node) -> Compose:
    assert isinstance(kind, t.Array | t.Record)
    parts = [kind.of] * kind.count if isinstance(kind, t.Array) else [f.type for f in kind.fields]
    most = 1 if isinstance(kind, t.Record) and kind.union else len(parts)
    values: list[Expr] = []
    while len(values) < most:
        child = next(given, None)
        if child is None:
            break
        if _designates(child):
            at = _designated(scope, child, kind)
            if at < len(values):
                scope.refuse("designator", "write the values of a list in the order of its parts", child.span)
            values += [zero(part, child.span) for part in parts[len(values) : at]]
            child = child.children[-1]
        values.append(_part(scope, child, given, parts[len(values)], node))
    return Compose(tuple(values), kind, node.span)


def _designates(child: Node) -> bool:
    """Whether *child* of a list is ``.member = value`` or ``[index] = value``."""
    return child.kind == "UNEXPOSED_EXPR" and child.type == t.VOID and len(child.children) > 1


def _designated(scope: FunctionScope, child: Node, kind: t.Array | t.Record) -> int:
    """The number of the part of a *kind* that *child* is the value of."""
    designator, *others = child.children[:-1]
    if others:
        scope.refuse(
            "designator", "a designator of several steps is not supported; nest the braces", child.span
        )
    if isinstance(kind, t.Array):
        found = scope.around.unit.reader.value(designator)
        if found is not None:
            return int(found)
    name = scope.around.unit.reader.text(designator)
    for n, field in enumerate(kind.fields if isinstance(kind, t.Record) else ()):
        if field.name == name:
            return n
    return scope.refuse("designator", "this designator is not supported", child.span)


def _elements(scope: FunctionScope, child: Node, kind: t.ClassType) -> Compose:
    """The elements of a container from inner braces."""
    of = element(kind)
    values = tuple(_part(scope, c, iter(()), of, child) for c in child.children)
    return Compose(values, t.Array(of, len(values)), child.span)


def _part(scope: FunctionScope, child: Node, given: "Iterator[Node]", part: t.Type, node: Node) -> Expr:
    if child.kind == "INIT_LIST_EXPR":
        made = calls.listed(scope, child, part) if isinstance(part, t.Record) else None
        if made is not None:
            return made
        if isinstance(part, t.Array | t.Record):
            return compose(scope, child, part)
        if isinstance(part, t.ClassType):
            inner = tuple(expressions.value(scope, c) for c in child.children)
            if part.name in LISTED and inner:
                inner = (_elements(scope, child, part),)
            return Construct(inner, part, child.span)
        return value(scope, child) if child.type == part else expressions.valued(scope, child, part)
    if child.kind == "STRING_LITERAL" and isinstance(part, t.Array):
        return letters(expressions.string(scope, child).value, part, child.span)
    if isinstance(part, t.Array) or (isinstance(part, t.Record) and child.type is not part):
        return _filled(scope, itertools.chain((child,), given), part, node)
    if isinstance(part, t.ClassType) and child.type != part:
        return Construct((expressions.value(scope, child),), part, child.span)
    return expressions.valued(scope, child, part)


def zero(kind: t.Type, span: Span) -> Expr:
    """What a member without a value is."""
    if isinstance(kind, t.Arithmetic):
        return number(0.0 if kind.kind == "float" else 0, kind, span)
    return Const(None, kind, span) if isinstance(kind, t.Pointer) else Compose((), kind, span)


def initial(scope: FunctionScope, node: Node, kind: t.Type) -> Expr:
    """The value that a member is declared with."""
    if isinstance(kind, t.Array | t.Record) and node.kind == "INIT_LIST_EXPR":
        return compose(scope, node, kind)
    return expressions.valued(scope, node, kind)
