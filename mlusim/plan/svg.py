"""Plans as pictures: memory maps and frontiers as SVG text.

Where possible, colours follow the embedding page (``currentColor``), so that one picture serves light and
dark pages.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import pairwise
from textwrap import wrap

from attrs import frozen

from mlusim.arch.board import KIB
from mlusim.arch.catalog import find_board
from mlusim.counted import plural
from mlusim.plan.layout import STACK, BarSegment, Layout, StageLayout, lanes, ruler, segments
from mlusim.plan.solver import Frontier

WIDTH = 900
_LEFT, _RIGHT = 16, 16
_INNER = WIDTH - _LEFT - _RIGHT
_LANE, _GAUGE = 34, 10  # heights in pixels of a map's lane and of the bar below it
_STACK = "#b279a2"
_FILLS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
_KEY, _MOST_KEYS = 15, 12  # below a map: pixels of a row that names a small region, and limit of rows
_CHARACTER = 6.6  # width in pixels of a character at the font size of the labels


def _text(x: float, y: float, words: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{escape(words)}</text>'


def _document(height: float, parts: Sequence[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}"'
        f' height="{height:.0f}" role="img" style="max-width:100%" font-family="ui-monospace, monospace" font-size="11"'
        ' fill="currentColor">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"]) + "\n"


# -- memory maps ------------------------------------------------------------------------------------


def memories_svg(layouts: Sequence[Layout], title: str = "", told: Sequence[str] = ()) -> str:
    """Return the maps of several memories on one board below each other, each with its own scale.

    Above them are the *title* (default: kernel and board) and the lines *told*, folded to the width of the
    picture. If the memories belong to several kernels, each map has the name of its kernel.
    """
    title = title or (f"{layouts[0].plan} on {layouts[0].board}" if layouts else "no on-chip memory")
    # The title's font is larger than that of the labels, whose width is used for folding.
    head, *more = wrap(title, int(_INNER / _CHARACTER * 11 / 13))
    parts = [_text(_LEFT, 20, head, 'font-size="13" font-weight="bold"')]
    y = 34.0
    lines = [line for text in told for line in wrap(text, int(_INNER / _CHARACTER), subsequent_indent="  ")]
    for line in (*more, *lines):
        parts.append(_text(_LEFT, y + 4, line, 'xml:space="preserve"'))
        y += _KEY
    several = len({layout.plan for layout in layouts}) > 1
    for layout in layouts:
        drawn, y = _maps(layout, y, f"{layout.plan}, " if several else "")
        parts += drawn
    return _document(y + 14, parts, title)


def _maps(layout: Layout, y: float, word: str = "", *, named: bool = True) -> tuple[list[str], float]:
    """Return the maps of the stages of *layout*, drawn downwards from *y*, and the y where they end; *word* precedes each stage name.

    With *named*, regions too small for their names are named below the map.
    """
    at, parts = ruler(layout, _INNER, 3), []
    names, small = _names(layout), legend(layout) if named else []
    for stage in layout.stages:
        drawn, y = _stage(stage, layout, at, names, y, word)
        keys, y = _keys([region for region in small if region.stage == stage.name], y)
        parts += [*drawn, *keys]
    return parts, y


# -- several boards beside each other ---------------------------------------------------------------

ACROSS, _GAP = 2, 24  # columns per row, each wide enough for a sentence, and the gap between them in pixels
_COLUMN = (_INNER - (ACROSS - 1) * _GAP) // ACROSS
_SPACES = ("NRAM", "WRAM", "SRAM")


@frozen
class BoardColumn:
    """The part of a picture for one of several boards: a *head*, the lines *told* below it, and the memories."""

    head: str
    layouts: Sequence[Layout]
    told: Sequence[str] = ()

    @property
    def kernel(self) -> str:
        """The kernel or plan of the column, which determines its row; "" if the board has no memories to show."""
        return self.layouts[0].plan if self.layouts else ""


def plan_column(layout: Layout) -> BoardColumn:
    """Return the column for a plan on one board."""
    head = f"{layout.plan} on {layout.board}" + (f", {layout.dtype}" if layout.dtype else "")
    values = ", ".join(f"{name}={value}" for name, value in layout.values.items())
    return BoardColumn(head, (layout,), [values, _told(layout)])


def boards_svg(columns: Sequence[BoardColumn], title: str, note: str = "") -> str:
    """Return one picture of the memories on several boards side by side, with a common scale for each memory.

    Each kernel starts a new row; the *note* is at the bottom.
    """
    marks: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for layout in (layout for column in columns for layout in column.layouts):
        space = _space(layout)
        marks[space] = max(marks.get(space, 1), _last_mark(layout))
        sizes[space] = max(sizes.get(space, 1), _limits(layout)[1], layout.high_water)
    every = list(
        dict.fromkeys(name for column in columns for layout in column.layouts for name in _names(layout))
    )
    parts, y = [], 6.0
    for row in _rows(columns):
        ends = []
        for number, column in enumerate(row):
            drawn, end = _column(column, marks, sizes, every)
            x = number * (_COLUMN + _GAP)
            parts += [f'<g transform="translate({x} {y:.0f})">', *drawn, "</g>"]
            ends.append(y + end)
        y = max(ends) + 14
    for line in wrap(f"Each memory has one scale for all boards. {note}", int(_INNER / _CHARACTER)):
        parts.append(_text(_LEFT, y + 8, line, 'fill-opacity="0.7"'))
        y += _KEY
    return _document(y + 6, parts, title)


def _rows(columns: Sequence[BoardColumn]) -> list[list[BoardColumn]]:
    """Return the *columns* in rows, with one kernel per row."""
    rows: list[list[BoardColumn]] = []
    for column in columns:
        before = rows[-1] if rows else []
        kernels = {other.kernel for other in (*before, column)} - {""}
        if before and len(before) < ACROSS and len(kernels) <= 1:
            before.append(column)
        else:
            rows.append([column])
    return rows


def _space(layout: Layout) -> str:
    name = layout.stages[0].name
    return name if name in _SPACES else _SPACES[0]  # the stages of a plan are in NRAM


def _last_mark(layout: Layout) -> int:
    """Return the offset at which the map of *layout* ends."""
    return max((region.end for stage in layout.stages for region in stage.regions), default=0)


def _column(
    column: BoardColumn, marks: Mapping[str, int], sizes: Mapping[str, int], names: Sequence[str]
) -> tuple[list[str], float]:
    """Return the drawing of one board, at the left edge from 0 downwards, and its height.

    For each memory, *marks* has the end (bytes) of the widest map, and *sizes* the bytes of the longest bar
    below a map.
    """
    most = int(_COLUMN / _CHARACTER)
    parts = [_text(_LEFT, 14, column.head, 'font-size="13" font-weight="bold"')]
    y = 28.0
    for line in (line for text in column.told for line in wrap(text, most, subsequent_indent="  ")):
        parts.append(_text(_LEFT, y + 4, line, 'xml:space="preserve"'))
        y += _KEY
    for layout in column.layouts:
        space = _space(layout)
        width = round(_COLUMN * max(_limits(layout)[1], layout.high_water) / sizes[space])
        at = ruler(layout, max(1, round(_COLUMN * _last_mark(layout) / marks[space])), 3)
        small = _named(layout, at, names)
        word = "" if layout.stages[0].name in _SPACES else "stage "
        for stage in layout.stages:
            drawn, y = _stage(stage, layout, at, names, y, word, width)
            keys, y = _keys([region for region in small if region.stage == stage.name], y, 1, most - 3)
            parts += [*drawn, *keys]
    return parts, y


def _keys(small: Sequence["Named"], y: float, across: int = 2, most: int = 1000) -> tuple[list[str], float]:
    """Return the legend of regions too *small* for their names, from *y* downwards, and the y where it ends.

    Each row has *across* entries of at most *most* characters.
    """
    shown = small if len(small) <= _MOST_KEYS else small[: _MOST_KEYS - 1]
    words = [region.words for region in shown] + [f"and {len(small) - len(shown)} more"] * (
        len(shown) < len(small)
    )
    parts = []
    for number, text in enumerate(words):
        x, top = _LEFT + number % across * _INNER / across, y + number // across * _KEY
        if number < len(shown):
            region = shown[number]
            look = (
                'fill="none" stroke="currentColor"'
                if region.rest
                else f'fill="{region.color}" fill-opacity="0.85"'
            )
            parts.append(f'<rect x="{x:.1f}" y="{top:.0f}" width="9" height="9" {look}/>')
        parts.append(_text(x + 15, top + 8, text if len(text) <= most else text[: most - 1] + "…"))
    rows = -(-len(words) // across)
    return parts, y + rows * _KEY + (6 if rows else 0)


def _names(layout: Layout) -> list[str]:
    return list(dict.fromkeys(r.name for s in layout.stages for r in sorted(s.regions, key=lambda r: r.rest)))


def layout_svg(layout: Layout, *, named: bool = True) -> str:
    """Return the memory map of every stage, true to scale, with the capacity marked.

    With *named*, regions too small for their names are named below the map; a page shows them beside the
    picture (`legend`).
    """
    values = ", ".join(f"{k}={v}" for k, v in layout.values.items())
    title = f"{layout.plan} on {layout.board}: {values}"
    parts = [_text(_LEFT, 20, title, 'font-size="13" font-weight="bold"')]
    drawn, y = _maps(layout, 34.0, "stage ", named=named)
    parts += drawn
    color = "#54a24b" if layout.fits else "#e45756"
    parts.append(_text(_LEFT, y + 14, _told(layout), f'font-weight="bold" fill="{color}"'))
    return _document(y + 28, parts, title)


def _told(layout: Layout) -> str:
    if layout.fits:
        return f"fits: {layout.slack:,} of {layout.capacity:,} bytes to spare"
    return f"does not fit: {layout.overflow:,} {plural(layout.overflow, 'byte')} too many"


def _stage(
    stage: StageLayout,
    layout: Layout,
    at: Mapping[int, int],
    names: Sequence[str],
    y: float,
    word: str,
    width: int = _INNER,
) -> tuple[list[str], float]:
    over = stage.used - layout.capacity
    told = f", {over:,} too many" if over > 0 else ""
    parts = [_text(_LEFT, y + 12, f"{word}{stage.name}: {stage.used:,} of {layout.capacity:,} bytes{told}")]
    y += 18
    for lane in lanes(stage):
        row = segments(lane, at)
        parts += [_rectangle(s, y, _fill(s, names)) for s in row]
        y += _LANE + 2
    parts += _gauge(stage.used, layout, y + 2, width)
    return parts, y + 2 + _GAUGE + _KEY + 6


def _rectangle(segment: BarSegment, y: float, fill: str) -> str:
    region = segment.region
    x, width = _LEFT + segment.left, segment.width
    opacity = 0.45 if region.kept else 0.85
    painted = (
        'fill="none" stroke-dasharray="3 3"' if region.rest else f'fill="{fill}" fill-opacity="{opacity}"'
    )
    box = (
        f'<rect x="{x}" y="{y:.0f}" width="{width}" height="{_LANE}" {painted}'
        ' stroke="currentColor" stroke-width="0.7"/>'
    )
    room = _room(segment)
    label = ""
    if room >= min(len(region.name), 4):
        name = region.name if len(region.name) <= room else region.name[: room - 1] + "…"
        label = _text(x + width / 2, y + _LANE / 2 + 4, name, 'text-anchor="middle"')
    return f"<g><title>{escape(_facts(segment))}</title>{box}{label}</g>"


def _room(segment: BarSegment) -> int:
    """Return the number of characters that fit into *segment*."""
    return int((segment.width - 4) / _CHARACTER)


def _facts(segment: BarSegment) -> str:
    region = segment.region
    return f"{region.name}: {region.elements:,} {region.dtype} at byte {region.offset:,}, {region.bytes:,} {plural(region.bytes, 'byte')}"


def _fill(segment: BarSegment, names: Sequence[str]) -> str:
    if segment.region.name == STACK:
        return _STACK
    return _FILLS[names.index(segment.region.name) % len(_FILLS)]


@frozen
class Named:
    """A region too small for its name in the picture: its colour, its stage, and its description."""

    color: str
    stage: str
    words: str
    rest: bool = False


def legend(layout: Layout) -> list[Named]:
    """Return the regions whose names do not fit in the picture, in the order of the picture."""
    return _named(layout, ruler(layout, _INNER, 3), _names(layout))


def _named(layout: Layout, at: Mapping[int, int], names: Sequence[str]) -> list[Named]:
    return [
        Named(_fill(segment, names), stage.name, _facts(segment), segment.region.rest)
        for stage in layout.stages
        for lane in lanes(stage)
        for segment in segments(lane, at)
        if _room(segment) < len(segment.region.name)
    ]


def _gauge(used: int, layout: Layout, y: float, across: int) -> list[str]:
    """Return the bar below a map, *across* pixels wide: the whole memory, the used part, the limit, and the stack's share."""
    limit, end = _limits(layout)
    scale = across / max(end, used, 1)
    # A bar of a few bytes would be invisible.
    inside = max(min(used, limit) * scale, 2 if used else 0)
    parts = [
        _box(_LEFT, y, across, 'fill="currentColor" fill-opacity="0.15"'),
        _box(_LEFT, y, inside, 'fill="#54a24b"'),
    ]
    foot = y + _GAUGE + 11
    if end > limit:
        left, width = _LEFT + limit * scale, (end - limit) * scale
        parts.append(_box(left, y, width, f'fill="{_STACK}" fill-opacity="0.45"'))
        told = f"{_kib(end - limit)} for the stack"
        short = told if width > len(told) * _CHARACTER else "stack"
        parts.append(_text(left + width, foot, short, _END))
    if used > limit:
        color = "#f58518" if used <= end else "#e45756"
        parts.append(_box(_LEFT + limit * scale, y, max((used - limit) * scale, 3), f'fill="{color}"'))
    at = _LEFT + limit * scale
    parts.append(
        f'<line x1="{at:.1f}" y1="{y - 3:.0f}" x2="{at:.1f}" y2="{y + _GAUGE + 3:.0f}" stroke="currentColor" stroke-width="1.5"/>'
    )
    parts.append(_text(at - 4, foot, f"limit {_kib(limit)}", _END))
    return parts


