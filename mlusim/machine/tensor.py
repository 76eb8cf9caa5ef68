"""Arrays in the GDRAM of a device, as the host holds them."""

import math
from typing import TYPE_CHECKING, Any

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr, View
from mlusim.presenting import Presented

if TYPE_CHECKING:
    from mlusim.machine.device import Device


class DeviceTensor(Presented):
    """An array in GDRAM: ``shape``, ``dtype``, ``size`` (elements), ``nbytes``, ``address``.

    Passed to a launch it becomes a pointer to its first element; ``tensor + n`` is a pointer to
    element n.
    """

    __slots__ = ("allocation", "device", "dtype", "shape")
    __array_ufunc__ = None  # so that `numpy_integer + tensor` reaches __radd__

    def __init__(
        self, device: "Device", allocation: Allocation, shape: tuple[int, ...], dtype: DType
    ) -> None:
        self.device = device
        self.allocation = allocation
        self.shape = shape
        self.dtype = dtype

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.size * self.dtype.size

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        return self.allocation.address

    @property
    def ptr(self) -> Ptr:
        """A pointer to the first element, for kernel arguments."""
        if not self.allocation.live:
            raise UsageError(f"{self!r} was freed; there is nothing to point at")
        return Ptr(View(self.allocation, self.dtype, None))

    def __add__(self, n: int) -> Ptr:
        return self.ptr + n

    __radd__ = __add__

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise UsageError(f"{self!r} is in GDRAM; copy it to the host with device.get()")

    def __repr__(self) -> str:
        return (
            f"<DeviceTensor {self.dtype}{list(self.shape)} at {self.address:#x} of {self.device.board.name}>"
        )
