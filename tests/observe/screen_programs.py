"""Random programs, right and wrong, of one kernel of BANG C that carries out what it reads: one compilation for all of them."""

import random

import numpy as np

import mlusim
from mlusim import bangc
from mlusim.errors import Fault
from mlusim.machine.native.screening import Screening
from mlusim.observe.coverage import LineCoverage
from mlusim.observe.names import CHECKERS, VALUE_CHECK
from mlusim.observe.valuecheck import strict

SOURCE = r"""
#include "bang.h"
#define N 1024
struct Pair { float w; int k; };
__nram__ float buf[N];
__nram__ unsigned offsets[1024];
__mlu_func__ float *shared() { __mlu_shared__ float sh[N]; return sh; }
__mlu_func__ void give(float *to, float v) { *to = v; }
__mlu_func__ float second(Pair *p) { return p->w + p->k + p->w; }
__mlu_entry__ void Run(float *out, float *in, const int *ops, int many) {
  int sum = 0;
  signed char small = 0;
  const int who = coreId == 0x80 ? 8 : taskId & 7;
  for (int i = 0; i < 128; ++i) if (coreId != 0x80) offsets[i] = i * 64 % 1024;
  for (int i = 0; i < many; ++i) {
    const int *op = ops + 6 * i;
    if (!(op[1] >> who & 1)) continue;
    int a = op[2] + op[5] * taskId, b = op[3], n = op[4];
    switch (op[0]) {
      case 0: __memcpy(buf + a, in + b, n * 4, GDRAM2NRAM); break;
      case 1: __memcpy(out + a, buf + b, n * 4, NRAM2GDRAM); break;
      case 2: __memcpy_async(buf + a, in + b, n * 4, GDRAM2NRAM); break;
      case 3: __memcpy_async(out + a, buf + b, n * 4, NRAM2GDRAM); break;
      case 4: __bang_add(buf + a, buf + b, buf + b, n); break;
      case 5: __bang_mul(buf + b, buf + b, buf + a, n); break;
      case 6: __sync(); break;
      case 7: __sync_io(); break;
      case 8: __sync_move(); break;
      case 9: __sync_compute(); break;
      case 10: __memcpy_async(buf + a, buf + b, n * 4, NRAM2NRAM); break;
      case 11: buf[a] = buf[b] + 1; break;
      case 12: out[a] = 1.0f; break;
      case 13: if (out[a] > 3.0f) sum += 1; break;
      case 14: __sync_all(); break;
      case 15: __bang_transpose(buf + a, buf + b, n / 8, 8); break;
      case 16: __bang_write_zero(buf + a, n); break;
      case 17: __bang_atomic_reduce_add(out + a, buf + b, n); break;
      case 18: __memcpy(shared() + a, buf + b, n * 4, NRAM2SRAM); break;
      case 19: __memcpy(buf + a, shared() + b, n * 4, SRAM2NRAM); break;
      case 20: sum += a * n; break;
      case 21: small = sum + b; break;
      case 22: { float s; if (a) s = 1; out[b] = s; } break;
      case 23: { float s; give(&s, 2.0f); if (b == 8) { float z; float *p = &z; out[a] = *p; } else out[a] = s; } break;
      case 24: { Pair p; p.w = 1; if (a) p.k = n; out[b] = second(&p); } break;
      case 25: __memcpy(buf + a, in + b, 32, GDRAM2NRAM, 64, 128, n / 32); break;
      case 26: __memcpy(out + a, buf + b, 32, NRAM2GDRAM, 128, 64, n / 32); break;
      case 27: __memcpy_async(buf + a, in + b, 32, GDRAM2NRAM, 64, 32, n / 32); break;
      case 28: __bang_ge_scalar(buf + a, buf + b, 0.5f, n); break;
      case 29: __bang_reduce_sum(buf + a, buf + b, n); break;
      case 30: sum = sum << (a & 63); break;
      case 31: { int far = (int)(in[b] * 4e9f); sum ^= far & 1; } break;
      case 32: __memcpy((char *)(buf + a) + 2, in + b, n * 4, GDRAM2NRAM); break;
      case 33: out[a] = *(float *)((char *)(buf + b) + 2); break;
      case 35: __sync_io_move_compute(); break;
      case 36: __sync_io_move_compute(a & 64, b & 64, n & 32, n & 64, true, true); break;
      case 37: __sync_cluster(); break;
      case 38: __bang_cycle_add(buf + a, buf + a, buf + b, n, n / 4); break;
      case 39: __bang_fusion(FUSION_FMA, buf + a, buf + a, buf + b, buf + b, n, n); break;
      case 40: __nramset_async(buf + a, n, 3, n * 4, 0); break;
      case 41: __gather(buf + a, in + b, offsets, n / 8 * 4, GDRAM2NRAM, n / 8 * 4, 8); break;
      case 42: __bang_discrete_atomic_add(buf + a, out + b, offsets, buf + b, 8); break;
      case 43: __bang_div(buf + a, buf + a, buf + b, n); break;
      case 44: __bang_mul_scalar(buf + a, buf + b, 3e37f, n); break;
      case 45: __bang_mul((int *)(buf + a), (int *)(buf + a), (int *)(buf + b), n); break;
      case 46: __bang_add((half *)(buf + a), (half *)(buf + b), (half *)(buf + b), 2 * n); break;
      case 47: __bang_cycle_add((short *)(buf + a), (short *)(buf + a), (short *)(buf + b), 2 * n, n / 4); break;
      case 48: { half whole = out[a] * 300 + 65400; if (whole > (half)7) sum += 1; } break;
      case 49: __bang_recip(buf + a, buf + b, n); break;
      case 50: __bang_lock(op[2], op[3]); break;
      case 51: __bang_unlock(op[2], op[3]); break;
      case 34: __bang_float2half_rd((half *)(buf + a), buf + b, n); break;
    }
  }
  if (small > 100) out[0] = sum;
}
"""
CODES = 50
USUAL = (0, 0, 1, 4, 4, 5, 6, 6, 14, 16, 28, 35)  # more often than others
ARGUMENTS = 4096  # elements


