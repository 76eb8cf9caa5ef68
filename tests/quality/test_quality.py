"""Planted faults are found by the checker named for them, on their line; their twins are left alone."""

from collections import Counter
from pathlib import Path

import pytest
import quality_score
from quality_plants import PLANTS, judge

from mlusim.observe.names import CHECKERS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "quality.md"


def _name(it):
    return f"{it.checker}-{it.name}"


@pytest.mark.parametrize("it", PLANTS, ids=_name)
def test_the_planted_fault_is_found_on_its_line(it):
    """The checker named for it reports the rule named for it, on a marked line."""
    verdict = judge(it, wrong=True)

    assert verdict.named(it), f"said: {verdict.said}"
    assert verdict.placed(it), f"expected one of lines {sorted(it.lines)}, said: {verdict.said}"


@pytest.mark.parametrize("it", PLANTS, ids=_name)
def test_the_innocent_twin_is_left_alone(it):
    """No checker says anything of the kernel without the mistake."""
    assert () == judge(it, wrong=False).said


def test_there_are_enough_of_each_class():
    """Sixty and more, ten and more for every checker, no two with one name."""
    counts = Counter(it.checker for it in PLANTS)

    of_c = {"valuecheck"}  # whose faults and twins are of BANG C, in tests/observe/test_valuecheck.py
    assert set(CHECKERS) - of_c == set(counts)
    assert min(counts.values()) >= 10
    assert len(PLANTS) >= 60
    assert len(PLANTS) == len({it.name for it in PLANTS})


def test_the_page_has_the_score():
    """The documentation keeps the score as it is now."""
    assert quality_score.score() == PAGE.read_text()
