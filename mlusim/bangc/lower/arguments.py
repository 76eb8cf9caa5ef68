"""The arguments of calls, with defaults; and virtual calls, whose target depends on the class of an object."""

from typing import Any

from mlusim.bangc import ir, types as t
from mlusim.bangc.lower import places
from mlusim.bangc.lower.conversions import convert
from mlusim.bangc.lower.scope import FunctionScope, Surroundings
from mlusim.bangc.parse.nodes import Declaration, Node
from mlusim.bangc.parse.type_reader import ends

_CONFIGURE = ("__cudaPushCallConfiguration", "cudaConfigureCall")


def configures(node: Node) -> bool:
    """Return whether *node* is the call that clang inserts into a launch ``f<<<...>>>(...)``."""
    return node.kind == "CALL_EXPR" and node.decl is not None and node.decl.name in _CONFIGURE


def given_to(node: Node) -> list[Node]:
    """Return the argument nodes of a call in the source, in order."""
    inner = [c for c in node.children if c.type is not None and not configures(c)]
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
    nodes: list[Node],
    *,
    by_value: bool = False,
    first: int = 0,
) -> tuple[ir.Expr, ...]:
    """Return the lowered arguments of a call of *target* from parameter *first* on, with defaults for missing ones."""
    parameters = target.parameters
    values: list[ir.Expr] = []
    for n, parameter in enumerate(parameters[first:], first):
        source = nodes[n] if n < len(nodes) else None
        if source is None or (source.left_out and scope.reader.value(source) is None):
            source = _default(scope, parameter, target, n, node.span)
        values.append(handed(scope, source, parameter.type, by_value=by_value))
    values.extend(scope.value(extra) for extra in nodes[len(parameters) :])  # variadic arguments
    return tuple(values)


def _default(
    scope: FunctionScope, parameter: Declaration, target: Declaration, n: int, span: ir.Span
) -> Node:
    default = parameter.default
    if default is None and target.definition is not None:
        default = target.definition.parameters[n].default
    if default is None:
        default = scope.reader.default_of(target, n)
    if default is None:
        return scope.refuse(
            "default argument",
            f"the default of parameter {n} of {target.name} is not known; give the argument",
            span,
        )
    return default


def argument(scope: FunctionScope, node: Node, kind: t.Type, *, by_value: bool = False) -> ir.Expr:
    """Lower the argument for a parameter of type *kind*."""
    if t.refers(kind):
        if by_value and isinstance(kind.to, t.Arithmetic | t.VectorRegister | t.Pointer):
            return scope.valued(node, kind.to)
        if isinstance(kind.to, t.ClassType | t.FunctionType):
            return scope.value(node)
        have = places.bare(node).type if places.is_place(node) else None
        if have is not None and (t.alike(have, kind.to) or t.derives(have, kind.to)):
            return convert(scope, places.reference(scope, node), kind, node.span)
        if isinstance(node.type, t.Struct):
            scope.refuse_beside(places.bare(node).type, kind.to, node.span)
        # A value, or a value of another type: C++ binds the reference to a temporary object.
        held = scope.valued(node, kind.to)
        at = places.made_place(scope, held)
        return convert(scope, places.address_of(scope, at, node.span), kind, node.span)
    return scope.valued(node, kind)


def handed(scope: FunctionScope, node: Node, kind: t.Type, *, by_value: bool = False) -> ir.Expr:
    """Lower an argument; an object with a destructor passed by value belongs to the caller and ends with the full expression."""
    if not ends(kind):
        return argument(scope, node, kind, by_value=by_value)
    return _by_value(scope, scope.valued(node, kind), kind, node.span)


def by_value(scope: FunctionScope, value: ir.Expr, kind: t.Type, span: ir.Span) -> ir.Expr:
    """Return the argument for a by-value parameter of *kind* initialised with *value*: its address if it has a destructor."""
    return _by_value(scope, value, kind, span) if ends(kind) else value


def _by_value(scope: FunctionScope, value: ir.Expr, kind: t.Type, span: ir.Span) -> ir.Expr:
    at = places.made_place(scope, value)
    return convert(scope, places.address_of(scope, at, span), t.Pointer(kind, reference=True), span)


def takes_this(target: Declaration) -> bool:
    """Return whether a function receives an object as ``this``; a lambda without captures does not."""
    if (
        target.kind not in ("CXX_METHOD", "CONSTRUCTOR", "CONVERSION_FUNCTION", "DESTRUCTOR")
        or target.static_method
    ):
        return False
    parent = target.parent
    kind = parent.type if target.of_lambda and parent is not None else None
    return not (isinstance(kind, t.Struct) and not kind.fields)


def acts(target: Declaration) -> bool:
    """Return whether a constructor has code: a body that is not empty, or member initialisers."""
    definition = target.definition
    if target.implicit or definition is None:
        return False
    body = definition.body
    return bool((body is not None and body.children) or definition.initialisers)


# Virtual methods: the class of an object selects the target.


def virtual_call(
    scope: FunctionScope, target: Declaration, arguments: tuple[ir.Expr, ...], node: Node
) -> ir.Dispatch:
    """Return a call of a virtual method; its targets are filled in when all classes are known."""
    call = ir.Dispatch(target.name, {}, arguments, target.result, node.span)
    kind = target.parent.type if target.parent is not None else t.VOID
    scope.around.dispatches.append((kind, call, target.signature))
    return call


def become(this: ir.Expr, kind: t.Struct, span: ir.Span) -> ir.LibraryCall:
    """Set the class of the object at *this*, which selects its virtual methods, to *kind*."""
    names = ir.Text("\n".join(kind.names), span)
    return ir.LibraryCall("__mlusim_become", (this, names), t.VOID, span)


def fill_dispatches(around: Surroundings) -> bool:
    """Fill in the targets of all virtual calls so far; return whether new targets were added."""
    reader, added = around.unit.reader, False
    for kind, call, signature in around.dispatches:
        for struct in list(reader.types.structs.values()):
            if (struct is not kind and kind not in struct.bases) or struct.name in call.targets:
                continue
            target = _target(reader, struct, call.name, signature)
            if target is not None:
                call.targets[struct.name] = around.need(target)
                added = True
    return added


def _target(reader: Any, struct: t.Struct, name: str, signature: Any) -> Declaration | None:
    """Return the method that a virtual call executes on objects of *struct*, or None."""
    for owner in (struct, *struct.bases):
        method = reader.method(owner, name, signature)
        if method is not None:
            return None if method.pure else method
    return None


def dynamic_cast(scope: FunctionScope, node: Node) -> ir.DynamicCast:
    """Lower ``dynamic_cast`` of a pointer."""
    kind, value = node.type, scope.value(node.children[-1])
    if not isinstance(kind, t.Pointer) or not isinstance(kind.to, t.Struct):
        scope.refuse(
            "dynamic cast",
            "only a pointer to an object is cast dynamically; cast the address of the object",
            node.span,
        )
    return ir.DynamicCast(value, kind.to.name, kind, node.span)


def to_function(kind: t.Type | None) -> bool:
    """Return whether *kind* is a pointer to a function."""
    return isinstance(kind, t.Pointer) and isinstance(kind.to, t.FunctionType)


def returned(node: Node) -> bool:
    """Return whether *node* calls the result of another call; the library names the inner call's function for both."""
    head = next((c for c in node.children if c.type is not None), None)
    if head is None or not to_function(head.type):
        return False
    while head.kind in ("PAREN_EXPR", "UNEXPOSED_EXPR"):
        head = head.children[-1]
    return head.kind == "CALL_EXPR" and node.decl is not None and node.decl.kind != "CONSTRUCTOR"
