"""The page on predicted time says what the code has."""

from mlusim.manual.time_page import PAGE, refreshed, table
from mlusim.time.rates import RATES


def test_the_page_shows_every_constant():
    """Name, boards, value, band, meaning, mark and source of each value, in the order of the code; and no other."""
    page = PAGE.read_text(encoding="utf-8")

    assert page == refreshed(page)
    assert sum(len(rate.values) for rate in RATES) == table().count("\n") - 2
