"""Frontiers and claims of a BANG C kernel, found by running it with sampled values of two variables."""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.catalog import board_constants
from mlusim.document import members
from mlusim.errors import UsageError
from mlusim.formula.expr import INT32_MAX, Constraint, Var
from mlusim.plan.claims import Claim, ScaleLimit, Verdict, parse_claim
from mlusim.plan.solver import Frontier, bisect

if TYPE_CHECKING:
    from mlusim.programs.largest import Failure, Shapes

WHOLE = 60
"""Seconds of the whole search for a frontier or a claim; a launch that has begun may exceed them by its own time."""
SAMPLES = 10
"""Values of the first variable for which the second is searched."""


@frozen
class OpenPoint:
    """A value of x for which every tried y up to *runs* ran; the search ended there, as *fails* says, and not at a limit of the kernel."""

    x: int
    runs: int
    fails: "Failure"

    def to_json(self) -> dict[str, Any]:
        """Return it as a document of JSON."""
        return {**members(self, "x", "runs"), "fails": self.fails.to_json()}


@frozen(eq=False)
class SampledFrontier:
    """For each sampled x the largest y that runs; ``fails`` is the failure above it, None if none was seen.

    ``refusal`` is the failure of the call itself, if no x runs.  ``left_out`` are values of x for which there was no
    time; ``open`` those at which the search ended before a failing y; and ``sampled_to`` the largest sampled x if no
    limit of x was seen, otherwise None.
    """

    kernel: str
    board: str
    frontier: Frontier
    fails: "tuple[Failure | None, ...]"
    refusal: "Failure | None" = None
    left_out: tuple[int, ...] = ()
    open: tuple[OpenPoint, ...] = ()
    sampled_to: int | None = None

    @property
    def unknown(self) -> list[str]:
        """Return sentences about bounds that the search did not find."""
        x, y = self.frontier.x, self.frontier.y
        told = [
            f"{x} = {point.x:,}: every {y} that was tried runs, up to {point.runs:,}, and the search ends there: {point.fails.sentence}"
            for point in self.open
        ]
        if self.sampled_to is not None:
            told.append(
                f"no limit of {x} was seen, so it is sampled up to the call's own {self.sampled_to:,}; give a larger one to look further"
            )
        return told

    @property
    def title(self) -> str:
        """Return the title of the answer."""
        return f"{self.kernel} on {self.board}"

    @property
    def cut(self) -> str:
        """Return a sentence about the values of x for which there was no time; "" if there are none."""
        return _cut(self.frontier.x, self.left_out)

    def to_json(self) -> dict[str, Any]:
        """Return the columns of the frontier, and the failures beyond it."""
        return {
            **members(self, "kernel", "board"),
            "sampled": True,
            **self.frontier.to_json(),
            "fails": [None if failure is None else failure.to_json() for failure in self.fails],
            "left_out": list(self.left_out),
            "open": [point.to_json() for point in self.open],
            "sampled_to": self.sampled_to,
        }


def _cut(name: str, left_out: Sequence[int]) -> str:
    values = ", ".join(f"{value:,}" for value in left_out)
    return f"the search ended after {WHOLE} s; left out: {name} = {values}" if values else ""


def frontier_of(shapes: "Shapes", x: str, y: str) -> SampledFrontier:
    """Return the largest *y* for sampled values of *x*; the other variables are those of the call.

    Raises `UsageError` for a name that is not a variable, and if both are the same.
    """
    if x == y:
        raise UsageError(f"a frontier needs two variables, not {x} twice")
    shapes.until = time.monotonic() + WHOLE
    start_x, start_y = shapes.given(x), shapes.given(y)
    end, limited = _end(shapes, x, y)
    sampled_to = start_x if end and not limited else None
    every = sampled(sampled_to or end, start_x) if end else []
    reached = _points(shapes, x, y, every, start_y)
    closed = {value: point for value, point in reached.items() if not _is_open(point[1])}
    beyond = tuple(
        OpenPoint(at, max(y, 0), f) for at, (y, f) in sorted(reached.items()) if f is not None and _is_open(f)
    )
    xs = sorted(closed)
    ys = [closed[value][0] for value in xs]
    fails = [closed[value][1] for value in xs]
    names = [
        shapes.binding({x: value, y: largest}, failure, y).name if largest > 0 and failure else ""
        for value, (largest, failure) in sorted(closed.items())
    ]
    constraints = tuple(dict.fromkeys(filter(None, names)))
    binding = [constraints.index(name) if name else -1 for name in names]
    fixed = {
        name: shapes.given(name)
        for name in shapes.variables()
        if name not in (x, y) and name in shapes.call.arguments and shapes.is_plain(name)
    }
    frontier = Frontier(x, y, _ints(xs), _ints(ys), _ints(binding), constraints, fixed)
    refusal = None if every else shapes.failure({x: start_x, y: start_y}, y)
    left_out = tuple(value for value in every if value not in reached)
    name = shapes.call.board.name
    return SampledFrontier(shapes.kernel, name, frontier, tuple(fails), refusal, left_out, beyond, sampled_to)


