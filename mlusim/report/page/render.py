"""The parts that every page shares: the template engine with the words of reports, and the facts of when and how it was made."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from mlusim.installing import missing_packages
from mlusim.plan.svg import legend
from mlusim.report.compare import headline, lines
from mlusim.report.explain import explained, waves
from mlusim.report.page.figure import require
from mlusim.report.page.live import library
from mlusim.report.page.pipes import legend_html, pipe_data, pipe_picture
from mlusim.report.page.source_heat import listings, worth_showing
from mlusim.report.quantities import count, error, microseconds, percent, share, size, times, whole
from mlusim.report.tables.records import verdict
from mlusim.report.tables.whatif import notes

_FILTERS: Mapping[str, Any] = {
    "us": microseconds, "share": share, "size": size, "count": count, "error": error, "percent": percent,
    "times": times, "whole": whole, "verdict": verdict, "explained": explained, "waves": waves, "listings": listings,
    "pipe_picture": pipe_picture, "pipe_data": pipe_data, "pipe_legend": legend_html, "legend": legend, "notes": notes, "moved": lines,
}  # fmt: skip


def rendered(template: str, version: str, **contents: object) -> str:
    """Return the page that *template* makes of *contents*.

    Raises `UsageError` where the extra mlusim[report] is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_packages("the HTML report", "report", "jinja2") from None
    require()
    environment = Environment(
        loader=PackageLoader("mlusim.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= dict(_FILTERS)
    environment.filters["compared"] = lambda found: headline(found, version)
    environment.filters["worth_showing"] = _worth_showing
    page: str = environment.get_template(template).render(**contents, library=library())
    return page


def _worth_showing(shown: Any) -> Iterable[Any]:
    """Return the launches of a record that have lines worth a picture; of a launch itself, the launch."""
    return worth_showing(shown) if hasattr(shown, "launches") else [shown] if shown.lines else []


def made(version: str, command: str, boards: Iterable[str]) -> dict[str, str]:
    """Return when, by which version, by which command and for which boards a page was made."""
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "by": f"mlusim {version}",
        "command": command,
        "board": ", ".join(dict.fromkeys(boards)),
    }
