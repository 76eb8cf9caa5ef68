"""dynamic_scatter_backward run through the host interface: cases, examples, schedules, plan, sequence."""

import numpy as np
import pytest
from dynamic_scatter_tools import MAX, Recorder, expected_winners, inputs_of, is_right, winners_of
from hypothesis import given, settings, strategies as st

import ops
import ops.host
from mlusim import DEFAULT_BOARDS
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.runner import run_case
from ops.dynamic_scatter_backward.cases import CASES
from ops.dynamic_scatter_backward.host import nram_layout, workspace_bytes
from ops.dynamic_scatter_backward.kernel import max_reduce_traceback_scatter_idx_kernel
from ops.dynamic_scatter_backward.operator import OPERATORS
from ops.dynamic_scatter_backward.plan import PLAN

NAME = "dynamic_scatter_backward"
KERNELS = ["max_reduce_traceback_scatter_idx_kernel", "max_reduce_scatter_grad_kernel"]


RUNS = [
    pytest.param(case, board, id=f"{case.name}-{board}")
    for case in CASES
    for board in DEFAULT_BOARDS
    if board in (case.boards or DEFAULT_BOARDS)
]


@pytest.mark.parametrize(("case", "board"), RUNS)
def test_a_case_has_its_status_and_exact_output(case, board):
    """The host interface answers as the case says, and the output is that of the definition (diff3 = 0)."""
    run = run_case(OPERATORS[0], case, board=board)

    assert case.status == run.status
    assert run.passed
    assert (run.status == Status.MLUOP_STATUS_SUCCESS) == bool(run.accuracy)


def test_what_every_case_checks():
    """No case is left out: each runs on at least one board, those of a board on that board."""
    assert {case.name for case in CASES} == {run.values[0].name for run in RUNS}


@pytest.mark.parametrize(
    "name", ["vendor_34x34x5", "ties", "padded_rows_match", "voxel_of_nan", "half_unmapped"]
)
def test_the_memory_checkers_find_nothing(name):
    """The stale rows of points without voxel are compared and never stored."""
    case = next(case for case in CASES if case.name == name)
    run = run_case(OPERATORS[0], case, observe=["memcheck", "initcheck"])

    assert run.passed
    assert () == run.findings


def test_the_public_call():
    """`ops.run` takes arrays and "max", and gives grad_feats, the efficiency and both kernels' launches."""
    inputs = inputs_of([0, 0, -1, 1, 1, 2], 5)

    run = ops.run(NAME, inputs, MAX, board="MLU370-X4")

    assert Status.MLUOP_STATUS_SUCCESS == run.status
    assert is_right(run, inputs)
    assert (3 * 5 + 6 * 5) == run.efficiency.theory_ops
    assert KERNELS == [launch.kernel for launch in run.launches][-2:]
    assert workspace_bytes(6, 5) == run.workspace
    assert is_right(ops.run(NAME, inputs), inputs)


def test_gradients_keep_their_bits():
    """NaN, infinities and negative zeros arrive as they are: nothing is added to them."""
    inputs = inputs_of([0, 1, 1, 2], 4)
    inputs["grad_voxel_feats"][:] = np.array([np.nan, np.inf, -0.0, -np.inf], np.float32)
    inputs["grad_voxel_feats"].view(np.uint32)[0, 0] = 0x7FC12345

    assert is_right(ops.run(NAME, inputs, MAX), inputs)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_small_shapes(data):
    """Any map with any number of voxels in use, on any schedule, gives the definition's gradients."""
    rows = data.draw(st.integers(1, 5))
    voxel_of = data.draw(st.lists(st.integers(-1, rows - 1), min_size=rows, max_size=40))
    width, levels = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    voxels = max(voxel_of) + 1 + data.draw(st.integers(0, rows - max(voxel_of) - 1))
    inputs = inputs_of(voxel_of, width, rows, voxels=voxels, levels=levels)
    board = data.draw(st.sampled_from(DEFAULT_BOARDS))

    assert is_right(ops.run(NAME, inputs, MAX, board=board, seed=data.draw(st.integers(0, 9))), inputs)


# -- several tasks, one voxel ------------------------------------------------------------------


