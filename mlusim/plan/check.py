"""Finds the faults of a plan for any legal values, without running a kernel.

The question whether a rule holds for all values has three answers: proven (nothing is reported), refuted (a
finding with the values at which it breaks), or neither (a note).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from attrs import frozen

from mlusim.arch.catalog import constant_ranges
from mlusim.arch.dtypes import DType
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import (
    INT32_MAX,
    Constraint,
    ElementType,
    Expr,
    Operation,
    SizeOf,
    Var,
    symbol,
    text,
    walk,
)
from mlusim.plan.declare import RegionBounds, StagePlaces
from mlusim.plan.formulas import Interval, difference, extremes, formula, interval, unit_faults
from mlusim.plan.solver import Problem, largest_value

RULES: Mapping[str, str] = {
    "plan-units": "elements and bytes meet in one sum: a sizeof is missing",
    "plan-negative-size": "a region's size can be negative",
    "plan-empty-region": "a region can have no elements",
    "plan-int32": "a size in bytes can exceed an int32",
    "plan-overlap": "two regions can share bytes without saying so",
    "plan-spill": "the kernel touches more than the region holds",
    "plan-untouched": "a region is larger than what the kernel touches",
    "plan-unaligned": "a region can begin where its dtype is not aligned",
}
"""Every rule, with the text of its finding."""


@frozen
class PlanFinding:
    """One finding: its rule, severity, location, message, and the values at which it occurs."""

    rule: str
    severity: str
    stage: str
    region: str
    message: str
    witness: Mapping[str, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "stage": self.stage,
            "region": self.region,
            "message": self.message,
            "witness": dict(self.witness) if self.witness is not None else None,
        }


@frozen
class _Space:
    """The legal values: ranges for proofs, samples for counter-examples."""

    variables: Mapping[str, Var]
    requires: tuple[Constraint, ...]
    element: ElementType | None
    ranges: Mapping[str, Interval]

    def of(self, expr: Expr) -> dict[str, Interval]:
        """Return the ranges of the variables in *expr*."""
        names = {
            symbol(e)
            for e in walk(expr)
            if not isinstance(e, Operation)
            and (hasattr(e, "name") or (isinstance(e, SizeOf) and not isinstance(e.type, DType)))
        }
        return {n: self.ranges[n] for n in sorted(names)}

    def samples(self, expr: Expr) -> Iterator[dict[str, int]]:
        """Yield small and extreme legal values of the variables in *expr*."""
        names = list(self.of(expr))
        for row in product(*(self._values(n) for n in names)):
            values = dict(zip(names, row, strict=True))
            if all(self._legal(n, values) for n in names if n in self.variables):
                yield values

    def _legal(self, name: str, values: Mapping[str, int]) -> bool:
        """Return whether *name* is a multiple of its step; for every dtype, unless *values* determine the dtype."""
        # A step may depend on the element type, as 64 / sizeof T does.
        step = self.variables[name].multiple_of
        steps = [_try(step, {**env, **values}) for env in self._type_envs()]
        return all(values[name] % s == 0 for s in steps if s)

    def _values(self, name: str) -> list[int]:
        span = self.ranges[name]
        if name not in self.variables:
            return sorted({span.low, span.high})
        # Small and odd values, which expose roundings and differences; each is raised to a legal multiple.
        small = [span.low + k for k in (0, 1, 2, 3, 7, 31, 100)]
        step = self.variables[name].multiple_of
        steps = [s for t in self._type_envs() for s in [_try(step, t)] if s]
        legal = {-(-v // s) * s for v in small for s in steps or [1]}
        return sorted(v for v in legal if v <= span.high)

    def _type_envs(self) -> list[dict[str, int]]:
        if self.element is None:
            return [{}]
        return [{f"sizeof_{self.element.name}": d.size} for d in self.element.choices]


def _try(expr: Expr, env: Mapping[str, int]) -> int | None:
    try:
        return expr.evaluate(env)
    # A step may depend on a type whose size is not among these values.
    except UsageError:
        return None


def _space(
    variables: Mapping[str, Var],
    requires: tuple[Constraint, ...],
    element: ElementType | None,
) -> _Space:
    ranges = {n: Interval(*pair) for n, pair in constant_ranges().items()}
    ranges |= {v.name: Interval(v.low, v.high) for v in variables.values()}
    if element is not None:
        sizes = [d.size for d in element.choices]
        ranges[f"sizeof_{element.name}"] = Interval(min(sizes), max(sizes))
    return _Space(variables, requires, element, ranges)


def _at(values: Mapping[str, int]) -> str:
    if not values:
        return "for all values"
    return "at " + ", ".join(f"{k.replace('sizeof_', 'sizeof ')}={v}" for k, v in values.items())


def _lowest(expr: Expr, space: _Space) -> tuple[int, Mapping[str, int] | None]:
    """Return a lower bound of *expr*, and values that reach it (or a low value), if known."""
    span, low, _ = extremes(expr, space.of(expr))
    if span.low >= 0:
        return span.low, low
    # a small counter-example is easier to read than the extreme one
    small = next((v for v in space.samples(expr) if expr.evaluate(v) < 0), low)
    return (span.low, None) if small is None else (expr.evaluate(small), small)


def _what_matters(expr: Expr, witness: Mapping[str, int], space: _Space) -> Mapping[str, int]:
    """Return the part of *witness* that causes *expr* to be 0."""
    values = dict(witness)
    for name in list(values):
        # A variable that could also have its largest value does not cause the 0, and is omitted from the
        # message.
        if expr.evaluate({**values, name: space.ranges[name].high}) == 0:
            values[name] = space.ranges[name].high
    return {n: v for n, v in values.items() if v == witness[n]}


def _sizes(stage: str, place: RegionBounds, space: _Space) -> Iterator[PlanFinding]:
    region = place.region
    low, witness = _lowest(region.size, space)
    if low < 0 and witness is not None:
        value = region.size.evaluate(witness)
        told = (
            f"{region.name} has size {region.size} = {value} {_at(witness)}; raise the smallest legal value"
        )
        yield PlanFinding("plan-negative-size", "error", stage, region.name, told, witness)
    elif low < 0:
        told = f"{region.name} has size {region.size}; that it is never negative is not proven"
        yield PlanFinding("plan-negative-size", "note", stage, region.name, told)
    elif low == 0 and witness is not None:
        witness = _what_matters(region.size, witness, space)
        told = f"{region.name} is empty {_at(witness)}; guard instructions that take its length"
        yield PlanFinding("plan-empty-region", "note", stage, region.name, told, witness)


def _units(stage: str, place: RegionBounds, _: _Space) -> Iterator[PlanFinding]:
    region = place.region
    for expr in (region.size, region.at, region.touches):
        for fault in unit_faults(expr) if expr is not None else ():
            yield PlanFinding("plan-units", "error", stage, region.name, f"{region.name}: {fault.why}")


def _touched(stage: str, place: RegionBounds, space: _Space, behind: str) -> Iterator[PlanFinding]:
    region = place.region
    if region.touches is None:
        return
    # As a sum of products, equal terms cancel and the bounds are tighter.
    spare = formula(difference(region.bytes, region.in_bytes(region.touches)))
    low, witness = _lowest(spare, space)
    if low < 0 and witness is not None:
        over = -spare.evaluate(witness)
        told = (
            f"the kernel touches {region.touches} elements of {region.name}, which holds {region.size}:"
            f" {over} {plural(over, 'byte falls', 'bytes fall')} on {behind} {_at(witness)}; make the region larger"
        )
        yield PlanFinding("plan-spill", "error", stage, region.name, told, witness)
    elif low < 0:
        told = f"that {region.touches} elements stay inside {region.name} ({region.size}) is not proven"
        yield PlanFinding("plan-spill", "note", stage, region.name, told)
    elif low > 0:
        told = f"{region.name} holds {region.size} elements but only {region.touches} are touched"
        yield PlanFinding("plan-untouched", "note", stage, region.name, told, witness)


def _unaligned(stage: str, place: RegionBounds, space: _Space) -> Iterator[PlanFinding]:
    dtype = place.region.dtype
    if not isinstance(dtype, DType):
        return
    try:
        odd = [v for v in space.samples(place.offset) if place.offset.evaluate(v) % dtype.size]
    except UsageError:
        return
    if odd:
        where = place.offset.evaluate(odd[0])
        told = (
            f"{place.region.name} ({dtype.name}) begins at byte {where} {_at(odd[0])}; scalar access to it"
            f" would be unaligned, align={dtype.size} cures it"
        )
        yield PlanFinding("plan-unaligned", "note", stage, place.region.name, told, odd[0])


def _overlapping(stage: StagePlaces, space: _Space) -> Iterator[PlanFinding]:
    for i, first in enumerate(stage.places):
        for second in stage.places[i + 1 :]:
            pinned = any(p.region.at is not None or p.region.reuses for p in (first, second))
            declared = first.region.name in second.region.reuses or second.region.name in first.region.reuses
            if not pinned or declared:
                continue  # consecutive regions cannot overlap while no size is negative
            yield from _pair(stage.name, first, second, space)


def _pair(stage: str, first: RegionBounds, second: RegionBounds, space: _Space) -> Iterator[PlanFinding]:
    gaps = (formula(difference(second.offset, first.end)), formula(difference(first.offset, second.end)))
    # One of the two orders is enough.
    if any(interval(g, space.of(g)).low >= 0 for g in gaps):
        return
    names = f"{first.region.name} and {second.region.name}"
    shared = gaps[0] + gaps[1] + first.region.bytes + second.region.bytes
    for values in space.samples(shared):
        lacking = min(-g.evaluate(values) for g in gaps)
        if lacking > 0 and first.region.bytes.evaluate(values) and second.region.bytes.evaluate(values):
            told = f"{names} share {lacking} {plural(lacking, 'byte')} {_at(values)}; move one, or declare reuses="
            yield PlanFinding("plan-overlap", "error", stage, second.region.name, told, values)
            return
    told = f"that {names} never share bytes is not proven"
    yield PlanFinding("plan-overlap", "note", stage, second.region.name, told)


def _legal_points(expr: Expr, space: _Space) -> Iterator[dict[str, int]]:
    """Yield the largest shapes within the operator's limits, on a geometric grid, with the smallest tiles."""
    names = [n for n in space.of(expr) if n in space.variables and not space.variables[n].tile]
    if not names:
        return
    rest = {n: r.high if n not in space.variables else max(r.low, 1) for n, r in space.ranges.items()}
    rest = {n: v for n, v in rest.items() if n not in names}
    # The grid is a product, so more variables get fewer points each.
    stride = 3 if len(names) < 3 else 10
    powers = [2**k for k in range(0, 31, stride)]
    grid = [sorted({space.ranges[n].low, *powers}) for n in names[1:]]
    legal = Problem("limits", space.variables, space.requires, rest)
    for row in product(*grid):
        others = dict(zip(names[1:], row, strict=True))
        top, _, _ = largest_value(legal, names[0], others)
        if top is not None:
            yield {**rest, **others, names[0]: top}


