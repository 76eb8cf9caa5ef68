"""Bit fields: structure members that share bytes, read and stored by shifts and masks."""

from collections.abc import Iterator, Sequence

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import acts
from mlusim.bangc.lower import places
from mlusim.bangc.lower.conversions import convert, empty
from mlusim.bangc.lower.scope import FunctionScope, number, sequence
from mlusim.bangc.parse.nodes import Node
from mlusim.bangc.scalars import SHIFTS, usual


def of(node: Node) -> t.BitField | None:
    """Return the bit field to which *node* refers, or None."""
    node = places.bare(node)
    declaration = node.decl
    if node.kind != "MEMBER_REF_EXPR" or declaration is None or not declaration.bit_field:
        return None
    owner = None if declaration.parent is None else declaration.parent.type
    fields = owner.bitfields if isinstance(owner, t.Struct) else ()
    return next((field for field in fields if field.name == declaration.name), None)


def load(scope: FunctionScope, node: Node, field: t.BitField) -> ir.Expr:
    """Return the value of a bit field."""
    before = list[ir.Expr]()
    first = _bytes(scope, node, field, before)
    return sequence(before, _value(first, field, node.span), node.span)


def assigned(scope: FunctionScope, node: Node, field: t.BitField) -> ir.Expr:
    """Lower ``field = value``; the value of the expression is that of the field after the store."""
    before = list[ir.Expr]()
    value = scope.kept(scope.valued(node.children[-1], field.type), before)
    first = _bytes(scope, node.children[0], field, before)
    before += _stores(first, field, value, node.span)
    return sequence(before, _value(first, field, node.span), node.span)


def updated(scope: FunctionScope, node: Node, field: t.BitField) -> ir.Expr:
    """Lower ``field op= value``, ``++field`` and ``field++``."""
    span, before = node.span, list[ir.Expr]()
    first = _bytes(scope, node.children[0], field, before)
    old = scope.kept(_value(first, field, span), before)
    steps = node.kind == "UNARY_OPERATOR"
    op = ("+" if "+" in node.op else "-") if steps else node.op.removesuffix("=")
    operand = number(1, t.INT32, node) if steps else scope.value(node.children[-1])
    assert isinstance(operand.type, t.Arithmetic)
    within = _promoted(field) if op in SHIFTS else usual(_promoted(field), operand.type)
    if op not in SHIFTS:
        operand = convert(scope, operand, within, span)
    result = ir.Binary(op, convert(scope, old, within, span), operand, within, span)
    value = scope.kept(_cast(result, field.type), before)
    before += _stores(first, field, value, span)
    return sequence(before, old if node.op in ("x++", "x--") else _value(first, field, span), span)


def begun(scope: FunctionScope, this: ir.Place, field: t.BitField, node: Node) -> Iterator[ir.Statement]:
    """Yield the statements that initialise a bit field of the object at *this*."""
    before = list[ir.Expr]()
    value = scope.kept(scope.valued(node, field.type), before)
    first = _first(scope, this, field, node.span)
    for step in (*before, *_stores(first, field, value, node.span)):
        yield ir.Evaluate(step, node.span)


def packed(
    scope: FunctionScope, kind: t.Struct, values: Sequence[ir.Expr], span: ir.Span
) -> tuple[ir.Expr, ...]:
    """Return the values of the members of *kind*, with bit fields packed into the bytes that they share."""
    before, by_name = list[ir.Expr](), dict(zip((p.name for p in kind.parts), values, strict=False))
    held = {f.name: scope.kept(by_name[f.name], before) for f in kind.bitfields if f.name in by_name}
    members: list[ir.Expr] = []
    for member in kind.fields:
        fields = [f for f in kind.bitfields if f.storage == member.name]
        if not fields:
            members.append(by_name.get(member.name) or empty(member.type, span))
            continue
        numbers = list[ir.Expr]()
        for n in range(member.type.size):
            byte: ir.Expr = number(0, t.UINT64, span)
            for field in fields:
                if field.name in held and _mask(field, n):
                    byte = ir.Binary("|", byte, _part(held[field.name], field, n, span), t.UINT64, span)
            numbers.append(sequence(before, _cast(byte, t.UINT8), span))
            before = []
        members.append(ir.Compose(tuple(numbers), member.type, span))
    return tuple(members)


# -- bytes -----------------------------------------------------------------------------------------


