"""The one table of the timing model's constants: what each says about the hardware, and where it comes from.

A board's own numbers (clock, bandwidth, tensor rates, clusters) stay with the board.  Each constant is
published, or follows from something published by the arithmetic that its source gives, or is marked as
inferred or as a default for something unknown.  ``rows`` names the published measurements that a constant
was derived from: `benchmarks/calibration.py` counts those rows apart, since they prove nothing.
"""

from enum import Enum

from attrs import field, frozen

from mlusim.errors import UsageError

MARKS = {"C": "certain", "D": "derived", "I": "inferred", "U": "unknown, default chosen"}


class Bound(Enum):
    """Which end of its band each constant is taken at: the one that makes launches shorter or longer, or neither."""

    LOW = "low"
    USUAL = "usual"
    HIGH = "high"


@frozen
class Rate:
    """One constant: ``value`` in ``unit``, what it says, its mark (a key of `MARKS`) and its source.

    ``low`` and ``high`` are the values that would make a launch shorter and longer, as far as the source
    leaves it open; both are ``value`` where nothing is.  ``rows`` are the rows of ``benchmarks/measured.csv``
    that it was derived from.
    """

    name: str
    value: float = field()
    unit: str
    mark: str = field()
    says: str
    source: str
    band: tuple[float, float] | None = None
    rows: tuple[str, ...] = ()

    @value.validator
    def _positive(self, _: object, value: float) -> None:
        if value <= 0:
            raise UsageError(f"the rate {self.name!r} is {value}; give a number above 0")

    @mark.validator
    def _known(self, _: object, mark: str) -> None:
        if mark not in MARKS:
            raise UsageError(f"the mark of {self.name!r} is {mark!r}; use one of {', '.join(MARKS)}")

    def at(self, bound: Bound) -> float:
        """The value at an end of the band, or the usual one."""
        if self.band is None or bound is Bound.USUAL:
            return self.value
        return self.band[0] if bound is Bound.LOW else self.band[1]


