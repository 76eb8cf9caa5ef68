"""The work of one task, as the machine leaves it and time is predicted from it, and the lanes of a launch."""

from typing import NamedTuple

from attrs import frozen

from mlusim.time.log import CoreLog
from mlusim.time.step_log import CoreSteps


class TaskWork(NamedTuple):
    """The work of one task: scalar operations, vector cycles, tensor MACs, IO bytes, move bytes; its log."""

    task: int
    memory_core: bool
    union: int
    cluster: int
    work: tuple[int, ...]
    log: CoreLog
    core: int = 0  # coreId; of a memory core, the number of IPU cores beside it
    steps: CoreSteps | None = None  # where every step was asked for
    reads: tuple[tuple[int, int, int], ...] = ()  # tensors: address, bytes, bytes that copies read of it
    head: tuple[int, int] = (0, 0)  # transactions and transfers before it could compute


@frozen
class Lanes:
    """Lanes of the vector unit, in bytes: those that held an element, and those of all lines that were taken."""

    used: int
    paid: int
