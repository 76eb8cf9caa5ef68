"""A layout as bars: which columns each region takes, for the terminal and for pictures alike."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from mlusim.plan.layout import Layout, PlacedRegion, StageLayout


@frozen
class BarSegment:
    """A region's part of a bar: from column *left* to before column *right*."""

    region: PlacedRegion
    left: int
    right: int

    @property
    def width(self) -> int:
        """Columns that it takes."""
        return self.right - self.left


def lanes(stage: StageLayout) -> list[list[PlacedRegion]]:
    """Return the regions that have bytes in lanes without overlaps: aliases go to further lanes."""
    found: list[list[PlacedRegion]] = []
    for region in sorted((r for r in stage.regions if r.bytes), key=lambda r: (bool(r.reuses), r.offset)):
        for lane in found:
            if all(region.offset >= other.end or region.end <= other.offset for other in lane):
                lane.append(region)
                break
        else:
            found.append([region])
    return [sorted(lane, key=lambda r: r.offset) for lane in found]


def ruler(layout: Layout, columns: int, least: int) -> Mapping[int, int]:
    """Return the column of every byte at which a region begins or ends, for all stages alike.

    High water takes all *columns*.  True to scale, but that every piece between two neighbouring
    bytes gets *least* columns: what small pieces get too much, the large ones give up in proportion.
    """
    regions = [r for s in layout.stages for r in s.regions if r.bytes]
    marks = sorted({0, *(b for r in regions for b in (r.offset, r.end))})
    sizes = [b - a for a, b in pairwise(marks)]
    least = max(1, min(least, columns // max(1, len(sizes))))
    return dict(zip(marks, _edges(sizes, least, columns), strict=True))


def segments(lane: Sequence[PlacedRegion], at: Mapping[int, int]) -> list[BarSegment]:
    """Return the columns of each region of a lane, by the ruler *at*."""
    return [BarSegment(region, at[region.offset], at[region.end]) for region in lane]


def _edges(sizes: Sequence[int], least: int, columns: int) -> list[int]:
    """Return where each of *sizes* begins, and the end, when they share *columns* in proportion."""
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
