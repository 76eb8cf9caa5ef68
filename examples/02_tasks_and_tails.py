"""z = x + y for any length on any number of tasks: shares, tiles, a short last tile."""

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel

TILE = 4096  # elements; two tiles take 32 KiB of NRAM


@kernel
def vector_add(mlu: Mlu, z: Ptr, x: Ptr, y: Ptr, count: int) -> None:
    a = mlu.nram(float32, TILE)
    b = mlu.nram(float32, TILE)
    share, rest = divmod(count, mlu.taskDim)  # the first `rest` tasks take one more
    mine = share + (mlu.taskId < rest)
    start = mlu.taskId * share + min(mlu.taskId, rest)
    for done in range(0, mine, TILE):
        n = min(TILE, mine - done)
        at = start + done
        mlu.memcpy(a, x + at, n * float32.size, GDRAM2NRAM)
        mlu.memcpy(b, y + at, n * float32.size, GDRAM2NRAM)
        mlu.bang_add(a, a, b, n)
        mlu.memcpy(z + at, a, n * float32.size, NRAM2GDRAM)


device = mlusim.Device("MLU590-H8")
generator = np.random.default_rng(0)
for count in (1, 4096, 100_003):
    x, y = (generator.standard_normal(count, np.float32) for _ in range(2))
    z = device.empty(count, float32)
    launch = device.launch(vector_add, dim=(16, 1, 1), args=(z, device.put(x), device.put(y), count))
    print(
        f"{count:7d} elements: equal {np.array_equal(x + y, device.get(z))}, {launch.instructions['bang_add']} additions"
    )
