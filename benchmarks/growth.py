"""Cost against size for ten kinds of growing work: ``python -m benchmarks growth [--page FILE]``.

Each kind runs at five sizes, each twice the previous one.  The table gives the cost of one more unit at the small and
at the large end: for a straight line both are the same, and otherwise a reason stands beside it.
"""

import gc
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

import mlusim
from benchmarks.pages import put_between
from mlusim import bangc

BOARD = "MLU370-X4"
BEGIN, END = "<!-- python -m benchmarks growth -->", "<!-- end -->"
BENT = 1.6  # a line is not straight if one more unit costs this many times the small end's cost
ROUNDS = 7
TEXT = """\
__nram__ float own[1024];
__mlu_global__ void one(float *a, int n) { __memcpy(own, a + taskId % 64, 4, GDRAM2NRAM); __bang_add(own, own, own, 32); }
__mlu_global__ void barriers(float *a, int n) { for (int i = 0; i < n; ++i) { __sync_cluster(); } }
__mlu_global__ void bytes(float *a, int n) { for (int i = 0; i < n; ++i) { __memcpy(own, a + i * 1024, 4096, GDRAM2NRAM); } }
__mlu_global__ void says(float *a, int n) { for (int i = 0; i < n; ++i) { __bang_printf("%d", i); } }
"""


@frozen
class Shape:
    """A kind of growing work: the sizes, a function that prepares the work of one size, and the reason if the line is not straight."""

    name: str
    sizes: Sequence[int]
    make: Callable[[int], Callable[[], object]]
    reason: str = ""


