"""Whole records: copied between variables and memory, unions, designators, assignments as places; the same on both engines."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim.errors import MlusimError

TYPES = """\
struct Pair { int a; float b; char c; int d[2]; };
struct Deep { Pair p; Pair q[2]; half h; int *ptr; };
union Either { int i; float f; };
struct Tagged { int tag; Either e; };
struct Named { int tag; union { struct { short lo, hi; }; int i; float f; }; int after; };
struct Grid { short g[2][3]; bool on; unsigned char u; };
struct Large { float data[600]; int n; };
__nram__ char buffer[1024];
__nram__ Pair table[4];
__nram__ Deep deeps[2];
__nram__ Grid grids[2];
__nram__ Large larges[2];
__nram__ Named nameds[2];
__mlu_shared__ Pair shared[2];
__mlu_func__ Pair second(Pair *p) { return p[1]; }
__mlu_func__ void exchange(Pair &x, Pair &y) { Pair t = x; x = y; y = t; }
__mlu_func__ int sum(Pair p) { return p.a + p.c + p.d[0] + p.d[1]; }
__mlu_func__ Pair *bump(int &n) { n++; return table + n; }
__mlu_func__ Pair take(int &n) { n += 10; Pair r = {n}; return r; }
__mlu_func__ int through(Tagged s) { return s.e.i; }
__mlu_func__ Tagged tagged(float f) { Tagged s; s.tag = 0; s.e.f = f; return s; }
__mlu_func__ Deep deep(int n) {
  Deep d = {{n, 2, 3, {4, 5}}, {{6, 7, 8, {9, 10}}, {11, 12, 13, {14, 15}}}, (half)0.5f, 0};
  return d;
}
"""
# What a kernel does, and what the C++ compiler's program gives for out.
BODIES = {
    "between_variables_and_memory": (
        """
        Pair v = {1, 2.5f, 3, {4, 5}};
        table[0] = v; table[1] = table[0]; table[1].a = 7;
        Pair w = table[1];
        exchange(v, w); exchange(table[0], table[1]); exchange(table[0], w);
        Pair s = second(table);
        out[0] = v.a; out[1] = w.a; out[2] = table[0].a; out[3] = table[1].a; out[4] = sum(s); out[5] = sum(table[0]);
        Pair *p = &v, *q = (Pair *)buffer;
        *q = *p; q[1] = *q;
        out[6] = (int)q[1].b; out[7] = sum(*q);
        """,
        [7, 7, 1, 1, 13, 13, 2, 19],
    ),
    "within_records": (
        """
        Deep d = deep(1);
        d.ptr = out;
        deeps[0].p = d.p; deeps[0].q[1] = d.q[0];
        Pair t = deeps[0].q[1];
        out[0] = sum(t); out[1] = sum(deeps[0].p);
        deeps[1] = d;
        Deep e = deeps[1];
        out[2] = sum(e.q[1]); e.ptr[3] = 42;
        """,
        [33, 13, 53, 42],
    ),
    "to_shared_memories": (
        """
        Pair v = {1, 2, 3, {4, 5}}, *p = (Pair *)out;
        shared[1] = v; p[1] = shared[1];
        Pair w = p[1], x = n ? shared[1] : v;
        out[0] = sum(w); out[1] = sum(x);
        """,
        [13, 13, 0, 0, 0, 1, 0x40000000, 3, 4, 5],
    ),
    "arrays_in_records": (
        """
        Grid g = {{{1, 2, 3}, {4, 5, -6}}, true, 200};
        grids[1] = g;
        Grid h = grids[1];
        out[0] = h.g[1][2]; out[1] = h.on; out[2] = h.u;
        Large b; for (int i = 0; i < 600; ++i) b.data[i] = i;
        b.n = 600; larges[0] = b; larges[1] = larges[0];
        Large c = larges[1];
        __bang_add(larges[0].data, larges[1].data, larges[1].data, 576);
        out[3] = (int)c.data[599] + c.n; out[4] = (int)larges[0].data[5];
        """,
        [-6, 1, 200, 1199, 10],
    ),
    "pointers_into_what_is_assigned": (
        """
        Pair v = {1, 2, 3, {4, 5}}, w = {11, 12, 13, {14, 15}};
        int *q = v.d, *pa = &v.a;
        v = w; out[0] = q[0]; out[1] = *pa;
        Pair *pv = &v; *pv = {21, 22, 23, {24, 25}}; out[2] = q[1]; out[3] = *pa;
        Deep d = {v, {v, v}, (half)1.0f, 0}, e = d;
        int *z = e.q[0].d;
        d.q[0].d[0] = 77; e = d; out[4] = z[0];
        """,
        [14, 11, 25, 21, 77],
    ),
    "the_value_comes_first": (
        "int k = -10; *bump(k) = take(k); out[0] = k; out[1] = table[1].a; out[2] = k;",
        [1, 0, 1],
    ),
    "assignments_are_places": (
        """
        Pair v = {1, 2, 3, {4, 5}}, w, u;
        u = w = v; out[0] = sum(u);
        Pair t = (table[1] = v); out[1] = sum(t);
        (table[2] = v).a = 9; out[2] = table[2].a; out[3] = (w = u).c;
        int a[4] = {0, 0, 0, 0}, i = 0, x;
        (a[i++] = 5) += 2; out[4] = i; out[5] = a[0]; out[6] = a[1];
        ++(a[i++] = 3); out[7] = i; (x = 4) *= 3; out[8] = x;
        int *p = a; (*p++ -= 4) = 1; out[9] = a[0]; out[10] = (int)(p - a);
        """,
        [13, 13, 9, 3, 1, 7, 0, 2, 12, 1, 1],
    ),
    "unions": (
        """
        Either *e = (Either *)buffer, x = {3}, y;
        e[0] = x; y = e[0]; out[0] = y.i;
        y.f = 1.0f; e[1] = y; out[1] = e[1].i;
        Tagged s; s.tag = 1; s.e.f = 1.0f; out[2] = s.e.i;
        Tagged v = s, *p = (Tagged *)buffer; *p = v; out[3] = p->e.i;
        out[4] = through(tagged(1.0f)); out[5] = tagged(4.0f).e.i;
        """,
        [3, 0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000, 0x40800000],
    ),
    "anonymous_members": (
        """
        Named s = {1, {{2, 3}}, 9}; out[0] = s.i; out[1] = s.hi;
        s.f = 1.0f; out[2] = s.hi; nameds[1] = s;
        Named v = nameds[1], *p = &v; out[3] = v.i; out[4] = v.after; p->lo = 5; out[5] = v.i;
        """,
        [196610, 3, 16256, 0x3F800000, 9, 0x3F800005],
    ),
    "designators": (
        """
        Either x = {.f = 1.0f}; out[0] = x.i;
        Pair p = {.a = 4, .c = 5}; out[1] = sum(p); out[2] = p.c;
        int a[4] = {[2] = 3, 5}; out[3] = a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3];
        Deep d = {.q = {{1}, {.a = 8}}, .h = (half)2.0f}; out[4] = d.q[1].a + (int)d.h; out[5] = d.p.a;
        """,
        [0x3F800000, 9, 5, 35, 10, 0],
    ),
    "members_of_values": (
        "out[0] = deep(7).p.a; out[1] = sum(deep(8).p); Pair w = deep(9).p; out[2] = w.a; out[3] = (int)((float)deep(3).h * 4);",
        [7, 20, 9, 2],
    ),
}
WRONG = {
    "beside_a_variable": "Pair v = {1}, *p = &v; Pair w = p[n]; out[0] = w.a;",
    "stored_beside_a_variable": "Pair v = {1}, *p = &v; p[n] = v; out[0] = v.a;",
    "beside_an_array": "Pair v[2] = {{1}, {2}}, *p = v; Pair w = p[n]; out[0] = w.a; p[n] = w;",
    "beside_memory": "Pair w = table[n]; out[0] = w.a; table[n] = w;",
    "no_record": "Pair *p = n ? table : (Pair *)0; Pair w = *p; out[0] = w.a;",
    "stored_nowhere": "Pair *p = n ? table : (Pair *)0, v = {1}; *p = v; out[0] = v.a;",
    "over_the_end": "Pair *p = (Pair *)(buffer + 1004 + n); Pair w = *p; out[0] = w.a;",
    "stored_over_the_end": "Pair *p = (Pair *)(buffer + 1004 + n), v = {1}; *p = v; out[0] = v.a;",
    "array_in_a_record": "Deep d = deep(1); Pair w = d.q[n]; out[0] = w.a; d.q[n] = w;",
    "member_in_an_array_in_a_record": "Deep d = deep(1); d.q[n].a += 4; out[0] = d.q[n].d[0];",
}


def _source(bodies):
    kernels = [f"__mlu_global__ void {name}(int *out, int n) {{ {body} }}" for name, body in bodies.items()]
    return "\n".join([TYPES, *kernels])


@pytest.mark.parametrize("name", BODIES)
def test_records_are_copied_as_cpp_does(load_once, name):
    """Fields in order, each a load or a store where the record is in memory."""
    kernel = load_once(_source({n: body for n, (body, _) in BODIES.items()}), "MLU590-H8")[name]
    out = np.zeros(16, np.int32)
    alike(kernel, (out, 1), board="MLU590-H8")
    _, (found,) = run(kernel, (out, 1), NATIVE, board="MLU590-H8")
    expected = BODIES[name][1]
    assert expected == found[: len(expected)].tolist()


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("n", [-9, -1, 0, 1, 2, 3, 4, 77])
def test_wrong_copies_are_the_same_faults(load_once, name, n):
    """Beside a variable, an array, or memory, and through the null pointer."""
    found = alike(
        load_once(_source(WRONG), "MLU590-H8")[name], (np.zeros(16, np.int32), n), board="MLU590-H8"
    )
    if n == (0 if name in ("no_record", "stored_nowhere") else 77):
        assert isinstance(found, MlusimError)
