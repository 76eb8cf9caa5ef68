"""Claims: statements of documents about a plan, compared with the plan; finds the shapes for which a claim is wrong.

A `ScaleLimit` states for which shapes a kernel works; a `Value` states the size of a tile. A comparison with
the plan gives a verdict and every counter-example. As text, a claim is a list of limits joined by ``and``
(``T*(S+1)+5*T <= 163840 and S < 300``), or a value (``n = NRAM/(20*C+4)``).
"""

import ast
import functools
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import DIV, Constraint, ElementType, Expr, Operation, Unit, Var, as_expr, walk
from mlusim.formula.parse import FormulaReader, parse_formula, reader, shown
from mlusim.formula.render import compile_exprs
from mlusim.plan.formulas import Interval, constant, difference, unit
from mlusim.plan.solver import (
    MOST_POINTS,
    Ints,
    Problem,
    bisect,
    box,
    largest_value,
    only_tightens,
    search,
    span,
    tightens,
    trace,
)


@frozen
class ScaleLimit:
    """A stated scale limit: a shape is legal if all *limits* hold; they are over one or two variables.

    *source* is the document that states it.
    """

    name: str
    limits: tuple[Constraint, ...] = field(converter=tuple[Constraint, ...])
    over: tuple[str, ...]
    source: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The variables of the claim; the last one is limited."""
        return self.over


@frozen
class Value:
    """A stated tile size: *variable* has the *value* of a formula in which *over* varies."""

    name: str
    variable: str
    value: Expr = field(converter=as_expr)
    over: str | None = None
    source: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The variables of the claim; the last one is limited."""
        return (self.variable,) if self.over is None else (self.over, self.variable)


Claim = ScaleLimit | Value


class Verdict(Enum):
    """The relation of a claim to the plan."""

    SAME = "the same as the plan"
    STRICTER = "stricter than the plan"
    GENEROUS = "too generous"
    BOTH = "too generous for some shapes and stricter for others"
    OPEN = "not decided"


@frozen
class ShapeRange:
    """A rectangle of shapes: the last variable goes from *first* to *last* by *step*.

    *at* and *until* are the first and last value of the other variable, if there is one; *rows* is the number
    of its values.
    """

    at: Mapping[str, int]
    until: Mapping[str, int]
    rows: int
    first: int
    last: int
    step: int


