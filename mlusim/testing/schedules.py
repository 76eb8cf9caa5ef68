"""Schedules: what an operator gives must not depend on who runs first, nor on when copies land.

The default schedule (tasks in their order, asynchronous effects as late as they may) is compared with
others.  The first that differs is reduced to the fewest decisions that still make a difference, and a
replay file repeats exactly these.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.errors import Fault, UsageError
from mlusim.machine.choices import LAND, NEXT, STOP, Decision, Director, directing
from mlusim.machine.device import EFFECTS
from mlusim.observe.finding import Finding
from mlusim.operators.accuracy import bit_equal, judge
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import Run, run_case
from mlusim.operators.spec import Operator, Thresholds
from mlusim.testing.reduce import smallest

RULE = "schedule-difference"
FORMAT = 1  # of replay files
KEYS = ("operator", "case", "board", "seed", "effects", "decisions")
TRIES = 300  # runs that the reduction of a difference may take
SHOWN = 12  # decisions that a finding shows


@frozen
class Schedule:
    """A legal schedule: *seed* picks it (None: tasks in their order), *effects* is "late" or "eager".

    *decisions* are what is left of the seed's departures from the default; None: all of them.
    """

    seed: int | None
    effects: str
    decisions: tuple[Decision, ...] | None = None

    def __str__(self) -> str:
        order = "the default order" if self.seed is None else f"seed {self.seed}"
        if self.decisions is not None and self.seed is not None:
            count = len(self.decisions)
            order = f"{count} decision{'' if count == 1 else 's'} of {order}"
        return f"{order} and {self.effects} effects"

    def director(self) -> Director:
        """Who directs the launches of a run in this schedule."""
        return Director(self.seed) if self.decisions is None else Director(decisions=self.decisions)


USUAL = Schedule(None, EFFECTS[0])


@frozen
class Replay:
    """One case of one operator on one board under one schedule: the contents of a replay file."""

    operator: str
    case: str
    board: str
    schedule: Schedule


def schedules(count: int) -> tuple[Schedule, ...]:
    """Return *count* seeds x both landing times, the default order with eager effects before them."""
    seeded = (Schedule(seed, effects) for seed in range(count) for effects in EFFECTS)
    return (Schedule(None, "eager"), *seeded)


def explore(operator: str, case: str, board: str, others: tuple[Schedule, ...]) -> Finding | None:
    """Return the difference that the first of *others* with one shows, reduced to the fewest decisions.

    What turns out to be a schedule that was tried before is left out.  Outputs are compared bit for bit; those of floating-point type whose kernels use atomics, which add
    in any order, within the operator's thresholds.  A fault on one side only, or another one, differs too.
    """
    spec = find_operator(operator)
    usual = _outcome(spec, case, board, USUAL, USUAL.director())
    tried: set[tuple[str, tuple[Decision, ...]]] = {(USUAL.effects, ())}

    def told(schedule: Schedule) -> str | None:
        director = schedule.director()
        other = _outcome(spec, case, board, schedule, director)
        if (schedule.effects, director.taken) in tried:
            return None
        tried.add((schedule.effects, director.taken))
        return difference(spec, usual, other)

    for schedule in others:
        if told(schedule) is not None:
            fewest = _reduced(spec, case, board, usual, schedule)
            sentence = difference(spec, usual, _outcome(spec, case, board, fewest, fewest.director()))
            return _finding(Replay(operator, case, board, fewest), sentence or "it differs")
    return None


def _reduced(operator: Operator, case: str, board: str, usual: Run | Fault, schedule: Schedule) -> Schedule:
    """The schedule with the fewest decisions of *schedule* that still differs from the usual one."""
    if schedule.decisions is not None or schedule.seed is None:
        return schedule
    whole = schedule.director()
    _outcome(operator, case, board, schedule, whole)

    def still(decisions: Sequence[Decision], effects: str = schedule.effects) -> bool:
        tried = Schedule(schedule.seed, effects, tuple(decisions))
        outcome = _outcome(operator, case, board, tried, tried.director())
        return difference(operator, usual, outcome) is not None

    late = schedule.effects != USUAL.effects and still(whole.taken, USUAL.effects)
    effects = USUAL.effects if late else schedule.effects
    return Schedule(schedule.seed, effects, smallest(whole.taken, lambda part: still(part, effects), TRIES))


def _outcome(
    operator: Operator, case: str, board: str, schedule: Schedule, director: Director
) -> Run | Fault:
    try:
        with directing(director):
            return run_case(
                operator, find_case(operator, case), board=board, effects=schedule.effects, reference=False
            )
    except Fault as fault:
        return fault


def difference(operator: Operator, usual: Run | Fault, other: Run | Fault) -> str | None:
    """Say how *other* differs from *usual*; None where it does not."""
    if isinstance(usual, Fault) or isinstance(other, Fault):
        return None if type(usual) is type(other) else f"it ends {_ending(other)}, not {_ending(usual)}"
    if usual.status != other.status:
        return f"the status is {other.status.name}, not {usual.status.name}"
    atomic = any("atomic" in name for name in (*usual.instructions, *other.instructions))
    for name, expected in usual.outputs.items():
        found = other.outputs[name]
        if not _same(found, expected, operator.thresholds.get(name) if atomic else None):
            return _elements(name, found, expected)
    return None


def _ending(outcome: Run | Fault) -> str:
    return f"in a fault ({outcome.message})" if isinstance(outcome, Fault) else "without a fault"


def _same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], allowed: Thresholds | None) -> bool:
    if bit_equal(found, expected):
        return True
    integer = found.dtype.kind in "biu"
    return allowed is not None and not integer and judge(found, expected, allowed).passed


def _elements(name: str, found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> str:
    """Which elements of the output *name* differ, by their bytes."""
    width = found.dtype.itemsize
    raw = [np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(-1, width) for a in (found, expected)]
    places = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
    at = tuple(int(n) for n in np.unravel_index(places[0], found.shape))
    return (
        f"{len(places)} of {found.size} elements of {name} differ, the first at {list(at)}: "
        f"{found[at]} instead of {expected[at]}"
    )


def _finding(replay: Replay, told: str) -> Finding:
    schedule = replay.schedule
    seed = "" if schedule.seed is None else f" --seed {schedule.seed}"
    return Finding(
        RULE,
        f"{replay.operator} {replay.case} on {replay.board} with {schedule}: {told}",
        context=(f"compared with {USUAL}", *_shown(schedule)),
        note="no schedule that the board may choose should change what comes out",
        hint="see what racecheck says; the debugger stops in this schedule with `mlusim debug "
        f"{replay.operator} --case {replay.case} --board {replay.board}{seed} --effects {schedule.effects}`",
        facts=_facts(replay),
    )


def _shown(schedule: Schedule) -> Iterator[str]:
    """The decisions in words, the first ones of many."""
    decisions = schedule.decisions or ()
    yield from (str(decision) for decision in decisions[:SHOWN])
    if len(decisions) > SHOWN:
        yield f"and {len(decisions) - SHOWN} decisions more"


def _facts(replay: Replay) -> dict[str, Any]:
    schedule = replay.schedule
    decisions = None if schedule.decisions is None else [list(decision) for decision in schedule.decisions]
    values = (replay.operator, replay.case, replay.board, schedule.seed, schedule.effects, decisions)
    return dict(zip(KEYS, values, strict=True))


# -- replay files ----------------------------------------------------------------------------------


def replay_document(finding: Finding, version: str) -> dict[str, Any]:
    """Return the replay file of a difference, found by mlusim *version*."""
    return {"replay": FORMAT, "mlusim": version} | {key: finding.facts[key] for key in KEYS}


def replay_in(text: str, name: str) -> Replay:
    """Return what the replay file *name*, whose contents are *text*, says to run.

    Raises `UsageError` for what is no such file, and for values that no run has.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no replay file: {error}") from None
    if not isinstance(document, Mapping) or document.get("replay") != FORMAT:
        raise UsageError(f'{name} is no replay file of format {FORMAT}; it has "replay": {FORMAT}')
    words = {key: document.get(key) for key in ("operator", "case", "board")}
    wrong = next((key for key, word in words.items() if not isinstance(word, str)), None)
    if wrong is not None:
        raise UsageError(f"{name} names no {wrong}; record the replay again")
    seed, effects = document.get("seed"), document.get("effects")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"{name} has the seed {seed!r}; it must be a whole number or null")
    if effects not in EFFECTS:
        raise UsageError(f"{name} has the effects {effects!r}; they must be {' or '.join(EFFECTS)}")
    decisions = _decisions_in(document.get("decisions"), name)
    schedule = Schedule(seed, effects, decisions)
    return Replay(str(words["operator"]), str(words["case"]), str(words["board"]), schedule)


def _decisions_in(listed: Any, name: str) -> tuple[Decision, ...] | None:
    """The decisions of a replay file; None where it has none.  Raises `UsageError` for what is no decision."""
    if listed is None:
        return None
    decisions = []
    for entry in listed if isinstance(listed, list) else [listed]:
        fits = isinstance(entry, list) and [type(part) for part in entry[:4]] == [int, str, int, int]
        if not fits or len(entry) != 5 or entry[1] not in (LAND, STOP, NEXT):
            raise UsageError(f"{name} has the decision {entry!r}; record the replay again")
        decisions.append(Decision(*entry))
    return tuple(decisions)
