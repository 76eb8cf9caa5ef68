"""Conflicts between tasks by what is missing: one barrier, and all that it would have put in order."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mlusim.machine.events import Site
from mlusim.observe.races.cells import READ
from mlusim.observe.races.cuts import LAUNCH, SCOPES, Accused, Cut, Recorded, several_calls
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
    """The functions that hear of conflicts.

    *report* is given a conflict and what would help, and says whether a person gets to see the finding; *join* is
    given another conflict that the same would help.
    """

    key: Callable[[Conflict], Hashable]
    report: Callable[[Conflict, Remedy], bool]
    join: Callable[[Hashable, Conflict], None]


class Blame:
    """The syncs that a launch lacks, as far as they are known."""

    def __init__(self, sharing: Sharing, handing: Handing, court: Court) -> None:
        self._sharing = sharing
        self._handing = handing
        self._court = court
        self._known: dict[Hashable, Hashable] = {}  # conflicts that have been told, and below which finding
        self._causes: dict[
            Hashable, Hashable
        ] = {}  # what is missing for which memory, and where that was told
        self._cuts: dict[Cut, None] = {}

    def judge(self, conflicts: list[Conflict], cores: "Sequence[Core]") -> None:
        """Tell *conflicts*, which were found together, between tasks that *cores* ran."""
        left: list[Conflict] = []
        for conflict in sorted(conflicts, key=lambda conflict: conflict.second.time):
            key = self._court.key(conflict)
            if key not in self._known:
                left.append(conflict)
            elif self._known[key] == key:
                self._court.report(conflict, Remedy("", verified=False))
            else:
                self._court.join(self._known[key], conflict)
        if left:
            recorded = Recorded(self._sharing, cores)
            accused = [recorded.accused(conflict) for conflict in left]
            accused = [one for one in accused if not self._is_known(recorded, one)]
            for start in range(0, len(accused), TOGETHER):
                self._charge(recorded, accused[start : start + TOGETHER])

    def _is_known(self, recorded: Recorded, one: Accused) -> bool:
        """Return whether the remedy for *one* is known without a search: a wait before a mutex, or a barrier that was told."""
        withheld = self._handing.missed(one.pairs)
        if withheld is not None:
            at = withheld.site.told_from(one.conflict.second.statement.site)
            text = f"put {withheld.site.spelled('sync')}() before {at}, which passes on only what is over by then"
            self._tell(one, Remedy(text, verified=True), withheld.site)
            return True
        if recorded.updates(one):
            self._tell(one, Remedy(_added(one), verified=False), None)
            return True
        cut = next((cut for cut in self._cuts if recorded.orders(cut, one.pairs)), None)
        if cut is not None:
            self._tell(one, Remedy(_text(recorded, cut), verified=True), cut)
        return cut is not None

    def _charge(self, recorded: Recorded, left: list[Accused]) -> None:
        """Find for *left* as few barriers as will do, and tell each once for a memory; then what no barrier helps."""
        for candidates in (recorded.candidates, recorded.elsewhere, recorded.twice):
            helps = [
                (cut, found)
                for cut in candidates(left)
                if (found := [n for n, one in enumerate(left) if recorded.orders(cut, one.pairs)])
            ]
            rest = set(range(len(left)))
            while helps:
                cut, found = max(helps, key=lambda help_: len(help_[1]))
                main = next((n for n in found if {left[n].first, left[n].second} & set(cut.before)), found[0])
                memory = left[main].conflict.memory
                remedy = Remedy(_text(recorded, cut), verified=True)
                told = [main]
                if self._tell(left[main], remedy, cut):
                    told += [n for n in found if n != main and left[n].conflict.memory == memory]
                    for n in told[1:]:
                        self._tell(left[n], remedy, cut)
                rest.difference_update(told)
                helps = [(cut, kept) for cut, old in helps if (kept := [n for n in old if n in rest])]
            left = [left[n] for n in sorted(rest)]
        for one in left:
            self._tell(one, _alone(recorded, one), None)

    def _tell(self, one: Accused, remedy: Remedy, what: Hashable) -> bool:
        """Tell *one*, or put it below the finding that *what* is missing for its memory; whether people see it."""
        cause = None if what is None else self._causes.get((what, one.conflict.memory))
        if cause is not None:
            self._join(one, cause)
            return True
        key = self._court.key(one.conflict)
        self._known.setdefault(key, key)
        seen = self._court.report(one.conflict, remedy)
        if seen and what is not None:
            self._causes[what, one.conflict.memory] = key
            if isinstance(what, Cut):
                self._cuts[what] = None
        return seen

    def _join(self, one: Accused, cause: Hashable) -> None:
        """Put *one* below *cause*, unless it is known."""
        key = self._court.key(one.conflict)
        if key == cause:
            self._court.report(one.conflict, Remedy("", verified=False))
        elif key not in self._known:
            self._known[key] = cause
            self._court.join(cause, one.conflict)


def _alone(recorded: Recorded, one: Accused) -> Remedy:
    """Advise on a conflict that no barrier of one or two places puts in order."""
    a, b = one.conflict.first, one.conflict.second
    site = recorded.site(one.first)
    if several_calls(a.statement) or several_calls(b.statement):
        place = f"line {(a if several_calls(a.statement) else b).statement.site.line}"
        return Remedy(
            f"{place} has several calls: give each a line of its own to see which of them", verified=False
        )
    if a.statement == b.statement:
        return _of_one_statement(recorded, one)
    if one.scope == LAUNCH:
        return Remedy(NEXT_LAUNCH, verified=True)
    sync = f"{site.spelled(SCOPES[one.scope])}()"
    sites = sorted((recorded.site(one.first), recorded.site(one.second)))
    if sites[0] == sites[1]:
        return Remedy(f"line {sites[0].line} reads and writes what other tasks do: read it on a line before, "
                      f"and put {sync} between, where all of them pass", verified=False)  # fmt: skip
    same = "the last to write stays: keep one of the writes, or " if READ not in (a.kind, b.kind) else ""
    apart = sites[0].file != sites[1].file
    lines = f"{sites[0]} and {sites[1]}" if apart else f"lines {sites[0].line} and {sites[1].line}"
    return Remedy(f"{same}put {sync} between {lines}, where all of them pass", verified=False)


def _of_one_statement(recorded: Recorded, one: Accused) -> Remedy:
    """Advise on tasks that are in conflict at one statement."""
    a, b = one.conflict.first, one.conflict.second
    if READ in (a.kind, b.kind):
        return Remedy(
            "one call reads what another task writes in it: let it write to other bytes", verified=False
        )
    if (a.low, a.high) != (b.low, b.high):
        return Remedy(
            "the shares of the tasks overlap: check where each begins and how many it takes", verified=False
        )
    if not one.conflict.same or recorded.differs(one):
        return Remedy(
            "the last to write stays: let the one task write whose value is meant, or give each bytes of its own",
            verified=False,
        )
    guard = recorded.one_of(one)
    if guard is None:
        return Remedy("let one task do it", verified=False)
    site = recorded.site(one.first)
    text = f"let one task do it: `{_condition(site, guard)}`"
    if not recorded.read_without(one, guard):
        return Remedy(text, verified=True)
    if one.scope == LAUNCH:
        return Remedy("let each task write a word of its own: the others read it", verified=False)
    return Remedy(
        f"{text}, and {site.spelled(SCOPES[one.scope])}() behind it, where all pass", verified=False
    )


def _added(one: Accused) -> str:
    """Advise where several tasks change what they have read."""
    add = one.conflict.second.statement.site.spelled("bang_atomic_add")
    return (
        "what another task writes between this task's read and its write is lost: "
        f"for a sum, use {add}, or let each core put its part into SRAM and one add them up behind a barrier"
    )


def _condition(site: Site, guard: str) -> str:
    """Return an if with *guard*, one of `GUARDS`, in the language of *site*."""
    name, _, core = guard.partition(" && ")
    if site.python:
        return f"if mlu.{name}{' and mlu.is_ipu()' * bool(core)}:"
    return f"if ({name}{' && __is_ipu()' * bool(core)})"


def _text(recorded: Recorded, cut: Cut) -> str:
    """Say where *cut* goes."""
    if cut.scope == LAUNCH:
        return NEXT_LAUNCH
    lines = " and before ".join(recorded.told(number, cut.before[0]) for number in cut.before)
    number = cut.before[0] if cut.behind is None else cut.behind
    sync = recorded.site(number).spelled(SCOPES[cut.scope])
    if not cut.before:
        return f"put {sync}() behind {recorded.told(number, number)}, where all of them pass"
    if cut.behind is None:
        return f"put {sync}() before {lines}, where all of them pass"
    behind = recorded.told(cut.behind, cut.before[0])
    return f"put {sync}() behind {behind} and before {lines}, so that all of them meet there"
