"""The certainty of a predicted time: its parts by kind of time, and the part in mechanisms that few published measurements cover.

A constant confirmed by two or more published rows is as certain as the model is for its kind of time. The
time spent in other mechanisms widens the band, and reports name them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.time import quantities as q, rates
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
    CoreLog,
    Rows,
    TaskWork,
    loads_of,
)
from mlusim.time.pace import FLIGHT, FRONT, IO, MOVE, SCALAR, TENSOR, VECTOR, Pace, parts_of, waited
from mlusim.time.timing import rivals_of

ENOUGH = 2  # number of published rows that confirm a constant
LEAST = 0.1  # fraction of the time from which a mechanism is named


@frozen
class Unsure:
    """A mechanism covered by at most one published row: its name, the ``part`` (fraction) of the time in it, and the number of ``rows``."""

    mechanism: str
    part: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the mechanism and its share of the time in words."""
        shown = "one measurement shows" if self.rows else "no measurement shows"
        return f"{self.part:.0%} in {self.mechanism}, which {shown}"


@frozen
class Certainty:
    """The parts of a launch's time: the fraction of each kind (a key of `MODEL`), and the ``unsure`` mechanisms."""

    kinds: Mapping[str, float]
    unsure: tuple[Unsure, ...] = ()

    def factor(self, board: Board) -> float:
        """Return the factor by which the prediction may be off in either direction on *board*, at most `THIN`."""
        thin = min(1.0, sum([mechanism.part for mechanism in self.unsure]))
        sure = sum([part * math.log(rates.MODEL[kind]) for kind, part in self.kinds.items()])
        inherited = 1.0 if rates.printed_rows(board) else rates.INHERITED
        return inherited * math.exp((1 - thin) * sure + thin * math.log(rates.THIN))


Amounts = dict[tuple[int, Pace], list[tuple[Mapping[rates.Rate, float], Mapping[str, float]]]]
"""By log and pace: what the tasks with this log spend in each mechanism and in each kind of time, in us, a chunk of the log after the other."""


def certainty(
    tasks: Sequence[TaskWork], board: Board, lasting: float, launching: float, amounts: Amounts
) -> Certainty:
    """Return the certainty of the time of a launch; *amounts* is kept for other boards with the same *tasks*.

    *lasting* is the total running time of its *tasks* in us, *launching* the fraction of the launch's time
    before its cores work. Time in which a core only waits is attributed to copies: to its loads, or to the
    shared memory.
    """
    if not lasting:
        return Certainty({"launching": 1.0})
    spent: dict[rates.Rate, float] = {}
    us = dict.fromkeys(rates.MODEL, 0.0)
    rivals = rivals_of(tasks, board)
    paces = {core: Pace.of(board, memory_core=core, rivals=rivals) for core in (False, True)}
    times: dict[int, int] = {}
    for task in tasks:
        times[id(task.log)] = times.get(id(task.log), 0) + 1
    for task in {id(task.log): task for task in tasks}.values():
        same = id(task.log), paces[task.memory_core]
        if same not in amounts:
            amounts[same] = _amounts(task.log, times[id(task.log)], paces[task.memory_core])
        for in_mechanisms, in_kinds in amounts[same]:
            for rate, part in in_mechanisms.items():
                spent[rate] = spent.get(rate, 0.0) + part
            for kind, part in in_kinds.items():
                us[kind] += part
    busy = sum(us.values())
    us["copies beside other work"] += max(0.0, lasting - busy)
    kinds = {kind: (1 - launching) * part / max(lasting, busy) for kind, part in us.items()}
    kinds["launching"] = launching
    few = [
        Unsure(rate.name, min(1.0, part / lasting), shown)
        for rate, part in spent.items()
        if part > 0 and (shown := rate.on(board).shown_by) < ENOUGH
    ]
    return Certainty(kinds, tuple(sorted(few, key=lambda mechanism: -mechanism.part)))


def _amounts(
    log: CoreLog, times: int, pace: Pace
) -> list[tuple[Mapping[rates.Rate, float], Mapping[str, float]]]:
    """Return what *times* cores with *log* spend, as in `Amounts`."""
    amounts: list[tuple[Mapping[rates.Rate, float], Mapping[str, float]]] = []
    for (rows, _), often in zip(log.chunks, log.times, strict=True):
        count = times * often
        in_mechanisms = {rate: float(count @ each) for rate, each in _spent(rows, pace).items()}
        amounts.append(
            (in_mechanisms, {kind: float(count @ each) for kind, each in _kinds(rows, pace).items()})
        )
    return amounts


