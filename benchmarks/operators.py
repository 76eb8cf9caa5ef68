"""Whole operators: the cost of a simulated intrinsic in units of one raw `np.add` on 256 floats."""

import statistics
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np

import ops
from benchmarks.timing import Row, seconds
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import case_generator
from ops.three_interpolate_backward.tiles import document_tiles
from ops.tin_shift.reference import shifted

BOARD = "MLU370-X4"
SMALLEST = 1024  # elements of the first input; a smaller run is mostly start-up


def unit() -> float:
    """Return the seconds of one raw ``np.add(a[i:j], b[i:j], out=c[i:j])`` on 256 floats."""
    a, b, c = (np.zeros(1024, np.float32) for _ in range(3))
    i, j = 128, 384
    return statistics.median(seconds(lambda: np.add(a[i:j], b[i:j], out=c[i:j]), 20000) for _ in range(9))


def operators() -> Iterator[Row]:
    """Yield tin_shift against a slice assignment, and the others per intrinsic."""
    yield tin_shift_time()
    yield tin_shift_memory()
    for name, inputs, params, limit, label in _network():
        yield per_intrinsic(name, inputs, params, limit, label)


def _tin_shift() -> tuple[dict[str, Any], dict[str, Any]]:
    spec = find_operator("tin_shift_forward")
    case = next(c for c in spec.cases if c.group == "network")
    return case.make(case_generator(case))


def tin_shift_time() -> Row:
    """Return the cost of ``ops.run`` on (3, 15, 16, 45435) halves over one slice assignment of it."""
    inputs, params = _tin_shift()
    ours, raw = [], []
    for _ in range(5):
        start = time.perf_counter()
        ops.run("tin_shift_forward", inputs, params, board=BOARD)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        shifted(inputs["input"], inputs["shifts"])
        raw.append(time.perf_counter() - start)
    a, b = statistics.median(ours), statistics.median(raw)
    shape = "x".join(map(str, inputs["input"].shape))
    return Row(
        f"tin_shift {shape} half", a / b, 5.0, "x slice assignment", f"{a * 1e3:.0f} ms, raw {b * 1e3:.0f} ms"
    )


def tin_shift_memory() -> Row:
    """Return the peak host memory of the largest case, in sizes of its tensors, inputs included."""
    spec = find_operator("tin_shift_backward")
    case = max(
        (c for c in spec.cases if c.group == "network"),
        key=lambda c: c.make(case_generator(c))[0]["grad_output"].nbytes,
    )
    inputs, params = case.make(case_generator(case))
    input_bytes = sum(a.nbytes for a in inputs.values())
    tracemalloc.start()
    run = ops.run("tin_shift_backward", inputs, params, board=BOARD)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    tensors = input_bytes + sum(a.nbytes for a in run.outputs.values())
    return Row(
        f"memory of tin_shift_backward {case.name}",
        (peak + input_bytes) / tensors,
        2.5,
        "x its tensors",
        f"{tensors >> 20} MiB",
    )


def _network() -> Iterator[tuple[str, dict[str, Any], dict[str, Any], float, str]]:
    generator = np.random.default_rng(0)
    for k, h, w in ((70, 7, 10), (950, 25, 38)):
        low = generator.uniform(0, min(h, w) / 2, (2, k, 2))
        yield (
            "border_align_backward",
            {
                "grad_output": generator.standard_normal((2, k, 4, 256), np.float32),
                "boxes": np.concatenate(
                    [low, low + generator.uniform(1, min(h, w) / 2, (2, k, 2))], 2
                ).astype(np.float32),
                "argmax_idx": generator.integers(0, 11, (2, k, 4, 256)).astype(np.int32),
            },
            {"pool_size": 10, "height": h, "width": w},
            6.0,
            f"border_align_backward [2,{k},4,256]",
        )
    yield from _cases("dynamic_scatter_backward", 8.0)
    yield from _cases("mutual_information_backward", 8.0)
    yield from _cases("three_interpolate_backward", 6.0)


def _cases(name: str, limit: float) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], float, str]]:
    """Yield the float32 cases at network scale with more than a thousand rows of work."""
    for case in find_operator(name).cases:
        if case.group != "network" or (case.boards and BOARD not in case.boards):
            continue
        inputs, params = case.make(case_generator(case))
        first = next(iter(inputs.values()))
        if first.dtype == np.float32 and first.size >= SMALLEST:
            yield name, inputs, params, limit, f"{name} {case.name}"


def per_intrinsic(name: str, inputs: dict[str, Any], params: dict[str, Any], limit: float, label: str) -> Row:
    """Return the seconds of ``ops.run`` per instruction, copy and scalar access, in units U.

    For three_interpolate_backward the time of the row additions themselves is subtracted: as many raw
    additions of a tile's channels as the kernel makes.
    """
    costs = []
    for _ in range(3):
        u = unit()
        start = time.perf_counter()
        run = ops.run(name, inputs, params, board=BOARD)
        taken = time.perf_counter() - start
        count = sum(run.instructions.values())
        if name == "dynamic_scatter_backward":
            count += sum(
                sum(part.values())
                for launch in run.launches
                for part in (launch.scalar_loads, launch.scalar_stores)
            )
        numpy = _row_additions(run, inputs, params) if name == "three_interpolate_backward" else 0.0
        costs.append(((taken - numpy) / count / u, taken, count, numpy, u))
        if taken > 10:
            break
    cost, taken, count, numpy, u = sorted(costs)[len(costs) // 2]
    share = f", NumPy's row additions {numpy / taken:.0%}" if numpy else ""
    detail = f"{count:,} in {taken:.2f} s, {taken / count * 1e6:.2f} us each, U {u * 1e6:.2f} us{share}"
    return Row(label, cost, limit, "U per intrinsic", detail)


def _row_additions(run: ops.Run, inputs: dict[str, Any], params: dict[str, Any]) -> float:
    """Return the seconds of the kernel's row additions as bare NumPy calls on rows of a tile's channels."""
    _, channels, points = inputs["grad_output"].shape
    tiles = document_tiles(BOARD, inputs["grad_output"].dtype, C=channels, N=points, M=params["m"])
    row = min(tiles.Co, channels)
    a, b = (np.zeros(8 * row, inputs["grad_output"].dtype) for _ in range(2))
    return run.instructions["bang_add"] * seconds(
        lambda: np.add(a[row : 2 * row], b[:row], out=a[row : 2 * row]), 5000
    )
