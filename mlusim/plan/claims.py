"""Held against its word: what a document states about a plan, and where it is wrong.

A `ScaleLimit` states for which shapes a kernel works; a `Value` states how large a tile is.  Comparing
either with the plan gives a verdict and every counter-example.  As text a claim is limits joined by ``and``
(``T*(S+1)+5*T <= 163840 and S < 300``), or a value (``n = NRAM/(20*C+4)``).
"""

import ast
import functools
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.compiled import compile_exprs
from mlusim.formula.expr import DIV, Constraint, ElementType, Expr, Operation, Unit, Var, as_expr, walk
from mlusim.formula.parse import FormulaReader, parse_formula, reader, shown
from mlusim.plan.differ import ShapeRange, differences
from mlusim.plan.solver.normal import constant, difference
from mlusim.plan.solver.solve import Problem
from mlusim.plan.units import unit


def _constraints(value: Iterable[Constraint]) -> tuple[Constraint, ...]:
    return tuple(value)


@frozen
class ScaleLimit:
    """A stated scale limit: shapes are legal where all *limits* hold, over one variable or two.

    *source* says who states it.
    """

    name: str
    limits: tuple[Constraint, ...] = field(converter=_constraints)
    over: tuple[str, ...]
    source: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The variables that it is about; the last is the one that is limited."""
        return self.over


@frozen
class Value:
    """A stated tile size: *variable* is *value*.  *over* names the variable that *value* depends on."""

    name: str
    variable: str
    value: Expr = field(converter=as_expr)
    over: str | None = None
    source: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The variables that it is about; the last is the one that is limited."""
        return (self.variable,) if self.over is None else (self.over, self.variable)


Claim = ScaleLimit | Value


class Verdict(Enum):
    """How a statement relates to the plan."""

    SAME = "the same as the plan"
    STRICTER = "stricter than the plan"
    GENEROUS = "too generous"
    BOTH = "too generous for some shapes and stricter for others"
    OPEN = "not decided"


@frozen
class Disagreement:
    """Shapes on which statement and plan differ: *variable* from *first* to *last* by *step*.

    *at* is the value of the other variable, if there is one, *until* its last value and *rows* how
    many values that is.  *used* is what the plan needs at the last of these shapes, in bytes.
    """

    at: Mapping[str, int]
    until: Mapping[str, int]
    rows: int
    variable: str
    first: int
    last: int
    step: int
    used: int

    @property
    def count(self) -> int:
        """The number of shapes that the claim is about."""
        return self.rows * ((self.last - self.first) // self.step + 1)

    @property
    def ends(self) -> Mapping[str, tuple[int, int]]:
        """First and last value of every variable."""
        return {**{k: (v, self.until[k]) for k, v in self.at.items()}, self.variable: (self.first, self.last)}

    def to_json(self) -> dict[str, Any]:
        """Return the shape, with [first, last] for a variable that takes several values."""
        return {**{k: a if a == b else [a, b] for k, (a, b) in self.ends.items()}, "used": self.used}

    def __str__(self) -> str:
        return ", ".join(f"{k}={a}" if a == b else f"{k}={a}..{b}" for k, (a, b) in self.ends.items())


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
    generous: tuple[Disagreement, ...]
    strict: tuple[Disagreement, ...]
    relations: tuple[str, ...] = ()

    @property
    def counter_examples(self) -> int:
        """How many shapes the claim admits although they do not fit."""
        return sum(r.count for r in self.generous)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict and every counter-example."""
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


def _runs(
    plan: Problem, variable: str, spans: Sequence[ShapeRange], fixed: Mapping[str, int]
) -> tuple[Disagreement, ...]:
    if not spans:
        return ()
    stages = [c.left for c in plan.constraints if c.name.startswith("stage ")]
    # object arrays hold Python integers: exact, however far a claim reaches
    env: dict[str, Any] = {**plan.constants, **fixed}
    env |= {n: np.array([s.until[n] for s in spans], dtype=object) for n in spans[0].until}
    env[variable] = np.array([s.last for s in spans], dtype=object)
    needed = compile_exprs(stages, vector=True)(env)
    used = functools.reduce(np.maximum, [np.broadcast_to(n, len(spans)) for n in needed])
    return tuple(
        Disagreement(s.at, s.until, s.rows, variable, s.first, s.last, s.step, int(u))
        for s, u in zip(spans, used, strict=True)
    )


def _as_problem(plan: Problem, claim: Claim) -> Problem:
    """Return *claim* as a problem in the plan's variables."""
    if isinstance(claim, Value):
        # A stated tile size admits all tiles up to it.
        limits: tuple[Constraint, ...] = (Constraint(plan.variable(claim.variable), claim.value, claim.name),)
    else:
        limits = claim.limits
    return Problem(claim.name, plan.variables, limits, plan.constants)


def _cleared(constraint: Constraint) -> tuple[Expr, Expr]:
    """``n <= bytes/size`` as ``n*size <= bytes``, which says the same for whole numbers."""
    right = constraint.right
    if isinstance(right, Operation) and right.op is DIV and unit(right.args[0]) is Unit.BYTES:
        return constraint.left * right.args[1], right.args[0]
    return constraint.left, right


def _relations(plan: Problem, claim: ScaleLimit) -> tuple[str, ...]:
    """Return the sentences about pairs (limit, stage) whose needs differ by a constant for all values."""
    found = []
    for number, limit in enumerate(claim.limits, start=1):
        left, right = _cleared(limit)
        for stage in plan.constraints:
            gap = constant(difference(stage.left, left))
            # Only formulas whose limits are the same tell how far the claim is from the plan.
            if gap is None or constant(difference(right, stage.right)) != 0:
                continue
            name = limit.name or f"limit {number}"
            said = (
                "is exactly"
                if gap == 0
                else f"is {abs(gap)} {plural(abs(gap), 'byte')} {'short of' if gap > 0 else 'above'}"
            )
            found.append(f"{name} {said} {stage.name}, for all values")
    return tuple(found)


def _verdict(generous: tuple[Disagreement, ...], strict: tuple[Disagreement, ...]) -> Verdict:
    if generous and strict:
        return Verdict.BOTH
    if generous:
        return Verdict.GENEROUS
    return Verdict.STRICTER if strict else Verdict.SAME


def compare(plan: Problem, claim: Claim, fixed: Mapping[str, int], board: str) -> Comparison:
    """Hold *claim* against *plan*: every shape over the claim's variables, the others in *fixed*.

    Raises `UsageError` when the claim names a variable that the plan lacks.
    """
    stage = next((c for c in plan.constraints if c.name.startswith("stage ")), None)
    if stage is None:
        raise UsageError(f"{plan.name} has no stage to compare {claim.name} with")
    exact = claim.value if isinstance(claim, Value) else None
    names = [n for n in claim.named if n not in fixed]
    if not names:
        raise UsageError(
            f"{claim.name} is over {', '.join(claim.named)}, which all have values; leave one open"
        )
    for name in names:
        plan.variable(name)
    found = differences(plan, _as_problem(plan, claim), names, fixed, exact)
    generous = _runs(plan, found.variable, found.only_second, fixed)
    strict = _runs(plan, found.variable, found.only_first, fixed)
    return Comparison(
        plan.name,
        claim.name,
        claim.source,
        board,
        stage.right.evaluate(plan.constants),
        _verdict(generous, strict),
        generous,
        strict,
        _relations(plan, claim) if isinstance(claim, ScaleLimit) else (),
    )


# -- claims from text, in the way documents write them -------------------------------------------------


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
