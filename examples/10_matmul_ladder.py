"""The matmul ladder: six kernels, from a scalar loop on GDRAM to a five-stage pipeline through SRAM.

The kernels are those of a public course on MLU370-X8.  The right matrix is passed as its columns, laid out
for the 64 lanes of WRAM.  Sizes are small here; `python -m benchmarks calibration` runs the measured sizes.
"""

import numpy as np

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    GDRAM2SRAM,
    GDRAM2WRAM,
    NRAM2GDRAM,
    NRAM2SRAM,
    SRAM2GDRAM,
    SRAM2NRAM,
    float32,
    kernel,
)

K, N = 256, 128  # inner size and columns
BLOCK, SLAB, ROWS = 128, 64, 8  # rows of one step: in kernels 4 and 5, in kernel 6, in a core's inner step


@kernel
def scalar_gdram(mlu, out, left, right, results, columns):
    """1: the triple loop, all operands in GDRAM."""
    for r in range(results):
        i, j = divmod(r, columns)
        out[r] = 0
        for x in range(K):
            out[r] = out[r] + left[i * K + x] * right[x * columns + j]


@kernel
def scalar_nram(mlu, out, left, right, results, columns):
    """2: the same loop on NRAM; the compiler keeps the sum in a register."""
    a, b, c = mlu.nram(float32, BLOCK * K), mlu.nram(float32, K * columns), mlu.nram(float32, BLOCK * columns)
    mlu.memcpy(a, left, 4 * BLOCK * K, GDRAM2NRAM)
    mlu.memcpy(b, right, 4 * K * columns, GDRAM2NRAM)
    for r in range(results):
        i, j = divmod(r, columns)
        total = np.float32(0)
        for x in range(K):
            total += a[i * K + x] * b[x * columns + j]
        c[r] = total
    # mlusim: allow initcheck-undefined-stored: the block is stored whole, as measured, however few results are asked for
    mlu.memcpy(out, c, 4 * BLOCK * columns, NRAM2GDRAM)


@kernel
def one_matmul(mlu, out, left, filters, columns):
    """3: one block on the tensor unit, blocking copies."""
    a, w, c = mlu.nram(float32, BLOCK * K), mlu.wram(float32, K * columns), mlu.nram(float32, BLOCK * columns)
    mlu.memcpy(a, left, 4 * BLOCK * K, GDRAM2NRAM)
    mlu.memcpy(w, filters, 4 * K * columns, GDRAM2WRAM)
    # mlusim: allow memcheck-filters-not-reshaped: the host has laid the columns out for the lanes
    mlu.bang_matmul(c, a, w, BLOCK, K, columns)
    mlu.memcpy(out, c, 4 * BLOCK * columns, NRAM2GDRAM)


@kernel
def blocks(mlu, out, left, filters, steps):
    """4: every task has *steps* blocks of its own; it loads, multiplies and stores one after the other."""
    a, w, c = mlu.nram(float32, BLOCK * K), mlu.wram(float32, K * N), mlu.nram(float32, BLOCK * N)
    mlu.memcpy(w, filters, 4 * K * N, GDRAM2WRAM)
    for step in range(steps):
        row = (mlu.taskId * steps + step) * BLOCK
        mlu.memcpy(a, left + row * K, 4 * BLOCK * K, GDRAM2NRAM)
        # mlusim: allow memcheck-filters-not-reshaped: the host has laid the columns out for the lanes
        mlu.bang_matmul(c, a, w, BLOCK, K, N)
        mlu.memcpy(out + row * N, c, 4 * BLOCK * N, NRAM2GDRAM)


@kernel
def three_stages(mlu, out, left, filters, steps):
    """5: the same with two buffers of each: it loads one step, multiplies the step before and stores the one before that."""
    w = mlu.wram(float32, K * N)
    a = [mlu.nram(float32, BLOCK * K) for _ in range(2)]
    c = [mlu.nram(float32, BLOCK * N) for _ in range(2)]
    mlu.memcpy_async(w, filters, 4 * K * N, GDRAM2WRAM)
    first = mlu.taskId * steps
    for step in range(steps + 2):
        if step < steps:
            mlu.memcpy_async(a[step % 2], left + (first + step) * BLOCK * K, 4 * BLOCK * K, GDRAM2NRAM)
        if 1 <= step <= steps:
            # mlusim: allow memcheck-filters-not-reshaped: the host has laid the columns out for the lanes
            mlu.bang_matmul(c[(step - 1) % 2], a[(step - 1) % 2], w, BLOCK, K, N)
        if step >= 2:
            mlu.memcpy_async(out + (first + step - 2) * BLOCK * N, c[step % 2], 4 * BLOCK * N, NRAM2GDRAM)
        mlu.sync()


