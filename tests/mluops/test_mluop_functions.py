"""Exponential, logarithm, sigmoid, pooling, conversion and the scalar helpers against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mluops_tools import BOARDS, CANARY, NEW, OLD, TAILS, floats, get, on_core, put, result_of

from mlusim.bang import (
    float32,
    half,
    mluop_exp,
    mluop_float2half,
    mluop_is_float,
    mluop_is_half,
    mluop_log,
    mluop_max,
    mluop_min,
    mluop_recursive_sum_pool,
    mluop_sigmoid,
)
from mlusim.errors import OutOfBounds, RuleFault, Unsupported, UsageError, WrongSpace

HALF, FLOAT = np.float16, np.float32
LOG2_E = FLOAT(np.log2(np.e))
LN_2 = np.nextafter(FLOAT(np.log(2)), FLOAT(0))  # the vendor's bits, 0x3f317217, are cut off, not rounded


def exponential(x):
    """Two to the power of x log2(e), in float."""
    return np.exp2(x.astype(FLOAT) * LOG2_E).astype(x.dtype)


def logarithm(x):
    """In float as a product; half is converted before it is multiplied, in half."""
    return np.log2(x.astype(FLOAT)).astype(x.dtype) * x.dtype.type(LN_2)


def sigmoid(x):
    """One over one plus e**-x, in float."""
    return (1 / (1 + exponential(-x.astype(FLOAT)))).astype(x.dtype)


CASES = [
    (mluop_exp, exponential, np.exp, (-4, 4), 1),
    (mluop_log, logarithm, np.log, (0.01, 50), 1),
    (mluop_sigmoid, sigmoid, lambda x: 1 / (1 + np.exp(-x)), (-6, 6), 2),
]


def uniform(count, dtype, low, high):
    """Numbers in a range."""
    return np.random.default_rng(count).uniform(low, high, count).astype(dtype)


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("helper", "composed", "true", "limits", "rooms"), CASES)
def test_functions_are_the_documented_compositions(helper, composed, true, limits, rooms, board, dtype):
    """To the bit the composition, near the function itself; apart and in place; tails untouched."""
    for n in TAILS:
        x = uniform(n, dtype, *limits)
        room = n * (rooms if dtype is HALF else 1)

        def body(mlu, n=n, x=x, room=room):
            src, dst = put(mlu, x, room + 8), put(mlu, np.zeros(n, dtype), room + 8)
            addition = mlu.nram(float32, n)
            helper(mlu, dst, src, addition, True, n)
            kept = get(src, n)
            helper(mlu, src, src, addition, True, n)
            return kept, get(dst), get(src)

        kept, *results = result_of(body, board)

        assert np.array_equal(x, kept)
        for got in results:
            assert np.array_equal(composed(x), got[:n])
            assert np.allclose(
                true(x.astype(float)), got[:n], rtol=2e-3 if dtype is HALF else 1e-5, atol=1e-3
            )
            assert (got[room:] == CANARY).all()


def test_the_half_logarithm_is_rounded_twice():
    """The product in half differs from the logarithm rounded once for some arguments."""
    x = np.arange(1, 2048).astype(HALF)

    def body(mlu):
        dst = mlu.nram(half, len(x))
        mluop_log(mlu, dst, put(mlu, x), mlu.nram(float32, len(x)), True, len(x))
        return get(dst)

    got, once = result_of(body), np.log(x.astype(float)).astype(HALF)

    assert np.array_equal(logarithm(x), got)
    assert 0 < np.count_nonzero(got != once) < len(x)


def test_the_half_sigmoid_writes_floats_into_dst():
    """It wants twice the room, and destroys the second half of it."""
    x = floats(32, HALF)

    def body(mlu, room):
        dst = put(mlu, np.zeros(32, HALF), room)
        mluop_sigmoid(mlu, dst, put(mlu, x), mlu.nram(float32, 32), True, 32)
        return get(dst)

    written = result_of(lambda mlu: body(mlu, 64))

    assert np.array_equal(sigmoid(x.astype(FLOAT))[16:], written[32:].view(FLOAT))
    with pytest.raises(OutOfBounds, match="__mluop_sigmoid: dst takes 128 bytes.*give it twice the room"):
        result_of(lambda mlu: body(mlu, 63))


def test_the_half_sigmoid_keeps_its_operands_apart():
    """A source behind dst would be overwritten; so would the addition."""

    def body(mlu, src_at, addition_at):
        heap = mlu.nram(half, 256)
        heap.view.array[:] = 1
        mluop_sigmoid(mlu, heap, heap + src_at, (heap + addition_at).cast(float32), True, 16)
        return get(heap, 16)

    assert (sigmoid(np.ones(16, HALF)) == result_of(lambda mlu: body(mlu, 32, 64))).all()
    assert (sigmoid(np.ones(16, HALF)) == result_of(lambda mlu: body(mlu, 0, 64))).all()
    with pytest.raises(RuleFault, match="dst overlaps src by 32 bytes"):
        result_of(lambda mlu: body(mlu, 16, 64))
    with pytest.raises(RuleFault, match="addition overlaps dst by 64 bytes"):
        result_of(lambda mlu: body(mlu, 128, 0))
    with pytest.raises(RuleFault, match="addition overlaps src by 32 bytes"):
        result_of(lambda mlu: body(mlu, 64, 64))


@pytest.mark.parametrize("helper", [mluop_exp, mluop_log, mluop_sigmoid])
def test_float_needs_no_addition(helper):
    """None is the vendor's null pointer; half says how much it wants."""

    def body(mlu, dtype):
        x = put(mlu, np.ones(8, dtype), 24)
        helper(mlu, x, x, None, True, 8)
        return True

    assert result_of(lambda mlu: body(mlu, FLOAT))
    with pytest.raises(WrongSpace, match="addition is None, .*give addition room for 8 floats"):
        result_of(lambda mlu: body(mlu, HALF))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=50))
