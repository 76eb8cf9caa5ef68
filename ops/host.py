"""The vendor-shaped host functions of every operator, gathered: ``ops.host.mluOpTinShiftForward(...)``."""

from ops.border_align_backward.host import mluOpBorderAlignBackward
from ops.dynamic_scatter_backward.host import (
    mluOpDynamicScatterBackward,
    mluOpGetDynamicScatterBackwardWorkspaceSize,
)
from ops.mutual_information_backward.host import (
    mluOpGetMutualInformationBackwardWorkspaceSize,
    mluOpMutualInformationBackward,
)
from ops.three_interpolate_backward.host import mluOpThreeInterpolateBackward
from ops.tin_shift.host import mluOpTinShiftBackward, mluOpTinShiftForward

__all__ = [
    "mluOpBorderAlignBackward",
    "mluOpDynamicScatterBackward",
    "mluOpGetDynamicScatterBackwardWorkspaceSize",
    "mluOpGetMutualInformationBackwardWorkspaceSize",
    "mluOpMutualInformationBackward",
    "mluOpThreeInterpolateBackward",
    "mluOpTinShiftBackward",
    "mluOpTinShiftForward",
]
