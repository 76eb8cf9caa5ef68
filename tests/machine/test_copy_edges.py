"""Copies at their edges: interleaved segments, strides that do not matter, numbers of other kinds, WRAM, 2xx, SRAM."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mlusim
from mlusim import UNION1, UNION2
from mlusim.bang import (
    GDRAM2LDRAM,
    GDRAM2NRAM,
    GDRAM2WRAM,
    LDRAM2GDRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    NRAM2WRAM,
    SRAM2SRAM,
    WRAM2NRAM,
    float32,
    int8,
    int32,
    kernel,
)
from mlusim.errors import OutOfBounds, OutOfMemory, RuleFault, Unsupported
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.space import NRAM

HUGE = 2**70
MEMORY = Allocation(NRAM, 0, np.zeros(4096, np.uint8), "bytes")


def on_core(body, *args, board="MLU370-X4", **launch):
    """Run *body* as a kernel and return the launch."""
    device = mlusim.Device(board)
    given_args = [device.put(a) if isinstance(a, np.ndarray) else a for a in args]
    return device.launch(kernel(body), args=given_args, **launch)


def touched(access):
    """List the bytes of each repetition of *access*."""
    starts = [access.start]
    for stride, count in access.steps:
        starts = [start + i * stride for start in starts for i in range(count)]
    return [byte for start in starts for byte in range(start, start + access.size)]


STEP = st.tuples(st.integers(-24, 24), st.integers(1, 6))


@given(st.integers(1, 6), st.lists(STEP, max_size=2))
def test_apart_is_what_it_says(size, steps):
    """No byte twice, whatever the strides and their signs are."""
    access = Access(MEMORY, 500, size, tuple(steps))
    every = touched(access)

    assert (len(set(every)) == len(every)) is access.apart


@given(st.integers(1, 6), st.integers(1, 6), st.integers(-60, 60), STEP, STEP)
def test_meets_is_what_it_says(size, other_size, distance, step, other_step):
    """Two combs meet where they share a byte, not where their spans do."""
    one = Access(MEMORY, 500, size, (step,))
    other = Access(MEMORY, 500 + distance, other_size, (other_step,))
    if one.apart and other.apart:
        assert (not set(touched(one)).isdisjoint(touched(other))) is one.meets(other)
        assert one.meets(other) is other.meets(one)


def test_a_three_d_copy_may_transpose():
    """Segments of the destination lie in each other's gaps and share no byte."""
    rows, columns = 5, 7
    source = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)

    def body(mlu, data, out):
        tile = mlu.nram(int32, rows * columns)
        mlu.memcpy(
            tile,
            data,
            4,
            GDRAM2NRAM,
            4 * rows,
            columns - 1,
            4,
            rows - 1,
            4,
            columns - 1,
            4 * columns,
            rows - 1,
        )
        mlu.memcpy(out, tile, 4 * rows * columns, NRAM2GDRAM)

    device = mlusim.Device()
    out = device.empty((columns, rows), "int32")
    device.launch(kernel(body), args=(device.put(source), out))

    assert source.T.tolist() == device.get(out).tolist()


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((4, 1, 8, 1, 4, 1, 8, 1), "destination segments of 8 bytes, 4 bytes apart, overlap"),
        ((8, 3, 16, 1, 8, 3, 32, 1), "overlap: 4 of them 8 bytes apart, and that 2 times 16 bytes apart"),
        ((0, 1, 64, 1, 8, 1, 64, 1), "destination segments of 8 bytes, 0 bytes apart, overlap"),
    ],
)
def test_three_d_segments_that_overlap(shape, sentence):
    """The sentence has the strides and what they belong to."""
    with pytest.raises(RuleFault, match=sentence):
        on_core(
            lambda m, g: m.memcpy(m.nram(float32, 64), g, 8, GDRAM2NRAM, *shape), np.zeros(64, np.float32)
        )


