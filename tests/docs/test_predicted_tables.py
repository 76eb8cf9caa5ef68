"""The predicted figures in the pages of the operators are what the model says today."""

import pytest

from mlusim.manual.predicted_tables import PAGES, refreshed
from mlusim.operators.campaign import perform


@pytest.mark.parametrize(
    ("page", "rows"),
    [
        ("border_align_backward.md", "network_2x70x4x128_float"),
        ("dynamic_scatter_backward.md", "one_voxel"),
        ("dynamic_scatter_backward.md", "ties"),
        ("dynamic_scatter_backward.md", "widest"),
    ],
)
def test_the_predicted_figures_of_an_operator_are_fresh(page, rows):
    """`python -m mlusim.manual.predicted_tables` would write what is there; of each table rows that are soon run."""
    text = (PAGES / page).read_text(encoding="utf-8")
    performed = []

    assert refreshed(text, lambda job: performed.append(job) or perform(job), rows) == text
    assert performed
