"""Conversions: all made explicit; conversions of constants are computed."""

import math
import re

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import innermost
from mlusim.bangc.lower.scope import FunctionScope, first_at, number, sequence
from mlusim.bangc.parse.nodes import Node
from mlusim.bangc.scalars import converted


def convert(scope: FunctionScope, value: ir.Expr, to: t.Type, span: ir.Span) -> ir.Expr:
    """Convert *value* to the type *to*."""
    have = value.type
    if isinstance(to, t.Array) and (to.count == 0 or isinstance(have, t.Pointer)):
        # *to* is a parameter that was written as an array.
        to = t.Pointer(to.of)
    if isinstance(value, ir.Text) and to == t.BOOL:
        return ir.Const(True, to, span)
    same_pointers = isinstance(have, t.Pointer) and isinstance(to, t.Pointer) and have.to == to.to
    if t.alike(have, to) or same_pointers or isinstance(to, t.Void) or isinstance(value, ir.Text):
        return value
    if isinstance(value, ir.Const):
        folded = _folded(value, to)
        if folded is not None:
            return ir.Const(*folded, to, span)
    return _changed(scope, value, to, span)


def _changed(scope: FunctionScope, value: ir.Expr, to: t.Type, span: ir.Span) -> ir.Expr:
    """Return the conversion of a value that is not constant."""
    have = value.type
    if isinstance(have, t.Pointer) and isinstance(to, t.Pointer):
        return _pointer(scope, value, have, to, span)
    if isinstance(have, t.Array) and isinstance(to, t.Pointer) and isinstance(value, ir.Load):
        return convert(scope, scope.address(value.place, t.Pointer(have.of), span), to, span)
    if isinstance(have, t.Arithmetic | t.Pointer) and isinstance(to, t.Arithmetic | t.Pointer):
        if to == t.BOOL:
            return ir.Compare("!=", value, zero(have, span), span)
        return ir.Convert(value, to, span)
    if isinstance(have, t.FunctionType) or isinstance(to, t.FunctionType | t.ClassType):
        return value
    return scope.refuse(
        "conversion",
        f"a conversion from {have} to {to} is not supported; convert numbers, pointers or single members",
        span,
    )


def _folded(value: ir.Const, to: t.Type) -> tuple[float | None] | None:
    """Return the converted constant in a tuple of one, or None if it cannot be computed here."""
    if isinstance(to, t.Arithmetic) and value.value is not None:
        # NaN to integer is undefined in C, so it is left to the run.
        if isinstance(value.value, float) and math.isnan(value.value) and to.kind != "float":
            return None
        return (converted(value.value, to),)
    if isinstance(to, t.Pointer) and value.value in (0, None):
        return (None,)
    if isinstance(to, t.Arithmetic) and value.value is None:
        return (converted(0, to),)
    return None


def _pointer(scope: FunctionScope, value: ir.Expr, have: t.Pointer, to: t.Pointer, span: ir.Span) -> ir.Expr:
    if isinstance(have.to, t.Array) and have.to.of == to.to and isinstance(value, ir.AddressOf):
        return ir.AddressOf(value.place, to, span)
    seen, other = t.element_of(have.to), t.element_of(to.to)
    if isinstance(seen, t.Struct):
        scope.refuse_beside(seen, other, span)
        path = seen.part(other) if isinstance(other, t.Struct) else None
        back = other.part(seen) if isinstance(other, t.Struct) else None
        if path or back:
            return _to_part(scope, value, to, path or (), back or (), span)
    puns = {type(seen), type(other)} == {t.Pointer, t.Arithmetic} and other.size > 1  # bytes may be copied
    at = innermost(value.place) if puns and isinstance(value, ir.AddressOf) else None
    # The address of a variable outside memory, or of a part of it.
    if isinstance(at, ir.LocalStorage) and at.local.storage in (ir.Storage.VALUE, ir.Storage.CELL):
        what = "pointer is seen as a number" if isinstance(seen, t.Pointer) else "number is seen as a pointer"
        scope.refuse("cast", f"a {what} through another pointer; convert the value itself", span)
    if isinstance(seen, t.Struct) and not (isinstance(other, t.Struct) and seen.related(other)):
        scope.around.as_bytes.add(seen.name)
    return ir.Convert(value, to, span)


