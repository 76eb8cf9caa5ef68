"""What the vendor's kernels rely on, by both engines: memory cores without a guard, waits for copies inside NRAM."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc

N = 64
SOURCE = r"""
#include "mlu.h"
#define N 64
__nram__ float own[N];
__nram__ float moved[N];
__mlu_shared__ float shared[N];
__mlu_global__ void unguarded(float *out, const float *in) {
  __memcpy_async(shared, in, N * sizeof(float), GDRAM2SRAM);
  __sync_cluster();
  __memcpy(own, shared, N * sizeof(float), SRAM2NRAM);
  __bang_add_scalar(own, own, 1, N);
  if (coreId == 0) __memcpy(out, own, N * sizeof(float), NRAM2GDRAM);
}
__mlu_global__ void inside(float *out, const float *in) {
  __memcpy(own, in, N * sizeof(float), GDRAM2NRAM);
  __memcpy_async(moved, own, N * sizeof(float), NRAM2NRAM);
  __sync_compute();
  __bang_add_scalar(moved, moved, 1, N);
  __memcpy(out, moved, N * sizeof(float), NRAM2GDRAM);
}
__mlu_global__ void registers(float *out, const float *in) {
  int turns = (N + 1) % (__vv_get_length() / sizeof(float)) > 0;
  if (coreId == 0) for (int turn = 0; turn < turns; ++turn) __memcpy(out, in, N * sizeof(float), GDRAM2GDRAM);
}
"""


@pytest.fixture(name="module", scope="module")
def load(tmp_path_factory):
    """The kernels above."""
    path = tmp_path_factory.mktemp("unguarded") / "unguarded.mlu"
    path.write_text(SOURCE)
    return bangc.load(path, board="MLU590-H8")


def launched(module, name, engine, **options):
    """What a kernel makes of 0, 1, 2, ..., and its launch."""
    device = mlusim.Device("MLU590-H8")
    out = device.empty(N, np.float32)
    given = (out, device.put(np.arange(N, dtype=np.float32)))
    launch = device.launch(module[name], args=given, engine=engine, **options)
    return device.get(out).tolist(), launch


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_an_unguarded_kernel_is_right_and_copies_once(module, engine):
    """Five cores run everything; the memory core stages, the IPU cores compute."""
    found, launch = launched(module, "unguarded", engine, dim=(4, 1, 1), kind=mlusim.UNION1)

    assert list(range(1, N + 1)) == found
    assert 4 * N == launch.traffic["GDRAM2SRAM"]
    assert 4 == launch.instructions["__bang_add_scalar"]


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_a_copy_inside_nram_has_landed_behind_a_wait_for_computing(module, engine):
    """With late effects, as they are by default."""
    found, _ = launched(module, "inside", engine)

    assert list(range(1, N + 1)) == found


def test_both_engines_predict_the_same(module):
    """The wait takes its time in both."""
    times = {launched(module, "inside", engine)[1].time_us for engine in ("python", "auto")}

    assert 1 == len(times)


def test_a_memory_core_knows_how_long_registers_are(module):
    """It divides by the length as the other cores do; the copy is made by core 0 alone."""
    found, launch = launched(module, "registers", "auto", dim=(4, 1, 1), kind=mlusim.UNION1)

    assert list(range(N)) == found
    assert 4 * N == launch.traffic["GDRAM2GDRAM"]


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_a_copy_that_had_no_effect_is_named_where_its_bytes_are_missing(tmp_path, engine):
    """Between GDRAM and SRAM an IPU core of a union copies nothing: what reads the SRAM is told so."""
    path = tmp_path / "dropped.mlu"
    path.write_text(
        "#include <bang.h>\n__mlu_shared__ float sh[64];\n__nram__ float a[64];\n"
        "__mlu_global__ void K(float *out, const float *x) {\n"
        "  if (__is_ipu() && coreId == 0) __memcpy(sh, x, 256, GDRAM2SRAM);\n  __sync_cluster();\n"
        "  if (__is_ipu() && coreId == 1) { __memcpy(a, sh, 256, SRAM2NRAM); __memcpy(out, a, 256, NRAM2GDRAM); }\n}\n"
    )
    device = mlusim.Device("MLU370-X4")
    out, x = device.put(np.zeros(64, np.float32)), device.put(np.ones(64, np.float32))
    launch = device.launch(
        bangc.load(path, board="MLU370-X4")["K"],
        (4, 1, 1),
        mlusim.UNION1,
        (out, x),
        observe="initcheck",
        engine=engine,
    )
    (finding,) = launch.observers[0].findings

    assert finding.id == "initcheck-undefined-stored"
    assert "from GDRAM, that has no effect on an IPU core of a union" in finding.hint
