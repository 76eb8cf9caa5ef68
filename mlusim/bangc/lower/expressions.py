"""Expressions, with their types and explicit conversions; `MAKERS` maps each kind of node to its lowering."""

from collections.abc import Callable, Mapping
from typing import Any

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import acts
from mlusim.bangc.lower import arguments, bits, objects, places
from mlusim.bangc.lower.conversions import convert, literal, string
from mlusim.bangc.lower.scope import FunctionScope, number, sequence
from mlusim.bangc.parse.nodes import Declaration, Node
from mlusim.bangc.scalars import COMPARE, SHIFTS, compare, compute, promoted, usual

_CASTS = (
    "CSTYLE_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR",
    "CXX_STATIC_CAST_EXPR",
    "CXX_REINTERPRET_CAST_EXPR",
    "CXX_CONST_CAST_EXPR",
)

_OF_HOST = {
    "CXX_NEW_EXPR": ("new", "declare an array, or give the kernel memory"),
    "CXX_DELETE_EXPR": ("delete", "declare an array, or give the kernel memory"),
    "CXX_THROW_EXPR": ("throw", "return a status"),
}
"""Constructs that device code lacks, each with its name and the replacement."""


def _inside(scope: FunctionScope, node: Node) -> ir.Expr:
    return scope.value(node.children[-1])


def _implicit(scope: FunctionScope, node: Node) -> ir.Expr:
    """Lower a node to which the library gives no kind: implicit casts, and steps without effect."""
    inner = [c for c in node.children if c.type is not None]
    if len(inner) != 1:
        value = scope.reader.value(node)
        if value is not None and isinstance(node.type, t.Arithmetic):
            return number(value, node.type, node)
        return scope.refuse(
            "implicit step", "this expression is not supported; write it in simpler steps", node.span
        )
    return _cast_of(scope, inner[0], node)


def _cast(scope: FunctionScope, node: Node) -> ir.Expr:
    if places.reinterprets(node):
        inner = node.children[-1]
        if places.is_place(inner) and inner.type != node.type:
            return _load(scope, node)
    value = _cast_of(scope, node.children[-1], node)
    # The operand's conversion belongs to the cast if both have one type.
    if isinstance(value, ir.Convert):
        value.cast = True
    return value


def _cast_of(scope: FunctionScope, inner: Node, node: Node) -> ir.Expr:
    if isinstance(inner.type, t.FunctionType):
        return scope.value(inner)
    if (
        isinstance(inner.type, t.Array)
        and isinstance(node.type, t.Pointer)
        and inner.kind != "STRING_LITERAL"
    ):
        at = places.place(scope, inner)
        text = at.value if isinstance(at, ir.Temporary) else None
        if isinstance(text, ir.Text):  # __func__
            return text
        if isinstance(text, ir.Conditional) and isinstance(text.then, ir.Text):
            text.type = node.type  # a conditional between two strings
            return text
        return convert(scope, scope.address(at, t.Pointer(inner.type.of), node.span), node.type, node.span)
    if isinstance(inner.type, t.Array) and isinstance(node.type, t.Struct):  # std::initializer_list
        first = scope.address(places.place(scope, inner), t.Pointer(inner.type.of), node.span)
        return ir.Compose((first, number(inner.type.count, t.UINT64, node)), node.type, node.span)
    value = scope.value(inner)
    if isinstance(value, ir.Text) and isinstance(node.type, t.Pointer):
        other = isinstance(node.type.to, t.Arithmetic) and node.type.to != t.INT8
        return ir.Convert(value, node.type, node.span) if other else value
    if (
        isinstance(node.type, t.Void)
        or value.type is node.type
        or (isinstance(value, ir.Text) and node.type != t.BOOL)
    ):
        return value
    if t.derives(value.type, node.type) and isinstance(node.type, t.Struct):
        return objects.base_of(scope, value, node.type, node.span)
    if isinstance(node.type, t.ClassType | t.Struct) or isinstance(value.type, t.Void):
        return value
    return convert(scope, value, node.type, node.span)


