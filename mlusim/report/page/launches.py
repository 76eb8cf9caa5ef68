"""Launches as one self-contained HTML page: verdict, pipes, traffic, memory, and the source with its heat."""

from collections.abc import Sequence

from attrs import frozen

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.counted import counted
from mlusim.machine.launch import Launch
from mlusim.report.achieved import Achieved, achieved
from mlusim.report.advice import Advice, advice
from mlusim.report.compare import BaselineComparison
from mlusim.report.explain import because, bottleneck
from mlusim.report.figures import figures
from mlusim.report.page.excerpt import MOST_CORES, Excerpt, excerpt_of
from mlusim.report.page.pictures import color
from mlusim.report.page.render import made, rendered
from mlusim.report.page.tasks import Ran, timeline, timeline_data
from mlusim.report.quantities import percent
from mlusim.report.tables.whatif import WhatIfStudy
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES


@frozen
class LaunchPart:
    """The part of the page about one launch; it has the kernel, the lines and the excerpt of a launch's record."""

    kernel: str
    time_us: float
    launch: Launch
    because: tuple[str, ...]
    advice: tuple[Advice, ...]
    achieved: tuple[Achieved, ...]
    busy: dict[str, float]
    lines: tuple[Line, ...]
    excerpt: Excerpt | None
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
        complaints=bool(number) or regressed,
        parts=[_part(launch) for launch in launches],
        studies=[] if study is None else [study],
        what_if_words="",
        found=found,
        theory=False,
        pipes={name: color(n) for n, name in enumerate(PIPES)},
        facts=made(mlusim.__version__, command, [launch.board for launch in launches]),
    )


def _headline(launches: Sequence[Launch], total: float) -> str:
    """Return the cause that sets the time of the launch that takes most of it."""
    dearest = max(launches, key=lambda launch: launch.time_us, default=None)
    told = bottleneck(dearest) if dearest is not None else ""
    if dearest is None or not told or len(launches) == 1:
        return told
    return f"{dearest.kernel} takes {percent(dearest.time_us / total)}. {told}"


def _part(launch: Launch) -> LaunchPart:
    named = launch.timeline.named and bool(launch.tasks)
    board = find_board(launch.board)
    rows = [Ran(launch.kernel, launch.kind, launch.time_us, launch.bound, tuple(launch.timeline))]
    many = launch.tasks and sum(not span.memory_core for span in launch.timeline) > MOST_CORES
    return LaunchPart(
        launch.kernel,
        launch.time_us,
        launch,
        because(launch),
        advice(launch),
        achieved([launch]),
        dict(figures(launch, board).busy) if launch.tasks else {},
        launch.lines if named else (),
        excerpt_of(launch) if named else None,
        timeline(launch.kernel, rows, board) if many else "",
        timeline_data(rows, board) if many else "",
    )
