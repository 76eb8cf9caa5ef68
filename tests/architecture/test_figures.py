"""The figures of the structure do not get worse than the architecture page allows."""

import pytest
from figures import FIGURES, limits


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_within_the_limit_of_the_page(name):
    """At most as many places as the page says; `figures.py --list` shows them."""
    assert len(FIGURES[name]()) <= limits()[name], name
