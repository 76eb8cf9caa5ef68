"""Small kernels for the debugger: Block tasks with a helper, a union with its memory core, faults."""

from pathlib import Path

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, GDRAM2SRAM, NRAM2GDRAM, SRAM2NRAM, Mlu, Ptr, float32, int32, kernel

COUNT = 64
SITE = __file__


def line(mark):
    """The number of the line of this file that ends with ``# mark``."""
    lines = Path(SITE).read_text(encoding="utf-8").splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"# {mark}"))


def scaled(mlu: Mlu, data: Ptr, factor: float, count: int) -> int:
    """Scale data and say how often."""
    mlu.bang_mul_scalar(data, data, factor, count)  # scaled-mul
    times = mlu.taskDim // 4  # scaled-times
    return times + 0


@kernel
def scale(mlu: Mlu, out: Ptr, data: Ptr, factor: float, count: int) -> None:
    """Every task scales its share of data."""
    share = count // mlu.taskDim  # scale-first
    buffer = mlu.nram(float32, share)
    at = mlu.taskId * share
    mlu.memcpy(buffer, data + at, share * 4, GDRAM2NRAM)  # scale-load
    times = scaled(mlu, buffer, factor, share)  # scale-call
    mlu.bang_add_scalar(buffer, buffer, times, share)  # scale-add
    mlu.memcpy(out + at, buffer, share * 4, NRAM2GDRAM)  # scale-store


@kernel
def staged(mlu: Mlu, out: Ptr, data: Ptr, bias: Ptr) -> None:
    """The memory core stages data in SRAM while each task fetches the bias on its own."""
    shared = mlu.shared(float32, COUNT)
    if mlu.is_mpu():
        mlu.memcpy_async(shared, data, COUNT * 4, GDRAM2SRAM)  # staged-load
    else:
        own = mlu.nram(float32, COUNT)
        mlu.memcpy_async(own, bias, COUNT * 4, GDRAM2NRAM)  # staged-bias
    mlu.sync_cluster()  # staged-barrier
    if mlu.is_mpu():
        return
    mine = mlu.nram(float32, COUNT)
    mlu.memcpy(mine, shared, COUNT * 4, SRAM2NRAM)  # staged-fetch
    mlu.bang_add(mine, mine, own, COUNT)  # staged-add
    mlu.memcpy(out + mlu.taskId * COUNT, mine, COUNT * 4, NRAM2GDRAM)  # staged-store


@kernel
def counting(mlu: Mlu, out: Ptr, rounds: int) -> None:
    """Scalar code: sums in NRAM, element by element."""
    sums = mlu.nram(int32, 8, [0])
    for i in range(rounds):
        sums[i % 8] = sums[i % 8] + i  # counting-add
    out[mlu.taskId] = sums[3]  # counting-store


@kernel
def beyond(mlu: Mlu, out: Ptr, count: int) -> None:
    """Copy more than there is."""
    buffer = mlu.nram(float32, count)
    mlu.bang_write_value(buffer, count, float32(1.0))
    if mlu.taskId == 1:
        mlu.memcpy(out, buffer, 4 * count + 4, NRAM2GDRAM)  # beyond-store
    mlu.memcpy(out, buffer, 4 * count, NRAM2GDRAM)


@kernel
def broken(mlu: Mlu, out: Ptr) -> None:
    """Python's own error in one task."""
    numbers = [1, 2, 3]
    out[0] = numbers[mlu.taskId * 4]  # broken-index


@kernel
def unwritten(mlu: Mlu, out: Ptr, data: Ptr) -> None:
    """Task 2 stores a buffer that was never filled."""
    buffer = mlu.nram(float32, COUNT)
    if mlu.taskId != 2:
        mlu.memcpy(buffer, data, COUNT * 4, GDRAM2NRAM)
    mlu.bang_add_scalar(buffer, buffer, 1.0, COUNT)
    mlu.memcpy(out + mlu.taskId * COUNT, buffer, COUNT * 4, NRAM2GDRAM)  # unwritten-store


def data(count=COUNT):
    """Numbers that tell their places."""
    return np.arange(count, dtype=np.float32)


def scale_program(observe):
    """Two launches: the second scales what the first has written."""
    device = mlusim.Device("MLU370-X4")
    source, out = device.put(data()), device.empty(COUNT, float32)
    device.launch(scale, 4, mlusim.BLOCK, (out, source, 2.0, COUNT), observe=observe)
    device.launch(scale, 4, mlusim.BLOCK, (source, out, 3.0, COUNT), observe=observe)
    return device.get(source)


def staged_program(observe, tasks=4, seed=None):
    """One union task, or more, of four tasks and a memory core."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty((tasks, COUNT), float32)
    args = (out, device.put(data()), device.put(data() * 0.5))
    device.launch(staged, tasks, mlusim.UNION1, args, observe=observe, seed=seed)
    return device.get(out)


def counting_program(observe, rounds=20, tasks=2):
    """Scalar loads and stores."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty(tasks, int32)
    device.launch(counting, tasks, mlusim.BLOCK, (out, rounds), observe=observe)
    return device.get(out)


def beyond_program(observe):
    """A fault in task 1."""
    device = mlusim.Device("MLU370-X4")
    device.launch(beyond, 3, mlusim.BLOCK, (device.empty(16, float32), 16), observe=observe)


def broken_program(observe):
    """An error in task 1."""
    device = mlusim.Device("MLU370-X4")
    device.launch(broken, 3, mlusim.BLOCK, (device.empty(16, int32),), observe=observe)


def unwritten_program(observe):
    """A store of bytes that were never written."""
    device = mlusim.Device("MLU370-X4")
    args = (device.empty(4 * COUNT, float32), device.put(data()))
    device.launch(unwritten, 4, mlusim.BLOCK, args, observe=observe)
