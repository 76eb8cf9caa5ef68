"""mlusim's native engine as a participant of a bench that runs several interpreters and simulators, each in its own environment.

The bench's driver loads this file by its path, with its module ``cases`` (inputs, references, ``Case``, ``Micro``,
``Overhead``) on the search path::

    python bench_peers.py --sizes net --extra native=/path/to/.venv/bin/python:benchmarks/peers.py

``MLUSIM_PEERS_ENGINE=python`` measures the same kernels on the Python engine, ``MLUSIM_PEERS_CHECKED=1`` under all
checkers.
"""

import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cases as bench  # a module of the bench
import numpy as np

import mlusim
from mlusim import bangc, ops
from mlusim.host import TensorDescriptor
from mlusim.machine.hub import attending
from mlusim.observe.names import CHECKERS
from mlusim.operators.runner import SourceHandle

BOARD = "MLU370-X4"
ENGINE = os.environ.get("MLUSIM_PEERS_ENGINE", "native")
CHECKED = os.environ.get("MLUSIM_PEERS_CHECKED", "") == "1"
MOST = 81920  # floats of each vector when two fill NRAM
VECTOR_ADD = f"""\
__nram__ float na[{bench.TILE}];
__nram__ float nb[{bench.TILE}];
__mlu_global__ void vector_add(float *c, const float *a, const float *b, int per_core) {{
  int base = taskId * per_core;
  for (int o = base; o < base + per_core; o += {bench.TILE}) {{
    __memcpy(na, a + o, {bench.TILE} * 4, GDRAM2NRAM);
    __memcpy(nb, b + o, {bench.TILE} * 4, GDRAM2NRAM);
    __bang_add(na, na, nb, {bench.TILE});
    __memcpy(c + o, na, {bench.TILE} * 4, NRAM2GDRAM);
  }}
}}
"""
ACCUMULATE = f"""\
__nram__ float sum[{MOST}];
__nram__ float more[{MOST}];
__mlu_global__ void accumulate(float *out, const float *a, int n, int times) {{
  __memcpy(sum, out, n * 4, GDRAM2NRAM);
  __memcpy(more, a, n * 4, GDRAM2NRAM);
  for (int i = 0; i < times; ++i) {{ __bang_add(sum, sum, more, n); }}
  __memcpy(out, sum, n * 4, NRAM2GDRAM);
}}
"""
EMPTY = "__mlu_global__ void empty() {}\n"


