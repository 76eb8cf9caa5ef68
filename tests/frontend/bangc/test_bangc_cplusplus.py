"""Kernels that do what the same text does as C++ of this machine, on both engines."""

import pytest
from cplusplus import answer, check
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from mlusim import Device
from mlusim.arch.dtypes import DTYPES, as_elements, int64, uint64
from mlusim.errors import MlusimError

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


# -- identity -------------------------------------------------------------------------------------

SAME_PLACE = """
#define DECL3(x, y, z) int x = 3, y = -7, z = 5
#define BODY(q) auto m##q = [p, q, r] { return q + 1000 * p; };
__mlu_entry__ void K(long long *o) {
  DECL3(p, q, r);
  auto m = [p, q, r] { return q; };
  auto k = [&] { r = r + 1; return r * 10 + q; };
  auto k2 = [=, &p] { p = r; return p * 10 + q; };
  BODY(q)
  o[0] = m(); o[1] = k(); o[2] = k2(); o[3] = mq(); o[4] = p; o[5] = r;
}"""
STATICS = """
__mlu_func__ int f(int k) {
  static int n = 5; static const int C = 9; static int m[2] = {1, 2};
  n += k;
  struct S { __mlu_func__ int g() { m[1] += C; return ++n + m[1]; } };
  S s;
  auto h = [] { auto i = [] { return --n; }; n += 10; return i(); };
  int a = s.g(), b = h();
  return a * 100 + n + b * 10000;
}
template <int N> __mlu_func__ int t(int k) { static int n = N; n += k; auto g = [] { return ++n; }; int a = g(); return a * 100 + n; }
__mlu_entry__ void K(long long *o) { o[0] = f(1); o[1] = f(2); o[2] = t<1>(1); o[3] = t<2>(2); o[4] = t<1>(3); }"""
LOOPS = """
#define L1 for (; i < 5; ++i) s += i;
#define L2 for (i = 0; i < 5; ) { s += i; i++; }
#define L3 for (i = 0;; ++i) { if (i > 4) break; s += i; }
#define L4(x) for (; x; ) { s += x; x -= 1; }
#define L5(x, st) for (; x < 3; st) s += x;
#define LT(x, n) x < n
#define ST(x) ++x
__mlu_entry__ void K(long long *o) {
  int i = 0, s = 0; L1 o[0] = s; L2 o[1] = s; L3 o[2] = s; i = 5; L4(i) o[3] = s;
  int n = 4; char c;
  for (c = ')'; /* ; */; ) { s += c; if (--n < 0) break; c += 1; }
  o[4] = s;
  for (i = 0; LT(i, 4);) s += i++;
  for (;LT(i, 7); ST(i)) s += i;
  i = -1; L5(i, ++i); i = -1; L5(i, i = i + 1); o[5] = s;
}"""


@pytest.mark.parametrize(
    ("text", "native"),
    [(SAME_PLACE, True), (STATICS, False), (LOOPS, True)],
    ids=["macro", "statics", "loops"],
)
def test_what_stands_at_one_place_is_told_apart(load, tmp_path, text, native):
    """Variables of one macro, a static variable and the lambdas that use it, and the parts of a loop."""
    check(load, tmp_path, text, native=native)


def test_a_loop_of_a_macro_whose_parts_may_be_two_things_is_refused(load):
    """A call alone may be the first part, the test and the step."""
    text = """
    #define LOOP(a) for (a) { if (o[0]++ > 3) break; }
    #define PARTS ; f();
    __mlu_func__ bool f() { return true; }
    __mlu_entry__ void K(long long *o) { LOOP(PARTS) }"""

    assert "which parts of this for, which a macro writes, are left out is not known" in answer(
        load, text, 1, engine="python"
    )


def test_a_name_that_begins_with_new_is_no_new(load):
    """A macro that writes an array of new is not read as its own text."""
    text = """#include <bang.h>
    #define new_row(t, n) new t[n]
    int make() { int *p = new_row(int, 5); delete[] p; return 0; }
    """

    with pytest.raises(MlusimError, match="new in a macro is not supported"):
        load(text).functions["make"](Device())
