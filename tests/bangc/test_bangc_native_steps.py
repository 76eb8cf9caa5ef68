"""Every instruction of a launch in C: the lines and the timeline of the Python engine."""

import random
import shlex

import numpy as np
import pytest
from engines import NATIVE, run
from random_kernels import OUT, Writer

import mlusim
from mlusim import bangc
from mlusim.machine.native.build import available
from mlusim.time.log import MOST_STEPS

MIXED = """\
#define N 64
__nram__ float a[4096];
__nram__ float b[4096];

__mlu_global__ void mixed(float *x, int *at, float *y, int n) {
  __memcpy_async(a, x + taskId * N, N * 4, GDRAM2NRAM);
  __bang_write_value(b, N, 0.0f);
  __sync_io();
  float s = 0.0f;
  for (int i = 0; i < n; i++) {
    for (int j = 1; j < N; j++) {
      a[j] = a[j] * 0.5f + a[j - 1];
      if (a[j] > 100.0f) s += x[j];
    }
    __bang_add(b, a, b, N); __bang_mul_scalar(b, b, 0.5f, N);
    if (i % 3 == 0) __memcpy(y + taskId * N, b, N * 4, NRAM2GDRAM, N * 4, N * 4, 0);
    else __memcpy_async(y + taskId * N, b, 32 * 4, NRAM2GDRAM);
    __sync();
    __memcpy_async(a + 2048, b, N * 4, NRAM2NRAM);
    __bang_maxpool(a + 1024, a, 1, 8, 8, 2, 2, 2, 2);
    __sync_compute();
  }
  __bang_atomic_add((int *)b, at, taskId);
  __sync_cluster();
  if (__is_ipu()) __bang_printf("%f\\n", s);
  __memcpy(y + taskId * N, b, N * 4, NRAM2GDRAM);
}
"""
UNION = {"dim": (4, 2, 1), "kind": mlusim.UNION1}


@pytest.fixture(autouse=True)
def _quick_compiler(monkeypatch):
    """No optimisation for kernels that run once."""
    command = available()
    if command is not None:
        monkeypatch.setenv("MLUSIM_CC", shlex.join((*command, "-O1")))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """The kernel on MLU370-X4."""
    path = tmp_path_factory.mktemp("steps") / "mixed.mlu"
    path.write_text(MIXED)
    return bangc.load(path, board="MLU370-X4")["mixed"]


def same_steps(kernel, given, **options):
    """Run on both engines with every instruction, and compare what is known of them; the launch in C."""
    python, native = (
        run(kernel, given, engine, observe=[mlusim.EveryStep()], **options)[0]
        for engine in ("python", NATIVE)
    )

    assert NATIVE == native.engine
    assert python.time_us == native.time_us
    assert python.lines == native.lines
    assert list(python.timeline.scenes(most=20_000)) == list(native.timeline.scenes(most=20_000))
    return native


@pytest.mark.parametrize("options", [UNION, {"dim": (5, 1, 1)}, UNION | {"effects": "eager"}], ids=str)
def test_lines_and_timeline_are_the_same(mixed, options):
    """Copies that fly, waits, barriers, memory cores, accesses, atomics and rows that Python performs."""
    given = np.arange(512, dtype=np.float32), np.zeros(8, np.int32), np.zeros(512, np.float32), 7

    launch = same_steps(mixed, given, **options)

    assert {"__memcpy_async", "__sync_compute", "scalar load", "__bang_maxpool"} <= {
        n for one in launch.lines for n in one.names
    }


def test_what_is_not_kept_in_turn_is_counted(mixed):
    """Beyond the steps that a core keeps in turn the lines are complete, and the timeline goes on with whole rows."""
    given = np.arange(64, dtype=np.float32), np.zeros(8, np.int32), np.zeros(64, np.float32), 300

    launch = same_steps(mixed, given)

    assert MOST_STEPS < sum(one.count for one in launch.lines)
    assert [MOST_STEPS] == [len(task.steps.turns) for task in launch.tasks]


def test_steps_that_engines_meet_in_another_order(tmp_path):
    """A random kernel whose cores meet at several lines: the sums of a line do not depend on the order of its steps."""
    rng = random.Random(5)
    (tmp_path / "k.mlu").write_text(Writer(5).kernel())
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU590-H8")["kernel"]
    data = np.random.default_rng(5).normal(scale=4, size=1024).astype(np.float32)
    given = (np.zeros(OUT, np.float32), data, rng.randrange(-99, 99), rng.randrange(99), 0.75)

    same_steps(kernel, given, board="MLU590-H8", dim=(8, 1, 1), kind=mlusim.UNION2)


def test_observers_that_hear_more_take_python(mixed):
    """Checkers beside it, and a schedule that is drawn, are Python's; a launch without a time notes nothing."""
    given = np.zeros(64, np.float32), np.zeros(8, np.int32), np.zeros(64, np.float32), 1

    def engine(*observe, **options):
        return run(mixed, given, "auto", observe=[mlusim.EveryStep(), *observe], **options)[0].engine

    assert NATIVE == engine()
    assert NATIVE == engine(threads=2)
    assert "python" == engine("memcheck")
    assert "python" == engine(seed=1)
    assert "python" == engine(timing=False)
