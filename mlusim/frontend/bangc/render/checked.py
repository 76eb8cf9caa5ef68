"""Arithmetic and conversions of integers in Python that tell where C would change a value without a word.

Only what may happen is tested, by the ranges that are known; ``_c_changed`` hears of it, and gives the value that C has.
"""

import ast

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import arithmetic
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render.ranges import Range, computed
from mlusim.frontend.bangc.scalars import BINARY, DIVISIONS, SHIFTS

NARROWED, OVERFLOW, SHIFT, FLOAT, COUNTER = (
    "narrowed",
    "overflow",
    "shift",
    "float-to-integer",
    "counter-wraps",
)


def converted(
    made: ast.expr,
    have: t.Arithmetic,
    to: t.Arithmetic,
    values: Range,
    *,
    cast: bool = False,
    rule: str | None = None,
) -> ast.expr:
    """Return a number of type *have* as one of type *to*; a *cast* that the source writes may drop bits of integers."""
    if to.kind in ("float", "bool"):
        return arithmetic.converted(made, have, to, values)
    if have.kind == "float":
        # What is truncated to the largest number lies below the next one.
        inside = ast.Compare(
            b.constant(float(to.low - 1))
            if to.low >= 0
            else ast.UnaryOp(ast.USub(), b.constant(float(1 - to.low))),
            # Of 64 bits low - 1 rounds to low itself, which is inside.
            [ast.Lt() if to.size < 8 or to.low == 0 else ast.LtE(), ast.Lt()],
            [b.held(arithmetic.SCRATCH, made), b.constant(float(to.high + 1))],
        )
        kept = b.call("int", b.name(arithmetic.SCRATCH))
        return ast.IfExp(inside, kept, _told(FLOAT, to, have))
    if have.kind == "bool" or cast or not (to.size < have.size or rule):
        return arithmetic.converted(made, have, to, values)
    if to.low <= values[0] and values[1] <= to.high:
        return made
    return fitting(made, to, rule or NARROWED, have)


def arithmetic_of(
    op: str,
    left: ast.expr,
    right: ast.expr,
    kind: t.Arithmetic,
    a: Range,
    c: Range,
    rule: str | None = None,
) -> ast.expr:
    """``left op right`` in the type *kind*; *a* and *c* are what the operands may be, *rule* is that of a loop's step."""
    if kind.kind == "float":
        return arithmetic.arithmetic(op, left, right, kind, a, c)
    if op in DIVISIONS:
        if kind.kind == "int" and a[0] == kind.low and c[0] <= -1 <= c[1]:
            return b.call(
                "_c_divided", b.constant(op), left, right, b.constant(kind.name), b.constant(kind.high)
            )
        return arithmetic.arithmetic(op, left, right, kind, a, c)
    bits = 8 * kind.size
    if op in SHIFTS and not (c[0] >= 0 and c[1] < bits):
        inside = b.between(0, b.held(arithmetic.SCRATCH, right), bits - 1)
        right = ast.IfExp(inside, b.name(arithmetic.SCRATCH), _told(SHIFT, kind, kind))
        c = (0, bits - 1)
    tested = kind.kind == "int" and op != "<<"  # a left shift may drop bits, which is what it is for
    within = computed(op, a, c)
    fits = within is not None and kind.low <= within[0] and within[1] <= kind.high
    if BINARY[op].tested and (tested or rule) and not fits:
        return fitting(arithmetic.plain(op, left, right), kind, rule or OVERFLOW)
    return arithmetic.arithmetic(op, left, right, kind, a, c)


def fitting(made: ast.expr, to: t.Arithmetic, rule: str, have: t.Arithmetic | None = None) -> ast.expr:
    """*made* where it is a number of the integer type *to*, otherwise what C makes of it, which is told."""
    inside = b.between(to.low, b.held(arithmetic.SCRATCH, made), to.high)
    return ast.IfExp(inside, b.name(arithmetic.SCRATCH), _told(rule, to, have or to))


def _told(rule: str, to: t.Arithmetic, have: t.Arithmetic) -> ast.expr:
    low = ast.UnaryOp(ast.USub(), b.constant(-to.low)) if to.low < 0 else b.constant(0)
    words = [b.constant(w) for w in (rule, have.name, to.name)]
    return b.call("_c_changed", b.name(arithmetic.SCRATCH), *words, low, b.constant(to.high))
