"""Claims from text, in the way documents write them.

A claim is limits joined by ``and`` (``T*(S+1)+5*T <= 163840 and S < 300``), or a value (``n = NRAM/(20*C+4)``).
"""

import ast
from collections.abc import Iterable, Mapping

from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import Constraint, ElementType, Expr, Var, walk
from mlusim.formula.parse import FormulaReader, parse_formula, reader, shown
from mlusim.plan.claims import Claim, ScaleLimit, Value


def _constraint(read: FormulaReader, node: ast.expr) -> Constraint:
    """Return the constraint of one comparison."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise read.fail("a limit is one comparison, such as S*T <= NRAM/4; join several by 'and'")
    left, right = read.formula(node.left), read.formula(node.comparators[0])
    if isinstance(node.ops[0], ast.LtE):
        return left <= right
    if isinstance(node.ops[0], ast.Lt):
        return left < right
    if isinstance(node.ops[0], ast.GtE):
        return left >= right
    if isinstance(node.ops[0], ast.Gt):
        return left > right
    raise read.fail("a limit compares with <, <=, > or >=")


def _named(formulas: Iterable[Expr], variables: Mapping[str, Var]) -> tuple[str, ...]:
    """Return the variables that *formulas* mention, in the order in which the plan has them."""
    mentioned = {e.name for f in formulas for e in walk(f) if isinstance(e, Var)}
    return tuple(n for n in variables if n in mentioned)


def parse_claim(text: str, variables: Mapping[str, Var], element: ElementType | None = None) -> Claim:
    """Return the claim that *text* states; raises `UsageError` with what is wrong in it."""
    name, equals, value = text.partition("=")
    if equals and name.strip().isidentifier() and not value.startswith("="):
        name = name.strip()
        if name not in variables:
            raise UsageError(f"{shown(text)} is no claim: its variables are {', '.join(variables)}")
        formula = parse_formula(value, variables, element)
        free = _named((formula,), variables)
        return Value(text, name, formula, over=free[0] if free else None)
    read, body = reader(text.replace("&&", " and "), variables, element)
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    limits = tuple(_constraint(read, p) for p in parts)
    named = _named((side for c in limits for side in (c.left, c.right)), variables)
    if len(named) not in {1, 2}:
        raise UsageError(
            f"{shown(text)} is over {len(named)} {plural(len(named), 'variable')}; state a limit over one or two"
        )
    return ScaleLimit(text, limits, over=named)
