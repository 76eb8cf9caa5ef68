"""The table by which every change is measured: four works against plain loops in C++ and NumPy, and the cost of a launch.

All run in one process, in turn; the CPU time is the least of some rounds, since other work on the machine slows all
of them.
"""

import ctypes
import functools
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

import mlusim
import ops
from benchmarks.timing import Row
from mlusim import bangc
from mlusim.host import TensorDescriptor
from mlusim.machine.hub import attending
from mlusim.observe.names import CHECKERS
from mlusim.operators.runner import SourceHandle
from ops.three_interpolate_backward.host import tile_layout

BOARD = "MLU370-X4"
OF_TENSORS = 1.55  # times plain loops, by ops.run, which makes a device and an output for each call
ONE, MORE, UNION = (
    30.0,
    1.0,
    5.0,
)  # us of CPU: a launch, each further Block task, each further task of a union with a barrier
ROUNDS = 15
TILE, TASKS = 16384, 16
LOOPS = Path(__file__).with_name("loops.cpp")
TEXT = f"""\
__nram__ float left[{TILE}];
__nram__ float right[{TILE}];
__mlu_global__ void add(float *out, const float *a, const float *b, int each) {{
  for (int at = taskId * each; at < (taskId + 1) * each; at += {TILE}) {{
    __memcpy(left, a + at, {TILE} * 4, GDRAM2NRAM);
    __memcpy(right, b + at, {TILE} * 4, GDRAM2NRAM);
    __bang_add(left, left, right, {TILE});
    __memcpy(out + at, left, {TILE} * 4, NRAM2GDRAM);
  }}
}}
__mlu_global__ void nothing(float *out, int n) {{}}
__mlu_global__ void meets(float *out, int n) {{ __sync_cluster(); }}
"""


@frozen
class Work:
    """One work: functions for C++ in plain loops, C++ by the kernel's tiles, NumPy and a launch; each returns its result.

    *limits* are those of the first launch, in times of C++ by tiles, of C++ in plain loops, and of the launch without
    the checkers.  C++ and the first launch read the same memory, and store to *result*: some pages of a host are slower.
    """

    name: str
    limits: tuple[float, float, float]
    loops: Callable[[], Any]
    tiles: Callable[[], Any]
    arrays: Callable[[], Any]
    launches: dict[str, Callable[[], Any]]
    result: np.ndarray[Any, Any]
    near: float  # the largest allowed difference between results


def table() -> Iterator[Row]:
    """Yield the rows in order; a limit is the engine's result on a machine with other work on it, with the reason for its distance."""
    with tempfile.TemporaryDirectory() as folder:
        for make, library, kernels in works(Path(folder)):
            yield from _work(make(library, kernels))
        yield from _launches(kernels)


def works(folder: Path) -> Iterator[tuple[Callable[[ctypes.CDLL, Any], Work], ctypes.CDLL, Any]]:
    """Yield the functions that make A, B, C and D, with the C++ and the kernels that they are made of, which are compiled in *folder*."""
    (folder / "table.mlu").write_text(TEXT, encoding="utf-8")
    kernels, library = bangc.load([str(folder / "table.mlu")], board=BOARD), _compiled(folder)
    for make in (_add, _shift, _spread, _borders):
        yield make, library, kernels


def _compiled(folder: Path) -> ctypes.CDLL:
    library = folder / "loops.so"
    words = ["g++", "-O2", "-shared", "-fPIC", "-o", str(library), str(LOOPS)]
    subprocess.run(words, check=True)  # noqa: S603 - our own source
    return ctypes.CDLL(str(library))


def _called(function: Any, out: np.ndarray[Any, Any], arguments: Sequence[Any]) -> Callable[[], Any]:
    """Return a call of C++ with arrays and numbers that returns *out*."""
    words = [
        ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int64(a)
        for a in (out, *arguments)
    ]

    def run(*_kept: Any) -> np.ndarray[Any, Any]:
        function(*words)
        return out

    return functools.partial(run, *arguments)  # so that the arrays live as long as the call