def _int32(stage: StagePlaces, space: _Space, told: set[Expr]) -> Iterator[PlanFinding]:
    if interval(stage.used, space.of(stage.used)).high <= INT32_MAX:
        return
    for place in stage.places:
        for point in _legal_points(place.end, space):
            if place.end.evaluate(point) <= INT32_MAX:
                continue
            over = [e for e in walk(place.end) if isinstance(e, Operation) and e.evaluate(point) > INT32_MAX]
            # The smallest subexpression that is too large shows the author where to look.
            inner = min(over, key=lambda e: len(text(e)))
            if inner not in told:
                told.add(inner)
                shape = {n: v for n, v in point.items() if n in space.of(inner)}
                said = (
                    f"{inner} is {inner.evaluate(point)} {_at(shape)}, which the operator's limits allow:"
                    " more than an int32 holds; compute it in 64 bits, or refuse such shapes before"
                )
                yield PlanFinding("plan-int32", "warning", stage.name, place.region.name, said, shape)
            return


def check_places(
    places: Sequence[StagePlaces],
    variables: Mapping[str, Var],
    requires: tuple[Constraint, ...],
    element: ElementType | None,
) -> tuple[PlanFinding, ...]:
    """Return all findings of the `RULES` over all legal values, errors first."""
    space = _space(variables, requires, element)
    findings: list[PlanFinding] = []
    told: set[Expr] = set()
    for stage in places:
        for number, place in enumerate(stage.places):
            if place.kept:
                continue
            behind = (
                stage.places[number + 1].region.name
                if number + 1 < len(stage.places)
                else "what lies behind the plan"
            )
            findings += _units(stage.name, place, space)
            findings += _sizes(stage.name, place, space)
            findings += _touched(stage.name, place, space, behind)
            findings += _unaligned(stage.name, place, space)
        findings += _overlapping(stage, space)
        findings += _int32(stage, space, told)
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(findings, key=lambda f: order[f.severity]))
