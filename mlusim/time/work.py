"""The quantities of work that a core accumulates (`Mlu.work`), and the charges of copies.

The first five quantities are the total work of a task by pipe; the others describe its waits, in order, for
the timing model. An asynchronous effect adds to the first five only; its time on its pipe is recorded in the
core's log.
"""

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Arch, Pipe
from mlusim.arch.dtypes import DTYPES, DType
from mlusim.memory.space import DIRECTIONS, GDRAM, LDRAM, SRAM
from mlusim.time import copy_costs, quantities
from mlusim.time.copy_costs import OFF_CHIP, ON_CHIP, UNIT, Charge
from mlusim.time.quantities import EXPONENTIALS, FUNCTIONS, FUSIONS, IO, MOVE, POOLINGS, REDUCTIONS, CopyLoad
from mlusim.time.rates import CORE_IO, ELEMENT, TENSOR_START, VECTOR_LINE

if TYPE_CHECKING:
    from mlusim.memory.footprint import Access

# The vector unit processes a line per cycle; a shorter operand costs the same.
VECTOR_BYTES = int(VECTOR_LINE.value)
_ELEMENT = int(ELEMENT.value)
_LINE_CYCLES = UNIT // int(CORE_IO.value)

TENSOR_SETUP = int(TENSOR_START.value)

SEVERAL: Mapping[str, int] = {
    "FUNCTION": FUNCTIONS,
    "EXPONENTIAL": EXPONENTIALS,
    "REDUCTION": REDUCTIONS,
    "FUSION": FUSIONS,
    "POOLING": POOLINGS,
}
"""The additional counter for lines of an instruction of several passes, by name of its `Passes`."""

_FAR = (GDRAM, LDRAM)
READS = tuple(d.src in _FAR for d in DIRECTIONS)  # by number of the direction: whether the source is off chip
WRITES = tuple(d.dst in _FAR for d in DIRECTIONS)
IN_SRAM = tuple((d.src is SRAM) + (d.dst is SRAM) for d in DIRECTIONS)
_IO, _MOVE = Pipe.IO, Pipe.MOVE