def test_sigmoids_are_symmetric_and_bounded(values):
    """Between 0 and 1, and sigmoid(-x) = 1 - sigmoid(x)."""
    x = np.array(values, FLOAT)

    def body(mlu, sign):
        y = put(mlu, sign * x)
        mluop_sigmoid(mlu, y, y, None, True, len(x))
        return get(y, len(x))

    plus, minus = result_of(lambda mlu: body(mlu, 1)), result_of(lambda mlu: body(mlu, -1))

    assert (plus >= 0).all()
    assert (plus <= 1).all()
    assert np.allclose(1, plus.astype(float) + minus, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(2**-60, 2**60, width=32), min_size=1, max_size=50))
def test_logarithms_undo_exponentials(values):
    """In float, to what the argument's magnitude allows."""
    x = np.array(values, FLOAT)

    def body(mlu):
        y = put(mlu, x)
        mluop_log(mlu, y, y, None, True, len(x))
        mluop_exp(mlu, y, y, None, True, len(x))
        return get(y, len(x))

    assert np.allclose(x, result_of(body), rtol=1e-5)


def test_mlu2xx_has_tables_and_no_logarithm():
    """The approximate rows on whole lines; the binary logarithm came with the third generation."""
    x = floats(128, FLOAT)

    def body(mlu, helper, dtype):
        y, addition = mlu.nram(dtype, 128, x.astype(dtype)), mlu.nram(float32, 128)
        helper(mlu, y, y, addition, False, 128)
        return get(y)

    for dtype in (HALF, FLOAT):
        for helper, true in ((mluop_exp, np.exp), (mluop_sigmoid, lambda v: 1 / (1 + np.exp(-v)))):
            got = result_of(lambda mlu, h=helper, d=dtype: body(mlu, h, d), "MLU270-S4")

            assert np.allclose(true(x.astype(float)), got, rtol=1e-2, atol=2e-3)
    with pytest.raises(Unsupported, match="__bang_log2: mtp_270 does not have it"):
        result_of(lambda mlu: body(mlu, mluop_log, FLOAT), "MLU270-S4")


# -- pooling ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 9), st.sampled_from([HALF, FLOAT]))
def test_pooling_sums_rows(low, high, limit, dtype):
    """Small whole numbers, so exactly; the first row is the sum, and nothing behind the rows is touched."""
    rows = np.random.default_rng(low + 41 * high).integers(-8, 9, (high, low)).astype(dtype)

    def body(mlu):
        dst = put(mlu, rows.ravel())
        mluop_recursive_sum_pool(mlu, dst, low, high, limit)
        return get(dst)

    for board in BOARDS:
        got = result_of(body, board)

        assert np.array_equal(rows.sum(0), got[:low])
        assert (got[rows.size :] == CANARY).all()


