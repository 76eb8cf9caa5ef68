"""Memory in the user's terms: regions, tensors, values, files."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch import dtypes
from mlusim.counted import plural
from mlusim.debug.look.describe import elements, poisoned
from mlusim.debug.look.evaluate import c_scope
from mlusim.debug.look.paused_run import Focus, PausedRun
from mlusim.debug.look.places import locate, owner_in
from mlusim.debug.source.frames import name_of, variables_of
from mlusim.debug.stop.stops import ByteSpan
from mlusim.errors import UsageError
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.machine.core import Core

USUAL, LONGEST = 8, 1024  # elements shown by default: at a place without an end, and at one with an end
SIZES = {"b": 1, "h": 2, "w": 4, "g": 8}
FLOATS = {2: dtypes.half, 4: dtypes.float32}
SIGNED = {1: dtypes.int8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}
UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


@frozen
class RegionState:
    """A region, tensor or declaration: its place, and statistics of its values.

    ``minimum`` and ``maximum`` are over the values that are numbers; ``nan`` counts NaN
    that is not poison; ``poison`` counts the elements whose bytes are all as in fresh memory.
    """

    name: str
    memory: str
    dtype: str
    elements: int
    offset: int
    nbytes: int
    minimum: str
    maximum: str
    nan: int
    poison: int
    first: str


def plan_regions(focus: Focus) -> list[RegionState]:
    """Return the regions of the plans in the core's memories, each once; none if there is no plan."""
    paused, core, _ = focus
    states: dict[str, RegionState] = {}
    for placement in paused.placements(core):
        buffer = placement.allocation
        for region in (region for stage in placement.layout.stages for region in stage.regions):
            if region.bytes and region.name not in states:
                start = placement.start + region.offset
                offset = buffer.address - paused.base(buffer.space) + start
                states[region.name] = _state(
                    region.name, buffer, start, region.bytes, dtypes.as_dtype(region.dtype), offset
                )
    return list(states.values())


def declarations(focus: Focus) -> list[RegionState]:
    """Return the on-chip declarations of the core and its cluster, by the names of the variables that hold them."""
    paused, core, _ = focus
    rows = []
    for owner, allocation in paused.allocations(core):
        if owner is None or core is None:
            continue
        name, dtype = paused.declared(allocation)
        where = allocation.declared.place
        offset = allocation.address - paused.base(allocation.space)
        rows.append(_state(name or where, allocation, 0, allocation.nbytes, dtype or dtypes.uint8, offset))
    return rows


def carved(focus: Focus) -> list[RegionState]:
    """Return the regions that BANG C pointers carve out of on-chip arrays; each is assumed to end where the next begins."""
    paused, core, frame = focus
    places: dict[int, tuple[Allocation, dict[int, tuple[str, dtypes.DType]]]] = {}
    on_chip = {id(a): a for owner, a in paused.allocations(core) if owner is not None and core is not None}
    while frame is not None and c_scope(frame) is not None:
        for name, value in variables_of(frame).items():
            if isinstance(value, Ptr) and id(value.view.allocation) in on_chip and value.offset >= 0:
                _, pointers = places.setdefault(id(value.view.allocation), (value.view.allocation, {}))
                pointers.setdefault(value.offset, (name, value.dtype))
        frame = frame.f_back
    rows = []
    for allocation, pointers in places.values():
        whole, _ = paused.declared(allocation)
        starts = sorted(s for s in pointers if s < allocation.nbytes)
        if len(starts) < 2:
            continue
        for start, end in zip(starts, [*starts[1:], allocation.nbytes], strict=True):
            name, dtype = pointers[start]
            offset = allocation.address - paused.base(allocation.space) + start
            rows.append(
                _state(f"{whole or allocation.space}: {name}", allocation, start, end - start, dtype, offset)
            )
    return rows


def tensors(paused: PausedRun) -> list[RegionState]:
    """Return the tensors of the launch."""
    return [
        _state(name, allocation, 0, allocation.nbytes, argument.dtype, allocation.address)
        for name, (allocation, argument) in paused.tensors.items()
        if allocation.live
    ]


def _state(
    name: str, allocation: Allocation, start: int, nbytes: int, dtype: dtypes.DType, offset: int
) -> RegionState:
    count = min(nbytes, allocation.nbytes - start) // dtype.size
    array = np.ndarray((count,), dtype.dtype, allocation.raw, start)
    fresh = poisoned(array)
    low, high, nan = _numbers(array, fresh)
    return RegionState(
        name, str(allocation.space), str(dtype), count, offset, nbytes, low, high, nan, int(fresh.sum()),
        ", ".join(elements(array[:4])) + (", ..." if count > 4 else ""),
    )  # fmt: skip


def _numbers(array: np.ndarray[Any, Any], fresh: np.ndarray[Any, Any]) -> tuple[str, str, int]:
    """Return the minimum, the maximum, and the number of NaN values that are not poison."""
    if array.dtype.kind in "iu":
        valued = array[~fresh]
        return (str(valued.min()), str(valued.max()), 0) if valued.size else ("-", "-", 0)
    wide = array.astype(np.float32)
    missing = np.isnan(wide)
    valued = wide[~missing]
    nan = int((missing & ~fresh).sum())
    return (f"{valued.min():.6g}", f"{valued.max():.6g}", nan) if valued.size else ("-", "-", nan)


# -- values ----------------------------------------------------------------------------------------


