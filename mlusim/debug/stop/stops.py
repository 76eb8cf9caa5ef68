"""The stops of a run: the moments at which the debugger can pause, the reasons of stops, and the stoppers.

Every event that the machine announces is a moment of its launch, counted from 1: a task begins, an
instruction is issued, an asynchronous effect lands, a wait begins, a task ends, the launch ends.
Moment 0 is the beginning of the launch.  A stop at a moment is before its effect.

A `Stopper` is asked at moments, at lines, or at both.  A `Breakpoint` is a stopper of the user, with a
number and conditions; a `step` uses a stopper without them.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import attrgetter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import define, field, frozen

from mlusim.arch.dtypes import DType
from mlusim.counted import plural
from mlusim.debug.source.frames import kernel_frames, name_of, owner_of, place_of, stack_of
from mlusim.kernel_frames import function_of
from mlusim.machine.hub import Effect
from mlusim.machine.observed import Step
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.space import Space

if TYPE_CHECKING:
    from mlusim.machine.core import Core

# No launch has so many moments; as an integer it compares as later than every real moment.
END = 1 << 60
"""The moment of a position at the end of a launch, or at the fault that ended it."""

SOME = 1 << 40
"""An unknown number of lines: they were not counted, since Ctrl-C came before tracing had begun."""

BEGIN, ISSUE, LANDING, CONTROL, FINISH = "task begins", "issue", "landing", "wait", "task ends"
TRAPPED = "the kernel calls breakpoint()"
LAUNCH_BEGIN, LAUNCH_END, FAULT, LINE = "launch begins", "launch ends", "fault", "line"
INTERRUPTED = "interrupted"
"""The kind of a stop by Ctrl-C, and the state of a program that was stopped by it outside of a launch."""
PROGRAM_ENDED = "the program has ended; `run` begins again, `reverse-continue` goes back"
NONE, ISSUES, ALL = "none", "issues", "issues and landings"  # the instructions about which a stopper is asked


def parse_time(text: str) -> float | None:
    """Parse ``12.5us`` as a number of microseconds; None for text that is not a time."""
    # Only us, the unit of all displayed times; a bare number is a moment.
    match = re.fullmatch(r"(\d+(?:\.\d+)?)us", text.replace(" ", ""))
    return float(match[1]) if match is not None else None


@frozen(order=True)
class Position:
    """A position in a program: a launch, a moment of it, and the number of lines of the kernel since that moment.

    With 0 lines it is just before the moment's effect.  At the same position the same program has
    the same state, to the byte.
    """

    launch: int
    moment: int
    lines: int = 0

    @property
    def exact(self) -> bool:
        """True if the debugger can return to it."""
        return self.lines < SOME

    @property
    def at_end(self) -> bool:
        """True if it is the end of its launch."""
        return self.moment >= END

    def __str__(self) -> str:
        if self.at_end:
            return f"the end of launch {self.launch}"
        if not self.exact:
            return f"moment {self.moment} and some lines"
        behind = f", {self.lines} {plural(self.lines, 'line')} later" if self.lines else ""
        return f"moment {self.moment}{behind}"


class Op(NamedTuple):
    """The operation at a moment: its *kind* is one of the words above; instructions have an *effect*."""

    moment: int
    kind: str
    core: "Core | None"
    name: str
    effect: Effect | None = None


@define(eq=False)
class Stop:
    """The reason and the position of a stop.

    ``reasons`` are sentences without a full stop, one for each breakpoint in ``hits`` or for the requested
    step; ``value`` is the return value of a finished function, as a tuple of one, otherwise empty.
    """

    position: Position
    kind: str
    core: "Core | None" = None
    op: Op | None = None
    reasons: tuple[str, ...] = ()
    hits: "tuple[Breakpoint, ...]" = ()
    error: BaseException | None = None
    value: tuple[Any, ...] = field(default=())


class Tracing(ABC):
    """The operations of a tracer that stoppers use; the tracer itself imports the stoppers."""

    launch: int
    cores: "list[Core]"
    collect: Callable[[Stop], object] | None

    @property
    @abstractmethod
    def recent(self) -> "list[Op]":
        """The last operations, the oldest first."""

    @abstractmethod
    def trace(self) -> None:
        """Trace the lines of every core from here on."""

    @abstractmethod
    def frame_of(self, core: "Core") -> FrameType | None:
        """Return the kernel frame of *core*, called during the run."""


@frozen
class ByteSpan:
    """Bytes [``low``, ``high``) of one memory, as device addresses.

    ``owner`` is the owner of the memory: a core's name, a cluster's, or None for GDRAM; with ``anyone`` the
    same addresses of every core or cluster are meant.  ``dtype`` is the element type, if it is known.
    """

    space: Space
    low: int
    high: int
    text: str
    dtype: DType | None = None
    owner: str | None = None
    anyone: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the span, in bytes."""
        return self.high - self.low

    def belongs(self, core: "Core", allocation: Allocation) -> bool:
        """Return whether *allocation*, which an instruction of *core* accesses, is in this memory."""
        return self.anyone or self.owner is None or owner_of(core, allocation) == self.owner

    def __str__(self) -> str:
        mine = "" if self.owner is None or self.anyone else f" of {self.owner}"
        return f"{self.space} {self.low:#x}..{self.high:#x}{mine}"


