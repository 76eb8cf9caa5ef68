"""Launches in C that checkers watch: which may be, and their run, which is clean, or undone for Python to make it again."""

import contextlib
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import define

from mlusim.arch.board import Board
from mlusim.engine.native.build import BuildError, available
from mlusim.engine.native.screen import Mode, Screened
from mlusim.engine.preference import AUTO, NATIVE, PYTHON, asked_of
from mlusim.machine.hub import Observer, hears_the_ends
from mlusim.machine.limits import UNLIMITED, Meter
from mlusim.machine.native.beside import give_room, is_fresh, room_for
from mlusim.machine.native.choose import compiles, debugged
from mlusim.machine.native.counts import counts_of
from mlusim.machine.native.screen import Screen
from mlusim.machine.native.watched_rows import RowWatch
from mlusim.memory.allocation import POISON
from mlusim.memory.given import allocations

if TYPE_CHECKING:
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.session import Request, Session

LARGE = 1 << 20  # bytes that a launch is given, from which on Python takes longer than a compiler
LONG = 20_000  # instructions and scalar accesses of an earlier launch of the kernel, from which on it does
TRIED = 1 << 10  # bytes, from which on a launch of a new kernel is tried in Python: how long is it?
_long: "weakref.WeakSet[Any]" = weakref.WeakSet()  # kernels of which a launch was long
_short: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()
"""Of kernels that were tried and are short, the bytes that they were given: no launch with fewer is tried again."""
_left: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""Of kernels that no screen can run, the architectures."""


@define
class Screening:
    """A launch that C may run for the checkers: what watches, what its checkers look for, the compiled kernel.

    ``told`` hear of no more than its beginning and its end, and are told what C counts where they want that.  Without ``loaded`` Python runs it; where it is to be ``tried`` before it is
    compiled, also if it is short.  ``beside`` runs its tasks on several threads, as `screen_beside` does with their number.
    """

    request: "Request"
    checkers: tuple[Observer, ...]
    told: tuple[Observer, ...]
    looks: Screened
    loaded: "Callable[[], Loaded | None]"
    tried: bool = False
    beside: "Callable[[Session, Screen, Callable[[], None]], bool] | None" = None

    def run(self, session_of: "Callable[..., Session]", meter: "Meter | None") -> "Session | None":
        """Run it in C; the session where the checkers find nothing, otherwise None, and its memory as it was before.

        *session_of* makes the session of those who observe, the choices of a schedule, the engine, the meter and the screen.
        """
        told, self.told = self.told, ()  # all hear of everything, in Python
        if self.tried and not self._long(session_of, meter):
            return None
        with contextlib.nullcontext() if meter is None else meter.paused():
            loaded = self.loaded()
        if loaded is None:
            return None
        self.told = told
        screen = Screen(self.looks, RowWatch)
        session = session_of((screen,), None, loaded, meter, screen)
        counting = [observer for observer in self.told if observer.counts]
        session.counts = counts_of(session) if counting else None
        for observer in self.told:
            observer.launch_begin(session)
        if not all(checker.screen_begin(session, screen) for checker in self.checkers):
            return None
        if not self._clean(session, screen):
            if screen.hopeless:
                _left.setdefault(self.request.kernel.native, set()).add(session.board.arch.name)
            return None
        for checker in self.checkers:
            checker.launch_begin(session)
            checker.screened(screen)
        for observer in counting:
            observer.counted(session.counts.covers, session.counts.counts)
        for observer in self.told:
            observer.launch_end(session)
        return session

    def _clean(self, session: "Session", screen: Screen) -> bool:
        """Run the tasks, and return whether the checkers find nothing; memory is as before where they may."""
        before = _Before(self.request)
        beside = self.beside

        def undo() -> None:
            before.restore()
            screen.flags.clear()
            for checker in self.checkers:
                checker.screen_begin(session, screen)

        try:
            session.run(None if beside is None else functools.partial(beside, session, screen, undo))
            clean = all(checker.screen_end(screen) for checker in self.checkers)
        except Exception:  # noqa: BLE001 - a fault, or what a checker may report: Python says which
            clean = False
        if not clean:
            before.restore()
        before.end()
        return clean

    def _long(self, session_of: "Callable[..., Session]", meter: "Meter | None") -> bool:
        """Return whether the launch is as long as `LONG`, without observers; memory is as before."""
        before = _Before(self.request)
        trial = (meter or Meter(UNLIMITED)).trial(LONG)
        session = session_of((), None, None, trial, None)
        with contextlib.suppress(Exception):  # when all watch, Python says what it is
            session.run()
        before.restore()
        before.end()
        long = trial.spent or session.tally.length >= LONG
        if long:
            _long.add(self.request.kernel.native)
        else:
            _short[self.request.kernel.native] = _given(self.request)
        return long


class _Before:
    """The memory that *request* may change, as it was before; of bytes that are poison, as the device has made them, nothing is kept."""

    def __init__(self, request: "Request") -> None:
        changing = [a for a in allocations(request) if a.writable]
        self._fresh = [a for a in changing if is_fresh(a)]
        self._kept = [(a, room_for(a.nbytes)) for a in changing if not is_fresh(a)]
        for allocation, room in self._kept:
            room[:] = allocation.raw

    def restore(self) -> None:
        """Give the memory what it held before."""
        for allocation, room in self._kept:
            allocation.raw[:] = room
        for allocation in self._fresh:
            allocation.raw.fill(POISON)

    def end(self) -> None:
        """Let later launches have the room."""
        for _, room in self._kept:
            give_room(room)
        self._kept = []


def screening_of(
    request: "Request",
    board: Board,
    watching: Sequence[Observer],
    *,
    counted: bool,
    drawn: bool,
) -> Screening | None:
    """Return how C runs a launch for those who are *watching*; None where it does not.

    "auto" leaves short launches to Python, which has run them before a compiler is done.
    """
    asked = asked_of(request.options.engine)
    kernel = request.kernel
    native = getattr(kernel, "native", None)
    if asked == PYTHON or counted or drawn or native is None or not compiles(board.arch):
        return None
    tried = asked == AUTO and not _worth(request)
    if asked == AUTO and (debugged() or (tried and _given(request) <= _short.get(native, TRIED - 1))):
        return None
    found, compiler = _sorted(watching), available()
    if found is None or compiler is None:
        return None
    checkers, told, looks = found
    if not checkers:  # C need not be compiled to look for anything
        return None
    left, covered = _left.setdefault(native, set()), any(one.counts for one in told)

    def loaded() -> "Loaded | None":
        with contextlib.suppress(BuildError):
            one: Loaded | None = None
            if board.arch.name not in left:
                one = native.loaded(board.arch, compiler, Mode.SCREENED, covered=covered)
            if one is not None:
                return one
        left.add(board.arch.name)
        return None

    return Screening(request, checkers, told, looks, loaded, tried and board.arch.name not in left)


def worth_a_compiler(request: "Request") -> bool:
    """Return whether a launch that Python may watch goes to C: where that is asked for, and where "auto" expects it to be long."""
    asked = asked_of(request.options.engine)
    return asked == NATIVE or (asked == AUTO and _worth(request))


def _worth(request: "Request") -> bool:
    if request.kernel.native in _long:
        return True
    return _given(request) >= LARGE


def _given(request: "Request") -> int:
    """Return the bytes of the memory that *request* leads to."""
    return sum(a.nbytes for a in allocations(request))


def note_watched(session: "Session") -> None:
    """Remember the kernel of a launch that was watched in Python and was long."""
    kernel = session.request.kernel
    native = getattr(kernel, "native", None)
    if native is not None and session.native is None and session.tally.length >= LONG:
        _long.add(native)


def _sorted(
    watching: Sequence[Observer],
) -> tuple[tuple[Observer, ...], tuple[Observer, ...], Screened] | None:
    """Return those who look for something, those who hear of the ends, or of counts, only, and what is looked for; None where someone hears of more."""
    checkers, told, looks = [], [], Screened(0)
    for observer in watching:
        screens = type(observer).__dict__.get("screens", 0)
        if screens:
            checkers.append(observer)
            looks |= screens
        elif observer.counts or hears_the_ends(observer):
            told.append(observer)
        else:
            return None
    return tuple(checkers), tuple(told), looks
