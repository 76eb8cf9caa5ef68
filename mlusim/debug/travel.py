"""Going back: each way of it is a search for the last place before this one, and a run to that place."""

from mlusim.debug.session import DebugSession
from mlusim.debug.steps import Lines
from mlusim.debug.when import END, LAUNCH_BEGIN, Position, Stop

WINDOW = 64  # moments before the present in which lines are looked for first; four times as many each time


def back_to(session: DebugSession, found: Stop | None) -> None:
    """Stand where *found* is, or at the launch's beginning where nothing was found."""
    if found is not None:
        session.travel(found.position, found.reasons, found.hits)
        return
    session.travel(Position(session.position.launch, 0), ["there is nothing before this in the launch"])


def back_lines(session: DebugSession, wanted: Lines) -> None:
    """Stand at the last line before the present that *wanted* takes; lines are traced only near the present."""
    here = session.position
    moment = session.moments(here.launch) if here.at_end else here.moment
    window = WINDOW
    while True:
        begin = max(0, moment - window)
        found = session.last_before(here, [wanted], trace_from=begin)
        if found is not None or begin == 0:
            back_to(session, found)
            return
        window *= 4


def previous_stop(session: DebugSession) -> None:
    """Stand at the last place before the present at which a breakpoint stops, in this launch or an earlier one."""
    limit = session.position
    armed = [b for b in session.breakpoints.values() if b.enabled]
    while True:
        if armed and limit.moment:
            found = session.last_before(limit, armed)
            if found is not None:
                session.travel(found.position, found.reasons, found.hits)
                return
        if limit.launch == 1:
            session.travel(Position(1, 0), ["there is no stop before this; here the history begins"])
            return
        limit = Position(limit.launch - 1, END)


def at_beginning(session: DebugSession) -> bool:
    """Whether it stands at the beginning of a launch."""
    return session.stop.kind is LAUNCH_BEGIN
