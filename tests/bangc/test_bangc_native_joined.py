"""Instructions that C performs together: the same bytes, counts, times and faults as one after the other."""

import numpy as np
import pytest
from engines import MEASURES, NATIVE, alike, same_numbers
from hypothesis import HealthCheck, given, settings, strategies as st
from random_sequences import Sequences
from test_bangc_native_quiet import all_checkers

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.engine.contract import Mode
from mlusim.errors import MlusimError
from mlusim.machine.hub import attending

WEIGHTED = """\
__nram__ float room[4096];

__mlu_func__ void keep(float *to, float *from, float *mask, int n) {
  __bang_band((int *)to, (int *)from, (int *)mask, n);
}

__mlu_func__ void weigh(float *sums, float *part, float *kept, float *data, float *mask, float a, float b, int at, int n, int padded) {
  __bang_mul_scalar(part, data, a, padded);
  keep(kept, part, mask, padded);
  __bang_atomic_reduce_add(sums, kept, n);
  __bang_mul_scalar(part, data, b, padded);
  keep(kept, part, mask, padded);
  __bang_atomic_reduce_add(sums + at, kept, n);
}

__mlu_global__ void weighted(float *sums, float *out, const float *data, int at, int n, int padded, int kept, int mask) {
  if (__is_mpu()) return;
  __memcpy(room, data, 2048 * sizeof(float), GDRAM2NRAM);
  __bang_ge_scalar(room + mask, room, 0.5f, 512);
  for (int turn = 0; turn < 3; turn++) weigh(sums, room + 2048, room + kept, room, room + mask, 0.25f, -3.0f, at, n, padded);
  __memcpy(out, room, 4096 * sizeof(float), NRAM2GDRAM);
}
"""


@pytest.mark.parametrize(
    ("at", "n", "padded", "kept", "mask"),
    [
        (600, 512, 512, 3000, 3600),
        (0, 512, 512, 3000, 3600),
        (100, 512, 512, 3000, 3600),
        (600, 500, 512, 3000, 3600),
        (600, 512, 512, 2048, 3600),
        (600, 512, 512, 2148, 3600),
        (600, 512, 512, 0, 3600),
        (600, 512, 512, 3000, 2048),
        (600, 1, 1, 3000, 3600),
        (600, 512, 512, 3700, 3000),
        (1900, 512, 512, 3000, 3600),
        (600, 512, 0, 3000, 3600),
    ],
)
def test_weighted_sums(load_once, at, n, padded, kept, mask):
    """Apart, at one place, overlapping, of different lengths, in place, reaching past the end, and of nothing."""
    data = np.random.default_rng(1).standard_normal(2048).astype(np.float32)
    kernel = load_once(WEIGHTED)["weighted"]
    sums, out = np.ones(2048, np.float32), np.zeros(4096, np.float32)

    alike(kernel, (sums, out, data, at, n, padded, kept, mask))

    arch = find_board("MLU370-X4").arch
    assert "if (!AT_ONCE_(joined_" in kernel.native.program(arch).text
    assert "fails_ && joined_" in kernel.native.program(arch, Mode.SCREENED).text


