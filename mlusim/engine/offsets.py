"""Rows with an operand at byte offsets: gathers, scatters, discrete atomics, and the copy of repeated pieces.

The addresses of such an operand are known only after its offsets are read; blocking rows first wait for
earlier copies. The methods of these rows call `move`, `update` and `repeat`; the native engine calls them
too. The functions that check something return a fault or None.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import uint32
from mlusim.counted import plural
from mlusim.engine.contract import Flight, IssuingMlu
from mlusim.engine.refuse import constant, count_of, foreign, no_pointer, refuse_here
from mlusim.errors import Fault, RuleFault, WrongSpace
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import GDRAM, NRAM, NRAM2NRAM, Direction, Space
from mlusim.time.copy_costs import LINE, UNIT
from mlusim.time.quantities import ATOMICS, CROWDED, CopyLoad
from mlusim.time.work import charge, charge_flight, crowded, scattered, transactions_of

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic, Offsets

Places = np.ndarray[Any, np.dtype[np.int64]]
"""Addresses or offsets in bytes, or indices of elements."""

# -- arguments -------------------------------------------------------------------------------------


def names_of(row: "Intrinsic") -> tuple[tuple[str, ...], str | None, int]:
    """Return the argument names of *row*, the name of the optional argument, and how many leading arguments all C forms share."""
    front = [p.name for p in row.given if p.kind != "rest"]
    forms = next((p.c for p in row.given if p.kind == "rest"), None) or ("",)
    # The longer form has the mask.
    named = sorted(
        ([part.split()[-1].lstrip("*") for part in form.split(",") if part] for form in forms), key=len
    )
    optional = next((name for name in named[-1] if name not in named[0]), None)
    return (*front, *named[-1]), optional, len(front)


def arguments_of(
    mlu: IssuingMlu,
    row: "Intrinsic",
    names: tuple[str, ...],
    optional: str | None,
    front: int,
    positional: tuple[Any, ...],
    named: dict[str, Any],
) -> dict[str, Any]:
    """Return the arguments by name, in the form of `names_of`; an optional operand that was left out is None.

    All but the first *front* arguments may be passed by name, in any order. Raises a fault if there are too
    few or too many.
    """
    asked, number = names, len(positional) + len(named)
    if optional is not None and number == len(names) - 1:
        asked = tuple(name for name in names if name != optional)
    free = [name for name in asked if name not in named]
    fits = (
        number == len(asked)
        and set(named) <= set(asked)
        and named.keys().isdisjoint(names[:front][: len(positional)])
    )
    if not fits:
        fault = RuleFault(f"{number} {plural(number, 'argument')}", legal=row.signature)
        raise refuse_here(mlu, row, fault)
    arguments = dict(zip(free, positional, strict=True)) | named
    return {name: arguments.get(name) for name in names}


def _counts(mlu: IssuingMlu, row: "Intrinsic", arguments: dict[str, Any], *names: str) -> Iterator[int]:
    """Convert the arguments *names* to integers, in *arguments* too, and yield them."""
    for name in names:
        if arguments[name].__class__ is not int:
            arguments[name] = count_of(mlu, row, name, arguments[name])
        yield arguments[name]


def _refuse(mlu: IssuingMlu, row: "Intrinsic", fault: Fault | None) -> None:
    if fault is not None:
        raise refuse_here(mlu, row, fault)


# -- checks ----------------------------------------------------------------------------------------


def not_positive(name: str, value: int) -> Fault | None:
    """Return the fault if a count is below 1."""
    if value > 0:
        return None
    return RuleFault(f"{name} = {value}", operand=name, legal="1 or more", hint="guard the call")


def no_int(name: str, value: int) -> Fault | None:
    """Return the fault if a count does not fit into an ``int`` of C."""
    if not abs(value) >> 31:
        return None
    return RuleFault(f"{name} = {value} is not an int of C", operand=name, legal="up to 2**31 - 1")


def pieces_meet(size: int, stride: int, count: int) -> Fault | None:
    """Return the fault if *count* pieces of *size* bytes, *stride* bytes apart, overlap."""
    if count == 1 or stride >= size:
        return None
    return RuleFault(
        f"stride = {stride} makes pieces of {size} {plural(size, 'byte')} overlap",
        operand="stride",
        legal=f"{size} or more",
    )


def not_directed(direction: object, directions: tuple[Direction, ...]) -> Fault | None:
    """Return the fault if *direction* is not one of *directions*."""
    if direction in directions:
        return None
    return RuleFault(
        f"direction = {direction!r} is not for this",
        operand="direction",
        legal=" or ".join(str(d) for d in directions),
    )


def misplaced(mlu: IssuingMlu, name: str, pointer: object, space: Space) -> Fault | None:
    """Return the fault if an operand is not a pointer of this core into *space*."""
    if not isinstance(pointer, Ptr):
        return no_pointer(name, pointer, space)
    fault = foreign(mlu, name, pointer)
    if fault is not None or pointer.space is space:
        return fault
    return WrongSpace(
        f"{name} points into {pointer.space}", operand=name, space=pointer.space.name, legal=str(space)
    )


def not_writable(pointer: Ptr, name: str) -> Fault | None:
    """Return the fault if *pointer* points into const memory."""
    target = pointer.view.allocation
    return None if target.writable else target.const_fault(name)


def mistyped(name: str, pointer: Ptr, dtypes: tuple[str, ...]) -> Fault | None:
    """Return the fault if the element type of *pointer* is not one of *dtypes*."""
    if pointer.dtype.name in dtypes:
        return None
    return WrongSpace(
        f"{name} is {pointer.dtype}", operand=name, legal=", ".join(dtypes), hint="cast the pointer"
    )


def no_integers(offset: Ptr) -> Fault | None:
    """Return the fault if the elements of the operand *offset* are not integers."""
    if offset.dtype.kind != "float":
        return None
    return WrongSpace(f"offset is {offset.dtype}", operand="offset", legal="integers of 8, 16, 32 or 64 bits")


def unlike(name: str, value: object, like: str, pointer: Ptr) -> Fault | None:
    """Return the fault if *value* is a pointer whose element type differs from that of *pointer*, the operand called *like*."""
    if not isinstance(value, Ptr) or value.dtype is pointer.dtype:
        return None
    text = f"{name} is {value.dtype} and {like} is {pointer.dtype}"
    return WrongSpace(text, operand=name, legal="one element type for all operands")


def no_room(pointer: object, name: str, count: int) -> Fault | None:
    """Return the fault if *count* elements do not fit behind *pointer*; a scalar operand always fits."""
    if not isinstance(pointer, Ptr):
        return None
    fault = bounds_fault(pointer.view, pointer.offset, count * pointer.view.itemsize)
    if fault is not None:
        fault.operand = name
    return fault


def meeting(target: Ptr, source: object, name: str, count: int, exact: bool) -> Fault | None:
    """Return the fault if *target* overlaps *source*; with *exact* both may start at the same byte. A scalar never overlaps."""
    if not isinstance(source, Ptr) or target.view.allocation is not source.view.allocation:
        return None
    width, other = count * target.view.itemsize, count * source.view.itemsize
    if exact and target.offset == source.offset:
        return None
    if target.offset + width <= source.offset or source.offset + other <= target.offset:
        return None
    legal = f"dst exactly at {name} or apart from it" if exact else f"dst apart from {name}"
    return RuleFault(f"dst overlaps {name}", operand="dst", legal=legal)


def repeats_meet(dst: Ptr, wide: int, src: Ptr, taken: int, repeats: Ptr, count: int) -> Fault | None:
    """Return the fault if the *wide* bytes of the destination overlap the source pieces or the repetition counts."""
    for name, pointer, nbytes in (("src", src, taken), ("repeats", repeats, count)):
        if (
            pointer.view.raw is dst.view.raw
            and dst.offset < pointer.offset + nbytes
            and pointer.offset < dst.offset + wide
        ):
            return RuleFault(f"dst overlaps {name}", operand="dst", legal=f"dst apart from {name}")
    return None


def outside(
    name: str, pointer: Ptr, places: Places, size: int, chosen: Places, offset: Ptr | None
) -> Fault | None:
    """Return the fault for the first of *places* at which *size* bytes leave the memory of operand *name*.

    The message names the element by its index in *chosen* and, if *offset* is given, the offset.
    """
    wrong = np.flatnonzero((places < 0) | (places + size > pointer.view.nbytes))
    if not wrong.size:
        return None
    at, i = int(places[wrong[0]]) - pointer.offset, int(chosen[wrong[0]])
    fault = bounds_fault(pointer.view, pointer.offset, size, at)
    if fault is not None:
        fault.operand = name
        of = f"piece {i}" if offset is None else f"offset[{i}] = {at}"
        fault.message = f"{of} of {name}; {fault.message}"
        if offset is not None:
            fault.read = (_element(offset, i),)
    return fault


def unaligned(pointer: Ptr, places: Places, chosen: Places, offset: Ptr) -> Fault | None:
    """Return the fault for the first of *places* that is not a multiple of the element size."""
    size = pointer.view.itemsize
    wrong = np.flatnonzero(places % size)
    if not wrong.size:
        return None
    at, i = int(places[wrong[0]]) - pointer.offset, int(chosen[wrong[0]])
    fault = RuleFault(
        f"offset[{i}] = {at} is not aligned to the element size",
        operand="offset",
        legal=f"offsets in bytes that lead to multiples of {size}",
        hint="multiply the index by the size of an element",
    )
    fault.read = (_element(offset, i),)
    return fault


# -- addresses of the elements -----------------------------------------------------------------------


def pipe_of(direction: Direction) -> Pipe:
    """Return the pipe of copies in *direction*."""
    return Pipe.IO if direction.off_chip else Pipe.MOVE


def taking_part(
    mlu: IssuingMlu, row: "Intrinsic", offset: Ptr, bitmask: Any, count: int
) -> tuple[Places, Places]:
    """Return the indices of the elements that take part, of *count*, and their offsets (bytes).

    *bitmask* is a pointer, or None for all elements; bit i (lowest first) belongs to element i. Raises the
    fault of a mask that is too short.
    """
    chosen = np.arange(count)
    if bitmask is not None:
        mask, nbytes = bitmask.cast("uint8"), -(-count // 8)
        fault = no_room(mask, "bitmask", nbytes)
        if fault is not None:
            raise refuse_here(mlu, row, fault)
        bits = mask.view.array[mask.index : mask.index + nbytes]
        chosen = np.flatnonzero(np.unpackbits(bits, bitorder="little")[:count])
    # 64-bit sums with the pointer's own offset do not wrap.
    offsets = offset.view.array[offset.index : offset.index + count].astype(np.int64)
    return chosen, offsets[chosen]


def repeats_of(repeats: Ptr, count: int) -> Places:
    """Return the repetition count of each of *count* pieces."""
    return repeats.view.raw[repeats.offset : repeats.offset + count].astype(np.int64)


def repeated(times: Places) -> list[int]:
    """Return, for each repetition, the index of the repeated piece."""
    numbers: list[int] = np.repeat(np.arange(len(times)), times).tolist()
    return numbers


# -- bytes that are read and written ---------------------------------------------------------------


def _element(pointer: Ptr, i: int) -> Access:
    size = pointer.view.itemsize
    return bytes_of(pointer, i * size, size)


def bytes_of(pointer: Ptr, start: int, nbytes: int) -> Access:
    """Return the access to *nbytes* bytes that begins *start* bytes behind *pointer*."""
    return Access(pointer.view.allocation, pointer.offset + start, nbytes)


def elements_of(pointer: object, chosen: Places) -> list[Access]:
    """Return the accesses to the elements *chosen* (ascending) behind *pointer*, with neighbours joined; a scalar has no access."""
    if not isinstance(pointer, Ptr):
        return []
    size = pointer.view.itemsize
    ends = np.flatnonzero(np.diff(chosen) != 1) + 1
    runs = np.split(chosen, ends) if len(chosen) else []
    return [bytes_of(pointer, int(run[0]) * size, len(run) * size) for run in runs]


def each_of(pointer: Ptr, chosen: Places) -> list[Access]:
    """Return one access for each of the elements *chosen* behind *pointer*."""
    return [_element(pointer, int(i)) for i in chosen]


def mask_of(bitmask: Any, count: int) -> list[Access]:
    """Return the access to the mask of *count* elements, or nothing without a mask."""
    return [] if bitmask is None else [bytes_of(bitmask, 0, -(-count // 8))]


def pieces_of(pointer: Ptr, places: Places, size: int) -> list[Access]:
    """Return an access of *size* bytes at each of *places* in the memory of *pointer*."""
    return [Access(pointer.view.allocation, int(at), size) for at in places]


def distinct_of(pointer: Ptr, places: Places) -> list[Access]:
    """Return one access to an element for each distinct address in *places*."""
    return pieces_of(pointer, np.unique(places), pointer.view.itemsize)


# -- effects ---------------------------------------------------------------------------------------


def move_pieces(target: Any, to: Places, source: Any, frm: Places, size: int) -> None:
    """Copy pieces of *size* bytes from offsets *frm* to offsets *to*, all at once; the last piece at an offset wins."""
    within = np.arange(size)
    target[to[:, None] + within] = source[frm[:, None] + within]


def elements_at(pointer: Ptr, places: Places) -> tuple[Any, Places]:
    """Return the whole memory of *pointer* as an array of elements, and the indices of the elements at *places*."""
    view = pointer.view
    whole = view.allocation.nbytes // view.itemsize
    return np.ndarray((whole,), pointer.dtype.dtype, view.allocation.raw), places // view.itemsize


def update_places(
    body: Callable[..., Any], memory: Any, touched: Places, dst: Ptr, chosen: Places, count: int, src: Any
) -> None:
    """Apply an atomic to *memory* at indices *touched*, in rounds that touch each index once, so that repeats happen in order."""
    out = dst.view.array[dst.index : dst.index + count]
    # A copy: dst may be the same memory as src, and is written round by round.
    values = src.view.array[src.index : src.index + count].copy() if isinstance(src, Ptr) else None
    order = np.argsort(touched, kind="stable")
    ordered = touched[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])[: len(ordered)]
    # For each element in order: how often its index was touched before.
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    for turn in range(int(rank.max(initial=-1)) + 1):
        round_ = order[rank == turn]
        current, got = memory[touched[round_]], np.empty(len(round_), memory.dtype)
        body(got, current, None, src if values is None else values[chosen[round_]])
        memory[touched[round_]] = current
        out[chosen[round_]] = got


def repeat_pieces(dst: Ptr, src: Ptr, size: int, count: int, times: Places, wide: int) -> None:
    """Write each of *count* pieces of *size* bytes as often as *times* says, *wide* bytes in all."""
    rows = src.view.raw[src.offset : src.offset + count * size].reshape(count, size)
    dst.view.raw[dst.offset : dst.offset + wide] = np.repeat(rows, times, axis=0).reshape(-1)


# -- costs -----------------------------------------------------------------------------------------


def pieces_load(places: Places, size: int, pipe: Pipe, scatters: bool) -> CopyLoad:
    """Return the load of *pipe* for pieces of *size* bytes at *places*."""
    if pipe is Pipe.MOVE:
        return CopyLoad(lines=len(places) * -(-size // LINE))
    # A store of a piece may first read its first and its last line.
    transactions = int((transactions_of(places, size) + 2 * scatters).sum())
    return scattered(len(places), transactions, stores=scatters)


def places_load(pointer: Ptr, count: int) -> CopyLoad:
    """Return the load of *count* atomics, each on a different element."""
    transactions = count * (transactions_of(0, pointer.view.itemsize) + 2)
    return scattered(count, transactions, stores=True)


# -- the rows --------------------------------------------------------------------------------------


def move(mlu: IssuingMlu, row: "Intrinsic", number: int, arguments: dict[str, Any]) -> None:
    """Gather or scatter: copy pieces between the addresses at the offsets and a contiguous block."""
    at = row.offsets
    assert at is not None
    dst, src, offset = (arguments[name] for name in ("dst", "src", "offset"))
    # Without an argument the direction is the first whose source is the memory of src, or the last.
    usual = (d for d in at.directions[:-1] if getattr(src, "space", None) is d.src)
    direction = arguments["direction"] if "direction" in arguments else next(usual, at.directions[-1])
    size, stride, count = _counts(mlu, row, arguments, "size", "stride", "count")
    bitmask, scatters = arguments.get("bitmask"), at.operand == "dst"
    _refuse(mlu, row, _wrong_pieces(mlu, at, direction, arguments))
    pipe = pipe_of(direction)
    if at.waits and mlu.core.pending:
        mlu.core.settle(pipe)
    chosen, places = taking_part(mlu, row, offset, bitmask, count)
    ways = places, chosen * stride
    at_dst, at_src = dst.offset + ways[not scatters], src.offset + ways[scatters]
    apart, inline = (("dst", dst, at_dst), ("src", src, at_src))[:: 1 if scatters else -1]
    inside = outside(*apart, size, chosen, offset) or outside(*inline, size, chosen, None)
    _refuse(mlu, row, inside or not_writable(dst, "dst"))
    seen = None
    if mlu.watch is not None:
        reads = (*elements_of(offset, chosen), *mask_of(bitmask, count), *pieces_of(src, at_src, size))
        values = (dst, src, offset, bitmask, size, direction, stride, count)
        announce = mlu.watch.copy if at.waits else mlu.watch.flight
        seen = announce(row, pipe, reads, tuple(pieces_of(dst, at_dst, size)), values)
    load, nbytes = pieces_load(apart[2], size, pipe, scatters), len(chosen) * size
    pieces = partial(move_pieces, dst.view.raw, at_dst, src.view.raw, at_src, size)
    if at.waits:
        pieces()
        if seen is not None:
            mlu.watch.retire(seen)
        charge(mlu.work, pipe, load, nbytes)
    else:
        mlu.core.fly(Flight(pipe, pieces, seen), load)
        charge_flight(mlu.work, pipe, nbytes)
    mlu.traffic[direction.value] += nbytes
    src.view.read += nbytes
    mlu.counts[number] += 1


def _wrong_pieces(
    mlu: IssuingMlu, at: "Offsets", direction: Direction, arguments: Mapping[str, Any]
) -> Fault | None:
    """Return the fault of the operands of a gather or a scatter, or None if they are legal."""
    asked = ("dst", "src", "offset", "size", "stride", "count")
    dst, src, offset, size, stride, count = (arguments[name] for name in asked)
    return (
        not_positive("size", size)
        or not_positive("count", count)
        or no_int("size", size)
        or no_int("stride", stride)
        or no_int("count", count)
        # Pieces that are only read may overlap.
        or (None if at.operand == "dst" else pieces_meet(size, stride, count))
        or not_directed(direction, at.directions)
        or misplaced(mlu, "dst", dst, direction.dst)
        or misplaced(mlu, "src", src, direction.src)
        or misplaced(mlu, "offset", offset, NRAM)
        or _wrong_mask(mlu, arguments.get("bitmask"))
        or mistyped("offset", offset, (uint32.name,))
        or no_room(offset, "offset", count)
    )


def _wrong_mask(mlu: IssuingMlu, bitmask: object) -> Fault | None:
    return None if bitmask is None else misplaced(mlu, "bitmask", bitmask, NRAM)


def update(mlu: IssuingMlu, row: "Intrinsic", number: int, arguments: dict[str, Any]) -> None:
    """Apply an atomic to the elements at the offsets, each element once per round, and return their old values."""
    dst, base, offset, src, bitmask = (arguments[n] for n in ("dst", "base", "offset", "src", "bitmask"))
    (count,) = _counts(mlu, row, arguments, "elem_count")
    _refuse(mlu, row, _wrong_atomics(mlu, row, arguments))
    if mlu.core.pending:
        mlu.core.settle(Pipe.IO)
    chosen, places = taking_part(mlu, row, offset, bitmask, count)
    at_base, size = base.offset + places, base.view.itemsize
    inside = outside("base", base, at_base, size, chosen, offset)
    _refuse(mlu, row, inside or unaligned(base, at_base, chosen, offset))
    value = src if isinstance(src, Ptr) else constant(mlu, row, "src", base.view, src)
    seen = None
    if mlu.watch is not None:
        updates = distinct_of(base, at_base)
        reads = (*elements_of(offset, chosen), *mask_of(bitmask, count), *elements_of(src, chosen), *updates)
        writes = (*updates, *each_of(dst, chosen))
        seen = mlu.watch.copy(row, Pipe.IO, reads, writes, tuple(arguments.values()))
    memory, touched = elements_at(base, at_base)
    before = memory[touched].tobytes()
    update_places(row.body, memory, touched, dst, chosen, count, value)
    if seen is not None:
        mlu.watch.retire(seen)
    charge(mlu.work, Pipe.IO, places_load(base, len(chosen)), len(chosen) * size)
    mlu.work[ATOMICS] += len(chosen)
    # Each of these elements has a cache line of its own.
    mlu.work[CROWDED] += crowded(len(chosen) * UNIT, base.view.allocation.nbytes)
    mlu.counts[number] += 1
    # Other cores may poll what the atomics did or did not change: let them run.
    mlu.core.atomic_step(before == memory[touched].tobytes())


def _wrong_atomics(mlu: IssuingMlu, row: "Intrinsic", arguments: Mapping[str, Any]) -> Fault | None:
    """Return the fault of the operands of an atomic, or None if they are legal."""
    dst, base, offset, src, bitmask, count = arguments.values()
    return (
        not_positive("elem_count", count)
        or misplaced(mlu, "dst", dst, NRAM)
        or misplaced(mlu, "base", base, GDRAM)
        or misplaced(mlu, "offset", offset, NRAM)
        or (misplaced(mlu, "src", src, NRAM) if isinstance(src, Ptr) else None)
        or _wrong_mask(mlu, bitmask)
        or not_writable(base, "base")
        or mistyped("base", base, tuple(d.name for d in row.elements))
        or unlike("dst", dst, "base", base)
        or unlike("src", src, "base", base)
        or no_integers(offset)
        or no_room(dst, "dst", count)
        or no_room(offset, "offset", count)
        or meeting(dst, offset, "offset", count, False)
        or no_room(src, "src", count)
        or meeting(dst, src, "src", count, True)
    )


def repeat(mlu: IssuingMlu, row: "Intrinsic", number: int, arguments: dict[str, Any]) -> None:
    """Write each piece as often as the vector *repeats* (bytes) says."""
    size, count = _counts(mlu, row, arguments, "size", "count")
    dst, src, repeats, direction = (arguments[name] for name in ("dst", "src", "repeats", "direction"))
    _refuse(
        mlu,
        row,
        not_positive("size", size)
        or not_positive("count", count)
        or not_directed(direction, (NRAM2NRAM,))
        or misplaced(mlu, "dst", dst, NRAM)
        or misplaced(mlu, "src", src, NRAM)
        or misplaced(mlu, "repeats", repeats, NRAM)
        or no_room(src.cast("uint8"), "src", count * size)
        or no_room(repeats.cast("uint8"), "repeats", count),
    )
    times = repeats_of(repeats, count)
    wide = int(times.sum()) * size
    room = no_room(dst.cast("uint8"), "dst", wide)
    _refuse(mlu, row, room or repeats_meet(dst, wide, src, count * size, repeats, count))
    seen = None
    if mlu.watch is not None:
        reads = (bytes_of(repeats, 0, count), *(bytes_of(src, i * size, size) for i in repeated(times)))
        writes = tuple(bytes_of(dst, n * size, size) for n in range(int(times.sum())))
        seen = mlu.watch.copy(row, Pipe.VECTOR, reads, writes, tuple(arguments.values()))
    repeat_pieces(dst, src, size, count, times, wide)
    if seen is not None:
        mlu.watch.retire(seen)
    paid = -(-max(wide, 1) // LINE)
    charge(mlu.work, Pipe.VECTOR, CopyLoad(lines=paid), wide)
    mlu.lines[number] += paid
    mlu.counts[number] += 1


NAMES: Mapping[str, Any] = {function.__name__: function for function in (arguments_of, move, update, repeat)}
"""The functions that the rendered methods call, by name."""
