"""The counters of a core: quantities of work, their layout, and the loads before its first computation.

The quantities are indices into `Mlu.work`; `time.work` adds to them. The first five are the total work of a
task by pipe; the others describe its waits, in order, for the timing model.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attrs import define, frozen

from mlusim.memory.space import DIRECTIONS, SPACES

SCALAR, VECTOR, TENSOR, IO, MOVE = range(5)  # operations, cycles, products, bytes, bytes
TENSOR_CYCLES, IO_STARTS, TRANSACTIONS, STALLS, MOVE_STARTS, LINES, SRAM_BYTES, ATOMICS = range(5, 13)
FUNCTIONS, TRANSPOSED = 13, 14  # lines of multi-pass instructions; reordered elements
SEGMENTS = 15  # pieces of strided off-chip copies
EXPONENTIALS, REDUCTIONS = 16, 17  # lines of exponentials; lines of reductions and searches
TRANSPOSITIONS, STORED = 18, 19  # transpositions; pieces that strided copies store off chip
FUSIONS, POOLINGS = 20, 21  # lines of fused operations; lines of pooled pixels
CROWDED = 22  # lines of atomics that cover at least half of their tensor
PARTS = 23  # on-chip pieces that fill a line partially
STORE_STARTS = 24  # blocking off-chip copies that only store
# C uses these names with the prefix ``W_``, so they come before all other numbers in the module.
BY_NAME: Mapping[str, int] = {
    n: place for n, place in globals().items() if n.isupper() and isinstance(place, int)
}
PLACES = 25


class CopyLoad(NamedTuple):
    """The load of one copy on its pipe: off-chip transactions and stalled cycles, or on-chip lines and SRAM bytes.

    ``stores`` is the number of storing transactions, which have a channel of their own. Off chip, ``lines``
    is the number of pieces of a strided copy (0 if it is contiguous). On chip, ``stalls`` is the number of
    pieces that fill their last line partially, if there are several.
    """

    transactions: int = 0
    stalls: int = 0
    stores: int = 0
    lines: int = 0
    sram: int = 0


# -- counters --------------------------------------------------------------------------------------

# Each field is a run of counters. In C they are contiguous in this order; in Python each field is a separate
# list, which is as fast as one list for all (an increment in a NumPy array or an ``array`` takes two to three
# times as long), and lets unobserved cores write directly to the lists of the launch.


@frozen
class CounterField:
    """A field of counters called *name*; ``places`` is their number, or None for one per instruction of the table."""

    name: str
    places: int | None

    def many(self, rows: int = 0) -> int:
        """Return the number of counters for a table of *rows* instructions."""
        return rows if self.places is None else self.places

    def zeros(self, rows: int = 0) -> list[int]:
        """Return the counters as a list of zeros, for a table of *rows* instructions."""
        return [0] * self.many(rows)


WORK = CounterField("work", PLACES)  # quantities, by the numbers above
LOADS = CounterField("loads", 4 * len(SPACES))  # scalar loads, by wait class and by index of the space
STORES = CounterField("stores", len(SPACES))
TRAFFIC = CounterField("traffic", len(DIRECTIONS))  # copied bytes, by number of the direction
COUNTS = CounterField("counts", None)  # executed instructions
UNIT_LINES = CounterField("lines", None)  # lines of the vector unit, by instruction
SPARE = CounterField("spare", None)  # bytes of these lines without an element

TASK = (WORK, LOADS, STORES)  # counters of each task; a log row ends with these
CORE = (TRAFFIC, COUNTS)  # counters of a core over its tasks, or of a launch over its cores
LAUNCH = (UNIT_LINES, SPARE)  # counters shared by all cores of a launch


# The wait classes of scalar loads, as the index of the first counter of each. Loads of Python kernels, and of
# parts of records, are unclassified. Others are classified by `bangc.ir.waits`: the data arrives
# while the core waits for a later load; the core waits for it; or a branch waits too.
UNKNOWN, HIDDEN, WAITED, DECIDES = (kind * len(SPACES) for kind in range(4))


def places_before(field: CounterField) -> int:
    """Return the number of a task's counters before *field*."""
    return sum(f.many() for f in TASK[: TASK.index(field)])


TASK_PLACES = sum(field.many() for field in TASK)


# -- the loads before a task's first computation ---------------------------------------------------

OPENING = 8  # a bit beside the pipes that a core waits for: its first loads are still in flight
LONGEST = 8  # after this many blocking copies, a task is past its beginning even without computing


@define
class Head:
    """The first loads of a task: their off-chip transactions, and the number of transfers.

    They end at the first off-chip copy after a vector or tensor instruction, at the first wait for the
    IO-DMA, or at a barrier. At the start of a launch, all cores wait for these bytes at the same time.
    """

    transactions: int = 0
    transfers: int = 0

    def flies(self, load: CopyLoad) -> None:
        """Record the issue of an asynchronous copy."""
        self.transactions += load.transactions - load.stores
        self.transfers = max(self.transfers, load.transactions > load.stores)

    def settles(self, work: Sequence[int]) -> bool:
        """Return whether the first loads end before a blocking copy, because the task has computed."""
        begun = work[TRANSACTIONS] or self.transactions
        if not begun or not (work[VECTOR] or work[TENSOR_CYCLES] or work[IO_STARTS] >= LONGEST):
            return False
        self.ends(work)
        return True

    def ends(self, work: Sequence[int]) -> None:
        """Count all loads so far as first loads, which end here."""
        self.transactions += work[TRANSACTIONS]
        self.transfers += work[IO_STARTS]
