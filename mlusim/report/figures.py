"""The use that a launch made of its board: lanes, pipes, cores, waves, transfers and rates, as a few numbers.

Everything is computed from the data of the launch; nothing is run again.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.counted import percent
from mlusim.memory.space import DIRECTIONS
from mlusim.time.log import SUMS, Lanes
from mlusim.time.profile import home
from mlusim.time.quantities import SCALAR, TENSOR, TENSOR_CYCLES, VECTOR
from mlusim.time.rates import MOVE_LINE
from mlusim.time.timing import PIPES

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch

UNLIKE = 1.5  # times the mean, from which on a core's pipe is named
LITTLE = 0.1  # of the launch, by which it has to be busier, too


@frozen
class Figures:
    """The numbers of one launch.

    ``cores`` is the number of the board's cores, ``working`` the number of cores with a busy pipe, ``slowest`` the
    number of the core that was busy longest and ``balance`` its busy time over the mean of the working ones.  Tasks
    (or unions) run in ``waves`` of at most ``places``; ``last_wave`` is the share of the places that the last wave
    fills. ``busy`` is each pipe's share of the launch, the mean of the working cores, and ``overlap`` the part of the
    time of the second busiest pipe in which two or more are busy.  ``waits`` are shares of the tasks' time: for their
    own "pipes", for other "cores" at barriers, for the shared off-chip "memory".  ``lanes`` are bytes of the vector
    unit by intrinsic, ``vectors`` is the number of these instructions, ``starts`` is the share of the vector cycles
    in which they start. ``transfers`` is the number of off-chip copies, fills and atomics, ``io_bytes`` are their
    bytes and ``line_bytes`` the bytes that the off-chip memory moves for them, in whole lines of 64 bytes.
    ``critical`` names the core whose pipe sets the time if it does much more there than the mean; ``critical_busy``
    is the share of the launch in which that pipe is busy; ``waits_at`` is the line where cores wait longest, if lines
    are known.
    """

    cores: int
    tasks: int
    working: int
    slowest: int
    balance: float
    places: int
    waves: int
    last_wave: float
    busy: Mapping[str, float]
    lanes: Mapping[str, Lanes]
    vectors: int
    starts: float
    transfers: int
    io_bytes: int
    line_bytes: int
    overlap: float
    waits: Mapping[str, float]
    critical: str = ""
    critical_busy: float = 0.0
    waits_at: str = ""


def figures(launch: "Launch") -> Figures:
    """Return the figures of *launch*."""
    spent, board = launch.profile, launch.forecast.board
    width = board.arch.cores_per_cluster
    ours = [core for core in spent.cores if not core.memory_core]
    active = {core.cluster * width + core.core: core.active_us for core in ours if core.active_us > 0}
    slowest = max(active, key=lambda core: active[core], default=0)
    waits = {"pipes": spent.pipe_wait_us, "cores": spent.core_wait_us, "memory": spent.memory_wait_us}
    busy = _busy(launch, len(active))
    critical, most = _critical(launch, busy.get(launch.bound, 0.0))
    return Figures(
        cores=board.cores,
        tasks=math.prod(launch.dim),
        working=len(active),
        slowest=slowest,
        balance=spent.balance,
        places=spent.places,
        waves=len(spent.waves),
        last_wave=spent.waves[-1] / spent.places,
        busy=busy,
        lanes=dict(launch.lanes),
        vectors=sum(launch.instructions[name] for name in launch.lanes),
        starts=_starts(launch),
        transfers=sum(task.log.off_chip[0] for task in launch.tasks),
        io_bytes=launch.io_bytes,
        line_bytes=sum(task.log.off_chip[1] for task in launch.tasks),
        overlap=spent.overlap,
        waits={who: us / spent.elapsed_us if spent.elapsed_us else 0.0 for who, us in waits.items()},
        critical=critical,
        critical_busy=most,
        waits_at=_waits_at(launch) if critical and launch.timeline.named else "",
    )


def _critical(launch: "Launch", mean: float) -> tuple[str, float]:
    """Return the core on which the pipe that sets the time is busy longest, and its share of the launch.

    The name is "" if that share is near the *mean* of the working cores.
    """
    board, whole = launch.forecast.board, launch.time_us - launch.forecast.start_us
    if launch.bound not in PIPES or whole <= 0:
        return "", 0.0
    pipe, width = PIPES.index(launch.bound), board.arch.cores_per_cluster
    busy: dict[tuple[int, int], float] = {}
    in_turn = [task for group in launch.forecast.work.groups for task in group]
    for span, task in zip(launch.timeline, in_turn, strict=True):
        where = home(span, task, board, launch.forecast.unions)
        busy[where] = busy.get(where, 0.0) + span.busy_us[pipe]
    (cluster, core), most = max(busy.items(), key=lambda item: item[1])
    # By ratio and by difference: a core at 3 % with a mean of 1 % is not a cause of anything.
    if most / whole < UNLIKE * mean or most / whole < mean + LITTLE:
        return "", most / whole
    name = f"the memory core of cluster {cluster}" if core == width else f"core {core} of cluster {cluster}"
    return name, most / whole


def _waits_at(launch: "Launch") -> str:
    """Return the line where cores wait longest; "" if there is no wait."""
    line = max((line for line in launch.lines if line.line), key=lambda line: line.wait_us, default=None)
    return f"line {line.line}" if line is not None and line.wait_us > 0 else ""


def _busy(launch: "Launch", working: int) -> dict[str, float]:
    """Return each pipe's share of the launch without its start, over the working cores."""
    whole = (launch.time_us - launch.forecast.start_us) * working
    own = [span.busy_us for span in launch.timeline if not span.memory_core]
    sums = [math.fsum(of_pipe) for of_pipe in zip(*own, strict=True)] or [0.0] * len(PIPES)
    return {pipe: us / whole if whole > 0 else 0.0 for pipe, us in zip(PIPES, sums, strict=True)}


