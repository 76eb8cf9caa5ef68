"""The contents of a stop as data: tasks, pipes, barriers, frames, scopes, variables.  The fronts convert them to text.

All data here belongs to one stop; after the next movement it is out of date.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Pipe
from mlusim.debug.look import regions
from mlusim.debug.look.c_shown import shown_variables
from mlusim.debug.look.describe import Parted, effect_text, elements, frame_text, value_text
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.look.places import names_of
from mlusim.debug.source.frames import cluster_name, line_of, name_at, name_of, parameters_of, place_of
from mlusim.debug.stop.stops import ISSUE, LineLocation, Op
from mlusim.engine.contract import BUILT_INS, Flight
from mlusim.machine.cluster import SCOPES, Half, Meeting
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.debug.look.regions import RegionState as Region
    from mlusim.debug.session import DebugSession
    from mlusim.machine.core import Core

LONGEST = 4096  # parts of a value that can be expanded


@frozen
class TaskState:
    """A task, or a memory core: its state, its place, and what it waits for."""

    name: str
    cluster: str
    core: str
    state: str
    where: str
    waits: str


@frozen
class PipeState:
    """One pipe of a core: the instruction that is being issued, and those in flight, the oldest first."""

    pipe: str
    issuing: str
    flights: tuple[str, ...]

    @property
    def texts(self) -> list[str]:
        """The instruction that is being issued and those in flight, in words; [] if the pipe is idle."""
        flying = [f"in flight: {flight}" for flight in self.flights]
        return [f"next: {self.issuing}", *flying] if self.issuing else flying


@frozen
class BarrierState:
    """A barrier that some cores have reached; ``waiting`` lists the cores that wait at a split barrier, apart from those that have arrived."""

    name: str
    who: str
    arrived: tuple[str, ...]
    waiting: tuple[str, ...]
    missing: tuple[str, ...]


@frozen
class Frame:
    """An active function of a task: ``level`` 0 is the innermost; ``line`` is its current line."""

    task: str
    level: int
    function: str
    file: str
    line: int


@frozen
class Variable:
    """A name with a value: ``text`` and ``type`` for display, ``value`` for expanding.

    ``path`` is the expression that has this value, "" without one.  ``place`` is the name of its bytes
    in memory commands, if it is in memory.
    """

    name: str
    text: str
    type: str
    value: Any
    path: str = ""
    place: str = ""

    @property
    def count(self) -> int:
        """The number of parts into which it can be expanded."""
        return count_of(self.value)


@frozen
class Scope:
    """A group of variables of a frame; ``kind`` is "locals", "arguments", "regions", "memories", "tensors" or "built-ins"."""

    kind: str
    title: str
    variables: tuple[Variable, ...]


@frozen
class Memory:
    """A memory of a task: its declared bytes, and its capacity.

    ``beyond`` is a note that declarations use a part of the stack's reserve, or "".
    """

    name: str
    used: int
    capacity: int
    beyond: str = ""

    @property
    def text(self) -> str:
        """The declared bytes and the capacity, in words."""
        return f"{self.used} of {self.capacity} bytes declared{self.beyond}"


def tasks(session: "DebugSession") -> tuple[TaskState, ...]:
    """Return the active tasks (begun and not ended)."""
    return tuple(begun_tasks(session.look()))


def frames(session: "DebugSession", task: str | None = None) -> tuple[Frame, ...]:
    """Return the active functions of *task*, or of the task in focus, innermost first; () if it is not in the kernel."""
    paused = session.look()
    core = session.core() if task is None else paused.observed.core(task)
    if core is None:
        return ()
    error = paused.stop.error if core is paused.observed.failed else None
    return tuple(
        Frame(name_of(core), level, f.f_code.co_name, f.f_code.co_filename, line_of(f, error))
        for level, f in enumerate(paused.stack(core))
    )


def scopes(session: "DebugSession") -> tuple[Scope, ...]:
    """Return the scopes of the frame in focus, the nearest first; empty groups are left out."""
    focus = session.in_focus()
    paused, core, frame = focus
    scopes: list[Scope] = []
    if frame is not None:
        parameters, here = parameters_of(frame), shown_variables(frame)
        shown = {name: variable(name, value, paused) for name, value in here.items()}
        local = (one for name, one in shown.items() if name not in parameters)
        scopes.append(Scope("locals", "Locals", tuple(local)))
        arguments = (shown[name] for name in parameters if name in shown and name != "mlu")
        scopes.append(Scope("arguments", "Arguments", tuple(arguments)))
    names = names_of(focus)

    def pointed(rows: "list[Region]") -> tuple[Variable, ...]:
        pairs = ((row, names.get(row.name)) for row in rows)
        return tuple(_region(row, pointer) for row, pointer in pairs if isinstance(pointer, Ptr))

    scopes.append(Scope("regions", "Regions of the plan and declarations", pointed(on_chip(session))))
    scopes.append(Scope("memories", "Memories on the chip", tuple(_memory(m) for m in memories(core))))
    scopes.append(Scope("tensors", "Tensors", pointed(regions.tensors(paused))))
    if core is not None:
        built = {name: getattr(core.mlu, name) for name in BUILT_INS if hasattr(core.mlu, name)}
        scopes.append(Scope("built-ins", "Built-ins", tuple(_built_in(n, v) for n, v in built.items())))
    return tuple(scope for scope in scopes if scope.variables)


def on_chip(session: "DebugSession") -> "list[Region]":
    """Return the regions of the plan of the task in focus, or its declarations if there are none."""
    focus = session.in_focus()
    return regions.plan_regions(focus) or regions.declarations(focus)


def memories(core: "Core | None") -> list[Memory]:
    """Return the memories of *core* and its cluster that have declarations."""
    if core is None:
        return []
    arenas = [(str(space), arena) for space, arena in core.arenas.items()]
    if core.cluster is not None:
        arenas.append(("SRAM", core.cluster.sram))
    told = core.machine.board.arch.stack_taken
    return [
        Memory(name, arena.top, arena.capacity, told(name, arena.top)) for name, arena in arenas if arena.top
    ]


# -- values ------------------------------------------------------------------------------------------


def variable(name: str, value: object, paused: PausedRun | None = None, path: str | None = None) -> Variable:
    """Return a value as a `Variable` with the name *name*."""
    place = (name if path is None else path) if isinstance(value, Ptr) else ""
    return Variable(
        name, value_text(value, paused), _type(value), value, name if path is None else path, place
    )


def count_of(value: object) -> int:
    """Return the number of parts of *value*."""
    if isinstance(value, Parted):
        return min(value.count, LONGEST)
    if isinstance(value, Ptr):
        inside = value.view.nbytes >= 0 and 0 <= value.index < value.view.size
        return min(value.view.size - value.index, LONGEST) if inside else 0
    if isinstance(value, np.ndarray):
        return min(len(value), LONGEST) if value.ndim else 0
    if isinstance(value, list | tuple | Mapping):
        return min(len(value), LONGEST)
    return 0


def parts(
    whole: Variable, first: int = 0, count: int | None = None, paused: PausedRun | None = None
) -> list[Variable]:
    """Return the parts of a value from *first* on: elements of pointers and arrays, items of tuples, lists and mappings."""
    stop = whole.count if count is None else min(whole.count, first + count)
    value, path = whole.value, whole.path
    if isinstance(value, Ptr):
        shown = elements(value.view.array[value.index + first : value.index + stop])
        places = [f"{path}[{n}]" if path else "" for n in range(first, stop)]
        return [
            Variable(f"[{n}]", text, str(value.dtype), None, place, place)
            for n, (text, place) in enumerate(zip(shown, places, strict=True), first)
        ]
    rows: Iterable[tuple[str, str, Any]]
    if isinstance(value, Parted):
        rows = value.parts(first, stop)
    elif isinstance(value, Mapping):
        rows = ((repr(key), f"[{key!r}]", part) for key, part in list(value.items())[first:stop])
    else:
        rows = ((f"[{n}]", f"[{n}]", value[n]) for n in range(first, stop))
    return [variable(name, part, paused, f"{path}{behind}" if path else "") for name, behind, part in rows]


def line_stops(session: "DebugSession", file: str) -> dict[int, int]:
    """Return the numbers of the enabled breakpoints at lines of *file*, by their lines."""
    placed = ((b.location, b.number) for b in session.breakpoints.values() if b.enabled)
    return {at.line: n for at, n in placed if isinstance(at, LineLocation) and at.file == file}


def _type(value: object) -> str:
    if isinstance(value, Parted):
        return value.kind
    if isinstance(value, Ptr):
        return f"{value.dtype} * {value.space}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return str(value.dtype) if isinstance(value, np.generic) else type(value).__name__


def _region(region: "Region", pointer: Ptr) -> Variable:
    kind = f"{region.dtype}[{region.elements}] {region.memory}+{region.offset:#x}"
    return Variable(region.name, region.first, kind, pointer, region.name, region.name)


def _memory(memory: Memory) -> Variable:
    return Variable(memory.name, memory.text, "bytes", None, "", f"{memory.name.lower()}+0")


def _built_in(name: str, value: object) -> Variable:
    return Variable(name, str(value), type(value).__name__, value, f"mlu.{name}")


# -- tasks, pipes, barriers ------------------------------------------------------------------------


def begun_tasks(paused: PausedRun) -> list[TaskState]:
    """Return the active tasks (begun and not ended)."""
    return [task(paused, core) for core in paused.cores]


def others(paused: PausedRun) -> tuple[int, int]:
    """Return the number of tasks and memory cores that have ended, and of those that have not begun."""
    x, y, z = paused.machine.dim
    board, kind = paused.machine.board, paused.machine.kind
    total = x * y * z
    if kind.unions and board.arch.memory_core:
        total += x * y * z // board.arch.cores_per_cluster
    ended = paused.observed.finished
    return ended, total - ended - len(paused.cores)


def task(paused: PausedRun, core: "Core") -> TaskState:
    """Return the state of the task of *core*, its place, and what it waits for."""
    place, stack = core.place, paused.stack(core)
    state, waits = _doing(paused, core)
    error = paused.stop.error if core is paused.observed.failed else None
    where = frame_text(stack[0], error) if stack else ""
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
    if last and last[-1].name == "bang_lock" and core.place not in paused.machine.locks.values():
        return "waiting", "; ".join(
            f"mutex {numbers} is held by {owner}" for numbers, owner in mutexes(paused)
        )
    effects = [op.effect for op in last if op.effect is not None]
    if len(effects) == 3 and len({(e.name, e.site) for e in effects}) == 1 and not effects[0].writes:
        return "polling", "another task to change what it reads"
    return "ready", ""


def _absent(core: "Core") -> str:
    """Return the name of a core that has not arrived, with a note if it has ended and never will arrive."""
    return f"{name_of(core)} (ended)" if core.ended else name_of(core)


# -- pipes -----------------------------------------------------------------------------------------


def pipes(paused: PausedRun, core: "Core") -> list[PipeState]:
    """Return the five pipes of *core*."""
    current = paused.stop.op if paused.stop.core is core else None
    flying = [(flight.pipe, _flight(paused, flight)) for flight in core.flights if not flight.landed]
    return [
        PipeState(
            pipe.value, _issuing(paused, current, pipe), tuple(text for at, text in flying if at is pipe)
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
    """Return the barrier's name; for a split barrier add its number, its arrivals and the required number."""
    if not isinstance(meeting, Half):
        return meeting.name
    return f"{meeting.name} {meeting.ident}, {len(meeting.arrived)} of {meeting.count} arrived"


