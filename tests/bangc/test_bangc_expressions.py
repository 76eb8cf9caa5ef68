"""Expressions whose values g++ has computed: the same numbers on both engines."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim.bangc.errors import SourceError

TYPES = """\
struct Flags { bool first; int number; bool rest[3]; };
enum Mask : uint8_t { M1 = 1, M8 = 0x80, MF = 255 };
enum class Colour : uint8_t { red = 200, blue, none = 0 };
enum class Switch : bool { off, on };
enum Wide : uint64_t { most = 0xffffffffffffffffull };
enum Short : int8_t { below = -3 };
__nram__ bool flags[4];
__nram__ Colour colours[4];
__nram__ Flags records[2];
__mlu_func__ int by_reference(bool &b) { return b + 1; }
__mlu_func__ int by_pointer(bool *b, int n) { return b[n] + *b; }
__mlu_func__ int chosen(Colour c) {
  switch (c) { case Colour::red: return 1; case Colour::blue: return 2; default: return 3; }
}
__mlu_func__ void grow(int &x) { x += 10; }
__mlu_func__ void take(int &&x) { x += 100; }
template <typename A> __mlu_func__ void forward(A &&a) { grow(std::forward<A>(a)); }
struct Point { int x, y; };
template <typename... A> __mlu_func__ int count(A... values) { return sizeof...(values) * 10 + sizeof...(A); }
__mlu_func__ int next(int x) { return x + 1; }
__mlu_func__ int none(int *p = nullptr, bool b = !true) { return p == nullptr && !b; }
__mlu_func__ int point(Point p = {1, 2}, Point q = Point{3, 4}) { return p.x * 1000 + p.y * 100 + q.x * 10 + q.y; }
__mlu_func__ int task(int a = taskId + 4, int b = next(4)) { return a * 10 + b; }
__mlu_func__ bool flag(bool *p = flags + 1) { return *p; }
typedef int Mat[2][3];
__mlu_func__ int corner(int c[2][2][2], const int d[4]) { return c[1][0][1] + d[1]; }
__mlu_func__ int changed(Mat m, int (*rows)[3]) { m[0][0] += 5; return rows[1][2]; }
typedef int (*Two)(int, int);
typedef void (*Act)(int *);
__mlu_func__ int add(int a, int b) { return a + b; }
__mlu_func__ int subtract(int a, int b) { return a - b; }
__mlu_func__ Two choose(int w) { return w ? add : subtract; }
__mlu_func__ void mark(int *out) { out[0] = 7; }
__mlu_func__ void mark_next(int *out) { out[1] = 8; }
__mlu_func__ Act pick(int w) { return w ? mark_next : mark; }
__mlu_func__ void set(Two *to) { *to = add; }
template <Colour c> __mlu_func__ int of_template() { return (int)c; }
"""
# What a kernel does, and what the C++ compiler's program gives for out; in[i] is i, and n is 3.
BODIES = {
    "bools_of_arrays_are_numbers": (
        """
        bool a[4] = {true, false, true, true};
        for (int i = 0; i < 4; ++i) flags[i] = i != 1;
        int count = 0;
        for (int i = 0; i < 4; ++i) { count += a[i]; count += flags[i]; }
        out[0] = count; out[1] = a[0] + 1; out[2] = -flags[0]; out[3] = ~a[0]; out[4] = flags[0] << 3;
        out[5] = flags[3] * 7; out[6] = in[flags[0] + a[2]]; out[7] = flags[1] += n; out[8] = flags[1] + flags[2];
        """,
        [6, 2, -1, -2, 8, 7, 2, 1, 2],
    ),
    "bools_of_records_are_numbers": (
        """
        records[1].first = true; records[1].rest[0] = records[1].rest[1] = n;
        Flags v = {true, 5, {true, false, true}}, *p = records + 1;
        bool q = n;
        out[0] = records[1].first + 1; out[1] = -records[1].rest[1]; out[2] = v.first + v.rest[2]; out[3] = ~v.rest[0];
        out[4] = by_reference(records[1].first); out[5] = by_reference(v.rest[1]); out[6] = by_reference(q);
        out[7] = by_pointer(p->rest, 1); out[8] = by_pointer(v.rest, 2); out[9] = p->first + 1;
        """,
        [2, -1, 2, -2, 2, 1, 2, 2, 2, 2],
    ),
    "enumerations_have_the_sign_of_their_type": (
        """
        Mask f = (Mask)(M1 | M8);
        Colour c = n == 3 ? Colour::blue : Colour::none;
        colours[1] = Colour::red;
        out[0] = M1 | M8; out[1] = ~M8; out[2] = M8 >> 3; out[3] = f; out[4] = f == (M1 | M8);
        out[5] = (int)Colour::red; out[6] = (int)c; out[7] = chosen(c) * 10 + chosen(colours[1]);
        out[8] = (int)Switch::on + (int)Switch::off; out[9] = most == ~0ull; out[10] = below; out[11] = (signed char)M8;
        out[12] = of_template<Colour::red>();
        """,
        [129, -129, 16, 129, 1, 200, 201, 21, 1, 1, -3, -128, 200],
    ),
    "what_is_stored_comes_before_its_place": (
        """
        int a[4] = {0, 0, 7, 4}, m = 1, i = 0, *p = a + 1;
        a[m = 2] = m; out[0] = a[2]; a[i++] = i; out[1] = a[0]; a[i++] = i; out[2] = a[1]; *p++ = *p + 7; out[3] = a[1];
        int w = 3; in[w++] = in[w]; out[4] = in[3]; i = 0; in[i++] = in[i++] = i; out[5] = in[0] * 10 + in[1];
        Flags s[2] = {{true, 1}, {true, 2}}; i = 0; s[i++].rest[i] = i; out[6] = s[0].rest[1]; i = 0;
        out[7] = a[i++] * 10 + i;
        """,
        [1, 0, 1, 8, 3, 0, 0, 1],
    ),
    "commas_are_places": (
        """
        int a = 5, b = 6, c[3] = {1, 2, 3}, i = 0;
        (a, b) = 9; out[0] = b; (a++, b) += 2; out[1] = b; ++(a, b); out[2] = b; *&(a, b) = 3; out[3] = b;
        int &r = (a++, b); r = 77; out[4] = b; grow((a++, b)); out[5] = b; out[6] = a;
        (i++, c[i]) = 50; out[7] = c[1]; (i++, c[i])++; out[8] = c[2]; out[9] = (a++, b++, a);
        Flags s = {true, 1}, t = {true, 2}; (s, t).number = 9; out[10] = t.number; (n ? (b, a) : b) = 14; out[11] = a;
        """,
        [9, 11, 12, 3, 77, 87, 8, 50, 4, 9, 9, 14],
    ),
    "what_the_library_returns_refers": (
        """
        int a = 3, b = 7, i = 0, c[3] = {5, 1, 3};
        int &&r = std::move(a); r = 5; out[0] = a; take(std::move(a)); out[1] = a; forward(a); out[2] = a;
        const int &m = std::min(a, b); out[3] = m; b = -4; out[4] = m;
        const int &x = std::max(a, b); b = 200; out[5] = x; a = 9; out[6] = x;
        const int &e = std::min(c[i++], c[2]); c[2] = 17; out[7] = e; out[8] = i; out[9] = std::min(std::move(a), 7);
        """,
        [5, 105, 115, 7, -4, 115, 9, 17, 1, 7],
    ),
    "casts_to_references_are_places": (
        """
        int a = 3; float f = 1.0f;
        grow((int &)a); out[0] = a; (int &)a = 4; out[1] = a; int &r = (int &)a; r = 6; out[2] = a; take((int &&)a); out[3] = a;
        (int &)f = 0x40000000; out[4] = (int)f; out[5] = (int &)f; out[6] = (char)a; out[7] = (unsigned char &)a;
        """,
        [13, 4, 6, 106, 2, 0x40000000, 106, 106],
    ),
    "arrays_are_passed_as_pointers": (
        """
        int a[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, d[4] = {10, 20, 30, 40};
        Mat m = {{1, 2, 3}, {4, 5, 6}};
        out[0] = corner(a, d); out[1] = changed(m, m); out[2] = m[0][0];
        """,
        [26, 6, 6],
    ),
    "arguments_have_defaults": (
        "flags[1] = n; out[0] = none(); out[1] = point(); out[2] = point({5, 6}); out[3] = task(); out[4] = task(1); out[5] = flag();",
        [1, 1234, 5634, 45, 15, 1],
    ),
    "packs_and_exact_products": (
        """
        float a = 1.0000001f;
        out[0] = count(1, 2.0f, n); out[1] = count(); out[2] = (int)ldexpf(1.5f, n); out[3] = (int)ldexp(3.0, 4);
        out[4] = (int)(fmaf(a, a, -a * a) * 1e16f); out[5] = fmaf(1.0f, 16777216.0f, 1.5f) == 16777218.0f;
        """,
        [33, 0, 12, 48, 142, 1],
    ),
    "indices_stand_before_pointers": (
        "int a[3] = {4, 5, 6}, *p = in; out[0] = 2[a]; out[1] = 3[p]; n[out] = 1[a]++; out[2] = a[1];",
        [6, 3, 6, 5],
    ),
    "functions_are_returned": (
        "pick(0)(out); pick(1)(out); out[2] = choose(0)(5, 3); out[3] = (*choose(n))(5, 3); out[4] = (choose(0))(9, 1);",
        [7, 8, 2, 8, 8],
    ),
    "functions_are_referred_to": (
        "int (&f)(int, int) = add; out[0] = f(1, 1); out[1] = (&f)(2, 4); Two p = nullptr; set(&p); out[2] = p(5, 6);",
        [2, 6, 11],
    ),
}


REFUSED = {
    "pointer_as_a_number": (
        "int *p = in; out[0] = *(long *)&p;",
        "a pointer is seen as a number through another pointer",
    ),
    "number_as_a_pointer": (
        "long a = (long)in; int *p = *(int **)&a; out[0] = p[2];",
        "a number is seen as a pointer",
    ),
    "members": ("struct { int *p; } s = {in}; out[0] = *(long *)&s.p;", "a pointer is seen as a number"),
    "variable_length": (
        "int a[n]; a[0] = 4; out[0] = a[0];",
        "a has a length that is not a constant; declare it with the largest length",
    ),
}


def source_of(bodies):
    """A file with a kernel for each of *bodies*."""
    kernels = [
        f"__mlu_global__ void {name}(int *out, int *in, int n) {{ {body} }}" for name, body in bodies.items()
    ]
    return "\n".join([TYPES, *kernels])


def test_casts_to_values_are_no_places(load_once):
    """A constant reference to what a cast gives does not follow the variable."""
    body = "int a = n; const int &s = static_cast<int>(a), &c = (int)a; a = 9; out[0] = s; out[1] = c;"
    kernel = load_once(source_of({"values": body}), "MLU590-H8")["values"]
    _, (found, _) = run(
        kernel, (np.zeros(2, np.int32), np.zeros(2, np.int32), 3), "python", board="MLU590-H8"
    )
    assert found.tolist() == [3, 3]


@pytest.mark.parametrize("name", BODIES)
def test_expressions_have_the_values_of_cpp(load_once, name):
    """Arrays and records of bools, enumerations, assignments in other expressions."""
    kernel = load_once(source_of({n: body for n, (body, _) in BODIES.items()}), "MLU590-H8")[name]
    arguments = (np.zeros(24, np.int32), np.arange(16, dtype=np.int32), 3)
    alike(kernel, arguments, board="MLU590-H8")
    _, (found, _) = run(kernel, arguments, NATIVE, board="MLU590-H8")
    expected = BODIES[name][1]
    assert expected == found[: len(expected)].tolist()


@pytest.mark.parametrize("name", REFUSED)
def test_expressions_without_a_value_are_refused(load_once, name):
    """At their line, before anything runs."""
    module = load_once(source_of({n: body for n, (body, _) in REFUSED.items()}), "MLU590-H8")
    with pytest.raises(SourceError, match=REFUSED[name][1]):
        module[name]


def test_the_smallest_number_by_minus_one_is_itself(load_once):
    """C++ leaves it undefined; both engines wrap."""
    body = """
    int x = -2147483647 - 1, y = n; long lx = x, lz = lx << 32, ly = n;
    out[0] = x / y; out[1] = x % y; out[2] = (lz / ly) == lz; x /= y; out[3] = x; out[4] = (lx / ly) == 2147483648l;
    short s = -32768; s /= y; out[5] = s;
    """
    kernel = load_once(source_of({"smallest": body}), "MLU590-H8")["smallest"]
    arguments = (np.zeros(8, np.int32), np.zeros(1, np.int32), -1)
    alike(kernel, arguments, board="MLU590-H8")
    _, (found, _) = run(kernel, arguments, "python", board="MLU590-H8")
    assert [-(1 << 31), 0, 1, -(1 << 31), 1, -32768] == found[:6].tolist()