@pytest.mark.parametrize("stride", [0, 1, -4, HUGE, -HUGE, np.int32(-8), True])
def test_the_stride_of_one_segment_does_not_matter(stride):
    """Blocking and not, 2-D and 3-D, copies and moves."""

    def body(mlu, data):
        tile = mlu.nram(int32, 64, range(64))
        mlu.memcpy(tile, data, 8, GDRAM2NRAM, stride, stride, 0)
        mlu.memcpy_async(tile + 2, data + 2, 8, GDRAM2NRAM, stride, stride, 0)
        mlu.memcpy(tile + 4, data + 4, 8, GDRAM2NRAM, stride, 0, stride, 0, stride, 0, stride, 0)
        mlu.sync()
        mlu.bang_move(tile + 8, tile, 24, stride, stride, 0)
        mlu.nramset_async(tile + 20, 2, 5, stride, 0)
        mlu.sync()
        got.extend(tile[i] for i in (*range(14), 20, 21, 22))

    got = []
    on_core(body, -np.arange(64, dtype=np.int32))

    assert [0, -1, -2, -3, -4, -5, 6, 7, 0, -1, -2, -3, -4, -5, 5, 5, 22] == got


@pytest.mark.parametrize("wrong", [1.5, "4", None, [4], np.float32(4), np.array([4, 4])])
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("call", ["memcpy", "memcpy_async"])
def test_numbers_of_a_copy_are_integers(call, place, wrong):
    """Size, strides and count of segments; nothing is rounded."""
    numbers = [4, 8, 8, 2]
    numbers[place] = wrong
    size, *shape = numbers

    with pytest.raises(RuleFault, match="is not an integer"):
        on_core(
            lambda m, g: getattr(m, call)(m.nram(int8, 64), g, size, GDRAM2NRAM, *shape),
            np.zeros(64, np.int8),
        )


@pytest.mark.parametrize("number", [np.int8, np.uint16, np.int32, np.int64, np.array])
def test_numpy_integers_are_numbers_of_a_copy(number):
    """They are taken by value and do not overflow: 100 * 100 is not an int8."""
    source = np.arange(20000, dtype=np.int32).astype(np.int8)

    def body(mlu, data):
        tile = mlu.nram(int8, 11000)
        mlu.memcpy(tile, data, number(4), GDRAM2NRAM, number(100), number(101), number(100))
        got.extend(tile[100 * i] for i in range(101))

    got = []
    on_core(body, source)

    assert source[: 101 * 101 : 101].tolist() == got


@pytest.mark.parametrize(
    ("numbers", "over"),
    [((4, np.int32(2**30), 4, 3), 3 * 2**30), ((4, HUGE, 4, 1), HUGE), ((HUGE,), HUGE - 60)],
)
def test_huge_numbers_are_out_of_bounds(numbers, over):
    """The reach is counted without overflow."""
    size, *shape = numbers

    with pytest.raises(
        OutOfBounds, match=f"reach {over - 60} bytes past its end" if shape else "bytes past its end"
    ):
        on_core(lambda m, g: m.memcpy(m.nram(int8, 64), g, size, GDRAM2NRAM, *shape), np.zeros(64, np.int8))


@pytest.mark.parametrize("direction", [None, 0, "GDRAM2NRAM", [], {}, np.zeros(2)])
def test_what_is_no_direction(direction):
    """Also what cannot be looked up at all."""
    with pytest.raises(RuleFault, match="is not a copy direction; legal: one of GDRAM2NRAM"):
        on_core(lambda m, g: m.memcpy(m.nram(int8, 64), g, 4, direction), np.zeros(64, np.int8))


# -- WRAM and 2xx ------------------------------------------------------------------------------------


