"""Predicted against measured: the rules of scaling are exact, the verdict is honest, the aims are met."""

import io
import math

import numpy as np
import pytest
from rich.console import Console

import mlusim
from benchmarks import published
from benchmarks.agreement import (
    GROUPS,
    Group,
    Judged,
    Measured,
    Times,
    groups,
    show,
    spearman,
    verdict,
)
from benchmarks.calibration import CASES, DERIVED, LADDER, affine, case_of, judged, rows


@pytest.mark.parametrize(("number", "steps"), [(4, 3), (5, 3), (6, 4)])
def test_waves_scale_exactly(number, steps):
    """Four waves take what two runs of one and two say."""
    expected = LADDER.run(number, waves=4, steps=steps)[0].time_us
    found = affine(lambda n: LADDER.run(number, waves=n, steps=steps)[0], 1, 4)

    assert math.isclose(expected, found.usual, rel_tol=0.01)


@pytest.mark.parametrize(("number", "columns"), [(1, 128), (2, 128), (2, 256)])
def test_results_of_scalar_loops_scale_exactly(number, columns):
    """So do the results of a triple loop, and the ends of their bands."""
    launch = LADDER.run(number, results=7, columns=columns)[0]
    found = affine(lambda n: LADDER.run(number, results=n, columns=columns)[0], 2, 7)

    assert math.isclose(launch.time_us, found.usual)
    assert launch.time_band == pytest.approx((found.low, found.high))


def test_columns_of_a_gather_scale_exactly():
    """And the columns of an element-wise transposition."""
    found = affine(lambda n: published.run_gather_transpose("MLU590-M9", n), 1, 3)

    assert math.isclose(published.run_gather_transpose("MLU590-M9", 3).time_us, found.usual, rel_tol=1e-3)


@pytest.mark.parametrize("number", range(1, 7))
def test_every_rung_is_right_on_both_generations(number):
    """The result is the product, on MLU370 and on MLU590."""
    for board in ("MLU370-X8", "MLU590-H8"):
        assert LADDER.run(number, board, results=3, steps=2)[1]


def made(*pairs, derived=False):
    """Rows of measured and predicted times; the band is a tenth on both sides."""
    return [
        Judged(Measured("x", "board", "", m), Times(p, 0.9 * p, 1.1 * p), "", "copy", derived)
        for m, p in pairs
    ]


def test_the_verdict_counts_what_has_a_prediction_and_no_constant():
    """Median, how many are near, the worst factor, rank correlation; derived rows count for nothing."""
    fresh = [*made((100, 110), (200, 180), (400, 516)), Judged(Measured("y", "b", "", 1), None, "")]
    found = verdict([*fresh, *made((100, 1000), derived=True)])

    assert math.isclose(0.1, found.median)
    assert (3, 3, 0) == (found.rows, found.near, found.far)
    assert math.isclose(1.29, found.worst)
    assert 1 == found.spearman
    assert found.holds
    assert [Group("copy", 3, pytest.approx(0.1), pytest.approx(1.29), 3)] == groups(fresh, GROUPS["class"])
    assert not verdict(made((100, 170), (200, 200), (300, 301))).holds


def test_spearman_of_ties_and_of_a_reversed_order():
    """Equal values share a rank."""
    assert math.isclose(-1, spearman([1, 2, 3], [9, 5, 1]))
    assert math.isclose(0.9486832980505138, spearman([1, 2, 2, 4], [1, 2, 3, 4]))


def test_constants_name_rows_that_there_are():
    """Whatever a constant was derived from is a case, or the row of a kernel that is not known."""
    keys = {case.key for case in CASES}

    assert {"gemm_tutorial_2"} == DERIVED - keys
    assert all(case_of(row) is not None for row in rows() if "gemm" not in row.op)


@pytest.mark.parametrize(
    ("kernel", "tasks"), [(published.tiled_transpose, 32), (published.piped_transpose, 48)]
)
def test_the_transpositions_transpose(kernel, tasks):
    """The kernels behind the rows compute what their names say."""
    device = mlusim.Device("MLU590-M9")
    src = np.arange(1024 * 1024, dtype=np.float32).reshape(1024, 1024)
    dst = device.empty(src.shape, src.dtype)
    device.launch(kernel, tasks, args=(dst, device.put(src), 1024))

    assert np.array_equal(src.T, device.get(dst))


@pytest.mark.slow
def test_every_row_is_within_the_aims():
    """All published rows are shown, and the aims hold for those that no constant came from."""
    console = Console(file=io.StringIO(), record=True, width=200)
    results = list(judged())

    assert show(results, console)
    assert rows() == [r.row for r in results]
    assert {"MLU270"} == {r.row.platform for r in results if r.predicted is None}
    text = console.export_text()
    for told in ("strided", "one core", "all cores", "MLU2xx", "MLU3xx", "MLU5xx"):
        assert told in text
