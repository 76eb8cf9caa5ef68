"""The chart of an excerpt: a row for each core and track, filled bars for work, hollow ones for waits, arrows.

It is self-contained SVG text, in the colours of the page that contains it (`--ink`, `--soft`, `--line`, `--card`,
`--c0` to `--c5`).  A pipe has one colour everywhere; a wait has the colour of its cause.
"""

from collections.abc import Mapping, Sequence
from html import escape

from mlusim.document import Legend
from mlusim.report.page.charts import Axis
from mlusim.report.page.excerpt import OTHERS, Excerpt, ExcerptBar
from mlusim.report.page.writer import legend_html
from mlusim.time.timeline import STORE, WAIT
from mlusim.time.timing import PIPES

LOOKS: Mapping[str, str] = {pipe: f"c{n}" for n, pipe in enumerate(PIPES)} | {
    STORE: "c5",
    OTHERS: "ink",
    "": "other",
}
"""The page's colour of each track, and of waits for it."""

ROW, GAP, LEFT, WIDTH, TOP = 16.0, 7.0, 200.0, 780.0, 24.0
RIGHT, FOOT = 20.0, 6.0
_CHARACTER = 6.0  # units of a label's character, at most
_LEAST = 0.7  # units of the narrowest bar
_SEEN = 3.0  # units from which on a wait has an arrow
_WORK, _WAITING = 0.8, 0.5  # heights of bars, as shares of a row


def legend(excerpt: Excerpt) -> list[tuple[str, str, str]]:
    """Return the legend of the chart: kind of mark (work, wait, arrow, dashed), colour, words; only for marks that the chart has."""
    tracks = dict.fromkeys(track for _, track in excerpt.rows if track != WAIT)
    causes = dict.fromkeys(bar.cause for bar in excerpt.bars if bar.where == WAIT)
    entries = [("work", LOOKS[track], track) for track in tracks]
    if causes.keys() & tracks.keys():
        entries.append(("wait", "soft", "the core waits, in the colour of what it waits for"))
    told = {OTHERS: "it waits for other cores", "": "it waits for the call itself"}
    entries += [("wait", LOOKS[cause], words) for cause, words in told.items() if cause in causes]
    if any(not arrow.barrier for arrow in excerpt.arrows):
        entries.append(("arrow", "ink", "from what ended the wait"))
    if any(arrow.barrier for arrow in excerpt.arrows):
        entries.append(("dashed", "ink", "from the last to arrive at a barrier"))
    return entries


_ALONE: Mapping[str, str] = {
    "ink": "var(--jp-content-font-color1, var(--vscode-foreground, #1d1d1b))",
    "soft": "var(--jp-content-font-color2, var(--vscode-descriptionForeground, #5c5b57))",
    "line": "rgba(128, 128, 128, .35)", "track": "rgba(128, 128, 128, .15)", "other": "#8a8984",
    "c0": "#2f6fe0", "c1": "#26a590", "c2": "#c87a15", "c3": "#8e59e2", "c4": "#c8453c", "c5": "#a9587a",
}  # fmt: skip
"""Colours for use without a page: the notebook's own for words, others that suit light and dark."""


def chart_html(excerpt: Excerpt) -> str:
    """Return the chart with its headline and its legend, as self-contained HTML for a notebook, light or dark."""
    colors = ";".join(f"--{name}:{value}" for name, value in _ALONE.items())
    font = "font:12px system-ui,-apple-system,'Segoe UI',sans-serif"
    picture = pipe_picture(excerpt).replace("<svg ", '<svg style="display:block;width:100%;height:auto" ', 1)
    return (
        f'<div style="{colors};{font};color:var(--ink);max-width:1100px">'
        f'<div style="font-weight:600;font-size:14px">{escape(excerpt.headline)}</div>'
        f'<div style="color:var(--soft);margin:2px 0">{escape(excerpt.kernel)}: {escape(excerpt.says)}</div>'
        f"<div>{legend_html(Legend(legend(excerpt)))}</div>{picture}</div>"
    )


# -- the picture -----------------------------------------------------------------------------------


def pipe_picture(excerpt: Excerpt) -> str:
    """Return the chart as one SVG element; each bar has a tooltip."""
    tops, height = _tops(excerpt.rows)
    whole = TOP + height + FOOT + (16 if excerpt.partial else 0)
    axis = Axis(excerpt.start_us, excerpt.end_us, WIDTH)
    parts = [_frame(axis, height), *_starting(excerpt, axis, height), *_labels(excerpt.rows, tops)]
    parts += [_bar(bar, tops[bar.row], axis) for bar in excerpt.bars]
    waits = {(bar.row, bar.end): bar for bar in excerpt.bars if bar.where == WAIT}
    for arrow in excerpt.arrows:
        wait = waits.get((arrow.other, arrow.end))
        if wait is None or axis.units(wait.end - wait.start) >= _SEEN:
            begin = LEFT + axis.at(max(arrow.start, excerpt.start_us)), tops[arrow.row] + TOP + ROW / 2
            end = LEFT + axis.at(arrow.end), tops[arrow.other] + TOP + ROW / 2
            parts.append(_arrow(begin, end, dashed=arrow.barrier))
    if excerpt.partial:
        parts += _strip(excerpt, TOP + height + FOOT + 6)
    title = f"Pipes of {excerpt.kernel}: {excerpt.says}"
    return (
        f'<svg viewBox="0 0 {LEFT + WIDTH + RIGHT:g} {whole:g}" role="img" aria-label="{escape(title)}">'
        + "\n".join(parts)
        + "</svg>"
    )


