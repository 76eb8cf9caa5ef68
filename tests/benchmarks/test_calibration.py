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
    Judged,
    Measured,
    Times,
    groups,
    kinds,
    markdown,
    pairs,
    show,
    spearman,
    verdict,
)
from benchmarks.calibration import (
    CASES,
    DERIVED,
    LADDER,
    affine,
    case_of,
    held_out,
    judged,
    key_of,
    of_equal_blocks,
    rows,
    times_of,
)
from benchmarks.public_sources import CONTESTED, device_code


def test_waves_of_unions_scale_exactly():
    """Four waves take what two runs of one and two say."""
    expected = LADDER.run(6, waves=4, steps=4)[0].time_us
    found = affine(lambda n: times_of(LADDER.run(6, waves=n, steps=4)[0]), 1, 4)

    assert math.isclose(expected, found.usual, rel_tol=0.01)


@pytest.mark.parametrize(("number", "body"), [(4, LADDER.blocks), (5, LADDER.three_stages)])
def test_one_of_equal_blocks_stands_for_all(number, body):
    """Two waves of blocks take, to the last digit, what the log of one block says for each of them."""
    launch = LADDER.run(number, waves=2, steps=2)[0]
    times = of_equal_blocks(body, "MLU370-X8", len(launch.tasks), 2)

    assert (launch.time_us, *launch.time_band) == pytest.approx(
        (times.usual, times.low, times.high), rel=1e-9
    )


@pytest.mark.parametrize(("number", "columns"), [(1, 128), (2, 128), (2, 256)])
def test_results_of_scalar_loops_scale_exactly(number, columns):
    """So do the results of a triple loop, and the ends of their bands."""
    launch = LADDER.run(number, results=7, columns=columns)[0]
    found = affine(lambda n: times_of(LADDER.run(number, results=n, columns=columns)[0]), 2, 7)

    assert math.isclose(launch.time_us, found.usual)
    assert launch.time_band == pytest.approx((found.low, found.high), rel=0.05)


def test_columns_of_a_gather_scale_exactly():
    """And the columns of an element-wise transposition."""
    found = affine(lambda n: times_of(published.run_gather_transpose("MLU590-M9", n)), 1, 3)

    assert math.isclose(published.run_gather_transpose("MLU590-M9", 3).time_us, found.usual, rel_tol=1e-3)


@pytest.mark.parametrize("number", range(1, 7))
def test_every_rung_is_right_on_both_generations(number):
    """The result is the product, on MLU370 and on MLU590."""
    for board in ("MLU370-X8", "MLU590-H8"):
        assert LADDER.run(number, board, results=3, steps=2)[1]


def made(*times, held=True, family="", kind="copy"):
    """Rows of measured and predicted times; the band is a tenth on both sides."""
    return [
        Judged(Measured("x", "board", "", m), Times(p, 0.9 * p, 1.1 * p), "", kind, held, family=family)
        for m, p in times
    ]


def test_the_verdict_counts_what_has_a_prediction_and_was_held_out():
    """Median, how many are near, the worst factor, coverage, rank correlation; the other half counts for nothing."""
    fresh = [*made((100, 108), (200, 190), (400, 516)), Judged(Measured("y", "b", "", 1), None, "")]
    found = verdict([*fresh, *made((100, 1000), held=False)])
    (group,) = groups(fresh[:3], GROUPS["class"])

    assert math.isclose(0.08, found.whole.median)
    assert (3, 3, 2) == (found.whole.rows, found.whole.near, found.whole.covered)
    assert math.isclose(1.29, found.whole.worst)
    assert 1 == found.spearman
    assert found.holds
    assert ("copy", 3, 2) == (group.name, group.rows, group.covered)
    assert math.isclose(1.1 / 0.9, group.width)


def test_the_verdict_names_each_aim_that_is_missed():
    """The median, the share that is near, rows far off that nothing explains, bands that cover too little, the order."""
    missed = verdict(made((100, 170), (200, 420), (300, 301), (400, 700), (500, 900), family="f")).missed
    turned = verdict(made((100, 120), (120, 100), (300, 300), family="f")).missed

    assert any("median error is" in words for words in missed)
    assert any("within 30%" in words for words in missed)
    assert any("off by a factor of 2.10" in words for words in missed)
    assert any("cover 20% of 5 rows" in words for words in missed)
    assert any("2 of 3 pairs" in words for words in turned)


