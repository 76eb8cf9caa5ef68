"""The commands that say where to stop."""

import re
from typing import TYPE_CHECKING

from attrs import evolve

from mlusim.debug.console.command import STOPPING, Command
from mlusim.debug.look.clock import clock_of
from mlusim.debug.look.evaluate import condition
from mlusim.debug.look.paused_run import no_such_task
from mlusim.debug.look.places import ahead, resolve
from mlusim.debug.run.program_run import HEARD
from mlusim.debug.source.core_names import parse_name
from mlusim.debug.source.functions import find_function, find_line, lines_naming
from mlusim.debug.stop.breakpoints import (
    Breakpoint,
    CallLocation,
    FindingLocation,
    FunctionLocation,
    IntrinsicLocation,
    LineLocation,
    Location,
    MomentLocation,
    PipeLocation,
    TaskLocation,
    TimeLocation,
    Watch,
)
from mlusim.debug.stop.moments import parse_time
from mlusim.errors import UsageError
from mlusim.isa.declare import Pipe
from mlusim.isa.table import ISA
from mlusim.observe.finding import short
from mlusim.observe.names import CHECKERS, checkers
from mlusim.observe.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from mlusim.debug.console.console import Console
    from mlusim.debug.session import DebugSession
    from mlusim.machine.core import Core

_IF = re.compile(r"(?:^|\s)if(?:\s+(?P<text>.*))?$")
_TASK = re.compile(r"\s+task\s+(?P<task>\d+\s*m?)$")
_COUNT = re.compile(r"\s+ignore\s+(?P<count>\d+)$")
_LINE = re.compile(r"(?:(?P<file>.+):)?(?P<line>\d+)$")
PIPES = {pipe.value.lower(): pipe.value for pipe in Pipe} | {"io": "IO-DMA", "move": "move-DMA"}


def break_(console: "Console", words: str) -> str:
    """Stop at a place."""
    return _set(console.session, words, temporary=False)


def tbreak(console: "Console", words: str) -> str:
    """Stop at a place once."""
    return _set(console.session, words, temporary=True)


def watch(console: "Console", words: str) -> str:
    """Stop before bytes are written."""
    return _watch(console.session, words, writes=True, reads=False)


def rwatch(console: "Console", words: str) -> str:
    """Stop before bytes are read."""
    return _watch(console.session, words, writes=False, reads=True)


def awatch(console: "Console", words: str) -> str:
    """Stop before bytes are read or written."""
    return _watch(console.session, words, writes=True, reads=True)


def _set(session: "DebugSession", words: str, *, temporary: bool) -> str:
    place, made = _conditions(words)
    made.location, made.words = _placed(session, place), place
    made.temporary = temporary
    return _add(session, made)


def _watch(session: "DebugSession", words: str, *, writes: bool, reads: bool) -> str:
    place, made = _conditions(words)
    anyone = place.endswith(" all")
    place = place.removesuffix(" all").strip()
    paused, core = session.look(), session.core()
    span = None if core is not None else ahead(place, paused)
    if span is None:
        span = resolve(place, paused, core, session.frame())
    if anyone:
        span = evolve(span, anyone=True)
    made.location, made.words = Watch(span, place, writes, reads), place
    return _add(session, made)


def _conditions(words: str) -> tuple[str, Breakpoint]:
    """The place, and a breakpoint with what was said behind it: ``task N``, ``ignore N``, ``if EXPR``."""
    made = Breakpoint(0, Location())
    found = _IF.search(words)
    if found is not None:
        if not found["text"]:
            raise UsageError("`if` takes an expression in the kernel's variables, as in `if i == 3`")
        made.condition, words = found["text"].strip(), words[: found.start()]
        made.test = _test(made.condition)
    words = words.rstrip()
    found = _COUNT.search(words)
    if found is not None:
        made.ignore, words = int(found["count"]), words[: found.start()]
    found = _TASK.search(words)
    if found is not None:
        made.task, words = parse_name(found["task"]), words[: found.start()]
    return words.strip(), made


def _test(text: str) -> "Callable[[Core, FrameType | None], bool | str]":
    try:
        made: Callable[[Core, FrameType | None], bool | str] = condition(text)
    except UsageError as error:
        behind = _COUNT.search(text) or _TASK.search(text)
        if behind is not None:
            raise UsageError(f"{error}; write `{behind[0].strip()}` in front of `if`") from None
        raise
    return made


def _add(session: "DebugSession", made: Breakpoint) -> str:
    session.numbered += 1
    made.number = session.numbered
    session.breakpoints[made.number] = made
    return describe(made) + _doubt(session, made)


def _doubt(session: "DebugSession", made: Breakpoint) -> str:
    """A remark on a task that this launch does not have; another launch of the program may."""
    label = made.location.label if isinstance(made.location, TaskLocation) else made.task
    unknown = no_such_task(session.look(), label) if label is not None else ""
    return f"\nnote: {unknown}" if unknown else ""


