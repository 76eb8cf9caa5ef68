"""The loads before a task can compute: at the start of a launch all cores wait for these bytes at once."""

from collections.abc import Sequence

from attrs import define

from mlusim.time.quantities import IO_STARTS, TENSOR_CYCLES, TRANSACTIONS, VECTOR, CopyLoad

OPENING = 8  # beside the pipes that a core waits for: its first loads are still coming
LONGEST = 8  # blocking copies after which a task that never computes is past its beginning


@define
class Head:
    """The first loads of a task: their off-chip transactions, and how many transfers they are.

    It ends with the first off-chip copy behind a vector or tensor instruction, with the first wait for the
    IO-DMA, or at a barrier.
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
        """Take all that was loaded so far as what had to come first."""
        self.transactions += work[TRANSACTIONS]
        self.transfers += work[IO_STARTS]