def test_only_the_side_in_wram_is_bound_to_eight_bytes():
    """NRAM and GDRAM are addressed by byte; strides count where they lead into WRAM."""

    def body(mlu, data):
        weights, tile = mlu.wram(int8, 256), mlu.nram(int8, 256)
        mlu.memcpy(weights, data + 3, 16, GDRAM2WRAM)
        mlu.memcpy(tile + 1, weights + 8, 16, WRAM2NRAM)
        mlu.memcpy(weights, tile + 5, 16, NRAM2WRAM)
        mlu.memcpy(weights + 64, data + 1, 8, GDRAM2WRAM, 16, 9, 3)
        mlu.memcpy(tile + 33, weights + 64, 16, WRAM2NRAM)
        got.extend(tile[33 + i] for i in range(16))

    got = []
    on_core(body, np.arange(256).astype(np.int8))

    assert [*range(1, 9), *[-1] * 8] == got


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda m, w, n, g: m.memcpy(w + 4, n, 16, NRAM2WRAM),
            "to and from WRAM, addresses that are multiples of 8",
        ),
        (
            lambda m, w, n, g: m.memcpy(n, w + 4, 16, WRAM2NRAM),
            "to and from WRAM, addresses that are multiples of 8",
        ),
        (lambda m, w, n, g: m.memcpy(w, g, 8, GDRAM2WRAM), "to and from WRAM, multiples of 16 bytes"),
        (
            lambda m, w, n, g: m.memcpy(w, g, 8, GDRAM2WRAM, 12, 8, 1),
            "a stride to WRAM is not a multiple of 8",
        ),
        (
            lambda m, w, n, g: m.memcpy(w, g, 8, GDRAM2WRAM, 8, 1, 20, 1, 8, 1, 64, 1),
            "a stride to WRAM is not a multiple of 8",
        ),
    ],
)
def test_what_wram_does_not_take(call, sentence):
    """Addresses, sizes and strides, in every form of the copy."""
    with pytest.raises(RuleFault, match=sentence):
        on_core(lambda m, g: call(m, m.wram(int8, 256), m.nram(int8, 256), g), np.zeros(256, np.int8))


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda m, w, n, g: m.memcpy(n, n + 130, 128, NRAM2NRAM),
            RuleFault,
            "mtp_270, addresses that are multiples of 64",
        ),
        (
            lambda m, w, n, g: m.memcpy(n, n + 256, 96, NRAM2NRAM),
            RuleFault,
            "mtp_270, multiples of 128 bytes",
        ),
        (
            lambda m, w, n, g: m.memcpy_async(n, n + 256, 96, NRAM2NRAM),
            RuleFault,
            "mtp_270, multiples of 128 bytes",
        ),
        (
            lambda m, w, n, g: m.memcpy(w, n, 48, NRAM2WRAM),
            RuleFault,
            "to and from WRAM, multiples of 64 bytes",
        ),
        (
            lambda m, w, n, g: m.memcpy(n, g, 4, GDRAM2NRAM, 8, 1, 64, 1, 8, 1, 64, 1),
            Unsupported,
            "mtp_270 has no 3-D copy GDRAM2NRAM; legal: 3-D copies from __BANG_ARCH__ 322 on",
        ),
    ],
)
def test_what_the_second_generation_does_not_take(call, kind, sentence):
    """Its move inside NRAM works on lines; 3-D copies came later."""
    with pytest.raises(kind, match=sentence):
        on_core(
            lambda m, g: call(m, m.wram(int8, 1024), m.nram(int8, 1024), g),
            np.zeros(256, np.int8),
            board="MLU270-S4",
        )


def test_what_the_second_generation_takes():
    """Whole lines, single bytes where no line is asked for, and pieces with strides."""

    def body(mlu, data):
        tile = mlu.nram(int8, 1024)
        mlu.memcpy(tile, data + 1, 3, GDRAM2NRAM)
        mlu.memcpy(tile + 256, tile, 128, NRAM2NRAM)
        mlu.memcpy(tile + 513, tile, 1, NRAM2NRAM, 2, 1, 2)
        got.extend(tile[i] for i in (256, 257, 258, 513, 515, 517))

    got = []
    on_core(body, np.arange(256).astype(np.int8), board="MLU270-S4")

    assert [1, 2, 3, 1, 2, 3] == got


