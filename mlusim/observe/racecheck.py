"""racecheck: unordered accesses to the same bytes, within a core and between tasks, and syncs that order nothing.

Within a core the pipes run concurrently (`mlusim.observe.races.pipes`); between tasks only barriers, mutexes
and atomics on a common word order accesses (`mlusim.observe.races.sharing`).
"""

import functools
import itertools
from collections import deque
from collections.abc import Collection, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.counted import plural
from mlusim.engine.preference import MEMORY_CORES
from mlusim.errors import Fault
from mlusim.isa.table import ISA
from mlusim.machine.hub import Effect, ObservedScreen, SharedRun, TaskRan
from mlusim.machine.observed import MutexTurn, Screened, Site, Step, WordSign
from mlusim.memory.footprint import Access
from mlusim.observe.checker import Checker, operand_of, operand_told, place_of
from mlusim.observe.finding import Finding, RelatedPlace
from mlusim.observe.races.blame import Blame, Court, Handing, Ran, Withheld
from mlusim.observe.races.clocks import Clocks, Segment
from mlusim.observe.races.pipes import COMPUTE, EVERY, Clash, PipeOrder, Remedy, spelled, wait_for
from mlusim.observe.races.sharing import ATOMIC, READ, WORD, WRITE, Conflict, Party, Sharing, in_order, meets

if TYPE_CHECKING:
    from mlusim.machine.cluster import Sync
    from mlusim.machine.core import Core, RunningLaunch


DOES = {READ: "reads", ATOMIC: "changes", WRITE: "writes"}
TELLS = {
    "read-after-write": "reads {where}, which {first} may not have written yet",
    "write-after-read": "overwrites {where}, which {first} may still be reading",
    "write-after-write": "writes {where}, which {first} may still be writing",
}

ANY_ORDER = "tasks run in any order; GDRAM and SRAM are in step only after a barrier that both pass"
BESIDE = (
    "a memory core runs the kernel with the number of its cluster's first task, and nothing orders the two; here memory cores "
    f"begin first, as they seem to on a card (inferred), and last with {MEMORY_CORES}=last"
)
EARLY = "offsets and masks are read when the instruction is issued, not when its pipe gets to it"


