"""Ctrl-C in native code: wherever the cores are, the launch ends and says where."""

import signal

import numpy as np
import pytest
from engines import NATIVE, run

import mlusim
from mlusim import bangc

ENDLESS = """\
__nram__ float buf[64];
__mlu_global__ void loop(int *out, int n) {
  while (n) { n = n * 3 | 1; }
}
__mlu_global__ void barrier(int *out, int n) {
  if (taskId == 1) { while (n) { n = n * 3 | 1; } }
  __sync_cluster();
}
__mlu_global__ void memory(int *out, int n) {
  if (__is_mpu()) { while (n) { n = n * 3 | 1; } }
  __sync_cluster();
}
__mlu_global__ void rows(int *out, int n) {
  while (n) { __bang_add(buf, buf, buf, 64); }
}
"""


@pytest.fixture
def interrupt_soon():
    """Starts the time after which this process is interrupted as by Ctrl-C."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.2)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("loop", "k.mlu:3 in task 0"),
        ("barrier", "k.mlu:6 in task 1"),
        ("memory", "k.mlu:10 in memory core of cluster 0"),
        ("rows", "k.mlu:14 in task 0"),
    ],
)
def test_an_interrupt_tells_the_line_of_the_kernel(tmp_path, interrupt_soon, name, where):
    """Ctrl-C ends a loop without end, while others wait at a barrier too, with the line, the task and the kernel."""
    (tmp_path / "k.mlu").write_text(ENDLESS)
    kernel, data = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name], np.zeros(4, np.int32)
    options = {"dim": (4, 1, 1), "kind": mlusim.UNION1}
    run(kernel, (data, 0), NATIVE, **options)  # compiled
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt) as stop:
        run(kernel, (data, 1), NATIVE, **options)

    assert NATIVE == "python" or f"{where} of kernel {name}" in stop.value.__notes__[0]
