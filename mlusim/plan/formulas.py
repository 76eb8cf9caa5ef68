"""Properties of formulas that need no numbers: units, normal form, range, monotonicity.

All results are sound: a bound may be too wide, and a proof may not be found, but every result holds for all
values in the ranges.
"""

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from mlusim.arch.dtypes import DType
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
    UP,
    Amount,
    BoardConst,
    Expr,
    Operation,
    SizeOf,
    Unit,
    Var,
    is_symbol,
    symbol,
    text,
    walk,
)

# -- units: elements are not bytes -----------------------------------------------------------------


@frozen
class UnitFault:
    """A mismatch of units: *where* is the smallest formula that mixes them, *why* the message."""

    where: Expr
    why: str


def unit(expr: Expr) -> Unit | None:
    """Return the unit of *expr*; None for 0, which fits both units. A mixed sum counts as bytes."""
    if isinstance(expr, Amount):
        return None if expr.value == 0 else expr.unit
    if isinstance(expr, BoardConst):
        return expr.unit
    if isinstance(expr, SizeOf):
        return Unit.BYTES
    if not isinstance(expr, Operation):
        return Unit.COUNT
    units = [unit(a) for a in expr.args]
    if expr.op in {DIV, CEIL}:
        return Unit.COUNT if units[1] is Unit.BYTES else units[0]
    if expr.op in {UP, DOWN}:
        return units[0]
    if Unit.BYTES in units:
        return Unit.BYTES
    return None if all(u is None for u in units) else Unit.COUNT


def _mixed(expr: Operation) -> UnitFault | None:
    units = {unit(a) for a in expr.args} - {None}
    if len(units) < 2:
        return None
    elements = next(a for a in expr.args if unit(a) is Unit.COUNT)
    nbytes = next(a for a in expr.args if unit(a) is Unit.BYTES)
    meets = {ADD: "is added to", SUB: "and", UP: "pads", DOWN: "pads"}.get(expr.op, "is compared with")
    tail = " are subtracted" if expr.op is SUB else ""
    cure = (
        f"write nbytes({elements}) if it is a number of bytes, {elements}*sizeof(...) if it counts elements"
        if isinstance(elements, Amount)
        else f"multiply {elements} by the sizeof of its elements"
    )
    if expr.op in {UP, DOWN}:
        first, second = expr.args
        first_unit, second_unit = (
            ("elements", "bytes") if unit(first) is Unit.COUNT else ("bytes", "elements")
        )
        return UnitFault(
            expr, f"{first} ({first_unit}) is padded to a multiple of {second} ({second_unit}); {cure}"
        )
    return UnitFault(
        expr, f"{elements} (elements) {meets} {nbytes} (bytes){tail}: a sizeof is missing; {cure}"
    )


def unit_faults(expr: Expr) -> tuple[UnitFault, ...]:
    """Return every part of *expr* that mixes elements and bytes, or multiplies bytes by bytes."""
    if not isinstance(expr, Operation):
        return ()
    faults = [f for a in expr.args for f in unit_faults(a)]
    if expr.op in {ADD, SUB, MIN, MAX, UP, DOWN}:
        fault = _mixed(expr)
        faults += [fault] if fault else []
    if expr.op is MUL and all(unit(a) is Unit.BYTES for a in expr.args):
        first, second = expr.args
        faults.append(
            UnitFault(expr, f"{first} and {second} are both bytes: a sizeof is there twice; take one out")
        )
    if expr.op in {DIV, CEIL} and unit(expr.args[0]) is Unit.COUNT and unit(expr.args[1]) is Unit.BYTES:
        first, second = expr.args
        faults.append(
            UnitFault(
                expr, f"{first} (elements) is divided by {second} (bytes); divide a number of bytes by it"
            )
        )
    return tuple(faults)


# -- sums of products: a normal form in which equivalent formulas become equal ---------------------

# ``S*(T+1)+(S+1)*T`` becomes ``2*S*T+S+T``. An operation that is not polynomial (min, max, division, padding)
# is an indivisible factor, with normalised arguments.

Monomial = tuple[Expr, ...]
"""The factors of a product, sorted by their text; a squared factor is listed twice."""

Poly = Mapping[Monomial, int]
"""Coefficients by monomial, without zeros."""


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
    # A zero coefficient would make equal formulas differ.
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
        # Min and max are commutative, and ignore duplicates.
        args = sorted(set(args), key=text)
        if len(args) == 1:
            return normal(args[0])
    return {(Operation(expr.op, tuple(args)),): 1}


def difference(a: Expr, b: Expr) -> Poly:
    """Return ``a - b`` as a sum of products; ``{}`` means that they are equal for all values."""
    return _combine(normal(a), normal(b), -1)


def constant(poly: Poly) -> int | None:
    """Return the value of *poly* if it is constant, else None."""
    if not poly:
        return 0
    return poly[()] if set(poly) == {()} else None


def _monomial(factors: Monomial, size: int) -> Expr:
    result: Expr | None = None if factors and size == 1 else Amount(size)
    for factor in factors:
        result = factor if result is None else result * factor
    return Amount(size) if result is None else result


def formula(poly: Poly) -> Expr:
    """Return *poly* as a formula, highest degree first, variables before indivisible factors."""

    def order(item: tuple[Monomial, int]) -> tuple[int, int, str]:
        plain = all(isinstance(f, Var) for f in item[0])
        return (-len(item[0]), 0 if plain else 1, ",".join(text(f) for f in item[0]))

    result: Expr | None = None
    # a sum that begins with a minus is hard to read: put a positive term first if there is one
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
    """Return *expr* with the symbol *name* replaced by ``name + 1``."""
    if is_symbol(expr, name):
        return expr + 1
    if isinstance(expr, Operation):
        return Operation(expr.op, tuple(shift(a, name) for a in expr.args))
    return expr


