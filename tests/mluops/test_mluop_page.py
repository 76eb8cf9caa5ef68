"""The page of the helpers shows every one as it is, and under all checkers each is silent."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
from mluops_tools import BOARDS, NEW

import mlusim
import mlusim.bang
from mlusim.bang import (
    GDRAM2NRAM,
    NRAM2GDRAM,
    float32,
    half,
    kernel,
    mluop_div,
    mluop_exp,
    mluop_float2half,
    mluop_gather,
    mluop_gen_stage_index,
    mluop_get_indices,
    mluop_load_str_2D,
    mluop_log,
    mluop_mod,
    mluop_recursive_sum_pool,
    mluop_scatter,
    mluop_sigmoid,
    mluop_store_str_2D,
    uint32,
)
from mlusim.cli.main import main
from mlusim.observe.names import CHECKERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "helpers.md").read_text()
HELPERS = {name: getattr(mlusim.bang, name) for name in mlusim.bang.__all__ if name.startswith("mluop_")}


def test_the_page_shows_every_helper_with_its_operands():
    """In the tables: all names, no other, and the operands in their order."""
    shown = dict(re.findall(r"^\| `(mluop_\w+)\((.*?)\)`", PAGE, re.MULTILINE))
    actual = {name: ", ".join(inspect.signature(helper).parameters) for name, helper in HELPERS.items()}

    assert actual == shown


@pytest.mark.parametrize("name", HELPERS)
def test_the_command_line_shows_every_helper(name, capsys):
    """`mlusim isa` with the vendor's spelling: for people, and as one document."""
    assert 0 == main(["isa", f"__{name}"])
    shown = capsys.readouterr().out
    assert 0 == main(["isa", name, "--json"])
    document = json.loads(capsys.readouterr().out)

    assert document["signature"] == f"{name}({', '.join(inspect.signature(HELPERS[name]).parameters)})"
    assert inspect.getdoc(HELPERS[name]) == document["doc"]
    assert f"from mlusim.bang import {name}" in shown
    assert document["signature"].split("(")[0] in shown


def test_a_helper_is_no_method_of_the_machine():
    """Who calls it so reads how it is called."""

    @kernel
    def wrong(mlu):
        mlu.mluop_div()

    with pytest.raises(
        AttributeError, match=r"from mlusim.bang import mluop_div, then mluop_div\(mlu, ...\)"
    ):
        mlusim.Device(NEW).launch(wrong)


@pytest.mark.parametrize("name", HELPERS)
def test_every_helper_says_what_it_is(name):
    """A docstring with the certainty; the machine first."""
    helper = HELPERS[name]
    text = " ".join(inspect.getdoc(helper).split())

    assert "mlu" == next(iter(inspect.signature(helper).parameters))
    assert re.search(r"[Cc]ertain|[Ii]nferred", text) or "as of `mluop" in text


def compute(mlu, dtype, count):
    """Everything that computes, once."""
    a, b, d = (mlu.nram(dtype, 2 * count) for _ in range(3))
    addition = mlu.nram(float32, count)
    mluop_gen_stage_index(mlu, a, count, 1, 0.25)
    mluop_gen_stage_index(mlu, b, count, 2)
    for helper in (mluop_exp, mluop_log, mluop_sigmoid):
        helper(mlu, d, a, addition, True, count)
    mluop_div(mlu, d, a, b, addition, False, count)
    mluop_div(mlu, d, a, b, addition, True, count)
    mluop_recursive_sum_pool(mlu, a, 10, count // 10, 3)


@kernel
def everything(mlu, dst, src, count):
    """All subjects of the library."""
    for dtype in (half, float32):
        compute(mlu, dtype, count)
    x, y, addition = (mlu.nram(float32, 2 * count) for _ in range(3))
    mluop_get_indices(mlu, x, -3, count)
    mluop_mod(mlu, y, x, 7, addition, count)
    mluop_float2half(mlu, y.cast(half), y, count)
    mluop_load_str_2D(mlu, x, src, 3, 6, 4, 10)
    mluop_store_str_2D(mlu, dst, x, 3, 3, 6, 10)
    if mlu.BANG_ARCH >= 592:
        offset = mlu.nram(uint32, 10)
        mluop_gen_stage_index(mlu, offset, 10, 0, 8)
        mluop_gather(mlu, x, src, offset, None, 4, GDRAM2NRAM, 4, 10)
        mluop_scatter(mlu, dst, x, offset, None, 4, NRAM2GDRAM, 4, 10)


@pytest.mark.parametrize("effects", ["late", "eager"])
@pytest.mark.parametrize("board", BOARDS)
def test_helpers_are_silent_under_all_checkers(board, effects):
    """No helper uses unwritten bytes or lets two pipes race."""
    device = mlusim.Device(board)
    src, dst = device.put(np.arange(100, dtype=np.float32)), device.empty(100, float32)
    launch = device.launch(everything, args=(dst, src, 100), observe=list(CHECKERS), effects=effects)

    assert () == tuple(launch.findings)
    assert launch.time_us > 0


def test_findings_name_the_kernel_s_line():
    """A source that was never written is found where the helper is called, not inside of it."""

    @kernel
    def careless(mlu, dst):
        x = mlu.nram(float32, 8)
        mluop_exp(mlu, x, x, None, True, 8)
        mlu.memcpy(dst, x, 32, NRAM2GDRAM)

    device = mlusim.Device(NEW)
    launch = device.launch(careless, args=(device.empty(8, float32),), observe=["initcheck"])
    files = {Path(place.file).name for f in launch.findings for place in (f, *f.places)}

    assert launch.findings
    assert {"test_mluop_page.py"} == files
