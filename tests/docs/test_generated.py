"""Pages that are made from the code can be made, each with all that its table has."""

import re
from pathlib import Path

import pytest

from manual import driver, page_tables
from manual.made_pages import made_pages
from mlusim.cli.verbs import VERBS
from mlusim.debug.console.console import COMMANDS
from mlusim.toolkit.flags import FLAGS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    """Every page, by its place below docs/."""
    return made_pages()


def test_no_made_page_is_committed_and_each_is_linked(pages):
    """What the code says stands once; a page that nothing leads to would not be found, those of the instruction set have their own."""
    linking = [*(ROOT / "docs").rglob("*.md")]
    named = {target for page in linking for target in re.findall(r"([\w-]+\.md)[)#]", page.read_text())}

    assert [] == [name for name in pages if (ROOT / "docs" / name).exists()]
    assert [] == [name for name in pages if "/isa/" not in name and name.rpartition("/")[2] not in named]


@pytest.mark.parametrize(
    ("name", "row", "listed"),
    [
        ("command-line", "## mlusim {}\n", [verb.name for verb in VERBS]),
        ("cncc", "| `{}` |", [flag.shown for flag in FLAGS]),
        ("debugger", "| `{}", [command.name for command in COMMANDS]),
        (
            "driver",
            "| `{}` |",
            [name for header in driver.LIBRARIES.values() for name in driver.names(header)],
        ),
    ],
)
def test_a_page_has_every_row_of_its_table(name, row, listed, pages):
    """In the form in which it shows one."""
    text = pages[f"reference/{name}.md"]

    assert (True, []) == (len(listed) > 5, [each for each in listed if row.format(each) not in text])


def test_every_pattern_of_a_remark_is_of_some_name():
    """None speaks of a name that no header declares."""
    every = [name for header in driver.LIBRARIES.values() for name in driver.names(header)]

    assert [] == [p for p in driver.REMARKS if not any(re.fullmatch(p, name) for name in every)]


def test_a_page_that_is_not_there_is_refused(capsys):
    """The sentence names the pages that are; nothing is written."""
    code = page_tables.main(["colours"])
    said = capsys.readouterr().err

    assert (code, [name for name in page_tables.PAGES if name not in said]) == (2, [])


def test_every_operator_page_is_in_the_index(pages):
    """No operator's page is left out of the index."""
    index = (ROOT / "docs" / "operators" / "index.md").read_text()
    listings = [name.removeprefix("operators/") for name in pages if name.startswith("operators/")]
    written = [p.name for p in (ROOT / "docs" / "operators").glob("*.md") if p.name != "index.md"]

    assert [] == [page for page in (*written, *listings) if f"]({page})" not in index]