class Stopper:
    """A condition that may stop a run.

    ``ops`` and ``lines`` say whether it is asked at moments and at lines; ``lines_from_start`` that it needs the
    lines from the launch's begin; ``late`` that it is asked again after the checkers; ``effects`` about which
    instructions it is asked.  ``at_only`` are the numbers of the only lines at which it can stop, if they are known;
    it then hears of no returns.  ``value`` is the return value of the function that it waited for.
    """

    ops = lines = lines_from_start = late = False
    effects = NONE
    at_only: frozenset[int] | None = None
    value: tuple[Any, ...] = ()
    breakpoint: "Breakpoint | None" = None

    def begin(self, tracer: Tracing) -> None:
        """Prepare for the run of *tracer*, which is about to continue."""

    def follows(self, _step: Step, landing: bool) -> bool:
        """Return whether it can stop at an instruction with the operands of *step*; asked once per step, not once per execution."""
        return self.effects is ALL or (self.effects is ISSUES and not landing)

    def at_op(self, _op: Op, _tracer: Tracing) -> str | None:
        """Return the reason to stop at this moment, or None."""
        return None

    def at_line(
        self, _core: "Core | None", _frame: FrameType, _tracer: Tracing, _entered: bool
    ) -> str | None:
        """Return the reason to stop at this line, or None; *entered* is true at the first line of its function.

        Lines of the host have no core.
        """
        return None

    def at_return(self, frame: FrameType, value: object) -> None:
        """Record that *frame* returns *value*."""

    def follows_lines(self, _core: "Core | None") -> bool:
        """Return whether it needs the lines of *core*."""
        return self.lines

    def follows_instructions(self, _core: "Core | None") -> bool:
        """Return whether it needs every Python instruction that *core* executes."""
        return False

    def at_instruction(self, core: "Core", frame: FrameType) -> None:
        """Record that a Python instruction in *frame* of *core* is next."""


class Location(Stopper):
    """The location of a breakpoint; ``text`` names it in the user's words, ``watches`` is true of a watchpoint's."""

    text = ""
    watches = False

    def renewed(self) -> "Location":
        """Return the location in the code that is loaded by now."""
        return self


