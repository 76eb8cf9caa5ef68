"""What checkers find in BANG C by the code that is made for checked launches: scalars without a value, const locals.

A scalar without a value is a finding where something depends on it, and names its load or its declaration.
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import Fault
from mlusim.observe.initcheck import InitCheck
from mlusim.observe.memcheck import MemCheck

HEAD = """#include <bang.h>
struct Pair { float w; int k; };
__nram__ float a[64];
__nram__ int n[8];
__nram__ Pair pairs[4];
__nram__ float solo;
__nram__ half h[4];
__mlu_func__ float twice(float v) { return v * 2.0f; }
__mlu_func__ float first(const float *p) {
  return p[0];  // load
}
"""


class Case(NamedTuple):
    """The body of a kernel: ``// load`` marks what loads, ``// use`` what depends on it; none is not a finding."""

    name: str
    body: str
    load: str = "// load"


CASES = (
    Case(
        "Unused",
        "float x = a[0]; float y = x * 2; int k = pairs[1].k; Pair q = pairs[2]; float s = solo; half g = h[1]; out[0] = 1;",
    ),
    Case("ResultUnused", "float s = __bang_sum(a, 64); float m = s / 2.0f; out[0] = 1;"),
    Case("LaneUnused", "float x = a[3]; __bang_write_value(a, 32, x); out[0] = 1;"),
    Case("OnChip", "float x = a[3]; solo = x; pairs[0].w = x; Pair q = pairs[0]; pairs[1] = q; out[0] = 1;"),
    Case(
        "Directions",
        "__bang_write_zero(a, 64); mluMemcpyDirection_t to[1] = {NRAM2GDRAM}; __memcpy(out, a, 32, to[0]);",
    ),
    Case("Numbers", "size_t at = reinterpret_cast<size_t>(out); *reinterpret_cast<float *>(at + 4) = 1;"),
    Case("Stored", "float x = a[0];  // load\n float y = x;\n out[0] = y;  // use\n"),
    Case("TimesZero", "float x = a[0];  // load\n float y = twice(x * 0.0f) + 1;\n out[0] = y;  // use\n"),
    Case("Tested", "float x = first(a);\n if (x > 0.5f) out[0] = 1; else out[0] = 2;  // use\n", "return p[0]"),
    Case("Chosen", "int y = n[0] + 3;  // load\n out[0] = y ? 1.0f : 0.0f;  // use\n"),
    Case("Address", "int k = n[0] & 3;  // load\n a[k] = 1.0f; out[0] = 2;  // use\n"),
    Case("Moved", "int k = n[0] & 3;  // load\n float *p = a + k; p[0] = 1; out[0] = 2;  // use\n"),
    Case(
        "Count",
        "__bang_write_zero(a, 64); int k = n[0] & 3;  // load\n __memcpy(out, a, 4 * k + 4, NRAM2GDRAM);  // use\n",
    ),
    Case("Member", "float w = pairs[1].w;  // load\n out[0] = w;  // use\n"),
    Case("Record", "Pair q = pairs[2];  // load\n Pair r = q;\n out[0] = r.k;  // use\n"),
    Case("Loop", "int m = n[0] & 7;  // load\n for (int i = 0; i < m; ++i) solo = 1; out[0] = 2;  // use\n"),
    Case("Switch", "int m = n[0];  // load\n switch (m & 1) { case 0: out[0] = 1; break; default: out[0] = 2; }  // use\n"),
    Case("Bits", "float v = a[0];  // load\n int b = *(int *)&v;\n out[0] = (float)(b >> 3);  // use\n"),
    Case("Half", "half g = h[1];  // load\n float f = (float)g;\n out[0] = f;  // use\n"),
    Case("Result", "float s = __bang_sum(a, 64);  // load\n float m = fmaxf(s / 2, 1.0f);\n out[0] = m;  // use\n"),
    Case("Given", "float x = out[3];  // load\n float y = x;\n out[0] = y;  // use\n"),
    Case("ThroughMemory", "float x = a[3];\n solo = x;\n float z = solo;  // load\n out[0] = z;  // use\n"),
    Case("Lane", "float x = a[3];\n __bang_write_value(a, 32, x);\n __memcpy(out, a, 128, NRAM2GDRAM);  // use\n", ""),
    Case("Unset", "float s;  // load\n for (int i = 0; i < 4; ++i) s += 1.0f;\n out[0] = s;  // use\n"),
    Case("UnsetMember", "Pair q;  // load\n q.w = 1;\n int k = q.k + 1;\n if (k > 2) out[0] = q.w;  // use\n"),
    Case("UnsetPlace", "int best;  // load\n if (taskDim > 1) best = 0;\n out[best] = 1;  // use\n"),
    Case("UnsetLane", "float s;\n __bang_write_value(a, 32, s);\n __memcpy(out, a, 128, NRAM2GDRAM);  // use\n", ""),
    Case("Set", "float s; Pair q, r; int k, m; s = 1; q.w = s; r = q; if (s > 0) k = 1; else m = 2; out[0] = q.w + k + r.w;"),
    Case("Table", "float t[2] = {1, 2}; double d[2] = {1, 2}; int k = n[0] & 1;  // load\n out[0] = (float)d[k] + t[0];  // use\n"),
)  # fmt: skip


