"""The vendor-shaped host functions of every operator, gathered: ``ops.host.mluOpTinShiftForward(...)``."""

from .border_align_backward.host import mluOpBorderAlignBackward
from .dynamic_scatter_backward.host import (
    mluOpDynamicScatterBackward,
    mluOpGetDynamicScatterBackwardWorkspaceSize,
)
from .mutual_information_backward.host import (
    mluOpGetMutualInformationBackwardWorkspaceSize,
    mluOpMutualInformationBackward,
)
from .three_interpolate_backward.host import mluOpThreeInterpolateBackward
from .tin_shift.host import mluOpTinShiftBackward, mluOpTinShiftForward

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
