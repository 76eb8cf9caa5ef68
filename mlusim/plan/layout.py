"""Layouts: plans evaluated to numbers, with the position of every region on a board, errors of fit, and columns of memory maps."""

import linecache
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.memory.allocation import Allocation
from mlusim.memory.regions import RegionMap
from mlusim.presenting import Presented


@frozen
class PlacedRegion:
    """A region with numbers: *elements* of *dtype*, *offset* and *bytes* in bytes.

    *alignment* is the largest power of two that divides the offset; *kept* says that the region is from an
    earlier stage; *reuses* are the declared aliases. A *rest* is a part of an array without a region.
    """

    name: str
    dtype: str
    elements: int
    offset: int
    bytes: int
    kept: bool = False
    reuses: tuple[str, ...] = ()
    rest: bool = False

    @property
    def end(self) -> int:
        """The end of the region: the offset after its last byte."""
        return self.offset + self.bytes

    @property
    def alignment(self) -> int:
        """Largest power of two, in bytes, that divides the offset; 0 for offset 0."""
        # The lowest bit that is set.
        return self.offset & -self.offset

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the public JSON; `kept` and `reuses` only if they are set."""
        facts: dict[str, Any] = {
            "name": self.name,
            "dtype": self.dtype,
            "elements": self.elements,
            "offset": self.offset,
            "bytes": self.bytes,
        }
        if self.kept:
            facts["kept"] = True
        if self.reuses:
            facts["reuses"] = list(self.reuses)
        return facts


@frozen
class Overlap:
    """Two regions of one stage that share bytes without a declaration."""

    stage: str
    first: str
    second: str
    bytes: int

    def __str__(self) -> str:
        return (
            f"{self.first} and {self.second} share {self.bytes} {plural(self.bytes, 'byte')} in stage {self.stage} and neither reuses"
            " the other; move one, or declare reuses="
        )


@frozen
class StageLayout:
    """One stage with numbers; *used* is the end of its last region."""

    name: str
    used: int
    regions: tuple[PlacedRegion, ...]

    def region(self, name: str) -> PlacedRegion:
        """Return the region called *name*; raises `UsageError` if there is none."""
        for region in self.regions:
            if region.name == name:
                return region
        legal = ", ".join(r.name for r in self.regions)
        raise UsageError(f"stage {self.name!r} has no region {name!r}; it has {legal}")

    def overlaps(self) -> tuple[Overlap, ...]:
        """Return the pairs of regions that share bytes and are not declared aliases."""
        overlaps = []
        for i, first in enumerate(self.regions):
            for second in self.regions[i + 1 :]:
                shared = min(first.end, second.end) - max(first.offset, second.offset)
                # Either region may declare the alias.
                declared = first.name in second.reuses or second.name in first.reuses
                if shared > 0 and not declared:
                    overlaps.append(Overlap(self.name, first.name, second.name, shared))
        return tuple(overlaps)


@frozen
class Layout(Presented, RegionMap):
    """A plan for given values on one board.  All sizes are in bytes.

    *unmet* are the plan's requirements (limits other than memory) that the values violate.
    """

    plan: str
    board: str
    dtype: str | None
    values: Mapping[str, int]
    capacity: int
    stages: tuple[StageLayout, ...]
    unmet: tuple[str, ...] = ()

    @property
    def high_water(self) -> int:
        """Bytes of the largest stage: the most memory that the kernel uses."""
        return max([s.used for s in self.stages])

    @property
    def slack(self) -> int:
        """Bytes left over in the largest stage; negative if it does not fit."""
        return self.capacity - self.high_water

    @property
    def overflow(self) -> int:
        """Number of bytes missing; 0 if the plan fits."""
        return max(0, -self.slack)

    @property
    def fits(self) -> bool:
        """True if every stage fits and every requirement is satisfied."""
        return self.slack >= 0 and not self.unmet

    def stage(self, name: str) -> StageLayout:
        """Return the stage called *name*; raises `UsageError` if there is none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise UsageError(
            f"{self.plan} has no stage {name!r}; it has {', '.join(s.name for s in self.stages)}"
        )

    def overlaps(self) -> tuple[Overlap, ...]:
        """Return the undeclared overlaps in all stages."""
        return tuple(o for s in self.stages for o in s.overlaps())

    def regions_at(self, offset: int, stage: str | None = None) -> tuple[tuple[str, PlacedRegion], ...]:
        """Return every (stage name, region) that contains the byte at *offset*; only in *stage* if it is named."""
        stages = self.stages if stage is None else (self.stage(stage),)
        return tuple((s.name, r) for s in stages for r in s.regions if r.offset <= offset < r.end)

    def to_json(self) -> dict[str, Any]:
        """Return the public JSON of a layout."""
        return {
            "plan": self.plan,
            "board": self.board,
            "dtype": self.dtype,
            "values": dict(self.values),
            "fits": self.fits,
            "capacity": self.capacity,
            "stages": [
                {"name": s.name, "used": s.used, "regions": [r.to_json() for r in s.regions]}
                for s in self.stages
            ],
            "high_water": self.high_water,
            "slack": self.slack,
            "overlaps": [str(o) for o in self.overlaps()],
            "unmet": list(self.unmet),
        }


