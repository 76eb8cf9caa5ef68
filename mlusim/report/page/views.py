"""Renderings of the terminal as HTML: tables are tables there, and sentences are sentences."""

import io
from collections.abc import Iterator
from html import escape

from rich.console import Console, Group, RenderableType
from rich.text import Text

from mlusim.text_grid import Grid

WIDTH = 96  # characters of a line of what is neither a table nor a sentence


def view_html(view: RenderableType) -> str:
    """Return *view* as HTML; what is neither a table nor text is drawn with characters, as in the terminal."""
    return "\n".join(_parts(view))


def text_of(view: RenderableType, width: int) -> str:
    """Return *view* as lines of text, so many characters wide where they can be folded."""
    # A file is as wide as it is: the width of the terminal that it is made in has no part in it.
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
