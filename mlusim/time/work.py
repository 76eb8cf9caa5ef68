"""The quantities of work that a core adds up while it runs (`Mlu.work`), and how copies add to them.

The first five places are what a task did in all, by pipe; the others describe what it waited for, in
order, and are what the timing model reads.  An asynchronous effect adds to the first five only: what
it keeps busy, and when, is noted in the core's log.
"""

import functools
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DTYPES, DType
from mlusim.arch.pipe import Pipe
from mlusim.memory.direction import DIRECTIONS
from mlusim.memory.space import GDRAM, LDRAM, SRAM
from mlusim.time.quantities import (
    EXPONENTIALS,
    FUNCTIONS,
    IO,
    IO_STARTS,
    LINES,
    MOVE,
    MOVE_STARTS,
    REDUCTIONS,
    SEGMENTS,
    SRAM_BYTES,
    STALLS,
    TRANSACTIONS,
    VECTOR,
)
from mlusim.time.rates import (
    CORE_IO,
    ELEMENT,
    MOVE_LINE,
    TENSOR_START,
    TRANSACTION,
    VECTOR_LINE,
    VECTOR_START,
)

if TYPE_CHECKING:
    from mlusim.memory.footprint import Access

LINE = int(MOVE_LINE.value)
# What the vector unit takes in a cycle; a shorter operand costs as much.
VECTOR_BYTES = int(VECTOR_LINE.value)
UNIT = int(TRANSACTION.value)
_ELEMENT = int(ELEMENT.value)
_LINE_CYCLES = UNIT // int(CORE_IO.value)
START = int(VECTOR_START.value)

TENSOR_SETUP = int(TENSOR_START.value)

SEVERAL: Mapping[str, int] = MappingProxyType(
    {"FUNCTION": FUNCTIONS, "EXPONENTIAL": EXPONENTIALS, "REDUCTION": REDUCTIONS}
)
"""Where the lines of an instruction of several passes are counted beside, by the name of its `Passes`."""

_FAR = (GDRAM, LDRAM)
READS = tuple(d.src in _FAR for d in DIRECTIONS)  # by the direction's number: whether it reads off the chip
WRITES = tuple(d.dst in _FAR for d in DIRECTIONS)
IN_SRAM = tuple((d.src is SRAM) + (d.dst is SRAM) for d in DIRECTIONS)
_IO, _MOVE = Pipe.IO, Pipe.MOVE


