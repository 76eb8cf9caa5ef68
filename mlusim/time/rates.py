"""The table of the timing model's constants, each with its meaning for the hardware and its source.

A board's own numbers (clock, bandwidth, tensor rates, clusters) stay with the board.  Each constant is
published, or follows from something published by the arithmetic that its source gives, or is marked as
inferred or as a default for something unknown.

A constant has a usual value, for all boards without one of their own; ``own`` has the values of a board or of
a series of boards. ``rows`` names the published measurements from which a value was derived
(`benchmarks/calibration.py` counts these rows separately, since they prove nothing), ``shown`` names other
measurements that it predicts well, and ``measured`` names the boards that printed them. On any other board
such a value is inherited, and its band is wider by `INHERITED`.
"""

import functools
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from attrs import field, frozen

from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.arch.board import Board

MARKS = {"C": "certain", "D": "derived", "I": "inferred", "U": "unknown, default chosen"}
INHERITED = 1.25
"""The factor by which both ends of a measured band move outwards on a board that printed none of its rows."""


MODEL: Mapping[str, float] = {
    "launching": 1.12,
    "scalar code": 1.17,
    "vector unit": 1.2,
    "tensor unit": 1.2,
    "copies that a core waits for": 1.25,
    "copies beside other work": 1.1,
    "pieces of strided copies": 1.25,
    "copies on the chip": 1.15,
}
"""The factor by which the model may be off, either way, if most of the time is of one kind; it covers about four in five families of published kernels.

`docs/explanation/time.md` lists the families of each kind, and the factor without each of them.
"""
THIN = 1.5
"""The same factor for time in mechanisms with at most one measured row: rows of kinds that were never fitted need 1.42 to 1.58."""


class Bound(Enum):
    """The end of its band at which each constant is used: the one that makes launches shorter or longer, or neither."""

    LOW = "low"
    USUAL = "usual"
    HIGH = "high"


@frozen
class BoardValue:
    """A constant on some boards: its ``value``, its mark (a key of `MARKS`) and its source.

    ``where`` is the name of a board, or a series such as "MLU3xx" for its generation. ``band`` has the values
    within the uncertainty of the source that make a launch shortest and longest; None if there is no
    uncertainty.
    """

    where: str
    value: float = field()
    mark: str = field()
    source: str
    band: tuple[float, float] | None = None
    rows: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    @property
    def shown_by(self) -> int:
        """The number of published rows that confirm it: those from which it was derived, and others that it predicts well."""
        return len(self.rows) + len(self.shown)

    @value.validator
    def _positive(self, _: object, value: float) -> None:
        if value <= 0:
            raise UsageError(f"the value {value} of a rate is not above 0; give a number above 0")

    @mark.validator
    def _known(self, _: object, mark: str) -> None:
        if mark not in MARKS:
            raise UsageError(f"the mark of a rate is {mark!r}; use one of {', '.join(MARKS)}")

    def inherited(self, board: "Board") -> bool:
        """Return whether *board* inherits the value: other boards printed the measurements, and *board* did not."""
        return bool(self.measured) and board.name not in self.measured

    def ends(self, board: "Board") -> tuple[float, float] | None:
        """Return the band on *board*, which is wider if the value is inherited."""
        if self.band is None or not self.inherited(board):
            return self.band
        shorter, longer = self.band
        return (
            # For a rate, a higher value makes launches shorter, so its band is reversed.
            (shorter * INHERITED, longer / INHERITED)
            if shorter > longer
            else (shorter / INHERITED, longer * INHERITED)
        )

    def at(self, bound: Bound, board: "Board") -> float:
        """Return the value on *board* at the end *bound* of its band, or the usual value."""
        ends = None if bound is Bound.USUAL else self.ends(board)
        return self.value if ends is None else ends[bound is Bound.HIGH]


