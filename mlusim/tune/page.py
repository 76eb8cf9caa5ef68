"""A tuning run as one self-contained HTML page: the best candidates, a chart, the differences, and the rejected candidates with reasons."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

import mlusim
from mlusim.counted import counted, plural
from mlusim.report.page.charts import TimeBar, times_picture
from mlusim.report.page.frame import BAD, GOOD, Card, PageHead
from mlusim.report.page.render import made, rendered
from mlusim.tune.ranking import LEAST, MECHANISMS, alike, notes, settings_told

MOST = 60  # candidates in the chart


@frozen
class TunePart:
    """The part of the page about one board."""

    board: str
    able: Sequence[Mapping[str, Any]]
    out: Sequence[tuple[str, str, str]]
    mechanisms: Sequence[str]
    picture: str
    notes: Sequence[str]


def page_text(documents: Sequence[Mapping[str, Any]], command: str) -> str:
    """Return the page for *documents*, one for each board; *command* is the command that produced them.

    Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    return rendered(
        "tune.html.j2",
        mlusim.__version__,
        top=_head(documents),
        parts=[_part(document) for document in documents],
        facts=made(mlusim.__version__, command, [document["board"] for document in documents]),
    )


def _head(documents: Sequence[Mapping[str, Any]]) -> PageHead:
    """Return the head of the page: the best candidate of each board, and figures for the first board."""
    first = documents[0]
    program = Path(first["program"]).name
    title = f"Tuning {first['kernel']} of {program}" if first["kernel"] else f"Tuning {program}"
    good = any(document["best"] is not None for document in documents)
    return PageHead(title, "; ".join(map(_verdict, documents)), _cards(first), GOOD if good else BAD)


def _cards(document: Mapping[str, Any]) -> list[Card]:
    rows = document["candidates"]
    able = [candidate for candidate in rows if candidate["rank"] is not None]
    fits = Card(f"{len(able):,} of {len(rows):,}", "candidates fit and are right", f"on {document['board']}")
    if not able:
        return [fits]
    best = able[0]
    slowest = max(able, key=lambda candidate: candidate["time_us"])
    equal = sum(candidate["rank"] == 1 for candidate in able) - 1
    return [
        Card(f"{best['time_us']:,.2f} us", "the best", settings_told(best), GOOD),
        Card(f"{slowest['time_us'] / best['time_us']:.2f}x", "as fast as the slowest", settings_told(slowest)),
        Card(f"{equal:,}", plural(equal, "other may be as fast", "others may be as fast"), "their bands meet that of the best"),
        fits,
        Card(best["bound"], "sets the time of the best"),
    ]  # fmt: skip


def _alike(able: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return *able* with candidates of equal time and bound merged into the first of them, which lists the names of the others."""
    # Only exactly equal times are merged: candidates that are equal within the model's band stay separate,
    # because users look for their settings.
    groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for candidate in able:
        key = (candidate["rank"], candidate["time_us"], tuple(candidate["time_band"]), candidate["bound"])
        groups.setdefault(key, []).append(candidate)
    return [{**group[0], "others": [other["name"] for other in group[1:]]} for group in groups.values()]


def _verdict(document: Mapping[str, Any]) -> str:
    rows = document["candidates"]
    if document["best"] is None:
        return f"{document['board']}: none of {counted(len(rows), 'candidate')} fits and is right"
    best = rows[0]
    equal = sum(candidate["rank"] == 1 for candidate in rows) - 1
    more = f", and {counted(equal, 'other')} that may be as fast" if equal else ""
    return f"{document['board']}: {settings_told(best)} takes {best['time_us']:,.2f} us{more}"


def _part(document: Mapping[str, Any]) -> TunePart:
    rows = [{**candidate, "name": settings_told(candidate)} for candidate in document["candidates"]]
    every = [candidate for candidate in rows if candidate["rank"] is not None]
    able = _alike(every)
    shown = [_bar(candidate) for candidate in able[:MOST]]
    return TunePart(
        document["board"],
        able,
        alike([candidate for candidate in rows if candidate["rank"] is None]),
        [
            name
            for name in MECHANISMS
            if any(candidate["mechanisms"][name] > LEAST * candidate["time_us"] for candidate in able)
        ],
        times_picture(shown, "Predicted time of the candidates") if shown else "",
        notes(document)
        + ([f"The chart has the best {MOST}."] if len(able) > MOST else [])
        + (
            ["Candidates with the same time, for the same reason, stand in one row."]
            if len(able) < len(every)
            else []
        ),
    )


def _bar(candidate: Mapping[str, Any]) -> TimeBar:
    more = f" and {len(candidate['others'])} more" if candidate["others"] else ""
    others = f"; the same: {', '.join(candidate['others'])}" if candidate["others"] else ""
    name, us, (low, high) = candidate["name"], candidate["time_us"], candidate["time_band"]
    tip = f"{name}: {us:,.2f} us ({low:,.2f} to {high:,.2f}), bound by {candidate['bound']}{others}"
    return TimeBar(name + more, us, (low, high), "c0" if candidate["rank"] == 1 else "other", tip)
