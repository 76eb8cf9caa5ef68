"""Which values an expression may have, as far as its own text says; what needs no wrapping follows."""

import math

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t

Range = tuple[int, int]
_NORMAL = (-126, 126)  # exponents of floats that are normal
_TASKS = 1 << 24  # more tasks than any launch has


def of(node: ir.Expr, known: "dict[str, Range]") -> Range:
    """Return the least and the greatest value of an integer expression; *known* has those of some locals."""
    kind = node.type
    if not isinstance(kind, t.Arithmetic) or not kind.whole:
        return (0, 0)
    if isinstance(node, ir.Const):
        return (int(node.value), int(node.value))
    found = _found(node, known)
    if found is None or found[0] < kind.low or found[1] > kind.high:
        return kind.low, kind.high
    return found


def _found(node: ir.Expr, known: "dict[str, Range]") -> Range | None:
    if isinstance(node, ir.Compare | ir.Logical) or (isinstance(node, ir.Unary) and node.op == "!"):
        return 0, 1
    if isinstance(node, ir.Builtin):
        return 0, _TASKS
    if isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage):
        return known.get(node.place.local.name)
    if isinstance(node, ir.Convert) and isinstance(node.value.type, t.Arithmetic) and node.value.type.whole:
        return of(node.value, known)
    if isinstance(node, ir.Conditional):
        then, other = of(node.then, known), of(node.other, known)
        return min(then[0], other[0]), max(then[1], other[1])
    if isinstance(node, ir.Binary):
        return computed(node.op, of(node.left, known), of(node.right, known))
    return None


def exponents(node: ir.Expr) -> Range | None:
    """Return the least and the greatest exponent of a float that is an integer times powers of two, so that it needs no rounding.

    Zero has none of them.  None for other numbers, and where a float of these exponents might not be normal.
    """
    if isinstance(node, ir.Convert) and node.type == t.FLOAT and isinstance(node.value.type, t.Arithmetic):
        return (0, 8 * node.value.type.size) if node.value.type.whole else None
    if isinstance(node, ir.Binary) and node.op in "*/" and isinstance(node.right, ir.Const):
        found, (mantissa, exponent) = exponents(node.left), math.frexp(node.right.value)
        if found is not None and abs(mantissa) == 0.5:
            moved = exponent - 1 if node.op == "*" else 1 - exponent
            low, high = found[0] + moved, found[1] + moved
            return (low, high) if low >= _NORMAL[0] and high <= _NORMAL[1] else None
    return None


def computed(op: str, a: Range, b: Range) -> Range | None:
    """Return the values of ``a op b`` before they wrap; None where nothing is known."""
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
