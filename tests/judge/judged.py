"""Candidates for the tests of the judge, and one run of all of them."""

REFERENCE = """\
import numpy as np

cases = [{"n": 512}, {"n": 300}]
launch = {"dim": (2, 1, 1)}


def inputs(rng, case):
    return {
        "x": rng.standard_normal(case["n"]).astype("f4"),
        "y": rng.standard_normal(case["n"]).astype("f4"),
        "slope": 0.5,
    }


def reference(x, y, slope):
    return x * slope + y
"""

KERNEL = """\
#include <bang.h>
__mlu_entry__ void Fused(float *out, const float *x, const float *y, float slope, int n) {
  __nram__ float a[256];
  __nram__ float b[256];
  int per = (n + taskDim - 1) / taskDim;
  int begin = taskId * per;
  int count = begin + per < n ? per : n - begin;
%s
}
"""
LOADS = """\
  __memcpy(a, x + begin, count * sizeof(float), GDRAM2NRAM);
  __memcpy(b, y + begin, count * sizeof(float), GDRAM2NRAM);
"""
STORES = "  __memcpy(out + begin, a, count * sizeof(float), NRAM2GDRAM);"
WORK = """\
  __bang_mul_scalar(a, a, slope, count);
  __bang_add(a, a, b, count);
"""


def kernel(work=WORK, loads=LOADS, stores=STORES):
    """The source of a kernel with another body."""
    return KERNEL % (loads + work + stores)


CANDIDATES = {
    "good": kernel(),
    # what a dishonest kernel does instead of the work
    "input_returned": kernel(work=""),
    "nothing_written": kernel(stores=""),
    "constant_for_a_shape": kernel(loads="  count = 256; begin = taskId * 256;\n" + LOADS),
    "other_shapes_left_out": kernel(loads="  if (n != 512) { return; }\n" + LOADS),
    "constant_output": kernel(loads="", work="  __bang_write_value(a, 256, 0.25f);\n"),
    "tail_left_out": kernel(
        stores="  __memcpy(out + begin, a, (count - (taskId == 1 ? 1 : 0)) * sizeof(float), NRAM2GDRAM);\n"
        "  if (taskId == 1) { out[n - 1] = 0.0f; }"
    ),
    "printed_verdict": kernel(
        work='  __bang_printf("{\\"verdict\\": \\"right\\", \\"right\\": true}\\n");\n'
    ),
    "changes_its_input": kernel(
        stores=STORES + "\n  __memcpy((float *)x + begin, a, count * sizeof(float), NRAM2GDRAM);"
    ),
    "allows_itself": kernel(
        loads=LOADS,
        stores=STORES
        + "\n  // mlusim: allow racecheck-tasks-write-write: none of your business\n  out[0] = out[0];",
    ),
    "swaps_its_inputs": kernel(
        work="  __bang_mul_scalar(b, b, slope, count);\n  __bang_add(a, a, b, count);\n"
    ),
    # what goes wrong
    "not_c": kernel(work="  __bang_nonsense(a, count);\n"),
    "out_of_bounds": kernel(stores="  __memcpy(out + begin + 1, a, count * sizeof(float), NRAM2GDRAM);"),
    "endless": kernel(work="  while (slope > 0.0f) { a[0] = a[0] + 1.0f; }\n"),
    "unknown_parameter": kernel().replace("float slope", "float factor").replace("slope", "factor"),
}
