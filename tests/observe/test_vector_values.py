"""valuecheck of vectors and halves: infinities and NaN of finite numbers, integers that wrap, remarks or findings."""

import itertools
import json
import shlex

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, int8, int16, int32, int64, kernel, uint32
from mlusim.cli.main import main
from mlusim.machine.native.build import CHOICE, available
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


CONVERTED = [
    ("float2int32", float32, int32, 0, -(2.0**31), None),
    ("float2int32", float32, int32, 0, 2.0**31, "is 2147483648, which does not fit into int; it becomes 2147483647 here"),
    ("float2int32_rn", float32, int32, 0, np.nan, "is nan, which does not fit into int; it becomes 0 here"),
    ("half2int32_rd", half, int32, 0, 65504, None),
    ("half2int32_rd", half, int32, 0, -np.inf, "is -inf, which does not fit into int; it becomes -2147483648 here"),
    ("half2int16_rm", half, int16, 0, 32768, "is 32768, which does not fit into short; it becomes 32767 here"),
    ("float2int16_rd", float32, int16, 2, 131000, None),
    ("float2int16_rd", float32, int16, 2, 131070, "is 32768, which"),
    ("float2int8_tz", float32, int8, 0, 127.9, None),
    ("float2int8_oz", float32, int8, 0, 127.1, "is 128, which does not fit into signed char; it becomes 127 here"),
    ("float2int8_rm", float32, int8, 0, -np.inf, "is -inf, which"),
    ("half2int8_dn", half, int8, 0, -128.5, "is -129, which"),
    ("float2uint32_rn", float32, uint32, 0, 2.0**31, None),
    ("float2uint32_up", float32, uint32, 0, -0.5, None),
    ("float2uint32_dn", float32, uint32, 0, -0.5, "is -1, which"),
]  # fmt: skip


@kernel
def convert(mlu, src, name, target, pos):
    """Convert in place what the host gives."""
    a = mlu.nram(src.dtype, N)
    mlu.memcpy(a, src, N * src.dtype.size, GDRAM2NRAM)
    getattr(mlu, f"bang_{name}")(
        a.cast(target) if target.size == src.dtype.size else mlu.nram(target, N), a, N, pos
    )


@pytest.mark.parametrize(("name", "source", "target", "pos", "number", "said"), CONVERTED)
def test_a_float_that_its_integer_does_not_hold(name, source, target, pos, number, said):
    """It is told as it is rounded, at the limit exactly, and NaN of every type."""
    device = mlusim.Device("MLU370-X4")
    numbers = np.ones(N, source.dtype)
    numbers[[9, 40]] = number
    done = device.launch(convert, args=(device.put(numbers), name, target, pos), observe=["values"])

    start = f"__bang_{name}: element 9 of its result {said}"

    assert ["valuecheck-vector-overflow"] * bool(said) == [f.id for f in done.findings]
    assert all(f.message.startswith(start) for f in done.findings)


FLOATS = """#include <bang.h>
__mlu_entry__ void K(float *out, float a, float b, double d) {
  out[0] = a * b;
  out[1] = a / b + b;
  out[2] = (float)d;
  out[3] = expf(a);
}
"""
MOST = float(np.finfo(np.float32).max)
BEYOND = "{} is beyond 3.40282e+38, the largest float, and becomes inf"


SAID = {
    (88.0, 1.0, MOST): [],
    (100.0, 1.0, 0.0): [(6, BEYOND.format("2.68812e+43"))],
    (-MOST, -2.0, 1e39): [(3, BEYOND.format("6.80565e+38")), (5, BEYOND.format("1e+39"))],
    (1.0, 0.0, 0.0): [(4, "a quotient of finite numbers is inf")],
    (0.0, 0.0, 0.0): [(4, "a quotient of finite numbers is nan")],
    (-MOST, -0.1, 0.0): [(4, BEYOND.format("3.40282e+39"))],
    (np.inf, 0.0, np.inf): [],
    (-MOST, -1.0, -MOST): [],
}


@pytest.mark.skipif(available() is None, reason="there is no compiler")
def test_floats_of_scalar_code(tmp_path):
    """The same is told on both engines: of numbers at the limit, one past, of quotients, and nothing of infinities that were there."""
    (tmp_path / "k.mlu").write_text(FLOATS)
    body, device = bangc.load(tmp_path / "k.mlu")["K"], mlusim.Device("MLU370-X4")
    found = device.put(np.zeros(4, np.float32))

    for (numbers, said), engine in itertools.product(SAID.items(), ("python", "native")):
        for checkers in (["values"], ["values", "initcheck"]):
            done = device.launch(body, args=(found, *numbers), observe=checkers, engine=engine)

            assert said == [(f.line, f.message) for f in done.findings]
    device.launch(body, args=(found, 0.0, 1.0, -0.0), observe=["values"], engine="native")
    assert np.signbit(device.get(found)[2])