@frozen(eq=False)
class Rate:
    """One constant: its meaning and ``unit``, its usual value, and the values of boards with their ``own``."""

    name: str
    value: float
    unit: str
    mark: str
    says: str
    source: str
    band: tuple[float, float] | None = None
    rows: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    own: tuple[BoardValue, ...] = ()
    usual: BoardValue = field(init=False)

    @usual.default
    def _usual(self) -> BoardValue:
        return BoardValue(
            "", self.value, self.mark, self.source, self.band, self.rows, self.measured, self.shown
        )

    @property
    def values(self) -> tuple[BoardValue, ...]:
        """The usual value, then the values of individual boards and series."""
        return (self.usual, *self.own)

    def on(self, board: "Board") -> BoardValue:
        """Return the value for *board*: its own, that of its series, or the usual one."""
        # The board comes first: its own value is more specific than that of its series.
        for where in (board.name, series_of(board)):
            for value in self.own:
                if value.where == where:
                    return value
        return self.usual

    # Every prediction asks several constants again.
    @functools.lru_cache(maxsize=8192)  # noqa: B019 - a constant lives as long as the program
    def at(self, bound: Bound, board: "Board") -> float:
        """Return the number for *board* at the end *bound* of its band."""
        return self.on(board).at(bound, board)


def printed_rows(board: "Board") -> bool:
    """Return whether *board* printed a measurement from which a constant was derived."""
    return board.name in _PRINTED


def series_of(board: "Board") -> str:
    """Return the series of *board*, the key of values for series: "MLU3xx" for MLU370."""
    return f"MLU{board.arch.generation}xx"


X4 = ("MLU370-X4", "MLU370-X4K")  # the contest's measurements are of one of these two
X8, M9, H8, MLU270, MLU290 = ("MLU370-X8",), ("MLU590-M9",), ("MLU590-H8",), ("MLU270-S4",), ("MLU290-M5",)

