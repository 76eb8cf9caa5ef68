"""Calls of the sources' functions, of instructions and of libraries, and kernel launches."""

from mlusim.bangc import ir, types as t
from mlusim.bangc.lower import arguments, objects, places
from mlusim.bangc.lower.arguments import acts, given_to, handed, passed, takes_this
from mlusim.bangc.lower.conversions import convert, literal
from mlusim.bangc.lower.places import to_memory
from mlusim.bangc.lower.scope import FunctionScope, first_at, number
from mlusim.bangc.parse.nodes import Declaration, Node
from mlusim.bangc.prelude import MARK
from mlusim.bangc.runtime.library import LIBRARY

_HOLDING = ("VAR_DECL", "PARM_DECL", "FIELD_DECL")
_ALIGNED = "__builtin_assume_aligned"
_PRINT = "bang_printf"  # the device's version of printf
_BUILT_IN = "__builtin_"  # the compiler declares these functions itself on first use


def call(scope: FunctionScope, node: Node) -> ir.Expr:
    """Lower a call to an expression of the form."""
    target = node.decl
    if target is None and len(node.children) == 1:
        operand = node.children[0]
        if isinstance(node.type, t.Struct) and operand.type == node.type:
            return scope.value(operand)  # the move of a temporary, which compilers elide
    held = target is not None and target.kind in _HOLDING and arguments.to_function(node.children[0].type)
    if target is None or held or arguments.returned(node):
        return _through_pointer(scope, node)
    if target.kind == "CONSTRUCTOR":
        return _construction(scope, node, target)
    if any(map(arguments.configures, node.children)):
        return scope.refuse(
            "launch",
            "kernels are launched by the host, not by the device; call a function of the device",
            node.span,
        )
    if target.kind == "CONVERSION_FUNCTION":
        return _converted(scope, node, target)
    if target.kind not in ("FUNCTION_DECL", "CXX_METHOD"):
        return scope.refuse(
            "call",
            f"a call of {target.name} ({target.kind.lower()}) is not supported; call a function, a method or an object",
            node.span,
        )
    if target.kind == "CXX_METHOD" and not target.static_method:
        return _method(scope, node, target)
    if target.from_prelude or (target.name.startswith(_BUILT_IN) and target.definition is None):
        return _supplied(scope, node, target)
    return scope.calling(target, passed(scope, node, target, given_to(node)), node.span)


def _through_pointer(scope: FunctionScope, node: Node) -> ir.Expr:
    """Lower ``(*f)(x)`` and ``f(x)``, where f is a pointer to a function."""
    head, *nodes = (c for c in node.children if c.type is not None)
    method = places.bare(head)
    if method.kind == "BINARY_OPERATOR" and method.op in places.BY_MEMBER:
        return _by_member(scope, node, method, nodes)
    kind = head.type
    if isinstance(kind, t.Pointer):
        kind = kind.to
    if not isinstance(kind, t.FunctionType):
        return scope.refuse(
            "call",
            "a call of this is not supported; call a function, a method or a pointer to a function",
            node.span,
        )
    arguments = [handed(scope, g, p) for g, p in zip(nodes, kind.parameters, strict=False)]
    arguments += [scope.value(g) for g in nodes[len(kind.parameters) :]]
    return ir.Invoke(scope.value(head), tuple(arguments), kind.result, node.span)


def _by_member(scope: FunctionScope, node: Node, method: Node, nodes: list[Node]) -> ir.Expr:
    """Lower ``(object.*method)(x)``, a call by a pointer to a member."""
    this, function = places.object_of(scope, method), scope.value(method.children[-1])
    kind = function.type.to if isinstance(function.type, t.Pointer) else None
    assert isinstance(kind, t.FunctionType)
    first, *parameters = kind.parameters
    values = [handed(scope, g, p) for g, p in zip(nodes, parameters, strict=False)]
    return ir.Invoke(function, (convert(scope, this, first, node.span), *values), kind.result, node.span)


