"""The protocols between an engine and the machine.

The machine owns cores, memories, the schedule and the log; an engine makes what a kernel is handed.  The Python engine
gives the machine's `Mlu` one generated method for each row (`engine.issue.mlu_class`); the methods ask nothing of the
machine but what stands here.  The native engine runs a whole kernel instead (`machine.native.core`), on a core of the
same machine, and calls up for what is rare.
"""

from collections.abc import Callable
from typing import Any, Protocol

from attrs import define

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType
from mlusim.engine.polls import Polls
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Port, Ptr, View
from mlusim.time.quantities import CopyLoad


@define(eq=False)
class Flight:
    """An asynchronous effect between its issue and its landing: its pipe, what lands it, what was announced.

    ``inside`` is true of a copy from NRAM to NRAM, ``landed`` of one whose bytes are there before what waits for it.
    """

    pipe: Pipe
    land: Callable[[], None]
    effect: Any
    inside: bool = False
    landed: bool = False


class IssuingCore(Port, Protocol):
    """The core that an instruction runs on, as the engine sees it; `machine.core.Core` says what each member is."""

    pending: int
    source: Any
    source_at: int
    log: Any  # the log of its work, row by row; None where time is not predicted
    polls: Polls  # the record of its loads of shared memory
    # SRAM of other clusters, by the core's view of its own and their number.
    away: dict[tuple[View, int], View]
    cluster: Any  # None for a Block task
    union: Any

    def bind(self, allocation: Allocation, dtype: DType, phase: int = 0, index: int = 0) -> Ptr: ...
    def fly(self, flight: Flight, load: CopyLoad) -> None: ...
    def settle(self, pipe: Pipe) -> None: ...
    def atomic_step(self, unchanged: bool) -> None: ...


class Mlu(Protocol):
    """The object that an intrinsic's method works on: the core, its counters, and who announces."""

    counts: list[int]
    work: list[int]
    lines: list[int]
    spare: list[int]
    traffic: list[int]
    watch: Any  # the `machine.announcer.Announcer` of the core's instructions; None while nothing listens
    directions: Any  # the copies that the core has, as `engine.routes.Routes`

    @property
    def core(self) -> IssuingCore: ...
