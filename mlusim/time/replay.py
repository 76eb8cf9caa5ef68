"""How long the cores of one task or union take by themselves: a replay of their logs.

A core issues in order.  Vector and tensor instructions are one stream beside it, the IO-DMA and the
move-DMA are two more.  A blocking copy or a scalar access waits for the compute stream; an
asynchronous copy takes its turn on its pipe; waits and barriers wait.  Every step takes the later of
what it waits for plus its own duration, so more work anywhere ends nothing earlier.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.time import quantities as q
from mlusim.time import work
from mlusim.time.log import (
    ARGUMENT,
    ARRIVES,
    END,
    FOR_COMPUTE,
    FOR_IO,
    FOR_MOVE,
    IO_FLIGHT,
    KIND,
    LOADS,
    MEET,
    MOVE_FLIGHT,
    OWN,
    ROLE,
    STORES,
    SUMS,
    WAIT,
    CoreLog,
    Rows,
)
from mlusim.time.rates import (
    ATOMIC,
    BARRIER,
    CORE_IO,
    DMA_SETUP,
    DRAM_CEILING,
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

IO = 3  # the place of the IO-DMA among the pipes
OFF_CHIP, ON_CHIP = (
    (0, 1),
    (2, 3, 4),
)  # the spaces of scalar accesses, in the order in which a core counts them


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


class Durations(NamedTuple):
    """What rows take, in us: in order, on the compute stream, before everything goes on, on a pipe.

    ``channel`` says which channels of the IO-DMA a flight takes: `LOADING`, `STORING` or both.
    """

    front: Any
    compute: Any
    blocking: Any
    flight: Any
    channel: Any


LOADING, STORING = 1, 2


def durations(rows: Rows, pace: Pace) -> Durations:
    """The durations of *rows*, each an array with one number a row."""
    sums, own = rows[:, SUMS:LOADS], rows[:, OWN:SUMS]
    compute = vector(sums, pace) + sums[:, q.TENSOR_CYCLES] * pace.cycle
    front = (sums[:, q.SCALAR] * SCALAR_OP.value + (rows[:, KIND] != END) * ISSUE.value) * pace.cycle
    flight = np.where(rows[:, KIND] == IO_FLIGHT, _off_chip(own, pace), 0.0)
    flight = np.where(rows[:, KIND] == MOVE_FLIGHT, _on_chip(own[:, 3], own[:, 4], pace), flight)
    stores = own[:, 2]
    channel = LOADING * (own[:, 0] > stores) + STORING * (stores > 0)
    blocking = scalar(rows, pace) + io(sums, pace) + move(sums, pace)
    return Durations(front, compute, blocking, flight, channel)


def vector(sums: Rows, pace: Pace) -> Any:
    """The vector unit: lines and starts, further passes of functions, elements that change their order."""
    cycles = sums[:, q.VECTOR] * pace.cycle
    return cycles + sums[:, q.FUNCTIONS] * pace.function + sums[:, q.TRANSPOSED] * pace.transposed


def _off_chip(own: Rows, pace: Pace) -> Any:
    """A flight: its loads and its stores have a channel each."""
    transfers = np.maximum(own[:, 0] - own[:, 2], own[:, 2])
    return transfers * pace.transaction + own[:, 1] * pace.stall


def _on_chip(lines: Any, sram: Any, pace: Pace) -> Any:
    return lines * pace.cycle + sram * pace.sram_byte


def scalar(rows: Rows, pace: Pace) -> Any:
    """Scalar accesses, each with a step's arithmetic: a load waits for its data, a store takes what an element takes."""
    loads, stores = rows[:, LOADS:STORES], rows[:, STORES:]
    on_chip = loads[:, ON_CHIP].sum(axis=1) + stores[:, ON_CHIP].sum(axis=1)
    steps = (loads.sum(axis=1) + stores.sum(axis=1)) * SCALAR_STEP.value * pace.cycle
    waits = loads[:, OFF_CHIP].sum(axis=1) * pace.off_chip
    return steps + on_chip * pace.near + waits + stores[:, OFF_CHIP].sum(axis=1) * pace.scattered


