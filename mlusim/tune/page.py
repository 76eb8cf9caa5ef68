"""A tuning run as one self-contained HTML page: the best candidates, a chart, what changed, and which candidates are out and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

import mlusim
from mlusim.counted import counted
from mlusim.report.page.charts import COLORS, SMALL, Boxes, Picture, bars, line, marks, words
from mlusim.report.page.render import made, rendered
from mlusim.tune.ranking import LEAST, MECHANISMS, alike, notes, settings_told

_LABELS, _BARS, _ROW, _TOP = 250.0, 560.0, 18.0, 24.0
_LONGEST = 40  # characters of a label; a longer one is shown in full by the tooltip
MOST = 60  # candidates in the chart


@frozen
class TunePart:
    """The part of the page about one board."""

    board: str
    able: Sequence[Mapping[str, Any]]
    out: Sequence[tuple[str, str, str]]
    mechanisms: Sequence[str]
    picture: str
    data: str
    notes: Sequence[str]


def page_text(documents: Sequence[Mapping[str, Any]], command: str) -> str:
    """Return the page of *documents*, one for each board; *command* made them.

    Raises `UsageError` where the extra mlusim[report] is not installed.
    """
    first = documents[0]
    found = [one for one in documents if one["best"] is not None]
    return rendered(
        "tune.html.j2",
        mlusim.__version__,
        title=first["kernel"] or first["program"],
        verdict="; ".join(map(_verdict, documents)),
        found=bool(found),
        parts=[_part(document) for document in documents],
        facts=made(mlusim.__version__, command, [one["board"] for one in documents]),
    )


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
    able = [one for one in rows if one["rank"] is not None]
    shown = able[:MOST]
    return TunePart(
        document["board"],
        able,
        alike([one for one in rows if one["rank"] is None]),
        [
            name
            for name in MECHANISMS
            if any(one["mechanisms"][name] > LEAST * one["time_us"] for one in able)
        ],
        _picture(shown) if shown else "",
        _data(shown) if shown else "",
        notes(document) + ([f"The chart has the best {MOST}."] if len(able) > MOST else []),
    )


def _color(one: Mapping[str, Any]) -> str:
    return "c0" if one["rank"] == 1 else "other"


def _tip(one: Mapping[str, Any]) -> str:
    low, high = one["time_band"]
    return f"{one['name']}: {one['time_us']:,.2f} us ({low:,.2f} to {high:,.2f}), bound by {one['bound']}"


def _label(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def _data(able: Sequence[Mapping[str, Any]]) -> str:
    chart = Boxes([_label(one["name"]) for one in able], "us")
    for row, one in enumerate(able):
        chart.add(row, 0.0, one["time_us"], _color(one), _tip(one))
        chart.band(row, *one["time_band"])
    return chart.data()


def _picture(able: Sequence[Mapping[str, Any]]) -> str:
    unit = _BARS / max(one["time_band"][1] for one in able)
    width, height = _LABELS + _BARS + 90, _TOP + len(able) * _ROW + 6
    picture = Picture(width, height, "Predicted time of the candidates")
    axes = picture.axes((0, 0, width, height), (0, width), (height, 0))
    for value in marks(0.0, _BARS / unit):
        x = _LABELS + value * unit
        words(axes, x, 8, f"{value:,.12g} us" if value == 0 else f"{value:,.12g}", across="center")
        line(axes, [x, x], [18, height - 6], "line")
    for row, one in enumerate(able):
        y = _TOP + row * _ROW
        words(axes, _LABELS - 8, y + 6.5, _label(one["name"]), across="right", size=SMALL)
        shape = bars(axes, [(_LABELS, y, max(one["time_us"] * unit, 0.3), _ROW - 5)], _color(one))
        picture.tip(shape, _tip(one))
        low, high = (_LABELS + us * unit for us in one["time_band"])
        line(axes, [low, high], [y + 6.5, y + 6.5], "ink", linewidth=1.5, zorder=3)
        words(axes, high + 5, y + 6.5, f"{one['time_us']:,.2f}", color=COLORS["ink"])
    return picture.render()
