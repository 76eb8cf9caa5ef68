"""The part of the machine that an engine uses, as classes on which the machine stands.

The machine owns cores, memories, the schedule and the log; an engine provides the object through which a
kernel issues instructions. The Python engine adds one generated method per row to the machine's `Mlu`
(`engine.issue.mlu_class`); these methods use only the members of `IssuingMlu` and `IssuingCore`. `Polls`,
which counts a core's loads of shared memory, is here too. The native engine instead runs a whole kernel
(`machine.native.core`) on a core of the same machine, and calls Python for rare operations.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define

from mlusim.arch.board import Pipe
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Port, View
from mlusim.memory.space import GDRAM, SRAM
from mlusim.time.log import FOR_ALL, FOR_COMPUTE, FOR_IO, IO_FLIGHT, MOVE_FLIGHT, WAIT, WAITS
from mlusim.time.quantities import IO, MOVE, OPENING, CopyLoad, Head

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic

BUILT_INS = (
    "taskId", "taskIdX", "taskIdY", "taskIdZ", "taskDim", "taskDimX", "taskDimY", "taskDimZ",
    "clusterId", "clusterDim", "coreId", "coreDim",
)  # fmt: skip
"""The built-in variables of a task that every kernel can read."""


class Mode(Enum):
    """The records of a kernel in C: nothing, possible findings of checkers, accesses of tasks that run at once, or all instructions."""

    ALONE = "alone"
    SCREENED = "screened"
    BESIDE = "beside"
    NOTED = "noted"


# -- polling: a core that reads the same shared bytes again and again lets other cores run ---

# Both engines use the same counts, because the moment of a switch decides the order and the last bits of
# float atomics.
SPIN_LOADS = 256  # polls of shared memory after which a core lets others run
POLLED = 16  # number of addresses that one polling loop may read
POLL_BYTES = 64  # only a copy of at most this many bytes may poll a flag
POLL_COPIES = 16  # polling copies after which a core lets others run
# A core may do other work between its polls, for example to signal that it waits.
PATIENCE = 4096  # polls after which a core lets others run in any case


class Polls:
    """Detects polling: repeated loads or copies of the same bytes of shared memory by one core.

    A core that copies or stores other data between its polls is working, not waiting. *work* returns a
    counter that grows with the bytes of all copies of the core and with its stores to shared memory.
    """

    __slots__ = ("_addresses", "_loads", "_looked", "_looks", "_others", "_spin", "_work")

    def __init__(self, spin: Callable[[], None], work: Callable[[], int]) -> None:
        self._spin, self._work = spin, work  # *spin* lets other cores run
        self._addresses: set[int] = set()
        self._loads = self._looks = 0
        self._looked = 0  # bytes copied by polling copies
        self._others = 0  # the value of *work* without polling, at the last check

    def load(self, address: int) -> None:
        """Count a scalar load; a core that keeps loading from a few addresses is polling."""
        if address in self._addresses:
            self._loads += 1
            if self._loads % SPIN_LOADS == 0:
                self._wait(self._loads)
        elif len(self._addresses) < POLLED:
            self._addresses.add(address)
        else:
            self._addresses = {address}
            self._loads = 0

    def copy(self, address: int, nbytes: int) -> None:
        """Count a small copy of *nbytes* bytes; copying from the same address again and again is polling."""
        if address in self._addresses:
            self.again(nbytes)
        elif len(self._addresses) < POLLED:
            self._addresses.add(address)
        else:
            self._addresses = {address}

    def again(self, nbytes: int) -> None:
        """Count a copy of *nbytes* bytes that were copied before."""
        self._looks += 1
        self._looked += nbytes
        if self._looks % POLL_COPIES == 0:
            self._wait(self._looks)

    def _wait(self, looks: int) -> None:
        """Let other cores run if this core did no other work since the last check, and in any case after `PATIENCE` polls."""
        others = self._work() - self._looked
        waits = others == self._others or looks % PATIENCE == 0
        self._others = others
        if waits:
            self._spin()


@define(eq=False)
class Flight:
    """An asynchronous effect between issue and landing: its pipe, the function that lands it, and the announced effect.

    ``inside`` is true for a copy from NRAM to NRAM, ``landed`` if the bytes were already moved before the
    wait for the effect.
    """

    pipe: Pipe
    land: Callable[[], None]
    effect: Any
    inside: bool = False
    landed: bool = False


Side = tuple[Access, ...]  # the accesses on the reading or on the writing side of an effect
Values = tuple[Any, ...]


NOTHING = CopyLoad()


class ScalarWatch(Protocol):
    """An observer of the scalar accesses of a core."""

    def scalar(self, name: str, view: View, index: int, value: object = None, waits: int = 0, /) -> None: ...


class Watch(ScalarWatch, Protocol):
    """An observer of the instructions of a core; it returns the instruction's `mlusim.machine.hub.Effect`, or None."""

    def row(self, row: "Intrinsic", frame: FrameType, operands: Values, arguments: Values, /) -> Any: ...
    def copy(self, row: "Intrinsic", pipe: Pipe, reads: Side, writes: Side, arguments: Values, /) -> Any: ...
    def flight(
        self, row: "Intrinsic", pipe: Pipe, reads: Side, writes: Side, arguments: Values, /
    ) -> Any: ...
    def lands(self, effect: Any, /) -> None: ...
    def retire(self, effect: Any, /) -> None: ...
    def mark(self) -> list[Any]: ...  # the steps since the last mark, each once


