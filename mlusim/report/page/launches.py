"""Launches as one self-contained HTML page: verdict, pipes, traffic, memory, and the source with the time of each line."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

import mlusim
from mlusim.counted import counted, gain, percent, plural, precise, size
from mlusim.document import (
    BAD,
    Box,
    BulletList,
    Card,
    Chart,
    Legend,
    PageHead,
    PagePart,
    PageSection,
    SideBySide,
    Unfolded,
)
from mlusim.files.writing import write_text
from mlusim.machine.launch import Launch
from mlusim.report.advice import advice
from mlusim.report.compare import BaselineComparison
from mlusim.report.explain import because, bottleneck, costliest_line
from mlusim.report.figures import achieved, figures
from mlusim.report.launches import launches_table
from mlusim.report.page.charts import require_drawing
from mlusim.report.page.excerpt import MOST_CORES, excerpt_of
from mlusim.report.page.parts import (
    PIPE_MARKS,
    compared,
    helps,
    lines_of,
    made,
    pipes_of,
    place_of,
    what_if_section,
)
from mlusim.report.page.pictures import Ran, color, end_of_queues, memories_of, queues, timeline
from mlusim.report.page.writer import page
from mlusim.report.whatif import WhatIfStudy
from mlusim.text_grid import Column, Grid, PageCell

MOST_PARTS = 20  # launches with a part of the page each; the table has all launches


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
    require_drawing()
    boards = list(dict.fromkeys(launch.board for launch in launches))
    totals = {name: sum(one.time_us for one in launches if one.board == name) for name in boards}
    complaints = _complaints(sum(len(launch.findings) for launch in launches), comparison)
    parts: list[PagePart] = []
    if ended:
        which = "launch" if len(launches) == 1 else counted(len(launches), "launch", "launches")
        parts.append(Text(f"The program did not end well; this page has its {which}.", "red"))
        parts.append(Unfolded(ended, "red"))
    dearest = max(launches, key=_time, default=None)
    parts += [] if dearest is None or not dearest.tasks else [_first(dearest)]
    parts += [] if comparison is None else [compared(comparison, mlusim.__version__, theory=False)]
    shown = _shown(launches)
    parts += [_every(launches, totals, [number for number, _ in shown])] if len(launches) > 1 else []
    for at, (number, launch) in enumerate(shown):
        where = f" on {launch.board}" if len(boards) > 1 else ""
        which = f"Launch {number}, " if len(launches) > 1 else ""
        told = f"{precise(launch.time_us)} us, bound by {launch.bound or 'nothing'}"
        title = f"{which}{launch.kernel}{where}: {told}"
        inside = _launch(launch, helped=launch is not dearest)
        parts.append(PageSection(title, inside, f"launch{number}", opened=not at or bool(launch.findings)))
    parts += [] if study is None else [what_if_section([study], opened=True)]
    head = _head(program, launches, totals, complaints, ended)
    return page(head, parts, made(mlusim.__version__, command, boards))


def _first(launch: Launch) -> SideBySide:
    """Return the most expensive line of *launch*, the one with most of the time, and advice."""
    line = costliest_line(launch)
    return SideBySide([*([Box("Where", [place_of(line)])] if line else []), *helps(advice(launch))])


def _every(launches: Sequence[Launch], totals: Mapping[str, float], shown: Sequence[int]) -> PageSection:
    """Return the table of all launches, the most expensive first, with links to those that are *shown*; above it their queues."""
    several, parts = len(totals) > 1, []
    # A launch that was not timed has no place on the common axis.
    if all(launch.tasks for launch in launches):
        row = f"A row is a queue{' of a board' if several else ''}"
        legend = Legend(PIPE_MARKS, f"{row}, a bar a launch, in the colour of what sets its time:")
        parts.append(Box("Timeline", [legend, Chart(queues(launches))]))
    numbered = sorted(enumerate(launches, 1), key=lambda one: -_time(one[1]))
    note = "The name of a column sorts by it."
    if len(shown) < len(launches):
        note += " Below, the dearest come first, and of equal launches the first."
    overview = launches_table(numbered, totals, links=shown)
    return PageSection("Launches", [*parts, Box("", [overview, Text(note, "dim")])], "launches")


def _launch(launch: Launch, *, helped: bool) -> Iterator[PagePart]:
    """Yield the part of the page about *launch*; without *helped* its advice is at the head."""
    yield from (Unfolded(str(finding), "red") for finding in launch.findings)
    named = launch.timeline.named and bool(launch.tasks)
    if named:
        yield from pipes_of(launch.kernel, excerpt_of(launch))
    # Up to MOST_CORES the excerpt shows all of them.
    if launch.tasks and sum(not span.memory_core for span in launch.timeline) > MOST_CORES:
        rows = [Ran(launch.kernel, launch.kind, launch.time_us, launch.bound, tuple(launch.timeline))]
        yield Text(f"Cores of {launch.kernel}", "bold")
        yield Legend(PIPE_MARKS, "A row is a core, a bar a task, in the colour of its busiest pipe:")
        yield Chart(timeline(launch.kernel, rows, launch.forecast.board))
    if named:
        yield from lines_of(launch, opened=True)
    helping = helps(advice(launch)) if helped else []
    why = Box("Why it takes as long", [BulletList(because(launch)), *helping, Text(_about(launch), "dim")])
    yield SideBySide([why, Box("Pipes and memories", [_use(launch)])])
    if drawn := memories_of(launch):
        yield Text(f"Memory of {launch.kernel}", "bold")
        yield Chart(drawn, zooms=False)


def _about(launch: Launch) -> str:
    told = f"({', '.join(map(str, launch.dim))}) {launch.kind} on {launch.board}, {launch.engine} engine"
    if launch.tasks:
        low, high = launch.time_band
        told += f"; the model's constants allow {precise(low)} to {precise(high)} us"
    return f"{told}. Time and NRAM are {launch.estimate}." if launch.estimate else f"{told}."


def _use(launch: Launch) -> Grid:
    """Return how much of each pipe, rate and memory of the board *launch* uses, and the bytes that it moves."""
    columns = Column(""), Column("", folds=True), Column("", right=True)
    shown = Grid(columns, None, gap=2, ruled=False)

    def add(name: str, part: float, figure: str, look: str = "other") -> None:
        shown.add_row(name, PageCell("", bars=[(look, part, "")]), figure)

    for number, (pipe, part) in enumerate(figures(launch).busy.items() if launch.tasks else ()):
        add(pipe, part, percent(part), color(number))
    for rate in achieved([launch]):
        add(f"{rate.what}, of the board's", rate.share, rate.figure)
    for name, used in launch.memory.items():
        if used.high_water:
            add(name, used.high_water / used.capacity, f"{size(used.high_water)} of {size(used.capacity)}")
    for name, nbytes in launch.traffic.items():
        shown.add_row(name, "", size(nbytes))
    return shown


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
        cards = [
            *cards[:4],
            Card(f"{number:,}", plural(number, "finding"), "below, at their launches", BAD),
        ]
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
        Card(
            f"{precise(launch.time_us)} us",
            which,
            f"{precise(low)} to {precise(high)} by the model's constants",
        ),
        Card(percent(about.busy[pipe]), f"{pipe} busy", f"{launch.bound or 'nothing'} sets the time"),
        Card(f"{about.working} of {about.cores}", "cores with work"),
        *(
            [Card(percent(reached.share), f"of the board's {reached.what}", reached.figure)]
            if reached
            else []
        ),
        *([Card(gain(most[0].gain), "as fast is within reach", most[0].change)] if most else []),
    ]


def _complaints(findings: int, comparison: BaselineComparison | None) -> str:
    """Return the part of the verdict about the number of *findings*, and about a comparison that did not pass."""
    slower = (
        ""
        if comparison is None or comparison.passed
        else f"; {len(comparison.regressions)} slower than stored"
    )
    return f"{slower}; {counted(findings, 'finding')}" if findings else slower


def _verdict(launches: Sequence[Launch], totals: Mapping[str, float]) -> str:
    """Return the number of launches and their total time; times of several boards are not added."""
    if len(totals) < 2:
        head = f"{counted(len(launches), 'launch', 'launches')}, {precise(sum(totals.values()))} us"
        side, end = end_of_queues(launches) if all(launch.tasks for launch in launches) else (1, 0.0)
        return head if side < 2 else f"{head} together, {precise(end)} us in {counted(side, 'queue')}"
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
    return f"{head}: {', '.join(f'{precise(time_us)} us on {name}' for name, time_us in totals.items())}"


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
