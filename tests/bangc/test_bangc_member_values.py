"""What nothing is said about in an object: members as they are declared, bases and members as their constructors make them."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim.bangc.errors import SourceError
from mlusim.machine.native.build import available

SOURCE = """\
#include <utility>
struct A { int x = 1; float y{2.5f}; };
struct B : A { int z = 5; };
struct C { int x; __mlu_func__ C(int v = 3) : x(v) {} };
struct D : C { float y; __mlu_func__ D() : y(4) {} };
struct E1 : C { int w = 7; };
struct M { A a; int z; __mlu_func__ M() : z(1) {} };
struct N { A a[2]; int k; };
struct O { A i; int z = 3; };
struct P { C c; int n = 2; };
struct Q { C c; __mlu_func__ Q() {} };
struct R : A { int r; __mlu_func__ R(int q) : r(q) {} };
struct S : B { int s = 9; };
union U { long l = 5; int i; };
struct V { int v = 7; int w{8}; };
struct W : C { int m; __mlu_func__ W(int q) : C(q + 1), m(q) {} };
struct X : A { int m; __mlu_func__ X(int q) : A(), m(q) {} };
constexpr int TWO = 2;
template <int N> struct Y { int a[N]; int next = 6; };
struct Z { struct Y<TWO> y; Y<TWO> list[TWO]; int n = 1; __mlu_func__ Z(int q) : n(q) { y.a[1] = q; } };
template <class T, size_t... I> __mlu_func__ void fill(T *to, std::index_sequence<I...>) { ((to[I] = I * I), ...); }
__mlu_func__ V get(int n) { if (n) return {}; return {3}; }
__mlu_func__ int take(V v) { return v.v * 10 + v.w; }
__mlu_global__ void K(int *o, int n) {
  int c = 0;
  { B b; o[c++] = b.x; o[c++] = (int)(b.y * 10); o[c++] = b.z; }
  { D d; o[c++] = d.x; o[c++] = (int)d.y; }
  { E1 e; o[c++] = e.x; o[c++] = e.w; }
  { M m; o[c++] = m.a.x; o[c++] = m.z; }
  { N q; o[c++] = q.a[0].x; o[c++] = (int)(q.a[1].y * 10); }
  { O q; o[c++] = q.i.x; o[c++] = q.z; }
  { P p; o[c++] = p.c.x; o[c++] = p.n; }
  { Q p; o[c++] = p.c.x; }
  { R r(6); o[c++] = r.x; o[c++] = r.r; }
  { S s; o[c++] = s.x; o[c++] = s.z; o[c++] = s.s; }
  { V a[2]; o[c++] = a[1].v; o[c++] = a[0].w; }
  { C a[3]; o[c++] = a[2].x; }
  { V i{1}; o[c++] = i.v; o[c++] = i.w; }
  { V a[3] = {{1}, {2, 3}}; o[c++] = a[0].w; o[c++] = a[1].w; o[c++] = a[2].v; }
  { o[c++] = take({}); o[c++] = take({5}); o[c++] = take(get(1)); o[c++] = take(get(0)); }
  { V v = {1, 2}; v = {}; o[c++] = v.v; o[c++] = v.w; }
  { U u; o[c++] = (int)u.l; }
  { W w(5); o[c++] = w.x; o[c++] = w.m; }
  { X w(5); o[c++] = w.x; o[c++] = w.m; }
  { V v{}; o[c++] = take(v); V x = V(); o[c++] = take(x); o[c++] = take(V()); o[c++] = take(V{2, 3}); }
  { Z z(4); o[c++] = z.y.a[1]; o[c++] = z.y.next; o[c++] = z.list[1].next; o[c++] = z.n; }
  { fill(o + c, std::make_index_sequence<3>()); c += 3; }
  { O q[2] = {{{2}, 4}}; o[c++] = q[0].i.x; o[c++] = (int)(q[0].i.y * 10); o[c++] = q[1].i.x; o[c++] = q[1].z; }
}
__mlu_global__ void L(int *o, int n) {
  int c = 0;
  { V v = {.w = 2}; o[c++] = v.v; o[c++] = v.w; }
}
"""
EXPECTED = {  # by g++
    "K": [
        1, 25, 5, 3, 4, 3, 7, 1, 1, 1, 25, 1, 3, 3, 2, 3, 1, 6, 1, 5, 9, 7, 8, 3, 1, 8, 8, 3, 7, 78, 58, 78, 38, 7, 8, 5,
        6, 5, 1, 5, 78, 78, 78, 23, 4, 6, 6, 4, 0, 1, 4, 2, 25, 1, 3,
    ],
    "L": [7, 2],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_objects_begin_as_in_cpp(load, name):
    """Bases, members, arrays, lists that leave something out, with and without constructors; by both engines."""
    kernel, wanted = load(SOURCE)[name], EXPECTED[name]

    assert alike(kernel, (np.zeros(64, np.int32), 4)).engine == NATIVE
    assert wanted == run(kernel, (np.zeros(64, np.int32), 4), NATIVE)[1][0][: len(wanted)].tolist()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "struct B { union { int i; long l = 5; }; };",
            "only the first member of .* may be declared with a value; assign the other one",
        ),
    ],
)
def test_what_would_be_another_number_is_refused(load, source, why):
    """At the line."""
    with pytest.raises(SourceError, match=rf":\d+:\d+: K does not translate: {why}"):
        load(f"{source}\n__mlu_global__ void K(int *o) {{ B b; B *p = &b; o[0] = sizeof(*p); }}\n")["K"]


ENDS = """\
struct Base { int v; __mlu_func__ virtual int get() { return v; } };
struct Other : Base { int k; __mlu_func__ int get() override { return v * 100; } };
struct Counted { int *p; __mlu_func__ Counted(int *q) : p(q) { p[4]++; } __mlu_func__ ~Counted() { p[5] += 10; } };
__mlu_global__ void K(int *o, int n) {
  for (int i = 0; i < 3; i++) {
    Counted w(o);
    if (i == 1) continue;
    o[6 + i] = o[5];
  }
  Other a; a.v = 3; Base *p = &a; o[0] = p->get();
  Base b; b.v = 2; p = &b; o[1] = p->get();
}
__mlu_global__ void New(int *o, int n) { int *p = new int; *p = 3; o[0] = *p; }
"""


def test_objects_of_kernels_end_and_choose_their_methods(load):
    """Destructors and virtual methods run on both engines; memory of the host's heap is refused."""
    module = load(ENDS)
    launch, stored = run(module["K"], (np.zeros(10, np.int32), 1), "auto")

    assert launch.engine == ("python" if available() is None else "native")
    assert [300, 2, 0, 0, 3, 30, 0, 0, 20, 0] == stored[0].tolist()
    with pytest.raises(
        SourceError, match="13:51: New does not translate: new is of the host, not of the device"
    ):
        module["New"]


