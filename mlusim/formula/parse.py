"""Formulas from text, in the way documents write them.

Accepted are integers, variables, board constants, ``+ - * /``, parentheses, ``min``, ``max``,
``PAD_UP``, ``PAD_DOWN``, ``CEIL_DIV`` and ``sizeof(type)``; ``/`` is integer division.
"""

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from attrs import frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import (
    CLUSTERS,
    CORES,
    NRAM,
    PAD_DOWN,
    PAD_UP,
    SRAM,
    WRAM,
    Amount,
    ElementType,
    Expr,
    Size,
    Var,
    ceil_div,
    maximum,
    minimum,
    sizeof,
)

# Characters, and levels: far above the formulas of documents, and below where the recursions here would end.
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
        """Return the error that says what is wrong in the text."""
        return UsageError(f"{shown(self.text)} is no formula: {why}")

    def formula(self, node: ast.expr) -> Expr:
        """Return the formula of one node."""
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
        """Return the formula of an operation."""
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
        """Return the formula of a function's call."""
        functions = _functions()
        if name in functions:
            return functions[name](*(self.formula(a) for a in args))
        if name != "sizeof" or len(args) != 1 or not isinstance(args[0], ast.Name):
            raise self.fail(f"{name} is no function; known are {', '.join(functions)} and sizeof(type)")
        if self.element is not None and args[0].id == self.element.name:
            return sizeof(self.element)
        return sizeof(as_dtype(args[0].id))


def reader(
    text: str, variables: Mapping[str, Var], element: ElementType | None
) -> tuple[FormulaReader, ast.expr]:
    """Return the reader of *text* for the names of a plan, and its syntax tree."""
    constants = {str(c): c for c in _CONSTANTS}
    if len(text) > _LONGEST:
        raise UsageError(
            f"{shown(text)} has {len(text)} {plural(len(text), 'character')}; a formula has at most {_LONGEST}"
        )
    found = FormulaReader(text, {**constants, **variables}, element)
    try:
        with unwarned():
            tree = ast.parse(text.strip(), mode="eval")
    # MemoryError: what the parser raises where its own stack is full.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise found.fail("its parentheses or operators do not match up") from None
    if _depth(tree) > _DEEPEST:
        raise found.fail(f"its operations are nested more than {_DEEPEST} deep")
    return found, tree.body


@contextmanager
def unwarned() -> Iterator[None]:
    """Hold back what Python remarks on the text of a person, as on ``1and 2``: it is right, or an error says what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


def _depth(tree: ast.AST) -> int:
    """Return how many nodes lie between the root and the farthest leaf, both counted."""
    # Level by level: a recursion would fail on what it is to measure.
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def shown(text: str) -> str:
    """Return the text in quotes, its middle left out where it is long."""
    return repr(text if len(text) <= 120 else f"{text[:80]} ... {text[-20:]}")


def parse_formula(text: str, variables: Mapping[str, Var], element: ElementType | None = None) -> Expr:
    """Return the formula that *text* writes; raises `UsageError` with what is wrong in it."""
    found, body = reader(text, variables, element)
    return found.formula(body)