class RaceCheck(Checker):
    """Reports accesses that are not ordered."""

    name = "racecheck"
    screens = Screened.RACE
    # Whether all accesses to shared memory of the last run in C are ordered; otherwise they are judged.
    _ordered = True
    # The screen asked last whether it is, the clocks of its tasks, and how many of their beginnings and meetings they have.
    _screened: tuple[ObservedScreen | None, Clocks, int] = (None, Clocks(), 0)

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Begin a launch without tasks."""
        super().launch_begin(launch)
        self._times = 1  # the number of occurrences of the events being judged
        self._clear()
        self._idle = IdleSyncs() if self.notes else None
        if self._idle is not None:
            self._clocks.keep_log()
            self._sharing.whole = True

    def _clear(self) -> None:
        """Drop the tasks, with their accesses."""
        self._cores: list[Ran] = []
        self._tasks: dict[Core, int] = {}
        self._orders: dict[Core, PipeOrder] = {}
        # The finding about each missing sync.
        self._blamed: dict[Core, dict[Step, Hashable]] = {}
        self._clocks = Clocks()
        self._handing, self._now = Handing(), 0
        self._screened = None, self._clocks, 0
        self._sharing = Sharing(self._clocks, lambda conflicts: self._blame.judge(conflicts, self._cores))
        self._blame = Blame(self._sharing, self._handing, Court(self._key, self._accuse, self._join))

    def screen_end(self, screen: ObservedScreen) -> bool:
        """Return whether all accesses to shared memory are ordered, or C has recorded enough to find those that are not."""
        self._ordered = not screen.disordered and self._in_order(screen)
        screen.disordered = not self._ordered
        return self._ordered or screen.sharing() is not None

    def _in_order(self, screen: ObservedScreen) -> bool:
        meeting = [table for _, table in screen.shared() if meets(table)]
        if not meeting:
            return True
        seen, clocks, done = self._screened
        if seen is not screen or done > len(screen.met):
            clocks, done = Clocks(), 0
        self._screened = screen, clocks, len(screen.met)
        for met in itertools.islice(screen.met, done, None):
            if isinstance(met, MutexTurn):
                if not met.releases:
                    clocks.acquire(met.task, met.key)
                elif not met.pending:
                    clocks.release(met.task, met.key)
            elif met:
                clocks.meet(met)
            else:
                clocks.begin()
        return all(in_order(table, clocks) for table in meeting)

    def screened(self, screen: ObservedScreen) -> None:
        """Judge the possibly unordered accesses that C has recorded, and drop the state of the launch."""
        for window in screen.unordered():
            order = self._orders[window.core] = PipeOrder()
            self._times = window.times
            for happening in window.happenings():
                if isinstance(happening, Effect):
                    self._within(order, happening)
                else:
                    self.sync(happening)
        self._times = 1
        run = None if self._ordered else screen.sharing()
        if run is not None:
            self._judge(run)
            screen.disordered = bool(self._counts) or not self._in_order(screen)
        self._clear()

    def _judge(self, run: SharedRun) -> None:
        """Judge the accesses to shared memory, in the order in which they happened."""
        done = 0
        for row, what in run.events:
            # Accesses before the beginning of another task may be recorded after it.
            if isinstance(what, TaskRan) and not self._sharing.fills(row - done):
                self._begin_task(what)
                continue
            self._sharing.take(run, done, row)
            done = row
            match what:
                case WordSign():
                    self._told_by(run, what)
                case MutexTurn():
                    self._turn(what)
                case TaskRan():
                    self._begin_task(what)
                case list():
                    self._sharing.forget(what)
                case _:
                    self._clocks.meet(what)
        self._sharing.take(run, done, len(run.accesses))
        self._sharing.judge(last=True)

    def _begin_task(self, core: TaskRan) -> None:
        self._clocks.begin()
        self._cores.append(core)

    def _turn(self, turn: MutexTurn) -> None:
        """Let a task acquire or release a mutex, as `_mutex` does."""
        self._now = turn.time
        if turn.releases:
            self._publish(turn.site, turn.task, turn.key, pending=turn.pending)
        else:
            self._acquire(turn.task, turn.key)

    def _told_by(self, run: SharedRun, sign: WordSign) -> None:
        """Let an atomic on one word release or acquire the word, as `_word` does."""
        low, _, _, task, statement, self._now = run.accesses[sign.row].tolist()
        name, _, site = run.statement(statement)
        key = run.memories[int(run.memory[sign.row])], low
        if ISA[name].polls:
            self._acquire(task, key)
        self._publish(site, task, key, pending=sign.pending)

    def task_begin(self, core: "Core") -> None:
        """Begin a task without accesses."""
        self._tasks[core] = self._clocks.begin()
        self._cores.append(core)
        self._orders[core] = PipeOrder()

    def task_end(self, core: "Core") -> None:
        """End a task; after the last task of a union, end the SRAM of its clusters, too."""
        del self._orders[core]
        if self._idle is not None:
            self._idle.end(core)
        elif core.union.finished():
            ended = (allocation for cluster in core.union.clusters for allocation in cluster.sram.allocations)
            self._sharing.forget(ended)

    def fault(self, _core: "Core", _fault: Fault) -> None:
        """Report the conflicts of the accesses so far."""
        self._sharing.judge()

    def error(self, _core: "Core", _error: BaseException) -> None:
        """Report the conflicts of the accesses so far."""
        self._sharing.judge()

    def launch_end(self, _launch: "RunningLaunch") -> None:
        """Report all conflicts and idle syncs, and drop the tasks."""
        self._sharing.judge(last=self._idle is None)
        if self._idle is not None:
            self._idle.judge(self._sharing, self._clocks)
            for place, count in self._idle.idle():
                self.report(place, functools.partial(_told_idle, place, count))
        self._clear()

    # -- events --------------------------------------------------------------------------------

    def issue(self, effect: Effect) -> bool:
        """Compare the instruction with those that may still be running."""
        if self._idle is not None:
            self._idle.issue(effect)
        settled = self._within(self._orders[effect.core], effect)
        if settled is None:
            self._share(effect)
        return bool(settled) and self._idle is None

    def _within(self, order: PipeOrder, effect: Effect) -> bool | None:
        """Compare the instruction with those running on its core; return whether it need not be announced again, None if it may access shared memory."""
        core, step = effect.core, effect.step
        pipe = step.pipe
        if pipe is Pipe.VECTOR or pipe is Pipe.TENSOR:
            return self._compute(order, effect)
        if effect.asynchronous:
            self._catch_up(core, order)
            self._hold(order, effect)
            order.flies(step)
            core.announce_again()
        elif pipe is Pipe.SCALAR:
            return self._scalar(order, effect)
        else:
            if order.busy or order.stores:
                self._hold(order, effect)
            core.fresh_steps()
            order.blocks(step)
        return None

    def _scalar(self, order: PipeOrder, effect: Effect) -> bool | None:
        """Compare a scalar access with effects in flight; the core itself records those of its own memory."""
        clashes = order.busy and self._hold(order, effect)
        access = (effect.step.writes or effect.step.reads)[0]
        if not access.allocation.space.shared:
            return not clashes
        order.loads_or_stores(effect.step)
        return None

    def _compute(self, order: PipeOrder, effect: Effect) -> bool:
        """Compare a vector or tensor instruction with effects in flight; return whether it need not be announced again."""
        step = effect.step
        strided = any(access.steps for access in (*step.reads, *step.writes))
        if step.row is None or strided or step.row.form == "copy":
            self._blamed.get(effect.core, {}).pop(step, None)
            order.computes(step)  # not among the steps that the core itself records
        return not (order.busy and self._hold(order, effect))

    def _hold(self, order: PipeOrder, effect: Effect) -> bool:
        """Report the clashes of *effect*, one for each earlier instruction; return whether there was one."""
        clashes: dict[Step, Clash] = {}
        for clash in order.clashes(effect):
            clashes.setdefault(clash.first, clash)
        for clash in clashes.values():
            self._clash(order, effect, clash)
        return bool(clashes)

    def _catch_up(self, core: "Core", order: PipeOrder) -> None:
        """Record the scalar, vector and tensor steps of *core* since the last call."""
        blamed = self._blamed.get(core)
        for step in core.fresh_steps():
            if blamed:
                blamed.pop(step, None)  # it ran again, after the place where the sync is missing
            if step.pipe in COMPUTE:
                order.computes(step)
            elif step.row is None and not (step.writes or step.reads)[0].allocation.space.shared:
                order.loads_or_stores(step)

    def sync(self, sync: "Sync") -> None:
        """Apply the order that the sync imposes."""
        if sync.scope is None:
            self._wait(sync.core, sync.pipes, sync)
        elif sync.scope == "mutex":
            self._mutex(sync)
        elif sync.scope in ("arrive", "wait"):
            self._half(sync)
        else:
            for core in sync.participants:
                self._wait(core, EVERY, sync)
            if len(sync.participants) > 1:
                self._clocks.meet((self._tasks[core] for core in sync.participants), self._barrier(sync))

    def _wait(self, core: "Core", pipes: tuple[str, ...], sync: "Sync") -> None:
        order = self._orders[core]
        self._catch_up(core, order)
        if sync.waiting:
            order.direct(pipes, sync.waiting)
            return
        if sync.route:
            order.wait_for_route(pipes, sync.route)
            return
        if self._idle is not None:
            self._idle.wait(core, place_of_sync(sync, core), order, pipes)
        order.wait(pipes)

    def _barrier(self, sync: "Sync") -> "SyncPlace | None":
        """Return the place of a barrier, if idle syncs are to be found: that of the last core to arrive."""
        if self._idle is None:
            return None
        place = place_of_sync(sync, sync.core)
        places = {place_of_sync(sync, core) for core in sync.participants}
        if len(places) > 1:  # cores meet at it from several places, which are needed together or not at all
            self._idle.useful.update(places)
        self._idle.barriers.add(place)
        return place

    def _mutex(self, sync: "Sync") -> None:
        task = self._tasks[sync.core]
        if sync.name == "__bang_lock":
            self._acquire(task, sync.mutex)
        else:
            self._release(sync.core, task, sync.mutex)

    def _half(self, sync: "Sync") -> None:
        """Publish the order of a core that arrives at a split barrier, with empty pipes; a core that waits there acquires it."""
        task, key = self._tasks[sync.core], ("half", sync.mutex)
        if sync.scope == "wait":
            self._clocks.acquire(task, key)
            return
        self._wait(sync.core, EVERY, sync)
        if self._idle is not None:
            self._idle.useful.add(place_of_sync(sync, sync.core))
        self._release(sync.core, task, key)

    def _release(self, core: "Core", task: int, key: object) -> None:
        """Let *task* release *key*, unless some of its stores are still on their way to shared memory."""
        pending = self._orders[core].shared
        self._publish(Site(*core.site()), task, key, pending=pending)
        if self._idle is not None and not pending:
            self._idle.publish(core)

    def _publish(self, site: Site, task: int, key: object, *, pending: bool) -> None:
        if pending:
            self._handing.withhold(Withheld(site, task, self._now, key))
        else:
            self._clocks.release(task, key)

    def _acquire(self, task: int, key: object) -> None:
        """Let *task* acquire *key*: the work of tasks that released it is then ordered before."""
        self._clocks.acquire(task, key)
        self._handing.take(task, key, self._now)

    # -- between tasks -------------------------------------------------------------------------

    def _share(self, effect: Effect) -> None:
        """Record the instruction's accesses to shared memory."""
        step, task, self._now = effect.step, self._tasks[effect.core], effect.number
        atomic = step.row is not None and step.row.atomic
        for access in step.writes:
            if access.allocation.space.shared:
                if not atomic and access.size <= WORD and not access.steps:
                    value = _value(effect)
                    if value is not None:
                        self._sharing.kept.put(effect.number, value)  # before the access may be judged
                self._sharing.add(effect, access, ATOMIC if atomic else WRITE, task)
                if atomic:
                    self._word(effect, access, task)
        for access in step.reads:
            allocation = access.allocation
            if allocation.space.shared and allocation.writable and not (atomic and access in step.writes):
                self._sharing.add(effect, access, READ, task)

    def _word(self, effect: Effect, access: Access, task: int) -> None:
        """Let an atomic on one word release the word and, if it returns the old value, acquire it."""
        row = effect.step.row
        if access.size > WORD or row is None:
            return
        pointer = next(a for a in effect.arguments if getattr(a, "space", None) is access.allocation.space)
        if access.size != pointer.dtype.size:
            return
        key = access.allocation, access.start
        if row.polls:
            self._acquire(task, key)
        self._release(effect.core, task, key)

    # -- findings ------------------------------------------------------------------------------

    def _clash(self, order: PipeOrder, effect: Effect, clash: Clash) -> None:
        scalar = (
            clash.first.pipe is Pipe.SCALAR and clash.first.writes and clash.access.allocation.space.shared
        )
        rule = "racecheck-scalar-store" if scalar else f"racecheck-{clash.kind}"
        key = rule, clash.first.site, clash.second.site, clash.first.name
        blamed = self._blamed.setdefault(effect.core, {})
        cause = blamed.get(clash.first)
        if cause is not None and cause != key:
            about = f"{clash.kind} {clash.second.name} at {clash.first.name}:{clash.first.site.line}"
            told = functools.partial(_told_below, clash)
            self.join(cause, about, told, self._times, where=clash.second.site)
            return
        wait = wait_for(order, effect)
        self.report(key, lambda: _told(rule, wait.remedy, effect, clash), self._times)
        if self.tells(key):
            still_open = {step: blamed[step] for step in order.pending() if step in blamed}
            self._blamed[effect.core] = dict.fromkeys(wait.covers, key) | still_open

    def _key(self, conflict: Conflict) -> Hashable:
        statements = frozenset((conflict.first.statement, conflict.second.statement))
        return self._rule(conflict), statements, conflict.memory

    def _accuse(self, conflict: Conflict, remedy: Remedy) -> bool:
        """Report *conflict*; return whether its finding is shown to the user."""
        key = self._key(conflict)
        self.report(key, lambda: self._told_conflict(conflict, remedy), len(conflict.pairs))
        return self.tells(key)

    def _join(self, cause: Hashable, conflict: Conflict) -> None:
        """Add *conflict* as a related place to the finding about the missing sync *cause*."""
        first, second = conflict.first, conflict.second
        at = f"{spelled(first.statement.name)} at {first.statement.site.told_from(second.statement.site)} {DOES[first.kind]}"
        about = f"{spelled(second.statement.name)} {DOES[second.kind]} what {at}"

        def told() -> RelatedPlace:
            tasks = len(np.unique(conflict.pairs[:, [0, 2]]))
            low, high = max(first.low, second.low), min(first.high, second.high)
            what = f"bytes [{low}, {high}) of {conflict.allocation.site}, which {at}, in {tasks} {plural(tasks, 'task')}"
            text = (
                f"the same is missing for {spelled(second.statement.name)}, which {DOES[second.kind]} {what}"
            )
            return RelatedPlace(*second.statement.site, text, victim=True)

        self.join(cause, about, told, len(conflict.pairs), second.statement.site)

    def _rule(self, conflict: Conflict) -> str:
        if READ in (conflict.first.kind, conflict.second.kind):
            return "racecheck-tasks-read-write"
        return "racecheck-tasks-same-word" if conflict.same else "racecheck-tasks-write-write"

    def _told_conflict(self, conflict: Conflict, remedy: Remedy) -> Finding:
        rule, first, second = self._rule(conflict), conflict.first, conflict.second
        a, b = (self._cores[party.segment.task].place for party in (first, second))
        low, high = max(first.low, second.low), min(first.high, second.high)
        hint, verified = remedy
        values = [self._sharing.value(party.time) for party in (first, second)]
        value = ", the same value" if conflict.same else ""
        nan = all(v != v for v in values)  # noqa: PLR0124 - true of NaN only
        if rule.endswith("write-write") and _word(first, second) and None not in values and not nan:
            value = ", another value"
        element = conflict.allocation.declared.element_at(low)
        return Finding(
            rule,
            f"{spelled(second.statement.name)} of {b.label} {DOES[second.kind]} bytes [{low}, {high}) of "
            f"{conflict.allocation.site}, which {a.label} {DOES[first.kind]}{value}, in no order",
            **place_of(second.statement.site, b.task, second.statement.name),
            context=(
                _party(second, b.label, conflict, values[1]),
                _party(first, a.label, conflict, values[0]),
                *((f"the first of them is {element}",) if element else ()),
            ),
            places=(RelatedPlace(*first.statement.site, f"{spelled(first.statement.name)} of {a.label}"),),
            note=BESIDE if a.memory_core != b.memory_core else ANY_ORDER,
            hint=hint,
            facts={
                "kind": f"{DOES[first.kind]}-{DOES[second.kind]}",
                "bytes": [low, high],
                "tasks": [a.task, b.task],
                "hint_verified": verified,
            },
        )


