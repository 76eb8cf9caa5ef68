"""Stops a program at lines of its own host functions, between its launches."""

import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from mlusim.debug.source.functions import UserFunction
from mlusim.debug.stop.breakpoints import Breakpoint, FunctionLocation, LineLocation, Stopper
from mlusim.debug.stop.hits import with_hits
from mlusim.debug.stop.moments import END, LINE, Position, Stop

if TYPE_CHECKING:
    from mlusim.debug.run.tracer import Trace
    from mlusim.machine.core import Core


class HostLines:
    """Traces the lines of *functions*, and calls *pause* where one of the armed stoppers is reached.

    Only functions are traced in which something may stop; kernels that run meanwhile are not.
    """

    collect: Callable[[Stop], None] | None = None

    def __init__(self, functions: Iterable[UserFunction], pause: Callable[[Stop], None]) -> None:
        self.launch = 0
        self.codes = {f.code: frozenset(line for _, _, line in f.code.co_lines()) for f in functions}
        self._pause = pause
        self._stoppers: tuple[Stopper, ...] = ()
        self._wanted: frozenset[CodeType] = frozenset()
        self._fresh: FrameType | None = None
        self._tracing = False

    def arm(self, stoppers: Iterable[Stopper]) -> None:
        """From where the program goes on, stop where a stopper says so."""
        self._stoppers = tuple(s for s in stoppers if s.lines and not self._of_kernels(s))
        found = (set(self.codes) if s.breakpoint is None else self.codes_of(s) for s in self._stoppers)
        self._wanted = frozenset().union(*found)

    def codes_of(self, stopper: Stopper) -> set[CodeType]:
        """The host functions in which a breakpoint may stop; none for one that is no place of the source."""
        location = stopper.location if isinstance(stopper, Breakpoint) else stopper
        if isinstance(location, FunctionLocation):
            return {location.code} & self.codes.keys()
        if isinstance(location, LineLocation):
            mine = (code for code, lines in self.codes.items() if location.line in lines)
            return {code for code in mine if code.co_filename == location.file}
        return set()

    def _of_kernels(self, stopper: Stopper) -> bool:
        return stopper.breakpoint is not None and not self.codes_of(stopper)

    def follow(self) -> None:
        """Trace from here on what is asked, or nothing; called on the strand of the program, outside launches."""
        if self._wanted:
            self._tracing = True
            frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the frames of the program
            while frame is not None:
                if frame.f_code in self._wanted:
                    frame.f_trace = self._line
                frame = frame.f_back
            sys.settrace(self._call)
        elif self._tracing:
            self.rest()

    def rest(self) -> None:
        """Trace nothing: a launch begins."""
        if self._tracing:
            self._tracing = False
            sys.settrace(None)

    # -- what a stopper may ask ------------------------------------------------------------------

    def trace(self) -> None:
        """Nothing: lines are followed already."""

    def frame_of(self, core: "Core") -> FrameType | None:
        """None: no core runs between launches."""
        del core
        return None

    # -- lines -----------------------------------------------------------------------------------

    def _call(self, frame: FrameType, event: str, argument: Any) -> "Trace | None":
        del event, argument
        if frame.f_code not in self._wanted:
            return None
        self._fresh = frame
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> "Trace | None":
        if not self._tracing:
            return None
        if event == "line":
            entered, self._fresh = self._fresh is frame, None
            hits = [
                (s, why)
                for s in self._stoppers
                if (why := s.at_line(None, frame, self, entered=entered)) is not None
            ]
            if hits:
                stop = Stop(Position(max(1, self.launch), END), LINE)
                # Meanwhile lines of launches may be traced, which Python does not do inside a trace function.
                sys.call_tracing(self._pause, (with_hits(hits, stop),))
        elif event == "return":
            for stopper in self._stoppers:
                stopper.at_return(frame, argument)
        return self._line
