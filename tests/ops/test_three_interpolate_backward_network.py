"""three_interpolate_backward on the document's scales with millions of row additions."""

import pytest

from mlusim.operators.runner import run_case
from ops.three_interpolate_backward.cases import CASES
from ops.three_interpolate_backward.operator import OPERATORS

SCALES = [
    ("case_4", "MLU370-X4"),
    ("case_7", "MLU590-H8"),
    ("case_10", "MLU370-X4"),
    ("case_18", "MLU370-X4"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "board"), SCALES)
def test_a_large_case(name, board):
    """Large scales, where tiles of all three dimensions repeat, are as accurate as the document asks."""
    case = next(case for case in CASES if case.name == name)

    run = run_case(OPERATORS[0], case, board=board)

    assert run.passed
    assert run.accuracy
