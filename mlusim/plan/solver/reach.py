"""How far one variable reaches when another may take any legal value: exact, whatever the constraints do."""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import count

from attrs import evolve, frozen

from mlusim.errors import UsageError
from mlusim.formula.expr import Constraint
from mlusim.plan.solver.bounds import Interval, Trend, interval, trend
from mlusim.plan.solver.solve import Problem, Search, bisect, largest_value, last_index, search

_MOST_BOXES = 20_000  # looked at before the question is given back


def ways(
    problem: Problem, name: str, ranges: Mapping[str, Interval]
) -> tuple[tuple[Constraint, ...], tuple[Constraint, ...]] | None:
    """Return the constraints that only tighten as *name* grows, and those that only loosen; None: one may do both."""
    tighter: list[Constraint] = []
    looser: list[Constraint] = []
    for constraint in problem.constraints:
        way = trend(constraint.left - constraint.right, name, ranges)
        if way is None:
            return None
        (looser if way is Trend.DOWN else tighter).append(constraint)
    return tuple(tighter), tuple(looser)


def span(problem: Problem, x: str, y: str, fixed: Mapping[str, int]) -> tuple[int, int, int]:
    """Return (first, step, count) of the values of *x* up to the largest with which *y* has a legal value.

    Raises `UsageError` where that cannot be settled.
    """
    across = search(problem, x, {**fixed, y: problem.variable(y).low})
    along = search(problem, y, {**fixed, x: problem.variable(x).low})
    if not across.count or not along.count:
        return across.first, across.step, 0
    whole = _Box(0, across.count - 1, 0, along.count - 1)
    ranges = whole.ranges(across, along)
    found = ways(problem, y, ranges)
    if found is not None and not found[1]:
        last, _, _ = largest_value(problem, x, {**fixed, y: along.first})
        return across.first, across.step, 0 if last is None else (last - across.first) // across.step + 1
    index = _last_with_any(across, along, _below(across, along, whole, ranges))
    return across.first, across.step, 0 if index is None else index + 1


def _below(across: Search, along: Search, whole: "_Box", ranges: Mapping[str, Interval]) -> "_Box":
    """Return the part of *whole* in which the answer lies: up to where the constraints that tighten in x alone leave room."""
    found = ways(across.problem, across.name, ranges)
    if found is None:
        return whole
    only = evolve(across.problem, constraints=found[0])

    def holds(index: int) -> bool:
        return _fits(across, evolve(along, problem=only), evolve(whole, left=index, right=index))

    return evolve(whole, right=max(bisect(holds, across.count) - 1, 0))


@frozen
class _Box:
    """Candidates of both variables, by number, both ends included."""

    left: int
    right: int
    low: int
    high: int

    def ranges(self, across: Search, along: Search) -> dict[str, Interval]:
        """Return the ranges for interval arithmetic."""
        points = {k: Interval(v, v) for k, v in across.env.items()}
        points[across.name] = Interval(across.value(self.left), across.value(self.right))
        return points | {along.name: Interval(along.value(self.low), along.value(self.high))}

    def halves(self) -> Iterator["_Box"]:
        """Yield the box cut in two, across the side with the larger ratio of its ends: sizes are products."""
        across = (self.right + 1) * (self.low + 1) >= (self.high + 1) * (self.left + 1)
        if self.low == self.high or (across and self.left < self.right):
            middle = (self.left + self.right) // 2
            yield evolve(self, left=middle + 1)
            yield evolve(self, right=middle)
        else:
            middle = (self.low + self.high) // 2
            yield evolve(self, high=middle)
            yield evolve(self, low=middle + 1)


def _last_with_any(across: Search, along: Search, whole: _Box) -> int | None:
    """Return the number of the last candidate of *across* at which a candidate of *along* fits; None: there is none.

    Boxes come in the order of their right ends, so the first that holds throughout has the answer.
    """
    order = count()
    boxes = [(-whole.right, next(order), whole)]
    for _ in range(_MOST_BOXES):
        if not boxes:
            return None
        _, _, box = heappop(boxes)
        if box.left == box.right:
            if _fits(across, along, box):
                return box.left
            continue
        verdict = _certain(across.problem, box.ranges(across, along))
        if verdict:
            return box.right
        if verdict is None:
            for half in box.halves():
                heappush(boxes, (-half.right, next(order), half))
    raise UsageError(
        f"how far {across.name} reaches in {across.problem.name} is not settled after {_MOST_BOXES} steps; "
        f"give {across.name} and {along.name} an upper bound"
    )


def _certain(problem: Problem, ranges: Mapping[str, Interval]) -> bool | None:
    """Return True where everything in a box fits, False where nothing does, None where that is unknown."""
    sizes = [interval(c.left - c.right, ranges) for c in problem.constraints]
    if any(size.low > 0 for size in sizes):
        return False
    return True if all(size.high <= 0 for size in sizes) else None


def _fits(across: Search, along: Search, box: _Box) -> bool:
    """Return whether one of the box's candidates of *along* fits with the box's one of *across*."""
    env = {**along.env, across.name: across.value(box.left)}
    part = evolve(along, env=env, first=along.value(box.low), count=box.high - box.low + 1)
    return last_index(part)[0] is not None
