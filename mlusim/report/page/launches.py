"""Launches as one self-contained HTML page: verdict, pipes, traffic, memory, and the source with its heat."""

import math
from collections.abc import Sequence

from attrs import frozen

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.counted import counted
from mlusim.machine.launch import Launch
from mlusim.report.achieved import Achieved, achieved
from mlusim.report.advice import Advice, advice
from mlusim.report.compare import BaselineComparison
from mlusim.report.costliest import CostliestLine, costliest_line
from mlusim.report.explain import because, bottleneck
from mlusim.report.figures import figures
from mlusim.report.memories import memories_of
from mlusim.report.page.excerpt import MOST_CORES, Excerpt, excerpt_of
from mlusim.report.page.pictures import color
from mlusim.report.page.render import made, rendered
from mlusim.report.page.tasks import Ran, queues, queues_data, timeline, timeline_data
from mlusim.report.quantities import percent
from mlusim.report.tables.whatif import WhatIfStudy
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES

MOST_PARTS = 20  # launches that have a part of the page each; all are in its table


@frozen
class LaunchPart:
    """The part of the page about launch *number*; it has the kernel, the lines and the excerpt of a launch's record."""

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
    cores_data: str


def page_text(
    launches: Sequence[Launch],
    program: str | None = None,
    study: WhatIfStudy | None = None,
    found: BaselineComparison | None = None,
    command: str = "",
) -> str:
    """Return the page of *launches*, with a *study* of other boards and the comparison with a stored run, where there are any.

    Raises `UsageError` where the extra mlusim[report] is not installed.
    """
    total = sum(launch.time_us for launch in launches)
    number = sum(len(launch.findings) for launch in launches)
    told = f"; {counted(number, 'finding')}" if number else ""
    regressed = found is not None and not found.passed
    return rendered(
        "launches.html.j2",
        mlusim.__version__,
        title=program or ", ".join(dict.fromkeys(launch.kernel for launch in launches)) or "nothing launched",
        verdict=f"{counted(len(launches), 'launch', 'launches')}, {total:,.2f} us"
        + (f"; {len(found.regressions)} slower than stored" if found is not None and regressed else "")
        + told,
        headline=_headline(launches, total),
        dearest=_dearest(launches),
        share=lambda time_us: percent(time_us / total) if total > 0 else "-",
        findings=number,
        complaints=bool(number) or regressed,
        launches=sorted(enumerate(launches, 1), key=lambda one: -_time(one[1])),
        parts=[_part(number, launch) for number, launch in _shown(launches)],
        queues=queues(launches) if len(launches) > 1 and all(launch.tasks for launch in launches) else "",
        queues_data=queues_data(launches) if len(launches) > 1 else "",
        studies=[] if study is None else [study],
        what_if_words="",
        found=found,
        theory=False,
        pipes={name: color(n) for n, name in enumerate(PIPES)},
        facts=made(mlusim.__version__, command, [launch.board for launch in launches]),
    )


def _time(launch: Launch) -> float:
    """Return the predicted time, 0 of a launch that was not timed."""
    return 0.0 if math.isnan(launch.time_us) else launch.time_us


def _shown(launches: Sequence[Launch]) -> list[tuple[int, Launch]]:
    """Return the launches that have a part of the page, with their numbers: of equal ones the first, the dearest on top."""
    first: dict[tuple[object, ...], tuple[int, Launch]] = {}
    for number, launch in enumerate(launches, 1):
        same = launch.kernel, launch.board, launch.dim, launch.kind, launch.time_us
        first.setdefault((*same, number) if launch.findings else same, (number, launch))
    return sorted(first.values(), key=lambda one: -_time(one[1]))[:MOST_PARTS]


@frozen
class Dearest:
    """The head of the page: the launch that takes most of the time, its place in the source, and what would help there."""

    launch: Launch
    words: str
    place: CostliestLine | None
    advice: tuple[Advice, ...]


def _dearest(launches: Sequence[Launch]) -> Dearest | None:
    launch = max(launches, key=_time, default=None)
    if launch is None or not launch.tasks:
        return None
    low, high = launch.time_band
    told = f"{launch.kernel} on {launch.board}: {launch.time_us:,.2f} us, between {low:,.2f} and {high:,.2f} by the model's constants"
    return Dearest(launch, told, costliest_line(launch), advice(launch))


def _headline(launches: Sequence[Launch], total: float) -> str:
    """Return the cause that sets the time of the launch that takes most of it."""
    dearest = max(launches, key=_time, default=None)
    told = bottleneck(dearest) if dearest is not None else ""
    if dearest is None or not told or len(launches) == 1:
        return told
    return f"{dearest.kernel} takes {percent(dearest.time_us / total)}. {told}"


def _part(number: int, launch: Launch) -> LaunchPart:
    named = launch.timeline.named and bool(launch.tasks)
    board = find_board(launch.board)
    rows = [Ran(launch.kernel, launch.kind, launch.time_us, launch.bound, tuple(launch.timeline))]
    many = launch.tasks and sum(not span.memory_core for span in launch.timeline) > MOST_CORES
    return LaunchPart(
        number,
        launch.kernel,
        launch.time_us,
        launch,
        because(launch),
        advice(launch),
        achieved([launch]),
        dict(figures(launch, board).busy) if launch.tasks else {},
        launch.lines if named else (),
        excerpt_of(launch) if named else None,
        memories_of(launch),
        timeline(launch.kernel, rows, board) if many else "",
        timeline_data(rows, board) if many else "",
    )
