"""What kernels of the public library rely on where the manual is silent, by both engines."""

import numpy as np
import pytest
from engines import alike

import mlusim
from mlusim import bangc
from mlusim.bangc.errors import SourceError
from mlusim.errors import MemoryFault, RuleFault

SOURCE = """\
#include "mlu.h"
#define BASE 5
__nram__ int32_t mask[64] = {0, static_cast<int32_t>(0xffffffff)};
__nram__ half halves[4] = {(half)-1.5f, (half)0.25};
__nram__ int32_t pairs[2][2] = {{BASE, sizeof(float)}, {~0}};
__nram__ float third = 1.0f / 3.0f;
__ldram__ int16_t far[3] = {-BASE, 'a', BASE << 3};
__nram__ float a[64], b[64], c[64], row[320];
__nram__ uint32_t index[8];
__mlu_shared__ float s[64];

__mlu_func__ void tables(float *out) {
  for (int i = 0; i < 3; i++) out[i] = mask[i];
  out[3] = halves[0] * 100 + halves[1] * 4 + halves[2];
  for (int i = 0; i < 4; i++) out[4 + i] = pairs[i / 2][i % 2];
  out[8] = third;
  for (int i = 0; i < 3; i++) out[9 + i] = far[i];
  mask[0] = pairs[0][0] = far[0] = 77;
}
__mlu_func__ void kept(float *out, int n) {
  for (int i = 0; i < n; i++) {
    int step;
    if (i % 3 == 0) step = i + 1;
    out[i] = step;
  }
}
__mlu_func__ void beside(float *out, int use) {
  float *two[2] = {a, a + 32};
  __bang_write_value(a, 64, 2.0f);
  float sum = 0;
  for (int i = 0; i < 3; i++) {
    float *before = two[(i - 1) % 2];
    if (i > 0) sum += before[1];
  }
  float *p = two[use] + 1;
  if (use < 0) sum += *p;
  if (use > 1) *p = sum;
  out[0] = sum;
}
__mlu_func__ void inside(float *out) {
  __bang_write_value(a, 64, 2.0f);
  __memcpy_async(b, a, 256, NRAM2NRAM);
  __bang_write_value(a, 64, 3.0f);
  __memcpy_async(a, a + 32, 4, NRAM2NRAM, 4, 1, 8, 1, 4, 1, 8, 1);
  __bang_add(c, a, b, 64);
  __sync_move();
  __memcpy(out, c, 48, NRAM2GDRAM);
}
__mlu_func__ void pooled(float *out, int row, int wide) {
  for (int i = 0; i < 16; i++) a[i] = i;
  __bang_sumpool(a + 4 * row, a, 4, 1, 4, 1, wide, wide, 1);
  __memcpy(out, a + 4, 48, NRAM2GDRAM);
}
__mlu_func__ void looked_up(float *out, uint32_t last) {
  for (int i = 0; i < 8; i++) index[i] = i % 2;
  __bang_lut((int32_t *)index, index, mask, 8, 64);
  if (last) index[5] = last;
  __bang_lut((int32_t *)index, index, mask, 8, 64);
  for (int i = 0; i < 8; i++) out[i] = (int32_t)index[i];
}
__mlu_func__ void scanned(float *out, int n, int back) {
  __bang_write_value(row, 320, 1.0f);
  if (back) {
    for (int o = 1; o < n; o *= 2) __bang_add(row, row, row + o, n - o);
    __memcpy(out, row, 48, NRAM2GDRAM);
    return;
  }
  for (int o = 1; o < n; o *= 2) __bang_add(row + o, row + o, row, n - o);
  __memcpy(out, row + n - 12, 48, NRAM2GDRAM);
}
__mlu_func__ void moved(float *out, int way, int by) {
  for (int i = 0; i < 320; i++) row[i] = i;
  if (way == 0) __memcpy(row + 64 + by, row + 64, 256, NRAM2NRAM);
  if (way == 1) __memcpy_async(row + 64 + by, row + 64, 256, NRAM2NRAM);
  if (way == 2) __memcpy(row, row + by, 16, NRAM2NRAM, 16, 32, 7);
  if (way == 3) __memcpy_async(row + by, row, 16, NRAM2NRAM, 32, 16, 7);
  if (way == 4) __memcpy(out + by, out, 16, GDRAM2GDRAM);
  __sync();
  __memcpy(out, row, 48, NRAM2GDRAM);
  if (way == 5) __memcpy(out, out + by, 24, GDRAM2GDRAM);
  if (way == 6) __memcpy_async(out, out + by, 24, GDRAM2GDRAM);
  __sync();
}
__mlu_global__ void K(float *out, int what, int x, int y) {
  out += 12 * taskId;
  if (what == 0) tables(out);
  if (what == 1) kept(out, x);
  if (what == 2) beside(out, x);
  if (what == 3) inside(out);
  if (what == 4) pooled(out, x, y);
  if (what == 5) looked_up(out, x);
  if (what == 6) scanned(out, x, y);
  if (what == 7) moved(out, x, y);
}
__mlu_global__ void Behind(float *out) {
  if (__is_mpu()) return;
  __bang_write_value(a, 64, 2.0f);
  __bang_write_value(b, 64, 7.0f);
  __memcpy(s + 16 * coreId, a, 64, NRAM2SRAM);
  __sync_all_ipu();
  __memcpy_async(a, s, 256, SRAM2NRAM);
  __memcpy_async(b, a, 256, NRAM2NRAM);
  __bang_add_scalar(c, b, 1.0f, 64);
  __sync_move();
  if (taskId == 0) __memcpy(out, c, 48, NRAM2GDRAM);
}
"""
TABLES, KEPT, BESIDE, INSIDE, POOLED, LOOKED_UP, SCANNED, MOVED = range(8)
BEGUN = [0, -1, 0, -149, 5, 4, -1, 0, np.float32(1 / 3), -5, 97, 40]


