"""racecheck: accesses to the same bytes that nothing puts in order, within a core and between tasks; syncs that order nothing.

Within a core the pipes run side by side (`mlusim.observe.races.pipes`); between tasks only barriers, mutexes
and atomics on a common word put anything in order (`mlusim.observe.races.sharing`).
"""

import functools
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
from mlusim.machine.observed import Screened, Site, Step, WordSign
from mlusim.memory.footprint import Access
from mlusim.observe.checker import Checker, operand_of, operand_told, place_of
from mlusim.observe.finding import Finding, RelatedPlace
from mlusim.observe.races.blame import Blame, Court, Handing, Ran, Withheld
from mlusim.observe.races.clocks import Clocks, Segment
from mlusim.observe.races.pipes import COMPUTE, EVERY, Clash, PipeOrder, Remedy, spelled, wait_for
from mlusim.observe.races.sharing import ATOMIC, READ, WORD, WRITE, Conflict, Party, Sharing, in_order

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
    """Reports accesses in no order."""

    name = "racecheck"
    screens = Screened.RACE

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Begin with no task."""
        super().launch_begin(launch)
        self._times = 1  # how often what is judged happened
        self._cores: list[Ran] = []
        self._tasks: dict[Core, int] = {}
        self._orders: dict[Core, PipeOrder] = {}
        # What one missing sync has left open: its finding.
        self._blamed: dict[Core, dict[Step, Hashable]] = {}
        self._clocks = Clocks()
        self._handing, self._now = Handing(), 0
        self._sharing = Sharing(self._clocks, lambda conflicts: self._blame.judge(conflicts, self._cores))
        self._blame = Blame(self._sharing, self._handing, Court(self._key, self._accuse, self._join))
        self._idle = IdleSyncs() if self.notes else None
        if self._idle is not None:
            self._clocks.keep_log()
            self._sharing.whole = True

    def screen_end(self, screen: ObservedScreen) -> bool:
        """Ask whether everything that tasks share is in order, or C has kept all that tells what is not."""
        self._ordered = self._in_order(screen)
        return self._ordered or (screen.whole and screen.sharing() is not None)

    @staticmethod
    def _in_order(screen: ObservedScreen) -> bool:
        clocks = Clocks()
        for tasks in screen.met:
            if tasks:
                clocks.meet(tasks)
            else:
                clocks.begin()
        return all(in_order(table, clocks) for _, table in screen.shared())

    def screened(self, screen: ObservedScreen) -> None:
        """Judge what C has found that may be in no order on a core, and let go of what a launch begins with."""
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
        self._cores, self._tasks, self._orders = [], {}, {}

    def _judge(self, run: SharedRun) -> None:
        """Judge what tasks did to memory that they share, in the order in which they did it."""
        done = 0
        for row, what in run.events:
            self._sharing.take(run, done, row)
            done = row
            match what:
                case WordSign():
                    self._told_by(run, what)
                case TaskRan():
                    self._clocks.begin()
                    self._cores.append(what)
                case list():
                    self._sharing.forget(what)
                case _:
                    self._clocks.meet(what)
        self._sharing.take(run, done, len(run.accesses))
        self._sharing.judge()

    def _told_by(self, run: SharedRun, sign: WordSign) -> None:
        """Let an atomic on one word pass on the order of its task, as `_word` does."""
        low, _, _, task, statement, self._now = run.accesses[sign.row].tolist()
        name, _, site = run.statements[statement]
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
        """End a task, and the SRAM of its clusters with the last one."""
        del self._orders[core]
        if self._idle is not None:
            self._idle.end(core)
        elif core.union.finished():
            ended = (allocation for cluster in core.union.clusters for allocation in cluster.sram.allocations)
            self._sharing.forget(ended)

    def fault(self, _core: "Core", _fault: Fault) -> None:
        """Report the conflicts found so far."""
        self._sharing.judge()

    def error(self, _core: "Core", _error: BaseException) -> None:
        """Report the conflicts found so far."""
        self._sharing.judge()

    def launch_end(self, _launch: "RunningLaunch") -> None:
        """Judge what there is, and let go of the cores."""
        self._sharing.judge()
        if self._idle is not None:
            self._idle.judge(self._sharing, self._clocks)
            for place, count in self._idle.idle():
                self.report(place, functools.partial(_told_idle, place, count))
        self._cores, self._tasks, self._orders = [], {}, {}

    # -- what happens --------------------------------------------------------------------------

    def issue(self, effect: Effect) -> bool:
        """Hold the instruction against what is not over yet."""
        if self._idle is not None:
            self._idle.issue(effect)
        settled = self._within(self._orders[effect.core], effect)
        if settled is None:
            self._share(effect)
        return bool(settled) and self._idle is None

    def _within(self, order: PipeOrder, effect: Effect) -> bool | None:
        """Hold the instruction against what is not over on its core; whether it need not be heard again, None where it may touch shared memory."""
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
        """Hold a scalar access against what is in flight; the core's watch remembers those of its own memory."""
        clashes = order.busy and self._hold(order, effect)
        access = (effect.step.writes or effect.step.reads)[0]
        if not access.allocation.space.shared:
            return not clashes
        order.loads_or_stores(effect.step)
        return None

    def _compute(self, order: PipeOrder, effect: Effect) -> bool:
        """Hold a vector or tensor instruction against what is in flight; return whether it need not be heard again."""
        step = effect.step
        strided = any(access.steps for access in (*step.reads, *step.writes))
        if step.row is None or strided or step.row.form == "copy":
            self._blamed.get(effect.core, {}).pop(step, None)
            order.computes(step)  # not among the steps that the core's watch remembers
        return not (order.busy and self._hold(order, effect))

    def _hold(self, order: PipeOrder, effect: Effect) -> bool:
        """Report what *effect* clashes with, one kind for each instruction; whether there was any."""
        clashes: dict[Step, Clash] = {}
        for clash in order.clashes(effect):
            clashes.setdefault(clash.first, clash)
        for clash in clashes.values():
            self._clash(order, effect, clash)
        return bool(clashes)

    def _catch_up(self, core: "Core", order: PipeOrder) -> None:
        """Learn what scalar code and the vector unit have done since the last look."""
        blamed = self._blamed.get(core)
        for step in core.fresh_steps():
            if blamed:
                blamed.pop(step, None)  # it ran again, after the place where the sync is missing
            if step.pipe in COMPUTE:
                order.computes(step)
            elif step.row is None and not (step.writes or step.reads)[0].allocation.space.shared:
                order.loads_or_stores(step)

    def sync(self, sync: "Sync") -> None:
        """Put in order what the sync puts in order."""
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
        """Return the place of a barrier, for those who ask whether it is of use: that of the last core to arrive."""
        if self._idle is None:
            return None
        place = place_of_sync(sync, sync.core)
        places = {place_of_sync(sync, core) for core in sync.participants}
        if len(places) > 1:  # it stands in several places, which are of use together or not at all
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
        """Pass on the order of a core that arrives at half a barrier, whose pipes are empty; let one that waits take it over."""
        task, key = self._tasks[sync.core], ("half", sync.mutex)
        if sync.scope == "wait":
            self._clocks.acquire(task, key)
            return
        self._wait(sync.core, EVERY, sync)
        if self._idle is not None:
            self._idle.useful.add(place_of_sync(sync, sync.core))
        self._release(sync.core, task, key)

    def _release(self, core: "Core", task: int, key: object) -> None:
        """Let others know what the task did, unless some of it is still on its way to shared memory."""
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
        """Let *task* know what the others did who released *key*."""
        self._clocks.acquire(task, key)
        self._handing.take(task, key, self._now)

    # -- between tasks -------------------------------------------------------------------------

    def _share(self, effect: Effect) -> None:
        """Record what the instruction does to shared memory."""
        step, task, self._now = effect.step, self._tasks[effect.core], effect.number
        atomic = step.row is not None and step.row.atomic
        for access in step.writes:
            if access.allocation.space.shared:
                if not atomic and access.size <= WORD and not access.steps:
                    self._sharing.values[effect.number] = _value(effect)  # before it may be judged
                self._sharing.add(effect, access, ATOMIC if atomic else WRITE, task)
                if atomic:
                    self._word(effect, access, task)
        for access in step.reads:
            allocation = access.allocation
            if allocation.space.shared and allocation.writable and not (atomic and access in step.writes):
                self._sharing.add(effect, access, READ, task)

    def _word(self, effect: Effect, access: Access, task: int) -> None:
        """Let an atomic on one word pass on the order of its task and, where it returns the word, take over that of others."""
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

    # -- what is found -------------------------------------------------------------------------

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
        """Report *conflict*; whether a person gets to see it."""
        key = self._key(conflict)
        self.report(key, lambda: self._told_conflict(conflict, remedy), len(conflict.pairs))
        return self.tells(key)

    def _join(self, cause: Hashable, conflict: Conflict) -> None:
        """Put *conflict* below the finding of what is missing for it, too."""
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
        values = [self._sharing.values.get(party.time) for party in (first, second)]
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
    """Yield what stands in the source for the two operands."""
    first_reads, second_reads = clash.kind == "write-after-read", clash.kind == "read-after-write"
    for step, reads in ((clash.second, second_reads), (clash.first, first_reads)):
        told = operand_of(step, clash.access, written=not reads)
        if told:
            yield f"{told} in {spelled(step.name)} at line {step.site.line}"


