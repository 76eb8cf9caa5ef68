"""Print every measurement beside its limit: ``python -m benchmarks [table|memory|hot|native|bangc|operators|reports|timing|debugger|checkers|mistakes|planted|start|toolkit|judge|torch|threads] [--page FILE]``; or `growth`, `costs`, `calibration [BOARD ...]`, `vendor CHECKOUT`, `contest CHECKOUT KIT`, `torch_tests CHECKOUT`, `flaggems CHECKOUT`, or `names FOLDER`."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import calibration, names as missing_names
from benchmarks.bangc import bang_c
from benchmarks.checkers import checkers
from benchmarks.contest import __main__ as contest
from benchmarks.cost_of_time import cost_of_time
from benchmarks.costs import main as costs
from benchmarks.debugger import debugger
from benchmarks.flaggems import __main__ as flaggems
from benchmarks.growth import main as growth
from benchmarks.hot_path import hot_path
from benchmarks.judge import judging
from benchmarks.memory import memory
from benchmarks.mistakes import mistakes, planted
from benchmarks.native import native
from benchmarks.operators import operators
from benchmarks.pages import put_between
from benchmarks.reports import reports
from benchmarks.start_up import start_up
from benchmarks.table import table as first_table
from benchmarks.threads import threads
from benchmarks.timing import Row
from benchmarks.toolkit import toolkit
from benchmarks.torch_build import torch_build
from benchmarks.torch_tests import __main__ as torch_tests
from benchmarks.vendor import __main__ as vendor

BEGIN, END = "<!-- python -m benchmarks -->", "<!-- end -->"
GROUPS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "table": first_table,
    "memory": memory,
    "hot": hot_path,
    "native": native,
    "bangc": bang_c,
    "timing": cost_of_time,
    "operators": operators,
    "reports": reports,
    "debugger": debugger,
    "checkers": checkers,
    "mistakes": mistakes,
    "planted": planted,
    "start": start_up,
    "toolkit": toolkit,
    "judge": judging,
    "threads": threads,
    "torch": torch_build,
}
USUAL = ("table",)
"""The groups that are measured when the command line names none."""
OTHERS: Mapping[str, Callable[[list[str]], int]] = {
    "calibration": calibration.main,
    "vendor": vendor.main,
    "names": missing_names.main,
    "contest": contest.main,
    "growth": growth,
    "costs": costs,
    "torch_tests": torch_tests.main,
    "flaggems": flaggems.main,
}


def main(names: list[str]) -> int:
    """Measure the groups named in *names*, or all of them, and print one table; or run another command of `OTHERS`."""
    if names and names[0] in OTHERS:
        return OTHERS[names[0]](names[1:])
    page = None
    if "--page" in names[:-1]:
        at = names.index("--page")
        page, names = Path(names[at + 1]), names[:at] + names[at + 2 :]
    if {"-h", "--help"} & set(names):
        print(__doc__)
        return 0
    # A group may be called by its function, too, as ``hot_path``.
    called = {function.__name__: name for name, function in GROUPS.items()}
    names = [called.get(name, name) for name in names]
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"{__doc__}\nno group is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    table = Table(title="mlusim benchmarks: medians of this run")
    for column in ("work", "measured", "limit", "unit", "detail"):
        table.add_column(column, justify="right" if column in ("measured", "limit") else "left")
    over, rows = 0, []
    for name in names or USUAL:
        for row in GROUPS[name]():
            over += not row.holds
            rows.append(row)
            colour = "green" if row.holds else "red"
            table.add_row(
                row.work, f"[{colour}]{row.measured:.2f}[/]", f"{row.limit:.2f}", row.unit, row.detail
            )
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    if page is not None:
        write(page, rows)
    return 1 if over else 0


def write(page: Path, rows: Sequence[Row]) -> None:
    """Put *rows* as a table into *page*, between its two marks."""
    lines = ["| work | measured | limit | unit | detail |", "| --- | ---: | ---: | --- | --- |"]
    lines += [f"| {r.work} | {r.measured:.2f} | {r.limit:.2f} | {r.unit} | {r.detail} |" for r in rows]
    put_between(page, "\n".join(lines), BEGIN, END)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