@frozen
class Disagreement(ShapeRange):
    """Shapes for which claim and plan disagree; *variable* is the last one.

    *used* is the memory that the plan needs at the last of these shapes, in bytes.
    """

    variable: str
    used: int

    @property
    def count(self) -> int:
        """The number of shapes in which they disagree."""
        return self.rows * ((self.last - self.first) // self.step + 1)

    @property
    def ends(self) -> Mapping[str, tuple[int, int]]:
        """First and last value of each variable."""
        return {**{k: (v, self.until[k]) for k, v in self.at.items()}, self.variable: (self.first, self.last)}

    def to_json(self) -> dict[str, Any]:
        """Return the shapes as plain data, with [first, last] for a variable with several values."""
        return {**{k: a if a == b else [a, b] for k, (a, b) in self.ends.items()}, "used": self.used}

    def __str__(self) -> str:
        return ", ".join(f"{k}={a}" if a == b else f"{k}={a}..{b}" for k, (a, b) in self.ends.items())


@frozen
class Comparison:
    """The comparison of a claim with a plan on one board.

    *generous* are shapes that the claim admits but that do not fit, *strict* those that fit but that the
    claim refuses. *relations* are sentences about the two formulas that hold for all values.
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
        """The number of shapes that the claim admits although they do not fit."""
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


def _runs(plan: Problem, variable: str, spans: Sequence[ShapeRange]) -> tuple[Disagreement, ...]:
    if not spans:
        return ()
    stages = [c.left for c in plan.constraints if c.name.startswith("stage ")]
    # object arrays hold Python integers: exact for any size of a claim
    env: dict[str, Any] = dict(plan.constants)
    env |= {n: np.array([s.until[n] for s in spans], dtype=object) for n in spans[0].until}
    env[variable] = np.array([s.last for s in spans], dtype=object)
    needed = compile_exprs(stages, vector=True)(env)
    used = functools.reduce(np.maximum, [np.broadcast_to(n, len(spans)) for n in needed])
    return tuple(
        Disagreement(s.at, s.until, s.rows, s.first, s.last, s.step, variable, int(u))
        for s, u in zip(spans, used, strict=True)
    )


def _as_problem(plan: Problem, claim: Claim) -> Problem:
    """Return *claim* as a problem in the plan's variables."""
    if isinstance(claim, Value):
        # A stated tile size admits all tiles up to that size.
        limits: tuple[Constraint, ...] = (Constraint(plan.variable(claim.variable), claim.value, claim.name),)
    else:
        limits = claim.limits
    return Problem(claim.name, plan.variables, limits, plan.constants)


def _cleared(constraint: Constraint) -> tuple[Expr, Expr]:
    """Return ``n <= bytes/size`` as the sides of ``n*size <= bytes``, which is equivalent for integers."""
    right = constraint.right
    if isinstance(right, Operation) and right.op is DIV and unit(right.args[0]) is Unit.BYTES:
        return constraint.left * right.args[1], right.args[0]
    return constraint.left, right


def _relations(plan: Problem, claim: ScaleLimit) -> tuple[str, ...]:
    """Return sentences about pairs (limit, stage) whose required bytes differ by a constant for all values."""
    sentences = []
    for number, limit in enumerate(claim.limits, start=1):
        left, right = _cleared(limit)
        for stage in plan.constraints:
            gap = constant(difference(stage.left, left))
            # The difference of the formulas is meaningful only if their limits are equal.
            if gap is None or constant(difference(right, stage.right)) != 0:
                continue
            name = limit.name or f"limit {number}"
            said = (
                "is exactly"
                if gap == 0
                else f"is {abs(gap)} {plural(abs(gap), 'byte')} {'short of' if gap > 0 else 'above'}"
            )
            sentences.append(f"{name} {said} {stage.name}, for all values")
    return tuple(sentences)


def _verdict(generous: tuple[Disagreement, ...], strict: tuple[Disagreement, ...]) -> Verdict:
    if generous and strict:
        return Verdict.BOTH
    if generous:
        return Verdict.GENEROUS
    return Verdict.STRICTER if strict else Verdict.SAME


def compare(plan: Problem, claim: Claim, fixed: Mapping[str, int], board: str) -> Comparison:
    """Compare *claim* with *plan* for every shape of the claim's variables, with the others in *fixed*.

    Raises `UsageError` if the claim names a variable that the plan does not have.
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
    plan = plan.at(fixed)
    apart = differences(plan, _as_problem(plan, claim), names, exact)
    generous = _runs(plan, apart.variable, apart.only_second)
    strict = _runs(plan, apart.variable, apart.only_first)
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


# -- claims from text, in the notation of documents ----------------------------------------------------


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
    """Return the variables in *formulas*, in the order of the plan."""
    mentioned = {e.name for f in formulas for e in walk(f) if isinstance(e, Var)}
    return tuple(n for n in variables if n in mentioned)


def parse_claim(text: str, variables: Mapping[str, Var], element: ElementType | None = None) -> Claim:
    """Return the claim in *text*; raises `UsageError` that says what is wrong with the text."""
    name, equals, value = text.partition("=")
    if equals and name.strip().isidentifier() and not value.startswith("="):
        name = name.strip()
        if name not in variables:
            raise UsageError(f"{shown(text)} is not a claim: its variables are {', '.join(variables)}")
        if not value.strip():
            raise UsageError(
                f"{shown(text)} is not a claim: it says nothing behind =; write {name} = NRAM/8, or {name} <= NRAM/8"
            )
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


# -- shapes for which two problems in the same variables admit different values --------------------

# If both problems only tighten as the last variable grows, comparing their largest values is enough.
# Otherwise every value is compared, if there are not too many.

_MOST_ROWS = 4096  # limit of rows compared value by value


@frozen
class Differences:
    """*only_first* has the shapes admitted by the first problem only, *only_second* those admitted by the second only.

    *variable* is the variable of *first* and *last* in the ranges.
    """

    variable: str
    only_first: tuple[ShapeRange, ...]
    only_second: tuple[ShapeRange, ...]


def differences(
    first: Problem, second: Problem, names: Sequence[str], exact: Expr | None = None
) -> Differences:
    """Compare two problems over one or two variables; all others have values.

    *exact* is a formula for the second problem's largest value, which may be no legal step. Raises
    `UsageError` if there are too many shapes to compare.
    """
    if len(names) == 1:
        return _over_one(first, second, names[0], exact)
    x, y = names
    pair = (first, second)
    spans = [span(p, x, y) for p in pair]
    start, step, points = max(spans, key=lambda s: s[2])
    ask = search(first, y, {x: first.variable(x).low})
    if points > MOST_POINTS:
        if exact is not None and ask.step > 1:
            raise UsageError(
                f"{second.name} states a value for {points} {plural(points, 'value')} of {x}; give {x} a value"
            )
        return staircase_differences(first, second, x, y)
    xs = start + np.arange(points, dtype=np.int64) * step
    ranges = box(first, x, xs, y)
    rows = [{x: v} for v in xs.tolist()]
    if not (tightens(first, y, ranges) and tightens(second, y, ranges)):
        if points > _MOST_ROWS:
            raise UsageError(f"{second.name} does not only tighten as {y} grows; give {x} a value")
        return _value_by_value(first, second, y, rows)
    none = ask.first - ask.step
    low, high = (_filled(trace(p, x, y, {}).ys, points, none) for p in pair)
    if exact is not None:
        stated = compile_exprs([exact], vector=True)({**first.constants, x: xs})[0]
        high = np.maximum(np.broadcast_to(stated, low.shape), none)
    return Differences(y, _spans(rows, high, low, ask.step), _spans(rows, low, high, ask.step))


def _over_one(first: Problem, second: Problem, y: str, exact: Expr | None) -> Differences:
    ask = search(first, y, {})
    whole = ask.ranges(0, max(ask.count - 1, 0))
    if not (tightens(first, y, whole) and tightens(second, y, whole)):
        return _value_by_value(first, second, y, [{}])
    none = ask.first - ask.step
    low, high = (largest_value(p, y, {})[0] for p in (first, second))
    if exact is not None:
        high = max(none, exact.evaluate(first.constants))
    pair = [np.array([none if v is None else v], np.int64) for v in (low, high)]
    return Differences(y, _spans([{}], pair[1], pair[0], ask.step), _spans([{}], pair[0], pair[1], ask.step))


def _filled(ys: Ints, points: int, none: int) -> Ints:
    """Return *ys* extended to *points* values of x, with *none* where no y fits."""
    full = np.full(points, none, np.int64)
    full[: len(ys)] = np.where(ys < 0, none, ys)
    return full


def _spans(rows: Sequence[Mapping[str, int]], low: Ints, high: Ints, step: int) -> tuple[ShapeRange, ...]:
    """Return the ranges above *low* up to *high*, row by row."""
    # a stated value that is not a legal step still counts, because a kernel would use it
    return tuple(
        ShapeRange(rows[i], rows[i], 1, min(int(low[i]) + step, int(high[i])), int(high[i]), step)
        for i in np.flatnonzero(high > low).tolist()
    )


def _admits(problem: Problem, y: str, ys: Ints, row: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    env = {**problem.constants, **row, y: ys}
    result = np.ones(len(ys), dtype=np.bool_)
    for constraint in problem.constraints:
        left, right = compile_exprs([constraint.left, constraint.right], vector=True)(env)
        result &= np.asarray(left <= right)
    return result


def _value_by_value(
    first: Problem, second: Problem, y: str, rows: Sequence[Mapping[str, int]]
) -> Differences:
    ranges: tuple[list[ShapeRange], list[ShapeRange]] = ([], [])
    left = MOST_POINTS
    for row in rows:
        tops = [t for t in (largest_value(p, y, row)[0] for p in (first, second)) if t is not None]
        ask = search(first, y, row)
        count = (max(tops, default=ask.first) - ask.first) // ask.step + 1
        left -= count
        if left < 0:
            raise UsageError(
                f"{second.name} does not only tighten as {y} grows, and there are too many shapes to look at;"
                f" state a limit on {y} as well"
            )
        ys = ask.first + np.arange(count, dtype=np.int64) * ask.step
        first_admits, second_admits = (_admits(p, y, ys, row) for p in (first, second))
        ranges[0].extend(_stretches(row, ys, first_admits & ~second_admits, ask.step))
        ranges[1].extend(_stretches(row, ys, second_admits & ~first_admits, ask.step))
    return Differences(y, tuple(ranges[0]), tuple(ranges[1]))


def _stretches(row: Mapping[str, int], ys: Ints, mask: npt.NDArray[np.bool_], step: int) -> list[ShapeRange]:
    """Return the maximal runs of *ys* in which *mask* is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    starts, ends = edges[::2].tolist(), edges[1::2].tolist()
    return [
        ShapeRange(row, row, 1, int(ys[a]), int(ys[b - 1]), step) for a, b in zip(starts, ends, strict=True)
    ]


# -- with one unbounded variable: compare staircases of frontiers instead of points -------------------

_MOST_STEPS = 20_000
_APART = 64  # up to this many neighbouring values are listed individually


@frozen
class _Step:
    """The largest y for values of x from *first* to *last*."""

    first: int
    last: int
    y: int


def staircase_differences(first: Problem, second: Problem, x: str, y: str) -> Differences:
    """Compare two problems that only tighten in both variables, whatever the range of these."""
    for problem in (first, second):
        _need_tightening(problem, x, y)
    stairs = [_stairs(p, x, y) for p in (first, second)]
    ask = search(first, y, {x: first.variable(x).low})
    none = ask.first - ask.step
    step = search(first, x, {y: ask.first}).step
    edges = sorted({e for steps in stairs for s in steps for e in (s.first, s.last + step)})
    ranges: tuple[list[ShapeRange], list[ShapeRange]] = ([], [])
    at = [0, 0]
    for left, after in pairwise(edges):
        heights = []
        for which, steps in enumerate(stairs):
            while at[which] < len(steps) and steps[at[which]].last < left:
                at[which] += 1
            heights.append(steps[at[which]].y if at[which] < len(steps) else none)
        low, high = min(heights), max(heights)
        if low != high:
            spans = ranges[heights.index(high)]
            spans += _rectangles(x, range(left, after, step), (low + ask.step, high, ask.step))
    return Differences(y, tuple(ranges[0]), tuple(ranges[1]))


def _need_tightening(problem: Problem, x: str, y: str) -> None:
    points = {k: Interval(v, v) for k, v in problem.constants.items()}
    whole = {n: Interval(problem.variable(n).low, problem.variable(n).high) for n in (x, y)}
    if not all(only_tightens(problem, name, {**points, **whole}) for name in (x, y)):
        raise UsageError(
            f"{problem.name} admits {x} without end and does not only tighten; give {x} a value, or add a limit"
        )


def _stairs(problem: Problem, x: str, y: str) -> list[_Step]:
    across = search(problem, x, {y: problem.variable(y).low})
    up = search(problem, y, {x: problem.variable(x).low})
    code = compile_exprs([side for c in problem.constraints for side in (c.left, c.right)])

    def holds(i: int, j: int) -> bool:
        values = code({**problem.constants, x: across.value(i), y: up.value(j)})
        return all(a <= b for a, b in zip(values[::2], values[1::2], strict=True))

    steps: list[_Step] = []
    at = 0
    while at < across.count and (height := bisect(partial(holds, at), up.count)):
        begin, at = at, bisect(partial(holds, j=height - 1), across.count)
        steps.append(_Step(across.value(begin), across.value(at - 1), up.value(height - 1)))
        if len(steps) > _MOST_STEPS:
            raise UsageError(f"{problem.name} changes with {x} too often to compare; give {x} a value")
    return steps


def _rectangles(x: str, rows: range, ys: tuple[int, int, int]) -> list[ShapeRange]:
    low, high, step = ys
    if len(rows) <= _APART:
        return [ShapeRange({x: v}, {x: v}, 1, low, high, step) for v in rows]
    return [ShapeRange({x: rows[0]}, {x: rows[-1]}, len(rows), low, high, step)]