@pytest.mark.skipif(available() is None, reason="there is no compiler")
def test_a_long_sum_is_checked_in_c(tmp_path, monkeypatch):
    """Tests of numbers in numbers do not grow with the square of their depth, or worse."""
    terms = " + ".join(f"(a * {n}) + (int)(f * {n}.5f)" for n in range(10))
    monkeypatch.setenv(CHOICE, shlex.join((*available(), "-O0")))
    (tmp_path / "k.mlu").write_text(
        f"__mlu_entry__ void K(int *out, int a, float f) {{ out[0] = {terms}; }}\n"
    )
    body, device = bangc.load(tmp_path / "k.mlu")["K"], mlusim.Device("MLU370-X4")

    assert (
        "native"
        == device.launch(
            body, args=(device.put(np.zeros(1, np.int32)), 3, 2.0), observe=["values"], engine="native"
        ).engine
    )


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
    """A finite number that becomes an infinity is a remark, an infinity that stays one is not; who does not look hears nothing."""
    (tmp_path / "k.mlu").write_text(HALVES)
    device = mlusim.Device("MLU370-X4")
    body, out = bangc.load(tmp_path / "k.mlu")["K"], device.put(np.zeros(1, np.float16))

    with collecting(checkers, vectors=True) as noting:
        device.launch(body, args=(out, *numbers))
    with collecting(checkers) as plain:
        device.launch(body, args=(out, *numbers))

    assert [("valuecheck-half-overflow", "note")] * count == [(f.id, f.level) for f in noting.found]
    assert [] == plain.found


def test_the_name_makes_findings_of_remarks():
    """``observe=["values"]`` takes the place of valuecheck."""
    device = mlusim.Device("MLU370-X4")
    src = device.put(np.full(2 * N, 70000, np.int32))

    done = device.launch(compute, args=(device.put(np.zeros(N, np.int32)), src, "mul", 0), observe=["values"])

    assert [("valuecheck-vector-overflow", "error")] == [(f.id, f.level) for f in done.findings]


EVERY = """#include <bang.h>
__nram__ float a[1024], b[1024];
__nram__ half h[1024];
__nram__ int p[1024], q[1024], r[1024];
__nram__ signed char c[512];
__mlu_entry__ void Every(float *out, float x, float y, int i, int j, int op) {
  __bang_write_value(a, 1024, x); __bang_write_value(b, 1024, y); __bang_write_value(c, 512, (signed char)i);
  __bang_write_value(p, 1024, i); __bang_write_value(q, 1024, j); __bang_write_value(r, 1024, 3);
  a[7] = y;
  for (int t = 0; t < 3; ++t) {
    __bang_add(a, a, b, 1000);
    __bang_mul(b, b, b, 999);
    __bang_mul_scalar(a, b, x, 37);
    __bang_float2half_rn(h, b, 1024);
    __bang_mul_scalar(h, h, (half)2, 1023);
    __bang_add(p, p, q, 1024);
    __bang_cycle_mul(r, r, q, 1024, 64);
    __bang_fusion((mluFusionOp_t)(op & 7), r, r, p, q, 1024, 64);
    __bang_fusion((mluFusionOp_t)(op & 7), r, r, i, q, 1024, 64);
    __bang_fusion((mluFusionOp_t)(op & 7), a, a, y, b, 1024, 64);
    __bang_sub_scalar(c, c, (signed char)j, 511);
    __bang_active_log(a, b, 1024);
    __bang_recip(b, a, 1024);
    __bang_reduce_sum(b, a, 1024);
    out[t] = __bang_sum(b, 64);
    half s = x; s += (half)y; s = i; out[t + 4] = s;
  }
  __bang_write_value(a, 1024, 2.5f);
  __bang_write_value(p, 1024, i);
  __bang_add(a, a, a, 1024);
  switch (op) {
    case 10: __bang_float2half_rn(h, a, 1024); __bang_add(b, (float *)h, (float *)h, 512); break;
    case 11: __bang_add(p, p, p, 1024); __bang_mul(b, (float *)p, (float *)p, 1024); break;
    case 12: __bang_float2int32_rn(p, a, 1024, 0); __bang_mul((half *)b, (half *)p, (half *)p, 1024); break;
    case 13: __bang_add((half *)a, (half *)a, (half *)a, 1024); break;
    case 14: __bang_neg(h, h, 1024); __bang_neg(b, (float *)h, 512); break;
    case 20: __bang_add_scalar((int *)a, (int *)a, 1 << 23, 1024); __bang_add(b, a, a, 1024); break;
    case 21: __bang_float2half_rn(h, a, 1024); for (int k = 0; k < 8; ++k) ((float *)h)[k] = k; __bang_add(b, (float *)h, (float *)h, 512); break;
    case 22: __bang_sub(a, a, a, 1024); __bang_float2half_rn(h, a, 1024); __bang_add(b, (float *)h, (float *)h, 512); break;
    case 23: __bang_float2half_rn(h, a, 1024); __bang_add(b, (float *)h, (float *)h, 3); break;
    case 24: __bang_float2half_rn(h, a, 1024); __bang_half2float(b, h, 1024); __bang_add(b, b, b, 1024); break;
    case 30: case 31:
      for (int t = 0; t < 3; ++t) {
        __bang_write_value(a, 1024, x); a[7] = y;
        __bang_float2half_rn(h, a, 1024);
        __bang_half2int16_rm((short *)h, h, 1023, op - 30);
        __bang_float2int8_rd(c, a, 512, 0);
        __bang_float2uint32_dn((unsigned *)p, a, 1024, 0);
        __bang_float2int32_oz(p, a, 1024, 30 - op);
        __bang_float2int32((int *)a, a, 1024, 0);
      }
  }
}
"""
GIVEN = [
    (1, 1, 1, 1, 0), (3e38, 3e38, 2**31 - 1, 1, 0), (1e30, 1e20, 70000, 70000, 1), (0, 0, -(2**31), -1, 2), (-1, 0, 46341, 46341, 3),
    (np.inf, 1, 5, 6, 4), (300, 400, 2**30, 2**30, 5), (1, 0, 2**31 - 1, -5, 6), (65000, 600, -(2**31), -(2**31), 7), (0, 0, 1, 128, 5),
    (127.4, 127.5, 1, 1, 30), (3.2767e4, -0.1, 1, 1, 30), (1, np.nan, 1, 1, 31), (2147483520.0, -2147483648.0, 1, 1, 30), (2.0**30, -np.inf, 1, 1, 31),
]  # fmt: skip


