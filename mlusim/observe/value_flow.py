"""Bytes without a value: which bytes that an instruction writes depend on them, and where they come from.

To find the dependent bytes, the body of the row runs on copies, once for each of several contents of the bytes
without a value.  Output bytes that are the same each time do not depend on them.  Nothing but the row has to be known
of the instruction, and a value that a mask excludes counts as excluded.
"""

import dis
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import frozen

from mlusim.counted import counted, plural
from mlusim.isa.declare import CallStyle, Intrinsic, Refused
from mlusim.machine.hub import Effect
from mlusim.machine.observed import Site, Step, TensorStore
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, Mask
from mlusim.observe.finding import Finding, RelatedPlace
from mlusim.observe.shadow import Shadow, Write

if TYPE_CHECKING:
    from mlusim.machine.core import Core


Bytes = np.ndarray[Any, np.dtype[np.uint8]]

CONSTANTS = 0x00, 0xFF, 0x7F, 0x3C  # zero, NaN, huge, small: a byte that is only moved comes out as each
UNWRITTEN = 0x5A, 0xA5  # two contents of a destination, to find the bytes that a row leaves unchanged
BITWISE = "bitwise"  # the form in C of operations on the bits of two operands
SETTLING = {np.bitwise_and: 0x00, np.bitwise_or: 0xFF}
"""Bitwise operations, and the byte of one operand with which the result does not depend on the other."""


@frozen
class Outcome:
    """The outcome of an instruction.

    ``writes`` has the flags of each written operand (True: has a value whatever the bytes without one hold),
    ``moved`` says that every output byte without a value is a copy of one, ``result`` that the returned scalar
    depends on one, ``refused`` that the instruction is illegal for some contents.
    """

    writes: tuple[Mask, ...]
    moved: bool
    result: bool
    refused: bool


def dependence(effect: Effect, masks: Sequence[Mask], before: Sequence[Mask]) -> Outcome:
    """Run the body of *effect* on copies of its operands.

    *masks* are the flags of each access that it reads, *before* those of each that it writes.
    """
    body = _Body(effect, masks)
    try:
        runs = [body.run(filling, UNWRITTEN[0]) for filling in (*CONSTANTS, _scattered, _twin)]
        other = body.run(CONSTANTS[0], UNWRITTEN[1])
    except Refused:
        return Outcome(
            tuple(np.zeros(len(m), np.bool_) for m in before), moved=False, result=True, refused=True
        )
    first = runs[0]
    flags, moved = [], True
    for n, flag in enumerate(before):
        same = first[0][n] == runs[1][0][n]
        for run in runs[2:]:
            same &= first[0][n] == run[0][n]
        updated = effect.writes[n] in effect.reads
        left = np.zeros(len(flag), np.bool_) if updated else first[0][n] != other[0][n]
        flags.append(np.where(left, flag, same))
        depends = ~same & ~left
        moved = moved and all(
            bool((run[0][n][depends] == value).all()) for run, value in zip(runs, CONSTANTS, strict=False)
        )
    results = {np.asarray(run[1]).tobytes() for run in runs if run[1] is not None}
    return Outcome(tuple(flags), moved, len(results) > 1, refused=False)


def settled(effect: Effect, masks: Sequence[Mask]) -> Mask | None:
    """Return the flags that `dependence` would give for a bitwise and, or or, of two operands, where a byte of one may decide the result's.

    None for other instructions.
    """
    row = effect.step.row
    if row is None or row.native[:1] != (BITWISE,) or row.native[1] not in SETTLING:
        return None
    settling = SETTLING[row.native[1]]
    left, right = (_copy(access) == settling for access in effect.reads)
    flags: Mask = (masks[0] & masks[1]) | (masks[0] & left) | (masks[1] & right)
    return flags


def decisive(effect: Effect, masks: Sequence[Mask], before: Sequence[Mask]) -> Access:
    """Return the operand without a value on which the returned scalar depends: the mask rather than the lanes that it excludes."""
    lacking = [n for n, mask in enumerate(masks) if not mask.all()]
    for n in lacking:
        alone = [mask if m == n else np.ones_like(mask) for m, mask in enumerate(masks)]
        outcome = dependence(effect, alone, before)
        if outcome.result or outcome.refused:
            return effect.reads[n]
    return effect.reads[lacking[0]]


def discarded(effect: Effect) -> bool:
    """Return whether the statement that issues *effect* ignores its return value, so that nothing can depend on it."""
    return _asked(effect, _drops)


def unread(effect: Effect) -> bool:
    """Return whether the statement of a Python kernel ignores the scalar of *effect*, or assigns it to a variable that is never read."""
    return _asked(effect, _forgets)


