"""What an operand settles: bytes without a value that a mask leaves out, or that zero takes away, are not findings."""

import numpy as np
import pytest
from observe_tools import found

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int8, int16, int32, kernel, uint8, uint32
from mlusim.observe.value_flow import dependence, settled

INIT = ["initcheck"]
BOARD = "MLU590-H8"
N = 8
STORED, ADDRESS = "initcheck-undefined-stored", "initcheck-undefined-address"


@kernel
def moved(mlu, out, taken):
    """The destination is half written, the source too; the mask takes the first *taken* elements."""
    dst, src = mlu.nram(int32, N), mlu.nram(int32, N)
    mask = mlu.nram(int32, N, [-1] * taken)
    mlu.bang_write_value(src, N // 2, np.int32(1))
    mlu.bang_write_value(dst + N // 2, N // 2, np.int32(2))
    mlu.bang_maskmove(dst, src, mask, N)
    mlu.memcpy(out, dst, 4 * N, NRAM2GDRAM)


@pytest.mark.parametrize(("taken", "expected"), [(4, []), (3, [STORED]), (5, [STORED])])
def test_a_masked_move_needs_what_it_takes_and_leaves(taken, expected):
    """A lane that the mask leaves needs the destination, one that it takes the source."""
    assert expected == [f.id for f in found(moved, (N, int32), taken, observe=INIT)]


@kernel
def cut(mlu, out, bits):
    low = mlu.nram(uint32, N)
    mlu.bang_write_value(low.cast(uint8), 4 * N, np.uint8(7))
    mlu.memcpy(low.cast(uint8), out, 1, GDRAM2NRAM)
    mlu.bang_band_scalar(low.cast(int16), low.cast(int16), bits, 2 * N)
    mlu.memcpy(out, low, 4 * N, NRAM2GDRAM)


@pytest.mark.parametrize(("bits", "expected"), [(0x7F00, []), (0x7F01, [STORED])])
def test_a_constant_mask_settles_the_bits_that_it_clears(bits, expected):
    """One byte has no value; the constant clears it, or leaves a bit of it."""
    assert expected == [f.id for f in found(cut, (N, uint32), bits, observe=INIT)]


@kernel
def multiplied(mlu, out, dtype, factor):
    tail, factors = mlu.nram(dtype, N), mlu.nram(dtype, N, [1] * (N // 2) + [factor] * (N // 2))
    mlu.bang_write_value(tail, N // 2, dtype(3))
    mlu.bang_mul(tail, tail, factors, N)
    mlu.memcpy(out, tail, dtype.size * N, NRAM2GDRAM)


@pytest.mark.parametrize(
    ("dtype", "factor", "expected"), [(int32, 0, []), (int32, 2, [STORED]), (float32, 0, [STORED])]
)
def test_zero_takes_an_integer_away_and_no_float(dtype, factor, expected):
    """What is unwritten may be a NaN, and NaN times zero is not a zero."""
    assert expected == [f.id for f in found(multiplied, (N, dtype), dtype, factor, observe=INIT)]


@kernel
def picked(mlu, out, form, mask):
    source, target = mlu.nram(float32, N, range(N)), mlu.nram(float32, N, [0])
    offset, bits = mlu.nram(uint32, N), mlu.nram(uint8, 1, [mask])
    mlu.bang_write_zero(offset, N // 2)
    if form == "gather":
        mlu.gather_async(target, out, offset, bits, 4, GDRAM2NRAM, 4, N)
    elif form == "scatter":
        mlu.scatter_async(out, source, offset, bits, 4, NRAM2GDRAM, 4, N)
    elif form == "inside":
        mlu.bang_gather_async(target, source, offset, bits, 4, 4, N)
    else:
        addend = mlu.nram(float32, N)
        mlu.bang_write_zero(addend, N // 2)
        mlu.bang_discrete_atomic_add(target, out, offset, addend, bits, N)
    mlu.sync()


@pytest.mark.parametrize("form", ["gather", "scatter", "inside", "discrete"])
def test_offsets_and_values_that_a_mask_leaves_out_need_no_value(form):
    """Half of the offsets are unwritten, and half of what an atomic adds; the fifth bit takes the first of these."""
    ones = np.ones(N, np.float32)

    assert () == found(picked, ones, form, 0x0F, observe=INIT, board=BOARD)
    assert ADDRESS in [f.id for f in found(picked, ones, form, 0x1F, observe=INIT, board=BOARD)]


@kernel
def counted(mlu, bins, first):
    """Two atomics at different places; the first adds what was never written."""
    offset, old = mlu.nram(uint32, 2, [0, 4]), mlu.nram(float32, 2)
    addend = mlu.nram(float32, 2)
    mlu.bang_write_zero(addend + first, 2 - first)
    mlu.bang_discrete_atomic_add(old, bins, offset, addend, 2)
    mlu.memcpy(bins + 4, old, 8, NRAM2GDRAM)


def test_a_place_of_an_atomic_needs_its_own_sources_only():
    """One addend is missing: four bytes are stored without a value, and what was found there has one."""
    ones = np.ones(N, np.float32)
    (finding,) = found(counted, ones, 1, observe=INIT, board=BOARD)

    assert () == found(counted, ones, 0, observe=INIT, board=BOARD)
    assert (STORED, 4) == (finding.id, finding.facts["bytes"])


@kernel
def chosen(mlu, out, masks):
    """Elements chosen by one mask after another, by the same instruction."""
    src, mask, dst = mlu.nram(int32, N), mlu.nram(int32, N), mlu.nram(int32, N)
    mlu.bang_write_value(src, N, np.int32(7))
    for row in range(3):
        mlu.memcpy(mask, masks + N * row, 4 * N, GDRAM2NRAM)
        count = mlu.bang_filter(dst, src, mask, N)
        if count:
            mlu.memcpy(out, dst, 4 * count, NRAM2GDRAM)


@kernel
def anded(mlu, out, masks):
    """Bytes that nothing has written, under one mask after another, by the same instruction."""
    src, mask, dst = mlu.nram(int8, 4 * N), mlu.nram(int8, 4 * N), mlu.nram(int8, 4 * N)
    for row in range(3):
        mlu.memcpy(mask, masks + N * row, 4 * N, GDRAM2NRAM)
        mlu.bang_band(dst, src, mask, 4 * N)
    mlu.memcpy(out, dst, 4 * N, NRAM2GDRAM)


@pytest.mark.parametrize(("body", "expected"), [(chosen, []), (anded, [STORED])])
def test_the_same_instruction_under_another_mask_is_asked_again(body, expected):
    """Two masks of zeros, then one of all bits: what the first two left open or settled, the third does not."""
    masks = np.repeat(np.array([0, 0, -1], np.int32), N)

    assert expected == [f.id for f in found(body, (N, int32), masks, observe=INIT, board=BOARD)]


@kernel
def looked_up(mlu, out, stored):
    """A table, for twice as many places as there are; *stored* of its entries are stored."""
    places, table = mlu.nram(uint32, N), mlu.nram(int32, 64, list(range(64)))
    mlu.bang_write_value(places, N // 2, np.uint32(3))
    mlu.bang_lut(places.cast(int32), places, table, N, 64)
    mlu.memcpy(out, places, 4 * stored, NRAM2GDRAM)


@pytest.mark.parametrize(("stored", "expected"), [(N // 2, [ADDRESS]), (N, [ADDRESS, STORED])])
def test_a_place_without_a_value_spoils_its_own_lane(stored, expected):
    """The look-up is told once; what it gives for the other places has a value."""
    assert expected == [f.id for f in found(looked_up, (N, int32), stored, observe=INIT, board=BOARD)]


@kernel
def bitwise(mlu, source, name, dtype, in_place):
    one, other, out = (mlu.nram(dtype, 64, [0] * 64) for _ in range(3))
    mlu.memcpy(one, source, 64 * dtype.size, GDRAM2NRAM)
    mlu.memcpy(other, source + 256, 64 * dtype.size, GDRAM2NRAM)
    getattr(mlu, name)(one if in_place else out, one, other, 64)


class Asked(mlusim.Observer):
    """Holds the flags that follow from the bits against those of the body, for some flags of the operands."""

    def __init__(self):
        self.settled = set()

    def effect(self, effect):
        """Hold them against one another for flags at random."""
        draw = np.random.default_rng(4)
        if effect.step.row is not None:
            known = [draw.random(access.nbytes) < 0.6 for access in effect.reads]
            bits = settled(effect, known)
            if bits is not None:
                assert np.array_equal(bits, dependence(effect, known, known[:1]).writes[0])
                assert not np.array_equal(bits, known[0] & known[1])
                self.settled.add(effect.name)


@pytest.mark.parametrize("dtype", [uint8, int16, float32], ids=str)
def test_bits_that_settle_are_those_that_the_body_finds(dtype):
    asked, device = Asked(), mlusim.Device(BOARD)
    source = device.put(np.random.default_rng(3).choice(np.array([0, 0, 255, 255, 1, 0x5A], np.uint8), 512))
    for name in ("bang_band", "bang_bor", "bang_bxor"):
        for in_place in (False, True):
            device.launch(bitwise, args=(source, name, dtype, in_place), observe=[asked])

    assert {"bang_band", "bang_bor"} == asked.settled
