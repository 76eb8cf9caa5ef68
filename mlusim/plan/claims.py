"""Held against its word: what a document states about a plan, and where it is wrong.

A `Limit` states for which shapes a kernel works; a `Value` states how large a tile is.  Comparing
either with the plan gives a verdict and every counter-example.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.errors import UsageError
from mlusim.plan.compiled import compile_exprs
from mlusim.plan.expr import DIV, Call, Constraint, Expr, Unit, as_expr
from mlusim.plan.frontier import Ints, trace
from mlusim.plan.normal import constant, difference
from mlusim.plan.solve import Problem, largest_value, search
from mlusim.plan.units import unit


def _constraints(value: Iterable[Constraint]) -> tuple[Constraint, ...]:
    return tuple(value)


@frozen
class Limit:
    """A stated scale limit: shapes are legal where all *limits* hold.  *source* says who states it."""

    name: str
    limits: tuple[Constraint, ...] = field(converter=_constraints)
    over: tuple[str, str]
    source: str = ""


@frozen
class Value:
    """A stated tile size: *variable* is *value*.  *over* names the variable that *value* depends on."""

    name: str
    variable: str
    value: Expr = field(converter=as_expr)
    over: str | None = None
    source: str = ""


Claim = Limit | Value


class Verdict(Enum):
    """How a statement relates to the plan."""

    SAME = "the same as the plan"
    STRICTER = "stricter than the plan"
    GENEROUS = "too generous"
    BOTH = "too generous for some shapes and stricter for others"


@frozen
class Run:
    """Shapes on which statement and plan differ: *at* with *variable* from *first* to *last*.

    *used* is what the plan needs at *last*, in bytes.
    """

    at: Mapping[str, int]
    variable: str
    first: int
    last: int
    step: int
    used: int

    @property
    def count(self) -> int:
        """How many shapes."""
        return (self.last - self.first) // self.step + 1

    def to_json(self) -> dict[str, Any]:
        """Return the shape or, for more than one, its first and last."""
        span: Any = self.first if self.count == 1 else [self.first, self.last]
        return {**self.at, self.variable: span, "used": self.used}

    def __str__(self) -> str:
        span = str(self.first) if self.count == 1 else f"{self.first}..{self.last}"
        return ", ".join([*(f"{k}={v}" for k, v in self.at.items()), f"{self.variable}={span}"])


@frozen
class Comparison:
    """A claim held against the plan on one board.

    *generous*: admitted by the claim, not fitting.  *strict*: fitting, refused by the claim.
    *relations*: what holds between their formulas for all values.
    """

    plan: str
    claim: str
    source: str
    board: str
    capacity: int
    verdict: Verdict
    generous: tuple[Run, ...]
    strict: tuple[Run, ...]
    relations: tuple[str, ...] = ()

    @property
    def counter_examples(self) -> int:
        """How many shapes the claim admits although they do not fit."""
        return sum(r.count for r in self.generous)

    def to_json(self) -> dict[str, Any]:
        """Verdict and every counter-example."""
        return {
            "plan": self.plan,
            "claim": self.claim,
            "source": self.source,
            "board": self.board,
            "capacity": self.capacity,
            "verdict": self.verdict.value,
            "counter_examples": self.counter_examples,
            "too_generous": [r.to_json() for r in self.generous],
            "too_strict_count": sum(r.count for r in self.strict),
            "too_strict": [r.to_json() for r in self.strict],
            "relations": list(self.relations),
        }


@frozen(eq=False)
class _Edges:
    """Per x the largest planned and the largest stated y (one less step than the first: none)."""

    x: str | None
    y: str
    xs: Ints
    planned: Ints
    stated: Ints
    first: int
    step: int


def _padded(ys: Ints, size: int, none: int) -> Ints:
    full = np.full(size, none, np.int64)
    full[: len(ys)] = np.where(ys < 0, none, ys)
    return full


def _limit_edges(plan: Problem, claim: Limit, fixed: Mapping[str, int]) -> _Edges:
    x, y = claim.over
    stated_problem = Problem(claim.name, plan.variables, claim.limits, plan.constants)
    planned, stated = trace(plan, x, y, fixed), trace(stated_problem, x, y, fixed)
    ask = search(plan, y, {**fixed, x: plan.variable(x).low})
    longer = planned if len(planned) >= len(stated) else stated
    none = ask.first - ask.step
    pads = [_padded(f.ys, len(longer), none) for f in (planned, stated)]
    return _Edges(x, y, longer.xs, pads[0], pads[1], ask.first, ask.step)


def _value_edges(plan: Problem, claim: Value, fixed: Mapping[str, int]) -> _Edges:
    name, over = claim.variable, claim.over
    base = {**plan.constants, **fixed}
    if over is None or over in fixed:
        best, _, _ = largest_value(plan, name, fixed)
        ask = search(plan, name, fixed)
        planned = np.array([ask.first - ask.step if best is None else best], np.int64)
        stated = np.array([claim.value.evaluate(base)], np.int64)
        return _Edges(None, name, np.zeros(1, np.int64), planned, stated, ask.first, ask.step)
    edge = trace(plan, over, name, fixed)
    ask = search(plan, name, {**fixed, over: plan.variable(over).low})
    planned = _padded(edge.ys, len(edge), ask.first - ask.step)
    code = compile_exprs([claim.value], vector=True)
    stated = np.broadcast_to(code({**base, over: edge.xs})[0], planned.shape)
    return _Edges(over, name, edge.xs, planned, stated, ask.first, ask.step)


def _runs(plan: Problem, edges: _Edges, fixed: Mapping[str, int], *, generous: bool) -> tuple[Run, ...]:
    low, high = (edges.planned, edges.stated) if generous else (edges.stated, edges.planned)
    stages = [c.left for c in plan.constraints if c.name.startswith("stage ")]
    needed = compile_exprs(stages)
    runs = []
    for i in np.flatnonzero(high > low).tolist():
        at = {} if edges.x is None else {edges.x: int(edges.xs[i])}
        first, last = int(low[i]) + edges.step, int(high[i])
        # a stated value that is no legal step still counts: it is what a kernel would use
        first = min(first, last)
        used = max(needed({**plan.constants, **fixed, **at, edges.y: last}))
        runs.append(Run(at, edges.y, first, last, edges.step, used))
    return tuple(runs)


def _cleared(constraint: Constraint) -> tuple[Expr, Expr]:
    """``n <= bytes/size`` as ``n*size <= bytes``, which says the same for whole numbers."""
    right = constraint.right
    if isinstance(right, Call) and right.op is DIV and unit(right.args[0]) is Unit.BYTES:
        return constraint.left * right.args[1], right.args[0]
    return constraint.left, right


def _relations(plan: Problem, claim: Limit) -> tuple[str, ...]:
    """Sentences about pairs (limit, stage) whose needs differ by a constant for all values."""
    found = []
    for number, limit in enumerate(claim.limits, start=1):
        left, right = _cleared(limit)
        for stage in plan.constraints:
            gap = constant(difference(stage.left, left))
            if gap is None or constant(difference(right, stage.right)) != 0:
                continue
            name = limit.name or f"limit {number}"
            said = "is exactly" if gap == 0 else f"is {abs(gap)} bytes {'short of' if gap > 0 else 'above'}"
            found.append(f"{name} {said} {stage.name}, for all values")
    return tuple(found)


def _verdict(generous: tuple[Run, ...], strict: tuple[Run, ...]) -> Verdict:
    if generous and strict:
        return Verdict.BOTH
    if generous:
        return Verdict.GENEROUS
    return Verdict.STRICTER if strict else Verdict.SAME


def compare(plan: Problem, claim: Claim, fixed: Mapping[str, int], board: str) -> Comparison:
    """Hold *claim* against *plan*: every shape over the claim's variables, the others in *fixed*.

    Raises `UsageError` when the claim names a variable that the plan lacks.
    """
    named = claim.over if isinstance(claim, Limit) else tuple(n for n in (claim.variable, claim.over) if n)
    for name in named:
        plan.variable(name)
    edges = _limit_edges(plan, claim, fixed) if isinstance(claim, Limit) else _value_edges(plan, claim, fixed)
    generous = _runs(plan, edges, fixed, generous=True)
    strict = _runs(plan, edges, fixed, generous=False)
    stage = next((c for c in plan.constraints if c.name.startswith("stage ")), None)
    if stage is None:
        raise UsageError(f"{plan.name} has no stage to compare {claim.name} with")
    return Comparison(
        plan.name,
        claim.name,
        claim.source,
        board,
        stage.right.evaluate(plan.constants),
        _verdict(generous, strict),
        generous,
        strict,
        _relations(plan, claim) if isinstance(claim, Limit) else (),
    )
