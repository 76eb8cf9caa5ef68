"""Launches as one self-contained HTML page: verdict, pipes, traffic, memory, and the source with the time of each line."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

import mlusim
from mlusim.counted import counted, percent, plural
from mlusim.files.writing import write_text
from mlusim.machine.launch import Launch
from mlusim.report.advice import Advice, advice
from mlusim.report.compare import BaselineComparison
from mlusim.report.explain import CostliestLine, because, bottleneck, costliest_line
from mlusim.report.figures import Achieved, achieved, figures
from mlusim.report.page.excerpt import MOST_CORES, Excerpt, excerpt_of
from mlusim.report.page.frame import BAD, Card, PageHead
from mlusim.report.page.pictures import Ran, color, end_of_queues, memories_of, queues, timeline
from mlusim.report.page.render import made, rendered
from mlusim.report.whatif import WhatIfStudy
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES

MOST_PARTS = 20  # launches with a part of the page each; the table has all launches


@frozen
class LaunchPart:
    """The part of the page about launch *number*; its kernel, lines and excerpt have the same names as in a launch's record."""

    number: int
    kernel: str
    time_us: float
    launch: Launch
    because: tuple[str, ...]
    advice: tuple[Advice, ...]
    achieved: tuple[Achieved, ...]
    busy: dict[str, float]
    lines: tuple[Line, ...]
    excerpt: Excerpt | None
    memories: str
    cores: str


def write_page(path: str, launches: Sequence[Launch], **more: Any) -> None:
    """Write *launches* to *path* as one HTML page; *more* are other arguments of `page_text`."""
    write_text(str(path), page_text(launches, **more), keep=True)


def page_text(
    launches: Sequence[Launch],
    program: str | None = None,
    study: WhatIfStudy | None = None,
    comparison: BaselineComparison | None = None,
    command: str = "",
    ended: str = "",
) -> str:
    """Return the page of *launches*, with predictions for other boards, *study*, and the *comparison* with a stored run.

    *ended* is a sentence about the program's end if it failed.

    Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    boards = list(dict.fromkeys(launch.board for launch in launches))
    totals = {name: sum(one.time_us for one in launches if one.board == name) for name in boards}
    number = sum(len(launch.findings) for launch in launches)
    complaints = _complaints(number, comparison)
    # A launch that was not timed has no place on the common axis.
    shown = len(launches) > 1 and all(launch.tasks for launch in launches)
    return rendered(
        "launches.html.j2",
        mlusim.__version__,
        top=_head(program, launches, totals, complaints, ended),
        ended=ended,
        dearest=_dearest(launches),
        share=functools.partial(_share, totals),
        several=len(boards) > 1,
        findings=number,
        launches=sorted(enumerate(launches, 1), key=lambda one: -_time(one[1])),
        parts=[_part(number, launch) for number, launch in _shown(launches)],
        queues=queues(launches) if shown else "",
        studies=[] if study is None else [study],
        what_if_words="",
        found=comparison,
        theory=False,
        pipes={name: color(n) for n, name in enumerate(PIPES)},
        facts=made(mlusim.__version__, command, boards),
    )


def _head(
    program: str | None, launches: Sequence[Launch], totals: Mapping[str, float], complaints: str, ended: str
) -> PageHead:
    """Return the head of the page: the total time and its cause, and the figures of the launch with most of the time."""
    kernels = ", ".join(dict.fromkeys(launch.kernel for launch in launches))
    why = _headline(launches, totals)
    answer = f"{_verdict(launches, totals)}{complaints}{f'. {why}' if why else ''}"
    if ended:
        answer = f"The program did not end well; until then: {answer}"
    dearest = max(launches, key=_time, default=None)
    cards = [] if dearest is None or not dearest.tasks else _cards(dearest, launches)
    number = sum(len(launch.findings) for launch in launches)
    if number:
        cards = [*cards[:4], Card(f"{number:,}", plural(number, "finding"), "below, at their launches", BAD)]
    return PageHead(
        program or kernels or "nothing launched", answer, cards, BAD if complaints or ended else ""
    )


def _cards(launch: Launch, launches: Sequence[Launch]) -> list[Card]:
    """Return the figures of *launch*, the longest one of *launches*."""
    about, (low, high) = figures(launch), launch.time_band
    pipe = max(about.busy, key=lambda name: about.busy[name])
    most = advice(launch)
    # The answer has the sum of several launches; the cards are about one.
    which = f"of {launch.kernel}, the longest launch" if len(launches) > 1 else "predicted time"
    reached = next(iter(achieved([launch])), None)
    return [
        Card(f"{launch.time_us:,.2f} us", which, f"{low:,.2f} to {high:,.2f} by the model's constants"),
        Card(percent(about.busy[pipe]), f"{pipe} busy", f"{launch.bound or 'nothing'} sets the time"),
        Card(f"{about.working} of {about.cores}", "cores with work"),
        *(
            [Card(percent(reached.share), f"of the board's {reached.what}", reached.figure)]
            if reached
            else []
        ),
        *([Card(f"{most[0].gain:.2f}x", "as fast is within reach", most[0].change)] if most else []),
    ]


def _complaints(findings: int, comparison: BaselineComparison | None) -> str:
    """Return the part of the verdict about the number of *findings*, and about a comparison that did not pass."""
    slower = (
        ""
        if comparison is None or comparison.passed
        else f"; {len(comparison.regressions)} slower than stored"
    )
    return f"{slower}; {counted(findings, 'finding')}" if findings else slower


def _share(totals: Mapping[str, float], launch: Launch) -> str:
    """Return the share of its board's time that a launch takes."""
    total = totals[launch.board]
    return percent(launch.time_us / total) if total > 0 else "-"


