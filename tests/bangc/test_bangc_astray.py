"""Pointers to variables that lead astray: the same bytes or the same fault on both engines, and no value of what no longer exists."""

import random

import numpy as np
import pytest
from engines import alike, run
from random_pointers import astray

from mlusim import bangc
from mlusim.errors import MlusimError

FAR = (1, 1 << 20, 1 << 42, (1 << 44) - 1, 1 << 44, 1 << 45, -(1 << 44), 1 << 62)


def compare_astray(folder, seed, statements=30):
    """Run each statement of one random kernel on both engines; how many were refused."""
    (folder / "k.mlu").write_text(astray(seed, statements))
    kernel, rng = bangc.load(folder / "k.mlu", board="MLU370-X4")["kernel"], random.Random(seed)
    given = [(np.zeros(16, np.int32), n, rng.randrange(1, 100), rng.choice(FAR)) for n in range(statements)]
    return sum(isinstance(alike(kernel, arguments), MlusimError) for arguments in given)


@pytest.mark.parametrize("seed", range(3))
def test_pointers_astray(tmp_path, seed):
    """To variables of functions that have returned, of blocks that have ended, out of reach and back, and beside the variable."""
    assert 10 < compare_astray(tmp_path, seed) < 28


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_pointers_astray(tmp_path, seed):
    """The same of a hundred kernels."""
    compare_astray(tmp_path, seed)


SEEN = """
struct Pair { int a; float b; };
struct Row { Pair pair; int cells[4]; Row *next; };
__mlu_func__ int byte(void *p, int k) { return ((unsigned char *)p)[k]; }
__mlu_entry__ void seen(int *out, int which) {
  int x = 7, *p = out;
  Row row = {{1, 2.0f}, {3, 4, 5, 6}, nullptr};
  if (which == 0) { Pair *q = &row.pair + 1; out[0] = q->a; q->a = 9; out[1] = row.cells[0]; }
  if (which == 1) { Pair *q = &row.pair + 2; Pair copy = *q; *q = {8, 0.0f}; out[0] = copy.a; out[1] = row.cells[2]; }
  if (which == 2) { Pair *q = (Pair *)&x; out[0] = q->a; }
  if (which == 3) { Pair *q = (Pair *)&x; out[0] = (int)q->b; }
  if (which == 4) out[0] = byte(&p, 0);
  if (which == 5) { long *q = (long *)row.cells; out[0] = (int)q[2]; }
  if (which == 6) { Pair *q = &row.pair + 3; out[0] = q->a; }
  if (which == 7) { Pair *q = &row.pair + 4; out[0] = q->a; }
}
"""
SAID = {
    3: "element 1 of a pointer to one variable is accessed; legal: element 0",
    4: "a pointer is seen as a number through another pointer; convert the value itself",
    5: "a pointer is seen as a number through another pointer",
    6: "a pointer is seen as a number through another pointer",
    7: "element 1 of a pointer to one variable is accessed",
}
STORED = {0: [3, 9], 1: [5, 8], 2: [7, 0]}


@pytest.mark.parametrize("which", range(8))
def test_bytes_of_a_variable_are_seen_as_another_struct(load, which):
    """Numbers are; pointers are not, nor is anything beside the variable."""
    kernel = load(f"#include <bang.h>{SEEN}")["seen"]
    said = str(alike(kernel, (np.zeros(2, np.int32), which)))
    _, (out,) = run(kernel, (np.zeros(2, np.int32), which), "python")

    assert said.startswith(SAID.get(which, "Launch"))
    assert STORED.get(which, [0, 0]) == out.tolist()


COMPARED = """
__nram__ int na[8], nb[8];
struct Two { int a, b; };
__mlu_func__ int order(int *p, int *q) { return (p < q) + 2 * (q < p) + 4 * (p <= q) + 8 * (p == q); }
__mlu_entry__ void compared(int *out, int which) {
  Two two = {3, 4};
  int x = 1, y = 2, *null = which < 99 ? nullptr : na;
  if (which == 0) out[0] = order(&x, &y);
  if (which == 1) out[0] = order(&two.a, &y);
  if (which == 2) out[0] = order(na, &x);
  if (which == 3) out[0] = order(&two.b, out);
  if (which == 4) out[0] = order(&x, null);
  if (which == 5) out[0] = order(null, &two.a);
  if (which == 6) out[0] = order(&two.a, &two.b);
  if (which == 7) out[0] = order(&x, &x);
  if (which == 8) out[0] = order(na, nb);
  if (which == 9) out[0] = order(nb + 1, na);
  if (which == 10) out[0] = order(null, na);
}
"""


@pytest.mark.parametrize("which", range(11))
def test_pointers_to_two_variables_have_no_order(load, which):
    """Nor has one of them with memory; elements of one variable have, and so has memory."""
    kernel = load(f"#include <bang.h>{COMPARED}")["compared"]
    said = str(alike(kernel, (np.zeros(1, np.int32), which)))

    assert ("pointers to two variables have no difference and no order" in said) == (which < 6)


ENDED = """
__mlu_func__ const int &next(int n) { return n + 1; }
__mlu_func__ void put(int **to, int n) { int x = n; *to = &x; }
struct Sum { int total; __mlu_func__ Sum &operator+=(int n) { total += n; return *this; } };
template <typename F> __mlu_func__ int each(F f, int n) { int s = 0; for (int i = 0; i < n; ++i) s += f(i); return s; }
__mlu_entry__ void ended(int *out, int which) {
  int *p = nullptr, *first = nullptr, kept = 3;
  if (which == 0) { put(&p, 4); out[0] = *p; }
  if (which == 1) out[0] = next(4);
  if (which == 2) { for (int i = 0; i < 3; ++i) { int x = i; if (i == 0) p = &x; out[0] = *p; } }
  if (which == 3) { for (int i = 0; i < 50000; ++i) put(&p, i); out[0] = 1; }
  if (which == 4) { put(&first, 1); for (int i = 0; i < 50000; ++i) put(&p, i); *first = 5; }
  if (which == 5) { Sum s = {1}; (s += 2) += 3; out[0] = s.total + each([&](int i) { return i * kept; }, 4); }
}
"""
TOLD = {
    0: "x is accessed after put has returned; legal: while it exists; return its value, or declare it where it is needed",
    1: "a temporary value is accessed after next has returned",
    2: "x is accessed after its block has ended",
    4: "x is accessed after put has returned",
}


@pytest.mark.parametrize("which", range(6))
def test_a_variable_that_has_ended_is_told(load, which):
    """Its function has returned or its block was entered again, many others came and went; those that exist are accessed as before."""
    said = str(alike(load(f"#include <bang.h>{ENDED}")["ended"], (np.zeros(2, np.int32), which)))

    assert said.startswith(TOLD.get(which, "Launch"))