def macs(arch: Arch) -> Mapping[DType, int]:
    """Return the products per cycle and core by element type; a type without a published rate has that of its width."""
    rates = arch.tensor_macs
    by_width = {
        1: rates["int8"],
        2: rates.get("half", rates["int16"]),
        4: rates.get("float", rates["int16"] // 2),
    }
    return {d: rates.get(d.name, by_width.get(d.size, 1)) for d in DTYPES}


class CopyLoad(NamedTuple):
    """The load of one copy on its pipe: off-chip transactions and stalled cycles, or lines and SRAM bytes.

    ``stores`` are those of the transactions that store, which have a channel of their own.  Off the chip, ``lines``
    are the pieces of a strided copy: 0 of one that is contiguous there.
    """

    transactions: int = 0
    stalls: int = 0
    stores: int = 0
    lines: int = 0
    sram: int = 0


def scattered(elements: int, transactions: int, *, stores: bool) -> CopyLoad:
    """Return the load of *elements* off-chip elements at places of their own: each takes its cycles, its lines among them.

    What a line takes at the memory's pace is taken off in cycles as if the core ran at 1 GHz.
    """
    stalls = max(0, elements * _ELEMENT - transactions * _LINE_CYCLES)
    return CopyLoad(transactions, stalls, transactions * stores)


def reading(start: int, size: int, spread: int) -> int:
    """Return off-chip transactions of a segment of *size* bytes that is read; *spread*: all strides, or-ed.

    Where segments begin at different places of their lines, the most unlucky one counts for all.
    """
    return (_place(start, spread) + size + UNIT - 1) // UNIT


def writing(start: int, size: int, spread: int) -> int:
    """Return the same of one that is written: a line that is written in part is read first."""
    place = _place(start, spread)
    return (place + size + UNIT - 1) // UNIT + read_first(place, size)


def read_first(start: int, size: int) -> int:
    """Return how many lines a segment of *size* bytes from byte *start* on writes in part: its first, its last or both."""
    first, last = start % UNIT > 0, (start + size) % UNIT > 0
    return first or last if start // UNIT == (start + size - 1) // UNIT else first + last


def _place(start: int, spread: int) -> int:
    """Return the place in its line at which a segment begins."""
    if spread % UNIT == 0:
        return start % UNIT
    grain = spread | start | UNIT  # the step in which places differ: the last of them in a line is the worst
    return UNIT - (grain & -grain)


def charge_line(work: list[int], pipe: Pipe, number: int, to: int, frm: int, size: int) -> None:
    """Account for a blocking copy without strides in the direction *number*, from byte *frm* to byte *to*."""
    if pipe is _IO:
        work[IO] += size
        work[IO_STARTS] += 1
        if READS[number]:
            work[TRANSACTIONS] += (frm + size + 63 >> 6) - (frm >> 6)
        if WRITES[number]:
            work[TRANSACTIONS] += (to + size + 63 >> 6) - (to >> 6)
            if (to | size) & 63:  # whole lines are written without being read
                work[TRANSACTIONS] += read_first(to, size)
    elif pipe is _MOVE:
        work[MOVE] += size
        work[MOVE_STARTS] += 1
        work[LINES] += (size + 127) >> 7
        work[SRAM_BYTES] += size * IN_SRAM[number]
    else:  # NRAM to NRAM on MLU2xx is work of the compute stream
        work[VECTOR] += (size + 127 >> 7) + START


class Counted(Protocol):
    """The sums that work is charged to, by the places above."""

    work: list[int]


def charge(mlu: Counted, pipe: Pipe, load: CopyLoad, nbytes: int) -> None:
    """Account for a blocking copy or fill of *nbytes* bytes on *pipe*."""
    work = mlu.work
    if pipe is _IO:
        work[IO] += nbytes
        work[IO_STARTS] += 1
        work[TRANSACTIONS] += load.transactions
        work[STALLS] += load.stalls
        work[SEGMENTS] += load.lines
    elif pipe is _MOVE:
        work[MOVE] += nbytes
        work[MOVE_STARTS] += 1
        work[LINES] += load.lines
        work[SRAM_BYTES] += load.sram
    else:
        work[VECTOR] += load.lines + START


def charge_flight(mlu: Counted, pipe: Pipe, nbytes: int) -> None:
    """Account for an asynchronous effect of *nbytes* bytes: its time is in the core's log."""
    mlu.work[IO if pipe is _IO else MOVE] += nbytes


def load_of(pipe: Pipe, reads: "Access | None", writes: "Access") -> CopyLoad:
    """Return the load of a copy from *reads* (None: a fill) to *writes*."""
    sides = (writes,) if reads is None else (reads, writes)
    if pipe is not _IO:
        lines = max(side.nbytes // side.size * -(-side.size // LINE) for side in sides)
        return CopyLoad(lines=lines, sram=sum(s.nbytes for s in sides if s.allocation.space is SRAM))
    transactions = stores = pieces = 0
    for side in sides:
        if side.allocation.space in _FAR:
            pieces = max(pieces, _pieces(side))
            spread = functools.reduce(operator.or_, (stride for stride, _ in side.steps), 0)
            each = (writing if side is writes else reading)(side.start, side.size, spread)
            transactions += side.nbytes // side.size * each
            stores += side.nbytes // side.size * each * (side is writes)
    return CopyLoad(transactions, 0, stores, pieces)


def _pieces(side: "Access") -> int:
    """Return how many pieces lie apart from each other on one side of a copy; 0 where all of it is contiguous."""
    span = side.size
    for stride, count in reversed(side.steps):
        if stride != span and count > 1:
            break
        span *= count
    pieces = side.nbytes // span
    return pieces if pieces > 1 else 0


@functools.lru_cache(maxsize=4096)
def rows_load(
    pipe: Pipe,
    number: int,
    to: int,
    to_stride: int,
    frm: int,
    from_stride: int,
    size: int,
    rows: int,
) -> CopyLoad:
    """Return the `load_of` a 2-D copy, for shapes that kernels repeat.

    *to* and *frm* are the first bytes' places in their transactions; the strides of a single segment do not matter.
    """
    if rows == 1:
        to_stride = from_stride = 0
    if pipe is not _IO:
        return CopyLoad(lines=rows * (size + 127 >> 7), sram=rows * size * IN_SRAM[number])
    loads = reading(frm, size, from_stride) if READS[number] else 0
    stores = writing(to, size, to_stride) if WRITES[number] else 0
    apart = (READS[number] and from_stride != size) or (WRITES[number] and to_stride != size)
    return CopyLoad(rows * (loads + stores), 0, rows * stores, rows if rows > 1 and apart else 0)
