"""The state of every task, pipe, barrier, core and cluster: the rows behind `info`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.arch.board import Pipe
from mlusim.debug.look.describe import effect_text
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.source.frames import cluster_name, line_of, name_at, name_of, place_of
from mlusim.debug.stop.stops import ISSUE, Op
from mlusim.engine.contract import Flight
from mlusim.machine.cluster import SCOPES, Half, Meeting

if TYPE_CHECKING:
    from mlusim.machine.core import Core


@frozen
class TaskState:
    """One task, or memory core: what it is doing, where, and what it waits for."""

    name: str
    cluster: str
    core: str
    state: str
    where: str
    waits: str


@frozen
class PipeState:
    """One pipe of a core: the instruction that is being issued, and what is in flight, oldest first."""

    pipe: str
    issuing: str
    flights: tuple[str, ...]


@frozen
class BarrierState:
    """A barrier that some have reached; ``waiting`` are those at one in two halves, where waiting is no arriving."""

    name: str
    who: str
    arrived: tuple[str, ...]
    waiting: tuple[str, ...]
    missing: tuple[str, ...]


def tasks(paused: PausedRun) -> list[TaskState]:
    """Return the tasks that have begun and not ended."""
    return [task(paused, core) for core in paused.cores]


def others(paused: PausedRun) -> tuple[int, int]:
    """Return how many tasks and memory cores have ended, and how many have not begun."""
    x, y, z = paused.session.dim
    board, kind = paused.session.board, paused.session.kind
    total = x * y * z
    if kind.unions and board.arch.memory_core:
        total += x * y * z // board.arch.cores_per_cluster
    ended = paused.observed.finished
    return ended, total - ended - len(paused.cores)


def task(paused: PausedRun, core: "Core") -> TaskState:
    """Return the state of the task of *core*, its place, and what it waits for."""
    place, stack = core.place, paused.stack(core)
    state, waits = _doing(paused, core)
    where = ""
    if stack:
        line = line_of(stack[0], paused.stop.error if core is paused.observed.failed else None)
        where = f"{stack[0].f_code.co_name} at {place_of(stack[0].f_code.co_filename)}:{line}"
    number = "memory" if place.memory_core else str(place.core_id)
    cluster = str(core.cluster.number) if core.cluster is not None else "-"
    return TaskState(name_of(core), cluster, number, state, where, waits)


def _doing(paused: PausedRun, core: "Core") -> tuple[str, str]:
    """Return the state of a core, and what it waits for."""
    if core is paused.observed.failed:
        return "failed", ""
    if core is paused.stop.core:
        return "stopped", ""
    if isinstance(core.waiting, Meeting):
        missing = ", ".join(_absent(c) for c in core.waiting.missing[:6])
        return "waiting", f"{_title(core.waiting)}: {missing} missing"
    last = [op for op in paused.recent if op.core is core][-3:]
    if last and last[-1].name == "bang_lock" and core not in paused.session.locks.values():
        return "waiting", "; ".join(
            f"mutex {numbers} is held by {owner}" for numbers, owner in mutexes(paused)
        )
    effects = [op.effect for op in last if op.effect is not None]
    if len(effects) == 3 and len({(e.name, e.site) for e in effects}) == 1 and not effects[0].writes:
        return "polling", "another task to change what it reads"
    return "ready", ""


def _absent(core: "Core") -> str:
    """Return the name of a core that has not arrived, and whether it ever can."""
    return f"{name_of(core)} (ended)" if core.ended else name_of(core)


# -- pipes -----------------------------------------------------------------------------------------


def pipes(paused: PausedRun, core: "Core") -> list[PipeState]:
    """Return the five pipes of *core*."""
    current = paused.stop.op if paused.stop.core is core else None
    return [
        PipeState(
            pipe.value,
            _issuing(paused, current, pipe),
            tuple(
                _flight(paused, flight)
                for flight in core.flights
                if flight.pipe is pipe and not flight.landed
            ),
        )
        for pipe in Pipe
    ]


def _issuing(paused: PausedRun, op: Op | None, pipe: Pipe) -> str:
    if op is None or op.kind is not ISSUE or op.effect is None or op.effect.pipe is not pipe:
        return ""
    return f"{op.name}, {effect_text(paused, op.effect, pipe=False)}"


def _flight(paused: PausedRun, flight: Flight) -> str:
    effect = flight.effect
    if effect is None:
        return "an instruction that was issued while nothing observed it"
    return f"{effect.name} of {place_of(effect.site.file)}:{effect.site.line}, {effect_text(paused, effect, pipe=False)}"


# -- barriers --------------------------------------------------------------------------------------


def barriers(paused: PausedRun) -> list[BarrierState]:
    """Return the barriers that some cores have reached and others have not."""
    meetings = dict.fromkeys(core.waiting for core in paused.cores if isinstance(core.waiting, Meeting))
    meetings |= dict.fromkeys(half for core in paused.cores for half in core.union.splits.begun)
    return [
        BarrierState(
            _title(meeting),
            SCOPES.get(meeting.scope, meeting.scope),
            tuple(name_of(core) for core in meeting.arrived),
            tuple(name_of(core) for core in meeting.waiting) if isinstance(meeting, Half) else (),
            tuple(_absent(core) for core in meeting.missing),
        )
        for meeting in meetings
    ]


def _title(meeting: Meeting) -> str:
    """Return the barrier's name; of one in two halves its number too, and how many arrivals it has of how many."""
    if not isinstance(meeting, Half):
        return meeting.name
    return f"{meeting.name} {meeting.ident}, {len(meeting.arrived)} of {meeting.count} arrived"


def mutexes(paused: PausedRun) -> list[tuple[str, str]]:
    """Return the mutexes that are held: their two numbers, and the core that holds each."""
    return [(f"{first}, {second}", name_of(core)) for (first, second), core in paused.session.locks.items()]


# -- cores and clusters ----------------------------------------------------------------------------


def cores(paused: PausedRun) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the name, cluster, core number, instructions executed and NRAM declared in bytes, of every core that runs."""
    for core in paused.cores:
        place = core.place
        nram = sum(arena.top for space, arena in core.arenas.items() if space.name == "NRAM")
        cluster = cluster_name(core) if core.cluster is not None else "-"
        number = "memory" if place.memory_core else str(place.core_id)
        yield name_at(place), cluster, number, str(sum(core.mlu.counts)), str(nram)


def clusters(paused: PausedRun) -> Iterator[tuple[str, str, str]]:
    """Yield the name, members, and SRAM declared in bytes, of every cluster that runs."""
    found: dict[str, list[Core]] = {}
    for core in paused.cores:
        if core.cluster is not None:
            found.setdefault(cluster_name(core), []).append(core)
    for name, members in found.items():
        cluster = members[0].cluster
        assert cluster is not None
        yield name, ", ".join(name_of(core) for core in members), str(cluster.sram.top)