def _null(_scope: FunctionScope, node: Node) -> ir.Expr:
    return ir.Const(None, node.type if isinstance(node.type, t.Pointer) else t.Pointer(t.VOID), node.span)


def _name(scope: FunctionScope, node: Node) -> ir.Expr:
    declaration = node.decl
    if declaration is None:
        return _implicit(scope, node)
    if declaration.kind == "ENUM_CONSTANT_DECL":
        return number(declaration.value or 0, node.type, node)
    if declaration.kind in ("FUNCTION_DECL", "CXX_METHOD"):
        return _function(scope, node, declaration)
    if declaration.kind == "VAR_DECL" and declaration.from_prelude and scope.local(declaration) is None:
        value = scope.reader.value(node) if declaration.constant else None
        if value is not None:
            return number(value, node.type, node)
        return ir.Builtin(declaration.name, node.type, node.span)
    if declaration.kind not in places.VARIABLES:
        return _constant(scope, node, declaration)
    if declaration.kind == "UNEXPOSED_DECL" and id(declaration) not in scope.bindings:
        constant = scope.reader.value(node)  # a variable template, such as std::is_same_v
        if constant is not None:
            return number(constant, node.type, node)
    return _load(scope, node)


def _function(scope: FunctionScope, node: Node, declaration: Declaration) -> ir.Expr:
    """Lower the name of a function: its address, or the built-in variable of that name."""
    if declaration.from_prelude and declaration.definition is None:
        return ir.Builtin(declaration.name, node.type, node.span)
    if declaration.virtual:
        text = f"a pointer to {declaration.name}, which is virtual, is not supported; call the method by its name"
        scope.refuse("pointer to member", text, node.span)
    return ir.FunctionAddress(scope.around.need(declaration), declaration.title, node.type, node.span)


def _constant(scope: FunctionScope, node: Node, declaration: Declaration) -> ir.Expr:
    """Lower a name that is not a variable: a number, such as a template argument."""
    if not isinstance(node.type, t.Arithmetic):
        text = (
            f"which of the functions called {declaration.name} this is, in a list, is not known; "
            "write the type of the pointer in brackets before it, or assign it to a pointer by itself"
        )
        scope.refuse("function of a template", text, node.span)
    return literal(scope, node)


def _member(scope: FunctionScope, node: Node) -> ir.Expr:
    field = bits.of(node)
    return _load(scope, node) if field is None else bits.load(scope, node, field)


def _load(scope: FunctionScope, node: Node) -> ir.Expr:
    at = places.place(scope, node)
    if isinstance(at, ir.Temporary):
        return at.value
    if isinstance(at.type, t.Array):
        return scope.address(at, t.Pointer(at.type.of), node.span)
    if isinstance(at, ir.GlobalPlace) and isinstance(at.type, t.Arithmetic):
        variable = at.variable
        # A compiler encodes the number in its instructions.
        if variable.space == ir.GDRAM and variable.fixed and not variable.copied:
            return number((variable.initial or (0,))[0], at.type, node)
    return ir.Load(at, node.span)


# -- operators -------------------------------------------------------------------------------------


def _unary(scope: FunctionScope, node: Node) -> ir.Expr:
    op, inner = node.op, node.children[0]
    if op == "*":
        return scope.value(inner) if isinstance(node.type, t.FunctionType) else _load(scope, node)
    if op == "&":
        if isinstance(inner.type, t.FunctionType):
            return scope.value(inner)
        return places.offset_of_member(scope, inner) or places.pointer(scope, inner)
    if op in ("x++", "x--", "++x", "--x"):
        return _step(scope, node)
    if op == "!":
        tested = scope.valued(inner, t.BOOL)
        if isinstance(tested, ir.Const):
            return number(not tested.value, t.BOOL, node)
        return ir.Unary("!", tested, t.BOOL, node.span)
    operand = scope.valued(inner, node.type)
    if op == "+":
        return operand
    if isinstance(operand, ir.Const) and isinstance(node.type, t.Arithmetic):
        return _negated(op, operand, node)
    if op not in ("-", "~"):
        return scope.refuse(op, f"the operator {op} is not supported; write out what it computes", node.span)
    return ir.Unary(op, operand, node.type, node.span)


