"""The cost of checkers: border_align_backward at network scale, checked over unchecked, and the memory."""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.timing import Row
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.engine.preference import NATIVE, PYTHON
from mlusim.machine.device import Device
from mlusim.machine.hub import Observer
from mlusim.machine.native.build import available
from mlusim.observe.coverage import LineCoverage
from mlusim.observe.names import CHECKERS
from mlusim.operators.registry import find_operator, operators
from mlusim.operators.runner import case_generator, run_case
from mlusim.operators.spec import Case, Operator

BOARD = "MLU370-X4"
LIMITS = {
    "memcheck": 1.3, "initcheck": 2.0, "racecheck": 2.5, "synccheck": 1.3, "plancheck": 2.0, "valuecheck": 2.5,
}  # fmt: skip
ALL = 4.0
MEMORY = 4.0
ROUNDS = 7
MORE = 200.0  # ns
TIMES = 20_000
ALL_OPERATORS = 90.0  # s of CPU
COVERED = 1.10
COVERED_RUNS = 10
SHADOWS = 3.0  # times the bytes that a launch accesses
KEEPS_NOTHING = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}  # so that freed memory is returned
PEAK = """import sys
from pathlib import Path
from benchmarks.checkers import native_case
def kib(name):
    return int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0])
native_case(sys.argv[1:])  # what is translated and compiled is so by now
Path("/proc/self/clear_refs").write_text("5")
before = kib("VmRSS")
native_case(sys.argv[1:])
print(kib("VmHWM") - before)
"""
ADDS = """#include <bang.h>
__nram__ float a[1024], b[1024];
__mlu_entry__ void Adds(float *x, int times) {
  __memcpy(a, x, 4096, GDRAM2NRAM);
  for (int i = 0; i < times; ++i) __bang_add(b, a, a, 1024);
  __memcpy(x, b, 4096, NRAM2GDRAM);
}
"""


def checkers() -> Iterator[Row]:
    """Yield the cost of each checker alone, of all together, and the memory of all together."""
    for name in CHECKERS:
        yield _time(f"{name} on border_align_backward", (name,), LIMITS[name])
    yield _time("all checkers on border_align_backward", tuple(CHECKERS), ALL)
    yield _memory()
    if available() is not None:
        yield _time("all checkers in C on border_align_backward", tuple(CHECKERS), ALL, NATIVE)
        yield _one_instruction()
        yield _coverage()
        yield _operators()
        if sys.platform == "linux":
            yield _shadows()


def _coverage() -> Row:
    """Return the cost of counting lines and branches in C: the case of the table, repeated until its start-up no longer counts."""

    def seconds(*observe: Observer) -> float:
        operator, case = _case()
        start = time.process_time()
        for _ in range(COVERED_RUNS):
            run_case(operator, case, board=BOARD, observe=observe, reference=False, engine=NATIVE)
        return time.process_time() - start

    seconds(LineCoverage())
    seconds()
    pairs = [(seconds(LineCoverage()), seconds()) for _ in range(ROUNDS)]
    counted, plain = (min(pair[n] for pair in pairs) for n in (0, 1))
    detail = f"{counted * 1e3:.0f} ms for {COVERED_RUNS} runs, not counted {plain * 1e3:.0f} ms"
    return Row("coverage in C of border_align_backward", counted / plain, COVERED, "x not counted", detail)


def _operators() -> Row:
    """Return the time of every case of every operator at network shapes, under all checkers in C."""
    cases = [
        (operator, case)
        for operator in operators().values()
        for case in operator.cases
        if case.group == "network"
    ]
    start = time.process_time()
    for operator, case in cases:
        run_case(operator, case, board=BOARD, observe=tuple(CHECKERS), reference=False, engine=NATIVE)
    return Row(
        "all operators at network shapes, all checkers in C",
        time.process_time() - start,
        ALL_OPERATORS,
        "s of CPU",
        f"{len(cases)} cases on an {BOARD}",
    )


def native_case(observe: Sequence[str]) -> None:
    """Run the case of the table once in C under the checkers *observe*."""
    _seconds(tuple(observe), NATIVE)


