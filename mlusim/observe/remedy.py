"""The cheapest sync that would put two accesses in order, tried out on the recorded run."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mlusim.arch.pipe import Pipe
from mlusim.machine.events import Effect, Step
from mlusim.memory.footprint import Ints
from mlusim.observe.cells import READ, SITE, TIME
from mlusim.observe.handovers import Handing
from mlusim.observe.pipes import PipeOrder
from mlusim.observe.sharing import Conflict, Sharing

EVERY = tuple(pipe.value for pipe in Pipe)
WAITS: tuple[
    tuple[str, tuple[str, ...]], ...
] = (  # the cheapest first: what a core does not wait for goes on
    ("sync_move", (Pipe.MOVE.value,)),
    ("sync_io", (Pipe.IO.value,)),
    ("sync_compute", (Pipe.VECTOR.value, Pipe.TENSOR.value)),
    ("sync", EVERY),
)


class Remedy(NamedTuple):
    """What to do, and whether the recorded run, evaluated again with it, has the conflict no more."""

    text: str
    verified: bool


class Wait(NamedTuple):
    """A wait before an instruction, and all that it would have waited for."""

    remedy: Remedy
    covers: frozenset[Step]


def wait_for(order: PipeOrder, effect: Effect) -> Wait:
    """Find the cheapest wait that, put before *effect*, leaves it no clash."""
    for name, pipes in WAITS:
        tried = order.copy()
        tried.wait(pipes)
        if next(tried.clashes(effect), None) is None:
            covers = frozenset(order.pending()).difference(tried.pending())
            return Wait(Remedy(f"put mlu.{name}() before line {effect.site.line}", verified=True), covers)
    return Wait(Remedy("put mlu.sync() between the two lines", verified=False), frozenset())


def meet(sharing: Sharing, handing: Handing, conflict: Conflict, cores: list[Any]) -> Remedy:
    """Find a sync, and a statement to put it before, that puts all pairs of *conflict* in order.

    That is a wait before a mutex or an atomic that hands on too little, or else a barrier.
    """
    pairs = sharing.every_pair(conflict)
    withheld = handing.missed(pairs)
    if withheld is not None:
        return Remedy(
            f"put mlu.sync() before line {withheld.site.line}, which hands on only what is over by then",
            verified=True,
        )
    first, second = cores[conflict.first.segment.task], cores[conflict.second.segment.task]
    same = conflict.first.statement == conflict.second.statement
    if same:
        return _one_task(conflict)
    if first.union is not second.union or first.union.block:
        return Remedy(
            "no sync reaches from one union to another, nor between Block tasks: make it two launches, "
            "or give each task memory of its own",
            verified=True,
        )
    name, scope = _barrier(first, second)
    members = {id(core) for core in first.union.participants(first, scope)}
    tasks = [task for task, core in enumerate(cores) if id(core) in members]
    for statement in _statements(sharing, conflict):
        passes = _passes(sharing, statement)
        counts = {len(passes.get(task, ())) for task in tasks}
        if len(counts) == 1 and counts != {0} and _in_order(pairs, passes):
            line = sharing.statements[statement].site.line
            return Remedy(f"put mlu.{name}() before line {line}, where all of them pass", verified=True)
    apart = _apart(sharing, conflict, pairs, tasks)
    if apart is not None:
        return Remedy(f"put mlu.{name}() {apart}, so that all of them meet there", verified=True)
    lines = f"lines {conflict.first.statement.site.line} and {conflict.second.statement.site.line}"
    return Remedy(f"put mlu.{name}() between {lines}, where all of them pass", verified=False)


def _apart(sharing: Sharing, conflict: Conflict, pairs: Ints, tasks: list[int]) -> str | None:
    """Where a barrier stands that some *tasks* pass behind the one statement, the others before the other one.

    What is written comes before what is read, unless only the other way round is in order.
    """
    numbers = {statement: number for number, statement in enumerate(sharing.statements)}
    ways = (conflict.first, conflict.second), (conflict.second, conflict.first)
    for ahead, behind in sorted(ways, key=lambda way: way[0].kind == READ):
        done = {task: times + 1 for task, times in _passes(sharing, numbers[ahead.statement]).items()}
        before = _passes(sharing, numbers[behind.statement])
        passes = done | before
        counts = {len(passes.get(task, ())) for task in tasks}
        if (
            not done.keys() & before.keys()
            and len(counts) == 1
            and counts != {0}
            and _in_order(pairs, passes)
        ):
            lines = ahead.statement.site.line, behind.statement.site.line
            return f"behind line {lines[0]} and before line {lines[1]}"
    return None


def _one_task(conflict: Conflict) -> Remedy:
    a, b = conflict.first, conflict.second
    if (a.low, a.high) == (b.low, b.high):
        return Remedy("let one task do it: `if mlu.taskId == 0:`", verified=True)
    return Remedy(
        "the shares of the tasks overlap: check where each begins and how many it takes", verified=False
    )


def _barrier(first: Any, second: Any) -> tuple[str, str]:
    """The name and the scope of the cheapest barrier that both cores take part in."""
    memory_core = first.place.memory_core or second.place.memory_core
    if first.cluster is second.cluster:
        return ("sync_cluster", "cluster") if memory_core else ("sync_all_ipu_within_cluster", "cluster_ipu")
    return ("sync_all", "all") if memory_core else ("sync_all_ipu", "all_ipu")


def _statements(sharing: Sharing, conflict: Conflict) -> Iterator[int]:
    """Places for a barrier: the two statements, then what the second task did before, the last first."""
    task, time = conflict.second.segment.task, conflict.second.time
    own = (conflict.second.statement, conflict.first.statement)
    yield from (n for party in own for n, known in enumerate(sharing.statements) if known == party)
    seen: dict[int, int] = {}
    for table in sharing.tables().values():
        mine = table[(sharing.tasks(table) == task) & (table[:, TIME] <= time)]
        for statement, at in mine[:, [SITE, TIME]].tolist():
            seen[statement] = max(at, seen.get(statement, 0))
    yield from sorted(seen, key=lambda statement: -seen[statement])


def _passes(sharing: Sharing, statement: int) -> dict[int, Ints]:
    """When each task reached *statement*, by task, ascending."""
    times: dict[int, list[Ints]] = {}
    for table in sharing.tables().values():
        rows = table[table[:, SITE] == statement]
        for task in np.unique(tasks := sharing.tasks(rows)).tolist() if len(rows) else ():
            times.setdefault(task, []).append(rows[tasks == task, TIME])
    return {task: np.unique(np.concatenate(parts)) for task, parts in times.items()}


def _in_order(pairs: Ints, passes: dict[int, Ints]) -> bool:
    """Whether some pass through the barrier lies between the two accesses of each pair, whichever is first."""
    nowhere = np.zeros(0, np.int64)
    for task, time, other, later in pairs.tolist():
        passed = np.searchsorted(passes.get(task, nowhere), time, side="right")
        if passed == np.searchsorted(passes.get(other, nowhere), later, side="right"):
            return False
    return True
