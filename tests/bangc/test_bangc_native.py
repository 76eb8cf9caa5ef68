"""Kernels of BANG C sources on the native engine: the same as on Python's, to the last byte and word."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import bfloat16
from mlusim.errors import MlusimError, UsageError
from mlusim.machine.hub import EveryStep
from mlusim.machine.launch import Launch

VECTORS = """\
__nram__ float buf[1024];
__nram__ float other[1024];

__mlu_func__ void running(float *x, int n, float &sum) {
  for (int i = 0; i < n; i += 7) { sum += x[i]; }
  x[n - 1] = sum;
}

__mlu_global__ void add(float *out, const float *a, const float *b, int n) {
  if (__is_mpu()) return;
  int per = n / taskDim;
  float sum = 0.5f;
  for (int done = 0; done < per; done += 1024) {
    int count = per - done < 1024 ? per - done : 1024;
    __memcpy(buf, a + taskId * per + done, count * sizeof(float), GDRAM2NRAM);
    __memcpy_async(other, b + taskId * per + done, count * sizeof(float), GDRAM2NRAM);
    __sync_io();
    __bang_add(buf, buf, other, count);
    __bang_mul_scalar(buf, buf, 0.5f, count);
    running(buf, count, sum);
    __memcpy(out + taskId * per + done, buf, count * sizeof(float), NRAM2GDRAM);
  }
}
"""


@pytest.mark.parametrize("size", [4 * 1024, 4 * 1500, 4])
def test_a_vector_kernel(load_once, size):
    """Copies, asynchronous ones, vectors, scalars through a reference: four tasks."""
    data = np.random.default_rng(1).random((2, size), dtype=np.float32)
    out = np.zeros(size, np.float32)

    launch = alike(load_once(VECTORS)["add"], (out, data[0], data[1], size), dim=(4, 1, 1))

    assert launch.instructions["bang_add"] == 4 * -(-size // 4096)


def test_each_line_of_c_has_its_line_of_the_source(load_once):
    """A second line behind a place would be the source's next one, where gdb then stops too soon."""
    program = load_once(VECTORS)["add"].native.program(find_board("MLU370-X4").arch)
    parts = program.text[: program.text.index('#line 1 "entry"')].split("#line ")[1:]

    assert len(parts) > 20
    assert [] == [part for part in parts if part.count("\n") != 2]


def test_a_copy_beyond_the_end(load_once):
    """The fault says the same with the line of the source."""
    data = np.zeros(4096, np.float32)

    fault = alike(load_once(VECTORS)["add"], (data[:4000], data, data, 4096), dim=(4, 1, 1))

    assert "reach 384 bytes past its end" in str(fault)


LANGUAGE = """\
__nram__ int numbers[64];
__nram__ half halves[64];

__mlu_func__ int deeper(int n, unsigned &steps) {
  ++steps;
  if (n <= 1) return 1;
  return n * deeper(n - 1, steps);
}

__mlu_func__ void both(int a, int b, int *quotient, int *rest) {
  *quotient = a / b;
  *rest = a % b;
}

__mlu_global__ void language(int *out, int a, int b, float f, unsigned u) {
  int n = 0;
  unsigned steps = 0;
  out[n++] = deeper(5, steps);
  out[n++] = (int)steps;
  int q, r;
  both(a, b, &q, &r);
  out[n++] = q;
  out[n++] = r;
  out[n++] = (a << 3) ^ (b >> 1);
  out[n++] = (int)(u * 2654435761u >> 7);
  out[n++] = (int)f;
  out[n++] = (int)(signed char)a;
  out[n++] = (short)(a * 70000);
  out[n++] = f > 1.5f ? 1 : f < -1.5f ? -1 : 0;
  long wide = (long)a * b * 1000003;
  out[n++] = (int)(wide >> 20);
  switch (a & 3) {
    case 0: out[n] = 10;
    case 1: out[n] = 11; break;
    case 2: { out[n] = 12; break; }
    default: out[n] = 13;
  }
  ++n;
  int local[4] = {a, b, 3};
  for (int i = 0; i < 4; ++i) {
    if (i == 2) continue;
    local[i] += i;
  }
  int j = 0;
  do { numbers[j] = local[j] * 2; } while (++j < 4);
  out[n++] = numbers[0] + numbers[1] + numbers[2] + numbers[3];
  halves[0] = (half)f;
  halves[1] = halves[0] * (half)3.0f + (half)0.1f;
  out[n++] = (int)((float)halves[1] * 1000.0f);
  float x = sqrtf(f * f + 1.0f) + expf(f * 0.25f) + fabsf(f);
  out[n++] = (int)(x * 1e5f);
  out[n++] = *(int *)&f;
  int *p = out + n, *start = out;
  out[n++] = (int)(p - start);
  out[n++] = p > start && !(p == start);
  *p++ += 7;
  out[n++] = (int)(p - start);
  while (true) { if (--a < 0 || a % 5 == 0) break; }
  out[n++] = a;
}
"""


