"""The host's side of a launch: arrays in the GDRAM of a device, and everything that a launch's arguments contain.

Arguments are numbers and pointers, and for compiled kernels also structures, which are sequences of their members.
"""

import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.kernel_frames import is_own
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr, View
from mlusim.presenting import Presented


class DeviceTensor(Presented):
    """An array in GDRAM: ``shape``, ``dtype``, ``size`` (elements), ``nbytes``, ``address``.

    As an argument of a launch it becomes a pointer to its first element; ``tensor + n`` is a pointer to
    element n.
    """

    __slots__ = ("allocation", "device", "dtype", "shape")
    __array_ufunc__ = None  # so that `numpy_integer + tensor` reaches __radd__

    def __init__(self, device: Any, allocation: Allocation, shape: tuple[int, ...], dtype: DType) -> None:
        self.device = device
        self.allocation = allocation
        self.shape = shape
        self.dtype = dtype

    @property
    def size(self) -> int:
        """Return the number of its elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Return the size of its elements in bytes."""
        return self.size * self.dtype.size

    @property
    def address(self) -> int:
        """Return the device address of the first byte."""
        return self.allocation.address

    @property
    def ptr(self) -> Ptr:
        """Return a pointer to the first element, for kernel arguments."""
        if not self.allocation.live:
            raise UsageError(f"{self!r} was freed; there is nothing to point at")
        return Ptr(View(self.allocation, self.dtype, None))

    def __add__(self, n: int) -> Ptr:
        return self.ptr + n

    __radd__ = __add__

    def __array__(self, *_: object, **__: object) -> Any:
        raise UsageError(f"{self!r} is in GDRAM; copy it to the host with device.get()")

    def __repr__(self) -> str:
        return (
            f"<DeviceTensor {self.dtype}{list(self.shape)} at {self.address:#x} of {self.device.board.name}>"
        )


def host_array(array: object) -> np.ndarray[Any, Any]:
    """Return *array* as a NumPy array.  Raises `UsageError` for anything else."""
    try:
        return np.asarray(array)
    except ValueError as error:
        raise UsageError(f"{array!r:.80} is not an array: {error}") from None


def shape_of(shape: Any) -> tuple[int, ...]:
    """Return a shape from an integer or a sequence of them; raises `UsageError` for anything else."""
    single = isinstance(shape, int | np.integer)
    many = isinstance(shape, Sequence | np.ndarray) and not isinstance(shape, str | bytes)
    try:
        sizes = tuple(map(operator.index, (shape,) if single or not many else shape))
    except TypeError:
        raise UsageError(
            f"shape {shape!r:.80} is not a shape; give an integer or a sequence of them"
        ) from None
    if min(sizes, default=0) < 0:
        raise UsageError(f"shape {sizes} has a negative size; give sizes of 0 or more")
    if len(sizes) > 64:  # NumPy's limit
        raise UsageError(f"a shape of {len(sizes)} sizes is longer than NumPy allows; give 64 or fewer")
    return sizes


DEEPEST = 16  # the most callers that are searched


def name_by_variables(arguments: Iterable[Any]) -> None:
    """Name the tensors among *arguments* by the variables of the nearest caller outside of mlusim that has some.

    A tensor without a variable keeps its name, and so does one that the program itself described.
    """
    unnamed = {a for a in map(_allocation_of, arguments) if a is not None and a.declared.told is None}
    frame = sys._getframe(1)  # noqa: SLF001 - the caller
    for _ in range(DEEPEST):
        if not unnamed or frame is None:
            return
        if not is_own(frame):
            for name, value in list(frame.f_locals.items()):
                held = _allocation_of(value) if not name.startswith(("_", "@")) else None
                if held in unnamed:
                    unnamed.discard(held)
                    held.declared = evolve(held.declared, name=name)
        frame = frame.f_back  # type: ignore[assignment]


def _allocation_of(value: object) -> Allocation | None:
    """Return the allocation of a tensor, or of a pointer to its first byte."""
    if isinstance(value, DeviceTensor):
        return value.allocation
    if isinstance(value, Ptr) and value.offset == 0:
        return value.view.allocation
    return None


# -- contents of the arguments of a launch ---------------------------------------------------------

_STRUCTURES = (tuple, list)


def leaves(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the numbers and pointers in *arguments* of a compiled kernel."""
    for argument in arguments:
        if argument.__class__ in _STRUCTURES:
            yield from leaves(argument)
        else:
            yield argument


def mapped(argument: object, change: Callable[[Any], Any], *, compiled: bool) -> Any:
    """Return an argument with *change* applied to each number and pointer in it."""
    if not compiled or argument.__class__ not in _STRUCTURES:
        return change(argument)
    return tuple(mapped(part, change, compiled=True) for part in argument)


def allocation_of(argument: object) -> Allocation | None:
    """Return the allocation of a tensor or a pointer; None for anything else."""
    allocation = getattr(getattr(argument, "view", argument), "allocation", None)
    return allocation if isinstance(allocation, Allocation) else None
