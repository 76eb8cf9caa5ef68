"""Cores of a union that run another one later: each union finds what the first found, on both engines."""

import numpy as np
import pytest
from engines import MEASURES, NATIVE, alike, run

import mlusim
from mlusim.machine.native.core import NativeCore

UNIONS = """\
__nram__ int given[8] = {5, 6};
__nram__ float kept[64];
__wram__ float weights[64];

__mlu_global__ void unions(float *out, const float *in, int *flags, int meets, int wrong) {
  float *mine = out + taskId * 8;
  int odd = taskIdY % 2;
  if (__is_mpu()) {
    given[1] += 4;
    if (odd && meets) {
      __mlu_shared__ float shared[64];
      __memcpy(shared, in + taskIdY * 64, 256, GDRAM2SRAM);
      if (taskIdY != wrong) __sync_cluster();
    }
    if (clusterId == 0) out[taskDim * 8 + taskIdY] = given[1];
    return;
  }
  mine[0] = ++given[0] + given[1] + given[3];
  mine[1] = kept[coreId];
  if (odd && meets) {
    __mlu_shared__ float shared[64];
    __sync_cluster();
    __memcpy(kept, shared, 256, SRAM2NRAM);
    mine[2] = kept[coreId];
  } else {
    __mlu_shared__ float other[128];
    __bang_write_value(kept, 64, (float)taskId);
    if (coreId == 0) __memcpy(other, kept, 256, NRAM2SRAM);
    __memcpy_async(out + taskDim * 8 + 64, kept, 32, NRAM2GDRAM);
  }
  if (taskId == wrong) kept[64 + clusterDim] = 1.0f;
  int last = taskId;
  int *at = &last;
  *at += coreId;
  mine[3] = *at + clusterId * 1000;
  if (coreId == 3 && meets) __bang_atomic_add(given + 4, flags, odd);
  __memcpy(weights, kept, 128, NRAM2WRAM);
}
"""


class _Watching(mlusim.Observer):
    """Hears of tasks, so that each has a core of its own."""

    def task_end(self, core):
        """Nothing is done."""


KINDS = {"UNION1": (mlusim.UNION1, 4), "UNION2": (mlusim.UNION2, 8)}
ROWS = 11  # unions of a launch, more than a board has places for


def _arguments(width, meets, wrong):
    rng = np.random.default_rng(3)
    out = np.zeros(ROWS * width * 8 + 128, np.float32)
    return out, rng.random(ROWS * 64).astype(np.float32), np.zeros(4, np.int32), meets, wrong


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("meets", "wrong"), [(0, -1), (1, -1), (0, 37), (1, 32), (1, 7)])
def test_unions_after_each_other(load_once, board, kind, meets, wrong):
    kind, width = KINDS[kind]
    kernel = load_once(UNIONS, board)["unions"]

    given, options = _arguments(width, meets, wrong), {"dim": (width, ROWS, 1), "kind": kind, "board": board}
    fresh, expected = run(kernel, given, "python", observe=[_Watching()], **options)

    used = alike(kernel, given, **options)

    assert (wrong < 0) == hasattr(used, "engine")
    if wrong < 0:
        assert [a.tobytes() for a in expected] == [
            a.tobytes() for a in run(kernel, given, "python", **options)[1]
        ]
        assert {m: getattr(fresh, m) for m in MEASURES} == {m: getattr(used, m) for m in MEASURES}
    else:
        assert str(fresh) == str(used)


def test_cores_of_unions_that_are_over_run_others(load_once, calls_of):
    """The cores of the first run all others where none waits; a barrier leaves room for others' cores."""
    kernel = load_once(UNIONS)["unions"]

    with calls_of(NativeCore.renew) as renewed:
        run(kernel, _arguments(4, 0, -1), NATIVE, dim=(4, ROWS, 1), kind=mlusim.UNION1)

    assert NATIVE == "python" or 5 * (ROWS - 1) == len(renewed)
    assert NATIVE == "python" or {0, 1, 2, 3, 0x80} == {call["place"].core_id for call in renewed}


SHARED = """\
__mlu_shared__ float shared[64];
__nram__ float mine[64];

__mlu_global__ void shares(float *out, const float *in) {
  if (__is_mpu()) {
    __memcpy(shared, in + taskIdY * 64, 256, GDRAM2SRAM);
    __sync_cluster();
    return;
  }
  out[taskId] = shared[coreId];  // poison of this union's own memory
  __sync_cluster();
  __memcpy(mine, shared, 256, SRAM2NRAM);
  __memcpy(out + taskDim + taskId * 64, mine, 256, NRAM2GDRAM);
}
"""


def test_unions_with_shared_memory_at_file_scope(load_once):
    given = np.zeros(4 * ROWS * 65, np.float32), np.arange(64 * ROWS, dtype=np.float32)

    alike(load_once(SHARED)["shares"], given, dim=(4, ROWS, 1), kind=mlusim.UNION1)
