"""What the rendering in Python leaves out, against the native engine and NumPy: wraps inside sums, casts made once, loads."""

import numpy as np
import pytest
from engines import alike, run

from mlusim import bangc

TEXT = """\
__nram__ float room[64];
__mlu_func__ void bump(int &n, float &f, bool &b, float *p) { n += 1; f = f + n; b = !b; *p = *p * 2; }
__mlu_global__ void sums(int *x, unsigned *u, long *wide, int n) {
  for (int i = 0; i < n; ++i) {
    int a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
    unsigned v = (unsigned)a;
    wide[4 * i] = a * b + c * b - a;
    wide[4 * i + 1] = (long)(a * b) + (unsigned)(b * c) * 2u;
    wide[4 * i + 2] = (short)(a * b * c) + (unsigned char)(a - b) + (a * b & 255) + (int)((unsigned long)(unsigned)a * 4);
    wide[4 * i + 3] = c == 0 ? 0 : a / c * 3 + a % c + b / 7 % 5 - (b % -3);
    u[i] = v * 31u + (unsigned)b / 3u - (v << 3) + (~v >> 2);
    a += b * c; a -= c; a *= 3;
    x[3 * i] = a;
  }
}
__mlu_global__ void places(float *out, int n) {
  float f = 1;
  bool b = false;
  for (int i = 0; i < 64; ++i) room[i] = i;
  for (int i = 0; i < n; ++i) { int k = i; bump(k, f, b, &f); bump(k, room[i], b, room + i + 1); out[i] = f + k + b; }
  float *p = room;
  int total = 0;
  for (int i = 0; i < n; ++i) {
    total += *(int *)p & 0xffff;
    if (i % 3 == 1) p = p + 1;
    const float *q = room + i;
    total += *(int *)q >> 16;
    total += *(int *)q & 3;
  }
  out[n] = total;
  __memcpy(out + n + 1, room, 64, NRAM2GDRAM);
}
"""


def loaded(tmp_path):
    """The kernels of `TEXT`."""
    path = tmp_path / "k.mlu"
    path.write_text(TEXT)
    return bangc.load([path], board="MLU370-X4")


def test_sums_wrap_once_and_alike(tmp_path):
    """At the ends of the ranges, with signs of both kinds, in every width."""
    rng = np.random.default_rng(0)
    ends = np.array([0, 1, -1, 2, -7, 2**31 - 1, -(2**31), 46341, -46341, 65536, 1 << 30], np.int64)
    x = np.concatenate([rng.choice(ends, (60, 3)), rng.integers(-(2**31), 2**31, (40, 3))]).astype(np.int32)
    x[x[:, 2] == -1, 2] = -2
    arguments = [x.reshape(-1), np.zeros(100, np.uint32), np.zeros(400, np.int64), 100]
    alike(loaded(tmp_path)["sums"], arguments)
    _, (last, _, wide) = run(loaded(tmp_path)["sums"], arguments, "python")
    a, b, c = x.T

    with np.errstate(over="ignore"):
        assert (a * b + c * b - a).tolist() == wide.reshape(100, 4)[:, 0].tolist()
        assert ((a + b * c - c) * 3).tolist() == last[::3].tolist()


def test_references_and_casts_that_are_made_once(tmp_path):
    """References to variables and to memory, which accounts for its loads; a pointer that moves is cast again."""
    launch = alike(loaded(tmp_path)["places"], [np.zeros(48, np.float32), 12])

    assert launch.scalar_loads["NRAM"] > 12 * 3


UNUSED = """\
struct Part { int head; int body[4]; };
__mlu_func__ Part &met(Part &one) { one.head += 1; return one; }
__mlu_global__ void unused(int *out, int n) {
  int *p = out, i = 0, *none = nullptr;
  Part one{};
  *p++; *p; (void)p[3]; -*p; *none++; out[i++]; (void)out[n ? i++ : i += 2];
  n ? *p++ : *p--;
  p[0] ? p[1] : p[2];
  met(one).head; met(one).body[n + 9]; met(one);
  for (int k = 0; k < n; *p++, ++k) out[4] += 1;
  for (int k = 0; k < 4; n ? (void)k++ : (void)(k += 2, *p++)) out[5] += k;
  for (int k = 0; k < 2; p[k++]) ;
  out[0] = p - out; out[1] = i; out[2] = one.head;
  return;
  out[3] = 1;
}
"""


@pytest.mark.parametrize("n", [0, 2])
def test_what_nothing_uses_is_not_loaded(tmp_path, n):
    """An expression has its effects and no loads: as a statement, as a side of ?:, as a step; nothing follows a return."""
    (tmp_path / "k.mlu").write_text(UNUSED)
    kernel, zeros = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["unused"], np.zeros(8, np.int32)
    launch = alike(kernel, (zeros, n))
    _, (stored,) = run(kernel, (zeros, n), "python")

    assert ([2, 3, 3, 0, 0, 2] if n == 0 else [4, 2, 3, 0, 2, 6]) == stored[:6].tolist()
    assert {"GDRAM": 6 if n else 2} == launch.scalar_loads
