"""three_interpolate_backward run through the host interface: cases, examples, schedules, tiles."""

import numpy as np
import pytest
from bangc_twins import NATIVE
from hypothesis import given, settings, strategies as st
from three_interpolate_tools import UNIT, expected_of, integers, is_right, launched

import ops
from mlusim import DEFAULT_BOARDS
from mlusim.errors import StatusError, UsageError
from mlusim.host import Status
from mlusim.operators.runner import run_case
from ops.three_interpolate_backward.cases import CASES
from ops.three_interpolate_backward.operator import OPERATORS
from ops.three_interpolate_backward.tiles import document_tiles, shipped_tiles

NAME = "three_interpolate_backward"
# Millions of row additions: they run in the file of the network scales.
MILLIONS = ("case_4", "case_7", "case_10")
QUICK = [case for case in CASES if not case.long and case.name.removesuffix("_half") not in MILLIONS]


@pytest.mark.parametrize("board", DEFAULT_BOARDS)
@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_a_case_has_its_status_and_accuracy(case, board):
    """The host interface answers as the case says, and its output is as accurate as the document asks."""
    in_c = case.group == "network" and (board != DEFAULT_BOARDS[0] or case.name.endswith("_half"))
    run = run_case(OPERATORS[0], case, board=board, engine=NATIVE if in_c else "auto")

    assert case.status == run.status
    assert run.passed
    assert (run.status == Status.MLUOP_STATUS_SUCCESS) == bool(run.accuracy)


def test_the_public_call():
    """`ops.run` takes arrays and m, and gives grad_features, the efficiency and the launch."""
    inputs = integers((2, 5, 9, 6))

    run = ops.run(NAME, inputs, {"m": 6}, board="MLU370-X4")

    assert Status.MLUOP_STATUS_SUCCESS == run.status
    assert np.array_equal(expected_of(inputs, 6), run.outputs["grad_features"])
    assert (9 * 2 * 5 * 9) == run.efficiency.theory_ops
    assert ["MLUUnion1ThreeInterpolateBackward"] == [launch.kernel for launch in run.launches]


def test_what_the_host_refuses_is_raised_as_a_sentence():
    """A refused call raises `StatusError` that names the parameter; a missing m is a usage error."""
    inputs = integers((2, 5, 9, 6))

    with pytest.raises(StatusError, match="grad_features_desc: M") as caught:
        ops.run(NAME, inputs, {"m": 0})
    with pytest.raises(UsageError, match="'m'"):
        ops.run(NAME, inputs)

    assert Status.MLUOP_STATUS_BAD_PARAM == caught.value.status


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_schedules_give_the_same_bits(dtype):
    """No two cores write the same feature, so the order in which they run cannot show."""
    inputs = integers((3, 5, 40, 70), dtype=dtype)
    first, _ = launched(inputs, 70, (UNIT[dtype],) * 3)

    for seed in range(12):
        found, _ = launched(inputs, 70, (UNIT[dtype],) * 3, seed=seed)

        assert np.array_equal(first, found)


def test_eager_effects_give_the_same_bits():
    """The kernel waits for every copy, so it does not matter when effects land."""
    inputs = integers((3, 5, 40, 70))

    late = ops.run(NAME, inputs, {"m": 70}, effects="late").outputs["grad_features"]
    eager = ops.run(NAME, inputs, {"m": 70}, effects="eager").outputs["grad_features"]

    assert np.array_equal(late, eager)
    assert np.array_equal(expected_of(inputs, 70), eager)


@st.composite
def calls(draw):
    """Draw a shape with tails, tiles of one or two units, a dtype and the indices' reach."""
    b, c, n, m = draw(st.tuples(st.integers(1, 3), *(st.integers(1, 70),) * 3))
    dtype = draw(st.sampled_from(["float32", "float16"]))
    tiles = tuple(UNIT[dtype] * draw(st.integers(1, 2)) for _ in range(3))
    inputs = integers((b, c, n, m), dtype=dtype, seed=draw(st.integers(0, 99)))
    inputs["indices"] += np.int32(draw(st.sampled_from([0, 0, -3, 5, 2**31 - 71])))
    return inputs, m, tiles


@given(calls(), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_any_tiles_on_any_cores_give_the_sum_of_the_definition(call, clusters):
    """Small integers are exact in both dtypes: tiles, tails and the split over cores change nothing."""
    inputs, m, tiles = call

    found, _ = launched(inputs, m, tiles, clusters=clusters)

    assert np.array_equal(expected_of(inputs, m), found)


@pytest.mark.parametrize("board", DEFAULT_BOARDS)
@pytest.mark.parametrize("shape", [(2, 100, 300, 200), (1, 300, 40, 50)])
def test_the_shipped_tiles_give_the_same_sums_with_less_traffic(shape, board):
    """Another tile policy changes the order of summation only; M first reads grad_output less often."""
    b, c, n, m = shape
    inputs = integers(shape)
    chosen = document_tiles(board, "float32", C=c, N=n, M=m)
    shipped = shipped_tiles(board, "float32", B=b, C=c, N=n, M=m)

    first, _ = launched(inputs, m, (chosen.Co, chosen.No, chosen.Mo), board=board)
    second, _ = launched(inputs, m, (shipped.Co, shipped.No, shipped.Mo), board=board)

    assert np.array_equal(expected_of(inputs, m), first)
    assert np.array_equal(first, second)


def test_an_output_that_holds_something_is_overwritten():
    """Features that no index names become 0, whatever was there."""
    inputs = integers((2, 3, 4, 90))
    inputs["indices"][:] = 89

    found, _ = launched(inputs, 90, (32, 32, 32))

    assert not found[:, :, :89].any()
    assert is_right(found, inputs, 90)
