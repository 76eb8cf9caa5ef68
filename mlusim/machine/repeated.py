"""Repeated launches: a kernel without memory arguments does the same again, with the same findings of checkers.

A kernel of BANG C can access only the board memory of its arguments and its variables in GDRAM, and its declarations
on the chip are poison again in each launch.  So if the arguments are numbers and there are no such variables, its
behaviour is determined by them, the board, the grid and the options, and is that of the previous launch.
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
    from mlusim.machine.machine import Machine
    from mlusim.machine.options import Request
    from mlusim.machine.tally import Tally


@frozen(eq=False)
class _Left:
    """The sums of a launch, its printed lines, and the findings of each of its checkers."""

    tally: "Tally"
    printed: tuple[str, ...]
    findings: tuple[Any, ...]


MOST = 8  # the most launches stored of a kernel, the last ones
_left: "weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], _Left]]" = weakref.WeakKeyDictionary()
"""For each kernel, the results of its launches without memory arguments that Python ran for checkers, by their key."""


@frozen(eq=False)
class Repeatable:
    """A launch without memory arguments, for the observers ``watching``; ``checkers`` are those of them that look for problems."""

    request: "Request"
    key: tuple[Any, ...]
    watching: tuple[Observer, ...]
    checkers: tuple[Observer, ...]

    def again(self, machine_of: "Callable[[], Machine]") -> "Machine | None":
        """Return the machine of the launch with the results of an equal one before; None if there was none.

        *machine_of* makes a machine without observers, which does not run.
        """
        left = _left.get(self.request.kernel, {}).get(self.key)
        if left is None or not self._alike():
            return None
        machine, findings = machine_of(), iter(left.findings)
        machine.tally, machine.printed = left.tally, list(left.printed)
        for observer in self.watching:
            if observer in self.checkers:
                observer.take_over(machine, next(findings))
            else:
                observer.launch_begin(machine)
        for observer in self.watching:
            if observer not in self.checkers:
                observer.launch_end(machine)
        return machine

    def _alike(self) -> bool:
        return all(checker.repeats(self.request.kernel) for checker in self.checkers)

    def keep(self, machine: "Machine") -> None:
        """Store the results of the launch of *machine*, if Python ran it and each checker would have the same findings again."""
        if machine.native is None and self._alike():
            findings = tuple(checker.left() for checker in self.checkers)
            entries = _left.setdefault(self.request.kernel, {})
            if len(entries) == MOST:
                del entries[next(iter(entries))]
            entries[self.key] = _Left(machine.tally, tuple(machine.printed), findings)


def repeatable(
    request: "Request", board: Board, watching: Sequence[Observer], bound: Limit, *, drawn: bool
) -> Repeatable | None:
    """Return the stored form of a launch within *bound* for the observers *watching*; None if it has to run each time.

    It has to if it has memory arguments, its schedule is *drawn*, the kernel is Python, or an observer hears events
    in it.
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
    """Yield the type and the bits of each number in *arguments*; None for anything else."""
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
