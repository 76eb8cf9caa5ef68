"""The table of constants of the page on predicted time: ``python -m mlusim.manual.time_page`` writes it as the code has it."""

import sys
from collections.abc import Iterator
from pathlib import Path

from mlusim.manual.tables import renewed
from mlusim.time.rates import MARKS, RATES, BoardValue, Rate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "time.md"
HEAD = (
    "| constant | boards | value | band (shorter to longer) | what it says | mark | source |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)


def table() -> str:
    """Return every value of every constant, in the order of the code: that of all boards first, then those of their own."""
    return HEAD + "".join(_row(rate, value) for rate in RATES for value in rate.values)


def _row(rate: Rate, value: BoardValue) -> str:
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
    if value.measured:
        yield f"measured on {', '.join(value.measured)}, inherited elsewhere"


def refreshed(page: str) -> str:
    """Return the text of *page* with the table as it is today."""
    return renewed(page, table())


def main() -> int:
    """Write the page again."""
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
