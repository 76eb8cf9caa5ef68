"""Formulas as source: as Python with few parentheses, and as C over 64-bit integers.

Many formulas can also be rendered as one straight-line function, which computes every common subexpression once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.formula import expr as e
from mlusim.formula.expr import (
    Amount,
    ComparisonChain,
    Expr,
    Fact,
    Given,
    IfElse,
    Logic,
    Not,
    Operation,
    SizeOf,
    Word,
    is_condition,
    symbol,
)

Leaf = Callable[[e.Expr], str]
"""A function that writes a leaf: a variable, a sizeof or a fact."""

CHOICE, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, ATOM = range(9)  # levels of precedence
SIGNS = {
    e.ADD: ("+", SUM),
    e.SUB: ("-", SUM),
    e.MUL: ("*", PRODUCT),
    e.DIV: ("//", PRODUCT),
    e.MOD: ("%", PRODUCT),
}


def plain_leaf(leaf: e.Expr) -> str:
    """Return a leaf in the notation of rows: ``elem_count``, ``sizeof(T)``, ``phase(dst)``."""
    return _leaf(leaf, "{}({})")


def _leaf(leaf: e.Expr, fact: str) -> str:
    """Return a leaf as text; *fact* is the format of a fact about an operand."""
    if isinstance(leaf, e.Var | e.BoardConst):
        return leaf.name
    if isinstance(leaf, e.SizeOf):
        return fact.format("sizeof", leaf.type.name)
    if isinstance(leaf, Fact):
        return fact.format(leaf.what, leaf.operand)
    raise UsageError(f"{leaf!r} is not a leaf of a formula")


def to_python(expr: e.Expr, leaf: Leaf = plain_leaf) -> str:
    """Return the Python source of *expr*; *leaf* writes the leaves."""
    return _Source(leaf).text(expr)[0]


class _Source:
    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf

    def at(self, expr: e.Expr, level: int) -> str:
        """Return the source of *expr*, in parentheses where it binds less tightly than *level*."""
        text, binding = self.text(expr)
        return text if binding >= level else f"({text})"

    def text(self, expr: e.Expr) -> tuple[str, int]:
        """Return the source of *expr* and its precedence."""
        if isinstance(expr, e.Amount):
            return str(expr.value), ATOM if expr.value >= 0 else SIGN  # -2 binds as its sign does
        if isinstance(expr, Word):
            return repr(expr.word), ATOM
        if isinstance(expr, e.Operation):
            return self._call(expr)
        if isinstance(expr, Given):
            return f"{self.leaf(expr.name)} is not None", COMPARE
        if isinstance(expr, Not):
            return self._not(expr.arg)
        if isinstance(expr, ComparisonChain):
            first, *others = (self.at(arg, SUM) for arg in expr.args)
            return " ".join([first, *(f"{s} {o}" for s, o in zip(expr.signs, others, strict=True))]), COMPARE
        if isinstance(expr, Logic):
            binding = AND if expr.word == "and" else OR
            return f" {expr.word} ".join(self.at(arg, binding + 1) for arg in expr.args), binding
        if isinstance(expr, IfElse):
            test, then = self.at(expr.test, OR), self.at(expr.then, OR)
            return f"{then} if {test} else {self.at(expr.other, CHOICE)}", CHOICE
        source = self.leaf(expr)
        return source, COMPARE if " " in source else ATOM

    def _not(self, arg: e.Expr) -> tuple[str, int]:
        text, binding = self.text(arg)
        for word, opposite in ((" is not ", " is "), (" is ", " is not ")):
            if word in text and binding == COMPARE and not isinstance(arg, ComparisonChain):
                return text.replace(word, opposite), COMPARE
        return f"not {self.at(arg, NOT)}", NOT

    def _call(self, expr: e.Operation) -> tuple[str, int]:
        if expr.op in (e.MIN, e.MAX):
            return f"{expr.op.name}({', '.join(self.at(a, CHOICE) for a in expr.args)})", ATOM
        left, right = expr.args
        if expr.op is e.CEIL:
            return self._rounded_up(left, right), SIGN
        if expr.op is e.UP:
            return f"{self._rounded_up(left, right)} * {self.at(right, SIGN)}", PRODUCT
        if expr.op is e.DOWN:
            return f"{self.at(left, PRODUCT)} // {self.at(right, SIGN)} * {self.at(right, SIGN)}", PRODUCT
        sign, binding = SIGNS[expr.op]
        # The right operand keeps its parentheses in a - (b - c).
        return f"{self.at(left, binding)} {sign} {self.at(right, binding + 1)}", binding

    def _rounded_up(self, left: e.Expr, right: e.Expr) -> str:
        # The sign binds to the first factor, and -a * b is -(a * b): a product needs no parentheses after the
        # sign.
        product = not isinstance(left, e.Operation) or left.op is e.MUL
        return f"-(-{self.at(left, PRODUCT if product else ATOM)} // {self.at(right, SIGN)})"


# -- as C, with Python's division: towards minus infinity -------------------------------------------

# The text uses the functions of `SUPPORT`. ``x_given`` says whether an optional parameter was passed; if not,
# its value must be 0.

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
    return _leaf(leaf, "{}_{}")


def to_c(expr: e.Expr, leaf: Callable[[e.Expr], str] = c_leaf) -> str:
    """Return the C source of *expr*, with every operation in parentheses; *leaf* writes the leaves."""

    def c(part: e.Expr) -> str:
        return to_c(part, leaf)

    if isinstance(expr, e.Amount):
        # A plain constant is a 32-bit int in C, and sizes in bytes exceed that.
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
    # `or` of numbers returns one of them (stride or width); rows use `and` for conditions only.
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


@frozen
class Compiled:
    """A function of *params* (names, in order) that returns the value of every formula, in order."""

    params: tuple[str, ...]
    source: str
    function: Callable[..., tuple[Any, ...]]

    def __call__(self, env: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values of all formulas for *env*; raises `UsageError` for a missing name or a zero divisor."""
        try:
            return self.function(*[env[p] for p in self.params])
        except KeyError as missing:
            raise UsageError(f"the formulas need a value for {missing.args[0]}") from None
        except ZeroDivisionError:
            raise UsageError(
                "a size formula divides by zero; give the divisor's variable a larger value"
            ) from None


