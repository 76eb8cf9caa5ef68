"""Locations: places in the words of the user, and breakpoints there.

A front passes the user's words for a place, as ``kernel.py:94`` or ``bang_add``; `break_at` and `watch_at` set
breakpoints.
"""

import re
from collections.abc import Callable, Collection, Iterable
from types import CodeType, FrameType
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from mlusim.arch.board import Pipe
from mlusim.debug.look.clock import clock_of
from mlusim.debug.look.describe import value_text
from mlusim.debug.look.evaluate import ask, condition, names_of_code, parse, unknown_names
from mlusim.debug.look.paused_run import no_such_task
from mlusim.debug.look.places import ahead, resolve
from mlusim.debug.run.moments import HEARD
from mlusim.debug.source.frames import name_of, parse_name, variables_of
from mlusim.debug.source.functions import (
    UserFunction,
    code_lines,
    find_functions,
    find_line,
    line_within,
    lines_naming,
    nested,
)
from mlusim.debug.stop import stops
from mlusim.errors import UsageError
from mlusim.isa.table import ISA
from mlusim.kernel_frames import SCOPES
from mlusim.machine.core import Core
from mlusim.observe.names import CHECKERS, checkers
from mlusim.observe.rules import RULES

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession

_LINE = re.compile(r"(?:(?P<file>.+):)?(?P<line>\d+)$")
_NAME = re.compile(r"[A-Za-z_][\w:]*(<.*>)?")
NOT_LOADED = "no function of this name is loaded yet"
PIPES = {pipe.value.lower(): pipe.value for pipe in Pipe} | {"io": "IO-DMA", "move": "move-DMA"}
Test = Callable[[Core | None, FrameType | None], bool | str]


# -- setting -----------------------------------------------------------------------------------------


def break_at(
    session: "DebugSession",
    place: str,
    *,
    text: str | None = None,
    task: str | None = None,
    ignore: int = 0,
    temporary: bool = False,
) -> stops.Breakpoint:
    """Set a breakpoint at *place* with the condition *text*, for *task* only, after *ignore* ignored hits.

    Raises `UsageError` for an unknown place, and for a condition that cannot be evaluated there.
    """
    location = location_of(session, place)
    return _add(
        session, stops.Breakpoint(0, location, temporary, task=task, ignore=ignore, words=place), text
    )


def watch_at(
    session: "DebugSession",
    place: str,
    *,
    writes: bool,
    reads: bool,
    anyone: bool = False,
    text: str | None = None,
    task: str | None = None,
    ignore: int = 0,
) -> stops.Breakpoint:
    """Set a watchpoint on the bytes of *place*, in the task in focus or in *anyone*'s memory.

    An expression that is not in memory, such as a scalar, is watched by its value in the
    frame in focus.  Raises `UsageError` for any other *place*, and for *reads* of a value.
    """
    focus = session.in_focus()
    # Before any core has begun, only the sizes of its memories are known.
    span = None if focus.core is not None else ahead(place, focus.paused)
    location: stops.Location | None = None
    if span is None:
        try:
            span = resolve(place, focus)
        except UsageError:
            location = _value_watch(session, place, reads=reads, anyone=anyone)
            if location is None:
                raise
    if span is not None:
        location = stops.Watchpoint(evolve(span, anyone=True) if anyone else span, place, writes, reads)
    assert location is not None
    return _add(session, stops.Breakpoint(0, location, task=task, ignore=ignore, words=place), text)


def watched_as(session: "DebugSession", place: str) -> str:
    """Describe what `watch_at` would watch at *place*; raises `UsageError` if *place* is neither bytes nor a value."""
    try:
        span = session.resolve(place)
    except UsageError:
        watch = _value_watch(session, place, reads=False, anyone=False)
        if watch is None:
            raise
        return f"the value in {watch.code.co_name} of {watch.label}"
    return str(span)


def _value_watch(
    session: "DebugSession", place: str, *, reads: bool, anyone: bool
) -> stops.ValueWatch | None:
    """Return a watchpoint on an expression's value in the frame in focus; None if it has no value there."""
    try:
        read = _reader(place)
    except UsageError:
        return None
    session.watched()
    core, frame = session.core(), session.frame()
    if core is None or frame is None:
        return None
    held = {*variables_of(frame), *session.owned.names} & {*parse(place).names}
    if not held or read(core, frame) is None:  # an expression without variables never changes
        return None
    if reads:
        raise UsageError(
            f"{place} is not in memory, so its reads are not seen; `watch` stops where its value changes"
        )
    return stops.ValueWatch(place, frame.f_code, None if anyone else name_of(core), read)


def _reader(text: str) -> Callable[[Core, FrameType], str | None]:
    """Return a function that returns the value of *text* in a core and a frame as a string, None without a value or for a collection."""
    code = parse(text)

    def read(core: Core, frame: FrameType) -> str | None:
        try:
            value = ask(code, frame, core, beyond=True).value
            return None if isinstance(value, np.ndarray | Collection) else value_text(value)
        except UsageError:
            return None

    return read


