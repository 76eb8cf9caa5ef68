"""Gather and scatter wrappers: masks, chunks, waiting, and the boards that lack them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mluops_tools import CANARY, NEW, OLD, later_board, on_core, result_of

from mlusim.bang import (
    GDRAM2NRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    float32,
    int8,
    int32,
    mluop_gather,
    mluop_gather_async,
    mluop_scatter,
    uint8,
    uint32,
)
from mlusim.errors import Fault, OutOfBounds, RuleFault, Unsupported, WrongSpace

COUNTS = st.integers(1, 70)
MOVERS = ("gather", "gather_async", "scatter_async")


def bits_of(chosen):
    """One bit for each element, the first in the lowest bit."""
    return np.packbits(chosen, bitorder="little")


def raised(outcome):
    """The result of a call on a core; a fault is raised."""
    if isinstance(outcome[0], Fault):
        raise outcome[0]
    return outcome


@settings(max_examples=40, deadline=None)
@given(COUNTS, st.booleans(), st.booleans(), st.data())
def test_a_gather_takes_pieces_that_the_mask_selects(count, waits, masked, data):
    """Pieces from GDRAM at offsets; those that the mask leaves out leave dst as it is."""
    source = np.arange(100, dtype=np.float32)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    index = np.array(data.draw(st.lists(st.integers(0, 99), min_size=count, max_size=count)))

    def body(mlu, src):
        dst = mlu.nram(float32, 2 * count)
        dst.view.array[:] = CANARY
        offset = mlu.nram(uint32, count, index * 4)
        bits = mlu.nram(uint8, -(-count // 8), bits_of(chosen)) if masked else None
        helper = mluop_gather if waits else mluop_gather_async
        helper(mlu, dst, src, offset, bits, 4, GDRAM2NRAM, 8, count)
        if not waits:
            mlu.sync_io()
        return dst.view.array.copy()

    got = raised(on_core(body, NEW, source))[0]
    moved = chosen if masked else np.ones(count, bool)

    assert np.array_equal(np.where(moved, source[index], CANARY), got[::2])
    assert (got[1::2] == CANARY).all()


@settings(max_examples=40, deadline=None)
@given(COUNTS, st.booleans(), st.data())
def test_a_scatter_stores_pieces_that_the_mask_selects(count, masked, data):
    """Pieces to places of their own in GDRAM; those left out leave it as it is."""
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    index = np.array(data.draw(st.permutations(range(100))))[:count]
    numbers = np.arange(count, dtype=np.float32)

    def body(mlu, dst):
        offset = mlu.nram(uint32, count, index * 4)
        bits = mlu.nram(uint8, -(-count // 8), bits_of(chosen)) if masked else None
        mluop_scatter(mlu, dst, mlu.nram(float32, count, numbers), offset, bits, 4, NRAM2GDRAM, 4, count)

    expected = np.full(100, CANARY, np.float32)
    moved = chosen if masked else np.ones(count, bool)
    expected[index[moved]] = numbers[moved]

    assert np.array_equal(expected, raised(on_core(body, NEW, np.full(100, CANARY, np.float32)))[2][0])


def test_waiting_helpers_wait():
    """Inside NRAM too, with a mask and without; the asynchronous ones do not."""

    def body(mlu, helper, masked):
        src, dst = mlu.nram(float32, 4, [1, 2, 3, 4]), mlu.nram(float32, 4, [0] * 4)
        offset = mlu.nram(uint32, 4, [12, 8, 4, 0])
        bits = mlu.nram(uint8, 1, [0xF]) if masked else None
        helper(mlu, dst, src, offset, bits, 4, NRAM2NRAM, 4, 4)
        before = dst.view.array.tolist()
        mlu.sync_move()
        return before, dst.view.array.tolist()

    for masked in (True, False):
        for helper, waits in (
            (mluop_gather, True),
            (mluop_scatter, True),
            (mluop_gather_async, False),
        ):
            before, after = result_of(lambda mlu, h=helper, m=masked: body(mlu, h, m), NEW)

            assert [4, 3, 2, 1] == after
            assert ([4, 3, 2, 1] if waits else [0] * 4) == before


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(
    ("helper", "scatters"), [(mluop_gather, False), (mluop_scatter, True), (mluop_gather_async, False)]
)
def test_large_counts_are_cut_above_592(helper, scatters, masked):
    """In pieces of 65535, or 65528 that a mask can be cut at; the result is that of one instruction."""
    count = 66001
    index = np.random.default_rng(1).permutation(count)
    numbers = (np.arange(count) % 100).astype(np.int8)
    chosen = np.arange(count) % 3 > 0 if masked else np.ones(count, bool)
    expected = np.zeros(count, np.int8)

    def body(mlu, far):
        near = mlu.nram(int8, count, numbers if scatters else expected)
        bits = mlu.nram(uint8, -(-count // 8), bits_of(chosen)) if masked else None
        ends, direction = ((far, near), NRAM2GDRAM) if scatters else ((near, far), GDRAM2NRAM)
        helper(mlu, *ends, mlu.nram(uint32, count, index), bits, 1, direction, 1, count)
        mlu.sync()
        return near.view.array.copy()

    far = expected.copy() if scatters else numbers
    results = []
    for board, pieces in ((NEW, 1), (later_board(), 2)):
        near, launch, (there,) = raised(on_core(body, board, far))
        results.append(there if scatters else near)

        assert pieces == sum(launch.instructions.get(name, 0) for name in MOVERS)
    if scatters:
        expected[index[chosen]] = numbers[chosen]
    else:
        expected[chosen] = numbers[index[chosen]]
    assert all(np.array_equal(expected, got) for got in results)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"n": 0}, RuleFault, "__mluop_gather: n = 0 is too small"),
        ({"n": 3}, OutOfBounds, "__mluop_gather: offset takes 12 bytes"),
        ({"stride": -4}, RuleFault, "__mluop_gather: stride = -4 is too small"),
        ({"dir": 4}, WrongSpace, "__mluop_gather: dir is 4; legal: a direction"),
        ({"offset": int32}, WrongSpace, "__mluop_gather: offset is int32; legal: uint32"),
        ({"mask": 7}, WrongSpace, "__mluop_gather: mask is 7, which is not a pointer"),
        ({"size": 0}, RuleFault, "__gather: size = 0"),
        ({"size": 400}, RuleFault, "__gather: stride = 4 makes pieces of 400 bytes overlap"),
    ],
    ids=lambda value: None,
)
def test_bad_gathers_are_refused(change, kind, said):
    """By the helper, or by the instruction that it issues; at the kernel's line."""

    def body(mlu):
        offset = mlu.nram(uint32, 2, [0, 4])
        given_arguments = {
            "dst": mlu.nram(float32, 4),
            "src": mlu.nram(float32, 4, [1, 2, 3, 4]),
            "offset": offset.cast(change.get("offset", uint32)),
            "mask": None,
            "size": 4,
            "dir": NRAM2NRAM,
            "stride": 4,
            "n": 2,
        } | {k: v for k, v in change.items() if k != "offset"}
        mluop_gather(mlu, **given_arguments)

    fault = on_core(body, NEW)[0]

    assert fault.file.endswith("test_mluop_gather.py")
    with pytest.raises(kind, match=said):
        raise fault


def test_older_boards_have_no_asynchronous_gather():
    """The instruction says so."""

    def body(mlu):
        x = mlu.nram(float32, 1, [1])
        mluop_gather_async(mlu, x, x, mlu.nram(uint32, 1, [0]), None, 4, NRAM2NRAM, 4, 1)

    with pytest.raises(Unsupported, match="__gather_async: mtp_372 does not have it"):
        result_of(body, OLD)
