"""Virtual methods: the class of an object chooses."""

from typing import Any

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import Dispatch, DynamicCast, Expr, LibraryCall, Span, Text
from mlusim.frontend.bangc.lower.scope import FunctionScope, Surroundings
from mlusim.frontend.bangc.parse.nodes import Declaration, Node


def call(scope: FunctionScope, target: Declaration, arguments: tuple[Expr, ...], node: Node) -> Dispatch:
    """Return a call of a virtual method; its targets are known when all classes are."""
    made = Dispatch(target.name, {}, arguments, target.result, node.span)
    kind = target.parent.type if target.parent is not None else t.VOID
    scope.around.dispatches.append((kind, made, target.signature))
    return made


def become(this: Expr, kind: t.Record, span: Span) -> LibraryCall:
    """Let the object that *this* points to choose its methods as one of *kind*."""
    names = Text("\n".join(kind.names), t.Pointer(t.INT8), span)
    return LibraryCall("__mlusim_become", (this, names), t.VOID, span)


def fill(around: Surroundings) -> bool:
    """Find the targets of what was called so far; whether there are new ones."""
    reader, found = around.unit.reader, False
    for kind, made, signature in around.dispatches:
        for record in list(reader.types.records.values()):
            if (record is not kind and kind not in record.bases) or record.name in made.targets:
                continue
            target = _target(reader, record, made.name, signature)
            if target is not None:
                made.targets[record.name] = around.need(target)
                found = True
    return found


def _target(reader: Any, record: t.Record, name: str, signature: Any) -> Declaration | None:
    """Return the method that objects of *record* have."""
    for one in (record, *record.bases):
        method = reader.method(one, name, signature)
        if method is not None:
            return None if method.pure else method
    return None


def dynamic(scope: FunctionScope, node: Node, value: Expr) -> DynamicCast:
    """``dynamic_cast`` of a pointer."""
    kind = node.type
    if not isinstance(kind, t.Pointer) or not isinstance(kind.to, t.Record):
        scope.refuse("dynamic cast", "only a pointer to an object is cast dynamically", node.span)
    return DynamicCast(value, kind.to.name, kind, node.span)


def to_function(kind: t.Type | None) -> bool:
    """Return whether a type is that of pointers to functions."""
    return isinstance(kind, t.Pointer) and isinstance(kind.to, t.FunctionType)


def returned(node: Node) -> bool:
    """Return whether a call calls what another one returned, in whose place the library names the other's function."""
    head = next((c for c in node.children if c.type is not None), None)
    if head is None or not to_function(head.type):
        return False
    while head.kind in ("PAREN_EXPR", "UNEXPOSED_EXPR"):
        head = head.children[-1]
    return head.kind == "CALL_EXPR" and node.decl is not None and node.decl.kind != "CONSTRUCTOR"
