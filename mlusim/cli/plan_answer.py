"""The answers of ``mlusim plan``, and how they are written: as text, JSON, SVG, CSV or a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from rich.console import RenderableType

from mlusim.cli import options, show
from mlusim.cli.arguments.listing import PLAN_FORMATS
from mlusim.cli.arguments.shared import TEXT
from mlusim.counted import plural
from mlusim.document import BAD, GOOD, Card, Chart, PageHead, PagePart, PageSection, Unfolded, json_text
from mlusim.errors import UsageError
from mlusim.plan.solver import Frontier
from mlusim.plan.svg import BoardColumn, boards_svg
from mlusim.report.page.writer import page, text_of

SUFFIXES = {f".{form}": form for form in PLAN_FORMATS if form != TEXT}
WIDTH = 110  # characters of a line of text


@frozen
class PlanAnswer:
    """The answer to one question on one board: as text, facts, a picture, and a table.

    *view* is None if another answer's view shows this one too, and *column* is its column in a picture of several
    boards. *told* is the answer in one line, and *cards* are its figures; a page of several answers shows the first
    of each.
    """

    view: RenderableType | None
    facts: Mapping[str, Any]
    good: bool
    svg: str = ""
    csv: str = ""
    column: BoardColumn | None = None
    told: str = ""
    cards: Sequence[Card] = ()


def frontier_names(text: str) -> tuple[str, str]:
    """Return the two variables of ``--frontier``.  Raises `UsageError` if there are not two."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise UsageError(
            f"--frontier {text!r} names {len(names)} {plural(len(names), 'variable')}; give two, such as S,T"
        )
    return names[0], names[1]


def frontier_told(frontier: Frontier, title: str) -> str:
    """Return one line with the ends of *frontier*."""
    if not len(frontier) or frontier.ys.max() < 0:
        return f"{title}: no {frontier.x} leaves room for any {frontier.y}"
    first, last = _ends(frontier)
    ends = f"up to {frontier.y} = {first[1]:,} at {frontier.x} = {first[0]:,}"
    return f"{title}: {ends}, and up to {last[1]:,} at {frontier.x} = {last[0]:,}"


def frontier_cards(frontier: Frontier) -> list[Card]:
    """Return the figures of *frontier*: its ends, and the binding limits."""
    if not len(frontier) or frontier.ys.max() < 0:
        return []
    (x, y), (last, least) = _ends(frontier)
    binding = list(dict.fromkeys(frontier.binding_at(corner) for corner in frontier.corners()))
    return [
        Card(f"{y:,}", f"the largest {frontier.y}", f"at {frontier.x} = {x:,}"),
        Card(f"{last:,}", f"the largest {frontier.x}", f"with {frontier.y} up to {least:,}"),
        Card(f"{len(frontier):,}", plural(len(frontier), "point"), "-o FILE.csv writes all of them"),
        Card(f"{len(binding):,}", plural(len(binding), "constraint binds", "constraints bind in turn"),
             ", ".join(name or f"range of {frontier.y}" for name in binding)),
    ]  # fmt: skip


def _ends(frontier: Frontier) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the point with the largest y, and the last point that fits."""
    points = [
        (int(x), int(y)) for x, y in zip(frontier.xs.tolist(), frontier.ys.tolist(), strict=True) if y >= 0
    ]
    return max(points, key=lambda point: point[1]), points[-1]


def deliver(answers: Sequence[PlanAnswer], *, form: str, file: str | None, title: str) -> None:
    """Write *answers* in the format *form* to *file*, or to standard output.

    Raises `UsageError` for a format that the answers lack.
    """
    if form == TEXT and file is None:
        views = [a.view for a in answers if a.view is not None]
        for number, view in enumerate(views):
            show.put((*([""] if number else []), Unfolded(view) if isinstance(view, str) else view))
        return
    who = f"--format {form}" if file is None else file
    text = _text(answers, form, who, title)
    options.write_text(file, text)


def _text(answers: Sequence[PlanAnswer], form: str, who: str, title: str) -> str:
    if form == TEXT:
        return "\n".join(f"{text_of(a.view, WIDTH)}\n" for a in answers if a.view is not None)
    if form == "json":
        document: Any = [a.facts for a in answers] if len(answers) > 1 else answers[0].facts
        return json_text(document)
    if form == "html":
        return _page(answers, title)
    drawn = [text for a in answers if (text := a.svg if form == "svg" else a.csv)]
    if form == "svg" and (joint := _beside(answers, title)):
        return joint
    if len(answers) > 1:
        raise UsageError(
            f"{who} can hold one answer, not {len(answers)}; name one board, or use JSON or HTML"
        )
    if not drawn:
        raise UsageError(f"{who}: this answer cannot be written as {form}; use json, html or text")
    return drawn[0]


def _beside(answers: Sequence[PlanAnswer], title: str) -> str:
    """Return one picture of all boards; "" if there is a single answer, or an answer without a memory map."""
    columns = [a.column for a in answers if a.column is not None]
    drawn = any(column.layouts for column in columns)
    estimates = dict.fromkeys(
        f"The use of memory is {a.facts['estimate']}." for a in answers if "estimate" in a.facts
    )
    return (
        boards_svg(columns, title, " ".join(estimates)) if drawn and len(columns) == len(answers) > 1 else ""
    )


def _page(answers: Sequence[PlanAnswer], title: str) -> str:
    """Return the page: the answer, its figures and drawings; the terminal's text is folded below."""
    joint = _beside(answers, title)
    # One picture of all boards replaces the individual ones.
    drawings = [joint] if joint else [a.svg for a in answers if a.svg]
    # With several boards each shows its first figure only, since all of them would be too many for the head
    # of a page.
    cards = answers[0].cards if len(answers) == 1 else [card for a in answers for card in a.cards[:1]]
    told = "; ".join(dict.fromkeys(a.told for a in answers if a.told))
    head = PageHead(title, told, cards, GOOD if all(a.good for a in answers) else BAD)
    parts: list[PagePart] = [Chart(svg, zooms=False) for svg in drawings]
    shown = [a.view for a in answers if a.view is not None]
    if shown:
        parts.append(PageSection("Details", shown, opened=not drawings))
    return page(head, parts)
