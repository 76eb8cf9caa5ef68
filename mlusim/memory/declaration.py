"""The declaration of a piece of memory, as a value."""

from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from mlusim.arch.dtypes import DType
from mlusim.errors import RuleFault, shown_file
from mlusim.memory.space import NRAM, Space


@frozen
class MemoryDeclaration:
    """A declaration of *count* elements of *dtype* in *space*.

    On the chip *file* and *line* are those of the kernel's statement, and *name* is the variable's where the front end
    knows it; a tensor of the host has its *shape* instead, the *name* of the parameter that it is given to where that is
    known, and *const* where a kernel may not write it.
    *stack* is true for a local array of BANG C, which a compiler has on its stack.  *told* says in words what a
    tensor is, where a program has another name for it than its shape.
    """

    space: Space
    dtype: DType
    count: int
    file: str = ""
    line: int = 0
    name: str | None = None
    shape: tuple[int, ...] | None = None
    const: bool = False
    stack: bool = False
    told: Callable[[], str] | None = field(default=None, eq=False)

    @property
    def counted(self) -> Space:
        """The memory that scalar accesses count for: the stack is a part of NRAM (compiler driver), whatever its addresses here."""
        return NRAM if self.stack else self.space

    @property
    def place(self) -> str:
        """``kernel.py:21``; empty for a tensor."""
        return f"{shown_file(self.file)}:{self.line}" if self.file else ""

    def __str__(self) -> str:
        if self.told is not None:
            return self.told()
        if self.shape is not None:
            name = f"{self.name} " if self.name else ""
            return f"{'const ' if self.const else ''}tensor {name}{self.dtype}{list(self.shape)}"
        return f"{self.space} {self.dtype}[{self.count}] declared at {self.place}"


@frozen
class StackVariable:
    """A local variable that a compiler has on the stack: what to call it, "array" or "structure", its bytes and its place."""

    told: str
    kind: str
    nbytes: int
    file: str
    line: int


def elements(space: Space, count: Any) -> int:
    """*count* as a number of elements to declare in *space*; a `RuleFault` where it is none."""
    try:
        # NumPy's integers have `__index__`; floats, even whole ones, and text have none.
        number: int = count.__index__()
    except (AttributeError, TypeError):
        number = 0
    if number <= 0:
        raise RuleFault(
            f"{count!r} elements of {space} cannot be declared", legal="a whole number, 1 or more"
        )
    return number
