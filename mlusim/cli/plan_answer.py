"""The answers of ``mlusim plan``, and how they are written: as text, JSON, SVG, CSV or a page."""

import html
import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from rich.console import Console, RenderableType

from mlusim.cli import options, show
from mlusim.cli.arguments.listing import PLAN_FORMATS
from mlusim.cli.arguments.shared import TEXT
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.plan.svg import BoardColumn, boards_svg
from mlusim.report.json_values import json_text

SUFFIXES = {f".{form}": form for form in PLAN_FORMATS if form != TEXT}
WIDTH, PAGE_WIDTH = 110, 96
"""Characters of a line of a text, and of a page, which also a window of 800 pixels shows whole."""
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; }}
svg {{ max-width: 100%; height: auto; display: block; margin: 1em 0; }}
pre {{ overflow-x: auto; font-size: 13px; }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


@frozen
class PlanAnswer:
    """The answer to one question on one board: for people, for programs, as a picture, as a table.

    *view* is None where another answer's view shows this one as well, and *column* is what a picture of several boards has of it.
    """

    view: RenderableType | None
    facts: Mapping[str, Any]
    good: bool
    svg: str = ""
    csv: str = ""
    column: BoardColumn | None = None


def frontier_names(text: str) -> tuple[str, str]:
    """Return the two variables of ``--frontier``.  Raises `UsageError` for another number of them."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise UsageError(
            f"--frontier {text!r} names {len(names)} {plural(len(names), 'variable')}; give two, such as S,T"
        )
    return names[0], names[1]


def deliver(answers: Sequence[PlanAnswer], *, form: str, file: str | None, title: str) -> None:
    """Write *answers* as *form* says to *file*, or to standard output.

    Raises `UsageError` for a form that the answers do not have.
    """
    if form == TEXT and file is None:
        views = [a.view for a in answers if a.view is not None]
        for number, view in enumerate(views):
            show.output().print(*([""] if number else []), view, sep="\n", soft_wrap=isinstance(view, str))
        return
    who = f"--format {form}" if file is None else file
    text = _text(answers, form, who, title)
    if file is None:
        sys.stdout.write(text)
    else:
        options.write_text(file, text)


def _text(answers: Sequence[PlanAnswer], form: str, who: str, title: str) -> str:
    if form == TEXT:
        return "\n".join(f"{_told(a)}\n" for a in answers if a.view is not None)
    if form == "json":
        document: Any = [a.facts for a in answers] if len(answers) > 1 else answers[0].facts
        return json_text(document)
    if form == "html":
        joint = _beside(answers, title)
        # One picture of all boards stands in place of theirs.
        parts = [_section(evolve(a, svg="") if joint else a) for a in answers]
        return _PAGE.format(title=html.escape(title), body="\n".join([joint, *parts]))
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
    """Return one picture of all boards; empty where there is one answer, or one that is no memory map."""
    columns = [a.column for a in answers if a.column is not None]
    drawn = any(column.layouts for column in columns)
    return boards_svg(columns, title) if drawn and len(columns) == len(answers) > 1 else ""


def _section(answer: PlanAnswer) -> str:
    parts = [answer.svg]
    if answer.view is not None:
        parts.append(f"<pre>{html.escape(_told(answer, PAGE_WIDTH))}</pre>")
    return "\n".join(part for part in parts if part)


def _told(answer: PlanAnswer, width: int = WIDTH) -> str:
    """Return the view of *answer* as lines of text, so many characters wide where they can be folded."""
    # A file is as wide as it is: the width of the terminal that it is made in has no part in it.
    console = Console(file=io.StringIO(), width=width, record=True, color_system=None)
    console.print(answer.view, crop=False)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())
