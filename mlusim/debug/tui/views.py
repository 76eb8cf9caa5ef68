"""`Views`: everything that the full-screen view shows of a stop, as plain values made in one go."""

import linecache
from collections.abc import Callable

from attrs import frozen

from mlusim.debug.console import cmd_info
from mlusim.debug.console.console import Console
from mlusim.debug.console.context import Reply
from mlusim.debug.look import regions, states
from mlusim.debug.look.places import resolve
from mlusim.debug.look.states import TaskState
from mlusim.debug.source.core_names import name_of
from mlusim.debug.stop.breakpoints import LineLocation
from mlusim.errors import UsageError

MEMORY = 64  # elements that the memory view shows


@frozen
class Views:
    """What there is to see: ``source`` are the lines of the file in focus, ``line`` the current one.

    ``stops`` are the lines with breakpoints.  The other texts are what `info` shows; ``memory`` is what
    the last `x` showed, as it is now, under ``place``.
    """

    title: str
    where: str
    file: str
    source: tuple[str, ...]
    line: int
    stops: frozenset[int]
    focus: str
    tasks: tuple[TaskState, ...]
    others: str
    pipes: str
    nram: str
    regions: str
    variables: str
    place: str
    memory: str


def look(console: Console, place: str = "", letters: str = "") -> Views:
    """The views of the place where the session stands; *place* is what the memory view shows, in the form *letters*."""
    session = console.session
    if not session.launches:
        return Views(
            session.program.name,
            console.stop_text(),
            "",
            (),
            0,
            frozenset(),
            "",
            (),
            "",
            "",
            "",
            "",
            "",
            "",
            "",
        )
    paused, core = session.look(), session.core()
    file, line = session.site() or _kernel(console)
    ended, waiting = states.others(paused)
    place, memory = _memory(console, place, letters)
    return Views(
        title=f"{session.program.name}, launch {session.recorded.index}: {session.recorded.kernel}",
        where=session.place,
        file=file,
        source=tuple(text.rstrip("\n") for text in linecache.getlines(file)),
        line=line if session.site() is not None else 0,
        stops=_stops(console, file),
        focus="" if core is None else name_of(core),
        tasks=tuple(states.tasks(paused)),
        others=f"{ended} ended, {waiting} not begun",
        pipes=_pipes(_said(lambda: cmd_info.info(console, "pipes"))),
        nram=_said(lambda: cmd_info.info(console, "nram")).partition("\n")[2] if core is not None else "",
        regions=_said(lambda: cmd_info.info(console, "regions")),
        variables=_said(lambda: cmd_info.info(console, "locals")),
        place=place,
        memory=memory,
    )


def _pipes(text: str) -> str:
    """What `info pipes` shows without the task, and with the idle pipes in one line."""
    lines = text.splitlines()
    idle = [line.split()[0] for line in lines if line.endswith("  idle")]
    busy = [line for line in lines[1:] if not line.endswith("  idle")]
    return "\n".join([*busy, f"idle: {', '.join(idle)}"] if idle else lines)


def _kernel(console: Console) -> tuple[str, int]:
    """Where the kernel begins: shown while no task is in it."""
    functions = console.session.recorded.functions
    return (functions[0].code.co_filename, functions[0].code.co_firstlineno) if functions else ("", 0)


def _stops(console: Console, file: str) -> frozenset[int]:
    return frozenset(
        b.location.line
        for b in console.session.breakpoints.values()
        if b.enabled and isinstance(b.location, LineLocation) and b.location.file == file
    )


def _memory(console: Console, place: str, letters: str) -> tuple[str, str]:
    """The place that is shown, and its elements: the one asked for, else the task's first declaration, else a tensor."""
    session = console.session
    paused, core = session.look(), session.core()
    names = [place] if place else []
    names += [r.name for r in regions.plan_regions(paused, core) or regions.declarations(paused, core)]
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


def _said(show: Callable[[], str]) -> str:
    try:
        return show()
    except UsageError as error:
        return str(error)


@frozen
class Answer:
    """What a line led to: the reply, and the views afterwards."""

    line: str
    reply: Reply
    views: Views
