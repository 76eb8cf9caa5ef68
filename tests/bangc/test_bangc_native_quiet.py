"""Instructions that C performs together under checkers: what any of them has to tell is told as in Python."""

import numpy as np
import pytest
from engines import MEASURES, NATIVE

import mlusim
from mlusim.errors import MlusimError
from mlusim.machine.hub import attending
from mlusim.observe.names import CHECKERS, VALUE_CHECK
from mlusim.observe.valuecheck import strict

SOURCE = """\
__nram__ float a[64];
__nram__ float b[64];
__nram__ float c[64];
__nram__ float d[256];
__nram__ int whole[64];

__mlu_func__ void weigh(float *sums, float by, int at, int each) {
  __bang_mul_scalar(b, a, by, 64);
  __bang_sub(c, b, a, 64);
  __bang_atomic_reduce_add(sums + at * each, c, 64);
  __memcpy(sums + 2048 + at * each, c, 64 * sizeof(float), NRAM2GDRAM);
}

__mlu_func__ void count(int by) {
  __bang_add_scalar(whole, whole, 3, 64);
  __bang_mul_scalar(whole, whole, by, 64);
}

__mlu_global__ void turns(float *sums, float *out, const float *data, int many, int mistake) {
  float by = 0.5f;
  __bang_write_zero(whole, 64);
  __memcpy(a, data, 64 * sizeof(float), GDRAM2NRAM);
  for (int turn = 0; turn < many; turn++) {
    const int last = turn == many - 3 ? mistake : 0;
    if (last == 1) by = 3e38f;
    const int at = turn + (last == 9 ? 0 : many * taskId);
    if (last == 3) { __bang_mul_scalar(b, d, by, 64); __bang_sub(c, b, a, 64); __memcpy(out + 256 + 64 * taskId, c, 256, NRAM2GDRAM); }
    count(last == 4 ? 1 << 30 : last > 4 ? 2 : -1);
    if (last == 5) { __bang_add_scalar(a, (float *)whole, 1.0f, 64); __bang_add(b, a, a, 64); }
    if (last == 6) { __bang_bxor((int *)b, (int *)d, whole, 64); __bang_bxor((int *)b, (int *)b, whole, 64); __memcpy(out + 256 + 64 * taskId, b, 256, NRAM2GDRAM); }
    if (last == 7) { __bang_mul_scalar(a, (float *)whole, 1.0f, 64); }
    if (last == 8) { __bang_add((int *)d, whole, whole, 64); __bang_mul((int *)d, (int *)d, whole, 64); __bang_mul_scalar(a, d, 1.0f, 64); }
    weigh(sums, by, last == 2 ? at + (1 << 30) : at, 64);
  }
  __bang_add(d, c, b, 64);
  __bang_add(d, d, b, 64);
  __memcpy(out + 128 * taskId, d, 64 * sizeof(float), NRAM2GDRAM);
  if (many > 8) __memcpy(out + 192 * taskId, d, 64 * sizeof(float), NRAM2GDRAM);
}
"""

TOLD = {
    0: set(),
    1: {"valuecheck-not-finite"},
    2: {"valuecheck-overflow"},
    3: {"initcheck-undefined-stored"},
    4: {"valuecheck-vector-overflow"},
    5: {"valuecheck-retyped"},
    6: {"initcheck-undefined-stored"},
    7: {"valuecheck-retyped"},
    8: {"valuecheck-retyped"},
    9: {"racecheck-tasks-write-write"},
}


def all_checkers():
    """One of each kind, of numbers that vectors compute too."""
    return [strict() if name == VALUE_CHECK else checker() for name, checker in CHECKERS.items()]


def told(kernel, mistake, engine, *, fresh):
    """Return what a launch is, what checkers report of it, and the bytes after it, or the fault."""
    device, watching = mlusim.Device("MLU370-X4"), all_checkers()
    data = device.put(np.linspace(-1.0, 2.0, 64, dtype=np.float32))
    sums = device.put(np.zeros(4096, np.float32))
    out = device.empty(512, "float") if fresh else device.put(np.zeros(512, np.float32))
    with attending(watching):
        try:
            launch = device.launch(kernel, 2, mlusim.BLOCK, (sums, out, data, 9, mistake), engine=engine)
            said = [getattr(launch, m) for m in MEASURES]
        except MlusimError as fault:
            said = str(fault)
    findings = [str(finding) for checker in watching for finding in checker.findings]
    return said, findings, device.get(sums).tobytes(), device.get(out)[:64].tobytes()


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("mistake", TOLD)
def test_a_mistake_in_a_late_turn_is_told_as_in_python(load_once, mistake, fresh):
    """Turns before it have nothing to tell, so that their instructions are performed together."""
    kernel = load_once(SOURCE)["turns"]

    python = told(kernel, mistake, "python", fresh=fresh)

    assert python == told(kernel, mistake, NATIVE, fresh=fresh)
    assert TOLD[mistake] <= {finding.partition(":")[0] for finding in python[1]}
    assert bool(TOLD[mistake]) is bool(python[1])
