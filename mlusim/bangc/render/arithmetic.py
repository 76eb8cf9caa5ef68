"""Arithmetic and conversions of numbers in Python, with the ranges and the rounding of C."""

import ast
import math

from mlusim.bangc import ir, scalars, types as t
from mlusim.bangc.render import emit as b
from mlusim.bangc.render.emit import Range

SCRATCH = "_c_x"
# The low bits of a result depend only on the low bits of the operands.
_SHORT = (1 << 30) - 1  # the range that Python compares fastest


def modular(op: str, kind: t.Arithmetic) -> bool:
    """Return whether ``op`` in an integer type gives the same low bits if its operands are not wrapped first."""
    return scalars.BINARY[op].ring and kind.kind in ("int", "uint")


def keeps(have: t.Type, to: t.Type, size: int) -> bool:
    """Return whether a conversion keeps the low *size* bytes: both types are integers with at least as many bytes."""
    if not (isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic)):
        return False
    return {have.kind, to.kind} <= {"int", "uint"} and min(have.size, to.size) >= size


def overflows(op: str, kind: t.Arithmetic, a: Range, c: Range) -> bool:
    """Return whether ``op`` on integers may overflow the type *kind*; *a* and *c* are the operands' ranges."""
    if not scalars.BINARY[op].grows or not kind.whole:
        return False
    within = _combined(op, a, c)
    return within is None or within[0] < kind.low or within[1] > kind.high


def python(op: str) -> ast.operator:
    """Return Python's operator for ``op`` on integers; for a division, valid if both operands are non-negative."""
    operator = scalars.BINARY[op].python()
    assert isinstance(operator, ast.operator)
    return operator


def comparison(op: str) -> ast.cmpop:
    """Return Python's comparison operator for ``op``."""
    operator = scalars.COMPARE[op].python()
    assert isinstance(operator, ast.cmpop)
    return operator


def plain(op: str, left: ast.expr, right: ast.expr) -> ast.expr:
    """Return ``left op right`` on integers, without wrapping."""
    return b.binary(left, python(op), right)


def arithmetic(op: str, left: ast.expr, right: ast.expr, kind: t.Arithmetic, a: Range, c: Range) -> ast.expr:
    """Return ``left op right`` in the type *kind*; *a* and *c* are the operands' ranges."""
    if kind.kind == "float":
        return rounded(real(op, left, right), kind)
    if op in scalars.DIVISIONS:
        return _divided(op, left, right, kind, a, c)
    if op in scalars.SHIFTS and not (c[0] >= 0 and c[1] <= scalars.most_shift(kind)):
        right = b.binary(right, ast.BitAnd(), b.constant(scalars.most_shift(kind)))
        c = (0, scalars.most_shift(kind))
    result = plain(op, left, right)
    return wrapped(result, kind) if overflows(op, kind, a, c) else result


def real(op: str, left: ast.expr, right: ast.expr) -> ast.expr:
    """Return ``left op right`` on floating-point numbers, without rounding."""
    if op == "/":
        if isinstance(right, ast.Constant) and right.value:
            return b.binary(left, ast.Div(), right)
        return b.call("_c_fdiv", left, right)
    return b.binary(left, python(op), right)


def _divided(op: str, left: ast.expr, right: ast.expr, kind: t.Arithmetic, a: Range, c: Range) -> ast.expr:
    if a[0] >= 0 and c[0] >= 0:
        return b.binary(left, python(op), right)
    helper, _ = scalars.BINARY[op].helpers[max(kind.size, 4)]
    if not b.simple(right) or c[1] <= 0:
        return b.call(helper, left, right)
    # Most operands are non-negative, and Python's own operator suffices.
    held, again = b.twice(left, SCRATCH)
    if a[0] >= 0 and again is held:
        test = b.compare(b.constant(0), ast.Lt(), right)
    else:
        operators: list[ast.cmpop] = [ast.GtE()] if c[0] > 0 else [ast.GtE(), ast.Lt()]
        test = ast.Compare(held, operators, [b.constant(0), right][: len(operators)])
    return ast.IfExp(test, b.binary(again, python(op), right), b.call(helper, again, right))


def wrapped(number: ast.expr, kind: t.Arithmetic) -> ast.expr:
    """Return *number* wrapped to the range of an integer type."""
    if kind.kind == "bool":
        return b.compare(number, ast.NotEq(), b.constant(0))
    if kind.kind == "uint":
        return b.binary(number, ast.BitAnd(), b.constant(kind.high))
    # Most values fit, so usually only the test costs time.
    inside = b.between(max(kind.low, -_SHORT), b.held(SCRATCH, number), min(kind.high, _SHORT))
    around = b.call("_c_wrap", b.name(SCRATCH), b.constant(-kind.low))
    return ast.IfExp(inside, b.name(SCRATCH), around)