def test_schedules_give_the_same_bits():
    """Whichever task gets the flag first, the smallest point wins; and tasks do meet at the flag."""
    inputs = inputs_of([0] * 40 + [1] * 3 + [-1], 6, levels=2)
    points = 43

    tries = []
    for seed in range(12):
        run = ops.run(NAME, inputs, MAX, seed=seed)
        assert is_right(run, inputs)
        counts = run.launches[3].instructions
        assert points == counts["__bang_atomic_exch"]
        tries.append(counts["__bang_atomic_cas"] - points)

    assert min(tries) >= 0
    assert sum(failed > 0 for failed in tries) > 8
    assert len(set(tries)) > 4


def test_contention_without_a_seed():
    """The default schedule switches at every atomic, so that all tasks contend for one voxel."""
    inputs = inputs_of([0] * 64, 3, levels=1)

    run = ops.run(NAME, inputs, MAX)
    counts = run.launches[3].instructions

    assert is_right(run, inputs)
    assert counts["__bang_atomic_cas"] > counts["__bang_atomic_exch"] == 64


@pytest.mark.parametrize("seed", [None, 3])
def test_eager_effects_give_the_same_bits(seed):
    """Asynchronous copies that land at once change nothing."""
    inputs = inputs_of([0] * 30 + [1, -1] * 9, 7, levels=2)

    run = ops.run(NAME, inputs, MAX, effects="eager", seed=seed)

    assert is_right(run, inputs)
    assert run.launches[4].effects == "eager"


