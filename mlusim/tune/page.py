"""A tuning run as one self-contained HTML page: the best candidates, a chart, what changed, and which candidates are out and why."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

import mlusim
from mlusim.counted import counted, plural
from mlusim.report.page.frame import BAD, GOOD, Card, PageHead
from mlusim.report.page.render import made, rendered
from mlusim.report.page.times import TimeBar, times_picture
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
    """Return the page of *documents*, one for each board; *command* made them.

    Raises `UsageError` where the extra mlusim[report] is not installed.
    """
    return rendered(
        "tune.html.j2",
        mlusim.__version__,
        top=_head(documents),
        parts=[_part(document) for document in documents],
        facts=made(mlusim.__version__, command, [one["board"] for one in documents]),
    )


def _head(documents: Sequence[Mapping[str, Any]]) -> PageHead:
    """Return the top of the page: the best candidate of each board, and the figures of the first."""
    first = documents[0]
    program = Path(first["program"]).name
    title = f"Tuning {first['kernel']} of {program}" if first["kernel"] else f"Tuning {program}"
    good = any(one["best"] is not None for one in documents)
    return PageHead(title, "; ".join(map(_verdict, documents)), _cards(first), GOOD if good else BAD)


def _cards(document: Mapping[str, Any]) -> list[Card]:
    rows = document["candidates"]
    able = [one for one in rows if one["rank"] is not None]
    fits = Card(f"{len(able):,} of {len(rows):,}", "candidates fit and are right", f"on {document['board']}")
    if not able:
        return [fits]
    best = able[0]
    slowest = max(able, key=lambda one: one["time_us"])
    equal = sum(one["rank"] == 1 for one in able) - 1
    return [
        Card(f"{best['time_us']:,.2f} us", "the best", settings_told(best), GOOD),
        Card(f"{slowest['time_us'] / best['time_us']:.2f}x", "as fast as the slowest", settings_told(slowest)),
        Card(f"{equal:,}", plural(equal, "other may be as fast", "others may be as fast"), "their bands meet that of the best"),
        fits,
        Card(best["bound"], "sets the time of the best"),
    ]  # fmt: skip


def _alike(able: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return *able* with those in one that take the same time for the same reason, which the names of the first say."""
    # Equal to the last digit: what the band of the model makes alike stays apart, since its settings are what one looks for.
    found: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for one in able:
        key = (one["rank"], one["time_us"], tuple(one["time_band"]), one["bound"])
        found.setdefault(key, []).append(one)
    return [{**own[0], "others": [one["name"] for one in own[1:]]} for own in found.values()]


def _verdict(document: Mapping[str, Any]) -> str:
    rows = document["candidates"]
    if document["best"] is None:
        return f"{document['board']}: none of {counted(len(rows), 'candidate')} fits and is right"
    best = rows[0]
    equal = sum(one["rank"] == 1 for one in rows) - 1
    more = f", and {counted(equal, 'other')} that may be as fast" if equal else ""
    return f"{document['board']}: {settings_told(best)} takes {best['time_us']:,.2f} us{more}"


def _part(document: Mapping[str, Any]) -> TunePart:
    rows = [{**one, "name": settings_told(one)} for one in document["candidates"]]
    every = [one for one in rows if one["rank"] is not None]
    able = _alike(every)
    shown = [_bar(one) for one in able[:MOST]]
    return TunePart(
        document["board"],
        able,
        alike([one for one in rows if one["rank"] is None]),
        [
            name
            for name in MECHANISMS
            if any(one["mechanisms"][name] > LEAST * one["time_us"] for one in able)
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


def _color(one: Mapping[str, Any]) -> str:
    return "c0" if one["rank"] == 1 else "other"


def _tip(one: Mapping[str, Any]) -> str:
    low, high = one["time_band"]
    others = f"; the same: {', '.join(one['others'])}" if one["others"] else ""
    return f"{one['name']}: {one['time_us']:,.2f} us ({low:,.2f} to {high:,.2f}), bound by {one['bound']}{others}"


def _bar(one: Mapping[str, Any]) -> TimeBar:
    more = f" and {len(one['others'])} more" if one["others"] else ""
    return TimeBar(one["name"] + more, one["time_us"], tuple(one["time_band"]), _color(one), _tip(one))