@define(eq=False)
class LineLocation(Location):
    """A line of a source file."""

    file: str
    line: int
    lines = lines_from_start = True

    @property
    def text(self) -> str:  # type: ignore[override]
        """The file, relative to the current folder, and the line."""
        return f"{place_of(self.file)}:{self.line}"

    @property
    def at_only(self) -> frozenset[int]:  # type: ignore[override]
        """The only line at which it stops."""
        # The tracer skips all other lines.
        return frozenset({self.line})

    def at_line(self, _core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Stop at the line."""
        here = frame.f_lineno == self.line and frame.f_code.co_filename == self.file
        return "" if here else None


@define(eq=False)
class PendingLocation(Location):
    """A location whose code is not loaded yet: *find* returns the location, or the reason why there is none, which is stored in *why*."""

    text: str
    find: Callable[[], "Location | str"]
    why: str

    def renewed(self) -> Location:
        """Return the location if its code is loaded by now."""
        location = self.find()
        if isinstance(location, Location):
            return location
        self.why = location
        return self


@define(eq=False)
class CallLocation(Location):
    """The lines that name something that the machine does not announce, such as an instruction on registers."""

    places: frozenset[tuple[str, int]]
    text: str
    lines = lines_from_start = True

    @property
    def at_only(self) -> frozenset[int]:  # type: ignore[override]
        """The lines that name it."""
        return frozenset(line for _, line in self.places)

    def at_line(self, _core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Stop at each of the lines that name it."""
        return "" if (frame.f_code.co_filename, frame.f_lineno) in self.places else None


@define(eq=False)
class FunctionLocation(Location):
    """The first line of a function of the kernel, or of each instantiation of a template."""

    codes: tuple[CodeType, ...]
    text: str
    find: Callable[[], tuple[CodeType, ...]] | None = None  # if more of them may be loaded
    lines = lines_from_start = True

    def renewed(self) -> Location:
        """Return it with the instantiations that were loaded since."""
        if self.find is not None:
            self.codes = tuple(dict.fromkeys((*self.codes, *self.find())))
        return self

    def at_line(self, _core: "Core | None", frame: FrameType, _tracer: Tracing, entered: bool) -> str | None:
        """Stop at the first line of each call of the function."""
        # By function, not by code: a BANG C kernel has other code when checkers of values observe it.
        return "" if entered and function_of(frame.f_code) in map(function_of, self.codes) else None


@define(eq=False)
class TaskLocation(Location):
    """The first line of the kernel in one task."""

    label: str
    text: str
    ops = lines = True  # earlier lines belong to other tasks: `at_op` requests lines when the task begins
    _begun: "Core | None" = None

    def at_op(self, op: Op, tracer: Tracing) -> str | None:
        """Begin to trace lines when the task begins."""
        if op.kind is BEGIN and op.core is not None and name_of(op.core) == self.label:
            self._begun = op.core
            tracer.trace()
        return None

    def at_line(self, core: "Core | None", _frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Stop at the first line of the kernel."""
        if core is not self._begun:
            return None
        self._begun = None
        return ""


@define(eq=False)
class IntrinsicLocation(Location):
    """Every issue of an intrinsic."""

    name: str
    text: str
    ops = True

    def follows(self, step: Step, landing: bool) -> bool:
        """Return whether the instruction has this name."""
        # An asynchronous instruction lands at a second moment, which is not an issue.
        return step.name == self.name and not landing

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop when the instruction is issued."""
        return "" if op.name == self.name and op.kind in (ISSUE, CONTROL) else None


@define(eq=False)
class PipeLocation(Location):
    """Every instruction that is issued to a pipe."""

    pipe: str
    text: str
    ops = True

    def follows(self, step: Step, landing: bool) -> bool:
        """Return whether the instruction is issued to that pipe."""
        return step.pipe.value == self.pipe and not landing

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop when an instruction of the pipe is issued."""
        return "" if op.effect is not None else None


@define(eq=False)
class MomentLocation(Location):
    """A moment by its number."""

    moment: int
    text: str
    ops = True
    effects = ALL

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop at the moment."""
        return "" if op.moment == self.moment else None


@define(eq=False)
class TimeLocation(Location):
    """A predicted time in one launch: the moment of each task at that time."""

    launch: int
    moments: frozenset[int]
    text: str
    ops = True
    effects = ISSUES

    def at_op(self, op: Op, tracer: Tracing) -> str | None:
        """Stop at the moments of the launch that have this predicted time."""
        return "" if op.moment in self.moments and tracer.launch == self.launch else None


@define(eq=False)
class Watchpoint(Location):
    """Bytes that are about to be written, or read; an asynchronous effect counts when it lands."""

    span: ByteSpan
    text: str
    writes: bool
    reads: bool
    ops = True
    watches = True

    def follows(self, step: Step, _landing: bool) -> bool:
        """Return whether the operands overlap the bytes."""
        return self._verb(step) is not None

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop before the bytes change, or are read."""
        effect = op.effect
        # The bytes of an asynchronous copy change when it lands, not when it is issued.
        if effect is None or (effect.asynchronous and op.kind is not LANDING):
            return None
        verb = self._verb(effect.step, op.core)
        return None if verb is None else f"{self.text} is {verb}"

    def _verb(self, step: Step, core: "Core | None" = None) -> str | None:
        if self.writes and any(self._touches(a, core) for a in step.writes):
            return "written"
        return "read" if self.reads and any(self._touches(a, core) for a in step.reads) else None

    def _touches(self, access: Access, core: "Core | None") -> bool:
        """Return whether *access* overlaps the bytes; if *core* is None, in any core's memory."""
        span, allocation = self.span, access.allocation
        if allocation.space is not span.space or not (core is None or span.belongs(core, allocation)):
            return False
        return access.touches(span.low - allocation.address, span.high - allocation.address)


@define(eq=False)
class _Watched:
    """The state of one core: the watched frame, the value there, and the line that has begun last."""

    frame: FrameType | None = None
    value: str | None = None
    line: tuple[str, int] | None = None
    said: str | None = None  # a change by the frame's last line


@define(eq=False)
class ValueWatch(Location):
    """The value of an expression in a function: it stops at the line after the one that has changed the value.

    ``read`` returns the value on a core and in a frame as text, the last value of a variable that is out of scope, or
    None if the expression has no value.  ``label`` names the core whose frames are watched; None stands for every
    core.  The first value of the expression in a frame does not count as a change.
    """

    text: str
    code: CodeType
    label: str | None
    read: "Callable[[Core, FrameType], str | None]"
    ops = lines = lines_from_start = watches = True
    _known: "dict[Core, _Watched]" = field(factory=dict)
    _tracer: Any = None

    def begin(self, tracer: Tracing) -> None:
        """Read the value on every core at the current position of *tracer*'s run."""
        # Its values are out of date: it was disabled, or watched another run.
        self._tracer, self._known = tracer, {}
        for core in tracer.cores:
            here = next((f for f in stack_of(core) if self._meant(f)), None)
            if here is not None and self._mine(core):
                place = here.f_code.co_filename, here.f_lineno
                self._known[core] = _Watched(here, self.read(core, here), place)

    def at_line(self, core: "Core | None", frame: FrameType, tracer: Tracing, _entered: bool) -> str | None:
        """Stop if the value differs from that at the line before."""
        if core is None or not self._mine(core):
            return None
        if tracer is not self._tracer:
            self._tracer, self._known = tracer, {}
        watched = self._known.setdefault(core, _Watched())
        said, watched.said = watched.said, None
        here = self._frame(watched, frame)
        if here is not watched.frame:
            watched.frame, watched.value = here, None
        if here is not None:
            said = self._compared(watched, core, here) or said
        watched.line = frame.f_code.co_filename, frame.f_lineno
        return said

    def at_return(self, frame: FrameType, _value: object) -> None:
        """Read the value once more when the function returns."""
        for core, watched in self._known.items():
            if watched.frame is frame:
                watched.said = self._compared(watched, core, frame)
                watched.frame = watched.value = None

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop when a task ends whose last line has changed the value."""
        watched = self._known.get(op.core) if op.core is not None else None
        if watched is None or op.kind is not FINISH:
            return None
        said, watched.said = watched.said, None
        return said

    def _mine(self, core: "Core") -> bool:
        return self.label is None or name_of(core) == self.label

    def _meant(self, frame: FrameType) -> bool:
        return frame.f_code is self.code or function_of(frame.f_code) == function_of(self.code)

    def _frame(self, watched: _Watched, frame: FrameType) -> FrameType | None:
        """Return the frame to watch while the core is in *frame*: the watched one, or the function's innermost."""
        if frame is watched.frame or self._meant(frame):
            return frame
        return next((f for f in kernel_frames(frame) if f is watched.frame or self._meant(f)), None)

    def _compared(self, watched: _Watched, core: "Core", frame: FrameType) -> str | None:
        """Return the change since the previous line, in words."""
        value = self.read(core, frame)
        if value is None:
            return None
        before, watched.value = watched.value, value
        if before is None or before == value:
            return None
        by = f", by {place_of(watched.line[0])}:{watched.line[1]}" if watched.line is not None else ""
        return f"{self.text}: {before} -> {value}{by}"


@define(eq=False)
class FindingLocation(Location):
    """A new finding of a checker."""

    rule: str | None
    text: str
    ops = late = True
    effects = ALL
    _checkers: tuple[Any, ...] = ()
    _seen: int = 0

    def listen(self, checkers: tuple[Any, ...]) -> None:
        """Stop at findings of *checkers* from now on."""
        self._checkers = checkers
        # The user has seen the findings so far; only new ones stop.
        self._seen = sum(len(tuple(checker.findings)) for checker in checkers)

    def at_op(self, _op: Op, _tracer: Tracing) -> str | None:
        """Stop when a checker has reported a new finding."""
        findings = [f for checker in self._checkers for f in checker.findings]
        if len(findings) <= self._seen:
            return None
        self._seen = len(findings)
        mine = [f for f in findings if self.rule is None or f.id.startswith(self.rule)]
        return str(mine[-1]) if mine else None


@define(eq=False)
class Breakpoint(Stopper):
    """A breakpoint of the user: a location with a number, a condition and counts.

    ``test`` evaluates the condition on a core, if there is one; the next ``ignore`` hits are ignored; ``counted``
    decides at which hits it stops; ``log`` is called instead of stopping; ``task`` restricts it to the core of that
    name; ``words`` are the user's for the location.
    """

    number: int
    location: Location
    temporary: bool = False
    enabled: bool = True
    task: str | None = None
    condition: str | None = None
    test: "Callable[[Core | None, FrameType | None], bool | str] | None" = None
    ignore: int = 0
    silent: bool = False  # it stops without naming itself, as a step does
    hits: int = 0
    words: str = ""
    counted: Callable[[int], bool] | None = None
    log: "Callable[[Core | None, FrameType | None], None] | None" = None

    @property
    def breakpoint(self) -> "Breakpoint":  # type: ignore[override]
        """Return the breakpoint that the stop names: this one."""
        return self

    # The location decides what it hears, and may be replaced by another one.
    ops = property(attrgetter("location.ops"))
    lines = property(attrgetter("location.lines"))
    lines_from_start = property(attrgetter("location.lines_from_start"))
    late = property(attrgetter("location.late"))
    at_only = property(attrgetter("location.at_only"))

    def begin(self, tracer: Tracing) -> None:
        """Let the location prepare for the run."""
        self.location.begin(tracer)

    def at_return(self, frame: FrameType, value: object) -> None:
        """Tell the location that *frame* returns *value*."""
        self.location.at_return(frame, value)

    def follows(self, step: Step, landing: bool) -> bool:
        """Return whether the location can stop at the instruction."""
        return self.location.follows(step, landing)

    def at_op(self, op: Op, tracer: Tracing) -> str | None:
        """Stop if the location does and the conditions hold."""
        why = self.location.at_op(op, tracer)
        return None if why is None else self._holds(why, op.core, tracer, None)

    def at_line(self, core: "Core | None", frame: FrameType, tracer: Tracing, entered: bool) -> str | None:
        """Stop if the location does and the conditions hold."""
        why = self.location.at_line(core, frame, tracer, entered)
        return None if why is None else self._holds(why, core, tracer, frame)

    def _holds(self, why: str, core: "Core | None", tracer: Tracing, frame: FrameType | None) -> str | None:
        """Return the reason to stop if task, condition and counts allow it; at the end of a launch there is no core."""
        if self.task is not None and (core is None or name_of(core) != self.task):
            return None
        note = ""
        if self.test is not None and (core is not None or frame is not None):
            answer = self.test(core, _frame(core, frame, tracer))
            if not answer:
                return None
            note = answer if isinstance(answer, str) else ""
        # A backwards search only collects stops: hits are counted and logs written on the way forwards.
        if tracer.collect is not None:
            return None if self.log is not None else self._said(why, note)
        self.hits += 1
        if self.ignore > 0:
            self.ignore -= 1
            return None
        if self.counted is not None and not self.counted(self.hits):
            return None
        if self.log is not None:
            if core is not None or frame is not None:
                self.log(core, _frame(core, frame, tracer))
            return None
        return self._said(why, note)

    def _said(self, why: str, note: str) -> str:
        if self.silent:
            return note.strip()
        verb = self.kind.capitalize()
        return f"{verb} {self.number}, {why or self.location.text}{note}"

    @property
    def kind(self) -> str:
        """The word for it in the console's list."""
        return "watchpoint" if self.location.watches else "breakpoint"


def _frame(core: "Core | None", frame: FrameType | None, tracer: Tracing) -> FrameType | None:
    """Return *frame*, or if it is None, the current frame of *core*."""
    return frame if frame is not None or core is None else tracer.frame_of(core)


def with_hits(hits: list[tuple[Stopper, str]], stop: Stop) -> Stop:
    """Return *stop*, with the reasons and breakpoints of *hits*."""
    stop.reasons = tuple(why for _, why in hits)
    stop.hits = tuple(b for s, _ in hits if (b := s.breakpoint) is not None)
    stop.value = next((s.value for s, _ in hits if s.value), ())
    return stop


def described(point: Breakpoint) -> str:
    """Return a description of a breakpoint in one line."""
    location = point.location
    text = f"{point.kind} {point.number}: {location.text}"
    if isinstance(location, Watchpoint):
        verb = " or ".join(["written"] * location.writes + ["read"] * location.reads)
        text += f" ({location.span}) is {verb}" + (", of any task" if location.span.anyone else "")
    elif isinstance(location, ValueWatch):
        text += f" changes in {location.code.co_name}" + (
            f" of {location.label}" if location.label else ", in any task"
        )
    text += f" (pending: {location.why})" if isinstance(location, PendingLocation) else ""
    text += f", in {point.task} only" if point.task else ""
    text += f", if {point.condition}" if point.condition else ""
    text += f", after {point.ignore} more {plural(point.ignore, 'hit')}" if point.ignore else ""
    text += ", once" if point.temporary else ""
    return text + ("" if point.enabled else ", disabled")
