"""The protocols between an engine and the machine.

The machine owns cores, memories, the schedule and the log; an engine provides the object through which a
kernel issues instructions. The Python engine adds one generated method per row to the machine's `Mlu`
(`engine.issue.mlu_class`); these methods use only the members of the machine that are declared here. `Polls`,
which counts a core's loads of shared memory, is here too. The native engine instead runs a whole kernel
(`machine.native.core`) on a core of the same machine, and calls Python for rare operations.
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


class IssuingCore(Port, Protocol):
    """A core, as the engine sees it; the members are documented in `machine.core.Core`."""

    pending: int
    source: Any
    source_at: int
    log: Any  # log of its work, row by row; None if time is not predicted
    away: dict[tuple[View, int], View]  # SRAM of other clusters, by (view of own SRAM, cluster number)
    cluster: Any  # None in a Block task
    union: Any

    @property
    def polls(self) -> Polls: ...  # counts loads of shared memory
    def bind(self, allocation: Allocation, dtype: DType, phase: int = 0, index: int = 0) -> Ptr: ...
    def fly(self, flight: Flight, load: CopyLoad) -> None: ...
    def settle(self, pipe: Pipe) -> None: ...
    def atomic_step(self, unchanged: bool) -> None: ...
    def leave_out(self, row: "Intrinsic") -> None: ...


class IssuingMlu(Protocol):
    """The object with the methods of intrinsics, as the engine sees it: the core, its counters, and the observer."""

    counts: list[int]
    work: list[int]
    lines: list[int]
    spare: list[int]
    traffic: list[int]
    watch: Any  # the `Watch` of its instructions; None without observers
    directions: Any  # the copies that the core can execute, as `engine.copies.Routes`

    @property
    def core(self) -> IssuingCore: ...
