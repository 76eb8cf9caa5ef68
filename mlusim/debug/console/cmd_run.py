"""The commands that move: forwards, backwards, to a moment."""

from typing import TYPE_CHECKING

from mlusim.debug.console.command import BACK, RUNNING, Command
from mlusim.debug.look.clock import clock_of
from mlusim.debug.session import PROGRAM_ENDED
from mlusim.debug.source.core_names import name_of
from mlusim.debug.source.frames import depth_of
from mlusim.debug.source.functions import find_line
from mlusim.debug.stop.moments import BEGIN, END, FINISH, LAUNCH_BEGIN, Position, parse_time
from mlusim.debug.stop.steppers import Finish, Intrinsics, IntrinsicStep, Lines, LineStep, NextStep, Until
from mlusim.debug.travel import back_to, previous_stop
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from mlusim.debug.console.console import Console
    from mlusim.debug.session import DebugSession
    from mlusim.debug.stop.breakpoints import Stopper
    from mlusim.machine.core import Core

FAILED_HERE = (
    "the kernel has failed here; `continue` hands the fault to the program, reverse commands go back"
)


# -- forwards --------------------------------------------------------------------------------------


def run(console: "Console", words: str) -> str:
    """Begin again, and go on to the first stop."""
    _none(words, "run")
    session = console.session
    _rewind(session)
    session.forward()
    return console.stop_text()


def start(console: "Console", words: str) -> str:
    """Begin again, and stop at the first line."""
    _none(words, "start")
    session = console.session
    _rewind(session)
    session.forward([LineStep(None)])
    return console.stop_text()


def _rewind(session: "DebugSession") -> None:
    session.recorded  # noqa: B018 - refuses where there is no launch
    if session.position != Position(1, 0):
        session.travel(Position(1, 0))


def continue_(console: "Console", words: str) -> str:
    """Go on, past *words* stops less one."""
    for _ in range(_count(words)):
        console.session.forward()
        if console.session.ended and console.session.position.at_end:
            break
    return console.stop_text()


def step(console: "Console", words: str) -> str:
    """One line."""
    count, everyone = _count_all(words)
    console.session.forward([LineStep(_stepper(console.session, everyone), count)])
    return console.stop_text()


def next_(console: "Console", words: str) -> str:
    """One line, over calls."""
    count, everyone = _count_all(words)
    if _nobody(console.session):
        console.session.forward([LineStep(None, count)])
    else:
        core, frame = _stepping(console.session)
        console.session.forward([NextStep(None if everyone else core, frame, count)])
    return console.stop_text()


def stepi(console: "Console", words: str) -> str:
    """One intrinsic."""
    count, everyone = _count_all(words)
    console.session.forward([IntrinsicStep(_stepper(console.session, everyone), count)])
    return console.stop_text()


def finish(console: "Console", words: str) -> str:
    """To the caller."""
    _none(words, "finish")
    core, _ = _stepping(console.session)
    frame = console.session.frame()
    assert frame is not None
    console.session.forward([Finish(core, frame)])
    return console.stop_text()


def until(console: "Console", words: str) -> str:
    """To a later line."""
    session = console.session
    core, frame = _stepping(session)
    file, line = frame.f_code.co_filename, None
    if words:
        name, _, number = words.rpartition(":")
        if not number.isdigit():
            raise UsageError(f"until takes a line, as in `until 94` or `until kernel.py:94`, not {words!r}")
        file, line = find_line(name or file, int(number), session.recorded.functions, session.recorded.owned)
    session.forward([Until(core, frame, file, line)])
    return console.stop_text()


def _stepper(session: "DebugSession", everyone: bool) -> "Core | None":
    """The core that steps; None where whichever comes first is meant."""
    _can_step(session)
    return None if everyone or _nobody(session) else _stepping(session)[0]


def _can_step(session: "DebugSession") -> None:
    if session.ended and session.position.at_end and session.recorded is session.launches[-1]:
        raise UsageError(PROGRAM_ENDED)
    if session.stop.error is not None:
        raise UsageError(FAILED_HERE)


def _nobody(session: "DebugSession") -> bool:
    """Whether the task in focus is not in the kernel, yet or any more: a step goes to whichever comes first then."""
    return session.stop.kind in (LAUNCH_BEGIN, BEGIN, FINISH)


def _stepping(session: "DebugSession") -> "tuple[Core, FrameType]":
    """The core in focus and its innermost frame, in a run that can be stepped."""
    if session.at_host:
        session.leave_interrupt()
    _can_step(session)
    core = session.core()
    frame = next(iter(session.look().stack(core)), None) if core is not None else None
    if core is None or frame is None:
        raise UsageError("no task is in the kernel here; `stepi all` goes to whichever comes first")
    return core, frame


# -- backwards -------------------------------------------------------------------------------------


def reverse_stepi(console: "Console", words: str) -> str:
    """The intrinsic before."""
    count, everyone = _count_all(words)
    _back(console.session, Intrinsics(None if everyone else _label(console.session)), count)
    return console.stop_text()


def reverse_step(console: "Console", words: str) -> str:
    """The line before."""
    count, everyone = _count_all(words)
    _back(console.session, Lines(None if everyone else _label(console.session)), count)
    return console.stop_text()


