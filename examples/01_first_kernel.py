"""Ten lines of BANG C in Python: copy in, add, copy out; then print what the launch knows."""

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel


@kernel
def double(mlu: Mlu, dst: Ptr, src: Ptr, count: int) -> None:
    buffer = mlu.nram(float32, count)
    mlu.memcpy(buffer, src, count * float32.size, GDRAM2NRAM)
    mlu.bang_add(buffer, buffer, buffer, count)
    mlu.memcpy(dst, buffer, count * float32.size, NRAM2GDRAM)


device = mlusim.Device("MLU370-X4")
src = device.put(np.arange(6, dtype=np.float32))
dst = device.empty(src.shape, src.dtype)
launch = device.launch(double, args=(dst, src, src.size))

print(device.get(dst))
print("instructions:", dict(launch.instructions))
print("traffic, bytes:", launch.traffic)
print(
    "NRAM high-water mark:", launch.memory["NRAM"].high_water, "of", launch.memory["NRAM"].capacity, "bytes"
)
