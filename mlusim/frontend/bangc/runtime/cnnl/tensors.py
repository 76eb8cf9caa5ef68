"""The arguments of the stand-ins: tensors on the device, numbers behind pointers, descriptors."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from attrs import define, field

from mlusim.arch.dtypes import as_dtype, float64
from mlusim.counted import plural
from mlusim.errors import Ended, MemoryFault, OutOfBounds, Unsupported, WrongSpace
from mlusim.memory.pointer import Ptr


class StandInDevice(Protocol):
    """Notes which bytes got values."""

    def filled(self, pointer: Ptr, nbytes: int) -> None: ...


Array = np.ndarray[Any, Any]
Argument = Any
"""An argument of the closed library as C passes it: a number, a pointer, or a descriptor."""
# By the numbers of cnnlDataType_t; those that are left out are types that NumPy lacks.
DTYPES: Mapping[int, Any] = {
    1: np.float16, 2: np.float32, 3: np.int8, 4: np.int16, 6: np.int32, 7: np.uint8, 8: np.bool_, 9: np.int64,
    11: np.uint32, 12: np.uint64, 13: np.uint16, 14: np.float64, 16: np.complex64,
}  # fmt: skip


@define(eq=False)
class Descriptor:
    """A descriptor of anything but a tensor: what was set, by name."""

    values: dict[Any, Any] = field(factory=dict)


def dtype_of(desc: Argument) -> Any:
    """Return the NumPy element type of a tensor.  Raises `Unsupported` for one that NumPy lacks."""
    dtype = DTYPES.get(int(desc.dtype))
    if dtype is None:
        raise Unsupported(
            f"a tensor of cnnlDataType_t {int(desc.dtype)} is given to a stand-in of cnnl; give one of a type that NumPy has"
        )
    return np.dtype(dtype)


def shape_of(desc: Argument) -> tuple[int, ...]:
    """Return the sizes of a tensor."""
    return tuple(int(desc.dims[axis]) for axis in range(int(desc.dim)))


def device_bytes(pointer: object, count: int, verb: str) -> Any:
    """Return the *count* bytes of the device from *pointer* on.

    Raises `WrongSpace` for a pointer of the host, `MemoryFault` for the null pointer and for bytes that are not there.
    """
    what = f"a {verb} of {count} {plural(count, 'byte')} of device memory"
    if pointer is None:
        raise MemoryFault(f"{what} through the null pointer", hint="test the pointer first")
    if not isinstance(pointer, Ptr):
        raise WrongSpace(f"{what} through a pointer of the host", hint="look at the order of the pointers")
    allocation, start = pointer.view.allocation, pointer.offset
    if not allocation.live:
        fault = Ended(f"{what} that was freed", address=pointer.address)
        fault.rule = "hostcheck-use-after-free"
        raise fault
    if start < 0 or start + count > allocation.nbytes:
        rest = max(allocation.nbytes - start, 0)
        raise OutOfBounds(
            f"{what} at byte {start} of {allocation.nbytes}",
            address=pointer.address,
            legal=f"{rest} {plural(rest, 'byte')} are there",
        )
    return allocation.raw.data[start : start + count]


def values(desc: object, pointer: object, verb: str = "load") -> Array:
    """Return a tensor's elements on the device, as an array that shares them."""
    dtype, shape = dtype_of(desc), shape_of(desc)
    count = int(np.prod(shape, dtype=np.int64))  # of no sizes it is 1, the one element
    if not count:
        return np.zeros(shape, dtype)
    raw = device_bytes(pointer, count * dtype.itemsize, verb)
    return np.frombuffer(raw, dtype, count).reshape(shape)


def doubles(desc: object, pointer: object) -> Array:
    """Return a tensor's elements in double precision: a sum of halves would lose what is added."""
    return values(desc, pointer).astype(np.float64)


def store(driver: StandInDevice, desc: object, pointer: Argument, result: object) -> int:
    """Give a tensor on the device its elements, and return the status of success."""
    target = values(desc, pointer, "store")
    target[...] = np.asarray(result).reshape(target.shape)
    driver.filled(pointer, target.nbytes)
    return 0


def scalar(pointer: Argument, dtype: Any = None) -> Any:
    """Return the number behind a pointer of the host, seen as *dtype* (None: as it is)."""
    if dtype is None:
        return pointer[0]
    if np.dtype(dtype).kind == "c":
        return complex(pointer[0])
    name = np.dtype(dtype).name
    name = {"float16": "half", "float32": "float", "bool": "uint8"}.get(name, name)
    # The device's memory has no float64.
    return pointer.cast(float64 if name == "float64" else as_dtype(name))[0]


def numbers(pointer: Argument, count: int) -> list[int]:
    """Return the integers behind a pointer of the host."""
    return [int(pointer[n]) for n in range(count)]
