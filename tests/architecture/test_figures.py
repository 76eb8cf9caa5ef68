"""The figures of the structure do not get worse than the architecture page allows."""

import re

import pytest
from figures import FIGURES, limits, lone_protocols
from import_graph import PAGE


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_within_the_limit_of_the_page(name):
    """At most as many places as the page says; `figures.py --list` shows them."""
    assert len(FIGURES[name]()) <= limits()[name], name


def test_a_protocol_of_one_class_has_its_reason_on_the_page():
    """The page names each, the class that keeps to it, and why it stays."""
    rows = re.findall(
        r"^\| `(\w+)` \| `(\w+)` \| [^|]{4,} \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert sorted(rows) == sorted(tuple(place.partition(" ")[2].split(": ")) for place in lone_protocols())