def examine(
    focus: Focus,
    span: ByteSpan,
    count: int | None,
    letter: str,
    size: str,
    *,
    exact: bool = False,
) -> Iterator[str]:
    """Yield the lines of *count* elements from *span* on: *letter* f, d, u, x, t or c, *size* b, h, w, g or "" (that of *span*).

    Without a count, yield all of *span* if it is *exact*, else a few elements.  Raises `UsageError` if the memory is
    shorter.
    """
    dtype = _dtype(letter, size, span.dtype)
    allocation, start = locate(span, focus)
    fit = (allocation.nbytes - start) // dtype.size
    if count is None:  # all of an exact span, so that one that is too long is refused
        count = max(1, min(span.nbytes // dtype.size, LONGEST) if exact else min(USUAL, fit))
    beyond = start + count * dtype.size - allocation.nbytes
    if beyond > 0:
        raise UsageError(
            f"{count} {plural(count, 'element')} of {dtype} reach {beyond} {plural(beyond, 'byte')} beyond {span.text}; {fit} fit"
        )
    array = np.ndarray((count,), dtype.dtype, allocation.raw, start)
    shown = _formatted(array, letter)
    width = max((len(text) for text in shown), default=1)
    per_line = max(1, min(16, 64 // (width + 2), 32 // dtype.size if dtype.size > 1 else 16))
    for first in range(0, count, per_line):
        address = span.low + first * dtype.size
        yield f"{address:#x}: " + "  ".join(text.rjust(width) for text in shown[first : first + per_line])


def _dtype(letter: str, size: str, usual: dtypes.DType | None) -> dtypes.DType:
    if letter == "f":
        if usual is not None and usual.kind == "float" and not size:
            return usual
        width = SIZES[size] if size else 4
        if width not in FLOATS:
            raise UsageError(f"there is no float of {width} bytes; use x/fh for half or x/fw for float")
        return FLOATS[width]
    if not letter and usual is not None and not size:
        return usual
    width = SIZES[size] if size else usual.size if usual is not None else 4
    if letter in ("", "d"):
        return SIGNED[width]
    return UNSIGNED[1 if letter == "c" else width]


def _formatted(array: np.ndarray[Any, Any], letter: str) -> list[str]:
    if letter == "x":
        return [f"0x{int(v):0{2 * array.dtype.itemsize}x}" for v in array]
    if letter == "t":
        return [f"{int(v):0{8 * array.dtype.itemsize}b}" for v in array]
    if letter == "c":
        return [repr(chr(int(v))) for v in array]
    if letter == "u":
        return [str(int(v)) for v in array]
    return elements(array)


def array_of(focus: Focus, span: ByteSpan) -> np.ndarray[Any, Any]:
    """Return a copy of the elements of *span*, in the tensor's shape if it is a whole tensor; as bytes if its type is unknown."""
    allocation, start = locate(span, focus)
    nbytes = min(span.nbytes, allocation.nbytes - start)
    dtype = span.dtype.dtype if span.dtype is not None else np.dtype(np.uint8)
    array = np.ndarray((nbytes // dtype.itemsize,), dtype, allocation.raw, start).copy()
    for tensor, argument in focus.paused.tensors.values():
        whole = tensor is allocation and isinstance(argument, DeviceTensor) and array.size == argument.size
        if whole and start == 0:
            return array.reshape(argument.shape)
    return array


def difference(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], most: int = 8) -> list[str]:
    """Return sentences about the differences of two arrays, the largest differences first.

    Raises `UsageError` if the second array cannot be compared with the first.
    """
    if ours.size != theirs.size:
        raise UsageError(
            f"{list(theirs.shape)} has {theirs.size} {plural(theirs.size, 'element')} and {list(ours.shape)} has {ours.size}"
        )
    theirs = theirs.reshape(ours.shape)
    if ours.dtype == theirs.dtype:
        differs = bytes_differ(ours, theirs).reshape(ours.shape)
    else:
        differs = ~((ours == theirs) | (_nan(ours) & _nan(theirs)))
    total = int(differs.sum())
    if total == 0:
        return [f"no difference in {ours.size} {plural(ours.size, 'element')}"]
    with np.errstate(all="ignore"):
        apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    apart = np.where(differs, np.where(np.isnan(apart), np.inf, apart), -1.0).reshape(-1)
    worst = np.argsort(-apart, kind="stable")[: min(most, total)]
    lines = [f"{total} of {ours.size} elements differ; the worst:"]
    flat_ours, flat_theirs = ours.reshape(-1), theirs.reshape(-1)
    for at, here, there in zip(worst, elements(flat_ours[worst]), elements(flat_theirs[worst]), strict=True):
        index = ", ".join(str(int(i)) for i in np.unravel_index(at, ours.shape))
        lines.append(f"  [{index}]  {here}  here, {there} there")
    return lines


def bytes_differ(array: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return, as a flat array, which elements of two arrays of one type and size differ in their bytes, so that NaN equals NaN."""
    raw = [np.ascontiguousarray(a).view(np.uint8).reshape(a.size, -1) for a in (array, other)]
    return np.asarray((raw[0] != raw[1]).any(axis=1))


def _nan(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(np.isnan(array.astype(np.float64)))


def same_place(span: ByteSpan, other: PausedRun, core: "Core | None") -> Focus:
    """Return a focus on the core of another paused run that has the name of *span*'s owner, or else the name of *core*.

    Raises `UsageError` if that core does not run there.
    """
    if span.owner is None:
        return Focus(other)
    there = other.observed.core(span.owner) if span.owner.startswith("task") else None
    if there is None and core is not None:
        there = other.observed.core(name_of(core))
    if there is None:
        raise UsageError(f"{span.owner} does not run at {other.stop.position}")
    owner_in(span.space, there)
    return Focus(other, there)
