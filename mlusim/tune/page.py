"""A tuning run as one self-contained HTML page: the best candidates, a chart, the differences, and the rejected candidates with reasons."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

import mlusim
from mlusim.counted import counted, gain, microseconds, plural, precise, share
from mlusim.document import BAD, GOOD, Box, BulletList, Card, Chart, Legend, PageHead, PagePart, PageSection
from mlusim.report.page.charts import TimeBar, require_drawing, times_picture
from mlusim.report.page.parts import made
from mlusim.report.page.writer import page
from mlusim.text_grid import Grid, PageCell, table
from mlusim.tune.ranking import LEAST, MECHANISMS, alike, notes, settings_told

MOST = 60  # candidates in the chart


def page_text(documents: Sequence[Mapping[str, Any]], command: str) -> str:
    """Return the page for *documents*, one for each board; *command* is the command that produced them.

    Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    require_drawing()
    parts = [part for document in documents for part in _parts(document, named=len(documents) > 1)]
    boards = [document["board"] for document in documents]
    return page(_head(documents), parts, made(mlusim.__version__, command, boards))


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
        Card(f"{precise(best['time_us'])} us", "the best", settings_told(best), GOOD),
        Card(gain(slowest["time_us"] / best["time_us"]), "as fast as the slowest", settings_told(slowest)),
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
    return f"{document['board']}: {settings_told(best)} takes {precise(best['time_us'])} us{more}"


def _parts(document: Mapping[str, Any], *, named: bool) -> Iterator[PagePart]:
    """Yield the part of the page about one board, whose name is its title if it is *named*."""
    rows = [{**candidate, "name": settings_told(candidate)} for candidate in document["candidates"]]
    every = [candidate for candidate in rows if candidate["rank"] is not None]
    able = _alike(every)
    yield from [PageSection(document["board"], [])] if named else []
    if able:
        yield _chart(able[:MOST], document["board"])
        best = [candidate for candidate in able if candidate["rank"] == 1]
        slower = [candidate for candidate in able if candidate["rank"] != 1]
        yield Box("The best, and what may be as fast", [_ranked(best)])
        if slower:
            yield PageSection(f"Slower candidates ({len(slower)})", [_ranked(slower)], opened=False)
        yield PageSection("What the time consists of, in us", [_mechanisms(able)], opened=False)
    dropped = table("candidates", "verdict", "reason", fold=("candidates", "reason"))
    for names, verdict, reason in alike([candidate for candidate in rows if candidate["rank"] is None]):
        dropped.add_row(names, Text(verdict, "red"), reason)
    if dropped.rows:
        yield PageSection("Out: what does not fit or is wrong", [dropped], opened=not able)
    told = notes(document)
    if len(able) > MOST:
        told.append(f"The chart has the best {MOST}.")
    if len(able) < len(every):
        told.append("Candidates with the same time, for the same reason, stand in one row.")
    yield BulletList(Text(sentence, "dim") for sentence in told)


def _chart(shown: Sequence[Mapping[str, Any]], board: str) -> Box:
    marks = [("work", "c0", "no other is surely faster"), ("work", "other", "slower")]
    legend = Legend(marks, "A bar is a candidate, the line on it the band of the model:")
    picture = times_picture([_bar(candidate) for candidate in shown], "Predicted time of the candidates")
    return Box(f"Predicted time on {board}", [legend, Chart(picture)])


def _ranked(able: Sequence[Mapping[str, Any]]) -> Grid:
    numbers = ("rank", "time us", "IO", "compute")
    shown = table(
        "rank", "candidate", *numbers[1:], "bound by", "against the best",
        right=numbers, fold=("candidate", "against the best"),
    )  # fmt: skip
    for candidate in able:
        low, high = map(microseconds, candidate["time_band"])
        shown.add_row(
            str(candidate["rank"]),
            PageCell(candidate["name"], others=candidate["others"]),
            PageCell(microseconds(candidate["time_us"]), note=f"({low} to {high})"),
            share(candidate["io_efficiency"]),
            share(candidate["compute_efficiency"]),
            candidate["bound"],
            candidate["why"] or "the best",
        )
    return shown


def _mechanisms(able: Sequence[Mapping[str, Any]]) -> Grid:
    names = [
        name
        for name in MECHANISMS
        if any(candidate["mechanisms"][name] > LEAST * candidate["time_us"] for candidate in able)
    ]
    numbers = (*names, "cores that work")
    shown = table("candidate", *numbers, right=numbers, fold=("candidate",))
    for candidate in able:
        spent = candidate["mechanisms"]
        times = [microseconds(spent[name]) for name in names]
        shown.add_row(
            PageCell(candidate["name"], others=candidate["others"]), *times, f"{spent['cores']:.0f}"
        )
    return shown


def _bar(candidate: Mapping[str, Any]) -> TimeBar:
    more = f" and {len(candidate['others'])} more" if candidate["others"] else ""
    others = f"; the same: {', '.join(candidate['others'])}" if candidate["others"] else ""
    name, us, (low, high) = candidate["name"], candidate["time_us"], candidate["time_band"]
    tip = (
        f"{name}: {precise(us)} us ({precise(low)} to {precise(high)}), bound by {candidate['bound']}{others}"
    )
    return TimeBar(name + more, us, (low, high), "c0" if candidate["rank"] == 1 else "other", tip)