def _lost(clash: Clash) -> str | None:
    """Tell what a wait does not mend where one instruction writes all that another in flight writes."""
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
    """Return whether both touch the same bytes, and no others."""
    return (first.low, first.high) == (second.low, second.high)


def _told_below(clash: Clash) -> RelatedPlace:
    """Return the place of *clash*, for the finding whose wait would put it in order, too."""
    where = f"bytes [{clash.low}, {clash.high}) of {clash.access.allocation.site}"
    who = f"{spelled(clash.first.name)} at {clash.first.site.told_from(clash.second.site)}"
    tells = TELLS[clash.kind].format(where=where, first=who)
    return RelatedPlace(
        *clash.second.site,
        f"the same wait is missing for {spelled(clash.second.name)}, which {tells}",
        victim=True,
    )


def _value(effect: Effect) -> Any:
    """Return the value of a small write, as far as it is known: a scalar, or the bytes of the source."""
    if effect.step.row is None:
        return effect.arguments[1]
    if len(effect.reads) != 1 or effect.reads[0].steps:
        return None
    source = effect.reads[0]
    return source.allocation.raw[source.start : source.start + source.size].tobytes()


# -- syncs that order nothing ----------------------------------------------------------------------

# What each sync closed is compared with everything that comes after it.  A wait is of use if something after it touches
# what it was the first to wait for, so that all idle syncs may go at once.  A barrier is of use for that, too, or when the
# run without it would have a conflict between tasks.