def loaded(folder, board="MLU370-X4"):
    """The kernel that carries programs out."""
    path = folder / "programs.mlu"
    path.write_text(SOURCE)
    return bangc.load(path, board=board)["Run"]


def program(draw, *, union):
    """Operations at random, of which a part is in order: a code, which tasks do it, three numbers, a distance between tasks.

    Memory cores take part in barriers, and seldom in other things: there they are findings.
    """
    made = []
    if draw.random() < 0.7:
        made.append((16, 255, 0, 0, 1024, 0))
    odd = draw.random()
    for _ in range(draw.randint(2, 14)):
        code = draw.choice(USUAL) if draw.random() > odd * 0.5 else draw.randrange(CODES)
        if code in (18, 19) and not union:
            continue
        n = draw.choice((32, 64, 64, 128, 24))
        who = 511 if code in (14, 37) else 255 if draw.random() < 0.8 else draw.randint(1, 511)
        a, b = (32 * draw.choice((0, 2, 4, 6, 8, 10)) for _ in range(2))
        b = a if draw.random() < 0.1 else b + 512
        apart = draw.choice((0, 128, 128, 64)) if code in (1, 3, 12, 13, 17, 26) else 0
        made.append((code, who, a, b, n, apart))
        if odd < 0.5 and code in (2, 3, 10, 12, 27):
            made.append((6, 255, 0, 0, 0, 0))
    if draw.random() < 0.2:  # turns of a loop
        made *= 2
    return np.array(made, np.int32)


def guarded(draw, ops):
    """Return *ops* with some of them between a lock and an unlock, one of which is missing now and then."""
    made = []
    for code, who, *rest in ops.tolist():
        key = [draw.choice((0, 0, 1))] * 2
        locks, unlocks = ([(c, who & 255, *key, 0, 0)] * (draw.random() < 0.97) for c in (50, 51))
        if draw.random() < 0.6:
            locks = unlocks = []
        made += [*locks, (code, who, *rest), *unlocks]
    return np.array(made, np.int32)


def told(
    kernel,
    ops,
    engine,
    *,
    union,
    late,
    dirty,
    observe=tuple(CHECKERS),
    covered=False,
    threads=1,
    tasks=3,
    launches=2,
    board="MLU370-X4",
):
    """What checkers say of two *launches*, or more, of *ops* on the same memory, the bytes that they leave, what ran where it is *covered*, and what else a user sees."""
    device = mlusim.Device(board)
    out = device.empty(ARGUMENTS, np.float32) if dirty else device.put(np.zeros(ARGUMENTS, np.float32))
    # A launch that is given little has one thread.
    held = ops if threads == 1 else np.vstack((ops, np.zeros((1 << 19, ops.shape[1]), ops.dtype)))
    given = out, device.put(np.arange(ARGUMENTS, dtype=np.float32) / 64), device.share(held), len(ops)
    checkers = [strict() if name == VALUE_CHECK else CHECKERS[name]() for name in observe]
    counting = [LineCoverage()] * covered
    how = {"observe": [*checkers, *counting], "engine": engine, "threads": threads}
    seen = []
    dim, kind = ((4, 1, 1), mlusim.UNION1) if union else ((tasks, 1, 1), mlusim.BLOCK)
    for _ in range(launches):
        try:
            launch = device.launch(kernel, dim, kind, given, effects="late" if late else "eager", **how)
        except Fault as fault:
            seen.append((str(fault), fault.findings))
            break
        sums = launch.instructions, launch.traffic, launch.scalar_loads, launch.time_us
        seen.append((launch.findings, sums, [c.checked for c in checkers]))
    content = device.get(out).tobytes()
    for checker in checkers:
        checker.fetched(out.allocation, 0, out.allocation.nbytes)
    return seen, content, [c.findings for c in checkers], [(c.lines, c.branches) for c in counting]


def compared(kernel, seed, *, mutexes=False, **more):
    """Assert that both engines tell the same of a random program, with *mutexes* or without; how many launches C ran for the checkers, and findings."""
    draw = random.Random(seed)
    options = {
        "union": draw.random() < 0.5,
        "late": draw.random() < 0.8,
        "dirty": draw.random() < 0.3,
        **more,
    }
    ops = program(draw, union=options["union"])
    ops = guarded(draw, ops) if mutexes else ops
    ran = [0]
    usual = Screening.run

    def counting(self, *given):
        machine = usual(self, *given)
        ran[0] += machine is not None
        return machine

    Screening.run = counting  # type: ignore[method-assign]
    try:
        found = told(kernel, ops, "native", **options)
    finally:
        Screening.run = usual  # type: ignore[method-assign]
    assert told(kernel, ops, "python", **options) == found, (seed, options, ops.tolist())
    return ran[0], sum(map(len, found[2]))
