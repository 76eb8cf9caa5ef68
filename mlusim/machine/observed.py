"""A launch and its cores as observers know them: they read what stands here, and change nothing of it.

The machine's own classes have more; `Observer` is declared over these, so that a checker sees no more than this.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

    from mlusim.arch.board import Board
    from mlusim.engine.contract import Flight
    from mlusim.machine.events import Step, TensorStore
    from mlusim.machine.hub import Hub
    from mlusim.machine.options import LaunchOptions
    from mlusim.memory.allocation import Allocation, Arena
    from mlusim.memory.declaration import StackVariable
    from mlusim.memory.regions import Placement
    from mlusim.memory.space import Space


class TaskPlace(NamedTuple):
    """The identity of a task and the core on which it runs."""

    task: int
    task_x: int
    task_y: int
    task_z: int
    cluster_id: int
    core_id: int
    memory_core: bool = False

    @property
    def label(self) -> str:
        """How messages name the core."""
        return f"memory core of cluster {self.cluster_id}" if self.memory_core else f"task {self.task}"


class Kernel(Protocol):
    """A kernel: its name, and the function where it has one."""

    name: str
    body: Callable[..., Any]

    # The local variables that are alive at once where they take most.
    @property
    def on_stack(self) -> "tuple[StackVariable, ...]": ...
    @property
    def compiled(self) -> bool: ...  # whether it is one of BANG C


class Request(Protocol):
    """The request for a launch."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...  # those of the kernel, behind ``mlu``
    @property
    def options(self) -> "LaunchOptions": ...


class Launch(Protocol):
    """A launch while it runs."""

    board: "Board"

    @property
    def request(self) -> Request: ...
    @property
    def given(self) -> "list[Allocation]": ...  # the memories that its arguments lead to, each once


class Cluster(Protocol):
    """The cores that share SRAM."""

    number: int  # its number on the board
    sram: "Arena"  # the SRAM that the cores share


class Union(Protocol):
    """The cores that may meet at a barrier, or the lone core of a Block task."""

    block: bool  # whether it is the core of a Block task

    @property
    def clusters(self) -> Sequence[Cluster]: ...
    @property
    def cores(self) -> "Sequence[Core]": ...
    def finished(self) -> bool: ...  # whether every core of it has ended


class Core(Protocol):
    """A core: where it runs, what is in flight, what it declared."""

    hub: "Hub"  # the observers; `Hub.renew` asks for steps that were left out
    number: int  # its number, in the order in which the cores of the launch begin
    place: "TaskPlace"  # which task it runs, and where

    @property
    def session(self) -> Launch: ...
    @property
    def plans(self) -> "tuple[Placement, ...]": ...  # those of its buffers that are in force
    @property
    def union(self) -> Union: ...
    @property
    def cluster(self) -> Cluster | None: ...  # None for a Block task
    @property
    def flights(self) -> "Iterable[Flight]": ...  # its asynchronous effects that have not landed
    @property
    def arenas(self) -> "Mapping[Space, Arena]": ...  # the memories that belong to this core alone
    def fresh_steps(self) -> "list[Step]": ...  # those since the last time, announced or not, each once
    def site(self) -> tuple[str, int]: ...  # the file and line of the kernel statement that it is at


class Screen(Protocol):
    """The record that a launch in C has kept for checkers; `mlusim.machine.native.screen.Screen` says what each member is."""

    def lack(self, allocation: "Allocation", tell: "Callable[[np.ndarray[Any, Any]], None]") -> None: ...
    def lacking(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]": ...
    def stored(self, allocation: "Allocation") -> bool: ...
    def stores(self, allocation: "Allocation") -> "tuple[TensorStore, ...] | None": ...
    @property
    def met(self) -> Sequence[tuple[int, ...]]: ...
    def unordered(self) -> "Iterator[Any]": ...  # each a `machine.native.screen.Window`
    def shared(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]": ...