LAUNCH = Rate(
    "launch", 1.5, "us", "D", "one launch, from the queue to the first instruction and back",
    "the smallest published kernel time is 2 us (abs of 10,000 floats on MLU590-H8), of which one load and one "
    "store are about half a microsecond",
    (1.0, 2.0), ("abs",),
)  # fmt: skip
HOST_CALL = Rate(
    "host call", 27.0, "us", "I", "the host's launch call; never in time_us, but between two notifiers on an idle queue",
    "one published trace of MLU370, driver 4.20: the call lasts 27 us; from the first notifier to the kernel it is 46 us "
    "and from there to the second 21 us, so what a pair of notifiers sees lies between 27 and 67 us",
    (27.0, 67.0),
)  # fmt: skip
DRAM_CEILING = Rate(
    "DRAM ceiling", 0.825, "of the bandwidth", "D", "what the off-chip memory reaches of its nominal bandwidth",
    "clone, copy and cast of 8192 x 8192 on MLU590-M9: 82.0 to 83.2 %",
    (0.832, 0.75), ("clone", "copy_", "type_as"),
)  # fmt: skip
DRAM_LATENCY = Rate(
    "DRAM latency", 200.0, "ns", "D", "from an off-chip access to its data",
    "a scalar loop on GDRAM with three loads a step takes 648 ns a step on MLU370-X8: 200 to 260 ns a load; "
    "boards with HBM are not published",
    (200.0, 260.0), ("matmul_lab_01 MLU370-X8",),
)  # fmt: skip
HBM_LATENCY = Rate(
    "HBM latency", 360.0, "ns", "D", "the same on boards with a memory bus of 3072 bits or more, HBM",
    "moe_dispatch_backward_data on MLU590-M9 takes 1.10 us a sample for a blocking load and a blocking store of 4 KiB, a "
    "product and three scalar loads: 0.36 us each beside 32 bytes/ns",
    (200.0, 420.0), ("moe_dispatch_backward_data",),
)  # fmt: skip
TRANSACTION = Rate(
    "transaction", 64, "bytes", "C", "what an off-chip access moves at least, from an address divisible by it; "
    "a line written in part is read first",
    "develop guide 5.3.3",
)  # fmt: skip
CORE_IO = Rate(
    "IO-DMA of a core", 32, "bytes/ns", "I", "how fast one core loads from the off-chip memory, and stores to it beside that; "
    "it follows the memory's clock, not the core's",
    "the blocking matmul on MLU370-X8 copies at 28.5 GB/s a core or more at 1 GHz; on MLU590-M9 clone moves 23.6 GB/s in and "
    "as many out a core, and cast 32.0 GB/s out beside 16 in, at 1.6 GHz or more; at most what a memory core reaches",
    (64.0, 28.5), ("matmul_lab_04 MLU370-X8", "type_as"),
)  # fmt: skip
MEMORY_CORE_IO = Rate(
    "IO-DMA of a memory core", 64, "bytes/ns", "I", "the same for the memory core of a cluster",
    "the SRAM pipeline on MLU370-X8 moves 96 KiB a cluster in 1.9 us, 52 GB/s; the next power of two",
    (72.0, 52.0), ("matmul_lab_06 MLU370-X8",),
)  # fmt: skip
ELEMENT = Rate(
    "element off the chip", 28, "cycles", "D", "what one element of a gather, a scatter or a discrete atomic takes at least, and "
    "one scalar store off the chip",
    "an element-wise gather of 67.1 million floats takes 24.7 ms on the 48 cores of MLU590-M9",
    (20.0, 34.0), ("contiguous gather",),
)  # fmt: skip
DMA_SETUP = Rate(
    "DMA set-up", 50, "cycles", "U", "what starting a copy costs its pipe; queued copies hide it behind each other",
    "no publication",
    (25.0, 100.0),
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
    rows=("matmul_lab_02 MLU370-X8",),
)  # fmt: skip
SCALAR_NRAM_2XX = Rate(
    "scalar access on chip of MLU2xx", 36, "cycles", "D", "the same on MLU2xx",
    "a scalar loop with two NRAM loads takes 78.2 cycles a step on MLU270, arithmetic included",
    rows=("gemm_tutorial_2",),
)  # fmt: skip
SCALAR_STEP = Rate(
    "scalar step", 3, "cycles", "D", "the address, arithmetic and branch that come with one scalar access",
    "the rest of those 30 cycles",
    rows=("matmul_lab_02 MLU370-X8",),
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
FUNCTION = Rate(
    "function", 4, "cycles a line", "U", "a line of a division, a reciprocal, a root, a power, a logarithm, a sine or a cosine",
    "no publication for vectors; a scalar of that class takes 6 to 18 cycles (develop guide 5.3.4), a plain one 1 to 3",
    (1.0, 16.0),
)  # fmt: skip
TRANSPOSE_2XX = Rate(
    "transpose on MLU2xx", 1.0, "cycles an element", "U", "one element of a transposition or of a change of axes",
    "no publication; 1 to 4 elements a cycle, by generation",
    (0.25, 2.0),
)  # fmt: skip
TRANSPOSE_3XX = Rate(
    "transpose on MLU3xx", 0.25, "cycles an element", "U", "the same", "as above", (0.0625, 1.0)
)  # fmt: skip
TRANSPOSE_5XX = Rate(
    "transpose on MLU5xx", 0.25, "cycles an element", "U", "the same", "as above", (0.0625, 1.0)
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
    (512.0, 256.0),
)  # fmt: skip
ATOMIC = Rate(
    "atomic element", 1, "cycles", "U", "one element of an atomic, beside the read and the write of its line",
    "no publication", (1.0, 28.0),
)  # fmt: skip
BARRIER = Rate(
    "barrier", 100, "cycles", "U", "from the last arrival to the release", "no publication", (50.0, 400.0)
)

RATES: tuple[Rate, ...] = (
    LAUNCH, HOST_CALL, DRAM_CEILING, DRAM_LATENCY, HBM_LATENCY, TRANSACTION, CORE_IO, MEMORY_CORE_IO, ELEMENT, DMA_SETUP, ISSUE,
    SCALAR_OP, SCALAR_NRAM, SCALAR_NRAM_2XX, SCALAR_STEP, VECTOR_LINE, VECTOR_LANES, VECTOR_START, FUNCTION, TRANSPOSE_2XX, TRANSPOSE_3XX,
    TRANSPOSE_5XX, TENSOR_START, MOVE_LINE, SRAM_PORT, ATOMIC, BARRIER,
)  # fmt: skip
"""Every constant, in the order in which the documentation shows them."""
