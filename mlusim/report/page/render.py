"""The parts that every page shares: the template engine with the text functions of reports, and the facts about a page's origin."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from mlusim.counted import count, error, microseconds, percent, share, size, times, whole
from mlusim.errors import shown_file
from mlusim.installing import missing_packages
from mlusim.machine.launch import Launch
from mlusim.plan.svg import legend
from mlusim.report.compare import headline, lines
from mlusim.report.explain import WHY, explained
from mlusim.report.page.frame import head_html
from mlusim.report.page.pipes import legend_html, pipe_picture
from mlusim.report.record import CallRecord, LaunchRecord
from mlusim.report.tables import source_lines, verdict
from mlusim.report.whatif import FIGURES, cells, notes, remarks
from mlusim.time.lines import Line

# -- the source of kernels with the time of each line, which the page shows with each call -------------

AROUND = 2  # lines without time that are shown around those with time
WORTH = 0.1  # share of a call's time: launches with less have no listing and no picture
LEAST = 0.0005  # lines with a smaller share have no colour


@frozen
class HeatLine:
    """A line of source: ``heat`` is 0 to 1, ``parts`` are (class of the colour, share of the widest line)."""

    number: int
    text: str
    heat: float = 0.0
    share: str = ""
    count: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    tip: str = ""


@frozen
class Listing:
    """A file as runs of lines; other lines are left out."""

    file: str
    runs: tuple[tuple[HeatLine, ...], ...]


def worth_showing(record: CallRecord) -> tuple[LaunchRecord, ...]:
    """Return the launches of *record* with recorded instructions that take a tenth of its time or more."""
    total = sum(launch.time_us for launch in record.launches)
    return tuple(launch for launch in record.launches if launch.lines and launch.time_us >= WORTH * total)


def listings(launch: LaunchRecord | Launch) -> list[Listing]:
    """Return the files of *launch*'s lines, with the time of each line; time outside of lines comes last."""
    total = sum(line.time_us for line in launch.lines) or 1.0
    most = max((line.time_us for line in launch.lines), default=0.0) or 1.0
    made = []
    for file, texts in source_lines(launch.lines).items():
        own = {line.line: line for line in launch.lines if line.file == file}
        runs = tuple(
            tuple(_heat_line(number, texts, own.get(number), total, most) for number in run)
            for run in _runs(sorted(own), len(texts))
        )
        made.append(Listing(shown_file(file), runs))
    ends = [line for line in launch.lines if not line.line and line.time_us]
    if ends:
        made.append(Listing("end of the tasks", ((_heat_line(0, [], ends[0], total, most),),)))
    return made


def _runs(numbers: Sequence[int], last: int) -> Iterator[range]:
    """Yield the ranges of lines around *numbers*, merged if they touch."""
    begin = end = 0
    for number in numbers:
        low, high = max(1, number - AROUND), max(number, min(last, number + AROUND))
        if begin and low <= end + AROUND:
            end = max(end, high)
            continue
        if begin:
            yield range(begin, end + 1)
        begin, end = low, high
    if begin:
        yield range(begin, end + 1)


def _heat_line(number: int, texts: Sequence[str], line: Line | None, total: float, most: float) -> HeatLine:
    text = texts[number - 1] if 0 < number <= len(texts) else ""
    if line is None:
        return HeatLine(number, text)
    time_us = line.time_us
    waits = line.wait_us + line.memory_us
    amounts = [*((f"c{n}", part) for n, part in enumerate(line.busy_us.values())), ("other", waits)]
    part = time_us / total
    return HeatLine(
        number,
        text or ("what is in flight when a task ends is waited for" if not number else ""),
        heat=(time_us / most) ** 0.5 if part >= LEAST else 0.0,
        share=share(part) if part >= LEAST else "",
        count=count(line.count) if line.count else "",
        parts=tuple((name, 100 * amount / most) for name, amount in amounts if amount > 0.002 * most),
        tip=_tip(line, waits),
    )


def _tip(line: Line, waits: float) -> str:
    times = {**line.busy_us, "waiting": waits}
    words = [f"{name} {time_us:,.3g} us" for name, time_us in times.items() if time_us]
    moved = [size(line.nbytes)] if line.nbytes else []
    return "; ".join(part for part in (", ".join(line.names), *words, *moved) if part)


_FILTERS: Mapping[str, Any] = {
    "us": microseconds, "share": share, "size": size, "count": count, "error": error, "percent": percent,
    "times": times, "whole": whole, "verdict": verdict, "explained": explained, "listings": listings,
    "head": head_html, "pipe_picture": pipe_picture, "pipe_legend": legend_html, "legend": legend, "notes": notes, "cells": cells, "remarks": remarks, "moved": lines,
}  # fmt: skip


def rendered(template: str, version: str, **contents: object) -> str:
    """Return the page that *template* makes from *contents*.

    Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415, F401 - an extra, which draws pictures
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_packages("the HTML report", "report", error.name or "") from None
    environment = Environment(
        loader=PackageLoader("mlusim.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= dict(_FILTERS)
    environment.filters["compared"] = lambda found: headline(found, version)
    environment.filters["worth_showing"] = _worth_showing
    environment.globals |= {"why_figures": WHY, "what_if_figures": FIGURES}
    page: str = environment.get_template(template).render(**contents)
    return page


def _worth_showing(shown: Any) -> Iterable[Any]:
    """Return the launches of a record with lines worth a picture; a launch itself is returned if it has lines."""
    return worth_showing(shown) if hasattr(shown, "launches") else [shown] if shown.lines else []


def made(version: str, command: str, boards: Iterable[str]) -> dict[str, str]:
    """Return the date, the version, the command and the boards of a page."""
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "by": f"mlusim {version}",
        "command": command,
        "board": ", ".join(dict.fromkeys(boards)),
    }