def _placed(session: "DebugSession", place: str) -> Location:
    """As `location_of`, with a word about what stands behind a place that is right."""
    try:
        return location_of(session, place)
    except UsageError:
        first, _, rest = place.partition(" ")
        if not rest or _special_kind(first):
            raise
        location_of(session, first)
    raise UsageError(f"{rest!r} behind {first} is neither `task N` nor `ignore N` nor `if EXPR`")


def _special_kind(word: str) -> bool:
    return word in ("pipe", "task", "moment", "cycle", "time", "finding", "scalar")


def location_of(session: "DebugSession", place: str) -> Location:
    """What the words of `break` mean."""
    if not place:
        site = session.site()
        if site is None:
            raise UsageError("name a place: FILE:LINE, a function, an intrinsic, or see `help break`")
        place = f"{site[0]}:{site[1]}"
    kind, _, rest = place.partition(" ")
    special = _special(session, kind, rest.strip())
    if special is not None:
        return special
    line = _LINE.match(place)
    recorded = session.recorded
    if line is not None:
        site = session.site()
        here = site[0] if site is not None else recorded.functions[0].code.co_filename
        file, number = find_line(line["file"] or here, int(line["line"]), recorded.functions, recorded.owned)
        return LineLocation(file, number, f"{short(file)}:{number}")
    name = place.lstrip("_")
    if name in ("scalar load", "scalar store"):
        return IntrinsicLocation(name, name)
    if name in ISA:
        return _intrinsic(session, name)
    function = find_function(place, recorded.functions, recorded.owned)
    return FunctionLocation(function.code, function.name)


def _intrinsic(session: "DebugSession", name: str) -> Location:
    """Every issue of an intrinsic; of one that the machine does not announce, the lines that name it."""
    spelling = ISA[name].spelling
    if name in HEARD:
        return IntrinsicLocation(name, spelling)
    places = lines_naming(name, session.recorded.functions)
    if not places:
        raise UsageError(f"no function of the kernel names {name}; `info functions` lists them")
    return CallLocation(places, spelling)


def _special(session: "DebugSession", kind: str, rest: str) -> Location | None:
    """``pipe``, ``task``, ``moment`` or ``cycle``, ``time``, ``finding``: breakpoints that are not in the source."""
    if kind == "task":
        return TaskLocation(parse_name(rest), f"beginning of {parse_name(rest)}")
    if kind == "time":
        return _time(session, rest)
    made = {"pipe": _pipe, "moment": _moment, "cycle": _moment, "finding": _finding}.get(kind)
    return made(kind, rest) if made is not None else None


def _pipe(kind: str, rest: str) -> Location:
    if rest.lower() not in PIPES:
        raise UsageError(f"there is no {kind} {rest!r}; the pipes are {', '.join(p.value for p in Pipe)}")
    return PipeLocation(PIPES[rest.lower()], f"pipe {PIPES[rest.lower()]}")


def _moment(kind: str, rest: str) -> Location:
    if not rest.isdigit() or int(rest) < 1:
        raise UsageError(
            f"{rest!r} is no {kind}; give a whole number from 1 on, as `history` and every stop show it"
        )
    return MomentLocation(int(rest), f"moment {rest}")


def _finding(kind: str, rest: str) -> Location:
    name = rest.partition("-")[0]
    if rest and name not in checkers():
        raise UsageError(f"there is no checker {name!r}; there are {', '.join(checkers())}")
    if rest and name != rest and name in CHECKERS and rest not in RULES:
        known = ", ".join(rule for rule in RULES if rule.startswith(f"{name}-"))
        raise UsageError(f"{name} has no rule {rest!r}; it has {known}")
    return FindingLocation(rest or None, f"{kind} {rest}".strip())


def _time(session: "DebugSession", rest: str) -> Location:
    time_us = parse_time(rest)
    if time_us is None:
        raise UsageError(f"{rest!r} is no time; give predicted microseconds, as in `break time 12.5us`")
    clock = clock_of(session.runs, session.recorded.index)
    firsts = (clock.first(core, time_us) for core in clock.moments)
    moments = frozenset(moment for moment in firsts if moment is not None)
    if not moments:
        raise UsageError(
            f"no instruction begins at {time_us:g} us or later; the launch takes {clock.whole_us:.3f} us"
        )
    return TimeLocation(session.recorded.index, moments, f"{time_us:g} us of predicted time")


def describe(made: Breakpoint) -> str:
    """A breakpoint in one line."""
    location = made.location
    text = f"{made.kind} {made.number}: {location.text}"
    if isinstance(location, Watch):
        verb = " or ".join(["written"] * location.writes + ["read"] * location.reads)
        text += f" ({location.span}) is {verb}" + (", of any task" if location.span.anyone else "")
    text += f", in {made.task} only" if made.task else ""
    text += f", if {made.condition}" if made.condition else ""
    text += f", after {made.ignore} more hits" if made.ignore else ""
    text += ", once" if made.temporary else ""
    return text + ("" if made.enabled else ", disabled")


