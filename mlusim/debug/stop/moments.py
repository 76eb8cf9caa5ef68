"""Moments: the places of a run at which the debugger can be, and why it stopped there.

Everything that the machine announces is a moment of its launch, counted from 1: a task begins, an
instruction is issued, an asynchronous effect lands, a wait begins, a task ends, the launch ends.
Moment 0 is the beginning of the launch.  A stop at a moment is before its effect.
"""

import re
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attrs import define, field, frozen

if TYPE_CHECKING:
    from mlusim.debug.stop.breakpoints import Breakpoint
    from mlusim.machine.core import Core
    from mlusim.machine.events import Effect

# No launch has so many moments; as an integer, a position before it compares as smaller.
END = 1 << 60
"""The moment of a position that means the end of a launch, or the fault that ended it."""

SOME = 1 << 40
"""So many lines or more: the lines were not counted, because Ctrl-C came in between."""

BEGIN, ISSUE, LANDING, CONTROL, FINISH = "task begins", "issue", "landing", "wait", "task ends"
TRAPPED = "the kernel calls breakpoint()"
LAUNCH_BEGIN, LAUNCH_END, FAULT, LINE = "launch begins", "launch ends", "fault", "line"


def parse_time(text: str) -> float | None:
    """Return the microseconds of ``12.5us``; None for what is no time."""
    # Only us, the unit of every time that is shown; a bare number is a moment.
    found = re.fullmatch(r"(\d+(?:\.\d+)?)us", text.replace(" ", ""))
    return float(found[1]) if found is not None else None


@frozen(order=True)
class Position:
    """A place in a program: a launch, a moment of it, and lines of the kernel since that moment.

    With no lines it is just before the moment's effect.  The same program is at the same position in
    the same state, to the byte.
    """

    launch: int
    moment: int
    lines: int = 0

    @property
    def exact(self) -> bool:
        """True where one can come back to it."""
        return self.lines < SOME

    @property
    def at_end(self) -> bool:
        """True where it is the end of its launch."""
        return self.moment >= END

    def __str__(self) -> str:
        if self.at_end:
            return f"the end of launch {self.launch}"
        if not self.exact:
            return f"moment {self.moment} and some lines"
        return f"moment {self.moment}" + (f", line {self.lines}" if self.lines else "")


class Op(NamedTuple):
    """The operation of a moment: *kind* as above, on *core*; *effect* for instructions."""

    moment: int
    kind: str
    core: "Core | None"
    name: str
    effect: "Effect | None" = None


@define(eq=False)
class Stop:
    """Why and where a run stopped.

    ``reasons`` are sentences without an end, one for each breakpoint in ``hits`` or for the step that
    was asked for; ``value`` is what a finished function returned, in a tuple.
    """

    position: Position
    kind: str
    core: "Core | None" = None
    op: Op | None = None
    reasons: tuple[str, ...] = ()
    hits: "tuple[Breakpoint, ...]" = ()
    error: BaseException | None = None
    value: tuple[Any, ...] = field(default=())


class Tracing(Protocol):
    """The part of a tracer that a stopper may ask."""

    launch: int
    cores: "list[Core]"
    collect: Callable[[Stop], None] | None

    def trace(self) -> None: ...
    def frame_of(self, core: "Core") -> FrameType | None: ...