def rounded(number: ast.expr, kind: t.Arithmetic) -> ast.expr:
    """Return *number* rounded to a floating type."""
    row = scalars.real_type(kind)
    return number if row is None or row.name is None else b.call(row.name, number)


def converted(number: ast.expr, have: t.Arithmetic, to: t.Arithmetic, values: Range) -> ast.expr:
    """Return a number of type *have* converted to type *to*."""
    if to.kind == "bool":
        return b.compare(number, ast.NotEq(), b.constant(0))
    if to.kind == "float":
        if have.kind != "float":
            return _from_whole(number, have, to, values)
        return number if to.size > have.size else rounded(number, to)
    if have.kind == "float":
        return _truncated(number, to)
    if have.kind == "bool":
        return ast.UnaryOp(ast.UAdd(), number)
    if to.low <= values[0] and values[1] <= to.high:
        return number
    return wrapped(number, to)


def _from_whole(number: ast.expr, have: t.Arithmetic, to: t.Arithmetic, values: Range) -> ast.expr:
    if to.size == 8 or have.kind == "bool":
        return b.call("float", number)
    row = scalars.real_type(to)
    exact = 0 if row is None else row.exact
    if -exact <= values[0] and values[1] <= exact:
        return b.call("float", number)
    once, again = b.twice(number, SCRATCH)
    by = b.call("_c_long_to", again, b.constant(to.name)) if have.size == 8 else rounded(again, to)
    if isinstance(number, ast.Call):  # a call: its value is unknown
        return b.call("_c_long_to", number, b.constant(to.name)) if have.size == 8 else rounded(number, to)
    return ast.IfExp(b.between(-exact, once, exact), b.binary(again, ast.Add(), b.constant(0.0)), by)


def _truncated(number: ast.expr, to: t.Arithmetic) -> ast.expr:
    """Return a floating-point number converted to an integer: toward zero, saturating."""
    once, again = b.twice(number, SCRATCH)
    by = b.call("_c_whole", again, b.constant(to.low), b.constant(to.high))
    low, high = float(max(to.low, -_SHORT)), float(min(to.high, _SHORT))
    return ast.IfExp(b.between(low, once, high), b.call("int", again), by)


# Integer arithmetic and conversions in Python that report silent changes by C.
#
# Known ranges remove tests of impossible cases; ``_c_changed`` reports a change and returns the value of C.


def checked_conversion(
    number: ast.expr,
    have: t.Arithmetic,
    to: t.Arithmetic,
    values: Range,
    *,
    cast: bool = False,
    steps: bool = False,
) -> ast.expr:
    """Return a number of type *have* converted to *to*, with a check; *cast* and *steps* as in `change_of_conversion`."""
    change = scalars.change_of_conversion(have, to, cast=cast, steps=steps)
    if change == scalars.BEYOND:
        return b.call("_c_single", number)
    if change == scalars.FLOAT:
        # A number that truncates to the largest integer lies below the next integer.
        inside = ast.Compare(
            b.constant(float(to.low - 1)),
            # With 64 bits, low - 1 rounds to low itself, which is inside.
            [ast.Lt() if to.size < 8 or to.low == 0 else ast.LtE(), ast.Lt()],
            [b.held(SCRATCH, number), b.constant(float(to.high + 1))],
        )
        whole = b.call("int", b.name(SCRATCH))
        return ast.IfExp(inside, whole, _told(scalars.FLOAT, to, have))
    if change in (scalars.NARROWED, scalars.COUNTER) and not (to.low <= values[0] and values[1] <= to.high):
        return fitting(number, to, change, have)
    return converted(number, have, to, values)


def checked_operation(
    op: str, left: ast.expr, right: ast.expr, kind: t.Arithmetic, a: Range, c: Range, *, steps: bool = False
) -> ast.expr:
    """Return ``left op right`` in the type *kind*, with a check; *a* and *c* are ranges, *steps* as in `change_of_operation`."""
    change = scalars.change_of_operation(op, kind, steps=steps)
    if change == scalars.BEYOND:
        return b.call("_c_quotient", left, right) if op == "/" else b.call("_c_single", real(op, left, right))
    if op in scalars.DIVISIONS and kind.kind == "int" and a[0] == kind.low and c[0] <= -1 <= c[1]:
        return b.call("_c_divided", b.constant(op), left, right, b.constant(kind.name), b.constant(kind.high))
    bits = 8 * kind.size
    if change == scalars.SHIFT and not (c[0] >= 0 and c[1] < bits):
        inside = b.between(0, b.held(SCRATCH, right), bits - 1)
        right = ast.IfExp(inside, b.name(SCRATCH), _told(scalars.SHIFT, kind, kind))
        c = (0, bits - 1)
    if change in (scalars.OVERFLOW, scalars.COUNTER):
        within = _combined(op, a, c)
        if within is None or within[0] < kind.low or within[1] > kind.high:
            return fitting(plain(op, left, right), kind, change)
    return arithmetic(op, left, right, kind, a, c)


