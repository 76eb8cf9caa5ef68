"""The machine's view of plans: named regions over bytes, and the allocations that contain them."""

from collections.abc import Callable, Hashable
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.memory.allocation import Allocation


class RegionMap:
    """A plan evaluated to numbers; the base class of `mlusim.plan.Layout`. Sizes and offsets are in bytes."""

    __slots__ = ()

    @property
    def plan(self) -> str:
        """The name of the plan."""
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
    """A plan placed by a kernel, with the values of its variables; equal plans with equal values have equal ``key``.

    ``layout`` computes the regions on a board when they are needed.
    """

    name: str
    key: Hashable
    layout: Callable[[Board], RegionMap]


@frozen(eq=False)
class Placement:
    """A plan placed in a buffer: the plan's offset 0 is byte *start* of *allocation*."""

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
