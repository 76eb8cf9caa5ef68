"""A barrier that can never complete is explained at once; the program does not hang."""

import mlusim
from mlusim.bang import kernel
from mlusim.errors import SyncFault

device = mlusim.Device("MLU370-X4")


@kernel
def memory_core_left(mlu):
    if mlu.is_mpu():
        return
    mlu.sync_cluster()


@kernel
def two_barriers(mlu):
    if mlu.is_mpu():
        return
    if mlu.coreId == 0:
        mlu.sync_all_ipu()
    else:
        mlu.sync_all_ipu_within_cluster()


for kernel_ in (memory_core_left, two_barriers):
    try:
        device.launch(kernel_, dim=(4, 1, 1), kind=mlusim.UNION1)
    except SyncFault as fault:
        print(f"{type(fault).__name__}: {str(fault).replace(fault.file, '06_barriers.py')}\n")
