"""dynamic_scatter_backward by the document's first scheme, and the two schemes side by side."""

import numpy as np
import pytest
from dynamic_scatter_tools import MAX, Recorder, expected_winners, inputs_of, is_right

import ops
from mlusim.errors import OutOfBounds
from mlusim.host import Handle
from mlusim.operators.runner import run_case
from ops.dynamic_scatter_backward.cases import CASES
from ops.dynamic_scatter_backward.host import nram_layout
from ops.dynamic_scatter_backward.kernel import max_reduce_traceback_scatter_idx_kernel
from ops.dynamic_scatter_backward.operator import OPERATORS
from ops.dynamic_scatter_backward.plan import DIRECT, PLAN
from ops.dynamic_scatter_backward.schemes import plan_of

NAME = "dynamic_scatter_backward"
ATOMIC = "__bang_atomic_reduce_min"
BOARDS = ("MLU370-X4", "MLU590-H8")
GROUPS = ("golden", "boundary", "random", "zero")
TOO_WIDE = "wider_than_widest"  # of scheme 2; scheme 1 keeps a row less on chip, and takes it


def case_called(name):
    """Return the case with that name."""
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize("name", [case.name for case in CASES if case.group in GROUPS])
def test_every_case_by_atomic_minima(name):
    """The first scheme answers and computes what the second does."""
    case = case_called(name)
    run = run_case(OPERATORS[0], case, policy="atomic")

    assert case.status == run.status
    assert run.passed


@pytest.mark.parametrize("board", BOARDS)
def test_a_row_that_only_the_first_scheme_has_room_for(board):
    """Without the row of results wider channels fit; the sentence of a refusal has the scheme's own limit."""
    widest = DIRECT.largest("C", board=board).largest
    case = case_called(f"{TOO_WIDE}_{board}")
    run = run_case(OPERATORS[0], case, board=board, policy="atomic")
    handle = Handle(board, policy="atomic")

    assert PLAN.largest("C", board=board).largest < widest
    assert run.status.name == "MLUOP_STATUS_SUCCESS"
    assert nram_layout(handle, 3, 2, widest).fits
    assert not nram_layout(handle, 3, 2, widest + 1).fits


def test_no_flags_and_no_results_on_chip():
    """Four launches instead of five, an atomic minimum for each mapped point, and nothing of the lock."""
    inputs = inputs_of([0, 0, -1, 1, 1, 2] * 5, 6)
    recorder = Recorder()
    run = ops.run(NAME, inputs, MAX, policy="atomic", observe=[recorder])
    counts = run.launches[2].instructions

    assert is_right(run, inputs)
    assert len(run.launches) == 4
    assert counts[ATOMIC] == 25
    assert not {"__bang_atomic_cas", "__bang_atomic_exch", "__bang_minimum"} & set(counts)
    assert {plan.plan for plan in run.layouts} == {DIRECT.name}
    assert run.layouts[0].stage("points").used == recorder.highest[2]["NRAM"]


@pytest.mark.parametrize("seed", range(12))
def test_any_schedule_gives_the_same_bits(seed):
    """Minima do not depend on their order, and each is indivisible."""
    inputs = inputs_of([0] * 40 + [1] * 3 + [-1], 6, levels=2)

    assert is_right(ops.run(NAME, inputs, MAX, policy="atomic", seed=seed), inputs)


@pytest.mark.parametrize("name", ["vendor_34x34x5", "ties", "voxel_of_nan", "half_unmapped"])
def test_the_checkers_find_nothing(name):
    """No race, nothing undefined, nothing outside the plan."""
    checks = ["memcheck", "initcheck", "racecheck", "synccheck", "plancheck"]
    run = run_case(OPERATORS[0], case_called(name), policy="atomic", observe=checks)

    assert run.passed
    assert [] == [finding for finding in run.findings if finding.level == "error"]


def test_ds_6_in_the_first_scheme():
    """A point without voxel would take its row into what lies in front of the results."""
    inputs = inputs_of([0, -1, 0], 4)
    inputs["point2voxel_map"][1] = len(inputs["voxel_feats"]) + 9

    with pytest.raises(OutOfBounds):
        ops.run(NAME, inputs, MAX, policy="atomic")


def test_winners_are_those_of_the_definition():
    """reduce_from, not only the gradients: the smallest point of each maximum, N where there is none."""
    handle = Handle(policy="atomic")
    inputs = inputs_of([0, 1, 1, 0, 2, -1, 2, 2] * 6, 4, levels=2)
    tensors = {name: handle.device.put(array) for name, array in inputs.items()}
    rows, width = inputs["voxel_feats"].shape
    points = len(inputs["feats"])
    layout = nram_layout(handle, points, rows, width)
    found = handle.device.put(np.full((rows, width), points, np.int32))
    handle.launch(
        max_reduce_traceback_scatter_idx_kernel,
        (4, 1, 1),
        args=(
            tensors["feats"],
            tensors["voxel_feats"],
            found,
            tensors["point2voxel_map"],
            None,
            points,
            width,
            layout,
        ),
    )

    assert np.array_equal(expected_winners(inputs), handle.device.get(found))


def test_which_scheme_is_faster():
    """Atomic minima win where several tasks want one voxel; the lock where few points have rows that fill the NRAM."""
    time = {
        (name, policy): run_case(OPERATORS[0], case_called(name), policy=policy).efficiency.hardware_time_us
        for name in ("one_voxel", "widest_MLU370-X4")
        for policy in ("flags", "atomic")
    }

    assert time["one_voxel", "atomic"] < time["one_voxel", "flags"] / 2
    assert time["widest_MLU370-X4", "flags"] < time["widest_MLU370-X4", "atomic"]


def test_the_listing_is_what_runs_without_a_choice():
    """The document's listing is its second scheme."""
    assert plan_of(None) is plan_of("flags") is PLAN
    assert plan_of("atomic") is DIRECT
