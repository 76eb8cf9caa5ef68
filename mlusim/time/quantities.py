"""The counts of a core while it runs: quantities of work, the counters that hold them, and its loads before it computes.

The quantities are numbered by their places in `Mlu.work`; `time.work` says what adds to them.  The first five are what a
task did in all, by pipe; the others describe what it waited for, in order, and are what the timing model reads.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attrs import define, frozen

from mlusim.memory.space import DIRECTIONS, SPACES

SCALAR, VECTOR, TENSOR, IO, MOVE = range(5)  # operations, cycles, products, bytes, bytes
TENSOR_CYCLES, IO_STARTS, TRANSACTIONS, STALLS, MOVE_STARTS, LINES, SRAM_BYTES, ATOMICS = range(5, 13)
FUNCTIONS, TRANSPOSED = 13, 14  # lines of instructions of several passes, elements that change their order
SEGMENTS = 15  # pieces of strided off-chip copies
EXPONENTIALS, REDUCTIONS = 16, 17  # lines of exponentials, of reductions and searches
TRANSPOSITIONS, STORED = 18, 19  # transpositions; pieces that strided copies store off the chip
FUSIONS, POOLINGS = 20, 21  # lines of two operations in one, of the pixels of windows
CROWDED = 22  # lines of atomics that cover half of their tensor or more
PARTS = 23  # pieces on the chip that fill a line in part
STORE_STARTS = 24  # blocking copies, of those that go off the chip, that only store there
# C has them as ``W_`` and their names, so this stands in front of every other number of the module.
BY_NAME: Mapping[str, int] = {
    n: place for n, place in globals().items() if n.isupper() and isinstance(place, int)
}
PLACES = 25


class CopyLoad(NamedTuple):
    """The load of one copy on its pipe: off-chip transactions and stalled cycles, or lines and SRAM bytes.

    ``stores`` are those of the transactions that store, which have a channel of their own.  Off the chip, ``lines``
    are the pieces of a strided copy: 0 of one that is contiguous there.  On the chip, ``stalls`` are the pieces of several that fill their
    last line in part.
    """

    transactions: int = 0
    stalls: int = 0
    stores: int = 0
    lines: int = 0
    sram: int = 0


# -- counters --------------------------------------------------------------------------------------

# Each field is a run of counters.  In C they lie one after the other in this order; in Python each is a list of its own,
# which is as fast as one list for all (NumPy's arrays and ``array`` take two to three times as long for an increment),
# and lets cores that nothing watches write straight to the lists of the launch.


@frozen
class CounterField:
    """So many counters of one *name*; ``places`` is None where there is one for each instruction of the table."""

    name: str
    places: int | None

    def many(self, rows: int = 0) -> int:
        """Return how many there are, in a table of *rows* instructions."""
        return rows if self.places is None else self.places

    def zeros(self, rows: int = 0) -> list[int]:
        """Return a list of them, in a table of *rows* instructions, with nothing counted yet."""
        return [0] * self.many(rows)


WORK = CounterField("work", PLACES)  # quantities, as `time.work` numbers them
LOADS = CounterField(
    "loads", 4 * len(SPACES)
)  # scalar loads by what waits for them, and by the number of the space
STORES = CounterField("stores", len(SPACES))
TRAFFIC = CounterField("traffic", len(DIRECTIONS))  # bytes that were copied by the number of the direction
COUNTS = CounterField("counts", None)  # instructions
UNIT_LINES = CounterField("lines", None)  # lines of the vector unit that they took
SPARE = CounterField("spare", None)  # bytes of these that hold no element

TASK = (WORK, LOADS, STORES)  # what each task sums up; a row of its log ends with these
CORE = (TRAFFIC, COUNTS)  # what a core adds up over its tasks, or the launch over its cores
LAUNCH = (UNIT_LINES, SPARE)  # what all cores of a launch add to


# What waits for a scalar load, as the first of the counters of its kind. Nothing is known of loads of kernels in Python, and of parts
# of records; of others `frontend.bangc.ir.waits` tells: their data comes while the core waits for that of a later one, the core waits
# for it, or a branch besides.
UNKNOWN, HIDDEN, WAITED, DECIDES = (kind * len(SPACES) for kind in range(4))


def places_before(field: CounterField) -> int:
    """Return how many counters of a task stand before *field*."""
    return sum(f.many() for f in TASK[: TASK.index(field)])


TASK_PLACES = sum(field.many() for field in TASK)


# -- the loads before a task can compute -----------------------------------------------------------

OPENING = 8  # beside the pipes that a core waits for: its first loads are still coming
LONGEST = 8  # blocking copies after which a task that never computes is past its beginning


@define
class Head:
    """The first loads of a task: their off-chip transactions, and how many transfers they are.

    It ends with the first off-chip copy after a vector or tensor instruction, with the first wait for the
    IO-DMA, or at a barrier.  At the start of a launch all cores wait for these bytes at once.
    """

    transactions: int = 0
    transfers: int = 0

    def flies(self, load: CopyLoad) -> None:
        """Note that an asynchronous copy is issued."""
        self.transactions += load.transactions - load.stores
        self.transfers = max(self.transfers, load.transactions > load.stores)

    def settles(self, work: Sequence[int]) -> bool:
        """Return whether the beginning is over before a blocking copy, since the task has computed."""
        begun = work[TRANSACTIONS] or self.transactions
        if not begun or not (work[VECTOR] or work[TENSOR_CYCLES] or work[IO_STARTS] >= LONGEST):
            return False
        self.ends(work)
        return True

    def ends(self, work: Sequence[int]) -> None:
        """Count everything loaded so far as what had to be loaded first."""
        self.transactions += work[TRANSACTIONS]
        self.transfers += work[IO_STARTS]
