"""Kernels that do what the same text does as C++ of this machine, on both engines."""

import pytest
from cplusplus import answer, check
from engines import NATIVE
from hypothesis import given as drawn, settings, strategies as st

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
    check(load, tmp_path, text)


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
    [(SAME_PLACE, True), (STATICS, True), (LOOPS, True)],
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

    assert "a macro writes this for, and leaves out parts of it that cannot be told apart" in answer(
        load, text, 1, engine="python"
    )


def test_a_name_between_underscores_is_a_name(load):
    """As macros of libraries have it; Python has other meanings for such names."""
    text = "__mlu_entry__ void K(long long *o) { long long __status__ = o[0] + 3; o[0] = __status__; }"

    assert [[3], [3]] == [answer(load, text, 1, engine=engine) for engine in ("python", NATIVE)]


# -- copies and ends of objects ---------------------------------------------------------------------

OBJECTS = {
    "copies": (
        """
struct L { int id; __mlu_func__ L(int i = 0) : id(i) {} __mlu_func__ L(const L &o) : id(o.id + 10) {} };
struct W { L l; int z; };
struct X { W w; L a[2]; };
struct D : L { int q; };
struct E : L { int q; __mlu_func__ E(const E &o) : L(o), q(o.q) {} __mlu_func__ E() : q(4) {} };
struct P { int x, y; };
struct Q : P { int z; __mlu_func__ Q(const Q &o) : P(o), z(o.z) {} __mlu_func__ Q() : z(4) { x = 1; y = 2; } };
__mlu_func__ L ret(L &x) { return x; }
__mlu_func__ L ret2() { L y(5); return y; }
__mlu_func__ int by(L x) { return x.id; }
__mlu_func__ int byw(W x) { return x.l.id; }
__mlu_entry__ void K(long long *o) {
  L x(3);
  L a[2] = {x, 7}; o[0] = a[0].id + 1000 * a[1].id;
  W w = {x, 4}; W w2 = w; o[1] = w2.l.id;
  X y = {w, {x, L(2)}}; X y2(y); o[2] = y2.w.l.id + y2.a[0].id * 1000 + y2.a[1].id * 1000000;
  D d; d.id = 1; d.q = 2; D d2 = d; o[3] = d2.id + 100 * d2.q;
  E e; e.id = 5; E e2 = e; o[4] = e2.id + 100 * e2.q;
  Q q; Q q2 = q; o[5] = q2.x + 10 * q2.y + 100 * q2.z;
  o[6] = ret(x).id + 1000 * by(x) + 1000000 * byw(w);
  o[7] = ret2().id;
}
""",
        True,
    ),
    "assignments": (
        """
struct L { int id; __mlu_func__ L(int i = 0) : id(i) {} __mlu_func__ L(const L &o) : id(o.id + 10) {}  __mlu_func__ L &operator=(const L &o) { id = o.id + 100; return *this; } };
struct W { L l; int z; L a[2]; };
struct B : L { int q; };
struct BB : B { L m; };
__mlu_entry__ void K(long long *o) {
  L x(3); L v[2]; v[0].id = 3; v[1].id = 4; int s = 0; for (auto e : v) s += e.id; o[0] = s; s = 0; for (auto &e : v) s += e.id; o[1] = s;
  auto f = [x] { return x.id; }; o[2] = f(); auto g = f; o[3] = g();
  auto h = [y = x] { return y.id; }; o[3] += h() * 1000;
  W w, q; w.l.id = 3; w.z = 1; w.a[1].id = 5; q.l.id = 0; q.z = 2; q = w; o[4] = q.l.id + 1000 * q.z + 10000 * q.a[1].id;
  BB b, c; b.id = 3; b.q = 1; b.m.id = 7; c = b; o[5] = c.id + 1000 * c.q + 10000 * c.m.id; BB e = b; o[6] = e.id + 1000 * e.q + 10000 * e.m.id;
  auto [l, z, a] = w; o[7] = l.id + 1000 * z + 10000 * a[1].id;
}
""",
        True,
    ),
    "slices": (
        """
struct L { int id; __mlu_func__ L(int i) : id(i * 2) {} };
struct A { int x; __mlu_func__ virtual int get() const { return x; } __mlu_func__ int twice() const { return 2 * get(); } };
struct B : A { int y; __mlu_func__ int get() const override { return x + 100; } };
struct C { int x; __mlu_func__ int get() const { return x; } };
struct D : C { int y; };
__mlu_func__ int val(A a) { return a.get(); }
__mlu_func__ int valc(C a) { return a.get(); }
__mlu_func__ A up(B b) { return b; }
__mlu_func__ int ref(const A &a) { return a.get(); }
__mlu_entry__ void K(long long *o) { L a[2] = {1, 2}; o[0] = a[0].id * 10 + a[1].id; B b; b.x = 3; b.y = 5; A s = b; o[1] = s.get() + 1000 * ref(b) ; o[2] = val(b); o[3] = up(b).get(); A t; t.x = 1; t = b; o[4] = t.get() + 1000 * t.twice();
 D d; d.x = 6; d.y = 7; C q = d; o[5] = q.get(); o[6] = valc(d); C u; u = d; A arr[2] = {b, s}; o[7] = u.get() + arr[0].get() * 1000; }
""",
        False,
    ),
    "references to bases": (
        """
struct P { int x; };
struct Q : P { int y; };
struct A { int x; __mlu_func__ virtual int get() const { return x; } };
struct B : A { __mlu_func__ int get() const override { return x + 100; } };
__mlu_func__ void put(P &a, const P &b) { a = b; }
__mlu_func__ int val(const A &a) { A s = a; return s.get(); }
__mlu_func__ A ret(const A &a) { return a; }
__mlu_entry__ void K(long long *o) { Q a, b; a.x = 1; a.y = 2; b.x = 3; b.y = 4; put(a, b); o[0] = a.x * 10 + a.y; B c; c.x = 5; o[1] = val(c); o[2] = ret(c).get(); A *p = &c; A s = *p; o[3] = s.get() * 1000 + p->get(); P &r = a; r = b; o[4] = a.x * 10 + a.y; A v[2]; v[0] = c; v[1] = *p; o[5] = v[0].get() + v[1].get(); B w; A &z = w; w.x = 0; z = c; o[6] = z.get(); o[7] = w.x; }
""",
        False,
    ),
    "constructors that choose": (
        """
struct A { int x; __mlu_func__ virtual int get() const { return 1; } __mlu_func__ void init() { x = x * 10 + get(); } __mlu_func__ A() { x = get(); init(); } };
struct B : A { __mlu_func__ int get() const override { return 2; } __mlu_func__ B() { x = x * 10 + get(); init(); } };
struct C : B { int z; __mlu_func__ int get() const override { return 3; } };
__mlu_entry__ void K(long long *o) { B q; o[0] = q.x; C c; o[1] = c.x; c.init(); o[2] = c.x; A &r = c; o[3] = r.get(); o[4] = q.get(); }
""",
        False,
    ),
    "ends": (
        """
struct L { long long *n; int i; __mlu_func__ L(long long *n, int i) : n(n), i(i) {} __mlu_func__ ~L() { *n = *n * 7 + i; } __mlu_func__ L(const L &o) : n(o.n), i(o.i + 1) {} };
struct P { L a; L b; __mlu_func__ P(long long *n, int i) : a(n, i), b(n, i + 1) {} __mlu_func__ ~P() { *a.n += 5; } };
__mlu_func__ int early(long long *n, int k) { L x(n, 1); if (k == 1) return *n; L y(n, 2); for (int i = 0; i < 4; i++) { L z(n, 3); if (i == k) return *n + i; } return *n; }
__mlu_func__ void loops(long long *n, int k) { for (int i = 0; i < 5; i++) { L x(n, i); if (i == 1) continue; { L y(n, 4); if (i == k) break; } L w(n, 6);
  switch (i) { case 0: { L s(n, 8); break; } default: { L s(n, 9); if (i == 2) continue; } } *n %= 10007; } }
template <class T> struct W { T *n; __mlu_func__ W(T *n) : n(n) {} __mlu_func__ ~W() { *n = *n * 3 + 1; } };
template <class T> struct V { T v[3] = {5, 6, 7}; __mlu_func__ const T *begin() const { return v; } __mlu_func__ const T *end() const { return v + 3; } };
__mlu_func__ int jump(long long *n) { int k = 0; again: { L x(n, 3); if (k++ < 2) goto again; } return k; }
__mlu_entry__ void K(long long *o) { long long n = 1; o[0] = early(&n, 1); o[0] = o[0] * 1000 + n; n = 1; o[1] = early(&n, 2) + n; n = 1; o[2] = early(&n, 9) + n; n = 1; loops(&n, 3); o[3] = n; n = 1; loops(&n, 9);
  o[4] = n; n = 1; { P p(&n, 2); L c = p.a; o[5] = n; } o[5] = o[5] * 100000 + n; n = 1; o[6] = jump(&n) * 1000000 + n;
  n = 1; { W<long long> w(&n); V<int> v; for (auto x : v) n += x; } o[7] = n; }
""",
        True,
    ),
    "temporaries": (
        """
struct L { int *n; int i; __mlu_func__ L(int *n, int i) : n(n), i(i) {} __mlu_func__ ~L() { *n = *n * 7 + i; } __mlu_func__ int get() { return i++; } };
__mlu_func__ int take(const L &l) { return l.i; }
__mlu_func__ L make(int *n) { return L(n, 3); }
__mlu_entry__ void K(long long *o) { int n = 3; L(&n, 6); o[0] = n; int k = take(L(&n, 2)) + 1; o[1] = n * 10 + k; k = L(&n, 4).get(); o[2] = n * 10 + k; make(&n); o[3] = n; { L x = make(&n); o[4] = n; } o[5] = n; (void)take(make(&n)); o[6] = n;
 { auto f = [l = L(&n, 5)] { return 1; }; o[7] = n; } o[7] = o[7] * 1000 + n; }
""",
        True,
    ),
    "results": (
        """
struct L { int *n; int i; __mlu_func__ L(int *n, int i) : n(n), i(i) {} __mlu_func__ ~L() { *n = *n * 7 + i; } __mlu_func__ int get() { return i++; }
 __mlu_func__ L operator+(const L &o) const { return L(n, i + o.i); } __mlu_func__ L(const L &o) : n(o.n), i(o.i + 1) {} __mlu_func__ L &operator=(const L &o) { i = o.i; return *this; } __mlu_func__ L &add(int k) { i += k; return *this; } };
struct M { L a; int z; };
__mlu_func__ L make(int *n, int k) { L x(n, k); x.i += 1; if (k == 4) return x; *n += 1; return x; }
__mlu_func__ int val(int *n) { return L(n, 2).i + L(n, 3).i; }
__mlu_func__ M mk(int *n) { return M{L(n, 1), 2}; }
__mlu_entry__ void K(long long *o) { int n = 1; { L y = make(&n, 4); o[0] = n * 10 + y.i; } o[1] = n; { L y = make(&n, 5); o[1] = n * 10 + y.i; } n = n % 1000; o[2] = val(&n) * 10000 + n; n = 1;
 { L a(&n, 1), b(&n, 2); L c = a + b + a; o[3] = n * 10 + c.i; a = a + b; o[3] += a.i * 1000; } o[4] = n % 100000; n = 1; { M m = mk(&n); o[5] = n; M q = m; } o[6] = n; n = 1; o[7] = L(&n, 3).add(4).i * 1000; o[7] += n; mk(&n); o[7] += n * 1000000; }
""",
        True,
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_copied_and_end_as_in_cplusplus(load, tmp_path, name):
    """Elements, members, bases, captures, loops by value, bindings, slices, virtual calls, temporaries and results."""
    text, native = OBJECTS[name]
    check(load, tmp_path, text, native=native)


# -- what was refused, or refused badly -----------------------------------------------------------

WORDS = """
struct C { int v; constexpr C(int x) : v(x * 2) {} };
constexpr C tabl(4);
struct R { int &r; };
struct H { int a = 4; int b{a * 2}; __mlu_func__ H() = default; __mlu_func__ H(int x) : b(x) {} __mlu_func__ H(int x, int y) : H(x) { a = y; } };
struct N { int v; __mlu_func__ N(int x = 0) : v(x) {} __mlu_func__ N operator+(const N &o) const { return N(v + o.v); } };
__mlu_func__ int g(int p, int q) { int w = [&] { int z = p ^ q; return z; }(); return w; }
namespace a { const int T[2] = {1, 2}; }
namespace b { const int T[2] = {3, 4}; }
struct A { static const int S[2]; }; const int A::S[2] = {7, 8};
struct B { static const int S[2]; }; const int B::S[2] = {9, 10};
const int V[2] = {11, 12};
typedef int (*Op)(int);
template <int N> __mlu_func__ int f2(int x) { return x * N; }
__mlu_func__ int f(int i) { int V = 5; return ::V[i] + V; }
__mlu_entry__ void K(long long *o) {
  o[0] = tabl.v; int x = 5; R rr = {x}; rr.r = 12; o[1] = x;
  H h; H k(1, 2); o[2] = h.a + 100 * h.b + 10000 * (k.a + 100 * k.b);
  N m(3), n(4); o[3] = m.operator+(n).v; o[4] = g(3, 5);
  int i = o[4] == 6; o[5] = a::T[i] * 10 + b::T[i]; o[6] = A::S[i] * 100 + B::S[i]; o[7] = f(i);
  Op t[2] = {(Op)f2<4>, (Op)&f2<5>}; o[8] = t[1](5) * 100 + t[0](6);
}"""


def test_objects_of_a_file_references_and_initialisers(load, tmp_path):
    """A constant object, a member that is a reference, initialisers that read members, and variables of one name."""
    check(load, tmp_path, WORDS, 9)


KEPT = """
struct P { int a; float b; };
struct C { int v; constexpr C(int x) : v(x * 2) {} };
constexpr C tabl(4);
const float W[3] = {1.5f, 2.5f, -3.5f};
const P Q[2] = {{1, 2.0f}, {3, 4.0f}};
static int counter = 7;
const bool flags[3] = {true, false, true};
const unsigned long long big[2] = {1, 0xfedcba9876543211ull};
__mlu_func__ int add(const int &x, const P &p) { return x + p.a + (int)p.b; }
__mlu_func__ int next() { static int n = 5; static P s = {2, 1.0f}; static float t[4] = {1, 2, 3}; static bool b; n += s.a; s.a++; t[2] += 1; b = !b; return n * 100 + (int)t[2] + b; }
__mlu_func__ P mk(int k) { P p = {k, 1.0f}; return p; }
__mlu_entry__ void K(long long *o) {
  o[0] = tabl.v; float s = 0; for (int i = 0; i < 3; ++i) s += W[i] * (flags[i] ? 1 : 10); o[1] = (long long)(s * 2);
  const P *p = Q; o[2] = p[1].a + (int)Q[0].b; counter += 2; o[3] = counter + (long long)big[1];
  o[4] = add(3 + (int)o[0], mk(4)) + add(7, P{1, 2.0f}); next(); o[5] = next() * 10000 + next();
  const int &r = counter * 3; o[6] = r; const float *w = W + 1; o[7] = (int)(w[0] * 2) + (w == &W[1]) * 100; }
"""


def test_constants_statics_and_addresses_of_values(load, tmp_path):
    """Variables at file scope that are not memory, those that a function keeps, and values that are referred to."""
    check(load, tmp_path, KEPT)


ZEROS = """
struct P { int a; float b[2]; };
__mlu_func__ int f() { static int m[3]; static P p; static int k; static float g[2][2]; m[1] += 2; p.a += 1; p.b[1] += 2; k++; g[1][0] += 3; return m[0] + m[1] * 10 + p.a * 100 + (int)p.b[1] * 1000 + k * 10000 + (int)g[1][0] * 100000; }
__mlu_entry__ void K(long long *o) { o[0] = f(); o[1] = f(); }
"""


def test_a_static_variable_without_a_value_begins_as_zeros(load, tmp_path):
    """An array, too, whose bytes are memory."""
    check(load, tmp_path, ZEROS)