def _told_idle(place: "SyncPlace", count: int) -> Finding:
    return Finding(
        "racecheck-idle-sync",
        f"{place.name} puts nothing in order in this run, executed {count} {plural(count, 'time')}",
        **place_of(place.site, None, place.name),
        note="another shape or another path through the kernel may need it",
        hint="take it out if no run needs it: a sync keeps the pipes from running side by side",
        facts={"executed": count},
    )


def _told(rule: str, remedy: Remedy, effect: Effect, clash: Clash) -> Finding:
    first, second = clash.first, clash.second
    where = f"bytes [{clash.low}, {clash.high}) of {clash.access.allocation.site}"
    who = f"{spelled(first.name)} at {first.site.told_from(second.site)}"
    hint, verified = remedy
    return Finding(
        rule,
        f"{spelled(second.name)} {TELLS[clash.kind].format(where=where, first=who)}",
        **place_of(second.site, effect.core.place.task, second.name),
        context=(f"{_on(second)}; {_on(first)}", *_operands(clash)),
        places=(RelatedPlace(*first.site, f"{spelled(first.name)} was issued"),),
        note=EARLY if first.pipe is second.pipe else _lost(clash),
        hint=hint,
        facts={
            "kind": clash.kind,
            "bytes": [clash.low, clash.high],
            "pipes": [first.pipe.value, second.pipe.value],
            "hint_verified": verified,
        },
    )


