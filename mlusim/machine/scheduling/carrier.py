"""What carries a core: a greenlet that runs until it parks.  The only file that knows greenlets."""

import contextlib
import functools
import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from greenlet import GreenletExit, getcurrent, greenlet

FOOT = 4  # calls through C at the foot of a strand, each of some frames
_CALL = operator.methodcaller("__call__")


def _footed(body: Callable[[], None]) -> Callable[[], None]:
    """*body* behind a dozen frames of C, which belong to the strand.

    NumPy walks up ten frames of the C stack before it reuses a large temporary (``temp_elide.c``).  Beyond
    the foot of a strand lies whatever its resumer has there, not what was there when it began: a walk
    that leaves the strand reads garbage as return addresses, and the process dies.
    """
    for _ in range(FOOT):
        body = functools.partial(_CALL, body)
    return body


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
    """One cooperative strand of execution; `resume` runs it until it parks or ends.

    ``trace`` is the trace function that a parked strand resumes with.
    """

    __slots__ = ("_home", "_strand", "trace")

    def __init__(self, body: Callable[[], None]) -> None:
        self._home = getcurrent()
        self._strand = greenlet(_footed(body), self._home)
        self.trace: Any = None

    @property
    def ended(self) -> bool:
        """Whether the body has returned."""
        return bool(self._strand.dead)

    @property
    def current(self) -> bool:
        """Whether the caller runs on this strand."""
        return getcurrent() is self._strand

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
        self.trace = sys.gettrace()
        try:
            self._home.switch()
        finally:
            if sys.gettrace() is not self.trace:
                sys.settrace(self.trace)

    def hold(self) -> NoReturn:
        """Give control back for good: the strand will not go on, not even to clean up."""
        while True:
            with contextlib.suppress(GreenletExit):
                self._home.switch()

    def throw(self, error: BaseException) -> None:
        """Raise *error* where the strand is parked."""
        with _own_trace():
            self._strand.throw(error)

    def kill(self) -> None:
        """End a parked strand; its `finally` blocks run."""
        if not self._strand.dead:
            self._strand.throw(GreenletExit)


class Strand:
    """A body with carriers of its own, which may be stopped in the middle of any of them.

    Inside, `pause` gives control to whoever resumed; `resume` goes on behind that `pause`.
    """

    __slots__ = ("_body", "_outside", "_place")

    def __init__(self, body: Callable[[], None]) -> None:
        self._body = self._place = greenlet(_footed(body))
        self._outside = getcurrent()

    @property
    def ended(self) -> bool:
        """Whether the body has returned."""
        return bool(self._body.dead)

    @property
    def frame(self) -> FrameType | None:
        """The innermost frame of a paused strand."""
        frame: FrameType | None = self._place.gr_frame
        return frame

    def resume(self) -> None:
        """Run until something inside pauses, or the body ends; its exceptions come out here."""
        self._enter()
        with _own_trace():
            self._place.switch()

    def throw(self, error: BaseException) -> None:
        """Raise *error* where the strand is paused; it comes out here unless something inside takes it."""
        self._enter()
        with _own_trace():
            self._place.throw(error)

    def _enter(self) -> None:
        self._outside = self._body.parent = getcurrent()

    def pause(self) -> None:
        """Give control back to the one who resumed; called from anywhere inside."""
        self._place = getcurrent()
        with _own_trace():
            self._outside.switch()
