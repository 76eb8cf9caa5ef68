"""Whether parts of on-chip arrays can overlap is asked in C first: what it clears, two runs in Python clear, too."""

import random
import shlex

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.engine.native.build import CHOICE, available
from mlusim.programs.carving import carve
from mlusim.programs.launch_again import LaunchAgain
from mlusim.programs.native_parts import known_apart

pytestmark = pytest.mark.skipif(available() is None, reason="there is no compiler")

SOURCE = r"""
#include "bang.h"
__nram__ int8_t buffer[16384];
__nram__ float other[1024];
struct Tile { float *at; int n; };
__mlu_func__ void added(float *to, const float *a, const float *b, int n) { __bang_add(to, a, b, n); }
__mlu_func__ void rows(float *table, int n) {
  for (int i = 0; i < 3; ++i) {
    float *row = table + i * 32;
    row[1] = row[0] + n;
    __bang_write_value(row, 8, n);
  }
}
__mlu_func__ void tail(float *from) { float *end = from + 64; end[3] = end[2] + from[1]; }
__mlu_func__ void counted(const int &n, float *to) { to[1] = to[0] + n; }
__mlu_func__ void twice(float *to, int n) { added(to, to, to, n); tail(to); }
__mlu_entry__ void Parts(float *out, const float *in, const int *ops, int many, int o1, int o2, int o3) {
  float *one = (float *)buffer;
  float *two = one + o1;
  float *three = two + o2;
  float *same = two;
  float *moving = three + o3;
  __sramless
  for (int i = 0; i < many; ++i) {
    const int *op = ops + 2 * i;
    float *chosen = op[1] & 1 ? one : two;
    int n = 64;
    switch (op[0]) {
      case 0: __memcpy(one, in, n * 4, GDRAM2NRAM); break;
      case 1: __memcpy(two, in + 64, n * 4, GDRAM2NRAM); break;
      case 2: added(three, one, two, n); break;
      case 3: added(one, one, two, n); break;
      case 4: twice(two, n); break;
      case 5: __memcpy(out, three, n * 4, NRAM2GDRAM); break;
      case 6: __memcpy(out, one, n * 4, NRAM2GDRAM); break;
      case 7: one[op[1]] = two[op[1]] + three[1]; break;
      case 8: __bang_mul_scalar(same, same, 2.0f, n); break;
      case 9: __bang_write_value(moving, 32, 1.0f); moving += 32; break;
      case 10: rows(three, n); break;
      case 11: __bang_add(chosen, chosen, other, 32); break;
      case 12: __bang_move(other, buffer, 256); break;
      case 13: { Tile t; t.at = three; t.n = n; t.at[1] = t.at[0] + t.n; } break;
      case 14: __bang_add(one, two, three, 32); __bang_add(two, one, three, 32); break;
      case 15: tail(chosen); break;
      case 17: counted(n, two); break;
      case 16: __nramset_async(two, 32, op[1], 128, 0); __sync(); break;
    }
  }
}
""".replace("  __sramless\n", "")
CODES = 18


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "parts.mlu"
    path.write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, shlex.join((*available(), "-O0")))
        yield bangc.load(path)["Parts"]


def launch_of(kernel, draw):
    device = mlusim.Device("MLU370-X4")
    ops = np.array([(draw.randrange(CODES), draw.randrange(8)) for _ in range(draw.randint(2, 10))], np.int32)
    gaps = [draw.choice((64, 128, 128, 128, 96, 32, 0)) for _ in range(3)]
    tensors = device.empty(64, np.float32), device.put(np.ones(128, np.float32)), device.put(ops)
    memory = {t.allocation: t.allocation.raw.copy() for t in tensors}
    given = (*tensors, len(ops), *gaps)
    return LaunchAgain(kernel, device.board, (2, 1, 1), mlusim.BLOCK, given, memory), (ops.tolist(), gaps)


def asked(kernel, seed):
    """Whether C clears a random program, which then has no overlap, and how many there are."""
    call, what = launch_of(kernel, random.Random(seed))
    cleared, found = known_apart(call, 10_000), carve(call).findings
    assert not (cleared and found), (seed, what, found)
    return cleared, len(found)


def test_what_c_clears_has_no_overlap(kernel):
    told = [asked(kernel, seed) for seed in range(20, 42)]

    assert any(cleared for cleared, _ in told)
    assert any(found for _, found in told)
    assert 0.5 < sum(cleared for cleared, _ in told) / sum(not found for _, found in told)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(10))
def test_what_c_clears_has_no_overlap_in_a_thousand_programs(kernel, part):
    for seed in range(100 * part, 100 * (part + 1)):
        asked(kernel, 100 + seed)
