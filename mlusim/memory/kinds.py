"""Kinds of pointers: what instructions ask of their operands."""

from collections.abc import Mapping
from types import MappingProxyType

from mlusim.arch.dtypes import MEMORY_TYPES, DType
from mlusim.memory.space import SPACES, Space


class PointerKind:
    """A memory space and an element type together; one object each, so that checks are by identity."""

    __slots__ = ("dtype", "name", "space")

    def __init__(self, space: Space, dtype: DType) -> None:
        self.space = space
        self.dtype = dtype
        self.name = f"{space} {dtype}"

    def __repr__(self) -> str:
        return self.name


KINDS: Mapping[tuple[Space, DType], PointerKind] = MappingProxyType(
    {(space, dtype): PointerKind(space, dtype) for space in SPACES for dtype in MEMORY_TYPES}
)