RETYPED = [
    (10, "reads as float what was last written as half"), (11, "reads as float what was last written as int"),
    (12, "reads as half what was last written as int"), (13, "reads as half what was last written as float"),
    (14, "__bang_neg: it reads as float what was last written as half"),
    (20, ""), (21, ""), (22, ""), (23, ""), (24, ""),
]  # fmt: skip
"""What is said: not of bits of floats that integers are added to, of what scalar code has stored since, of zeros, or of less than 16 bytes."""


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """The kernel of `EVERY`, compiled without optimising, which is most of the time."""
    path = tmp_path_factory.mktemp("every") / "every.mlu"
    path.write_text(EVERY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, shlex.join((*(available() or ("cc",)), "-O0")))
        yield bangc.load(path, board="MLU590-H8")["Every"]


@pytest.mark.skipif(available() is None, reason="there is no compiler")
def test_both_engines_tell_the_same(every):
    """C's own run gives the sentences, the elements and the counts of Python's, and no launch is made again."""
    told = {engine: [] for engine in ("python", "native")}
    for engine, (numbers, made) in itertools.product(told, enumerate(GIVEN)):
        device = mlusim.Device("MLU590-H8")
        out = device.put(np.zeros(8, np.float32))
        done = device.launch(every, 2, args=(out, *made), observe=["values"], engine=engine)
        assert engine == done.engine
        told[engine] += [(numbers, str(f), f.line, f.count, f.facts) for f in done.findings]

    assert told["python"] == told["native"]
    assert {11, 12, 13, 14} == {
        numbers for numbers, text, *_ in told["native"] if "__bang_half2int16_rm:" in text
    }
    assert {10, 11, 12, 13, 14} == {numbers for numbers, text, *_ in told["native"] if " here" in text}
    assert {"valuecheck-not-finite", "valuecheck-vector-overflow", "valuecheck-half-overflow"} == {
        text.split(":")[0] for _, text, *_ in told["native"]
    }


@pytest.mark.skipif(available() is None, reason="there is no compiler")
@pytest.mark.parametrize(("case", "said"), RETYPED)
def test_a_value_last_written_as_another_type(every, case, said):
    """Both engines tell it with the line that wrote the bytes, and leave tricks with bits alone."""
    told = []
    for engine in ("python", "native"):
        device = mlusim.Device("MLU590-H8")
        given = device.put(np.zeros(8, np.float32)), 1, 2, 3, 4, case
        done = device.launch(every, 2, args=given, observe=["values"], engine=engine)
        found = [f for f in done.findings if f.id == "valuecheck-retyped"]
        told.append([(str(f), f.count, [(p.line, p.message) for p in f.places]) for f in found])

    assert told[0] == told[1]
    assert [True] * bool(said) == [said in text for text, *_ in told[0]]