def _is_open(fails: "Failure | None") -> bool:
    """Return whether the search ended at *fails* without reaching a limit of the kernel, so that larger values are unknown."""
    return fails is not None and fails.kind == "limit"


def _points(
    shapes: "Shapes", x: str, y: str, xs: list[int], start: int
) -> "dict[int, tuple[int, Failure | None]]":
    """Return for each of *xs* the largest *y* that runs, -1 if none does, and the failure above it.

    The search begins at *start*.  A value for which there is no time is left out.
    """
    points: dict[int, tuple[int, Failure | None]] = {}
    for value in _spread(xs):
        guess = _guess(value, {at: largest for at, (largest, _) in points.items() if largest > 0})
        largest, failure = shapes.largest(y, {x: value}, guess or start, near=bool(guess))
        if not shapes.over or largest is not None:
            points[value] = (-1 if largest is None else largest, failure)
        if shapes.over:
            break
    return points


def _spread(xs: list[int]) -> list[int]:
    """Return *xs* reordered: both ends, then the middle of each gap, so that any prefix samples the whole range."""
    order, gaps = [*xs[:1], *xs[1:][-1:]], [(0, len(xs) - 1)]
    for low, high in gaps:
        if high - low > 1:
            middle = (low + high) // 2
            order.append(xs[middle])
            gaps += [(low, middle), (middle, high)]
    return order


def _guess(x: int, points: Mapping[int, int]) -> int:
    """Return the expected largest y of *x*, interpolated between its neighbours in *points* on logarithmic scales; 0 without two neighbours."""
    low, high = (
        max((at for at in points if at < x), default=0),
        min((at for at in points if at > x), default=0),
    )
    if not low or not high:
        return 0
    # Limits of a product and of y alone are straight lines on these scales.
    share = math.log(x / low) / math.log(high / low)
    return max(1, int(math.exp((1 - share) * math.log(points[low]) + share * math.log(points[high])) + 1e-6))


def _end(shapes: "Shapes", x: str, y: str, expected: int = 0) -> tuple[int, bool]:
    """Return the largest *x* that runs with the smallest legal *y* or the call's, and whether a larger x was seen to fail; 0 if none runs.

    The search begins at *expected* if that is not 0, and may use half of the remaining time: the end of the values is
    useless without time for the values between.
    """
    until, now = shapes.until, time.monotonic()
    shapes.until = now + (until - now) / 2
    start = max(1, min(expected, shapes.top(x))) if expected else shapes.given(x)
    # A small y leaves the most room for x; the call's y is tried too, since 1 may be illegal.
    ends = [
        shapes.largest(x, {y: value}, start, near=bool(expected))
        for value in dict.fromkeys((1, shapes.given(y)))
    ]
    shapes.until = until
    limited = any(fails is not None and not _is_open(fails) for _, fails in ends)
    return max(value or 0 for value, _ in ends), limited


def _ints(values: list[int]) -> Any:
    return np.array(values, dtype=np.int64)


def sampled(end: int, *more: int) -> list[int]:
    """Return at most `SAMPLES` values from 1 to *end*, evenly spaced on a logarithmic scale, and those of *more* in this range."""
    steps = SAMPLES - 1
    # Equal steps would hardly sample the low end of a range up to 2^31.
    spaced = {round(math.exp(math.log(max(end, 1)) * k / steps)) for k in range(steps + 1)}
    return sorted({1, end, *spaced, *(value for value in more if value <= end)})


# -- claims ------------------------------------------------------------------------------------------


