"""Formulas as C source over 64-bit integers, with Python's division: towards minus infinity.

The text uses the functions of `SUPPORT`.  Whether an optional parameter is there is ``x_given``; where it is not,
its value must be 0.
"""

from collections.abc import Callable

from mlusim.errors import UsageError
from mlusim.formula import expr as e
from mlusim.formula.condition import ComparisonChain, Fact, Given, IfElse, Logic, Not, Word, is_condition

SUPPORT = """\
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }
static inline int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
static inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t either(int64_t a, int64_t b) { return a ? a : b; }
enum { KIND_INT, KIND_UINT, KIND_FLOAT };
"""
OPERATORS = {e.ADD: "+", e.SUB: "-", e.MUL: "*"}
FUNCTIONS = {e.DIV: "floor_div", e.MOD: "floor_mod", e.CEIL: "ceil_div", e.MIN: "least", e.MAX: "most"}


def c_leaf(leaf: e.Expr) -> str:
    """Return a leaf as a C name: ``elem_count``, ``sizeof_src``, ``phase_dst``."""
    if isinstance(leaf, e.Var | e.BoardConst):
        return leaf.name
    if isinstance(leaf, e.SizeOf):
        return f"sizeof_{leaf.type.name}"
    if isinstance(leaf, Fact):
        return f"{leaf.what}_{leaf.operand}"
    raise UsageError(f"{leaf!r} is no leaf of a formula")


def to_c(expr: e.Expr, leaf: Callable[[e.Expr], str] = c_leaf) -> str:
    """Return the source of *expr*, every operation in parentheses; *leaf* writes what stands for itself."""

    def c(part: e.Expr) -> str:
        return to_c(part, leaf)

    if isinstance(expr, e.Amount):
        # A plain constant is an int of 32 bits, and sizes in bytes exceed them.
        return f"INT64_C({expr.value})"
    if isinstance(expr, Word):
        return f"KIND_{expr.word.upper()}"
    if isinstance(expr, Given):
        return f"{leaf(expr.name)}_given"
    if isinstance(expr, Not):
        return f"(!{c(expr.arg)})"
    if isinstance(expr, IfElse):
        return f"({c(expr.test)} ? {c(expr.then)} : {c(expr.other)})"
    if isinstance(expr, ComparisonChain):
        sides = [c(arg) for arg in expr.args]
        pairs = zip(expr.signs, sides, sides[1:], strict=False)
        return f"({' && '.join(f'({left} {sign} {right})' for sign, left, right in pairs)})"
    if isinstance(expr, Logic):
        return _logic(expr, [c(arg) for arg in expr.args])
    return _call(expr, [c(arg) for arg in expr.args]) if isinstance(expr, e.Operation) else leaf(expr)


def _logic(expr: Logic, parts: list[str]) -> str:
    # `or` of numbers gives one of them (stride or width); rows use `and` for conditions alone.
    if is_condition(expr) or expr.word == "and":
        return f"({(' && ' if expr.word == 'and' else ' || ').join(parts)})"
    *before, text = parts
    for part in reversed(before):
        text = f"either({part}, {text})"
    return text


def _call(expr: e.Operation, parts: list[str]) -> str:
    text, *others = parts
    for part in others:
        if expr.op in OPERATORS:
            text = f"({text} {OPERATORS[expr.op]} {part})"
        elif expr.op is e.UP:
            text = f"(ceil_div({text}, {part}) * {part})"
        elif expr.op is e.DOWN:
            text = f"(floor_div({text}, {part}) * {part})"
        else:
            text = f"{FUNCTIONS[expr.op]}({text}, {part})"
    return text