def macs(arch: Arch) -> Mapping[DType, int]:
    """Return the products per cycle and core by element type; a type without a published rate has the rate of its width."""
    rates = arch.tensor_macs
    by_width = {
        1: rates["int8"],
        2: rates.get("half", rates["int16"]),
        4: rates.get("float", rates["int16"] // 2),
    }
    return {d: rates.get(d.name, by_width.get(d.size, 1)) for d in DTYPES}


def scattered(elements: int, transactions: int, *, stores: bool) -> CopyLoad:
    """Return the load of *elements* off-chip elements at separate addresses: each takes its cycles, including its lines.

    The time of a line at the memory's pace is subtracted in cycles, as if the core ran at 1 GHz.
    """
    stalls = max(0, elements * _ELEMENT - transactions * _LINE_CYCLES)
    return CopyLoad(transactions, stalls, transactions * stores)


def _source() -> str:
    """Return the source of the Python functions that charge copies, generated from their table."""
    sides = {"reads": "READS[number]", "writes": "WRITES[number]", "shared": "IN_SRAM[number]"}
    held = {name: f"load.{name}" for name in CopyLoad._fields}
    lines = ["def charge_line(work, pipe, number, to, frm, size):", *_by_pipe(copy_costs.LINE_COPY, sides)]
    lines += ["def charge(work, pipe, load, nbytes):", *_by_pipe(copy_costs.LOADED, held)]
    lines.append("def off_chip(reads, writes, to, to_stride, frm, from_stride, size, rows):")
    lines.append("    transactions = stalls = stores = lines = 0")
    lines += [f"    {line}" for line in copy_costs.charged(copy_costs.ROWS_LOAD[OFF_CHIP], str, {})]
    lines.append("    return CopyLoad(transactions, stalls, stores, lines)")
    lines += ["def on_chip(shared, size, rows):", "    stalls = lines = sram = 0"]
    lines += [f"    {line}" for line in copy_costs.charged(copy_costs.ROWS_LOAD[ON_CHIP], str, {})]
    lines.append("    return CopyLoad(0, stalls, 0, lines, sram)")
    return "\n".join([*lines, ""])


def _by_pipe(table: Mapping[str, tuple[Charge, ...]], names: Mapping[str, str]) -> Iterator[str]:
    # On MLU2xx, NRAM to NRAM belongs to the compute stream.
    tests = {"if pipe is IO:": OFF_CHIP, "elif pipe is MOVE:": ON_CHIP, "else:": copy_costs.VECTOR}
    for test, place in tests.items():
        yield f"    {test}"
        charged = copy_costs.charged(table[place], lambda name: f"work[{getattr(quantities, name)}]", names)
        yield from (f"        {line}" for line in charged)


_made = copy_costs.made(
    _source(),
    {
        "READS": READS,
        "WRITES": WRITES,
        "IN_SRAM": IN_SRAM,
        "CopyLoad": CopyLoad,
        "IO": _IO,
        "MOVE": Pipe.MOVE,
    },
)
charge_line: Callable[[list[int], Pipe, int, int, int, int], None] = _made["charge_line"]
"""Charge a blocking copy without strides: (counters, pipe, number of the direction, first byte of dst, of src, bytes)."""
charge: Callable[[list[int], Pipe, CopyLoad, int], None] = _made["charge"]
"""Charge a blocking copy or fill: (counters, pipe, load, bytes)."""
transactions_of: Callable[[Any, Any], Any] = _made["transactions_of"]
"""Return the off-chip transactions of a segment, or of an array of segments, from first byte and size."""
crowded: Callable[[int, int], int] = _made["crowded"]
"""Return the lines of an atomic for which cores contend, from its bytes and those of its tensor."""
_written: Callable[[int, int], int] = _made["written"]
_worst_place: Callable[[int, int], int] = _made["worst_place"]
_chip_lines: Callable[[int], int] = _made["chip_lines"]
_off_chip: Callable[..., CopyLoad] = _made["off_chip"]
_on_chip: Callable[[int, int, int], CopyLoad] = _made["on_chip"]


def charge_flight(work: list[int], pipe: Pipe, nbytes: int) -> None:
    """Charge an asynchronous effect of *nbytes* bytes; its time is in the core's log."""
    work[IO if pipe is _IO else MOVE] += nbytes


def load_of(pipe: Pipe, reads: "Access | None", writes: "Access") -> CopyLoad:
    """Return the load of a copy from *reads* (None: a fill) to *writes*."""
    sides = (writes,) if reads is None else (reads, writes)
    if pipe is not _IO:
        lines, parts = max(map(_lines, sides)), max(map(_parts, sides))
        return CopyLoad(0, parts, 0, lines, sum(s.nbytes for s in sides if s.allocation.space is SRAM))
    transactions = stalls = stores = pieces = 0
    apart = max(map(_pieces, sides))
    for side in sides:
        if side.allocation.space in _FAR:
            pieces = max(pieces, _pieces(side))
            spread = functools.reduce(operator.or_, (stride for stride, _ in side.steps), 0)
            start, size = _worst_place(side.start, spread), side.size
            each = _written(start, size) if side is writes else transactions_of(start, size)
            transactions += side.nbytes // side.size * each
            if side is writes:
                stores += side.nbytes // side.size * each
                stalls += apart * copy_costs.PARTLY * (size < UNIT)
    return CopyLoad(transactions, stalls, stores, pieces)


def _lines(side: "Access") -> int:
    """Return the number of lines of one side of an on-chip copy."""
    return side.nbytes // side.size * _chip_lines(side.size)


def _parts(side: "Access") -> int:
    """Return how many pieces on one side fill their last line partially, if there are several pieces."""
    segments = side.nbytes // side.size
    return segments * (segments > 1 and side.size % copy_costs.LINE > 0)


def _pieces(side: "Access") -> int:
    """Return the number of separate pieces on one side of a copy; 0 if it is contiguous."""
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
    """Return the `load_of` a 2-D copy, computed without footprints, for shapes that kernels repeat.

    *to* and *frm* are the offsets of the first bytes in their transactions; strides of a single segment have
    no effect.
    """
    if rows == 1:
        to_stride = from_stride = 0
    if pipe is not _IO:
        return _on_chip(IN_SRAM[number], size, rows)
    return _off_chip(READS[number], WRITES[number], to, to_stride, frm, from_stride, size, rows)
