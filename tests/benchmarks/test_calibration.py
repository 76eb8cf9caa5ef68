"""Predicted against measured: the rules of scaling are exact, the verdict is honest, the aims are met."""

import math

import numpy as np
import pytest
from rich.console import Console

from benchmarks.calibration import (
    LADDER,
    TILES,
    Judged,
    Measured,
    affine,
    judged,
    rows,
    show,
    spearman,
    verdict,
)


@pytest.mark.parametrize(("number", "steps"), [(4, 3), (5, 3), (6, 4)])
def test_waves_scale_exactly(number, steps):
    """Four waves take what two runs of one and two say."""
    expected = LADDER.run(number, waves=4, steps=steps)[0].time_us
    found = affine(lambda n: LADDER.run(number, waves=n, steps=steps)[0].time_us, 1, 4)

    assert math.isclose(expected, found, rel_tol=1e-9)


@pytest.mark.parametrize("number", [1, 2])
def test_results_of_scalar_loops_scale_exactly(number):
    """So do the results of a triple loop."""
    expected = LADDER.run(number, results=7)[0].time_us

    assert math.isclose(expected, affine(lambda n: LADDER.run(number, results=n)[0].time_us, 2, 7))


def test_rows_of_a_transpose_scale_exactly():
    """And the rows of an element-wise transpose, in whole lines."""

    def time_of(number):
        src = np.zeros((number, 64), np.float32)
        return TILES.run(TILES.transpose, "MLU590-M9", src, tail=src.shape)[0].time_us

    assert math.isclose(time_of(256), affine(time_of, 32, 256), rel_tol=1e-9)


@pytest.mark.parametrize("number", range(1, 7))
def test_every_rung_is_right_on_both_generations(number):
    """The result is the product, on MLU370 and on MLU590."""
    for board in ("MLU370-X8", "MLU590-H8"):
        assert LADDER.run(number, board, results=3, steps=2)[1]


def made(*pairs):
    """Rows of measured and predicted times."""
    return [Judged(Measured("x", "board", "", m), p, "") for m, p in pairs]


def test_the_verdict_counts_what_has_a_prediction():
    """Median, percentile, largest and rank correlation of the absolute errors."""
    found = verdict([*made((100, 110), (200, 180), (400, 516)), Judged(Measured("y", "b", "", 1), None, "")])

    assert math.isclose(0.1, found.median)
    assert math.isclose(0.29, found.largest)
    assert math.isclose(0.252, found.ninetieth)
    assert 1 == found.spearman
    assert found.holds
    assert not verdict(made((100, 131), (200, 200))).holds


def test_spearman_of_ties_and_of_a_reversed_order():
    """Equal values share a rank."""
    assert math.isclose(-1, spearman([1, 2, 3], [9, 5, 1]))
    assert math.isclose(0.9486832980505138, spearman([1, 2, 2, 4], [1, 2, 3, 4]))


@pytest.mark.slow
def test_every_row_is_within_the_aims():
    """All published rows are shown; those of known kernels are within 30 %, the median within 15 %."""
    console = Console(record=True, width=160, quiet=True)
    results = list(judged())

    assert show(results, console)
    assert rows() == [r.row for r in results]
    assert {"MLU270"} == {r.row.platform for r in results if r.predicted is None}
