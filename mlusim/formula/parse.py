"""Parser of formulas: of sizes as documents write them, and of the formulas in rows of the table.

For documents, `parse_formula` accepts integers, variables, board constants, ``+ - * /``, parentheses,
``min``, ``max``, ``PAD_UP``, ``PAD_DOWN``, ``CEIL_DIV`` and ``sizeof(type)``; ``/`` is integer division.

The text in a row is an expression in Python's syntax, such as ``(elem_count + 7) // 8``, ``width < 1`` or
``phase(dst)``; it is parsed once when the row is declared, and never executed. It may name the row's
parameters and ``generation`` (of the architecture), and use ``+ - * // %``, comparisons, ``and``, ``or``,
``not``, ``a if c else b``, ``min``, ``max``, ``PAD_UP``, ``PAD_DOWN``, ``CEIL_DIV``, and these functions of
operands:

``sizeof(T)``        bytes of an element of the operand whose extent it is
``sizeof(src)``      bytes of an element of *src*
``phase(src)``       bytes by which the address of *src* is not a multiple of its elements
``kind(src)``        ``'int'``, ``'uint'`` or ``'float'``
``pointer(src)``     whether *src* is an operand in memory, where it may be a scalar
``x is None``        whether the optional parameter *x* was left out; ``x is not None``
"""

import ast
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from attrs import frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import (
    CEIL,
    CLUSTERS,
    CORES,
    FACTS,
    MOD,
    NRAM,
    PAD_DOWN,
    PAD_UP,
    SRAM,
    WRAM,
    Amount,
    ComparisonChain,
    ElementType,
    Expr,
    Fact,
    Given,
    IfElse,
    Logic,
    Not,
    Operation,
    Size,
    SizeOf,
    Var,
    Word,
    ceil_div,
    maximum,
    minimum,
    sizeof,
)

# Limits in characters and in levels of nesting: far above the formulas of documents, and low enough for the
# recursions here.
_LONGEST, _DEEPEST = 2000, 200
_CONSTANTS: tuple[Expr, ...] = (NRAM, SRAM, WRAM, CLUSTERS, CORES)


def _pad(pad: Callable[[Size, Size], Expr]) -> Callable[..., Expr]:
    def called(*args: Size) -> Expr:
        if len(args) != 2:
            raise UsageError(f"PAD_UP, PAD_DOWN and CEIL_DIV take two arguments, not {len(args)}")
        return pad(args[0], args[1])

    return called


def _functions() -> Mapping[str, Callable[..., Expr]]:
    return {
        "min": minimum,
        "max": maximum,
        "PAD_UP": _pad(PAD_UP),
        "PAD_DOWN": _pad(PAD_DOWN),
        "CEIL_DIV": _pad(ceil_div),
    }


