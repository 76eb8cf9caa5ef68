"""Cases that are run with a progress bar, what they print, and what they exit with."""

from collections.abc import Sequence

from rich.text import Text

from mlusim.cli.exits import CLEAN, FAULT, FINDINGS
from mlusim.cli.show import output, progress
from mlusim.errors import UsageError
from mlusim.operators.campaign import Job, perform_all, usual_workers
from mlusim.report.record import CallRecord
from mlusim.report.tables.records import efficiency_table, problems


def perform(jobs: Sequence[Job], workers: int | None) -> list[CallRecord]:
    """Run *jobs* with a progress bar; raises `UsageError` where there are none."""
    if not jobs:
        raise UsageError("no case matches; `mlusim ops OP` lists the cases and their boards")
    with progress("running", len(jobs)) as step:
        return perform_all(
            jobs, workers or usual_workers(jobs), lambda r: step(f"{r.operator} {r.case} {r.board}")
        )


def show(records: Sequence[CallRecord]) -> None:
    """Print the efficiency table, then what went wrong, then the count."""
    console = output()
    console.print(efficiency_table(records))
    wrong = list(problems(records))
    for line in wrong:
        console.print(line, soft_wrap=True)  # a path longer than a line stays whole
    clean = sum(record.clean for record in records)
    console.print(Text(f"{clean} of {len(records)} as expected.", style="green" if not wrong else "bold red"))


def exit_code(records: Sequence[CallRecord]) -> int:
    """Return 3 after a fault, 1 after findings or failed accuracy, else 0."""
    if any(record.fault is not None for record in records):
        return FAULT
    return CLEAN if all(record.clean for record in records) else FINDINGS
