"""The commands that move: forwards, backwards, to a moment."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlusim.debug import verbs
from mlusim.debug.console.command import BACK, RUNNING, Command, CommandContext
from mlusim.debug.locations import break_at
from mlusim.debug.source.functions import find_line
from mlusim.debug.stop.stops import END, Position, Stop, parse_time
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession


def _counted(verb: Callable[..., Stop]) -> Callable[[CommandContext, str], str]:
    """Return the command of a verb that takes ``[N] [all]``: a count, and whether the steps of every task count."""

    def command(console: CommandContext, words: str) -> str:
        count, everyone = _count_all(words)
        verb(console.session, count, everyone=everyone)
        return console.stop_text()

    return command


def _repeated(verb: "Callable[[DebugSession, int], Stop]") -> Callable[[CommandContext, str], str]:
    """Return the command of a verb that takes ``[N]``."""

    def command(console: CommandContext, words: str) -> str:
        count, everyone = _count_all(words)
        if everyone:
            raise UsageError("every task goes on anyway; give a count, or nothing")
        verb(console.session, count)
        return console.stop_text()

    return command


def _bare(verb: "Callable[[DebugSession], Stop]", name: str) -> Callable[[CommandContext, str], str]:
    """Return the command of a verb without arguments."""

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
    made = break_at(session, words, temporary=True)
    made.silent = True
    try:
        session.forward()
    finally:
        session.breakpoints.pop(made.number, None)
        session.numbered -= 1  # its number is given back: it was not a breakpoint of the user's
    return console.stop_text()


def goto(console: CommandContext, words: str) -> str:
    """Go to any moment, forwards or back."""
    session = console.session
    launch, _, moment = words.rpartition(":")
    index = _number(launch, "launch") if launch else session.recorded.index
    number = {"begin": 0, "end": END}.get(moment)
    time_us = parse_time(moment)
    if time_us is not None:
        session.travel(verbs.moment_at(session, index, time_us))
    else:
        session.travel(Position(index, _number(moment, "moment") if number is None else number))
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
    """Return the count, 1 if none is given, and whether ``all`` was given."""
    given = words.split()
    everyone = "all" in given
    rest = [word for word in given if word != "all"]
    if not rest:
        return 1, everyone
    if len(rest) > 1 or not rest[0].isdigit() or int(rest[0]) < 1:
        raise UsageError(
            f"{' '.join(rest)!r} is not a count; give a whole number, 1 or more, and `all` for every task"
        )
    return int(rest[0]), everyone


COMMANDS = (
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
