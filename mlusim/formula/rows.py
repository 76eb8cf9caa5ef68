"""The formulas of rows: what they say besides sizes, and how they are read: ``(elem_count + 7) // 8``, ``width < 1``, ``phase(dst)``.

The text is an expression of Python's syntax, read once where the row is declared and never executed.  It may name
the row's parameters and ``generation`` (of the architecture), and use ``+ - * // %``, comparisons, ``and``, ``or``,
``not``, ``a if c else b``, ``min``, ``max``, ``PAD_UP``, ``PAD_DOWN``, ``CEIL_DIV``, and of operands:

``sizeof(T)``        bytes of an element of the operand whose extent it is
``sizeof(src)``      bytes of an element of *src*
``phase(src)``       bytes by which the address of *src* is no multiple of its elements
``kind(src)``        ``'int'``, ``'uint'`` or ``'float'``
``pointer(src)``     whether *src* is an operand in memory, where it may be a scalar
``x is None``        whether the optional parameter *x* was left out; ``x is not None``
"""

import ast
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.formula.expr import MOD, Amount, ElementType, Expr, Operation, SizeOf, Var, ceil_div
from mlusim.formula.parse import FormulaReader

# -- conditions, choices and what is known of operands -----------------------------------------------

# A condition is 0 or 1, and any number but 0 is true.  `Logic` gives one of its parts as Python does, so that
# ``stride or width`` is the width where the stride is missing or 0.

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
    }
)
FACTS = ("phase", "kind", "pointer")


def _known(env: Mapping[str, Any], key: str) -> Any:
    # A KeyError would name the key of a dictionary; the reader of the sentence knows parameters.
    if key not in env:
        raise UsageError(f"the formula needs a value for {key}")
    return env[key]


@frozen(order=False)
class Word(Expr):
    """A kind of element type: ``int``, ``uint`` or ``float``."""

    word: str

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the word as it stands."""
        del env
        return self.word


@frozen(order=False)
class Fact(Expr):
    """A fact about an operand.

    ``phase``: bytes by which its address is no multiple of its elements; ``kind``: of its element type; ``pointer``:
    whether it is one, where a scalar may stand as well.
    """

    what: str
    operand: str

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return what *env* has as ``phase_dst`` and so on."""
        return _known(env, f"{self.what}_{self.operand}")