def _bytes(scope: FunctionScope, node: Node, field: t.BitField, before: list[ir.Expr]) -> ir.Expr:
    """Return the pointer to the bytes of a bit field, evaluated once by the steps *before*."""
    node = places.bare(node)
    assert node.decl is not None
    assert node.decl.parent is not None
    owner = node.decl.parent.type
    assert isinstance(owner, t.Struct)
    this = _holder(places.member_base(scope, node), owner, node.span)
    assert this is not None
    first = _first(scope, this, field, node.span)
    return scope.kept(first, before) if acts(first) else first


def _holder(at: ir.Place, owner: t.Struct, span: ir.Span) -> ir.Place | None:
    """Return the place of the *owner* within the object at a place: the object, a base, or an anonymous structure in it."""
    kind = at.type
    assert isinstance(kind, t.Struct)
    if kind is owner or owner in kind.bases:
        return at
    inner = (
        ir.Member(at, f, span)
        for f in kind.fields
        if f.name.startswith(t.UNNAMED) and isinstance(f.type, t.Struct)
    )
    return next((holder for member in inner if (holder := _holder(member, owner, span)) is not None), None)


def _first(scope: FunctionScope, this: ir.Place, field: t.BitField, span: ir.Span) -> ir.Expr:
    assert isinstance(this.type, t.Struct)
    return scope.address(ir.Member(this, this.type.field(field.storage), span), t.Pointer(t.UINT8), span)


def _mask(field: t.BitField, n: int) -> int:
    """Return the mask of the field's bits within byte *n*."""
    return (((1 << field.width) - 1) << field.start >> (8 * n)) & 0xFF


def _shifted(value: ir.Expr, by: int, span: ir.Span) -> ir.Expr:
    """Return a 64-bit number shifted left by *by* bits, or right if *by* is negative."""
    op, count = ("<<", by) if by > 0 else (">>", -by)
    return ir.Binary(op, value, number(count, t.INT32, span), t.UINT64, span) if by else value


def _part(value: ir.Expr, field: t.BitField, n: int, span: ir.Span) -> ir.Expr:
    """Return the bits of *value* that belong into byte *n* of the field, at their position there."""
    moved = _shifted(_cast(value, t.UINT64), field.start - 8 * n, span)
    return ir.Binary("&", moved, number(_mask(field, n), t.UINT64, span), t.UINT64, span)


def _stores(first: ir.Expr, field: t.BitField, value: ir.Expr, span: ir.Span) -> Iterator[ir.Expr]:
    for n in range(field.start // 8, (field.start + field.width - 1) // 8 + 1):
        at = ir.Element(first, number(n, t.INT64, span), span)
        others = number(0xFF & ~_mask(field, n), t.UINT64, span)
        rest = ir.Binary("&", _cast(ir.Load(at, span), t.UINT64), others, t.UINT64, span)
        both = ir.Binary("|", rest, _part(value, field, n, span), t.UINT64, span)
        yield ir.Assign(at, _cast(both, t.UINT8), span)


def _value(first: ir.Expr, field: t.BitField, span: ir.Span) -> ir.Expr:
    """Return the number stored in the bit field."""
    value: ir.Expr = number(0, t.UINT64, span)
    for n in range(field.start // 8, (field.start + field.width - 1) // 8 + 1):
        byte = ir.Load(ir.Element(first, number(n, t.INT64, span), span), span)
        masked = ir.Binary(
            "&", _cast(byte, t.UINT64), number(_mask(field, n), t.UINT64, span), t.UINT64, span
        )
        value = ir.Binary("|", value, _shifted(masked, 8 * n - field.start, span), t.UINT64, span)
    if field.type.kind == "bool":
        return ir.Compare("!=", value, number(0, t.UINT64, span), span)
    if field.type.kind == "int" and field.width < 64:
        unused = number(64 - field.width, t.INT32, span)  # the first bit is the sign
        high = _cast(ir.Binary("<<", value, unused, t.UINT64, span), t.INT64)
        value = ir.Binary(">>", high, unused, t.INT64, span)
    return _cast(value, field.type)


def _cast(value: ir.Expr, to: t.Arithmetic) -> ir.Expr:
    """Convert a number to another type, truncating bits that do not fit."""
    return value if value.type == to else ir.Convert(value, to, value.span, cast=True)


def _promoted(field: t.BitField) -> t.Arithmetic:
    """Return the promoted type of a bit field in arithmetic: int if that holds all of its values."""
    signed = field.type.kind == "int"
    if field.width < 32 or (field.width == 32 and signed):
        return t.INT32
    return t.UINT32 if field.width == 32 else field.type
