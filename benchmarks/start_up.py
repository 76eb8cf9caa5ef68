"""The cost of starting a command: CPU of a process, and the number of modules that it loads."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.timing import Row
from mlusim.cli.verbs import VERBS

QUIET = 5  # runs; the least counts
HELP, RUN, IMPORT = 0.2, 0.4, 0.03  # seconds of CPU on a quiet machine
COUNTED = (
    "import runpy, sys, atexit\natexit.register(lambda: sys.stderr.write(f'modules {len(sys.modules)}'))\n"
)
PROGRAM = COUNTED + "sys.argv[:] = ['mlusim', *sys.argv[1:]]\nrunpy.run_module('mlusim', run_name='__main__')"
KERNEL = """\
__nram__ float buffer[1024];
__mlu_global__ void Scale(float *out, const float *src, int n) {
  __memcpy(buffer, src, n * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, 2.f, 1024);
  __memcpy(out, buffer, n * sizeof(float), NRAM2GDRAM);
}
"""


def start_up() -> Iterator[Row]:
    """Yield the help of every verb, one intrinsic, a small file that is already translated, and the import alone."""
    for verb in VERBS:
        yield _row(f"mlusim {verb.name} --help", [verb.name, "--help"], HELP)
    yield _row("mlusim run --no-such-option", ["run", "--no-such-option"], HELP)
    yield _row("mlusim isa bang_add", ["isa", "bang_add"], HELP)
    with tempfile.TemporaryDirectory() as folder:
        source, array = Path(folder, "scale.mlu"), Path(folder, "x.npy")
        source.write_text(KERNEL, encoding="utf-8")
        np.save(array, np.ones(1024, np.float32))
        words = [
            "run",
            str(source),
            "--arg",
            "out=out:float32:1024",
            "--arg",
            f"src={array}",
            "--arg",
            "n=1024",
        ]
        yield _row("mlusim run of a small file, translated before", words, RUN)
    seconds, _ = _least([sys.executable, "-c", "pass"])
    whole, _ = _least([sys.executable, "-c", "import mlusim"])
    yield Row("import mlusim", whole - seconds, IMPORT, "s", "")


def _row(work: str, words: Sequence[str], limit: float) -> Row:
    seconds, told = _least([sys.executable, "-c", PROGRAM, *words])
    return Row(
        work,
        seconds,
        limit,
        "s of CPU",
        told.rpartition("\n")[2].rpartition("modules")[2].strip() + " modules",
    )


def _least(words: Sequence[str]) -> tuple[float, str]:
    """Return the least CPU of the process *words* over several runs, and its output on standard error."""
    times = []
    for _ in range(QUIET):
        before = os.times()
        told = subprocess.run(words, capture_output=True, text=True, check=False).stderr  # noqa: S603 - this Python
        after = os.times()
        times.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return min(times), told