# -- SRAM and the memory core ------------------------------------------------------------------------


def on_first_of(union, dim, body):
    """Run *body* on task 0 of a union, with 64 floats of SRAM that every core declares."""

    def first(mlu):
        shared = mlu.shared(float32, 64)
        if mlu.is_ipu() and mlu.taskId == 0:
            body(mlu, shared)

    return on_core(first, dim=dim, kind=union)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((8, 16, 16, 300, 1), "reach 4552 bytes past its end"),
        ((8, 1000, 16, 3, 1), "reach 2752 bytes past its end"),
        ((8, 4, 16, 3, 1), "8 bytes, 4 bytes apart, overlap"),
        ((8, 16, 16, -1, 1), "segment count argument is -1"),
        ((300, 1), "reach 44 bytes past its end"),
        ((8, 2), "there is no cluster 2 in this union; legal: 0 to 1"),
        ((8, -1), "there is no cluster -1"),
        ((8, 1.0), "is not an integer"),
    ],
)
def test_wrong_copies_between_clusters(numbers, sentence):
    """The cluster's number does not hide what is wrong with the rest."""
    size, *shape = numbers

    with pytest.raises((RuleFault, OutOfBounds), match=sentence):
        on_first_of(UNION2, 8, lambda mlu, s: mlu.memcpy(s, s, size, SRAM2SRAM, *shape))


def test_copies_between_clusters_keep_nothing():
    """A thousand of them need one view of the other cluster's memory."""

    def body(mlu, shared):
        before = len(mlu.core.bindings)
        for i in range(1000):
            mlu.memcpy(shared + i % 32, shared, 4, SRAM2SRAM, 1)
        grown.append(len(mlu.core.bindings) - before)

    grown = []
    launch = on_first_of(UNION2, 8, body)

    assert [1] == grown
    assert {"SRAM2SRAM": 4000} == launch.traffic


def test_what_does_not_fit_into_another_cluster_is_this_core_s_fault():
    """The other cluster has declared another array; the fault has a task and a place."""

    def body(mlu):
        if mlu.is_mpu():
            return
        if mlu.clusterId == 1:
            mlu.shared(float32, 8)
        mlu.sync_all_ipu()
        if mlu.taskId == 2:
            shared = mlu.shared(float32, 64)
            mlu.memcpy(shared, shared, 4, SRAM2SRAM, 1)

    with pytest.raises(
        (RuleFault, OutOfMemory), match="SRAM declaration 0 is float.64. here and float.8."
    ) as caught:
        on_core(body, dim=8, kind=UNION2)

    assert (2, __file__) == (caught.value.task, caught.value.file)


def test_a_memory_core_has_ldram():
    """It reaches GDRAM, SRAM and LDRAM; NRAM and WRAM it has not."""
    device = mlusim.Device()
    out = device.empty(4, "int32")

    @kernel
    def through_ldram(mlu, data, out):
        if mlu.is_ipu():
            return
        stack = mlu.ldram(int32, 4)
        mlu.memcpy(stack, data, 16, GDRAM2LDRAM)
        mlu.memcpy(out, stack, 16, LDRAM2GDRAM)

    device.launch(through_ldram, dim=4, kind=UNION1, args=(device.put(np.arange(4, dtype=np.int32)), out))

    assert [0, 1, 2, 3] == device.get(out).tolist()
    for name in ("nram", "wram"):
        with pytest.raises(Unsupported, match=f"a memory core has no {name.upper()}"):
            device.launch(
                lambda mlu, name=name: mlu.is_mpu() and getattr(mlu, name)(int8, 4)[0] and None,
                dim=4,
                kind=UNION1,
            )