@kernel
def five_stages(mlu, out, left, filters, steps):
    """6: the memory core moves slabs of 64 rows between GDRAM and SRAM; each core takes 16 rows of a slab."""
    came = [mlu.shared(float32, SLAB * K) for _ in range(2)]
    went = [mlu.shared(float32, SLAB * N) for _ in range(2)]
    first = mlu.taskIdY * steps
    if mlu.is_ipu():
        a, w, c = mlu.nram(float32, ROWS * K), mlu.wram(float32, K * N), mlu.nram(float32, ROWS * N)
        mlu.memcpy_async(w, filters, 4 * K * N, GDRAM2WRAM)
    for step in range(steps + 2):
        if mlu.is_mpu():
            if step < steps:
                mlu.memcpy_async(came[step % 2], left + (first + step) * SLAB * K, 4 * SLAB * K, GDRAM2SRAM)
            if step >= 2:
                mlu.memcpy_async(
                    out + (first + step - 2) * SLAB * N, went[step % 2], 4 * SLAB * N, SRAM2GDRAM
                )
        elif 1 <= step <= steps:
            for row in range(mlu.coreId * 2 * ROWS, (mlu.coreId + 1) * 2 * ROWS, ROWS):
                mlu.sync_io()
                mlu.memcpy_async(a, came[(step - 1) % 2] + row * K, 4 * ROWS * K, SRAM2NRAM)
                mlu.sync_move()
                # mlusim: allow memcheck-filters-not-reshaped: the host has laid the columns out for the lanes
                mlu.bang_matmul(c, a, w, ROWS, K, N)
                mlu.sync_compute()
                mlu.memcpy_async(went[(step - 1) % 2] + row * N, c, 4 * ROWS * N, NRAM2SRAM)
                mlu.sync_move()
        mlu.sync_cluster()


def lanes(right, board):
    """Return the columns of *right* as the 64 lanes of WRAM hold them: column b * 64 + l is the b-th of lane l; on MLU3xx four lanes lie side by side."""
    near = 4 if board.arch.generation == 3 else 1
    return np.ascontiguousarray(right.T.reshape(-1, 64 // near, near, K).swapaxes(0, 1))


def run(rung, board="MLU370-X8", waves=1, results=16, steps=32, columns=N):
    """Run one rung on data that make the check exact; return the launch and whether the result is right.

    *columns* of the right matrix other than the usual ones are for the first three.
    """
    device = mlusim.Device(board)
    tasks = {4: waves * device.board.cores, 5: waves * device.board.cores, 6: waves * device.board.clusters}
    steps = steps if rung > 3 else 1
    rows = tasks.get(rung, 1) * steps * (SLAB if rung == 6 else BLOCK)
    generator = np.random.default_rng(rung)
    left = generator.integers(-2, 3, (rows, K)).astype(np.float32)
    right = generator.integers(-2, 3, (K, columns)).astype(np.float32)
    out = device.empty(results if rung == 1 else (rows, columns), float32)
    weight = device.put(right if rung < 3 else lanes(right, device.board))
    body = (scalar_gdram, scalar_nram, one_matmul, blocks, three_stages, five_stages)[rung - 1]
    last = {1: (results, columns), 2: (results, columns), 3: (columns,)}.get(rung, (steps,))
    dim, kind = ((4, tasks[6], 1), mlusim.UNION1) if rung == 6 else ((tasks.get(rung, 1), 1, 1), mlusim.BLOCK)
    launch = device.launch(body, dim, kind, (out, device.share(left), weight, *last))
    count = results if rung < 3 else rows * columns
    right_all_over = np.array_equal((left @ right).reshape(-1)[:count], device.get(out).reshape(-1)[:count])
    return launch, right_all_over


if __name__ == "__main__":
    for rung in range(1, 7):
        launch, correct = run(rung, steps=2)
        print(
            f"{rung} {launch.kernel:12s} {launch.time_us:9.1f} us, bound by {launch.bound:8s} correct: {correct}"
        )
