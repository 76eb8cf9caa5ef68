"""The native engine: launches, tasks, instructions, scalar accesses, barriers, compilation; the best of many rounds."""

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import mlusim
from benchmarks.timing import Row
from mlusim import bangc

BOARD = "MLU370-X4"
TEXT = """\
__mlu_global__ void nothing(const float *a, int n) {}

template <typename T> __mlu_func__ void adding(T *buf, T *out, int n, int times) {
  __memcpy(buf, out, n * sizeof(T), GDRAM2NRAM);
  for (int i = 0; i < times; ++i) { __bang_add(buf, buf, buf, n); }
  __memcpy(out, buf, n * sizeof(T), NRAM2GDRAM);
}
__mlu_global__ void add_float(float *out, int n, int times) { __nram__ float buf[16384]; adding(buf, out, n, times); }
__mlu_global__ void add_half(half *out, int n, int times) { __nram__ half buf[16384]; adding(buf, out, n, times); }
__mlu_global__ void add_bfloat16(bfloat16_t *out, int n, int times) { __nram__ bfloat16_t buf[16384]; adding(buf, out, n, times); }

__mlu_global__ void scalars(int *out, int n, int times) {
  __nram__ int buf[256];
  for (int i = 0; i < 256; ++i) { buf[i] = i; }
  int sum = 0;
  for (int i = 0; i < times; ++i) { sum += buf[(sum + i) & 255]; buf[i & 255] = sum; }
  out[0] = sum;
}

template <typename T> __mlu_func__ void products(T *data, T *left, T *weight, float *sums, int times, int m, int k, int n, bool fresh) {
  __memcpy(left, data, (k == 576 ? 18 * 18 * 64 : m * k) * sizeof(T), GDRAM2NRAM);
  for (int i = 0; i < times; ++i) {
    if (fresh || i == 0) { __memcpy(weight, data + i % 8 * 64, n * k * sizeof(T), GDRAM2WRAM); }
    if (k == 576) { __bang_conv(sums, left, weight, 64, 18, 18, 3, 3, 1, 1, n); }
    else { __bang_matmul(sums, left, weight, m, k, n); }
  }
}
__mlu_global__ void product_float(float *data, int length, int times, int m, int k, int n, bool fresh) {
  __nram__ float left[128 * 256];
  __nram__ float sums[128 * 384];
  __wram__ float weight[384 * 256];
  products(data, left, weight, sums, times, m, k, n, fresh);
}
__mlu_global__ void product_half(half *data, int length, int times, int m, int k, int n, bool fresh) {
  __nram__ half left[128 * 256];
  __nram__ float sums[128 * 384];
  __wram__ half weight[384 * 256];
  products(data, left, weight, sums, times, m, k, n, fresh);
}

// Products of a network: pieces of 512 x 256 sums, of which a task has every taskDim-th, over 128 terms at a time.
#define ROWS 64
#define GROUPS 8
#define COLUMNS 256
#define TERMS 128
__mlu_global__ void network(half *a, half *b, float *c, int batches, int m, int k, int n) {
  __nram__ half left[ROWS * TERMS];
  __nram__ half right[TERMS * COLUMNS];
  __nram__ half turned[COLUMNS * TERMS];
  __nram__ float sums[GROUPS * ROWS * COLUMNS];
  __nram__ float part[ROWS * COLUMNS];
  __wram__ half weight[COLUMNS * TERMS];
  int down = m / (GROUPS * ROWS), across = n / COLUMNS;
  for (int piece = taskId; piece < batches * down * across; piece += taskDim) {
    int batch = piece / (down * across), row = piece / across % down * GROUPS * ROWS, column = piece % across * COLUMNS;
    half *from = a + ((long)batch * m + row) * k;
    float *to = c + ((long)batch * m + row) * n + column;
    __bang_write_zero(sums, GROUPS * ROWS * COLUMNS);
    for (int at = 0; at < k; at += TERMS) {
      __memcpy(right, b + ((long)batch * k + at) * n + column, COLUMNS * 2, GDRAM2NRAM, COLUMNS * 2, n * 2, TERMS - 1);
      __bang_transpose(turned, right, TERMS, COLUMNS);
      __bang_reshape_filter(right, turned, COLUMNS, 1, 1, TERMS);
      __memcpy(weight, right, COLUMNS * TERMS * 2, NRAM2WRAM);
      for (int g = 0; g < GROUPS; ++g) {
        __memcpy(left, from + (long)g * ROWS * k + at, TERMS * 2, GDRAM2NRAM, TERMS * 2, k * 2, ROWS - 1);
        __bang_matmul(part, left, weight, ROWS, TERMS, COLUMNS);
        __bang_add(sums + g * ROWS * COLUMNS, sums + g * ROWS * COLUMNS, part, ROWS * COLUMNS);
      }
    }
    __memcpy(to, sums, COLUMNS * 4, NRAM2GDRAM, n * 4, COLUMNS * 4, GROUPS * ROWS - 1);
  }
}

__mlu_global__ void meeting(float *out, int n, int times) {
  for (int i = 0; i < times; ++i) { __sync_cluster(); }
}
"""


