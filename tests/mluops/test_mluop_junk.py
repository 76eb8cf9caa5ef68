"""Every helper with every operand replaced by things that it is not: a sentence, never a traceback from the inside."""

import inspect

import numpy as np
import pytest
from mluops_tools import BOARDS

import mlusim
import mlusim.bang
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, int32, kernel, uint8, uint32
from mlusim.errors import Fault, MlusimError

HELPERS = {name: getattr(mlusim.bang, name) for name in mlusim.bang.__all__ if name.startswith("mluop_")}
NUMBERS = {
    "n": 8,
    "length": 8,
    "is_high_precision": True,
    "divisor": 3,
    "low_dim": 2,
    "high_dim": 4,
    "kernel_limit": 2,
    "size": 2,
    "dst_str": 4,
    "src_str": 3,
    "seg_num": 2,
    "seg_num_in": 2,
    "seg_num_out": 2,
    "dst_str_in": 4,
    "dst_str_out": 8,
    "src_str_in": 3,
    "src_str_out": 6,
    "start": 0,
    "step": 1,
    "start_index": 0,
    "stride": 4,
    "dtype": "half",
}
JUNK = [
    None,
    0,
    -1,
    1.5,
    float("nan"),
    2**70,
    -(2**70),
    "x",
    b"8",
    (),
    [8],
    object(),
    np.arange(3),
    np.float32(2),
    np.int64(4),
    True,
    NRAM2GDRAM,
    half,
]
INTEGERS = ("stage_indices", "gen_stage")


def arguments(mlu, name, far, element):
    """A call that the helper takes."""
    dtype = int32 if any(part in name for part in INTEGERS) else element

    def near(of=dtype):
        pointer = mlu.nram(of, 64)
        pointer.view.array[:] = 1
        return pointer

    made = {"dst": near, "src": near, "a": near, "b": near, "addition": lambda: near(float32)}
    made |= {"mask": lambda: near(uint8), "dir": lambda: GDRAM2NRAM}
    if name in ("mluop_min", "mluop_max"):
        made |= {"a": lambda: 1, "b": lambda: 2}
    if name in ("mluop_gather", "mluop_gather_async", "mluop_scatter"):
        made |= {"size": lambda: 4, "offset": lambda: near(uint32)}
    if "store_str" in name or "scatter" in name:
        made |= {"dst": lambda: far, "dir": lambda: NRAM2GDRAM}
    if "load_str" in name or "gather" in name:
        made |= {"src": lambda: far}
    if name == "mluop_float2half":
        made |= {"dst": lambda: near(half)}
    return {
        operand: made[operand]() if operand in made else NUMBERS[operand]
        for operand in list(inspect.signature(HELPERS[name]).parameters)[1:]
    }


def elements(name):
    """The types that the helper computes with."""
    one = ("mod", "float2half", "get_indices", "gather", "scatter", "str_")
    return (float32,) if any(part in name for part in one) else (float32, half)


def calls(name, board, change=lambda mlu, given, far: None):
    """Call a helper for each of its types; *change* yields other arguments to call it with."""
    device = mlusim.Device(board)
    outcomes = []

    @kernel
    def run(mlu, far):
        for element in elements(name):
            given = arguments(mlu, name, far, element)
            for other in change(mlu, given, far) or ({},):
                try:
                    HELPERS[name](mlu, **given | other)
                except MlusimError as fault:
                    outcomes.append(fault)
                else:
                    outcomes.append(None)

    device.launch(run, args=(device.put(np.ones(64, np.float32)),))
    return outcomes


@pytest.mark.parametrize("name", HELPERS)
def test_the_calls_of_this_file_are_legal(name):
    """On the board that has all instructions; so what follows changes one operand of a legal call."""
    assert {None} == set(calls(name, BOARDS[1]))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", HELPERS)
def test_junk_is_refused_in_one_sentence(name, board):
    """For each operand in turn: it works, or it is refused at the kernel's line, in at most a few words."""

    def change(mlu, given, far):
        for operand in given:
            yield from ({operand: junk} for junk in (*JUNK, far, mlu.wram(float32, 64), mlu.nram("int64", 4)))

    refused = [fault for fault in calls(name, board, change) if fault is not None]

    assert refused
    for fault in refused:
        assert "please report" not in str(fault)
        assert len(str(fault)) < 600
        assert not isinstance(fault, Fault) or fault.file.endswith("test_mluop_junk.py")
