"""Copy, cast, absolute value and addition, tile by tile on every core, loads and stores overlapped."""

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, kernel

LARGE, TILE = 32768, 16384  # elements of a tile: for one or two operands, for three; two tiles of each fit


def pipeline(mlu, count, tile, load, work, store):
    """Run three stages over the tiles of a task: load tile i, work on i - 1, store i - 2; two buffers of each."""
    tiles = range(mlu.taskId * tile, count, mlu.taskDim * tile)
    for step in range(len(tiles) + 2):
        for stage, at in ((store, step - 2), (load, step), (work, step - 1)):
            if 0 <= at < len(tiles):
                stage(at % 2, tiles[at], min(tile, count - tiles[at]))
        mlu.sync()


@kernel
def clone(mlu, dst, src, count):
    """Copy only: a tile is stored from where it was loaded."""
    buffers = [mlu.nram(float32, LARGE) for _ in range(2)]
    pipeline(
        mlu,
        count,
        LARGE,
        lambda b, at, n: mlu.memcpy_async(buffers[b], src + at, 4 * n, GDRAM2NRAM),
        lambda _b, _at, _n: None,
        lambda b, at, n: mlu.memcpy_async(dst + at, buffers[b], 4 * n, NRAM2GDRAM),
    )


@kernel
def cast(mlu, dst, src, count):
    """Dst = src converted from half to float."""
    narrow = [mlu.nram(half, LARGE) for _ in range(2)]
    wide = [mlu.nram(float32, LARGE) for _ in range(2)]
    pipeline(
        mlu,
        count,
        LARGE,
        lambda b, at, n: mlu.memcpy_async(narrow[b], src + at, 2 * n, GDRAM2NRAM),
        lambda b, _, n: mlu.bang_half2float(wide[b], narrow[b], n),
        lambda b, at, n: mlu.memcpy_async(dst + at, wide[b], 4 * n, NRAM2GDRAM),
    )


@kernel
def absolute(mlu, dst, src, count, tile=TILE):
    """Dst = abs(src)."""
    a, b = ([mlu.nram(float32, tile) for _ in range(2)] for _ in range(2))
    pipeline(
        mlu,
        count,
        tile,
        lambda n, at, size: mlu.memcpy_async(a[n], src + at, 4 * size, GDRAM2NRAM),
        lambda n, _, size: mlu.bang_abs(b[n], a[n], size),
        lambda n, at, size: mlu.memcpy_async(dst + at, b[n], 4 * size, NRAM2GDRAM),
    )


@kernel
def add(mlu, dst, x, y, count):
    """Dst = x + y."""
    a, b, c = ([mlu.nram(float32, TILE) for _ in range(2)] for _ in range(3))

    def load(n, at, size):
        mlu.memcpy_async(a[n], x + at, 4 * size, GDRAM2NRAM)
        mlu.memcpy_async(b[n], y + at, 4 * size, GDRAM2NRAM)

    pipeline(
        mlu,
        count,
        TILE,
        load,
        lambda n, _, size: mlu.bang_add(c[n], a[n], b[n], size),
        lambda n, at, size: mlu.memcpy_async(dst + at, c[n], 4 * size, NRAM2GDRAM),
    )


@kernel
def transpose(mlu, dst, src, rows, columns):
    """Dst = src transposed, element by element: each task gathers whole columns with a strided copy."""
    buffer = mlu.nram(float32, rows)
    for column in range(mlu.taskId, columns, mlu.taskDim):
        mlu.memcpy(buffer, src + column, 4, GDRAM2NRAM, 4, 4 * columns, rows - 1)
        mlu.memcpy(dst + column * rows, buffer, 4 * rows, NRAM2GDRAM)


def run(kernel, board, *sources, out=float32, shape=None, tail=None, cores=None):
    """Run a kernel on all cores (or *cores*); return the launch and the result."""
    device = mlusim.Device(board)
    dst = device.empty(shape or sources[0].shape, out)
    args = (dst, *(device.share(s) for s in sources), *(tail or (sources[0].size,)))
    launch = device.launch(kernel, cores or device.board.cores, args=args)
    return launch, device.take(dst)


if __name__ == "__main__":
    board = "MLU590-M9"
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal((1024, 1024), np.float32) for _ in range(2))
    for name, (launch, got), expected in (
        ("clone", run(clone, board, x), x),
        ("cast", run(cast, board, x.astype(np.float16)), x.astype(np.float16).astype(np.float32)),
        ("abs", run(absolute, board, x), abs(x)),
        ("add", run(add, board, x, y), x + y),
        ("transpose", run(transpose, board, x, tail=x.shape), x.T),
    ):
        rate = launch.io_bytes / launch.time_us / 1000
        same = np.array_equal(expected, got.reshape(expected.shape))
        print(f"{name:9s} {launch.time_us:7.1f} us, {rate:6.0f} GB/s, equal: {same}")
