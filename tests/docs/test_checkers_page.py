"""The page on checkers says what rows and rules declare."""

import pytest

from manual.page_tables import CHECKERS, limits, renewed


@pytest.mark.parametrize(
    "name", ["__bang_transpose", "__gather", "plan-carved-overlap", "memcheck-lanes-wasted"]
)
def test_the_page_shows_what_checkers_do_not_see(name):
    """Its table is as the code has it: what mixes lanes, what has no C, what is inferred, notes."""
    page = CHECKERS.read_text(encoding="utf-8")

    assert page == renewed(page, limits())
    assert f"`{name}`" in limits()
