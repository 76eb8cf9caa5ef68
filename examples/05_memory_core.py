"""A union task: the memory core stages rows in SRAM, the four IPU cores of the cluster share them."""

import numpy as np

import mlusim
from mlusim.bang import GDRAM2SRAM, NRAM2GDRAM, SRAM2NRAM, float32, kernel

ROWS, WIDTH = 8, 256


@kernel
def add_one_row_to_all(mlu, out, rows, bias):
    shared_bias = mlu.shared(float32, WIDTH)
    shared_rows = mlu.shared(float32, ROWS * WIDTH)
    if mlu.is_mpu():
        mlu.memcpy_async(shared_bias, bias, 4 * WIDTH, GDRAM2SRAM)
        mlu.memcpy_async(shared_rows, rows, 4 * ROWS * WIDTH, GDRAM2SRAM)
    mlu.sync_cluster()  # waits for the copies of the memory core, too
    if mlu.is_mpu():
        return
    row, b = mlu.nram(float32, WIDTH), mlu.nram(float32, WIDTH)
    mlu.memcpy(b, shared_bias, 4 * WIDTH, SRAM2NRAM)
    for r in range(mlu.coreId, ROWS, mlu.coreDim):
        mlu.memcpy(row, shared_rows + r * WIDTH, 4 * WIDTH, SRAM2NRAM)
        mlu.bang_add(row, row, b, WIDTH)
        mlu.memcpy(out + r * WIDTH, row, 4 * WIDTH, NRAM2GDRAM)


device = mlusim.Device("MLU370-X4")
rows = np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH)
bias = np.full(WIDTH, 0.5, np.float32)
out = device.empty(rows.shape, float32)
launch = device.launch(
    add_one_row_to_all, dim=(4, 1, 1), kind=mlusim.UNION1, args=(out, device.put(rows), device.put(bias))
)
print("equal:", np.array_equal(rows + bias, device.get(out)))
print("traffic, bytes:", launch.traffic)
print("SRAM high-water mark, bytes:", launch.memory["SRAM"].high_water)
