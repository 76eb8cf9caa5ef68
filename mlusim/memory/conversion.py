"""Which Python numbers become an element of a type as C converts them, and between which limits."""

import sys
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from mlusim.arch.dtypes import MEMORY_TYPES, DType

_INTEGERS = frozenset({int} | {d.dtype.type for d in MEMORY_TYPES if d.kind != "float"})
NUMBERS = _INTEGERS | {float, np.float64} | {d.dtype.type for d in MEMORY_TYPES}


def _legal(dtype: DType) -> tuple[frozenset[type], float, float]:
    if dtype.kind == "float":
        return NUMBERS, -sys.float_info.max, sys.float_info.max
    limits = np.iinfo(dtype.dtype)
    return _INTEGERS, int(limits.min), int(limits.max)


LEGAL: Mapping[DType, tuple[frozenset[type], float, float]] = MappingProxyType(
    {d: _legal(d) for d in MEMORY_TYPES}
)
"""By element type: the classes of numbers that NumPy converts as C does, the lowest and the highest of them."""
