"""Pages that are made from the code are as the code says."""

import re
from pathlib import Path

import pytest

from mlusim.manual import cncc_page, driver, listing_pages
from mlusim.manual.command_line import manual

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_command_line_is_fresh():
    """`python -m mlusim.manual.command_line` would write what is there."""
    assert manual() == (ROOT / "docs" / "reference" / "command-line.md").read_text()


def test_the_page_of_the_compilers_flags_is_fresh():
    """`python -m mlusim.manual.cncc_page` would write what is there."""
    assert cncc_page.page() == (ROOT / "docs" / "reference" / "cncc.md").read_text()


def test_the_page_of_the_driver_is_fresh():
    """`python -m mlusim.manual.driver` would write what is there, and every pattern of it is some name's."""
    assert driver.manual() == (ROOT / "docs" / "reference" / "driver.md").read_text()
    every = [name for header in driver.LIBRARIES.values() for name in driver.names(header)]
    assert [] == [p for p in driver.REMARKS if not any(re.fullmatch(p, name) for name in every)]


@pytest.mark.parametrize("name", sorted(listing_pages.listings()))
def test_the_page_of_a_listing_is_fresh(name):
    """`python -m mlusim.manual.listing_pages` would write what is there."""
    made = listing_pages.page(name, listing_pages.listings()[name])

    assert made == (listing_pages.PAGES / f"{name}-listing.md").read_text(encoding="utf-8")


def test_every_operator_page_is_in_the_index():
    """No operator's page is left out of the index."""
    index = (ROOT / "docs" / "operators" / "index.md").read_text()
    pages = sorted(p.name for p in (ROOT / "docs" / "operators").glob("*.md") if p.name != "index.md")

    assert [] == [page for page in pages if f"]({page})" not in index]
