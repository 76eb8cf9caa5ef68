"""The memory map on the page: every region once a stage, true to scale, and whether it fits."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from mlusim.plan.layout import Layout, PlacedRegion, StageLayout
from mlusim.plan.svg import WIDTH, layout_svg

INNER = WIDTH - 32  # what the margins leave


def layout_of(*sizes, capacity=1000, kept=()):
    """One stage with regions of *sizes* bytes, one behind the other."""
    regions, at = [], 0
    for n, size in enumerate(sizes):
        regions.append(PlacedRegion(f"region{n}", "int8", size, at, size, kept=n in kept))
        at += size
    return Layout("plan", "MLU370-X4", None, {"N": 5}, capacity, (StageLayout("one", at, tuple(regions)),))


def regions_of(picture):
    """The name and the width of each region that is drawn."""
    found = re.findall(r'<title>(\w+): [^<]*</title><rect x="[\d.]+" y="\d+" width="([\d.]+)"', picture)
    return {name: float(width) for name, width in found}


@settings(deadline=None, max_examples=20)
@given(sizes=st.lists(st.integers(50, 200), min_size=1, max_size=5))
def test_regions_are_true_to_scale(sizes):
    """Widths are in the proportion of the bytes, and fill the picture."""
    widths = regions_of(layout_svg(layout_of(*sizes)))
    total = sum(sizes)

    assert [f"region{n}" for n in range(len(sizes))] == list(widths)
    for n, size in enumerate(sizes):
        assert INNER * size / total == pytest.approx(widths[f"region{n}"], abs=3)


@pytest.mark.parametrize(
    ("capacity", "told"), [(1000, "fits: 700 of 1,000 bytes to spare"), (200, "100 bytes too many")]
)
def test_it_says_whether_the_plan_fits(capacity, told):
    """What is to spare, or how much is too much."""
    picture = layout_svg(layout_of(100, 200, capacity=capacity))

    assert told in picture
    assert f"stage one: 300 of {capacity:,} bytes" in picture
    assert "<title>plan on MLU370-X4: N=5</title>" in picture


def test_what_a_stage_only_keeps_is_paler():
    """A region that an earlier stage filled is drawn with less of its colour."""
    plain, kept = layout_svg(layout_of(100, 100)), layout_svg(layout_of(100, 100, kept={1}))

    assert kept.count('fill-opacity="0.45"') == plain.count('fill-opacity="0.45"') + 1
