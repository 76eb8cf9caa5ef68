"""The exact solver for plans: the largest value of a variable, and the frontier of two variables (for every x the largest y).

It bisects where monotonicity is proven, and searches by intervals elsewhere. Its input is a `Problem`:
constraints over named integers. Both a plan on a board and a limit in a document can be written as one.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen

from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.formula.expr import Constraint, Expr, Var, walk
from mlusim.formula.render import Compiled, compile_exprs
from mlusim.plan.formulas import Interval, Trend, interval, trend


@frozen
class Problem:
    """Constraints over variables; all other symbols (board constants, sizeofs) have values.

    A constraint whose name begins with "stage " bounds the bytes of that stage.
    """

    name: str
    variables: Mapping[str, Var]
    constraints: tuple[Constraint, ...]
    constants: Mapping[str, int]

    def variable(self, name: str) -> Var:
        """Return the variable called *name*; raises `UsageError` that lists the variables."""
        if name not in self.variables:
            legal = ", ".join(self.variables) or "none"
            raise UsageError(f"{self.name} has no variable {name!r}; its variables are {legal}")
        return self.variables[name]

    def at(self, fixed: Mapping[str, int]) -> "Problem":
        """Return the problem in which the variables *fixed* have these values."""
        return evolve(self, constants={**self.constants, **fixed})

    def broken(self, env: Mapping[str, int]) -> tuple[Constraint, ...]:
        """Return the constraints that do not hold for *env* (variables and constants)."""
        return tuple(c for c in self.constraints if not c.holds(env))


@frozen
class Largest:
    """The largest legal value of *variable*; *largest* is None if no legal value fits.

    *used_at_largest* and *used_at_next* are bytes (of the largest stage); *next* is the next legal step;
    *binding* is the constraint that breaks there, *stage* its stage, if it has one.
    """

    board: str
    plan: str
    dtype: str | None
    variable: str
    fixed: Mapping[str, int]
    capacity: int
    largest: int | None
    next: int
    used_at_largest: int | None
    used_at_next: int
    binding: str
    stage: str | None
    constraint: str
    proof: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        """Return the public JSON of ``mlusim plan --max``."""
        return {
            "plan": self.plan,
            "board": self.board,
            "dtype": self.dtype,
            "fixed": dict(self.fixed),
            "capacity": self.capacity,
            "variable": self.variable,
            "largest": self.largest,
            "next": self.next,
            "used_at_largest": self.used_at_largest,
            "used_at_next": self.used_at_next,
            "binding": self.binding,
            "stage": self.stage,
            "constraint": self.constraint,
            "proof": self.proof,
        }


@frozen
class Search:
    """A query to the solver: the candidates are *count* multiples of *step*, from *first* on."""

    problem: Problem
    name: str
    env: Mapping[str, int]
    first: int
    step: int
    count: int

    def value(self, index: int) -> int:
        """Return candidate number *index*."""
        return self.first + index * self.step

    def holds(self, constraint: Constraint, index: int) -> bool:
        """Return whether *constraint* holds at candidate *index*."""
        left, right = _sides(constraint)({**self.env, self.name: self.value(index)})
        return bool(left <= right)

    def ranges(self, low: int, high: int) -> dict[str, Interval]:
        """Return the ranges for interval arithmetic over candidates *low* to *high*."""
        points = {k: Interval(v, v) for k, v in self.env.items()}
        return {**points, self.name: Interval(self.value(low), self.value(high))}


# Bounded, so that a server of many plans does not keep every constraint forever.
@lru_cache(maxsize=1024)
def _sides(constraint: Constraint) -> Compiled:
    """Return both sides of *constraint* as code; cached, because plans are evaluated for each call of their operator."""
    return compile_exprs([constraint.left, constraint.right])


def search(problem: Problem, name: str, fixed: Mapping[str, int]) -> Search:
    """Return the candidates for *name*; *fixed* has the values of all other variables in the constraints."""
    variable = problem.variable(name)
    env = {**problem.constants, **fixed}
    step = variable.multiple_of.evaluate(env)
    if step < 1:
        raise UsageError(f"{name} must be a multiple of {variable.multiple_of}, which is {step} here")
    # The first multiple that is not below the lower bound.
    first = -(-variable.low // step) * step
    count = max(0, (variable.high - first) // step + 1)
    return Search(problem, name, env, first, step, count)


def _room(constraint: Constraint) -> Expr:
    """Return ``left - right``: the constraint holds if this is 0 or less."""
    return constraint.left - constraint.right


def bisect(holds: Callable[[int], bool], count: int) -> int:
    """Return how many leading candidates of *count* hold, if none holds after the first that does not.

    It first doubles its reach from below, because limits are usually far below 2^31.
    """
    low, high, reach = 0, count, 1
    while low < high:
        # While the reach doubles, candidates are small, and products of them stay within machine words.
        middle = min(reach - 1, high - 1) if reach else (low + high) // 2
        if holds(middle):
            low = middle + 1
            reach = reach * 2 if reach and reach < count else 0
        else:
            high = middle
            reach = 0
    return low


def _certain(constraint: Constraint, ask: Search, low: int, high: int) -> bool | None:
    """Return True if *constraint* holds for all candidates *low*..*high*, False if for none, None if unknown."""
    size = interval(_room(constraint), ask.ranges(low, high))
    if size.high <= 0:
        return True
    return False if size.low > 0 else None


def _last_by_intervals(constraints: tuple[Constraint, ...], ask: Search, last: int) -> int | None:
    """Return the last candidate up to *last* at which all constraints hold, found by bisecting intervals, right halves first."""
    pending = [(0, last)]
    while pending:
        left, right = pending.pop()
        verdicts = [_certain(c, ask, left, right) for c in constraints]
        if False in verdicts:
            continue
        if all(verdicts):
            return right
        if left == right:
            if all(ask.holds(c, left) for c in constraints):
                return left
            continue
        middle = (left + right) // 2
        # The right half goes on top, so that the first candidate that holds is the largest.
        pending += [(left, middle), (middle + 1, right)]
    return None


def last_index(ask: Search) -> tuple[int | None, str]:
    """Return the index of the largest candidate that satisfies every constraint (or None), and the method of proof."""
    count = ask.count
    hard = []
    for constraint in ask.problem.constraints:
        if count == 0:
            return None, "bisection"
        way = trend(_room(constraint), ask.name, ask.ranges(0, count - 1))
        # A constraint that only tightens shortens the range for later constraints, which may need the slower
        # search.
        if way in {Trend.UP, Trend.STILL}:
            count = bisect(partial(ask.holds, constraint), count)
        else:
            hard.append(constraint)
    if not hard or count == 0:
        return (count - 1 if count else None), "bisection: every constraint only tightens"
    index = _last_by_intervals(tuple(hard), ask, count - 1)
    return index, "interval search: growth is not proven for every constraint"


def largest_value(problem: Problem, name: str, fixed: Mapping[str, int]) -> tuple[int | None, int, str]:
    """Return the largest value of *name* (or None), the next candidate, and the method of proof.

    Raises `UsageError` for an unknown name, or if *fixed* lacks a variable of a constraint.
    """
    ask = search(problem, name, fixed)
    index, proof = last_index(ask)
    if index is None:
        return None, ask.first, proof
    return ask.value(index), ask.value(index + 1), proof


# -- the frontier: for every x the largest y -------------------------------------------------------

MOST_POINTS = 2_000_000
"""Limit of the points of a frontier and of a table of values; larger queries are refused."""
_MOST_SEARCHED = 20_000  # limit of points that each need a search
_EXACT = 2**62

Ints = npt.NDArray[np.int64]


@frozen(eq=False)
class Frontier:
    """For each of *xs*, the largest legal *y* in *ys*; -1 if no y fits.

    *binding* has, for each point, the index of the constraint that breaks one step further, or -1 if only the
    variable's own range ends.
    """

    x: str
    y: str
    xs: Ints = field(repr=False)
    ys: Ints = field(repr=False)
    binding: Ints = field(repr=False)
    constraints: tuple[str, ...]
    fixed: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.xs)

    def binding_at(self, index: int) -> str:
        """Return the name of the binding constraint at a point, or "" for the variable's own range."""
        number = int(self.binding[index])
        return self.constraints[number] if number >= 0 else ""

    def corners(self) -> tuple[int, ...]:
        """Return the indices of the points at which the binding constraint changes; the first point is included."""
        changed = np.flatnonzero(np.diff(self.binding)) + 1
        return (0, *changed.tolist()) if len(self) else ()

    def to_csv(self) -> str:
        """Return one line per x: x, y, binding."""
        names = [*self.constraints, ""]
        rows = zip(self.xs.tolist(), self.ys.tolist(), self.binding.tolist(), strict=True)
        lines = [f"{x},{y},{names[b]}" for x, y, b in rows]
        return "\n".join([f"{self.x},{self.y},binding", *lines]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the frontier as plain data."""
        return {
            "x": self.x,
            "y": self.y,
            "fixed": dict(self.fixed),
            "xs": self.xs.tolist(),
            "ys": self.ys.tolist(),
            "binding": [self.binding_at(i) for i in range(len(self))],
        }


@frozen
class _Grid:
    """The query for all x at once, with both sides of every constraint as vector code."""

    code: Compiled
    env: Mapping[str, Any]
    y: str
    first: int
    step: int
    tighter: frozenset[int]  # indices of the constraints that only tighten as y grows

    def rooms(self, index: Ints) -> list[Any]:
        """Return ``left - right`` of every constraint at the y candidates *index*."""
        values = self.code({**self.env, self.y: self.first + index * self.step})
        return [a - b for a, b in zip(values[::2], values[1::2], strict=True)]

    def holds(self, index: Ints, *, tighter: bool) -> npt.NDArray[np.bool_]:
        """Return where all constraints hold that tighten as y grows (*tighter*), or all that loosen."""
        result = np.ones(len(index), dtype=np.bool_)
        for number, room in enumerate(self.rooms(index)):
            if (number in self.tighter) is tighter:
                result &= room <= 0
        return result


def only_tightens(problem: Problem, name: str, ranges: Mapping[str, Interval]) -> bool:
    """Return whether it is proven that no constraint loosens as *name* grows."""
    return all(trend(c.left - c.right, name, ranges) in {Trend.UP, Trend.STILL} for c in problem.constraints)


def tightens(problem: Problem, y: str, ranges: Mapping[str, Interval]) -> bool:
    """Return whether every constraint only tightens as *y* grows, and int64 is wide enough for all values."""
    return only_tightens(problem, y, ranges) and _is_exact(problem, ranges)


def _is_exact(problem: Problem, ranges: Mapping[str, Interval]) -> bool:
    """Return whether int64 is wide enough for all intermediate values of all formulas."""
    sizes = (interval(e, ranges) for c in problem.constraints for e in walk(c.left - c.right))
    return all(max(-s.low, s.high) < _EXACT for s in sizes)


def _bisect(grid: _Grid, points: int, count: int) -> Ints:
    """Return, for each x, the number of y candidates up to the last one that fits; 0 if none does.

    Constraints that only tighten are bisected; constraints that only loosen hold at the last of these
    candidates, if at any.
    """
    reach = 1
    while reach < count and bool(grid.holds(np.full(points, reach - 1, np.int64), tighter=True).any()):
        reach *= 2
    low, high = np.zeros(points, np.int64), np.full(points, min(reach, count), np.int64)
    while bool((low < high).any()):
        middle = (low + high) // 2
        fits = grid.holds(np.minimum(middle, count - 1), tighter=True) & (low < high)
        low = np.where(fits, middle + 1, low)
        high = np.where(fits | (low >= high), high, middle)
    return np.where(grid.holds(np.maximum(low - 1, 0), tighter=False), low, 0)


def _one_by_one(problem: Problem, xs: Ints, x: str, y: str) -> list[int]:
    if len(xs) > _MOST_SEARCHED:
        raise UsageError(
            f"{x} can take {len(xs)} {plural(len(xs), 'value')} in {problem.name}, and for each {y} would have to be searched, since its "
            f"constraints do not only tighten or only loosen with {y}; give {x} an upper bound of {_MOST_SEARCHED}"
        )
    tops = [largest_value(problem, y, {x: int(v)})[0] for v in xs]
    return [-1 if f is None else f for f in tops]


def _xs(problem: Problem, x: str, y: str) -> Ints:
    first, step, points = span(problem, x, y)
    if points > MOST_POINTS:
        raise UsageError(
            f"{x} alone can take {points} {plural(points, 'value')} in {problem.name}, more than the {MOST_POINTS} points of a"
            f" frontier; give more values, or put {y} first"
        )
    return first + np.arange(points, dtype=np.int64) * step


def box(problem: Problem, x: str, xs: Ints, y: str) -> dict[str, Interval]:
    """Return the ranges of all symbols: *xs*, the whole range of *y*, and single values for the rest."""
    ask = search(problem, y, {x: problem.variable(x).low})
    ranges = ask.ranges(0, max(ask.count - 1, 0))
    if len(xs):
        ranges[x] = Interval(int(xs[0]), int(xs[-1]))
    return ranges


def trace(problem: Problem, x: str, y: str, fixed: Mapping[str, int]) -> Frontier:
    """Return the frontier of *problem* over *x* and *y*, with all other variables in *fixed*.

    Raises `UsageError` if *x* and *y* are the same or unknown, or if *x* has too many values.
    """
    problem.variable(x)
    if x == y:
        raise UsageError(f"a frontier needs two variables, not {x} twice")
    problem = problem.at(fixed)
    xs = _xs(problem, x, y)
    ask = search(problem, y, {x: problem.variable(x).low})
    code = compile_exprs([side for c in problem.constraints for side in (c.left, c.right)], vector=True)
    ranges = box(problem, x, xs, y)
    split = ways(problem, y, ranges) if len(xs) else None
    tighter = frozenset(n for n, c in enumerate(problem.constraints) if split is not None and c in split[0])
    grid = _Grid(code, {**problem.constants, x: xs}, y, ask.first, ask.step, tighter)
    if split is not None and _is_exact(problem, ranges):
        ys = ask.first + (_bisect(grid, len(xs), ask.count) - 1) * ask.step
        ys = np.where(ys < ask.first, -1, ys)
    else:
        ys = np.array(_one_by_one(problem, xs, x, y), dtype=np.int64)
    names = tuple(c.name or str(c) for c in problem.constraints)
    return Frontier(x, y, xs, ys, _binding(grid, ys), names, dict(fixed))


def _binding(grid: _Grid, ys: Ints) -> Ints:
    """Return the index of the most violated constraint one step beyond *ys*; -1 if none is violated."""
    if not len(ys):
        return np.zeros(0, np.int64)
    beyond = np.where(ys < 0, 0, (ys - grid.first) // grid.step + 1)
    rooms = np.stack([np.broadcast_to(r, ys.shape) for r in grid.rooms(beyond)])
    worst: Ints = rooms.argmax(axis=0)
    return np.where(rooms.max(axis=0) > 0, worst, -1)


# -- the exact reach of one variable while another may take any legal value, for any constraints ----------

_MOST_BOXES = 20_000  # boxes examined before the query is refused


def ways(
    problem: Problem, name: str, ranges: Mapping[str, Interval]
) -> tuple[tuple[Constraint, ...], tuple[Constraint, ...]] | None:
    """Return the constraints that only tighten as *name* grows, and those that only loosen; None if one may do both."""
    tighter: list[Constraint] = []
    looser: list[Constraint] = []
    for constraint in problem.constraints:
        way = trend(constraint.left - constraint.right, name, ranges)
        if way is None:
            return None
        (looser if way is Trend.DOWN else tighter).append(constraint)
    return tuple(tighter), tuple(looser)


def span(problem: Problem, x: str, y: str) -> tuple[int, int, int]:
    """Return (first, step, count) of the values of *x*, up to the largest for which *y* has a legal value.

    Raises `UsageError` if that cannot be decided.
    """
    across = search(problem, x, {y: problem.variable(y).low})
    along = search(problem, y, {x: problem.variable(x).low})
    if not across.count or not along.count:
        return across.first, across.step, 0
    whole = _Box(0, across.count - 1, 0, along.count - 1)
    ranges = whole.ranges(across, along)
    split = ways(problem, y, ranges)
    if split is not None and not split[1]:
        last, _, _ = largest_value(problem, x, {y: along.first})
        return across.first, across.step, 0 if last is None else (last - across.first) // across.step + 1
    index = _last_with_any(across, along, _below(across, along, whole, ranges))
    return across.first, across.step, 0 if index is None else index + 1


def _below(across: Search, along: Search, whole: "_Box", ranges: Mapping[str, Interval]) -> "_Box":
    """Cut *whole* after the last x allowed by the constraints that tighten with x; the answer lies in the rest."""
    split = ways(across.problem, across.name, ranges)
    if split is None:
        return whole
    only = evolve(across.problem, constraints=split[0])

    def holds(index: int) -> bool:
        return _fits(across, evolve(along, problem=only), evolve(whole, left=index, right=index))

    return evolve(whole, right=max(bisect(holds, across.count) - 1, 0))


@frozen
class _Box:
    """Candidates of both variables by index, both ends included."""

    left: int
    right: int
    low: int
    high: int

    def ranges(self, across: Search, along: Search) -> dict[str, Interval]:
        """Return the ranges of the box for interval arithmetic."""
        points = {k: Interval(v, v) for k, v in across.env.items()}
        points[across.name] = Interval(across.value(self.left), across.value(self.right))
        return points | {along.name: Interval(along.value(self.low), along.value(self.high))}

    def halves(self) -> Iterator["_Box"]:
        """Yield the two halves of the box, cut across the side with the larger ratio of its ends, as sizes are products."""
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
    """Return the index of the last candidate of *across* for which a candidate of *along* fits, or None.

    Boxes are processed by their right ends, so the first box that fits completely has the answer.
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
        verdict = _certain_in_box(across.problem, box.ranges(across, along))
        if verdict:
            return box.right
        if verdict is None:
            for half in box.halves():
                heappush(boxes, (-half.right, next(order), half))
    raise UsageError(
        f"how far {across.name} reaches in {across.problem.name} is not settled after {_MOST_BOXES} steps; "
        f"give {across.name} and {along.name} an upper bound"
    )


def _certain_in_box(problem: Problem, ranges: Mapping[str, Interval]) -> bool | None:
    """Return True if everything in a box fits, False if nothing does, None if unknown."""
    sizes = [interval(c.left - c.right, ranges) for c in problem.constraints]
    if any(size.low > 0 for size in sizes):
        return False
    return True if all(size.high <= 0 for size in sizes) else None


def _fits(across: Search, along: Search, box: _Box) -> bool:
    """Return whether some candidate of *along* in the box fits with the box's single candidate of *across*."""
    env = {**along.env, across.name: across.value(box.left)}
    part = evolve(along, env=env, first=along.value(box.low), count=box.high - box.low + 1)
    return last_index(part)[0] is not None