def _asked(effect: Effect, question: Callable[[CodeType, int], bool]) -> bool:
    """Call *question* with the code that issues *effect* and the offset of the call in it, and return the answer."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the kernel's frame says what it does with the result
    while frame is not None and frame.f_code.co_filename != effect.site.file:
        frame = frame.f_back
    return frame is not None and question(frame.f_code, frame.f_lasti)


@functools.cache
def _forgets(code: CodeType, at: int) -> bool:
    """Return whether the value of the call at offset *at* of *code* is ignored, or assigned to a local variable that *code* never reads."""
    every = list(dis.get_instructions(code))
    behind = [op for op in every if op.offset > at and op.opname not in ("CACHE", "PRECALL")]
    if not behind or behind[0].opname == "POP_TOP":
        return bool(behind)
    if behind[0].opname != "STORE_FAST":
        return False
    reads = [op.argval for op in every if "LOAD_FAST" in op.opname]
    return behind[0].argval not in {
        name for read in reads for name in (read if isinstance(read, tuple) else (read,))
    }


@functools.cache
def _drops(code: CodeType, at: int) -> bool:
    """Return whether the call at offset *at* of *code* is followed by POP_TOP, possibly after a C conversion."""
    every = list(dis.get_instructions(code))
    behind = [op.opname for op in every if op.offset > at and op.opname not in ("CACHE", "PRECALL")]
    if behind[:2] == ["CALL", "POP_TOP"]:
        loads = [op.argval for op in every if op.offset <= at and op.opname.startswith("LOAD_")]
        calls = [n for n, name in enumerate(loads) if isinstance(name, str) and name.startswith("__")]
        around = str(loads[calls[-1] - 1]) if calls and calls[-1] > 0 else ""
        return around in ("int", "float") or around.startswith("_c_")
    return behind[:1] == ["POP_TOP"]


def takes(effect: Effect, load: Effect, content: bytes) -> bool:
    """Return whether *effect* receives the scalar with *content*, the bytes that *load* has read, as a value."""
    row = effect.step.row
    if row is not None:
        values = [
            value
            for value, p in zip(effect.arguments, row.given, strict=True)
            if p.kind in ("any", "either", "value") and isinstance(value, (int, float, np.generic))
        ]
    else:
        values = list(effect.arguments[1:2])
    return any(same(value, load, content) for value in values)


def same(value: object, load: Effect, content: bytes) -> bool:
    """Return whether *value* is the scalar with *content*, the bytes that *load* has read."""
    if not content:
        return False
    loaded = np.frombuffer(content, load.arguments[0].dtype)[0]
    with np.errstate(all="ignore"):
        return bool(value == loaded) or bool(value != value and loaded != loaded)  # noqa: PLR0124 - NaN


class _Body:
    """The body of *effect*, prepared to run on several contents of the bytes without a value according to *masks*."""

    def __init__(self, effect: Effect, masks: Sequence[Mask]) -> None:
        row = effect.step.row
        assert row is not None
        self._row = row
        arguments = {p.name: a for a, p in zip(effect.arguments, row.given, strict=True)}
        reads, writes = list(zip(effect.reads, masks, strict=True)), list(effect.writes)
        self._operands: list[_Operand] = []
        for name, operand in row.operands.items():
            pointer = arguments[name]
            if not hasattr(pointer, "view"):
                continue
            access = reads[0][0] if operand.access != "write" else writes[0]
            content, missing = _copy(access), None
            if operand.access != "write":
                missing = np.flatnonzero(~reads.pop(0)[1])
            if operand.access != "read":
                writes.pop(0)
            twin = next((a for a in effect.reads if a is not access), access)
            self._operands.append(
                _Operand(name, operand.access != "read", content, missing, twin, pointer.dtype.dtype)
            )
        arrays = {operand.name for operand in self._operands}
        self._values = [
            None if p.name in arrays else _value(effect, row, p, arguments) for p in row.parameters
        ]

    def run(self, filling: int | Callable[["_Operand"], Bytes], unwritten: int) -> tuple[list[Bytes], Any]:
        """Run the body once; return the bytes of each written operand, and the result."""
        arrays: dict[str, Any] = {}
        written: list[Bytes] = []
        for operand in self._operands:
            missing = operand.missing
            if missing is None:
                raw = np.full(len(operand.content), unwritten, np.uint8)
            elif len(missing) or operand.written:
                raw = operand.content.copy()
                raw[missing] = filling if isinstance(filling, int) else filling(operand)[missing]
            else:
                raw = operand.content
            if operand.written:
                written.append(raw)
            arrays[operand.name] = raw.view(operand.dtype)
        with np.errstate(all="ignore"):
            result = self._call(arrays)
        return written, result

    def _call(self, arrays: dict[str, Any]) -> Any:
        row = self._row
        arguments: list[Any] = [
            arrays.get(p.name, value) for p, value in zip(row.parameters, self._values, strict=True)
        ]
        if row.call is CallStyle.BODY:
            return row.body(*arguments)
        dst, *sources = [g for g, p in zip(arguments, row.parameters, strict=True) if p.kind != "count"]
        if row.call is CallStyle.ASSIGN:
            dst[...] = row.body(*sources)
        else:
            row.body(*sources, out=dst)
        return None


@frozen(eq=False)
class _Operand:
    """An operand in memory: its bytes, and the indices of those without a value (None: it is only written)."""

    name: str
    written: bool
    content: Bytes
    missing: np.ndarray[Any, np.dtype[np.intp]] | None
    twin: Access  # another source
    dtype: Any


def _value(effect: Effect, row: Intrinsic, parameter: Any, arguments: Mapping[str, Any]) -> Any:
    """Return the body's argument for *parameter*, which is not an operand in memory."""
    if parameter.kind == "generation":
        return effect.core.machine.board.arch.generation
    value = arguments[parameter.name]
    if parameter.kind in ("either", "value") and parameter.name not in row.void.values():
        lead = arguments[row.same[0] if row.same else next(iter(row.operands))]
        return lead.dtype(value)
    return value


