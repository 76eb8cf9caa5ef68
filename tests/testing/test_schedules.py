"""Schedules: which are tried in which order, and what counts as a difference."""

import numpy as np
import pytest

from mlusim.errors import Deadlock, OutOfBounds
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import SUCCESS, Run
from mlusim.testing.schedules import Schedule, difference, schedules

OPERATOR = find_operator("three_interpolate_backward")
OUTPUT = OPERATOR.outputs[0].name


class Launched:
    """What a comparison looks at of a launch: its intrinsics."""

    def __init__(self, *names):
        self.instructions = dict.fromkeys(names, 1)


def run_with(values, *intrinsics, dtype=np.float32):
    """A run whose one output is *values*, made by *intrinsics*."""
    return Run(
        OPERATOR.name, "MLU370-X4", SUCCESS, {OUTPUT: np.array(values, dtype)}, (Launched(*intrinsics),), None
    )


def test_the_default_order_and_small_seeds_come_first():
    """The first that differs is the smallest."""
    assert (
        Schedule(None, "eager"),
        Schedule(0, "late"),
        Schedule(0, "eager"),
        Schedule(1, "late"),
        Schedule(1, "eager"),
    ) == schedules(2)


def test_equal_bits_are_no_difference():
    """NaN equals the same NaN."""
    assert difference(OPERATOR, run_with([1, np.nan]), run_with([1, np.nan])) is None


def test_one_bit_is_a_difference_without_atomics():
    """Zero and minus zero differ; the sentence counts and names the first."""
    told = difference(OPERATOR, run_with([[1, 0], [2, 0]]), run_with([[1, -0.0], [2, -0.0]]))

    assert f"2 of 4 elements of {OUTPUT} differ, the first at [0, 1]: -0.0 instead of 0.0" == told


@pytest.mark.parametrize(("value", "same"), [(1 + 1e-6, True), (1.5, False)])
def test_float_atomics_are_judged_by_the_operators_thresholds(value, same):
    """They add in any order, so that the last bits may differ, and no more than those."""
    told = difference(
        OPERATOR, run_with([1.0], "bang_atomic_reduce_add"), run_with([value], "bang_atomic_reduce_add")
    )

    assert same is (told is None)


def test_integers_are_never_approximate():
    """Integer atomics give the same in any order."""
    one, two = (run_with([n], "bang_atomic_reduce_add", dtype=np.int32) for n in (10**6, 10**6 + 1))

    assert difference(OPERATOR, one, two) is not None


def test_a_fault_on_one_side_is_a_difference():
    """So is another fault; the same kind is none."""
    fault = Deadlock("nobody goes on")

    assert "it ends in a fault (nobody goes on), not without a fault" == difference(
        OPERATOR, run_with([1]), fault
    )
    assert "it ends without a fault, not in a fault (nobody goes on)" == difference(
        OPERATOR, fault, run_with([1])
    )
    assert difference(OPERATOR, fault, OutOfBounds("beyond")) is not None
    assert difference(OPERATOR, fault, Deadlock("again")) is None


def test_another_status_is_a_difference():
    """A host interface that answers by the schedule is wrong."""
    refused = type(SUCCESS).MLUOP_STATUS_BAD_PARAM
    other = Run(OPERATOR.name, "MLU370-X4", refused, {}, (), None)

    assert "the status is MLUOP_STATUS_BAD_PARAM, not MLUOP_STATUS_SUCCESS" == difference(
        OPERATOR, run_with([1]), other
    )
