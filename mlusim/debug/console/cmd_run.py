"""The commands that move, forwards, backwards and to a moment; and those that set, change and save breakpoints and their commands."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mlusim.debug import verbs
from mlusim.debug.console.command import BACK, RUNNING, STOPPING, Command, CommandContext
from mlusim.debug.locations import break_at, doubt, set_condition as change_condition, watch_at
from mlusim.debug.look.evaluate import parse
from mlusim.debug.source.frames import parse_name
from mlusim.debug.source.functions import find_line
from mlusim.debug.stop import stops
from mlusim.errors import UsageError
from mlusim.files.writing import write_text

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession


def _counted(verb: Callable[..., stops.Stop]) -> Callable[[CommandContext, str], str]:
    """Make the command of a verb with the arguments ``[N] [all]``: a count, and whether steps of all tasks count."""

    def command(console: CommandContext, words: str) -> str:
        count, everyone = _count_all(words)
        verb(console.session, count, everyone=everyone)
        return console.stop_text()

    return command


def _repeated(verb: "Callable[[DebugSession, int], stops.Stop]") -> Callable[[CommandContext, str], str]:
    """Make the command of a verb with the argument ``[N]``."""

    def command(console: CommandContext, words: str) -> str:
        count, everyone = _count_all(words)
        if everyone:
            raise UsageError("every task goes on anyway; give a count, or nothing")
        verb(console.session, count)
        return console.stop_text()

    return command


def _bare(verb: "Callable[[DebugSession], stops.Stop]", name: str) -> Callable[[CommandContext, str], str]:
    """Make the command of a verb without arguments."""

    def command(console: CommandContext, words: str) -> str:
        if words:
            raise UsageError(f"{name} takes no argument, and got {words!r}")
        verb(console.session)
        return console.stop_text()

    return command


def until(console: CommandContext, words: str) -> str:
    """Run to a later line."""
    session = console.session
    file, line = None, None
    if words:
        name, _, number = words.rpartition(":")
        if not number.isdigit():
            raise UsageError(f"until takes a line, as in `until 94` or `until kernel.py:94`, not {words!r}")
        site = session.site()
        here = name or (site[0] if site is not None else "")
        file, line = find_line(here, int(number), session.functions, session.owned)
    verbs.until(session, file, line)
    return console.stop_text()


def advance(console: CommandContext, words: str) -> str:
    """Run to a place once."""
    session = console.session
    if not words:
        raise UsageError(
            "advance takes a place, as in `advance 94` or `advance helper`; `help break` lists the forms"
        )
    point = break_at(session, words, temporary=True)
    point.silent = True
    try:
        session.forward()
    finally:
        session.breakpoints.pop(point.number, None)
        session.numbered -= 1  # the number is reused: the breakpoint was not one of the user's
    return console.stop_text()


def goto(console: CommandContext, words: str) -> str:
    """Go to any moment, forwards or back."""
    session = console.session
    launch, _, moment = words.rpartition(":")
    index = _number(launch, "launch") if launch else session.recorded.index
    number = {"begin": 0, "end": stops.END}.get(moment)
    time_us = stops.parse_time(moment)
    if time_us is not None:
        session.travel(verbs.moment_at(session, index, time_us))
    else:
        session.travel(stops.Position(index, _number(moment, "moment") if number is None else number))
    return console.stop_text()


# -- arguments -------------------------------------------------------------------------------------


def _number(text: str, what: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        raise UsageError(f"{text!r} is not a {what}; give a whole number, `begin` or `end`") from None
    if number < 0:
        raise UsageError(f"{what} {number} is before the beginning; the first is {what} 0")
    return number


def _count_all(words: str) -> tuple[int, bool]:
    """Return the count, 1 by default, and whether ``all`` was given."""
    parts = words.split()
    everyone = "all" in parts
    rest = [word for word in parts if word != "all"]
    if not rest:
        return 1, everyone
    if len(rest) > 1 or not rest[0].isdigit() or int(rest[0]) < 1:
        raise UsageError(
            f"{' '.join(rest)!r} is not a count; give a whole number, 1 or more, and `all` for every task"
        )
    return int(rest[0]), everyone


RUN_COMMANDS = (
    Command("run", ("r",), "", RUNNING, "begin again at the first launch, and run to the first stop", _bare(verbs.run, "run")),
    Command("start", (), "", RUNNING, "begin again, and stop at the first line of the first task", _bare(verbs.start, "start")),
    Command("continue", ("c",), "[N]", RUNNING, "run to the next stop, or to the N-th", _repeated(verbs.resume), repeats=True),
    Command("step", ("s",), "[N] [all]", RUNNING, "run to the next line of this task, into functions; with `all` to the next line of any task", _counted(verbs.step), repeats=True),
    Command("next", ("n",), "[N] [all]", RUNNING, "as step, but over the functions that a line calls, and over barriers", _counted(verbs.next_line), repeats=True),
    Command("stepi", ("si",), "[N] [all]", RUNNING, "run to the next intrinsic, scalar access or wait of this task, or of any", _counted(verbs.step_intrinsic), repeats=True),
    Command("finish", ("fin",), "", RUNNING, "run until the function in focus has returned; show its value", _bare(verbs.finish, "finish")),
    Command("until", ("u",), "[[FILE:]LINE]", RUNNING, "run to a later line of this function (out of loops), to LINE, or out of the function", until, repeats=True),
    Command("advance", (), "PLACE", RUNNING, "run to a place, of any task, as a breakpoint that is forgotten at the next stop", advance, completes="function"),
    Command("reverse-continue", ("rc",), "[N]", BACK, "go back to the stop before, of this launch or an earlier one, or to the beginning of the first launch", _repeated(verbs.reverse_continue), repeats=True),
    Command("reverse-step", ("rs",), "[N] [all]", BACK, "go back one line of this task, into functions", _counted(verbs.reverse_step), repeats=True),
    Command("reverse-next", ("rn",), "[N] [all]", BACK, "go back one line of this function, over calls", _counted(verbs.reverse_next), repeats=True),
    Command("reverse-stepi", ("rsi",), "[N] [all]", BACK, "go back one intrinsic, scalar access or wait", _counted(verbs.reverse_step_intrinsic), repeats=True),
    Command("reverse-finish", ("rfin",), "", BACK, "go back to the line that called this function", _bare(verbs.reverse_finish, "reverse-finish")),
    Command("goto", ("g",), "[LAUNCH:]MOMENT|TIMEus|begin|end", BACK, "go to a moment of this launch or of another, earlier or later; to the predicted time of this task, as in `goto 12.5us`", goto),
)  # fmt: skip


_IF = re.compile(r"(?:^|\s)if(?:\s+(?P<text>.*))?$")
_TASK = re.compile(r"\s+task\s+(?P<task>\d+\s*m?)$")
_COUNT = re.compile(r"\s+ignore\s+(?P<count>\d+)$")


def break_(console: CommandContext, words: str) -> str:
    """Stop at a place."""
    return _set(console.session, words, temporary=False)


def tbreak(console: CommandContext, words: str) -> str:
    """Stop at a place once."""
    return _set(console.session, words, temporary=True)


def watch(console: CommandContext, words: str) -> str:
    """Stop before bytes are written."""
    return _watch(console.session, words, writes=True, reads=False)


def rwatch(console: CommandContext, words: str) -> str:
    """Stop before bytes are read."""
    return _watch(console.session, words, writes=False, reads=True)


def awatch(console: CommandContext, words: str) -> str:
    """Stop before bytes are read or written."""
    return _watch(console.session, words, writes=True, reads=True)


def _set(session: "DebugSession", words: str, *, temporary: bool) -> str:
    place, said = _conditions(words)
    return _told(session, break_at(session, place, temporary=temporary, **said))


def _watch(session: "DebugSession", words: str, *, writes: bool, reads: bool) -> str:
    place, said = _conditions(words)
    anyone = place.endswith(" all")
    place = place.removesuffix(" all").strip()
    return _told(session, watch_at(session, place, writes=writes, reads=reads, anyone=anyone, **said))


def _conditions(words: str) -> tuple[str, dict[str, Any]]:
    """Split *words* into the place and the options after it: ``task N``, ``ignore N``, ``if EXPR``."""
    # The condition is split off first: it reaches to the end of the line and may contain the other words.
    said: dict[str, Any] = {}
    match = _IF.search(words)
    if match is not None:
        if not match["text"]:
            raise UsageError("`if` takes an expression in the kernel's variables, as in `if i == 3`")
        said["text"], words = match["text"].strip(), words[: match.start()]
        # The condition is checked before the breakpoint is set, so that an error leaves no breakpoint behind.
        _expression(said["text"])
    words = words.rstrip()
    match = _COUNT.search(words)
    if match is not None:
        said["ignore"], words = int(match["count"]), words[: match.start()]
    match = _TASK.search(words)
    if match is not None:
        said["task"], words = parse_name(match["task"]), words[: match.start()]
    return words.strip(), said


def _expression(text: str) -> None:
    try:
        parse(text)
    except UsageError as error:
        behind = _COUNT.search(text) or _TASK.search(text)
        if behind is not None:
            # Everything after `if` belongs to the expression; `task` after it is the usual mistake.
            raise UsageError(f"{error}; write `{behind[0].strip()}` in front of `if`") from None
        raise


def _told(session: "DebugSession", point: stops.Breakpoint) -> str:
    note = doubt(session, point)
    return stops.described(point) + (f"\nnote: {note}" if note else "")


# -- changing them -----------------------------------------------------------------------------------


def delete(console: CommandContext, words: str) -> str:
    """Delete the given breakpoints, or all."""
    chosen = _chosen(console.session, words)
    for point in chosen:
        del console.session.breakpoints[point.number]
    return f"{len(chosen)} deleted"


def enable(console: CommandContext, words: str) -> str:
    """Enable the given breakpoints, or all."""
    return _switch(console.session, words, on=True)


def disable(console: CommandContext, words: str) -> str:
    """Disable the given breakpoints, or all."""
    return _switch(console.session, words, on=False)


def _switch(session: "DebugSession", words: str, *, on: bool) -> str:
    chosen = _chosen(session, words)
    for point in chosen:
        point.enabled = on
    return "\n".join(stops.described(point) for point in chosen)


def set_condition(console: CommandContext, words: str) -> str:
    """Set or remove the condition of a breakpoint."""
    number, _, text = words.partition(" ")
    point = _one(console.session, number)
    # Users type `condition 2 if i == 3` by analogy with `break ... if`.
    change_condition(console.session, point, text.strip().removeprefix("if ").strip() or None)
    return stops.described(point)


def ignore(console: CommandContext, words: str) -> str:
    """Ignore the next hits of a breakpoint."""
    number, _, count = words.partition(" ")
    point = _one(console.session, number)
    if not count.strip().isdigit():
        raise UsageError(
            f"{count.strip()!r} is not a count; `ignore 2 10` passes over the next ten hits of breakpoint 2"
        )
    point.ignore = int(count)
    return stops.described(point)


def _chosen(session: "DebugSession", words: str) -> list[stops.Breakpoint]:
    # Without numbers all breakpoints are meant, as in gdb.
    if not words:
        return list(session.breakpoints.values())
    return [_one(session, word) for word in words.replace(",", " ").split()]


def _one(session: "DebugSession", word: str) -> stops.Breakpoint:
    if word == "$" and session.breakpoints:
        return session.breakpoints[max(session.breakpoints)]
    if not word.isdigit() or int(word) not in session.breakpoints:
        numbers = ", ".join(str(n) for n in session.breakpoints) or "none"
        raise UsageError(f"there is no breakpoint {word!r}; there are: {numbers}")
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
when it lands.  A scalar, a member or any other expression in the variables of the function in focus is watched by its
value, line by line: it stops behind the line that has changed it, with the old value and the new one, in this task (with
`all` in every task that is in the function), and goes on with the next call of the function."""