@frozen
class ClaimSample:
    """The largest value of the limited variable that a claim *admits*, and the largest that *runs*, with the other variables *at*; 0: none.

    ``fails`` is the failure above ``runs``.
    """

    at: Mapping[str, int]
    variable: str
    admits: int
    runs: int
    fails: "Failure | None"

    @property
    def open(self) -> bool:
        """Return whether the search ended below the largest admitted value, so that the rest is unknown."""
        return self.admits > self.runs and self.fails is not None and self.fails.kind == "limit"

    @property
    def generous(self) -> bool:
        """Return whether the claim admits a value that does not run."""
        return self.admits > self.runs and not self.open

    @property
    def told(self) -> str:
        """Return a phrase about the difference between claim and runs; "" if there is none."""
        beside = "".join(f"{name}={value}, " for name, value in self.at.items())
        if self.open and self.fails is not None:
            ran = f"runs up to {self.runs}, and " if self.runs else ""
            return f"{beside}{self.variable} {ran}is admitted up to {self.admits}: {self.variable}={self.fails.value} {self.fails.told}"
        if self.generous and self.fails is not None:
            return f"{beside}{self.variable}={self.fails.value} is admitted and {self.fails.told}"
        if self.admits < self.runs:
            return f"{beside}{self.variable}={self.admits + 1} to {self.runs} run and are refused"
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a document of JSON."""
        fails = None if self.fails is None else self.fails.to_json()
        return {**self.at, **members(self, "variable", "admits", "runs"), "fails": fails}


@frozen
class TestedClaim:
    """A claim tested by runs on one board.

    ``left_out`` are the values of the variable *beside* for which there was no time, and ``unwatched`` says that
    parts of arrays may overlap, since the search for overlaps took too long.
    """

    kernel: str
    board: str
    claim: str
    samples: tuple[ClaimSample, ...]
    beside: str = ""
    left_out: tuple[int, ...] = ()
    unwatched: bool = False

    @property
    def verdict(self) -> Verdict:
        """Return how the claim relates to the runs, in the words used for an operator's plan."""
        generous = any(sample.generous for sample in self.samples)
        strict = any(sample.admits < sample.runs for sample in self.samples)
        if generous:
            return Verdict.BOTH if strict else Verdict.GENEROUS
        if not self.samples or any(sample.open for sample in self.samples):
            return Verdict.OPEN
        return Verdict.STRICTER if strict else Verdict.SAME

    @property
    def holds(self) -> bool:
        """Return whether every tried shape that it admits ran."""
        return self.verdict in (Verdict.SAME, Verdict.STRICTER)

    @property
    def cut(self) -> str:
        """Return a sentence about the shapes for which there was no time; "" if there are none."""
        if self.samples or self.left_out:
            return _cut(self.beside, self.left_out)
        return f"the search ended after {WHOLE} s, before the first launch had ended"

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``plan FILE.mlu --claim``."""
        first = next((sample for sample in self.samples if sample.generous), None)
        return {
            **members(self, "kernel", "board", "claim"),
            "sampled": True,
            "holds": self.holds,
            "verdict": self.verdict.value,
            "counterexample": None if first is None else first.to_json(),
            "samples": [sample.to_json() for sample in self.samples],
            "left_out": list(self.left_out),
            "overlaps_unknown": self.unwatched,
        }


def tested_claim(shapes: "Shapes", text: str) -> TestedClaim:
    """Test the claim *text*, over one or two variables of the call, at its limit for sampled shapes.

    Raises `UsageError` if *text* is not a claim over them.
    """
    shapes.settle(re.findall(r"[A-Za-z_]\w*", text))
    claim = parse_claim(text, {name: Var(name) for name in shapes.variables()})
    *beside, y = claim.named
    admitted = _admitting(shapes, claim)
    shapes.until = time.monotonic() + WHOLE
    every = _besides(shapes, beside, y, admitted)
    samples: dict[int, ClaimSample] = {}
    for number in _spread(list(range(len(every)))):
        at = every[number]
        admits = bisect(lambda below, at=at: admitted({**at, y: below + 1}), INT32_MAX)  # type: ignore[misc]
        # A claim that holds shows where the runs end.
        start = max(1, min(admits, shapes.variables()[y]))
        runs, fails = shapes.largest(y, at, start, near=True)
        if fails is not None and fails.kind == "limit" and admits >= start:
            # If the search ended before it found the smallest failing value, the first one may be a failure
            # already.
            first = shapes.fault({**at, y: start}, y)
            fails = fails if first is None or first.kind == "limit" else first
        if not shapes.over or runs is not None or (fails is not None and fails.kind != "limit"):
            samples[number] = ClaimSample(at, y, admits, runs or 0, fails)
        if shapes.over:
            break
    left_out = tuple(at[name] for name in beside for number, at in enumerate(every) if number not in samples)
    return TestedClaim(
        *(
            shapes.kernel,
            shapes.call.board.name,
            text,
            tuple(sample for _, sample in sorted(samples.items())),
        ),
        "".join(beside),
        left_out,
        shapes.unwatched,
    )


Admits = Callable[[Mapping[str, int]], bool]


def _admitting(shapes: "Shapes", claim: Claim) -> Admits:
    """Return a function that decides whether *claim* admits a shape."""
    constants = board_constants(shapes.call.board)
    if isinstance(claim, ScaleLimit):
        limits = claim.limits
    else:
        limits = (Constraint(Var(claim.variable), claim.value),)

    def admitted(values: Mapping[str, int]) -> bool:
        env = {**constants, **values}
        return all(limit.left.evaluate(env) <= limit.right.evaluate(env) for limit in limits)

    return admitted


def _besides(shapes: "Shapes", beside: list[str], y: str, admitted: Admits) -> list[dict[str, int]]:
    """Return sampled values of the variable other than *y*, if there is one, up to the limit of the claim or of the runs."""
    if not beside:
        return [{}]
    (x,) = beside
    end = bisect(lambda below: admitted({x: below + 1, y: 1}), INT32_MAX)
    ends = [value for value in (end, _end(shapes, x, y, end)[0]) if 0 < value < INT32_MAX]
    return [{x: value} for value in sampled(max(ends, default=1), shapes.given(x), min(ends, default=1))]