@frozen(order=False)
class Given(Expr):
    """The question whether a parameter that may be left out was given."""

    name: Var

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 0 where *env* has None, else 1."""
        return int(_known(env, self.name.name) is not None)


@frozen(order=False)
class ComparisonChain(Expr):
    """A chain of comparisons: ``1 <= segnum <= 4096``."""

    signs: tuple[str, ...]
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions that are compared."""
        return self.args

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 1 where all comparisons hold."""
        values = [a.evaluate(env) for a in self.args]
        pairs = zip(self.signs, values, values[1:], strict=False)
        return int(all(COMPARISONS[sign](left, right) for sign, left, right in pairs))


@frozen(order=False)
class Logic(Expr):
    """Parts joined by ``and`` or by ``or``; evaluation stops at the part that decides."""

    word: str
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The conditions that are joined."""
        return self.args

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the part that decides."""
        value: Any = 0
        # A part behind the one that decides is not evaluated: it may have no value there, as a stride that was left out.
        for arg in self.args:
            value = arg.evaluate(env)
            if bool(value) is (self.word == "or"):
                return value
        return value


@frozen(order=False)
class Not(Expr):
    """The negation of a condition."""

    arg: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The condition that is negated."""
        return (self.arg,)

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 1 for 0 and 0 for everything else."""
        return int(not self.arg.evaluate(env))


@frozen(order=False)
class IfElse(Expr):
    """``then if test else other``."""

    test: Expr
    then: Expr
    other: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The test, and what is chosen from."""
        return self.test, self.then, self.other

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return what the test chooses."""
        return (self.then if self.test.evaluate(env) else self.other).evaluate(env)


def is_condition(expr: Expr) -> bool:
    """Return whether *expr* is 0 or 1 by its form."""
    if isinstance(expr, Logic):
        return all(is_condition(arg) for arg in expr.args)
    return isinstance(expr, ComparisonChain | Not | Given) or (
        isinstance(expr, Fact) and expr.what == "pointer"
    )


# -- reading ---------------------------------------------------------------------------------------

SIGNS: Mapping[type[ast.cmpop], str] = MappingProxyType(
    {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
)


@functools.cache
def row_formula(text: str) -> Expr:
    """Return the formula that *text* writes; raises `UsageError` with what is wrong in it."""
    read = _RowReader(text, {}, None)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise read.fail("its parentheses or operators do not match up") from None
    return read.formula(tree.body)


def names_in(*exprs: Expr) -> tuple[str, ...]:
    """Return the parameters that *exprs* name, in order of appearance."""
    return tuple(dict.fromkeys(name for expr in exprs for name in _names(expr)))


def _names(expr: Expr) -> tuple[str, ...]:
    if isinstance(expr, Var):
        return (expr.name,)
    if isinstance(expr, Given):
        return (expr.name.name,)
    return tuple(name for part in expr.parts for name in _names(part))


class _RowReader(FormulaReader):
    """Reads what rows may say beside what plans may."""

    def formula(self, node: ast.expr) -> Expr:
        """Return the formula of one node."""
        if isinstance(node, ast.Name):
            return Var(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Word(node.value)
        if isinstance(node, ast.BoolOp):
            word = "and" if isinstance(node.op, ast.And) else "or"
            return Logic(word, tuple(self.formula(value) for value in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Not(self.formula(node.operand))
        if isinstance(node, ast.UnaryOp) and (up := self._rounded_up(node)) is not None:
            return up
        if isinstance(node, ast.IfExp):
            return IfElse(self.formula(node.test), self.formula(node.body), self.formula(node.orelse))
        if isinstance(node, ast.Compare):
            return self._compare(node)
        return super().formula(node)

    def _rounded_up(self, node: ast.UnaryOp) -> Expr | None:
        """``-(-a // b)``, with the sign before a or before the first of its factors."""
        # Python's way to round a quotient up, which the documents' own listings use.
        divided = node.operand
        if not (isinstance(divided, ast.BinOp) and isinstance(divided.op, ast.FloorDiv)):
            return None
        above = self._without_sign(divided.left)
        return None if above is None else ceil_div(above, self.formula(divided.right))

    def _without_sign(self, node: ast.expr) -> Expr | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.formula(node.operand)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            first = self._without_sign(node.left)
            return None if first is None else first * self.formula(node.right)
        return None

    def _compare(self, node: ast.Compare) -> Expr:
        # `==` with None would be true of a formula that is 0, where a parameter was given.
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            missing = node.comparators[0]
            if not (
                isinstance(node.left, ast.Name)
                and isinstance(missing, ast.Constant)
                and missing.value is None
            ):
                raise self.fail("only a parameter can be asked whether it is None")
            given = Given(Var(node.left.id))
            return Not(given) if isinstance(node.ops[0], ast.Is) else given
        unknown = [op for op in node.ops if type(op) not in SIGNS]
        if unknown:
            raise self.fail("it compares with <, <=, >, >=, ==, != or `is None`")
        signs = tuple(SIGNS[type(op)] for op in node.ops)
        return ComparisonChain(signs, tuple(self.formula(side) for side in (node.left, *node.comparators)))

    def binary(self, node: ast.BinOp) -> Expr:
        """Return the formula of an operation."""
        if isinstance(node.op, ast.Mod):
            return Operation(MOD, (self.formula(node.left), self.formula(node.right)))
        return super().binary(node)

    def call(self, name: str, args: list[ast.expr]) -> Expr:
        """Return the formula of a function's call."""
        if name not in (*FACTS, "sizeof"):
            return super().call(name, args)
        if len(args) != 1 or not isinstance(args[0], ast.Name):
            raise self.fail(f"{name} is of one operand: {name}(dst)")
        operand = args[0].id
        return SizeOf(ElementType(operand, ())) if name == "sizeof" else Fact(name, operand)


def as_row_formula(value: "str | Expr") -> Expr:
    """*value* itself, or the formula that a text writes."""
    if isinstance(value, Expr):
        return value
    if not isinstance(value, str):
        raise UsageError(f"{value!r} is no formula of a row; write it as text")
    return row_formula(value)


ONE = Amount(1)
