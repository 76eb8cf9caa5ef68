"""Tasks, memory cores, barriers and effects of BANG C on the native engine: the same schedule as on Python's."""

import os

import numpy as np
import pytest
from engines import MEASURES, alike, run

import mlusim
from mlusim.machine.native.seat import READ, Seat

FURTHER = """\
__nram__ float kept[64];
__wram__ float other[64];

__mlu_global__ void further(float *out, const float *flag, int wrong) {
  for (int i = 0; i < 300 * (taskId % 3 == 1); ++i) { if (flag[0] != 0.f) return; }
  out[taskId * 4] = kept[taskId];
  if (taskId % 2) {
    __nram__ float mine[32];
    out[taskId * 4 + 1] = mine[taskId];
    __bang_write_value(mine, 32, (float)taskId);
    __memcpy_async(kept, out, 32, GDRAM2NRAM);
  } else {
    __nram__ float mine[64];
    out[taskId * 4 + 1] = mine[taskId];
    __bang_write_value(mine, 64, (float)taskId);
    if (taskId == wrong) { mine[64] = 1.f; }
  }
  __bang_write_value(kept + 32, 32, 2.f);
  int last = taskId;
  int *at = &last;
  *at += 1;
  out[taskId * 4 + 2] = kept[40] + *at;
}
"""


@pytest.mark.parametrize("wrong", [-1, 6])
def test_a_core_that_runs_further_tasks(load_once, wrong):
    """Each task finds fresh memory and pointers of its own, while others wait in the middle of theirs."""
    out = np.zeros(36, np.float32)

    done = alike(load_once(FURTHER)["further"], (out, np.zeros(1, np.float32), wrong), dim=(9, 1, 1))

    assert (wrong >= 0) == ("4 bytes past its end" in str(done))
    assert wrong >= 0 or 18 == done.instructions["bang_write_value"]


FRESH = """\
struct Pair { int a; int b[2]; };
__nram__ int given[4] = {5, 6};
__nram__ int kept[4];

__mlu_func__ int counted() { static int many = 3; return ++many; }

__mlu_global__ void fresh(int *out, int *flag, Pair pair) {
  int *mine = out + taskId * 8;
  __nram__ int local[4];
  mine[0] = ++given[0] + given[1] + given[3];
  mine[1] = kept[taskIdX] + local[taskIdY];
  mine[2] = counted() + counted();
  mine[3] = ++pair.a + (pair.b[1] += taskIdY);
  mine[4] = coreId * 100 + taskIdX * 10 + taskIdY;
  if (taskId % 3 == 1) { for (int i = 0; i < 300; ++i) { if (flag[0]) return; } }
  kept[taskIdX] = local[taskIdY] = taskId;
  mine[5] = kept[taskIdX];
}
"""


class _Watching(mlusim.Observer):
    """Hears of tasks, so that each has a core of its own."""

    def task_end(self, core):
        """Nothing is done."""


def test_a_used_core_is_as_a_fresh_one(load_once):
    """What a task finds, leaves and counts is the same on the core of another as on one of its own."""
    kernel, given = load_once(FRESH)["fresh"], (np.zeros(96, np.int32), np.zeros(1, np.int32), (7, (8, 9)))
    fresh, expected = run(kernel, given, "python", dim=(4, 3, 1), observe=[_Watching()])

    used, actual = run(kernel, given, "python", dim=(4, 3, 1))

    assert [a.tolist() for a in expected] == [a.tolist() for a in actual]
    assert {m: getattr(fresh, m) for m in MEASURES} == {m: getattr(used, m) for m in MEASURES}
    assert [t._replace(log=t.log.key) for t in fresh.tasks] == [t._replace(log=t.log.key) for t in used.tasks]
    assert [12, -2, 9, 18] == expected[0][8 * 5 : 8 * 5 + 4].tolist()


MEETING = """\
__mlu_shared__ float shared[2 * 256];
__nram__ float mine[256];

__mlu_global__ void pipe(float *out, const float *in, int turns) {
  for (int t = 0; t < turns; ++t) {
    if (__is_mpu()) {
      __memcpy_async(shared + t % 2 * 256, in + (taskIdY * turns + t) * 256, 1024, GDRAM2SRAM);
    }
    __sync_cluster();
    if (__is_ipu()) {
      __memcpy(mine, shared + t % 2 * 256, 1024, SRAM2NRAM);
      __bang_mul_scalar(mine, mine, (float)(coreId + 1), 256);
      __memcpy_async(out + (taskId * turns + t) * 256, mine, 1024, NRAM2GDRAM);
      if (t % 3 == 0) __sync_io();
    }
  }
}
"""


