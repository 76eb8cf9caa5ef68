"""The parts that all pages share: style, title, the answer with its figures as cards; pages without charts, which need no extra; and terminal output as HTML."""

import functools
import io
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from attrs import frozen
from rich.console import Console, Group, RenderableType
from rich.text import Text

from mlusim.text_grid import Grid

GOOD, BAD = "good", "bad"


@frozen
class Card:
    """A *figure* with its unit, *what* it measures, and a *note*; *tone* is `GOOD`, `BAD` or ""."""

    figure: str
    what: str
    note: str = ""
    tone: str = ""


@frozen
class PageHead:
    """The head of a page: the *title*, the *answer* to the verb's question in one line, and three to five figures."""

    title: str
    answer: str
    cards: Sequence[Card] = ()
    tone: str = ""


def head_html(head: PageHead) -> str:
    """Return *head* as HTML."""
    cards = "".join(map(_card, head.cards))
    answer = f'<p class="answer {head.tone}">{escape(head.answer)}</p>' if head.answer else ""
    return f'<h1>{escape(head.title)}</h1>\n{answer}\n<div class="figures">{cards}</div>'


def _card(card: Card) -> str:
    note = f"<small>{escape(card.note)}</small>" if card.note else ""
    return f'<div class="figure {card.tone}"><b>{escape(card.figure)}</b><span>{escape(card.what)}</span>{note}</div>'


@functools.cache
def style() -> str:
    """Return the style of all pages."""
    return files("mlusim.report").joinpath("templates", "style.css").read_text(encoding="utf-8")


def folded(summary: str, inside: str, *, opened: bool = False) -> str:
    """Return a foldable section: *inside*, which is HTML, under the heading *summary*."""
    return f'<details class="part"{" open" if opened else ""}><summary>{escape(summary)}</summary>\n{inside}\n</details>'


def plain_page(head: PageHead, body: str) -> str:
    """Return a complete page without charts: *head*, and below it *body*, which is HTML."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(head.title)}</title>
<style>
{style()}
</style>
</head>
<body><main>
{head_html(head)}
{body}
</main></body></html>
"""


WIDTH = 96  # characters of a line that is part of neither a table nor a sentence


def view_html(view: RenderableType) -> str:
    """Return *view* as HTML; parts that are neither tables nor text are drawn with characters, as in the terminal."""
    return "\n".join(_parts(view))


def text_of(view: RenderableType, width: int) -> str:
    """Return *view* as lines of text, wrapped to *width* characters where possible."""
    # The terminal's width must not affect a file.
    console = Console(file=io.StringIO(), width=width, record=True, color_system=None)
    console.print(view, crop=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def _parts(view: RenderableType) -> Iterator[str]:
    if isinstance(view, Group):
        for part in view.renderables:
            yield from _parts(part)
    elif isinstance(view, Grid):
        yield _table(view)
    elif isinstance(view, str | Text):
        text = str(view)
        strong = isinstance(view, Text) and "bold" in str(view.style)
        if text.strip():
            yield f"<h4>{escape(text)}</h4>" if strong else f"<p>{escape(text)}</p>"
    else:
        yield f"<pre>{escape(text_of(view, WIDTH))}</pre>"


def _table(grid: Grid) -> str:
    looks = [' class="n"' if column.right else "" for column in grid.columns]
    heads = "".join(
        f"<th{look}>{escape(column.heading)}</th>" for look, column in zip(looks, grid.columns, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(f"<td{look}>{escape(str(cell))}</td>" for look, cell in zip(looks, cells, strict=True))
        + "</tr>"
        for cells, _ in grid.rows
    )
    title = f"<h4>{escape(grid.title)}</h4>\n" if grid.title else ""
    return f'{title}<table class="told"><tr>{heads}</tr>\n{rows}</table>'