MIXED = """\
__nram__ float a[512];
__nram__ float b[512];
__nram__ float c[512];
__nram__ int whole[512];
__nram__ short small[512];

__mlu_global__ void mixed(float *out, int *wholes, const float *data, int n, float by, int late) {
  if (__is_mpu()) return;
  __bang_add_scalar(c, a, 1.0f, 3);
  __bang_add(b, c, a, 3);
  __memcpy(a, data, n * sizeof(float), GDRAM2NRAM);
  if (late) __memcpy_async(b, data + n, n * sizeof(float), GDRAM2NRAM);
  else __memcpy(b, data + n, n * sizeof(float), GDRAM2NRAM);
  __bang_add(c, a, a, n);
  __bang_sub(c, c, b, n);
  __bang_maxequal(a, a, c, n);
  __bang_mul_scalar(c, c, by, n);
  __bang_relu(c, c, n);
  __bang_atomic_reduce_add(out, c, n);
  __bang_atomic_reduce_max(out, a, n);
  __bang_lt(b, a, c, n);
  __sync();
  __bang_eq_scalar(whole, (int *)b, 0, n);
  __bang_add_scalar(whole, whole, -7, n);
  __bang_bxor(whole, whole, (int *)a, n);
  __bang_mul(whole, whole, whole, n);
  __bang_write_value(small, 512, (short)3);
  __bang_add(small, small, small, n);
  __bang_sub_scalar(small, small, (short)9, n);
  __memcpy(out + 512, a, n * sizeof(float), NRAM2GDRAM);
  __memcpy(out + 1024, b, n * sizeof(float), NRAM2GDRAM);
  __memcpy(out + 1536, c, n * sizeof(float), NRAM2GDRAM);
  __memcpy(wholes, whole, 512 * sizeof(int), NRAM2GDRAM);
  __memcpy(wholes + 512, small, 512 * sizeof(short), NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("n", [1, 33, 512, 513])
def test_rows_of_several_kinds(load_once, n, late):
    """Sums, comparisons, bits and integers that wrap, of memory with values and without, with a copy in flight; and past the end."""
    data = np.random.default_rng(2).standard_normal(1026).astype(np.float32)
    out, wholes = np.zeros(2048, np.float32), np.zeros(1024, np.int32)

    alike(load_once(MIXED)["mixed"], (out, wholes, data, n, 1e38, late), dim=(4, 1, 1), kind=mlusim.UNION1)


CHANGED = """\
__nram__ float room[256];

__mlu_func__ float changes(float *at, int n) { *at = 2.0f; return *at + n; }

__mlu_global__ void changed(float *out, int n) {
  if (__is_mpu()) return;
  float by = 1.0f;
  float *place = &by;
  __bang_write_value(room, 256, 0.5f);
  __bang_add_scalar(room, room, room[3], n);
  __bang_mul_scalar(room, room, changes(place, n), n);
  __bang_add_scalar(room, room, by, n);
  __bang_mul_scalar(room, room, n / 4, n);
  __bang_add_scalar(room, room, *place, n++);
  __bang_add_scalar(room, room, 3.0f, n);
  __bang_mul_scalar(room, room, room[7], n);
  __memcpy(out, room, sizeof(room), NRAM2GDRAM);
}
"""


def test_arguments_that_an_instruction_changes(load_once):
    """A number in memory is read after the instruction before; what has an effect happens once and in its place."""
    alike(load_once(CHANGED)["changed"], (np.zeros(256, np.float32), 64))


COPIED = """\
__nram__ float left[8192];
__nram__ float right[8192];

__mlu_func__ void doubled(float *out, float *data, const float *from, int n) {
  __memcpy(data, from, n * sizeof(float), GDRAM2NRAM);
  __bang_add(data, data, data, n);
  __memcpy(out, data, n * sizeof(float), NRAM2GDRAM);
}

