"""`DebugSession`: a program under the debugger.  It neither prints nor asks questions.

The program itself runs once, launch by launch, unobserved.  What the user sees of a kernel is another run of
the launch from its beginning, on copies of its tensors, to exactly the requested position.
Going back is therefore the same as going forward, and costs no more than running there.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from mlusim.counted import counted
from mlusim.debug.look.evaluate import Answer, Expression, ask, c_scope, parse
from mlusim.debug.look.paused_run import Focus, PausedRun
from mlusim.debug.look.places import names_of, resolve
from mlusim.debug.run.ahead import finds_nothing, first_stop, reaching
from mlusim.debug.run.launches import DEFAULT_HISTORY, Edit, KeptLaunch
from mlusim.debug.run.program_run import ENDED, FAILED, LAUNCH, ProgramRun
from mlusim.debug.run.runs import LOOKBACK, LaunchRun, RunListener, RunMaker
from mlusim.debug.source.frames import Owned, failed_text, line_of, name_of
from mlusim.debug.source.functions import UserFunction, ends_with
from mlusim.debug.stop.steppers import Interrupt
from mlusim.debug.stop.stops import (
    END,
    FAULT,
    INTERRUPTED,
    LAUNCH_BEGIN,
    LAUNCH_END,
    PROGRAM_ENDED,
    TRAPPED,
    Breakpoint,
    ByteSpan,
    FindingLocation,
    Position,
    Stop,
    Stopper,
)
from mlusim.errors import UsageError
from mlusim.kernel_frames import function_of
from mlusim.observe.names import checkers
from mlusim.programs.program import Program, ScriptProgram, as_program

if TYPE_CHECKING:
    from mlusim.bangc.c_scope import FrameNames
    from mlusim.machine.core import Core


NOT_LAUNCHED = "the program has launched no kernel, so there is nothing to look at"


class DebugSession:
    """Debugs *program*: a `Program`, or a function that passes given observers to its launches.

    After construction the program is at its first launch.  *history* limits the bytes of tensors
    that are stored for earlier launches; *arrays* are NumPy arrays that `diff` finds by name.
    ``stop`` is the reason and the position of the current stop, ``breakpoints`` are the user's, by number.
    """

    def __init__(
        self,
        program: Program | Callable[[tuple[Any, ...]], Any],
        *,
        history: int = DEFAULT_HISTORY,
        arrays: dict[str, Any] | None = None,
    ) -> None:
        self.program = as_program(program)
        self._arrays = dict(arrays or {})
        self.breakpoints: dict[int, Breakpoint] = {}
        self.numbered = 0
        self.stop = Stop(Position(1, 0), LAUNCH_BEGIN)
        self.focus: str | None = None
        self.level = 0
        self._run: LaunchRun | None = None
        self.host = ProgramRun(self.program, history)
        self.runs = RunMaker(self.host, self._checks)
        self.host.advance()
        if self.ended:
            self._settle()

    # -- facts that need no run ---------------------------------------------------------------------

    def arrays(self) -> dict[str, Any]:
        """Return the host's arrays by name."""
        return {**self.program.arrays(), **self._arrays}

    @property
    def launches(self) -> list[KeptLaunch]:
        """The launches that the program has begun."""
        return self.host.launches

    @property
    def ended(self) -> bool:
        """True if the program has ended; its launches can still be visited."""
        return self.host.state == ENDED

    @property
    def over(self) -> bool:
        """True if the session has reached the end of the program."""
        last = not self.launches or self.recorded is self.launches[-1]
        return self.ended and self.position.at_end and last

    @property
    def at_host(self) -> bool:
        """True if the session is paused inside the program's own run of a launch, at a fault or an interrupt."""
        return self.host.state in (FAILED, INTERRUPTED) and self._run is None and self.stop.position.at_end

    @property
    def functions(self) -> list[UserFunction]:
        """The functions that the launch's kernel can reach."""
        return list(self.recorded.functions) if self.launches else []

    @property
    def every_function(self) -> list[UserFunction]:
        """The functions that any kernel of the program can reach."""
        return self._with_others(lambda _file, _name: True)

    def functions_in(self, file: str) -> list[UserFunction]:
        """Return the functions that the launch's kernel can reach, and those of other kernels in files called *file*."""
        return self._with_others(lambda path, _name: ends_with(path, file))

    def functions_named(self, name: str) -> list[UserFunction]:
        """Return the functions that the launch's kernel can reach, and those of other kernels called *name*; a template's name stands for all instantiations."""
        return self._with_others(lambda _path, written: name in (written, written.partition("<")[0]))

    def _with_others(self, wanted: Callable[[str, str], bool]) -> list[UserFunction]:
        """Return the kernel's functions, and other kernels' functions for which *wanted*(file, name) is true: only in the same files, if some of the kernel's own are wanted."""
        functions = self.functions
        near = {f.code.co_filename for f in functions if wanted(f.code.co_filename, f.name)}
        others = self.recorded.elsewhere(wanted) if self.launches else ()
        known = {function_of(f.code) for f in functions}
        more = (f for f in others if function_of(f.code) not in known)
        return [*functions, *(f for f in more if not near or f.code.co_filename in near)]

    @property
    def owned(self) -> Owned:
        """The classification of files as the user's or not."""
        return self.recorded.owned if self.launches else Owned("")

    @property
    def position(self) -> Position:
        """The launch and the moment of the current stop."""
        return self.stop.position

    @property
    def not_launched(self) -> str:
        """Return a sentence that the program has made no launch, with its error, or with a hint on running its tests."""
        failure = self.host.failure
        if failure is not None:
            return f"{NOT_LAUNCHED}; it has ended with {failed_text(failure)}"
        untested = self.program.untested if isinstance(self.program, ScriptProgram) else ""
        return "; ".join(filter(None, (NOT_LAUNCHED, untested)))

    @property
    def place(self) -> str:
        """The position in words."""
        if self.at_host and self.stop.error is None:
            return f"interrupted in launch {self.position.launch}"
        return str(self.position)

    @property
    def recorded(self) -> KeptLaunch:
        """The launch of the current stop; raises `UsageError` if the program has made no launch."""
        if not self.launches:
            raise UsageError(self.not_launched)
        return self.launches[self.position.launch - 1]

    # -- inspection --------------------------------------------------------------------------------

    def look(self) -> PausedRun:
        """Return the machine at the current stop; if there is no run there, run the launch to that position first."""
        recorded = self.recorded
        here = self._run
        if here is not None and here.stop is not None:
            self.runs.holder.take(here.hold)
            return PausedRun(here.recorded, here.machine, here.tracer, here.stopped)
        # The program itself is in the newest launch only; earlier ones have to run again.
        frontier = recorded is self.launches[-1]
        if self.at_host or (frontier and self.host.state == LAUNCH and self.position.moment == 0):
            self.runs.holder.take(None)
            return PausedRun(recorded, recorded.machine, self.host, self.stop)
        return self.watched()

    def watched(self, *, history: bool = False) -> PausedRun:
        """Return the machine at the current stop, from a run in which every instruction was announced.

        With *history* the last operations are known even at the end of a launch.  An interrupt of
        the program itself has no such run: then the program's own machine is returned.
        """
        if self.at_host and self.stop.error is None:
            return self.look()
        recorded = self.recorded
        here = self._run
        if here is None or here.stop is None or (history and here.tracer.asleep):
            # A run to the end observes nothing on the way, so that the last moments run once more, observed.
            since = self.runs.moments(recorded.index) - LOOKBACK if history and self.position.at_end else None
            self.step_aside()
            self._run = here = self.runs.to(self.position, since)
        self.runs.holder.take(here.hold)
        return PausedRun(here.recorded, here.machine, here.tracer, here.stopped)

    @contextmanager
    def beside(
        self, position: Position, *, since: int | None = None, watching: RunListener | None = None
    ) -> Iterator[PausedRun]:
        """Yield the machine at another *position*, from a run that ends with the block; the session does not move."""
        run = self.runs.aside(position, since=since, watching=watching)
        try:
            yield PausedRun(run.recorded, run.machine, run.tracer, run.stopped)
        finally:
            run.abandon()

    def core(self) -> "Core | None":
        """Return the core in focus; None if no core has begun, or all have ended."""
        if self.stop.kind is LAUNCH_END:
            return None
        paused = self.look()
        core = paused.observed.core(self.focus) if self.focus is not None else None
        if core is None:
            core = next(iter(paused.cores), None)
            self.level = 0
        return core

    def stack(self) -> list[FrameType]:
        """Return the kernel frames of the core in focus, innermost first."""
        core = self.core()
        return self.look().stack(core) if core is not None else []

    def frame(self) -> FrameType | None:
        """Return the frame in focus."""
        stack = self.stack()
        return stack[min(self.level, len(stack) - 1)] if stack else None

    def site(self) -> tuple[str, int] | None:
        """Return the file and line of the frame in focus."""
        frame = self.frame()
        if frame is None:
            return None
        return frame.f_code.co_filename, line_of(frame, self.stop.error)

    def in_focus(self) -> Focus:
        """Return the paused launch, with the core and the frame in focus."""
        return Focus(self.look(), self.core(), self.frame())

    def names(self) -> dict[str, Any]:
        """Return the pointers that an expression may name here in addition to the variables of the frame in focus."""
        return names_of(self.in_focus())

    def ask(self, expression: Expression | str, names: Mapping[str, Any] | None = None) -> Answer:
        """Return the value of an expression in the frame in focus, where it may also name *names* (None: the pointers of `names`)."""
        parsed = parse(expression) if isinstance(expression, str) else expression
        focus = self.in_focus()
        return ask(parsed, focus.frame, focus.core, names_of(focus) if names is None else names)

    def scope(self) -> "FrameNames | None":
        """Return the names of C in the frame in focus, or without one those of the kernel's file; None in a Python kernel."""
        return c_scope(self.frame(), self.names())

    def resolve(self, text: str) -> ByteSpan:
        """Return the bytes of *text* in the frame in focus; raises `UsageError` if it is not a place in memory."""
        return resolve(text, self.in_focus())

    # -- forwards --------------------------------------------------------------------------------

    def forward(self, steppers: Iterable[Stopper] = ()) -> Stop:
        """Run until a breakpoint, one of *steppers*, a fault or the end of the program; return the stop."""
        steps = tuple(steppers)
        if not self.launches:
            raise UsageError(self.not_launched)
        if self.over:
            raise UsageError(PROGRAM_ENDED)
        armed = self.armed()
        if self.at_host and (armed or steps):
            self.leave_interrupt()
        while True:
            if self.at_host:
                self._go_on(stop_at_faults=self.host.state == INTERRUPTED)
            elif (ahead := self._ahead(armed, steps)) is None:
                self._go_on(stop_at_faults=self.host.state != FAILED)
                if self.host.state in (FAILED, INTERRUPTED):
                    return self.stop
            else:
                stop = self._running(ahead).go([*armed, *steps])
                if stop is not None:
                    return self._arrived(stop)
                self._leave_launch()
            if steps or self.at_host or (self.ended and self.position.at_end):
                return self.stop
            armed = self.armed()

    def _running(self, ahead: tuple[int, int]) -> LaunchRun:
        """Return the run to continue: the one that is paused here, or a new one in which C runs the tasks *ahead*."""
        if ahead == (0, 0):
            self._attended()
        else:
            self.step_aside()
            self._run = self.runs.beyond(self.recorded.index, ahead)
        assert self._run is not None
        return self._run

    def _ahead(self, armed: list[Breakpoint], steps: tuple[Stopper, ...]) -> tuple[int, int] | None:
        """Return how many groups of tasks of the launch, and how many cores of the next group, C may run before a possible stop.

        (0, 0) means that everything from here on is observed; None means that nothing can stop in the rest of the
        launch.
        """
        # A change by hand is made in copies of the tensors, which the program's own run does not use.
        if steps or self.recorded.edits:
            return 0, 0
        able = self._stopping(armed)
        if not able:
            return None
        if self._checks():
            return 0, 0
        here = self._run.tracer if self._run is not None and self.position.moment else None
        if here is None and self.position.moment:
            return 0, 0
        return first_stop(able, self.recorded, here)

    def _stopping(self, armed: list[Breakpoint]) -> list[Breakpoint]:
        """Return those of the breakpoints *armed* that can stop in the rest of the launch; if there are none it runs at full speed."""
        if self.position.moment or self.at_host:
            return armed
        able = reaching(armed, self.recorded)
        findings = [point for point in able if isinstance(point.location, FindingLocation)]
        # Only findings can stop it: a screened run in C finds out in a fraction of the time whether there are
        # any.
        if findings and len(findings) == len(able) and finds_nothing(self.recorded, self._checks()):
            return []
        return able

    def armed(self) -> list[Breakpoint]:
        """Return the enabled breakpoints, after resolving pending ones whose code is loaded by now."""
        for point in self.breakpoints.values():
            point.location = point.location.renewed()
        return [b for b in self.breakpoints.values() if b.enabled]

    def _attended(self) -> None:
        """Make the current run one that is observed by every checker that a breakpoint needs."""
        self.watched()
        if self._run is not None and not set(self._checks()) <= set(self._run.checks):
            self.leave_interrupt()
            self.travel(self.position)

    def _go_on(self, *, stop_at_faults: bool) -> None:
        """Continue to the next launch, or to a stop of the program itself."""
        self.step_aside()
        if self.recorded is not self.launches[-1]:
            self.stop = Stop(Position(self.recorded.index + 1, 0), LAUNCH_BEGIN)
            return
        if not self.ended:
            self.host.advance(stop_at_faults=stop_at_faults)
        self._settle()

    def _leave_launch(self) -> None:
        """Continue from the end of a launch to the next one, or to the end of the program."""
        if self.recorded.edits and self._run is not None:
            copies = self._run.tracer.copies.items()
            # The program continues with the bytes that the changed kernel has left.
            self.host.results = {original: copy.raw.copy() for original, copy in copies}
        self._go_on(stop_at_faults=False)

    def _settle(self) -> None:
        """Set the stop to the position of the program's own run."""
        if self.ended:
            error = self.launches[-1].error if self.launches else None
            end = Position(len(self.launches) or 1, END)
            self._stand(Stop(end, LAUNCH_END if error is None else FAULT, error=error))
            return
        last = self.launches[-1]
        if self.host.state == LAUNCH:
            self._stand(Stop(Position(last.index, 0), LAUNCH_BEGIN))
        elif self.host.state == FAILED and last.machine.native is not None:
            self.travel(Position(last.index, END))  # C has no frames to inspect; a run in Python has
        elif self.host.state == FAILED:
            self._stand(Stop(Position(last.index, END), FAULT, self.host.failed, error=self.host.raised))
        else:
            core = last.machine.scheduler.running
            why = TRAPPED if self.host.trapped else "interrupted"
            self._stand(Stop(Position(last.index, END), INTERRUPTED, core, reasons=(why,)))
            if last.machine.native is not None:
                self.leave_interrupt()
                self.stop.reasons = (why,)

    # -- other positions -------------------------------------------------------------------------

    def travel(
        self, position: Position, reasons: Iterable[str] = (), hits: Iterable[Breakpoint] = ()
    ) -> Stop:
        """Go to *position*, earlier or later; raises `UsageError` if it does not exist."""
        self.runs.recorded(position.launch)
        self.step_aside()
        self._run = self.runs.to(position)
        stop = self._run.stopped
        stop.reasons, stop.hits = tuple(reasons), tuple(hits)
        return self._arrived(stop)

    def last_before(self, limit: Position, stoppers: Iterable[Stopper], count: int = 1) -> Stop | None:
        """Return the *count*-th last stop that *stoppers* would make before *limit* in its launch, or None.

        The session does not move, but has to run to its position again when it is inspected.
        """
        self.step_aside()
        return self.runs.last_before(limit, stoppers, count)

    def change(self, text: str, apply: Callable[[Any], None]) -> bool:
        """Change this run, and every later run of the launch, at the current position; *apply* receives the run's tracer.

        Return whether the program will continue with the changed tensors: not if the launch has ended in the
        program's own run.  Raises `UsageError` at a fault and at the end, where no code runs any more.
        """
        self.leave_interrupt()
        if self.stop.error is not None or self.position.at_end:
            raise UsageError(
                "the launch is over here; `reverse-stepi` goes back to where a change has an effect"
            )
        self.watched()
        assert self._run is not None
        apply(self._run.tracer)
        self.recorded.change(Edit(self.position, text, apply))
        return self.recorded is self.launches[-1] and not self.ended

    def leave_interrupt(self) -> None:
        """Move from an interrupt between moments to the last instruction that has begun."""
        position = self.position
        if self.at_host and self.stop.error is None:
            issue = self.runs.issue(position.launch, self.host.issued)
            self.travel(issue.position if issue is not None else Position(position.launch, 0))
        elif not position.exact:
            self.travel(Position(position.launch, position.moment))

    def _checks(self) -> tuple[str, ...]:
        """Return the checkers that breakpoints need."""
        enabled = (point.location for point in self.breakpoints.values() if point.enabled)
        rules = [location.rule for location in enabled if isinstance(location, FindingLocation)]
        if not rules:
            return ()
        if None in rules:
            return tuple(checkers())
        named = tuple(getattr(getattr(self.program, "asked", self.program), "checks", ()))
        return tuple(dict.fromkeys([*named, *(rule.partition("-")[0] for rule in rules if rule)]))

    # -- bookkeeping -----------------------------------------------------------------------------

    def _arrived(self, stop: Stop) -> Stop:
        self.stop, self.level = stop, 0
        if stop.core is not None:
            self.focus = name_of(stop.core)
        for hit in stop.hits:
            if hit.temporary:
                self.breakpoints.pop(hit.number, None)
        return stop

    def _stand(self, stop: Stop) -> None:
        self.step_aside()
        self._arrived(stop)

    def step_aside(self) -> None:
        """Abandon the run at the current position; it is made again when it is inspected."""
        if self._run is not None:
            run, self._run = self._run, None
            run.abandon()

    def progress(self) -> str:
        """Return the progress of the current run, in words; may be called from any thread."""
        run = self.runs.active or self._run
        if run is not None and run.inside and not run.tracer.asleep:
            return f"launch {run.recorded.index}, moment {run.tracer.moment}"
        ended = self.host.finished if self.host.inside else 0
        return f"launch {len(self.launches) or 1}" + (f", {counted(ended, 'task')} ended" if ended else "")

    def interrupt(self) -> None:
        """Stop the running kernel; called by a signal.  Raises `KeyboardInterrupt` if nothing can be stopped."""
        run = self._run
        # The program's own run reacts at its next turn; a run to a position stops at its next line.
        if self.host.inside and self.host.launches and self.host.state:
            self.host.interrupt()
        elif run is not None and run.inside and self.runs.active is None:
            run.tracer.interrupt(Interrupt())
        else:
            raise KeyboardInterrupt

    def close(self) -> None:
        """End all paused runs."""
        self.step_aside()
        self.host.close()

    def digest(self) -> str:
        """Return a hash of the machine at the current stop: every live byte, and every core's position in the kernel."""
        # Recordings, and tests of moving back and forth, compare it, so that it contains no address of this
        # process.
        paused, total = self.look(), hashlib.sha256()
        for owner, allocation in paused.every_allocation():
            total.update(f"{owner} {allocation.space} {allocation.address} {allocation.nbytes}".encode())
            total.update(allocation.raw.tobytes())
        for core in paused.cores:
            places = [(f.f_code.co_name, line_of(f, paused.stop.error)) for f in paused.stack(core)]
            total.update(f"{name_of(core)} {places} {core.mlu.counts} {core.loads} {core.stores}".encode())
        return total.hexdigest()
