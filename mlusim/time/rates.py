"""The one table of the timing model's constants: what each says about the hardware, and where it comes from.

A board's own numbers (clock, bandwidth, tensor rates, clusters) stay with the board.  None of the
constants is fitted to a measured row: each is published, or follows from something published by the
arithmetic that its source gives, or is marked as inferred or as a default for something unknown.
"""

from attrs import field, frozen

from mlusim.errors import UsageError

MARKS = {"C": "certain", "D": "derived", "I": "inferred", "U": "unknown, default chosen"}


@frozen
class Rate:
    """One constant: ``value`` in ``unit``, what it says, its mark (a key of `MARKS`) and its source."""

    name: str
    value: float = field()
    unit: str
    mark: str = field()
    says: str
    source: str

    @value.validator
    def _positive(self, _: object, value: float) -> None:
        if value <= 0:
            raise UsageError(f"the rate {self.name!r} is {value}; give a number above 0")

    @mark.validator
    def _known(self, _: object, mark: str) -> None:
        if mark not in MARKS:
            raise UsageError(f"the mark of {self.name!r} is {mark!r}; use one of {', '.join(MARKS)}")


LAUNCH = Rate(
    "launch", 1.5, "us", "D", "one launch, from the queue to the first instruction and back",
    "the smallest published kernel time is 2 us (abs of 10,000 floats on MLU590-H8), of which one load and one "
    "store are about half a microsecond",
)  # fmt: skip
HOST_CALL = Rate(
    "host call", 27.0, "us", "C", "the host's launch call; never in time_us, but between two notifiers on an idle queue",
    "published trace of MLU370, driver 4.20",
)  # fmt: skip
DRAM_CEILING = Rate(
    "DRAM ceiling", 0.825, "of the bandwidth", "D", "what the off-chip memory reaches of its nominal bandwidth",
    "clone, copy and cast of 8192 x 8192 on MLU590-M9: 82.0 to 83.2 %",
)  # fmt: skip
DRAM_LATENCY = Rate(
    "DRAM latency", 200.0, "ns", "D", "from an off-chip access to its data",
    "a scalar loop on GDRAM with three loads a step takes 648 ns a step on MLU370-X8: 200 to 260 ns a load",
)  # fmt: skip
TRANSACTION = Rate(
    "transaction", 64, "bytes", "C", "what an off-chip access moves at least, from an address divisible by it; "
    "a line written in part is read first",
    "develop guide 5.3.3",
)  # fmt: skip
CORE_IO = Rate(
    "IO-DMA of a core", 32, "bytes/cycle", "D", "how fast one core copies off the chip, loads and stores together",
    "the blocking matmul on 16 cores of MLU370-X8 copies at 28.5 GB/s a core or more; the next power of two",
)  # fmt: skip
MEMORY_CORE_IO = Rate(
    "IO-DMA of a memory core", 64, "bytes/cycle", "D", "the same for the memory core of a cluster",
    "the SRAM pipeline on MLU370-X8 moves 96 KiB a cluster in 1.9 us, 52 GB/s; the next power of two",
)  # fmt: skip
SEGMENT = Rate(
    "segment", 28, "cycles", "D", "what one segment of a strided off-chip copy takes at least, however small",
    "an element-wise transposing copy of 67.1 million floats takes 24.7 ms on the 48 cores of MLU590-M9",
)  # fmt: skip
DMA_SETUP = Rate(
    "DMA set-up", 50, "cycles", "U", "what starting a copy costs its pipe; queued copies hide it behind each other",
    "no publication",
)  # fmt: skip
ISSUE = Rate(
    "issue", 3, "cycles", "C", "dispatching one instruction to a pipe", "develop guide 5.3.4: plain instructions take 1 to 3"
)  # fmt: skip
SCALAR_OP = Rate(
    "scalar operation", 2, "cycles", "C", "one conversion, comparison or sum of registers",
    "develop guide 5.3.4: 2 for a sum",
)  # fmt: skip
SCALAR_NRAM = Rate(
    "scalar access on chip", 12, "cycles", "D", "one scalar load or store of NRAM, WRAM or SRAM",
    "a scalar loop with two NRAM loads takes 30.06 cycles a step on MLU370-X8, arithmetic included",
)  # fmt: skip
SCALAR_STEP = Rate(
    "scalar step", 3, "cycles", "D", "the address, arithmetic and branch that come with one scalar access",
    "the rest of those 30 cycles",
)  # fmt: skip
VECTOR_LINE = Rate(
    "vector line", 128, "bytes/cycle", "C", "what the vector unit takes in a cycle; a started line counts whole",
    "develop guide 5.3.4",
)  # fmt: skip
VECTOR_LANES = Rate(
    "vector lanes", 64, "elements/cycle", "C", "the most elements in a cycle, however narrow", "mlu-ops executor.h: CT constants"
)  # fmt: skip
VECTOR_START = Rate(
    "vector start", 20, "cycles", "I", "what a vector instruction takes beside its lines: it reads NRAM, computes, writes",
    "the latency of a scalar NRAM load, and a short pipeline",
)  # fmt: skip
TENSOR_START = Rate(
    "tensor start", 20, "cycles", "I", "what a tensor instruction takes beside its products", "as a vector instruction"
)  # fmt: skip
MOVE_LINE = Rate(
    "move-DMA line", 128, "bytes/cycle", "I", "how fast one core copies on chip; a started line counts whole",
    "the width of the vector unit's path to NRAM",
)  # fmt: skip
SRAM_PORT = Rate(
    "SRAM of a cluster", 512, "bytes/cycle", "U", "what the cores of a cluster share when they use its SRAM",
    "no publication; four cores, each at its own rate",
)  # fmt: skip
ATOMIC = Rate(
    "atomic element", 1, "cycles", "U", "one element of an atomic, beside the read and the write of its line", "no publication"
)  # fmt: skip
BARRIER = Rate("barrier", 100, "cycles", "U", "from the last arrival to the release", "no publication")

RATES: tuple[Rate, ...] = (
    LAUNCH, HOST_CALL, DRAM_CEILING, DRAM_LATENCY, TRANSACTION, CORE_IO, MEMORY_CORE_IO, SEGMENT, DMA_SETUP, ISSUE,
    SCALAR_OP, SCALAR_NRAM, SCALAR_STEP, VECTOR_LINE, VECTOR_LANES, VECTOR_START, TENSOR_START, MOVE_LINE, SRAM_PORT,
    ATOMIC, BARRIER,
)  # fmt: skip
"""Every constant, in the order in which the documentation shows them."""
