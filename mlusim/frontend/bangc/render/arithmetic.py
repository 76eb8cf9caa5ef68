"""Arithmetic and conversions of numbers in Python, with the ranges and the rounding of C."""

import ast
from collections.abc import Mapping
from types import MappingProxyType

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render.ranges import Range, computed

_PLAIN: Mapping[str, type[ast.operator]] = MappingProxyType(
    {
        "+": ast.Add,
        "-": ast.Sub,
        "*": ast.Mult,
        "&": ast.BitAnd,
        "|": ast.BitOr,
        "^": ast.BitXor,
        "<<": ast.LShift,
        ">>": ast.RShift,
    }
)
_GROWING = frozenset(("+", "-", "*", "<<"))
COMPARE: Mapping[str, type[ast.cmpop]] = MappingProxyType(
    {"==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE}
)
ROUNDING: Mapping[t.Arithmetic, str] = MappingProxyType(
    {t.HALF: "_c_f16", t.BFLOAT16: "_c_bf16", t.FLOAT: "_c_f32"}
)
SCRATCH = "_c_x"


def arithmetic(op: str, left: ast.expr, right: ast.expr, kind: t.Arithmetic, a: Range, c: Range) -> ast.expr:
    """``left op right`` in the type *kind*; *a* and *c* are what the operands may be."""
    if kind.kind == "float":
        return rounded(_real(op, left, right), kind)
    if op in ("/", "%"):
        return _divided(op, left, right, a, c)
    if op in ("<<", ">>") and not (c[0] >= 0 and c[1] < 8 * kind.size):
        right = b.binary(right, ast.BitAnd(), b.constant(8 * kind.size - 1))
        c = (0, 8 * kind.size - 1)
    made = b.binary(left, _PLAIN[op](), right)
    if op not in _GROWING:
        return made
    within = computed(op, a, c)
    if within is not None and within[0] >= kind.low and within[1] <= kind.high:
        return made
    return wrapped(made, kind)


def _real(op: str, left: ast.expr, right: ast.expr) -> ast.expr:
    if op == "/":
        if isinstance(right, ast.Constant) and right.value:
            return b.binary(left, ast.Div(), right)
        return b.call("_c_fdiv", left, right)
    return b.binary(left, _PLAIN[op](), right)


def _divided(op: str, left: ast.expr, right: ast.expr, a: Range, c: Range) -> ast.expr:
    if a[0] >= 0 and c[0] >= 0:
        return b.binary(left, ast.FloorDiv() if op == "/" else ast.Mod(), right)
    return b.call("_c_div" if op == "/" else "_c_mod", left, right)


def wrapped(made: ast.expr, kind: t.Arithmetic) -> ast.expr:
    """*made* modulo the size of an integer type."""
    if kind.kind == "bool":
        return b.compare(made, ast.NotEq(), b.constant(0))
    if kind.kind == "uint":
        return b.binary(made, ast.BitAnd(), b.constant(kind.high))
    # Most values fit, so that the test is what is paid.
    inside = ast.Compare(
        ast.UnaryOp(ast.USub(), b.constant(-kind.low)),
        [ast.LtE(), ast.LtE()],
        [b.held(SCRATCH, made), b.constant(kind.high)],
    )
    around = b.call("_c_wrap", b.name(SCRATCH), b.constant(-kind.low))
    return ast.IfExp(inside, b.name(SCRATCH), around)


def rounded(made: ast.expr, kind: t.Arithmetic) -> ast.expr:
    """*made* rounded to a floating type."""
    helper = ROUNDING.get(t.Arithmetic(kind.name, kind.kind, kind.size))
    return made if helper is None else b.call(helper, made)


def converted(made: ast.expr, have: t.Arithmetic, to: t.Arithmetic, values: Range) -> ast.expr:
    """A number of type *have* as one of type *to*."""
    if to.kind == "bool":
        return b.compare(made, ast.NotEq(), b.constant(0))
    if to.kind == "float":
        if have.kind != "float":
            return _from_whole(made, have, to)
        return made if _widens(have, to) else rounded(made, to)
    if have.kind == "float":
        return b.call("_c_whole", made, b.constant(to.low), b.constant(to.high))
    if have.kind == "bool":
        return ast.UnaryOp(ast.UAdd(), made)
    if to.low <= values[0] and values[1] <= to.high:
        return made
    return wrapped(made, to)


def _from_whole(made: ast.expr, have: t.Arithmetic, to: t.Arithmetic) -> ast.expr:
    if have.size == 8 and to.size < 8:
        return b.call("_c_long_to", made, b.constant(to.name))
    return b.call("float", made) if to.size == 8 else rounded(made, to)


def _widens(have: t.Arithmetic, to: t.Arithmetic) -> bool:
    return to.size > have.size
