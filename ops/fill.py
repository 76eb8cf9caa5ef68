"""Fill: the library's launch that gives a tensor one value, used before a kernel that adds to it.

The document of the library mentions Fill without its implementation; the kernel here is inferred.  It is a launch,
not a memset of the driver, so that its time counts as in the vendor's measurements, which include the whole
call, and so that checkers see the tensor being written.
"""

from typing import Any

from mlusim.bang import Mlu, Ptr, kernel
from mlusim.host import Handle, TensorDescriptor


@kernel
def MLUUnion1Fill(mlu: Mlu, output: Ptr, count: int, value: Any) -> None:
    """Set the *count* elements of output to *value*, with an even share for each core."""
    if mlu.is_mpu():
        return
    share, rest = divmod(count, mlu.taskDim)
    start = mlu.taskId * share + min(mlu.taskId, rest)
    number = share + (mlu.taskId < rest)
    if number:
        mlu.gdramset(output + start, number, output.dtype(value))


def fill_zero(handle: Handle, output: Any, output_desc: TensorDescriptor) -> None:
    """Launch the fill of a tensor with zeros on all cores of the board."""
    handle.launch(
        MLUUnion1Fill, (handle.cores_per_cluster, handle.clusters, 1), args=(output, output_desc.size, 0)
    )
