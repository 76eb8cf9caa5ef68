"""The page on predicted time says what the code has."""

from pathlib import Path

from mlusim.time.rates import MARKS, RATES

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "time.md"


def test_the_page_shows_every_constant():
    """Name, value, meaning, mark and source of each, in the order of the table; and no other."""
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line.count("|") == 6]
    expected = [
        f"| {rate.name} | {rate.value:g} {rate.unit} | {rate.says} | {MARKS[rate.mark]} | {rate.source} |"
        for rate in RATES
    ]
    first = shown.index(expected[0])

    assert expected == shown[first : first + len(expected)]
