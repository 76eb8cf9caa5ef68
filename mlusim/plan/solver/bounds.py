"""The range of a formula over ranges of its variables: intervals, and proofs that it only grows.

Everything here is sound: a bound may be wider than the truth and a proof may fail to be found, but
what is claimed holds for every value in the ranges.
"""

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.formula.expr import (
    ADD,
    CEIL,
    DIV,
    DOWN,
    MAX,
    MIN,
    MUL,
    SUB,
    Amount,
    Expr,
    Operation,
    SizeOf,
    is_symbol,
    symbol,
    walk,
)
from mlusim.plan.solver.normal import difference, shift
from mlusim.plan.solver.normal import formula as as_formula


@frozen
class Interval:
    """All integers from *low* to *high*, both included."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high


Ranges = Mapping[str, Interval]


class Trend(Enum):
    """How a formula moves when one variable grows."""

    STILL = 0
    UP = 1
    DOWN = -1

    def flipped(self) -> "Trend":
        """Return the opposite trend."""
        return Trend(-self.value)


def _corners(expr: Operation, a: Interval, b: Interval) -> Interval:
    values = [expr.op.apply(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(values), max(values))


def _pair(expr: Operation, a: Interval, b: Interval) -> Interval:
    """Return the interval of one operation on two intervals."""
    op = expr.op
    if op is ADD:
        return Interval(a.low + b.low, a.high + b.high)
    if op is SUB:
        return Interval(a.low - b.high, a.high - b.low)
    if op in {MIN, MAX, MUL}:
        return _corners(expr, a, b)
    # A divisor that may be 0 has no interval, and one that may be negative turns the bounds round.
    if b.low <= 0:
        raise UsageError(
            f"the divisor of {expr} can be {b.low}; bound its variables so that it stays above 0"
        )
    if op in {DIV, CEIL} or b.low == b.high:
        return _corners(expr, a, b)
    # padding to a modulus that varies: never further away than the modulus less one
    if op is DOWN:
        return Interval(a.low - (b.high - 1), a.high)
    return Interval(a.low, a.high + (b.high - 1))


def interval(expr: Expr, ranges: Ranges) -> Interval:
    """Return an interval that holds every value of *expr* over *ranges*.

    Raises `UsageError` for a name without a range and for a divisor that may be zero or negative.
    """
    if isinstance(expr, Amount):
        return Interval(expr.value, expr.value)
    if isinstance(expr, Operation):
        result = interval(expr.args[0], ranges)
        for arg in expr.args[1:]:
            result = _pair(expr, result, interval(arg, ranges))
        return result
    if isinstance(expr, SizeOf) and symbol(expr) not in ranges:
        # The size of a named type is a constant; of the plan's own type it is a range.
        size = expr.evaluate({})
        return Interval(size, size)
    key = symbol(expr)
    if key not in ranges:
        raise UsageError(f"the formula needs a range for {key}")
    return ranges[key]


def _sum(trends: list[Trend | None]) -> Trend | None:
    """Return the trend of a sum, a min or a max of parts with these trends; None: nothing proven."""
    moving = {t for t in trends if t is not Trend.STILL}
    if not moving:
        return Trend.STILL
    return moving.pop() if len(moving) == 1 else None


def _product(expr: Operation, name: str, ranges: Ranges) -> Trend | None:
    parts = []
    for this, other in (expr.args, expr.args[::-1]):
        trend = structural(this, name, ranges)
        if trend is Trend.STILL:
            continue
        sign = interval(other, ranges)
        if trend is None or not (sign.low >= 0 or sign.high <= 0):
            return None
        parts.append(trend if sign.low >= 0 else trend.flipped())
    return _sum(list(parts))


def _quotient(expr: Operation, name: str, ranges: Ranges) -> Trend | None:
    top, bottom = expr.args
    if interval(bottom, ranges).low <= 0:
        return None
    above, below = structural(top, name, ranges), structural(bottom, name, ranges)
    if below is Trend.STILL:
        return above
    if expr.op not in {DIV, CEIL} or below is None or interval(top, ranges).low < 0:
        return None
    return _sum([above, below.flipped()])


def structural(expr: Expr, name: str, ranges: Ranges) -> Trend | None:
    """Return how *expr* moves with the variable *name*, read off its structure; None: not proven."""
    if not isinstance(expr, Operation):
        return Trend.UP if is_symbol(expr, name) else Trend.STILL
    if not any(is_symbol(e, name) for e in walk(expr)):
        return Trend.STILL
    if expr.op is MUL:
        return _product(expr, name, ranges)
    if expr.op in {ADD, MIN, MAX}:
        return _sum([structural(a, name, ranges) for a in expr.args])
    if expr.op is SUB:
        first, second = (structural(a, name, ranges) for a in expr.args)
        return _sum([first, None if second is None else second.flipped()])
    return _quotient(expr, name, ranges)


def trend(expr: Expr, name: str, ranges: Ranges) -> Trend | None:
    """Return how *expr* moves when *name* grows within *ranges*, everything else held; None: not proven.

    Tried in turn: the structure; then the step ``expr(name+1) - expr(name)`` as a sum of products.
    """
    found = structural(expr, name, ranges)
    if found is not None or name not in ranges or ranges[name].low == ranges[name].high:
        return found or Trend.STILL
    here = ranges[name]
    step = as_formula(difference(shift(expr, name), expr))
    size = interval(step, {**ranges, name: Interval(here.low, here.high - 1)})
    if size.low == size.high == 0:
        return Trend.STILL
    if size.low >= 0:
        return Trend.UP
    return Trend.DOWN if size.high <= 0 else None


def extremes(
    expr: Expr, ranges: Ranges
) -> tuple[Interval, Mapping[str, int] | None, Mapping[str, int] | None]:
    """Return the bounds of *expr* over *ranges*, and where each is reached when that is proven (else None).

    Exact, with both witnesses, where *expr* is monotone in every variable; else an outer interval.
    """
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for name, span in ranges.items():
        way = trend(expr, name, ranges)
        if way is None:
            return interval(expr, ranges), None, None
        low[name], high[name] = (span.high, span.low) if way is Trend.DOWN else (span.low, span.high)
    return Interval(expr.evaluate(low), expr.evaluate(high)), low, high
