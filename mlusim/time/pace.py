"""The time of rows of a log at the rates of one core, in us: before their work, on each pipe, as a flight."""

from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Board
from mlusim.time import quantities as q
from mlusim.time.log import (
    END,
    IO_FLIGHT,
    KIND,
    LOADS,
    MOVE_FLIGHT,
    OFF_CHIP,
    ON_CHIP,
    OWN,
    STORES,
    SUMS,
    Rows,
)
from mlusim.time.rates import (
    ATOMIC,
    CLUSTER_IO,
    CORE_IO,
    DMA_SETUP,
    DRAM_LATENCY,
    ELEMENT,
    EXPONENTIAL,
    FUNCTION,
    ISSUE,
    MEMORY_CORE_IO,
    MOVE_LINE,
    REDUCTION,
    SCALAR_NRAM,
    SCALAR_OP,
    SCALAR_STEP,
    SEGMENT,
    SRAM_PORT,
    TRANSACTION,
    TRANSPOSE,
    Bound,
)

FRONT, VECTOR, TENSOR, SCALAR, IO, MOVE, FLIGHT = range(7)
"""What a row takes: before its work, then its work in the order in which it is placed, then its flight."""

Times = np.ndarray[Any, np.dtype[np.float64]]

LOADING, STORING = 1, 2  # channels of the IO-DMA


@frozen
class Pace:
    """The rates of one core of a board, in us; *sharers*: cores of its cluster that use the SRAM.

    ``function``, ``exponential`` and ``reduction`` are what a line of these takes beyond one of an addition, ``stall``
    a stalled cycle, ``near`` a scalar access on the chip, ``port`` a transaction at the cluster's port while the
    cores beside it copy too.
    """

    cycle: float
    transaction: float
    segment: float
    port: float
    off_chip: float
    setup: float
    sram_byte: float
    function: float
    exponential: float
    reduction: float
    transposed: float
    stall: float
    scattered: float
    atomic: float
    near: float

    @classmethod
    def of(
        cls, board: Board, *, memory_core: bool, sharers: int = 1, beside: int = 1, bound: Bound = Bound.USUAL
    ) -> "Pace":
        """Return the pace of a core of *board*; *bound*: at an end of the constants' bands.

        *sharers* cores of its cluster use the SRAM, *beside* run a task, the core among them.
        """
        cycle = 1 / board.clock_mhz
        io = (MEMORY_CORE_IO if memory_core else CORE_IO).at(bound, board)
        share = min(MOVE_LINE.value, SRAM_PORT.at(bound, board) / max(sharers, 1))
        return cls(
            cycle=cycle,
            transaction=TRANSACTION.value / io / 1000,
            segment=SEGMENT.at(bound, board) * cycle,
            port=beside * TRANSACTION.value / CLUSTER_IO.at(bound, board) / 1000,
            off_chip=DRAM_LATENCY.at(bound, board) / 1000,
            setup=DMA_SETUP.at(bound, board) * cycle,
            sram_byte=(1 / share - 1 / MOVE_LINE.value) * cycle,  # beyond what its line takes in any case
            function=(FUNCTION.at(bound, board) - 1) * cycle,
            exponential=(EXPONENTIAL.at(bound, board) - 1) * cycle,
            reduction=(REDUCTION.at(bound, board) - 1) * cycle,
            transposed=TRANSPOSE.at(bound, board) * cycle,
            # Stalls were counted with the usual value.
            stall=ELEMENT.at(bound, board) / ELEMENT.value * cycle,
            scattered=ELEMENT.at(bound, board) * cycle,
            atomic=ATOMIC.at(bound, board) * cycle,
            near=SCALAR_NRAM.at(bound, board) * cycle,
        )


def parts_of(rows: Rows, pace: Pace) -> Times:
    """Time each of *rows*, in us: the columns `FRONT` to `FLIGHT`."""
    sums, own = rows[:, SUMS:LOADS], rows[:, OWN:SUMS]
    parts = np.empty((len(rows), 7))
    parts[:, FRONT] = (
        sums[:, q.SCALAR] * SCALAR_OP.value + (rows[:, KIND] != END) * ISSUE.value
    ) * pace.cycle
    parts[:, VECTOR] = _vector(sums, pace)
    parts[:, TENSOR] = sums[:, q.TENSOR_CYCLES] * pace.cycle
    parts[:, SCALAR] = _scalar(rows, pace)
    parts[:, IO] = _io(sums, pace)
    parts[:, MOVE] = _move(sums, pace)
    flight = np.where(rows[:, KIND] == IO_FLIGHT, _off_chip(own, pace), 0.0)
    parts[:, FLIGHT] = np.where(rows[:, KIND] == MOVE_FLIGHT, _on_chip(own[:, 3], own[:, 4], pace), flight)
    return parts


def channels(rows: Rows) -> Any:
    """Return which channels of the IO-DMA the flight of each of *rows* takes: `LOADING`, `STORING` or both."""
    stores = rows[:, OWN + 2]
    return LOADING * (rows[:, OWN] > stores) + STORING * (stores > 0)


def _vector(sums: Rows, pace: Pace) -> Any:
    """Return the cost of the vector unit: lines and starts, further passes of functions, elements that change their order."""
    cycles = sums[:, q.VECTOR] * pace.cycle
    several = sums[:, q.FUNCTIONS] * pace.function + sums[:, q.EXPONENTIALS] * pace.exponential
    several += sums[:, q.REDUCTIONS] * pace.reduction
    return cycles + several + sums[:, q.TRANSPOSED] * pace.transposed


def _off_chip(own: Rows, pace: Pace) -> Any:
    """Return the cost of a flight: its loads and its stores have a channel each."""
    transfers = np.maximum(own[:, 0] - own[:, 2], own[:, 2])
    single = own[:, 1] * pace.stall + own[:, 3] * pace.segment
    return np.maximum(transfers * pace.transaction + single, transfers * pace.port)


def _on_chip(lines: Any, sram: Any, pace: Pace) -> Any:
    return lines * pace.cycle + sram * pace.sram_byte


def _scalar(rows: Rows, pace: Pace) -> Any:
    """Return the cost of scalar accesses, each with a step's arithmetic: a load waits for its data, a store takes what an element takes."""
    loads, stores = rows[:, LOADS:STORES], rows[:, STORES:]
    on_chip = loads[:, ON_CHIP].sum(axis=1) + stores[:, ON_CHIP].sum(axis=1)
    steps = (loads.sum(axis=1) + stores.sum(axis=1)) * SCALAR_STEP.value * pace.cycle
    waits = loads[:, OFF_CHIP].sum(axis=1) * pace.off_chip
    return steps + on_chip * pace.near + waits + stores[:, OFF_CHIP].sum(axis=1) * pace.scattered


def _io(sums: Rows, pace: Pace) -> Any:
    """Return the cost of blocking off-chip copies, fills and atomics."""
    starts = sums[:, q.IO_STARTS] * (pace.setup + pace.off_chip)
    single = sums[:, q.STALLS] * pace.stall + sums[:, q.ATOMICS] * pace.atomic
    single += sums[:, q.SEGMENTS] * pace.segment
    lines = sums[:, q.TRANSACTIONS]
    return np.maximum(starts + lines * pace.transaction + single, lines * pace.port)


def _move(sums: Rows, pace: Pace) -> Any:
    """Return the time of blocking on-chip copies."""
    return sums[:, q.MOVE_STARTS] * pace.setup + _on_chip(sums[:, q.LINES], sums[:, q.SRAM_BYTES], pace)
