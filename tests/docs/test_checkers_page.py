"""The page on checkers says what rows and rules declare."""

import pytest

from mlusim.manual.checkers_page import PAGE, refreshed, table


@pytest.mark.parametrize(
    "name", ["__bang_transpose", "__gather", "plan-carved-overlap", "memcheck-lanes-wasted"]
)
def test_the_page_shows_what_checkers_do_not_see(name):
    """Its table is as the code has it: what mixes lanes, what has no C, what is inferred, notes."""
    page = PAGE.read_text(encoding="utf-8")

    assert page == refreshed(page)
    assert f"`{name}`" in table()
