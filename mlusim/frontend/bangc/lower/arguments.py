"""Arguments of calls: those of the source, in order, and the defaults that it leaves out."""

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import Expr, Span
from mlusim.frontend.bangc.lower import places
from mlusim.frontend.bangc.lower.conversions import convert
from mlusim.frontend.bangc.lower.scope import FunctionScope
from mlusim.frontend.bangc.parse.nodes import Declaration, Node

# Calls that clang itself puts into a launch, f<<<...>>>(...).
CONFIGURE = ("__cudaPushCallConfiguration", "cudaConfigureCall")


def given_to(node: Node) -> list[Node]:
    """Return the arguments that the source has, in order."""
    inner = [c for c in node.children if c.type is not None]
    inner = [c for c in inner if not (c.kind == "CALL_EXPR" and c.decl and c.decl.name in CONFIGURE)]
    target = node.decl
    if target is not None and target.name.startswith("operator"):  # its name stands between the operands
        return [c for c in inner if not _names(c, target)]
    return inner[1:]


def _names(node: Node, target: Declaration) -> bool:
    bare = places.bare(node)
    while bare.kind == "UNEXPOSED_EXPR" and bare.children:
        bare = bare.children[-1]
    return bare.kind in ("DECL_REF_EXPR", "MEMBER_REF_EXPR") and bare.decl is target


def passed(
    scope: FunctionScope,
    node: Node,
    target: Declaration,
    given: list[Node],
    *,
    by_value: bool = False,
    first: int = 0,
) -> tuple[Expr, ...]:
    """Return the arguments of a call of *target* from parameter *first* on, with the defaults that are left out."""
    parameters = target.parameters
    made: list[Expr] = []
    for n, parameter in enumerate(parameters[first:], first):
        source = given[n] if n < len(given) else None
        if source is None or (source.left_out and scope.around.unit.reader.value(source) is None):
            source = _default(scope, parameter, target, n, node.span)
        made.append(argument(scope, source, parameter.type, by_value=by_value))
    made.extend(scope.value(extra) for extra in given[len(parameters) :])  # variadic ones
    return tuple(made)


def _default(scope: FunctionScope, parameter: Declaration, target: Declaration, n: int, span: Span) -> Node:
    found = parameter.default
    if found is None and target.definition is not None:
        found = target.definition.parameters[n].default
    if found is None:
        found = scope.around.unit.reader.default_of(target, n)
    if found is None:
        return scope.refuse(
            "default argument", f"the default of parameter {n} of {target.name} is not known", span
        )
    return found


def argument(scope: FunctionScope, node: Node, kind: t.Type, *, by_value: bool = False) -> Expr:
    """Lower the argument for a parameter of type *kind*."""
    if isinstance(kind, t.Pointer) and kind.reference:
        if by_value and isinstance(kind.to, t.Arithmetic | t.VectorRegister | t.Pointer):
            return scope.valued(node, kind.to)
        if isinstance(kind.to, t.ClassType | t.FunctionType):
            return scope.value(node)
        if places.is_place(node) and _same(places.bare(node).type, kind.to):
            return convert(scope, places.pointer(scope, node), kind, node.span)
        # A value, or one of another type: C++ binds the reference to a temporary object.
        held = scope.valued(node, kind.to)
        at = places.made_place(scope, held)
        return convert(scope, places.address_of(scope, at, node.span), kind, node.span)
    return scope.valued(node, kind)


def _same(have: t.Type, to: t.Type) -> bool:
    if isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic):
        return (have.kind, have.size) == (to.kind, to.size)
    return have == to or (isinstance(have, t.Record) and isinstance(to, t.Record) and to in have.bases)


def takes_this(target: Declaration) -> bool:
    """Return whether a function is called with an object; a lambda without captures needs none."""
    if (
        target.kind not in ("CXX_METHOD", "CONSTRUCTOR", "CONVERSION_FUNCTION", "DESTRUCTOR")
        or target.static_method
    ):
        return False
    parent = target.parent
    kind = parent.type if target.of_lambda and parent is not None else None
    return not (isinstance(kind, t.Record) and not kind.fields)


def acts(target: Declaration) -> bool:
    """Return whether a constructor has a body, or values for members, of its own."""
    definition = target.definition
    if target.implicit or definition is None:
        return False
    body = definition.body
    return bool((body is not None and body.children) or definition.initialisers)
