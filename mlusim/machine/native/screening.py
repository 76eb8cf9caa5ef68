"""Launches in C that checkers watch: which may be, and their run, which is clean, or undone for Python to make it again."""

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.engine.native.build import BuildError, available
from mlusim.engine.native.screen import Mode, Screened
from mlusim.engine.preference import AUTO, PYTHON, engine_of, preferred
from mlusim.machine.hub import Observer, hears_the_ends
from mlusim.machine.native.choose import compiles, debugged
from mlusim.machine.native.screen import Screen
from mlusim.memory.given import allocations

if TYPE_CHECKING:
    from mlusim.machine.limits import Meter
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.session import Request, Session

LARGE = 1 << 20  # bytes that a launch is given, from which on Python takes longer than a compiler, and
LONG = 20_000  # instructions of an earlier launch of the kernel
_long: "weakref.WeakSet[Any]" = weakref.WeakSet()  # kernels of which a launch was long
_left: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""Of kernels that no screen can run, the architectures."""


@frozen
class Screening:
    """A launch that C may run for the checkers: what watches, what its checkers look for, the compiled kernel.

    ``told`` hear of no more than its beginning and its end.  Without ``loaded`` Python runs it.
    """

    request: "Request"
    checkers: tuple[Observer, ...]
    told: tuple[Observer, ...]
    looks: Screened
    loaded: "Loaded | None"

    def run(self, session_of: "Callable[..., Session]", meter: "Meter | None") -> "Session | None":
        """Run it in C; the session where the checkers find nothing, otherwise None, and its memory as it was before.

        *session_of* makes the session of those who observe, the choices of a schedule, the engine, the meter and the screen.
        """
        if self.loaded is None:
            return None
        screen = Screen(self.looks)
        session = session_of((screen,), None, self.loaded, meter, screen)
        for observer in self.told:
            observer.launch_begin(session)
        if not all(checker.screen_begin(session, screen) for checker in self.checkers):
            return None
        kept = [(a, a.raw.copy()) for a in allocations(self.request) if a.writable]
        try:
            session.run()
            clean = all(checker.screen_end(screen) for checker in self.checkers)
        except Exception:  # noqa: BLE001 - a fault, or what a checker may report: Python says which
            clean = False
        if not clean:
            for allocation, content in kept:
                allocation.raw[:] = content
            if screen.hopeless:
                _left.setdefault(self.request.kernel.native, set()).add(session.board.arch.name)
            return None
        for checker in self.checkers:
            checker.launch_begin(session)
            checker.screened(screen)
        for observer in self.told:
            observer.launch_end(session)
        return session


def screening_of(
    engine: str, request: "Request", board: Board, watching: Sequence[Observer], *, counted: bool, drawn: bool
) -> Screening | None:
    """Return how C runs a launch for those who are *watching*; None where it does not.

    "auto" leaves short launches to Python, which has run them before a compiler is done.
    """
    asked = preferred() if engine_of(engine) == AUTO else engine
    kernel = request.kernel
    native = getattr(kernel, "native", None)
    if asked == PYTHON or counted or drawn or native is None or not compiles(board.arch):
        return None
    if asked == AUTO and (debugged() or not _worth(request)):
        return None
    found, compiler = _sorted(watching), available()
    if found is None or compiler is None:
        return None
    checkers, told, looks = found
    left = _left.setdefault(native, set())
    loaded = None
    if board.arch.name not in left:
        with contextlib.suppress(BuildError):
            loaded = native.loaded(board.arch, compiler, Mode.SCREENED)
    if loaded is None:
        left.add(board.arch.name)
        told = ()  # all hear of everything, in Python
    return Screening(request, checkers, told, looks, loaded)


def _worth(request: "Request") -> bool:
    if request.kernel.native in _long:
        return True
    return sum(a.nbytes for a in allocations(request)) >= LARGE


def note_watched(session: "Session") -> None:
    """Remember the kernel of a launch that was watched in Python and was long."""
    kernel = session.request.kernel
    native = getattr(kernel, "native", None)
    if native is not None and session.native is None and sum(session.tally.counts) >= LONG:
        _long.add(native)


def _sorted(
    watching: Sequence[Observer],
) -> tuple[tuple[Observer, ...], tuple[Observer, ...], Screened] | None:
    """Return those who look for something, those who hear of the ends only, and what is looked for; None where someone hears of more."""
    checkers, told, looks = [], [], Screened(0)
    for observer in watching:
        screens = type(observer).__dict__.get("screens", 0)
        if screens:
            checkers.append(observer)
            looks |= screens
        elif hears_the_ends(observer):
            told.append(observer)
        else:
            return None
    return tuple(checkers), tuple(told), looks
