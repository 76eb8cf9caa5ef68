"""plancheck: what a kernel does to its buffer, held against the plan."""

import pytest
from observe_tools import floats, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int8, kernel
from mlusim.observe.plancheck import PlanCheck
from mlusim.plan import Plan, Region, Stage, Var

n = Var("n")
PLAN = Plan(
    "sum of two",
    [
        Stage("load", [Region("left", n, float32), Region("right", n, float32)]),
        Stage("add", [Region("total", n, float32)]),
    ],
    example={"n": 64},
)
BOARD = "MLU370-X4"


def layout():
    """The plan for 64 elements: left, right, and total over left."""
    return PLAN.layout(BOARD, n=64)


def add(mlu, dst, src, layout, loaded=64, at=0, declared=0):
    buffer = mlu.nram(int8, layout.high_water + 512)
    if declared:
        mlu.nram(int8, declared)
    nram = PLAN.place(buffer, n=64)
    mlu.memcpy(nram.left + at, src, loaded * 4, GDRAM2NRAM)  # load left
    mlu.memcpy(nram.right, src, 256, GDRAM2NRAM)
    mlu.bang_add(nram.left, nram.left, nram.right, 64)
    mlu.memcpy(dst, nram.left, 256, NRAM2GDRAM)


def _found(*args, observe=("plancheck",), given=None):
    device = mlusim.Device(BOARD)
    tensors = (device.put(floats(1024)), device.put(floats(1024)))
    return device.launch(kernel(add), args=(*tensors, given or layout(), *args), observe=observe).findings


def test_a_kernel_that_keeps_to_its_plan_is_silent():
    """Every operand lies in one region."""
    assert () == _found()


def test_an_operand_that_runs_into_the_next_region():
    """Region, offsets, intrinsic and line are named."""
    (finding,) = _found(65)

    assert ("plancheck-crosses-regions", line_of(add, "load left")) == (finding.id, finding.line)
    assert "__memcpy takes 260 bytes and leaves region" in finding.message
    assert "byte 0 of left (stage load, 256 bytes)" in finding.context[0]
    assert "byte 3 of right (stage load)" in finding.context[1]


def test_slack_behind_the_plan():
    """Bytes of the buffer that no region of any stage has."""
    (finding,) = _found(4, 130)

    assert ("plancheck-slack", line_of(add, "load left")) == (finding.id, finding.line)
    assert [520, 536] == finding.facts["bytes"]


def test_several_whole_regions_at_once_are_one_operand():
    """A copy of left and right together, to the byte, is what neighbours are for; one element more is not."""
    assert () == _found(128)
    assert ["plancheck-crosses-regions"] == [f.id for f in _found(129)]


def test_declaring_more_than_the_plan_has():
    """A second declaration beside the plan's buffer counts into the high-water mark."""
    (finding,) = _found(64, 0, 4096)

    assert "plancheck-high-water" == finding.id
    assert (layout().high_water, layout().high_water + 512 + 4096) == (
        finding.facts["planned"],
        finding.facts["declared"],
    )


def test_unused_regions_are_a_note_on_request():
    """Stage add was never entered by its own bytes: total lies over left and right and counts as touched."""
    bigger = Plan(
        "with a spare",
        [Stage("load", [*PLAN.stages[0].regions, Region("spare", n, float32)])],
        example={"n": 64},
    )
    given = bigger.layout(BOARD, n=64)
    check = PlanCheck(given, notes=True)

    (note,) = _found(observe=[check])

    assert ("plancheck-unused-region", "note", "spare") == (note.id, note.level, note.facts["region"])
    assert (512, 768) == (check.touched, check.planned)
    assert () == _found(observe=[PlanCheck(given)])


def test_without_a_plan_there_is_nothing_to_hold_against():
    """A launch without a layout is not watched."""

    @kernel
    def plain(mlu, src):
        mlu.memcpy(mlu.nram(float32, 64), src, 256, GDRAM2NRAM)

    device = mlusim.Device()
    launch = device.launch(plain, args=(device.put(floats(64)),), observe=["plancheck"])

    assert () == launch.findings


@pytest.mark.parametrize("tasks", [1, 4])
def test_the_same_statement_in_every_task_is_one_finding(tasks):
    """Folded, with its count."""
    device = mlusim.Device(BOARD)
    args = (device.put(floats(1024)), device.put(floats(1024)), layout(), 65)

    (finding,) = device.launch(kernel(add), (tasks, 1, 1), args=args, observe=["plancheck"]).findings

    assert tasks == finding.count
