"""Plain tables for a terminal of 80 columns."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text


def table(
    *columns: str, right: Iterable[str] = (), fold: Iterable[str] = (), title: str | None = None
) -> Table:
    """An empty table; the columns *right* are numbers, the columns *fold* may take several lines."""
    made = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
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


def facts(rows: Sequence[tuple[str, Any]]) -> Table:
    """Names and values, one pair a line."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return made
