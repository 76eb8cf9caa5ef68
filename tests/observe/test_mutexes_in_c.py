"""Kernels of BANG C that take mutexes: what C says of them, with checkers and without, is what Python says."""

import shlex

import numpy as np
import pytest
from screen_programs import compared, loaded

import mlusim
from mlusim import BLOCK, UNION1, UNION2, bangc
from mlusim.errors import Fault
from mlusim.machine.native.build import CHOICE, available
from mlusim.observe.names import CHECKERS

pytestmark = pytest.mark.skipif(available() is None, reason="there is no compiler")

SOURCE = """\
#define HEAD __mlu_entry__ void
__nram__ float a[64];
__mlu_func__ void add(float *total, bool behind) {
  __memcpy(a, total, 64, GDRAM2NRAM);
  __bang_add_scalar(a, a, 1.0f, 16);
  if (behind) __memcpy_async(total, a, 64, NRAM2GDRAM);
  else __memcpy(total, a, 64, NRAM2GDRAM);
}
HEAD Guarded(float *total, int turns) {
  if (__is_mpu()) return;
  for (int i = 0; i < turns; ++i) { __bang_lock(1, 1); add(total, false); __bang_unlock(1, 1); }
}
HEAD Apart(float *total, int turns) {
  if (__is_mpu()) return;
  for (int i = 0; i < turns; ++i) { __bang_lock(taskId, taskId); add(total + taskId * 16, false); __bang_unlock(taskId, taskId); }
}
HEAD Open(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(taskId % 2, taskId % 2); add(total, false); __bang_unlock(taskId % 2, taskId % 2);
}
HEAD Outside(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(1, 1); add(total, false); __bang_unlock(1, 1);
  total[0] = taskId;
}
HEAD Early(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(1, 1); add(total, true); __bang_unlock(1, 1);
}
HEAD Scalar(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(1, 1); total[0] = total[0] + 1; __bang_unlock(1, 1);
}
HEAD Meeting(float *total, int turns) {
  for (int i = 0; i < turns; ++i) {
    if (__is_ipu()) { __bang_lock(1, 1); add(total, false); __bang_unlock(1, 1); }
    else { __bang_lock(1, 2); __bang_unlock(1, 2); }
    __sync_all();
  }
  if (taskId == 0 && __is_ipu()) total[0] = total[0] * 2;
}
HEAD Inside(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(1, 1);
  __sync_all_ipu();
  __bang_unlock(1, 1);
}
HEAD Kept(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(taskId, taskId);
  if (taskId % 3) return;
  __bang_unlock(taskId, taskId);
}
HEAD Waited(float *total, int turns) {
  if (__is_mpu()) return;
  __bang_lock(1, 1);
  add(total, false);
  if (taskId != 1) __bang_unlock(1, 1);
}
HEAD Twice(float *total, int turns) { if (__is_mpu()) return; __bang_lock(1, 1); add(total, false); __bang_lock(1, 1); }
HEAD Foreign(float *total, int turns) {
  if (__is_mpu()) return;
  if (taskId == 0) __bang_lock(1, 1);
  __sync_all_ipu();
  __bang_unlock(1, 1);
}
HEAD Crossed(float *total, int turns) {
  if (__is_mpu()) return;
  const int one = taskId % 2 + 1, other = 3 - one;
  __bang_lock(one, one); __bang_lock(other, other); add(total, false); __bang_unlock(other, other); __bang_unlock(one, one);
}
HEAD Mixed(float *total, int turns) { __bang_lock(1, 1); __bang_unlock(1, 1); }
"""
KERNELS = (
    "Guarded", "Apart", "Open", "Outside", "Early", "Scalar", "Meeting", "Inside", "Kept", "Waited", "Twice", "Foreign", "Crossed", "Mixed",
)  # fmt: skip
GRIDS = ((1, BLOCK), (3, BLOCK), (40, BLOCK), (4, UNION1), (8, UNION1), (8, UNION2))
QUIET = "Guarded", "Apart"  # of which no checker has anything to say


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return the kernels, and the one that carries out programs; compiled without optimisation, which is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, shlex.join((*available(), "-O0")))
        folder = tmp_path_factory.mktemp("mutexes")
        (folder / "k.mlu").write_text(SOURCE)
        yield bangc.load(folder / "k.mlu"), loaded(folder)


def told(kernel, grid, engine, observe):
    """Return the engine, and all that a user sees of a launch on so many tasks: counts and the log, or the fault; findings, bytes."""
    device = mlusim.Device("MLU370-X4")
    total, checkers = device.put(np.zeros(1024, np.float32)), [CHECKERS[name]() for name in observe]
    try:
        launch = device.launch(kernel, grid[0], grid[1], (total, 3), observe=checkers, engine=engine)
        ran, seen = launch.engine, (launch.instructions, launch.traffic, launch.time_us, launch.busy_us)
        seen += tuple(task.log.key for task in launch.tasks)
    except Fault as fault:
        ran, seen = "", (str(fault), fault.task, fault.findings)
    return ran, (seen, [checker.findings for checker in checkers], device.get(total).tobytes())


@pytest.mark.parametrize("name", KERNELS)
def test_both_engines_tell_the_same(sources, name):
    """Counts, log, time, sentences, findings, bytes; the order in which tasks take a mutex is the same, too."""
    kernel, findings = sources[0][name], 0
    for grid in GRIDS:
        for observe in ((), tuple(CHECKERS), ("synccheck",), ("racecheck",)):
            ran, native = told(kernel, grid, "native", observe)
            assert told(kernel, grid, "python", observe)[1] == native
            assert ran in ("native", "")
            findings += sum(map(len, native[1]))

    assert (name in QUIET) == (findings == 0)


@pytest.mark.parametrize("part", range(4))
def test_random_programs_with_mutexes_are_told_as_in_python(sources, part):
    """Programs with any of their statements between a lock and an unlock, of which some are missing."""
    ran = [compared(sources[1], seed, mutexes=True) for seed in range(100 * part, 100 * part + 10)]

    assert any(in_c for in_c, _ in ran)