def _operands(clash: Clash) -> Iterator[str]:
    """Yield the source texts of the two operands."""
    first_reads, second_reads = clash.kind == "write-after-read", clash.kind == "read-after-write"
    for step, reads in ((clash.second, second_reads), (clash.first, first_reads)):
        told = operand_of(step, clash.access, written=not reads)
        if told:
            yield f"{told} in {spelled(step.name)} at line {step.site.line}"


def _lost(clash: Clash) -> str | None:
    """Return a sentence if one of two unordered writes is completely overwritten, which waiting does not mend; otherwise None."""
    if clash.kind != "write-after-write" or not clash.first.writes:
        return None
    (low, high), (start, stop) = clash.first.writes[0].span, clash.access.span
    if (
        clash.access.steps
        or clash.first.writes[0].allocation is not clash.access.allocation
        or not start <= low < high <= stop
    ):
        return None
    return f"all that {spelled(clash.first.name)} writes is overwritten: is one of the two destinations meant to be another?"


def _on(step: Step) -> str:
    return f"{spelled(step.name)} runs on the {step.pipe.value} pipe"


def _party(party: Party, label: str, of: Conflict, value: object = None) -> str:
    name, pipe, site = party.statement
    told = "" if value is None or isinstance(value, bytes) else f", the value {value}"
    operand = operand_told(name, site, written=party.kind != READ, declared=of.allocation.declared.name)
    return (
        f"{label}, {pipe.value} pipe: {spelled(name)} at {site.told_from(of.second.statement.site)} {DOES[party.kind]} "
        f"[{party.low}, {party.high}){told}{f'; {operand}' if operand else ''}"
    )


