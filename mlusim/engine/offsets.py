"""Instructions at byte offsets: their operands, the mask, and which elements take part."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.engine.refuse import foreign, no_pointer
from mlusim.errors import Fault, WrongSpace
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import Space

if TYPE_CHECKING:
    from mlusim.engine.contract import Mlu

Places = np.ndarray[Any, np.dtype[np.int64]]
"""Places or offsets in bytes, or numbers of elements."""


def check_spaces(mlu: "Mlu", operands: Mapping[str, tuple[Any, Space]]) -> Fault | None:
    """Return the problem where one of *operands* is not a pointer of this device into its space."""
    for name, (pointer, space) in operands.items():
        if not isinstance(pointer, Ptr):
            return no_pointer(name, pointer, space)
        fault = foreign(mlu, name, pointer)
        if fault is not None:
            return fault
        if pointer.space is not space:
            return WrongSpace(
                f"{name} points into {pointer.space}",
                operand=name,
                space=pointer.space.name,
                legal=str(space),
            )
    return None


def check_writable(pointer: Ptr, name: str) -> Fault | None:
    """Return the problem where the host passed the memory behind *pointer* as const."""
    target = pointer.view.allocation
    if target.writable:
        return None
    return target.const_fault(name)


def check_room(pointer: Ptr, name: str, count: int) -> Fault | None:
    """Return the problem where *count* elements do not fit behind *pointer*."""
    fault = bounds_fault(pointer.view, pointer.offset, count * pointer.view.itemsize)
    if fault is not None:
        fault.operand = name
    return fault


def taking_part(offset: Ptr, bitmask: Any, count: int) -> Fault | tuple[Places, Places]:
    """Return which of *count* elements take part, and their offsets (bytes); or what is wrong with the mask.

    *bitmask* is a pointer or None for all; bit i, the lowest first, is that of element i.
    """
    chosen = np.arange(count)
    if bitmask is not None:
        mask, nbytes = bitmask.cast("uint8"), -(-count // 8)
        fault = check_room(mask, "bitmask", nbytes)
        if fault is not None:
            return fault
        bits = mask.view.array[mask.index : mask.index + nbytes]
        chosen = np.flatnonzero(np.unpackbits(bits, bitorder="little")[:count])
    offsets = offset.view.array[offset.index : offset.index + count].astype(np.int64)
    return chosen, offsets[chosen]


def element(pointer: Ptr, i: int) -> Access:
    """Return the bytes of element *i* behind *pointer*."""
    size = pointer.view.itemsize
    return Access(pointer.view.allocation, pointer.offset + i * size, size)


def elements(pointer: Ptr, chosen: Places) -> list[Access]:
    """Return the bytes of the elements *chosen* (ascending) behind *pointer*, neighbours in one access."""
    size, allocation = pointer.view.itemsize, pointer.view.allocation
    ends = np.flatnonzero(np.diff(chosen) != 1) + 1
    runs = np.split(chosen, ends) if len(chosen) else []
    return [Access(allocation, pointer.offset + int(run[0]) * size, len(run) * size) for run in runs]


def reads_of(offset: Ptr, bitmask: Any, count: int, chosen: Places) -> list[Access]:
    """Return the ranges that are read to know the places: the offsets *chosen*, and the mask for *count* elements if there is one."""
    reads = elements(offset, chosen)
    if bitmask is not None:
        reads.append(Access(bitmask.view.allocation, bitmask.offset, -(-count // 8)))
    return reads
