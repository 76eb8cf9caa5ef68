"""Plain tables for a terminal of any width: nothing in them is ever cropped."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from mlusim.files.reading import lines_shown


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
        """Begin a table with no rows."""
        self.columns = tuple(columns)
        self.title = None if title is None else lines_shown(title)
        self.gap = gap
        self.ruled = ruled
        self.rows: list[Row] = []

    def add_row(self, *cells: "Cell", style: str = "") -> None:
        """Add a row; cells that are left out are empty."""
        whole = cells + ("",) * (len(self.columns) - len(cells))
        shown = tuple(
            [cell if type(cell) is str and cell.isprintable() else _escaped(cell) for cell in whole]
        )
        self.rows.append((shown, style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the columns side by side, or row by row where they are too wide for that."""
        sizes = [[_size_of(cell) for cell in cells] for cells, _ in self.rows]
        widths = self._widths(sizes, options.max_width)
        if widths is None:
            yield from self._stacked(console, options.max_width)
        elif options.ascii_only:  # bars between the columns, which are rich's
            yield self._table(widths, self.rows)
        else:
            yield from self._side_by_side(console, widths, sizes)

    def _widths(self, sizes: "Sequence[Sequence[_Size]]", room: int) -> list[int] | None:
        """Return how wide each column is, None where they do not fit: only columns that fold are less wide than they are."""
        least, most = [], []
        for n, column in enumerate(self.columns):
            cells = [_size_of(column.heading), *(row[n] for row in sizes)]
            most.append(max(cell.most for cell in cells))
            least.append(max(cell.least for cell in cells) if column.folds else most[-1])
        room -= self.gap * (len(self.columns) - 1) + sum(least)
        if room < 0:
            return None
        for n in sorted(range(len(least)), key=lambda n: most[n] - least[n]):
            waiting = sum(1 for k in range(len(least)) if most[k] - least[k] >= most[n] - least[n] > 0)
            more = min(most[n] - least[n], room // max(waiting, 1))
            least[n] += more
            room -= more
        return least

    def _side_by_side(
        self, console: Console, widths: Sequence[int], sizes: "Sequence[Sequence[_Size]]"
    ) -> RenderResult:
        """Render title, headings and rows; rich lays out what takes several lines, for which it is 20 times as slow."""
        yield self._table(widths, ())
        for row, cells in zip(self.rows, sizes, strict=True):
            if all(cell.one_line and cell.most <= width for cell, width in zip(cells, widths, strict=True)):
                yield from self._line(console, row, widths, cells)
                yield Segment.line()
            else:
                yield self._table(widths, (row,), headed=False)

    def _line(
        self, console: Console, row: "Row", widths: Sequence[int], sizes: "Sequence[_Size]"
    ) -> Iterator[Segment]:
        """Yield a row whose cells take a line each."""
        cells, style = row
        base = console.get_style(style) if style else None
        plain = ""  # text without a style, gathered into one segment
        for column, cell, width, size in zip(self.columns, cells, widths, sizes, strict=True):
            blanks = " " * (width - size.most)
            plain += blanks if column.right else ""
            styled = list(_styled(console, cell, base))
            if any(segment.style for segment in styled):
                yield Segment(plain)
                yield from styled
                plain = ""
            else:
                plain += "".join(segment.text for segment in styled)
            plain += (blanks if not column.right else "") + " " * self.gap
        yield Segment(plain.rstrip(" "))

    def _table(self, widths: Sequence[int], rows: "Sequence[Row]", *, headed: bool = True) -> Table:
        """Render title, headings and *rows* with rich, without *headed* of the rows alone."""
        grid = Table(
            box=box.SIMPLE_HEAD if self.ruled else None,
            padding=(0, self.gap - 1 if self.ruled else self.gap, 0, 0),
            pad_edge=False,
            show_edge=False,
            show_header=headed and any(column.heading for column in self.columns),
            header_style="bold",
            title=Text(self.title, style="bold") if headed and self.title else None,
            title_justify="left",
        )
        for column, width in zip(self.columns, widths, strict=True):
            justify: Any = "right" if column.right else "left"
            grid.add_column(
                column.heading, justify=justify, overflow="fold", no_wrap=not column.folds, width=width
            )
        for cells, style in rows:
            grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells), style=style)
        return grid

    def _stacked(self, console: Console, width: int) -> Iterator[RenderableType | Segment]:
        """Yield a title, then for each row its first cell, and below it the headings and values of the others."""
        if self.title:
            yield Text(self.title, style="bold")
        for cells, style in self.rows:
            first, *rest = map(_words, cells)
            shown = "bold" if any(rest) else style
            if first and _size_of(first).one_line:
                yield Segment(first, console.get_style(shown))
                yield Segment.line()
            elif first:
                yield Text(first, style=shown, no_wrap=True, overflow="ignore")
            named = zip(self.columns[1:], rest, strict=True)
            pairs = [f"{column.heading} {words}".lstrip() for column, words in named if words]
            for line in _packed(pairs, width - 2):
                if _size_of(line).fits(width - 2):
                    yield Segment(f"  {line}", console.get_style(style))
                    yield Segment.line()
                else:
                    yield Padding(Text(line, style=style, overflow="fold"), (0, 0, 0, 2))


