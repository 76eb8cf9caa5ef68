"""`Views`: everything that the full-screen view shows of a stop, as plain values made in one go."""

import linecache
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from mlusim.counted import plural
from mlusim.debug import values
from mlusim.debug.console.command import Reply, pairs
from mlusim.debug.look import regions, states
from mlusim.debug.look.places import resolve
from mlusim.debug.look.states import TaskState
from mlusim.debug.source.frames import name_of, place_of
from mlusim.debug.stop.stops import LineLocation
from mlusim.debug.stop.value_watch import described
from mlusim.errors import UsageError
from mlusim.plan.layout import PlacedRegion, layout_of_regions
from mlusim.plan.render import map_text, region_keys

if TYPE_CHECKING:
    from mlusim.debug.console.console import Console
    from mlusim.debug.session import DebugSession

MEMORY = 64  # elements that the memory view shows
COLUMNS = 48  # of the map of memory


@frozen(kw_only=True)
class Views:
    """The contents of the screen: ``source`` are the lines of the file in focus, ``line`` the current one.

    ``stops`` are the numbers of breakpoints by their lines in the file.  ``memory`` is what the last `x` showed, as
    it is now, under ``place``.  ``chain`` answers the last `why` or `who-wrote`, as it was where it was ``asked``.
    """

    title: str
    where: str
    file: str = ""
    source: tuple[str, ...] = ()
    line: int = 0
    stops: Mapping[int, int] = field(factory=dict)
    focus: str = ""
    tasks: tuple[TaskState, ...] = ()
    others: str = ""
    stack: str = ""
    variables: str = ""
    breakpoints: str = ""
    pipes: str = ""
    nram: str = ""
    place: str = ""
    memory: str = ""
    asked: str = ""
    chain: str = ""


def look(
    console: "Console", place: str = "", letters: str = "", answered: tuple[str, str] = ("", "")
) -> Views:
    """Return the views of the place where the session stands; *place* is what the memory view shows, in the form *letters*.

    *answered* is the last question for a cause, with its place, and its answer.
    """
    session = console.session
    if not session.launches:
        return Views(title=session.program.name, where=console.stop_text())
    paused, core, site = session.look(), session.core(), session.site()
    file, line = site or _kernel(console)
    ended, waiting = states.others(paused)
    place, memory = _memory(console, place, letters)
    return Views(
        title=f"{session.program.name}, launch {session.recorded.index}: {session.recorded.kernel}",
        where=session.place,
        file=file,
        source=tuple(text.rstrip("\n") for text in linecache.getlines(file)),
        line=line if site is not None else 0,
        stops=_stops(session, file),
        focus="" if core is None else name_of(core),
        tasks=values.tasks(session),
        others=f"{ended} ended, {waiting} not begun",
        stack=_stack(session),
        variables=_variables(session),
        breakpoints="\n".join(described(made) for made in session.breakpoints.values()),
        pipes=_pipes(session),
        nram=_nram(session),
        place=place,
        memory=memory,
        asked=answered[0],
        chain=answered[1],
    )


def _stack(session: "DebugSession") -> str:
    """Return the functions that wait for each other; the file of each that is not the one on the screen."""
    frames = values.frames(session)
    shown = frames[session.level].file if session.level < len(frames) else ""
    return "\n".join(
        f"{'*' if f.level == session.level else ' '} {f.level}  {f.function}"
        + (f", line {f.line}" if f.file == shown else f" at {place_of(f.file)}:{f.line}")
        for f in frames
    )


def _variables(session: "DebugSession") -> str:
    """Return the variables of the function in focus, arguments behind the others."""
    shown = [v for s in values.scopes(session) if s.kind in ("locals", "arguments") for v in s.variables]
    return pairs((v.name, v.text) for v in shown) or "no task is in the kernel here"


def _pipes(session: "DebugSession") -> str:
    """Tell the state of the pipes of the task in focus; the idle ones in one line."""
    paused = session.watched()
    core = session.core()
    if core is None:
        return ""
    lines, idle = [], []
    for pipe in states.pipes(paused, core):
        lines += [f"{pipe.pipe}  next: {pipe.issuing}"] * bool(pipe.issuing)
        lines += [f"{pipe.pipe}  in flight: {flight}" for flight in pipe.flights]
        idle += [pipe.pipe] * (not pipe.issuing and not pipe.flights)
    return "\n".join([*lines, f"idle: {', '.join(idle)}"] if idle else lines)


def _nram(session: "DebugSession") -> str:
    """Return a map of what lies in the task's NRAM, and how much of each memory is declared."""
    lines = [f"{m.name}: {m.text}" for m in values.memories(session.core())]
    rows = [r for r in values.on_chip(session) if r.memory == "NRAM"]
    if not rows:
        return "\n".join(lines)
    regions = [PlacedRegion(r.name, r.dtype, r.elements, r.offset, r.nbytes) for r in rows]
    launch = session.look().session
    capacity = launch.memory_limits["NRAM"]
    layout = layout_of_regions(launch.request.kernel.name, launch.board.name, "NRAM", capacity, regions)
    width = max(len(r.name) for r in rows)
    for r in rows:
        key = region_keys(layout)[r.name]
        lines.append(f"{key} {r.name.ljust(width)} {r.offset:#x}, {r.nbytes} {plural(r.nbytes, 'byte')}")
    return "\n".join([*lines, *map_text(layout, COLUMNS)])


def _kernel(console: "Console") -> tuple[str, int]:
    """Find the beginning of the kernel: shown while no task is in it."""
    functions = console.session.recorded.functions
    return (functions[0].code.co_filename, functions[0].code.co_firstlineno) if functions else ("", 0)


def _stops(session: "DebugSession", file: str) -> dict[int, int]:
    return {
        b.location.line: b.number
        for b in session.breakpoints.values()
        if b.enabled and isinstance(b.location, LineLocation) and b.location.file == file
    }


def _memory(console: "Console", place: str, letters: str) -> tuple[str, str]:
    """Return the place that is shown, and its elements: the one asked for, else the task's first declaration, else a tensor."""
    session = console.session
    paused, core = session.look(), session.core()
    names = [place] if place else []
    names += [r.name for r in values.on_chip(session)]
    names += list(paused.tensors)
    for name in names:
        try:
            span = resolve(name, paused, core, session.frame())
            kind = "".join(c for c in letters if c in "fduxtc") if name == place else ""
            size = "".join(c for c in letters if c in "bhwg") if name == place else ""
            width = regions.SIZES[size] if size else 4 if span.dtype is None else span.dtype.size
            count = max(1, min(MEMORY, span.nbytes // width))
            return name, "\n".join(regions.examine(paused, core, span, count, kind, size))
        except UsageError:
            continue
    return place, "nothing is declared here"


@frozen
class LineResult:
    """The result of a line: the reply, and the views afterwards."""

    line: str
    reply: Reply
    views: Views
