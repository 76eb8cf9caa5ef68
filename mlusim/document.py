"""The output of a verb, as a value: facts for programs, and parts for people: tables, facts by name, sentences, notes, source excerpts.

The terminal, a page and Markdown are written from the same parts, and JSON from the facts; which of them is asked for, a verb does not know.
Parts that only a page has, as pictures and what folds, are below; `mlusim.report.page.writer` writes them.
JSON has no NaN, no infinity, and no types of NumPy or attrs.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


@frozen
class Unfolded:
    """A line, or what consists of lines, that no terminal folds, so that a path or a command in it can be copied; *style* is rich's."""

    shown: "RenderableType"
    style: str = ""


Part: TypeAlias = "RenderableType | Unfolded"


@frozen
class Document:
    """All that a verb says.

    ``facts`` makes what JSON has and ``parts`` what people read, in its order; each is called only where it is written.
    """

    facts: Callable[[], Mapping[str, Any]]
    parts: "Callable[[], Iterable[Part]]"


# -- parts that only a page has ---------------------------------------------------------------------

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


@frozen
class Chart:
    """A picture as an SVG element, which *zooms* unless it is a map of memory."""

    svg: str
    zooms: bool = True


@frozen
class Legend:
    """The meaning of the marks of a chart, after *words*: kind of mark (work, wait, arrow, dashed), colour, meaning."""

    marks: Iterable[tuple[str, str, str]]
    words: str = ""


@frozen
class ExcerptLine:
    """A line of source, with how hot it is (0 to 1) or its *look*; ``parts`` of its bar are (colour, percentage of the widest)."""

    number: int
    text: str
    heat: float = 0.0
    share: str = ""
    count: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    tip: str = ""
    look: str = ""


@frozen
class SourceExcerpt:
    """A file as runs of lines; other lines are left out."""

    file: str
    runs: tuple[tuple[ExcerptLine, ...], ...]


@frozen
class BulletList:
    """Sentences or parts, each an item of a list."""

    parts: "Iterable[RenderableType]"


@frozen
class PageSection:
    """Parts under a title; a link leads to *place*; it folds unless *opened* is None."""

    title: "str | Text"
    parts: "Iterable[PagePart]"
    place: str = ""
    opened: bool | None = None


@frozen
class Box:
    """Parts in a frame, under a title if it has one."""

    title: str
    parts: "Iterable[PagePart]"


@frozen
class SideBySide:
    """Parts side by side, where there is room."""

    parts: "Iterable[PagePart]"


@frozen
class Contents:
    """Links to the *sections* that have a place."""

    sections: Sequence[PageSection]


PagePart: TypeAlias = (
    "Part | Chart | Legend | SourceExcerpt | BulletList | PageSection | Box | SideBySide | Contents"
)


# -- plain text, Markdown and JSON -------------------------------------------------------------------

# Plain tables: columns are as wide as their texts, whatever the terminal's width, so that tests see what
# users see.


def text_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as text with two blanks between its columns; empty columns are left out."""
    every = [heads, *rows]
    columns = [column for column in zip(*every, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        "  ".join(column[n].ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip()
        for n in range(len(every))
    )


def text_pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and values as text, one pair per line."""
    pairs = list(rows)
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return *rows* under *heads* as a table in Markdown, without a newline behind it; a bar in a cell would end the cell."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines)


# Characters that JSON lets through and terminals obey.
CONTROLS = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def plain(value: object) -> Any:
    """Return *value* rebuilt from what JSON has: dicts, lists, strings, numbers, booleans and None.

    A number that JSON lacks becomes the string "nan", "inf" or "-inf"; an enum member its name; any
    other object its text.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if getattr(value, "shape", None) == () and hasattr(
        value, "item"
    ):  # a number of NumPy, which need not be loaded
        value = value.item()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def members(value: object, *names: str) -> dict[str, Any]:
    """Return the attributes *names* of *value* by name, as a document has them."""
    return {name: getattr(value, name) for name in names}


def json_text(document: Mapping[str, Any]) -> str:
    """Return *document* as indented JSON that ends with a newline."""
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    return text.translate(CONTROLS) + "\n"
