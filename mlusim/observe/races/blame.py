"""Conflicts between tasks grouped by their cause: a missing barrier, or a missing sync before a mutex is released."""

import functools
import itertools
import linecache
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from mlusim.machine.hub import TaskRan
from mlusim.machine.observed import Site
from mlusim.memory.footprint import Ints, Mask
from mlusim.observe.checker import guard_of
from mlusim.observe.races.pipes import Remedy
from mlusim.observe.races.sharing import (
    KIND,
    LOW,
    READ,
    SEGMENT,
    SITE,
    SIZE,
    TIME,
    WRITE,
    Conflict,
    Sharing,
    Statement,
    changes,
    different,
    different_pairs,
    how_many,
    parts_of,
    rows_of,
)

if TYPE_CHECKING:
    from mlusim.machine.core import Core


# -- the search for the place of a missing barrier, by trying barriers in the recorded run -------------

LAUNCH = "launch"  # Block tasks, and tasks of different unions, are ordered only by the next launch
SCOPES = {  # the reach of a barrier, the cheapest first, and its name
    "cluster_ipu": "sync_all_ipu_within_cluster",
    "cluster": "sync_cluster",
    "all_ipu": "sync_all_ipu",
    "all": "sync_all",
    LAUNCH: "",
}
GUARDS: dict[str, Callable[["Ran"], bool]] = {  # conditions that only one task fulfils, the simplest first
    "taskId == 0": lambda core: core.place.task == 0,
    "taskId == 0 && ipu": lambda core: core.place.task == 0 and not core.place.memory_core,
    "coreId == 0": lambda core: core.place.core_id == 0,
}
GUARDS_ON_CHIP = ("coreId == 0",)  # one task of each cluster
MOST = 64  # places for a barrier that are tried besides the statements in conflict
NOWHERE: Ints = np.zeros(0, np.int64)
Ran: TypeAlias = "Core | TaskRan"


class Cut(NamedTuple):
    """A barrier of *scope* before each statement of *before*, and after the statement *behind*, by number.

    If both are given, some tasks pass the barrier at one place and the others at the other.
    """

    scope: str
    before: tuple[int, ...]
    behind: int | None = None


class Accused:
    """A *conflict* in *recorded*, and the numbers of its two statements; what else the search for a barrier asks is computed when it is asked."""

    def __init__(self, conflict: Conflict, recorded: "Recorded", first: int, second: int) -> None:
        self.conflict = conflict
        self.first = first
        self.second = second
        self._recorded = recorded

    @functools.cached_property
    def other(self) -> Ints:
        """The unordered accesses of the two statements, as far as they are considered."""
        return self._recorded.other_pairs(self.conflict)

    @functools.cached_property
    def pairs(self) -> Ints:
        """The pairs of the conflict and the other ones, some twice."""
        return np.concatenate([self.conflict.pairs, self.other])

    @functools.cached_property
    def scope(self) -> str:
        """The cheapest scope of a barrier that both tasks of each pair take part in."""
        return self._recorded.scope_of(self)