DIVIDED = Case("Divided", "int m = n[0];\n int q = 7 / (m - m);\n out[0] = q;\n")


def _source() -> str:
    return HEAD + "".join(
        f"__mlu_entry__ void {c.name}(float *out) {{\n{c.body}\n}}\n" for c in (*CASES, DIVIDED)
    )


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Any:
    path = tmp_path_factory.mktemp("followed") / "k.mlu"
    path.write_text(_source())
    return bangc.load(path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_depends_on_a_scalar_without_a_value_is_told_with_its_load(kernels, case):
    device = mlusim.Device("MLU370-X4")
    launch = device.launch(kernels[case.name], args=(device.empty(64, np.float32),), observe=["initcheck"])

    lines = _source().splitlines()
    begin = next(n for n, line in enumerate(lines) if f" {case.name}(" in line)
    used = (
        [n + 1 for n in range(begin, len(lines)) if "// use" in lines[n]][:1] if "// use" in case.body else []
    )
    assert used == [f.line for f in launch.findings]
    for finding in launch.findings:
        if case.load:
            at = next(n + 1 for n in range(used[0] - 1, -1, -1) if case.load in lines[n])
            assert at == finding.places[0].line
            assert "depends on" in finding.message


CONST = """#include <bang.h>
__mlu_func__ int third(int n) { const int t[4] = {n, n + 1, n + 2, n + 3}; return t[2]; }
__mlu_entry__ void Array(int *out) { const int t[4] = {1, 2, 3, 4}; int *p = (int *)t;
  p[1] = 7;  // use
  out[0] = t[1]; }
__mlu_entry__ void Number(int *out) { const int limit = 5; int *p = (int *)&limit;
  *p = 7;  // use
  out[0] = limit; }
__mlu_entry__ void Fine(int *out) {
  const int *p = out; const int **q = &p; *q = out + 1; p = out + 2;
  const int limit = 5; const int *at = &limit; int s = *at;
  for (int i = 0; i < 3; ++i) { const float w[2] = {i + 0.5f, 2.0f}; s += third(i) + (int)(w[0] + w[1]); }
  out[0] = s; }
"""


@pytest.mark.parametrize("name", ["Array", "Number", "Fine"])
def test_a_store_to_a_const_local_through_a_cast_ends_a_checked_launch(tmp_path_factory, name):
    path = tmp_path_factory.getbasetemp() / "const.mlu"
    path.write_text(CONST)
    device, checker = mlusim.Device("MLU370-X4"), MemCheck()
    given, line = device.empty(4, np.int32), 1 + CONST.splitlines().index("  p[1] = 7;  // use")

    with nullcontext() if name == "Fine" else pytest.raises(Fault):
        device.launch(bangc.load(path)[name], args=(given,), observe=[checker, "valuecheck"])

    where = {"Array": line, "Number": line + 3}
    assert [("memcheck-read-only", where.get(name))] * (name != "Fine") == [
        (f.id, f.line) for f in checker.findings
    ]
    if name == "Fine":
        assert 23 == device.get(given)[0]


def test_a_fault_that_a_scalar_without_a_value_leads_to_is_told_with_it(kernels):
    device, checker = mlusim.Device("MLU370-X4"), InitCheck()

    with pytest.raises(Fault, match="by zero"):
        device.launch(kernels["Divided"], args=(device.empty(64, np.float32),), observe=[checker])

    assert ["a division depends"] == [f.message[:18] for f in checker.findings]
