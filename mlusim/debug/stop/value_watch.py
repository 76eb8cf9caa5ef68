"""`ValueWatch`: a watchpoint on the value of an expression, which is evaluated after every line."""

from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.counted import plural
from mlusim.debug.source.frames import kernel_frames, name_of, place_of
from mlusim.debug.stop.stops import FINISH, Breakpoint, Location, Op, PendingLocation, Tracing, Watchpoint
from mlusim.kernel_frames import function_of

if TYPE_CHECKING:
    from mlusim.machine.core import Core


@define(eq=False)
class _Watched:
    """The state of one core: the frame that is watched, the value there, and the line that was last begun."""

    frame: FrameType | None = None
    value: str | None = None
    line: tuple[str, int] | None = None
    said: str | None = None  # a change that the last line of the frame made


@define(eq=False)
class ValueWatch(Location):
    """The value of an expression in a function: it stops at the line after the one that has changed it.

    ``read`` returns the value on a core and in a frame as text, of a variable out of scope its last one; None where the
    expression has none.  ``label`` names the core whose frames count; None stands for every core.  The first value that the
    expression gets in a frame is no change.
    """

    text: str
    code: CodeType
    label: str | None
    read: "Callable[[Core, FrameType], str | None]"
    ops = lines = lines_from_start = watches = True
    _known: "dict[Core, _Watched]" = field(factory=dict)
    _tracer: Any = None

    def begin(self, tracer: Tracing) -> None:
        """Read the value on every core where the run of *tracer* stands."""
        self._tracer, self._known = (
            tracer,
            {},
        )  # what it knew is out of date: it was disabled, or watched another run
        for core in tracer.cores:
            parked = core.carrier.frame if core.carrier is not None else None
            frames = [f for f in kernel_frames(parked) if self._meant(f)]
            if frames and self._mine(core):
                here = frames[0]
                place = here.f_code.co_filename, here.f_lineno
                self._known[core] = _Watched(here, self.read(core, here), place)

    def at_line(self, core: "Core | None", frame: FrameType, tracer: Tracing, _entered: bool) -> str | None:
        """Stop where the value differs from that at the line before."""
        if core is None or not self._mine(core):
            return None
        if tracer is not self._tracer:
            self._tracer, self._known = tracer, {}
        known = self._known.setdefault(core, _Watched())
        said, known.said = known.said, None
        here = self._frame(known, frame)
        if here is not known.frame:
            known.frame, known.value = here, None
        if here is not None:
            said = self._compared(known, core, here) or said
        known.line = frame.f_code.co_filename, frame.f_lineno
        return said

    def at_return(self, frame: FrameType, _value: object) -> None:
        """Read the value once more where the function returns."""
        for core, known in self._known.items():
            if known.frame is frame:
                known.said = self._compared(known, core, frame)
                known.frame = known.value = None

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop where a task ends whose last line has changed the value."""
        known = self._known.get(op.core) if op.core is not None else None
        if known is None or op.kind is not FINISH:
            return None
        said, known.said = known.said, None
        return said

    def _mine(self, core: "Core") -> bool:
        return self.label is None or name_of(core) == self.label

    def _meant(self, frame: FrameType) -> bool:
        return frame.f_code is self.code or function_of(frame.f_code) == function_of(self.code)

    def _frame(self, known: _Watched, frame: FrameType) -> FrameType | None:
        """Return the frame to watch while the core is in *frame*: the one watched so far, or the function's innermost."""
        if frame is known.frame or self._meant(frame):
            return frame
        return next((f for f in kernel_frames(frame) if f is known.frame or self._meant(f)), None)

    def _compared(self, known: _Watched, core: "Core", frame: FrameType) -> str | None:
        """Return the change since the line before, in words."""
        value = self.read(core, frame)
        if value is None:
            return None
        before, known.value = known.value, value
        if before is None or before == value:
            return None
        by = f", by {place_of(known.line[0])}:{known.line[1]}" if known.line is not None else ""
        return f"{self.text}: {before} -> {value}{by}"


def described(made: Breakpoint) -> str:
    """Return a breakpoint in one line."""
    location = made.location
    text = f"{made.kind} {made.number}: {location.text}"
    if isinstance(location, Watchpoint):
        verb = " or ".join(["written"] * location.writes + ["read"] * location.reads)
        text += f" ({location.span}) is {verb}" + (", of any task" if location.span.anyone else "")
    elif isinstance(location, ValueWatch):
        text += f" changes in {location.code.co_name}" + (
            f" of {location.label}" if location.label else ", in any task"
        )
    text += " (pending: no such file is loaded yet)" if isinstance(location, PendingLocation) else ""
    text += f", in {made.task} only" if made.task else ""
    text += f", if {made.condition}" if made.condition else ""
    text += f", after {made.ignore} more {plural(made.ignore, 'hit')}" if made.ignore else ""
    text += ", once" if made.temporary else ""
    return text + ("" if made.enabled else ", disabled")
