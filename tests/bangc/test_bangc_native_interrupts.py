"""Ctrl-C in native code: wherever the cores are, the launch ends and says where."""

import contextlib
import gc
import signal
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from engines import NATIVE, run

import mlusim
from mlusim import bangc

ENDLESS = """\
__nram__ float buf[64];
__mlu_global__ void loop(int *out, int n) {
  if (!__is_mpu()) while (n) { n = n * 3 | 1; }
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
  if (!__is_mpu()) while (n) { __bang_add(buf, buf, buf, 64); }
}
__mlu_func__ int tree(int n) { return n > 0 ? tree(n - 1) + tree(n - 1) : n; }
__mlu_global__ void calls(int *out, int n) {
  if (!__is_mpu()) out[0] = tree(n * 200);
}
#define OVER(N, BELOW) __mlu_func__ int N(int n) { return BELOW(n) + BELOW(n ^ 1) + BELOW(n ^ 2) + BELOW(n ^ 3); }
__mlu_func__ int t0(int n) { return n ? n * 3 + 1 : 0; }
OVER(t1, t0) OVER(t2, t1) OVER(t3, t2) OVER(t4, t3) OVER(t5, t4) OVER(t6, t5) OVER(t7, t6) OVER(t8, t7)
OVER(t9, t8) OVER(t10, t9) OVER(t11, t10) OVER(t12, t11) OVER(t13, t12) OVER(t14, t13) OVER(t15, t14) OVER(t16, t15)
OVER(t17, t16) OVER(t18, t17) OVER(t19, t18) OVER(t20, t19) OVER(t21, t20) OVER(t22, t21) OVER(t23, t22) OVER(t24, t23)
__mlu_global__ void tower(int *out, int n) {
  if (n && !__is_mpu()) out[0] = t24(n);
}
__mlu_global__ void copies(int *out, int n) {
  for (int i = 1; n; i++) { out[0] = i; __memcpy(out + (4 << 20), out + 1, 4 * (3 << 20), GDRAM2GDRAM); }
}
"""
BUSY = """\
__nram__ float buf[64];
__mlu_shared__ float shared[64];
__mlu_global__ void busy(int *out, int n) {
  for (int i = 0; i < n; i++) {
    if (!__is_mpu()) {
      __memcpy_async(buf, out, 64, GDRAM2NRAM);
      __sync_io();
      __bang_atomic_add((int *)buf, out, 1, 1);
      __bang_lock(0, 0); __bang_unlock(0, 0);
      __bang_printf("%d\\n", out[0]);
      __memcpy(shared, buf, 256, NRAM2SRAM);
    }
    for (int k = 0; k < 4; k++) { __sync_cluster(); }
  }
}
"""


@pytest.fixture
def interrupt_soon():
    """Starts the time, of this process's own CPU, after which it is interrupted as by Ctrl-C."""
    before, callbacks = signal.signal(signal.SIGPROF, signal.default_int_handler), [*gc.callbacks]
    gc.callbacks.clear()  # an interrupt that comes while Python collects would be lost in one, as Hypothesis has
    yield lambda: signal.setitimer(signal.ITIMER_PROF, 0.2)
    gc.callbacks.extend(callbacks)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("loop", "k.mlu:3 in task 0"),
        ("barrier", "k.mlu:6 in task 1"),
        ("memory", "k.mlu:10 in memory core of cluster 0"),
        ("rows", "k.mlu:14 in task 0"),
        ("calls", "k.mlu:16 in task 0"),
        ("tower", "in task 0"),
    ],
)
def test_an_interrupt_tells_the_line_of_the_kernel(tmp_path, interrupt_soon, name, where):
    """Ctrl-C ends loops and trees of calls, while others wait at a barrier too, with the line, the task and the kernel."""
    (tmp_path / "k.mlu").write_text(ENDLESS)
    kernel, data = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name], np.zeros(4, np.int32)
    options = {"dim": (4, 1, 1), "kind": mlusim.UNION1}
    run(kernel, (data, 0), NATIVE, **options)  # compiled
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt) as stop:
        run(kernel, (data, 1), NATIVE, **options)

    assert NATIVE == "python" or f"{where} of kernel {name}" in stop.value.__notes__[0]


def test_long_instructions_are_interrupted_after_few(tmp_path, interrupt_soon):
    """A loop of copies looks after signals sooner than one of scalars, whose turns take a nanosecond."""
    (tmp_path / "k.mlu").write_text(ENDLESS)
    device = mlusim.Device("MLU370-X4")
    kernel, tensor = (
        bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["copies"],
        device.empty(8 << 20, np.int32),
    )
    device.launch(kernel, args=(tensor, 0), engine=NATIVE)  # compiled
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        device.launch(kernel, args=(tensor, 1), engine=NATIVE)

    assert 0 < device.get(tensor)[0] < 2048


@contextmanager
def heard(called):
    """Calls *called* with the code of each function in Python that is called meanwhile, as it begins."""

    def hear(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename not in (__file__, contextlib.__file__):
            called(frame.f_code)

    sys.setprofile(hear)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("engine", "watching", "own"),
    [
        (NATIVE, (), {"Preparations.end", "NativeCore._from_c"}),  # a later launch, which was prepared
        (NATIVE, ("memcheck",), {"Scheduler.run"}),
        ("python", (), {"Scheduler.run", "Log.note"}),
    ],
)
def test_no_interrupt_is_lost_in_any_function_that_a_launch_calls(tmp_path, engine, watching, own):
    """Whichever function in Python an interrupt comes in, called from C or not, the launch ends with it."""
    (tmp_path / "k.mlu").write_text(BUSY)
    kernel, data = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["busy"], np.zeros(64, np.int32)
    device, options = mlusim.Device("MLU370-X4"), {"dim": (4, 1, 1), "kind": mlusim.UNION1, "engine": engine}
    options["observe"] = watching
    arguments, codes, lost = (device.put(data), 4), {}, []
    collects = gc.isenabled()
    gc.disable()  # what it would call is not the launch's: an interrupt is lost in its callbacks
    try:
        device.launch(kernel, args=arguments, **options)  # compiled, and whatever is done once
        with heard(codes.setdefault):
            device.launch(kernel, args=arguments, **options)
        for code in codes:
            stopped = []

            def interrupt(called, code=code, stopped=stopped):
                if called is code and not stopped:
                    stopped.append(code.co_qualname)
                    raise KeyboardInterrupt

            try:
                with heard(interrupt):
                    device.launch(kernel, args=arguments, **options)
                lost += stopped
            except KeyboardInterrupt:
                pass
    finally:
        if collects:
            gc.enable()

    assert own <= {code.co_qualname for code in codes}
    assert lost == []
