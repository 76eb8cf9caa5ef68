"""Plans that a kernel places with plain numbers: the machine, plancheck, faults and pointers know them."""

import numpy as np
import pytest
from observe_tools import floats, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, int8, kernel
from mlusim.check.checking import check_script, report_of
from mlusim.check.formats import junit, summary
from mlusim.errors import LaunchError, OutOfBounds
from mlusim.observe.plancheck import PlanCheck
from mlusim.plan import Plan, Region, Stage, Var

n, c = Var("n"), Var("c")
PLAN = Plan("tiles", [Stage("all", [Region("x", n * c, float32), Region("y", n * c, float32)])])
INNER = Plan("inner", [Stage("all", [Region("half", n, float32), Region("rest", n, float32)])])
BOARD = "MLU370-X4"


def tiles(mlu, dst, src, over=0, at=0):
    buffer = mlu.nram(int8, 8192)
    for rows in (4, 3):
        tile = PLAN.place(buffer + at, n=rows, c=8)
        mlu.memcpy(tile.x, src, (rows * 8 + over) * 4, GDRAM2NRAM)  # load x
        mlu.memcpy(tile.y, src, rows * 8 * 4, GDRAM2NRAM)
        mlu.bang_add(tile.x, tile.x, tile.y, rows * 8)
        mlu.memcpy(dst, tile.x, rows * 8 * 4, NRAM2GDRAM)


def _launch(body, *args, observe=("plancheck",), **more):
    device = mlusim.Device(BOARD)
    tensors = (device.empty(256, np.float32), device.put(floats(256)))
    return device.launch(kernel(body), args=(*tensors, *args), observe=observe, **more)


@pytest.mark.parametrize("at", [0, 512])
def test_one_element_too_many_in_a_placed_tile(at):
    """The first operand behind its region is found in each tile, wherever in the buffer the plan was placed."""
    (finding,) = _launch(tiles, 1, at).findings

    assert ("plancheck-crosses-regions", line_of(tiles, "load x"), 2) == (
        finding.id,
        finding.line,
        finding.count,
    )
    assert "leaves region x by 4 bytes" in finding.message


@pytest.mark.parametrize("at", [0, 512])
def test_a_kernel_that_keeps_to_its_tiles_is_silent(at):
    """The second tile has other offsets than the first; both are right."""
    launch = _launch(tiles, 0, at)

    assert () == launch.findings
    assert launch[PlanCheck].checked


def test_the_last_tile_is_held_against_its_own_offsets():
    """A pointer of the first tile that is kept for the second reaches into a region of it."""

    def stale(mlu, dst, src):
        buffer = mlu.nram(int8, 8192)
        old = PLAN.place(buffer, n=4, c=8)
        mlu.memcpy(old.x, src, 128, GDRAM2NRAM)
        mlu.memcpy(old.y, src, 128, GDRAM2NRAM)
        fresh = PLAN.place(buffer, n=3, c=8)
        mlu.memcpy(fresh.x, src, 96, GDRAM2NRAM)
        mlu.memcpy(dst, old.y, 96, NRAM2GDRAM)  # stale

    (finding,) = _launch(stale).findings

    assert ("plancheck-crosses-regions", line_of(stale, "# stale")) == (finding.id, finding.line)


def test_a_plan_within_a_region_of_another():
    """The outer plan goes on beside the inner one, even where both begin at one byte."""

    def nested(mlu, dst, src):
        outer = PLAN.place(mlu.nram(int8, 8192), n=4, c=8)
        inner = INNER.place(outer.x, n=16)
        mlu.memcpy(inner.half, src, 64, GDRAM2NRAM)
        mlu.memcpy(inner.rest, src, 64, GDRAM2NRAM)
        mlu.memcpy(outer.y, outer.x, 128, NRAM2NRAM)
        mlu.memcpy(dst, outer.y, 128, NRAM2GDRAM)

    assert () == _launch(nested).findings


def test_a_launch_that_is_given_its_plan():
    """`launch(layout=)` names the plan of a kernel that takes no layout and places nothing."""

    def plain(mlu, dst, src, count):
        buffer = mlu.nram(float32, 64)
        mlu.memcpy(buffer, src, count * 4, GDRAM2NRAM)  # load
        mlu.memcpy(buffer + 32, src, 128, GDRAM2NRAM)
        mlu.memcpy(dst, buffer, 128, NRAM2GDRAM)

    layout = PLAN.layout(BOARD, n=4, c=8)
    (finding,) = _launch(plain, 33, layout=layout).findings

    assert ("plancheck-crosses-regions", line_of(plain, "# load")) == (finding.id, finding.line)
    assert () == _launch(plain, 32, layout=layout).findings
    with pytest.raises(LaunchError, match="is not a layout; give what PLAN.layout"):
        _launch(plain, 32, layout=PLAN)


def test_a_fault_names_the_region_of_a_placed_plan():
    """The finding of memcheck says in which region the operand begins."""

    def outside(mlu, dst, src):
        del dst
        tile = PLAN.place(mlu.nram(int8, 256), n=4, c=8)
        mlu.memcpy(tile.y + 8, src, 128, GDRAM2NRAM)

    with pytest.raises(OutOfBounds) as caught:
        _launch(outside, observe=["memcheck"])

    assert "in the plan it begins in region y of stage all, byte 32" in str(caught.value.findings[0].context)


def test_a_pointer_says_its_region():
    """The text of a pointer names the region of the plan that the kernel placed."""
    texts = []

    def told(mlu, dst, src):
        del dst, src
        texts.append(repr(PLAN.place(mlu.nram(int8, 256), n=4, c=8).y + 1))

    _launch(told, observe=())

    assert "region y+0x4" in texts[0]


SCRIPT = """
import numpy as np
import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel

@kernel
def copy(mlu, dst, src):
    buffer = mlu.nram(float32, 64)
    mlu.memcpy(buffer, src, 256, GDRAM2NRAM)
    mlu.memcpy(dst, buffer, 256, NRAM2GDRAM)

device = mlusim.Device()
device.launch(copy, args=(device.empty(64, np.float32), device.put(np.ones(64, np.float32))))
"""


def test_a_check_without_a_plan_says_so(tmp_path):
    """The checker of plans is not among those who checked, in no format."""
    script = tmp_path / "copy.py"
    script.write_text(SCRIPT)
    checkers = ("memcheck", "plancheck")
    report = report_of(checkers, [check_script(str(script), (), checkers)])

    assert summary(report).endswith("checked by memcheck; plancheck saw no plan.")
    assert {"plancheck": 1} == report.to_json()["unchecked"]
    assert '<skipped message="plancheck saw nothing to check in 1 launch"' in junit(report)