def _converted(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    """Lower a conversion function of an object, such as a lambda without captures converted to a function pointer."""
    reference = next((c for c in node.children if c.kind == "MEMBER_REF_EXPR"), None)
    if reference is None or not reference.children:
        return literal(scope, node)
    inner = reference.children[0]
    scope.refuse_class(inner.type, node.span)
    if arguments.to_function(node.type):
        scope.value(inner)  # evaluated for its side effect: it records the captures
        called = objects.call_operator(scope, inner)
        if called is not None and not takes_this(called):
            return ir.FunctionAddress(scope.around.need(called), called.title, node.type, node.span)
    if scope.reader.value(node) is None and isinstance(inner.type, t.Struct):
        this = places.address_of(scope, places.place(scope, inner), node.span)
        return scope.calling(target, (this,), node.span)
    return literal(scope, node)


# -- functions that mlusim supplies ----------------------------------------------------------------


def _supplied(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    if MARK in target.annotations:
        return _intrinsic(scope, node, target)
    replaced = _replaced(scope, node, target)
    if replaced is not None:
        return replaced
    value = scope.reader.value(node) if not given_to(node) else None
    if value is not None and isinstance(node.type, t.Arithmetic):
        return number(value, node.type, node)
    body = None if target.definition is None else target.definition.body
    # An empty body stands for a function of the run-time library that takes types of the source.
    if body is not None and body.children:
        return scope.calling(target, passed(scope, node, target, given_to(node)), node.span)
    if target.name.startswith(_BUILT_IN) and target.name not in LIBRARY:
        return scope.refuse(
            "call",
            f"the compiler's own {target.name} is not supported; write out what it computes",
            node.span,
        )
    if target.name not in LIBRARY:
        return _of_device(scope, node, target)
    arguments = passed(scope, node, target, given_to(node), by_value=True)
    result = node.type if t.refers(target.result) else target.result
    return ir.LibraryCall(target.name, arguments, result, node.span, target.type_arguments)


def _replaced(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr | None:
    """Lower ``printf``, or a call that returns its argument; return None for other functions."""
    if target.name in places.TRANSPARENT:
        return scope.value(given_to(node)[0])
    if target.name == _ALIGNED:  # a hint for the compiler without effect
        return convert(scope, scope.value(given_to(node)[0]), node.type, node.span)
    if target.name == "printf":
        values = passed(scope, node, target, given_to(node))
        return ir.IntrinsicCall(_PRINT, tuple(p.type for p in target.parameters), values, t.VOID, node.span)
    return None


def _of_device(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    """Lower a C library function that the device has too; refuse functions that only the host has."""
    if target.name == "gettimeofday":
        return _gettimeofday(scope, node, target)
    instead = f"; use __{target.name}, or a loop" if target.name == "memcpy" else ""
    return scope.refuse(
        "call", f"{target.name} is a function of the host, not of the device{instead}", node.span
    )


def _gettimeofday(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    """Lower ``gettimeofday`` to zeros: in a kernel no time passes, because times are predicted after the launch."""
    where, span = passed(scope, node, target, given_to(node))[0], node.span
    to_memory(where)
    at = first_at(where, span)
    zero = ir.Assign(at, ir.Compose((), at.type, span), span)
    return ir.Comma(zero, number(0, t.INT32, span), t.INT32, span)


def _intrinsic(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    row = scope.reader.rows.get(target.span.line)
    nodes = given_to(node)
    operands = [*passed(scope, node, target, nodes)[: len(nodes)]]
    overload = tuple(p.type for p in target.parameters)
    if row is None:
        return scope.refuse(
            "intrinsic", f"{target.name} is not in the instruction set; `mlusim isa` lists what is", node.span
        )
    for n, (operand, parameter) in enumerate(zip(operands, overload, strict=False)):
        if isinstance(parameter, t.Pointer) and not isinstance(parameter.to, t.VectorRegister):
            operands[n] = _operand(scope, operand, parameter)
    return ir.IntrinsicCall(row, overload, tuple(operands), target.result, node.span)


def _operand(scope: FunctionScope, pointer: ir.Expr, kind: t.Pointer) -> ir.Expr:
    """Return a pointer operand of an instruction; the variable to which it points is moved to memory, structs and pointers become bytes."""
    local = to_memory(pointer)
    inner = pointer.value if isinstance(pointer, ir.Convert) else pointer
    of = t.element_of(inner.type.to if isinstance(inner.type, t.Pointer) else inner.type)
    if local is not None and isinstance(t.element_of(local.type), t.Pointer):
        scope.refuse(
            "operand",
            f"{local.source_name} is a pointer, and no instruction works on the bytes of one; assign it",
            pointer.span,
        )
    if isinstance(kind.to, t.Void) and isinstance(of, t.Struct | t.Pointer):
        return ir.Convert(pointer, t.Pointer(t.UINT8), pointer.span)
    return pointer


# -- methods, constructors, launches ---------------------------------------------------------------


def _reference(node: Node) -> Node | None:
    """Return the ``object.method`` node of a call; an operator in operator notation has none."""
    named = (c for c in node.children if c.kind == "MEMBER_REF_EXPR")
    return next((c for c in named if c.decl is not None and c.decl.kind == "CXX_METHOD"), None)


def _method(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    nodes, reference = given_to(node), _reference(node)
    at = places.member_base(scope, reference) if reference is not None else places.place(scope, nodes[0])
    if target.name.startswith("operator") and reference is None:
        nodes = nodes[1:]
    scope.refuse_class(at.type, node.span)
    if target.name == "operator=" and target.implicit:
        kind = at.type if target.parent is None else target.parent.type
        if isinstance(kind, t.Struct) and isinstance(at.type, t.Struct):
            return objects.assigned(scope, at, nodes[0], kind, node.span, moved=target.takes_temporary)
        return ir.Assign(at, scope.value(nodes[0]), node.span)
    values = passed(scope, node, target, nodes)
    if not takes_this(target):
        return scope.calling(target, values, node.span)
    if isinstance(at.type, t.Struct) and target.parent is not None:
        scope.refuse_beside(at.type, target.parent.type, node.span)
        if isinstance(target.parent.type, t.Struct):
            at = places.as_part(at, target.parent.type, node.span)
    this = places.address_of(scope, at, node.span)
    if target.virtual and scope.reader.is_dynamic(node):
        return arguments.virtual_call(scope, target, (this, *values), node)
    return scope.calling(target, (this, *values), node.span)


def _construction(scope: FunctionScope, node: Node, target: Declaration) -> ir.Expr:
    nodes = [c for c in node.children if c.type is not None]
    kind = node.type
    if isinstance(kind, t.Array):
        return objects.default_value(scope, kind, node.span)
    scope.refuse_class(kind, node.span)
    if isinstance(kind, t.VectorRegister):
        return scope.value(nodes[0]) if nodes else ir.Compose((), kind, node.span)
    if target.makes_copy and nodes and target.implicit:
        if isinstance(kind, t.Struct):
            return objects.copy_of_node(scope, nodes[0], kind, moved=target.takes_temporary)
        return scope.value(nodes[0])
    if not isinstance(kind, t.Struct):
        return scope.refuse(
            "constructor", f"an object of {kind} cannot be made here; use a class of the sources", node.span
        )
    original = target.original
    if original is None:
        return scope.refuse(
            "constructor",
            f"{target.name} is inherited through a using-declaration, which is not supported; declare it in the class itself",
            node.span,
        )
    if not acts(original):
        return objects.plain(scope, kind, node.span)
    members = () if original is target or target.parent is None else target.parent.fields
    return objects.built(scope, node, original, kind, nodes, members)
