"""Kernels that do what the same text does as C++ of this machine, on both engines."""

import pytest
from cplusplus import check
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from mlusim.arch.dtypes import DTYPES, as_elements, int64, uint64

# -- integers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        """__mlu_entry__ void K(long long *o) {
          unsigned long long h[2] = {0xcbf29ce484222325ull, 0x100000001b3ull};
          unsigned long long v[2] = {1, (unsigned long long)-7LL};
          o[0] = (long long)h[0]; o[1] = (long long)v[1]; o[2] = (long long)h[1];
        }""",
        """struct T { unsigned long long a, b[3]; };
        __mlu_entry__ void K(long long *o) {
          T t = {5, {1, 0xfedcba9876543211ull, 2}}; o[0] = t.b[1]; o[1] = t.a;
          unsigned long long m[2][2] = {{1, 0xfedcba9876543213ull}, {3, 4}}; o[2] = m[0][1]; o[3] = m[1][0];
        }""",
    ],
)
def test_integers_of_an_array_keep_every_bit(load, tmp_path, text):
    """Small values beside those of 2^63 and above pass through no double."""
    check(load, tmp_path, text)


def test_integers_of_a_static_table_keep_every_bit(load, tmp_path):
    """A table of a function, too."""
    text = """__mlu_func__ unsigned long long tab(int i) {
      static const unsigned long long T[] = {1, 63, 3, 18446744073709551539ull}; return T[i & 3]; }
    __mlu_entry__ void K(long long *o) { o[0] = (long long)tab(3); o[1] = tab(1); }"""
    check(load, tmp_path, text, native=False)


@settings(max_examples=60, deadline=None)
@drawn(st.lists(st.integers(-(2**63), 2**64 - 1) | st.floats(0, 1e6), max_size=6))
def test_elements_of_a_list_are_converted_one_by_one(values):
    """A list is what its items are, each alone."""
    for dtype in (int64, uint64):
        assert as_elements(values, dtype).tolist() == [int(dtype(v)) for v in values]


def test_what_is_no_row_of_numbers_has_no_elements():
    """Text, nested rows and objects are refused, an empty row is none of them."""
    for dtype in DTYPES:
        assert [as_elements(v, dtype) for v in ("ab", [[1], [2, 3]], [[1, 2]], [2**64, "a"], 5)] == [None] * 5
        assert as_elements([], dtype).size == 0