def _shadows() -> Row:
    """Return how much more memory a run in C takes at its peak under all checkers than without, over the bytes that it accesses; on Linux."""
    peaks = [
        int(
            subprocess.run(  # noqa: S603 - ours
                [sys.executable, "-c", PEAK, *names],
                capture_output=True,
                check=True,
                text=True,
                env=KEEPS_NOTHING,
            ).stdout.split()[-1]
        )
        << 10
        for names in (tuple(CHECKERS), ())
    ]
    touched = _simulated()
    more = max(peaks[0] - peaks[1], 0)
    detail = f"{more / 2**20:.0f} MiB for {touched / 2**20:.0f} MiB"
    return Row("memory of all checkers in C", more / touched, SHADOWS, "x bytes touched", detail)


def _case() -> tuple[Operator, Case]:
    operator = find_operator("border_align_backward")
    return operator, next(c for c in operator.cases if c.group == "network")


def _simulated() -> int:
    """Return the bytes of the tensors of the case, and of NRAM of every core that runs at once."""
    operator, case = _case()
    inputs, params = case.make(case_generator(case))
    shapes = operator.shapes(inputs, params)
    tensors = sum(a.nbytes for a in inputs.values())
    tensors += sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
    board = find_board(BOARD)
    done = run_case(operator, case, board=BOARD, reference=False)
    return tensors + board.cores * done.memory["NRAM"].capacity


def _seconds(observe: Sequence[str], engine: str) -> float:
    """Return the processor seconds of one run; other work on the machine does not count."""
    operator, case = _case()
    start = time.process_time()
    run_case(operator, case, board=BOARD, observe=observe, reference=False, engine=engine)
    return time.process_time() - start


def _time(work: str, observe: Sequence[str], limit: float, engine: str = PYTHON) -> Row:
    _seconds(observe, engine)  # the first run compiles
    pairs = [(_seconds(observe, engine), _seconds((), engine)) for _ in range(ROUNDS)]
    checked, plain = (min(pair[n] for pair in pairs) for n in (0, 1))  # other work only ever adds
    return Row(
        work, checked / plain, limit, "x unchecked", f"{checked * 1e3:.0f} ms, unchecked {plain * 1e3:.0f} ms"
    )


def _one_instruction() -> Row:
    """Return the time that all checkers add to one ``__bang_add`` of 1,024 floats in C."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adds.mlu"
        path.write_text(ADDS, encoding="utf-8")
        kernel = bangc.load(path)["Adds"]

    def nanoseconds(observe: Sequence[str]) -> float:
        device = Device(BOARD)
        arguments = device.put(np.ones(1024, np.float32)), TIMES
        start = time.process_time()
        device.launch(kernel, args=arguments, observe=observe, engine=NATIVE)
        return (time.process_time() - start) / TIMES * 1e9

    for observe in ((), tuple(CHECKERS)):
        nanoseconds(observe)
    pairs = [(nanoseconds(tuple(CHECKERS)), nanoseconds(())) for _ in range(ROUNDS)]
    checked, plain = (min(pair[n] for pair in pairs) for n in (0, 1))
    return Row(
        "all checkers in C on __bang_add of 1,024 floats",
        checked - plain,
        MORE,
        "ns more",
        f"{checked:.0f} ns, unchecked {plain:.0f} ns",
    )


def _memory() -> Row:
    """Return the peak memory of Python and NumPy under all checkers over the simulated memory in use.

    In use are the tensors, and NRAM and SRAM of every core and cluster that runs at once.
    """
    operator, case = _case()
    run_case(operator, case, board=BOARD, observe=tuple(CHECKERS), reference=False)
    tracemalloc.start()
    try:
        run_case(operator, case, board=BOARD, observe=tuple(CHECKERS), reference=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    simulated = _simulated()
    detail = f"{peak / 2**20:.0f} MiB for {simulated / 2**20:.0f} MiB"
    return Row("memory of all checkers", peak / simulated, MEMORY, "x simulated memory", detail)
