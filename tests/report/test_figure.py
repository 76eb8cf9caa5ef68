"""Pictures: words and colours are the page's, nothing is referred to, and the same picture is the same text."""

import re
import sys
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from mlusim.errors import UsageError
from mlusim.report.page.charts import COLORS, Axis, Picture, bars, line, marks, require_drawing, words


def drawn():
    """A picture with everything in it."""
    picture = Picture(200, 100, 'a "title" & more')
    axes = picture.axes((10, 10, 180, 80), (0, 10), (0, 5))
    line(axes, [0, 10], [1, 2], "line")
    words(axes, 5, 3, "<label> costs $5 or $6", weight="bold")
    picture.tip(bars(axes, [(1, 1, 2, 1), (4, 1, 2, 1)], "c3"), "a < b")
    return picture.render()


def test_a_picture_is_well_formed_and_refers_to_nothing():
    """One SVG element without ids, links and clip paths, so that a page may hold many."""
    text = drawn()
    root = ET.fromstring(text)  # noqa: S314 - made above

    assert "svg" == root.tag
    assert "0 0 200 100" == root.get("viewBox")
    assert not re.search(r'\sid="|href|url\(|clip-path|<defs|<!--', text)


def test_colours_are_the_page_s():
    """Every colour of a picture is a variable, which the page sets for light and for dark."""
    text = drawn()

    assert {"var(--c3)", "var(--line)", "var(--soft)"} <= set(re.findall(r"var\(--\w+\)", text))
    assert not re.search(r"#[0-9a-f]{6}", text)
    assert len(COLORS) == len(set(COLORS.values()))


def test_words_stay_words():
    """Titles, labels and tips are text, escaped, in the page's own font."""
    text = drawn()
    root = ET.fromstring(text)  # noqa: S314 - made above

    assert ["<label> costs $5 or $6"] == [element.text for element in root.iter("text")]
    assert ["a < b"] == [element.text for element in root.iter("title")]
    assert 'a "title" & more' == root.get("aria-label")
    assert "DejaVu" not in text
    assert "font-weight: bold" in text or "font-weight: 700" in text


def test_bars_lie_where_they_should():
    """Two boxes of one shape, in the units of the picture, from the left and from above."""
    path = next(p for p in re.findall(r'<path d="([^"]*)"', drawn()) if 2 == p.count("M"))
    moves = re.findall(r"([MLHV])([\d. ]+)", path)
    xs = [float(text.split()[0]) for letter, text in moves if letter != "V"]
    ys = [float(text.split()[-1]) for letter, text in moves if letter != "H"]

    assert [28, 64, 82, 118] == pytest.approx(sorted(set(xs)))
    assert [58, 74] == pytest.approx(sorted(set(ys)))


def test_the_same_picture_is_the_same_text():
    """No date, no random names."""
    assert drawn() == drawn()


def test_marks_are_round_and_within():
    """Round numbers, few of them, from the low to the high end."""
    assert [0, 2, 4, 6, 8, 10] == marks(0, 10)
    assert [0.25, 0.5, 0.75, 1] == marks(0.25, 1.1, 4)
    assert [3] == marks(3, 3)
    assert [0.1, 0.2, 0.3] == marks(0.1, 0.3, 2)


@pytest.mark.parametrize(
    ("start", "end", "last"),
    [
        (0.0, 6.634, "6.63 us"),
        (0.0, 1.5312, "1.53 us"),
        (120.7, 146.41, "146.4 us"),
        (1234.5, 1234.512, "1,234.5120 us"),
        (0.0, 9_999.0, "9,999 us"),
        (0.0, 25_300.0, "25.3 ms"),
        (0.0, 7e7, "70.0 s"),
        (1.5, 1.5, "1.500000 us"),
    ],
)
def test_an_axis_ends_in_its_end_with_the_unit(start, end, last):
    """The end is the last mark, in a unit that gives short numbers; no label touches another."""
    axis = Axis(start, end, 780)
    marked = list(axis.ticks())
    places = [axis.at(at) for at, _ in marked]

    assert (end, last) == marked[-1]
    assert all(b - a > 40 for a, b in pairwise(places))
    assert len(marked) > 2 or start == end


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    """One sentence, before any work."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(UsageError, match="needs matplotlib; install it with `pip install 'matplotlib>="):
        require_drawing()