@frozen
class _Size:
    """A text's columns: between which it can be, and whether it is one line as it stands."""

    least: int
    most: int
    one_line: bool

    def fits(self, width: int) -> bool:
        """Return whether it is one line of at most *width* columns."""
        return self.one_line and self.most <= width


def _size_of(cell: "Cell") -> _Size:
    """Return the size of *cell*; of a text a word that is `LONG` may be broken."""
    if isinstance(cell, NameCell):
        return _Size(*cell.widths, one_line=True)
    text = cell if isinstance(cell, str) else cell.plain
    one_line = "\n" not in text and "\t" not in text
    most = cell_len(text) if one_line else max(map(cell_len, text.expandtabs(8).splitlines()), default=0)
    return _Size(min(max(map(cell_len, text.split()), default=most), LONG), most, one_line)


def _styled(console: Console, cell: "Cell", base: Style | None) -> Iterable[Segment]:
    """Return the parts of a cell that is one line."""
    if isinstance(cell, str):
        return (Segment(cell, base),)
    text = cell.in_a_line if isinstance(cell, NameCell) else cell
    if text.spans:
        return Segment.apply_style(text.render(console), base)
    style = console.get_style(text.style)
    return (Segment(text.plain, style if base is None else base + style),)


def _escaped(cell: "Cell") -> "Cell":
    """Return the cell with control bytes as they will be shown, so that its column is as wide as that."""
    words = _words(cell)
    if words.isprintable():
        return cell
    words = lines_shown(words)
    if isinstance(cell, str):
        return words
    if isinstance(cell, NameCell):
        return evolve(cell, text=words)
    return cell if words == cell.plain else Text(words, style=cell.style)


LONG = 16  # characters: a longer word of a text may go on in the next line, a name may not


def _words(cell: "Cell") -> str:
    return cell if isinstance(cell, str) else cell.text if isinstance(cell, NameCell) else cell.plain


def _packed(pairs: Iterable[str], width: int) -> Iterator[str]:
    """Yield as many *pairs* a line as fit, two blanks apart; none is broken."""
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
    """Return an empty table; the columns *right* are numbers, the columns *fold* may take several lines; *tight*: close by."""
    numbers, folding = set(right), set(fold)
    headed = [Column(column, column in numbers, column in folding) for column in columns]
    return Grid(headed, title, gap=1 if tight else 2, ruled=True)


@frozen
class NameCell:
    """A name in a cell: a long one is broken after an underscore or a space."""

    text: str
    indent: int = 0
    style: str = ""

    def lines(self, width: int) -> list[str]:
        """Return the name in lines of at most *width* columns; a piece that is longer is cut."""
        lines, line = [], " " * self.indent
        for piece in re.findall(r"[^_ ]*[_ ]+|[^_ ]+", self.text):
            if cell_len(line) + cell_len(piece) > width and line.strip():
                lines.append(line)
                line = " " * (self.indent + 2)
            line += piece
        return [set_cell_size(part, min(cell_len(part), width)) for part in (*lines, line)]

    @property
    def widths(self) -> tuple[int, int]:
        """The columns between which it can be."""
        pieces = re.findall(r"[^_ ]*[_ ]+|[^_ ]+", self.text)
        longest = max(map(cell_len, pieces), default=0) + self.indent + 2
        whole = self.indent + cell_len(self.text)
        return min(longest, whole), whole

    @property
    def in_a_line(self) -> Text:
        """Text of the whole grid in one line."""
        return Text(" " * self.indent + self.text, style=self.style)

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        """Return the widths between which it can be."""
        return Measurement(*self.widths).with_maximum(options.max_width)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the lines, one after the other."""
        yield Text("\n".join(self.lines(options.max_width)), no_wrap=True, style=self.style)


class PageCell(Text):
    """Text of which a page shows more than a terminal: *bars*, a *note* in small type, and *others* that are alike, folded.

    A bar is (colour, share, words); several are parts of one.
    """

    def __init__(
        self,
        text: str,
        style: str = "",
        *,
        bars: Iterable[tuple[str, float, str]] = (),
        note: str = "",
        others: Sequence[str] = (),
    ) -> None:
        super().__init__(text, style)
        self.bars, self.note, self.others = tuple(bars), note, others

    def __bool__(self) -> bool:
        """Return whether a page shows anything in it."""
        return bool(self.plain or self.bars)


Cell = str | Text | NameCell
Row = tuple[tuple[Cell, ...], str]  # cells, and the style of all of them


def facts(rows: Sequence[tuple[str, Any]]) -> Grid:
    """Return the names and values, one pair a line."""
    grid = Grid((Column(""), Column("", folds=True)), None, gap=2, ruled=False)
    for name, value in rows:
        grid.add_row(Text(name, style="bold"), value if isinstance(value, Text) else Text(str(value)))
    return grid
