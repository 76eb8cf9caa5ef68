"""The output of a verb, as a value: facts for programs, and parts for people: tables, facts by name, sentences, notes, source excerpts.

The terminal, a page and Markdown are written from the same parts, and JSON from the facts; which of them is asked for, a verb does not know.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

if TYPE_CHECKING:
    from rich.console import RenderableType


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


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return *rows* under *heads* as a table in Markdown, without a newline behind it; a bar in a cell would end the cell."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines)