UNWRITTEN = """
#include "bang.h"
#define N 256
__nram__ float u[N], v[N], b[N];
__nram__ half h[2 * N];
__nram__ int i[N], j[N];
__mlu_entry__ void Unwritten(float *out, int op) {
  __bang_write_value(v, N / 2, 3e38f); __bang_write_value(j, N / 2, 70000);
  switch (op) {
    case 8: __bang_mul(b, u, v, N); break;
    case 9: __bang_add(b, v, u, N); break;
    case 10:
#if __BANG_ARCH__ > 372
      __bang_div(b, v, u, N);
#endif
      break;
    case 11: __bang_reduce_sum(b, u, N); break;
    case 12: __bang_add_tz(b, u, v, N); break;
    case 13: __bang_mul_tz(b, v, u, N); break;
    case 14: __bang_float2half_rd((half *)b, u, N); break;
    case 15: __bang_float2half_tz((half *)b, v, N); break;
    case 16: __bang_float2half_rn((half *)b, u, N); break;
    case 17: __bang_active_gelu(b, v, N); break;
    case 18: __bang_active_sigmoid(b, u, N); break;
    case 19: __bang_mul((int *)b, i, j, N); break;
    case 20: __bang_add((int *)b, j, i, N); break;
    case 21: __bang_float2int32_rn((int *)b, v, N, 0); break;
    case 22: __bang_int322float(b, i, N, 0); break;
    case 23: __bang_half2float(b, h, N); break;
    case 24: __bang_rsqrt(b, u, N); break;
    case 25: __bang_maxpool_value_index(b, u, 1, 16, 16, 4, 4, 4, 4, 64); break;
    case 26: __bang_add(b, v, v, N / 2); break;
    case 27: __bang_mul((int *)b, j, j, N / 2); break;
    default: __bang_fusion((mluFusionOp_t)op, b, v, u, v, N, N);
  }
  __memcpy(out, b, sizeof(b), NRAM2GDRAM);
  __bang_mul(i, (int *)b, (int *)b, N);
  __bang_reduce_sum(v, b, N);
  __bang_mul(h, (half *)b, (half *)b, 2 * N);
}
"""


@pytest.mark.skipif(available() is None, reason="there is no compiler")
@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
def test_both_engines_tell_the_same_of_unwritten_bytes(board, tmp_path, monkeypatch):
    """Results leave the same NaN, so an integer, a half or a float that reads its bits has the same number."""
    monkeypatch.setenv(CHOICE, shlex.join((*(available() or ("cc",)), "-O0")))
    (tmp_path / "unwritten.mlu").write_text(UNWRITTEN)
    body = bangc.load(tmp_path / "unwritten.mlu", board=board)["Unwritten"]
    told, left = {"python": [], "native": []}, {"python": [], "native": []}
    for engine, op in itertools.product(told, range(28)):
        device = mlusim.Device(board)
        out = device.put(np.zeros(256, np.float32))
        done = device.launch(body, 1, args=(out, op), observe=["values"], engine=engine)
        assert engine == done.engine
        told[engine].append((op, [(str(f), f.line, f.count, f.facts) for f in done.findings]))
        left[engine].append((op, device.get(out).tobytes()))

    assert told["python"] == told["native"]
    assert left["python"] == left["native"]
    assert {"valuecheck-not-finite", "valuecheck-vector-overflow"} <= {
        text.split(":")[0] for _, findings in told["native"] for text, *_ in findings
    }


NOTED = """
import numpy as np
import mlusim
from mlusim.bang import GDRAM2NRAM, int32, kernel

@kernel
def square(mlu, src):
    a = mlu.nram(int32, 64)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.bang_mul(a, a, a, 64)

device = mlusim.Device("MLU370-X4")
device.launch(square, args=(device.put(np.full(64, 70000, np.int32)),))
"""


@pytest.mark.parametrize(("options", "status", "level"), [((), 0, "note"), (("--values",), 1, "error")])
def test_check_notes_it_without_being_asked(options, status, level, tmp_path, capsys):
    """`mlusim check` says it, and only ``--values`` makes it a mistake."""
    (tmp_path / "square.py").write_text(NOTED)

    assert status == main(["check", str(tmp_path / "square.py"), "--format", "json", *options])
    assert [("valuecheck-vector-overflow", level)] == [
        (f["id"], f["level"]) for f in json.loads(capsys.readouterr().out)["findings"]
    ]
