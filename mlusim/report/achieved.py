"""The rates that launches reach on their board: bandwidth by space, operations by pipe, each beside the board's most."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.machine.launch import Launch
from mlusim.memory.space import DIRECTIONS
from mlusim.report.quantities import percent
from mlusim.time.log import SUMS
from mlusim.time.quantities import SCALAR, TENSOR, TENSOR_CYCLES
from mlusim.time.rates import MOVE_LINE

LANE = 4  # bytes of an operation of the vector unit; of half, two take its place
LEAST = 0.0005  # of what the board has, below which a pipe is not mentioned
ON_CHIP = tuple(d.name for d in DIRECTIONS if not d.off_chip)


@frozen
class Achieved:
    """The rate of one space or pipe (``what``) in ``unit`` a second, and the most that the board does (``peak``).

    GDRAM counts every byte that crosses, against the nominal bandwidth; the vector pipe operations on `LANE` bytes, the
    tensor pipe a product and an addition as two, at the rate of the element types that it was given.
    """

    what: str
    rate: float
    unit: str
    peak: float

    @property
    def share(self) -> float:
        """The rate as a fraction of the peak."""
        return self.rate / self.peak if self.peak else 0.0

    @property
    def figure(self) -> str:
        """The rate, and its share of what: "113 GB/s, 37% of 307"."""
        return f"{_number(self.rate)} {self.unit}, {percent(self.share)} of {_number(self.peak)}"

    def __str__(self) -> str:
        """Return it in words: "GDRAM 113 GB/s, 37% of 307"."""
        return f"{self.what} {self.figure}"

    def to_json(self) -> dict[str, Any]:
        """Return the rates as plain data."""
        return asdict(self) | {"share": self.share}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def achieved(launches: Sequence[Launch]) -> tuple[Achieved, ...]:
    """Work out the rates of *launches*, all of one board, over their time together; none where one was not timed.

    The time is that of the efficiencies of the vendor's formulas: the predicted one, with the start of each launch.
    """
    time_us = sum(launch.time_us for launch in launches)
    if not launches or not all(launch.tasks for launch in launches) or not time_us > 0:
        return ()
    board = find_board(launches[0].board)
    made = (_memory(launches, board, time_us), *_pipes(launches, board, time_us))
    return tuple(one for one in made if one.share > LEAST)


def shares(launches: Sequence[Launch]) -> tuple[float, float]:
    """Return the share of the off-chip bandwidth and the largest of a pipe that computes."""
    found = {one.what: one.share for one in achieved(launches)}
    return found.get("GDRAM", 0.0), max((found.get(pipe, 0.0) for pipe in ("vector", "tensor")), default=0.0)


def _memory(launches: Sequence[Launch], board: Board, time_us: float) -> Achieved:
    nbytes = sum(launch.io_bytes for launch in launches)
    return Achieved("GDRAM", nbytes / time_us / 1e3, "GB/s", board.io_bandwidth_gbs)


def _pipes(launches: Sequence[Launch], board: Board, time_us: float) -> tuple[Achieved, ...]:
    cycles = board.cores * board.clock_mhz / 1e3  # of all cores, in Gcycle/s
    copied = sum(launch.traffic.get(name, 0) for launch in launches for name in ON_CHIP)
    lanes = sum(one.used for launch in launches for one in launch.lanes.values()) / LANE
    logs = Counter(task.log for launch in launches for task in launch.tasks)
    products, busy, issued = (
        sum(many * int(log.total[SUMS + place]) for log, many in logs.items())
        for place in (TENSOR, TENSOR_CYCLES, SCALAR)
    )
    per_cycle = 2 * products / busy if busy else 0.0
    giga = time_us * 1e3
    return (
        Achieved("on-chip copies", copied / giga, "GB/s", cycles * MOVE_LINE.value),
        Achieved("vector", lanes / giga, "Gop/s", cycles * board.arch.vector_bytes_per_cycle / LANE),
        Achieved("tensor", 2 * products / giga, "Gop/s", cycles * per_cycle),
        Achieved("scalar", issued / giga, "Gop/s", cycles),
    )


def reached(launch: Launch) -> str:
    """Return the rates that *launch* reaches of its board, by space and pipe."""
    return "; ".join(map(str, achieved([launch]))) or "nothing to speak of"
