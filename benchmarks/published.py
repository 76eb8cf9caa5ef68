"""The kernels behind published measurements that no example shows, rewritten from their description; no source is copied.

Each ``run_*`` launches a kernel at a size and returns the launch.
"""

import math

import numpy as np

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    float32,
    half,
    int32,
    kernel,
    uint32,
)

SIDE = 8192  # rows and columns of the transposed matrices


def launched(body, board, dim, args, kind=mlusim.BLOCK):
    """Launch *body* once; arrays among *args* are lent to the device."""
    device = mlusim.Device(board)
    lent = [device.share(a) if isinstance(a, np.ndarray) else a(device) if callable(a) else a for a in args]
    return device.launch(body, dim, kind, lent)


def empty(shape, dtype=np.float32):
    """Return a function that makes a new tensor for an argument."""
    return lambda device: device.empty(shape, dtype)


# -- transpositions of 8192 x 8192 floats ----------------------------------------------------------


@kernel
def gather_transpose(mlu, dst, src, columns, rows):
    """Transpose element by element: compute an address for each, gather a column's elements, store them in a row."""
    buffer, offsets = mlu.nram(float32, SIDE), mlu.nram(uint32, SIDE)
    for i in range(64):
        offsets[i] = 4 * columns * i
    for done in (64 << n for n in range(7)):
        mlu.bang_add_scalar(offsets + done, offsets, 4 * columns * done, done)
    for column in range(mlu.taskId, rows, mlu.taskDim):
        mlu.gather(buffer, src + column, offsets, 4, GDRAM2NRAM, 4, SIDE)
        mlu.memcpy(dst + column * SIDE, buffer, 4 * SIDE, NRAM2GDRAM)


def run_gather_transpose(board, turns):
    """Run *turns* columns on every core."""
    cores = mlusim.Device(board).board.cores
    src = np.zeros((SIDE, turns * cores), np.float32)
    args = (empty(turns * cores * SIDE), src, turns * cores, turns * cores)
    return launched(gather_transpose, board, cores, args)


HIGH, WIDE = 32, 1024  # of a tile


