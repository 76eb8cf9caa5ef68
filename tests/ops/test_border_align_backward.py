"""border_align_backward on its cases: results, memory to the byte, schedules, the public example."""

import numpy as np
import pytest
from bangc_twins import NATIVE
from border_align_tools import BOARDS, NAME, Recorder, exact, expected_of, launched, layout_of, named

import ops
from mlusim.errors import OutOfMemory, StatusError, UsageError
from mlusim.host import Status, TensorDescriptor
from mlusim.operators.accuracy import bit_equal
from mlusim.operators.runner import SourceHandle
from mlusim.plan.claims import Verdict
from ops.border_align_backward.cases import CASES
from ops.border_align_backward.operator import OPERATORS
from ops.border_align_backward.plan import PLAN

LONG = {  # the one scale of over a million instructions: each type on one board
    "network_2x950x4x256_float": "MLU370-X4",
    "network_2x950x4x256_half": "MLU590-H8",
}
RUNS = [
    pytest.param(case, board, id=f"{case.name}-{board}")
    for case in CASES
    for board in BOARDS
    if board in (case.boards or BOARDS) and LONG.get(case.name, board) == board
]
# What the document prints, [C, H, W] of its framework: the operator was called twice on one tensor.
PRINTED = (
    ((0, 4, 24, 48), (0, 12, 0, 0), (0, 0, 0, 0)),
    ((24, 56, 0, 0), (0, 0, 0, 0), (96, 18, 22, 0)),
    ((0, 0, 0, 0), (0, 0, 6, -6), (0, -4, -2, -6)),
    ((0, -2, 16, 12), (0, 0, 0, 0), (0, -4, 0, 0)),
)


@pytest.mark.parametrize(("case", "board"), RUNS)
def test_a_case_has_its_status_and_accuracy(case, board):
    """Every case has the expected status and, where it succeeds, accurate outputs; the longest in BANG C."""
    done = ops.run_case(NAME, case, board=board, engine=NATIVE if case.name in LONG else "auto")

    assert done.passed, (done.status, done.message, done.accuracy)


@pytest.mark.parametrize("label", ["float", "half"])
@pytest.mark.parametrize("board", BOARDS)
def test_golden_of_the_document(label, board):
    """Twice one call is what the document prints."""
    inputs, params = named(f"golden_document_{label}").make(np.random.default_rng(0))
    result = ops.run(NAME, inputs, params, board=board).outputs["grad_input"]

    assert np.array_equal(np.array([PRINTED]), 2 * result.transpose(0, 3, 1, 2))


def test_public_example():
    """A run gives outputs, efficiency and two launches: the fill, then the kernel on the whole board."""
    inputs, params = exact()
    run = ops.run(NAME, inputs, params, board="MLU370-X4", reference=True)

    assert run.status == Status.MLUOP_STATUS_SUCCESS
    assert run.passed
    assert run.outputs["grad_input"].shape == (2, 3, 4, 12)
    assert ["MLUUnion1Fill", "MLUUnion1BorderAlignBackward"] == [launch.kernel for launch in run.launches]
    assert {(4, 8, 1)} == {launch.dim for launch in run.launches}
    assert run.efficiency.io_efficiency > 0


def test_refusals_name_parameter_and_rule():
    """What the host refuses is an error with the status; what it cannot be asked is another."""
    inputs, params = exact()
    with pytest.raises(StatusError, match="boxes_desc dim 1 is 12; it must be 13, H") as refused:
        ops.run(NAME, inputs, params | {"height": 1, "width": 13})
    with pytest.raises(UsageError, match="needs the parameter 'pool_size'"):
        ops.run(NAME, inputs, {"height": 3, "width": 4})

    assert refused.value.status == Status.MLUOP_STATUS_BAD_PARAM


def test_inputs_are_left_alone():
    """The operator reads its inputs and writes only grad_input."""
    inputs, params = exact()
    before = {name: array.copy() for name, array in inputs.items()}
    ops.run(NAME, inputs, params)

    assert all(bit_equal(before[name], inputs[name]) for name in inputs)


