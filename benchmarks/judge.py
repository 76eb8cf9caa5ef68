"""Measure the CPU time that a running judge needs for one candidate with a few launches, all processes included."""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row
from mlusim.judge.judging import Candidate, candidates, judge, leave, prepare, task_of
from mlusim.programs.argument_forms import AskedCall

MANY = 24
LIMIT = 125.0  # ms: eight candidates a second of one core
REFERENCE = """\
import numpy as np
cases = [{"n": 4096}, {"n": 1000}]
launch = {"dim": (4, 1, 1)}
def inputs(rng, case):
    return {"x": rng.standard_normal(case["n"]).astype("f4"), "slope": 0.1}
def reference(x, slope):
    return np.where(x > 0, x, slope * x)
"""
KERNEL = """\
#include <bang.h>
// %d
__mlu_entry__ void Leaky(float *out, const float *x, float slope, int n) {
  __nram__ float a[1024];
  __nram__ float b[1024];
  int per = (n + taskDim - 1) / taskDim, begin = taskId * per;
  int count = begin + per < n ? per : n - begin;
  __memcpy(a, x + begin, count * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(b, a, slope, count);
  __bang_maxequal(a, a, b, count);
  __memcpy(out + begin, a, count * sizeof(float), NRAM2GDRAM);
}
"""


def judging() -> Iterator[Row]:
    """Yield the CPU time of one candidate of four launches under all checkers, without the start of the judge."""
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder, "reference.py")
        reference.write_text(REFERENCE, encoding="ascii")
        paths = [Path(folder, f"{n}.mlu") for n in range(MANY + 1)]
        for n, path in enumerate(paths):
            path.write_text(KERNEL % (n + time.time_ns()), encoding="ascii")
        task = task_of(str(reference), AskedCall((), board="MLU370-X4", seed=1))
        prepare(task)
        wanted = candidates(task, map(str, paths))
        few, many = _cpu(wanted[:1]), _cpu(wanted[1:])
    each = (many - few) / (MANY - 1) * 1e3
    yield Row("mlusim judge: one candidate, 4 launches", each, LIMIT, "ms", "CPU, all checkers")


def _cpu(wanted: list[Candidate]) -> float:
    """Return the CPU seconds of a judge that is started, judges *wanted* and ends."""
    before = _used()
    verdicts = list(judge(wanted, workers=1))
    leave()
    assert all(verdict["verdict"] == "right" for verdict in verdicts), verdicts[0]["error"]
    return _used() - before


def _used() -> float:
    here, below = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return here.ru_utime + here.ru_stime + below.ru_utime + below.ru_stime