@frozen
class FormulaReader:
    """Turns a Python syntax tree into formulas; nothing is ever executed."""

    text: str
    names: Mapping[str, Expr]
    element: ElementType | None

    def fail(self, why: str) -> UsageError:
        """Return the error for this text, with the reason *why*."""
        return UsageError(f"{shown(self.text)} is not a formula: {why}")

    def formula(self, node: ast.expr) -> Expr:
        """Return the formula of one syntax node."""
        if isinstance(node, ast.Constant) and type(node.value) is int:  # True is an int to isinstance
            return Amount(node.value)
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise self.fail(f"it names {node.id!r}; known are {', '.join(self.names)}")
            return self.names[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.formula(node.operand)
            return Amount(-inner.value) if isinstance(inner, Amount) else Amount(0) - inner
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.call(node.func.id, node.args)
        raise self.fail("use integers, variables, + - * /, min, max, PAD_UP, PAD_DOWN, CEIL_DIV and sizeof")

    def binary(self, node: ast.BinOp) -> Expr:
        """Return the formula of a binary operation."""
        left, right = self.formula(node.left), self.formula(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Div | ast.FloorDiv):
            return left // right
        raise self.fail("the operations are + - * and /")

    def call(self, name: str, args: list[ast.expr]) -> Expr:
        """Return the formula of a function call."""
        functions = _functions()
        if name in functions:
            return functions[name](*(self.formula(a) for a in args))
        if name != "sizeof" or len(args) != 1 or not isinstance(args[0], ast.Name):
            raise self.fail(f"{name} is not a function; known are {', '.join(functions)} and sizeof(type)")
        if self.element is not None and args[0].id == self.element.name:
            return sizeof(self.element)
        return sizeof(as_dtype(args[0].id))


def reader(
    text: str, variables: Mapping[str, Var], element: ElementType | None
) -> tuple[FormulaReader, ast.expr]:
    """Return a reader of *text* for the names of a plan, and the syntax tree of *text*."""
    constants = {str(c): c for c in _CONSTANTS}
    if len(text) > _LONGEST:
        raise UsageError(
            f"{shown(text)} has {len(text)} {plural(len(text), 'character')}; a formula has at most {_LONGEST}"
        )
    parser = FormulaReader(text, {**constants, **variables}, element)
    try:
        with unwarned():
            tree = ast.parse(text.strip(), mode="eval")
    # Python's parser raises MemoryError when its own stack is full.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise parser.fail("its parentheses or operators do not match up") from None
    if _depth(tree) > _DEEPEST:
        raise parser.fail(f"its operations are nested more than {_DEEPEST} deep")
    return parser, tree.body


@contextmanager
def unwarned() -> Iterator[None]:
    """Suppress Python's warnings about a user's text, such as for ``1and 2``: the text is valid, or an error explains it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


def _depth(tree: ast.AST) -> int:
    """Return the depth of the tree, in nodes from the root to the farthest leaf."""
    # Level by level: a recursion would fail on the very trees that this function must detect.
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def shown(text: str) -> str:
    """Return the text in quotes; long text is shortened in the middle."""
    return repr(text if len(text) <= 120 else f"{text[:80]} ... {text[-20:]}")


def parse_formula(text: str, variables: Mapping[str, Var], element: ElementType | None = None) -> Expr:
    """Return the formula in *text*; raises `UsageError` that says what is wrong with the text."""
    parser, body = reader(text, variables, element)
    return parser.formula(body)


# -- the formulas of rows ---------------------------------------------------------------------------

SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@functools.cache
def row_formula(text: str) -> Expr:
    """Return the formula in *text*; raises `UsageError` that says what is wrong with the text."""
    read = _RowReader(text, {}, None)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise read.fail("its parentheses or operators do not match up") from None
    return read.formula(tree.body)


def names_in(*exprs: Expr) -> tuple[str, ...]:
    """Return the names of all parameters in *exprs*, in order of appearance."""
    return tuple(dict.fromkeys(name for expr in exprs for name in _names(expr)))


def _names(expr: Expr) -> tuple[str, ...]:
    if isinstance(expr, Var):
        return (expr.name,)
    if isinstance(expr, Given):
        return (expr.name.name,)
    return tuple(name for part in expr.parts for name in _names(part))


class _RowReader(FormulaReader):
    """Reads the formulas of rows, whose language is larger than that of plans."""

    def formula(self, node: ast.expr) -> Expr:
        """Return the formula of one syntax node."""
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
        """Return the formula of ``-(-a // b)``, with the inner sign before a or before the first factor of a; else None."""
        # Python's idiom for rounding a quotient up, which the documents' listings also use.
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
        # `== None` would compare the formula's value, but the test is whether the parameter was passed.
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            missing = node.comparators[0]
            if not (
                isinstance(node.left, ast.Name)
                and isinstance(missing, ast.Constant)
                and missing.value is None
            ):
                raise self.fail("only a parameter can be asked whether it is None")
            present = Given(Var(node.left.id))
            return Not(present) if isinstance(node.ops[0], ast.Is) else present
        unknown = [op for op in node.ops if type(op) not in SIGNS]
        if unknown:
            raise self.fail("it compares with <, <=, >, >=, ==, != or `is None`")
        signs = tuple(SIGNS[type(op)] for op in node.ops)
        return ComparisonChain(signs, tuple(self.formula(side) for side in (node.left, *node.comparators)))

    def binary(self, node: ast.BinOp) -> Expr:
        """Return the formula of a binary operation."""
        if isinstance(node.op, ast.Mod):
            return Operation(MOD, (self.formula(node.left), self.formula(node.right)))
        if isinstance(node.op, ast.Mult) and (padded := self._padded(node)) is not None:
            return padded
        return super().binary(node)

    def _padded(self, node: ast.BinOp) -> Expr | None:
        """Return PAD_UP(a, b) for ``-(-a // b) * b``, its form in Python; else None."""
        if not isinstance(node.left, ast.UnaryOp):
            return None
        up, size = self.formula(node.left), self.formula(node.right)
        if not isinstance(up, Operation) or up.op is not CEIL or up.args[1] != size:
            return None
        return PAD_UP(up.args[0], size)

    def call(self, name: str, args: list[ast.expr]) -> Expr:
        """Return the formula of a function call."""
        if name not in (*FACTS, "sizeof"):
            return super().call(name, args)
        if len(args) != 1 or not isinstance(args[0], ast.Name):
            raise self.fail(f"{name} is of one operand: {name}(dst)")
        operand = args[0].id
        return SizeOf(ElementType(operand, ())) if name == "sizeof" else Fact(name, operand)


def as_row_formula(value: "str | Expr") -> Expr:
    """Return *value* as a formula: itself, or the formula that the text contains."""
    if isinstance(value, Expr):
        return value
    if not isinstance(value, str):
        raise UsageError(f"{value!r} is not a formula of a row; write it as text")
    return row_formula(value)