def _add(library: ctypes.CDLL, kernels: Any) -> Work:
    many = 1 << 22
    generator = np.random.default_rng(1)
    device = mlusim.Device(BOARD)
    tensors = [
        device.empty(many, "float"),
        *(device.put(generator.random(many, np.float32)) for _ in range(2)),
    ]
    out, a, b = map(device.elements, tensors)
    arguments = *tensors, many // TASKS

    def launch() -> Any:
        device.launch(kernels["add"], TASKS, args=arguments, engine="native")
        return device.elements(tensors[0])

    loops = _called(library.add, out, (a, b, many))
    tiles = _called(library.add_by_tiles, out, (a, b, many, TILE))
    return Work(
        "A, add of 4 Mi floats",
        (0.65, 1.75, 2.2),
        loops,
        tiles,
        lambda: np.add(a, b, out=out),
        {"kernel": launch},
        out,
        0,
    )


def _described(array: np.ndarray[Any, Any], layout: str = "ARRAY") -> TensorDescriptor:
    return TensorDescriptor(array.shape, "float" if array.dtype == np.float32 else array.dtype.name, layout)


def _hosted(
    function: Callable[..., Any],
    out: np.ndarray[Any, Any],
    tensors: Sequence[tuple[Any, str]],
    numbers: Sequence[int] = (),
    layout: str = "ARRAY",
) -> tuple[Callable[[], Any], list[np.ndarray[Any, Any]]]:
    """Return a call of an operator's host function whose kernels C runs, and the arrays of its tensors, the output's first."""
    handle = SourceHandle(BOARD, engine="native")
    result, described = handle.device.put(out), _described(out, layout)
    inputs = [handle.device.put(array) for array, _ in tensors]
    arguments = [
        word
        for tensor, (array, how) in zip(inputs, tensors, strict=True)
        for word in (_described(array, how), tensor)
    ]

    def launch() -> Any:
        handle.launches.clear()
        function(handle, *arguments, *numbers, described, result)
        if handle.last_error:
            raise RuntimeError(handle.last_error)
        return handle.device.elements(result)

    return launch, [handle.device.elements(tensor) for tensor in (result, *inputs)]


def _shift(library: ctypes.CDLL, _: Any) -> Work:
    images, frames, channels, cells, groups = 8, 8, 256, 784, 4
    generator = np.random.default_rng(2)
    data = generator.random((images, frames, channels, cells), np.float32)
    by = generator.integers(-3, 4, (images, groups), np.int32)
    width = channels // groups
    host, (out, data, by) = _hosted(
        ops.host.mluOpTinShiftForward, np.zeros_like(data), [(data, "ARRAY"), (by, "ARRAY")]
    )

    def arrays() -> Any:
        out.fill(0)
        for (image, group), t in np.ndenumerate(by):
            part = slice(group * width, (group + 1) * width)
            low, high = max(t, 0), frames + min(t, 0)
            out[image, low:high, part] = data[image, low - t : high - t, part]
        return out

    arguments = data, by, images, frames, channels, cells, groups
    loops, tiles = (_called(f, out, arguments) for f in (library.shift, library.shift_by_tiles))
    return Work(
        "B, tin_shift [8,8,256,784]", (0.65, 1.7, 2.2), loops, tiles, arrays, {"host function": host}, out, 0
    )


