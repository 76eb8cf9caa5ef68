"""What declared a piece of memory, as a value."""

from pathlib import PurePath

from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.memory.space import Space


@frozen
class MemoryDeclaration:
    """A declaration of *count* elements of *dtype* in *space*.

    On the chip *file* and *line* are those of the kernel's statement, and *name* is the variable's where the front end
    knows it; a tensor of the host has its *shape* instead, and *const* where a kernel may not write it.
    """

    space: Space
    dtype: DType
    count: int
    file: str = ""
    line: int = 0
    name: str | None = None
    shape: tuple[int, ...] | None = None
    const: bool = False

    @property
    def place(self) -> str:
        """``kernel.py:21``; empty for a tensor."""
        return f"{PurePath(self.file).name}:{self.line}" if self.file else ""

    def __str__(self) -> str:
        if self.shape is not None:
            return f"{'const ' if self.const else ''}tensor {self.dtype}{list(self.shape)}"
        return f"{self.space} {self.dtype}[{self.count}] declared at {self.place}"
