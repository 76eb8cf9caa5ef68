"""The predicted figures in the pages of the operators are what the model says today."""

import pytest

from manual.page_tables import OPERATORS, predicted
from mlusim.operators.campaign import Job, perform


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
    """`python -m manual.page_tables operators` would write what is there; of each table rows that are soon run."""
    text = (OPERATORS / page).read_text(encoding="utf-8")
    performed = []

    assert predicted(text, lambda job: performed.append(job) or perform(job), rows) == text
    assert performed


def test_the_efficiency_above_100_percent_is_what_its_page_says():
    """Of the bytes that are counted 151 of 360 frames are loaded, and all are stored."""
    text = " ".join((OPERATORS / "tin_shift.md").read_text(encoding="utf-8").split())
    job = Job("tin_shift_forward", "network_3x15x16x45435_half", "MLU370-X4", reference=False)
    found, moved = perform(job).efficiency.io_efficiency, (151 + 360) / 720

    assert f"{found * moved:.3f} / {moved:.2f} is the IO efficiency of {100 * found:.0f} %" in text
    assert f"about {100 * found * moved:.1f} % of the nominal bandwidth" in text
