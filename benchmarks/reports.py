"""The default report of each operator: its CPU time with all processes that it starts, with an empty folder of compiled files and once more."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping

from benchmarks.timing import Row, cpu_of
from mlusim.files.user_cache import FOLDER
from mlusim.operators.registry import operators

LIMIT = 20.0  # seconds of CPU


def reports() -> Iterator[Row]:
    """Yield each operator twice: the first report compiles its kernels, the second finds them compiled."""
    for name in operators():
        with tempfile.TemporaryDirectory() as folder:
            first, second = (_cpu(name, {FOLDER: folder}) for _ in range(2))
        yield Row(f"report {name}", first, LIMIT, "s of CPU", f"{second:.1f} s where all is compiled")


def _cpu(name: str, more: Mapping[str, str]) -> float:
    words = [sys.executable, "-m", "mlusim", "report", name]
    _, spent = cpu_of(
        lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **more})  # noqa: S603 - ours
    )
    return spent
