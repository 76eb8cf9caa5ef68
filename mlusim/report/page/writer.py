"""The HTML writer: documents as self-contained pages, light and dark, that load nothing else; and their text in lines."""

import functools
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from mlusim.document import (
    BAD,
    GOOD,
    Box,
    BulletList,
    Card,
    Chart,
    Contents,
    ExcerptLine,
    Legend,
    PageHead,
    PagePart,
    PageSection,
    SideBySide,
    SourceExcerpt,
    Unfolded,
)
from mlusim.text_grid import Cell, Grid, NameCell, PageCell

WIDTH = 96  # characters of a line that is part of neither a table nor a sentence
SORTED = 3  # rows from which on a table sorts by the column whose name is clicked


@functools.cache
def _file(name: str) -> str:
    return files("mlusim.report.page").joinpath(name).read_text(encoding="utf-8")


def page(head: PageHead, parts: Iterable[PagePart], about: Mapping[str, str] | None = None) -> str:
    """Return a complete page: *head*, *parts*, and what it says *about* itself, folded."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(head.title)}</title>
<style>
{_file("style.css")}
</style>
</head>
<body><main>
{_head(head)}
{parts_html(parts)}
{_about(about) if about else ""}
</main>
<script>
{_file("page.js")}</script>
</body></html>
"""


def parts_html(parts: Iterable[PagePart]) -> str:
    """Return *parts* as HTML; those that are neither tables nor text are drawn with characters, as in the terminal."""
    return "\n".join(filter(None, map(_part, parts)))


def text_of(view: RenderableType, width: int) -> str:
    """Return *view* as lines of text, wrapped to *width* characters where possible."""
    # The terminal's width must not affect a file.
    console = Console(file=io.StringIO(), width=width, record=True, color_system=None)
    console.print(view, crop=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


# -- head and end -----------------------------------------------------------------------------------


def _head(head: PageHead) -> str:
    cards = "".join(map(_card, head.cards))
    answer = f'<p class="answer {head.tone}">{escape(head.answer)}</p>' if head.answer else ""
    return f'<h1>{escape(head.title)}</h1>\n{answer}\n<div class="figures">{cards}</div>'


def _card(card: Card) -> str:
    note = f"<small>{escape(card.note)}</small>" if card.note else ""
    return f'<div class="figure {card.tone}"><b>{escape(card.figure)}</b><span>{escape(card.what)}</span>{note}</div>'


def _about(facts: Mapping[str, str]) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value
    )
    return (
        '<details class="part"><summary><h2 id="about">About this page</h2></summary>\n'
        '<p class="soft">Times are predicted by a model of each board\'s pipes, memory and launches; no card was used.</p>\n'
        f'<dl class="about">{rows}</dl>\n</details>'
    )


# -- words ------------------------------------------------------------------------------------------

_LOOKS = {"green": GOOD, "red": BAD, "dim": "soft"}


@functools.cache
def _look(style: str) -> str:
    """Return the class of what rich shows in *style*, "" for the usual one."""
    return next((_LOOKS[word] for word in style.split() if word in _LOOKS), "")


def _tagged(told: str, style: str) -> str:
    """Return *told*, which is HTML, as bold, as code, or as the link that *style* makes it."""
    match style.split():
        case [*_, "link", place]:
            return f'<a href="{escape(place)}">{told}</a>'
        case [*_, "bold"] | ["bold", *_]:
            return f"<b>{told}</b>"
        case ["code"]:
            return f"<code>{told}</code>"
    return told


def _inline(words: Cell) -> str:
    """Return *words* as HTML, with the looks of their parts, but without that of the whole."""
    if isinstance(words, str):
        return escape(words).replace("\n", "<br>")
    if isinstance(words, NameCell):
        return escape(words.text).replace("_", "_<wbr>")
    pieces, at = [], 0
    for start, end, style in sorted(words.spans, key=lambda span: span.start):
        if start >= at:
            told, look = _tagged(escape(words.plain[start:end]), str(style)), _look(str(style))
            pieces += [escape(words.plain[at:start]), f'<span class="{look}">{told}</span>' if look else told]
            at = end
    return "".join([*pieces, escape(words.plain[at:])]).replace("\n", "<br>")


def _element(tag: str, look: str, inside: str) -> str:
    return f'<{tag} class="{look}">{inside}</{tag}>' if look else f"<{tag}>{inside}</{tag}>"


