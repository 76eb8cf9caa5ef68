"""The harness for a checkout of the vendor's library, run on one of a single operator that is written here."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.vendor.__main__ import main
from benchmarks.vendor.operators import REFERENCES
from tests.frontend.mluop_header import HEADER

DECLARED = """\
mluOpStatus_t MLUOP_WIN_API mluOpTwice(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void *x,
                                       const mluOpTensorDescriptor_t y_desc, void *y);
mluOpStatus_t MLUOP_WIN_API mluOpSetTwiceDescriptor(mluOpHandle_t handle);
mluOpStatus_t MLUOP_WIN_API mluOpElsewhere(mluOpHandle_t handle);
"""
HOST = """\
#include "core/context.h"
#include "core/tensor.h"
#include "core/type.h"
__mlu_global__ void Twice(const float *x, float *y, int n);
mluOpStatus_t MLUOP_WIN_API mluOpSetTwiceDescriptor(mluOpHandle_t handle) { return MLUOP_STATUS_SUCCESS; }
mluOpStatus_t MLUOP_WIN_API mluOpTwice(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void *x,
                                       const mluOpTensorDescriptor_t y_desc, void *y) {
  PARAM_CHECK("[mluOpTwice]", x_desc->getDtype() == MLUOP_DTYPE_FLOAT);
  cnrtDim3_t dim = {4, 1, 1};
  Twice<<<dim, cnrtFuncTypeUnion1, handle->queue>>>((const float *)x, (float *)y, x_desc->getTotalElementNum() / 4);
  return MLUOP_STATUS_SUCCESS;
}
"""
KERNEL = """\
#include <mlu.h>
__nram__ float part[64];
__mlu_global__ void Twice(const float *x, float *y, int n) {
  if (__is_mpu()) return;
  __memcpy_async(part, x + taskId * n, n * sizeof(float), GDRAM2NRAM);
  SYNC
  __bang_add(part, part, part, n);
  __memcpy(y + taskId * n, part, n * sizeof(float), NRAM2GDRAM);
}
"""
CASE = """\
op_name: "twice"
input { id: "x" shape { dims: 4 dims: 8 } dtype: DTYPE_FLOAT random_data { lower_bound: -1 upper_bound: 1 } }
output { id: "y" shape { dims: 4 dims: 8 } dtype: DTYPE_FLOAT }
"""


@pytest.mark.parametrize(
    ("sync", "code", "row"),
    [
        ("__sync();", 0, "| kernels/twice/twice.mlu | yes | yes | right | 1 | 0 |  |"),
        ("", 1, "| racecheck-read-after-write 1 |"),
    ],
)
def test_a_checkout_gives_its_table(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    sync: str,
    code: int,
    row: str,
) -> None:
    """Files, host files, cases, findings and entry points are counted; a wrong result is said and is the exit code."""
    case = tmp_path / "test/mlu_op_gtest/pb_gtest/src/zoo/twice/test_case/case_0.prototxt"
    for path, text in (
        ("mlu_op.h", f"{HEADER}#define MLUOP_WIN_API\n{DECLARED}"),
        ("kernels/twice/twice.cpp", HOST),
        ("kernels/twice/twice.mlu", KERNEL.replace("SYNC", sync)),
        (str(case.relative_to(tmp_path)), CASE),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setitem(REFERENCES, "mluOpTwice", (lambda given: {"y": 2 * given["x"]}, 0.0))
    kept, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text("before\n<!-- begin: python -m benchmarks.vendor --page -->\nold\n<!-- end -->\nafter\n")
    monkeypatch.setattr(
        sys,
        "argv",
        ["vendor", str(tmp_path), "--only", "twice", "--results", str(kept), "--page", str(page)],
    )

    found = main()

    table = capsys.readouterr().out
    assert (found, row in table) == (code, True), table
    assert ("| yes | yes | wrong | 1 |" in table) is bool(code)
    assert "1 of 1 host files parse." in table
    assert "declares 3 functions, of which 2 are defined below `kernels`; 1 of them" in table
    assert "Of the 1 entry points that do work 1 reached a launch" in table
    assert (
        "Of the 1 calls in this table that launch kernels 1 were made a second time under all checkers."
        in table
    )
    assert "0 straight runs and 1 calls were made by the Python engine, and again" in table
    assert "1 of 1 are the same in the bytes of all tensors" in table
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")
    assert table in page.read_text()
    assert json.loads(kept.read_text())["calls"]["mluOpTwice: twice/case_0"]["right"] is (code == 0)
