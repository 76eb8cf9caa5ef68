"""Launches on two threads against one: the wall, which wants a quiet machine, and the processor time of what remains in order."""

import contextlib
import functools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from attrs import define, field

import mlusim
import ops
from benchmarks.operators import BOARD, _network
from benchmarks.timing import Row
from mlusim import bangc
from mlusim.engine.preference import on_threads
from mlusim.machine.device import Device
from mlusim.machine.native.beside import Threads

MANY = 2
WANTED = 1.8  # times as fast on two cores
CHECKS = ("memcheck", "initcheck", "racecheck", "synccheck", "valuecheck")
ELEMENTS = 4 << 20
TEXT = """\
#define TILE 16384
__mlu_global__ void add(const float *x, const float *y, float *z, int n) {
  __nram__ float a[TILE];
  __nram__ float b[TILE];
  int each = (n + taskDim - 1) / taskDim;
  int first = taskId * each, end = first + each < n ? first + each : n;
  for (int at = first; at < end; at += TILE) {
    int m = end - at < TILE ? end - at : TILE;
    __memcpy(a, x + at, m * sizeof(float), GDRAM2NRAM);
    __memcpy(b, y + at, m * sizeof(float), GDRAM2NRAM);
    __bang_add(a, a, b, m);
    __memcpy(z + at, a, m * sizeof(float), NRAM2GDRAM);
  }
}
"""


@define
class Spent:
    """The seconds that the launches of one call took: by the clock, in the launching thread, and in each thread's tasks."""

    wall: float = 0.0
    launching: float = 0.0
    tasks: list[float] = field(factory=lambda: [0.0] * MANY)  # the first are those in the launching thread
    threads: list[int] = field(factory=list)

    @property
    def span(self) -> float:
        """Seconds of processor time one after the other, however many cores there are."""
        return self.launching - self.tasks[0] + max(self.tasks)


@contextlib.contextmanager
def _measured() -> Iterator[Spent]:
    """Note what the launches in the block take."""
    spent = Spent()
    launch, work = Device.launch_with, Threads._work  # noqa: SLF001 - what a thread does is timed

    def launched(device: Device, *given: Any) -> Any:
        wall, own = time.perf_counter(), time.thread_time()
        result = launch(device, *given)
        spent.wall += time.perf_counter() - wall
        spent.launching += time.thread_time() - own
        spent.threads.append(result.threads)
        return result

    def worked(threads: Any, place: int) -> None:
        own = time.thread_time()
        work(threads, place)
        spent.tasks[place] += time.thread_time() - own

    with mock.patch.object(Device, "launch_with", launched), mock.patch.object(Threads, "_work", worked):
        yield spent


def threads() -> Iterator[Row]:
    """Each case on one thread and on two, without checkers and with them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "add.mlu"
        path.write_text(TEXT)
        for name, work in _cases(bangc.load([path], board=BOARD)["add"]):
            for words, checks in (("", ()), (", checked", CHECKS)):
                yield from _rows(f"{name}{words}", functools.partial(work, checks))


def _cases(add: Any) -> Iterator[tuple[str, Callable[[tuple[str, ...]], Any]]]:
    yield f"add of {ELEMENTS >> 20} M floats", functools.partial(_add, add)
    wanted = {"border_align_backward [2,950,4,256]", "three_interpolate_backward case_7"}
    for name, inputs, params, _, label in _network():
        if label in wanted:
            yield label, functools.partial(_operator, name, inputs, params)


def _add(kernel: Any, checks: tuple[str, ...]) -> None:
    device = mlusim.Device(BOARD)
    x, y = (device.share(np.ones(ELEMENTS, np.float32)) for _ in range(2))
    z = device.empty(ELEMENTS, "float")
    device.launch(kernel, 32, args=(x, y, z, ELEMENTS), engine="native", observe=checks)


def _operator(name: str, inputs: Any, params: Any, checks: tuple[str, ...]) -> None:
    ops.run(name, inputs, params, board=BOARD, engine="native", observe=checks)


def _rows(name: str, work: Callable[[], Any]) -> Iterator[Row]:
    """The best of five on each number of threads, in turn."""
    found: dict[int, list[Spent]] = {1: [], MANY: []}
    for _ in range(6):
        for many, several in found.items():
            with on_threads(many), _measured() as spent:
                work()
            several.append(spent)
    one, two = (several[1:] for several in found.values())  # the first compiles
    wall = min(s.wall for s in two) / min(s.wall for s in one)
    alone, best = min(s.launching for s in one), min(two, key=lambda s: s.span)
    tasks = " + ".join(f"{1e3 * part:.1f}" for part in best.tasks)
    ran = "/".join(map(str, best.threads))
    yield Row(f"{name}, wall", wall, 1 / WANTED, "of one thread", f"ran on {ran} threads")
    yield Row(
        f"{name}, CPU in a row",
        best.span / alone,
        1 / WANTED,
        "of one thread",
        f"{1e3 * (best.launching - best.tasks[0]):.1f} ms in order, tasks {tasks}, alone {1e3 * alone:.1f}",
    )
