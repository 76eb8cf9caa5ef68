"""Bytes that are no memory of the device: what the members of a union share that is kept in registers."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, uint8
from mlusim.frontend.bangc.runtime.referred import Referred


class ScratchPointer(Referred):
    """A typed pointer to a byte of *raw*."""

    __slots__ = ("dtype", "offset", "raw")

    def __init__(self, raw: bytearray, offset: int = 0, dtype: DType = uint8) -> None:
        self.raw = raw
        self.offset = offset
        self.dtype = dtype

    def _element(self, i: int) -> "np.ndarray[Any, Any]":
        return np.frombuffer(self.raw, self.dtype.dtype, 1, self.offset + i * self.dtype.size)

    def __getitem__(self, i: int) -> Any:
        return self._element(i)[0]

    def __setitem__(self, i: int, value: Any) -> None:
        self._element(i)[0] = value

    def __add__(self, n: int) -> "ScratchPointer":
        return ScratchPointer(self.raw, self.offset + n * self.dtype.size, self.dtype)

    def cast(self, layout: Any) -> Any:
        """Return the same byte as a pointer to what *layout* describes."""
        if isinstance(layout, DType):
            return ScratchPointer(self.raw, self.offset, layout)
        return layout.of(self)
