"""The generated tables within hand-written pages: ``python -m manual.page_tables`` writes them from the code.

With words such as ``time``, ``checkers`` or ``operators``, only those pages are written; the figures of operators
take minutes.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from manual.chosen import chosen
from mlusim.arch.board import Arch, Pipe
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.isa.declare import Flow, Intrinsic
from mlusim.isa.table import ISA
from mlusim.machine.engine import Engine
from mlusim.observe.rules import RULES
from mlusim.operators.campaign import Job, perform
from mlusim.report.efficiency import Efficiency
from mlusim.report.record import CallRecord
from mlusim.time.rates import MARKS, RATES, BoardValue, Rate

DOCS = Path(__file__).resolve().parents[1] / "docs"
TIME, CHECKERS, OPERATORS = (
    DOCS / "explanation" / "time.md",
    DOCS / "explanation" / "checkers.md",
    DOCS / "operators",
)


def renewed(page: str, table: str) -> str:
    """Return the text of *page* with *table* in place of the one with the same first two columns, which a blank line ends."""
    head = "|".join(table.split("|", 3)[:3]) + "|"
    before, rest = page.split(head, 1)
    behind = rest.split("\n\n", 1)[1]
    return f"{before}{table}\n{behind}"


# -- the constants of predicted time ----------------------------------------------------------------

CONSTANTS = (
    "| constant | boards | value | band (shorter to longer) | what it says | mark | source |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)


def constants() -> str:
    """Return every value of every constant, in the order of the code: the value for all boards first, then those of single boards."""
    return CONSTANTS + "".join(_constant(rate, value) for rate in RATES for value in rate.values)


def _constant(rate: Rate, value: BoardValue) -> str:
    low, high = value.band or (value.value, value.value)
    cells = (
        rate.name,
        value.where or ("all others" if rate.own else "all"),
        f"{value.value:g} {rate.unit}",
        f"{low:g} to {high:g}" if value.band else "-",
        rate.says if not value.where else "the same",
        MARKS[value.mark],
        "; ".join((value.source, *_evidence(value))),
    )
    return f"| {' | '.join(cells)} |\n"


def _evidence(value: BoardValue) -> Iterator[str]:
    if value.rows:
        yield f"derived from the rows {', '.join(value.rows)}"
    if value.shown:
        yield f"right for the rows {', '.join(value.shown)}"
    if value.measured:
        yield f"measured on {', '.join(value.measured)}, inherited elsewhere"


# -- what checkers cannot detect, by rows and rules ----------------------------------------------------

LIMITS = "| what | which |\n| --- | --- |\n"
BOARD = "MLU370-X4"


def limits() -> str:
    """Return the limits that follow from the declarations of rows and rules."""
    return LIMITS + "".join(f"| {what} | {which} |\n" for what, which in _limits(find_board(BOARD).arch))


def _limits(arch: Arch) -> Iterator[tuple[str, str]]:
    rows = list(ISA.values())
    mixing = [row for row in rows if row.flow is Flow.MIXING and row.operands]
    partial = [row for row in rows if any(o.partial for o in row.operands.values())]
    yield (
        "initcheck tries several contents of what has no value, which could agree by chance",
        f"those that mix lanes: {_named(mixing)}",
    )
    yield "the data decide how much is written: what had no value may still have none", _named(partial)
    without = [row for row in rows if not Engine.performs(row, arch)]
    watched = [row for row in without if row.pipe is not Pipe.SCALAR and not row.control]
    yield "Python executes them in a checked run in C", _named(watched)
    inferred = [f"`{rule.id}`" for rule in RULES.values() if "inferred" in rule.summary]
    yield "what they report is inferred, not documented", ", ".join(inferred)
    notes = [f"`{rule.id}`" for rule in RULES.values() if rule.quiet]
    yield "nothing is said of them without `--notes`", ", ".join(notes)


def _named(rows: list[Intrinsic]) -> str:
    return ", ".join(f"`{row.spelling}`" for row in rows)


# -- the predicted figures of operators -------------------------------------------------------------

# A table holds such figures if the line before it names the command ``mlusim report OPERATOR``.  Its rows
# name a case and a board; its columns are efficiencies, the time, or policies with their times.
_COMMAND = re.compile(r"`mlusim report (\w+)")
_FIGURES: dict[str, Callable[[Efficiency], str]] = {
    "compute %": lambda e: f"{100 * e.compute_efficiency:.2f}",
    "IO %": lambda e: f"{100 * e.io_efficiency:.2f}",
    "time us": lambda e: f"{e.hardware_time_us:.1f}",
}

Perform = Callable[[Job], CallRecord]


def predicted(text: str, perform: Perform = perform, only: str = "") -> str:
    """Return the page *text* with its predicted figures recomputed; with *only*, just in rows that begin with it."""
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
            lines.append("| " + " | ".join(_figures(operator, head, cells, perform)) + " |\n")
        else:
            lines.append(line)
    return "".join(lines)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|")) if line.startswith("|") else ()


def _figures(operator: str, head: Sequence[str], cells: Sequence[str], perform: Perform) -> Iterator[str]:
    case, board = cells[0].partition(":")[0], cells[1]
    figures: dict[str | None, Efficiency] = {}
    for title, cell in zip(head, cells, strict=True):
        policy = re.match(r"`(\w+)`", title)
        figure = _FIGURES.get("time us" if policy else title)
        if figure is None:
            yield cell
            continue
        chosen = policy[1] if policy else None
        if chosen not in figures:
            job = Job(operator, case, board, policy=chosen, reference=False)
            efficiency = perform(job).efficiency
            if efficiency is None:
                raise UsageError(f"{job} has no figures; it ends in a fault")
            figures[chosen] = efficiency
        yield figure(figures[chosen])


# -- the pages --------------------------------------------------------------------------------------


def _time() -> None:
    _write(TIME, renewed(TIME.read_text(encoding="utf-8"), constants()))


def _checkers() -> None:
    _write(CHECKERS, renewed(CHECKERS.read_text(encoding="utf-8"), limits()))


def _operators() -> None:
    for page in sorted(OPERATORS.glob("*.md")):
        _write(page, predicted(page.read_text(encoding="utf-8")))


def _write(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")


PAGES = {"time": _time, "checkers": _checkers, "operators": _operators}


def main(names: Sequence[str]) -> int:
    """Write again the pages listed in *names*, or all of them."""
    pages = chosen(names, PAGES, "page")
    for name in pages:
        PAGES[name]()
    return 0 if pages else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
