"""three_interpolate_backward on the document's scales with millions of row additions."""

import pytest
from bangc_twins import NATIVE, performed

from mlusim.operators.runner import case_generator, judged, run_case
from ops.three_interpolate_backward.cases import CASES
from ops.three_interpolate_backward.operator import OPERATORS


def named(name):
    """The case called *name*."""
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize("name", ["case_18"])
def test_a_large_case(name):
    """Large scales, where tiles of all three dimensions repeat, are as accurate; left to choose, they run in BANG C."""
    run = run_case(OPERATORS[0], named(name), board="MLU370-X4")

    assert run.passed
    assert run.accuracy
    assert [NATIVE] == [launch.engine for launch in run.launches]


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("case_10", "MLU370-X4"),
        ("case_4", "MLU370-X4"),
        ("case_7", "MLU590-H8"),
        ("case_10_half", "MLU590-H8"),
        ("case_4_half", "MLU370-X4"),
    ],
)
def test_the_largest_cases_in_bang_c(name, board):
    """So are the largest, which the native engine makes short work of."""
    case = named(name)
    inputs, params = case.make(case_generator(case))
    done = performed("three_interpolate_backward", case, board, source=True, engine=NATIVE)
    run = judged(done, inputs, params, OPERATORS[0])

    assert run.passed
    assert run.accuracy
