"""An output where a candidate has left it: elements in an allocation of the device."""

from typing import Any, Self

import numpy as np
from attrs import frozen

from mlusim.judge.wire import Array
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation


@frozen(eq=False)
class LeftOutput:
    """Elements of *dtype* from byte *offset* of *allocation* on, *strides* in bytes."""

    allocation: Allocation
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def whole(cls, tensor: DeviceTensor) -> Self:
        """Return all of *tensor* as an output."""
        strides, at = [], tensor.dtype.size
        for size in reversed(tensor.shape):
            strides.append(at)
            at *= size
        return cls(tensor.allocation, 0, tensor.shape, tuple(reversed(strides)), tensor.dtype.dtype)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return int(np.prod(self.sizes, dtype=np.int64)) * self.dtype.itemsize

    def picked(self, of: Array) -> Array:
        """Pick the output's out of an array with one element for each byte of the allocation; the last axis has one element's bytes."""
        shape, strides = (*self.sizes, self.dtype.itemsize), (*self.strides, 1)
        return np.lib.stride_tricks.as_strided(of[self.offset :], shape, strides, writeable=False)

    def array(self) -> Array:
        """Copy the elements out of the allocation, which the next call changes."""
        raw = self.picked(self.allocation.raw).copy().reshape(-1)
        return raw.view(self.dtype).reshape(self.sizes)