# -- layouts of declarations, for kernels without a plan -----------------------------------------------

STACK = "stack"
_PYTHON = re.compile(r"\s*(\w+)\s*(?::[^=]+)?=[^=]")
_BANG = re.compile(r"__(?:nram|wram)__\s[^;=({]*?(\w+)\s*(?:\[[^;,]*)?[;=]")


def layout_of_regions(
    kernel: str, board: Board, space: str, capacity: int, regions: Iterable[PlacedRegion]
) -> Layout:
    """Return the layout of one memory, with a single stage named after the *space*.

    If *capacity* is the limit of a compiled kernel, the stack's share is shown at its end, as in a plan.
    """
    placed = tuple(regions)
    used = max((region.end for region in placed), default=0)
    compiled, plain = board.arch.limits(compiled=True), board.arch.limits(compiled=False)
    reserve = compiled[space] - plain[space] if capacity == compiled.get(space) else 0
    left = min(reserve, capacity - used)
    stack = (PlacedRegion(STACK, "bytes", left, capacity - left, left),) if left > 0 else ()
    return Layout(kernel, board.name, None, {}, capacity, (StageLayout(space, used, (*placed, *stack)),))


def declared_region(allocation: Allocation, base: int) -> PlacedRegion:
    """Return a declaration as a region; *base* is the address of the memory's first byte."""
    declared = allocation.declared
    name = declared.name
    if not name:
        # The variable that this line declares; a line with several or no declarations does not match.
        pattern = _PYTHON if declared.file.endswith(".py") else _BANG
        match = pattern.match(linecache.getline(declared.file, declared.line).lstrip())
        name = match[1] if match else f"{declared.dtype.name}[{declared.count}]"
    if declared.line:
        name = f"{name} (line {declared.line})"
    return PlacedRegion(
        name, declared.dtype.name, declared.count, allocation.address - base, allocation.nbytes
    )


# -- layouts as bars: the columns of each region, for the terminal and for pictures --------------------


@frozen
class BarSegment:
    """The part of a bar for a region: columns *left* to *right* (exclusive)."""

    region: PlacedRegion
    left: int
    right: int

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.right - self.left


def lanes(stage: StageLayout) -> list[list[PlacedRegion]]:
    """Return the non-empty regions in lanes without overlaps; aliases go to further lanes."""
    packed: list[list[PlacedRegion]] = []
    for region in sorted((r for r in stage.regions if r.bytes), key=lambda r: (bool(r.reuses), r.offset)):
        for lane in packed:
            if all(region.offset >= other.end or region.end <= other.offset for other in lane):
                lane.append(region)
                break
        else:
            packed.append([region])
    return [sorted(lane, key=lambda r: r.offset) for lane in packed]


def ruler(layout: Layout, columns: int, least: int) -> Mapping[int, int]:
    """Return the column of each offset at which a region begins or ends, common to all stages.

    The high-water mark is at the last of *columns*. The scale is linear, except that every interval gets at
    least *least* columns, at the expense of the larger intervals in proportion.
    """
    regions = [r for s in layout.stages for r in s.regions if r.bytes]
    marks = sorted({0, *(b for r in regions for b in (r.offset, r.end))})
    sizes = [b - a for a, b in pairwise(marks)]
    least = max(1, min(least, columns // max(1, len(sizes))))
    return dict(zip(marks, _edges(sizes, least, columns), strict=True))


def segments(lane: Sequence[PlacedRegion], at: Mapping[int, int]) -> list[BarSegment]:
    """Return the columns of each region in a lane, by the ruler *at*."""
    return [BarSegment(region, at[region.offset], at[region.end]) for region in lane]


def _edges(sizes: Sequence[int], least: int, columns: int) -> list[int]:
    """Return the columns at which intervals of *sizes* begin, and the end, when they share *columns* in proportion."""
    small: set[int] = set()
    while True:
        room = columns - least * len(small)
        weight = max(1, sum(size for i, size in enumerate(sizes) if i not in small))
        below = {i for i, size in enumerate(sizes) if size * room < least * weight} | small
        if below == small:
            break
        small = below
    edges, taken, seen = [0], 0, 0
    for i, size in enumerate(sizes):
        taken, seen = (taken + least, seen) if i in small else (taken, seen + size)
        edges.append(taken + round(seen * room / weight))
    return edges
