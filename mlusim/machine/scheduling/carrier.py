"""Strands, which carry cores: greenlets that run until they park.  Only this file uses greenlets."""

import contextlib
import contextvars
import functools
import operator
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from greenlet import GreenletExit, getcurrent, greenlet

FOOT = 4  # calls through C at the foot of a strand, each with some frames
KEPT = 64  # idle strands of a thread
Home = greenlet  # the strand that continues when a strand ends
_CALL = operator.methodcaller("__call__")


def _footed(body: Callable[[], None]) -> Callable[[], None]:
    """Return *body* called through a dozen frames of C, which belong to the strand.

    NumPy walks up ten frames of the C stack before it reuses a large temporary (``temp_elide.c``).  Beyond
    the foot of a strand lie the current frames of its resumer, not those from its beginning: a walk
    that leaves the strand reads garbage as return addresses, and the process dies.
    """
    for _ in range(FOOT):
        body = functools.partial(_CALL, body)
    return body


class _own_trace:  # noqa: N801 - reads like a verb
    """Restores the trace function of a strand after others ran.

    A debugger sets one per thread: without this, `continue` in one task would end `next` in another.
    """

    __slots__ = ("_trace",)

    def __enter__(self) -> None:
        self._trace = sys.gettrace()

    def __exit__(self, *_: object) -> None:
        if sys.gettrace() is not self._trace:
            sys.settrace(self._trace)


@functools.cache
def _idle(_thread: int) -> list[Any]:
    """Return the strands of *thread* whose bodies have returned."""
    return []


def _watched() -> bool:
    """Return whether a debugger or a profiler follows calls; a strand keeps the value from its beginning."""
    return sys.gettrace() is not None or sys.getprofile() is not None


def _carry() -> None:
    """Run one body after another, each assigned to the strand while it is idle."""
    strand: Any = getcurrent()
    while True:
        strand.__dict__.pop("body")()
        strand.parent.switch()


class Carriers:
    """Makes carriers, each of whose bodies runs in a copy of *context*.

    A strand whose body has returned is reused for another one, which avoids the cost of a strand: memory from the
    system for its frames.  In the main thread the next body may belong to a later launch; not in others, because no
    strand can be ended after its thread is over.  If a debugger traces, or a profiler counts, each body has a strand
    of its own.
    """

    def __init__(self, context: contextvars.Context) -> None:
        self._context = context
        self.home = getcurrent()  # the strand that created this object
        self._spent: list[Any] = []  # strands that are not used again
        here = threading.get_ident()
        self._lasting = here == threading.main_thread().ident
        self._idle: list[Any] = _idle(here) if self._lasting else []

    def carry(self, body: Callable[[], None], home: Home | None = None) -> "Carrier":
        """Return a carrier of *body*, which has not begun; at its end the strand *home* continues, by default the caller's."""
        home, watched = getcurrent() if home is None else home, _watched()
        if self._idle and not watched:
            strand = self._idle.pop()
            if strand.parent is not home:
                strand.parent = home
        else:
            strand = greenlet(_footed(_carry), home)
        strand.gr_context = self._context.copy()
        carrier = Carrier(home, strand)
        strand.body = functools.partial(self._run, carrier, body, watched)
        return carrier

    def follow(self, carrier: "Carrier") -> "Carrier":
        """Return a carrier of the next body on the strand of *carrier*, which has ended and on which this is called."""
        carrier.ended = True
        carrier.strand.gr_context = self._context.copy()
        return carrier.next()

    def _run(self, carrier: "Carrier", body: Callable[[], None], watched: bool) -> None:
        body()
        carrier.ended = True
        keeps = len(self._idle) < KEPT and not (watched or _watched())
        (self._idle if keeps else self._spent).append(carrier.strand)

    def close(self) -> None:
        """End the strands that carry no body."""
        for strands in (self._spent,) if self._lasting else (self._spent, self._idle):
            for strand in strands:
                strand.throw(GreenletExit)
            strands.clear()


class Carrier:
    """One cooperative strand of execution; `resume` runs it until it parks or ends.

    ``ended`` says whether the body has returned; ``trace`` is the trace function that a parked strand resumes with.
    """

    __slots__ = ("_home", "begun", "ended", "strand", "trace")

    def __init__(self, home: Any, strand: Any) -> None:
        self._home, self.strand = home, strand
        self.begun = self.ended = False
        self.trace: Any = None

    def next(self) -> "Carrier":
        """Return a carrier of the same, running strand."""
        following = Carrier(self._home, self.strand)
        following.begun = True
        return following

    @property
    def dead(self) -> bool:
        """Return whether the strand is dead, for example after an exception of the body."""
        return bool(self.strand.dead)

    @property
    def current(self) -> bool:
        """Return whether the caller runs on this strand."""
        return not self.ended and getcurrent() is self.strand

    @property
    def frame(self) -> FrameType | None:
        """Return the innermost frame of a parked strand; None before the body begins, whatever the strand carried before."""
        frame: FrameType | None = self.strand.gr_frame if self.begun and not self.ended else None
        return frame

    def resume(self) -> None:
        """Run the strand until it parks or ends; its exceptions are raised here."""
        self.begun = True
        trace = sys.gettrace()
        try:
            self.strand.switch()
        finally:  # as `_own_trace` does, but in less time
            if sys.gettrace() is not trace:
                sys.settrace(trace)

    def park(self, other: "Carrier | None" = None) -> None:
        """Return control to the resumer, or pass it to *other*, which is parked; called from inside the strand."""
        self.trace = sys.gettrace()
        try:
            (self._home if other is None else other.strand).switch()
        finally:
            if sys.gettrace() is not self.trace:
                sys.settrace(self.trace)

    def hold(self) -> NoReturn:
        """Return control for good: the strand will not continue, not even to clean up."""
        while True:
            with contextlib.suppress(GreenletExit):
                self._home.switch()

    def throw(self, error: BaseException) -> None:
        """Raise *error* where the strand is parked."""
        with _own_trace():
            self.strand.throw(error)

    def kill(self) -> None:
        """End a parked strand; its `finally` blocks run untraced: a debugger's unfinished step would otherwise stop inside the machine."""
        if not self.ended and not self.strand.dead:
            self.trace = None
            with _own_trace():
                self.strand.throw(GreenletExit)


class Abandoned(BaseException):
    """Ends a strand that is no longer needed; raised at its pause, so that the frames inside unwind."""


class Strand:
    """A body with carriers of its own, which may be paused in the middle of any of them.

    Inside, `pause` returns control to the caller of `resume`; `resume` continues after that `pause`.  ``error`` is
    the exception of the body.
    """

    __slots__ = ("_body", "_outside", "_place", "error")

    def __init__(self, body: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._body = self._place = greenlet(_footed(functools.partial(self._run, body)))
        self._outside = getcurrent()

    def _run(self, body: Callable[[], object]) -> None:
        try:
            body()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised again by `resume`
            self.error = error

    @property
    def ended(self) -> bool:
        """Return whether the body has returned."""
        return bool(self._body.dead)

    def resume(self) -> None:
        """Run until code inside pauses, or the body ends."""
        self._enter()
        with _own_trace():
            self._place.switch()

    def abandon(self) -> None:
        """End the body at its pause."""
        self._enter()
        with _own_trace():
            self._place.throw(Abandoned())

    def _enter(self) -> None:
        self._outside = self._body.parent = getcurrent()

    def pause(self) -> None:
        """Return control to the resumer; called from anywhere inside."""
        self._place = getcurrent()
        with _own_trace():
            self._outside.switch()