KEPT = 256  # syncs of a core whose use is still open; older ones count as of use


class SyncPlace(NamedTuple):
    """A sync at a place of the kernel."""

    name: str
    site: Site


class IdleSyncs:
    """Which syncs of a launch were executed, and which of them were of use."""

    def __init__(self) -> None:
        self.seen: dict[SyncPlace, int] = {}
        self.useful: set[SyncPlace] = set()
        self.barriers: set[SyncPlace] = set()
        self._behind: dict[Any, deque[tuple[SyncPlace, PipeOrder]]] = {}

    # -- what happens --------------------------------------------------------------------------

    def wait(self, core: "Core", place: SyncPlace, order: PipeOrder, pipes: Collection[str]) -> None:
        """Take note of a sync at *place*, before *order* learns of it."""
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
        """Ask which syncs *effect* needed."""
        entries = self._behind.get(effect.core)
        if not entries:
            return
        needed = {place for place, closed in entries if next(closed.clashes(effect), None) is not None}
        if needed:
            self.useful |= needed
            self._behind[effect.core] = deque(entry for entry in entries if entry[0] not in needed)

    def publish(self, core: "Core") -> None:
        """Let other tasks know *core*'s past: a sync that finished stores to shared memory was needed."""
        entries = self._behind.get(core, ())
        self.useful.update(place for place, closed in entries if closed.shared)

    def end(self, core: "Core") -> None:
        """Forget the past of *core*, whose task has ended: the last sync was of use if it waited for what others will read."""
        entries = self._behind.pop(core, ())
        if entries and entries[-1][1].stores_to_others:
            self.useful.add(entries[-1][0])

    # -- what came of it -----------------------------------------------------------------------

    def judge(self, sharing: Sharing, clocks: Clocks) -> None:
        """Find the barriers without which tasks would have a conflict."""
        for place in self.barriers - self.useful:
            if _needed(sharing, clocks.without(place)):
                self.useful.add(place)

    def idle(self) -> Iterator[tuple[SyncPlace, int]]:
        """Return the syncs that were of no use, and how often each was executed."""
        return ((place, count) for place, count in self.seen.items() if place not in self.useful)


def place_of_sync(sync: "Sync", core: "Core") -> SyncPlace:
    """Return the place at which *core* is, in *sync*."""
    return SyncPlace(sync.name, Site(*core.site()))


def _needed(sharing: Sharing, segments: list[Segment]) -> bool:
    return any(
        next(sharing.conflicts(allocation, table, segments=segments), None) is not None
        for allocation, table in sharing.tables().items()
    )