def _negated(op: str, operand: ir.Const, node: Node) -> ir.Expr:
    if node.type.kind == "float":
        return number(-operand.value, node.type, node)
    base = 0 if op == "-" else -1  # ~x is -1 - x
    return number(compute("-", base, operand.value, node.type), node.type, node)


def _step(scope: FunctionScope, node: Node) -> ir.Expr:
    field = bits.of(node.children[0])
    if field is not None:
        return bits.updated(scope, node, field)
    at = places.place(scope, node.children[0])
    kind = at.type
    real = isinstance(kind, t.Arithmetic) and kind.kind == "float"
    step = number(1.0 if real else 1, t.INT64 if isinstance(kind, t.Pointer) else kind, node)
    return ir.Update(at, "+" if "+" in node.op else "-", step, kind, node.op.startswith("x"), node.span)


def _binary(scope: FunctionScope, node: Node) -> ir.Expr:
    op = node.op
    left, right = node.children[0], node.children[-1]
    if op == "=":
        field = bits.of(left)
        if field is not None:
            return bits.assigned(scope, node, field)
        at = places.place(scope, left)
        return ir.Assign(at, scope.valued(right, at.type), node.span)
    if op in places.BY_MEMBER:
        return _load(scope, node)
    if op == ",":
        return ir.Comma(scope.value(left), scope.value(right), node.type, node.span)
    if op in ("&&", "||"):
        first, mark = scope.valued(left, t.BOOL), len(scope.loose)
        second = scope.valued(right, t.BOOL)
        scope.refuse_loose(mark, right.span)  # a destructor would run even if it was not created
        return ir.Logical(op, first, second, node.span)
    first, second = scope.value(left), scope.value(right)
    if op in COMPARE:
        return _comparison(scope, node, first, second)
    if isinstance(first.type, t.Pointer):
        if isinstance(second.type, t.Pointer):
            return ir.Distance(first, second, node.span)
        return ir.Offset(first, second, op == "-", node.span)
    if isinstance(second.type, t.Pointer):
        return ir.Offset(second, first, False, node.span)
    return arithmetic(scope, op, first, second, node)


def arithmetic(scope: FunctionScope, op: str, first: ir.Expr, second: ir.Expr, node: Node) -> ir.Expr:
    """Lower ``first op second`` of two numbers."""
    kind = node.type
    if not isinstance(kind, t.Arithmetic):
        return scope.refuse(op, f"{op} of {first.type} and {second.type} is not supported", node.span)
    first = convert(scope, first, kind, node.span)
    if op not in SHIFTS:  # a shift has the type of its left operand
        second = convert(scope, second, kind, node.span)
    if isinstance(first, ir.Const) and isinstance(second, ir.Const):
        result = compute(op, first.value, second.value, kind)
        if result is not None:  # undefined results are reported when they are executed
            return number(result, kind, node)
    return ir.Binary(op, first, second, kind, node.span)


def _comparison(scope: FunctionScope, node: Node, first: ir.Expr, second: ir.Expr) -> ir.Expr:
    if isinstance(first.type, t.Arithmetic) and isinstance(second.type, t.Arithmetic):
        kind = first.type if first.type == second.type else usual(first.type, second.type)
        first, second = convert(scope, first, kind, node.span), convert(scope, second, kind, node.span)
        if isinstance(first, ir.Const) and isinstance(second, ir.Const):
            return number(compare(node.op, first.value, second.value), t.BOOL, node)
    elif isinstance(first.type, t.Pointer) and not isinstance(second.type, t.Pointer):
        second = convert(scope, second, first.type, node.span)
    elif isinstance(second.type, t.Pointer) and not isinstance(first.type, t.Pointer):
        first = convert(scope, first, second.type, node.span)
    return ir.Compare(node.op, first, second, node.span)