__mlu_global__ void copied(float *out, float *last, float *data, int n, int copied, int to, int turns) {
  if (__is_mpu()) return;
  for (int turn = 0; turn < turns; turn++) {
    __memcpy(left, data + taskId, copied * sizeof(float), GDRAM2NRAM);
    __memcpy(right, data + 8192, copied * sizeof(float), GDRAM2NRAM);
    __bang_mul(left, left, right, n);
    __bang_sub_scalar(right, right, 0.5f, n);
    __memcpy(out + to, left, copied * sizeof(float), NRAM2GDRAM);
  }
  doubled(data + to, right, data, n);
  doubled(data, right + 1, data, n);
  __memcpy(last, left, sizeof(left), NRAM2GDRAM);
  __memcpy(last + 8192, right, sizeof(right), NRAM2GDRAM);
}
"""


@pytest.mark.parametrize(
    ("n", "copied", "to", "turns"),
    [
        (8191, 8191, 0, 1),
        (8190, 8190, 16, 2),
        (8190, 8190, 3, 2),
        (4096, 4096, 0, 3),
        (4095, 4095, 16, 1),
        (4096, 4000, 0, 2),
        (64, 64, 0, 2),
        (16, 16, 0, 9),
        (1, 1, 0, 90),
        (8192, 8193, 0, 1),
        (0, 0, 0, 1),
    ],
)
def test_copies_with_what_computes_on_them(load_once, n, copied, to, turns):
    """Long and short, to lines of the host and beside them, with a rest, of other lengths, again and again, over the data, and past the end."""
    data = np.random.default_rng(3).standard_normal(2 * 8192 + 16).astype(np.float32)
    out, last = np.zeros(8192 + 16, np.float32), np.zeros(2 * 8192, np.float32)

    launch = alike(load_once(COPIED)["copied"], (out, last, data, n, copied, to, turns), dim=(2, 1, 1))

    assert hasattr(launch, "instructions") == (0 < copied <= 8192)


MANY = 24  # sequences in a kernel
CALLS = st.tuples(
    st.integers(0, MANY - 1),
    st.sampled_from([0, 16, 32, 64, 128, 256]),
    st.sampled_from([0, 1, 32, 64, 128, 300]),
    st.sampled_from([64, 64, 64, 64, 33, 1, 128, 0]),
    st.sampled_from([64, 64, 7]),
    st.sampled_from([1.25, -3.0, 1e38, 0.0]),
)


def compare_sequences(load_once, seed, call):
    """Run one sequence of instructions on both engines, some of its numbers infinite or tiny."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal(2048).astype(np.float32)
    data[rng.random(2048) < 0.1] = rng.choice(np.array([np.inf, -0.0, 1e-40, 3e38], np.float32))
    out = np.arange(8192, dtype=np.float32)

    alike(load_once(Sequences(seed, MANY).kernel)["sequences"], (out, data, *call))


@settings(max_examples=100)
@given(call=CALLS)
def test_sequences(load_once, call):
    """Operands in place, apart and overlapping; numbers that change; statements between; faults on the way."""
    compare_sequences(load_once, 1, call)


CHECKED = st.tuples(CALLS, st.integers(1, 1 << 16), st.sampled_from(["normal", "large", "whole", "wide"]))


def numbers(kind, seed):
    """Numbers of which none, some, or those that an instruction computes have something to tell."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal(2048).astype(np.float32)
    if kind == "large":
        data[rng.random(2048) < 0.02] = rng.choice(np.array([np.inf, 1e30, 3e38], np.float32))
    if kind in ("whole", "wide"):
        most = 100 if kind == "whole" else 60000
        data.view(np.int32)[:] = rng.integers(-most, most, 2048)
    return data


def compare_checked(load_once, seed, checked):
    """Run one sequence twice under all checkers on both engines, and compare what is told and what is left."""
    call, number, kind = checked
    kernel = load_once(Sequences(seed, MANY, plain=True).kernel)["sequences"]
    told = []
    for engine in ("python", NATIVE):
        device, watching = mlusim.Device("MLU370-X4"), all_checkers()
        out = device.put(np.arange(8192, dtype=np.float32))
        arguments, said = (out, device.put(numbers(kind, number)), *call), []
        with attending(watching):
            for _ in range(2):
                try:
                    launch = device.launch(kernel, 1, mlusim.BLOCK, arguments, engine=engine)
                    said.append([getattr(launch, m) for m in MEASURES])
                except MlusimError as fault:
                    said.append(str(fault))
        told.append((said, [checker.findings for checker in watching], device.get(out)))
    (said, findings, left), (native, of_native, by_native) = told

    assert said == native
    assert findings == of_native
    assert same_numbers(left, by_native)


@settings(max_examples=60)
@given(checked=CHECKED)
def test_sequences_under_checkers(load_once, checked):
    """Numbers that are fine, that leave the limits of their types, and that were written as another type."""
    compare_checked(load_once, 1, checked)


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(200, 250))
@settings(max_examples=200, suppress_health_check=[HealthCheck.differing_executors])
@given(checked=CHECKED)
def test_many_sequences_under_checkers(load_once, seed, checked):
    """The same of fifty kernels."""
    compare_checked(load_once, seed, checked)


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100, 200))
@settings(max_examples=200, suppress_health_check=[HealthCheck.differing_executors])
@given(call=CALLS)
def test_many_sequences(load_once, seed, call):
    """The same of a hundred kernels."""
    compare_sequences(load_once, seed, call)
