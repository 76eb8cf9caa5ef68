"""Runs of launches that have begun: `LaunchRun` is one, on copies of the tensors; `RunMaker` makes those that a session needs.

A session needs runs to pause at a position, to search, to inspect another position, and to count moments.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mlusim.debug.run.launches import Holder, KeptLaunch
from mlusim.debug.run.moments import elapsed, explored
from mlusim.debug.run.tracer import Tracer
from mlusim.debug.stop.steppers import Issues, Trap
from mlusim.debug.stop.stops import END, LAUNCH_END, Breakpoint, FindingLocation, Position, Stop, Stopper
from mlusim.errors import UsageError
from mlusim.machine.hub import Observer
from mlusim.machine.scheduling.carrier import Strand
from mlusim.observe.names import observers_of

if TYPE_CHECKING:
    from mlusim.debug.run.program_run import ProgramRun


class LaunchRun:
    """One run of a stored launch; `go` continues it, ``stop`` is its current stop.

    From moment *since* on everything is observed; the moments before are run at full speed, only counted, or skipped.
    *checks* are names of checkers of the run, and *beside* are observers that hear events after the debugger; with
    checkers everything is observed from the beginning.  The output of its kernels is shown if the run is *loud* and
    the user has not seen it.  *ahead* says how many groups of tasks C runs first, and how many cores of the next
    group; the rest is observed.
    """

    def __init__(
        self,
        recorded: KeptLaunch,
        checks: Iterable[str] = (),
        beside: Iterable[Any] = (),
        *,
        since: int = 0,
        loud: bool = False,
        holder: Holder | None = None,
        ahead: tuple[int, int] | None = None,
    ) -> None:
        self.recorded = recorded
        self.hold = recorded.pins.hold()
        self._holder = Holder() if holder is None else holder
        self.checks = tuple(checks)
        self.checkers = observers_of(self.checks) if self.checks else ()
        # A checker needs every access, a change by hand its moment, and another schedule has no milestones to
        # begin at.
        if self.checkers or recorded.edits or explored(recorded.machine):
            since = 0
        self.tracer = Tracer(recorded, self._pause)
        self.tracer.ear.loud = loud
        self._begin(since, [*self.checkers, self.tracer, *beside], ahead)
        self.stop: Stop | None = None
        self.inside = False
        self._strand = Strand(self.machine.run)
        self._begun = False

    def _begin(self, since: int, observers: list[Any], ahead: tuple[int, int] | None) -> None:
        """Make the machine: from the last snapshot, or beyond the last mark, before moment *since*, or with C for the tasks *ahead*."""
        recorded, to_the_end = self.recorded, since >= END
        snapshot = recorded.milestones.snapshot(since) if ahead is None else None
        mark = recorded.milestones.mark(since) if ahead is None else None
        # A snapshot at or after the mark is closer to the goal, and nothing before it has to run.
        if to_the_end or (snapshot is not None and mark is not None and mark.moment <= snapshot.moment):
            mark = None
        asleep = mark is not None or to_the_end or ahead is not None
        # On the way to the end nothing is observed: the known moments begin with the snapshot.
        self.since = since if not to_the_end else 0 if snapshot is None else snapshot.moment
        self.tracer.begin_at(
            snapshot,
            mark,
            elapsed,
            asleep=asleep,
            since=0 if to_the_end else since,
            handed_over=ahead is not None,
        )
        in_c = ahead or (recorded.unwatched(mark) if asleep else (0, 0))
        self.machine, self.tracer.copies = recorded.again(observers, snapshot, in_c=in_c)

    @property
    def ended(self) -> bool:
        """True if the launch is over."""
        return self._strand.ended

    @property
    def stopped(self) -> Stop:
        """The current stop of a run that has stopped."""
        assert self.stop is not None
        return self.stop

    def go(
        self,
        stoppers: Iterable[Stopper] = (),
        goal: Position | None = None,
        collect: Callable[[Stop], object] | None = None,
        trace_from: int | None = None,
    ) -> Stop | None:
        """Continue to the next stop and return it; return None when the launch has ended.

        With *collect*, stops before *goal* are passed to it, and the run stops only at *goal*.  Raises exceptions of
        the program, except faults of the kernel.
        """
        every = tuple(stoppers)
        for stopper in every:
            if isinstance(stopper, Breakpoint) and isinstance(stopper.location, FindingLocation):
                stopper.location.listen(self.checkers)
        # After a fault no code of the kernel runs, so that there is nothing left to stop at.
        self.tracer.arm(() if self.tracer.raised is not None else every, goal, trace_from)
        self.tracer.collect = collect
        self.stop, self._begun = None, True
        self.inside = True
        self._holder.take(self.hold)
        try:
            # On the way to a known position, breakpoint() must not stop the run.
            trap = (lambda: self.tracer.interrupt(Trap())) if goal is None else None
            with self.tracer.ear.listening(trap):
                self._strand.resume()
        finally:
            self.inside = False
        # An exception that the tracer has heard was shown as a stop; any other belongs to the host.
        if self.tracer.raised is None and self._strand.error is not None:
            raise self._strand.error
        return self.stop

    def abandon(self) -> None:
        """End the run at its current position, and release everything."""
        self.tracer.disarm()
        self.tracer.ear.loud = False
        if self._begun and not self._strand.ended:
            self._holder.take(self.hold)
            with self.tracer.ear.listening():
                self._strand.abandon()
        if self._holder.current is self.hold:
            self._holder.take(None)

    def _pause(self, stop: Stop) -> None:
        self.stop = stop
        if stop.kind is LAUNCH_END or stop.error is not None:
            self.recorded.error = stop.error
            # A run that was asleep has not counted every moment.
            if not self.tracer.asleep:
                self.recorded.moments = self.tracer.moment
        self._strand.pause()


class RunListener(Observer):
    """An observer that hears the events of a run after the debugger, and has access to the run."""

    def begin(self, run: LaunchRun) -> None:
        """Prepare for *run*, which has not begun."""


LOOKBACK = 256  # moments before a stop that are observed, to have a history
KEPT = 4096  # stops that a backwards search stores; if there are more it counts them first
WINDOWS = (256, 1 << 14, 1 << 18, END)  # moments before the present that are searched, in this order


class RunMaker:
    """Makes runs of *host*'s launches; *checks* returns the names of the checkers that they need.

    ``active`` is the run that is on its way to a known position, and must not be stopped before it.
    """

    def __init__(self, host: "ProgramRun", checks: Callable[[], tuple[str, ...]]) -> None:
        self._host = host
        self._checks = checks
        self.active: LaunchRun | None = None

    @property
    def holder(self) -> Holder:
        """The object that tracks whose bindings are in place."""
        return self._host.holder

    def _make(self, recorded: KeptLaunch, *arguments: Any, **options: Any) -> LaunchRun:
        return LaunchRun(recorded, *arguments, holder=self.holder, **options)

    def recorded(self, launch: int) -> KeptLaunch:
        """Return the launch with that number; raises `UsageError` if there is none."""
        if not 1 <= launch <= len(self._host.launches):
            raise UsageError(f"there is no launch {launch}; the program has begun {len(self._host.launches)}")
        return self._host.launches[launch - 1]

    def _visited(self, launch: int) -> KeptLaunch:
        """Return the launch; snapshots of all others are dropped."""
        recorded = self.recorded(launch)
        for other in self._host.launches:
            if other is not recorded:
                other.milestones.forget()
        return recorded

    def to(self, position: Position, since: int | None = None) -> LaunchRun:
        """Return a run paused at *position*, observed from moment *since* on; raises `UsageError` if the position does not exist."""
        recorded = self._visited(position.launch)
        if since is None:
            since = END if position.at_end else position.moment - LOOKBACK
        run = self._make(recorded, self._checks(), since=max(0, since), loud=True)
        stop = self._go(run, goal=position)
        if stop is None or stop.position != position:
            run.abandon()
            raise self._none(position)
        return run

    def beyond(self, launch: int, ahead: tuple[int, int]) -> LaunchRun:
        """Return a run of a launch that has not begun; *ahead* is how many groups of tasks C runs first, and how many cores of the next."""
        return self._make(self._visited(launch), ahead=ahead, loud=True)

    def aside(
        self,
        position: Position,
        *,
        since: int | None = None,
        watching: RunListener | None = None,
        following: Stopper | None = None,
    ) -> LaunchRun:
        """Return an additional run, paused at *position*, or, with *watching*, at the launch's end if that comes first.

        It is observed from moment *since* on (None: from *position* on).  *watching* hears the events of the run,
        and *following* is asked as a stopper.  The caller abandons it.
        """
        recorded = self.recorded(position.launch)
        beside = () if watching is None else (watching,)
        run = self._make(recorded, (), beside, since=position.moment if since is None else since)
        if watching is not None:
            watching.begin(run)
        if following is None:
            stop = self._go(run, goal=position)
        else:
            stop = self._go(run, [following], position, _pass_by, run.since)
        if stop is None or (stop.position != position and watching is None):
            run.abandon()
            raise self._none(position)
        return run

    def last_before(self, limit: Position, stoppers: Iterable[Stopper], count: int = 1) -> Stop | None:
        """Return the *count*-th last stop that *stoppers* would make before *limit* in its launch, or None.

        If there are fewer, return the first of them.  The last moments are searched first, then earlier ones.
        """
        wanted = tuple(stoppers)
        moment = self.moments(limit.launch) if limit.at_end else limit.moment
        kept: deque[Stop] = deque(maxlen=min(count, KEPT))
        for window in WINDOWS if count <= KEPT else ():
            since = max(0, moment - window)
            kept.clear()
            self._search(limit, wanted, since, kept.append)
            if len(kept) == count or since == 0:
                return kept[0] if kept else None
        return self._counted(limit, wanted, count)

    def _counted(self, limit: Position, stoppers: tuple[Stopper, ...], count: int) -> Stop | None:
        """Do the same as `last_before` if there are too many stops to store: count them first."""
        passed = itertools.count()
        self._search(limit, stoppers, 0, lambda _: next(passed))
        wanted, number = max(next(passed) - count, 0), itertools.count()
        stops: list[Stop] = []

        def keep(stop: Stop) -> None:
            if next(number) == wanted:
                stops.append(stop)

        self._search(limit, stoppers, 0, keep)
        return stops[0] if stops else None

    def _search(
        self, limit: Position, stoppers: tuple[Stopper, ...], since: int, tell: Callable[[Stop], object]
    ) -> None:
        """Call *tell* with every stop that *stoppers* make from moment *since* on and before *limit*."""
        run = self._make(self.recorded(limit.launch), self._checks(), since=since)
        lines = run.since if any(s.lines for s in stoppers) else END
        try:
            self._go(run, stoppers, limit, tell, lines)
        finally:
            run.abandon()

    def issue(self, launch: int, number: int) -> Stop | None:
        """Return the stop at the *number*-th instruction of a launch; None for 0."""
        if number == 0:
            return None
        run = self._make(self.recorded(launch))
        stop = self._go(run, [Issues(number)])
        run.abandon()
        return stop

    def moments(self, launch: int) -> int:
        """Return the number of moments of a launch that has ended; the first call runs the launch to count them."""
        recorded = self.recorded(launch)
        if recorded.moments is None:
            self.aside(Position(launch, END), since=0).abandon()
        assert recorded.moments is not None
        return recorded.moments

    def _none(self, position: Position) -> UsageError:
        return UsageError(
            f"launch {position.launch} has {self.moments(position.launch)} moments, and no {position}"
        )

    def _go(
        self,
        run: LaunchRun,
        stoppers: Iterable[Stopper] = (),
        goal: Position | None = None,
        collect: Callable[[Stop], object] | None = None,
        trace_from: int | None = None,
    ) -> Stop | None:
        before, self.active = self.active, run
        try:
            return run.go(stoppers, goal, collect, trace_from)
        finally:
            self.active = before


def _pass_by(stop: Stop) -> None:
    """Continue: a stopper that follows a run does not stop it."""
