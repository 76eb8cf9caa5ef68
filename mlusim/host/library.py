"""The values that the vendor's host functions take and return: tensor descriptors, and status codes by name and number (mlu_op.h)."""

import operator
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.dtypes import DType, as_dtype
from mlusim.counted import plural
from mlusim.errors import UsageError


class Status(IntEnum):
    """The status that a host function returns."""

    MLUOP_STATUS_SUCCESS = 0
    MLUOP_STATUS_NOT_INITIALIZED = 1
    MLUOP_STATUS_ALLOC_FAILED = 2
    MLUOP_STATUS_BAD_PARAM = 3
    MLUOP_STATUS_INTERNAL_ERROR = 4
    MLUOP_STATUS_ARCH_MISMATCH = 5
    MLUOP_STATUS_EXECUTION_FAILED = 6
    MLUOP_STATUS_NOT_SUPPORTED = 7
    MLUOP_STATUS_NUMERICAL_OVERFLOW = 8

    def __str__(self) -> str:
        """Return the vendor's name."""
        return self.name


LARGE_TENSOR = 1 << 31  # elements, one more than an int of C can count: the vendor calls such a tensor large
# Without their prefix, MLUOP_LAYOUT_.
LAYOUTS = ("ARRAY", "NHWC", "NCHW", "HWCN", "NDHWC", "NCDHW", "NTC", "TNC", "NLC", "NC")


def _shape(value: Sequence[int]) -> tuple[int, ...]:
    sizes = _integers("shape", value)
    if min(sizes, default=0) < 0:
        raise UsageError(f"shape {sizes} has a negative size; give sizes of 0 or more")
    return sizes


def _strides(value: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if value is None else _integers("strides", value)


def _integers(name: str, value: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, value))
    except TypeError:
        raise UsageError(f"{name} {value!r:.80} is not a sequence of integers") from None


def _dtype(value: Any) -> DType | str:
    """Return a dtype of the board, or the name of one that the board lacks, which the checks will refuse."""
    try:
        return as_dtype(value)
    except UsageError:
        try:
            numpy_dtype = None if value is None else np.dtype(value)
        except (TypeError, ValueError, SyntaxError):  # NumPy reads strings and tuples as descriptions
            numpy_dtype = None
        if numpy_dtype is None:
            raise UsageError(f"{value!r:.80} is not a dtype") from None
        return str(numpy_dtype.name if numpy_dtype.isnative else numpy_dtype.str)


@frozen
class TensorDescriptor:
    """Shape (elements), dtype, layout and strides (elements; None: contiguous) of a tensor."""

    shape: tuple[int, ...] = field(converter=_shape)
    dtype: DType | str = field(converter=_dtype)
    layout: str = field(default="ARRAY")
    strides: tuple[int, ...] | None = field(default=None, converter=_strides)

    @layout.validator
    def _check_layout(self, _: object, value: str) -> None:
        if value not in LAYOUTS:
            raise UsageError(f"layout {value!r} is unknown; use one of {', '.join(LAYOUTS)}")

    @strides.validator
    def _check_strides(self, _: object, value: tuple[int, ...] | None) -> None:
        if value is not None and len(value) != len(self.shape):
            raise UsageError(
                f"strides {value} are {len(value)} numbers for {len(self.shape)} {plural(len(self.shape), 'dimension')}"
            )

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of the tensor."""
        total = 1
        for n in self.shape:
            total *= n
        return total

    @property
    def contiguous(self) -> bool:
        """True where the strides are those of a dense row-major tensor, or the tensor has no elements."""
        if self.strides is None or self.size == 0:
            return True
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            # A dimension of size 1 is never stepped along, so that its stride may be anything.
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True