def test_the_flags_are_free_again_afterwards():
    """Every acquire is followed by its release: the flags behind reduce_from are all free in the end."""
    handle = Handle()
    inputs = inputs_of([0, 1, 1, 0, 2, -1, 2, 2] * 6, 4, levels=2)
    tensors = {name: handle.device.put(array) for name, array in inputs.items()}
    rows, width = inputs["voxel_feats"].shape
    size = workspace_bytes(rows, width)
    workspace = handle.device.empty((size // 4,), "int32")
    output = handle.device.empty(inputs["feats"].shape, "float")
    given = [
        value
        for tensor in OPERATORS[0].inputs
        for value in (_described(tensors[tensor.name]), tensors[tensor.name])
    ]

    status = ops.host.mluOpDynamicScatterBackward(
        handle, "max", *given, workspace, size, _described(output), output
    )
    left = handle.device.get(workspace)

    assert Status.MLUOP_STATUS_SUCCESS == status
    assert not left[rows * width :].any()
    assert np.array_equal(expected_winners(inputs), left[: rows * width].reshape(rows, width))


def _described(tensor):
    """Return the descriptor of a device tensor."""
    return TensorDescriptor(tensor.shape, tensor.dtype)


@pytest.mark.parametrize("points_per_pass", [1, 2, 3, 7, 100])
def test_any_number_of_points_per_pass(points_per_pass):
    """Passes of any size, with a short last one, find the same points."""
    inputs = inputs_of([0, 1, -1, 2, 1, 0, 2, 2, -1, 0] * 3, 5, levels=2)
    found = winners_of(max_reduce_traceback_scatter_idx_kernel, inputs, points_per_pass)

    assert np.array_equal(expected_winners(inputs), found)


# -- plan and memory ---------------------------------------------------------------------------

PLANNED = [
    ("MLU370-X4", "ties", 7),
    ("MLU370-X4", "pass_full_MLU370-X4", 6),
    ("MLU370-X4", "pass_full_and_one_MLU370-X4", 6),
    ("MLU590-H8", "pass_two_MLU590-H8", 3),
    ("MLU370-X4", "widest_MLU370-X4", 1),
    ("MLU590-H8", "widest_MLU590-H8", 1),
    ("MLU590-H8", "points_49", 2),
]


@pytest.mark.parametrize(("board", "name", "points_per_pass"), PLANNED)
def test_nram_is_the_plan_to_the_byte(board, name, points_per_pass):
    """Each kernel declares its stage of the plan, and touches it to the last byte."""
    case = next(case for case in CASES if case.name == name)
    recorder = Recorder()
    run = run_case(OPERATORS[0], case, board=board, observe=[recorder], reference=False)
    inputs, _ = case.make(np.random.default_rng(0))
    (points, width), rows = inputs["feats"].shape, len(inputs["voxel_feats"])
    layout = nram_layout(Handle(board), points, rows, width)
    used = [layout.stage(stage).used for stage in ("points", "voxels")]

    assert points_per_pass == layout.values["n"]
    assert layout.fits
    assert used == [launch.memory["NRAM"].high_water for launch in run.launches[-2:]]
    assert used == [highest["NRAM"] for highest in recorder.highest[-2:]]
    assert layout.high_water == run.memory["NRAM"].high_water


@pytest.mark.parametrize(("board", "used"), [("MLU370-X4", 654332), ("MLU590-H8", 392804)])
def test_nram_of_the_network_scale(board, used):
    """At the document's scale the first kernel takes as many points per pass as its plan holds."""
    run = run_case(OPERATORS[0], CASES[0], board=board, reference=False)

    assert used == run.memory["NRAM"].high_water == run.launches[-2].memory["NRAM"].high_water
    assert used + 20 * 128 + 4 > run.memory["NRAM"].capacity


def test_points_per_pass_of_the_document():
    """The published chunk sizes follow from the plan; one more point would not fit."""
    for board, width, expected in [("MLU370-X4", 128, 255), ("MLU590-H8", 128, 153), ("MLU370-X4", 5, 6301)]:
        largest = PLAN.largest("n", board=board, C=width)

        assert expected == largest.largest
        assert largest.used_at_next > largest.capacity


# -- the sequence of the listing ---------------------------------------------------------------


def first_kernel(voxel_of, start, count, n, c):
    """Return what the document's listing does for *count* points from *start*, n at a time, corrected."""
    row = c * 4
    listing = [("bang_write_value", row)] * min(n, count)
    for at in range(start, start + count, n):
        now = min(n, start + count - at)
        inside = [voxel for voxel in voxel_of[at : at + now] if voxel != -1]
        if at != start:
            listing.append(("bang_add_scalar", now * row))
        listing.append(("memcpy GDRAM2NRAM", now * 4))
        listing.append(("memcpy_async GDRAM2NRAM", now * row))
        listing += [("memcpy_async GDRAM2NRAM", row)] * len(inside)
        listing.append(("__sync_io", 0))
        masks = ("bang_eq", "bang_float2int32", "bang_not", "bang_mul", "bang_mul_scalar", "bang_add")
        listing += [(name, now * row) for name in masks]
        for _ in inside:
            listing += [
                ("bang_atomic_cas", 8),
                ("memcpy GDRAM2NRAM", row),
                ("bang_minimum", row),
                ("memcpy NRAM2GDRAM", row),
                ("bang_atomic_exch", 8),
            ]
    return listing


def second_kernel(winners, start, count, m, c, points):
    """Return what scattering *count* voxels from *start* takes, m at a time: one row per point that won."""
    row = c * 4
    listing = []
    for at in range(start, start + count, m):
        now = min(m, start + count - at)
        listing += [("memcpy GDRAM2NRAM", now * row)] * 2
        for voxel in range(at, at + now):
            listing.append(("bang_ne_scalar", row))
            for _ in set(winners[voxel]) - {points}:
                listing.append(("bang_findfirst1", 0))
                names = ("bang_eq_scalar", "bang_mul_scalar", "bang_add", "bang_band", "memcpy NRAM2GDRAM")
                listing += [(name, row) for name in names]
            listing.append(("bang_findfirst1", 0))
    return listing


def shares(total, tasks):
    """Return (first, number) of each task's even share."""
    sizes = [total // tasks + (task < total % tasks) for task in range(tasks)]
    return [(sum(sizes[:task]), size) for task, size in enumerate(sizes)]


@pytest.mark.parametrize(("board", "tasks", "width"), [("MLU370-X4", 32, 12000), ("MLU590-H8", 48, 7000)])
def test_the_sequence_is_that_of_the_listing(board, tasks, width):
    """Copies, vector instructions, syncs and atomics come in the listing's order, task by task.

    Each task has nine points and six voxels, and a voxel's points are of one task, so that none contend.
    """
    points, rows = 9 * tasks - 1, 6 * tasks
    voxel_of = (np.arange(points) // 9) * 6 + np.arange(points) % 9 % 6
    voxel_of[4::11] = -1
    inputs = inputs_of(voxel_of, width, rows, levels=2)
    recorder = Recorder()
    ops.run(NAME, inputs, MAX, board=board, observe=[recorder])
    first, second = recorder.launches[-2:]
    winners = expected_winners(inputs)

    assert tasks == len(first) == len(second)
    for task, (start, count) in enumerate(shares(points, tasks)):
        assert first_kernel(voxel_of, start, count, 2, width) == first[task]
    for task, (start, count) in enumerate(shares(rows, tasks)):
        assert second_kernel(winners, start, count, 5, width, points) == second[task]