def _box(x: float, y: float, width: float, look: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{_GAUGE}" {look}/>'


def _limits(layout: Layout) -> tuple[int, int]:
    """Return the limit (bytes) for declarations that leaves the compiler its stack, and the size of the memory."""
    arch, space = find_board(layout.board).arch, _space(layout)
    return arch.limits(compiled=False)[space], arch.limits(compiled=True)[space]


def _kib(nbytes: int) -> str:
    return f"{nbytes / KIB:,.4g} KiB"


# -- frontiers --------------------------------------------------------------------------------------

_PLOT_HEIGHT = 420
_AXIS = 56


def frontier_svg(frontier: Frontier, title: str) -> str:
    """Return the frontier on logarithmic axes (of value + 1), coloured by the binding constraint."""
    points = [(x, y, b) for x, y, b in _selected(frontier) if y >= 0]
    xs, ys = _ticks([x for x, _, _ in points]), _ticks([y for _, y, _ in points])
    last_x, last_y = (max([1, *(point[n] for point in points)]) for n in (0, 1))
    right, top = WIDTH - 44, 46
    px = _axis(xs[0], last_x, _AXIS, right)
    py = _axis(ys[0], last_y, _PLOT_HEIGHT - 44, top)
    # Also label the ends of the axes, if the powers of ten leave space.
    room = (len(str(last_x)) + len(str(xs[-1]))) / 2 * _CHARACTER + 6
    xs += [last_x] if px(last_x) - px(xs[-1]) >= room else []
    ys += [last_y] if py(ys[-1]) - py(last_y) >= 12 else []
    parts = [_text(_LEFT, 20, title, 'font-size="13" font-weight="bold"')]
    for x in xs:
        parts += [_line(px(x), py(ys[0]), px(x), top), _text(px(x), py(ys[0]) + 16, str(x), _MIDDLE)]
    for y in ys:
        parts += [_line(px(xs[0]), py(y), right, py(y)), _text(_AXIS - 6, py(y) + 4, str(y), _END)]
    parts += _curves([(px(x), py(y), b) for x, y, b in points])
    parts.append(_text(WIDTH / 2, _PLOT_HEIGHT - 8, frontier.x, _MIDDLE + ' font-weight="bold"'))
    parts.append(_text(_LEFT, 36, f"largest {frontier.y}", 'font-weight="bold"'))
    return _document(_PLOT_HEIGHT, [*parts, *_legend(frontier)], title)


def _axis(low: int, high: int, start: float, end: float) -> Callable[[int], float]:
    """Return the position of a value between *start* (for *low*) and *end* (for *high*)."""
    base, span = math.log1p(low), max(math.log1p(high) - math.log1p(low), 1e-9)
    return lambda value: start + (end - start) * (math.log1p(value) - base) / span


def _ticks(values: Sequence[int]) -> list[int]:
    """Return 0 and the powers of ten around *values*, the first at most the smallest of them."""
    ticks = [0, *(10**k for k in range(12) if 10**k <= max(values, default=1))]
    below = [t for t in ticks if t <= min(values, default=0)]
    return ticks[len(below) - 1 :]


_MIDDLE, _END = 'text-anchor="middle"', 'text-anchor="end"'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor"'
        ' stroke-opacity="0.15"/>'
    )


