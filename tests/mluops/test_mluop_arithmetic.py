"""Division, reciprocal and remainder against NumPy on the board that divides and on the one that does not."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mluops_tools import BOARDS, CANARY, NEW, OLD, TAILS, floats, get, put, result_of

from mlusim.bang import float32, mluop_div, mluop_mod
from mlusim.errors import RuleFault

HALF, FLOAT = np.float16, np.float32
SOUND = st.floats(2**-10, 2**10, width=32) | st.floats(-(2**10), -(2**-10), width=32)


def quotient(board, a, b, *, high):
    """Return what the board computes by the documents, in NumPy."""
    if board == NEW:
        return a / b
    if a.dtype == FLOAT:
        return a * (FLOAT(1) / b)
    if high:
        return a * (FLOAT(1) / b.astype(FLOAT)).astype(HALF)
    return a * np.reciprocal(b)


@pytest.mark.parametrize("high", [True, False])
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("board", BOARDS)
def test_division_is_the_documented_one(board, dtype, high):
    """Every path, to the bit, for whole lines and tails; nothing behind dst is touched."""
    for n in TAILS:
        a, b = floats(n, dtype, 1), floats(n, dtype, 2)

        def body(mlu, n=n, a=a, b=b):
            dst = put(mlu, np.zeros(n, dtype))
            mluop_div(mlu, dst, put(mlu, a), put(mlu, b), mlu.nram(float32, n), high, n)
            return get(dst)

        got = result_of(body, board)

        assert np.array_equal(quotient(board, a, b, high=high), got[:n])
        assert (got[n:] == CANARY).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SOUND, SOUND), min_size=1, max_size=40))
def test_division_is_close_to_the_quotient(pairs):
    """Two roundings without a division instruction, one with it."""
    a, b = np.array(pairs, FLOAT).T.copy()

    def body(mlu):
        dst = mlu.nram(float32, len(a))
        mluop_div(mlu, dst, put(mlu, a), put(mlu, b), None, True, len(a))
        return get(dst)

    exact = a.astype(float) / b
    for board, error in ((OLD, 2.0**-23), (NEW, 2.0**-24)):
        assert (abs(result_of(body, board) - exact) <= error * 1.0001 * abs(exact)).all()


# Where dst may lie: exactly a, exactly b.  The board that divides allows both everywhere.
ALIASES = [
    (OLD, FLOAT, True, "b", None),
    (OLD, FLOAT, True, "a", "dst overlaps a by 256 bytes"),
    (OLD, HALF, True, "a", None),
    (OLD, HALF, True, "b", None),
    (OLD, HALF, False, "b", None),
    (OLD, HALF, False, "a", "dst overlaps a by 128 bytes"),
    *[(NEW, dtype, high, where, None) for dtype in (HALF, FLOAT) for high in (True, False) for where in "ab"],
]


@pytest.mark.parametrize(("board", "dtype", "high", "where", "said"), ALIASES)
def test_where_dst_may_lie_in_a_division(board, dtype, high, where, said):
    """Exactly on an operand the result is the same, or one sentence says why it cannot be."""
    a, b = floats(64, dtype, 1), floats(64, dtype, 2)

    def body(mlu):
        operands = {"a": put(mlu, a), "b": put(mlu, b)}
        mluop_div(
            mlu, operands[where], **operands, addition=mlu.nram(float32, 64), is_high_precision=high, n=64
        )
        return get(operands[where], 64)

    if said is None:
        assert np.array_equal(quotient(board, a, b, high=high), result_of(body, board))
    else:
        with pytest.raises(
            RuleFault, match=f"__mluop_div: {said}; legal: dst apart from a; without a division"
        ):
            result_of(body, board)


def test_half_division_overwrites_its_divisor():
    """In high precision, without a division instruction: b is 1 / b afterwards, and a and b must differ."""
    b = floats(32, HALF)

    def divide(mlu, same=False):
        divisor = put(mlu, b)
        dividend = divisor if same else put(mlu, b)
        mluop_div(mlu, mlu.nram(HALF, 32), dividend, divisor, mlu.nram(float32, 32), True, 32)
        return get(divisor, 32)

    assert np.array_equal((1 / b.astype(FLOAT)).astype(HALF), result_of(divide))
    assert np.array_equal(b, result_of(divide, NEW))
    with pytest.raises(RuleFault, match="b overlaps a by 64 bytes.*1 / b before a is read"):
        result_of(lambda mlu: divide(mlu, same=True))


def test_division_needs_no_addition_where_it_does_not_use_one():
    """None is the vendor's null pointer; half in high precision asks for room in words."""

    def body(mlu, dtype=FLOAT, high=True):
        a, b = put(mlu, floats(8, dtype)), put(mlu, floats(8, dtype))
        mluop_div(mlu, mlu.nram(dtype, 8), a, b, None, high, 8)
        return True

    assert result_of(body)
    assert result_of(lambda mlu: body(mlu, HALF, high=False))
    assert result_of(lambda mlu: body(mlu, HALF), NEW)
    with pytest.raises(Exception, match="addition is None.*give addition room for 8 floats"):
        result_of(lambda mlu: body(mlu, HALF))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**22) + 1, 2**22 - 1), min_size=1, max_size=40), st.integers(1, 2**22))