def named(mechanisms: Sequence[Unsure]) -> tuple[Unsure, ...]:
    """Return those of *mechanisms* that reports should name."""
    return tuple(mechanism for mechanism in mechanisms if mechanism.part >= LEAST)


def _spent(rows: Rows, pace: Pace) -> dict[rates.Rate, Any]:
    """Return what each of *rows* spends in a mechanism, in us, by the constant that says how long it takes."""
    sums, loads, stores = rows[:, SUMS:LOADS], loads_of(rows), rows[:, STORES:]
    flies, moves, meets = [rows[:, KIND] == kind for kind in (IO_FLIGHT, MOVE_FLIGHT, MEET)]
    return {
        rates.SEGMENT: sum(_pieces(rows, pace)),
        rates.ELEMENT: (sums[:, q.STALLS] + rows[:, STALLS_OF] * flies) * pace.stall,
        rates.FUNCTION: sums[:, q.FUNCTIONS] * (pace.cycle + pace.function),
        rates.EXPONENTIAL: sums[:, q.EXPONENTIALS] * (pace.cycle + pace.exponential),
        rates.REDUCTION: sums[:, q.REDUCTIONS] * (pace.cycle + pace.reduction),
        rates.FUSION: sums[:, q.FUSIONS] * (pace.cycle + pace.fusion),
        rates.POOLING: sums[:, q.POOLINGS] * (pace.cycle + pace.pooling),
        rates.TRANSPOSE: sums[:, q.TRANSPOSED] * pace.transposed,
        rates.TRANSPOSE_START: sums[:, q.TRANSPOSITIONS] * pace.transposition,
        rates.ATOMIC: sums[:, q.ATOMICS] * pace.atomic,
        rates.ATOMIC_LINE: sums[:, q.CROWDED] * pace.crowded,
        rates.SCALAR_NRAM: waited(loads, OF_CORE) * pace.near,
        rates.SCALAR_SRAM: waited(loads, SHARED) * pace.shared,
        rates.SCALAR_BRANCH: loads[:, 3].sum(axis=1) * pace.decided,
        rates.DRAM_LATENCY: loads[:, :, FAR].sum(axis=(1, 2)) * pace.off_chip
        + stores[:, FAR].sum(axis=1) * pace.scattered,
        rates.MOVE_LINE: (sums[:, q.LINES] + rows[:, PIECES_OF] * moves) * pace.cycle,
        rates.MOVE_PART: (sums[:, q.PARTS] + rows[:, STALLS_OF] * moves) * pace.part,
        rates.SRAM_PORT: (sums[:, q.SRAM_BYTES] + rows[:, SUMS - 1] * moves) * pace.sram_byte,
        rates.BARRIER: meets * (rates.BARRIER.value * pace.cycle),
    }


def _pieces(rows: Rows, pace: Pace) -> tuple[Any, Any]:
    """Return the time of off-chip pieces in each of *rows*, in us: of blocking copies, and of its flight."""
    flying = rows[:, PIECES_OF] * (rows[:, KIND] == IO_FLIGHT)
    return rows[:, SUMS + q.SEGMENTS] * pace.segment, flying * pace.segment


def _kinds(rows: Rows, pace: Pace) -> dict[str, Any]:
    """Return what each of *rows* takes of a kind of time, in us."""
    us, (waiting, flying) = parts_of(rows, pace), _pieces(rows, pace)
    on_chip = us[:, FLIGHT] * (rows[:, KIND] == MOVE_FLIGHT)
    return {
        "scalar code": us[:, SCALAR] + us[:, FRONT],
        "vector unit": us[:, VECTOR],
        "tensor unit": us[:, TENSOR],
        "copies that a core waits for": np.maximum(0.0, us[:, IO] - waiting),
        "copies beside other work": np.maximum(0.0, us[:, FLIGHT] - on_chip - flying),
        "pieces of strided copies": waiting + flying,
        "copies on the chip": us[:, MOVE] + on_chip,
    }
