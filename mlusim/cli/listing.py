"""A document's listing beside its kernel, for a terminal of any width and as data."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from rich.text import Text

from mlusim.operators.listing import AS_C, SOURCE, DocumentListing, Part, Row

SIGNS = "= the same   ~ another, by its mark   - only in the document   + only in the kernel"
_LEFT = {"=": "", "~": "yellow", "-": "red", "+": ""}
_RIGHT = {"=": "", "~": "yellow", "-": "", "+": "green"}
NARROW = 72  # columns from which on code stands side by side


def listing_document(name: str, listing: DocumentListing) -> dict[str, Any]:
    """Return the listing of operator *name* as plain data."""
    return {
        "operator": name,
        "about": list(listing.about),
        "source": listing.source.as_posix(),
        "marks": list(listing.marks),
        "parts": [
            {
                "title": part.title,
                "functions": list(part.functions),
                "rows": [_row_document(row, listing) for row in part.rows],
            }
            for part in listing.parts
        ],
        "rest": [{"line": n, "text": listing.text[n - 1]} for n in listing.rest],
    }


def _row_document(row: Row, listing: DocumentListing) -> dict[str, Any]:
    return {
        "sign": row.sign,
        "listing": list(row.lines),
        "prose": row.prose,
        "kernel": [{"line": n, "text": listing.text[n - 1]} for n in row.kernel],
        "again": row.again,
        "marks": list(row.marks),
        "why": row.why,
    }


def listing_lines(name: str, listing: DocumentListing, width: int) -> Iterator[Text]:
    """Yield the lines that show *listing* in *width* columns."""
    yield from _folded(f"{name}: the document's listing, and {SOURCE}", width, "bold")
    yield from _folded(" ".join(listing.about), width, "")
    yield from _folded(SIGNS, width, "dim")
    for part in listing.parts:
        yield Text()
        yield from _folded(_title(part), width, "bold")
        for row in part.rows:
            yield from _shown(row, listing, width)
    yield Text()
    yield from _folded(
        f"{AS_C}: what a compiler asks for and pseudocode leaves out: types, arguments, conversions.  The other marks are "
        f"explained in docs/operators/{listing.source.parent.name}.md; what is left of {SOURCE} is declarations and helpers "
        "that the document does not speak of.",
        width,
        "dim",
    )


def _title(part: Part) -> str:
    names = ", ".join(part.functions)
    return part.title if part.title == names else f"{part.title}: {names}"


def _folded(text: str, width: int, style: str, indent: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent):
        yield Text(line, style=style)


def _shown(row: Row, listing: DocumentListing, width: int) -> Iterator[Text]:
    """Yield a row: code on both sides with the marks between, and why below."""
    left, right = _LEFT[row.sign], "dim" if row.again else _RIGHT[row.sign]
    marks = [f"{row.sign} {mark}" for mark in row.marks[:1]] or [row.sign]
    marks += [f"  {mark}" for mark in row.marks[1:]]
    if width < NARROW:
        for line in _code(row.lines, width, prose=row.prose):
            yield Text(line, style=left)
        for number, line in _kernel(row, listing, width - 6):
            yield Text.assemble((f"{number:>5} ", "dim"), (line, right))
    else:
        room = (width - 7 - 6) // 2  # beside the marks and the numbers of lines
        own, theirs = _code(row.lines, room, prose=row.prose), _kernel(row, listing, width - 13 - room)
        for said, mark, there in zip_longest(own, marks, theirs):
            number, line = there or ("", "")
            yield Text.assemble(
                ((said or "").ljust(room), left),
                (f" {mark or '':<7}", "bold"),
                (f"{number:>4} ", "dim"),
                (line, right),
            )
    if row.why:
        yield from _folded(f"{', '.join(row.marks)}: {row.why}", width, "italic", "    ")


def _code(lines: Sequence[str], width: int, *, prose: bool) -> list[str]:
    return [piece for line in lines for piece in _wrapped(line, width, hanging=0 if prose else 4)]


def _kernel(row: Row, listing: DocumentListing, width: int) -> list[tuple[str, str]]:
    """Return the lines that fit, with the number of each line where it begins."""
    found = []
    for number, line in listing.shown(row):
        pieces = _wrapped(line, width, hanging=4)
        found += [(f"{number}" if k == 0 else "", piece) for k, piece in enumerate(pieces)]
    return found


def _wrapped(line: str, width: int, *, hanging: int) -> list[str]:
    """Return a line of code on as many lines as it takes, each indented as it is."""
    indent = min(len(line) - len(line.lstrip()), width // 3)
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_on_hyphens=False,
    ) or [""]
