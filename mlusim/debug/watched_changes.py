"""The bytes under a watchpoint before and behind the instruction at which it stops."""

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from mlusim.debug.look.describe import elements
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.look.places import owner_in
from mlusim.debug.look.regions import array_of
from mlusim.debug.stop.breakpoints import Breakpoint, Watchpoint
from mlusim.debug.stop.moments import Position
from mlusim.errors import MlusimError

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession

Array = np.ndarray[Any, Any]
SHOWN = 4  # elements that are shown one by one


def change_of(session: "DebugSession", made: Breakpoint) -> str:
    """``buffer[3]: 0 -> 7``: the elements that are about to change; nothing where that cannot be told.

    What they will be is read from a run of the launch that goes one moment further.
    """
    location, stop = made.location, session.stop
    if not (
        isinstance(location, Watchpoint) and location.writes and stop.op is not None and stop.core is not None
    ):
        return ""
    span = location.span
    if span.anyone:
        span = evolve(span, owner=owner_in(span.space, stop.core), anyone=False)
    try:
        before = array_of(session.look(), stop.core, span).reshape(-1)
        run = session.runs.aside(Position(stop.position.launch, stop.position.moment + 1))
    except MlusimError:
        return ""
    try:
        assert run.stop is not None
        there = PausedRun(run.recorded, run.session, run.tracer, run.stop)
        own = there.core(session.focus or "")
        behind = array_of(there, own, span).reshape(-1)
    except MlusimError:
        return ""
    finally:
        run.abandon()
    return _told(span.text, before, behind)


def _told(text: str, before: Array, behind: Array) -> str:
    """Say which of the first elements differ, with both values."""
    raw = [np.ascontiguousarray(a).view(np.uint8).reshape(a.size, -1) for a in (before, behind)]
    changed = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
    if not changed.size:
        return f"{text} keeps its value{'s' * (before.size > 1)}: {', '.join(elements(before[:SHOWN]))}" + (
            ", ..." if before.size > SHOWN else ""
        )
    name = text if before.size == 1 else f"{text}[{{}}]"
    lines = [
        f"{name.format(int(at))}: {elements(before[at : at + 1])[0]} -> {elements(behind[at : at + 1])[0]}"
        for at in changed[:SHOWN]
    ]
    rest = changed.size - len(lines)
    return "\n".join(lines) + (f"\nand {rest} more" if rest else "")
