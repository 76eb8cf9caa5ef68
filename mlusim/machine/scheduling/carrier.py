"""What carries a core: a greenlet that runs until it parks.  The only file that knows greenlets."""

import contextlib
import contextvars
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


class Carriers:
    """Makes carriers, each of whose bodies runs in a copy of *context*.

    A strand whose body has returned carries the next one, which saves what a strand costs: memory from the system
    for its frames.  Where a debugger traces, each body has a strand of its own, for a strand keeps what it knew of
    tracing.
    """

    def __init__(self, context: contextvars.Context) -> None:
        self._context = context
        self._idle: list[Any] = []
        self._bodies: dict[Any, Callable[[], None]] = {}

    def carry(self, body: Callable[[], None]) -> "Carrier":
        """A carrier of *body*, which has not begun."""
        home = getcurrent()
        if self._idle and sys.gettrace() is None and self._idle[-1].parent is home:
            strand = self._idle.pop()
        else:
            strand = greenlet(_footed(self._carry), home)
        strand.gr_context = self._context.copy()
        carrier = Carrier(home, strand)
        self._bodies[strand] = functools.partial(self._run, carrier, body)
        return carrier

    def _carry(self) -> None:
        strand: Any = getcurrent()
        while True:
            self._bodies.pop(strand)()
            strand.parent.switch()

    def _run(self, carrier: "Carrier", body: Callable[[], None]) -> None:
        body()
        carrier.ended = True
        self._idle.append(carrier.strand)

    def close(self) -> None:
        """End the strands that wait for a body."""
        for strand in self._idle:
            strand.throw(GreenletExit)
        self._idle.clear()
        self._bodies.clear()


class Carrier:
    """One cooperative strand of execution; `resume` runs it until it parks or ends.

    ``ended`` says whether the body has returned; ``trace`` is the trace function that a parked strand resumes with.
    """

    __slots__ = ("_home", "ended", "strand", "trace")

    def __init__(self, home: Any, strand: Any) -> None:
        self._home, self.strand = home, strand
        self.ended = False
        self.trace: Any = None

    @property
    def dead(self) -> bool:
        """Whether the strand is no more, as after an exception of the body."""
        return bool(self.strand.dead)

    @property
    def current(self) -> bool:
        """Whether the caller runs on this strand."""
        return not self.ended and getcurrent() is self.strand

    @property
    def frame(self) -> FrameType | None:
        """The innermost frame of a parked strand."""
        frame: FrameType | None = None if self.ended else self.strand.gr_frame
        return frame

    def resume(self) -> None:
        """Run the strand until it parks or ends; its exceptions come out here."""
        with _own_trace():
            self.strand.switch()

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
            self.strand.throw(error)

    def kill(self) -> None:
        """End a parked strand; its `finally` blocks run."""
        if not self.ended and not self.strand.dead:
            self.strand.throw(GreenletExit)


class Strand:
    """A body with carriers of its own, which may be stopped in the middle of any of them.

    Inside, `pause` gives control to the caller of `resume`; `resume` goes on behind that `pause`.
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