def _to_part(
    scope: FunctionScope,
    value: ir.Expr,
    to: t.Pointer,
    path: tuple[t.Field, ...],
    back: tuple[t.Field, ...],
    span: ir.Span,
) -> ir.Expr:
    """Return the pointer to an object as a pointer to its base along the members *path*, or with *back* to the enclosing object."""
    before = list[ir.Expr]()
    this = value if isinstance(value, ir.AddressOf) else scope.kept(value, before)
    if back:
        scope.around.as_bytes.add(t.element_of(to.to).name)  # type: ignore[union-attr]
        bytes_ = ir.Convert(this, t.Pointer(t.UINT8), span)
        ahead = number(sum(f.offset for f in back), t.INT64, span)
        moved: ir.Expr = ir.Convert(ir.Offset(bytes_, ahead, True, span), to, span)
    else:
        at: ir.Place = this.place if isinstance(this, ir.AddressOf) else first_at(this, span)
        for field in path:
            at = ir.Member(at, field, span)
        moved = scope.address(at, to, span)
    if isinstance(this, ir.AddressOf) or (isinstance(value.type, t.Pointer) and value.type.reference):
        return sequence(before, moved, span)
    none = zero(to, span)  # the null pointer stays null
    test = ir.Compare("!=", this, zero(this.type, span), span)  # type: ignore[arg-type]
    return sequence(before, ir.Conditional(test, moved, none, to, span), span)


def zero(kind: t.Arithmetic | t.Pointer, span: ir.Span) -> ir.Const:
    """Return the number 0, or the null pointer."""
    if isinstance(kind, t.Pointer):
        return ir.Const(None, kind, span)
    return ir.Const(0.0 if kind.kind == "float" else 0, kind, span)


def empty(kind: t.Type, span: ir.Span) -> ir.Expr:
    """Return a *kind* whose numbers and pointers are all zero."""
    return zero(kind, span) if isinstance(kind, t.Arithmetic | t.Pointer) else ir.Compose((), kind, span)


def letters(text: str, kind: t.Array, span: ir.Span) -> ir.Compose:
    """Return a string as an array of character codes."""
    of = kind.of
    assert isinstance(of, t.Arithmetic)
    raw = text.encode("utf-8", "surrogateescape")[: kind.size]
    raw = raw[: len(raw) - len(raw) % of.size]
    numbers = (int.from_bytes(raw[n : n + of.size], "little") for n in range(0, len(raw), of.size))
    # The device's char is signed.
    return ir.Compose(tuple(ir.Const(of.wrapped(n), of, span) for n in numbers), kind, span)


def literal(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return a value that the compiler library computes: literals, sizes, traits."""
    value = scope.reader.value(node)
    if value is None:
        return scope.refuse(
            "constant", "the value of this constant is not known; write the number", node.span
        )
    if isinstance(node.type, t.Arithmetic) and node.type.kind == "bool":
        value = bool(value)
    return convert(
        scope, number(value, t.DOUBLE if isinstance(value, float) else t.INT64, node), node.type, node.span
    )


# One character in the library's spelling of a literal; "" separates a hexadecimal escape from a following
# digit.
_CHARACTER = re.compile(
    r'""|\\(?P<octal>[0-7]{1,3})|\\x(?P<unit>[\da-fA-F]+)|\\(?P<code>u[\da-fA-F]{4}|U[\da-fA-F]{8})|\\?(?P<plain>.)',
    re.DOTALL,
)
_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}


def string(scope: FunctionScope, node: Node) -> ir.Text:
    """Lower a string literal to its bytes; a character has one, two or four bytes."""
    written = scope.reader.text(node)
    size = t.element_of(node.type).size
    start = written.find('"') + 1
    characters = _CHARACTER.finditer(written[start:-1])
    raw = b"".join(_encoded(character, size) for character in characters)
    zeros = bytes(size - 1)  # the last zero byte belongs to every text
    return ir.Text((raw + zeros).decode("utf-8", "surrogateescape"), node.span)


def _encoded(character: re.Match[str], size: int) -> bytes:
    """Return the bytes of one character in a literal with characters of *size* bytes."""
    octal, unit, code, plain = character.group("octal", "unit", "code", "plain")
    if octal or unit:  # it may be one byte of a longer character
        return int(octal or unit, 8 if octal else 16).to_bytes(size, "little")
    if code:
        plain = chr(int(code[1:], 16))
    elif character[0].startswith("\\"):
        plain = _ESCAPES.get(plain, plain)
    return (plain or "").encode(_ENCODINGS[size], "surrogatepass")
