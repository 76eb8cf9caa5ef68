"""Tables of text: rows that take a line each are laid out as rich would lay them out, and nothing is cropped."""

import io

import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console
from rich.text import Text

from mlusim.text_grid import NameCell, table

WORDS = st.text("ab_ 日é[]/", max_size=24).map(lambda word: word.strip() or "-")
CELLS = st.one_of(
    WORDS,
    WORDS.map(lambda word: Text(word, style="bold")),
    WORDS.map(lambda word: Text.assemble((word, "green"), " and ", ("more", "dim"))),
    st.builds(NameCell, WORDS, indent=st.integers(0, 3)),
)
HEADINGS = ("name", "number", "words")
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6)


def shown(rows, width, encoding="utf-8"):
    """What a console of *width* columns shows of a table, without blanks at the ends of lines."""
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding), width=width, markup=False, emoji=False)
    made = table(*HEADINGS, right=("number",), fold=("words",), title="a title")
    for row in rows:
        made.add_row(*row)
    with console.capture() as captured:
        console.print(made, crop=False)
    return [line.rstrip() for line in captured.get().splitlines()]


def words_of(cell):
    """The characters of a cell that are not blanks."""
    text = cell if isinstance(cell, str) else cell.plain if isinstance(cell, Text) else cell.text
    return "".join(text.split())


@settings(deadline=None)
@given(rows=ROWS)
def test_rows_of_one_line_are_laid_out_as_rich_does(rows):
    """For a console that takes ASCII alone rich lays out the whole table, with bars between the columns."""
    title, headings, rule, *theirs = shown(rows, 200, "ascii")

    assert [title, headings.replace("|", " "), rule.replace("+", "-").replace("-", "─")] == shown(rows, 200)[
        :3
    ]
    assert [line.replace("|", " ").rstrip() for line in theirs] == shown(rows, 200)[3:]


@settings(deadline=None)
@given(rows=ROWS, width=st.integers(20, 90))
def test_nothing_is_cropped(rows, width):
    """Side by side, in folds or one below the other: every character of every cell is there."""
    found = "".join("".join(line.split()) for line in shown(rows, width))

    assert all(
        found.count(letter) >= sum(words_of(cell).count(letter) for row in rows for cell in row)
        for letter in "日é["
    )


def test_columns_stand_below_each_other():
    """Numbers end where their heading ends, wide characters take two columns, a fold leaves its neighbours in place."""
    rows = [("日本", "1", "x"), ("plain", "1234567", "as short"), (NameCell("a", indent=2), "22", "one")]

    assert [
        "a title",
        "name    number  words",
        "────────────────────────",
        "日本         1  x",
        "plain  1234567  as short",
        "  a         22  one",
    ] == shown(rows, 80)


@pytest.mark.parametrize("width", [20, 200])
def test_brackets_of_a_title_are_no_markup(width):
    """Whether the columns are side by side or below each other."""
    console = Console(file=io.StringIO(), width=width)
    made = table("name", "number", title="of t[bold]x")
    made.add_row("a name that is rather long", "and a cell that is long, too")
    with console.capture() as captured:
        console.print(made)

    assert captured.get().split("\n")[0].rstrip() == "of t[bold]x"
