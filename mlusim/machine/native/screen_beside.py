"""Launches in C that checkers watch, whose tasks run on several cores of the host: a screen for each thread, which one takes over.

The threads share the flags of tensors.  What they have touched off chip is in their screens; where one of them has written, or
changed by an atomic, what another has touched, the order of tasks counts, and the launch is made again in order.
"""

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.board import Arch
from mlusim.engine.native.screen import READS, Screened, Suspicion
from mlusim.engine.preference import NATIVE, asked_of
from mlusim.machine.native.beside import IN_ORDER, LARGE, Ending, Threads, apart, every_so_many, groups_of
from mlusim.machine.native.screen import KEY, KIND, SEGMENT, Rows, Screen
from mlusim.memory.given import allocations

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.session import Request, Session

_left: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""Of kernels whose tasks have to run in order, the architectures."""


class ThreadScreen(Screen):
    """The screen of one thread, for what *whole* looks for; what is shared is always in it."""

    def __init__(self, whole: Screen, ending: Ending) -> None:
        # With RACE it keeps the accesses that `apart` compares.
        super().__init__(whole.looks | Screened.RACE, whole.watch)
        self.flags.update(whole.flags)
        self._ending = ending

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*."""
        super().begin(core)
        self._ending.watched_by(core)

    def row(self, core: "NativeCore", row: "Intrinsic", given: Sequence[Any], *, native: bool) -> None:
        """Python is going to execute *row*; raises `Suspicion` for what tasks do in their order."""
        if row.name in IN_ORDER:
            raise Suspicion
        super().row(core, row, given, native=native)


def threads_of_screen(request: "Request", arch: Arch, looks: Screened, asked: int) -> int:
    """Return on how many of the threads that are *asked* for the tasks of a screened launch may run; "auto" is one that is given much."""
    many = min(asked, groups_of(request, arch))
    if many < 2 or looks & Screened.PARTS or arch.name in _left.get(request.kernel.native, ()):
        return 1
    large = asked_of(request.options.engine) == NATIVE or sum(a.nbytes for a in allocations(request)) >= LARGE
    return many if large else 1


def screen_beside(many: int, session: "Session", screen: Screen, undo: Callable[[], None]) -> bool:
    """Run all tasks of *session* on *many* threads, and let its tally and *screen* have what they found.

    False where they have to run in order: then *undo* has made memory and the flags of tensors what they were before.
    """
    limit = None if session.meter is None else session.meter.limit
    # At which instruction a limit ends the launch depends on the order of tasks.
    if not session.alone or (limit is not None and limit.instructions is not None):
        return False

    def part(ending: Ending, place: int) -> "tuple[Session, ThreadScreen]":
        del place
        own = ThreadScreen(screen, ending)
        loaded: Loaded = session.native.again()
        loaded.beside = True
        return session.beside(loaded, own, (own,)), own

    groups = functools.partial(every_so_many, many, groups_of(session.request, session.board.arch))
    parts = Threads(session, many, part, groups).run()
    if parts is None or not apart(
        np.concatenate([_touched(screen, own, n) for n, (_, own) in enumerate(parts)])
    ):
        undo()
        _left.setdefault(session.request.kernel.native, set()).add(session.board.arch.name)
        return False
    session.threads = many
    session.join([tally for tally, _ in parts])
    for _, own in parts:
        screen.take(own)
    return True


def _touched(screen: Screen, own: Screen, number: int) -> Rows:
    """Return the rows of what thread *number* touched, as `apart` takes them, with the numbers of memories that *screen* has."""
    rows = own.accesses()
    rows[:, KEY] = screen.keys_for(own)[rows[:, KEY]]
    rows[:, KIND] = rows[:, KIND] != READS  # 1: changed, by a store or an atomic
    rows[:, SEGMENT] = number
    return rows