def _add(session: "DebugSession", point: stops.Breakpoint, text: str | None) -> stops.Breakpoint:
    if text is not None:
        set_condition(session, point, text)
    session.numbered += 1
    point.number = session.numbered
    session.breakpoints[point.number] = point
    return point


def set_condition(session: "DebugSession", point: stops.Breakpoint, text: str | None) -> None:
    """Set the condition *text* of *point*, None to remove it; raises `UsageError` for an unknown name."""
    test = None if text is None else tested(session, point.location, text)
    point.condition, point.test = text, test


def tested(session: "DebugSession", location: stops.Location, text: str) -> Test:
    """Return a function that evaluates the condition *text*; raises `UsageError` for a name that is unknown at *location*."""
    test: Test = condition(text)
    functions = session.functions
    codes = list(_codes(location, functions))
    unknown = unknown_names(text, codes or [f.code for f in functions], session.owned.names)
    if unknown and codes and not isinstance(location, stops.PendingLocation):
        has = sorted({name for code in codes for name in names_of_code(code, session.owned.names)})
        raise UsageError(
            f"the condition names {', '.join(unknown)}, which {codes[0].co_name} does not have; "
            f"it has {', '.join(has)}"
        )
    if isinstance(location, stops.LineLocation | stops.FunctionLocation) and SCOPES in session.owned.names:
        line = location.line if isinstance(location, stops.LineLocation) else None
        scopes = session.owned.names[SCOPES]
        refused = [scopes.refused(text, code, line) for code in codes]
        if codes and all(refused):
            raise UsageError(f"the condition {text!r} has no value there: {refused[0]}")
    return test


def names_at(session: "DebugSession", location: stops.Location) -> list[str]:
    """Return the names that a condition at *location* may use: local variables, names at file scope, macros and C functions."""
    module = session.owned.names
    scopes = module.get(SCOPES)
    found: list[str] = [] if scopes is None else [*scopes.names()]
    line = location.line if isinstance(location, stops.LineLocation) else None
    for code in _codes(location, session.functions):
        if scopes is None or scopes.function(code) is None:
            found += [name for name in names_of_code(code, module) if name != "mlu"]
        elif isinstance(location, stops.LineLocation | stops.FunctionLocation):
            found += scopes.visible(code, line)
        else:
            found += scopes.function(code).written
    return found


def _codes(location: stops.Location, functions: Iterable[UserFunction]) -> Iterable[CodeType]:
    """Yield the functions in which a breakpoint at *location* may stop; all functions if that is not known."""
    for code in (code for f in functions for code in nested(f.code)):
        if isinstance(location, stops.LineLocation):
            inside = any(line == location.line for _, _, line in code.co_lines())
            if code.co_filename == location.file and inside:
                yield code
        elif isinstance(location, stops.FunctionLocation):
            if code in location.codes:
                yield code
        elif not isinstance(location, stops.PendingLocation):
            yield code


def doubt(session: "DebugSession", point: stops.Breakpoint) -> str:
    """Return a remark if the task does not exist in this launch; another launch of the program may have it."""
    label = point.location.label if isinstance(point.location, stops.TaskLocation) else point.task
    return no_such_task(session.look(), label) if label is not None else ""


# -- places ------------------------------------------------------------------------------------------


def location_of(session: "DebugSession", place: str) -> stops.Location:
    """Find the location that the words of `break` name; raises `UsageError` if there is none."""
    try:
        return _location(session, place)
    except UsageError:
        first, _, rest = place.partition(" ")
        # The place itself exists: the message should be about the words after it.
        if not rest or first in SPECIAL:
            raise
        _location(session, first)
    raise UsageError(f"{rest!r} after {first} is neither `task N` nor `ignore N` nor `if EXPR`")


def _location(session: "DebugSession", place: str) -> stops.Location:
    if not place:
        site = session.site()
        if site is None:
            raise UsageError("name a place: FILE:LINE, a function, an intrinsic, or see `help break`")
        place = f"{site[0]}:{site[1]}"
    kind, _, rest = place.partition(" ")
    if kind in SPECIAL:
        return SPECIAL[kind](session, kind, rest.strip())
    line = _LINE.match(place)
    if line is not None:
        return _at_line(session, line["file"], int(line["line"]), place)
    # Intrinsics precede functions of the same name, since the vendor's names are reserved.
    name = place.lstrip("_")
    if name in ISA:
        return _intrinsic(session, name)
    try:
        return _function(session, place)
    except UsageError:
        helpers = lines_naming(place, session.every_function)
        if not helpers:
            if not _loads(session) or not _NAME.fullmatch(place):
                raise
            return stops.PendingLocation(place, lambda: _if_loaded(session, place), NOT_LOADED)
        return stops.CallLocation(helpers, place)


def _loads(session: "DebugSession") -> bool:
    """Return whether the program may load code while it runs; a kernel call has all code at its first launch."""
    return bool(getattr(session.program, "loads_code", False))


def _function(session: "DebugSession", name: str) -> stops.Location:
    """Return the function *name*, with all instantiations of a template; those loaded by later launches are added."""
    named = find_functions(name, session.functions_named(name), session.owned)
    text = named[0].name if len(named) == 1 else name
    loads = _loads(session)
    return stops.FunctionLocation(
        tuple(f.code for f in named), text, (lambda: _codes_named(session, name)) if loads else None
    )


