"""Pointers to variables on the stack that have ended, told from the source: out of a function, or out of a block."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc

HEAD = """#include <bang.h>
__mlu_func__ int *kept(int n) { int v[4]; for (int i = 0; i < 4; ++i) v[i] = n + i; int *p = v; return p; }
__mlu_func__ int *pick(int *a, int *b, int n) { int *p = n ? a : b; return p; }
__mlu_func__ int *table() { static int t[4] = {1, 2, 3, 4}; return t; }
__mlu_func__ int *of_number(int n) { int x = n; int *p = &x; return n ? p : nullptr; }
__mlu_func__ const int &bound(int n) { int x = n; return x; }
struct Pair { int a, b; };
__mlu_func__ float *on_chip() { __nram__ float t[16]; t[0] = 1; return t; }
__mlu_entry__ void K(int *out, int n) {
  int v[4] = {1, 2, 3, 4}, w[4] = {5, 6, 7, 8};
  int *p = nullptr;
"""
BODIES = {
    "returned": ("out[0] = kept(n)[1];", ("v", 2)),
    "a number returned": ("out[0] = of_number(n) ? 1 : 0;", ("x", 5)),
    "a reference returned": ("out[0] = &bound(n) != nullptr;", ("x", 6)),
    "a number behind its block": ("{ int x = n; p = &x; }\n  out[0] = *p;", ("x", 13)),
    "a record behind its block": ("Pair *q; { Pair x = {n, n}; q = &x; }\n  out[0] = q->a;", ("x", 13)),
    "a number used inside": ("for (int i = 0; i < 3; ++i) { int x = i; p = &x; out[0] = *p; }\n  p = w; out[1] = *p;", None),
    "an address in a number": ("{ long x = (long)v; p = (int *)x; }\n  out[0] = *p;", None),
    "behind its block": ("for (int i = 0; i < 3; ++i) { int x[2] = {i, n}; if (i == 0) p = x; }\n  out[0] = p[1];", ("x", 13)),
    "used inside": ("for (int i = 0; i < 3; ++i) { int x[2] = {i, n}; p = x; out[0] = p[1]; }", None),
    "set again": ("for (int i = 0; i < 3; ++i) { int x[2] = {i, n}; p = x; p[0] = 1; p = v; }\n  out[0] = p[1];", None),
    "set again behind": ("{ int x[2] = {n, n}; p = x; out[1] = p[0]; }\n  p = w;\n  out[0] = p[1];", None),
    "of the caller": ("out[0] = pick(v, w, n)[1] + table()[1] + (int)on_chip()[0];", None),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("name", BODIES)
def test_a_pointer_that_outlives_a_variable_is_told(tmp_path, engine, name):
    """Both engines say the same; variables of the caller, static ones and those on the chip are not mistakes."""
    body, expected = BODIES[name]
    (tmp_path / "k.mlu").write_text(f"{HEAD}  {body}\n}}\n")
    device = mlusim.Device("MLU370-X4")
    given = [device.put(np.zeros(4, np.int32)), 1]
    kernel = bangc.load(tmp_path / "k.mlu")["K"]
    launch = device.launch(kernel, args=given, engine=engine, observe=["memcheck"])

    wanted = [] if expected is None else [("memcheck-use-after-end", *expected)]
    assert wanted == [(f.id, f.message.split()[0], f.line) for f in launch.findings]