def _selected(frontier: Frontier) -> list[tuple[int, int, int]]:
    """Return at most some hundred points: all if there are few, else evenly spaced on the logarithmic axis."""
    last = len(frontier) - 1
    few = range(min(len(frontier), 64))
    steps = {round(math.expm1(math.log1p(max(last, 0)) * k / 400)) for k in range(401)} if last > 0 else set()
    picked = sorted({*few, *steps, *frontier.corners()} & set(range(len(frontier))))
    return [(int(frontier.xs[i]), int(frontier.ys[i]), int(frontier.binding[i])) for i in picked]


def _curves(points: Sequence[tuple[float, float, int]]) -> list[str]:
    parts = []
    for (x1, y1, _), (x2, y2, binding) in pairwise(points):
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_FILLS[binding]}"'
            ' stroke-width="2.5" stroke-linecap="round"/>'
        )
    dots = points if len(points) <= 40 else []
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_FILLS[b]}"/>' for x, y, b in dots]


def _legend(frontier: Frontier) -> list[str]:
    parts = []
    binding = sorted({int(b) for b in frontier.binding})
    for row, number in enumerate(binding):
        name = frontier.constraints[number] if number >= 0 else "range of the variable"
        y = 46 + 16 * row
        parts.append(f'<rect x="{WIDTH - 220}" y="{y - 9}" width="10" height="10" fill="{_FILLS[number]}"/>')
        parts.append(_text(WIDTH - 204, y, f"{name} binds"))
    return parts
