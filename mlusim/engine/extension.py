"""``__extension``: pieces that are repeated as often as a vector of bytes says."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.pipe import Pipe
from mlusim.engine.offsets import check_room, check_spaces
from mlusim.engine.refuse import count_of, refuse_here
from mlusim.errors import Fault, RuleFault
from mlusim.isa.declare import Intrinsic
from mlusim.memory.direction import NRAM2NRAM
from mlusim.memory.footprint import Access
from mlusim.memory.space import NRAM
from mlusim.time.work import LINE, CopyLoad, charge

if TYPE_CHECKING:
    from mlusim.engine.contract import Mlu


def extension_method(row: Intrinsic, number: int) -> Callable[..., None]:
    """Return the method of *row*."""

    def method(mlu: "Mlu", dst: Any, src: Any, repeats: Any, size: Any, direction: Any, count: Any) -> None:
        size, count = count_of(mlu, row, "size", size), count_of(mlu, row, "count", count)
        times = _look(mlu, dst, src, repeats, size, direction, count)
        if isinstance(times, Fault):
            raise refuse_here(mlu, row, times)
        wide = int(times.sum()) * size
        watch, seen = mlu.watch, None
        if watch is not None:
            pieces = [_access(src, i * size, size) for i in np.repeat(np.arange(count), times).tolist()]
            reads = (_access(repeats, 0, count), *pieces)
            writes = tuple(_access(dst, n * size, size) for n in range(len(pieces)))
            seen = watch.copy(row, Pipe.VECTOR, reads, writes, (dst, src, repeats, size, direction, count))
        rows = src.view.raw[src.offset : src.offset + count * size].reshape(count, size)
        dst.view.raw[dst.offset : dst.offset + wide] = np.repeat(rows, times, axis=0).reshape(-1)
        if watch is not None and seen is not None:
            watch.retire(seen)
        lines = -(-max(wide, 1) // LINE)
        charge(mlu, Pipe.VECTOR, CopyLoad(lines=lines), wide)
        mlu.lines[number] += lines
        mlu.counts[number] += 1

    method.__name__ = row.name
    return method


def _access(pointer: Any, start: int, nbytes: int) -> Access:
    return Access(pointer.view.allocation, pointer.offset + start, nbytes)


EXTENSION_METHODS: Mapping[str, Callable[[Intrinsic, int], Callable[..., None]]] = MappingProxyType(
    {"extension": extension_method}
)


def _look(mlu: "Mlu", dst: Any, src: Any, repeats: Any, size: int, direction: Any, count: int) -> Any:
    """Return how often each piece is repeated, or what is wrong."""
    for name, value in (("size", size), ("count", count)):
        if value <= 0:
            return RuleFault(f"{name} = {value}", operand=name, legal="1 or more", hint="guard the call")
    if direction is not NRAM2NRAM:
        return RuleFault(f"direction = {direction!r}", operand="direction", legal="NRAM2NRAM")
    fault = check_spaces(mlu, {"dst": (dst, NRAM), "src": (src, NRAM), "repeats": (repeats, NRAM)})
    fault = fault or check_room(src.cast("uint8"), "src", count * size)
    fault = fault or check_room(repeats.cast("uint8"), "repeats", count)
    if fault is not None:
        return fault
    times = repeats.view.raw[repeats.offset : repeats.offset + count].astype(np.int64)
    wide = int(times.sum()) * size
    fault = check_room(dst.cast("uint8"), "dst", wide)
    if fault is not None:
        return fault
    for name, pointer, nbytes in (("src", src, count * size), ("repeats", repeats, count)):
        if (
            pointer.view.raw is dst.view.raw
            and dst.offset < pointer.offset + nbytes
            and pointer.offset < dst.offset + wide
        ):
            return RuleFault(f"dst overlaps {name}", operand="dst", legal=f"dst apart from {name}")
    return times
