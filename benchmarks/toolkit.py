"""A toolkit folder: the time of ``cncc``, of a program's first launch, of a round trip to the simulator, and of a launch.

The CPU time of all processes counts, including the simulator's: other work on the machine changes it little.
"""

import functools
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import mlusim
from benchmarks.timing import Row, cpu_of
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.toolkit.folder import make

BOARD = "MLU370-X4"
EXAMPLE = Path(__file__).parents[1] / "examples" / "13_lab_program.mlu"
COMPILE, KEPT, FIRST = 2.0, 0.3, 1.0  # seconds of CPU
TRIP, LAUNCH = 15.0, 45.0  # us
TIMES, ROUNDS, QUIET = 2000, 20, 2
LAUNCHES = 50_000  # launches of a program: its start of half a second varies by more than 2,000 launches take
KERNEL = "__mlu_global__ void nothing(const float *a, int n) {}\n"
PROGRAM = r"""
#include <cnrt.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
int main(int, char **argv) {
  const int launches = atoi(argv[1]), trips = atoi(argv[2]);
  float *a;
  cnrtQueue_t queue;
  cnrtMalloc((void **)&a, 4096);
  cnrtQueueCreate(&queue);
  cnrtDim3_t dim = {1, 1, 1};
  for (int i = 0; i < launches; ++i) nothing<<<dim, cnrtFuncTypeBlock, queue>>>(a, 1024);
  double least = 1e9;
  for (int round = 0; round < trips; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) cnrtQueueQuery(queue);
    double each = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 200;
    least = each < least ? each : least;
  }
  printf("%g\n", least);
}
"""


def toolkit() -> Iterator[Row]:
    """Yield the time of `cncc` without and with a cache, then of programs."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _rows(Path(folder))


def _rows(folder: Path) -> Iterator[Row]:
    home = folder / "neuware"
    make(home, find_board(BOARD))
    cncc, lab = str(home / "bin" / "cncc"), str(folder / "lab")
    words = [cncc, str(EXAMPLE), "-c", "-o", str(folder / "lab.o")]
    caches = (str(folder / f"cache{n}") for n in range(QUIET))
    cold = min(_two(words, {"XDG_CACHE_HOME": cache}) for cache in caches)
    yield Row(f"cncc {EXAMPLE.name}, headers compiled before", cold, COMPILE, "s of CPU")
    whole, host = _least(words), _least([*words, "--bang-host-only"])
    plain = _least(_clangs(words))
    yield Row(
        "the same, translated before, beyond clang's part",
        whole - plain,
        KEPT,
        "s of CPU",
        f"clang {plain:.2f} s",
    )
    yield Row("of it the start of Python and the driver", host - plain, KEPT, "s of CPU")
    _cpu([cncc, str(EXAMPLE), "-o", lab])
    yield Row(f"{EXAMPLE.name} as a native program, both processes", _least([lab]), FIRST, "s of CPU")
    (folder / "nothing.mlu").write_text(KERNEL + PROGRAM, encoding="utf-8")
    program = str(folder / "nothing")
    _cpu([cncc, str(folder / "nothing.mlu"), "-O2", "-o", program])
    first = _least([program, "1", "0"])
    yield Row("a program with one empty launch, both processes", first, FIRST, "s of CPU")
    native = (_least([program, str(LAUNCHES), "0"]) - first) / LAUNCHES * 1e6
    python = _device_launch(folder)
    yield Row(
        "a launch, both processes",
        native,
        LAUNCH,
        "us of CPU",
        f"device.launch {python:.0f} us",
    )
    told = subprocess.run([program, "1", str(ROUNDS)], capture_output=True, text=True, check=True).stdout  # noqa: S603 - ours
    yield Row("a round trip to the simulator", float(told), TRIP, "us", f"the least of {ROUNDS} times 200")


def _clangs(words: Sequence[str]) -> list[str]:
    """Return the words of the clang command behind those of ``cncc``."""
    told = subprocess.run([*words, "--bang-host-only", "-###"], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return shlex.split(told.stderr.strip().splitlines()[-1])


def _device_launch(folder: Path) -> float:
    """Return the CPU time of a launch of the same kernel from Python, in us."""
    (folder / "kernel.mlu").write_text(KERNEL, encoding="utf-8")
    kernel = bangc.load(str(folder / "kernel.mlu"))["nothing"]
    device = mlusim.Device(find_board(BOARD))
    a = device.put(np.zeros(1024, np.float32))
    device.launch(kernel, 1, args=(a, 1024))
    start = time.process_time()
    for _ in range(TIMES):
        device.launch(kernel, 1, args=(a, 1024))
    return (time.process_time() - start) / TIMES * 1e6


def _two(words: Sequence[str], more: Mapping[str, str]) -> float:
    """Return the CPU time of *words* with only the supplied headers in the cache: another file was translated before."""
    blank = Path(words[-1]).with_name("blank.mlu")
    blank.write_text("__mlu_global__ void nothing() {}\n", encoding="utf-8")
    _cpu([words[0], str(blank), "-c", "-o", words[-1]], more)
    return _cpu(words, more)


def _least(words: Sequence[str]) -> float:
    return min(_cpu(words) for _ in range(QUIET))


def _cpu(words: Sequence[str], more: Mapping[str, str] | None = None) -> float:
    """Return the CPU seconds of *words* and of all processes that they started."""
    environment = {**os.environ, **(more or {})}
    run = functools.partial(subprocess.run, words, check=True, stdout=subprocess.DEVNULL, env=environment)
    return cpu_of(run)[1]
