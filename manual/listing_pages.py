"""The pages that show a document's listing beside its kernel."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from mlusim.operators.listing import DocumentListing, Row, read_listing
from mlusim.operators.registry import operators

PRE = '<pre style="white-space: pre-wrap; margin: 0">'
ROOT = Path(__file__).resolve().parents[1]


def listings() -> dict[str, Path]:
    """Return the files of listings by the folders of their operators."""
    paths = (operator.listing for operator in operators().values())
    return {path.parent.name: path for path in paths if path is not None and path.is_relative_to(ROOT)}


def page(name: str, path: Path) -> str:
    """Return the page of the listing in *path*, which belongs to the operator folder *name*."""
    listing = read_listing(path)
    head = (
        f"Left is {' '.join(listing.about)}; right is `ops/{name}/{listing.source.name}`, with the numbers of\nits lines. Between them stands whether a line is the same (=), another one (~), only in the document (-) or only in the\n"
        f"kernel (+), and the mark that argues it. [The page of the operator]({name}.md#differences-from-the-document) explains the\n"
        f"marks; C is what a compiler asks for and pseudocode leaves out: types, arguments, conversions.\n`mlusim ops {_operator(path)} --listing` shows the same in a terminal."
    )
    parts = [f"# {name}: the listing beside the kernel", head]
    for part in listing.parts:
        functions = ", ".join(part.functions)
        parts.append(f"## {part.title}" if part.title == functions else f"## {part.title} ({functions})")
        parts.append("\n".join(_table(listing, part.rows)))
    return "\n\n".join(parts) + "\n"


def _operator(path: Path) -> str:
    return next(operator.name for operator in operators().values() if operator.listing == path)


def _table(listing: DocumentListing, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of HTML; none is empty, which would end the table."""
    yield "<table>"
    yield (
        f'<tr><th width="42%">document</th><th width="8%"></th><th width="50%">{escape(listing.source.name)}</th></tr>'
    )
    for row in rows:
        said = "<br>".join(map(escape, row.lines)) if row.prose else _code(row.lines)
        marks = "<br>".join((f"{escape(row.sign)} {' '.join(row.marks[:1])}".rstrip(), *row.marks[1:]))
        kernel = _code([f"{number:>4} {line}" for number, line in listing.shown(row)])
        yield f"<tr><td>{said}</td><td>{marks}</td><td>{kernel}</td></tr>"
        if row.why:
            yield f'<tr><td colspan="3"><em>{escape(", ".join(row.marks))}: {escape(row.why)}</em></td></tr>'
    yield "</table>"


def _code(lines: Sequence[str]) -> str:
    """Return the lines as code, in one line of HTML."""
    return f"{PRE}{'&#10;'.join(escape(line, quote=False) for line in lines)}</pre>" if lines else ""
