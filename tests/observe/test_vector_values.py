"""valuecheck of vectors and halves: infinities and NaN of finite numbers, integers that wrap, remarks or findings."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, int8, int16, int32, int64, kernel, uint32
from mlusim.observe.collect import collecting
from mlusim.observe.valuecheck import ValueCheckVectors

N = 64
CASES = [
    ("add", float32, (3e38, 3e38), "element 0 of its result is inf"),
    ("add", half, (65504, 15), None),
    ("add", half, (65504, 16), "is inf, and all that it reads is finite; the largest half is 65504"),
    ("sub", float32, (np.inf, np.inf), None),
    ("mul", float32, (np.nan, 1), None),
    ("mul", int32, (46341, 46341), "is 2147488281, which does not fit into int; it becomes -2147479015"),
    ("mul", int32, (46340, 46340), None),
    ("add", int16, (32767, 1), "is 32768, which does not fit into short; it becomes -32768"),
    ("sub", int8, (-128, 1), "is -129, which does not fit into"),
    ("add", int64, (2**63 - 1, 1), "is 9223372036854775808, which does not fit into"),
    ("mul", uint32, (2**31, 2), None),
    ("cycle_add", int32, (2**31 - 1, 1), "is 2147483648"),
    ("cycle_mul", float32, (3e38, 2), "is inf"),
    ("fusion", int32, (2**31 - 1, 1), "is 4294967295"),
    ("band", float32, (1.5, 2.0), None),
    ("add_scalar", half, (65504, 60000), "is inf"),
    ("add_scalar", half, (65504, np.inf), None),
    ("neg", int32, (-(2**31), 0), "is 2147483648"),
]


@kernel
def compute(mlu, dst, src, operation, second):
    """Apply *operation* in place to what the host gives."""
    dtype = src.dtype
    a, b = mlu.nram(dtype, N), mlu.nram(dtype, N)
    mlu.memcpy(a, src, N * dtype.size, GDRAM2NRAM)
    mlu.memcpy(b, src + N, N * dtype.size, GDRAM2NRAM)
    call = getattr(mlu, f"bang_{operation}")
    if operation.startswith("cycle"):
        call(a, a, b, N, N)
    elif operation == "fusion":
        call(4, a, a, b, a, N, N)  # FUSION_FAA
    elif operation == "neg":
        call(a, a, N)
    else:
        call(a, a, second if operation.endswith("scalar") else b, N)
    mlu.memcpy(dst, a, N * dtype.size, NRAM2GDRAM)


@pytest.mark.parametrize(("operation", "dtype", "numbers", "said"), CASES)
@pytest.mark.parametrize("strict", [False, True], ids=["note", "finding"])
def test_what_a_vector_does_to_numbers(operation, dtype, numbers, said, strict):
    """It is told once, at its limit exactly, although the result overwrites its source."""
    device = mlusim.Device("MLU590-H8")
    src = device.put(np.repeat(np.asarray(numbers).astype(dtype.dtype), N))
    checker = ValueCheckVectors(notes=not strict, strict=strict)

    device.launch(
        compute, args=(device.put(np.zeros(N, dtype.dtype)), src, operation, numbers[1]), observe=[checker]
    )

    assert [("error" if strict else "note")] * bool(said) == [f.level for f in checker.findings]
    assert all(said in f.message for f in checker.findings)


HALVES = """#include <bang.h>
__mlu_entry__ void K(half *out, float a, float b) {
  half first = a, second = b;
  out[0] = first + second;
}
"""


@pytest.mark.parametrize(
    ("numbers", "count"), [((65504, 15), 0), ((65504, 16), 1), ((np.inf, 1), 0), ((7e4, 0), 1)]
)
@pytest.mark.parametrize("checkers", [["valuecheck"], ["valuecheck", "initcheck"]], ids=["alone", "followed"])
def test_halves_of_scalar_code(numbers, count, checkers, tmp_path):
    """A finite number that becomes an infinity is a remark, an infinity that stays one is not; a plain check says nothing."""
    (tmp_path / "k.mlu").write_text(HALVES)
    device = mlusim.Device("MLU370-X4")
    body, out = bangc.load(tmp_path / "k.mlu")["K"], device.put(np.zeros(1, np.float16))

    with collecting(checkers, notes=True) as noting:
        device.launch(body, args=(out, *numbers))
    with collecting(checkers) as plain:
        device.launch(body, args=(out, *numbers))

    assert ["valuecheck-half-overflow"] * count == [f.id for f in noting.found]
    assert [] == plain.found


def test_the_name_makes_findings_of_remarks():
    """``observe=["values"]`` takes the place of valuecheck."""
    device = mlusim.Device("MLU370-X4")
    src = device.put(np.full(2 * N, 70000, np.int32))

    done = device.launch(compute, args=(device.put(np.zeros(N, np.int32)), src, "mul", 0), observe=["values"])

    assert [("valuecheck-vector-overflow", "error")] == [(f.id, f.level) for f in done.findings]
