"""Runs of launches that have begun: to a position, for a search, beside the present, to count moments."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from mlusim.debug.run.bindings import Holder
from mlusim.debug.run.launch_run import LaunchRun
from mlusim.debug.run.launches import KeptLaunch
from mlusim.debug.run.program_run import ProgramRun
from mlusim.debug.stop.breakpoints import Stopper
from mlusim.debug.stop.moments import END, Position, Stop
from mlusim.debug.stop.steppers import Issues
from mlusim.errors import UsageError


class RunListener(Protocol):
    """An observer that listens to a run beside the debugger, and is told which run it is."""

    def begin(self, run: LaunchRun) -> None: ...


LOOKBACK = 256  # moments before a stop that are watched, so that there is a history
KEPT = 4096  # stops that a search backwards keeps; beyond that it counts them first
WINDOWS = (256, 1 << 14, 1 << 18, END)  # moments before the present that are searched, one after the other


class RunMaker:
    """Makes runs of *host*'s launches; *checks* names the checkers that they need.

    ``active`` is the one that is being run on the way to somewhere, and must not stop elsewhere.
    """

    def __init__(self, host: ProgramRun, checks: Callable[[], tuple[str, ...]]) -> None:
        self._host = host
        self._checks = checks
        self.active: LaunchRun | None = None

    @property
    def holder(self) -> Holder:
        """The one who says whose bindings are in place."""
        return self._host.holder

    def _make(self, recorded: KeptLaunch, *arguments: Any, **options: Any) -> LaunchRun:
        return LaunchRun(recorded, *arguments, holder=self.holder, **options)

    def recorded(self, launch: int) -> KeptLaunch:
        """Return the launch with that number; raises `UsageError` where there is none."""
        if not 1 <= launch <= len(self._host.launches):
            raise UsageError(f"there is no launch {launch}; the program has begun {len(self._host.launches)}")
        return self._host.launches[launch - 1]

    def _visited(self, launch: int) -> KeptLaunch:
        """Return the launch, which alone keeps snapshots from now on."""
        recorded = self.recorded(launch)
        for other in self._host.launches:
            if other is not recorded:
                other.milestones.forget()
        return recorded

    def to(self, position: Position, since: int | None = None) -> LaunchRun:
        """Return a run at *position*, watched from moment *since* on; raises `UsageError` where there is none."""
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
        """Return a run of a launch, not begun, of which C runs the first groups of tasks, and cores of the next one, *ahead*."""
        return self._make(self._visited(launch), ahead=ahead, loud=True)

    def aside(
        self,
        position: Position,
        *,
        since: int | None = None,
        watching: RunListener | None = None,
        following: Stopper | None = None,
    ) -> LaunchRun:
        """Return a run for another look, at *position*, with a log of its writes where asked, or at the end before it.

        It is watched from moment *since* on, or as late as can be, with *following* as a stopper from there on; the
        caller abandons it.
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
        """Return the *count*-th last stop that *stoppers* would make in the launch of *limit* before it, or None.

        Where there are fewer, the first of them.  Looks at the last moments first, then further back.
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
        """Do as `last_before` where the stops are too many to keep: count them first."""
        total = 0

        def add(_: Stop) -> None:
            nonlocal total
            total += 1

        self._search(limit, stoppers, 0, add)
        kept: deque[Stop] = deque(maxlen=1)
        left = max(total - count, 0) + 1

        def keep(stop: Stop) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                kept.append(stop)

        self._search(limit, stoppers, 0, keep)
        return kept[0] if kept else None

    def _search(
        self, limit: Position, stoppers: tuple[Stopper, ...], since: int, tell: Callable[[Stop], None]
    ) -> None:
        """Tell every stop of *stoppers* in moments from *since* on and before *limit*."""
        run = self._make(self.recorded(limit.launch), self._checks(), since=since)
        lines = run.since if any(s.lines for s in stoppers) else END
        try:
            self._go(run, stoppers, limit, tell, lines)
        finally:
            run.abandon()

    def issue(self, launch: int, number: int) -> Stop | None:
        """Return the stop at the *number*-th instruction of a launch."""
        if number == 0:
            return None
        run = self._make(self.recorded(launch))
        stop = self._go(run, [Issues(number)])
        run.abandon()
        return stop

    def moments(self, launch: int) -> int:
        """Return how many moments a launch that has ended has; counted by running it, once."""
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
        collect: Callable[[Stop], None] | None = None,
        trace_from: int | None = None,
    ) -> Stop | None:
        before, self.active = self.active, run
        try:
            return run.go(stoppers, goal, collect, trace_from)
        finally:
            self.active = before


def _pass_by(stop: Stop) -> None:
    """Go on: who follows a run does not stop it."""
