"""Formulas and claims from text, in the way documents write them.

Accepted are integers, variables, board constants, ``+ - * /``, parentheses, ``min``, ``max``,
``PAD_UP``, ``PAD_DOWN``, ``CEIL_DIV`` and ``sizeof(type)``; ``/`` is integer division.  A claim is
limits joined by ``and`` (``T*(S+1)+5*T <= 163840 and S < 300``), or a value (``n = NRAM/(20*C+4)``).
"""

import ast
from collections.abc import Callable, Iterable, Mapping

from attrs import frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.errors import UsageError
from mlusim.plan.claims import Claim, Limit, Value
from mlusim.plan.expr import (
    CLUSTERS,
    CORES,
    NRAM,
    PAD_DOWN,
    PAD_UP,
    SRAM,
    WRAM,
    Const,
    Constraint,
    ElementType,
    Expr,
    Size,
    Var,
    ceil_div,
    maximum,
    minimum,
    sizeof,
    walk,
)

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
class _Reader:
    """Turns a Python syntax tree into formulas; nothing is ever executed."""

    text: str
    names: Mapping[str, Expr]
    element: ElementType | None

    def fail(self, why: str) -> UsageError:
        return UsageError(f"{self.text!r} is no formula: {why}")

    def formula(self, node: ast.expr) -> Expr:
        """Return the formula of one node."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return Const(node.value)
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise self.fail(f"it names {node.id!r}; known are {', '.join(self.names)}")
            return self.names[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.formula(node.operand)
            return Const(-inner.value) if isinstance(inner, Const) else Const(0) - inner
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.call(node.func.id, node.args)
        raise self.fail("use integers, variables, + - * /, min, max, PAD_UP, PAD_DOWN, CEIL_DIV and sizeof")

    def binary(self, node: ast.BinOp) -> Expr:
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
        functions = _functions()
        if name in functions:
            return functions[name](*(self.formula(a) for a in args))
        if name != "sizeof" or len(args) != 1 or not isinstance(args[0], ast.Name):
            raise self.fail(f"{name} is no function; known are {', '.join(functions)} and sizeof(type)")
        if self.element is not None and args[0].id == self.element.name:
            return sizeof(self.element)
        return sizeof(as_dtype(args[0].id))

    def constraint(self, node: ast.expr) -> Constraint:
        """Return the constraint of one comparison."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            raise self.fail("a limit is one comparison, such as S*T <= NRAM/4; join several by 'and'")
        left, right = self.formula(node.left), self.formula(node.comparators[0])
        if isinstance(node.ops[0], ast.LtE):
            return left <= right
        if isinstance(node.ops[0], ast.Lt):
            return left < right
        if isinstance(node.ops[0], ast.GtE):
            return left >= right
        if isinstance(node.ops[0], ast.Gt):
            return left > right
        raise self.fail("a limit compares with <, <=, > or >=")


def _named(formulas: Iterable[Expr], variables: Mapping[str, Var]) -> tuple[str, ...]:
    """Return the variables that *formulas* mention, in the order in which the plan has them."""
    mentioned = {e.name for f in formulas for e in walk(f) if isinstance(e, Var)}
    return tuple(n for n in variables if n in mentioned)


def _reader(text: str, variables: Mapping[str, Var], element: ElementType | None) -> tuple[_Reader, ast.expr]:
    constants = {str(c): c for c in _CONSTANTS}
    reader = _Reader(text, {**constants, **variables}, element)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise reader.fail("its parentheses or operators do not match up") from None
    return reader, tree.body


def parse_formula(text: str, variables: Mapping[str, Var], element: ElementType | None = None) -> Expr:
    """Return the formula that *text* writes; raises `UsageError` with what is wrong in it."""
    reader, body = _reader(text, variables, element)
    return reader.formula(body)


def parse_claim(text: str, variables: Mapping[str, Var], element: ElementType | None = None) -> Claim:
    """Return the claim that *text* states; raises `UsageError` with what is wrong in it."""
    name, equals, value = text.partition("=")
    if equals and name.strip().isidentifier() and not value.startswith("="):
        name = name.strip()
        if name not in variables:
            raise UsageError(f"{text!r} is no claim: its variables are {', '.join(variables)}")
        formula = parse_formula(value, variables, element)
        free = _named((formula,), variables)
        return Value(text, name, formula, over=free[0] if free else None)
    reader, body = _reader(text.replace("&&", " and "), variables, element)
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    limits = tuple(reader.constraint(p) for p in parts)
    named = _named((side for c in limits for side in (c.left, c.right)), variables)
    if len(named) not in {1, 2}:
        raise UsageError(f"{text!r} is over {len(named)} variables; state a limit over one or two")
    return Limit(text, limits, over=named)
