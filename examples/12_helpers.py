"""The helper library: sigmoid(x[i]) / (start + i) in half, on a board that divides and on one that does not."""

import numpy as np

import mlusim
from mlusim.bang import (
    DIV_UP,
    GDRAM2NRAM,
    NRAM2GDRAM,
    float32,
    half,
    kernel,
    mluop_div,
    mluop_gen_stage_index,
    mluop_min,
    mluop_sigmoid,
)


@kernel
def fade(mlu, dst, src, count, start):
    share = DIV_UP(count, mlu.taskDim)
    first = share * mlu.taskId
    n = mluop_min(mlu, share, count - first)
    if n <= 0:
        return
    x = mlu.nram(half, n)
    y = mlu.nram(half, 2 * n)  # sigmoid of half writes floats into dst: twice the room
    place = mlu.nram(half, n)
    addition = mlu.nram(float32, n)
    mlu.memcpy(x, src + first, n * half.size, GDRAM2NRAM)
    mluop_gen_stage_index(mlu, place, n, start + first)
    mluop_sigmoid(mlu, y, x, addition, True, n)
    mluop_div(mlu, y, y, place, addition, True, n)
    mlu.memcpy(dst + first, y, n * half.size, NRAM2GDRAM)


@kernel
def in_place(mlu, count):
    a, b = mlu.nram(float32, count, [1] * count), mlu.nram(float32, count, [2] * count)
    mluop_div(mlu, a, a, b, None, True, count)
    mlu.bang_printf("1 / 2 = %f\n", a[0])


x = np.linspace(-4, 4, 1000).astype(np.float16)
expected = 1 / (1 + np.exp(-x.astype(float))) / (1 + np.arange(1000))
for board in ("MLU370-X4", "MLU590-H8"):
    device = mlusim.Device(board)
    dst = device.empty(1000, half)
    launch = device.launch(fade, dim=(4, 1, 1), args=(dst, device.put(x), 1000, 1))
    error = abs(device.get(dst) - expected) / expected
    print(f"{board}: {launch.time_us:.1f} us, largest relative error {error.max():.1e}")
    division = ("bang_div", "bang_recip", "bang_float2half_rn", "bang_mul")
    print("   ", {name: launch.instructions.get(name, 0) for name in division})
    try:
        print("   ", *device.launch(in_place, args=(8,)).printed, end="")
    except mlusim.errors.RuleFault as fault:
        print("   ", fault.message + "; " + fault.hint)