@pytest.fixture(name="module", scope="module")
def load_all(tmp_path_factory):
    """The kernels above."""
    path = tmp_path_factory.mktemp("reliances") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path, board="MLU370-X4")


def both(module, name, *arguments, tasks=1, **options):
    """What both engines do alike, and what they leave of twelve zeros a task."""
    out = np.zeros((tasks, 12), np.float32)
    options = {"dim": (tasks, 1, 1)} | options
    outcome = alike(module[name], (out, *arguments), **options)
    device = mlusim.Device("MLU370-X4")
    tensor = device.put(out)
    if not isinstance(outcome, Exception):
        device.launch(module[name], args=(tensor, *arguments), **options)
    return outcome, device.get(tensor).tolist()


def test_memory_at_file_scope_begins_with_its_values(module):
    """In each task again, also where a core runs several."""
    _, found = both(module, "K", TABLES, 0, 0, tasks=40)

    assert [BEGUN] * 40 == found


@pytest.mark.parametrize(
    ("declaration", "why"),
    [
        (
            "__mlu_shared__ int a[2] = {1}",
            "a variable that cores share cannot have an initial value; assign it in the kernel",
        ),
        (
            "struct P { int x; }; __nram__ P a[2] = {{1}}",
            "a structure in memory of a core cannot have an initial value",
        ),
        ("int n = 3; __nram__ int a[2] = {n}", "a is in device memory; give it constants as initial values"),
    ],
)
def test_what_device_memory_cannot_begin_with_is_said(load, declaration, why):
    """The kernel that uses it does not translate."""
    module = load(f"{declaration};\n__mlu_global__ void K(int *out) {{ out[0] = *(int *)a; }}\n")

    with pytest.raises(SourceError, match=why):
        module["K"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((KEPT, 7, 0), [1, 1, 1, 4, 4, 4, 7]),  # a local without a value keeps that of the last turn
        ((BESIDE, 0, 0), [4]),  # element -1 of an array of pointers is read and not used
        ((INSIDE, 0, 0), [5] * 12),  # an asynchronous copy inside NRAM is in order with vectors
        ((POOLED, 3, 4), [4, 5, 6, 7, 8, 9, 10, 11, 24, 28, 32, 36]),  # one window onto a pixel of it
        ((SCANNED, 320, 1), list(range(320, 308, -1))),  # a longer row in front of its source
        ((SCANNED, 256, 0), list(range(245, 257))),  # rows of up to 1 KiB are read before they are written
        ((MOVED, 0, 0), list(range(12))),  # a copy to where its source is
        ((MOVED, 2, 2), [2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21]),  # rows are packed in place
        *(
            ((MOVED, way, 3), [3, 4, 5, 6, 7, 8, 6, 7, 8, 9, 10, 11])  # a piece moves towards the front
            for way in (5, 6)
        ),
        ((MOVED, 1, -60), [0, 1, 2, 3, *range(64, 72)]),
        ((LOOKED_UP, 0, 0), [0, -1] * 4),  # all ones stay what they are in a table of masks
    ],
)
def test_what_vendor_kernels_rely_on_is_right(module, arguments, expected):
    """Each by both engines."""
    _, found = both(module, "K", *arguments)

    assert expected == found[0][: len(expected)]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((BESIDE, -1, 0), MemoryFault, "a load through a pointer that was read beside an array of pointers"),
        ((BESIDE, 7, 0), MemoryFault, "a store through a pointer that was read beside an array of pointers"),
        ((POOLED, 2, 2), RuleFault, "dst lies in src, and is more than one window"),
        ((POOLED, 1, 2), RuleFault, "dst overlaps src by 32 bytes; legal: dst exactly at src or at a piece"),
        (
            (SCANNED, 258, 0),
            RuleFault,
            "dst overlaps src1 by 1024 bytes; legal: .* no longer than 1024 bytes",
        ),
        (
            (MOVED, 0, 1),
            RuleFault,
            "dst overlaps src by 252 bytes, which are written before they are read; legal: dst in front of src",
        ),
        ((MOVED, 1, 63), RuleFault, "dst overlaps src by 4 bytes, which are written before they are read"),
        ((MOVED, 3, 1), RuleFault, "dst overlaps src by 64 bytes, which are written before they are read"),
        ((MOVED, 4, 3), RuleFault, "dst overlaps src by 4 bytes"),
        ((LOOKED_UP, 64, 0), RuleFault, r"src\[5\] = 64 is not an index into a table of 64"),
    ],
)
def test_what_they_do_not_rely_on_is_a_fault(module, arguments, error, text):
    """The same one by both engines."""
    fault, _ = both(module, "K", *arguments)

    with pytest.raises(error, match=text):
        raise fault


@pytest.mark.parametrize(
    ("name", "arguments", "options", "value", "races"),
    [("K", (INSIDE, 0, 0), {}, 5, 4), ("Behind", (), {"dim": (4, 1, 1), "kind": mlusim.UNION1}, 8, 1)],
)
def test_racecheck_misses_the_sync_for_copies_inside_nram(module, name, arguments, options, value, races):
    """The values are right; behind another copy of the pipe both wait."""
    _, found = both(module, name, *arguments, **options)

    device = mlusim.Device("MLU370-X4")
    launch = device.launch(
        module[name], args=(device.empty(12, np.float32), *arguments), observe=["racecheck"], **options
    )

    assert [value] * 12 == found[0]
    assert races == len(launch.findings)