def _text(text: Text) -> str:
    if not text.plain.strip():
        return ""
    style = str(text.style)
    return _element("h4" if "bold" in style and not _look(style) else "p", _look(style), _inline(text))


def _unfolded(part: Unfolded) -> str:
    shown = part.shown if isinstance(part.shown, str) else text_of(part.shown, WIDTH)
    return f'<pre class="{_look(part.style)}">{escape(shown)}</pre>' if shown else ""


# -- tables -----------------------------------------------------------------------------------------


def _table(grid: Grid) -> str:
    looks = ["n" if column.right else "" if column.folds else "name" for column in grid.columns]
    headed = any(column.heading for column in grid.columns)
    heads = [
        _element("th", "n" if column.right else "", escape(column.heading))
        for column in grid.columns
        if headed
    ]
    spanning = [len(cells) > 1 and not any(cells[1:]) for cells, _ in grid.rows]
    rows = [
        _spanning(cells[0], len(cells), style) if spans else _row(cells, looks, style)
        for (cells, style), spans in zip(grid.rows, spanning, strict=True)
    ]
    title = f"<h4>{escape(grid.title)}</h4>\n" if grid.title else ""
    sorts = ' class="sorts"' if headed and len(rows) >= SORTED and not any(spanning) else ""
    head = f"<tr>{''.join(heads)}</tr>\n" if headed else ""
    newline = "\n"
    return f"{title}<table{sorts}>{head}{newline.join(rows)}</table>"


def _spanning(cell: Cell, columns: int, row_style: str) -> str:
    """Return a row that its first cell has for itself: a heading or a sentence."""
    style = _style_of(cell, row_style)
    kind = "op" if "bold" in style else "says"
    return f'<tr class="{kind}"><td colspan="{columns}" class="{_look(style)}">{_tagged(_inline(cell), style)}</td></tr>'


def _row(cells: Sequence[Cell], looks: Sequence[str], row_style: str) -> str:
    """Return a row; most cells are words without a style."""
    shown = []
    for cell, look in zip(cells, looks, strict=True):
        if isinstance(cell, str) and not row_style:
            shown.append(f'<td class="{look}">{escape(cell)}</td>' if look else f"<td>{escape(cell)}</td>")
            continue
        style = _style_of(cell, row_style)
        wide = "wide" if isinstance(cell, PageCell) and cell.bars and not cell.plain else _look(style)
        shown.append(_element("td", f"{look} {wide}".strip(), _inside(cell, style)))
    return f"<tr>{''.join(shown)}</tr>"


def _style_of(cell: Cell, row_style: str) -> str:
    return (row_style if isinstance(cell, str) else str(cell.style)) or row_style


def _inside(cell: Cell, style: str) -> str:
    told = _inline(cell)
    told = _tagged(told, style) if told and style else told
    if not isinstance(cell, PageCell):
        return told
    told += f" <small>{escape(cell.note)}</small>" if cell.note else ""
    if cell.others:
        told += f' <details class="more"><summary>and {len(cell.others)} more of the same time</summary>{escape("; ".join(cell.others))}</details>'
    return told + (f'<span class="meter">{"".join(map(_bar, cell.bars))}</span>' if cell.bars else "")


def _bar(bar: tuple[str, float, str]) -> str:
    color, part, words = bar
    tip = f' title="{escape(words)}"' if words else ""
    return f'<i class="{color}" style="width:{100 * min(part, 1):.1f}%"{tip}></i>'


# -- charts and source ------------------------------------------------------------------------------

MARKS: Mapping[str, str] = {
    "work": '<rect width="11" height="11" rx="2" fill="{color}"/>',
    "wait": '<rect x=".5" y="2.5" width="10" height="6" fill="{color}" fill-opacity="0.16" stroke="{color}"/>',
    "arrow": '<line y1="5.5" x2="17" y2="5.5" stroke="{color}"/><path d="M22 5.5 15 3v5z" fill="{color}"/>',
    "dashed": '<line y1="5.5" x2="17" y2="5.5" stroke="{color}" stroke-dasharray="4 2"/>'
    '<path d="M22 5.5 15 3v5z" fill="{color}"/>',
}