def _word(first: Party, second: Party) -> bool:
    """Return whether both access exactly the same bytes."""
    return (first.low, first.high) == (second.low, second.high)


def _told_below(clash: Clash) -> RelatedPlace:
    """Return the related place of *clash* for the finding about a wait that would order it, too."""
    where = f"bytes [{clash.low}, {clash.high}) of {clash.access.allocation.site}"
    who = f"{spelled(clash.first.name)} at {clash.first.site.told_from(clash.second.site)}"
    tells = TELLS[clash.kind].format(where=where, first=who)
    return RelatedPlace(
        *clash.second.site,
        f"the same wait is missing for {spelled(clash.second.name)}, which {tells}",
        victim=True,
    )


def _value(effect: Effect) -> Any:
    """Return the value of a small write if it is known: a scalar, or the bytes of the source."""
    if effect.step.row is None:
        return effect.arguments[1]
    if len(effect.reads) != 1 or effect.reads[0].steps:
        return None
    source = effect.reads[0]
    return source.allocation.raw[source.start : source.start + source.size].tobytes()


# -- syncs that order nothing ----------------------------------------------------------------------

# The instructions that each sync waited for are compared with everything that follows.  A wait is needed if a
# later access overlaps one that no earlier sync waited for, so that all idle syncs may be removed together.
# A barrier is also needed if the run without it would have a conflict between tasks.

