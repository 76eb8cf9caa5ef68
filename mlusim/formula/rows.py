"""The text of a row as a formula: ``(elem_count + 7) // 8``, ``width < 1``, ``phase(dst)``.

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
from collections.abc import Mapping
from types import MappingProxyType

from mlusim.errors import UsageError
from mlusim.formula.condition import FACTS, ComparisonChain, Fact, Given, IfElse, Logic, Not, Word
from mlusim.formula.expr import MOD, Amount, ElementType, Expr, Operation, SizeOf, Var, ceil_div
from mlusim.formula.parse import FormulaReader

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