def _verdict(launches: Sequence[Launch], totals: Mapping[str, float]) -> str:
    """Return the number of launches and their total time; times of several boards are not added."""
    if len(totals) < 2:
        head = f"{counted(len(launches), 'launch', 'launches')}, {sum(totals.values()):,.2f} us"
        side, end = end_of_queues(launches) if all(launch.tasks for launch in launches) else (1, 0.0)
        return head if side < 2 else f"{head} together, {end:,.2f} us in {counted(side, 'queue')}"
    boards = counted(len(totals), "board")
    alike = all(
        len(totals) * sum(launch.board == name for launch in launches) == len(launches) for name in totals
    )
    each = counted(len(launches) // len(totals), "launch", "launches")
    head = (
        f"{each} on each of {boards}"
        if alike
        else f"{counted(len(launches), 'launch', 'launches')} on {boards}"
    )
    return f"{head}: {', '.join(f'{time_us:,.2f} us on {name}' for name, time_us in totals.items())}"


def _time(launch: Launch) -> float:
    """Return the predicted time, 0 for a launch that was not timed."""
    return 0.0 if math.isnan(launch.time_us) else launch.time_us


def _shown(launches: Sequence[Launch]) -> list[tuple[int, Launch]]:
    """Return the launches with a part of the page, with their numbers: the first of equal ones, the most expensive on top."""
    first: dict[tuple[object, ...], tuple[int, Launch]] = {}
    for number, launch in enumerate(launches, 1):
        same = launch.kernel, launch.board, launch.dim, launch.kind, launch.time_us
        # Launches with findings are all shown, since each has its own.
        first.setdefault((*same, number) if launch.findings else same, (number, launch))
    return sorted(first.values(), key=lambda one: -_time(one[1]))[:MOST_PARTS]


@frozen
class Dearest:
    """The head of the page: the launch with most of the time, its most expensive line, and advice."""

    launch: Launch
    words: str
    place: CostliestLine | None
    advice: tuple[Advice, ...]


def _dearest(launches: Sequence[Launch]) -> Dearest | None:
    launch = max(launches, key=_time, default=None)
    # A launch without tasks has no time.
    if launch is None or not launch.tasks:
        return None
    low, high = launch.time_band
    told = f"{launch.kernel} on {launch.board}: {launch.time_us:,.2f} us, between {low:,.2f} and {high:,.2f} by the model's constants"
    return Dearest(launch, told, costliest_line(launch), advice(launch))


def _headline(launches: Sequence[Launch], totals: Mapping[str, float]) -> str:
    """Return the cause of the time of the longest launch, and its kernel's share of its board's time."""
    dearest = max(launches, key=_time, default=None)
    told = bottleneck(dearest) if dearest is not None else ""
    if dearest is None or not told or len(launches) == 1:
        return told
    where = f" on {dearest.board}" if len(totals) > 1 else ""
    if sum(launch.board == dearest.board for launch in launches) == 1:
        return f"{dearest.kernel}{where}: {told}"
    own = [launch for launch in launches if (launch.kernel, launch.board) == (dearest.kernel, dearest.board)]
    share = percent(sum(map(_time, own)) / totals[dearest.board])
    many = f" in {counted(len(own), 'launch', 'launches')}" if len(own) > 1 else ""
    return f"{dearest.kernel} takes {share}{where}{many}. {told}"


def _part(number: int, launch: Launch) -> LaunchPart:
    named = launch.timeline.named and bool(launch.tasks)
    board = launch.forecast.board
    rows = [Ran(launch.kernel, launch.kind, launch.time_us, launch.bound, tuple(launch.timeline))]
    # Up to MOST_CORES the excerpt shows all of them.
    many = launch.tasks and sum(not span.memory_core for span in launch.timeline) > MOST_CORES
    return LaunchPart(
        number,
        launch.kernel,
        launch.time_us,
        launch,
        because(launch),
        advice(launch),
        achieved([launch]),
        dict(figures(launch).busy) if launch.tasks else {},
        launch.lines if named else (),
        excerpt_of(launch) if named else None,
        memories_of(launch),
        timeline(launch.kernel, rows, board) if many else "",
    )