LAUNCH = Rate(
    "launch", 1.5, "us", "D", "one launch, from the queue to the first instruction and back",
    "the smallest published kernel time is 2 us (abs of 10,000 floats on MLU590-H8), of which one load and one "
    "store are about half a microsecond",
    (1.0, 2.0), ("abs",), H8,
    own=(
        BoardValue(
            "MLU3xx", 1.2, "D", "an empty kernel of one task takes 1.2 us between two notifiers on MLU370-X4, in steps of 0.2",
            (1.0, 1.5), ("035 empty",), X4,
        ),
    ),
)  # fmt: skip
TASK_START = Rate(
    "start of a task", 20.0, "ns", "I", "each task of a launch begins so much after the one before it; the first begins at once",
    "abs in 10 tasks on MLU590-H8 takes 2 us in all, which leaves at most 50 ns for each",
    (5.0, 50.0),
    own=(
        BoardValue(
            "MLU3xx", 90.0, "D", "zeroing 32 pieces of 16 KiB in 32 tasks takes 4.0 us more than an empty task on MLU370-X4, of "
            "which one piece takes 1.3", (60.0, 110.0), ("035 zeros",), X4,
        ),
    ),
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
    (0.832, 0.75), ("clone", "copy_", "type_as"), M9,
    own=(
        BoardValue(
            "MLU3xx", 0.87, "D", "an addition on MLU370-X4 moves 25.2 MB in 90.9 us, 0.90 of the nominal; a normalisation in 64 blocking "
            "tasks reaches 0.87 in all", (0.92, 0.8), ("072 add", "043 GroupNorm"), X4,
        ),
        BoardValue(
            "MLU290-M5", 0.53, "I", "64 cores that load and store at once reach 600 to 700 GB/s of 1,229 (users' measurements)", (0.57, 0.49),
        ),
    ),
)  # fmt: skip
DRAM_LATENCY = Rate(
    "DRAM latency", 200.0, "ns", "D", "from an off-chip access to its data",
    "a scalar loop on GDRAM with three loads a step takes 648 ns a step on MLU370-X8: 200 to 260 ns a load",
    (200.0, 260.0), ("matmul_lab_01 MLU370-X8",), X8, ("matmul_lab_01 MLU370-M8",),
    own=(
        BoardValue(
            "MLU290-M5", 200.0, "D", "the vendor's search among 1,024 and 2,048 points, whose short blocking copies it sets",
            (150.0, 260.0), ("ball_query 2048", "ball_query 1024"), MLU290,
        ),
        BoardValue(
            "MLU5xx", 360.0, "D", "moe_dispatch_backward_data on MLU590-M9 takes 1.10 us a sample for a blocking load and a blocking "
            "store of 4 KiB, a product and three scalar loads: 0.36 us each beside 32 bytes/ns",
            (200.0, 420.0), ("moe_dispatch_backward_data",), M9,
        ),
        *(
            BoardValue(
                board, 310.0, "D", "a convolution that loads its input in 534 copies a core takes 166 us longer than one that does so in 79: 0.36 us for "
                "each, of which 0.05 set it up", (260.0, 340.0), ("010 channels 32", "010 conv2d"), X4,
            )
            for board in X4
        ),
    ),
)  # fmt: skip
STORE_LATENCY = Rate(
    "latency of a store", 200.0, "ns", "U", "from the last byte of a store that has left to when the core, or a sync, goes on",
    "no publication that tells it from that of a load; their sum is known of MLU590-M9",
    (10.0, 260.0),
    own=(
        BoardValue(
            "MLU3xx", 10.0, "D", "a convolution of 2,752 blocking stores and 646 blocking loads a core leaves 362 us for the starts of both on "
            "MLU370-X4, of which the loads take 230", (1.0, 100.0), ("010 conv2d",), X4,
        ),
        BoardValue("MLU5xx", 360.0, "D", "as a load: only the sum of both is known", (200.0, 420.0), ("moe_dispatch_backward_data",), M9),
    ),
)  # fmt: skip
TRANSACTION = Rate(
    "transaction", 64, "bytes", "C", "what an off-chip access moves at least, from an address divisible by it; "
    "a line written in part is read first",
    "develop guide 5.3.3",
)  # fmt: skip
SEGMENT = Rate(
    "segment off the chip", 2, "cycles", "I", "what each piece of a strided off-chip copy takes beside its transactions",
    "a tiled transposition on MLU590-M9 whose store has 1,024 pieces allows at most about 7 ns a piece",
    (0.5, 11.0),
    own=(
        BoardValue(
            "MLU3xx", 40, "D", "512 pieces of 2 bytes on MLU370-X4 take 23 us, 44 cycles each; the rows of 128 to 512 bytes of two "
            "matmuls' tiles 31 to 37",
            (31.0, 44.0), ("088 trace", "020 matmul", "022 tm256"), X4,
        ),
    ),
)  # fmt: skip
PART = Rate(
    "piece stored in part", 240, "cycles", "D", "what each piece of a strided store off the chip takes beside its lines if it is shorter than one: "
    "the line is read first, and nothing hides the wait",
    "66 million pieces of 4 bytes that 32 cores of MLU370-X4 store in 512 ms take 247 cycles each",
    rows=("010 pieces",), measured=X4,
)  # fmt: skip
STORED_PIECE = Rate(
    "stored piece", 1, "bytes", "U", "in the time of how many bytes the off-chip memory is busy with each piece of a strided store, beside its own",
    "no publication; a transposition on MLU590-M9 whose store has pieces of 512 bytes reaches 0.77 of the bandwidth",
    (1.0, 100.0),
    own=(
        BoardValue(
            "MLU3xx", 110, "D", "12.6 million pieces of 512 bytes on MLU370-X4 take 5.2 ms longer than their bytes at the ceiling; that pieces of 2 KiB "
            "take 631 us longer than as many bytes in pieces of 4 KiB asks for more", (50.0, 700.0), ("014 tall",), X4,
        ),
    ),
)  # fmt: skip
CORE_IO = Rate(
    "IO-DMA of a core", 32, "bytes/ns", "I", "how fast one core loads from the off-chip memory, and stores to it beside that; "
    "it follows the memory's clock, not the core's",
    "the blocking matmul on MLU370-X8 copies at 28.5 GB/s a core or more at 1 GHz; on MLU590-M9 clone moves 23.6 GB/s in and "
    "as many out a core, and cast 32.0 GB/s out beside 16 in, at 1.6 GHz or more; at most what a memory core reaches",
    (64.0, 28.5), ("matmul_lab_04 MLU370-X8", "type_as"),
)  # fmt: skip
CLUSTER_IO = Rate(
    "port of a cluster", 128, "bytes/ns", "I", "what the cores of a cluster share, in each direction, when all of them copy",
    "cores of MLU370-X8 and of MLU590-M9 copy at their own rate, four of them beside each other",
    (256.0, 96.0),
    own=(
        BoardValue(
            "MLU370-X4", 64, "D", "eight tasks, four on a cluster, load 64 KiB, change them and store them in 12 to 13 us: "
            "16 bytes/ns a core", (80.0, 56.0), ("029 HardTanh",), X4,
        ),
        BoardValue("MLU370-X4K", 64, "D", "as MLU370-X4", (80.0, 56.0), ("029 HardTanh",), X4),
        BoardValue(
            "MLU290-M5", 30, "I", "64 cores that load from MLU290 reach 460 to 490 GB/s, 30 bytes/ns a cluster; both ways at once 600 to 700 (users' "
            "measurements)", (32.0, 28.0),
        ),
    ),
)  # fmt: skip
MEMORY_CORE_IO = Rate(
    "IO-DMA of a memory core", 64, "bytes/ns", "I", "the same for the memory core of a cluster",
    "the SRAM pipeline on MLU370-X8 moves 96 KiB a cluster in 1.9 us, 52 GB/s; the next power of two",
    (72.0, 52.0), ("matmul_lab_06 MLU370-X8",), X8,
)  # fmt: skip
MEMORY_CORE_CACHED = Rate(
    "IO-DMA of a memory core, from the cache", 214, "bytes/ns", "I", "how fast it loads what the last-level cache holds",
    "a union on MLU370-M8 that loads 1 MiB again into its SRAM takes 11.5 us less than the rate off the chip allows: 4.9 us",
    (256.0, 96.0),
)  # fmt: skip
ELEMENT = Rate(
    "element off the chip", 28, "cycles", "D", "what one element of a gather, a scatter or a discrete atomic takes at least, and "
    "one scalar store off the chip",
    "an element-wise gather of 67.1 million floats takes 24.7 ms on the 48 cores of MLU590-M9",
    (20.0, 34.0), ("contiguous gather",), M9,
)  # fmt: skip
DMA_SETUP = Rate(
    "DMA set-up", 50, "cycles", "U", "what starting a copy costs the IO-DMA; queued copies hide it behind each other",
    "no publication",
    (25.0, 100.0),
)  # fmt: skip
MOVE_SETUP = Rate(
    "set-up of a copy on the chip", 50, "cycles", "U", "the same for the move-DMA",
    "no publication; with 95 the ladder's pipeline through SRAM on MLU370-X8 would be slower than its blocking copies, which it is not",
    (25.0, 100.0),
    own=tuple(
        BoardValue(
            board, 95, "D", "256 copies of 64 pieces of 2 bytes take 48.8 us, and 2 copies of 4,096 such pieces 12: 95 cycles a copy, and 1.5 a piece",
            (50.0, 110.0), ("101 pieces", "101 width"), X4, ("062 prefix sum", "048 pieces"),
        )
        for board in X4
    ),
)  # fmt: skip
ISSUE = Rate(
    "issue", 3, "cycles", "C", "dispatching one instruction to a pipe", "develop guide 5.3.4: plain instructions take 1 to 3"
)  # fmt: skip
SCALAR_OP = Rate(
    "scalar operation", 2, "cycles", "C", "one conversion, comparison or sum of registers",
    "develop guide 5.3.4: 2 for a sum",
)  # fmt: skip
SCALAR_NRAM = Rate(
    "wait for a scalar load", 24, "cycles", "D", "from a scalar load of NRAM, WRAM or SRAM to its data, with the arithmetic that waits for "
    "it; loads of one straight piece of code wait together",
    "a scalar loop with two NRAM loads takes 30.06 cycles a step on MLU370-X8, arithmetic included",
    (20.0, 25.0), ("matmul_lab_02 MLU370-X8",), X8,
    ("matmul_lab_02 MLU370-M8", "092 SVD", "127 Cholesky", "053 scan", "098 selected"),
    own=(
        BoardValue(
            "MLU2xx", 72, "D", "a scalar loop with two NRAM loads takes 78.2 cycles a step on MLU270, arithmetic included",
            (70.0, 74.0), ("gemm_tutorial_2",), MLU270,
        ),
        BoardValue(
            "MLU290-M5", 24, "D", "as MLU370: the vendor's search among 2,048 points would take 1.24 times as long with 72",
            (12.0, 36.0), ("ball_query 2048", "ball_query 1024"), MLU290,
        ),
    ),
)  # fmt: skip
SCALAR_SRAM = Rate(
    "wait for a scalar load of SRAM", 80, "cycles", "D", "the same for a load of the SRAM of a cluster, whatever its own memories take",
    "a Cholesky decomposition whose four cores of a cluster share a matrix in SRAM takes 470 us on MLU370-X4, of which 4,150 waits on its longest "
    "way are not 24 but 80 cycles each; its 129 barriers would have to take 2 us each, which those of a pipelined matmul do not",
    (24.0, 120.0), ("127 union",), X4,
)  # fmt: skip
SCALAR_BRANCH = Rate(
    "branch on data", 13, "cycles", "D", "a branch whose test waits for a load, beside the wait",
    "8,128 steps of a loop that loads a float, compares it and branches take 40 cycles each on MLU370-X4",
    (8.0, 20.0), ("098 attention",), X4, ("098 selected",),
)  # fmt: skip
SCALAR_STEP = Rate(
    "scalar step", 3, "cycles", "D", "one scalar access, with the address, the arithmetic and the branch that come with it",
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
EXPONENTIAL = Rate(
    "exponential", 7, "cycles a line", "I", "a line of an exponential by table, and of what is made of one: sigmoid, tanh, gelu",
    "two softmax kernels on MLU370-X4 that differ in exp and exp_less_0 differ by 3 cycles a line",
    (4.0, 16.0), shown=("058 scalar sum", "058 vector sum"),
)  # fmt: skip
REDUCTION = Rate(
    "reduction", 9, "cycles a line", "D", "a line of a sum, a maximum or a minimum, with or without its index",
    "two reductions and an exponential over 256 lines of half take about 25 cycles a line together in a softmax on MLU370-X4",
    (6.0, 12.0), ("058 scalar sum",), X4, ("058 vector sum",),
)  # fmt: skip
FUSION = Rate(
    "fused operations", 2, "cycles a line", "D", "a line of two operations in one, as a product and a sum",
    "two depthwise convolutions on MLU370-X4 take 1.5 times what one cycle a line gives, of which two thirds are such lines",
    (1.5, 3.0), ("134 depthwise",), X4,
)  # fmt: skip
POOLING = Rate(
    "pooling", 1, "cycles a line", "D", "a line of a window: of a row of its pixels, or of the channels of each pixel where these lie apart, however few they are",
    "4,096 windows of 2 x 2 pixels of one channel take 17 us on MLU370-X4",
    (0.75, 1.5), ("048 pool 16",), X4,
)  # fmt: skip
TRANSPOSE = Rate(
    "transpose", 0.03125, "cycles an element", "D", "one element of a transposition or of a change of axes",
    "a convolution that transposes all of its input and output on MLU370-X4, and matmuls that transpose their tiles: 16 "
    "elements a cycle or more",
    (0.0156, 0.0625), ("010 conv2d", "022 tm256"), X4,
    own=(
        BoardValue(
            "MLU2xx", 1.0, "U", "no publication; a user's batch norm of two transpositions of 128 x 256 halves takes twice what 1 gives, a large "
            "interpolation less", (0.25, 4.5),
        ),
    ),
)  # fmt: skip
TRANSPOSE_START = Rate(
    "transposition", 1, "cycles", "U", "what a transposition takes beside its elements and the start of a vector instruction",
    "no publication",
    own=(
        BoardValue(
            "MLU2xx", 5_000, "I", "interpolations on MLU270: 1 fits those of large tiles, 15,000 those of small ones, and no one value both",
            (1.0, 15_000),
        ),
    ),
)  # fmt: skip
TENSOR_START = Rate(
    "tensor start", 20, "cycles", "I", "what a tensor instruction takes beside its products", "as a vector instruction"
)  # fmt: skip
MOVE_LINE = Rate(
    "move-DMA line", 128, "bytes/cycle", "I", "how fast one core copies on chip; a started line counts whole",
    "the width of the vector unit's path to NRAM",
    shown=("048 pieces", "101 pieces"),
)  # fmt: skip
MOVE_PART = Rate(
    "piece on the chip", 0.5, "cycles", "D", "what each of several pieces of a copy on the chip takes beside its lines if it fills the last one in part, "
    "which is read first",
    "256 copies of 64 pieces of 2 bytes take 48.8 us on MLU370-X4, and 2 copies of 4,096 such pieces 12: 1.5 cycles a piece, and 95 a copy",
    (0.3, 1.0), ("101 pieces", "101 width"), X4, ("048 pieces",),
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
ATOMIC_LINE = Rate(
    "atomic of another core", 6, "ns", "D", "a line of an atomic that covers half of its tensor or more, for each other core of the launch that does such",
    "32 cores of MLU370-X4 that each add 1 KiB twice to the same 1 KiB take 6.0 us longer than what one does: 32 lines, for 31 other cores",
    (5.0, 7.0), ("128 sums",), X4,
)  # fmt: skip
BARRIER = Rate(
    "barrier", 100, "cycles", "U", "from the last arrival to the release", "no publication", (50.0, 400.0)
)

RATES: tuple[Rate, ...] = (
    LAUNCH, TASK_START, HOST_CALL, DRAM_CEILING, DRAM_LATENCY, STORE_LATENCY, TRANSACTION, SEGMENT, PART, STORED_PIECE, CORE_IO, CLUSTER_IO, MEMORY_CORE_IO, MEMORY_CORE_CACHED, ELEMENT,
    DMA_SETUP, MOVE_SETUP, ISSUE, SCALAR_OP, SCALAR_NRAM, SCALAR_SRAM, SCALAR_BRANCH, SCALAR_STEP, VECTOR_LINE, VECTOR_LANES, VECTOR_START, FUNCTION, EXPONENTIAL, REDUCTION, FUSION, POOLING,
    TRANSPOSE, TRANSPOSE_START,
    TENSOR_START, MOVE_LINE, MOVE_PART, SRAM_PORT, ATOMIC, ATOMIC_LINE, BARRIER,
)  # fmt: skip
"""All constants, in the order of the documentation."""
_PRINTED = frozenset(board for rate in RATES for value in rate.values for board in value.measured)
PASSES: Mapping[str, Rate] = {
    "FUNCTION": FUNCTION, "EXPONENTIAL": EXPONENTIAL, "REDUCTION": REDUCTION, "TRANSPOSE": TRANSPOSE,
}  # fmt: skip
"""The cost of a line, or of an element of a transposition, by name of `Passes`; a line of other instructions takes one cycle."""
