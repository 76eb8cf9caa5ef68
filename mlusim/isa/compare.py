"""Comparisons: 1 or 0 of the sources' own type for every element, or one bit each.

NaN compares false with everything, but for "not equal", which is then true.
"""

import numpy as np

from mlusim.isa.declare import FLOATS, NUMBERS
from mlusim.isa.elementwise import binary, with_scalar

bang_eq = binary(
    "__bang_eq",
    np.equal,
    "Equal: ``dst[i] = src0[i] == src1[i]``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
bang_ne = binary(
    "__bang_ne",
    np.not_equal,
    "Not equal: ``dst[i] = src0[i] != src1[i]``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
bang_lt = binary(
    "__bang_lt",
    np.less,
    "Less: ``dst[i] = src0[i] < src1[i]``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
bang_le = binary(
    "__bang_le",
    np.less_equal,
    "Less or equal: ``dst[i] = src0[i] <= src1[i]``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
bang_gt = binary(
    "__bang_gt",
    np.greater,
    "Greater: ``dst[i] = src0[i] > src1[i]``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
bang_ge = binary(
    "__bang_ge",
    np.greater_equal,
    "Greater or equal: ``dst[i] = src0[i] >= src1[i]``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
bang_eq_scalar = with_scalar(
    "__bang_eq_scalar",
    np.equal,
    "Equal to a scalar: ``dst[i] = src[i] == value``, 1 or 0.",
    NUMBERS,
    since=322,
    source="bangc 5.5",
)
bang_ne_scalar = with_scalar(
    "__bang_ne_scalar",
    np.not_equal,
    "Not equal to a scalar: ``dst[i] = src[i] != value``, 1 or 0.",
    NUMBERS,
    since=322,
    source="bangc 5.5",
)
bang_lt_scalar = with_scalar(
    "__bang_lt_scalar",
    np.less,
    "Less than a scalar: ``dst[i] = src[i] < value``, 1 or 0.",
    NUMBERS,
    since=322,
    source="bangc 5.5",
)
bang_le_scalar = with_scalar(
    "__bang_le_scalar",
    np.less_equal,
    "Less than or equal to a scalar: ``dst[i] = src[i] <= value``, 1 or 0.",
    NUMBERS,
    since=322,
    source="bangc 5.5",
)
bang_gt_scalar = with_scalar(
    "__bang_gt_scalar",
    np.greater,
    "Greater than a scalar: ``dst[i] = src[i] > value``, 1 or 0.",
    NUMBERS,
    since=322,
    source="bangc 5.5",
)
bang_ge_scalar = with_scalar(
    "__bang_ge_scalar",
    np.greater_equal,
    "Greater than or equal to a scalar: ``dst[i] = src[i] >= value``, 1 or 0.",
    NUMBERS,
    dtypes_2xx=FLOATS,
    source="bangc 5.5",
)