def _tops(rows: Sequence[tuple[str, str]]) -> tuple[list[float], float]:
    """Return the top of each row, with a gap between cores, and the total height."""
    tops, y = [], 0.0
    for n, (core, _) in enumerate(rows):
        y += GAP if n and rows[n - 1][0] != core else 0.0
        tops.append(y)
        y += ROW
    return tops, y


def _frame(axis: Axis, height: float) -> str:
    """Return the lines and labels of the axis, and its end."""
    parts = []
    for at, words in axis.ticks():
        x = LEFT + axis.at(at)
        last = at == axis.end
        look = "soft" if last else "line"
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP - 4:.1f}" x2="{x:.1f}" y2="{TOP + height:.1f}" stroke="var(--{look})"/>'
        )
        side = "end" if last and axis.at(at) > WIDTH - 30 else "middle"
        parts.append(_words(x + (RIGHT - 2 if last else 0), TOP - 9, words, side))
    return "\n".join(parts)


def _starting(excerpt: Excerpt, axis: Axis, height: float) -> list[str]:
    """Return the shapes for the time before the first task begins, if the excerpt includes it."""
    if excerpt.start_us >= excerpt.begins_us:
        return []
    width = axis.units(min(excerpt.begins_us, excerpt.end_us) - excerpt.start_us)
    box = (
        f'<rect x="{LEFT:.1f}" y="{TOP:.1f}" width="{width:.2f}" height="{height:.1f}" fill="var(--track)"/>'
    )
    told = "the launch starts"
    words = (
        _words(LEFT + width / 2, TOP + height / 2 + 4, told, "middle")
        if width > len(told) * _CHARACTER
        else ""
    )
    return [f"<g><title>{told}: {excerpt.begins_us:g} us before the first task</title>{box}{words}</g>"]


def _labels(rows: Sequence[tuple[str, str]], tops: Sequence[float]) -> list[str]:
    labels, before = [], ""
    for (core, track), top in zip(rows, tops, strict=True):
        y = TOP + top + ROW / 2 + 4
        labels.append(_words(LEFT - 7, y, track, "end"))
        if core != before:
            labels.append(_words(0, y, core, "start", "ink"))
        before = core
    return labels


def _bar(bar: ExcerptBar, top: float, axis: Axis) -> str:
    waiting = bar.where == WAIT
    left, right = axis.at(bar.start), axis.at(bar.end)
    height = ROW * (_WAITING if waiting else _WORK)
    y = TOP + top + (ROW - height) / 2
    look = LOOKS[bar.cause if bar.where == WAIT else bar.where]
    width = max(right - left, _LEAST)
    style = f'fill="var(--{look})"'
    if waiting:
        style += f' fill-opacity="0.16" stroke="var(--{look})" stroke-width="0.8"'
    return (
        f'<g><title>{escape(bar.tip)}</title><rect x="{LEFT + left:.2f}" y="{y:.1f}" width="{width:.2f}"'
        f' height="{height:.1f}" {style}/></g>'
    )


def _arrow(begin: tuple[float, float], end: tuple[float, float], *, dashed: bool) -> str:
    """Return a line from *begin* to *end* with a head at *end*."""
    (x, y), (u, v) = begin, end
    length = max(((u - x) ** 2 + (v - y) ** 2) ** 0.5, 1e-9)
    dx, dy = (u - x) / length, (v - y) / length
    back, side = 6.0, 2.4
    head = " ".join(
        f"{a:.1f},{b:.1f}"
        for a, b in (
            (u, v),
            (u - back * dx - side * dy, v - back * dy + side * dx),
            (u - back * dx + side * dy, v - back * dy - side * dx),
        )
    )
    more = ' stroke-dasharray="4 2"' if dashed else ""
    return (
        f'<g pointer-events="none"><line x1="{x:.1f}" y1="{y:.1f}" x2="{u - 4 * dx:.1f}" y2="{v - 4 * dy:.1f}"'
        f' stroke="var(--ink)" stroke-width="0.9"{more}/><polygon points="{head}" fill="var(--ink)"/></g>'
    )


def _strip(excerpt: Excerpt, y: float) -> list[str]:
    """Draw the range of the excerpt in the launch: a thin bar for the launch."""
    unit = WIDTH / excerpt.total_us
    left, width = unit * excerpt.start_us, max(unit * (excerpt.end_us - excerpt.start_us), 2.0)
    return [
        _words(LEFT - 7, y + 7, "of the launch", "end"),
        f'<rect x="{LEFT:.1f}" y="{y:.1f}" width="{WIDTH:.1f}" height="7" rx="2" fill="var(--track)"/>',
        f'<rect x="{LEFT + left:.1f}" y="{y:.1f}" width="{width:.1f}" height="7" rx="1" fill="var(--soft)"/>',
    ]


def _words(x: float, y: float, words: str, side: str, look: str = "soft") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{side}" font-size="10.5" fill="var(--{look})">{escape(words)}</text>'
