"""Times of log rows at the rates of one core, in us: before their work, on each pipe, and as a flight."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Board
from mlusim.time import log, quantities as q, rates

FRONT, VECTOR, TENSOR, SCALAR, IO, MOVE, FLIGHT = range(7)
"""The parts of a row's time: before its work, its work in the order in which it is placed, and its flight."""

Times = np.ndarray[Any, np.dtype[np.float64]]

LOADING, STORING = 1, 2  # channels of the IO-DMA


@frozen
class Pace:
    """The rates of one core of a board, in us.

    *sharers* are the cores of its cluster that use the SRAM. ``function``, ``exponential`` and ``reduction``
    are the additional times of a line compared with an addition, ``stall`` is a stalled cycle, ``piece`` the
    cost of a stored piece for the memory (in bytes), ``part`` that of an on-chip piece that fills a line
    partially, ``near`` the wait for a scalar load from the core's own memories, ``shared`` from SRAM,
    ``port`` a transaction at the cluster's port while neighbouring cores copy too.
    """

    cycle: float
    transaction: float
    segment: float
    piece: int
    port: float
    off_chip: float
    stored: float
    setup: float
    moving: float
    sram_byte: float
    function: float
    exponential: float
    reduction: float
    fusion: float
    pooling: float
    transposed: float
    transposition: float
    stall: float
    scattered: float
    atomic: float
    crowded: float
    part: float
    near: float
    shared: float
    decided: float

    @classmethod
    # Cached: each role of a launch needs it at each end of the bands, and it evaluates forty rates.
    @functools.lru_cache(maxsize=1024)
    def of(
        cls,
        board: Board,
        *,
        memory_core: bool,
        sharers: int = 1,
        beside: int = 1,
        rivals: int = 1,
        cached: float = 0.0,
        bound: rates.Bound = rates.Bound.USUAL,
    ) -> "Pace":
        """Return the pace of a core of *board*; *bound* selects an end of the constants' bands.

        *sharers* cores of its cluster use the SRAM, *beside* cores run a task, *rivals* cores of the launch
        (with this one) do atomics on the same addresses. *cached* is the fraction of a memory core's reads
        that hit the last-level cache.
        """
        cycle = 1 / board.clock_mhz
        io = (rates.MEMORY_CORE_IO if memory_core else rates.CORE_IO).at(bound, board)
        share = min(rates.MOVE_LINE.value, rates.SRAM_PORT.at(bound, board) / max(sharers, 1))
        cached_io = rates.MEMORY_CORE_CACHED.at(bound, board)
        return cls(
            cycle=cycle,
            transaction=rates.TRANSACTION.value / 1000 * ((1 - cached) / io + cached / cached_io),
            piece=round(rates.STORED_PIECE.at(bound, board)),
            port=beside * rates.TRANSACTION.value / rates.CLUSTER_IO.at(bound, board) / 1000,
            off_chip=rates.DRAM_LATENCY.at(bound, board) / 1000,
            stored=rates.STORE_LATENCY.at(bound, board) / 1000,
            sram_byte=(1 / share - 1 / rates.MOVE_LINE.value) * cycle,  # beyond the time of its line
            # The stall counter assumes the usual value.
            stall=rates.ELEMENT.at(bound, board) / rates.ELEMENT.value * cycle,
            atomic=rates.ATOMIC.at(bound, board) * cycle,
            crowded=(rivals - 1) * rates.ATOMIC_LINE.at(bound, board) / 1000,
            **{name: (rate.at(bound, board) - less) * cycle for name, (rate, less) in _CYCLES.items()},
        )


# The rates in cycles, minus the part that is counted elsewhere: the first of several passes over a line.
_CYCLES: Mapping[str, tuple[rates.Rate, int]] = {
    "segment": (rates.SEGMENT, 0),
    "setup": (rates.DMA_SETUP, 0),
    "moving": (rates.MOVE_SETUP, 0),
    "function": (rates.FUNCTION, 1),
    "exponential": (rates.EXPONENTIAL, 1),
    "reduction": (rates.REDUCTION, 1),
    "fusion": (rates.FUSION, 1),
    "pooling": (rates.POOLING, 1),
    "transposed": (rates.TRANSPOSE, 0),
    "transposition": (rates.TRANSPOSE_START, 0),
    "scattered": (rates.ELEMENT, 0),
    "part": (rates.MOVE_PART, 0),
    "near": (rates.SCALAR_NRAM, 0),
    "shared": (rates.SCALAR_SRAM, 0),
    "decided": (rates.SCALAR_BRANCH, 0),
}


