"""Totals as a reader wants them: ``(3*S*T+2*S+2*T+3*min(S,T)+5)*sizeof(float)``."""

from mlusim.formula.expr import Amount, Expr, Operation, SizeOf, Unit, text, walk
from mlusim.plan.solver.normal import Poly, formula, normal


def _one_sizeof(expr: Expr) -> SizeOf | None:
    """Return the sizeof that every byte of *expr* comes from, or None when there are several sources."""
    sizes = {e for e in walk(expr) if isinstance(e, SizeOf)}
    plain = any(isinstance(e, Amount) and e.unit is Unit.BYTES and e.value for e in walk(expr))
    return sizes.pop() if len(sizes) == 1 and not plain else None


def _divided(poly: Poly, by: SizeOf) -> Poly | None:
    """*poly* without one factor *by* in every product; None where one lacks it."""
    size = normal(by)
    if set(size) == {()}:
        whole = all(c % size[()] == 0 for c in poly.values())
        return {m: c // size[()] for m, c in poly.items()} if whole else None
    result = {}
    for monomial, factor in poly.items():
        if by not in monomial:
            return None
        rest = list(monomial)
        rest.remove(by)
        result[tuple(rest)] = factor
    return result


def total(expr: Expr) -> str:
    """*expr*, a number of bytes, as a sum of products; elements times sizeof where there is one dtype."""
    poly = normal(expr)
    by = _one_sizeof(expr)
    inner = None if by is None or not poly else _divided(poly, by)
    if by is None or inner is None:
        return text(formula(poly))
    elements = formula(inner)
    if isinstance(elements, Operation) and elements.op.level < 2:
        return f"({text(elements)})*{text(by)}"
    return f"{text(elements)}*{text(by)}"
