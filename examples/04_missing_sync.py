"""A forgotten sync gives a wrong value on the first run, because asynchronous effects land late by default."""

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel


@kernel
def load_and_double(mlu, dst, src, wait):
    a = mlu.nram(float32, 4)
    mlu.memcpy_async(a, src, 16, GDRAM2NRAM)
    if wait:
        mlu.sync_io()
    mlu.bang_add(a, a, a, 4)
    mlu.memcpy(dst, a, 16, NRAM2GDRAM)


device = mlusim.Device("MLU370-X4")
src = device.put(np.array([1, 2, 3, 4], np.float32))
for wait in (True, False):
    for effects in ("late", "eager"):
        dst = device.empty(4, float32)
        device.launch(load_and_double, args=(dst, src, wait), effects=effects)
        print(f"{'with' if wait else 'without'} sync, {effects:5s}: {device.get(dst)}")