def test_remainders_of_whole_numbers_are_exact(numbers, divisor):
    """As of fmod, with the sign of the dividend, although 372 multiplies by a rounded reciprocal."""
    x = np.array(numbers, FLOAT)

    def body(mlu):
        dst = put(mlu, np.zeros(len(x), FLOAT))
        mluop_mod(mlu, dst, put(mlu, x), divisor, mlu.nram(float32, len(x)), len(x))
        return get(dst)

    for board in BOARDS:
        got = result_of(body, board)

        assert np.array_equal(np.fmod(x, FLOAT(divisor)), got[: len(x)])
        assert (got[len(x) :] == CANARY).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=40), st.floats(0.5, 100, width=32))
def test_remainders_lie_near_those_of_the_reals(numbers, divisor):
    """Within a unit in the last place of the divisor, where 0 and the divisor are neighbours."""
    x = np.array(numbers, FLOAT)

    def body(mlu):
        dst = mlu.nram(float32, len(x))
        mluop_mod(mlu, dst, put(mlu, x), divisor, mlu.nram(float32, len(x)), len(x))
        return get(dst)

    apart = abs(result_of(body) - np.fmod(x, FLOAT(divisor)))

    assert (np.minimum(apart, abs(apart - FLOAT(divisor))) <= np.spacing(FLOAT(divisor))).all()


def test_where_a_remainder_may_lie():
    """In place only where the architecture divides."""
    x = np.arange(-8, 8).astype(FLOAT)

    def body(mlu):
        src = put(mlu, x)
        mluop_mod(mlu, src, src, 3, None, 16)
        return get(src, 16)

    assert np.array_equal(np.fmod(x, 3), result_of(body, NEW))
    with pytest.raises(RuleFault, match="__mluop_mod: dst overlaps src by 64 bytes"):
        result_of(body, OLD)


@pytest.mark.parametrize("divisor", [0, -1, float("inf"), float("nan")])
def test_remainders_of_nothing(divisor):
    """The divisor is a positive number."""

    def body(mlu):
        mluop_mod(mlu, mlu.nram(float32, 1), mlu.nram(float32, 1, [1]), divisor, mlu.nram(float32, 1), 1)

    with pytest.raises(RuleFault, match="divisor = .*legal: a positive finite number"):
        result_of(body)


def test_mlu2xx_inverts_by_its_table():
    """The approximate reciprocal, on whole lines as it wants them."""
    a, b = floats(128, FLOAT, 1), floats(128, FLOAT, 2)

    def body(mlu):
        dst = mlu.nram(float32, 128)
        mluop_div(mlu, dst, mlu.nram(float32, 128, a), mlu.nram(float32, 128, b), None, True, 128)
        return get(dst)

    got = result_of(body, "MLU270-S4")

    assert np.array_equal(a * np.reciprocal(b), got)