def _starts(launch: "Launch") -> float:
    """Return the share of the vector cycles not spent on lines: starts of instructions, on-chip copies of MLU2xx."""
    cycles = sum([task.work[VECTOR] for task in launch.tasks])
    # A line of 128 bytes takes one cycle, so that paid lines are cycles.
    lines = sum([lanes.paid for lanes in launch.lanes.values()]) // 128
    return (cycles - lines) / cycles if cycles else 0.0


# -- rates, each compared with the board's peak ----------------------------------------------------

LANE = 4  # bytes of one operation of the vector unit; two operations on half fit
OVER = "IO over 100%: fewer bytes really move than the vendor's theory counts."
BEYOND = "tensors that are read again come from the last-level cache"
"""The reason why a launch may copy more bytes than the off-chip memory can move: the model has no other (`time.timing`)."""
LEAST = 0.0005  # share of the board's peak below which a pipe is not mentioned
ON_CHIP = tuple(d.name for d in DIRECTIONS if not d.off_chip)


@frozen
class Achieved:
    """The rate of one space or pipe (``what``) in ``unit`` per second, and the board's peak (``peak``).

    For GDRAM every transferred byte counts, compared with the nominal bandwidth; for the vector pipe operations on
    `LANE` bytes; for the tensor pipe a multiplication and an addition as two, at the rate of its operands' types.
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
        """The rate and its share of the peak: "113 GB/s, 37% of 307"; a rate above the peak has a reason."""
        why = f": {BEYOND}" if self.what == "GDRAM" and self.share > 1 else ""
        return f"{_number(self.rate)} {self.unit}, {percent(self.share)} of {_number(self.peak)}{why}"

    def __str__(self) -> str:
        """Return the rate in words: "GDRAM 113 GB/s, 37% of 307"."""
        return f"{self.what} {self.figure}"

    def to_json(self) -> dict[str, Any]:
        """Return the rates as plain data."""
        return asdict(self) | {"share": self.share}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def achieved(launches: "Sequence[Launch]") -> tuple[Achieved, ...]:
    """Return the rates of *launches*, all of one board, over their total time; none if one was not timed.

    The time is that of the vendor's efficiency formulas: the predicted one, including the start of each launch.
    """
    time_us = sum([launch.time_us for launch in launches])
    if not launches or not all(launch.tasks for launch in launches) or not time_us > 0:
        return ()
    board = launches[0].forecast.board
    nbytes = sum([launch.io_bytes for launch in launches])
    far = Achieved("GDRAM", nbytes / time_us / 1e3, "GB/s", board.io_bandwidth_gbs)
    return tuple([rate for rate in (far, *_pipes(launches, board, time_us)) if rate.share > LEAST])


def shares(launches: "Sequence[Launch]") -> tuple[float, float]:
    """Return the share of the off-chip bandwidth, and the largest share of a compute pipe."""
    by_name = {rate.what: rate.share for rate in achieved(launches)}
    return by_name.get("GDRAM", 0.0), max(by_name.get("vector", 0.0), by_name.get("tensor", 0.0))


def _pipes(launches: "Sequence[Launch]", board: Board, time_us: float) -> tuple[Achieved, ...]:
    cycles = board.cores * board.clock_mhz / 1e3  # of all cores, in Gcycle/s
    copied = sum([n for launch in launches for name, n in launch.traffic.items() if name in ON_CHIP])
    lanes = sum([lane.used for launch in launches for lane in launch.lanes.values()]) / LANE
    logs = Counter([task.log for launch in launches for task in launch.tasks])
    totals = np.sum([many * log.total[SUMS:] for log, many in logs.items()], axis=0)
    products, busy, issued = totals[[TENSOR, TENSOR_CYCLES, SCALAR]].tolist()
    per_cycle = 2 * products / busy if busy else 0.0
    giga = time_us * 1e3
    return (
        Achieved("on-chip copies", copied / giga, "GB/s", cycles * MOVE_LINE.value),
        Achieved("vector", lanes / giga, "Gop/s", cycles * board.arch.vector_bytes_per_cycle / LANE),
        Achieved("tensor", 2 * products / giga, "Gop/s", cycles * per_cycle),
        Achieved("scalar", issued / giga, "Gop/s", cycles),
    )


def reached(launch: "Launch") -> str:
    """Return the rates that *launch* reaches, by space and pipe."""
    return "; ".join(map(str, achieved([launch]))) or "nothing to speak of"
