"""The certainty of a predicted time: which part of it is in mechanisms that hardly any published measurement has shown.

A constant that two or more printed rows hold is known as well as the model is. What a launch spends in others makes its band wider,
and has a name in reports.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.time import quantities as q
from mlusim.time.log import (
    IO_FLIGHT,
    KIND,
    LOADS,
    MEET,
    MOVE_FLIGHT,
    OF_CORE,
    OFF_CHIP as FAR,
    PIECES_OF,
    SHARED,
    STALLS_OF,
    STORES,
    SUMS,
    Rows,
    TaskWork,
    loads_of,
)
from mlusim.time.pace import Pace, waited
from mlusim.time.rates import (
    ATOMIC,
    ATOMIC_LINE,
    BARRIER,
    DRAM_LATENCY,
    ELEMENT,
    EXPONENTIAL,
    FUNCTION,
    FUSION,
    INHERITED,
    MODEL,
    MOVE_LINE,
    MOVE_PART,
    POOLING,
    REDUCTION,
    SCALAR_BRANCH,
    SCALAR_NRAM,
    SCALAR_SRAM,
    SEGMENT,
    SRAM_PORT,
    THIN,
    TRANSPOSE,
    TRANSPOSE_START,
    Rate,
    printed_rows,
)  # fmt: skip
from mlusim.time.timing import rivals_of

ENOUGH = 2  # printed rows that hold a constant
LEAST = 0.1  # part of the time from which on a mechanism is named


@frozen
class Unsure:
    """A mechanism that no printed row holds, or only one: its name, the ``part`` of the time that is in it, and how many ``rows`` do."""

    mechanism: str
    part: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """Return it as words: what, and how much of the time."""
        shown = "one measurement shows" if self.rows else "no measurement shows"
        return f"{self.part:.0%} in {self.mechanism}, which {shown}"


def unsure(tasks: Sequence[TaskWork], board: Board, lasting: float) -> tuple[Unsure, ...]:
    """Return the mechanisms that make the band of a launch wider, the largest part first.

    *lasting* is how long its *tasks* run, added up in us.
    """
    if not lasting:
        return ()
    spent: dict[Rate, float] = {}
    rivals = rivals_of(tasks, board)
    paces = {core: Pace.of(board, memory_core=core, rivals=rivals) for core in (False, True)}
    times: dict[int, int] = {}
    for task in tasks:
        times[id(task.log)] = times.get(id(task.log), 0) + 1
    for task in {id(task.log): task for task in tasks}.values():
        for (rows, _), often in zip(task.log.chunks, task.log.times, strict=True):
            for rate, us in _spent(rows, paces[task.memory_core]):
                spent[rate] = spent.get(rate, 0.0) + times[id(task.log)] * float(often @ us)
    found = [
        Unsure(rate.name, min(1.0, us / lasting), rate.on(board).shown_by)
        for rate, us in spent.items()
        if us > 0 and rate.on(board).shown_by < ENOUGH
    ]
    return tuple(sorted(found, key=lambda one: -one.part))


def model_factor(found: Sequence[Unsure], board: Board) -> float:
    """Return by which factor the model may be off either way: between `MODEL` and `THIN`, as the parts *found* say."""
    part = min(1.0, sum(one.part for one in found))
    inherited = 1.0 if printed_rows(board) else INHERITED
    return inherited * math.exp((1 - part) * math.log(MODEL) + part * math.log(THIN))


def named(found: Sequence[Unsure]) -> tuple[Unsure, ...]:
    """Return those of *found* that are worth a word."""
    return tuple(one for one in found if one.part >= LEAST)


def _spent(rows: Rows, pace: Pace) -> Iterator[tuple[Rate, Any]]:
    """Yield what each of *rows* spends in a mechanism, in us, by the constant that says how long it takes."""
    sums, flies = rows[:, SUMS:LOADS], rows[:, KIND] == IO_FLIGHT
    yield SEGMENT, (sums[:, q.SEGMENTS] + rows[:, PIECES_OF] * flies) * pace.segment
    yield ELEMENT, (sums[:, q.STALLS] + rows[:, STALLS_OF] * flies) * pace.stall
    lines: Mapping[int, tuple[Rate, float]] = {
        q.FUNCTIONS: (FUNCTION, pace.function),
        q.EXPONENTIALS: (EXPONENTIAL, pace.exponential),
        q.REDUCTIONS: (REDUCTION, pace.reduction),
        q.FUSIONS: (FUSION, pace.fusion),
        q.POOLINGS: (POOLING, pace.pooling),
    }
    for place, (rate, beyond) in lines.items():
        yield rate, sums[:, place] * (pace.cycle + beyond)
    yield TRANSPOSE, sums[:, q.TRANSPOSED] * pace.transposed
    yield TRANSPOSE_START, sums[:, q.TRANSPOSITIONS] * pace.transposition
    yield ATOMIC, sums[:, q.ATOMICS] * pace.atomic
    yield ATOMIC_LINE, sums[:, q.CROWDED] * pace.crowded
    loads = loads_of(rows)
    yield SCALAR_NRAM, waited(loads, OF_CORE) * pace.near
    yield SCALAR_SRAM, waited(loads, SHARED) * pace.shared
    yield SCALAR_BRANCH, loads[:, 3].sum(axis=1) * pace.decided
    yield (
        DRAM_LATENCY,
        loads[:, :, FAR].sum(axis=(1, 2)) * pace.off_chip
        + rows[:, STORES:][:, FAR].sum(axis=1) * pace.scattered,
    )
    moves = rows[:, KIND] == MOVE_FLIGHT
    yield MOVE_LINE, (sums[:, q.LINES] + rows[:, PIECES_OF] * moves) * pace.cycle
    yield MOVE_PART, (sums[:, q.PARTS] + rows[:, STALLS_OF] * moves) * pace.part
    yield SRAM_PORT, (sums[:, q.SRAM_BYTES] + rows[:, SUMS - 1] * moves) * pace.sram_byte
    yield BARRIER, (rows[:, KIND] == MEET) * (BARRIER.value * pace.cycle)