BASES = """\
struct A { int a = 1; };
struct B { int b = 2; __mlu_func__ virtual int get() { return b; } };
struct C : A, B { int c = 3; };
__mlu_global__ void Called(int *o) { C c; o[0] = c.get(); }
__mlu_global__ void Seen(int *o) { C c; B *p = &c; o[0] = p->b; }
__mlu_global__ void Read(int *o) { C c; o[0] = c.b; }
__mlu_global__ void Fine(int *o) { C c; o[0] = c.a + c.c; o[1] = sizeof(C); }
"""


@pytest.mark.parametrize("name", ["Called", "Seen", "Read"])
def test_a_virtual_base_behind_the_first_is_refused(load_once, name):
    """Which objects would have to be told apart in it; the rest of the class is right."""
    module = load_once(BASES)

    assert [4, 24] == run(module["Fine"], (np.zeros(2, np.int32),), NATIVE)[1][0].tolist()
    with pytest.raises(
        SourceError, match=f"{name} does not translate: B is a base class of C behind the first one"
    ):
        module[name]


@pytest.mark.parametrize(
    "what",
    [
        "Named s = {.n = 3, .f = 2.5f}; o[0] = s.n;",
        "int s[4] = {[1 ... 3] = 2}; o[0] = s[2];",
        "int s[2][2] = {[1][1] = 2}; o[0] = s[1][1];",
    ],
)
def test_designators_that_are_refused_have_their_place(load, what):
    """Into an anonymous member, of a range, of several steps."""
    source = (
        "struct Named { int n; union { float f; int i; }; };\n__mlu_global__ void k(int *o) { "
        + what
        + " }\n"
    )

    with pytest.raises(
        SourceError, match=r":2:\d+: k does not translate: a designator of a range, of several steps"
    ):
        load(source)["k"]