class IssuingMlu:
    """The part of `mlusim.machine.mlu.Mlu` that an engine uses: the core, its counters, and the observer."""

    __slots__ = ("core", "counts", "directions", "lines", "spare", "traffic", "watch", "work")

    core: "IssuingCore"
    counts: list[int]
    work: list[int]
    lines: list[int]
    spare: list[int]
    traffic: list[int]
    watch: Any  # the `Watch` of its instructions; None without observers
    directions: Any  # the copies that the core can execute, as `engine.copies.Routes`


class IssuingCore(Port):
    """A core as far as it issues instructions: its pipes, the effects in flight on them, and the log of its work.

    `mlusim.machine.core.Core` is one, and has the state.
    """

    mlu: IssuingMlu
    hub: Any
    union: Any
    cluster: Any  # None in a Block task
    pending: int  # pipes with effects not waited for yet; and OPENING while the task begins
    fence: bool  # set if it waited for its compute stream with nothing pending
    late: bool
    log: Any  # log of its work, row by row; None if time is not predicted
    head: Head
    flights: deque[Flight]
    bindings: list[dict[Any, View]]
    source: Allocation | None  # source of the last large copy, and its byte offset
    source_at: int
    away: dict[tuple[View, int], View]  # SRAM of other clusters, by (view of own SRAM, cluster number)

    @cached_property
    def polls(self) -> Polls:
        """Return the record of the shared memory that it polls, made at its first poll."""
        return Polls(partial(self.machine.scheduler.spin, self), self._carried)

    def _carried(self) -> int:
        """Return a number that grows with the bytes of all copies and atomics, and with the stores to shared memory."""
        work, stores = self.mlu.work, self.stores
        return work[IO] + work[MOVE] + stores[GDRAM.number] + stores[SRAM.number]

    def leave_out(self, row: "Intrinsic") -> None:
        """Announce that *row* has no effect on this core, a memory core."""
        if self.hub.left_out is not None:
            self.hub.left_out(self, row)

    def atomic_step(self, unchanged: bool) -> None:
        """Let other tasks run after an atomic on which they may spin."""
        if unchanged:
            self.machine.scheduler.spin(self)
        else:
            self.machine.scheduler.pause(self)

    # -- pipes ---------------------------------------------------------------------------------

    def fly(self, flight: Flight, load: CopyLoad) -> None:
        """Accept an asynchronous effect: it lands now (eager) or at the sync that waits for it (late)."""
        self._take(flight, load)
        if not self.late:
            self.drain(flight.pipe)
        elif (
            flight.inside
            and self.machine.compiled
            and all(f.landed for f in self.flights if f.pipe is Pipe.MOVE and f is not flight)
        ):
            # A copy inside NRAM is ordered with vector instructions; only its end must be waited for.
            # Behind unlanded copies of the move-DMA it waits as they do.
            self._land(flight)
            flight.land, flight.effect, flight.landed = lambda: None, None, True

    def _take(self, flight: Flight, load: CopyLoad) -> None:
        if self.fence:
            self.fence = False
            self._note(WAIT, FOR_COMPUTE)
        self._note(IO_FLIGHT if flight.pipe is Pipe.IO else MOVE_FLIGHT, 0, load)
        self.pending |= WAITS[flight.pipe]
        if self.pending & OPENING:
            self.head.flies(load)
        self.flights.append(flight)

    def drain(self, pipe: Pipe | None = None) -> None:
        """Land the effects in flight on *pipe*, or on every pipe, in the order of their issue."""
        if not self.flights:
            return
        keep: deque[Flight] = deque()
        for flight in self.flights:
            if pipe is None or flight.pipe is pipe:
                self._land(flight)
            else:
                keep.append(flight)
        self.flights = keep

    def settle(self, pipe: Pipe) -> None:
        """Land the effects in flight on *pipe* before a blocking effect on it."""
        if self.pending & OPENING and self.head.settles(self.mlu.work):
            self.pending &= ~OPENING
        if self.pending & FOR_ALL:
            self._await(WAITS[pipe])
            self.drain(pipe)

    def _land(self, flight: Flight) -> None:
        watch, effect = self.mlu.watch, flight.effect
        if watch is None or effect is None:
            flight.land()
        else:
            watch.lands(effect)
            flight.land()
            watch.retire(effect)

    # -- the log -------------------------------------------------------------------------------

    def _await(self, waits: int) -> None:
        """Log a wait for pipes; if nothing is in flight, the next flight will log it."""
        pending = self.pending
        if pending & OPENING and waits & FOR_IO:
            self.head.ends(self.mlu.work)
            self.pending = pending = pending & ~OPENING
        if pending & waits:
            self._note(WAIT, waits)
            self.pending = pending & ~waits
        elif waits & FOR_COMPUTE:
            if pending & FOR_ALL:
                self._note(WAIT, waits)
            else:
                self.fence = self.log is None or self.log.fence()

    def _note(self, kind: int, argument: int, load: CopyLoad = NOTHING) -> None:
        if self.log is not None:
            counts = (*self.mlu.work, *self.loads, *self.stores)
            grown = self.log.note(kind, argument, load, counts)
            if grown and self.machine.meter is not None:
                self.machine.meter.grows(self, grown)