def legend_html(legend: Legend) -> str:
    """Return *legend* as HTML that needs no style of a page."""
    shown = []
    for kind, color, told in legend.marks:
        width = 22 if kind in ("arrow", "dashed") else 11
        mark = (
            f'<svg viewBox="0 0 {width} 11" style="display:inline-block;width:{width}px;height:11px">'
            f"{MARKS[kind].format(color=color if color.startswith('#') else f'var(--{color})')}</svg>"
        )
        shown.append(
            '<span style="display:inline-flex;align-items:center;gap:6px;margin-right:14px;font-size:13px;'
            f'color:var(--soft)">{mark}{escape(told)}</span>'
        )
    return "".join(shown)


def _chart(chart: Chart) -> str:
    if not chart.svg:
        return ""
    if chart.zooms:
        return f'<div class="chart">{chart.svg}</div>'
    return f'<figure class="plan">{chart.svg}</figure>'


def _excerpt(excerpt: SourceExcerpt) -> str:
    every = [line for run in excerpt.runs for line in run]
    shares, bars = any(line.share for line in every), any(line.parts for line in every)
    columns = 3 + shares + bars
    gap = f'<tr><td colspan="{columns}" class="soft">...</td></tr>\n'
    rows = gap.join(
        "".join(f"{_source_line(line, shares=shares, bars=bars)}\n" for line in run) for run in excerpt.runs
    )
    head = f'<tr><th colspan="{columns}">{escape(excerpt.file)}</th></tr>\n' if excerpt.file else ""
    return f'<table class="heat">{head}{rows}</table>'


def _source_line(line: ExcerptLine, *, shares: bool, bars: bool) -> str:
    heat = f' style="--heat:{100 * line.heat:.0f}%"' if line.heat else ""
    look = f' class="{line.look}"' if line.look else ""
    tip = f' title="{escape(line.tip)}"' if line.tip or line.look else ""
    stack = "".join(f'<i class="{color}" style="width:{width:.1f}%"></i>' for color, width in line.parts)
    return (
        f'<tr{heat}{look}{tip}><td class="n soft">{line.number or ""}</td>'
        + (f'<td class="n">{line.share}</td>' if shares else "")
        + f'<td class="n soft">{line.count}</td>'
        + (f'<td class="stack"><span>{stack}</span></td>' if bars else "")
        + f'<td class="code">{escape(line.text)}</td></tr>'
    )


# -- what holds other parts -------------------------------------------------------------------------


def _section(section: PageSection) -> str:
    title, inside = _inline(section.title), parts_html(section.parts)
    if section.place:
        title = f'<h2 id="{section.place}">{title}</h2>'
    elif section.opened is None:
        title = f"<h2>{title}</h2>"
    if section.opened is None:
        return f"{title}\n{inside}"
    opened = " open" if section.opened else ""
    return f'<details class="part"{opened}><summary>{title}</summary>\n{inside}\n</details>'


def _box(box: Box) -> str:
    title = f"<h3>{escape(box.title)}</h3>\n" if box.title else ""
    return f'<div class="card">{title}{parts_html(box.parts)}</div>'


def _beside(beside: SideBySide) -> str:
    shown = [(part, parts_html([part])) for part in beside.parts]
    inside = "".join(told if isinstance(part, Box) else f"<div>{told}</div>" for part, told in shown if told)
    return f'<div class="pair">{inside}</div>' if inside else ""


def _contents(contents: Contents) -> str:
    links = "".join(
        f'<li><a href="#{section.place}">{_inline(section.title)}</a></li>'
        for section in contents.sections
        if section.place
    )
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _items(items: BulletList) -> str:
    shown = (
        _element(
            "li",
            _look(getattr(item, "style", "")),
            _inline(item) if isinstance(item, str | Text) else _part(item),
        )
        for item in items.parts
    )
    return f"<ul>{''.join(shown)}</ul>"


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Group: lambda group: parts_html(group.renderables),
    Grid: _table,
    Text: _text,
    str: lambda words: f"<p>{_inline(words)}</p>" if words.strip() else "",
    Unfolded: _unfolded,
    Chart: _chart,
    Legend: lambda legend: f'<p class="soft">{escape(legend.words)} {legend_html(legend)}</p>',
    SourceExcerpt: _excerpt,
    BulletList: _items,
    PageSection: _section,
    Box: _box,
    SideBySide: _beside,
    Contents: _contents,
}


def _part(part: Any) -> str:
    write = _WRITERS.get(type(part))
    return f"<pre>{escape(text_of(part, WIDTH))}</pre>" if write is None else write(part)
