"""The cost of a mistake: the check of a launch with one, over that of its correct twin, interleaved in one process.

`mistakes` takes one large kernel with each kind of mistake, `planted` the planted faults of `tests/quality`, which are short and in Python.
"""

import gc
import importlib
import operator
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Row
from mlusim import bangc
from mlusim.engine.preference import NATIVE
from mlusim.errors import Fault
from mlusim.machine.device import Device
from mlusim.machine.kernel import BLOCK, UNION1
from mlusim.machine.native.build import available
from mlusim.observe.names import CHECKERS

TASKS, TURNS, WIDTH = 16, 64, 1024
ROUNDS = 25
ROUNDS_OF_PLANTED = 40  # they are short
LIMIT = 2.0
PLANTED = Path(__file__).resolve().parents[1] / "tests" / "quality"
SOURCE = """#include <bang.h>
#define N 1024
__nram__ float a[2 * N], b[N];
__mlu_entry__ void Turns(float *out, const float *in, int turns, int mistake) {
  float *mine = out + taskId * turns * N;
  const float *from = in + taskId * turns * N;
  int sum = 0x7fffff00, small = 0;
  if (coreId == 0x80) return;
  if (mistake == 3) __bang_write_zero(a, N);
  for (int i = 0; i < turns; ++i) {
    const int last = taskId == taskDim - 1 && i == turns - 1;
    if (mistake == 3 || mistake == 4 || mistake == 9) __memcpy_async(a, from + i * N, N * sizeof(float), GDRAM2NRAM);
    else __memcpy(a, from + i * N, (mistake == 2 && last ? N * N : N) * sizeof(float), GDRAM2NRAM);
    if (mistake == 9) __sync();
    if (mistake == 1) sum += i;
    if (mistake == 10) small += *(int *)((char *)a + 4 * i + 2) & 1;
    if (mistake == 11) __sync_cluster();
    if (mistake == 14 && last) return;
    if (mistake >= 14) __sync_all_ipu();
    if (mistake == 12 || mistake == 13) { __bang_reduce_sum(b, mistake == 12 ? a + 32 : a, N); __memcpy(mine, b + 31 * 32, 4, NRAM2GDRAM); }
    if (mistake == 6 && a[N] > 1.0f) small = 1;
    __bang_add_scalar(b, mistake == 5 ? a + 8 : a, 1.0f, N);
    __sync();
    __memcpy((mistake == 7 ? out : mine) + i * N, b, N * sizeof(float), NRAM2GDRAM);
  }
  if (mistake == 8) for (int i = 0; i < turns; ++i) out[i] = small + 1.0f;
}
"""
KINDS = {
    "an overflow in each turn": (1, 0),
    "a copy out of bounds in the last turn of the last task": (2, 0),
    "a scalar load that is not aligned, in each turn": (10, 0),
    "a barrier of the cluster in a Block task, in each turn": (11, 0),
    "a task that leaves before the last barrier of its union": (14, 15),
    "a missing __sync() on a core": (3, 9),
    "tasks that write the same bytes": (7, 0),
    "tasks that store the same words": (8, 0),
    "unwritten bytes stored": (5, 0),
    "unwritten bytes that a sum takes, stored": (12, 13),
    "an unwritten scalar that decides": (6, 0),
    "a missing __sync() after which unwritten bytes are read": (4, 9),
}
"""The mistakes by their numbers in the kernel, each with the number of its correct twin."""

FAULTS = (2, 14)  # mistakes that end the launch
UNIONS = (14, 15)  # kernels of which the tasks run in unions


def mistakes() -> Iterator[Row]:
    """Yield the cost of each kind of mistake over the launch without it."""
    if available() is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "turns.mlu"
        path.write_text(SOURCE)
        kernel, correct = (bangc.load(path)["Turns"] for _ in range(2))
        for name, (mistake, twin) in KINDS.items():

            def right(twin: int = twin) -> float:
                _check(kernel, twin)  # what an earlier check has shown of the mistake is forgotten
                return _check(correct, twin)

            yield _row(name, right, lambda mistake=mistake: _check(kernel, mistake), ROUNDS)


def planted() -> Iterator[Row]:
    """Yield the cost of each planted fault over its innocent twin, the dearest first."""
    sys.path.insert(0, str(PLANTED))
    importlib.import_module("quality_score")  # it plants them
    plants = importlib.import_module("quality_plants")
    rows = [
        _row(
            it.name.replace("_", " "),
            lambda it=it: _seconds(lambda: plants.findings(it, wrong=False)),
            lambda it=it: _seconds(lambda: plants.findings(it, wrong=True)),
            ROUNDS_OF_PLANTED,
        )
        for it in plants.PLANTS
    ]
    yield from sorted(rows, key=operator.attrgetter("measured"), reverse=True)


def _row(name: str, right: Callable[[], float], wrong: Callable[[], float], rounds: int) -> Row:
    """Return the median over *rounds* of the time of *wrong* over that of *right* before it; garbage is collected between them."""
    pairs = []
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds + 1):
            pairs.append((right(), wrong()))
            gc.collect(0)
    finally:
        if enabled:
            gc.enable()
    del pairs[0]
    without, measured = (statistics.median(times) for times in zip(*pairs, strict=True))
    told = f"{measured * 1e3:.1f} ms, without it {without * 1e3:.1f} ms"
    return Row(name, statistics.median(b / a for a, b in pairs), LIMIT, "x without", told)


def _check(kernel: Any, mistake: int) -> float:
    """Return the seconds of CPU that a launch under all checkers takes."""
    device = Device("MLU370-X4")
    many = TASKS * TURNS * WIDTH
    out, given = device.put(np.zeros(many, np.float32)), device.put(np.ones(many, np.float32))
    observe = [checker() for checker in CHECKERS.values()]
    kind = UNION1 if mistake in UNIONS else BLOCK
    arguments = out, given, TURNS, mistake

    def launch() -> None:
        try:
            device.launch(kernel, TASKS, kind, arguments, observe=observe, engine=NATIVE)
        except Fault:
            assert mistake in FAULTS

    return _seconds(launch)


def _seconds(function: Callable[[], object]) -> float:
    """Return the seconds of CPU that *function* takes."""
    begin = time.process_time()
    function()
    return time.process_time() - begin
