"""The verbs of the debugger: each moves a session, forwards or backwards, and returns the new `Stop`.

Going back is a search for the last place before the current one, and a run to that place.  Every verb raises
`UsageError` with the reason if the session cannot move in this way.
"""

from types import FrameType
from typing import TYPE_CHECKING

from mlusim.debug.look.clock import clock_of
from mlusim.debug.run.ahead import reaching
from mlusim.debug.source.frames import depth_of, name_of
from mlusim.debug.stop.steppers import Finish, Intrinsics, IntrinsicStep, Lines, LineStep, NextStep, Until
from mlusim.debug.stop.stops import BEGIN, END, FINISH, LAUNCH_BEGIN, PROGRAM_ENDED, Position, Stop, Stopper
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession
    from mlusim.machine.core import Core

FAILED_HERE = (
    "the kernel has failed here; `continue` hands the fault to the program, reverse commands go back"
)
NOTHING_BEFORE = "there is nothing before this in the launch"
HISTORY_BEGINS = "there is no stop before this; here the history begins"


# -- forwards --------------------------------------------------------------------------------------


def run(session: "DebugSession") -> Stop:
    """Start again at the first launch, and run to the first stop."""
    rewind(session)
    return session.forward()


def start(session: "DebugSession") -> Stop:
    """Start again, and stop at the first line of the first task."""
    rewind(session)
    return session.forward([LineStep(None)])


def rewind(session: "DebugSession") -> Stop:
    """Go to the beginning of the first launch."""
    session.recorded  # noqa: B018 - raises if there is no launch
    first = Position(1, 0)
    return session.travel(first) if session.position != first else session.stop


def resume(session: "DebugSession", count: int = 1) -> Stop:
    """Continue to the *count*-th stop, or to the end of the program."""
    for _ in range(count):
        session.forward()
        if session.ended and session.position.at_end:
            break
    return session.stop


def step(session: "DebugSession", count: int = 1, *, everyone: bool = False) -> Stop:
    """Run *count* lines of the task in focus, stepping into functions; with *everyone* lines of any task."""
    return session.forward([LineStep(_stepper(session, everyone), count)])


def next_line(session: "DebugSession", count: int = 1, *, everyone: bool = False) -> Stop:
    """Run *count* lines, stepping over the functions that they call; with *everyone* lines of any task."""
    if _outside(session):
        return session.forward([LineStep(None, count)])
    core, frame = _stepping(session)
    return session.forward([NextStep(None if everyone else core, frame, count)])


def step_intrinsic(session: "DebugSession", count: int = 1, *, everyone: bool = False) -> Stop:
    """Run *count* intrinsics, scalar accesses or waits."""
    return session.forward([IntrinsicStep(_stepper(session, everyone), count)])


def finish(session: "DebugSession") -> Stop:
    """Run until the function in focus has returned; the stop's ``value`` is its return value."""
    core, _ = _stepping(session)
    frame = session.frame()
    assert frame is not None
    return session.forward([Finish(core, frame)])


def until(session: "DebugSession", file: str | None = None, line: int | None = None) -> Stop:
    """Continue to a later line of this function, to *line* of *file* (default: this file), or out of the function."""
    core, frame = _stepping(session)
    return session.forward([Until(core, frame, file or frame.f_code.co_filename, line)])


def _stepper(session: "DebugSession", everyone: bool) -> "Core | None":
    """Return the core that steps, or None for whichever core comes first."""
    _can_step(session)
    return None if everyone or _outside(session) else _stepping(session)[0]


def _can_step(session: "DebugSession") -> None:
    if session.over:
        raise UsageError(PROGRAM_ENDED)
    if session.stop.error is not None:
        raise UsageError(FAILED_HERE)


def _outside(session: "DebugSession") -> bool:
    """Return whether the task in focus is before or after its kernel; a step then runs whichever task comes first."""
    return session.stop.kind in (LAUNCH_BEGIN, BEGIN, FINISH)


