"""Effects of expressions: a test with one is not decided beforehand, and an operand with one comes before what it is added to."""

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.ir.walk import walk
from mlusim.frontend.bangc.lower.scope import FunctionScope
from mlusim.frontend.bangc.parse.nodes import Node

_STORES = (ir.Assign, ir.Update)
_CALLS = (ir.Call, ir.Invoke)


def decided(scope: FunctionScope, test: Node) -> int | float | None:
    """Return the value of a test that is constant and has no effect; None of another."""
    value = scope.around.unit.reader.value(test)
    return None if value is None or node_acts(scope, test) else value


def node_acts(scope: FunctionScope, node: Node) -> bool:
    """Return whether *node* stores something or calls a function."""
    stores = node.op in ("=", "x++", "x--", "++x", "--x") or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
    if stores or (node.kind == "CALL_EXPR" and scope.around.unit.reader.value(node) is None):
        return True
    return any(node_acts(scope, child) for child in node.children)


def acts(value: ir.Expr, *, calls: bool = True) -> bool:
    """Return whether *value* stores something, or with *calls* may do so."""
    kinds = (*_STORES, *_CALLS) if calls else _STORES
    return any(isinstance(node, kinds) for node in walk(value))


def before(scope: FunctionScope, value: ir.Expr, place: ir.Place) -> tuple[ir.Expr | None, ir.Expr]:
    """*value* for an update of *place*: an operand that may change the place is evaluated first, and kept."""
    plain = isinstance(place, ir.LocalStorage) and place.local.storage is ir.Storage.VALUE
    if not acts(value, calls=not plain):
        return None, value
    held = ir.LocalStorage(scope.hold(value.type, value.span), value.type, value.span)
    return ir.Assign(held, value, value.type, value.span), ir.Load(held, value.type, value.span)


def after(first: ir.Expr | None, made: ir.Expr) -> ir.Expr:
    """*made*, after what `before` found."""
    return made if first is None else ir.Comma(first, made, made.type, made.span)
