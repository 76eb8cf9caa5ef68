"""The memory map of a plan, as the page draws it: every stage of a call's NRAM, true to scale."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from mlusim.counted import plural
from mlusim.plan.layout import Layout, StageLayout
from mlusim.plan.segments import BarSegment, lanes, ruler, segments
from mlusim.report.page.figure import COLORS, PLAIN, SMALL, Picture, bars, words
from mlusim.report.page.pictures import SERIES

WIDTH = 900.0
_LANE, _GAUGE = 30.0, 5.0
_CHARACTER = 6.4  # units of one character of a label


@frozen
class Named:
    """A region that is too small for its name in the picture: its colour, its stage, and what it is."""

    color: str
    stage: str
    words: str


def legend(layout: Layout) -> list[Named]:
    """Return the regions whose names the picture has no room for, or cuts, in the order of the picture."""
    at, names = ruler(layout, int(WIDTH), 3), _names(layout)
    return [
        Named(_color(segment, names), stage.name, _facts(segment))
        for stage in layout.stages
        for lane in lanes(stage)
        for segment in segments(lane, at)
        if _room(segment) < len(segment.region.name)
    ]


def _names(layout: Layout) -> list[str]:
    return list(dict.fromkeys(region.name for stage in layout.stages for region in stage.regions))


def _color(segment: BarSegment, names: Sequence[str]) -> str:
    return f"c{names.index(segment.region.name) % SERIES}"


def _room(segment: BarSegment) -> int:
    """Return the characters that the picture has room for in *segment*."""
    return int((float(segment.width) - 6) / _CHARACTER)


def _facts(segment: BarSegment) -> str:
    region = segment.region
    return f"{region.name}: {region.elements:,} {region.dtype} at byte {region.offset:,}, {region.bytes:,} {plural(region.bytes, 'byte')}"


def map_picture(layout: Layout) -> str:
    """Draw stages below each other, regions side by side or in lanes where they share bytes; below, what is used of the NRAM."""
    values = ", ".join(f"{name}={value}" for name, value in layout.values.items())
    title = f"{layout.plan} on {layout.board}: {values}"
    rows = [len(lanes(stage)) for stage in layout.stages]
    height = 26 + sum(18 + n * (_LANE + 2) + 20 for n in rows) + 18
    picture = Picture(WIDTH, height, title)
    axes = picture.axes((0, 0, WIDTH, height), (0, WIDTH), (height, 0))
    words(axes, 0, 10, title, size=PLAIN, color=COLORS["ink"], weight="bold")
    at = ruler(layout, int(WIDTH), 3)
    names = _names(layout)
    y = 26.0
    for stage in layout.stages:
        y = _stage(picture, axes, stage, layout, at, names, y)
    told = (
        f"fits: {layout.slack:,} of {layout.capacity:,} bytes to spare"
        if layout.fits
        else f"does not fit: {layout.overflow:,} {plural(layout.overflow, 'byte')} too many"
    )
    words(axes, 0, y + 6, told, color=COLORS["c6" if layout.fits else "c4"], weight="bold")
    return picture.render()


def _stage(
    picture: Picture,
    axes: Any,
    stage: StageLayout,
    layout: Layout,
    at: Mapping[int, int],
    names: Sequence[str],
    y: float,
) -> float:
    """Draw one stage from *y* down; returns where the next begins."""
    over = stage.used - layout.capacity
    told = f", {over:,} too many" if over > 0 else ""
    words(axes, 0, y + 7, f"stage {stage.name}: {stage.used:,} of {layout.capacity:,} bytes{told}")
    y += 18
    for lane in lanes(stage):
        for segment in segments(lane, at):
            _region(picture, axes, segment, y, _color(segment, names))
        y += _LANE + 2
    scale = WIDTH / max(stage.used, layout.capacity, 1)
    bars(axes, [(0, y + 2, WIDTH, _GAUGE)], "track")
    bars(axes, [(0, y + 2, max(min(stage.used, layout.capacity) * scale, 0.3), _GAUGE)], "c6")
    if over > 0:
        bars(axes, [(layout.capacity * scale, y, over * scale, _GAUGE + 4)], "c4")
    return y + 20


def _region(picture: Picture, axes: Any, segment: BarSegment, y: float, color: str) -> None:
    region, x, width = segment.region, float(segment.left), float(segment.width)
    alpha = 0.3 if region.kept else 0.55
    shape = bars(axes, [(x + 0.5, y, max(width - 1, 0.5), _LANE)], color, alpha=alpha)
    picture.tip(shape, _facts(segment))
    room = _room(segment)
    if room >= min(len(region.name), 4):
        name = region.name if len(region.name) <= room else region.name[: room - 1] + "…"
        words(axes, x + width / 2, y + _LANE / 2, name, across="center", color=COLORS["ink"], size=SMALL)
