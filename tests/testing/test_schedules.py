"""Schedules: which are tried in which order, and what counts as a difference."""

import numpy as np
import pytest

from mlusim.check.checking import check_script
from mlusim.check.schedules import Schedule, ScriptSubject, difference, explore, schedules
from mlusim.errors import Deadlock, OutOfBounds
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import SUCCESS, Run

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
    ) == schedules(2)[:5]
    assert len(schedules(2)) == len(set(schedules(2)))


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
    fault = Deadlock("no task goes on")

    assert "it ends in a fault (no task goes on), not without a fault" == difference(
        OPERATOR, run_with([1]), fault
    )
    assert "it ends without a fault, not in a fault (no task goes on)" == difference(
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


# -- which are compared ----------------------------------------------------------------------------


class Counted:
    """A subject whose outcome is what *gives* makes of the decisions; it remembers the schedules it ran in."""

    name = "counted"

    def __init__(self, choose, gives=lambda taken: 0, *, asynchronous=False):
        self.choose, self.gives, self.late = choose, gives, asynchronous
        self.ran = []

    def outcome(self, effects, director):
        """Ask the director as often as *choose* says, as a launch does."""
        choices = director.begin()
        for _ in range(self.choose):
            choices.land(0, ())
            choices.stop(0)
        self.ran.append((effects, director.taken))
        return self.gives(director.taken)

    def difference(self, usual, other):
        """They differ or not."""
        return None if usual == other else f"{other}, not {usual}"

    def asynchronous(self, _):
        """As it was made."""
        return self.late

    def again(self, seed, effects):
        """Never asked."""
        return f"again with {seed} and {effects}"

    def facts(self):
        """None."""
        return {}


@pytest.mark.parametrize("wanted", [1, 3, 7])
def test_as_many_are_compared_as_are_asked_for(wanted):
    """No two alike, and none like the usual one."""
    subject = Counted(12)
    explored = explore(subject, schedules(wanted), wanted)

    assert (wanted, None) == (explored.compared, explored.finding)
    assert wanted + 1 == len({taken for _, taken in subject.ran})


@pytest.mark.parametrize(("asynchronous", "there"), [(False, 1), (True, 3)])
def test_there_may_be_fewer(asynchronous, there):
    """One place where a task may stop makes one other schedule, or with late and eager effects three."""
    explored = explore(Counted(1, asynchronous=asynchronous), schedules(50), 50)

    assert there == explored.compared


def test_a_difference_is_reduced_and_told():
    """Of all decisions, the one that matters is left."""
    subject = Counted(40, lambda taken: any(decision.point == 7 for decision in taken))
    explored = explore(subject, schedules(20), 20)

    assert [7] == [decision.point for decision in explored.schedule.decisions]
    assert "counted with 1 decision of seed" in explored.finding.message
    assert explored.finding.hint.endswith(f"again with {explored.schedule.seed} and late")


# -- scripts ---------------------------------------------------------------------------------------

SCRIPT = """
import sys

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel


@kernel
def add(mlu, total, values, how):
    a = mlu.nram(float32, 4)
    mlu.memcpy(a, values + 4 * mlu.taskId, 16, GDRAM2NRAM)
    if how == "atomic":
        mlu.bang_atomic_reduce_add(total, a, 4)
    else:
        b = mlu.nram(float32, 4)
        mlu.memcpy(b, total, 16, GDRAM2NRAM)
        mlu.bang_add(b, b, a, 4)
        mlu.memcpy(total, b, 16, NRAM2GDRAM)


how = sys.argv[1]
print("once more")
device = mlusim.Device()
values = np.random.default_rng(None if how == "random" else 1).normal(size=64).astype(np.float32)
total = device.put(np.zeros(4, np.float32))
device.launch(add, 16, args=(total, device.put(values), how))
if how == "host" and device.get(total)[0] != values[::4].astype(np.float32).sum(dtype=np.float32):
    device.launch(add, 16, args=(total, device.put(values), how))
"""


@pytest.fixture
def script(tmp_path):
    """A script that adds up in the way that its argument says."""
    path = tmp_path / "adds.py"
    path.write_text(SCRIPT)
    return str(path)


def test_a_script_with_a_race_differs(script, capsys):
    """What a launch leaves in its tensors; what the script prints goes nowhere."""
    explored = explore(ScriptSubject(script, ("race",)), schedules(4), 4)

    assert f"{script} with " in explored.finding.message
    assert "of 4 elements of argument 0 differ" in explored.finding.message
    assert "in `device.launch`" in explored.finding.hint
    assert "" == capsys.readouterr().out


def test_sums_of_atomics_may_differ_in_the_last_bits(script):
    """As those of operators may."""
    subject = ScriptSubject(script, ("atomic",))
    explored = explore(subject, schedules(6), 6)

    assert (6, None) == (explored.compared, explored.finding)


def test_a_script_that_is_not_steady_is_told(script):
    """Random numbers without a seed say nothing of schedules."""
    done = check_script(script, ("random",), schedules=schedules(1), enough=1)

    assert "it gives something else each time in one schedule" in done.problem
    assert "seed its random numbers" in done.problem