def mutexes(paused: PausedRun) -> list[tuple[str, str]]:
    """Return the mutexes that are held: their two numbers, and the core that holds each."""
    return [(f"{first}, {second}", name_at(place)) for (first, second), place in paused.machine.locks.items()]


# -- cores and clusters ----------------------------------------------------------------------------


def cores(paused: PausedRun) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the name, cluster, core number, executed instructions and declared bytes of NRAM of every active core."""
    for core in paused.cores:
        place = core.place
        nram = sum(arena.top for space, arena in core.arenas.items() if space.name == "NRAM")
        cluster = cluster_name(core) if core.cluster is not None else "-"
        number = "memory" if place.memory_core else str(place.core_id)
        yield name_at(place), cluster, number, str(sum(core.mlu.counts)), str(nram)


def clusters(paused: PausedRun) -> Iterator[tuple[str, str, str]]:
    """Yield the name, members, and declared bytes of SRAM of every active cluster."""
    cores: dict[str, list[Core]] = {}
    for core in paused.cores:
        if core.cluster is not None:
            cores.setdefault(cluster_name(core), []).append(core)
    for name, members in cores.items():
        cluster = members[0].cluster
        assert cluster is not None
        yield name, ", ".join(name_of(core) for core in members), str(cluster.sram.top)
