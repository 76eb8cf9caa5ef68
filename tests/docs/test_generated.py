"""Pages that are made from the code are as the code says."""

import re
from pathlib import Path

import pytest

from mlusim.manual import command_pages, driver, listing_pages, page_tables

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_command_line_is_fresh():
    """`python -m mlusim.manual.command_pages command-line` would write what is there."""
    assert command_pages.command_line() == (ROOT / "docs" / "reference" / "command-line.md").read_text()


def test_the_page_of_the_compilers_flags_is_fresh():
    """`python -m mlusim.manual.command_pages cncc` would write what is there."""
    assert command_pages.cncc() == (ROOT / "docs" / "reference" / "cncc.md").read_text()


@pytest.mark.parametrize("name", ["command-line", "cncc", "debugger"])
def test_a_page_is_printed_by_its_name(name, capsys):
    """Each page of commands is in the file of its name."""
    code = command_pages.main([name])

    assert (code, capsys.readouterr().out) == (0, (ROOT / "docs" / "reference" / f"{name}.md").read_text())


@pytest.mark.parametrize("writer", [command_pages, page_tables])
def test_a_page_that_is_not_there_is_refused(writer, capsys):
    """The sentence names the pages that are; nothing is written."""
    code = writer.main(["colours"])
    said = capsys.readouterr().err

    assert (code, [name for name in writer.PAGES if name not in said]) == (2, [])


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
