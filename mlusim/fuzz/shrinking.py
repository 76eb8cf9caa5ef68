"""Making a failing call small: the first schedule and grid, the smallest numbers, the simplest values."""

from collections.abc import Callable, Iterator

from attrs import define, evolve

from mlusim.fuzz.numbers import smaller
from mlusim.fuzz.specification import CallDraw
from mlusim.fuzz.trial import FillDraw, Trial, TrialDraws
from mlusim.machine.scheduling.schedule import EFFECTS

RUNS = 400
"""Runs that making a call small may take."""


@define
class _Search:
    """The smallest call so far, and how many runs are left."""

    draws: TrialDraws
    best: Trial
    fails: Callable[[Trial], bool]
    left: int

    def take(self, candidate: Trial) -> bool:
        """Return whether *candidate*, made to fit, fails too; it is the best then."""
        found = self.draws.fitted(candidate)
        if found is None or found == self.best or self.left <= 0:
            return False
        self.left -= 1
        if not self.fails(found):
            return False
        self.best = found
        return True


def shrunk(
    draws: TrialDraws, trial: Trial, fails: Callable[[Trial], bool], runs: int = RUNS
) -> tuple[Trial, int]:
    """Return the smallest call found for which *fails*, as it does for *trial*, and how many runs that took."""
    search = _Search(draws, trial, fails, runs)
    changed = True
    while changed and search.left > 0:
        before = search.best
        for candidate in _surroundings(search.best, draws.draw):
            search.take(candidate(search.best))
        for argument in draws.draw.arguments:
            _alternatives(search, argument.name)
        for argument in draws.draw.arguments:
            _number(search, argument.name)
        for argument in draws.draw.arguments:
            _values(search, argument.name)
        changed = search.best != before
    return search.best, runs - search.left


def _surroundings(trial: Trial, draw: CallDraw) -> Iterator[Callable[[Trial], Trial]]:
    """Yield changes to what is around the arguments."""
    if trial.effects != EFFECTS[0]:
        yield lambda t: evolve(t, effects=EFFECTS[0])
    if trial.schedule is not None:
        yield lambda t: evolve(t, schedule=None)
    for board in draw.boards[: draw.boards.index(trial.board)]:
        yield lambda t, board=board: evolve(t, board=board)  # type: ignore[misc]
    for dim in draw.dims[: draw.dims.index(trial.dim)]:
        yield lambda t, dim=dim: evolve(t, dim=dim)  # type: ignore[misc]


def _alternatives(search: _Search, name: str) -> None:
    """Try the alternatives before the one that is chosen."""
    for index in range(search.best.chosen[name]):
        if search.take(evolve(search.best, chosen={**search.best.chosen, name: index})):
            return


def _number(search: _Search, name: str) -> None:
    """Try smaller numbers until none fails."""
    here = search.draws.option(search.best, name)
    if not here.is_number:
        return
    if here.reals is not None:
        for value in (0.0, 1.0, here.reals[0]):
            if value == search.best.numbers[name]:
                return
            if here.reals[0] <= value <= here.reals[1] and _with_number(search, name, value):
                return
        return
    while True:
        low, high = search.draws.range(search.best, name)
        target = min(max(low, 0), high)  # towards 0 from both sides
        value = int(search.best.numbers[name])
        if not any(_with_number(search, name, v) for v in _towards(value, target)):
            return


def _towards(value: int, target: int) -> Iterator[int]:
    if value >= target:
        yield from smaller(value, target)
    else:
        yield from (-v for v in smaller(-value, -target))


def _with_number(search: _Search, name: str, value: float) -> bool:
    return search.take(evolve(search.best, numbers={**search.best.numbers, name: value}))


def _values(search: _Search, name: str) -> None:
    """Try simpler values of an array."""
    here = search.draws.option(search.best, name)
    if not here.is_filled:
        return
    fill, names = search.best.fills[name], search.draws.names(here, name)
    for pattern in names[: names.index(fill.pattern)]:
        if search.take(evolve(search.best, fills={**search.best.fills, name: FillDraw(pattern, 0)})):
            return
    if fill.seed:
        search.take(evolve(search.best, fills={**search.best.fills, name: evolve(fill, seed=0)}))
