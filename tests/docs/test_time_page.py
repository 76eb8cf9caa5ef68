"""The page on predicted time says what the code has."""

from pathlib import Path

from mlusim.time.rates import MARKS, RATES

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "time.md"


def shown_row(rate):
    """The row of the table of constants: name, value, band, meaning, mark, source and the rows that it came from."""
    low, high = rate.band or (rate.value, rate.value)
    band = f"{low:g} to {high:g}" if rate.band else "-"
    derived = f" (derived from the rows {', '.join(rate.rows)})" if rate.rows else ""
    return f"| {rate.name} | {rate.value:g} {rate.unit} | {band} | {rate.says} | {MARKS[rate.mark]} | {rate.source}{derived} |"


def test_the_page_shows_every_constant():
    """Name, value, band, meaning, mark and source of each, in the order of the table; and no other."""
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line.count("|") == 7]
    expected = [shown_row(rate) for rate in RATES]
    first = shown.index(expected[0])

    assert expected == shown[first : first + len(expected)]
