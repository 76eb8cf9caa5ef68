"""The table of what checkers do not see, by rows and rules: ``python -m mlusim.manual.checkers_page`` writes it as the code has it."""

import sys
from collections.abc import Iterator
from pathlib import Path

from mlusim.arch.board import Arch, Pipe
from mlusim.arch.catalog import find_board
from mlusim.engine.native.rows import REGISTERS, is_native
from mlusim.isa.declare import Flow, Intrinsic
from mlusim.isa.table import ISA
from mlusim.manual.tables import renewed
from mlusim.observe.finding import NOTE
from mlusim.observe.rules import RULES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "checkers.md"
HEAD = "| what | which |\n| --- | --- |\n"
BOARD = "MLU370-X4"


def table() -> str:
    """Return the limits that follow from what rows and rules declare."""
    return HEAD + "".join(f"| {what} | {which} |\n" for what, which in _limits(find_board(BOARD).arch))


def _limits(arch: Arch) -> Iterator[tuple[str, str]]:
    rows = list(ISA.values())
    mixing = [row for row in rows if row.flow is Flow.MIXING and row.operands]
    partial = [row for row in rows if any(o.partial for o in row.operands.values())]
    yield (
        "initcheck tries several contents of what has no value, which could agree by chance",
        f"those that mix lanes: {_named(mixing)}",
    )
    yield "the data decide how much is written: what had no value may still have none", _named(partial)
    without = [row for row in rows if not is_native(row, arch) and row.name not in REGISTERS]
    watched = [row for row in without if row.pipe is not Pipe.SCALAR and not row.control]
    yield "Python executes them in a checked run in C", _named(watched)
    inferred = [f"`{rule.id}`" for rule in RULES.values() if "inferred" in rule.summary]
    yield "what they report is inferred, not documented", ", ".join(inferred)
    notes = [f"`{rule.id}`" for rule in RULES.values() if rule.level == NOTE]
    yield "nothing is said of them without `--notes`", ", ".join(notes)


def _named(rows: list[Intrinsic]) -> str:
    return ", ".join(f"`{row.spelling}`" for row in rows)


def refreshed(page: str) -> str:
    """Return the text of *page* with the table as it is today."""
    return renewed(page, table())


def main() -> int:
    """Write the page again."""
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