def _best(work: Callable[[], Any], rounds: int = 15) -> float:
    """Return the CPU seconds of the shortest of *rounds* calls, so that other work on the machine counts little."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def native() -> Iterator[Row]:
    """Yield the rows; the limits are the targets that the engine was built for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "native.mlu"
        path.write_text(TEXT)
        kernels = bangc.load([path], board=BOARD)
        for engine in ("python", "native"):
            yield from _launches(kernels["nothing"], engine)
        yield from _instructions(kernels)
    yield from _compilation()


def _launches(kernel: Any, engine: str) -> Iterator[Row]:
    device = mlusim.Device(BOARD)
    tensor = device.put(np.zeros(64, np.float32))
    times = {}
    for tasks in (1, 65):
        work = functools.partial(device.launch, kernel, tasks, args=(tensor, 3), engine=engine)
        work()
        times[tasks] = 1e6 * _best(work)
    yield Row(f"an empty launch, {engine}", times[1], 200, "us", "one task")
    yield Row(f"each further task, {engine}", (times[65] - times[1]) / 64, 25, "us", "of 65")
    for rows in (1, 17):
        dim, kind = (4, rows, 1), mlusim.UNION1
        work = functools.partial(device.launch, kernel, dim, kind, (tensor, 3), engine=engine)
        work()
        times[rows] = 1e6 * _best(work)
    yield Row(f"each core of a further union, {engine}", (times[17] - times[1]) / 16 / 5, 50, "us", "of 17")


