"""The vendor-shaped host functions of every operator, gathered: ``ops.host.mluOpTinShiftForward(...)``."""

from ops.tin_shift.host import mluOpTinShiftBackward, mluOpTinShiftForward

__all__ = ["mluOpTinShiftBackward", "mluOpTinShiftForward"]
