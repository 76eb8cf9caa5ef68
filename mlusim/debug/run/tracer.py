"""The observer behind the debugger: it counts the moments of one run, and stops it where requested.

It hears every instruction, so that an observed run takes a few times as long as one that
nothing observes.  The moments before the interesting ones are passed asleep, or dozing if no mark is near.
Lines are traced only while a stopper needs them.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

from mlusim.debug.run.moments import DozingAnnouncer, Mark, RunObserver, Snapshot, explored
from mlusim.debug.run.output import Ear
from mlusim.debug.stop.stops import (
    BEGIN,
    CONTROL,
    END,
    FAULT,
    FINISH,
    ISSUE,
    LANDING,
    LAUNCH_BEGIN,
    LAUNCH_END,
    LINE,
    SOME,
    Op,
    Position,
    Stop,
    Stopper,
    Tracing,
    with_hits,
)
from mlusim.errors import Fault
from mlusim.kernel_frames import kernel_frame
from mlusim.machine.core import Core, RunningLaunch
from mlusim.machine.hub import Effect
from mlusim.machine.observed import Step
from mlusim.memory.allocation import Allocation, Bytes

if TYPE_CHECKING:
    from mlusim.debug.run.launches import KeptLaunch
    from mlusim.machine.machine import Machine

HISTORY = 1000  # moments that a run records
STEPS = 4096  # steps whose stoppers are cached

Trace = Callable[[FrameType, str, Any], Any]


class Tracer(RunObserver, Tracing):
    """Counts moments, and calls *pause* when a stopper asks for it, or the goal is reached.

    ``moment`` is the last announced one and ``lines`` the number of lines of the kernel since.  While ``collect``
    is set, stops are passed to it and the run continues.  While ``asleep`` only rare events are
    heard, and nothing is counted, so that the run has full speed.  While ``dozing`` moments are counted,
    but not announced.
    """

    def __init__(self, recorded: "KeptLaunch", pause: Callable[[Stop], None]) -> None:
        super().__init__()
        self.launch = recorded.index
        self.moment = self.lines = 0
        self.tracing = self.asleep = self.dozing = False
        self.copies: dict[Allocation, Allocation] = {}
        self.ear = Ear(recorded.shown)
        self._milestones = recorded.milestones
        self._wake: Mark | None = None
        self._in_python = self._handed_over = (
            False  # whether Python runs the tasks by now, and whether that wakes the run
        )
        self._until = 0  # the last moment that may pass while dozing
        self._elapsed: Callable[[Machine], tuple[int, int]] = lambda _: (0, 0)
        self._base = 0, 0  # rare events and moments before the snapshot with which the run began
        self._watches: dict[Core, tuple[Any, Any]] = {}
        self._rare_events = self._groups = 0
        self._recent: deque[Effect | Op] = deque(maxlen=HISTORY)
        self.collect: Callable[[Stop], object] | None = None
        self._owned = recorded.owned
        self._foreign = recorded.owned.foreign
        self._pause = pause
        self._goal: Position | None = None
        self._goal_lines = -1
        self._trace_from = END
        self._alarm = END
        self._armed = False
        self._stoppers: tuple[Stopper, ...] = ()
        self._line_stoppers: tuple[Stopper, ...] = ()
        self._late: tuple[Stopper, ...] = ()
        self._only: frozenset[int] | None = None
        self._known: dict[tuple[Step, bool], tuple[Stopper, ...]] = {}
        self._fresh: FrameType | None = None
        self._edits = deque(recorded.edits)

    @property
    def recent(self) -> list[Op]:
        """The last operations that were announced, the oldest first."""
        first = self.moment - len(self._recent) + 1
        return [
            event if isinstance(event, Op) else Op(first + n, ISSUE, event.core, event.step.name, event)
            for n, event in enumerate(self._recent)
        ]

    # -- requests ------------------------------------------------------------------------------

    def begin_at(
        self,
        snapshot: Snapshot | None,
        wake: Mark | None,
        elapsed: "Callable[[Machine], tuple[int, int]]",
        *,
        asleep: bool,
        since: int,
        handed_over: bool = False,
    ) -> None:
        """Count from *snapshot* on; while *asleep*, count nothing before the mark *wake*, or, without one, never.

        If C runs the first tasks (*handed_over*), the run wakes when Python runs its first task; nothing is then
        announced before moment *since*.  *elapsed* returns the numbers of rare events and moments of a machine's
        ended tasks.
        """
        if snapshot is not None:
            self.moment, self._rare_events = snapshot.moment - 1, snapshot.rare
            self._groups, self.finished = snapshot.groups, snapshot.finished
            self.ended, self.ear.count = set(snapshot.ended), snapshot.pieces
            self._base = snapshot.rare, self.moment
        self.asleep, self._wake, self._elapsed = asleep, wake, elapsed
        self._until, self._handed_over = since - 1, handed_over
        self.dozing = not asleep and self.moment < self._until

    def arm(
        self, stoppers: Iterable[Stopper], goal: Position | None = None, trace_from: int | None = None
    ) -> None:
        """Set the stoppers and the *goal*; trace lines from moment *trace_from* on."""
        every = tuple(stoppers)
        for stopper in every:
            stopper.begin(self)
        self._stoppers = tuple(s for s in every if s.ops)
        self._line_stoppers = tuple(s for s in every if s.lines)
        self._note_lines()
        self._known = {}
        self._late = tuple(s for s in self._stoppers if s.late)
        self._armed = bool(self._stoppers)
        self._goal, self._goal_lines = goal, -1
        if trace_from is None:
            trace_from = 0 if any(s.lines_from_start for s in every) else END
        self._trace_from = trace_from
        self._alarm = min(END if goal is None else goal.moment, self._trace_from, self._next_edit)

    def disarm(self) -> None:
        """Remove all stoppers, since the run is being abandoned."""
        self.arm(())
        self.collect, self._pause = None, _go_on

    # -- events of the machine -------------------------------------------------------------------

    def launch_begin(self, launch: RunningLaunch) -> None:
        """Count moment 0: the launch begins."""
        super().launch_begin(launch)
        if self._alarm <= 0:
            self._judge(Op(0, LAUNCH_BEGIN, None, "launch"))

    def task_begin(self, core: Core) -> None:
        """Count a moment: a task begins; its lines are traced if those of other tasks are."""
        before = self.latest
        super().task_begin(core)
        if self.asleep or self.dozing:
            self._watches[core] = core.mlu.watch, core.scalars
            core.listen(*((None, None) if self.asleep else self._dozing(core)))
        if core.union is not before:
            self._begin_group()
        if self.asleep and core.in_python and not self._in_python and self.machine is not None:
            self._take_over(self.machine)
        if self.tracing:
            sys.settrace(self._call)
        self._rare(BEGIN, core, "task begins")

    def issue(self, effect: Effect) -> None:
        """Count a moment: an instruction is issued."""
        self.moment = moment = self.moment + 1
        self.lines = 0
        self._recent.append(effect)
        if self._armed or moment >= self._alarm:
            self._judge(Op(moment, ISSUE, effect.core, effect.step.name, effect))

    def effect(self, effect: Effect) -> None:
        """Count a moment at which an asynchronous effect lands; after a blocking effect, look for new findings."""
        if effect.asynchronous:
            self.moment = moment = self.moment + 1
            self.lines = 0
            op = Op(moment, LANDING, effect.core, effect.step.name, effect)
            self._recent.append(op)
            if self._armed or moment >= self._alarm:
                self._judge(op)
        elif self._late:
            op = Op(self.moment, ISSUE, effect.core, effect.step.name, effect)
            if hits := self._asked(self._late, op):
                self._hit(op.kind, op.core, hits, op)

    def control(self, core: Core, name: str) -> None:
        """Count a moment: a wait begins."""
        self._rare(CONTROL, core, name.lstrip("_"))

    def task_end(self, core: Core) -> None:
        """Count a moment: a task ends."""
        self._rare(FINISH, core, "task ends")
        super().task_end(core)

    def launch_end(self, _launch: RunningLaunch) -> None:
        """Count the last moment: the launch ends."""
        self._last(LAUNCH_END, None)

    def fault(self, core: Core, fault: Fault) -> None:
        """Count the last moment: the core has faulted."""
        super().fault(core, fault)
        self._last(FAULT, core)

    def error(self, core: Core, error: BaseException) -> None:
        """Count the last moment: the kernel has raised an exception."""
        super().error(core, error)
        self._last(FAULT, core)

    def _rare(self, kind: str, core: Core, name: str) -> None:
        self._rare_events += 1
        if self.asleep and not self._awakes():
            return
        self.moment += 1
        self.lines = 0
        if not any(c.flights for c in self.cores):
            alone = self.only_latest()
            ended = (self._groups - 1, self.members()) if alone else (-1, 0)
            self._milestones.note(Mark(self.moment, self._rare_events, *ended))
        if self.dozing:
            self._doze()
            return
        op = Op(self.moment, kind, core, name)
        self._recent.append(op)
        if self._armed or self.moment >= self._alarm:
            self._judge(op)

    def unheard(self) -> None:
        """Count a moment that is not announced."""
        self.moment += 1
        self._doze()

    def _doze(self) -> None:
        """Wake at the last moment that may pass unannounced; later ones are announced."""
        if self.moment >= self._until:
            self.dozing = False
            self._listen()

    def _take_over(self, machine: "Machine") -> None:
        """Count the moments that C has run, in which waits and instructions are not announced; wake if C has handed the run over."""
        rare, moments = self._elapsed(machine)
        self._in_python, self._rare_events = True, self._base[0] + rare
        if self._handed_over:
            self.asleep, self.moment = False, self._base[1] + moments
            self.dozing = self.moment < self._until
            self._listen()

    def _listen(self) -> None:
        """Make every core announce its effects, or, while the run dozes, only count its moments."""
        for core, announcers in self._watches.items():
            if core in self.cores:
                core.listen(*(self._dozing(core) if self.dozing else announcers))
        if not self.dozing:
            self._watches.clear()

    def _dozing(self, core: Core) -> tuple[Any, Any]:
        """Return the dozing announcers for instructions and for scalar accesses of *core*."""
        return tuple(
            None if watch is None else DozingAnnouncer(self.unheard, watch) for watch in self._watches[core]
        )  # type: ignore[return-value]

    def _awakes(self) -> bool:
        """Return whether this is the mark at which the run wakes; from here on every moment is counted."""
        if self._wake is None or self._rare_events != self._wake.rare:
            return False
        self.asleep, self.moment = False, self._wake.moment - 1
        self.dozing = self.moment < self._until
        self._listen()
        return True

    def _begin_group(self) -> None:
        """Begin a group of tasks; if no other is active, a snapshot may be made."""
        machine, milestones = self.machine, self._milestones
        quiescent = (
            machine is not None and len(self.cores) == 1 and not machine.locks and not explored(machine)
        )
        nbytes = sum(copy.nbytes for copy in self.copies.values())
        if quiescent and not self.asleep and milestones.wanted(self.moment + 1, nbytes):
            tensors = {original: copy.raw.copy() for original, copy in self.copies.items()}
            milestones.keep(self._snapshot(tensors))
        self._groups += 1

    def _snapshot(self, tensors: dict[Allocation, Bytes]) -> Snapshot:
        return Snapshot(
            self.moment + 1,
            self._rare_events,
            self._groups,
            self.finished,
            tensors,
            frozenset(self.ended),
            self.ear.count,
            tuple(self.machine.printed) if self.machine is not None else (),
        )

    def _last(self, kind: str, core: Core | None) -> None:
        """Count the last moment, at which checkers report their remaining findings."""
        self.moment += 1
        self.lines = 0
        op = Op(self.moment, kind, core, kind)
        self._recent.append(op)
        hits = [] if self.asleep else self._asked(self._late, op)
        if self._goal is not None or hits or (kind is FAULT and self.collect is None):
            self._stop(with_hits(hits, Stop(Position(self.launch, END), kind, core, error=self.raised)))

    # -- stops ---------------------------------------------------------------------------------

    def _judge(self, op: Op) -> None:
        if op.moment >= self._alarm and self._alarmed(op):
            return
        if hits := self._asked(self._interested(op), op):
            self._hit(op.kind, op.core, hits, op)

    def _asked(self, stoppers: Iterable[Stopper], op: Op) -> list[tuple[Stopper, str]]:
        return [(s, why) for s in stoppers if (why := s.at_op(op, self)) is not None]

    @property
    def _next_edit(self) -> int:
        """The moment of the next change by hand."""
        return self._edits[0].position.moment if self._edits else END

    def _edit(self) -> None:
        """Make the changes at this position; trace lines if one belongs to a later line of this moment."""
        while self._edits and self._edits[0].position.moment == self.moment:
            if self._edits[0].position.lines > self.lines:
                self.trace()
                return
            self._edits.popleft().apply(self)

    def _alarmed(self, op: Op) -> bool:
        """Begin to trace, make changes by hand, or reach the goal; return whether it is reached."""
        goal = self._goal
        self._edit()
        if op.moment >= self._trace_from:
            self._trace_from = END
            self.trace()
        if goal is not None and op.moment >= goal.moment:
            self._alarm = END
            if goal.lines == 0:
                self._stop(Stop(Position(self.launch, op.moment), op.kind, op.core, op))
                return True
            self._goal_lines = goal.lines
            self.trace()
        else:
            self._alarm = END if goal is None else goal.moment
        self._alarm = min(self._alarm, self._next_edit)
        return False

    def _interested(self, op: Op) -> tuple[Stopper, ...]:
        if op.effect is None:
            return self._stoppers
        key = op.effect.step, op.kind is LANDING
        stoppers = self._known.get(key)
        if stoppers is None:
            if len(self._known) >= STEPS:
                self._known.clear()
            stoppers = tuple(s for s in self._stoppers if s.follows(op.effect.step, key[1]))
            self._known[key] = stoppers
        return stoppers

    def _hit(self, kind: str, core: Core | None, hits: list[tuple[Stopper, str]], op: Op | None) -> None:
        self._stop(with_hits(hits, Stop(Position(self.launch, self.moment, self.lines), kind, core, op)))

    def _stop(self, stop: Stop) -> None:
        if self.collect is not None and (self._goal is None or stop.position < self._goal):
            self.collect(stop)
            return
        # Python traces no other code in this thread while a trace function runs, and this one may be paused
        # for long: another session would miss its breakpoints on lines.
        sys.call_tracing(self._pause, (stop,))
        self._retrace()

    # -- lines ---------------------------------------------------------------------------------

    def frame_of(self, core: Core) -> FrameType | None:
        """Return the kernel frame of *core*, called during the run."""
        running = self.machine is not None and self.machine.scheduler.running is core
        if running:
            return kernel_frame(sys._getframe())  # noqa: SLF001 - the kernel, behind mlusim's own frames
        return kernel_frame(core.carrier.frame if core.carrier is not None else None)

    def interrupt(self, stopper: Stopper) -> None:
        """Add *stopper* during the run, to stop as soon as it asks for it."""
        self._stoppers += (stopper,)
        self._known, self._armed = {}, True
        self._line_stoppers += (stopper,)
        self._note_lines()
        self.lines += 0 if self.tracing else SOME
        self.trace()

    def trace(self) -> None:
        """Trace the lines of every core from here on."""
        self.tracing = True
        for core in self.cores:
            if core.carrier is not None and core.carrier.frame is not None:
                self._mark(core.carrier.frame, core)
                core.carrier.trace = self._call
        if self.machine is not None and self.machine.scheduler.running is not None:
            self._mark(sys._getframe(), self.machine.scheduler.running)  # noqa: SLF001 - the frames of the core that runs
            sys.settrace(self._call)

    def _mark(self, frame: FrameType | None, core: Core) -> None:
        fine = any(s.follows_instructions(core) for s in self._line_stoppers)
        while frame is not None:
            if self._owned(frame.f_code.co_filename):
                frame.f_trace = self._line
                frame.f_trace_opcodes = fine
            frame = frame.f_back

    def _retrace(self) -> None:
        """Trace lines after a pause if, and only if, a current stopper or the goal needs them."""
        wanted = bool(self._line_stoppers) or self._goal_lines > 0
        if wanted:
            self.trace()
        elif self.tracing:
            self.tracing = False
            for core in self.cores:
                if core.carrier is not None:
                    core.carrier.trace = None
            sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Trace | None:
        # Python also calls this for mlusim's own functions, which are excluded first.
        if frame.f_code.co_filename in self._foreign or not self._owned(frame.f_code.co_filename):
            return None
        core = self.machine.scheduler.running if self.machine is not None else None
        asked = self._line_stoppers
        if asked and self._goal_lines <= 0 and not any(s.follows_lines(core) for s in asked):
            return None
        self._fresh = frame
        if any(s.follows_instructions(core) for s in self._line_stoppers):
            frame.f_trace_opcodes = True
        return self._line

    def _note_lines(self) -> None:
        """Record the numbers of the only lines at which something can happen; None if it can happen at any line."""
        only = [stopper.at_only for stopper in self._line_stoppers]
        lines = [numbers for numbers in only if numbers is not None]
        some = self._edits or len(lines) < len(only)
        self._only = None if some else frozenset[int]().union(*lines)

    def _line(self, frame: FrameType, event: str, argument: object) -> Trace | None:
        if self._only is not None and self._goal_lines <= 0 and frame.f_lineno not in self._only:
            if event == "line":
                self.lines, self._fresh = self.lines + 1, None
            return self._line if self.tracing else None
        if event == "line":
            self.lines += 1
            entered, self._fresh = self._fresh is frame, None
            self._at_line(frame, entered)
        elif event == "return":
            for stopper in self._line_stoppers:
                stopper.at_return(frame, argument)
        elif event == "opcode":
            core = self.machine.scheduler.running if self.machine is not None else None
            for stopper in self._line_stoppers:
                if core is not None:
                    stopper.at_instruction(core, frame)
        return self._line if self.tracing else None

    def _at_line(self, frame: FrameType, entered: bool) -> None:
        core = self.machine.scheduler.running if self.machine is not None else None
        if core is None:
            return
        if self._next_edit == self.moment:
            self._edit()
            if not self._line_stoppers and self._goal_lines <= 0:
                self._retrace()
        goal = self._goal
        if goal is not None and self.lines == self._goal_lines and self.moment == goal.moment:
            self._goal_lines = -1
            self._stop(Stop(goal, LINE, core))
            return
        hits = [
            (s, why)
            for s in self._line_stoppers
            if (why := s.at_line(core, frame, self, entered)) is not None
        ]
        if hits:
            self._hit(LINE, core, hits, None)


def _go_on(stop: Stop) -> None:
    """Continue without a pause."""
