"""The shapes at which two problems in the same variables admit different values.

Where both only tighten as the last variable grows, their largest values say everything.  Elsewhere
every value is looked at, as long as there are not too many.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from attrs import frozen

from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.compiled import compile_exprs
from mlusim.formula.expr import Expr
from mlusim.plan.solver.bounds import Interval
from mlusim.plan.solver.frontier import MOST_POINTS, Ints, box, only_tightens, span, tightens, trace
from mlusim.plan.solver.solve import Problem, bisect, largest_value, search

_MOST_ROWS = 4096  # rows that are looked at value by value


@frozen
class ShapeRange:
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
    only_first: tuple[ShapeRange, ...]
    only_second: tuple[ShapeRange, ...]


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
    spans = [span(p, x, y, fixed) for p in pair]
    start, step, points = max(spans, key=lambda s: s[2])
    ask = search(first, y, {**fixed, x: first.variable(x).low})
    if points > MOST_POINTS:
        if exact is not None and ask.step > 1:
            raise UsageError(
                f"{second.name} states a value for {points} {plural(points, 'value')} of {x}; give {x} a value"
            )
        return staircase_differences(first, second, x, y, fixed)
    xs = start + np.arange(points, dtype=np.int64) * step
    ranges = box(first, x, xs, y, fixed)
    rows = [{x: v} for v in xs.tolist()]
    if not (tightens(first, y, ranges) and tightens(second, y, ranges)):
        if points > _MOST_ROWS:
            raise UsageError(f"{second.name} does not only tighten as {y} grows; give {x} a value")
        return _value_by_value(first, second, y, rows, fixed)
    none = ask.first - ask.step
    low, high = (_filled(trace(p, x, y, fixed).ys, points, none) for p in pair)
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


def _spans(rows: Sequence[Mapping[str, int]], low: Ints, high: Ints, step: int) -> tuple[ShapeRange, ...]:
    """Return what lies above *low* and up to *high*, row by row."""
    # a stated value that is no legal step still counts: it is what a kernel would use
    return tuple(
        ShapeRange(rows[i], rows[i], 1, min(int(low[i]) + step, int(high[i])), int(high[i]), step)
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
    found: tuple[list[ShapeRange], list[ShapeRange]] = ([], [])
    left = MOST_POINTS
    for row in rows:
        here = {**fixed, **row}
        tops = [t for t in (largest_value(p, y, here)[0] for p in (first, second)) if t is not None]
        ask = search(first, y, here)
        count = (max(tops, default=ask.first) - ask.first) // ask.step + 1
        left -= count
        if left < 0:
            raise UsageError(
                f"{second.name} does not only tighten as {y} grows, and there are too many shapes to look at;"
                f" state a limit on {y} as well"
            )
        ys = ask.first + np.arange(count, dtype=np.int64) * ask.step
        one, two = (_admits(p, y, ys, here) for p in (first, second))
        found[0].extend(_stretches(row, ys, one & ~two, ask.step))
        found[1].extend(_stretches(row, ys, two & ~one, ask.step))
    return Differences(y, tuple(found[0]), tuple(found[1]))


def _stretches(row: Mapping[str, int], ys: Ints, mask: npt.NDArray[np.bool_], step: int) -> list[ShapeRange]:
    """Return the maximal stretches of *ys* where *mask* holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    starts, ends = edges[::2].tolist(), edges[1::2].tolist()
    return [
        ShapeRange(row, row, 1, int(ys[a]), int(ys[b - 1]), step) for a, b in zip(starts, ends, strict=True)
    ]


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
    for problem in (first, second):
        _need_tightening(problem, x, y, fixed)
    stairs = [_stairs(p, x, y, fixed) for p in (first, second)]
    ask = search(first, y, {**fixed, x: first.variable(x).low})
    none = ask.first - ask.step
    step = search(first, x, {**fixed, y: ask.first}).step
    edges = sorted({e for steps in stairs for s in steps for e in (s.first, s.last + step)})
    found: tuple[list[ShapeRange], list[ShapeRange]] = ([], [])
    at = [0, 0]
    for left, after in pairwise(edges):
        heights = []
        for which, steps in enumerate(stairs):
            while at[which] < len(steps) and steps[at[which]].last < left:
                at[which] += 1
            heights.append(steps[at[which]].y if at[which] < len(steps) else none)
        low, high = min(heights), max(heights)
        if low != high:
            spans = found[heights.index(high)]
            spans += _rectangles(x, range(left, after, step), (low + ask.step, high, ask.step))
    return Differences(y, tuple(found[0]), tuple(found[1]))


def _need_tightening(problem: Problem, x: str, y: str, fixed: Mapping[str, int]) -> None:
    points = {k: Interval(v, v) for k, v in {**problem.constants, **fixed}.items()}
    whole = {n: Interval(problem.variable(n).low, problem.variable(n).high) for n in (x, y)}
    if not all(only_tightens(problem, name, {**points, **whole}) for name in (x, y)):
        raise UsageError(
            f"{problem.name} admits {x} without end and does not only tighten; give {x} a value, or add a limit"
        )


def _stairs(problem: Problem, x: str, y: str, fixed: Mapping[str, int]) -> list[_Step]:
    across = search(problem, x, {**fixed, y: problem.variable(y).low})
    up = search(problem, y, {**fixed, x: problem.variable(x).low})
    code = compile_exprs([side for c in problem.constraints for side in (c.left, c.right)])
    base = {**problem.constants, **fixed}

    def holds(i: int, j: int) -> bool:
        values = code({**base, x: across.value(i), y: up.value(j)})
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