@pytest.mark.parametrize(
    ("a", "b", "f", "u"),
    [
        (17, 5, 2.75, 3),
        (-17, 5, -3.5, 0xFFFFFFFF),
        (2147483647, -1, 1e20, 77),
        (-2147483648, -1, float("nan"), 1),
        (6, 7, -0.0, 2),
    ],
)
def test_the_language(load_once, a, b, f, u):
    """Arithmetic that wraps, conversions, references, recursion, switches, loops, arrays, halves, bits, pointers."""
    launch = alike(load_once(LANGUAGE)["language"], (np.zeros(64, np.int32), a, b, f, u))

    assert not isinstance(launch, MlusimError), str(launch)


FAULTY = """\
__nram__ float buf[64];

__mlu_func__ int without_end(int n) { return without_end(n + 1) + 1; }

__mlu_global__ void faulty(float *out, const float *in, int which, int n) {
  float *null = nullptr;
  if (which == 0) out[n] = 1.0f;
  if (which == 1) buf[0] = in[n];
  if (which == 2) buf[n] = 2.0f;
  if (which == 3) out[0] = (float)(7 / (n - 5));
  if (which == 4) out[0] = null[n];
  if (which == 5) __bang_add(buf, buf, buf + n, 32);
  if (which == 6) __bang_add(buf, out, buf, 32);
  if (which == 7) __memcpy(buf, in, n, GDRAM2SRAM);
  if (which == 8) out[0] = (float)without_end(n);
  if (which == 9) __bang_mul_scalar(null, buf, 2.0f, 32);
  if (which == 10) __memcpy(buf, in, 4 * n, GDRAM2NRAM, 4 * n, 4, 3);
  if (which == 11) *(float *)((char *)out + 0x4000000ll * n) = 0.0f;
  if (which == 12) __memcpy(buf, in, 4, (mluMemcpyDirection_t)n);
}
"""


@pytest.mark.parametrize("which", range(13))
def test_faults_say_the_same(load_once, which):
    """Out of bounds, null, wild, division by zero, recursion without end: one sentence, one line, one class."""
    data = np.zeros(64, np.float32)

    for n in (-1, 5, 63, 64, 1 << 20):
        alike(load_once(FAULTY)["faulty"], (data, data, which, n))


def test_the_engine_is_chosen(load_once):
    """Automatic takes the native one, a checker beside other observers Python's; "native" says why it cannot; a wrong name is refused."""
    kernel = load_once(VECTORS)["add"]
    device = mlusim.Device("MLU370-X4")
    given = [device.put(np.zeros(64, np.float32)) for _ in range(3)]

    def engine(**options):
        return device.launch(kernel, args=(*given, 64), **options).engine

    assert NATIVE == engine()
    assert engine(engine="python") == "python"
    assert engine(observe=[EveryStep(), "memcheck"]) == "python"
    assert engine(seed=3) == "python"
    with pytest.raises(UsageError, match="native engine cannot run"):
        engine(engine="native", observe=[EveryStep(), "memcheck"])
    with pytest.raises(UsageError, match="use one of auto, python, native"):
        engine(engine="fast")