def parts_of(rows: log.Rows, pace: Pace) -> Times:
    """Return the time of each of *rows*, in us, in the columns `FRONT` to `FLIGHT`."""
    sums, loads = rows[:, log.SUMS : log.LOADS], rows[:, log.OWN : log.SUMS]
    parts = np.empty((len(rows), 7))
    parts[:, FRONT] = (
        sums[:, q.SCALAR] * rates.SCALAR_OP.value + (rows[:, log.KIND] != log.END) * rates.ISSUE.value
    ) * pace.cycle
    parts[:, VECTOR] = _vector(sums, pace)
    parts[:, TENSOR] = sums[:, q.TENSOR_CYCLES] * pace.cycle
    parts[:, SCALAR] = _scalar(rows, pace)
    parts[:, IO] = _io(sums, pace)
    load = sums[:, q.LINES], sums[:, q.PARTS], sums[:, q.SRAM_BYTES]
    parts[:, MOVE] = sums[:, q.MOVE_STARTS] * pace.moving + _on_chip(*load, pace)
    # The loads and the stores of a flight have a channel each.
    transfers = np.maximum(loads[:, 0] - loads[:, 2], loads[:, 2])
    single = loads[:, 1] * pace.stall + loads[:, 3] * pace.segment
    off_chip = np.maximum(transfers * pace.transaction + single, transfers * pace.port)
    flight = np.where(rows[:, log.KIND] == log.IO_FLIGHT, off_chip, 0.0)
    parts[:, FLIGHT] = np.where(
        rows[:, log.KIND] == log.MOVE_FLIGHT, _on_chip(loads[:, 3], loads[:, 1], loads[:, 4], pace), flight
    )
    return parts


def channels(rows: log.Rows) -> Any:
    """Return the IO-DMA channels that the flight of each of *rows* uses: `LOADING`, `STORING` or both."""
    stores = rows[:, log.OWN + 2]
    return LOADING * (rows[:, log.OWN] > stores) + STORING * (stores > 0)


def _vector(sums: log.Rows, pace: Pace) -> Any:
    """Return the time of the vector unit: lines and starts, further passes of functions, and reordered elements."""
    cycles = sums[:, q.VECTOR] * pace.cycle
    several = sums[:, q.FUNCTIONS] * pace.function + sums[:, q.EXPONENTIALS] * pace.exponential
    several += sums[:, q.REDUCTIONS] * pace.reduction + sums[:, q.FUSIONS] * pace.fusion
    several += sums[:, q.POOLINGS] * pace.pooling
    return (
        cycles
        + several
        + sums[:, q.TRANSPOSED] * pace.transposed
        + sums[:, q.TRANSPOSITIONS] * pace.transposition
    )


def _on_chip(lines: log.Rows, parts: log.Rows, sram: log.Rows, pace: Pace) -> Any:
    return lines * pace.cycle + parts * pace.part + sram * pace.sram_byte


def _scalar(rows: log.Rows, pace: Pace) -> Any:
    """Return the time of scalar accesses, each with a step's arithmetic: a load waits for its data, a store costs one element."""
    loads, stores = log.loads_of(rows), rows[:, log.STORES :]
    kinds = loads.sum(axis=2)
    steps = (kinds.sum(axis=1) + stores.sum(axis=1)) * rates.SCALAR_STEP.value * pace.cycle
    waits = waited(loads, log.OF_CORE) * pace.near + waited(loads, log.SHARED) * pace.shared
    far = loads[:, :, log.OFF_CHIP].sum(axis=(1, 2)) * pace.off_chip
    return (
        steps
        + waits
        + far
        + kinds[:, 3] * pace.decided
        + stores[:, log.OFF_CHIP].sum(axis=1) * pace.scattered
    )


def waited(loads: log.Rows, memories: slice) -> Any:
    """Return, for each row, how many times a core waits for *loads* of *memories*."""
    # Unclassified loads are assumed to come in pairs with one wait.
    return loads[:, :, memories].sum(axis=2) @ (0.5, 0.0, 1.0, 1.0)


def _io(sums: log.Rows, pace: Pace) -> Any:
    """Return the time of blocking off-chip copies, fills and atomics."""
    starts = sums[:, q.IO_STARTS] * (pace.setup + pace.off_chip)
    starts += sums[:, q.STORE_STARTS] * (pace.stored - pace.off_chip)
    single = sums[:, q.STALLS] * pace.stall + sums[:, q.ATOMICS] * pace.atomic
    single += sums[:, q.SEGMENTS] * pace.segment + sums[:, q.CROWDED] * pace.crowded
    lines = sums[:, q.TRANSACTIONS]
    # A core that waits for the memory does not use the port; other cores fill the time of its pieces.
    return starts + np.maximum(lines * pace.transaction + single, lines * pace.port)