def _stepping(session: "DebugSession") -> "tuple[Core, FrameType]":
    """Return the core in focus and its innermost frame, from a run that can be stepped."""
    if session.at_host:
        session.leave_interrupt()
    _can_step(session)
    core = session.core()
    frame = next(iter(session.look().stack(core)), None) if core is not None else None
    if core is None or frame is None:
        raise UsageError("no task is in the kernel here; `stepi all` goes to whichever comes first")
    return core, frame


# -- backwards -------------------------------------------------------------------------------------


def reverse_step_intrinsic(session: "DebugSession", count: int = 1, *, everyone: bool = False) -> Stop:
    """Go back by *count* intrinsics, scalar accesses or waits."""
    return _back(session, Intrinsics(None if everyone else _label(session)), count)


def reverse_step(session: "DebugSession", count: int = 1, *, everyone: bool = False) -> Stop:
    """Go back by *count* lines of the task in focus, stepping into functions."""
    return _back(session, Lines(None if everyone else _label(session)), count)


def reverse_next(session: "DebugSession", count: int = 1, *, everyone: bool = False) -> Stop:
    """Go back by *count* lines of this function, stepping over calls."""
    for _ in range(count):
        _back(session, Lines(None if everyone else _label(session), _depth(session)))
        if session.position.moment == 0:
            break
    return session.stop


def reverse_finish(session: "DebugSession") -> Stop:
    """Go back to the line that called this function."""
    depth = _depth(session)
    if depth is None:
        raise UsageError("no task is in the kernel here; `reverse-step` goes back into it")
    if depth < 2:
        raise UsageError(
            "this is the kernel itself, which the machine calls; `goto begin` goes to the launch's beginning"
        )
    return _back(session, Lines(_label(session), depth - 1))


def reverse_continue(session: "DebugSession", count: int = 1) -> Stop:
    """Go back to the *count*-th stop before the current one, in this launch or an earlier one, or to the beginning of the first launch."""
    for _ in range(count):
        if not _previous_stop(session):
            break
    return session.stop


def moment_at(session: "DebugSession", launch: int, time_us: float) -> Position:
    """Return the first moment of the task in focus, or of task 0, that begins at a predicted time or later."""
    core = session.focus or "task 0"
    clock = clock_of(session.runs, launch)
    moment = clock.first(core, time_us)
    if moment is None:
        raise UsageError(
            f"no instruction of {core} begins at {time_us:g} us or later; the launch takes {clock.whole_us:.3f} us"
        )
    return Position(launch, moment)


def _previous_stop(session: "DebugSession") -> bool:
    """Go back to the last place at which a breakpoint stops, and return True; return False if there is none."""
    session.leave_interrupt()
    limit = session.position
    armed = session.armed()
    while True:
        able = reaching(armed, session.runs.recorded(limit.launch))
        if able and limit.moment:
            stop = session.last_before(limit, able)
            if stop is not None:
                session.travel(stop.position, stop.reasons, stop.hits)
                return True
        if limit.launch == 1:
            session.travel(Position(1, 0), [HISTORY_BEGINS])
            return False
        limit = Position(limit.launch - 1, END)


def _back(session: "DebugSession", wanted: Stopper, count: int = 1) -> Stop:
    session.leave_interrupt()
    stop = session.last_before(session.position, [wanted], count)
    if stop is None:
        return session.travel(Position(session.position.launch, 0), [NOTHING_BEFORE])
    return session.travel(stop.position, stop.reasons, stop.hits)


def _label(session: "DebugSession") -> str | None:
    core = None if _outside(session) else session.core()
    return name_of(core) if core is not None else None


def _depth(session: "DebugSession") -> int | None:
    stack = session.stack()
    if session.stop.error is not None:
        return len(stack) or None
    return depth_of(stack[0]) if stack else None
