"""Maximum and minimum of -0 and +0: one rule for every type, length, place and processor."""

import numpy as np
import pytest

from mlusim.arch.dtypes import bfloat16, float32, half
from mlusim.isa.extremes import maximum, minimum, nan_maximum, nan_minimum
from mlusim.isa.table import ISA

LARGER, SMALLER = (maximum, nan_maximum), (minimum, nan_minimum)
ZEROS = ([0.0, 0.0, -0.0, -0.0], [0.0, -0.0, 0.0, -0.0])


@pytest.mark.parametrize("dtype", [half, bfloat16, float32], ids=str)
@pytest.mark.parametrize("function", [*LARGER, *SMALLER], ids=["max", "nan_max", "min", "nan_min"])
def test_minus_zero_is_below_zero(function, dtype):
    """Whatever the length, in place of either source, with gaps, with one number."""
    wanted = [False, False, False, True] if function in LARGER else [False, True, True, True]
    for count in range(1, 70):
        a, b = (np.resize(np.array(z, dtype.dtype), count) for z in ZEROS)
        into = np.empty((count, 2), dtype.dtype)[:, 0]
        in_a, in_b = a.copy(), b.copy()
        made = [function(a, b), function(a, b, into), function(in_a, b, in_a), function(a, in_b, in_b)]
        with_one = function(a, dtype.dtype.type(-0.0))

        assert [np.resize(wanted, count).tolist()] * 4 == [np.signbit(m.astype(float)).tolist() for m in made]
        assert np.resize(np.array([0, 0, 1, 1], bool) | (function in SMALLER), count).tolist() == (
            np.signbit(with_one.astype(float)).tolist()
        )
    assert bool(np.signbit(float(function(np.float32(-0.0), np.float32(0.0))))) is (function in SMALLER)


def test_the_larger_number_among_others():
    """NaN loses or wins; integers are compared as they are."""
    nan, a, b = np.nan, np.float32([1, np.nan, 0, 2]), np.float32([np.nan, np.nan, -0.0, 2])

    np.testing.assert_array_equal(np.float32([1, nan, 0, 2]), maximum(a, b))
    np.testing.assert_array_equal(np.float32([nan, nan, -0.0, 2]), nan_minimum(a, b))
    assert [3, 2] == maximum(np.int32([3, 2]), np.int32([-3, 2])).tolist()


@pytest.mark.parametrize("function", [maximum, minimum], ids=["max", "min"])
def test_a_signalling_nan_loses_too(function):
    """Whatever the length, in place of either source, with gaps; and against another NaN it is one."""
    loud, one = np.uint32([0x7FA00000, 0x3F800000]).view(np.float32)
    for count in (1, 2, 7, 33):
        for step in (1, 2):
            a, b = (
                np.resize(np.float32([loud, one]), count * step)[::step],
                np.full(count * step, one)[::step],
            )
            in_a, in_b = a.copy(), b.copy()

            assert [[1.0] * count] * 4 == [
                made.tolist()
                for made in (function(a, b), function(b, a), function(in_a, b, in_a), function(a, in_b, in_b))
            ]
    assert np.isnan(function(loud, loud))


def test_no_row_leaves_zeros_to_numpy():
    """NumPy's own functions choose between -0 and 0 by the vector unit of this processor."""
    loose = (np.fmax, np.fmin, np.maximum, np.minimum)

    assert [] == [
        row.name for row in ISA.values() if row.body in loose or (row.native and set(loose) & {*row.native})
    ]
