"""Sums of products: the form in which two formulas that mean the same become the same.

``S*(T+1)+(S+1)*T`` becomes ``2*S*T+S+T``.  What is no polynomial (min, max, division, padding) stays
as an indivisible factor, with its own arguments normalised.
"""

from collections.abc import Mapping

from mlusim.arch.dtypes import DType
from mlusim.formula.expr import (
    ADD,
    MAX,
    MIN,
    MUL,
    SUB,
    Amount,
    Expr,
    Operation,
    SizeOf,
    Unit,
    Var,
    is_symbol,
    text,
    walk,
)

Monomial = tuple[Expr, ...]
"""The factors of a product, sorted by how they print; a factor that is there twice is squared."""

Poly = Mapping[Monomial, int]
"""Coefficients by monomial; no zero among them."""


def _combine(a: Poly, b: Poly, sign: int) -> Poly:
    total = dict(a)
    for monomial, factor in b.items():
        total[monomial] = total.get(monomial, 0) + sign * factor
    return {m: c for m, c in total.items() if c}


def _product(a: Poly, b: Poly) -> Poly:
    total: dict[Monomial, int] = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = tuple(sorted(left + right, key=text))
            total[monomial] = total.get(monomial, 0) + x * y
    # A zero would make equal formulas differ.
    return {m: c for m, c in total.items() if c}


def normal(expr: Expr) -> Poly:
    """Return *expr* as a sum of products."""
    if isinstance(expr, Amount):
        return {(): expr.value} if expr.value else {}
    if isinstance(expr, SizeOf) and isinstance(expr.type, DType):
        return {(): expr.type.size}
    if not isinstance(expr, Operation):
        return {(expr,): 1}
    if expr.op is MUL:
        return _product(normal(expr.args[0]), normal(expr.args[1]))
    if expr.op in {ADD, SUB}:
        return _combine(normal(expr.args[0]), normal(expr.args[1]), 1 if expr.op is ADD else -1)
    args = [formula(normal(a)) for a in expr.args]
    if expr.op in {MIN, MAX}:
        # Min and max do not care for the order, nor for a second mention.
        args = sorted(set(args), key=text)
        if len(args) == 1:
            return normal(args[0])
    return {(Operation(expr.op, tuple(args)),): 1}


def difference(a: Expr, b: Expr) -> Poly:
    """Return ``a - b`` as a sum of products; ``{}`` says that they are equal for all values."""
    return _combine(normal(a), normal(b), -1)


def constant(poly: Poly) -> int | None:
    """Return the number that *poly* is, or None where it depends on something."""
    if not poly:
        return 0
    return poly[()] if set(poly) == {()} else None


def _monomial(factors: Monomial, size: int) -> Expr:
    result: Expr | None = None if factors and size == 1 else Amount(size)
    for factor in factors:
        result = factor if result is None else result * factor
    return Amount(size) if result is None else result


def formula(poly: Poly) -> Expr:
    """Return *poly* as a formula again, highest degree first, plain variables before indivisible factors."""

    def order(item: tuple[Monomial, int]) -> tuple[int, int, str]:
        plain = all(isinstance(f, Var) for f in item[0])
        return (-len(item[0]), 0 if plain else 1, ",".join(text(f) for f in item[0]))

    result: Expr | None = None
    # a sum that starts with a minus sign reads badly: put a positive term first where there is one
    ordered = sorted(poly.items(), key=order)
    ordered.sort(key=lambda item: item[1] < 0)
    for factors, size in ordered:
        if result is None:
            result = _monomial(factors, size)
        elif size < 0:
            result = result - _monomial(factors, -size)
        else:
            result = result + _monomial(factors, size)
    return Amount(0) if result is None else result


def shift(expr: Expr, name: str) -> Expr:
    """Return *expr* with ``name + 1`` in place of the symbol *name*."""
    if is_symbol(expr, name):
        return expr + 1
    if isinstance(expr, Operation):
        return Operation(expr.op, tuple(shift(a, name) for a in expr.args))
    return expr


def _one_sizeof(expr: Expr) -> SizeOf | None:
    """Return the sizeof that every byte of *expr* comes from, or None when there are several sources."""
    # A number of plain bytes beside it comes from no element.
    sizes = {e for e in walk(expr) if isinstance(e, SizeOf)}
    plain = any(isinstance(e, Amount) and e.unit is Unit.BYTES and e.value for e in walk(expr))
    return sizes.pop() if len(sizes) == 1 and not plain else None


def _divided(poly: Poly, by: SizeOf) -> Poly | None:
    """*poly* without one factor *by* in every product; None where one lacks it."""
    size = normal(by)
    if set(size) == {()}:
        # A type of known size is a number in the coefficients and no factor.
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
    # A sum needs brackets before it is multiplied.
    if isinstance(elements, Operation) and elements.op.level < 2:
        return f"({text(elements)})*{text(by)}"
    return f"{text(elements)}*{text(by)}"
