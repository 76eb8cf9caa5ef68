"""Schedules: what a program gives must not depend on who runs first, nor on when copies land.

The default schedule (tasks in their order, asynchronous effects as late as they may) is compared with
others.  The first that differs is reduced to the fewest decisions that still make a difference, and a
replay file (`mlusim.check.replays`) repeats exactly these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from mlusim.check.delta_debugging import smallest
from mlusim.check.subjects import Subject
from mlusim.machine.scheduling.schedule import EFFECTS, Decision, Director
from mlusim.observe.finding import Finding

RULE = "schedule-difference"
TRIES = 300  # runs that the reduction of a difference may take
REPEATED = 8  # draws in a row of what was tried before: then there are no others worth looking for
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
        """Return the observer that directs the launches of a run in this schedule."""
        return Director(self.seed) if self.decisions is None else Director(decisions=self.decisions)


USUAL = Schedule(None, EFFECTS[0])


@frozen
class Explored:
    """How many schedules were compared with the default one, no two alike, and the difference, if there is one."""

    compared: int
    finding: Finding | None
    schedule: Schedule | None = None


def schedules(count: int) -> tuple[Schedule, ...]:
    """Return the default order with eager effects, then seeds x both landing times: more than *count* of them.

    Some may turn out to be alike, so more.
    """
    seeds = range(2 * count + REPEATED)
    return (Schedule(None, "eager"), *(Schedule(seed, effects) for seed in seeds for effects in EFFECTS))


def explore(subject: Subject, others: Iterable[Schedule], enough: int = 0) -> Explored:
    """Compare *subject* in *others* with the usual schedule until it differs, or until *enough* were compared.

    What turns out to be a schedule that was tried before does not count; after eight such in a row there
    are no more (``enough`` 0: take all of *others*).  A difference is reduced to the fewest decisions.
    """
    usual = subject.outcome(USUAL.effects, USUAL.director())
    tried: set[tuple[str, tuple[Decision, ...]]] = {(USUAL.effects, ())}
    repeated = 0
    for schedule in others:
        if enough and (len(tried) > enough or repeated > REPEATED):
            break
        director = schedule.director()
        other = subject.outcome(schedule.effects, director)
        effects = schedule.effects if subject.asynchronous(other) else USUAL.effects
        mark = effects, director.taken
        repeated = repeated + 1 if mark in tried else 0
        if mark not in tried and subject.difference(usual, other) is not None:
            fewest = _reduced(subject, usual, schedule)
            director = fewest.director()
            told = subject.difference(usual, subject.outcome(fewest.effects, director)) or "it differs"
            return Explored(len(tried), _finding(subject, fewest, told, director.words), fewest)
        tried.add(mark)
    return Explored(len(tried) - 1, None)


def _reduced(subject: Subject, usual: object, schedule: Schedule) -> Schedule:
    """Return the schedule with the fewest decisions of *schedule* that still differs from the usual one."""
    if schedule.decisions is not None or schedule.seed is None:
        return schedule
    whole = schedule.director()
    subject.outcome(schedule.effects, whole)

    def still(decisions: Sequence[Decision], effects: str = schedule.effects) -> bool:
        tried = Schedule(schedule.seed, effects, tuple(decisions))
        return subject.difference(usual, subject.outcome(effects, tried.director())) is not None

    late = schedule.effects != USUAL.effects and still(whole.taken, USUAL.effects)
    effects = USUAL.effects if late else schedule.effects
    return Schedule(schedule.seed, effects, smallest(whole.taken, lambda part: still(part, effects), TRIES))


def _finding(subject: Subject, schedule: Schedule, told: str, words: Mapping[Decision, str]) -> Finding:
    decisions = schedule.decisions
    return Finding(
        RULE,
        f"{subject.name} with {schedule}: {told}",
        context=(f"compared with {USUAL}", *_shown(schedule, words)),
        note="no schedule that the board may choose should change what comes out",
        hint=f"see what racecheck says; {subject.again(schedule.seed, schedule.effects)}",
        facts=subject.facts()
        | {
            "seed": schedule.seed,
            "effects": schedule.effects,
            "decisions": None if decisions is None else [list(decision) for decision in decisions],
        },
    )


def _shown(schedule: Schedule, words: Mapping[Decision, str]) -> Iterator[str]:
    """Yield the decisions in words, the first ones of many."""
    decisions = schedule.decisions or ()
    for decision in decisions[:SHOWN]:
        yield f"launch {decision.launch + 1}: {words[decision]}" if decision in words else str(decision)
    if len(decisions) > SHOWN:
        yield f"and {len(decisions) - SHOWN} decisions more"