def _codes_named(session: "DebugSession", name: str) -> tuple[CodeType, ...]:
    return tuple(f.code for f in session.functions_named(name) if name in (f.name, f.name.partition("<")[0]))


def _if_loaded(session: "DebugSession", name: str) -> stops.Location | str:
    try:
        return _function(session, name)
    except UsageError as error:
        return str(error) if _codes_named(session, name) else NOT_LOADED


def _at_line(session: "DebugSession", file: str | None, number: int, place: str) -> stops.Location:
    """Return a line of a file; if none of its code is loaded yet, return a pending location."""
    site, functions, owned = session.site(), session.functions, session.owned
    if file is None and site is None and not functions:
        raise UsageError(
            f"no function is loaded in which line {number} could be; write the line as FILE:{number}"
        )
    name = file or (site[0] if site is not None else functions[0].code.co_filename)
    functions = session.functions_in(name)
    if not code_lines(name, functions, owned):
        # Like gdb's pending breakpoints: a later launch may load the file.
        return stops.PendingLocation(
            place, lambda: _loaded(session, name, number), "no such file is loaded yet"
        )
    found, number = find_line(name, number, functions, owned)
    return stops.LineLocation(found, number)


def _loaded(session: "DebugSession", name: str, number: int) -> stops.Location | str:
    """Return the line, or the next line with code in its function, once a file *name* with it is loaded; until then the reason."""
    functions = session.functions_in(name)
    try:
        number = line_within(name, number, functions)
        found, line = find_line(name, number, functions, session.owned)
    except UsageError as error:
        return str(error) if code_lines(name, functions, session.owned) else "no such file is loaded yet"
    return stops.LineLocation(found, line)


def _intrinsic(session: "DebugSession", name: str) -> stops.Location:
    """Return the location of every issue of an intrinsic, or of the lines that name it if the machine does not announce it."""
    spelling = ISA[name].spelling
    if name in HEARD:
        return stops.IntrinsicLocation(name, spelling)
    places = lines_naming(name, session.every_function)
    if not places:
        raise UsageError(f"no function of the kernel names {name}; `info functions` lists them")
    return stops.CallLocation(places, spelling)


def _scalar(_session: "DebugSession", kind: str, rest: str) -> stops.Location:
    if rest not in ("load", "store"):
        raise UsageError(f"{kind} {rest} is not a place; there are `scalar load` and `scalar store`")
    return stops.IntrinsicLocation(f"{kind} {rest}", f"{kind} {rest}")


def _task(_session: "DebugSession", _kind: str, rest: str) -> stops.Location:
    return stops.TaskLocation(parse_name(rest), f"beginning of {parse_name(rest)}")


def _pipe(_session: "DebugSession", kind: str, rest: str) -> stops.Location:
    if rest.lower() not in PIPES:
        raise UsageError(f"there is no {kind} {rest!r}; the pipes are {', '.join(p.value for p in Pipe)}")
    return stops.PipeLocation(PIPES[rest.lower()], f"pipe {PIPES[rest.lower()]}")


def _moment(_session: "DebugSession", kind: str, rest: str) -> stops.Location:
    if not rest.isdigit() or int(rest) < 1:
        raise UsageError(
            f"{rest!r} is not a {kind}; give a whole number from 1 on, as `history` and every stop show it"
        )
    return stops.MomentLocation(int(rest), f"moment {rest}")


def _finding(_session: "DebugSession", kind: str, rest: str) -> stops.Location:
    name = rest.partition("-")[0]
    if rest and name not in checkers():
        raise UsageError(f"there is no checker {name!r}; there are {', '.join(checkers())}")
    if rest and name != rest and name in CHECKERS and rest not in RULES:
        known = ", ".join(rule for rule in RULES if rule.startswith(f"{name}-"))
        raise UsageError(f"{name} has no rule {rest!r}; it has {known}")
    return stops.FindingLocation(rest or None, f"{kind} {rest}".strip())


def _time(session: "DebugSession", kind: str, rest: str) -> stops.Location:
    time_us = stops.parse_time(rest)
    if time_us is None:
        raise UsageError(f"{rest!r} is not a {kind}; give predicted microseconds, as in `break time 12.5us`")
    clock = clock_of(session.runs, session.recorded.index)
    firsts = (clock.first(core, time_us) for core in clock.moments)
    moments = frozenset(moment for moment in firsts if moment is not None)
    if not moments:
        raise UsageError(
            f"no instruction begins at {time_us:g} us or later; the launch takes {clock.whole_us:.3f} us"
        )
    return stops.TimeLocation(session.recorded.index, moments, f"{time_us:g} us of predicted time")


SPECIAL: "dict[str, Callable[[DebugSession, str, str], stops.Location]]" = {
    "pipe": _pipe,
    "task": _task,
    "moment": _moment,
    "cycle": _moment,
    "time": _time,
    "finding": _finding,
    "scalar": _scalar,
}
"""The first words of places that are not in the source."""
