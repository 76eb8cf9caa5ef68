"""Launches as one self-contained HTML page: verdict, pipes, traffic, memory, and the source with its heat."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.machine.launch import Launch
from mlusim.report.explain import because
from mlusim.report.figures import figures
from mlusim.report.page.excerpt import Excerpt, excerpt_of, pipe_picture
from mlusim.report.page.pictures import color
from mlusim.report.page.source_heat import listings
from mlusim.report.quantities import count, percent, size
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
    launches: Sequence[Launch], program: str | None = None, study: WhatIfStudy | None = None
) -> str:
    """The page of *launches* with a *study* of other boards, where there is one.  Raises `UsageError` where jinja2 is not installed."""
    return _environment().get_template("launches.html.j2").render(  # type: ignore[no-any-return]
        title=program or ", ".join(dict.fromkeys(launch.kernel for launch in launches)) or "nothing launched",
        parts=[_part(launch) for launch in launches],
        total=sum(launch.time_us for launch in launches),
        studies=[] if study is None else [study],
        pipes={name: color(n) for n, name in enumerate(PIPES)},
    )  # fmt: skip


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(
            "the HTML page needs jinja2; install it with `pip install 'mlusim[report]'`"
        ) from None
    environment = Environment(
        loader=PackageLoader("mlusim.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"percent": percent, "size": size, "count": count, "listings": listings}
    environment.filters |= {"worth_showing": lambda part: [part] if part.lines else []}
    environment.filters |= {"pipe_picture": pipe_picture}
    return environment


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