@pytest.mark.parametrize("effects", ["late", "eager"])
def test_a_pipeline_over_shared_memory(load_once, effects):
    """Memory cores, barriers, asynchronous copies of both pipes, two unions."""
    data = np.random.default_rng(2).random(2 * 5 * 256, dtype=np.float32)
    out = np.zeros(8 * 5 * 256, np.float32)

    launch = alike(
        load_once(MEETING)["pipe"], (out, data, 5), dim=(4, 2, 1), kind=mlusim.UNION1, effects=effects
    )

    assert launch.traffic["SRAM2NRAM"] == 8 * 5 * 1024


def test_a_barrier_that_one_core_misses(load_once):
    """Who waits where, at the line of the source."""
    source = """\
__mlu_global__ void stuck(int *out) {
  if (taskId == 1) return;
  __sync_cluster();
}
"""
    fault = alike(load_once(source)["stuck"], (np.zeros(4, np.int32),), dim=(4, 1, 1), kind=mlusim.UNION1)

    assert "k.mlu:3" in str(fault)


UNGUARDED = """\
__mlu_shared__ float shared[512];
__nram__ float mine[512];

__mlu_global__ void unguarded(float *out, const float *in) {
  __memcpy(shared, in, 2048, GDRAM2SRAM);
  __sync_cluster();
  __memcpy(mine, shared, 2048, SRAM2NRAM);
  __bang_mul_scalar(mine, mine, (float)(coreId + 1), 256);
  __memcpy_async(mine + 256, mine, 1024, NRAM2NRAM);
  __sync_compute();
  __bang_add(mine, mine, mine + 256, 256);
  __memcpy_async(mine + 256, mine, 512, NRAM2NRAM);
  __sync_copy_nram_to_nram();
  __memcpy_async(mine + 128, mine, 256, NRAM2NRAM);
  __sync_copy_sram_to_nram();
  __memcpy_async(mine, out + taskId * 512, 64, GDRAM2NRAM);
  __sync_copy_gdram_to_nram();
  __memcpy_async(out + taskId * 512, mine, 2048, NRAM2GDRAM);
  __sync();
  __sync_cluster();
  if (coreId == 0) __memcpy(shared, mine, 2048, NRAM2SRAM);
  __sync_cluster();
  __memcpy(out + taskDim * 512, shared, 2048, SRAM2GDRAM);
}
"""


@pytest.mark.parametrize("effects", ["late", "eager"])
def test_every_kind_of_core_runs_everything(load_once, effects):
    """What a core cannot do has no effect on it; a sync of the compute stream waits for copies inside NRAM."""
    data = np.random.default_rng(3).random(512, dtype=np.float32)
    out = np.zeros(5 * 512, np.float32)

    alike(load_once(UNGUARDED)["unguarded"], (out, data), dim=(4, 1, 1), kind=mlusim.UNION1, effects=effects)


def test_a_process_that_forks_has_seats_of_its_own():
    """What a child writes to the buffers of a core is not what its parent finds there."""
    seat = Seat()
    child = os.fork()
    if child == 0:
        seat.words[READ] = 1
        os._exit(0)
    os.waitpid(child, 0)

    assert 0 == seat.words[READ]


GATHERED = """\
__nram__ float got[64], twice[64];
__nram__ unsigned places[16];

__mlu_global__ void gathered(float *out, const float *src, const unsigned *at) {
  __memcpy(places, at, 64, GDRAM2NRAM);
  for (int i = 0; i < 2; ++i) {
    __gather_async(got, src, places, 4, GDRAM2NRAM, 4, 16);
    __memcpy_async(twice, src + 16, 64, GDRAM2NRAM);
    __sync_io_move_compute();
    __bang_add(twice, twice, got, 16);
    __memcpy(out + 16 * i, twice, 64, NRAM2GDRAM);
  }
}
"""


def test_a_wait_that_python_performs_waits_once(load_once):
    """A gather of Python's and a copy of C's are in flight at a wait of Python's: nothing is left of them behind it."""
    out, src = np.zeros(32, np.float32), np.arange(32, dtype=np.float32)
    at = np.arange(0, 64, 4, dtype=np.uint32)[::-1].copy()

    alike(load_once(GATHERED, "MLU590-H8")["gathered"], (out, src, at), board="MLU590-H8")
