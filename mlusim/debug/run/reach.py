"""Which breakpoints can stop in a launch of BANG C at all: the others need no watching, and a launch without any runs at full speed.

Of a kernel in Python it is not known: it may call what none of its functions names.
"""

from collections.abc import Iterable
from functools import singledispatch
from types import CodeType
from typing import Any

from mlusim.debug.run.counted_moments import HEARD
from mlusim.debug.run.launches import KeptLaunch
from mlusim.debug.stop.breakpoints import (
    Breakpoint,
    CallLocation,
    FunctionLocation,
    IntrinsicLocation,
    LineLocation,
    Location,
    PendingLocation,
    TimeLocation,
    Watchpoint,
)
from mlusim.debug.stop.value_watch import ValueWatch
from mlusim.kernel_frames import function_of
from mlusim.memory.space import GDRAM


def reaching(made: Iterable[Breakpoint], recorded: KeptLaunch) -> list[Breakpoint]:
    """Return those of the breakpoints *made* that can stop in a launch, as far as its code and its tensors tell."""
    plan = getattr(recorded.session.request.kernel, "plan", None)
    if plan is None:
        return list(made)
    return [one for one in made if _reaches(one.location, recorded, plan)]


@singledispatch
def _reaches(location: Location, recorded: KeptLaunch, plan: object) -> bool:
    """Return whether the launch, whose code is that of *plan*, can come to *location*; True where that is not known."""
    del location, recorded, plan
    return True


@_reaches.register
def _(location: LineLocation, recorded: KeptLaunch, plan: object) -> bool:
    del recorded
    return (location.file, location.line) in _lines(plan)


@_reaches.register
def _(location: CallLocation, recorded: KeptLaunch, plan: object) -> bool:
    del recorded
    return bool(location.places & _lines(plan))


@_reaches.register(FunctionLocation)
@_reaches.register(ValueWatch)
def _(location: FunctionLocation | ValueWatch, recorded: KeptLaunch, plan: object) -> bool:
    del recorded
    return any(function_of(code) == function_of(location.code) for code in _codes(plan))


@_reaches.register
def _(location: PendingLocation, recorded: KeptLaunch, plan: object) -> bool:
    del location, recorded, plan
    return False


@_reaches.register
def _(location: TimeLocation, recorded: KeptLaunch, plan: object) -> bool:
    del plan
    return location.launch == recorded.index


@_reaches.register
def _(location: IntrinsicLocation, recorded: KeptLaunch, plan: Any) -> bool:
    del recorded
    return location.name not in HEARD or location.name in plan.rows


@_reaches.register
def _(location: Watchpoint, recorded: KeptLaunch, plan: object) -> bool:
    del plan
    span = location.span
    return span.space is not GDRAM or any(
        a.address < span.high and span.low < a.address + a.nbytes for a in recorded.homes
    )


def _codes(plan: Any) -> Iterable[CodeType]:
    return (code for part in plan.parts for code in part.code.values())


def _lines(plan: object) -> frozenset[tuple[str, int]]:
    """Return the lines of all functions that the kernel reaches."""
    return frozenset(
        (code.co_filename, line) for code in _codes(plan) for _, _, line in code.co_lines() if line
    )
