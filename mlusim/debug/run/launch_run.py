"""`LaunchRun`: a launch run again under the debugger's eyes, on copies of its tensors."""

from collections.abc import Callable, Iterable
from typing import Any

from mlusim.debug.run.bindings import Holder
from mlusim.debug.run.counted_moments import elapsed
from mlusim.debug.run.launches import KeptLaunch, explored
from mlusim.debug.run.program_run import Abandoned
from mlusim.debug.run.tracer import Tracer
from mlusim.debug.stop.breakpoints import Breakpoint, FindingLocation, Stopper
from mlusim.debug.stop.moments import END, LAUNCH_END, Position, Stop
from mlusim.debug.stop.steppers import Trap
from mlusim.machine.scheduling.carrier import Strand
from mlusim.observe.names import observers_of


class LaunchRun:
    """One run of a recorded launch; `go` lets it go on, ``stop`` is where it is.

    From moment *since* on everything is watched; what comes before is passed at full speed, or counted
    alone, or left out.  *checks* are names of checkers that watch it, and *beside* observers that listen after the
    debugger; with checkers everything is watched from the beginning.  What its kernels print is shown
    where it is *loud* and the user has not seen it.  *ahead* says how many groups of tasks C runs first, and how many cores of the
    next one; the rest is watched.
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
        self.checkers = observers_of(self.checks)
        # A checker needs every access, an edit its moment, and another schedule has no milestones to begin at.
        if self.checkers or recorded.edits or explored(recorded.session):
            since = 0
        self.tracer = Tracer(recorded, self._pause)
        self.tracer.ear.loud = loud
        self._begin(since, [*self.checkers, self.tracer, *beside], ahead)
        self.stop: Stop | None = None
        self.error: BaseException | None = None
        self.inside = False
        self._strand = Strand(self._body)
        self._begun = False

    def _begin(self, since: int, observers: list[Any], ahead: tuple[int, int] | None) -> None:
        """Make the session, from the last snapshot or past the last mark before moment *since*, or with C for the tasks *ahead*."""
        recorded, to_the_end = self.recorded, since >= END
        snapshot = recorded.milestones.snapshot(since) if ahead is None else None
        mark = recorded.milestones.mark(since) if ahead is None else None
        # A snapshot at or behind the mark is nearer to the goal, and needs no passage up to it.
        if to_the_end or (snapshot is not None and mark is not None and mark.moment <= snapshot.moment):
            mark = None
        asleep = mark is not None or to_the_end or ahead is not None
        # To the end nothing is watched on the way: the moments that are known begin with the snapshot.
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
        self.session, self.tracer.copies = recorded.again(observers, snapshot, in_c=in_c)

    @property
    def ended(self) -> bool:
        """True where the launch is over."""
        return self._strand.ended

    def go(
        self,
        stoppers: Iterable[Stopper] = (),
        goal: Position | None = None,
        collect: Callable[[Stop], None] | None = None,
        trace_from: int | None = None,
    ) -> Stop | None:
        """Go on to the next stop and return it; None when the launch has ended.

        With *collect* the stops before *goal* are handed over, and only *goal* stops.  Raises what the
        host would see where that is no fault of the kernel's.
        """
        every = tuple(stoppers)
        for stopper in every:
            if isinstance(stopper, Breakpoint) and isinstance(stopper.location, FindingLocation):
                stopper.location.listen(self.checkers)
        # After a fault nothing of the kernel runs any more, so there is nothing left to stop at.
        self.tracer.arm(() if self.tracer.raised is not None else every, goal, trace_from)
        self.tracer.collect = collect
        self.stop, self._begun = None, True
        self.inside = True
        self._holder.take(self.hold)
        try:
            # On the way to a known place a call of breakpoint() is no reason to stop.
            with self.tracer.ear.listening(self._trap if goal is None else None):
                self._strand.resume()
        finally:
            self.inside = False
        # What the tracer has seen was shown as a stop; any other error belongs to the host.
        if self.tracer.raised is None and self.error is not None:
            raise self.error
        return self.stop

    def abandon(self) -> None:
        """End the run where it is; nothing of it is left."""
        self.tracer.disarm()
        self.tracer.ear.loud = False
        if self._begun and not self._strand.ended:
            self._holder.take(self.hold)
            with self.tracer.ear.listening():
                # Thrown into the strand, so that the frames of the kernel unwind.
                self._strand.throw(Abandoned())
        if self._holder.current is self.hold:
            self._holder.take(None)

    def _trap(self) -> None:
        """Stop at the next line of the kernel, which calls ``breakpoint()``."""
        self.tracer.interrupt(Trap())

    def _body(self) -> None:
        try:
            self.session.run()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - the one who resumes is told
            self.error = error

    def _pause(self, stop: Stop) -> None:
        self.stop = stop
        if stop.kind is LAUNCH_END or stop.error is not None:
            self.recorded.error = stop.error
            # A run that slept has not counted every moment.
            if not self.tracer.asleep:
                self.recorded.moments = self.tracer.moment
        self._strand.pause()