class Recorded:
    """The accesses recorded in *sharing*; each of *cores* ran one task."""

    def __init__(self, sharing: Sharing, cores: Sequence[Ran]) -> None:
        self._sharing = sharing
        self._tables = sharing.tables()
        self._cores = cores
        self._numbers = {statement: number for number, statement in enumerate(sharing.statements)}
        self._reached: dict[int, Ints] = {}
        self._grouped: dict[str, tuple[Ints, dict[int, list[int]]]] = {}
        self._edges: dict[int, tuple[int | None, int | None]] = {}
        self._repeating: dict[int, bool] = {}

    def accused(self, conflict: Conflict) -> Accused:
        """Return the facts of *conflict* that the search for a barrier needs."""
        ends = (self._numbers[party.statement] for party in (conflict.first, conflict.second))
        return Accused(conflict, self, *ends)

    def other_pairs(self, conflict: Conflict) -> Ints:
        """Return the same as `Sharing.other_pairs`."""
        return self._sharing.other_pairs(conflict)

    def site(self, statement: int) -> Site:
        """Return the place of a statement."""
        return self._sharing.statements[statement].site

    def told(self, statement: int, beside: int) -> str:
        """Return the line of a statement, with its file if it differs from that of *beside*."""
        return self.site(statement).told_from(self.site(beside))

    # -- whether a barrier suffices ------------------------------------------------------------

    def orders(self, cut: Cut, pairs: Ints) -> bool:
        """Return whether every task can pass *cut*, and the barrier separates the two accesses of each pair, in either order."""
        passes = self._passes(cut)
        if passes is None:
            return False
        groups, members = self._groups(cut.scope)
        ends = groups[pairs[:, 0]], groups[pairs[:, 2]]
        if np.count_nonzero((ends[0] != ends[1]) | (ends[0] < 0)):
            return False
        counts = self._by_task(passes)
        for group in np.bincount(ends[0]).nonzero()[0].tolist():
            often = set(counts[members[group]].tolist())
            if not (often <= {0, 1} if cut.scope == LAUNCH else len(often) == 1 and often != {0}):
                return False
        times = pairs[:, 0::2] * self._end
        passed = passes.searchsorted(times + pairs[:, 1::2], "right") - passes.searchsorted(times)
        return not np.count_nonzero(passed[:, 0] == passed[:, 1])

    def _passes(self, cut: Cut) -> Ints | None:
        """Return the moments at which tasks pass *cut*; None if a task would pass it at both places."""
        before = [self.reached(statement) for statement in cut.before]
        passes = before[0] if len(before) == 1 else np.unique(np.concatenate([NOWHERE, *before]))
        if cut.behind is None:
            return passes
        done = self.reached(cut.behind) + 1
        if (self._by_task(done).astype(np.bool_) & self._by_task(passes).astype(np.bool_)).any():
            return None
        return np.sort(np.concatenate([done, passes]))

    @functools.cached_property
    def _end(self) -> int:
        """A number that is larger than all times and than the next one."""
        return 2 + max(int(table[:, TIME].max(initial=0)) for table in self._tables.values())

    def reached(self, statement: int) -> Ints:
        """Return the moments at which tasks reached *statement*, ascending: the task times `_end`, plus the time."""
        moments = self._reached.get(statement)
        if moments is None:
            rows = np.concatenate([rows_of(table, statement) for table in self._tables.values()])
            moments = np.sort(self._sharing.tasks(rows) * self._end + rows[:, TIME])
            moments = self._reached[statement] = moments[changes(moments)]
        return moments

    def _by_task(self, moments: Ints) -> Ints:
        """Return how many of *moments* each task has."""
        return np.bincount(moments // self._end, minlength=len(self._cores))

    def _reach(self, statement: int) -> Mask:
        """Return which tasks reached *statement*."""
        return self._by_task(self.reached(statement)) > 0

    # -- other remedies ----------------------------------------------------------------------

    def one_of(self, case: Accused) -> str | None:
        """Return the condition of `GUARDS` that holds for exactly one of the tasks that write the word of *case*.

        It must hold for every word that the statement writes; None if no condition on a task's number does.
        """
        writes = [
            table.take(((table[:, SITE] == case.first) & (table[:, KIND] != READ)).nonzero()[0], axis=0)
            for table in self._tables.values()
        ]
        on_chip = case.conflict.allocation.space.name != "GDRAM"
        for name in GUARDS_ON_CHIP if on_chip else GUARDS:
            fulfils = np.array([GUARDS[name](core) for core in self._cores], np.bool_)
            if all(self._each_once(rows, fulfils) for rows in writes if len(rows)):
                return name
        return None

    def _each_once(self, writes: Ints, fulfils: Mask) -> bool:
        """Return whether exactly one of the tasks that *fulfils* selects writes each word of *writes*."""
        tasks = self._sharing.tasks(writes)
        words, _ = different_pairs(writes[:, LOW], writes[:, SIZE], int(writes[:, SIZE].max()) + 1)
        mine = fulfils[tasks].nonzero()[0]
        by_word = different(np.array([writes[mine, LOW], writes[mine, SIZE], tasks[mine]]).T)
        return len(words) == len(by_word) == how_many(by_word[:, 0], by_word[:, 1])

    def differs(self, case: Accused) -> bool:
        """Return whether tasks write different or unknown values to the word of *case* without an order."""
        # The values of its own pairs have been compared.
        pairs = case.other if case.conflict.same else case.pairs
        return not self._sharing.equal(pairs[:, 1], pairs[:, 3]).all()

    def read_without(self, case: Accused, guard: str) -> bool:
        """Return whether a task reads the word of *case* after its own write, unordered with the write of the task that fulfils *guard*."""
        table = self._tables[case.conflict.allocation]
        low, high = case.conflict.first.low, case.conflict.first.high
        rows = table[(table[:, LOW] < high) & (table[:, LOW] + table[:, SIZE] > low)]
        tasks, segments = self._sharing.tasks(rows), self._sharing.clocks.segments
        writes = {
            int(task): row
            for task, row in zip(tasks, rows, strict=True)
            if row[SITE] == case.first and row[KIND] != READ
        }
        guarded = [row for task, row in writes.items() if GUARDS[guard](self._cores[task])]
        return any(
            row[KIND] == READ
            and int(task) in writes
            and row[TIME] > writes[int(task)][TIME]
            and any(not segments[w[SEGMENT]].before(segments[row[SEGMENT]]) for w in guarded)
            for task, row in zip(tasks, rows, strict=True)
        )

    def unguarded(self, case: Accused) -> bool:
        """Return whether each pair of *case* involves a memory core, in a statement that IPU cores reach, too."""
        on_memory_core = self._on_memory_core
        if not np.count_nonzero(on_memory_core):
            return False
        ends = on_memory_core[case.pairs[:, 0]], on_memory_core[case.pairs[:, 2]]
        if np.count_nonzero(ends[0] | ends[1]) < len(case.pairs):
            return False
        ran = [case.first] * bool(ends[0].any()) + [case.second] * bool(ends[1].any())
        return all(not on_memory_core[self._reach(number)].all() for number in ran)

    @functools.cached_property
    def _on_memory_core(self) -> Mask:
        return np.array([core.place.memory_core for core in self._cores], np.bool_)

    def updates(self, case: Accused) -> bool:
        """Return whether both tasks of *case* read the bytes before they write them, so that they add to each other's results."""
        table = self._tables[case.conflict.allocation]
        first, second = case.conflict.first, case.conflict.second
        low, high = max(first.low, second.low), min(first.high, second.high)
        rows = table[(table[:, LOW] < high) & (table[:, LOW] + table[:, SIZE] > low)]
        tasks = self._sharing.tasks(rows)
        begun = set()
        for party in (first, second):
            kinds = rows[tasks == party.segment.task][:, KIND].tolist()
            if (READ, WRITE) not in itertools.pairwise(kinds):
                return False
            begun.add(kinds[0])
        return READ in begun

    # -- candidates for a barrier --------------------------------------------------------------

    def candidates(self, accused: list[Accused]) -> Iterator[Cut]:
        """Yield the barriers before the statements of *accused*, then those after them."""
        numbers = dict.fromkeys(end for case in accused for end in (case.second, case.first))
        yield from self._in_scopes(accused, (((number,), None) for number in numbers))
        yield from self._in_scopes(accused, (((), number) for number in numbers))

    def elsewhere(self, accused: list[Accused]) -> Iterator[Cut]:
        """Yield the barriers before earlier accesses of the tasks to shared memory, and those that tasks pass at two different places."""
        if {case.scope for case in accused} == {LAUNCH} and (self._times > self._once).all():
            return  # all of it repeats
        others = dict.fromkeys(number for case in accused for number in self._before(case.conflict))
        apart = (((before,), behind) for before, behind in self._apart(accused))
        yield from self._in_scopes(accused, (*(((number,), None) for number in others), *apart))

    def twice(self, accused: list[Accused]) -> Iterator[Cut]:
        """Yield the barriers before both statements of a conflict: in a loop the next iteration must wait, too."""
        for case in accused:
            if case.first != case.second:
                yield from self._in_scopes([case], [(tuple(sorted((case.first, case.second))), None)])

    def _in_scopes(
        self, accused: list[Accused], places: Iterable[tuple[tuple[int, ...], int | None]]
    ) -> Iterator[Cut]:
        """Yield a barrier at each of *places*, in each scope that a conflict in *accused* needs, the cheapest first.

        A barrier is between lines: before or after all accesses of a line to shared memory.
        """
        needed = {case.scope for case in accused}
        scopes = [scope for scope in SCOPES if scope in needed]
        for before, behind in places:
            within = scopes
            if LAUNCH in scopes and any(map(self._repeats, before if behind is None else (*before, behind))):
                within = [scope for scope in scopes if scope != LAUNCH]  # a launch ends once
            if not within:
                continue
            fronts = tuple(dict.fromkeys(self._edge(number)[0] for number in before))
            back = None if behind is None else self._edge(behind)[1]
            if None not in fronts and (behind is None or back is not None):
                for scope in within:
                    yield Cut(scope, tuple(front for front in fronts if front is not None), back)

    def _line(self, statement: int) -> list[int]:
        """Return the statements on the line of *statement*."""
        site, every = self.site(statement), enumerate(self._sharing.statements)
        return [number for number, other in every if other.site == site]

    def _repeats(self, statement: int) -> bool:
        """Return whether a task reaches each statement on the line of *statement* more than once: there are more times than tasks."""
        repeats = self._repeating.get(statement)
        if repeats is None:
            repeats = all(self._times[number] > self._once for number in self._line(statement))
            self._repeating[statement] = repeats
        return repeats

    @property
    def _once(self) -> int:
        """How often a statement can be reached if no task repeats it."""
        return len(self._tables) * len(self._cores)

    @functools.cached_property
    def _times(self) -> Ints:
        """How often tasks reached each statement, counted for each memory."""
        many = len(self._sharing.statements)
        times: Ints = np.zeros(many, np.int64)
        for table in self._tables.values():
            times += np.bincount(table[changes(table[:, TIME]), SITE], minlength=many)
        return times

    def _edge(self, statement: int) -> tuple[int | None, int | None]:
        """Return the first and the last access of the statement's line to shared memory, by number; None if the line repeats an access."""
        edge = self._edges.get(statement)
        if edge is None:
            line = self._line(statement)
            if any(several_calls(self._sharing.statements[number]) for number in line):
                edge = None, None
            elif len(line) == 1 and len(self.reached(statement)):
                edge = statement, statement
            else:
                ends = [self._first_and_last(number) for number in line]
                tasks = {task for end in ends for task in end}
                order = [
                    (
                        min((end[task][0], n) for n, end in enumerate(ends) if task in end)[1],
                        max((end[task][1], n) for n, end in enumerate(ends) if task in end)[1],
                    )
                    for task in tasks
                ]
                firsts, lasts = {first for first, _ in order}, {last for _, last in order}
                edge = (
                    line[firsts.pop()] if len(firsts) == 1 else None,
                    line[lasts.pop()] if len(lasts) == 1 else None,
                )
            self._edges[statement] = edge
        return edge

    def _first_and_last(self, statement: int) -> dict[int, tuple[int, int]]:
        """Return the moments at which each task reached *statement* first and last."""
        moments = self.reached(statement)
        tasks = moments // self._end
        return {
            int(tasks[part.start]): (int(moments[part][0]), int(moments[part][-1]))
            for part in parts_of(tasks)
        }

    def _before(self, conflict: Conflict) -> list[int]:
        """Return the earlier accesses to shared memory of the second task of *conflict*, the last first."""
        task, time = conflict.second.segment.task, conflict.second.time
        seen: dict[int, int] = {}
        for table in self._tables.values():
            mine = table[(self._sharing.tasks(table) == task) & (table[:, TIME] <= time)][::-1]
            last, places = np.unique(mine[:, SITE], return_index=True)
            for statement, at in zip(last.tolist(), mine[places, TIME].tolist(), strict=True):
                seen[statement] = max(at, seen.get(statement, 0))
        return sorted(seen, key=lambda statement: -seen[statement])[:MOST]

    def _apart(self, every: list[Accused]) -> dict[tuple[int, int], None]:
        """Return the pairs of statements one of which only some tasks reach, and the other only the other tasks.

        The barrier is before the first statement of a pair and after the second.  Writes come before
        reads, unless only the opposite order works.
        """
        ways: dict[tuple[int, int], None] = {}
        for turned in (False, True):
            firsts: dict[int, None] = {}
            seconds: dict[int, None] = {}
            for case in every:
                read = case.conflict.first.kind == READ and case.conflict.second.kind != READ
                ahead, behind = (case.first, case.second) if read == turned else (case.second, case.first)
                firsts[ahead], seconds[behind] = None, None
            for behind in seconds:
                for ahead in firsts:
                    if ahead != behind and not (self._reach(ahead) & self._reach(behind)).any():
                        ways[behind, ahead] = None
        return ways

    # -- groups of tasks -----------------------------------------------------------------------

    def scope_of(self, case: Accused) -> str:
        """Return the cheapest scope of a barrier that both tasks of each pair of *case* take part in."""
        if all(core.union.block for core in self._cores):
            return LAUNCH
        for scope in SCOPES:
            groups, _ = self._groups(scope)
            ends = groups[case.pairs[:, 0]], groups[case.pairs[:, 2]]
            if not np.count_nonzero((ends[0] != ends[1]) | (ends[0] < 0)):
                return scope
        return LAUNCH

    def _groups(self, scope: str) -> tuple[Ints, dict[int, list[int]]]:
        """Return for each task the number of its group at a barrier of *scope* (-1: none), and the tasks of each group."""
        grouped = self._grouped.get(scope)
        if grouped is None:
            numbers: dict[int, int] = {-1: -1}  # in the order of the first task of each
            members: dict[int, list[int]] = {}
            for task, core in enumerate(self._cores):
                group = numbers.setdefault(self._group(core, scope), len(numbers) - 1)
                members.setdefault(group, []).append(task)
            groups = np.empty(len(self._cores), np.int64)
            for group, tasks in members.items():
                groups[tasks] = group
            grouped = self._grouped[scope] = groups, members
        return grouped

    def _group(self, core: Ran, scope: str) -> int:
        if scope == LAUNCH:
            return 0
        if core.union.block or (scope.endswith("_ipu") and core.place.memory_core):
            return -1
        cluster = core.cluster if scope.startswith("cluster") else None
        return id(core.union if cluster is None else cluster)


def several_calls(statement: Statement) -> bool:
    """Return whether the line of *statement* calls its intrinsic more than once, so that the calls cannot be distinguished."""
    return _several(statement.name.lstrip("_"), linecache.getline(*statement.site))


@functools.lru_cache
def _several(name: str, line: str) -> bool:
    return " " not in name and len(re.findall(rf"\b_*{re.escape(name)}\s*\(", line)) > 1


TOGETHER = 32  # conflicts for which one barrier is searched together
GUARD = "guard"  # the cause if memory cores run statements that are meant for IPU cores alone
NEXT_LAUNCH = (
    "no sync reaches from one union to another, nor between Block tasks: make it two launches, "
    "or give each task memory of its own"
)


class Court(NamedTuple):
    """The functions that receive conflicts.

    *report* receives a conflict and its remedy, and returns whether the finding is shown to the user; *join*
    receives another conflict with the same remedy.
    """

    key: Callable[[Conflict], Hashable]
    report: Callable[[Conflict, Remedy], bool]
    join: Callable[[Hashable, Conflict], None]


class Blame:
    """The missing syncs of a launch, as far as they were found."""

    def __init__(self, sharing: Sharing, handing: "Handing", court: Court) -> None:
        self._sharing = sharing
        self._handing = handing
        self._court = court
        self._known: dict[Hashable, Hashable] = {}  # reported conflicts, and the finding that each belongs to
        # The finding about each missing sync for each memory.
        self._causes: dict[Hashable, Hashable] = {}
        self._cuts: dict[Cut, None] = {}

    def judge(self, conflicts: list[Conflict], cores: Sequence[Ran]) -> None:
        """Report *conflicts*, which were found together, between tasks that *cores* ran."""
        left: list[Conflict] = []
        for conflict in sorted(conflicts, key=lambda conflict: conflict.second.time):
            key = self._court.key(conflict)
            if key not in self._known:
                left.append(conflict)
            elif self._known[key] == key:
                self._court.report(conflict, Remedy(""))
            else:
                self._court.join(self._known[key], conflict)
        if left:
            recorded = Recorded(self._sharing, cores)
            accused = [recorded.accused(conflict) for conflict in left]
            accused = [case for case in accused if not self._is_known(recorded, case)]
            for start in range(0, len(accused), TOGETHER):
                self._charge(recorded, accused[start : start + TOGETHER])

    def _is_known(self, recorded: Recorded, case: Accused) -> bool:
        """Report *case* if its remedy needs no search: a wait before a mutex, or a barrier that was reported before."""
        withheld = self._handing.missed(case)
        if withheld is not None:
            at = withheld.site.told_from(case.conflict.second.statement.site)
            text = f"put {withheld.site.spelled('sync')}() before {at}, which passes on only what is over by then"
            self._tell(case, Remedy(text, verified=True), withheld.site)
            return True
        if recorded.unguarded(case):
            site = case.conflict.second.statement.site
            self._tell(case, Remedy(f"keep memory cores away: {guard_of(site)}", verified=True), GUARD)
            return True
        if recorded.updates(case):
            self._tell(case, Remedy(_added(case)), None)
            return True
        cut = next((cut for cut in self._cuts if recorded.orders(cut, case.pairs)), None)
        if cut is not None:
            self._tell(case, Remedy(_text(recorded, cut), verified=True), cut)
        return cut is not None

    def _charge(self, recorded: Recorded, left: list[Accused]) -> None:
        """Order the conflicts in *left* with as few barriers as possible, each reported once for a memory, and give other advice for the rest."""
        tried: set[Cut] = set()  # in vain for those that are left
        for candidates in (recorded.candidates, recorded.elsewhere, recorded.twice):
            cuts = [cut for cut in dict.fromkeys(candidates(left)) if cut not in tried]
            tried.update(cuts)
            helps = [
                (cut, ordered)
                for cut in cuts
                if (ordered := [n for n, case in enumerate(left) if recorded.orders(cut, case.pairs)])
            ]
            rest = set(range(len(left)))
            while helps:
                cut, ordered = max(helps, key=lambda help_: len(help_[1]))
                main = next(
                    (n for n in ordered if {left[n].first, left[n].second} & set(cut.before)), ordered[0]
                )
                memory = left[main].conflict.memory
                remedy = Remedy(_text(recorded, cut), verified=True)
                told = [main]
                if self._tell(left[main], remedy, cut):
                    told += [n for n in ordered if n != main and left[n].conflict.memory == memory]
                    for n in told[1:]:
                        self._tell(left[n], remedy, cut)
                rest.difference_update(told)
                helps = [
                    (cut, remaining) for cut, old in helps if (remaining := [n for n in old if n in rest])
                ]
            left = [left[n] for n in sorted(rest)]
        for case in left:
            self._tell(case, _alone(recorded, case), None)

    def _tell(self, case: Accused, remedy: Remedy, what: Hashable) -> bool:
        """Report *case*, or add it to the finding about the missing sync *what* for its memory; return whether it is shown to the user."""
        cause = None if what is None else self._causes.get((what, case.conflict.memory))
        if cause is not None:
            self._join(case, cause)
            return True
        key = self._court.key(case.conflict)
        self._known.setdefault(key, key)
        seen = self._court.report(case.conflict, remedy)
        if seen and what is not None:
            self._causes[what, case.conflict.memory] = key
            if isinstance(what, Cut):
                self._cuts[what] = None
        return seen

    def _join(self, case: Accused, cause: Hashable) -> None:
        """Add *case* to the finding *cause*, unless it was reported before."""
        key = self._court.key(case.conflict)
        if key == cause:
            self._court.report(case.conflict, Remedy(""))
        elif key not in self._known:
            self._known[key] = cause
            self._court.join(cause, case.conflict)


def _alone(recorded: Recorded, case: Accused) -> Remedy:
    """Return advice on a conflict that no barrier at one or two places orders."""
    a, b = case.conflict.first, case.conflict.second
    site = recorded.site(case.first)
    if several_calls(a.statement) or several_calls(b.statement):
        place = f"line {(a if several_calls(a.statement) else b).statement.site.line}"
        return Remedy(f"{place} has several calls: give each a line of its own to see which of them")
    if a.statement == b.statement:
        return _of_one_statement(recorded, case)
    if case.scope == LAUNCH:
        return Remedy(NEXT_LAUNCH, verified=True)
    sync = f"{site.spelled(SCOPES[case.scope])}()"
    sites = sorted((recorded.site(case.first), recorded.site(case.second)))
    if sites[0] == sites[1]:
        return Remedy(f"line {sites[0].line} reads and writes what other tasks do: read it on a line before, "
                      f"and put {sync} between, where all of them pass")  # fmt: skip
    same = "the last to write stays: keep one of the writes, or " if READ not in (a.kind, b.kind) else ""
    apart = sites[0].file != sites[1].file
    lines = f"{sites[0]} and {sites[1]}" if apart else f"lines {sites[0].line} and {sites[1].line}"
    return Remedy(f"{same}put {sync} between {lines}, where all of them pass")


def _of_one_statement(recorded: Recorded, case: Accused) -> Remedy:
    a, b = case.conflict.first, case.conflict.second
    if READ in (a.kind, b.kind):
        return Remedy("one call reads what another task writes in it: let it write to other bytes")
    if (a.low, a.high) != (b.low, b.high):
        return Remedy("the shares of the tasks overlap: check where each begins and how many it takes")
    if not case.conflict.same or recorded.differs(case):
        return Remedy(
            "the last to write stays: let the one task write whose value is meant, or give each bytes of its own",
        )
    guard = recorded.one_of(case)
    if guard is None:
        return Remedy("let one task do it")
    site = recorded.site(case.first)
    text = f"let one task do it: `{_condition(site, guard)}`"
    if not recorded.read_without(case, guard):
        return Remedy(text, verified=True)
    if case.scope == LAUNCH:
        return Remedy("let each task write a word of its own: the others read it")
    return Remedy(f"{text}, and {site.spelled(SCOPES[case.scope])}() behind it, where all pass")


def _added(case: Accused) -> str:
    """Return the advice for several tasks that update the same bytes."""
    add = case.conflict.second.statement.site.spelled("bang_atomic_add")
    return (
        "what another task writes between this task's read and its write is lost: "
        f"for a sum, use {add}, or let each core put its part into SRAM and one add them up behind a barrier"
    )


def _condition(site: Site, guard: str) -> str:
    """Return an if statement with *guard*, one of `GUARDS`, in the language of *site*."""
    name, _, core = guard.partition(" && ")
    if site.python:
        return f"if mlu.{name}{' and mlu.is_ipu()' * bool(core)}:"
    return f"if ({name}{' && __is_ipu()' * bool(core)})"


def _text(recorded: Recorded, cut: Cut) -> str:
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


# -- mutexes and atomics that did not order anything because a store was in flight ------------------

MOST_HANDED = 1 << 12  # events of a launch that are recorded


class Withheld(NamedTuple):
    """A release of a mutex or a word by *task* after effect *number*, with a store in flight."""

    site: Site
    task: int
    number: int
    key: Any


class Handing:
    """The releases with a store in flight, and the later acquisitions of the same mutex or word."""

    def __init__(self) -> None:
        self._withheld: list[Withheld] = []
        self._taken: list[tuple[Withheld, int, int]] = []

    def withhold(self, event: Withheld) -> None:
        """Record *event*, a release that orders nothing."""
        if len(self._withheld) < MOST_HANDED:
            self._withheld.append(event)

    def take(self, task: int, key: object, number: int) -> None:
        """Record that *task* acquired *key* after effect *number*."""
        for event in self._withheld:
            if event.key == key and event.task != task and len(self._taken) < MOST_HANDED:
                self._taken.append((event, task, number))

    def missed(self, case: Accused) -> Withheld | None:
        """Return the release that would have ordered each pair of *case* if its task had waited for its stores first; None without one."""
        for site, example in {event.site: event for event, _, _ in self._taken}.items():
            handed = [taken for taken in self._taken if taken[0].site == site]
            if all(
                any(
                    event.task == task and taker == other and time <= event.number and number <= later
                    for event, taker, number in handed
                )
                for task, time, other, later in case.pairs.tolist()
            ):
                return example
        return None