def fitting(number: ast.expr, to: t.Arithmetic, rule: str, have: t.Arithmetic | None = None) -> ast.expr:
    """Return *number* if it fits the integer type *to*, else the value that C gives it, which is reported."""
    inside = b.between(to.low, b.held(SCRATCH, number), to.high)
    return ast.IfExp(inside, b.name(SCRATCH), _told(rule, to, have or to))


def _told(rule: str, to: t.Arithmetic, have: t.Arithmetic) -> ast.expr:
    words = [b.constant(w) for w in (rule, have.name, to.name, to.low, to.high)]
    return b.call("_c_changed", b.name(SCRATCH), *words)


# Ranges of expressions, as far as their text determines them; they show which results need no wrapping.

_NORMAL = (-126, 126)  # exponents of normal floats
_TASKS = 1 << 24  # more tasks than any launch has


def range_of(node: ir.Expr, ranges: "dict[str, Range]") -> Range:
    """Return the smallest and largest value of an integer expression; *ranges* has the ranges of some locals."""
    kind = node.type
    if not isinstance(kind, t.Arithmetic) or not kind.whole:
        return (0, 0)
    if isinstance(node, ir.Const):
        return (int(node.value), int(node.value))
    values = _bounds(node, ranges)
    if values is None or values[0] < kind.low or values[1] > kind.high:
        return kind.low, kind.high
    return values


def _bounds(node: ir.Expr, ranges: "dict[str, Range]") -> Range | None:
    if isinstance(node, ir.Compare | ir.Logical) or (isinstance(node, ir.Unary) and node.op == "!"):
        return 0, 1
    if isinstance(node, ir.Builtin):
        return 0, _TASKS
    if isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage):
        return ranges.get(node.place.local.name)
    if isinstance(node, ir.Convert) and isinstance(node.value.type, t.Arithmetic) and node.value.type.whole:
        return range_of(node.value, ranges)
    if isinstance(node, ir.Conditional):
        then, other = range_of(node.then, ranges), range_of(node.other, ranges)
        return min(then[0], other[0]), max(then[1], other[1])
    if isinstance(node, ir.Binary):
        return _combined(node.op, range_of(node.left, ranges), range_of(node.right, ranges))
    return None


def exponents(node: ir.Expr) -> Range | None:
    """Return the range of exponents of a float that is an integer times powers of two and so needs no rounding.

    Zero has no exponent. None for other numbers, and if a float with these exponents might not be normal.
    """
    if isinstance(node, ir.Convert) and node.type == t.FLOAT and isinstance(node.value.type, t.Arithmetic):
        return (0, 8 * node.value.type.size) if node.value.type.whole else None
    if isinstance(node, ir.Binary) and node.op in "*/" and isinstance(node.right, ir.Const):
        left, (mantissa, exponent) = exponents(node.left), math.frexp(node.right.value)
        if left is not None and abs(mantissa) == 0.5:
            moved = exponent - 1 if node.op == "*" else 1 - exponent
            low, high = left[0] + moved, left[1] + moved
            return (low, high) if low >= _NORMAL[0] and high <= _NORMAL[1] else None
    return None


def _combined(op: str, a: Range, b: Range) -> Range | None:
    """Return the range of ``a op b`` before wrapping; None if it is unknown."""
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "*":
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    if op == "&" and min(a[0], b[0]) >= 0:
        return 0, min(a[1], b[1])
    if op == "&" and max(a[0], b[0]) >= 0:
        return 0, a[1] if a[0] >= 0 else b[1]
    return _quotient(op, a, b)


def _quotient(op: str, a: Range, b: Range) -> Range | None:
    if op == "/" and b[0] > 0:
        return (-(-a[0] // b[0]) if a[0] < 0 else 0), (a[1] // b[0] if a[1] > 0 else 0)
    if op == "%" and b[0] > 0:
        return (-(b[1] - 1) if a[0] < 0 else 0), (min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1)
    if op == ">>" and b[0] >= 0:
        return (a[0] >> b[0] if a[0] < 0 else a[0] >> min(b[1], 64)), (
            a[1] >> b[0] if a[1] > 0 else a[1] >> min(b[1], 64)
        )
    if op == "<<" and 0 <= b[0] <= b[1] < 64:
        ends = [x << y for x in a for y in b]
        return min(ends), max(ends)
    return None