def _divided(poly: Poly, by: SizeOf) -> Poly | None:
    """Return *poly* with every product divided by *by*; None if one is not divisible."""
    size = normal(by)
    if set(size) == {()}:
        # A type of known size is a number in the coefficients, not a factor.
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
    """Return *expr* (bytes) as a sum of products; with a single dtype, as elements times sizeof."""
    poly = normal(expr)
    sizes = {e for e in walk(expr) if isinstance(e, SizeOf)}
    # Plain bytes in the formula belong to no element.
    plain = any(isinstance(e, Amount) and e.unit is Unit.BYTES and e.value for e in walk(expr))
    by = sizes.pop() if len(sizes) == 1 and not plain else None
    inner = None if by is None or not poly else _divided(poly, by)
    if by is None or inner is None:
        return text(formula(poly))
    elements = formula(inner)
    # A sum needs parentheses before it is multiplied.
    if isinstance(elements, Operation) and elements.op.level < 2:
        return f"({text(elements)})*{text(by)}"
    return f"{text(elements)}*{text(by)}"


# -- ranges, and proofs of monotonicity ------------------------------------------------------------


@frozen
class Interval:
    """All integers from *low* to *high*, inclusive."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high


Ranges = Mapping[str, Interval]


class Trend(Enum):
    """The trend of a formula as one variable grows."""

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
    # A divisor that may be 0 has no interval, and a negative one would reverse the bounds.
    if b.low <= 0:
        raise UsageError(
            f"the divisor of {expr} can be {b.low}; bound its variables so that it stays above 0"
        )
    if op in {DIV, CEIL} or b.low == b.high:
        return _corners(expr, a, b)
    # padding to a variable modulus: moves a value by at most the modulus minus one
    if op is DOWN:
        return Interval(a.low - (b.high - 1), a.high)
    return Interval(a.low, a.high + (b.high - 1))


def interval(expr: Expr, ranges: Ranges) -> Interval:
    """Return an interval that contains every value of *expr* over *ranges*.

    Raises `UsageError` for a name without a range, and for a divisor that may be zero or negative.
    """
    if isinstance(expr, Amount):
        return Interval(expr.value, expr.value)
    if isinstance(expr, Operation):
        result = interval(expr.args[0], ranges)
        for arg in expr.args[1:]:
            result = _pair(expr, result, interval(arg, ranges))
        return result
    if isinstance(expr, SizeOf) and symbol(expr) not in ranges:
        # The size of a named type is a constant; the size of the plan's own type has a range.
        size = expr.evaluate({})
        return Interval(size, size)
    key = symbol(expr)
    if key not in ranges:
        raise UsageError(f"the formula needs a range for {key}")
    return ranges[key]


def _sum(trends: list[Trend | None]) -> Trend | None:
    """Return the trend of a sum, min or max of parts with these trends; None if nothing is proven."""
    moving = {t for t in trends if t is not Trend.STILL}
    if not moving:
        return Trend.STILL
    return moving.pop() if len(moving) == 1 else None


def _trend_of_product(expr: Operation, name: str, ranges: Ranges) -> Trend | None:
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
    """Return the trend of *expr* in the variable *name*, derived from its structure; None if it is not proven."""
    if not isinstance(expr, Operation):
        return Trend.UP if is_symbol(expr, name) else Trend.STILL
    if not any(is_symbol(e, name) for e in walk(expr)):
        return Trend.STILL
    if expr.op is MUL:
        return _trend_of_product(expr, name, ranges)
    if expr.op in {ADD, MIN, MAX}:
        return _sum([structural(a, name, ranges) for a in expr.args])
    if expr.op is SUB:
        first, second = (structural(a, name, ranges) for a in expr.args)
        return _sum([first, None if second is None else second.flipped()])
    return _quotient(expr, name, ranges)


def trend(expr: Expr, name: str, ranges: Ranges) -> Trend | None:
    """Return the trend of *expr* as *name* grows within *ranges* and all else is fixed; None if it is not proven.

    It tries the structure first, then the step ``expr(name+1) - expr(name)`` as a sum of products.
    """
    proven = structural(expr, name, ranges)
    if proven is not None or name not in ranges or ranges[name].low == ranges[name].high:
        return proven or Trend.STILL
    here = ranges[name]
    step = formula(difference(shift(expr, name), expr))
    size = interval(step, {**ranges, name: Interval(here.low, here.high - 1)})
    if size.low == size.high == 0:
        return Trend.STILL
    if size.low >= 0:
        return Trend.UP
    return Trend.DOWN if size.high <= 0 else None


def extremes(
    expr: Expr, ranges: Ranges
) -> tuple[Interval, Mapping[str, int] | None, Mapping[str, int] | None]:
    """Return the bounds of *expr* over *ranges*, and values that reach the lower and the upper bound, if proven (else None).

    The bounds are exact, with both witnesses, if *expr* is monotone in every variable; else they are an outer
    interval.
    """
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for name, span in ranges.items():
        way = trend(expr, name, ranges)
        if way is None:
            return interval(expr, ranges), None, None
        low[name], high[name] = (span.high, span.low) if way is Trend.DOWN else (span.low, span.high)
    return Interval(expr.evaluate(low), expr.evaluate(high)), low, high