def io(sums: Rows, pace: Pace) -> Any:
    """Blocking off-chip copies, fills and atomics."""
    starts = sums[:, q.IO_STARTS] * (pace.setup + pace.off_chip)
    single = sums[:, q.STALLS] * pace.stall + sums[:, q.ATOMICS] * pace.atomic
    return starts + sums[:, q.TRANSACTIONS] * pace.transaction + single


def move(sums: Rows, pace: Pace) -> Any:
    """Blocking on-chip copies."""
    return sums[:, q.MOVE_STARTS] * pace.setup + _on_chip(sums[:, q.LINES], sums[:, q.SRAM_BYTES], pace)


def moved(rows: Rows) -> Any:
    """Bytes that the off-chip memory moves for each of *rows*; scalar stores read their line first."""
    units = rows[:, SUMS + q.TRANSACTIONS] + rows[:, OWN] * (rows[:, KIND] == IO_FLIGHT)
    units += rows[:, LOADS:STORES][:, OFF_CHIP].sum(axis=1) + 2 * rows[:, STORES:][:, OFF_CHIP].sum(axis=1)
    return units * work.UNIT


@frozen
class CoreSummary:
    """One core alone: each pipe's busy time in us, in the order of `Pipe`, and the off-chip bytes."""

    busy: tuple[float, ...]
    moved: int


def summary(log: CoreLog, pace: Pace, flying: float) -> CoreSummary:
    """What the rows of *log* add up to; *flying*: for how long asynchronous copies kept the IO-DMA busy, in us."""
    busy, nbytes = np.zeros(5), 0
    for distinct, turns in log.chunks:
        times = np.bincount(turns, minlength=len(distinct))
        sums = distinct[:, SUMS:LOADS]
        parts = durations(distinct, pace)
        on_chip = distinct[:, KIND] == MOVE_FLIGHT
        busy += [
            times @ (parts.front + scalar(distinct, pace)),
            times @ vector(sums, pace),
            times @ sums[:, q.TENSOR_CYCLES] * pace.cycle,
            times @ io(sums, pace),
            times @ (move(sums, pace) + parts.flight * on_chip),
        ]
        nbytes += int(times @ moved(distinct))
    busy[IO] += flying
    return CoreSummary(tuple(busy.tolist()), nbytes)


@define
class CoreReplay:
    """One core during a replay: its time, when its streams are free, and when what they do is done."""

    rows: Iterator[list[tuple[float, ...]]]
    pace: Pace
    now: float = 0.0
    compute: float = 0.0
    load_free: float = 0.0
    store_free: float = 0.0
    flying: float = 0.0
    io_done: float = 0.0
    move_free: float = 0.0
    move_done: float = 0.0
    moved: float = 0.0
    chunk: list[tuple[float, ...]] = field(factory=list)
    at: int = 0

    def idle(self) -> float:
        """When the core and its streams are all done."""
        return max(self.now, self.compute, self.io_done, self.move_done)

    def advance(self) -> tuple[int, int] | None:
        """Go on to the next barrier, and return its number and how many meet; None at the end."""
        while self.at < len(self.chunk) or self._more():
            kind, argument, meeting, nbytes, front, compute, blocking, flight, channel = self.chunk[self.at]
            self.at += 1
            self.moved += nbytes
            self.now += front
            if compute:
                self.compute = max(self.compute, self.now) + compute
            if blocking:
                self.compute = self.now = max(self.now, self.compute) + blocking
            if kind == WAIT:
                self._wait(int(argument))
            elif kind == MEET:
                return int(argument), int(meeting)
            elif kind != END:
                self._fly(int(kind), flight, int(channel))
        self.now = self.idle()
        return None

    def _more(self) -> bool:
        self.chunk, self.at = next(self.rows, []), 0
        return bool(self.chunk)

    def _fly(self, kind: int, duration: float, channel: int) -> tuple[float, float]:
        """An asynchronous copy takes its turn; the latency of one is hidden behind the next.  When it starts and ends."""
        if kind == IO_FLIGHT:
            begin = max(
                self.now,
                self.load_free if channel & LOADING else 0.0,
                self.store_free if channel & STORING else 0.0,
            )
            end = begin + duration
            self.flying += max(0.0, end - max(begin, self.load_free, self.store_free))
            if channel & LOADING:
                self.load_free = end
            if channel & STORING:
                self.store_free = end
            self.io_done = max(self.io_done, end + self.pace.setup + self.pace.off_chip)
            return begin, end
        begin = max(self.now, self.move_free)
        self.move_free = begin + duration
        self.move_done = self.move_free + self.pace.setup
        return begin, self.move_free

    def _wait(self, streams: int) -> None:
        if streams & FOR_IO:
            self.now = max(self.now, self.io_done)
        if streams & FOR_MOVE:
            self.now = max(self.now, self.move_done)
        if streams & FOR_COMPUTE:
            self.now = max(self.now, self.compute)


