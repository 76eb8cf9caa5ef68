"""Plain tables for a terminal of 80 columns."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


def table(
    *columns: str,
    right: Iterable[str] = (),
    fold: Iterable[str] = (),
    title: str | None = None,
    tight: bool = False,
) -> Table:
    """An empty table; the columns *right* are numbers, the columns *fold* may take several lines; *tight*: close by."""
    made = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 0 if tight else 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        title=title,
        title_justify="left",
        title_style="bold",
    )
    numbers, folding = set(right), set(fold)
    for column in columns:
        justify: Any = "right" if column in numbers else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column not in folding)
    return made


@frozen
class Name:
    """A name in a cell: where it is too long it goes on in the next line, behind an underscore or a space."""

    text: str
    indent: int = 0
    style: str = ""

    def lines(self, width: int) -> list[str]:
        """The name in lines of at most *width* columns; a piece that is longer is cut."""
        found, line = [], " " * self.indent
        for piece in re.findall(r"[^_ ]*[_ ]+|[^_ ]+", self.text):
            if len(line) + len(piece) > width and line.strip():
                found.append(line)
                line = " " * (self.indent + 2)
            line += piece
        return [part[:width] for part in (*found, line)]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """The widths between which it can be."""
        del console
        longest = max(map(len, re.findall(r"[^_ ]*[_ ]+|[^_ ]+", self.text)), default=0) + self.indent + 2
        whole = self.indent + len(self.text)
        return Measurement(min(longest, whole), whole).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines, one after the other."""
        del console
        yield Text("\n".join(self.lines(options.max_width)), no_wrap=True, style=self.style)


def facts(rows: Sequence[tuple[str, Any]]) -> Table:
    """Names and values, one pair a line."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return made