def test_nan_corners_are_points_outside():
    """A box with a NaN corner samples nothing; the others are not disturbed."""
    inputs, params = exact()
    inputs["boxes"][0, 5, 2] = np.nan
    run = ops.run(NAME, inputs, params)

    assert bit_equal(expected_of((inputs, params)), run.outputs["grad_input"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_point_on_a_cell_passes_every_bit(dtype):
    """Boxes that are one pixel each carry each gradient to its own cell with weight 1: no bit is lost."""
    height, width, channels = 3, 4, 37
    rng = np.random.default_rng(5)
    y, x = np.divmod(np.arange(height * width), width)
    grads = rng.standard_normal((1, height * width, 4, channels)).astype(dtype)
    inputs = {
        "grad_output": grads,
        "boxes": np.stack([x, y, x, y], axis=1)[None].astype(dtype),
        "argmax_idx": rng.integers(0, 4, grads.shape).astype(np.int32),
    }
    run = ops.run(NAME, inputs, {"pool_size": 3, "height": height, "width": width})

    assert np.array_equal(grads.reshape(1, height, width, 4 * channels), run.outputs["grad_input"])


@pytest.mark.parametrize(("x", "y", "cells"), [(1.5, 2.5, [(2, 1), (2, 2)]), (2.5, 1.5, [(1, 2), (2, 2)])])
def test_behind_the_last_cell_there_is_no_fraction(x, y, cells):
    """At 2.5 of three cells all weight is on the last one; an infinity shows that the other taps weigh 0."""
    inputs, params = exact(1, (3, 3), 1)
    inputs["boxes"][:] = (x, y, x, y)
    inputs["argmax_idx"][:] = 0
    inputs["grad_output"][0, 0, 0, 0] = np.inf
    found = ops.run(NAME, inputs, params).outputs["grad_input"]

    assert cells == list(zip(*np.nonzero(np.isnan(found[0, :, :, 0])), strict=True))
    assert np.array_equal(expected_of((inputs, params)), found, equal_nan=True)


# -- memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("channels", [1, 32, 33, 64, 65, 300])
def test_nram_is_the_plan_to_the_byte(board, dtype, channels):
    """What the kernel declares and what its instructions touch is what the plan says."""
    seen = Recorder()
    layout = layout_of(channels, dtype={"float32": "float", "float16": "half"}[dtype], board=board)
    made = exact(1, (2, 2), channels, 2, dtype=dtype)
    _, launch = launched(made, board=board, observe=[seen])

    assert layout.high_water == launch.memory["NRAM"].high_water
    assert layout.high_water == seen.touched


@pytest.mark.parametrize(
    ("board", "label", "deal_num", "used"),
    [
        ("MLU370-X4", "float", 32736, 654848),
        ("MLU370-X4", "half", 54592, 655232),
        ("MLU590-H8", "float", 19648, 393088),
        ("MLU590-H8", "half", 32704, 392576),
    ],
)
def test_largest_pass_runs_and_a_larger_one_is_refused(board, label, deal_num, used):
    """deal_num of the document is the most that fits; one step more and NRAM is exceeded before any work."""
    seen = Recorder()
    step = 32 if label == "float" else 64
    dtype = {"float": "float32", "half": "float16"}[label]
    made = exact(1, (1, 1), deal_num + step, 1, dtype=dtype)
    full = layout_of(deal_num + step, dtype=label, board=board)
    _, launch = launched(made, board=board, last=full, observe=[seen])
    over = layout_of(deal_num + step, dtype=label, board=board, deal_num=deal_num + step)

    assert (deal_num, used) == (full.values["deal_num"], full.high_water)
    assert used == launch.memory["NRAM"].high_water == seen.touched
    assert not over.fits
    with pytest.raises(OutOfMemory):
        launched(made, board=board, last=over)


def test_channels_never_refuse():
    """However many channels: the host's plan goes in passes, so every C has a layout that fits."""
    layouts = [PLAN.describe("MLU590-H8", dtype="float", C=c) for c in (1, 19648, 19649, 10**6, 2**29)]

    assert [32, 19648, 19648, 19648, 19648] == [layout.values["deal_num"] for layout in layouts]
    assert all(layout.fits for layout in layouts)


# -- schedules ---------------------------------------------------------------------------------------


def test_any_schedule_gives_the_same_bits_where_sums_are_exact():
    """A dozen schedules and eager effects: atomics commute when no sum rounds."""
    made = exact(2, (2, 3), 5, 2, dtype="float16")
    expected = expected_of(made)
    runs = [ops.run(NAME, *made, seed=seed) for seed in range(12)]
    runs.append(ops.run(NAME, *made, effects="eager"))

    assert all(bit_equal(expected, run.outputs["grad_input"]) for run in runs)


def test_sums_have_the_same_bits_whichever_way_the_operator_is_called():
    """Through `ops.run` on both engines, and through the host function on a handle of kernel.mlu: the order of sums is the launch's."""
    inputs, params = named("one_cell_collects_all_float").make(np.random.default_rng(3))
    handle = SourceHandle("MLU370-X4", engine=NATIVE)
    grads, boxes, argmax = (
        handle.device.put(inputs[name]) for name in ("grad_output", "boxes", "argmax_idx")
    )
    images, _, _, channels = grads.shape
    out = handle.device.empty((images, params["height"], params["width"], 4 * channels), np.float32)
    described = [
        (TensorDescriptor(array.shape, array.dtype.c, layout), array)
        for array, layout in ((grads, "NHWC"), (boxes, "ARRAY"), (argmax, "NHWC"), (out, "NHWC"))
    ]
    ops.host.mluOpBorderAlignBackward(
        handle, *described[0], *described[1], *described[2], params["pool_size"], *described[3]
    )
    run = [ops.run(NAME, inputs, params, board="MLU370-X4", engine=engine) for engine in ("python", NATIVE)]

    assert handle.last_error == ""
    assert {handle.device.get(out).tobytes()} == {one.outputs["grad_input"].tobytes() for one in run}


def test_schedules_differ_only_by_rounding():
    """Where sums round, the order of the atomics shows in the last bits and stays inside the thresholds."""
    case = named("one_cell_collects_all_float")
    made = case.make(np.random.default_rng(3))
    expected = expected_of(made)
    found = [ops.run(NAME, *made, seed=seed).outputs["grad_input"] for seed in range(12)]

    assert all(np.allclose(expected, one, rtol=1e-5, atol=1e-5) for one in found)
    assert len({one.tobytes() for one in found}) > 1


def test_operator_lists_its_plan_and_cases():
    """What the catalogue shows: one operator with its plan, whose document formula agrees with it."""
    [operator] = OPERATORS
    comparison = [PLAN.compare(PLAN.claims[0], board=board, dtype="half", C=10**6) for board in BOARDS]

    assert (PLAN,) == operator.plans
    assert len(CASES) == len(operator.cases)
    assert {Verdict.SAME} == {row.verdict for row in comparison}
