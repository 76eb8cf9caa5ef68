"""What a launch did with its board: lanes, pipes, cores, waves and transfers in a few numbers.

Everything follows from what the launch left behind; nothing is measured again.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
from attrs import field, frozen

from mlusim.arch.board import Board
from mlusim.machine.kernel import KINDS
from mlusim.machine.launch import Launch
from mlusim.machine.log import IO_FLIGHT, KIND, SUMS
from mlusim.machine.replay import moved
from mlusim.machine.tally import Lanes, TaskWork
from mlusim.machine.timing import LAUNCH_US, PIPES, TaskSpan
from mlusim.machine.work import IO_STARTS, VECTOR


@frozen
class Figures:
    """The numbers of one launch.

    ``cores`` are those of the board, ``working`` those that had something to do, ``slowest`` the number of
    the core that worked longest and ``balance`` its time over the mean of those that worked.  Tasks (or
    unions) come in ``waves`` of at most ``places``; ``last_wave`` is the share of them that the last fills.
    ``busy`` is each pipe's share of the launch, as the mean of the working cores.  ``lanes`` are bytes of
    the vector unit by intrinsic, ``vectors`` counts those instructions, ``starts`` is the share of the vector
    cycles in which they start.
    ``transfers`` counts off-chip copies, fills and atomics, ``io_bytes`` is what they carry and
    ``line_bytes`` what the off-chip memory moves for them, whole lines of 64 bytes.
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
    overlap: float | None = field(default=None)


def figures(launch: Launch, board: Board) -> Figures:
    """The figures of *launch*, which ran on *board*."""
    unions = unions_of(launch.kind)
    width = max(1, unions * board.arch.cores_per_cluster)
    groups = math.ceil(math.prod(launch.dim) / width)
    places = board.places(unions)
    waves = math.ceil(groups / places)
    loads = loads_of(launch.timeline, width)
    busiest = max(loads, key=lambda core: sum(loads[core]), default=0)
    total = sum(map(sum, loads.values()))
    transfers, lines = _off_chip(launch.tasks)
    return Figures(
        cores=board.cores,
        tasks=math.prod(launch.dim),
        working=len(loads),
        slowest=busiest,
        balance=sum(loads[busiest]) * len(loads) / total if total else 1.0,
        places=places,
        waves=waves,
        last_wave=(groups - (waves - 1) * places) / places,
        busy=_busy(launch, loads),
        lanes=dict(launch.lanes),
        vectors=sum(launch.instructions[name] for name in launch.lanes),
        starts=_starts(launch),
        transfers=transfers,
        io_bytes=launch.io_bytes,
        line_bytes=lines,
    )


def unions_of(kind: str) -> int:
    """The clusters of a union of a launch of *kind*; 0 for Block."""
    return next(known.unions for known in KINDS if known.name == kind)


def placed(spans: Sequence[TaskSpan], width: int) -> Iterator[tuple[int, TaskSpan]]:
    """Each IPU task with the number of its core on the board; *width*: cores of a place."""
    tasks = sorted((s for s in spans if not s.memory_core), key=lambda s: (s.slot, s.start_us, s.task))
    for (slot, _), group in groupby(tasks, key=lambda s: (s.slot, s.start_us)):
        for nth, span in enumerate(group):
            yield slot * width + nth % width, span


def loads_of(spans: Sequence[TaskSpan], width: int) -> dict[int, list[float]]:
    """The us that each core's tasks work, by the busiest pipe of each task; cores without work are left out."""
    loads: dict[int, list[float]] = {}
    for core, span in placed(spans, width):
        if max(span.busy_us) > 0:
            loads.setdefault(core, []).append(max(span.busy_us))
    return loads


def _busy(launch: Launch, loads: Mapping[int, list[float]]) -> dict[str, float]:
    """Each pipe's share of the launch less its start, over the working cores."""
    whole = (launch.time_us - LAUNCH_US) * len(loads)
    own = [span.busy_us for span in launch.timeline if not span.memory_core]
    sums = [math.fsum(busy[n] for busy in own) for n in range(len(PIPES))]
    return {pipe: us / whole if whole > 0 else 0.0 for pipe, us in zip(PIPES, sums, strict=True)}


def _starts(launch: Launch) -> float:
    """The share of the vector cycles that are no lines: instructions that start, on-chip copies of MLU2xx."""
    cycles = sum(task.work[VECTOR] for task in launch.tasks)
    lines = sum(lanes.paid for lanes in launch.lanes.values()) // 128
    return (cycles - lines) / cycles if cycles else 0.0


def _off_chip(tasks: Sequence[TaskWork]) -> tuple[int, int]:
    """How many off-chip transfers *tasks* make, and the bytes of the lines that they touch."""
    transfers = lines = 0
    for distinct, turns in (chunk for task in tasks for chunk in task.log.chunks):
        times = np.bincount(turns, minlength=len(distinct))
        transfers += int(times @ (distinct[:, SUMS + IO_STARTS] + (distinct[:, KIND] == IO_FLIGHT)))
        lines += int(times @ moved(distinct))
    return transfers, lines
