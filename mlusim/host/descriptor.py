"""`TensorDescriptor`: what the host library is told about a tensor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.dtypes import DType, as_dtype
from mlusim.errors import UsageError

LAYOUTS = ("ARRAY", "NHWC", "NCHW", "HWCN", "NDHWC", "NCDHW", "NTC", "TNC", "NLC", "NC")


def _shape(value: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(int(n) for n in value)
    except TypeError:
        raise UsageError(f"shape {value!r} is no sequence of integers") from None


def _dtype(value: Any) -> DType | str:
    """A dtype of the board, or the name of one that the board lacks, which the checks will refuse."""
    try:
        return as_dtype(value)
    except UsageError:
        try:
            return str(np.dtype(value).name)
        except TypeError:
            raise UsageError(f"{value!r} is no dtype") from None


@frozen
class TensorDescriptor:
    """Shape (elements), dtype, layout and strides (elements; None: contiguous) of a tensor."""

    shape: tuple[int, ...] = field(converter=_shape)
    dtype: DType | str = field(converter=_dtype)
    layout: str = field(default="ARRAY")
    strides: tuple[int, ...] | None = field(default=None)

    @layout.validator
    def _check_layout(self, _: Any, value: str) -> None:
        if value not in LAYOUTS:
            raise UsageError(f"layout {value!r} is unknown; use one of {', '.join(LAYOUTS)}")

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements."""
        total = 1
        for n in self.shape:
            total *= n
        return total

    @property
    def contiguous(self) -> bool:
        """Whether the strides are those of a dense row-major tensor, or the tensor has no elements."""
        if self.strides is None or self.size == 0:
            return True
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True