def test_python_kernels_stay_python():
    """A kernel that is not BANG C has no form in C."""
    device = mlusim.Device("MLU370-X4")

    with pytest.raises(UsageError, match="is Python"):
        device.launch(lambda _: None, engine="native")
    assert device.launch(lambda _: None).engine == "python"


RECORDS = """\
struct Window { int low; int high; float scale; };
struct Buffers { float *in; float *out; int size; };

__nram__ float numbers[128];

__mlu_func__ Window window(int n) {
  Window w;
  w.low = n;
  w.high = n + 16;
  w.scale = 0.5f * n;
  return w;
}

__mlu_func__ void apply(const Buffers &b, Window w) {
  for (int i = w.low; i < w.high; ++i) b.out[i] = b.in[i] * w.scale + (float)b.size;
}

__mlu_global__ void records(float *out, float *in) {
  __memcpy(numbers, in, 256, GDRAM2NRAM);
  Buffers b = {numbers, numbers + 64, 3};
  Window w = window(4), other;
  apply(b, w);
  other = w;
  other.low += 20;
  other.high = other.low + 2;
  apply(b, other);
  __asm__ volatile("sync;");
  __memcpy(out, b.out, 256, NRAM2GDRAM);
}
"""


def test_records_by_value_and_by_reference(load_once):
    """Structs that are returned, copied, changed, passed; pointers in them; a sync as assembly."""
    data = np.arange(64, dtype=np.float32)

    launch = alike(load_once(RECORDS)["records"], (np.zeros(64, np.float32), data))

    assert launch.instructions["sync"] == 1


def test_a_loop_without_end_is_interrupted_at_its_line(load_once):
    """Native loops let Python look after signals and limits now and then."""
    source = "__mlu_global__ void endless(int *out) {\n  int n = 0;\n  while (true) { n = n * 3 + 1; }\n  out[0] = n;\n}\n"

    fault, _ = run(load_once(source)["endless"], (np.zeros(4, np.int32),), NATIVE, limit="seconds=0.2")

    assert "has run for 0.2 seconds" in str(fault)
    assert fault.line == 3


def test_bfloat16_has_two_bytes(load_once):
    """bfloat16 has two bytes in arrays, pointer steps and conversions, whatever number the parser gives the type."""
    source = """\
__nram__ bfloat16_t c[512];
__mlu_global__ void sums(bfloat16_t *out, bfloat16_t *in, float f) {
  __memcpy(c, in, 1024, GDRAM2NRAM);
  __bang_add(c, c, c + 256, 256);
  bfloat16_t *p = c + 3;
  p[1] = (bfloat16_t)((float)p[2] * f);
  __memcpy(out, c, 512, NRAM2GDRAM);
}
"""
    data = np.arange(512).astype(bfloat16.dtype)

    launch = alike(load_once(source)["sums"], (np.zeros(256, bfloat16.dtype), data, 3.0))

    assert launch.instructions["bang_add"] == 1


DEEP = """\
__nram__ int from[64], to[64];
__mlu_entry__ void Deep(int *out, const int *in) {
  __memcpy(from, in, 256, GDRAM2NRAM);
  __bang_write_value(to, 64, 0);
  __memcpy(to, from, 8, NRAM2NRAM, 8, 2, 48, 1, 16, 2, 64, 1);
  __memcpy(out, to, 256, NRAM2GDRAM);
}
"""


def test_a_copy_of_three_dimensions(load_once):
    """Rows of rows: its direction is a number in C, too."""
    tensor = np.arange(64, dtype=np.int32)
    alike(load_once(DEEP)["Deep"], [np.zeros(64, np.int32), tensor])
    wanted = np.zeros(64, np.int32)
    for plane, row in np.ndindex(2, 3):
        at, source = plane * 12 + row * 2, plane * 16 + row * 4
        wanted[at : at + 2] = tensor[source : source + 2]
    found = run(load_once(DEEP)["Deep"], [np.zeros(64, np.int32), tensor], NATIVE)[1][0]

    assert wanted.tolist() == found.tolist()