def _compound(scope: FunctionScope, node: Node) -> ir.Expr:
    op = node.op.removesuffix("=")
    field = bits.of(node.children[0])
    if field is not None:
        return bits.updated(scope, node, field)
    at = places.place(scope, node.children[0])
    operand = scope.value(node.children[-1])
    kind = at.type
    if isinstance(kind, t.Pointer):
        return ir.Update(at, op, operand, kind, False, node.span)
    if not isinstance(kind, t.Arithmetic) or not isinstance(operand.type, t.Arithmetic):
        return scope.refuse(node.op, f"{node.op} of {kind} and {operand.type} is not supported", node.span)
    if op in SHIFTS:
        within = promoted(kind)
    else:
        within = usual(kind, operand.type)
        operand = convert(scope, operand, within, node.span)
    before = list[ir.Expr]()
    plain = isinstance(at, ir.LocalStorage) and at.local.storage is ir.Storage.VALUE
    if acts(operand, calls=not plain):  # it may change the place, which is read first
        operand = scope.kept(operand, before)
    return sequence(before, ir.Update(at, op, operand, within, False, node.span), node.span)


def _conditional(scope: FunctionScope, node: Node) -> ir.Expr:
    test, then, other = node.children[0], node.children[1], node.children[-1]
    outcome = scope.decided(test)
    if outcome is not None:
        return scope.valued(then if outcome else other, node.type)
    tested = scope.valued(test, t.BOOL)
    mark = len(scope.loose)
    choice = ir.Conditional(
        tested, scope.valued(then, node.type), scope.valued(other, node.type), node.type, node.span
    )
    scope.refuse_loose(mark, node.span)  # only one side is evaluated, with its own temporaries
    return choice


def _of_host(scope: FunctionScope, node: Node) -> ir.Expr:
    what, instead = _OF_HOST[node.kind]
    return scope.refuse(what, f"{what} is of the host, not of the device; {instead}", node.span)


MAKERS: Mapping[str, Callable[[FunctionScope, Node], Any]] = {
    "PAREN_EXPR": _inside,
    "UNEXPOSED_EXPR": _implicit,
    **dict.fromkeys(_CASTS, _cast),
    "INTEGER_LITERAL": literal,
    "FLOATING_LITERAL": literal,
    "CHARACTER_LITERAL": literal,
    "CXX_BOOL_LITERAL_EXPR": literal,
    **dict.fromkeys(("CXX_UNARY_EXPR", "SIZE_OF_PACK_EXPR"), literal),
    "STRING_LITERAL": string,
    "CXX_NULL_PTR_LITERAL_EXPR": _null,
    "GNU_NULL_EXPR": _null,
    "DECL_REF_EXPR": _name,
    "MEMBER_REF_EXPR": _member,
    "ARRAY_SUBSCRIPT_EXPR": _load,
    "CXX_THIS_EXPR": places.this,
    "UNARY_OPERATOR": _unary,
    "BINARY_OPERATOR": _binary,
    "COMPOUND_ASSIGNMENT_OPERATOR": _compound,
    "CONDITIONAL_OPERATOR": _conditional,
    "INIT_LIST_EXPR": objects.of_braces,
    "COMPOUND_LITERAL_EXPR": _inside,
    "CALL_EXPR": lambda scope, node: places.loaded(scope.call(node), node),
    "LAMBDA_EXPR": objects.of_lambda,
    "CXX_DYNAMIC_CAST_EXPR": arguments.dynamic_cast,
    **dict.fromkeys(_OF_HOST, _of_host),
}
