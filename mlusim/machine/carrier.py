"""What carries a core: a greenlet that runs until it parks.  The only file that knows greenlets."""

import sys
from collections.abc import Callable
from types import FrameType

from greenlet import GreenletExit, getcurrent, greenlet


class _own_trace:  # noqa: N801 - reads as what it does
    """Gives a strand its trace function back after others ran.

    A debugger sets one per thread: `continue` in one task would otherwise end `next` in another.
    """

    __slots__ = ("_trace",)

    def __enter__(self) -> None:
        self._trace = sys.gettrace()

    def __exit__(self, *_: object) -> None:
        if sys.gettrace() is not self._trace:
            sys.settrace(self._trace)


class Carrier:
    """One cooperative strand of execution; `resume` runs it until it parks or ends."""

    __slots__ = ("_home", "_strand")

    def __init__(self, body: Callable[[], None]) -> None:
        self._home = getcurrent()
        self._strand = greenlet(body, self._home)

    @property
    def ended(self) -> bool:
        """Whether the body has returned."""
        return bool(self._strand.dead)

    @property
    def frame(self) -> FrameType | None:
        """The innermost frame of a parked strand."""
        frame: FrameType | None = self._strand.gr_frame
        return frame

    def resume(self) -> None:
        """Run the strand until it parks or ends; its exceptions come out here."""
        with _own_trace():
            self._strand.switch()

    def park(self) -> None:
        """Give control back to the one who resumed; called from inside the strand."""
        with _own_trace():
            self._home.switch()

    def throw(self, error: BaseException) -> None:
        """Raise *error* where the strand is parked."""
        with _own_trace():
            self._strand.throw(error)

    def kill(self) -> None:
        """End a parked strand; its `finally` blocks run."""
        if not self._strand.dead:
            self._strand.throw(GreenletExit)
