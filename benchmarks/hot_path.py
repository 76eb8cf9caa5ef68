"""The hot path: one intrinsic, one copy, one tiled launch, one operator."""

from collections.abc import Callable, Iterator

import numpy as np

import mlusim
from benchmarks.timing import Row, ratio
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel

FLOATS = 163840


def hot_path() -> Iterator[Row]:
    """Yield the ratios for intrinsics and copies inside a kernel, with all counters and no observer."""
    rows: list[Row] = []
    device = mlusim.Device("MLU370-X4")
    source = device.put(np.zeros(FLOATS, np.float32))
    device.launch(_measure, args=(source, rows.append))
    yield from rows
    yield tiled_add()


@kernel
def _measure(mlu: Mlu, g: Ptr, note: Callable[[Row], None]) -> None:
    nram = mlu.nram(float32, FLOATS)
    x = np.zeros(FLOATS, np.float32)
    for n, limit in ((64, 4.0), (1024, 4.0), (16384, 1.8), (163840, 1.15)):
        apart = FLOATS // 3 if n < FLOATS // 3 else 0  # the largest takes all of NRAM, in place
        i, j, k = 0, apart, 2 * apart

        def raw(n: int = n, i: int = i, j: int = j, k: int = k) -> None:
            np.add(x[i : i + n], x[j : j + n], out=x[k : k + n])

        def ours(n: int = n, i: int = i, j: int = j, k: int = k) -> None:
            mlu.bang_add(nram + k, nram + i, nram + j, n)

        mlu.bang_write_zero(nram, FLOATS)
        got, a, b = ratio(ours, raw, max(20, 2_000_000 // (n + 2000)))
        note(
            Row(
                f"bang_add, {n:,} elements",
                got,
                limit,
                "x raw NumPy",
                f"{a * 1e6:.2f} us, raw {b * 1e6:.2f} us",
            )
        )
    _copies(mlu, nram, g, x, note)


def _copies(mlu: Mlu, nram: Ptr, g: Ptr, x: np.ndarray, note: Callable[[Row], None]) -> None:
    host = np.zeros(FLOATS, np.float32)
    got, a, b = ratio(
        lambda: mlu.memcpy(nram, g, 4 * FLOATS, GDRAM2NRAM), lambda: np.copyto(x, host), number=200
    )
    note(
        Row(
            "memcpy GDRAM2NRAM of 640 KiB",
            got,
            1.15,
            "x np.copyto",
            f"{a * 1e6:.1f} us, raw {b * 1e6:.1f} us",
        )
    )
    got, a, b = ratio(
        lambda: mlu.memcpy(nram, g, 4, GDRAM2NRAM, 8, 32, 999),
        lambda: x.__setitem__(slice(0, 2000, 2), host[0:8000:8]),
        number=2000,
    )
    note(
        Row(
            "strided memcpy, 1,000 segments of 4 bytes",
            got,
            3.0,
            "x NumPy strided assignment",
            f"{a * 1e6:.2f} us, raw {b * 1e6:.2f} us",
        )
    )


TILE, TASKS, COUNT = 16384, 16, 4 << 20


@kernel
def vector_add(mlu: Mlu, z: Ptr, x: Ptr, y: Ptr, count: int) -> None:
    """Add x and y into z, tile by tile."""
    a, b = mlu.nram(float32, TILE), mlu.nram(float32, TILE)
    share = count // mlu.taskDim
    for at in range(mlu.taskId * share, (mlu.taskId + 1) * share, TILE):
        mlu.memcpy(a, x + at, 4 * TILE, GDRAM2NRAM)
        mlu.memcpy(b, y + at, 4 * TILE, GDRAM2NRAM)
        mlu.bang_add(a, a, b, TILE)
        mlu.memcpy(z + at, a, 4 * TILE, NRAM2GDRAM)


def tiled_add() -> Row:
    """Return the cost of a whole launch against the same tile loop in raw NumPy."""
    device = mlusim.Device("MLU370-X4")
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal(COUNT, np.float32) for _ in range(2))
    z = np.empty(COUNT, np.float32)
    tensors = device.empty(COUNT, "float"), device.put(x), device.put(y)

    def raw() -> None:
        a, b = np.empty(TILE, np.float32), np.empty(TILE, np.float32)
        for at in range(0, COUNT, TILE):
            np.copyto(a, x[at : at + TILE])
            np.copyto(b, y[at : at + TILE])
            np.add(a, b, out=a)
            np.copyto(z[at : at + TILE], a)

    def ours() -> None:
        device.launch(vector_add, dim=TASKS, args=(*tensors, COUNT))

    raw()
    ours()
    got, a, b = ratio(ours, raw, number=5)
    assert np.array_equal(z, device.get(tensors[0]))
    return Row(
        "tiled vector add, 4 Mi floats, 16 tasks",
        got,
        2.5,
        "x raw tile loop",
        f"{a * 1e3:.2f} ms, raw {b * 1e3:.2f} ms",
    )
