"""The parts that all pages share: the style, the title, the answer in one line and its figures as cards; and pages without charts, for which no extra is needed."""

import functools
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from attrs import frozen

GOOD, BAD = "good", "bad"


@frozen
class Card:
    """A *figure* with its unit, *what* it is, and a *note* on it; *tone* is `GOOD`, `BAD` or empty."""

    figure: str
    what: str
    note: str = ""
    tone: str = ""


@frozen
class PageHead:
    """The top of a page: the *title*, the *answer* to the question of the verb in one line, and three to five figures."""

    title: str
    answer: str
    cards: Sequence[Card] = ()
    tone: str = ""


def head_html(head: PageHead) -> str:
    """Return *head* as HTML."""
    cards = "".join(map(_card, head.cards))
    answer = f'<p class="answer {head.tone}">{escape(head.answer)}</p>' if head.answer else ""
    return f'<h1>{escape(head.title)}</h1>\n{answer}\n<div class="figures">{cards}</div>'


def _card(card: Card) -> str:
    note = f"<small>{escape(card.note)}</small>" if card.note else ""
    return f'<div class="figure {card.tone}"><b>{escape(card.figure)}</b><span>{escape(card.what)}</span>{note}</div>'


@functools.cache
def style() -> str:
    """Return the style of all pages."""
    return files("mlusim.report").joinpath("templates", "style.css").read_text(encoding="utf-8")


def folded(summary: str, inside: str, *, opened: bool = False) -> str:
    """Return what a reader opens: *inside*, which is HTML, under the words of *summary*."""
    return f'<details class="part"{" open" if opened else ""}><summary>{escape(summary)}</summary>\n{inside}\n</details>'


def plain_page(head: PageHead, body: str) -> str:
    """Return a whole page without charts: *head*, and below it *body*, which is HTML."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(head.title)}</title>
<style>
{style()}
</style>
</head>
<body><main>
{head_html(head)}
{body}
</main></body></html>
"""
