"""What a launch leaves behind."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from mlusim.machine.tally import Instructions, Usage
from mlusim.machine.timing import TaskSpan


@frozen(eq=False)
class Launch:
    """The result of a launch: counts, traffic, memory, predicted time and what observers found.

    ``instructions`` counts each intrinsic, ``traffic`` gives bytes by copy direction, ``io_bytes``
    what the IO-DMA carried for copies, atomics and fills together, ``memory`` the capacity and
    high-water mark (bytes) of each on-chip memory, ``time_us`` the predicted hardware time, ``bound``
    the pipe that sets it, ``timeline`` each task's span, ``findings`` what the observers have to say,
    ``printed`` the lines of ``__bang_printf``.
    """

    kernel: str
    board: str
    dim: tuple[int, int, int]
    kind: str
    seed: int | None
    effects: str
    time_us: float
    bound: str
    instructions: Instructions
    traffic: Mapping[str, int]
    memory: Mapping[str, Usage]
    scalar_loads: Mapping[str, int]
    scalar_stores: Mapping[str, int]
    busy_us: Mapping[str, float]
    timeline: tuple[TaskSpan, ...]
    findings: tuple[Any, ...]
    printed: tuple[str, ...]
    observers: tuple[Any, ...] = ()
    io_bytes: int = 0

    def __getitem__(self, kind: type) -> Any:
        """The observer of class *kind* that watched this launch."""
        for observer in self.observers:
            if isinstance(observer, kind):
                return observer
        raise KeyError(kind.__name__)
