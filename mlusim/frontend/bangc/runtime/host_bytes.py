"""The bytes behind a pointer of a host program, wherever they are."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.counted import plural
from mlusim.errors import Ended, MemoryFault, OutOfBounds, Unsupported, WrongSpace
from mlusim.frontend.bangc.runtime.host_memory import HostPtr
from mlusim.frontend.bangc.runtime.layouts import PointerArray, RecordPointer
from mlusim.frontend.bangc.runtime.pointers import Address
from mlusim.frontend.bangc.runtime.variables import Bits, Cell
from mlusim.memory.pointer import Ptr

_ORDER = "look at the direction of the copy, and at the order of its pointers"


def plain(pointer: Any) -> Any:
    """*pointer* without the type of what it points to."""
    while isinstance(pointer, RecordPointer | PointerArray):
        pointer = pointer.raw
    return pointer.cell if isinstance(pointer, Bits) and pointer.offset == 0 else pointer


def host_bytes(pointer: Any, count: int, verb: str) -> memoryview:
    """The *count* bytes of host memory from *pointer* on.

    Raises a `MemoryFault` for the null pointer, for a pointer of the device and for bytes that are not there.
    """
    pointer = plain(pointer)
    if isinstance(pointer, HostPtr):
        return pointer.span(count, verb)
    if isinstance(pointer, Ptr):
        raise WrongSpace(
            f"a {verb} of {count} {plural(count, 'byte')} of host memory through a pointer of the device",
            space=pointer.space.name,
            hint=_ORDER if verb.startswith("cnrt") else "copy it with cnrtMemcpy first",
        )
    found = variable_bytes(pointer, count) if verb == "load" or verb.startswith("cnrt") else None
    if found is not None:
        return found
    raise _none(pointer, count, verb)


def device_bytes(pointer: Any, count: int, verb: str) -> Any:
    """The *count* bytes of GDRAM from *pointer* on; raises as `host_bytes`."""
    pointer = plain(pointer)
    if not isinstance(pointer, Ptr):
        if isinstance(pointer, HostPtr):
            what = pointer.view.block.what
            raise WrongSpace(
                f"a {verb} of {count} {plural(count, 'byte')} of device memory through a pointer to {what} of the host",
                hint=_ORDER,
            )
        raise _none(pointer, count, verb)
    allocation, start = pointer.view.allocation, pointer.offset
    if not allocation.live:
        fault = Ended(
            f"a {verb} of {count} {plural(count, 'byte')} of device memory that was freed",
            address=pointer.address,
        )
        fault.rule = "hostcheck-use-after-free"
        raise fault
    if start < 0 or start + count > allocation.nbytes:
        raise OutOfBounds(
            f"a {verb} of {count} {plural(count, 'byte')} at byte {start} of {allocation.nbytes} {plural(allocation.nbytes, 'byte')} of device memory",
            address=pointer.address,
            legal=f"{max(allocation.nbytes - start, 0)} {plural(max(allocation.nbytes - start, 0), 'byte')} are there",
        )
    return allocation.raw.data[start : start + count]


def put_variable(pointer: Any, raw: bytes) -> bool:
    """Store bytes to a number that is kept outside memory, where they are all of its own; whether it is such."""
    pointer = plain(pointer)
    if not (
        isinstance(pointer, Cell) and isinstance(pointer.layout, DType) and pointer.layout.size == len(raw)
    ):
        return False
    pointer.put(np.frombuffer(raw, pointer.layout.dtype)[0].item())
    return True


def variable_bytes(pointer: Any, count: int) -> memoryview | None:
    """The bytes of a number that is kept outside memory, to be read; None: it is no such number of *count* bytes."""
    if isinstance(pointer, Cell) and isinstance(pointer.layout, DType) and pointer.layout.size == count:
        return memoryview(np.array(pointer.v).astype(pointer.layout.dtype).tobytes())
    return None


def _none(pointer: Any, count: int, verb: str) -> MemoryFault:
    if isinstance(pointer, Address):
        what = "the null pointer" if pointer.address == 0 else f"{pointer.address:#x}, the address of nothing"
        return MemoryFault(
            f"a {verb} of {count} {plural(count, 'byte')} through {what}", hint="test the pointer first"
        )
    return Unsupported(  # type: ignore[return-value]
        f"a {verb} of {count} {plural(count, 'byte')} of a variable that is kept in registers",
        hint="make the variable an array of one element",
    )
