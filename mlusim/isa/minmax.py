"""Elementwise maximum and minimum, with both behaviours toward NaN."""

from mlusim.arch.dtypes import float32, half, int32
from mlusim.isa.declare import FLOATS, binary, with_scalar
from mlusim.isa.extremes import ZEROS, maximum, minimum, nan_maximum, nan_minimum

ORDERED = (*FLOATS, int32)  # MLU2xx orders floats only
_NUMBER = f"A NaN loses against a number (inferred); {ZEROS}"

bang_nan_maximum = binary(
    "__bang_nan_maximum",
    nan_maximum,
    f"Maximum: ``dst[i] = max(src0[i], src1[i])``.\n\nA NaN in either source is the result; {ZEROS}",
    (half, float32),
    since=322,
)
bang_nan_minimum = binary(
    "__bang_nan_minimum",
    nan_minimum,
    f"Minimum: ``dst[i] = min(src0[i], src1[i])``.\n\nA NaN in either source is the result; {ZEROS}",
    (half, float32),
    since=322,
)
bang_maximum = binary(
    "__bang_maximum",
    maximum,
    f"Maximum: ``dst[i] = max(src0[i], src1[i])``.\n\n{_NUMBER}  The four-argument form of old toolkits was another instruction.",
    ORDERED,
    dtypes_2xx=FLOATS,
)
bang_minimum = binary(
    "__bang_minimum",
    minimum,
    f"Minimum: ``dst[i] = min(src0[i], src1[i])``.\n\n{_NUMBER}  The four-argument form of old toolkits was another instruction.",
    ORDERED,
    dtypes_2xx=FLOATS,
)
bang_maxequal = binary(
    "__bang_maxequal",
    maximum,
    f"Maximum: ``dst[i] = max(src0[i], src1[i])``.\n\n{_NUMBER}",
    ORDERED,
    dtypes_2xx=FLOATS,
)
bang_minequal = binary(
    "__bang_minequal",
    minimum,
    f"Minimum: ``dst[i] = min(src0[i], src1[i])``.\n\n{_NUMBER}",
    ORDERED,
    dtypes_2xx=FLOATS,
)
bang_maxeq_scalar = with_scalar(
    "__bang_maxeq_scalar",
    maximum,
    f"Maximum with a scalar: ``dst[i] = max(src[i], value)``.\n\n{_NUMBER}",
    ORDERED,
    dtypes_2xx=FLOATS,
)
bang_mineq_scalar = with_scalar(
    "__bang_mineq_scalar",
    minimum,
    f"Minimum with a scalar: ``dst[i] = min(src[i], value)``.\n\n{_NUMBER}",
    ORDERED,
    dtypes_2xx=FLOATS,
)
