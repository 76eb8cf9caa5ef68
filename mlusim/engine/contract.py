"""The protocols between an engine and the machine.

The machine owns cores, memories, the schedule and the log; an engine makes what a kernel is handed.  The Python engine
gives the machine's `Mlu` one generated method for each row (`engine.issue.mlu_class`); the methods use nothing of the
machine except what is declared here.  `Polls`, which counts a core's loads of shared memory, is declared here too.  The
native engine runs a whole kernel instead (`machine.native.core`), on a core of the same machine, and calls up for what
is rare.
"""

from collections.abc import Callable
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Port, Ptr, View
from mlusim.time.quantities import CopyLoad

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic

BUILT_INS = (
    "taskId", "taskIdX", "taskIdY", "taskIdZ", "taskDim", "taskDimX", "taskDimY", "taskDimZ",
    "clusterId", "clusterDim", "coreId", "coreDim",
)  # fmt: skip
"""The variables of a task that every kernel has."""


class Mode(Enum):
    """The watch that a kernel in C keeps on itself: none, for what checkers may report, for what tasks touch that run at once, or of every instruction."""

    ALONE = "alone"
    SCREENED = "screened"
    BESIDE = "beside"
    NOTED = "noted"


# -- polling, told from reading: a core that looks at the same shared bytes again and again lets others run ----

# Both engines count the same way: when a core lets others run decides the order and last bits of float atomics.
SPIN_LOADS = 256  # polls of shared memory after which a core lets others run
POLLED = 16  # addresses that a polling loop may look at
POLL_BYTES = 64  # a copy of at most so many bytes may be a look at a flag
POLL_COPIES = 16  # such looks after which a core lets others run
PATIENCE = (
    4096  # looks after which it does so though it works between them, as one that tells others that it waits
)


class Polls:
    """The looks of one core at shared memory: loads, and copies of the same bytes.

    A core that carries or stores something else between its looks works, and does not wait for others.  *work* returns a number that
    grows with the bytes of all its copies, and with its stores to shared memory.
    """

    __slots__ = ("_addresses", "_loads", "_looked", "_looks", "_others", "_spin", "_work")

    def __init__(self, spin: Callable[[], None], work: Callable[[], int]) -> None:
        self._spin, self._work = spin, work  # *spin* lets others run
        self._addresses: set[int] = set()
        self._loads = self._looks = 0
        self._looked = 0  # bytes that the looks have carried
        self._others = 0  # work beside the looks, at the last time when this was asked

    def load(self, address: int) -> None:
        """Account for a scalar load; a core that keeps loading from a few addresses is polling."""
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
        """Account for a small copy, of *nbytes*; copying the same bytes again and again is polling too."""
        if address in self._addresses:
            self.again(nbytes)
        elif len(self._addresses) < POLLED:
            self._addresses.add(address)
        else:
            self._addresses = {address}

    def again(self, nbytes: int) -> None:
        """Account for a copy, of *nbytes*, of bytes that were copied before."""
        self._looks += 1
        self._looked += nbytes
        if self._looks % POLL_COPIES == 0:
            self._wait(self._looks)

    def _wait(self, looks: int) -> None:
        """Let others run, if this core has done nothing else since the last time, or after every so many *looks*."""
        others = self._work() - self._looked
        waits = others == self._others or looks % PATIENCE == 0
        self._others = others
        if waits:
            self._spin()


@define(eq=False)
class Flight:
    """An asynchronous effect between its issue and its landing: its pipe, what lands it, what was announced.

    ``inside`` is true for a copy from NRAM to NRAM, ``landed`` for an effect whose bytes are there before the wait for
    it.
    """

    pipe: Pipe
    land: Callable[[], None]
    effect: Any
    inside: bool = False
    landed: bool = False


Side = tuple[Access, ...]  # what an effect reads, or writes
Values = tuple[Any, ...]


class ScalarWatch(Protocol):
    """The hearer of a core's scalar accesses."""

    def scalar(self, name: str, view: View, index: int, value: object = None, waits: int = 0, /) -> None: ...


class Watch(ScalarWatch, Protocol):
    """The hearer of a core's instructions; what it returns for one is its `mlusim.machine.hub.Effect`, or None."""

    def row(self, row: "Intrinsic", frame: FrameType, operands: Values, arguments: Values, /) -> Any: ...
    def copy(self, row: "Intrinsic", pipe: Pipe, reads: Side, writes: Side, arguments: Values, /) -> Any: ...
    def flight(
        self, row: "Intrinsic", pipe: Pipe, reads: Side, writes: Side, arguments: Values, /
    ) -> Any: ...
    def lands(self, effect: Any, /) -> None: ...
    def retire(self, effect: Any, /) -> None: ...
    def mark(self) -> list[Any]: ...  # the steps since the last mark, each once


class IssuingCore(Port, Protocol):
    """The core that an instruction runs on, as the engine sees it; `machine.core.Core` says what each member is."""

    pending: int
    source: Any
    source_at: int
    log: Any  # the log of its work, row by row; None where time is not predicted
    away: dict[tuple[View, int], View]  # SRAM of other clusters, by the view of its own and their number
    cluster: Any  # None for a Block task
    union: Any

    @property
    def polls(self) -> Polls: ...  # the record of its loads of shared memory
    def bind(self, allocation: Allocation, dtype: DType, phase: int = 0, index: int = 0) -> Ptr: ...
    def fly(self, flight: Flight, load: CopyLoad) -> None: ...
    def settle(self, pipe: Pipe) -> None: ...
    def atomic_step(self, unchanged: bool) -> None: ...
    def leave_out(self, row: "Intrinsic") -> None: ...


class IssuingMlu(Protocol):
    """The object that an intrinsic's method works on: the core, its counters, and who announces."""

    counts: list[int]
    work: list[int]
    lines: list[int]
    spare: list[int]
    traffic: list[int]
    watch: Any  # the `Watch` of its instructions; None while nothing listens
    directions: Any  # the copies that the core has, as `engine.copies.Routes`

    @property
    def core(self) -> IssuingCore: ...
