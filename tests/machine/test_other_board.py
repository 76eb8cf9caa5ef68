"""A recorded launch on another board: the same as launching there, where the architecture is the same."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.errors import UsageError


@kernel
def double(mlu, dst, src, tile):
    """Dst = 2 src."""
    if mlu.is_mpu():
        return
    buffer = mlu.nram(float32, tile)
    for at in range(mlu.taskId * tile, 1 << 16, mlu.taskDim * tile):
        mlu.memcpy_async(buffer, src + at, 4 * tile, GDRAM2NRAM)
        mlu.sync()
        mlu.bang_add(buffer, buffer, buffer, tile)
        mlu.memcpy(dst + at, buffer, 4 * tile, NRAM2GDRAM)


def launched(board, kind=mlusim.BLOCK, **options):
    """A launch of 64 tasks."""
    device = mlusim.Device(board)
    src = device.put(np.ones(1 << 16, np.float32))
    return device.launch(double, 64, kind, (device.empty(1 << 16, float32), src, 256), **options)


@pytest.mark.parametrize("kind", [mlusim.BLOCK, mlusim.UNION1, mlusim.UNION4])
def test_retiming_is_launching(kind):
    """Time, bound, busy times and timeline are those of a launch on the other board."""
    for one, other in (("MLU370-X4", "MLU370-X8"), ("MLU590-H8", "MLU580-H5"), ("MLU590-M9", "MLU570")):
        moved, launch = launched(one, kind).on(other), launched(other, kind)

        assert (launch.board, launch.time_us, launch.bound) == (moved.board, moved.time_us, moved.bound)
        assert launch.timeline == moved.timeline
        assert launch.busy_us == moved.busy_us
        assert launch.instructions == moved.instructions


def test_what_cannot_be_moved():
    """Another architecture, a union that does not fit, a launch without timing."""
    launch = launched("MLU370-X4", mlusim.UNION8)
    with pytest.raises(UsageError, match="mtp_592"):
        launch.on("MLU590-H8")
    with pytest.raises(UsageError, match="cannot start UNION8"):
        launch.on("MLU370-X8")
    with pytest.raises(UsageError, match="not timed"):
        launched("MLU370-X4", timing=False).on("MLU370-S4")
