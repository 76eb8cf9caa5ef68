"""Plans as the machine knows them: named regions over bytes, and the buffers in which they lie."""

from collections.abc import Callable, Hashable
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.memory.allocation import Allocation


class RegionMap:
    """A plan with numbers: the base of `mlusim.plan.Layout`.  All sizes are in bytes, all offsets from its start."""

    __slots__ = ()

    @property
    def plan(self) -> str:
        """The name of the plan whose numbers these are."""
        raise NotImplementedError

    @property
    def high_water(self) -> int:
        """The bytes of the largest stage."""
        raise NotImplementedError

    @property
    def stages(self) -> tuple[Any, ...]:
        """The stages, each with its ``name``, the bytes ``used``, and its ``regions``."""
        raise NotImplementedError

    def regions_at(self, offset: int) -> tuple[tuple[str, Any], ...]:
        """Return every (stage name, region) that holds the byte at *offset*."""
        raise NotImplementedError


@frozen(eq=False)
class PlacedPlan:
    """A plan as a kernel has placed it, with the values that it gave; ``key`` is equal for the same plan with equal values.

    ``layout`` works out its regions on a board, when they are asked for.
    """

    name: str
    key: Hashable
    layout: Callable[[Board], RegionMap]


@frozen(eq=False)
class Placement:
    """A plan in a buffer: its offset 0 is the byte *start* of *allocation*."""

    allocation: Allocation
    start: int
    layout: RegionMap

    @property
    def end(self) -> int:
        """The offset, in bytes, at which the plan ends in the allocation."""
        return self.start + self.layout.high_water

    def regions_at(self, offset: int) -> tuple[tuple[str, Any], ...]:
        """Return every (stage name, region) that holds the byte at *offset* of the allocation."""
        return self.layout.regions_at(offset - self.start)
