"""An asynchronous atomic is in flight until a sync: what that does to its source, to its sum, and to advice on syncs."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.observe.racecheck import RaceCheck

SOURCE = """
#include <bang.h>
__nram__ float a[64];
__mlu_entry__ void Add(float *out, const float *x, int how) {
  __memcpy(a, x, 256, GDRAM2NRAM);
  if (how == 1)
    __bang_add(a, a, a, 64);
  __bang_atomic_reduce_add_async(out, a, 64);
  if (how == 2)
    __bang_write_zero(a, 64);
  __sync();
  if (how == 3)
    __bang_write_zero(a, 64);
}
"""
FOUND = {
    0: [],
    1: [("racecheck-read-after-write", 8, "put __sync_compute() before line 8")],
    2: [("racecheck-write-after-read", 10, "put __sync_io() before line 10")],
    3: [],
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    path = tmp_path_factory.mktemp("atomics") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path)["Add"]


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("how", FOUND)
def test_its_source_has_to_be_there_and_to_stay_until_the_sync(kernel, engine, how):
    """The sum takes what the source holds when it lands: at the sync, or at once with eager effects."""
    device = mlusim.Device("MLU370-X4")
    left = []
    for effects in ("late", "eager"):
        out, x = device.put(np.full(64, 5, np.float32)), device.put(np.ones(64, np.float32))
        options = {"engine": engine, "effects": effects, "observe": ["racecheck"]}
        launch = device.launch(kernel, (1, 1, 1), mlusim.BLOCK, [out, x, how], **options)
        left.append(device.get(out)[0])

    assert FOUND[how] == [(f.id, f.line, f.hint) for f in launch.findings]
    assert {0: [6, 6], 1: [7, 7], 2: [5, 6], 3: [6, 6]}[how] == left


def test_the_sync_that_it_needs_is_not_called_idle(kernel):
    """It is the last one before the end, and lets the sum be seen."""
    device, notes = mlusim.Device("MLU370-X4"), RaceCheck(notes=True)
    device.launch(
        kernel, (1, 1, 1), mlusim.BLOCK, [device.put(np.zeros(64, np.float32))] * 2 + [0], observe=[notes]
    )

    assert "racecheck-idle-sync" not in {finding.id for finding in notes.findings}