@kernel
def tiled_transpose(mlu, dst, src, side):
    """Transpose one tile per task: load its rows with strides, transpose on chip, store its columns with strides."""
    tile, turned = mlu.nram(float32, HIGH * WIDE), mlu.nram(float32, HIGH * WIDE)
    row, column = divmod(mlu.taskId, side // WIDE)
    mlu.memcpy(
        tile, src + row * HIGH * side + column * WIDE, 4 * WIDE, GDRAM2NRAM, 4 * WIDE, 4 * side, HIGH - 1
    )
    mlu.bang_transpose(turned, tile, HIGH, WIDE)
    mlu.memcpy(
        dst + column * WIDE * side + row * HIGH, turned, 4 * HIGH, NRAM2GDRAM, 4 * side, 4 * HIGH, WIDE - 1
    )


def run_tiled_transpose(board):
    """Run 2,048 tasks of one tile each."""
    src = np.zeros((SIDE, SIDE), np.float32)
    return launched(tiled_transpose, board, SIDE * SIDE // (HIGH * WIDE), (empty(src.shape), src, SIDE))


PLANE = 128  # rows and columns of a tile


@kernel
def piped_transpose(mlu, dst, src, side):
    """Transpose tiles of 128 x 128 in three overlapped stages, load, transpose and store, with two buffers for each."""
    came = [mlu.nram(float32, PLANE * PLANE) for _ in range(2)]
    went = [mlu.nram(float32, PLANE * PLANE) for _ in range(2)]
    across = side // PLANE
    tiles = range(mlu.taskId, across * across, mlu.taskDim)
    stride = 4 * side
    for step in range(len(tiles) + 2):
        if step >= 2:
            row, column = divmod(tiles[step - 2], across)
            mlu.memcpy_async(
                dst + (column * side + row) * PLANE, went[step % 2], 4 * PLANE, NRAM2GDRAM, stride, 4 * PLANE, PLANE - 1
            )  # fmt: skip
        if step < len(tiles):
            row, column = divmod(tiles[step], across)
            mlu.memcpy_async(
                came[step % 2], src + (row * side + column) * PLANE, 4 * PLANE, GDRAM2NRAM, 4 * PLANE, stride, PLANE - 1
            )  # fmt: skip
        if 1 <= step <= len(tiles):
            mlu.bang_transpose(went[(step - 1) % 2], came[(step - 1) % 2], PLANE, PLANE)
        mlu.sync()


def run_piped_transpose(board):
    """Run the piped transposition on all cores."""
    src = np.zeros((SIDE, SIDE), np.float32)
    return launched(piped_transpose, board, mlusim.Device(board).board.cores, (empty(src.shape), src, SIDE))


# -- rows scaled one after the other ---------------------------------------------------------------

SAMPLES, HIDDEN, CAPACITY, EXPERTS = 4608, 1024, 2880, 2


@kernel
def cosine(mlu, out, x, y, rows, width):
    """Work row by row: a blocking load of each side, three products, three sums, a root and a quotient."""
    a, b, c = (mlu.nram(half, width) for _ in range(3))
    result = mlu.nram(half, rows)
    for row in range(rows):
        mlu.memcpy(a, x + row * width, 2 * width, GDRAM2NRAM)
        mlu.memcpy(b, y + row * width, 2 * width, GDRAM2NRAM)
        sums = []
        for first, second in ((a, b), (a, a), (b, b)):
            mlu.bang_mul(c, first, second, width)
            mlu.bang_reduce_sum(c, c, width)
            sums.append(float(c[0]))
        result[row] = sums[0] / math.sqrt(sums[1] * sums[2]) if sums[1] * sums[2] else 0.0
    mlu.memcpy(out, result, 2 * rows, NRAM2GDRAM)


def run_cosine(board):
    """Run 256 rows of 256 halves in one task."""
    x = np.ones((256, 256), np.float16)
    return launched(cosine, board, 1, (empty(256, np.float16), x, x, 256, 256))


# -- interpolation between three features ----------------------------------------------------------


@kernel
def three_interpolate(mlu, out, features, indices, weights, shape, tile):
    """Interpolate tile by tile over outputs and channels: transpose, pick rows by scalar indices, transpose back, multiply, add."""
    if mlu.is_mpu():
        return
    batches, channels, m, n = shape
    kind, (c, step) = features.dtype, tile
    wide = -(-m // (128 // kind.size)) * (128 // kind.size)  # MLU2xx transposes rows of whole lines
    feature, turned = mlu.nram(kind, max(c * wide, c * step)), mlu.nram(kind, c * wide)
    picked, total = mlu.nram(kind, c * step), mlu.nram(kind, c * step)
    packed, weight = mlu.nram(kind, 3 * step), mlu.nram(kind, 3 * step)
    raw, index = mlu.nram(int32, 3 * step), mlu.nram(int32, 3 * step)
    works = [(b, at) for b in range(batches) for at in range(0, n, step)]
    for b, at in works[mlu.taskId :: mlu.taskDim]:
        mlu.memcpy(raw, indices + (b * n + at) * 3, 12 * step, GDRAM2NRAM)
        mlu.memcpy(packed, weights + (b * n + at) * 3, 3 * step * kind.size, GDRAM2NRAM)
        for k in range(3):
            mlu.memcpy(index + k * step, raw + k, 4, NRAM2NRAM, 4, 12, step - 1)
            mlu.memcpy(
                weight + k * step, packed + k, kind.size, NRAM2NRAM, kind.size, 3 * kind.size, step - 1
            )
        for first in range(0, channels, c):
            mlu.bang_write_zero(total, c * step)
            source = features + (b * channels + first) * m
            mlu.memcpy(feature, source, m * kind.size, GDRAM2NRAM, wide * kind.size, m * kind.size, c - 1)
            mlu.bang_transpose(turned, feature, c, wide)
            for k in range(3):
                mlu.bang_write_zero(feature, c * step)
                for s in range(step):
                    mlu.memcpy(
                        feature + s * c, turned + int(index[k * step + s]) * c, c * kind.size, NRAM2NRAM
                    )
                mlu.bang_transpose(picked, feature, step, c)
                mlu.bang_cycle_mul(picked, picked, weight + k * step, c * step, step)
                mlu.bang_add(total, picked, total, c * step)
            mlu.memcpy(
                out + (b * channels + first) * n + at, total, step * kind.size, NRAM2GDRAM, n * kind.size,
                step * kind.size, c - 1,
            )  # fmt: skip


def run_three_interpolate(board, batches, c, m, n, tile, dtype=np.float32):
    """Run *c* channels, *m* features and *n* outputs per batch; *tile*: channels and outputs at a time."""
    cores = mlusim.Device(board).board.cores
    generator = np.random.default_rng(0)
    args = (
        empty((batches, c, n), dtype),
        np.zeros((batches, c, m), dtype),
        generator.integers(0, m, (batches, n, 3)).astype(np.int32),
        np.full((batches, n, 3), 1 / 3, dtype),
        (batches, c, m, n),
        tile,
    )
    return launched(three_interpolate, board, (4, cores // 4, 1), args, mlusim.UNION1)