def shapes(folder: Path) -> Iterator[Shape]:
    """Yield the ten kinds."""
    (folder / "growth.mlu").write_text(TEXT, encoding="utf-8")
    kernels = bangc.load([str(folder / "growth.mlu")], board=BOARD)

    def launch(
        name: str, dim: Any, n: int, kind: Any = mlusim.BLOCK, floats: int = 64, times: int = 1, **how: Any
    ) -> Callable[[], object]:
        device = mlusim.Device(BOARD)
        tensor = device.put(np.zeros(floats, np.float32))
        options: dict[str, Any] = {"engine": "native", **how}

        def run() -> None:
            for _ in range(times):
                device.launch(kernels[name], dim, kind, (tensor, n), **options)

        return run

    yield Shape(
        "Block tasks of a launch",
        _doubled(256),
        lambda n: launch("one", n, 0),
        "each task has a row of 300 bytes of counters, which fill the second-level cache",
    )
    yield Shape(
        "barriers of a union",
        _doubled(256),
        lambda n: launch("barriers", 4, n, mlusim.UNION1),
    )
    yield Shape(
        "KiB of copies",
        _doubled(4096),
        lambda n: launch("bytes", 1, n // 4, floats=n * 256),
        "not straight: more than the caches hold",
    )
    yield Shape("launches of a process", _doubled(256), lambda n: launch("one", 1, 0, times=n))
    yield Shape("lines of a kernel", _doubled(64), lambda n: _lines(folder, n))
    yield Shape("allocations of a device", _doubled(1024), _allocations)
    yield Shape("prints of a launch", _doubled(128), lambda n: launch("says", 1, n))
    yield Shape("findings of a launch", _doubled(8), lambda n: _findings(folder, n))
    yield Shape("tensors that are freed in another order", _doubled(1024), _tensors)
    yield Shape("kernels of a module", _doubled(8), lambda n: _kernels(folder, n))


def _doubled(first: int) -> list[int]:
    return [first << n for n in range(5)]


def _loading(folder: Path, name: str, text: str) -> Callable[[], object]:
    """Return the loading of BANG C that is in no cache."""
    path, turns = folder / name, iter(range(1 << 20))

    def run() -> None:
        path.write_text(f"// {next(turns)}\n{text}", encoding="utf-8")
        bangc.load([str(path)], board=BOARD)

    return run


def _lines(folder: Path, many: int) -> Callable[[], object]:
    body = "\n".join(f"  out[{n}] = out[{n + 1}] * {n} + n;" for n in range(many))
    return _loading(
        folder, f"lines{many}.mlu", f"__mlu_global__ void lines(float *out, int n) {{\n{body}\n}}\n"
    )


def _kernels(folder: Path, many: int) -> Callable[[], object]:
    text = "\n".join(f"__mlu_global__ void k{n}(float *out, int n) {{ out[n] = {n}; }}" for n in range(many))
    return _loading(folder, f"kernels{many}.mlu", text)


def _allocations(many: int) -> Callable[[], object]:
    def run() -> None:
        device = mlusim.Device(BOARD)
        for _ in range(many):
            device.empty(16, "float")

    return run


def _tensors(many: int) -> Callable[[], object]:
    def run() -> None:
        device = mlusim.Device(BOARD)
        tensors = [device.empty(16, "float") for _ in range(many)]
        for tensor in tensors[::2] + tensors[1::2]:
            device.free(tensor)

    return run


def _findings(folder: Path, many: int) -> Callable[[], object]:
    """Return a launch of a kernel with *many* lines, each of which reads uninitialized memory."""
    path = folder / f"findings{many}.mlu"
    lines = "\n".join(f"  if (own[{n}] > 1.0f) {{ out[0] = {n}; }}" for n in range(many))
    path.write_text(
        f"__nram__ float own[{many}];\n__mlu_global__ void unread(float *out) {{\n{lines}\n}}\n",
        encoding="utf-8",
    )
    kernel, device = bangc.load([str(path)], board=BOARD)["unread"], mlusim.Device(BOARD)
    out = device.empty(1, "float")

    def run() -> None:
        launch = device.launch(kernel, 1, args=(out,), observe=("initcheck",))
        if len(launch.findings) < many:
            raise RuntimeError(f"{len(launch.findings)} findings of {many}")

    return run


def _cost(run: Callable[[], object]) -> float:
    """Return the least CPU time in ms over some rounds, including the processes that they start; the first round is not measured."""
    gc.collect()  # of what earlier shapes left; in each round it would empty the processor's caches
    run()
    least = float("inf")
    for _ in range(ROUNDS):
        start = _spent()
        run()
        least = min(least, _spent() - start)
    return 1e3 * least


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measured() -> Iterator[tuple[Shape, list[float]]]:
    """Yield each kind with its cost at each size, in ms of CPU."""
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes(Path(folder)):
            yield shape, [_cost(shape.make(size)) for size in shape.sizes]


def bend(sizes: Sequence[int], costs: Sequence[float]) -> tuple[float, float]:
    """Return the cost of one more unit over the small half of *sizes* and over the last doubling, in us."""
    small = 1e3 * (costs[2] - costs[0]) / (sizes[2] - sizes[0])
    large = 1e3 * (costs[-1] - costs[-2]) / (sizes[-1] - sizes[-2])
    return small, large


def lines(rows: Iterator[tuple[Shape, list[float]]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| growing work | sizes | ms of CPU | one more, small end | large end | line |"
    yield "| --- | --- | --- | ---: | ---: | --- |"
    for shape, costs in rows:
        small, large = bend(shape.sizes, costs)
        straight = large <= BENT * max(small, 1e-3)
        how = "straight" if straight else shape.reason or "not straight, for a reason that is not known"
        sizes, shown = ", ".join(f"{n:,}" for n in shape.sizes), ", ".join(f"{cost:.3g}" for cost in costs)
        yield f"| {shape.name} | {sizes} | {shown} | {small:.3g} us | {large:.3g} us | {how} |"


def main(words: list[str]) -> int:
    """Print the table, or write it to the page that is named."""
    told = list(lines(measured()))
    if words[:1] == ["--page"] and len(words) == 2:
        put_between(Path(words[1]), "\n".join(told), BEGIN, END)
        return 0
    for line in told:
        print(line)
    return 0