# -- changing them -----------------------------------------------------------------------------------


def delete(console: "Console", words: str) -> str:
    """Forget breakpoints."""
    chosen = _chosen(console.session, words)
    for made in chosen:
        del console.session.breakpoints[made.number]
    return f"{len(chosen)} deleted"


def enable(console: "Console", words: str) -> str:
    """Let breakpoints stop again."""
    return _switch(console.session, words, on=True)


def disable(console: "Console", words: str) -> str:
    """Keep breakpoints from stopping."""
    return _switch(console.session, words, on=False)


def _switch(session: "DebugSession", words: str, *, on: bool) -> str:
    chosen = _chosen(session, words)
    for made in chosen:
        made.enabled = on
    return "\n".join(describe(made) for made in chosen)


def set_condition(console: "Console", words: str) -> str:
    """Give a breakpoint a condition, or take it away."""
    number, _, text = words.partition(" ")
    made = _one(console.session, number)
    made.condition = text.strip().removeprefix("if ").strip() or None
    made.test = condition(made.condition) if made.condition else None
    return describe(made)


def ignore(console: "Console", words: str) -> str:
    """Pass over the next hits of a breakpoint."""
    number, _, count = words.partition(" ")
    made = _one(console.session, number)
    if not count.strip().isdigit():
        raise UsageError(
            f"{count.strip()!r} is no count; `ignore 2 10` passes over the next ten hits of breakpoint 2"
        )
    made.ignore = int(count)
    return describe(made)


def _chosen(session: "DebugSession", words: str) -> list[Breakpoint]:
    if not words:
        return list(session.breakpoints.values())
    return [_one(session, word) for word in words.replace(",", " ").split()]


def _one(session: "DebugSession", word: str) -> Breakpoint:
    if not word.isdigit() or int(word) not in session.breakpoints:
        known = ", ".join(str(n) for n in session.breakpoints) or "none"
        raise UsageError(f"there is no breakpoint {word!r}; there are: {known}")
    return session.breakpoints[int(word)]


PLACES = """PLACE is one of
  FILE:LINE or LINE      a line of the kernel's source
  FUNCTION               the first line of a function of the kernel
  INTRINSIC              every issue of an intrinsic, as bang_add or __bang_add; `scalar load`, `scalar store`
  pipe NAME              every instruction of a pipe: scalar, vector, tensor, IO-DMA, move-DMA
  task N                 the first line of task N (`task Nm`: of the memory core whose cluster begins with it)
  cycle N, moment N      a moment, as every stop shows it
  time 12.5us            in each task the first instruction that begins at that predicted time or later, in this launch
  finding [ID]           a finding of any checker, of one checker, or of one rule
Behind it: `task N` stops in that task only, `ignore N` passes over N hits, `if EXPR` stops where the
expression holds in the kernel's variables."""

WATCHES = """PLACE is a region of the plan, a tensor, a pointer (watched to its end by name, one element as an
expression), elements as p[2:8], or bytes as nram+0x100:64.  It is the memory of the task in focus; with `all` behind
it, the same addresses of every task.  It stops before the bytes change; an asynchronous effect counts
when it lands."""

COMMANDS = (
    Command("break", ("b",), "[PLACE] [task N] [ignore N] [if EXPR]", STOPPING, "stop at a place: a line, a function, an intrinsic, a pipe, a task, a moment, a finding", break_, PLACES, completes="function"),
    Command("tbreak", ("tb",), "[PLACE] ...", STOPPING, "as break, but only once", tbreak, completes="function"),
    Command("watch", ("w",), "PLACE [all] [task N] [if EXPR]", STOPPING, "stop before bytes are written", watch, WATCHES, completes="place"),
    Command("rwatch", ("rw",), "PLACE [all] ...", STOPPING, "stop before bytes are read", rwatch, completes="place"),
    Command("awatch", ("aw",), "PLACE [all] ...", STOPPING, "stop before bytes are read or written", awatch, completes="place"),
    Command("delete", ("d",), "[NUMBER ...]", STOPPING, "forget breakpoints, or all of them", delete, completes="breakpoint"),
    Command("enable", (), "[NUMBER ...]", STOPPING, "let breakpoints stop again", enable, completes="breakpoint"),
    Command("disable", (), "[NUMBER ...]", STOPPING, "keep breakpoints, but do not stop at them", disable, completes="breakpoint"),
    Command("condition", (), "NUMBER [EXPR]", STOPPING, "let a breakpoint stop only where EXPR holds; without EXPR always", set_condition, completes="breakpoint"),
    Command("ignore", (), "NUMBER COUNT", STOPPING, "pass over the next COUNT hits of a breakpoint", ignore, completes="breakpoint"),
)  # fmt: skip
