"""The pipes of a core: the units that instructions are issued to."""

from enum import Enum


class Pipe(Enum):
    """The pipes of a core; instructions of one pipe complete in order."""

    SCALAR = "scalar"
    VECTOR = "vector"
    TENSOR = "tensor"
    IO = "IO-DMA"
    MOVE = "move-DMA"
