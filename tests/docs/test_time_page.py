"""The page on predicted time says what the code has."""

from manual.page_tables import TIME, constants, renewed
from mlusim.time.rates import RATES


def test_the_page_shows_every_constant():
    """Name, boards, value, band, meaning, mark and source of each value, in the order of the code; and no other."""
    page = TIME.read_text(encoding="utf-8")

    assert page == renewed(page, constants())
    assert sum(len(rate.values) for rate in RATES) == constants().count("\n") - 2