def _copy(access: Access) -> Bytes:
    """Return a copy of the bytes of *access*, flat, in the order in which it accesses them."""
    return access.rows_of(access.allocation.raw).reshape(-1).copy()


def _scattered(operand: _Operand) -> Bytes:
    """Return pseudo-random bytes, the same each time."""
    return _random(len(operand.content))


@functools.lru_cache(maxsize=64)
def _random(size: int) -> Bytes:
    return (np.arange(size, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(21)).astype(np.uint8)


def _twin(operand: _Operand) -> Bytes:
    """Return the bytes of another source, so that comparisons for equality can be true."""
    content = _copy(operand.twin)
    return content if len(content) == len(operand.content) else np.resize(content, len(operand.content))


# -- the history of such bytes, from where they escaped back to their declaration ------------------

# The history of bytes that go round in a loop is endless; a user follows no more lines than these.
HOPS = 12

ShadowOf = Callable[[Allocation], Shadow]


class Hop(NamedTuple):
    """A byte without a value, and the write that put it there; None if it was never written."""

    allocation: Allocation
    offset: int
    write: Write | None


def trail(access: Access, offset: int, shadow_of: ShadowOf) -> list[Hop]:
    """Follow the byte at *offset* of *access*'s allocation back to its declaration."""
    hops: list[Hop] = []
    # Before any write: numbers count from 0.
    allocation, number = access.allocation, 1 << 62
    while len(hops) < HOPS:
        write = _last_write(shadow_of(allocation), offset, number)
        hops.append(Hop(allocation, offset, write))
        source = None if write is None else _source(write, allocation, offset, shadow_of)
        if write is None or source is None:
            break
        allocation, offset, number = *source, write.number
    return hops


def places(hops: list[Hop]) -> Iterator[RelatedPlace]:
    """Yield the instructions on the way, the last one first."""
    for hop in hops:
        if hop.write is not None:
            step = hop.write.step
            yield RelatedPlace(*step.site, f"{step.spelled} wrote byte {hop.offset} of {hop.allocation.site}")


def neighbours(hop: Hop, shadow: Shadow, here: Site) -> Iterator[str]:
    """Yield sentences about the write of the byte of *hop*, or about the last writes before and after it; *here* is the finding's place."""
    if hop.write is not None:
        yield f"{_described(hop.write, here)} wrote them out of bytes without a value"
        return
    in_place = [w for w in shadow.log() if w.covers(hop.offset) and w.access in w.step.reads]
    if in_place:
        first = min(in_place, key=lambda w: w.number)
        yield f"nothing had been written there when {_described(first, here)} took them as a source"
        return
    ends = [w for w in shadow.log() if w.access.span[1] <= hop.offset]
    begins = [w for w in shadow.log() if w.access.span[0] > hop.offset]
    if ends:
        last = max(ends, key=lambda w: (w.access.span[1], w.number))
        yield f"the last write before them, {_described(last, here)}, stopped at byte {last.access.span[1]}"
    if begins:
        first = min(begins, key=lambda w: (w.access.span[0], -w.number))
        yield f"the first write behind them, {_described(first, here)}, began at byte {first.access.span[0]}"
    if not ends and not begins:
        yield "nothing has been written there at all"


def lacking(shadow: Shadow, access: Access) -> tuple[int, int]:
    """Return the offset of the first byte of *access* without a value, and the number of such bytes."""
    flags = shadow.flags(access)
    first = int(flags.argmin())
    return access.offset_of(first), int(len(flags) - np.count_nonzero(flags))


def in_flight(core: "Core", hop: Hop) -> RelatedPlace | None:
    """Return the asynchronous instruction of *core* that would write the byte of *hop* and has not landed."""
    effects: list[Effect] = [flight.effect for flight in core.flights if flight.effect is not None]
    for effect in effects:
        for access in effect.writes:
            low, high = access.span
            if access.allocation is hop.allocation and low <= hop.offset < high:
                return RelatedPlace(*effect.site, f"__{effect.name} is still in flight")
    return None


def tensor_store(write: Write) -> TensorStore:
    """Return the record of a *write* to a tensor that is kept when the launch has ended."""
    step, label = write.step, write.effect.core.place.label
    return TensorStore(write.access.span[1], write.number, step.site, step.name, step.spelled, label)


COUNTED = "{} bytes were written, and {}: the size of a copy is in bytes, so multiply a count of elements by sizeof({})"


WIDTHS: Mapping[int, str] = {2: "half", 4: "float"}
"""The type that is named if only an element's size in bytes is known."""


def never_stored(stores: Sequence[TensorStore], allocation: Allocation, offset: int, count: int) -> Finding:
    """Return the finding about *count* bytes of a tensor, the first at *offset*, that no task has stored; *stores* are the stores to others."""
    before = [w for w in stores if w.end <= offset]
    last = max(before or stores, key=lambda w: (w.end, w.number), default=None)
    context: tuple[str, ...] = ("nothing has been stored there at all",)
    if last is not None:
        context = (f"{last.told} at line {last.site.line} by {last.label} stored up to byte {last.end}",)
    element = allocation.declared.element_at(offset)
    if element:
        context = (f"the first of them is {element}", *context)
    return Finding(
        "initcheck-never-stored",
        f"the host copies back {count} {plural(count, 'byte')} of {allocation.site} that no task has stored, from byte {offset} on",
        file=None if last is None else last.site.file,
        line=None if last is None else last.site.line,
        intrinsic=None if last is None else last.name,
        context=context,
        note="a new tensor holds no zeros: what is never stored holds whatever was there before",
        hint=_of_elements(allocation, allocation.nbytes - count)
        or "check the share of the last task and the tail of each row, or fill the tensor before the launch",
        facts={"bytes": count, "offset": offset, "space": allocation.space.name},
    )


def _of_elements(allocation: Allocation, nbytes: int) -> str:
    """Return a hint if *nbytes*, the bytes with a value, equals the number of the allocation's elements; otherwise ""."""
    elements, dtype = allocation.nbytes // allocation.declared.dtype.size, allocation.declared.dtype
    if nbytes != elements or elements == allocation.nbytes:
        return ""
    return COUNTED.format(nbytes, f"the tensor has {counted(elements, 'element')}", dtype)


def of_elements(origin: Hop, shadow: Shadow, reader: Step) -> str:
    """Return a hint if *reader* reads as many elements as there are bytes with a value before *origin*; otherwise ""."""
    dtype = origin.allocation.declared.dtype
    # A pool of bytes holds elements of the pointers' types, which have these sizes.
    widths = {dtype.size: str(dtype)} if dtype.size > 1 else WIDTHS
    sizes = {a.nbytes for a in reader.reads if a.allocation is origin.allocation}
    for write in shadow.log():
        number = write.access.nbytes
        width = next((size for size in widths if number * size in sizes), None)
        if width is not None and write.access.span[1] == origin.offset:
            read = f"{counted(number, 'element')} {plural(number, 'is', 'are')} read"
            return COUNTED.format(number, read, widths[width])
    return ""


def _described(write: Write, here: Site | None = None) -> str:
    at = write.step.site.told_from(here or write.step.site)
    return f"{write.step.spelled} at {at} by {write.effect.core.place.label}"


def _last_write(shadow: Shadow, offset: int, number: int) -> Write | None:
    held = [w for w in shadow.log() if w.covers(offset) and w.number < number]
    return max(held, key=lambda w: w.number, default=None)


def _source(
    write: Write, allocation: Allocation, offset: int, shadow_of: ShadowOf
) -> tuple[Allocation, int] | None:
    """Return the byte without a value that *write* read for the byte at *offset*; None if there is none.

    A destination that is also a source is considered last: only if the byte had no value before the write.
    """
    step = write.step
    target = next(
        (a for a in step.writes if a.allocation is allocation and a.span[0] <= offset < a.span[1]), None
    )
    itself = None
    for access in step.reads:
        shadow = shadow_of(access.allocation)
        if target is None or not shadow.lacks(access):
            continue
        flags = shadow.flags(access)
        same = target.index_of(offset) * len(flags) // target.nbytes
        at = same if not flags[same] else int(flags.argmin())
        blamed = access.allocation, access.offset_of(at)
        if blamed != (allocation, offset):
            return blamed
        itself = blamed
    before = None if itself is None else _last_write(shadow_of(allocation), offset, write.number)
    whole = allocation.has(offset) if before is None else before.whole
    return None if whole else itself