def commands(console: CommandContext, words: str) -> str:
    """Set the commands that are executed when a breakpoint stops."""
    number, _, rest = words.partition(" ")
    # Without a number the newest breakpoint is meant, as in gdb.
    point = _one(console.session, number or str(max(console.session.breakpoints, default=0)))
    if rest.strip():
        attach(console, point.number, rest.split(";"))
        return told(console, point.number)
    console.collecting = point.number, []
    return f"commands for breakpoint {point.number}, one a line, until `end`"


def attach(console: CommandContext, number: int, lines: list[str]) -> None:
    """Store *lines* as the commands of a breakpoint; an empty list removes its commands."""
    console.attached[number] = [line.strip() for line in lines if line.strip()]
    if not console.attached[number]:
        del console.attached[number]


def told(console: CommandContext, number: int) -> str:
    """Return a sentence with the commands of a breakpoint."""
    lines = console.attached.get(number, [])
    return f"breakpoint {number}: {'; '.join(lines) if lines else 'no commands'}"


def save(console: CommandContext, words: str) -> str:
    """Write the breakpoints to a file, in the form of commands."""
    kind, _, name = words.partition(" ")
    if kind not in ("breakpoints", "b") or not name.strip():
        raise UsageError("save takes `breakpoints` and a file, as in `save breakpoints stops.txt`")
    lines = [line for point in console.session.breakpoints.values() for line in _lines(console, point)]
    write_text(name.strip(), "".join(f"{line}\n" for line in lines), keep=True)
    return f"{len(console.session.breakpoints)} written to {name.strip()}; `source {name.strip()}` sets them again"


