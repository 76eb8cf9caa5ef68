"""Conflicts between tasks by what is missing: one barrier, and all that it would have put in order."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mlusim.machine.events import Site
from mlusim.observe.races.cuts import LAUNCH, SCOPES, Accused, Cut, Recorded
from mlusim.observe.races.handovers import Handing
from mlusim.observe.races.pipes import Remedy
from mlusim.observe.races.sharing import Conflict, Sharing

if TYPE_CHECKING:
    from mlusim.machine.observed import Core

TOGETHER = 32  # conflicts for which one barrier is looked for
NEXT_LAUNCH = (
    "no sync reaches from one union to another, nor between Block tasks: make it two launches, "
    "or give each task memory of its own"
)


class Court(NamedTuple):
    """Who is told.

    *report* is given a conflict and what would help, and says whether a person gets to see the finding; *join* is
    given another conflict that the same would help.
    """

    key: Callable[[Conflict], Hashable]
    report: Callable[[Conflict, Remedy], bool]
    join: Callable[[Hashable, Conflict], None]


class Blame:
    """What is missing in a launch, as far as it is known."""

    def __init__(self, sharing: Sharing, handing: Handing, court: Court) -> None:
        self._sharing = sharing
        self._handing = handing
        self._court = court
        self._known: dict[Hashable, Hashable] = {}  # conflicts that have been told, and below which finding
        self._cuts: dict[Cut, Hashable] = {}
        self._waits: dict[Any, Hashable] = {}

    def judge(self, conflicts: list[Conflict], cores: "Sequence[Core]") -> None:
        """Tell *conflicts*, which were found together, between tasks that *cores* ran."""
        left: list[Conflict] = []
        for conflict in sorted(conflicts, key=lambda conflict: conflict.second.time):
            key = self._court.key(conflict)
            if key not in self._known:
                left.append(conflict)
            elif self._known[key] == key:
                self._court.report(conflict, Remedy("", verified=False))
        if left:
            recorded = Recorded(self._sharing, cores)
            accused = [recorded.accused(conflict) for conflict in left]
            accused = [one for one in accused if not self._is_known(recorded, one)]
            for start in range(0, len(accused), TOGETHER):
                self._charge(recorded, accused[start : start + TOGETHER])

    def _is_known(self, recorded: Recorded, one: Accused) -> bool:
        """Whether what is missing for *one* has been told; else a wait before a mutex is looked for."""
        withheld = self._handing.missed(one.pairs)
        if withheld is not None:
            text = (
                f"put {withheld.site.spelled('sync')}() before line {withheld.site.line}, which passes on only what is "
                "over by then"
            )
            self._tell(one, Remedy(text, verified=True), self._waits, withheld.site)
            return True
        cause = next((key for cut, key in self._cuts.items() if recorded.orders(cut, one.pairs)), None)
        if cause is not None:
            self._join(one, cause)
        return cause is not None

    def _charge(self, recorded: Recorded, left: list[Accused]) -> None:
        """Find for *left* as few barriers as will do, and tell each once; then what no barrier helps."""
        for candidates in (recorded.candidates, recorded.elsewhere, _twice):
            helps = [
                (cut, found)
                for cut in candidates(left)
                if (found := [n for n, one in enumerate(left) if recorded.orders(cut, one.pairs)])
            ]
            rest = set(range(len(left)))
            while helps:
                cut, found = max(helps, key=lambda help_: len(help_[1]))
                main = next((n for n in found if {left[n].first, left[n].second} & set(cut.before)), found[0])
                remedy = Remedy(_text(recorded, cut), verified=True)
                done = self._tell(left[main], remedy, self._cuts, cut)
                told = found if done else [main]
                for n in told:
                    if n != main:
                        self._join(left[n], self._cuts[cut])
                rest.difference_update(told)
                helps = [(cut, kept) for cut, old in helps if (kept := [n for n in old if n in rest])]
            left = [left[n] for n in sorted(rest)]
        for one in left:
            self._tell(one, _alone(recorded, one), {}, None)

    def _tell(self, one: Accused, remedy: Remedy, causes: dict[Any, Hashable], what: Hashable) -> bool:
        """Tell *one*, below what is known to be missing, or as the first for which *what* is; whether people see it."""
        cause = causes.get(what)
        if cause is not None:
            self._join(one, cause)
            return True
        key = self._court.key(one.conflict)
        self._known.setdefault(key, key)
        seen = self._court.report(one.conflict, remedy)
        if seen:
            causes[what] = key
        return seen

    def _join(self, one: Accused, cause: Hashable) -> None:
        """Put *one* below *cause*, unless it is known."""
        key = self._court.key(one.conflict)
        if key == cause:
            self._court.report(one.conflict, Remedy("", verified=False))
        elif key not in self._known:
            self._known[key] = cause
            self._court.join(cause, one.conflict)


def _twice(left: list[Accused]) -> Iterator[Cut]:
    """Barriers before both statements of a conflict: in a loop the next turn must wait, too."""
    for one in left:
        if one.first != one.second:
            yield Cut(one.scope, tuple(sorted((one.first, one.second))))


def _alone(recorded: Recorded, one: Accused) -> Remedy:
    """What to do about a conflict that no barrier of one or two places puts in order."""
    a, b = one.conflict.first, one.conflict.second
    if a.statement == b.statement:
        if (a.low, a.high) == (b.low, b.high):
            return Remedy(f"let one task do it: `{_task_0(a.statement.site)}`", verified=True)
        return Remedy(
            "the shares of the tasks overlap: check where each begins and how many it takes", verified=False
        )
    if one.scope == LAUNCH:
        return Remedy(NEXT_LAUNCH, verified=True)
    lines = f"lines {recorded.line(one.first)} and {recorded.line(one.second)}"
    sync = recorded.site(one.first).spelled(SCOPES[one.scope])
    return Remedy(f"put {sync}() between {lines}, where all of them pass", verified=False)


def _task_0(site: Site) -> str:
    """The condition that only task 0 meets, in the language of *site*."""
    return "if mlu.taskId == 0:" if site.python else "if (taskId == 0)"


def _text(recorded: Recorded, cut: Cut) -> str:
    """Say where *cut* goes."""
    if cut.scope == LAUNCH:
        return NEXT_LAUNCH
    lines = " and before line ".join(str(recorded.line(number)) for number in cut.before)
    sync = recorded.site(cut.before[0]).spelled(SCOPES[cut.scope])
    if cut.behind is None:
        return f"put {sync}() before line {lines}, where all of them pass"
    behind = recorded.line(cut.behind)
    return f"put {sync}() behind line {behind} and before line {lines}, so that all of them meet there"
