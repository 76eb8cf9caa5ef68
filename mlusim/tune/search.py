"""Searches of spaces that are too large for a grid: random draws, successive halving, and Optuna's model of what is fast.

All of them are the same for the same seed, whatever the number of processes.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlusim.installing import missing_packages
from mlusim.tune.ranking import OBJECTIVES, PRUNED, TIME, able, ranked
from mlusim.tune.space import Setting, Settings, TuneParameter

RANDOM, HALVING, TPE = "random", "halving", "tpe"
KEPT = 3  # of so many candidates one goes on to the next rung
TOGETHER = 4  # candidates that Optuna proposes before it hears of their results
PATIENCE = 50  # proposals in a row that are no new ones, after which a search has seen what it wants to see

Run = Callable[[Sequence[Settings]], list[dict[str, Any]]]
"""Tries candidates and returns their documents in order."""


def drawn(parameters: Sequence[TuneParameter], number: int, seed: int) -> list[Settings]:
    """*number* different combinations of values, or all where there are no more, in the order of the grid."""
    total = math.prod(len(parameter.values) for parameter in parameters)
    places = random.Random(seed).sample(range(total), min(number, total))  # noqa: S311 - no secret
    return [_at(parameters, place) for place in sorted(places)]


def _at(parameters: Sequence[TuneParameter], place: int) -> Settings:
    """Return the combination at *place* of the grid."""
    found = []
    for parameter in reversed(parameters):
        place, own = divmod(place, len(parameter.values))
        found.append(Setting(parameter.name, parameter.role, parameter.values[own]))
    return tuple(reversed(found))


def halved(
    wanted: Sequence[Settings], rungs: TuneParameter, objective: str, run: Run
) -> list[dict[str, Any]]:
    """Try *wanted* with the first value of *rungs*, the best third of them with the next, and so on; their last documents.

    What does not go on has the verdict `PRUNED` and says where it stood.
    """
    out: list[dict[str, Any]] = []
    alive = list(wanted)
    for number, value in enumerate(rungs.values, 1):
        found = run([(*settings, Setting(rungs.name, rungs.role, value)) for settings in alive])
        good = [one for one in ranked(found, objective) if able(one)]
        if number == len(rungs.values) or not good:
            return found + out
        best = good[: math.ceil(len(good) / KEPT)]
        on = [one["parameters"] for one in best]
        out += [
            _pruned(one, rungs, value, len(best)) if able(one) else one
            for one in found
            if one["parameters"] not in on
        ]
        alive = [settings for settings, one in zip(alive, found, strict=True) if one["parameters"] in on]
    return out


def _pruned(one: Mapping[str, Any], rungs: TuneParameter, value: str, kept: int) -> dict[str, Any]:
    why = f"with {rungs.name}={value} it takes {one['time_us']:,.2f} us and is not among the best {kept}, which went on"
    return {**one, "verdict": PRUNED, "why": why}


def proposed(
    parameters: Sequence[TuneParameter], number: int, seed: int, objective: str, run: Run
) -> list[dict[str, Any]]:
    """Try at most *number* candidates that Optuna's tree-structured Parzen estimator proposes, some at a time.

    Raises `UsageError` where the extra mlusim[tune] is not installed.
    """
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_packages("--search tpe", "tune", "optuna") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(TOGETHER, number // KEPT))
    study = optuna.create_study(sampler=sampler, direction="minimize")
    space: Any = {p.name: optuna.distributions.CategoricalDistribution(p.values) for p in parameters}
    number = min(number, math.prod(len(parameter.values) for parameter in parameters))
    known: dict[Settings, dict[str, Any]] = {}
    idle = 0
    while len(known) < number and idle < PATIENCE:
        asked: dict[Settings, Any] = {}
        while len(asked) < min(TOGETHER, number - len(known)) and idle < PATIENCE:
            trial = study.ask(space)
            settings = tuple(Setting(p.name, p.role, trial.params[p.name]) for p in parameters)
            if settings in known or settings in asked:
                idle += 1
                _tell(study, trial, known.get(settings), objective)
                continue
            asked[settings], idle = trial, 0
        for (settings, trial), one in zip(asked.items(), run(list(asked)), strict=True):
            known[settings] = one
            _tell(study, trial, one, objective)
    return list(known.values())


def _tell(study: Any, trial: Any, one: Mapping[str, Any] | None, objective: str) -> None:
    """Say what *trial* gave; what is out is told as a failure."""
    from optuna.trial import TrialState  # noqa: PLC0415 - an extra

    if one is None or not able(one):
        study.tell(trial, state=TrialState.FAIL)
        return
    value = one[OBJECTIVES[objective]]
    study.tell(trial, value if objective == TIME else -value)
