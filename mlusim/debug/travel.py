"""Going back: each way of it is a search for the last place before this one, and a run to that place."""

from mlusim.debug.session import DebugSession
from mlusim.debug.stop.moments import END, Position, Stop


def back_to(session: DebugSession, found: Stop | None) -> None:
    """Stand where *found* is, or at the launch's beginning where nothing was found."""
    if found is not None:
        session.travel(found.position, found.reasons, found.hits)
        return
    session.travel(Position(session.position.launch, 0), ["there is nothing before this in the launch"])


def previous_stop(session: DebugSession) -> bool:
    """Stand at the last place before the present at which a breakpoint stops, in this launch or an earlier one.

    False where there is none: it stands where the history begins.
    """
    session.leave_interrupt()
    limit = session.position
    armed = [b for b in session.breakpoints.values() if b.enabled]
    while True:
        if armed and limit.moment:
            found = session.last_before(limit, armed)
            if found is not None:
                session.travel(found.position, found.reasons, found.hits)
                return True
        if limit.launch == 1:
            session.travel(Position(1, 0), ["there is no stop before this; here the history begins"])
            return False
        limit = Position(limit.launch - 1, END)
