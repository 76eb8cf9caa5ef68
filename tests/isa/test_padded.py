"""Padded integers remember their value before padding, and otherwise behave like any integer."""

import copy
import json
import pickle

import numpy as np
from hypothesis import given, strategies as st

from mlusim.bang import CEIL_ALIGN, PAD_UP
from mlusim.engine.arguments import Padded

SIZES = st.integers(0, 10_000)
STEPS = st.integers(1, 200)


@given(SIZES, STEPS)
def test_a_padded_integer_is_its_value(size, step):
    """It compares, hashes, prints, indexes and travels as the plain number."""
    padded = PAD_UP(size, step)
    plain = -(-size // step) * step

    assert plain == padded == CEIL_ALIGN(size, step)
    assert (hash(plain), repr(plain), json.dumps(plain)) == (hash(padded), repr(padded), json.dumps(padded))
    assert [plain // 3, plain + 1, plain - size, range(plain)] == [
        padded // 3,
        padded + 1,
        padded - size,
        range(padded),
    ]
    for again in (copy.deepcopy(padded), pickle.loads(pickle.dumps(padded))):
        assert (plain, size) == (again, getattr(again, "unpadded", plain))


@given(SIZES, STEPS, st.integers(-50, 50))
def test_products_keep_both(size, step, factor):
    """From the left and from the right, with plain numbers and with each other."""
    padded = PAD_UP(size, step)
    plain = int(padded)

    for product in (padded * factor, factor * padded):
        assert plain * factor == product
        assert size * factor == getattr(product, "unpadded", size * factor)
    assert plain * plain == padded * padded
    assert size * size == getattr(padded * padded, "unpadded", size * size)


def test_what_needs_no_padding_is_plain():
    """A multiple is left alone; padding twice remembers the first."""
    assert int is type(PAD_UP(64, 32))
    assert 33 == PAD_UP(PAD_UP(33, 8), 64).unpadded
    assert isinstance(PAD_UP(33, 8), Padded)


def test_other_numbers_multiply_as_with_integers():
    """Floats, NumPy's numbers and arrays take it for the integer that it is."""
    padded = PAD_UP(33, 8)

    assert (60.0, float) == (padded * 1.5, type(padded * 1.5))
    assert np.float32(80) == padded * np.float32(2) == np.float32(2) * padded
    assert np.array_equal(np.array([40, 80]), padded * np.array([1, 2]))
    assert [0] * 40 == [0] * padded
