"""Findings for people: each in the manner of pip, with its source line, then one line that sums up."""

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from mlusim.check.findings import CheckReport
from mlusim.counted import counted
from mlusim.observe.names import checkers


def findings_text(report: CheckReport) -> str:
    """Return the report as text without colours; lines are as long as they are."""
    return rendered(renderables(report))


def rendered(parts: Iterable[RenderableType]) -> str:
    """Render *parts* with rich, one below the other, as text without colours."""
    file = io.StringIO()
    console = Console(file=file, width=200, highlight=False, emoji=False, markup=False, no_color=True)
    for part in parts:
        console.print(part, soft_wrap=True)
    return file.getvalue()


def renderables(report: CheckReport) -> Iterator[RenderableType]:
    """Yield the findings with blank lines between them, what else went wrong, and the line that sums up."""
    for finding in report.findings:
        yield finding
        yield ""
    for problem in report.problems:
        yield Text(f"failed: {problem}", style="bold red")
    yield Text(summary(report), style="green" if report.clean else "bold red")


def summary(report: CheckReport) -> str:
    """Return one line: how many findings, faults and suppressed findings in how many launches, by which checkers."""
    parts = [counted(report.errors, "finding") if report.errors else "no findings"]
    parts += [counted(report.notes, "note")] if report.notes else []
    parts += [counted(report.faults, "fault")] if report.faults else []
    suppressed = len(report.allowed) + len(report.accepted)
    parts += [f"{suppressed} suppressed"] if suppressed else []
    runs = f"{counted(report.launches, 'launch', 'launches')} of {counted(len(report.runs), 'run')}"
    if report.schedules:
        runs += f" and {counted(report.schedules, 'other schedule')}"
    return f"{', '.join(parts)} in {runs}, {_checked_by(report)}."


def _checked_by(report: CheckReport) -> str:
    """Name the checkers, and those that had nothing to hold launches against: ``checked by memcheck; plancheck saw no plan``."""
    blind = {name: number for name, number in report.unchecked.items() if name in report.checkers}
    every = {name for name, number in blind.items() if number == report.launches}
    names = ", ".join(name for name in report.checkers if name not in every)
    told = [f"checked by {names}"] if names else ["checked by no checker"]
    for name, number in blind.items():
        where = "" if name in every else f" in {number} of {counted(report.launches, 'launch', 'launches')}"
        told.append(f"{name} saw no {_needs(name)}{where}")
    return "; ".join(told)


def _needs(name: str) -> str:
    """Return what a launch must have for the checker called *name*, in a word."""
    return getattr(checkers().get(name), "needs", "") or "subject"