def reverse_next(console: "Console", words: str) -> str:
    """The line before, over calls."""
    count, everyone = _count_all(words)
    for _ in range(count):
        label = None if everyone else _label(console.session)
        _back(console.session, Lines(label, _depth(console.session)))
        if console.session.position.moment == 0:
            break
    return console.stop_text()


def reverse_finish(console: "Console", words: str) -> str:
    """The call of this function."""
    _none(words, "reverse-finish")
    depth = _depth(console.session)
    if depth is None:
        raise UsageError("no task is in the kernel here; `reverse-step` goes back into it")
    if depth < 2:
        raise UsageError(
            "this is the kernel itself, which nobody called; `goto begin` goes to the launch's beginning"
        )
    _back(console.session, Lines(_label(console.session), depth - 1))
    return console.stop_text()


def reverse_continue(console: "Console", words: str) -> str:
    """The stop before."""
    for _ in range(_count(words)):
        if not previous_stop(console.session):
            break
    return console.stop_text()


def goto(console: "Console", words: str) -> str:
    """Any moment."""
    session = console.session
    launch, _, moment = words.rpartition(":")
    index = session.recorded.index
    if launch:
        index = _number(launch, "launch")
    number = {"begin": 0, "end": END}.get(moment)
    if number is None:
        time_us = parse_time(moment)
        number = _number(moment, "moment") if time_us is None else _moment_at(session, index, time_us)
    session.travel(Position(index, number))
    return console.stop_text()


def _moment_at(session: "DebugSession", launch: int, time_us: float) -> int:
    """The first moment of the task in focus that begins at a predicted time or later; of task 0 where nobody is."""
    core = session.focus or "task 0"
    clock = clock_of(session.runs, launch)
    moment = clock.first(core, time_us)
    if moment is None:
        raise UsageError(
            f"no instruction of {core} begins at {time_us:g} us or later; the launch takes {clock.whole_us:.3f} us"
        )
    return moment


def _back(session: "DebugSession", wanted: "Stopper", count: int = 1) -> None:
    session.leave_interrupt()
    back_to(session, session.last_before(session.position, [wanted], count))


def _label(session: "DebugSession") -> str | None:
    core = None if _nobody(session) else session.core()
    return name_of(core) if core is not None else None


def _depth(session: "DebugSession") -> int | None:
    stack = session.stack()
    if session.stop.error is not None:
        return len(stack) or None
    return depth_of(stack[0]) if stack else None


# -- arguments -------------------------------------------------------------------------------------


def _none(words: str, name: str) -> None:
    if words:
        raise UsageError(f"{name} takes no argument, and got {words!r}")


def _number(text: str, what: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        raise UsageError(f"{text!r} is no {what}; give a whole number, `begin` or `end`") from None
    if number < 0:
        raise UsageError(f"{what} {number} is before the beginning; the first is {what} 0")
    return number


def _count(words: str) -> int:
    count, everyone = _count_all(words)
    if everyone:
        raise UsageError("every task goes on anyway; give a count, or nothing")
    return count


def _count_all(words: str) -> tuple[int, bool]:
    """A count, 1 without one, and whether ``all`` was said."""
    given = words.split()
    everyone = "all" in given
    rest = [word for word in given if word != "all"]
    if not rest:
        return 1, everyone
    if len(rest) > 1 or not rest[0].isdigit() or int(rest[0]) < 1:
        raise UsageError(
            f"{' '.join(rest)!r} is no count; give a whole number, 1 or more, and `all` for every task"
        )
    return int(rest[0]), everyone


COMMANDS = (
    Command("run", ("r",), "", RUNNING, "begin again at the first launch, and run to the first stop", run),
    Command("start", (), "", RUNNING, "begin again, and stop at the first line of the first task", start),
    Command("continue", ("c",), "[N]", RUNNING, "run to the next stop, or to the N-th", continue_, repeats=True),
    Command("step", ("s",), "[N] [all]", RUNNING, "run to the next line of this task, into functions; with `all` to the next line of any task", step, repeats=True),
    Command("next", ("n",), "[N] [all]", RUNNING, "as step, but over the functions that a line calls, and over barriers", next_, repeats=True),
    Command("stepi", ("si",), "[N] [all]", RUNNING, "run to the next intrinsic, scalar access or wait of this task, or of any", stepi, repeats=True),
    Command("finish", ("fin",), "", RUNNING, "run until the function in focus has returned; show its value", finish),
    Command("until", ("u",), "[[FILE:]LINE]", RUNNING, "run to a later line of this function (out of loops), to LINE, or out of the function", until, repeats=True),
    Command("reverse-continue", ("rc",), "[N]", BACK, "go back to the stop before, of this launch or an earlier one, or to the beginning of the first launch", reverse_continue, repeats=True),
    Command("reverse-step", ("rs",), "[N] [all]", BACK, "go back one line of this task, into functions", reverse_step, repeats=True),
    Command("reverse-next", ("rn",), "[N] [all]", BACK, "go back one line of this function, over calls", reverse_next, repeats=True),
    Command("reverse-stepi", ("rsi",), "[N] [all]", BACK, "go back one intrinsic, scalar access or wait", reverse_stepi, repeats=True),
    Command("reverse-finish", ("rfin",), "", BACK, "go back to the line that called this function", reverse_finish),
    Command("goto", ("g",), "[LAUNCH:]MOMENT|TIMEus|begin|end", BACK, "go to a moment of this launch or of another, earlier or later; to the predicted time of this task, as in `goto 12.5us`", goto),
)  # fmt: skip
