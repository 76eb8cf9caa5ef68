"""Plain tables for a terminal of any width: nothing in them is ever cropped."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mlusim.files.paths import lines_shown


@frozen
class Column:
    """A column: its heading, and whether its cells are numbers and may take several lines."""

    heading: str
    right: bool = False
    folds: bool = False


class Grid:
    """A table that never crops: where its columns do not fit, each row becomes lines of headings and values.

    *gap* blanks stand between columns, *ruled*: a line under the headings.
    """

    def __init__(self, columns: Sequence[Column], title: str | None, *, gap: int, ruled: bool) -> None:
        """An empty table."""
        self.columns = tuple(columns)
        self.title = None if title is None else lines_shown(title)
        self.gap = gap
        self.ruled = ruled
        self.rows: list[tuple[tuple[RenderableType, ...], str]] = []

    def add_row(self, *cells: RenderableType, style: str = "") -> None:
        """One row more; cells that are left out are empty."""
        whole = cells + ("",) * (len(self.columns) - len(cells))
        self.rows.append((tuple(map(_escaped, whole)), style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The columns side by side, or row by row where they are too wide for that."""
        widths = self._widths(console, options)
        if widths is None:
            yield from self._stacked(options.max_width)
        else:
            yield self._table(widths)

    def _widths(self, console: Console, options: ConsoleOptions) -> list[int] | None:
        """How wide each column is, None where they do not fit: only columns that fold are less wide than they are."""
        unlimited = options.update(width=UNLIMITED)
        least, most = [], []
        for n, column in enumerate(self.columns):
            cells = [column.heading, *(cells[n] for cells, _ in self.rows)]
            found = [Measurement.get(console, unlimited, cell) for cell in cells]
            most.append(max(cell.maximum for cell in found))
            words = max(_least(cell, size) for cell, size in zip(cells, found, strict=True))
            least.append(words if column.folds else most[-1])
        room = options.max_width - self.gap * (len(self.columns) - 1) - sum(least)
        if room < 0:
            return None
        for n in sorted(range(len(least)), key=lambda n: most[n] - least[n]):
            waiting = sum(1 for k in range(len(least)) if most[k] - least[k] >= most[n] - least[n] > 0)
            more = min(most[n] - least[n], room // max(waiting, 1))
            least[n] += more
            room -= more
        return least

    def _table(self, widths: Sequence[int]) -> Table:
        """What rich shows where the columns fit."""
        made = Table(
            box=box.SIMPLE_HEAD if self.ruled else None,
            padding=(0, self.gap - 1 if self.ruled else self.gap, 0, 0),
            pad_edge=False,
            show_edge=False,
            show_header=any(column.heading for column in self.columns),
            header_style="bold",
            title=self.title,
            title_justify="left",
            title_style="bold",
        )
        for column, width in zip(self.columns, widths, strict=True):
            justify: Any = "right" if column.right else "left"
            made.add_column(
                column.heading, justify=justify, overflow="fold", no_wrap=not column.folds, width=width
            )
        for cells, style in self.rows:
            made.add_row(*cells, style=style)
        return made

    def _stacked(self, width: int) -> Iterator[RenderableType]:
        """A title, then for each row its first cell, and below it the headings and values of the others."""
        if self.title:
            yield Text(self.title, style="bold")
        for cells, style in self.rows:
            first, *rest = map(_words, cells)
            if first:
                yield Text(first, style="bold" if any(rest) else style, no_wrap=True, overflow="ignore")
            named = zip(self.columns[1:], rest, strict=True)
            pairs = [f"{column.heading} {words}".lstrip() for column, words in named if words]
            for line in _packed(pairs, width - 2):
                made = Text(line, style=style, overflow="fold")
                yield Padding(made, (0, 0, 0, 2)) if len(line) > width - 2 else Text("  ").append_text(made)


def _escaped(cell: RenderableType) -> RenderableType:
    """The cell with control bytes as they will be shown, so that its column is as wide as that."""
    if isinstance(cell, str):
        return lines_shown(cell)
    if isinstance(cell, Text) and lines_shown(cell.plain) != cell.plain:
        return Text(lines_shown(cell.plain), style=cell.style)
    return evolve(cell, text=lines_shown(cell.text)) if isinstance(cell, NameCell) else cell


UNLIMITED = 10_000  # columns, wider than any table
LONG = 16  # characters: a longer word of a text may go on in the next line, a name may not


def _least(cell: RenderableType, found: Measurement) -> int:
    return found.minimum if isinstance(cell, NameCell) else min(found.minimum, LONG)


def _words(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell.text if isinstance(cell, NameCell) else cell)


def _packed(pairs: Iterable[str], width: int) -> Iterator[str]:
    """As many *pairs* a line as fit, two blanks apart; none is broken."""
    line = ""
    for pair in pairs:
        if line and len(line) + 2 + len(pair) > width:
            yield line
            line = ""
        line = f"{line}  {pair}" if line else pair
    if line:
        yield line


def table(
    *columns: str,
    right: Iterable[str] = (),
    fold: Iterable[str] = (),
    title: str | None = None,
    tight: bool = False,
) -> Grid:
    """An empty table; the columns *right* are numbers, the columns *fold* may take several lines; *tight*: close by."""
    numbers, folding = set(right), set(fold)
    made = [Column(column, column in numbers, column in folding) for column in columns]
    return Grid(made, title, gap=1 if tight else 2, ruled=True)


@frozen
class NameCell:
    """A name in a cell: a long one is broken behind an underscore or a space."""

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


def facts(rows: Sequence[tuple[str, Any]]) -> Grid:
    """Names and values, one pair a line."""
    made = Grid((Column(""), Column("", folds=True)), None, gap=2, ruled=False)
    for name, value in rows:
        made.add_row(Text(name, style="bold"), value if isinstance(value, Text) else Text(str(value)))
    return made
