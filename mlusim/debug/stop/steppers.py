"""The conditions that end `step`, `next`, `stepi`, `until` and `finish`."""

from types import FrameType
from typing import TYPE_CHECKING

from mlusim.debug.source.frames import at_file_scope, depth_of, kernel_frames, name_of, returns_nothing
from mlusim.debug.stop.stops import ALL, BEGIN, CONTROL, FINISH, ISSUE, ISSUES, TRAPPED, Op, Stopper, Tracing

if TYPE_CHECKING:
    from mlusim.machine.core import Core


class Stepper(Stopper):
    """A step of *core*, repeated *count* times; None: of whichever core comes first."""

    ops = True

    def __init__(self, core: "Core | None", count: int = 1) -> None:
        self.core = core
        self.left = count

    def mine(self, core: "Core | None") -> bool:
        """Return whether *core* is the stepping one."""
        return self.core is None or core is self.core

    def counted(self) -> str | None:
        """Count a step; return "" after the last, otherwise None."""
        self.left -= 1
        return None if self.left > 0 else ""

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop when the stepping core ends."""
        ended = op.kind is FINISH and self.core is not None and op.core is self.core
        return f"{name_of(op.core)} ends" if ended and op.core is not None else None


class LineStep(Stepper):
    """`step`: the next line, in any function."""

    lines = True

    def at_line(self, core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Count the core's lines."""
        return self.counted() if self.mine(core) and not at_file_scope(frame) else None


class NextStep(Stepper):
    """`next`: the next line of the same function, or of a caller."""

    lines = True

    def __init__(self, core: "Core | None", frame: FrameType, count: int = 1) -> None:
        super().__init__(core, count)
        self.frame = frame
        self.depth = depth_of(frame)

    def at_line(self, core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Count lines that are no deeper than the one where the step began."""
        if not self.mine(core) or not self._outside(frame) or at_file_scope(frame):
            return None
        # After a return to the caller, further steps are counted there.
        if self.core is not None:
            self.frame = frame
        return self.counted()

    def _outside(self, frame: FrameType) -> bool:
        # Frames of different cores cannot be compared, so that the depth decides if any core may step.
        if self.core is None:
            return depth_of(frame) <= self.depth
        return frame is self.frame or all(f is not self.frame for f in kernel_frames(frame))


class Until(Stepper):
    """`until`: a later line of the same function, or *line* of *file*, or the function's return."""

    lines = True

    def __init__(
        self, core: "Core | None", frame: FrameType, file: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(core)
        self.frame = frame
        self.begun = frame.f_lineno
        self.file, self.line = file, line

    def at_line(self, core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Stop beyond the line, at the requested line, or outside of the function."""
        if core is not self.core:
            return None
        if self.line is not None and frame.f_lineno == self.line and frame.f_code.co_filename == self.file:
            return ""
        if frame is self.frame:
            # A line above begins the next iteration of a loop, and `until` is meant to run past the loop.
            return "" if self.line is None and frame.f_lineno > self.begun else None
        return "" if all(f is not self.frame for f in kernel_frames(frame)) else None


class Finish(Stepper):
    """`finish`: the first line or instruction of the caller after the function has returned."""

    lines = True
    effects = ALL

    def __init__(self, core: "Core | None", frame: FrameType) -> None:
        super().__init__(core)
        self.frame = frame
        self.returned = False

    def at_return(self, frame: FrameType, value: object) -> None:
        """Record the value that the function returns, if it returns one."""
        if frame is self.frame:
            self.returned, self.value = True, () if returns_nothing(frame) else (value,)

    def at_line(self, core: "Core | None", _frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Stop at the caller's next line."""
        # The return itself is not a line: the stop is in the caller, which receives the value.
        return "" if self.returned and core is self.core else None

    def at_op(self, op: Op, tracer: Tracing) -> str | None:
        """Stop at the caller's next instruction."""
        if self.returned and op.core is self.core and op.kind in (ISSUE, CONTROL):
            return ""
        return super().at_op(op, tracer)


class IntrinsicStep(Stepper):
    """`stepi`: the next intrinsic, scalar access or wait."""

    effects = ISSUES

    def at_op(self, op: Op, tracer: Tracing) -> str | None:
        """Count the core's instructions."""
        if op.kind in (ISSUE, CONTROL) and self.mine(op.core):
            return self.counted()
        return super().at_op(op, tracer)


class Interrupt(Stopper):
    """Ctrl-C: stops at the next line or instruction, whichever comes first."""

    ops = lines = True
    effects = ALL
    reason = "interrupted"

    def at_op(self, _op: Op, _tracer: Tracing) -> str | None:
        """Stop at the next instruction."""
        return self.reason

    def at_line(
        self, _core: "Core | None", _frame: FrameType, _tracer: Tracing, _entered: bool
    ) -> str | None:
        """Stop at the next line."""
        return self.reason


class Trap(Interrupt):
    """`breakpoint()` in a kernel: stops at the line after it."""

    reason = TRAPPED


class Lines(Stopper):
    """The begin of a core, and each of its lines in functions no deeper than *depth*; for backwards searches."""

    ops = lines = True  # the search itself chooses where to begin tracing lines

    def __init__(self, label: str | None, depth: int | None = None) -> None:
        self.label = label
        self.depth = depth

    def at_line(self, core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Stop at any line of the core that is no deeper."""
        if core is None or (self.label is not None and name_of(core) != self.label) or at_file_scope(frame):
            return None
        return "" if self.depth is None or depth_of(frame) <= self.depth else None

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop at the beginning of the core."""
        return _begins(op, self.label)


def _begins(op: Op, label: str | None) -> str | None:
    """Return the reason to stop if the core *label* begins, otherwise None."""
    begins = op.kind is BEGIN and op.core is not None and name_of(op.core) == label
    return f"{label} begins" if begins else None


class Intrinsics(Stopper):
    """The begin of a core, and each of its instructions; for backwards searches."""

    ops = True
    effects = ISSUES

    def __init__(self, label: str | None) -> None:
        self.label = label

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Stop at any instruction of the core."""
        if op.kind not in (ISSUE, CONTROL) or op.core is None:
            return _begins(op, self.label)
        return "" if self.label is None or name_of(op.core) == self.label else None


class Issues(Intrinsics):
    """The *count*-th instruction of the launch that is announced with its operands."""

    def __init__(self, count: int) -> None:
        super().__init__(None)
        self.left = count

    def at_op(self, op: Op, _tracer: Tracing) -> str | None:
        """Count instructions, and stop at the requested one."""
        # The number comes from the cores' counters, which count issues only: no landings, no waits.
        self.left -= op.kind is ISSUE
        return "" if self.left == 0 else None
