"""Virtual methods, dynamic casts and destructors on both engines: as C++ has them."""

import numpy as np
from engines import NATIVE, alike, run

CLASSES = """
#include <bang.h>
class Base {
 public:
  int a;
  __mlu_func__ Base(int x) : a(x) {}
  __mlu_func__ virtual int get(int k) { return a + k; }
  __mlu_func__ virtual int two() { return get(2) * 2; }
};
class Derived : public Base {
 public:
  int b;
  __mlu_func__ Derived(int x) : Base(x), b(7) {}
  __mlu_func__ int get(int k) override { return a * k + b; }
};
class Third : public Derived {
 public:
  __mlu_func__ Third(int x) : Derived(x) { a += get(1); }
  __mlu_func__ int two() override { return 1 + Derived::two(); }
};
struct Holder { Base one; Derived two; };
__mlu_func__ int by_pointer(Base *p) { return p->get(5) + p->two(); }
__mlu_func__ int by_reference(Base &p) { return p.get(6); }
__mlu_func__ int by_value(Base p) { return p.get(6); }
__mlu_func__ Derived made(int k) { Derived d(k); d.b += 1; return d; }
__mlu_func__ void calls(int *o) {
  Base b(3); Derived d(4); Base *p = o[0] > 2 ? &b : &d;
  o[0] = p->get(1); o[1] = by_pointer(&d); o[2] = by_reference(d); o[3] = by_value(d);
  Base c = d; o[4] = by_reference(c);
  b = d; o[5] = by_reference(b);
  Base *all[2] = {&b, &d};
  for (int i = 0; i < 2; i++) o[6] += all[i]->get(i);
  Third t(2); o[7] = by_pointer(&t) + t.a;
  Base &r = t; r = c; o[8] = r.two();
  Derived m = made(6); o[9] = by_reference(m);
}
__mlu_func__ void casts(int *o) {
  Derived d(4); Base b(1); Third t(1); Base *all[3] = {&b, &d, &t};
  for (int i = 0; i < 3; i++) {
    Derived *q = dynamic_cast<Derived *>(all[i]); o[i] = q ? q->b : -1;
    Third *h = dynamic_cast<Third *>(all[i]); o[3 + i] = h ? h->two() : -2;
  }
  Holder w = {Base(2), Derived(3)}, v = w;
  o[6] = by_reference(v.one) + by_reference(v.two);
  w.one = v.two; o[7] = by_reference(w.one);
  Base many[2] = {Base(1), Base(2)};
  many[0] = d; o[8] = by_reference(many[0]) + by_reference(many[1]);
}
struct Shape { __mlu_func__ virtual float area() = 0; __mlu_func__ virtual ~Shape() {} };
struct Square : Shape {
  float s; int *o;
  __mlu_func__ Square(float x, int *out) : s(x), o(out) {}
  __mlu_func__ float area() override { return s * s; }
  __mlu_func__ ~Square() { o[9] += (int)s; }
};
struct Circle : Shape {
  float r;
  __mlu_func__ Circle(float x) : r(x) {}
  __mlu_func__ float area() override { return 3 * r; }
};
__mlu_func__ float sum(Shape **s, int n) { float t = 0; for (int i = 0; i < n; i++) t += s[i]->area(); return t; }
__mlu_func__ int early(int *o, int k) {
  Square a(1.0f, o);
  for (int i = 0; i < 4; i++) {
    Square b(10.0f, o);
    if (i == k) continue;
    if (i == k + 1) break;
    Square c(100.0f, o);
    if (k == 7) return o[9];
  }
  switch (k) { case 0: { Square e(1000.0f, o); break; } default: { Square f(2000.0f, o); return o[9]; } }
  return o[9];
}
__mlu_func__ void ends(int *o) {
  Square a(2.0f, o); Circle c(3.0f); Shape *s[2] = {&a, &c};
  o[0] = sum(s, 2);
  { Square z(4.0f, o); o[1] = z.area(); }
  o[2] = o[9]; o[3] = early(o, 0); o[4] = early(o, 5); o[5] = early(o, 7); o[6] = o[9];
}
struct Pure { int v; __mlu_func__ Pure() { v = 1; twice(); } __mlu_func__ virtual int twice() { return one() * 2; } __mlu_func__ virtual int one() = 0; };
struct Impl : Pure { __mlu_func__ int one() override { return 5; } };
__mlu_func__ void wrong(int *o, int n) {
  __nram__ char room[64];
  Derived d(2); Base *none = nullptr, *p = &d, *q = (Base *)room;
  switch (n) {
    case 3: { Impl i; o[0] = i.twice(); break; }
    case 4: o[0] = none->get(1); break;
    case 5: o[0] = q->get(1); break;
    case 6: p = p + n; o[0] = p->get(1); break;
  }
}
__mlu_global__ void K(int *o, int n) {
  switch (n) { case 0: calls(o); break; case 1: casts(o); break; case 2: ends(o); break; default: wrong(o, n); }
}
"""
VALUES = (
    [4, 57, 31, 10, 10, 10, 15, 132, 31, 44],
    [-1, 7, 7, -2, -2, 51, 33, 9, 18, 0],
    [13, 16, 4, 1024, 1465, 3466, 3577, 0, 0, 3579],
)
SENTENCES = (
    "one is called, which is virtual and has no body in the object's class",
    "a load through the null pointer",
    "an object in simulated memory is asked which class it is of",
    "element 6 of a pointer to one variable is accessed",
)


def test_virtual_methods_and_destructors(load_once):
    """What g++ computes: slices, copies, members, elements, constructors; ends where a block is left in whatever way."""
    kernel = load_once(CLASSES)["K"]

    for n, expected in enumerate(VALUES):
        given = np.array([3, 1, *[0] * 8], np.int32)
        alike(kernel, (given, n))
        _, (found,) = run(kernel, (given, n), NATIVE)
        assert expected == found.tolist()


def test_calls_of_no_method(load_once):
    """Each is one fault, at its line."""
    kernel = load_once(CLASSES)["K"]

    for n, sentence in enumerate(SENTENCES, 3):
        assert sentence in str(alike(kernel, (np.zeros(10, np.int32), n)))
