"""Where two problems in the same variables admit different values, shape by shape.

Where both only tighten as the last variable grows, their largest values say everything.  Elsewhere
every value is looked at, as long as there are not too many.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from attrs import frozen

from mlusim.errors import UsageError
from mlusim.plan.bounds import Interval
from mlusim.plan.compiled import compile_exprs
from mlusim.plan.expr import Expr
from mlusim.plan.frontier import MOST_POINTS, Ints, box, only_tightens, span, tightens, trace
from mlusim.plan.solve import Problem, largest_value, search


@frozen
class Span:
    """A rectangle of shapes: values of the last variable from *first* to *last* by *step*.

    *at* is the value of the other variable, if there is one, and *until* its last value; *rows* is
    how many values that is.
    """

    at: Mapping[str, int]
    until: Mapping[str, int]
    rows: int
    first: int
    last: int
    step: int


@frozen
class Differences:
    """*only_first*: admitted by the first problem alone; *only_second*: by the second alone.

    *variable* is the one whose values the spans give.
    """

    variable: str
    only_first: tuple[Span, ...]
    only_second: tuple[Span, ...]


def differences(
    first: Problem, second: Problem, names: Sequence[str], fixed: Mapping[str, int], exact: Expr | None = None
) -> Differences:
    """Compare two problems over one or two variables, everything else in *fixed*.

    *exact* is a formula for the second problem's largest value, where it need not be a legal step.
    Raises `UsageError` when there are too many shapes to look at.
    """
    if len(names) == 1:
        return _over_one(first, second, names[0], fixed, exact)
    x, y = names
    pair = (first, second)
    if any(span(p, x, y, fixed)[2] > MOST_POINTS for p in pair) and exact is None:
        return staircase_differences(first, second, x, y, fixed)
    edges = [trace(p, x, y, fixed) for p in pair]
    xs = max(edges, key=len).xs
    ranges = box(first, x, xs, y, fixed)
    rows = [{x: v} for v in xs.tolist()]
    if not (tightens(first, y, ranges) and tightens(second, y, ranges)):
        return _value_by_value(first, second, y, rows, fixed)
    ask = search(first, y, {**fixed, x: first.variable(x).low})
    none = ask.first - ask.step
    low, high = (_filled(edge.ys, len(xs), none) for edge in edges)
    if exact is not None:
        stated = compile_exprs([exact], vector=True)({**first.constants, **fixed, x: xs})[0]
        high = np.maximum(np.broadcast_to(stated, low.shape), none)
    return Differences(y, _spans(rows, high, low, ask.step), _spans(rows, low, high, ask.step))


def _over_one(
    first: Problem, second: Problem, y: str, fixed: Mapping[str, int], exact: Expr | None
) -> Differences:
    ask = search(first, y, fixed)
    whole = ask.ranges(0, max(ask.count - 1, 0))
    if not (tightens(first, y, whole) and tightens(second, y, whole)):
        return _value_by_value(first, second, y, [{}], fixed)
    none = ask.first - ask.step
    low, high = (largest_value(p, y, fixed)[0] for p in (first, second))
    if exact is not None:
        high = max(none, exact.evaluate({**first.constants, **fixed}))
    pair = [np.array([none if v is None else v], np.int64) for v in (low, high)]
    return Differences(y, _spans([{}], pair[1], pair[0], ask.step), _spans([{}], pair[0], pair[1], ask.step))


def _filled(ys: Ints, points: int, none: int) -> Ints:
    """Return *ys* for *points* values of x; *none* where there is no y."""
    full = np.full(points, none, np.int64)
    full[: len(ys)] = np.where(ys < 0, none, ys)
    return full


def _spans(rows: Sequence[Mapping[str, int]], low: Ints, high: Ints, step: int) -> tuple[Span, ...]:
    """Return what lies above *low* and up to *high*, row by row."""
    # a stated value that is no legal step still counts: it is what a kernel would use
    return tuple(
        Span(rows[i], rows[i], 1, min(int(low[i]) + step, int(high[i])), int(high[i]), step)
        for i in np.flatnonzero(high > low).tolist()
    )


def _admits(problem: Problem, y: str, ys: Ints, fixed: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    env = {**problem.constants, **fixed, y: ys}
    result = np.ones(len(ys), dtype=np.bool_)
    for constraint in problem.constraints:
        left, right = compile_exprs([constraint.left, constraint.right], vector=True)(env)
        result &= np.asarray(left <= right)
    return result


def _value_by_value(
    first: Problem, second: Problem, y: str, rows: Sequence[Mapping[str, int]], fixed: Mapping[str, int]
) -> Differences:
    found: tuple[list[Span], list[Span]] = ([], [])
    left = MOST_POINTS
    for row in rows:
        here = {**fixed, **row}
        tops = [t for t in (largest_value(p, y, here)[0] for p in (first, second)) if t is not None]
        ask = search(first, y, here)
        ys = np.arange(ask.first, max(tops, default=ask.first) + 1, ask.step, dtype=np.int64)
        left -= len(ys)
        if left < 0:
            raise UsageError(
                f"{second.name} does not only tighten as {y} grows, and there are too many shapes to look at;"
                " give more values"
            )
        one, two = (_admits(p, y, ys, here) for p in (first, second))
        found[0].extend(_stretches(row, ys, one & ~two, ask.step))
        found[1].extend(_stretches(row, ys, two & ~one, ask.step))
    return Differences(y, tuple(found[0]), tuple(found[1]))


def _stretches(row: Mapping[str, int], ys: Ints, mask: npt.NDArray[np.bool_], step: int) -> list[Span]:
    """Return the maximal stretches of *ys* where *mask* holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    starts, ends = edges[::2].tolist(), edges[1::2].tolist()
    return [Span(row, row, 1, int(ys[a]), int(ys[b - 1]), step) for a, b in zip(starts, ends, strict=True)]


