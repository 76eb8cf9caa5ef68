"""The algebra of bytes, held against sets of bytes."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, kernel
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, ByteRuns
from mlusim.memory.space import NRAM

PLACE = Allocation(NRAM, 0, np.zeros(4096, np.uint8), "anywhere")
STEPS = st.lists(st.tuples(st.integers(-24, 24), st.integers(1, 5)), max_size=3).map(tuple)
ACCESSES = st.builds(Access, st.just(PLACE), st.integers(400, 480), st.integers(1, 12), STEPS)
PIECES = st.lists(ACCESSES, max_size=5)


def in_order(access):
    """Every byte of *access*, in the order in which it touches them, by the plainest loops."""
    starts = [access.start]
    for stride, count in access.steps:
        starts = [start + stride * turn for start in starts for turn in range(count)]
    return [start + byte for start in starts for byte in range(access.size)]


def bytes_of(accesses):
    return {byte for access in accesses for byte in in_order(access)}


@given(ACCESSES)
def test_one_access(access):
    """Span, size, starts, order and the question whether repetitions are apart are those of the bytes."""
    touched = in_order(access)

    assert (min(touched), max(touched) + 1) == access.span
    assert len(touched) == access.nbytes
    assert touched[:: access.size] == access.starts.tolist()
    assert (len(set(touched)) == len(touched)) == access.apart
    assert touched == [access.offset_of(index) for index in range(access.nbytes)]


@given(ACCESSES)
def test_the_rows_of_an_access(access):
    """Its view of an array of bytes holds the bytes in their order."""
    array = np.zeros(4096, np.uint8)
    array[in_order(access)] = 1

    assert access.rows_of(array).all()
    access.rows_of(array)[...] = 0
    assert not array.any()


@given(ACCESSES, st.integers(0, 20))
def test_the_index_of_a_byte(access, at):
    """The first index that touches a byte; `offset_of` leads back to it."""
    touched = in_order(access)
    byte = touched[at % len(touched)]

    assert byte == access.offset_of(access.index_of(byte))
    if access.apart:
        assert touched.index(byte) == access.index_of(byte)


@given(ACCESSES, st.integers(300, 700), st.integers(1, 60))
def test_a_range_that_an_access_touches(access, low, size):
    """Whether one of its bytes is in the range."""
    assert any(low <= byte < low + size for byte in in_order(access)) == access.touches(low, low + size)


@given(ACCESSES, ACCESSES)
def test_two_accesses(first, second):
    """Where they meet first, and whether at all; bytes of another allocation are never the same."""
    both = bytes_of([first]) & bytes_of([second])
    found = first.common(second)

    assert bool(both) == first.meets(second)
    if found is not None:
        assert set(range(*found)) <= both
        assert min(both) == found[0]
    elsewhere = Allocation(NRAM, 0, np.zeros(4096, np.uint8), "elsewhere")
    assert not first.meets(second._replace(allocation=elsewhere))


@given(ACCESSES, st.integers(-40, 40), st.integers(-24, 24))
def test_what_a_copy_overwrites_before_it_reads_it(writes, moved, wider):
    """Byte after byte, by the plainest loops."""
    assume(writes.apart)
    steps = tuple((stride + wider, count) for stride, count in writes.steps)
    reads = writes._replace(start=writes.start + moved, steps=steps)
    to, frm = in_order(writes), in_order(reads)
    written = {byte: source for byte, source in zip(to, frm, strict=True) if byte != source}
    when = {byte: n for n, byte in enumerate(to)}
    early = sum(byte in written and when[byte] < n for n, byte in enumerate(frm))

    assert early == writes.before_read_by(reads)


@given(ACCESSES, STEPS)
def test_beginning_with_another(access, steps):
    """The first repetition may be on the other's bytes, whatever is behind it may not."""
    other = access._replace(steps=steps)
    rest = bytes_of([access]) - bytes_of([access._replace(steps=())])

    assert (access == other or not rest & bytes_of([other])) == access.begins_with(other)


@given(PIECES, PIECES)
def test_runs_are_sets_of_bytes(first, second):
    """Union, intersection, difference, size and meeting of accesses in pieces."""
    a, b = ByteRuns.of(first), ByteRuns.of(second)
    left, right = bytes_of(first), bytes_of(second)

    for runs, bytes_ in ((a, left), (a | b, left | right), (a & b, left & right), (a - b, left - right)):
        assert bytes_ == {byte for low, high in runs for byte in range(low, high)}
        assert len(bytes_) == runs.nbytes
    assert bool(left & right) == a.meets(b)


@pytest.mark.parametrize("form", ["copy", "fill"])
def test_a_comb_in_the_gaps_of_another_is_legal(form):
    """Elements of 4 bytes at strides of 8 and 4: the copy and the fill take the same shapes."""

    def comb(mlu, dst, src):
        buffer, out = mlu.nram(float32, 4), mlu.nram(float32, 4)
        mlu.memcpy(buffer, src, 16, GDRAM2NRAM)
        if form == "copy":
            mlu.memcpy(out, buffer, 4, NRAM2NRAM, 8, 1, 4, 1, 8, 1, 4, 1)
        else:
            mlu.bang_write_value(out, 1, np.float32(7), 8, 1, 4, 1)
        mlu.memcpy(dst, out, 16, NRAM2GDRAM)

    device = mlusim.Device()
    dst, src = device.empty(4, np.float32), device.put(np.arange(4, dtype=np.float32))
    device.launch(kernel(comb), args=(dst, src))

    assert np.array_equal([0, 1, 2, 3] if form == "copy" else [7] * 4, device.get(dst))