MOVES = """\
__nram__ char room[40000];
__mlu_entry__ void Moves(char *out, const char *in, int at, int size, int rows, int apart) {
  __memcpy(room + at, in + 3 * at, size, GDRAM2NRAM, size + 1, size + apart, rows - 1);
  __memcpy(out + at, room + at, size, NRAM2GDRAM, size + apart, size + 1, rows - 1);
  __memcpy_async(room, out, size * rows, GDRAM2NRAM);
  __sync();
  __memcpy_async(out + 50000 + at, room + 7, size, NRAM2GDRAM, size, size + 2, rows - 1);
  __sync();
  __memcpy(out + 100001 - at, room, size * rows, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize(
    ("size", "rows"),
    [(511, 33), (512, 31), (512, 32), (513, 40), (4095, 4), (4096, 4), (4161, 3), (20000, 1)],
)
def test_copies_of_every_length(load_once, size, rows):
    """Short and long rows, and what is fetched before it is read or written past the caches, at every alignment."""
    data = np.random.default_rng(size).integers(-128, 128, 60000).astype(np.int8)

    kernel, out = load_once(MOVES)["Moves"], np.zeros(130000, np.int8)
    launches = [
        alike(kernel, (out, data, at, size, rows, apart))
        for at, apart in ((0, 0), (1, 64), (63, 5), (64, 33))
    ]

    assert 4 * [3] == [launch.instructions["memcpy"] for launch in launches]


ON_LINES = """\
__nram__ char room[4096];
__wram__ char weights[4096];
__mlu_entry__ void OnLines(char *out, const char *in, int to, int from, int size, int rows, int which) {
  __memcpy(room, in, 2048, GDRAM2NRAM);
  __memcpy(weights, room, 2048, NRAM2WRAM);
  switch (which) {
    case 0: __memcpy(room + 2048 + to, room + from, size, NRAM2NRAM); break;
    case 1: __memcpy_async(room + 2048 + to, room + from, size, NRAM2NRAM); __sync_compute(); break;
    case 2: __memcpy_async(room + 2048 + to, room + from, size, NRAM2NRAM); __sync_copy_nram_to_nram(); break;
    case 3: __memcpy(room + 2048 + to, room + from, size, NRAM2NRAM, 256, 192, rows - 1); break;
    case 4: __memcpy(weights + 2048 + to, room + from, size, NRAM2WRAM); break;
    case 5: __memcpy(room + 2048 + to, weights + from, size, WRAM2NRAM); break;
    case 6: __memcpy_async(weights + 2048 + to, room + from, size, NRAM2WRAM); __sync_move(); break;
    default: __memcpy(room + 2048 + to, in + from, size, GDRAM2NRAM, 256, 192, rows - 1);
  }
  __memcpy(out, room, 4096, NRAM2GDRAM);
  __memcpy(room, weights, 4096, WRAM2NRAM);
  __memcpy(out + 4096, room, 4096, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("which", range(8))
def test_copies_on_mlu2xx_begin_and_end_at_lines_on_both_engines(load_once, which):
    """Inside NRAM, to WRAM and from it: where the board does not take the copy, the same sentence."""
    kernel = load_once(ON_LINES, board="MLU270-S4")["OnLines"]
    data, out = (
        np.random.default_rng(which).integers(-128, 128, 4096).astype(np.int8),
        np.zeros(8192, np.int8),
    )
    places = ((0, 0, 128), (64, 192, 128), (32, 64, 128), (64, 8, 64), (8, 64, 64), (0, 0, 48), (128, 3, 1))
    outcomes = [
        alike(kernel, (out, data, *place, 1 + n % 3, which), board="MLU270-S4")
        for n, place in enumerate(places)
    ]

    assert [True, True] == [isinstance(outcome, Launch) for outcome in outcomes[:2]]
    assert (which in (3, 7)) == all(isinstance(outcome, Launch) for outcome in outcomes)
