"""Strided loads and stores in elements: what arrives, what is overwritten, which copies it takes."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mluops_tools import BOARDS, CANARY, on_core

from mlusim.arch.dtypes import as_dtype
from mlusim.bang import (
    float32,
    mluop_load_str_2D,
    mluop_load_str_3D,
    mluop_store_str_2D,
    mluop_store_str_3D,
)
from mlusim.errors import Fault, OutOfBounds, ReadOnly, RuleFault, WrongSpace

DTYPES = st.sampled_from([np.float16, np.float32, np.int8])
SHAPES = st.tuples(st.integers(1, 40), st.integers(0, 300), st.integers(0, 300), st.integers(1, 6))


def fresh(mlu, dtype, room):
    """NRAM full of canaries."""
    pointer = mlu.nram(as_dtype(dtype), room)
    pointer.view.array[:] = CANARY
    return pointer


def numbers(dtype, count):
    """Different small numbers."""
    return (np.arange(count) % 113 - 56).astype(dtype)


def rows_of(array, size, stride, count):
    """*count* rows of *size* elements, *stride* apart."""
    return np.array([array[i * stride : i * stride + size] for i in range(count)])


def raised(outcome):
    """The result of a call on a core; a fault is raised."""
    if isinstance(outcome[0], Fault):
        raise outcome[0]
    return outcome


@settings(max_examples=80, deadline=None)
@given(SHAPES, DTYPES, st.sampled_from(BOARDS))
def test_loads_bring_the_rows(shape, dtype, board):
    """Every shape; gaps are either left alone or, where a block of short rows is spread, inside dst."""
    size, wide, gap, count = shape
    to, frm = size + wide, size + gap
    data = numbers(dtype, frm * count)

    def body(mlu, src):
        dst = fresh(mlu, dtype, to * count + 8)
        mluop_load_str_2D(mlu, dst, src, size, to, frm, count)
        return dst.view.array.copy()

    got, launch, _ = raised(on_core(body, board, data))
    short = frm <= to and frm * data.itemsize <= 512
    rows = rows_of(got, size, to, count)
    got_gaps = np.concatenate([got[i * to + size : (i + 1) * to] for i in range(count)])

    assert np.array_equal(rows_of(data, size, frm, count), rows)
    assert (got[to * count :] == CANARY).all()
    assert short or (got_gaps == CANARY).all()
    loaded = frm * (count - 1) + size if short else size * count
    assert launch.traffic["GDRAM2NRAM"] == loaded * data.itemsize
    assert ("NRAM2NRAM" in {k for k, v in launch.traffic.items() if v}) == (short and frm < to)


@settings(max_examples=80, deadline=None)
@given(SHAPES, DTYPES, st.sampled_from(BOARDS))
def test_stores_leave_the_rows_and_nothing_else(shape, dtype, board):
    """Every shape; the gaps in GDRAM stay, and src is packed only where rows lie side by side there."""
    size, wide, gap, count = shape
    to, frm = size + wide % 3 * wide, size + gap
    data, target = numbers(dtype, frm * count), np.full(to * count, CANARY, dtype)

    def body(mlu, dst):
        src = fresh(mlu, dtype, frm * count)
        src.view.array[:] = data
        mluop_store_str_2D(mlu, dst, src, size, to, frm, count)
        return src.view.array.copy()

    left, launch, (stored,) = raised(on_core(body, board, target))
    packs = size == to < frm and size * data.itemsize <= 512 and count > 1
    expected = target.copy()
    for i in range(count):
        expected[i * to : i * to + size] = data[i * frm : i * frm + size]

    assert np.array_equal(expected, stored)
    assert packs or np.array_equal(data, left)
    assert launch.traffic["NRAM2GDRAM"] == size * count * data.itemsize
    assert ("NRAM2NRAM" in {k for k, v in launch.traffic.items() if v}) == packs


def test_a_short_load_overwrites_the_gaps_and_a_store_its_source():
    """What the block of short rows destroys: gaps of dst, and src where it is packed."""
    data = numbers(np.float32, 12)

    def load(mlu, src):
        dst = fresh(mlu, np.float32, 18)
        mluop_load_str_2D(mlu, dst, src, 3, 6, 4, 3)
        return dst.view.array.copy()

    def store(mlu, dst):
        src = fresh(mlu, np.float32, 12)
        src.view.array[:] = data
        mluop_store_str_2D(mlu, dst, src, 3, 3, 4, 3)
        return src.view.array.copy()

    loaded = raised(on_core(load, BOARDS[0], data))[0]
    left = raised(on_core(store, BOARDS[0], np.zeros(9, np.float32)))[0]

    assert np.array_equal(rows_of(data, 3, 4, 3), rows_of(loaded, 3, 6, 3))
    assert (loaded != CANARY).sum() > 9
    assert np.array_equal(rows_of(data, 3, 4, 3).ravel(), left[:9])
    assert not np.array_equal(data, left)


def test_a_row_of_512_bytes_is_short_and_one_of_516_is_not():
    """The limit, seen in the bytes that move inside NRAM."""

    def moved(stride):
        def body(mlu, src):
            mluop_load_str_2D(mlu, fresh(mlu, np.float32, 2 * 140), src, 100, 140, stride, 2)

        _, launch, _ = raised(on_core(body, BOARDS[0], numbers(np.float32, 2 * stride)))
        return launch.traffic.get("NRAM2NRAM", 0)

    assert [800, 0] == [moved(128), moved(129)]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.integers(1, 4), st.integers(1, 4), st.integers(0, 9), DTYPES, st.booleans())
def test_planes_are_loaded_and_stored_unchanged(size, rows, planes, gap, dtype, packed):
    """Loading planes and storing them again copies the rows of each."""
    near, wide = size + gap, size if packed else size + 2 * gap
    data = numbers(dtype, near * rows * planes)
    target = np.full(size * rows * planes, CANARY, dtype)

    def body(mlu, src, dst):
        buffer = fresh(mlu, dtype, wide * rows * planes + near)
        far = wide * rows
        mluop_load_str_3D(mlu, buffer, src, size, rows, planes, wide, far, near, near * rows)
        mluop_store_str_3D(mlu, dst, buffer, size, rows, planes, size, size * rows, wide, far)

    _, _, (_, stored) = raised(on_core(body, BOARDS[0], data, target))

    assert np.array_equal(rows_of(data, size, near, rows * planes).ravel(), stored)


def load(mlu, src, dst=None, size=3, dst_str=6, src_str=4, seg_num=3):
    """A load of three rows, changed by the tests."""
    mluop_load_str_2D(
        mlu,
        fresh(mlu, np.float32, 18) if dst is None else dst(mlu, src),
        src,
        size,
        dst_str,
        src_str,
        seg_num,
    )


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"size": 0}, RuleFault, "size = 0 is too small"),
        ({"size": 1.5}, RuleFault, "size = 1.5 is not an integer"),
        ({"seg_num": 0}, RuleFault, "seg_num = 0 is too small; legal: 1 or more"),
        ({"dst_str": 2}, RuleFault, "dst_str = 2 makes rows of 3 elements overlap.*elements here, not bytes"),
        ({"seg_num": 4}, OutOfBounds, "dst takes 92 bytes"),
        ({"dst_str": 5, "src_str": 5}, OutOfBounds, "src takes 52 bytes"),
        ({"dst": lambda mlu, src: src}, WrongSpace, "dst points into GDRAM; legal: NRAM"),
        ({"dst": lambda mlu, src: mlu.nram("half", 40)}, WrongSpace, "src is float; legal: half"),
        ({"dst": lambda mlu, src: 0}, WrongSpace, "dst is 0, which is not a pointer"),
    ],
    ids=lambda value: None,
)
def test_bad_loads_are_refused(change, kind, said):
    """One sentence in the name of the helper, at the kernel's line."""
    fault = on_core(lambda mlu, src: load(mlu, src, **change), BOARDS[0], numbers(np.float32, 12))[0]

    assert isinstance(fault, kind)
    assert "__mluop_load_str_2D" == fault.intrinsic
    assert fault.file.endswith("test_mluop_copies.py")
    with pytest.raises(kind, match=said):
        raise fault


def test_a_store_to_a_const_tensor_is_refused():
    """By the copy, which knows what the host passed as const."""

    def body(mlu, dst):
        dst.view.allocation.writable = False
        mluop_store_str_2D(mlu, dst, fresh(mlu, np.float32, 12), 4, 4, 4, 3)

    with pytest.raises(ReadOnly, match="passed as const"):
        raised(on_core(body, BOARDS[0], numbers(np.float32, 12)))


def test_planes_name_their_own_numbers():
    """The strides of rows, and the helper of three dimensions."""

    def body(mlu, src):
        mluop_load_str_3D(mlu, mlu.nram(float32, 64), src, 4, 2, 2, 3, 8, 4, 8)

    with pytest.raises(
        RuleFault, match="__mluop_load_str_3D: dst_str_in = 3 .* seg_num_in is the true number"
    ):
        raised(on_core(body, BOARDS[0], numbers(np.float32, 16)))