class _Writer:
    """Turns formulas into assignments, one per distinct operation."""

    def __init__(self, vector: bool) -> None:
        self.vector = vector
        self.names: dict[Expr, str] = {}
        self.params: set[str] = set()
        self.lines: list[str] = []

    def value(self, expr: Expr) -> str:
        """Return the name or the number that represents *expr*."""
        if isinstance(expr, Amount):
            return f"({expr.value})" if expr.value < 0 else str(expr.value)
        if isinstance(expr, SizeOf) and isinstance(expr.type, DType):
            return str(expr.type.size)
        if not isinstance(expr, Operation):
            name = symbol(expr)
            self.params.add(name)
            return name
        if expr not in self.names:
            form = expr.op.vector if self.vector else expr.op.source
            code = self.value(expr.args[0])
            for arg in expr.args[1:]:
                code = self.assign(form.format(code, self.value(arg)))
            self.names[expr] = code
        return self.names[expr]

    def assign(self, code: str) -> str:
        name = f"_{len(self.lines)}"
        self.lines.append(f"    {name} = {code}")
        return name


def compile_exprs(exprs: Sequence[Expr], *, vector: bool = False) -> Compiled:
    """Return one function for all of *exprs*; with *vector* it takes NumPy integer arrays as well."""
    writer = _Writer(vector)
    results = [writer.value(e) for e in exprs]
    params = tuple(sorted(writer.params))
    body = "".join(f"{line}\n" for line in writer.lines)
    returned = "".join(f"{r}, " for r in results)
    source = f"def sizes({', '.join(params)}):\n{body}    return ({returned})\n"
    # Formulas name no other function.
    scope: dict[str, Any] = {"np": np, "min": min, "max": max, "__builtins__": {}}
    exec(compile(source, "<plan>", "exec"), scope)  # noqa: S102 - the source consists of formulas only
    return Compiled(params, source, scope["sizes"])