def _spread(library: ctypes.CDLL, _: Any) -> Work:
    batches, channels, n, m = 8, 256, 1024, 512
    generator = np.random.default_rng(3)
    data = generator.standard_normal((batches, channels, n), np.float32)
    to = generator.integers(0, m, (batches, n, 3), np.int32)
    weight = generator.random((batches, n, 3), np.float32)
    host, (out, data, to, weight) = _hosted(
        ops.host.mluOpThreeInterpolateBackward,
        np.zeros((batches, channels, m), np.float32),
        [(data, "ARRAY"), (to, "ARRAY"), (weight, "ARRAY")],
    )
    every = (
        np.arange(batches * channels)[:, None] * m
        + np.repeat(to.reshape(batches, 1, -1), channels, 1).reshape(batches * channels, -1)
    ).ravel()

    def arrays() -> Any:
        values = (data[..., None] * weight[:, None]).ravel()
        return np.bincount(every, values, out.size).reshape(out.shape)

    arguments = data, to, weight, batches, channels, n, m
    places = tile_layout(mlusim.host.Handle(BOARD), "float", channels, n, m, b=batches).values
    loops = _called(library.spread, out, arguments)
    tiles = _called(library.spread_by_tiles, out, (*arguments, places["Co"], places["No"]))
    return Work(
        "C, three_interpolate [8,256,1024]",
        (0.85, 1.25, 2.4),
        loops,
        tiles,
        arrays,
        {"host function": host},
        out,
        1e-3,
    )


def _borders(library: ctypes.CDLL, _: Any) -> Work:
    images, channels, height, width, pool = 2, 256, 25, 42, 10
    k = height * width
    generator = np.random.default_rng(4)
    data = generator.standard_normal((images, k, 4, channels), np.float32)
    largest = generator.integers(0, pool + 1, (images, k, 4, channels), np.int32)
    low = generator.random((images, k, 2), np.float32) * np.float32(0.7) * (width - 1, height - 1)
    high = low + generator.random((images, k, 2), np.float32) * ((width - 1, height - 1) - low)
    boxes = np.concatenate((low, high), -1).astype(np.float32)
    out = np.zeros((images, height, width, 4 * channels), np.float32)
    inputs = {"grad_output": data, "boxes": boxes, "argmax_idx": largest}
    params = {"pool_size": pool, "height": height, "width": width}
    tensors = [(data, "NHWC"), (boxes, "ARRAY"), (largest, "NHWC")]
    host, (out, *arrays) = _hosted(ops.host.mluOpBorderAlignBackward, out, tensors, (pool,), "NHWC")
    arguments = *arrays, images, k, channels, height, width, pool
    loops, tiles = (_called(f, out, arguments) for f in (library.borders, library.borders_by_tiles))

    def run() -> Any:
        done = ops.run("border_align_backward", inputs, params, board=BOARD, engine="native")
        return next(iter(done.outputs.values()))

    both = {"host function": host, "ops.run": run}
    return Work(
        "D, border_align [2,1050,4,256]",
        (0.22, 1.5, 2.45),
        loops,
        tiles,
        functools.partial(_bordered, data, boxes, largest, out.shape, pool),
        both,
        out,
        1e-3,
    )


def _bordered(data: Any, boxes: Any, largest: Any, shape: tuple[int, ...], pool: int) -> Any:
    """Compute border_align_backward over whole arrays."""
    images, height, width, _ = shape
    size = (boxes[..., 2:] - boxes[..., :2]) / np.float32(pool)
    corners = np.stack((boxes[..., :2], boxes[..., :2], boxes[..., 2:], boxes[..., 2:]), 2)
    zero = np.zeros_like(size[..., 0])
    steps = np.stack(
        [
            np.stack(s, -1)
            for s in (
                (size[..., 0], zero),
                (zero, size[..., 1]),
                (-size[..., 0], zero),
                (zero, -size[..., 1]),
            )
        ],
        2,
    )
    cells, parts = [], []
    for axis, most in ((0, width), (1, height)):
        value = np.maximum(corners[..., None, axis] + steps[..., None, axis] * largest, 0)
        low = np.minimum(value.astype(np.int64), most - 1)
        last = low >= most - 1
        share = np.where(last, 0, value - low).astype(np.float32)
        cells.append((low, np.where(last, low, low + 1)))
        parts.append((1 - share, share))
    image = np.arange(images).reshape(-1, 1, 1, 1) * (height * width)
    column = np.arange(data.shape[2] * data.shape[3]).reshape(1, 1, *data.shape[2:])
    sums = np.zeros(int(np.prod(shape)))
    for y in range(2):
        for x in range(2):
            at = (image + cells[1][y] * width + cells[0][x]) * shape[-1] + column
            sums += np.bincount(at.ravel(), (data * parts[1][y] * parts[0][x]).ravel(), sums.size)
    return sums.reshape(shape)


