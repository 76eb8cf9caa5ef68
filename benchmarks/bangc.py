"""BANG C on the Python engine: a kernel against its Python port, and the translation; CPU time, the best of several rounds."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ops
from benchmarks.timing import Row
from mlusim import bangc
from mlusim.host import Handle
from mlusim.operators.runner import SourceHandle, attempt

KERNEL = Path(ops.__file__).parent / "border_align_backward" / "kernel.mlu"


def bang_c() -> Iterator[Row]:
    """Yield the rows; the limits are the targets that the front end was built for."""
    port, source = _both()
    yield Row(
        "border_align_backward [2, 70, 4, 256], kernel.mlu over kernel.py",
        source / port,
        1.3,
        "x",
        f"{port:.3f} s, {source:.3f} s",
    )
    with tempfile.TemporaryDirectory() as folder:
        yield from _translation(folder)


def _best(work: Callable[[], Any], rounds: int = 5) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _both() -> tuple[float, float]:
    """Time the port and kernel.mlu in turn; return the median seconds of the port and the median ratio of the two."""
    generator = np.random.default_rng(0)
    shape = (2, 70, 4, 256)
    corners = np.sort(generator.uniform(0, (9, 6), (2, 70, 2, 2)), axis=2)
    inputs = {
        "grad_output": generator.standard_normal(shape, np.float32),
        "boxes": corners.reshape(2, 70, 4).astype(np.float32),
        "argmax_idx": generator.integers(0, 10, shape, np.int32, endpoint=True),
    }
    params = {"pool_size": 10, "height": 7, "width": 10}

    def once(handle: Any) -> float:
        start = time.process_time()
        attempt("border_align_backward", inputs, params, handle=handle)
        return time.process_time() - start

    pairs = [(once(Handle("MLU370-X4")), once(SourceHandle("MLU370-X4", engine="python"))) for _ in range(12)]
    port = statistics.median(a for a, _ in pairs[1:])
    return port, port * statistics.median(b / a for a, b in pairs[1:])


def _translation(folder: str) -> Iterator[Row]:
    """Yield the time to translate a file with the headers in the cache, and with the file's own translation in the cache."""
    before = os.environ.get("MLUSIM_CACHE")
    os.environ["MLUSIM_CACHE"] = folder
    try:
        bangc.load([KERNEL])

        def cold() -> None:
            for path in Path(folder).rglob("*.ir"):
                path.unlink()
            bangc.load([KERNEL])

        lines = len(KERNEL.read_text().splitlines())
        yield Row(
            "border_align_backward's kernel.mlu translated, cold", _best(cold), 0.3, "s", f"{lines} lines"
        )
        yield Row("the same from the cache", _best(lambda: bangc.load([KERNEL])), 0.05, "s")
    finally:
        os.environ.pop("MLUSIM_CACHE")
        if before is not None:
            os.environ["MLUSIM_CACHE"] = before
