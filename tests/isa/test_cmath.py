"""C's integer arithmetic, for Python's integers and NumPy's."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.bang import CEIL_ALIGN, DIV_UP, FLOOR_ALIGN, PAD_DOWN, PAD_UP, cdiv, cmod, i32, u32
from mlusim.errors import UsageError

INTEGERS = st.integers(-(2**70), 2**70)
INT32 = st.integers(-(2**31), 2**31 - 1)


@given(INTEGERS, INTEGERS.filter(bool))
def test_division_is_toward_zero(a, b):
    """The quotient is the exact one cut off, and the remainder has the sign of the dividend."""
    assert math.trunc(Fraction(a, b)) == cdiv(a, b)
    assert a == cdiv(a, b) * b + cmod(a, b)
    assert cmod(a, b) == 0 or (cmod(a, b) < 0) == (a < 0)


@given(INT32, INT32.filter(bool))
def test_numpy_integers_divide_as_exactly(a, b):
    """The smallest int32 has no magnitude of its own type; the result is right all the same."""
    for kind in (np.int32, np.int64):
        assert cdiv(a, b) == cdiv(kind(a), kind(b))
        assert cmod(a, b) == cmod(kind(a), kind(b))


@given(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_padding_does_not_overflow(x, y):
    """The nearest multiples above and below, without overflow near the largest int32."""
    for kind in (int, np.int32):
        up, down = PAD_UP(kind(x), kind(y)), PAD_DOWN(kind(x), kind(y))
        assert 0 == up % y == down % y
        assert down <= x <= up < x + y
        assert x < down + y
        assert up == DIV_UP(kind(x), kind(y)) * y
        assert (up, down) == (CEIL_ALIGN(kind(x), kind(y)), FLOOR_ALIGN(kind(x), kind(y)))


@given(INTEGERS)
def test_integers_wrap_at_32_bits(value):
    """32 bits, signed and not."""
    assert 0 == (i32(value) - value) % 2**32 == (u32(value) - value) % 2**32
    assert -(2**31) <= i32(value) < 2**31
    assert 0 <= u32(value) < 2**32


@pytest.mark.parametrize("value", [1.5, "4", None, [4], np.float32(4), np.array([4])], ids=repr)
@pytest.mark.parametrize("function", [cdiv, cmod, DIV_UP, PAD_UP, PAD_DOWN, CEIL_ALIGN, FLOOR_ALIGN])
def test_only_integers_divide_so(function, value):
    """A float would be divided otherwise in C."""
    for arguments in ((value, 3), (3, value)):
        with pytest.raises(UsageError, match="is not an integer; divide floats with `/`"):
            function(*arguments)


@pytest.mark.parametrize("function", [cdiv, cmod, DIV_UP, PAD_UP, PAD_DOWN, CEIL_ALIGN, FLOOR_ALIGN])
def test_nothing_divides_by_zero(function):
    """Python says so in its own words."""
    with pytest.raises(ZeroDivisionError):
        function(1, 0)
