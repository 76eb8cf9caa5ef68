"""A launch run again under the debugger's eyes, on copies of its tensors."""

from collections.abc import Callable, Iterable
from typing import Any

from mlusim.debug.breakpoints import Breakpoint, FindingLocation, Stopper
from mlusim.debug.host import Abandoned
from mlusim.debug.launches import Recorded
from mlusim.debug.tracer import Tracer
from mlusim.debug.when import END, LAUNCH_END, Position, Stop
from mlusim.machine.carrier import Strand
from mlusim.observe.names import observers_of


class Replica:
    """One execution of a recorded launch; `run` lets it go on, ``stop`` is where it is.

    *checks* are names of checkers that watch it; *beside* are observers that listen after the debugger.
    """

    def __init__(self, recorded: Recorded, checks: Iterable[str] = (), beside: Iterable[Any] = ()) -> None:
        self.recorded = recorded
        self.checkers = observers_of(checks)
        self.tracer = Tracer(recorded.index, recorded.owned, self._pause)
        self.session = recorded.again([*self.checkers, self.tracer, *beside])
        self.stop: Stop | None = None
        self.error: BaseException | None = None
        self.inside = False
        self._strand = Strand(self._body)
        self._begun = False

    @property
    def ended(self) -> bool:
        """Whether the launch is over."""
        return self._strand.ended

    def run(
        self,
        stoppers: Iterable[Stopper] = (),
        goal: Position | None = None,
        collect: Callable[[Stop], None] | None = None,
        trace_from: int = END,
    ) -> Stop | None:
        """Go on to the next stop and return it; None when the launch has ended.

        With *collect* the stops before *goal* are handed over, and only *goal* stops.  Raises what the
        host would see where that is no fault of the kernel's.
        """
        every = tuple(stoppers)
        for stopper in every:
            if isinstance(stopper, Breakpoint) and isinstance(stopper.location, FindingLocation):
                stopper.location.listen(self.checkers)
        self.tracer.arm(() if self.tracer.raised is not None else every, goal, trace_from)
        self.tracer.collect = collect
        self.stop, self._begun = None, True
        self.inside = True
        try:
            self._strand.resume()
        finally:
            self.inside = False
        if self.tracer.raised is None and self.error is not None:
            raise self.error
        return self.stop

    def abandon(self) -> None:
        """End the execution where it is; nothing of it is left."""
        self.tracer.disarm()
        if self._begun and not self._strand.ended:
            self._strand.throw(Abandoned())

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
            self.recorded.moments = self.tracer.moment
            self.recorded.error = stop.error
        self._strand.pause()