def test_pooling_halves_the_rows_each_time():
    """Of 8 rows and windows of 2 it takes three instructions; of one row none."""

    def pooled(rows):
        _, launch, _ = on_core(
            lambda mlu: mluop_recursive_sum_pool(mlu, put(mlu, np.ones(rows * 4, FLOAT)), 4, rows, 2)
        )
        return launch.instructions.get("bang_sumpool", 0)

    assert [3, 0, 5] == [pooled(8), pooled(1), pooled(5)]


def test_pooling_one_row_at_a_time_never_ends():
    """So it is refused, as are rows that are not there."""

    def body(mlu, limit=2, rows=2):
        mluop_recursive_sum_pool(mlu, mlu.nram(float32, 8), 4, rows, limit)

    with pytest.raises(RuleFault, match="kernel_limit = 1 is too small; legal: 2 or more"):
        result_of(lambda mlu: body(mlu, limit=1))
    with pytest.raises(OutOfBounds, match="dst takes 48 bytes.*16 bytes past its end"):
        result_of(lambda mlu: body(mlu, rows=3))


# -- scalars and conversion ------------------------------------------------------------------------


@given(st.floats(), st.floats())
def test_minimum_and_maximum_are_those_of_c(a, b):
    """The second number where the comparison is false, so also where one is NaN."""

    def body(mlu):
        return mluop_min(mlu, a, b), mluop_max(mlu, a, b)

    small, large = result_of(body)

    assert repr((min(b, a), max(b, a))) == repr((small, large))


def test_minimum_wants_numbers():
    """A pointer is none."""
    with pytest.raises(WrongSpace, match="__mluop_min: b is .*legal: a number"):
        result_of(lambda mlu: mluop_min(mlu, 1, mlu.nram(float32, 1)))


def test_type_tests():
    """By type, NumPy type or name."""

    def body(mlu):
        assert mluop_is_float(mlu, float32)
        assert mluop_is_half(mlu, np.float16)
        assert not mluop_is_float(mlu, "half")
        assert not mluop_is_half(mlu, "int32")
        with pytest.raises(UsageError, match="not an element type"):
            mluop_is_half(mlu, "quarter")
        return True

    assert result_of(body)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_conversion_rounds_to_the_nearest_even(values):
    """Vector and scalar alike, in place and apart; infinity beyond the largest half."""
    x = np.array(values, FLOAT)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(HALF)

    def body(mlu):
        src, dst = put(mlu, x), put(mlu, np.zeros(len(x), HALF))
        mluop_float2half(mlu, dst, src, len(x))
        one = mluop_float2half(mlu, x[0])
        mluop_float2half(mlu, src.cast(half), src, len(x))
        return get(dst), get(src.cast(half), len(x)), one

    for board in (OLD, NEW):
        dst, same, one = result_of(body, board)

        assert np.array_equal(expected, dst[: len(x)], equal_nan=True)
        assert np.array_equal(expected, same, equal_nan=True)
        assert np.array_equal(expected[0], one, equal_nan=True)
        assert (dst[len(x) :] == CANARY).all()


def test_conversion_on_mlu2xx_rounds_ties_away():
    """It lacks the rounding to even."""
    tie = 1 + 2**-11

    def body(mlu):
        dst = mlu.nram(half, 64)
        mluop_float2half(mlu, dst, mlu.nram(float32, 64, [tie] * 64), 64)
        return get(dst, 1)[0], mluop_float2half(mlu, tie)

    assert (1 + 2**-10,) * 2 == result_of(body, "MLU270-S4")
    assert (1, 1) == result_of(body)


def test_conversion_takes_one_number_or_three_operands():
    """Two are neither."""
    with pytest.raises(RuleFault, match=r"legal: \(mlu, dst, src, n\), or \(mlu, number\)"):
        result_of(lambda mlu: mluop_float2half(mlu, mlu.nram(half, 4), mlu.nram(float32, 4)))
