"""The table of what explains calls, and names that go on in the next line."""

import re

from attrs import evolve
from hypothesis import given, strategies as st
from rich.console import Console

from mlusim.report.tables import sentences, why_table
from mlusim.text_grid import NameCell
from tests.report.test_explanation import EVEN, record


def shown(renderable, width=80):
    """What a terminal of *width* columns shows."""
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


@given(st.text("ab_1 ", min_size=1, max_size=60), st.integers(6, 40), st.integers(0, 2))
def test_a_name_breaks_at_its_underscores_only(text, width, indent):
    """No line is longer than the width; where pieces fit, all of the name is there, broken between pieces."""
    lines = NameCell(text, indent).lines(width)
    pieces = re.findall(r"[^_ ]*[_ ]+|[^_ ]+", text)

    assert max(map(len, lines)) <= width
    if max(map(len, pieces)) <= width - indent - 2:
        assert text == lines[0][indent:] + "".join(line[indent + 2 :] for line in lines[1:])
        assert all(line.endswith(("_", " ")) for line in lines[:-1])


def test_a_name_that_fits_is_one_line():
    """A table that has room leaves it alone."""
    assert "  one_name\n" == shown(NameCell("one_name", indent=2))


def test_the_table_says_what_explains_each_call():
    """Only pipes that are used have a column; what is not known is a dash."""
    uneven = evolve(EVEN, balance=2.14, waves=3, last_wave=0.125, overlap=0.25, working=30)
    text = shown(why_table([record(), record(uneven, moved=2_500_000)], "MLU370-X4"))
    head, *rows = [line.split() for line in text.splitlines() if "%" in line or "moved " in line]

    assert ["case", "moved", "pad", "vec", "IO", "two", "slow", "cores", "waves"] == head
    assert ["a", "1.0x", "0%", "40%", "80%", "50%", "1.0x", "32/32", "1"] == rows[0]
    assert ["a", "2.5x", "0%", "40%", "80%", "25%", "2.1x", "30/32", "3:12%"] == rows[1]
    assert max(map(len, text.splitlines())) <= 80


def test_what_launched_nothing_has_dashes():
    """A refusal has a row, and its message for a sentence."""
    refused = evolve(record(), efficiency=None, launches=(), message="no room")
    text = shown(why_table([refused], "MLU370-X4"))

    assert ["a", *"-" * 6] == next(line for line in text.splitlines() if "  a" in line).split()
    assert ["op a on MLU370-X4: no room"] == [str(line) for line in sentences([refused])]
