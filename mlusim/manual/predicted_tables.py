"""The predicted figures in the pages of the operators: ``python -m mlusim.manual.predicted_tables`` writes what they are today.

A table is one of these where the line in front of it names the command ``mlusim report OPERATOR``.  Its rows name a case and a
board; its columns are efficiencies, the time, or policies, whose times they hold.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mlusim.errors import UsageError
from mlusim.operators.campaign import Job, perform
from mlusim.report.efficiency import Efficiency
from mlusim.report.record import CallRecord

PAGES = Path(__file__).resolve().parents[2] / "docs" / "operators"
_COMMAND = re.compile(r"`mlusim report (\w+)")
_FIGURES: dict[str, Callable[[Efficiency], str]] = {
    "compute %": lambda e: f"{100 * e.compute_efficiency:.2f}",
    "IO %": lambda e: f"{100 * e.io_efficiency:.2f}",
    "time us": lambda e: f"{e.hardware_time_us:.1f}",
}

Perform = Callable[[Job], CallRecord]


def refreshed(text: str, perform: Perform = perform, only: str = "") -> str:
    """Return the page *text* with its predicted figures as they are today; with *only* those of the rows that begin so."""
    operator, head, lines = "", tuple[str, ...](), list[str]()
    for line in text.splitlines(keepends=True):
        cells = _cells(line)
        if not cells:
            named = _COMMAND.search(line)
            if named or line.strip():
                operator = named[1] if named else ""
            head = ()
            lines.append(line)
        elif operator and not head:
            head = cells
            lines.append(line)
        elif operator and cells[0].startswith(only) and not set(cells[0]) <= set("- "):
            lines.append("| " + " | ".join(_row(operator, head, cells, perform)) + " |\n")
        else:
            lines.append(line)
    return "".join(lines)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|")) if line.startswith("|") else ()


def _row(operator: str, head: Sequence[str], cells: Sequence[str], perform: Perform) -> Iterator[str]:
    case, board = cells[0].partition(":")[0], cells[1]
    found: dict[str | None, Efficiency] = {}
    for title, cell in zip(head, cells, strict=True):
        policy = re.match(r"`(\w+)`", title)
        figure = _FIGURES.get("time us" if policy else title)
        if figure is None:
            yield cell
            continue
        chosen = policy[1] if policy else None
        if chosen not in found:
            job = Job(operator, case, board, policy=chosen, reference=False)
            efficiency = perform(job).efficiency
            if efficiency is None:
                raise UsageError(f"{job} has no figures; it ends in a fault")
            found[chosen] = efficiency
        yield figure(found[chosen])


def main() -> int:
    """Write every page again."""
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
