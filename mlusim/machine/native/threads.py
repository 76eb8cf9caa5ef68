"""The threads of a launch in C: the launching one and others, a common end, and space for copies of original bytes."""

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from mlusim.arch.board import Arch
from mlusim.errors import MlusimError
from mlusim.lazy import lazy
from mlusim.machine.limits import Overdue
from mlusim.machine.native.text.screen import Suspicion
from mlusim.machine.tensor import allocation_of
from mlusim.memory.allocation import Allocation, Bytes, fresh_bytes

if TYPE_CHECKING:
    from concurrent import futures

    from mlusim.machine.machine import Machine
    from mlusim.machine.options import Request
    from mlusim.machine.tally import Tally
else:  # for launches on threads
    (futures,) = lazy("concurrent.futures")

Noted = TypeVar("Noted")  # the record of one thread's tasks
# Launches with arguments of at least this many bytes have more than one thread.  A smaller one is over in a
# few milliseconds, of which a second thread needs three to begin the cores of a union.
WORTH_THREADS = 8 << 20
# The most bytes for copies of pages that a process keeps for its next launches, since the system is slow to
# provide them.
KEPT_BYTES = 64 << 20
MOST_THREADS = 64
MOMENT = 0.05  # seconds after which the launch's own thread checks its alarm
# Rows that make the order of tasks visible: output, locks, the dumps that end a launch.
IN_ORDER = frozenset({"bang_lock", "bang_unlock", "bang_printf", "breakdump_scalar", "breakdump_vector"})


@functools.cache
def pool() -> "futures.ThreadPoolExecutor":
    """Return the threads of the process, which start when needed, and stay."""
    return futures.ThreadPoolExecutor(MOST_THREADS, "mlusim-tasks")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # a forked child has no threads

_rooms: list[Bytes] = []  # space for copies of pages


def give_room(room: Bytes) -> None:
    """Make *room* available to later launches."""
    if sum(r.size for r in _rooms) + room.size <= KEPT_BYTES:
        _rooms.append(room)


def room_for(nbytes: int) -> Bytes:
    """Return space for *nbytes* bytes of copies: an earlier launch's if there is one of that size."""
    for place, room in enumerate(_rooms):
        if room.size == nbytes:
            return _rooms.pop(place)
    return fresh_bytes(nbytes)


class Ending:
    """The common end of the threads of a launch: ``stopped`` is set if one has to end; C checks it at intervals."""

    def __init__(self) -> None:
        self.stopped = False
        self._look = self._look_up

    def watched_by(self, c: ctypes.Structure) -> None:
        """End the core with structure *c* when the other threads have ended."""
        c.look = id(self._look)

    def _look_up(self) -> None:
        """End the thread if the others have ended; Python handles signals during the call."""
        if self.stopped:
            raise Suspicion


def is_fresh(allocation: Allocation) -> bool:
    """Return whether the bytes are fresh poison of the device, and need no copy."""
    heap = allocation.heap
    touched = allocation.filled or allocation.given or allocation.launches
    return not touched and heap is not None and allocation.address not in heap.kept


def only_read(request: "Request") -> set[Allocation]:
    """Return the memories that are const arguments of *request*'s kernel, and of no other kind of argument."""
    pairs = list(zip(request.arguments, request.kernel.native.constants, strict=False))
    read = {allocation_of(argument) for argument, constant in pairs if constant}
    others = (a for argument, constant in pairs if not constant for a in _allocations_in(argument))
    return {a for a in read.difference(others) if a is not None}


def _allocations_in(argument: object) -> Iterator[Allocation]:
    """Yield the allocations of *argument*, or of the members of a structure."""
    for part in argument if isinstance(argument, tuple | list) else (argument,):
        if isinstance(part, tuple | list):
            yield from _allocations_in(part)
        elif (allocation := allocation_of(part)) is not None:
            yield allocation


def groups_of(request: "Request", arch: Arch) -> int:
    """Return the number of groups of tasks: Block tasks, or unions."""
    x, y, z = request.dim
    return x * y * z // max(1, request.kind.unions * arch.cores_per_cluster)


class Threads(Generic[Noted]):
    """The *many* threads of a launch; the first is the launching one, which receives interrupts and the alarm of a limit.

    *part* makes the machine of a thread, by its number, and the record of its tasks, which are those of *groups*.
    """

    def __init__(
        self,
        machine: "Machine",
        many: int,
        part: "Callable[[Ending, int], tuple[Machine, Noted]]",
        groups: "Callable[[int], Iterable[int]]",
    ) -> None:
        self._machine, self._many, self._part, self._groups = machine, many, part, groups
        self._ending = Ending()
        self._done: dict[int, tuple[Tally, Noted]] = {}
        self._first: Machine | None = None  # the machine of the launching thread

    def run(self) -> "list[tuple[Tally, Noted]] | None":
        """Run the tasks; return the sums and the record of each thread in order, or None if a problem has ended one of them."""
        others = [pool().submit(self._work, n) for n in range(1, self._many)]
        try:
            self._work(0)
            while futures.wait(others, MOMENT).not_done:
                pass
        except BaseException as error:
            self._ending.stopped = True
            # The alarm may ring again before a starved thread has ended.
            while futures.wait(others, 0).not_done:
                with contextlib.suppress(Overdue):
                    futures.wait(others)
            if isinstance(error, Overdue):
                raise (self._first or self._machine).late(error) from None
            raise
        for other in others:
            other.result()
        if len(self._done) == self._many:
            return [self._done[place] for place in range(self._many)]
        if self._machine.meter is not None:
            self._machine.meter.begin_again()
        return None

    def _work(self, place: int) -> None:
        """Run the tasks or unions of thread *place*, in a machine of its own."""
        meter = self._machine.meter
        try:
            part, notes = self._part(self._ending, place)
            if place == 0:
                self._first = part
            part.run_some(self._groups(place))
            self._done[place] = part.tally, notes
        except Exception as error:
            self._ending.stopped = True
            expected = isinstance(error, Suspicion | MlusimError)  # the launch is repeated in order
            if not expected or (place == 0 and meter is not None and meter.over):
                raise
