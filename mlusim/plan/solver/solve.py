"""The exact largest value of a variable: bisection where growth is proven, interval search elsewhere.

A `Problem` is all that the solver knows: constraints over named integers.  A plan on a board is one,
and so is the limit that a document states.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from attrs import field, frozen

from mlusim.errors import UsageError
from mlusim.formula.compiled import Compiled, compile_exprs
from mlusim.formula.expr import Constraint, Expr, Var
from mlusim.plan.solver.bounds import Interval, Trend, interval, trend


@frozen
class Problem:
    """Constraints over variables, with everything else (board constants, sizeofs) given as numbers.

    A constraint whose name begins with "stage " bounds bytes of that stage.
    """

    name: str
    variables: Mapping[str, Var]
    constraints: tuple[Constraint, ...]
    constants: Mapping[str, int]

    def variable(self, name: str) -> Var:
        """Return the variable called *name*; raises `UsageError` with the names that exist."""
        if name not in self.variables:
            known = ", ".join(self.variables) or "none"
            raise UsageError(f"{self.name} has no variable {name!r}; its variables are {known}")
        return self.variables[name]

    def broken(self, env: Mapping[str, int]) -> tuple[Constraint, ...]:
        """Return the constraints that do not hold for *env* (variables and constants)."""
        return tuple(c for c in self.constraints if not c.holds(env))


@frozen
class Largest:
    """The answer to "how large can *variable* be": *largest* is None when no legal value fits.

    *used_at_largest* and *used_at_next* are bytes (of the largest stage); *next* is the next legal
    step; *binding* says which constraint breaks there, *stage* which stage it belongs to, if any.
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
    """One question to the solver: multiples of *step* from *first* on, *count* of them."""

    problem: Problem
    name: str
    env: Mapping[str, int]
    first: int
    step: int
    count: int

    def value(self, index: int) -> int:
        """Return the candidate with number *index*."""
        return self.first + index * self.step

    def holds(self, constraint: Constraint, index: int) -> bool:
        """Return whether *constraint* holds at candidate *index*."""
        left, right = _sides(constraint)({**self.env, self.name: self.value(index)})
        return bool(left <= right)

    def ranges(self, low: int, high: int) -> dict[str, Interval]:
        """Return the ranges for interval arithmetic over the candidates *low* to *high*."""
        points = {k: Interval(v, v) for k, v in self.env.items()}
        return {**points, self.name: Interval(self.value(low), self.value(high))}


# Bounded: a server of many plans must not keep every constraint that it has seen.
@lru_cache(maxsize=1024)
def _sides(constraint: Constraint) -> Compiled:
    """Return both sides of *constraint*; plans ask again with each call of their operator."""
    return compile_exprs([constraint.left, constraint.right])


def search(problem: Problem, name: str, fixed: Mapping[str, int]) -> Search:
    """Return the candidates for *name*, with *fixed* giving every other variable that the constraints need."""
    variable = problem.variable(name)
    env = {**problem.constants, **fixed}
    step = variable.multiple_of.evaluate(env)
    if step < 1:
        raise UsageError(f"{name} must be a multiple of {variable.multiple_of}, which is {step} here")
    # The first multiple that is no smaller than the lower limit.
    first = -(-variable.low // step) * step
    count = max(0, (variable.high - first) // step + 1)
    return Search(problem, name, env, first, step, count)


def _room(constraint: Constraint) -> Expr:
    """``left - right``: the constraint holds where this is 0 or less."""
    return constraint.left - constraint.right


def bisect(holds: Callable[[int], bool], count: int) -> int:
    """Return how many of the leading *count* candidates hold, where none does behind one that does not.

    It doubles its reach from below first: limits are small beside 2^31, and so are the numbers on the way.
    """
    low, high, reach = 0, count, 1
    while low < high:
        # While the reach doubles, candidates are small, and formulas of their products stay within machine
        # words.
        middle = min(reach - 1, high - 1) if reach else (low + high) // 2
        if holds(middle):
            low = middle + 1
            reach = reach * 2 if reach and reach < count else 0
        else:
            high = middle
            reach = 0
    return low


def _certain(constraint: Constraint, ask: Search, low: int, high: int) -> bool | None:
    """Return True where *constraint* holds for all of candidates *low*..*high*, False where for none, None where unknown."""
    size = interval(_room(constraint), ask.ranges(low, high))
    if size.high <= 0:
        return True
    return False if size.low > 0 else None


def _last_by_intervals(constraints: tuple[Constraint, ...], ask: Search, low: int, high: int) -> int | None:
    """Return the last candidate in *low*..*high* at which all hold: right halves first, cut by intervals."""
    pending = [(low, high)]
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
        # The right half on top: the first candidate that holds is then the largest.
        pending += [(left, middle), (middle + 1, right)]
    return None


def last_index(ask: Search) -> tuple[int | None, str]:
    """Return the index of the largest candidate at which every constraint holds (None: none), and how it is known."""
    count = ask.count
    hard = []
    for constraint in ask.problem.constraints:
        if count == 0:
            return None, "bisection"
        way = trend(_room(constraint), ask.name, ask.ranges(0, count - 1))
        # What only tightens shortens the range for the constraints behind it, which may need the dearer
        # search.
        if way in {Trend.UP, Trend.STILL}:
            count = bisect(partial(ask.holds, constraint), count)
        else:
            hard.append(constraint)
    if not hard or count == 0:
        return (count - 1 if count else None), "bisection: every constraint only tightens"
    found = _last_by_intervals(tuple(hard), ask, 0, count - 1)
    return found, "interval search: growth is not proven for every constraint"


def largest_value(problem: Problem, name: str, fixed: Mapping[str, int]) -> tuple[int | None, int, str]:
    """(largest value of *name* or None, the next candidate, how it is known).

    Raises `UsageError` for an unknown name or when *fixed* lacks a variable that a constraint needs.
    """
    ask = search(problem, name, fixed)
    index, proof = last_index(ask)
    if index is None:
        return None, ask.first, proof
    return ask.value(index), ask.value(index + 1), proof
