"""Run a ported operator on arrays, and through its vendor-shaped host function."""

import numpy as np

import ops
from mlusim.errors import StatusError
from mlusim.host import Handle, TensorDescriptor
from ops.host import mluOpTinShiftForward

x = np.arange(1 * 6 * 6 * 1, dtype=np.float32).reshape(1, 6, 6, 1)
shifts = np.array([[-1, 0, 2]], np.int32)

run = ops.run("tin_shift_forward", {"input": x, "shifts": shifts}, board="MLU370-X4")
print(run.status.name)
print(run.outputs["output"][0, :, :, 0].astype(int))
print("theory:", run.efficiency.theory_ops, "operations,", run.efficiency.theory_ios, "bytes")

try:
    ops.run("tin_shift_forward", {"input": x, "shifts": shifts[:, :2].repeat(2, 1)}, board="MLU370-X4")
except StatusError as error:
    print(error)

handle = Handle("MLU590-H8")
device = handle.device
desc, shift_desc = TensorDescriptor(x.shape, "float"), TensorDescriptor(shifts.shape, "int32")
out = device.empty(x.shape, "float")
print(mluOpTinShiftForward(handle, desc, device.put(x), shift_desc, device.put(shifts), desc, out).name)
print(
    mluOpTinShiftForward(handle, desc, device.put(x), shift_desc, None, desc, out).name,
    "-",
    handle.last_error,
)
