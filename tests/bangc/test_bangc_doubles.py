"""Doubles in memory: what C++ has, on both engines; faults say the same."""

import numpy as np
import pytest
from cplusplus import check
from engines import alike

from mlusim.errors import Fault

IN_MEMORY = """
struct In { double d; unsigned char u; }; union U { double d; long long l; int i[2]; };
__nram__ double nd[4]; __nram__ In ni[2];
__mlu_entry__ void K(long long *o) {
  nd[0] = 2.5; nd[1] = nd[0] / 3; o[0] = (long long)(nd[1] * 1e15); ni[1].d = -2.75; o[1] = (long long)(ni[1].d * 100);
  U u; u.d = 2.5; o[2] = u.l; u.i[1] = 0x3ff00000; o[3] = (long long)(u.d * 16);
  double l[2][2] = {{1.5, 2.5}, {0.1}}; double *p = l[0]; p += 2; *p += 0.2; o[4] = (long long)(l[1][0] * 1e17);
  long long *q = (long long *)nd; o[5] = q[0]; *q = 0x4000000000000000ll; o[6] = (long long)nd[0];
  In t[2] = {{0.5, 1}, {0.25}}; In s = t[1]; s.d *= 3; o[7] = (long long)((s.d + t[0].d) * 1000);
}"""


def test_doubles_in_memory_are_those_of_cplusplus(load, tmp_path):
    """Of NRAM, of structures and unions, through pointers, and as integers."""
    check(load, tmp_path, IN_MEMORY)


@pytest.mark.parametrize(
    "access", ["o[0] = nd[4];", "nd[4] = 0.1;", "double *p = 0; *p = 1.5;", "o[0] = *(double *)8;"]
)
def test_a_wrong_access_to_a_double_is_the_same_fault(load, access):
    """Beside the array, and nowhere."""
    kernel = load(
        f"#include <bang.h>\n__nram__ double nd[4];\n__mlu_entry__ void K(float *o) {{ {access} }}"
    )["K"]

    assert isinstance(alike(kernel, [np.zeros(2, np.float32)]), Fault)


def test_memory_of_doubles_is_copied_and_seen_as_floats(load):
    """A pointer to pairs of floats is one to doubles in library code."""
    text = """#include <bang.h>
    __mlu_entry__ void K(double *y, double *x) {
      __nram__ double a[16]; __nram__ float b[32];
      __memcpy(a, x, 128, GDRAM2NRAM); __bang_mul_scalar(b, (float *)a, 2.0f, 32); __memcpy_async(y, b, 128, NRAM2GDRAM); __sync();
      y[0] = x[1] * 0.5;
    }"""
    x = np.arange(32, dtype=np.float32)
    alike(load(text)["K"], [np.zeros(32, np.float32), x])