# -- where one variable has no end: the staircase of a frontier instead of its points -----------------

_MOST_STEPS = 20_000
_APART = 64  # up to this many neighbouring values are listed one by one


@frozen
class _Step:
    """For values of x from *first* to *last*, the largest y."""

    first: int
    last: int
    y: int


def staircase_differences(
    first: Problem, second: Problem, x: str, y: str, fixed: Mapping[str, int]
) -> Differences:
    """Compare two problems that only tighten in both variables, however far these reach."""
    stairs = [_stairs(p, x, y, fixed) for p in (first, second)]
    ask = search(first, y, {**fixed, x: first.variable(x).low})
    none = ask.first - ask.step
    step = search(first, x, {**fixed, y: ask.first}).step
    edges = sorted({e for steps in stairs for s in steps for e in (s.first, s.last + step)})
    found: tuple[list[Span], list[Span]] = ([], [])
    for left, after in pairwise(edges):
        one, two = (_height(steps, left, none) for steps in stairs)
        if one != two:
            spans = found[0] if one > two else found[1]
            low, high = min(one, two) + ask.step, max(one, two)
            spans += _rectangles(x, range(left, after, step), (low, high, ask.step))
    return Differences(y, tuple(found[0]), tuple(found[1]))


def _stairs(problem: Problem, x: str, y: str, fixed: Mapping[str, int]) -> list[_Step]:
    ask = search(problem, x, {**fixed, y: problem.variable(y).low})
    everything = {**ask.ranges(0, ask.count - 1)}
    high = problem.variable(y)
    everything[y] = Interval(high.low, high.high)
    if not all(only_tightens(problem, name, everything) for name in (x, y)):
        raise UsageError(
            f"{problem.name} admits {x} without end and does not only tighten; give more values, or add a limit"
        )
    steps: list[_Step] = []
    at = ask.first
    while at <= problem.variable(x).high:
        top = largest_value(problem, y, {**fixed, x: at})[0]
        if top is None:
            break
        last = largest_value(problem, x, {**fixed, y: top})[0]
        steps.append(_Step(at, at if last is None else last, top))
        at = steps[-1].last + ask.step
        if len(steps) > _MOST_STEPS:
            raise UsageError(f"{problem.name} changes with {x} too often to compare; give more values")
    return steps


def _height(steps: Sequence[_Step], at: int, none: int) -> int:
    return next((s.y for s in steps if s.first <= at <= s.last), none)


def _rectangles(x: str, rows: range, ys: tuple[int, int, int]) -> list[Span]:
    low, high, step = ys
    if len(rows) <= _APART:
        return [Span({x: v}, {x: v}, 1, low, high, step) for v in rows]
    return [Span({x: rows[0]}, {x: rows[-1]}, len(rows), low, high, step)]
