"""Predicted hardware time from quantities of work: bytes over bandwidth, lanes over vector force.

A first model: each pipe's work at its peak rate, the shared memory's bandwidth shared by all, no
start-up costs but one per launch.  It is a lower bound on the hardware.
"""

import heapq
from collections.abc import Sequence

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.machine.tally import TaskWork

LAUNCH_US = 2.0  # the smallest published kernel time (abs of 10,000 floats on MLU590-H8), derived
MOVE_BYTES_PER_CYCLE = 128  # inferred: one line a cycle, as the vector unit
SCALAR_CYCLES = 2  # one scalar load or store; the vendor's guide gives 2 for an addition, inferred here
PIPES = ("scalar", "vector", "tensor", "IO-DMA", "move-DMA")


@frozen
class TaskSpan:
    """When a task runs: its core (or union slot), start and end in us, and each pipe's busy time in us."""

    task: int
    memory_core: bool
    slot: int
    start_us: float
    end_us: float
    busy_us: tuple[float, ...]


@frozen
class Prediction:
    """The predicted time of a launch in us, the busiest pipe's name, and the tasks' spans."""

    time_us: float
    bound: str
    spans: tuple[TaskSpan, ...]
    busy_us: dict[str, float]


def pipe_times(work: Sequence[int], board: Board) -> tuple[float, ...]:
    """Microseconds that *work* keeps each pipe of one core busy at its peak rate.

    The IO-DMA of a core is given the whole device bandwidth here; sharing is counted per launch.
    """
    cycles_per_us = board.clock_mhz
    macs = max(board.arch.tensor_macs.get("float", 0), board.arch.tensor_macs.get("int8", 1) // 8, 1)
    return (
        work[0] * SCALAR_CYCLES / cycles_per_us,
        work[1] / cycles_per_us,
        work[2] / macs / cycles_per_us,
        work[3] / board.bandwidth * 1e6,
        work[4] / MOVE_BYTES_PER_CYCLE / cycles_per_us,
    )


def predict(tasks: Sequence[TaskWork], board: Board, slots: int) -> Prediction:
    """The time of a launch whose *tasks* (or unions of tasks) run on *slots* places.

    A place takes the next task when its own ends; the launch takes at least the bytes of all tasks
    over the device's bandwidth.
    """
    free = [(0.0, slot, slot) for slot in range(slots)]  # when, whose turn among equals, which
    turn = slots
    spans: list[TaskSpan] = []
    total_bytes = 0
    busy = [0.0] * len(PIPES)
    for group in _groups(tasks):
        start, _, slot = heapq.heappop(free)
        end = start
        for task in group:
            times = pipe_times(task.work, board)
            total_bytes += task.work[3]
            busy = [max(a, b) for a, b in zip(busy, times, strict=True)]
            finish = start + max(times)
            spans.append(TaskSpan(task.task, task.memory_core, slot, start, finish, times))
            end = max(end, finish)
        heapq.heappush(free, (end, turn, slot))
        turn += 1
    compute = max((end for end, _, _ in free), default=0.0)
    io = total_bytes / board.bandwidth * 1e6
    bound = "IO-DMA" if io >= compute else PIPES[busy.index(max(busy))]
    return Prediction(LAUNCH_US + max(compute, io), bound, tuple(spans), dict(zip(PIPES, busy, strict=True)))


def _groups(tasks: Sequence[TaskWork]) -> list[list[TaskWork]]:
    groups: dict[int, list[TaskWork]] = {}
    for task in sorted(tasks, key=lambda t: (t.task, t.memory_core)):
        groups.setdefault(task.union, []).append(task)
    return list(groups.values())
