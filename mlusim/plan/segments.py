"""A stage as a bar: which columns each region takes, for the terminal and for pictures alike."""

from collections.abc import Sequence

from attrs import frozen

from mlusim.plan.layout import PlacedRegion, StageLayout


@frozen
class Segment:
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


def segments(lane: Sequence[PlacedRegion], scale: int, columns: int, least: int) -> list[Segment]:
    """Return the columns of each region when *scale* bytes take *columns*, every region at least *least*.

    True to scale up to that minimum: what a small region gets too much is taken from the large ones.
    """
    left = [r.offset * columns // max(scale, 1) for r in lane]
    right = [max(-(-r.end * columns // max(scale, 1)), a + 1) for r, a in zip(lane, left, strict=True)]
    for i in range(len(lane)):
        floor = right[i - 1] if i else 0
        left[i] = max(left[i], floor)
        right[i] = max(right[i], left[i] + least)
    edge = columns
    for i in reversed(range(len(lane))):
        right[i] = min(right[i], edge)
        left[i] = min(left[i], right[i] - least)
        edge = left[i]
    for i in range(1, len(lane)):
        if lane[i].offset == lane[i - 1].end:
            right[i - 1] = left[i]
    return [Segment(r, a, b) for r, a, b in zip(lane, left, right, strict=True)]
