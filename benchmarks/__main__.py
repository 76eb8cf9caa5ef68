"""Print every measurement beside its limit: ``python -m benchmarks [hot|native|bangc|operators|timing|debugger|checkers|start|toolkit|judge]``; or `calibration [BOARD ...]`, `vendor CHECKOUT`, `contest CHECKOUT KIT`, or `names FOLDER`."""

import sys
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.table import Table

from benchmarks import calibration
from benchmarks import names as missing_names
from benchmarks.bangc import bang_c
from benchmarks.checkers import checkers
from benchmarks.contest import __main__ as contest
from benchmarks.cost_of_time import cost_of_time
from benchmarks.debugger import debugger
from benchmarks.hot_path import hot_path
from benchmarks.judge import judging
from benchmarks.native import native
from benchmarks.operators import operators
from benchmarks.start_up import start_up
from benchmarks.timing import Row
from benchmarks.toolkit import toolkit
from benchmarks.vendor import __main__ as vendor

GROUPS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "hot": hot_path,
    "native": native,
    "bangc": bang_c,
    "timing": cost_of_time,
    "operators": operators,
    "debugger": debugger,
    "checkers": checkers,
    "start": start_up,
    "toolkit": toolkit,
    "judge": judging,
}


def main(names: list[str]) -> int:
    """Measure the named groups, or all, and print one table; or judge the predicted times."""
    if names[:1] == ["calibration"]:
        return calibration.main(names[1:])
    if names[:1] == ["vendor"]:
        return vendor.main(names[1:])
    if names[:1] == ["names"]:
        return missing_names.main(names[1:])
    if names[:1] == ["contest"]:
        return contest.main(names[1:])
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"{__doc__}\nno group is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    table = Table(title="mlusim benchmarks: medians of this run")
    for column in ("work", "measured", "limit", "unit", "detail"):
        table.add_column(column, justify="right" if column in ("measured", "limit") else "left")
    over = 0
    for name in names or GROUPS:
        for row in GROUPS[name]():
            over += not row.holds
            colour = "green" if row.holds else "red"
            table.add_row(
                row.work, f"[{colour}]{row.measured:.2f}[/]", f"{row.limit:.2f}", row.unit, row.detail
            )
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
