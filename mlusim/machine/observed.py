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

    @property
    def name(self) -> str:
        """The name by which launches and findings call the kernel."""

    @property
    def body(self) -> Callable[..., Any]:
        """The function that is called for each task."""

    @property
    def on_stack(self) -> "tuple[StackVariable, ...]":
        """The local variables on the stack that are alive at once, where they take most."""

    @property
    def compiled(self) -> bool:
        """True where it is one of BANG C."""


class Request(Protocol):
    """The request for a launch."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that runs."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the kernel, behind ``mlu``."""

    @property
    def options(self) -> "LaunchOptions":
        """The options that it was made with: seed, effects, layout."""


class Launch(Protocol):
    """A launch while it runs."""

    board: "Board"

    @property
    def request(self) -> Request:
        """The request for the launch."""


class Cluster(Protocol):
    """The cores that share SRAM."""

    number: int  # its number on the board
    sram: "Arena"  # the SRAM that the cores share


class Union(Protocol):
    """The cores that may meet at a barrier."""

    @property
    def block(self) -> bool:
        """True where it is the lone core of a Block task."""

    @property
    def clusters(self) -> Sequence[Cluster]:
        """The clusters that it consists of."""

    @property
    def cores(self) -> "Sequence[Core]":
        """The cores of its clusters, or the lone core of a Block task."""

    def finished(self) -> bool:
        """Return whether every core of it has ended."""


class Steps(Protocol):
    """The steps of a core."""

    def mark(self) -> "list[Step]":
        """Return the steps since the last mark, announced or not, each once."""


class Mlu(Protocol):
    """The object that a kernel was handed."""

    watch: Any  # the core's `Steps`; there are such while something listens to instructions


class Placed(Protocol):
    """The plans of a core's buffers."""

    @property
    def live(self) -> "tuple[Placement, ...]":
        """The plans that are in force."""


class Core(Protocol):
    """A core: where it runs, what is in flight, what it declared."""

    hub: "Hub"  # the observers; `Hub.renew` asks for steps that were left out
    number: int  # its number, in the order in which the cores of the launch begin
    place: "TaskPlace"  # which task it runs, and where

    @property
    def mlu(self) -> Mlu:
        """The object that its kernel was handed."""

    @property
    def session(self) -> Launch:
        """The launch that the core belongs to."""

    @property
    def placements(self) -> Placed:
        """The plans of its buffers."""

    @property
    def union(self) -> Union:
        """The cores that may meet it at a barrier."""

    @property
    def cluster(self) -> Cluster | None:
        """Its cluster; None for a Block task."""

    @property
    def flights(self) -> "Iterable[Flight]":
        """Its asynchronous effects that have not landed."""

    @property
    def arenas(self) -> "Mapping[Space, Arena]":
        """The memories that belong to this core alone."""

    def site(self) -> tuple[str, int]:
        """Return the file and line of the kernel statement that it is at."""


class Screen(Protocol):
    """The record that a launch in C has kept for checkers (`mlusim.machine.native.screen`)."""

    def lack(self, allocation: "Allocation", tell: "Callable[[np.ndarray[Any, Any]], None]") -> None:
        """Take the values from the bytes of the tensor *allocation* that have none: *tell* writes which to what it is given."""

    def lacking(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]":
        """Yield the tensors that were passed to `lack`, and their flags now."""

    def stored(self, allocation: "Allocation") -> bool:
        """Return whether something was stored to a tensor that was passed to `lack`."""

    def stores(self, allocation: "Allocation") -> "tuple[TensorStore, ...] | None":
        """Return the last and the furthest store of each place there; None where they are not known."""

    @property
    def met(self) -> Sequence[tuple[int, ...]]:
        """In their order: a task that begins, ``()``, and the tasks that met at a barrier, by their numbers."""

    def unordered(self) -> "Iterator[Any]":
        """Yield what cores did between two waits for all where something may be in no order (`machine.native.screen.Window`)."""

    def shared(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]":
        """Yield each memory that is shared, and the accesses to it: low, high, kind and segment of each in a row."""


class LaunchResult(Protocol):
    """The result of a launch; `mlusim.machine.launch.Launch` has more."""

    @property
    def kernel(self) -> str:
        """The name by which launches and findings call the kernel."""

    @property
    def time_us(self) -> float:
        """The predicted hardware time, in us."""

    @property
    def findings(self) -> tuple[Any, ...]:
        """The findings of the observers."""
