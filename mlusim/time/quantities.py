"""The quantities of work that a core adds up while it runs, by their places in `Mlu.work`; `time.work` says what adds to them.

The first five are what a task did in all, by pipe; the others describe what it waited for, in order, and are what the
timing model reads.
"""

from typing import NamedTuple

SCALAR, VECTOR, TENSOR, IO, MOVE = range(5)  # operations, cycles, products, bytes, bytes
TENSOR_CYCLES, IO_STARTS, TRANSACTIONS, STALLS, MOVE_STARTS, LINES, SRAM_BYTES, ATOMICS = range(5, 13)
FUNCTIONS, TRANSPOSED = 13, 14  # lines of instructions of several passes, elements that change their order
SEGMENTS = 15  # pieces of strided off-chip copies
EXPONENTIALS, REDUCTIONS = 16, 17  # lines of exponentials, of reductions and searches
PLACES = 18


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