def _lines(console: CommandContext, point: stops.Breakpoint) -> Iterator[str]:
    """Yield the commands that set the breakpoint again."""
    location, place = point.location, point.words
    verb = "tbreak" if point.temporary else "break"
    if isinstance(location, stops.Watchpoint):
        verb = "awatch" if location.writes and location.reads else "watch" if location.writes else "rwatch"
        # The words name every task only if the user typed that; the span always has its owner.
        place += " all" if location.span.anyone and not place.endswith(" all") else ""
    elif isinstance(location, stops.ValueWatch):
        verb, place = "watch", place + " all" * (location.label is None)
    elif isinstance(location, stops.LineLocation):
        # With its file, since a bare number means another file if another frame is in focus.
        place = f"{location.file}:{location.line}"
    limits = f" {point.task}" * bool(point.task) + f" ignore {point.ignore}" * bool(point.ignore)
    yield f"{verb} {place}{limits}" + (f" if {point.condition}" if point.condition else "")
    attached = console.attached.get(point.number)
    if attached:
        yield from ("commands", *attached, "end")
    if not point.enabled:
        # By $, the newest breakpoint, since its number differs in the session that reads the file.
        yield "disable $"


STOP_COMMANDS = (
    Command("break", ("b",), "[PLACE] [task N] [ignore N] [if EXPR]", STOPPING, "stop at a place: a line, a function, an intrinsic, a pipe, a task, a moment, a finding", break_, PLACES, completes="function"),
    Command("tbreak", ("tb",), "[PLACE] ...", STOPPING, "as break, but only once", tbreak, completes="function"),
    Command("watch", ("w",), "PLACE|EXPR [all] [task N] [if EXPR]", STOPPING, "stop before bytes are written, or where the value of an expression has changed", watch, WATCHES, completes="place"),
    Command("rwatch", ("rw",), "PLACE [all] ...", STOPPING, "stop before bytes are read", rwatch, completes="place"),
    Command("awatch", ("aw",), "PLACE [all] ...", STOPPING, "stop before bytes are read or written", awatch, completes="place"),
    Command("delete", ("d",), "[NUMBER ...]", STOPPING, "forget breakpoints, or all of them", delete, completes="breakpoint"),
    Command("enable", (), "[NUMBER ...]", STOPPING, "let breakpoints stop again", enable, completes="breakpoint"),
    Command("disable", (), "[NUMBER ...]", STOPPING, "keep breakpoints, but do not stop at them", disable, completes="breakpoint"),
    Command("condition", (), "NUMBER [EXPR]", STOPPING, "let a breakpoint stop only where EXPR holds; without EXPR always", set_condition, completes="breakpoint"),
    Command("ignore", (), "NUMBER COUNT", STOPPING, "pass over the next COUNT hits of a breakpoint", ignore, completes="breakpoint"),
    Command("commands", (), "[NUMBER] [COMMAND; ...]", STOPPING, "execute commands where a breakpoint stops; without any, lines follow until `end`", commands, "The commands of a stop end where one of them moves: those of the next stop come then.", completes="breakpoint"),
    Command("save", (), "breakpoints FILE", STOPPING, "write the breakpoints to a file of commands, for `source`", save),
)  # fmt: skip

COMMANDS = (*RUN_COMMANDS, *STOP_COMMANDS)