def test_the_page_has_every_row_and_names_each_aim_that_is_missed():
    """Those that were held out stand first; what they miss is told beside them."""
    text = markdown([*made((100, 108), (200, 430)), *made((100, 1000), held=False)])
    rows = [line for line in text.splitlines() if line.startswith("| x |")]

    assert ["1.08", "2.15", "10.00"] == [line.split(" | ")[5] for line in rows]
    assert "* x is off by a factor of 2.15, and nothing explains it" in text.splitlines()


def test_a_kind_of_time_is_as_uncertain_as_four_of_five_families():
    """A family counts by its worst row; a row that is explained, and one printed as a digit, say nothing."""
    rows = [
        Judged(Measured(name, "board", "", us), Times(factor * us, 0, 0, "copies"), "", family=name, why=why)
        for name, us, factor, why in (
            *(("a", 100.0, 1.0, ""), ("a", 100.0, 0.5, ""), ("b", 100.0, 1.0, "")),
            *(("c", 2.0, 9.0, ""), ("d", 100.0, 9.0, "known")),
        )
    ]
    (kind,) = kinds(rows)

    assert ("copies", 2) == (kind.name, kind.families)
    assert (2**0.8, 1.0, 2.0) == pytest.approx((kind.factor, kind.least, kind.most))


def test_pairs_are_variants_that_the_card_separates():
    """Two rows of one family that are less than 10 % apart are not a pair, nor are rows of two families."""
    found = list(pairs([*made((100, 90), (105, 80), (200, 70), family="f"), *made((300, 300), family="g")]))

    assert [(100, 200), (105, 200)] == [(p.faster.row.time_us, p.slower.row.time_us) for p in found]
    assert not any(p.right for p in found)


def test_spearman_of_ties_and_of_a_reversed_order():
    """Equal values share a rank."""
    assert math.isclose(-1, spearman([1, 2, 3], [9, 5, 1]))
    assert math.isclose(0.9486832980505138, spearman([1, 2, 2, 4], [1, 2, 3, 4]))


def test_constants_name_rows_that_there_are():
    """Whatever a constant was derived from is a case, or the row of a kernel that is not known."""
    keys = {case.key for case in CASES}

    assert {"gemm_tutorial_2"} == DERIVED - keys
    assert all(case_of(row) is not None for row in rows() if "gemm" not in row.op)


def test_no_constant_comes_from_a_row_that_is_held_out():
    """The rule halves every class by measured time, and no constant names a row of the other half."""
    measured = rows()
    held = {key_of(row) for row, out in zip(measured, held_out(measured), strict=True) if out}

    assert not held & DERIVED
    assert {"022 tm64", "022 tm128", "058 vector sum", "115 unfold", "ball_query 512", "009 conv1d"} <= held
    assert len(held) >= 0.4 * len({key_of(row) for row in measured})


def test_device_code_is_what_the_card_runs():
    """Macros and device functions of a source stay as they are; the host part, which needs torch, is left out."""
    kernel = "__mlu_entry__ void k0(half *x) {\n  if (taskId) {\n    F(1);\n  }\n}"
    text = f"#include <torch/extension.h>\n#define F(a) \\\n  g(a)\n{kernel}\nvoid bang_func() {{\n}}\n"

    assert f"#include <bang.h>\n#define F(a) \\\n  g(a)\n{kernel}\n" == device_code(text)
    assert all(public.commit == commit for commit, public in CONTESTED.items())


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
    """All published rows are shown, and the aims hold for those that were held out; how far bands reach is printed."""
    console = Console(file=io.StringIO(), record=True, width=200)
    results = list(judged())

    show(results, console)
    text = console.export_text()

    assert not [words for words in verdict(results).missed if "the bands of" not in words], text
    assert rows() == [r.row for r in results]
    for told in ("strided", "one core", "all cores", "MLU590-M9", "pairs of variants"):
        assert told in text
