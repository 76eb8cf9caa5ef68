"""A processor that has less than x86-64-v3: the same numbers from C that knows no halves."""

import shlex

import numpy as np
from engines import alike

from mlusim import bangc
from mlusim.machine.native.build import CHOICE, available

KERNEL = """
#include <mlu.h>
#define N 4096

__mlu_global__ void portable(half *halves, float *floats, float *wide, half *narrow, half *sum) {
  __nram__ half h[N];
  __nram__ half g[N];
  __nram__ float f[N];
  for (int i = 0; i < 65536; i += N) {
    __memcpy(h, halves + i, sizeof(h), GDRAM2NRAM);
    __memcpy(f, floats + i, sizeof(f), GDRAM2NRAM);
    __bang_float2half_rn(g, f, N);
    __memcpy(narrow + i, g, sizeof(g), NRAM2GDRAM);
    __bang_add(g, g, h, N);
    g[0] = (half)((float)h[1] * f[1]);
    __memcpy(sum + i, g, sizeof(g), NRAM2GDRAM);
    __bang_half2float(f, h, N);
    __memcpy(wide + i, f, sizeof(f), NRAM2GDRAM);
  }
}
"""


def test_a_processor_without_halves(tmp_path, monkeypatch):
    """Every half to float, and floats around every half, with the ties between two, back."""
    command = available()
    if command is not None:  # the C is that for a processor without AVX2 and F16C
        monkeypatch.setenv(CHOICE, shlex.join((*command, "-U__AVX2__", "-U__F16C__")))
    (tmp_path / "k.mlu").write_text(KERNEL)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["portable"]
    halves = np.arange(65536, dtype=np.uint16).view(np.half)
    halves = np.where(np.isnan(halves), np.half(0), halves)
    between = (halves.astype(np.float32) + np.roll(halves, -1).astype(np.float32)) / 2
    beside = np.arange(65536, dtype=np.int32) * 7 % 3 - 1  # the tie, and the floats below and above it
    floats = (between.view(np.int32) + beside).view(np.float32)
    floats = np.where(np.isnan(floats), np.float32(0), floats)
    empty = np.zeros(65536, np.half)

    launch = alike(kernel, (halves, floats, np.zeros(65536, np.float32), empty, empty))

    assert {
        "memcpy": 80,
        "bang_float2half_rn": 16,
        "bang_half2float": 16,
        "bang_add": 16,
    } == launch.instructions