@frozen
class Cores:
    """What a replay found: when each core ends, in us from the start of its task or union.

    ``flying`` is for how long asynchronous copies keep its IO-DMA busy, on one channel or both.
    """

    ends: tuple[float, ...]
    flying: tuple[float, ...]

    @property
    def duration(self) -> float:
        """When the last core ends."""
        return max(self.ends)


def replay(logs: Sequence[CoreLog], paces: Sequence[Pace], board: Board, bound: Bound = Bound.USUAL) -> Cores:
    """Replay the *logs* of cores that run together, each at its pace."""
    clocks = [CoreReplay(prepared(log, pace), pace) for log, pace in zip(logs, paces, strict=True)]
    meet(clocks, board, bound)
    return Cores(tuple(clock.idle() for clock in clocks), tuple(clock.flying for clock in clocks))


class Halves:
    """Split barriers during a replay: when cores arrived, and who waits; *cost* is that of a barrier, in us."""

    def __init__(self, cost: float) -> None:
        self._cost = cost
        self._arrived: dict[int, list[float]] = {}
        self._waiting: dict[int, list[CoreReplay]] = {}

    def met(self, clock: CoreReplay, role: int, number: int, needed: int) -> list[CoreReplay]:
        """Let *clock* arrive or wait; return those that go on."""
        arrived, waiting = self._arrived.setdefault(number, []), self._waiting.setdefault(number, [])
        if role == ARRIVES:
            clock.now = clock.idle()
            arrived.append(clock.now)
            free = [clock]
        else:
            waiting.append(clock)
            free = []
        if len(arrived) == needed:
            for other in waiting:
                other.now = max(other.now, *arrived) + self._cost
            free += waiting
            waiting.clear()
        return free


def meet(clocks: Sequence[CoreReplay], board: Board, bound: Bound = Bound.USUAL) -> None:
    """Let *clocks* go on from barrier to barrier until all have ended.

    Between two barriers that all of them meet at, the off-chip bytes of all take at least their time at the
    board's ceiling.
    """
    running, waiting = list(clocks), dict[int, list[CoreReplay]]()
    phase, cost = 0.0, BARRIER.at(bound) / board.clock_mhz
    halves = Halves(cost)
    while running:
        clock = running.pop()
        met = clock.advance()
        if met is None:
            continue
        number, needed = met
        role, needed = divmod(needed, ROLE)
        if role:
            running += halves.met(clock, role, number, needed)
            continue
        group = waiting.setdefault(number, [])
        group.append(clock)
        if len(group) == needed:
            until = max(c.idle() for c in group)
            if needed == len(clocks):
                until = phase = max(until, phase + _drained(clocks) / ceiling(board, bound))
            for c in group:
                c.now = until + cost
            running.extend(waiting.pop(number))


def _drained(clocks: Iterable[CoreReplay]) -> float:
    """The bytes of all *clocks* since they were last asked."""
    nbytes = 0.0
    for clock in clocks:
        nbytes += clock.moved
        clock.moved = 0.0
    return nbytes


def prepared(log: CoreLog, pace: Pace) -> Iterator[list[tuple[float, ...]]]:
    """The rows of *log* as a clock takes them, a chunk at a time."""
    for distinct, turns in log.chunks:
        parts = durations(distinct, pace)
        columns: Iterable[Any] = (
            distinct[:, KIND],
            distinct[:, ARGUMENT],
            distinct[:, OWN],
            moved(distinct),
            *parts,
        )
        ready = list(zip(*(column.tolist() for column in columns), strict=True))
        yield [ready[turn] for turn in turns.tolist()]


def ceiling(board: Board, bound: Bound = Bound.USUAL) -> float:
    """Bytes per us that the off-chip memory of *board* reaches."""
    return board.bandwidth * DRAM_CEILING.at(bound) / 1e6
