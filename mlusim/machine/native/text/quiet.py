"""The tests and records of a joined function in a screened run: it performs its instructions only if none of them has anything to tell.

That is known before the first of them: no access is pending, all that they read is initialized, and no number that
they compute comes near the limits of its type.  Otherwise the doors are called one after the other, and record what
each has to tell.  What is recorded of instructions that have nothing to tell is recorded here, in their order: accesses
to shared memory, initialized bytes, and types of numbers.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field, frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import MEMORY_TYPES, DType, float32
from mlusim.engine import values
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import NUMBERS
from mlusim.machine.native.text.door import Lane, LaneOperand
from mlusim.memory.space import DIRECTIONS, GDRAM, LDRAM, NRAM

_TESTS = re.compile(r"\b(FITS_|ASSIGNED_|LATE_)\(")
_TELLS = re.compile(r"(?<!TRY_)\b(SHIFT_|WITHIN_|HALF_|FLOAT_|FITS_|ASSIGNED_|DECIDES_|HOLDS_|suspect_)\(")
_SUMS = "a + b", "a - b"  # a few of them of numbers below 2 ** 120 are finite


@frozen
class QuietCall:
    """An instruction of a joined function: its parts, its arguments and its place as parameters of the function, and the direction of a copy."""

    lane: Lane
    arguments: Mapping[str, str]
    site: str
    direction: int

    @property
    def row(self) -> Intrinsic | None:
        """Return its row if the numbers that it computes are inspected."""
        row = self.lane.row
        return row if row is not None and values.is_looked_at(row) else None

    def operands(self) -> Iterator[tuple[LaneOperand, str]]:
        """Yield its operands, each with its pointer."""
        for operand in self.lane.operands:
            yield operand, self.arguments[operand.name]


def tried(value: str) -> str | None:
    """Return *value*, an argument, so that a test of it sets ``fails_`` and tells nothing; None if that is impossible."""
    text = _TESTS.sub(r"TRY_\1(", value)
    return None if _TELLS.search(text) else text


@define
class Quiet:
    """The instructions *calls* of a joined function, whose pointers are *places*."""

    calls: Sequence[QuietCall]
    places: Sequence[LaneOperand]
    _unwritten: list[tuple[str, DType]] = field(init=False, factory=list)  # floats from before these calls
    _types: dict[str, int] = field(init=False, factory=dict)  # by pointer, the call that last wrote numbers
    possible: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.possible = all(map(_possible, self.calls)) and self._typed()

    def _typed(self) -> bool:
        """Return whether no call reads bytes that one before it has written as another type, and all types are those of what is left."""
        wrote: dict[str, DType] = {}
        last: dict[str, int] = {}
        for n, call in enumerate(self.calls):
            for operand, pointer in call.operands() if call.row else ():
                if operand.read and operand.dtype and operand.dtype.kind == "float":
                    if wrote.setdefault(pointer, operand.dtype) is not operand.dtype:
                        return False
                    if pointer not in self._types and NRAM in operand.spaces:
                        self._unwritten.append((pointer, operand.dtype))
            for operand, pointer in call.operands():
                if operand.written:
                    last[pointer] = n
                    if call.row and operand.size > 1 and operand.dtype:
                        wrote[pointer] = operand.dtype
                        self._types[pointer] = n
        return all(last[pointer] == n for pointer, n in self._types.items())

    def _bytes(self, pointer: str) -> str:
        return f"see(m, {pointer}), n_ * {self.places[int(pointer[2:])].size}"

    def broken(self) -> Iterator[str]:
        """Yield the conditions under which an instruction may have something to tell, other than its numbers."""
        yield "!QUIET_(m)"
        seen: set[str] = set()
        for call in self.calls:
            for operand, pointer in call.operands():
                if operand.read and pointer not in seen:
                    yield f"lacks_({self._bytes(pointer)})"
            seen |= {pointer for _, pointer in call.operands()}
            yield from (f"tells_(m, see(m, {pointer}), {kind})" for pointer, kind in _shared(call))
        for pointer, dtype in dict.fromkeys(self._unwritten):
            yield f"retypes_(m, see(m, {pointer}), {MEMORY_TYPES.index(dtype)})"

    # -- numbers -----------------------------------------------------------------------------------

    def extremes(self) -> Iterator[str]:
        """Render the variables for the numbers that are tested; none if there is nothing to test."""
        if any(map(_finite, self.calls)):
            yield "uint32_t top_ = 0;"
        for n, call in enumerate(self.calls):
            if _exact(call):
                for letter, _, _ in call.lane.each.reads:
                    yield f"int32_t low_{n}_{letter} = INT32_MAX, high_{n}_{letter} = INT32_MIN;"

    def looked(self, n: int, target: str) -> str:
        """Render the look at the numbers of the call *n* for one element: those that it reads are letters, that which it stores is *target*."""
        call = self.calls[n]
        if _exact(call):
            return " ".join(
                f"low_{n}_{x} = (int32_t){x} < low_{n}_{x} ? (int32_t){x} : low_{n}_{x};"
                f" high_{n}_{x} = (int32_t){x} > high_{n}_{x} ? (int32_t){x} : high_{n}_{x};"
                for x, _, _ in call.lane.each.reads
            )
        if not _finite(call):
            return ""
        numbers = [x for x, _, _ in call.lane.each.reads] if _atomic(call) else [target]
        return " ".join(f"TOP_(top_, {number});" for number in numbers)

    def outside(self) -> Iterator[str]:
        """Yield the conditions under which some number may not fit its type."""
        if any(map(_finite, self.calls)):
            yield "top_ >= NEAR_INFINITY"
        for n, call in enumerate(self.calls):
            if not _exact(call):
                continue
            formula, suffix = values.in_c(call.lane.row, ())[0], call.lane.each.suffix  # type: ignore[arg-type]
            ends: list[tuple[str, tuple[str, ...]]]
            ends = [(x, (f"low_{n}_{x}", f"high_{n}_{x}")) for x, _, _ in call.lane.each.reads]
            ends += [(x, (f"GET_{s}(c_{n}_{name})",)) for x, name, s in call.lane.each.numbers]
            for corner in itertools.product(*(texts for _, texts in ends)):
                names = zip((x for x, _ in ends), corner, strict=True)
                get = "".join(f"const int64_t {x}_ = {text}; " for x, text in names)
                yield f"({{ {get}const int64_t z_ = {formula}; z_ != (T_{suffix})z_; }})"

    @property
    def told(self) -> list[int]:
        """Return the calls whose places are recorded."""
        types = set(self._types.values())
        return [n for n, call in enumerate(self.calls) if n in types or any(_shared(call))]

    # -- records -----------------------------------------------------------------------------------

    def before(self) -> Iterator[str]:
        """Render the accesses to shared memory, before the bytes change."""
        for call in self.calls:
            shared, row = list(_shared(call)), call.lane.row
            begins = f"begins_(m, {NUMBERS['memcpy' if row is None else row.name]}, {_pipe(call)});"
            if row is not None:
                if any(space.shared for operand in call.lane.operands for space in operand.spaces):
                    yield begins
            else:
                yield f"if (m->screens & SCREEN_RACE) {begins}"
            for pointer, kind in shared:
                yield f"shares_rows_(m, {self._bytes(pointer)}, 1, 0, {kind}, {call.site});"

    def behind(self) -> Iterator[str]:
        """Render that what was written is initialized, and as which types."""
        for n, place in enumerate(self.places):
            if place.written:
                yield f"given_({self._bytes(f'p_{n}')});"
        for pointer, n in sorted(self._types.items(), key=lambda pair: pair[1]):
            call = self.calls[n]
            operand = next(o for o, p in call.operands() if p == pointer and o.written)
            if NRAM in operand.spaces and operand.dtype:
                how = operand.size | 256 * (operand.dtype.kind == "float")
                kind = MEMORY_TYPES.index(operand.dtype)
                yield f"if (VECTORS(m)) wrote_(m, {self._bytes(pointer)}, {kind}, {how}, {call.site});"


def _atomic(call: QuietCall) -> bool:
    return any(operand.atomic for operand in call.lane.operands)


def _pipe(call: QuietCall) -> str:
    if call.lane.row is not None:
        return f"P_{call.lane.row.pipe.name}" if call.lane.row.pipe in (Pipe.IO, Pipe.MOVE) else "0"
    way = DIRECTIONS[call.direction]
    return "P_IO" if {way.src, way.dst} & {GDRAM, LDRAM} else "P_MOVE"


def _shared(call: QuietCall) -> Iterator[tuple[str, str]]:
    """Yield the pointers to memory that tasks may share, each with its use, in the order in which they are recorded."""
    copies = call.lane.row is None
    for operand, pointer in call.operands() if copies or _atomic(call) else ():
        if any(space.shared for space in operand.spaces):
            yield pointer, "CHANGES_" if operand.atomic else "WRITES_" if operand.written else "READS_"


def _finite(call: QuietCall) -> bool:
    """Return whether it computes floats that must be finite."""
    row, target = call.row, next(o for o in call.lane.operands if o.written)
    return bool(row and values.makes_numbers(row) and target.dtype and target.dtype.kind == "float")


def _exact(call: QuietCall) -> bool:
    """Return whether it computes signed integers, whose exact result must fit."""
    row, target = call.row, next(o for o in call.lane.operands if o.written)
    return bool(row and values.is_ring(row) and target.dtype and target.dtype.kind == "int")


def _possible(call: QuietCall) -> bool:
    """Return whether it can be known before the call that it has nothing to tell."""
    lane = call.lane
    if lane.row is None:
        return True
    targets = [operand for operand in lane.operands if operand.written]
    if len(targets) != 1 or not (
        lane.row.pipe is Pipe.VECTOR or (_atomic(call) and lane.row.pipe in (Pipe.IO, Pipe.MOVE))
    ):
        return False
    if call.row is None:
        return True
    if values.to_whole(call.row):
        return False
    if _exact(call):
        return not _atomic(call) and targets[0].size <= 4 and values.in_c(call.row, ())[0] is not None
    if _finite(call):
        return targets[0].dtype is float32 and (not _atomic(call) or lane.each.text in _SUMS)
    return True