def _instructions(kernels: Any) -> Iterator[Row]:
    for size, turns in ((64, 200_000), (1024, 20_000), (16384, 5_000)):
        data = np.zeros(size, np.float32)
        took, raw = [], []
        for _ in range(3):  # in turn, so that a slower machine slows both
            raw.append(1e6 * _best(functools.partial(_adding, data)))
            took.append(1e3 * _each(kernels["add_float"], data, turns))
        yield Row(
            f"bang_add of {size} floats",
            min(took),
            (2 if size == 64 else 1) * min(raw),
            "ns",
            f"np.add: {min(raw):.0f}",
        )
    for name, dtype in (("half", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
        took = 1e3 * _each(kernels[f"add_{name}"], np.zeros(256, dtype), 20_000)
        yield Row(f"bang_add of 256 of {name}", took, 150, "ns", "")
    yield from _products(kernels)
    yield from _network_products(kernels["network"])
    yield Row(
        "a scalar access",
        1e3 * _each(kernels["scalars"], np.zeros(1, np.int32), 200_000) / 2,
        5,
        "ns",
        "NRAM, loads and stores",
    )
    took = _each(kernels["meeting"], np.zeros(1, np.float32), 500, tasks=4, kind=mlusim.UNION1)
    yield Row("a barrier arrival", took / 5, 5, "us", "4 cores and a memory core")


PRODUCTS = ((16, 64, 64), (128, 64, 256), (128, 256, 384), (256, 576, 128))
"""Rows, terms and filters of each product; the last is a convolution of 18 x 18 x 64 by 3 x 3."""


def _products(kernels: Any) -> Iterator[Row]:
    data = np.random.default_rng(0).standard_normal(384 * 256 + 512)
    for m, k, n in PRODUCTS:
        left = np.resize(data, (m, k)).astype("f4")
        weight = np.resize(data, (n, k)).astype("f4")
        for name, dtype in (("float", np.float32), ("half", np.float16)):
            took: dict[bool, list[float]] = {False: [], True: []}
            raw = []
            for _ in range(3):
                raw.append(1e6 * _best(functools.partial(_multiplying, left, weight), 5) / 100)
                for fresh, times in took.items():
                    sizes = (m, k, n, fresh)
                    times.append(_each(kernels[f"product_{name}"], data.astype(dtype), 100, more=sizes))
            for fresh, times in took.items():
                yield Row(
                    f"{m} x {k} x {n} of {name}{', new weights' if fresh else ''}",
                    min(times),
                    1.5 * min(raw),
                    "us",
                    f"np.matmul of float: {min(raw):.0f}",
                )


NETWORK = (
    (1, 16 * 1024, 2048, 768, "16 x 1024 x 2048 x 768"),
    (128, 512, 1024, 2048, "128 x 512 x 1024 x 2048"),
)
"""Batches, rows, terms and columns of each product; the batches of the first share their right side, and are rows of one product."""


def _network_products(kernel: Any) -> Iterator[Row]:
    """Yield products against PyTorch if it is installed, otherwise NumPy; the best of three and, for the second, of one, for it takes seconds."""
    name, multiply, given_to = _multiplier()
    generator = np.random.default_rng(0)
    for batches, m, k, n, words in NETWORK:
        rounds = 3 if batches == 1 else 1
        left, right = (generator.random((batches, *size), np.float32) for size in ((m, k), (k, n)))
        device = mlusim.Device(BOARD)
        factors = device.put(left.astype(np.float16)), device.put(right.astype(np.float16))
        product = device.empty(batches * m * n, "float")
        raw = _best(functools.partial(multiply, given_to(left), given_to(right)), rounds)
        del left, right
        took = _best(
            functools.partial(
                device.launch, kernel, 32, args=(*factors, product, batches, m, k, n), engine="native"
            ),
            rounds,
        )
        yield Row(f"{words} of half", took, 3 * raw, "s", f"{name} of float: {raw:.2f}")


def _multiplier() -> tuple[str, Callable[..., Any], Callable[..., Any]]:
    """Return the name of a library's matrix product, the function, and a function that makes its operands from NumPy's arrays."""
    try:
        import torch  # noqa: PLC0415 - only these rows use it, and it may be missing
    except ImportError:
        return "np.matmul", np.matmul, np.asarray
    return "torch.matmul", torch.matmul, torch.from_numpy


def _multiplying(left: Any, weight: Any) -> None:
    for _ in range(100):
        np.matmul(left, weight.T)


def _adding(data: Any) -> None:
    for _ in range(1000):
        np.add(data, data, out=data)


def _each(
    kernel: Any, data: Any, times: int, tasks: int = 1, kind: Any = mlusim.BLOCK, more: tuple[Any, ...] = ()
) -> float:
    """Return the us of one turn of *kernel*, from the difference between many turns and one."""
    device = mlusim.Device(BOARD)
    tensor = device.put(data)
    few, many = (
        _best(
            functools.partial(
                device.launch,
                kernel,
                tasks,
                kind,
                (tensor, data.size, turns, *more),
                engine="native",
                timing=False,
            )
        )
        for turns in (1, times)
    )
    return 1e6 * (many - few) / (times - 1)


BORDER_ALIGN = """
import os, sys, time
import mlusim
from mlusim import bangc, ops
path = os.path.join(os.path.dirname(ops.__file__), "border_align_backward", "kernel.mlu")
kernel = bangc.load([path], board=sys.argv[1])["MLUUnion1BorderAlignBackward<float>"]
arch = mlusim.Device(sys.argv[1]).board.arch
spent = lambda: time.process_time() + sum(os.times()[2:4])  # with those of its compiler
start = spent()
kernel.native.program(arch)
rendered = spent()
kernel.native.loaded(arch)
print(rendered - start, spent() - rendered)
"""


def _compilation() -> Iterator[Row]:
    """Yield the best of three empty caches, each with a process that compiles and one that finds the compiled file."""
    cold, cached = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "MLUSIM_CACHE": folder}
            for times in (cold, cached):
                said = subprocess.run(  # noqa: S603 - this interpreter
                    [sys.executable, "-c", BORDER_ALIGN, BOARD],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                times.append([float(word) for word in said.stdout.split()])
    rendered, compiled = min(cold, key=sum)
    yield Row(
        "border_align compiled, cold", rendered + compiled, 0.6, "s", f"CPU, of it rendered in {rendered:.2f}"
    )
    yield Row(
        "border_align compiled, cached",
        1e3 * min(load for _, load in cached),
        5,
        "ms",
        "CPU, in a new process",
    )