KEPT = 256  # syncs of a core that may still turn out to be needed; older ones count as needed


class SyncPlace(NamedTuple):
    """A sync at a place of the kernel."""

    name: str
    site: Site


class IdleSyncs:
    """The syncs of a launch that were executed, and those of them that were needed."""

    def __init__(self) -> None:
        self.seen: dict[SyncPlace, int] = {}
        self.useful: set[SyncPlace] = set()
        self.barriers: set[SyncPlace] = set()
        self._behind: dict[Any, deque[tuple[SyncPlace, PipeOrder]]] = {}

    # -- events --------------------------------------------------------------------------------

    def wait(self, core: "Core", place: SyncPlace, order: PipeOrder, pipes: Collection[str]) -> None:
        """Record a sync at *place*, before it is applied to *order*."""
        self.seen[place] = self.seen.get(place, 0) + 1
        if place in self.useful:
            return
        closed = order.copy()
        closed.keep_only(pipes)
        if not closed.empty:
            entries = self._behind.setdefault(core, deque())
            entries.append((place, closed))
            if len(entries) > KEPT:
                self.useful.add(entries.popleft()[0])

    def issue(self, effect: Effect) -> None:
        """Find the syncs that *effect* needed."""
        entries = self._behind.get(effect.core)
        if not entries:
            return
        needed = {place for place, closed in entries if next(closed.clashes(effect), None) is not None}
        if needed:
            self.useful |= needed
            self._behind[effect.core] = deque(entry for entry in entries if entry[0] not in needed)

    def publish(self, core: "Core") -> None:
        """Publish the past of *core* to other tasks: a sync that waited for stores to shared memory was needed."""
        entries = self._behind.get(core, ())
        self.useful.update(place for place, closed in entries if closed.shared)

    def end(self, core: "Core") -> None:
        """Drop the past of *core*, whose task has ended: its last sync was needed if it waited for stores that others may read."""
        entries = self._behind.pop(core, ())
        if entries and entries[-1][1].stores_to_others:
            self.useful.add(entries[-1][0])

    # -- results -------------------------------------------------------------------------------

    def judge(self, sharing: Sharing, clocks: Clocks) -> None:
        """Find the barriers without which tasks would have a conflict."""
        for place in self.barriers - self.useful:
            if _needed(sharing, clocks.without(place)):
                self.useful.add(place)

    def idle(self) -> Iterator[tuple[SyncPlace, int]]:
        """Return the syncs that were not needed, and how often each was executed."""
        return ((place, count) for place, count in self.seen.items() if place not in self.useful)


def place_of_sync(sync: "Sync", core: "Core") -> SyncPlace:
    """Return the place of *core* in *sync*."""
    return SyncPlace(sync.name, Site(*core.site()))


def _needed(sharing: Sharing, segments: list[Segment]) -> bool:
    return any(
        next(sharing.conflicts(allocation, table, segments=segments), None) is not None
        for allocation, table in sharing.tables().items()
    )
