"""Sequences against NumPy: every type, tails, starts and steps; integers wrap."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mluops_tools import BOARDS, CANARY, OLD, get, on_core, result_of

from mlusim.bang import (
    float32,
    half,
    int8,
    int16,
    int32,
    mluop_gen_stage_index,
    mluop_get_indices,
    mluop_get_stage_indices_tfuse,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mlusim.errors import OutOfBounds, RuleFault, WrongSpace

INTS = (int8, int16, int32, uint8, uint16, uint32)
LENGTHS = (1, 2, 31, 32, 33, 127, 128, 129, 511, 512, 513, 2000)


def filled(fill, dtype, count, board=OLD):
    """*count* elements that *fill*(mlu, dst) writes; canaries behind them must stay."""

    def body(mlu):
        dst = mlu.nram(dtype, count + 8)
        dst.view.array[:] = CANARY
        fill(mlu, dst)
        return get(dst)

    got = result_of(body, board)
    assert (got[count:] == CANARY).all()
    return got[:count]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(
    ("helper", "dtype", "rest"),
    [
        (mluop_get_stage_indices_tfuse, int32, ()),
        (mluop_gen_stage_index, int32, ()),
        (mluop_gen_stage_index, float32, ()),
        (mluop_gen_stage_index, half, ()),
    ],
)
def test_a_sequence_of_any_length_counts_from_zero(helper, dtype, rest, board):
    """0, 1, 2, ... in any length."""
    for n in LENGTHS:
        got = filled(lambda mlu, dst, n=n: helper(mlu, dst, n), dtype, n, board)

        assert np.array_equal(np.arange(n, dtype=dtype.dtype), got)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.integers(-(2**22), 2**22))
def test_counting_in_floats(n, start):
    """Exactly, from any whole number."""
    got = filled(lambda mlu, dst: mluop_get_indices(mlu, dst, start, n), float32, n)

    assert np.array_equal(np.arange(start, start + n, dtype=np.float32), got)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 3000), st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40), st.sampled_from(INTS)
)
def test_integers_wrap(n, start, step, dtype):
    """As the sum of products modulo the width of the type, in every part of the sequence."""
    got = filled(lambda mlu, dst: mluop_gen_stage_index(mlu, dst, n, start, step), dtype, n)
    exact = [(start + i * step) % 2 ** (8 * dtype.size) for i in range(n)]

    assert exact == [int(v) % 2 ** (8 * dtype.size) for v in got]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 2000), st.integers(-1000, 1000), st.integers(-8, 8).map(lambda s: s / 4))
def test_float_sequences(n, start, step):
    """Exactly where the terms are exact."""
    got = filled(lambda mlu, dst: mluop_gen_stage_index(mlu, dst, n, start, step), float32, n)

    assert np.array_equal((start + np.arange(n) * step).astype(np.float32), got)


def test_steps_that_floats_do_not_hold():
    """A step of 0.1 is the float next to it; the sums stay within a few units in the last place."""
    got = filled(lambda mlu, dst: mluop_gen_stage_index(mlu, dst, 4000, 0, 0.1), float32, 4000)

    assert np.allclose(np.arange(4000) * float(np.float32(0.1)), got, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "board", "doublings"),
    [(int32, OLD, 6), (half, OLD, 9), (float32, "CE3226-V101", 10)],
)
def test_long_sequences_take_few_instructions(dtype, board, doublings):
    """Eight registers of 32-bit elements, elsewhere a line of scalar stores; then one addition for each doubling."""
    count = 1 << 15
    results = []

    def body(mlu):
        dst = mlu.nram(dtype, count)
        mluop_gen_stage_index(mlu, dst, count)
        results.append(get(dst, 100))

    _, launch, _ = on_core(body, board)

    assert np.array_equal(np.arange(100, dtype=dtype.dtype), results[0])
    assert doublings == launch.instructions["bang_add_scalar"]
    assert (doublings == 6) == ("vv_store" in launch.instructions)


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (
            lambda mlu, dst: mluop_gen_stage_index(mlu, dst, 0),
            RuleFault,
            "n = 0 is too small.*guard the call",
        ),
        (lambda mlu, dst: mluop_gen_stage_index(mlu, dst, 2.0), RuleFault, "n = 2.0 is not an integer"),
        (lambda mlu, dst: mluop_gen_stage_index(mlu, dst, 9), OutOfBounds, "dst takes 36 bytes"),
        (lambda mlu, dst: mluop_gen_stage_index(mlu, dst, 4, dst), WrongSpace, "start is .*legal: a number"),
        (lambda mlu, dst: mluop_gen_stage_index(mlu, dst, 4, 0, "1"), WrongSpace, "step is '1'"),
        (lambda mlu, dst: mluop_gen_stage_index(mlu, mlu.nram(uint64, 4), 4), WrongSpace, "dst is uint64"),
        (lambda mlu, dst: mluop_gen_stage_index(mlu, mlu.wram(int32, 4), 4), WrongSpace, "into WRAM"),
        (lambda mlu, dst: mluop_get_indices(mlu, dst, 0, 4), WrongSpace, "dst is int32; legal: float"),
        (lambda mlu, dst: mluop_get_stage_indices_tfuse(mlu, dst, -1), RuleFault, "length = -1"),
    ],
    ids=lambda value: None,
)
def test_bad_sequences_are_refused(call, kind, said):
    """One sentence in the name of the helper, at the kernel's line."""
    fault = on_core(lambda mlu: call(mlu, mlu.nram(int32, 8)))[0]

    assert isinstance(fault, kind)
    assert fault.intrinsic.startswith("__mluop_")
    assert fault.file.endswith("test_mluop_sequences.py")
    with pytest.raises(kind, match=said):
        raise fault
