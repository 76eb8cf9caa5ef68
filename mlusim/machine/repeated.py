"""Launches that are the same again: a kernel that is given no memory does what it did, and checkers find what they found.

A kernel of BANG C reaches no memory of the board but what its arguments lead to and its variables in GDRAM, and what it declares on the
chip is poison again in each launch.  So where the arguments are numbers and there are no such variables, all that it does follows from them, the board, the grid and the options; the launch before has done it.
"""

import struct
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Board
from mlusim.engine.preference import asked_of
from mlusim.machine.hub import Observer, sorted_by_interest
from mlusim.machine.limits import Limit
from mlusim.machine.scheduling.schedule import begin_memory_cores_first

if TYPE_CHECKING:
    from mlusim.machine.options import Request
    from mlusim.machine.session import Session
    from mlusim.machine.tally import Tally


@frozen(eq=False)
class _Left:
    """The sums of a launch, what it printed, and what each of its checkers has found in it."""

    tally: "Tally"
    printed: tuple[str, ...]
    findings: tuple[Any, ...]


MOST = 8  # launches of a kernel that are kept, the last ones
_left: "weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], _Left]]" = weakref.WeakKeyDictionary()
"""Of each kernel, what its launches that Python ran for checkers, and that were given no memory, have left, by all that is in them."""


@frozen(eq=False)
class Repeatable:
    """A launch that is given no memory, for those who are ``watching``; ``checkers`` are those of them that look for something."""

    request: "Request"
    key: tuple[Any, ...]
    watching: tuple[Observer, ...]
    checkers: tuple[Observer, ...]

    def again(self, session_of: "Callable[[], Session]") -> "Session | None":
        """Return the session of the launch as one before has left it; None where there was none such.

        *session_of* makes a session without observers, which does not run.
        """
        left = _left.get(self.request.kernel, {}).get(self.key)
        if left is None or not self._alike():
            return None
        session, findings = session_of(), iter(left.findings)
        session.tally, session.printed = left.tally, list(left.printed)
        for observer in self.watching:
            if observer in self.checkers:
                observer.take_over(session, next(findings))
            else:
                observer.launch_begin(session)
        for observer in self.watching:
            if observer not in self.checkers:
                observer.launch_end(session)
        return session

    def _alike(self) -> bool:
        return all(checker.repeats(self.request.kernel) for checker in self.checkers)

    def keep(self, session: "Session") -> None:
        """Keep what the launch of *session* has left, if Python ran it and each checker would find the same again."""
        if session.native is None and self._alike():
            findings = tuple(checker.left() for checker in self.checkers)
            entries = _left.setdefault(self.request.kernel, {})
            if len(entries) == MOST:
                del entries[next(iter(entries))]
            entries[self.key] = _Left(session.tally, tuple(session.printed), findings)


def repeatable(
    request: "Request", board: Board, watching: Sequence[Observer], bound: Limit, *, drawn: bool
) -> Repeatable | None:
    """Return how a launch within *bound* is made again for those who are *watching*; None where it has to run each time.

    That is where it is given memory, its schedule is *drawn*, the kernel is Python, or someone hears of what happens in it.
    """
    options = request.options
    if drawn or options.layout is not None or not request.kernel.compiled:
        return None
    numbers = tuple(_exactly(request.arguments))
    if None in numbers or request.variables:
        return None
    interested = sorted_by_interest(watching)
    if interested is None or any(told.counts for told in interested[1]):
        return None
    asked = options.effects, options.timing, asked_of(options.engine)
    kinds = tuple(type(observer) for observer in interested[0])
    key = (board, request.dim, request.kind, numbers, asked, bound, begin_memory_cores_first(), kinds)
    return Repeatable(request, key, tuple(watching), interested[0])


def _exactly(arguments: Iterable[Any]) -> Iterable[tuple[type, Any] | None]:
    """Yield the type and the bits of each number in *arguments*; None of anything else."""
    for argument in arguments:
        kind = type(argument)
        if kind in (tuple, list):
            yield (kind, tuple(_exactly(argument))) if None not in _exactly(argument) else None
        elif kind is float:
            yield kind, struct.pack("d", argument)
        elif isinstance(argument, np.generic):
            yield kind, argument.tobytes()
        else:
            yield (kind, argument) if kind in (int, bool) else None
