"""Seeds pick other legal schedules: a correct kernel gives one answer, a racy one several."""

import numpy as np

import mlusim
from mlusim.bang import int32, kernel


@kernel
def racy_count(mlu, total):
    seen = total[0]  # read, ...
    mlu.memset_nram(mlu.nram(int32, 4), 4, int32(0))  # ... some work, ...
    total[0] = seen + 1  # ... write: another task may have counted in between


@kernel
def atomic_count(mlu, total):
    one = mlu.nram(int32, 1, values=[1])
    mlu.bang_atomic_reduce_add(total, one, 1)


device = mlusim.Device("MLU370-X4")
for kernel_ in (racy_count, atomic_count):
    results = set()
    for seed in range(20):
        total = device.put(np.zeros(1, np.int32))
        device.launch(kernel_, dim=(8, 1, 1), args=(total,), seed=seed)
        results.add(int(device.get(total)[0]))
    print(
        f"{kernel_.name}: {'one result' if len(results) == 1 else 'several results'}; 8 is among them: {8 in results}"
    )
