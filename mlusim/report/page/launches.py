"""Launches as one self-contained HTML page: verdict, pipes, traffic, memory, and the source with its heat."""

from collections.abc import Sequence

from attrs import frozen

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.machine.launch import Launch
from mlusim.report.compare import BaselineComparison
from mlusim.report.explain import because
from mlusim.report.figures import figures
from mlusim.report.page.excerpt import Excerpt, excerpt_of
from mlusim.report.page.pictures import color
from mlusim.report.page.render import made, rendered
from mlusim.report.tables.whatif import WhatIfStudy
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES


@frozen
class LaunchPart:
    """What the page says about one launch; it has the kernel, the lines and the excerpt of a launch's record."""

    kernel: str
    time_us: float
    launch: Launch
    because: tuple[str, ...]
    busy: dict[str, float]
    lines: tuple[Line, ...]
    excerpt: Excerpt | None


def page_text(
    launches: Sequence[Launch],
    program: str | None = None,
    study: WhatIfStudy | None = None,
    found: BaselineComparison | None = None,
    command: str = "",
) -> str:
    """The page of *launches*, with a *study* of other boards and the comparison with a stored run, where there are any.

    Raises `UsageError` where the extra mlusim[report] is not installed.
    """
    total = sum(launch.time_us for launch in launches)
    number = sum(len(launch.findings) for launch in launches)
    told = f"; {number} finding{'' if number == 1 else 's'}" if number else ""
    regressed = found is not None and not found.passed
    return rendered(
        "launches.html.j2",
        mlusim.__version__,
        title=program or ", ".join(dict.fromkeys(launch.kernel for launch in launches)) or "nothing launched",
        verdict=f"{len(launches)} launch{'' if len(launches) == 1 else 'es'}, {total:,.2f} us"
        + (f"; {len(found.regressions)} slower than stored" if found is not None and regressed else "")
        + told,
        complaints=bool(number) or regressed,
        parts=[_part(launch) for launch in launches],
        studies=[] if study is None else [study],
        what_if_words="",
        found=found,
        theory=False,
        pipes={name: color(n) for n, name in enumerate(PIPES)},
        facts=made(mlusim.__version__, command, [launch.board for launch in launches]),
    )


def _part(launch: Launch) -> LaunchPart:
    named = launch.timeline.named and bool(launch.tasks)
    return LaunchPart(
        launch.kernel,
        launch.time_us,
        launch,
        because(launch),
        dict(figures(launch, find_board(launch.board)).busy) if launch.tasks else {},
        launch.lines if named else (),
        excerpt_of(launch) if named else None,
    )
