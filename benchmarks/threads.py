"""Launches on two threads against one: wall time, which needs a quiet machine, and the processor time of the longest sequence."""

import contextlib
import ctypes
import functools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
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
from mlusim.machine.native.build import load
from mlusim.machine.native.run import Loaded
from mlusim.machine.native.threads import Threads

MANY = 2
WANTED = 1.8  # times faster on two cores
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

# The same bytes in C alone, by two calls of one function: the memory bandwidth that the machine gives one
# core and two.
BARE = """\
#include <string.h>
enum { TILE = 16384 };
__attribute__((visibility("default"))) void copies(const float *x, const float *y, float *z, long n) {
  static __thread float a[TILE] __attribute__((aligned(64))), b[TILE] __attribute__((aligned(64)));
  for (long at = 0; at < n; at += TILE) {
    memcpy(a, x + at, sizeof a); memcpy(b, y + at, sizeof b);
    for (int i = 0; i < TILE; i++) a[i] += b[i];
    memcpy(z + at, a, sizeof a);
  }
}
"""


@define
class Spent:
    """The seconds of the launches of one call: by the clock, in the launching thread, and in each thread's tasks."""

    wall: float = 0.0
    launching: float = 0.0
    tasks: list[float] = field(factory=lambda: [0.0] * MANY)  # the first is that of the launching thread
    threads: list[int] = field(factory=list)

    @property
    def span(self) -> float:
        """Return the processor seconds of the longest sequence, whatever the number of cores."""
        return self.launching - self.tasks[0] + max(self.tasks)


@contextlib.contextmanager
def _measured() -> Iterator[Spent]:
    """Record the time of the launches in the block."""
    spent = Spent()
    launch, work = Device.launch_with, Threads._work  # noqa: SLF001 - the work of a thread is timed
    crew = Loaded.run_crew

    def launched(device: Device, *arguments: Any) -> Any:
        wall, before = time.perf_counter(), time.thread_time()
        result = launch(device, *arguments)
        spent.wall += time.perf_counter() - wall
        spent.launching += time.thread_time() - before
        spent.threads.append(result.threads)
        return result

    def worked(threads: Any, place: int) -> None:
        before = time.thread_time()
        work(threads, place)
        spent.tasks[place] += time.thread_time() - before

    def shared(loaded: Loaded, *arguments: Any) -> None:
        before = time.thread_time()
        crew(loaded, *arguments)
        launches = threading.current_thread() is threading.main_thread()
        spent.tasks[0 if launches else 1] += time.thread_time() - before

    with (
        mock.patch.object(Device, "launch_with", launched),
        mock.patch.object(Threads, "_work", worked),
        mock.patch.object(Loaded, "run_crew", shared),
    ):
        yield spent


def threads() -> Iterator[Row]:
    """Yield each case on one thread and on two, without and with checkers; and the gain that two cores allow there."""
    yield _bare()
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


def _bare() -> Row:
    """Return the time of the addition of floats in C alone on two threads, against one."""
    # a function of the library's PyDLL would keep Python's lock
    address = ctypes.cast(load(BARE).copies, ctypes.c_void_p).value
    copies = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_long)(address or 0)
    x, y, z = (np.ones(ELEMENTS, np.float32) for _ in range(3))

    def part(place: int, many: int) -> None:
        each = ELEMENTS // many
        copies(*(array.ctypes.data + place * each * array.itemsize for array in (x, y, z)), each)

    times: dict[int, list[float]] = {1: [], MANY: []}
    with futures.ThreadPoolExecutor(MANY - 1) as pool:
        for _ in range(12):
            for many, several in times.items():
                start = time.perf_counter()
                others = [pool.submit(part, place, many) for place in range(1, many)]
                part(0, many)
                futures.wait(others)
                several.append(time.perf_counter() - start)
    single, two = (min(several) for several in times.values())
    detail = f"{1e3 * two:.1f} of {1e3 * single:.1f} ms: what the machine allows"
    return Row(
        f"add of {ELEMENTS >> 20} M floats in C alone, wall",
        two / single,
        1 / WANTED,
        "of one thread",
        detail,
    )


def _rows(name: str, work: Callable[[], Any]) -> Iterator[Row]:
    """Yield the best of five on each number of threads, in turn."""
    spent_on: dict[int, list[Spent]] = {1: [], MANY: []}
    for _ in range(6):
        for many, several in spent_on.items():
            with on_threads(many), _measured() as spent:
                work()
            several.append(spent)
    single, two = (several[1:] for several in spent_on.values())  # the first compiles
    wall = min(s.wall for s in two) / min(s.wall for s in single)
    alone, best = min(s.launching for s in single), min(two, key=lambda s: s.span)
    tasks = " + ".join(f"{1e3 * part:.1f}" for part in best.tasks)
    ran = "/".join(map(str, best.threads))
    took = f"{1e3 * min(s.wall for s in two):.1f} of {1e3 * min(s.wall for s in single):.1f} ms"
    yield Row(f"{name}, wall", wall, 1 / WANTED, "of one thread", f"{took}, ran on {ran} threads")
    yield Row(
        f"{name}, CPU in a row",
        best.span / alone,
        1 / WANTED,
        "of one thread",
        f"{1e3 * (best.launching - best.tasks[0]):.1f} ms in order, tasks {tasks}, alone {1e3 * alone:.1f}",
    )