@functools.cache
def _kernel(name: str, text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.mlu"
        path.write_text(text)
        return bangc.load([path], board=BOARD)[name]


def info() -> dict[str, object]:
    """Return the versions for the bench's table."""
    return {"version": f"mlusim {mlusim.__version__} numpy {np.__version__}, {ENGINE} engine", "threads": 1}


def _described(tensor: Any, layout: str = "ARRAY") -> TensorDescriptor:
    name = tensor.dtype.name
    return TensorDescriptor(tensor.shape, "float" if name == "float32" else name, layout)


def _operator(
    letter: str, size: str, handle: SourceHandle, call: Callable[[SourceHandle], None], out: Any
) -> Any:
    """Return the case of a host function of `ops`, with the kernels of ``kernel.mlu``."""

    def run() -> None:
        handle.launches.clear()
        call(handle)
        engines = [
            launch.engine for launch in handle.launches
        ]  # a launch that only fills an output is not in kernel.mlu
        if handle.last_error or engines[-1] != ENGINE:
            raise RuntimeError(handle.last_error or f"a launch did not run on the {ENGINE} engine")

    return bench.Case(letter, size, f"kernel.mlu, {ENGINE}", run, lambda: handle.device.get(out))


def a_kernel(size: str) -> Any:
    """Return the case of a vector addition in tiles by 16 tasks."""
    a, b = bench.inputs_A(size)
    device = mlusim.Device(BOARD)
    arguments = device.empty(a.shape, np.float32), device.put(a), device.put(b), a.size // bench.CORES
    kernel = _kernel("vector_add", VECTOR_ADD)
    run = functools.partial(device.launch, kernel, dim=(bench.CORES, 1, 1), args=arguments, engine=ENGINE)
    calls = 4 * (a.size // bench.TILE)
    return bench.Case("A", size, f"kernel, {ENGINE}", run, lambda: device.get(arguments[0]), calls)


def b_kernel(size: str) -> Any:
    """Return the case of tin_shift_forward."""
    x, shifts = bench.inputs_B(size)
    handle = SourceHandle(BOARD, engine=ENGINE)
    put = handle.device.put
    dx, ds, out = put(x), put(shifts), handle.device.empty(x.shape, np.float32)

    def call(handle: SourceHandle) -> None:
        ops.host.mluOpTinShiftForward(handle, _described(x), dx, _described(shifts), ds, _described(x), out)

    return _operator("B", size, handle, call, out)


def c_kernel(size: str) -> Any:
    """Return the case of three_interpolate_backward."""
    tensors = bench.inputs_C(size)
    b, c, _, m = bench.SIZES["C"][size]
    result = np.empty((b, c, m), np.float32)
    handle = SourceHandle(BOARD, engine=ENGINE)
    out = handle.device.put(result)
    arguments = [g for t in tensors for g in (_described(t), handle.device.put(t))]

    def call(handle: SourceHandle) -> None:
        ops.host.mluOpThreeInterpolateBackward(handle, *arguments, _described(result), out)

    return _operator("C", size, handle, call, out)


def d_kernel(size: str) -> Any:
    """Return the case of border_align_backward, possible at the bench's net size, where K is H x W."""
    tensors = bench.inputs_D(size)
    n, _, c, h, w = bench.SIZES["D"][size]
    result = np.zeros((n, h, w, 4 * c), np.float32)
    handle = SourceHandle(BOARD, engine=ENGINE)
    out = handle.device.put(result)
    layouts = ("NHWC", "ARRAY", "NHWC")
    arguments = [
        g for t, y in zip(tensors, layouts, strict=True) for g in (_described(t, y), handle.device.put(t))
    ]
    gradient, boxes, argmax = arguments[:2], arguments[2:4], arguments[4:]

    def call(handle: SourceHandle) -> None:
        ops.host.mluOpBorderAlignBackward(
            handle, *gradient, *boxes, *argmax, bench.POOL, _described(result, "NHWC"), out
        )

    return _operator("D", size, handle, call, out)


def cases(sizes: list[str]) -> Iterator[tuple[Callable[[str], Any], str]]:
    """Yield the four operators at each of *sizes*."""
    for make in (a_kernel, b_kernel, c_kernel, d_kernel):
        for size in sizes:
            yield (functools.partial(_checked, make) if CHECKED else make), size


def _checked(make: Callable[[str], Any], size: str) -> Any:
    """Return the case of *make* with runs under all checkers, which must find nothing."""
    case = make(size)
    run = case.run

    def checked() -> None:
        watching = [checker() for checker in CHECKERS.values()]
        with attending(watching):
            run()
        if any(checker.findings for checker in watching):
            raise RuntimeError(f"the checkers report {case.op}")

    case.run, case.variant = checked, f"{case.variant}, all checkers"
    return case


def micros() -> Iterator[Any]:
    """Yield one bang_add for each size of which two vectors fit NRAM."""
    for n in bench.MICRO_SIZES:
        if n <= MOST:
            yield bench.Micro(n, f"bang_add, {ENGINE}", functools.partial(_accumulating, n))


def _accumulating(n: int, times: int) -> Any:
    a, sums = bench.micro_inputs(n)
    device = mlusim.Device(BOARD)
    da, out = device.put(a), [device.put(sums)]
    kernel = _kernel("accumulate", ACCUMULATE)

    def run() -> Callable[[], Any]:
        device.launch(kernel, dim=(1, 1, 1), args=(out[0], da, n, times), engine=ENGINE)
        return lambda: device.get(out[0])

    def reset() -> None:
        out[0] = device.put(sums)

    run.reset = reset  # type: ignore[attr-defined]
    return run


def overheads() -> Iterator[Any]:
    """Yield the launch of an empty kernel."""
    device, kernel = mlusim.Device(BOARD), _kernel("empty", EMPTY)
    yield bench.Overhead(
        f"empty kernel, {ENGINE}",
        lambda programs: device.launch(kernel, dim=(programs, 1, 1), engine=ENGINE),
    )
