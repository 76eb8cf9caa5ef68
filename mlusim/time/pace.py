"""What rows of a log take at the rates of one core, in us: before their work, on each pipe, as a flight."""

from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Board
from mlusim.time import quantities as q
from mlusim.time import work
from mlusim.time.log import END, IO_FLIGHT, KIND, LOADS, MOVE_FLIGHT, OWN, STORES, SUMS, Rows
from mlusim.time.rates import (
    ATOMIC,
    CORE_IO,
    DMA_SETUP,
    DRAM_LATENCY,
    ELEMENT,
    FUNCTION,
    HBM_LATENCY,
    ISSUE,
    MEMORY_CORE_IO,
    MOVE_LINE,
    SCALAR_NRAM,
    SCALAR_NRAM_2XX,
    SCALAR_OP,
    SCALAR_STEP,
    SRAM_PORT,
    TRANSACTION,
    TRANSPOSE_2XX,
    TRANSPOSE_3XX,
    TRANSPOSE_5XX,
    Bound,
)

FRONT, VECTOR, TENSOR, SCALAR, IO, MOVE, FLIGHT = range(7)
"""What a row takes: before its work, then its work in the order in which it is placed, then its flight."""

Times = np.ndarray[Any, np.dtype[np.float64]]

# The spaces of scalar accesses, in the order in which a core counts them:
OFF_CHIP, ON_CHIP = slice(0, 2), slice(2, 5)

LOADING, STORING = 1, 2  # channels of the IO-DMA


HBM_BITS = 3072  # memory buses of HBM are this wide or wider
_TRANSPOSE = {2: TRANSPOSE_2XX, 3: TRANSPOSE_3XX, 5: TRANSPOSE_5XX}


@frozen
class Pace:
    """The rates of one core of a board, in us; *sharers*: cores of its cluster that use the SRAM.

    ``function`` is what a line of a function takes beyond one of an addition, ``stall`` a stalled cycle,
    ``near`` a scalar access on the chip.
    """

    cycle: float
    transaction: float
    off_chip: float
    setup: float
    sram_byte: float
    function: float
    transposed: float
    stall: float
    scattered: float
    atomic: float
    near: float

    @classmethod
    def of(cls, board: Board, *, memory_core: bool, sharers: int = 1, bound: Bound = Bound.USUAL) -> "Pace":
        """The pace of a core of *board*; *bound*: at an end of the constants' bands."""
        cycle = 1 / board.clock_mhz
        io = (MEMORY_CORE_IO if memory_core else CORE_IO).at(bound)
        share = min(MOVE_LINE.value, SRAM_PORT.at(bound) / max(sharers, 1))
        latency = HBM_LATENCY if board.memory_bus_bits >= HBM_BITS else DRAM_LATENCY
        return cls(
            cycle=cycle,
            transaction=TRANSACTION.value / io / 1000,
            off_chip=latency.at(bound) / 1000,
            setup=DMA_SETUP.at(bound) * cycle,
            sram_byte=(1 / share - 1 / MOVE_LINE.value) * cycle,
            function=(FUNCTION.at(bound) - 1) * cycle,
            transposed=_TRANSPOSE.get(board.arch.generation, TRANSPOSE_3XX).at(bound) * cycle,
            stall=ELEMENT.at(bound) / ELEMENT.value * cycle,
            scattered=ELEMENT.at(bound) * cycle,
            atomic=ATOMIC.at(bound) * cycle,
            near=(SCALAR_NRAM_2XX if board.arch.generation == 2 else SCALAR_NRAM).value * cycle,
        )


def parts_of(rows: Rows, pace: Pace) -> Times:
    """What each of *rows* takes, in us: the columns `FRONT` to `FLIGHT`."""
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
    """Which channels of the IO-DMA the flight of each of *rows* takes: `LOADING`, `STORING` or both."""
    stores = rows[:, OWN + 2]
    return LOADING * (rows[:, OWN] > stores) + STORING * (stores > 0)


def _vector(sums: Rows, pace: Pace) -> Any:
    """The vector unit: lines and starts, further passes of functions, elements that change their order."""
    cycles = sums[:, q.VECTOR] * pace.cycle
    return cycles + sums[:, q.FUNCTIONS] * pace.function + sums[:, q.TRANSPOSED] * pace.transposed


def _off_chip(own: Rows, pace: Pace) -> Any:
    """A flight: its loads and its stores have a channel each."""
    transfers = np.maximum(own[:, 0] - own[:, 2], own[:, 2])
    return transfers * pace.transaction + own[:, 1] * pace.stall


def _on_chip(lines: Any, sram: Any, pace: Pace) -> Any:
    return lines * pace.cycle + sram * pace.sram_byte


def _scalar(rows: Rows, pace: Pace) -> Any:
    """Scalar accesses, each with a step's arithmetic: a load waits for its data, a store takes what an element takes."""
    loads, stores = rows[:, LOADS:STORES], rows[:, STORES:]
    on_chip = loads[:, ON_CHIP].sum(axis=1) + stores[:, ON_CHIP].sum(axis=1)
    steps = (loads.sum(axis=1) + stores.sum(axis=1)) * SCALAR_STEP.value * pace.cycle
    waits = loads[:, OFF_CHIP].sum(axis=1) * pace.off_chip
    return steps + on_chip * pace.near + waits + stores[:, OFF_CHIP].sum(axis=1) * pace.scattered


def _io(sums: Rows, pace: Pace) -> Any:
    """Blocking off-chip copies, fills and atomics."""
    starts = sums[:, q.IO_STARTS] * (pace.setup + pace.off_chip)
    single = sums[:, q.STALLS] * pace.stall + sums[:, q.ATOMICS] * pace.atomic
    return starts + sums[:, q.TRANSACTIONS] * pace.transaction + single


def _move(sums: Rows, pace: Pace) -> Any:
    """Blocking on-chip copies."""
    return sums[:, q.MOVE_STARTS] * pace.setup + _on_chip(sums[:, q.LINES], sums[:, q.SRAM_BYTES], pace)


def moved(rows: Rows) -> Any:
    """Bytes that the off-chip memory moves for each of *rows*; scalar stores read their line first."""
    units = rows[:, SUMS + q.TRANSACTIONS] + rows[:, OWN] * (rows[:, KIND] == IO_FLIGHT)
    units += rows[:, LOADS:STORES][:, OFF_CHIP].sum(axis=1) + 2 * rows[:, STORES:][:, OFF_CHIP].sum(axis=1)
    return units * work.UNIT