def _checked(launch: Callable[[], Any]) -> None:
    """Launch under all checkers, which must find nothing."""
    watching = [checker() for checker in CHECKERS.values()]
    with attending(watching):
        launch()
    if any(checker.findings for checker in watching):
        raise RuntimeError("the checkers report a work of the table")


def least(runs: Sequence[Callable[[], Any]], rounds: int = ROUNDS) -> list[float]:
    """Return the least CPU seconds of each of *runs*, which run in turn."""
    least = [float("inf")] * len(runs)
    for _ in range(rounds):
        for n, run in enumerate(runs):
            start = time.process_time()
            run()
            least[n] = min(least[n], time.process_time() - start)
    return least


def _work(work: Work) -> Iterator[Row]:
    expected, results = np.array(work.arrays()), []
    for run in (work.loops, *work.launches.values(), work.tiles):
        work.result.fill(np.nan)
        results.append(np.array(run()))
    for result in results:
        if not np.allclose(result, expected, rtol=work.near, atol=work.near):
            raise RuntimeError(f"{work.name}: the results differ by {np.abs(result - expected).max()}")
    if any(result.tobytes() != results[1].tobytes() for result in results[2:-1]):
        raise RuntimeError(f"{work.name}: the bits depend on the way in")
    names = list(work.launches)
    runs: list[Callable[[], Any]] = [
        work.loops,
        work.tiles,
        work.arrays,
        *(work.launches[n] for n in names),
        functools.partial(_checked, work.launches[names[0]]),
    ]
    loops, tiles, arrays, *natives, checked = (1e3 * seconds for seconds in least(runs))
    for name, native in zip(names, natives, strict=True):
        told = f"{native:.1f} ms; g++ {loops:.1f}, by tiles {tiles:.1f}; NumPy {arrays:.1f}"
        of_tiles, of_loops, _ = work.limits
        yield Row(f"{work.name}, {name}", native / tiles, of_tiles, "x g++ by tiles", told)
        plain = of_loops if name == names[0] else OF_TENSORS
        yield Row(f"{work.name}, {name}", native / loops, plain, "x g++", told)
    yield Row(
        f"{work.name}, all checkers", checked / natives[0], work.limits[2], "x native", f"{checked:.1f} ms"
    )


def _launches(kernels: Any) -> Iterator[Row]:
    device = mlusim.Device(BOARD)
    tensor = device.put(np.zeros(64, np.float32))

    def launching(name: str, dim: Any, kind: Any) -> Callable[[], Any]:
        return functools.partial(device.launch, kernels[name], dim, kind, (tensor, 3), engine="native")

    blocks = [launching("nothing", tasks, mlusim.BLOCK) for tasks in (1, 65)]
    meetings = [launching("meets", (4, unions, 1), mlusim.UNION1) for unions in (1, 17)]
    single, many = (
        1e6 * seconds for seconds in least(blocks, 500)
    )  # separately: large work would leave them no cache
    union, unions = (1e6 * seconds for seconds in least(meetings, 200))
    yield Row("a launch of one task", single, ONE, "us", "device.launch, an empty kernel")
    yield Row("each further Block task", (many - single) / 64, MORE, "us", "of 65")
    yield Row(
        "each further task of a union with a barrier",
        (unions - union) / 64,
        UNION,
        "us",
        "of 17 unions of 4 tasks and a memory core",
    )
