"""The work of a launch with one change, such as longer copies or fewer barriers, for the model to time again.

Each function takes finished logs and returns new ones; nothing runs. The computations of the kernel and its
off-chip bytes stay the same; the way in which the work is divided, placed or waited for changes.
"""

from collections.abc import Callable, Sequence
from itertools import count
from math import ceil
from typing import Any

import numpy as np
from attrs import define, field

from mlusim.time import quantities as q
from mlusim.time.copy_costs import START, UNIT
from mlusim.time.log import (
    ARGUMENT,
    COLUMNS,
    END,
    FOR_ALL,
    FOR_IO,
    IO_FLIGHT,
    KIND,
    LOADS,
    MEET,
    MOVE_FLIGHT,
    OFF_CHIP,
    OWN,
    ROLE,
    STORES,
    STORES_OF,
    SUMS,
    WAIT,
    CoreLog,
    Rows,
    TaskWork,
    loads_of,
)
from mlusim.time.quantities import CopyLoad
from mlusim.time.timing import groups_of
from mlusim.time.work import VECTOR_BYTES

LONG_COPY = 4096
"""Bytes of a copy, or of an operand of a vector instruction, for which the start-up cost is small."""
PIECES = 4
"""Number of pieces into which unpipelined work is cut, so that a second buffer has something to overlap."""
FLOAT = 4  # assumed bytes per scalar access
_FEW = 16  # a log with fewer rows is scaled instead of cut
_MOST_PIECES = 1 << 15
_DISTINCT = 1 << 15  # limit of rows in a chunk, whose indices have 16 bits

_TRANSACTIONS = OWN + CopyLoad._fields.index("transactions")
_STALLS = OWN + CopyLoad._fields.index("stalls")
_SEGMENTS = OWN + CopyLoad._fields.index("lines")  # column: the pieces of an off-chip flight

Change = Callable[[CoreLog], CoreLog]


def changed(tasks: Sequence[TaskWork], change: Change) -> list[TaskWork]:
    """Return *tasks* with *change* applied to the log of each task."""
    logs = {log: change(log) for log in dict.fromkeys(task.log for task in tasks)}
    return [task._replace(log=logs[task.log], steps=None) for task in tasks]


# -- distribution over places ----------------------------------------------------------------------


def pieces_of(groups: Sequence[Sequence[TaskWork]]) -> int:
    """Return the number of pieces into which the work of *groups* can be divided: one per group, or per `LONG_COPY` bytes loaded or stored.

    Work without copies is assumed to divide arbitrarily.
    """
    moved = [sum(int(task.log.total[SUMS + q.IO]) for task in group) for group in groups]
    return sum(max(1, nbytes // (2 * LONG_COPY)) for nbytes in moved) if all(moved) else 1 << 40


def spread(tasks: Sequence[TaskWork], times: Sequence[float], places: int) -> list[TaskWork]:
    """Return the same work as groups of equal length on *places* places, if it divides; *times* has the groups' times in us.

    All groups are copies of the longest group, whose tasks do a part of their work.
    """
    groups = groups_of(tasks)
    longest = max(range(len(groups)), key=lambda n: times[n])
    pieces = pieces_of(groups)
    places = min(places, pieces)
    # A sum of equal floats may be slightly above an integer.
    waves = ceil(sum(times) / (places * times[longest]) - 1e-9)
    # A place has an integer number of pieces; the place with one more ends last.
    each = ceil(pieces / (waves * places)) / pieces
    part = min(1.0, sum(times) * each / times[longest])
    logs: dict[CoreLog, CoreLog] = {}
    parts: list[TaskWork] = []
    numbers = count()
    for union in range(waves * places):
        for task in groups[longest]:
            if task.log not in logs:
                logs[task.log] = _part(task.log, part)
            reads = tuple((address, size, ceil(nbytes * part)) for address, size, nbytes in task.reads)
            parts.append(
                task._replace(task=next(numbers), union=union, log=logs[task.log], reads=reads, steps=None)
            )
    return parts


def _part(log: CoreLog, part: float) -> CoreLog:
    """Return the first *part* (a fraction) of *log*; for few rows, or with barriers that other cores join, the same fraction of each row."""
    number = sum(len(turns) for _, turns in log.chunks)
    if number < _FEW or any((distinct[:, KIND] == MEET).any() for distinct, _ in log.chunks):
        return _each(log, lambda rows: _scaled(rows, part))
    rows = np.concatenate(list(log))
    first = rows[: max(1, round((number - 1) * part))]
    shorter = _Rows()
    for at in range(0, len(first), _DISTINCT):
        shorter.add(first[at : at + _DISTINCT])
    shorter.add(_scaled(rows[-1:].copy(), part))
    return shorter.log()


def _scaled(rows: Rows, part: float) -> Rows:
    loads = rows[:, KIND] != MEET
    rows[loads, OWN:SUMS] = np.ceil(rows[loads, OWN:SUMS] * part)
    rows[:, SUMS:] = np.ceil(rows[:, SUMS:] * part)
    return rows


# -- the work of a core ------------------------------------------------------------------------------


def vectorised(log: CoreLog) -> CoreLog:
    """Replace scalar loops by vector instructions of `LONG_COPY` bytes, and off-chip scalar accesses by copies.

    Each on-chip scalar store counts as one element of a result (without stores, each load); loads of further
    operands are further instructions.
    """

    def change(rows: Rows) -> Rows:
        loads, stores = loads_of(rows).sum(axis=1), rows[:, STORES:]
        read, written = loads.sum(axis=1), stores.sum(axis=1)
        results = np.where(written > 0, written, read)
        passes = np.maximum(1, read // np.maximum(results, 1))
        nbytes = results * passes * FLOAT
        rows[:, SUMS + q.VECTOR] += -(-nbytes // VECTOR_BYTES) + START * -(-nbytes // LONG_COPY)
        far = (loads[:, OFF_CHIP].sum(axis=1) + stores[:, OFF_CHIP].sum(axis=1)) * FLOAT
        rows[:, SUMS + q.IO] += far
        rows[:, SUMS + q.TRANSACTIONS] += -(-far // UNIT)
        rows[:, SUMS + q.IO_STARTS] += -(-far // LONG_COPY)
        rows[:, SUMS + q.SCALAR] = np.where(results > 0, 0, rows[:, SUMS + q.SCALAR])
        rows[:, LOADS:] = 0
        return rows

    return _each(log, change)


def longer_vectors(log: CoreLog, part: float) -> CoreLog:
    """Reduce the cycles of vector instructions to *part*, for fewer starts and full lines."""

    def change(rows: Rows) -> Rows:
        rows[:, SUMS + q.VECTOR] = np.ceil(rows[:, SUMS + q.VECTOR] * part)
        return rows

    return _each(log, change)


def longer_copies(log: CoreLog, fewer: float, lines: float) -> CoreLog:
    """Reduce the number of blocking off-chip copies to the fraction *fewer*, and all their transactions to the fraction *lines*."""

    def change(rows: Rows) -> Rows:
        for column in (SUMS + q.TRANSACTIONS, _TRANSACTIONS, STORES_OF):
            copies = (rows[:, KIND] == IO_FLIGHT) | (column >= SUMS)
            rows[copies, column] = np.ceil(rows[copies, column] * lines)
        rows[:, SUMS + q.IO_STARTS] = np.ceil(rows[:, SUMS + q.IO_STARTS] * fewer)
        flies = rows[:, KIND] == IO_FLIGHT
        pieces = -(-rows[:, _TRANSACTIONS] * UNIT // LONG_COPY)
        rows[flies, _SEGMENTS] = np.minimum(rows[flies, _SEGMENTS], pieces[flies])
        blocking = SUMS + q.SEGMENTS
        rows[:, blocking] = np.minimum(
            rows[:, blocking], -(-rows[:, SUMS + q.TRANSACTIONS] * UNIT // LONG_COPY)
        )
        return rows

    return _each(log, change)


def loaded_once(tasks: Sequence[TaskWork], room: int) -> tuple[list[TaskWork], int]:
    """Return *tasks* in which each task loads a tensor of at most *room* bytes only once, and the largest number of bytes held.

    Repeated loads are removed evenly from all rows of its log.
    """
    changed_tasks, most = [], 0
    changes: dict[tuple[CoreLog, int, int], CoreLog] = {}
    for task in tasks:
        again = [(size, nbytes) for _, size, nbytes in task.reads if nbytes >= 2 * size and 0 < size <= room]
        lines = sum(-(-(nbytes - size) // UNIT) for size, nbytes in again)
        copies = sum(nbytes // size - 1 for size, nbytes in again)
        key = task.log, lines, copies
        if key not in changes:
            changes[key] = _without_copies(task.log, lines, copies)
        most = max(most, *(size for size, _ in again), 0)
        reads = tuple(
            (at, size, size if (size, nbytes) in again else nbytes) for at, size, nbytes in task.reads
        )
        changed_tasks.append(task._replace(log=changes[key], reads=reads, steps=None))
    return changed_tasks, most


def _without_copies(log: CoreLog, lines: int, copies: int) -> CoreLog:
    """Return *log* with that many loaded transactions and copies removed."""
    flown = sum(
        int(
            times @ ((distinct[:, _TRANSACTIONS] - distinct[:, STORES_OF]) * (distinct[:, KIND] == IO_FLIGHT))
        )
        for (distinct, _), times in zip(log.chunks, log.times, strict=True)
    )
    blocking, starts = (int(log.total[SUMS + place]) for place in (q.TRANSACTIONS, q.IO_STARTS))
    left = max(0.0, 1 - lines / max(1, blocking + flown))
    fewer = max(0.0, 1 - copies / max(1, starts)) if not flown else 1.0

    def change(rows: Rows) -> Rows:
        flies = rows[:, KIND] == IO_FLIGHT
        loads = rows[flies, _TRANSACTIONS] - rows[flies, STORES_OF]
        rows[flies, _TRANSACTIONS] = rows[flies, STORES_OF] + np.ceil(loads * left)
        rows[:, SUMS + q.TRANSACTIONS] = np.ceil(rows[:, SUMS + q.TRANSACTIONS] * left)
        rows[:, SUMS + q.IO_STARTS] = np.ceil(rows[:, SUMS + q.IO_STARTS] * fewer)
        return rows

    return _each(log, change) if lines else log


def half_the_barriers(log: CoreLog, left_out: dict[int, bool]) -> CoreLog:
    """Return *log* without every second barrier of a whole group, and without its wait for the core's own pipes.

    *left_out* is shared by all logs of a launch: it maps the number of a barrier to whether it is removed.
    """
    turn = False
    chunks = []
    for distinct, turns in log.chunks:
        whole = (distinct[:, KIND] == MEET) & (distinct[:, OWN] < ROLE)
        plain = distinct.copy()
        plain[whole, KIND], plain[whole, ARGUMENT], plain[whole, OWN:SUMS] = END, 0, 0
        order = turns.astype(np.int64)
        for at in np.flatnonzero(whole[turns]).tolist():
            turn = left_out.setdefault(int(distinct[turns[at], ARGUMENT]), not turn)
            if turn:
                order[at] += len(distinct)
        chunks.append((np.concatenate([distinct, plain]), order.astype(np.uint16)))
    return CoreLog(tuple(chunks))


def overlaps_loads(log: CoreLog) -> bool:
    """Return whether the core computes during an asynchronous load, so that it has two buffers."""
    flies = False
    for rows in log:
        for kind, argument, loads, computes in zip(
            rows[:, KIND].tolist(),
            rows[:, ARGUMENT].tolist(),
            (rows[:, _TRANSACTIONS] > rows[:, STORES_OF]).tolist(),
            _computes(rows).tolist(),
            strict=True,
        ):
            if flies and computes:
                return True
            if kind == IO_FLIGHT:
                flies = flies or loads
            elif kind == MEET or (kind == WAIT and argument & FOR_IO):
                flies = False
    return False


def _computes(rows: Rows) -> Any:
    """Return for each of *rows* whether it contains vector or tensor instructions."""
    return (rows[:, SUMS + q.VECTOR] > 0) | (rows[:, SUMS + q.TENSOR_CYCLES] > 0)


def waits_at_once(log: CoreLog) -> list[int]:
    """Return the rows of *log* that wait for asynchronous stores directly before them, without computing in between."""
    rows = np.concatenate(list(log))
    return _waits_behind(rows, _stores(rows))


def loads_at_once(log: CoreLog) -> list[int]:
    """Return the rows of *log* that wait for asynchronous loads directly before them, without computing in between."""
    rows = np.concatenate(list(log))
    return _waits_behind(rows, (rows[:, KIND] == IO_FLIGHT) & ~_stores(rows))


def _waits_behind(rows: Rows, flights: Any) -> list[int]:
    """Return the indices of *rows* that wait directly after one of *flights* (a mask), without computing in between."""
    waits = (rows[:, KIND] == WAIT) & (rows[:, ARGUMENT] & FOR_IO > 0) & ~_computes(rows)
    places: list[int] = (np.flatnonzero(waits[1:] & flights[:-1]) + 1).tolist()
    return places


def _stores(rows: Rows) -> Any:
    """Return for each of *rows* whether it is a flight with stores only."""
    return (
        (rows[:, KIND] == IO_FLIGHT)
        & (rows[:, STORES_OF] > 0)
        & (rows[:, STORES_OF] == rows[:, _TRANSACTIONS])
    )


def waits_later(log: CoreLog) -> CoreLog:
    """Return *log* in which waits directly after asynchronous stores are moved before the stores, to earlier flights."""
    waits = waits_at_once(log)
    if not waits:
        return log
    rows = np.concatenate(list(log))
    stores = _stores(rows)
    for at in waits:
        first = at - 1
        while first and stores[first - 1]:
            first -= 1
        wait, flights = rows[at].copy(), _without_sums(rows[first:at])
        wait[SUMS:] = rows[first : at + 1, SUMS:].sum(axis=0)
        rows[first], rows[first + 1 : at + 1] = wait, flights
    later = _Rows()
    for at in range(0, len(rows), _DISTINCT):
        later.add(rows[at : at + _DISTINCT])
    return later.log()


def second_buffer(log: CoreLog, stores: float) -> CoreLog:
    """Overlap off-chip copies with the computation of the previous piece; *stores* is the fraction of copies that store.

    Between two barriers, the number of pieces is that of the pairs of copies, or `PIECES`.
    """
    rows = np.concatenate(list(log))
    overlapped, first = _Rows(), 0
    for at in np.flatnonzero(rows[:, KIND] == MEET).tolist():
        _overlapped(overlapped, rows[first:at], rows[at], stores)
        overlapped.add(_without_sums(rows[at : at + 1]))
        first = at + 1
    _overlapped(overlapped, rows[first:-1], rows[-1], stores)
    overlapped.add(_without_sums(rows[-1:]))
    return overlapped.log()


@define
class _Rows:
    """The rows of a new log; blocks of rows may repeat many times."""

    blocks: list[Rows] = field(factory=list)
    turns: list[Any] = field(factory=list)
    held: int = 0
    chunks: list[Any] = field(factory=list)

    def add(self, rows: Rows, times: int = 1) -> None:
        """Append the block *rows*, repeated *times* times."""
        if self.held + len(rows) > _DISTINCT:
            self._pack()
        self.blocks.append(rows)
        self.turns.append(np.tile(np.arange(self.held, self.held + len(rows), dtype=np.uint16), times))
        self.held += len(rows)

    def log(self) -> CoreLog:
        """Return the log of all appended rows."""
        self._pack()
        return CoreLog(tuple(self.chunks))

    def _pack(self) -> None:
        if self.blocks:
            self.chunks.append((np.concatenate(self.blocks), np.concatenate(self.turns)))
            self.blocks, self.turns, self.held = [], [], 0


def _without_sums(rows: Rows) -> Rows:
    rows = rows.copy()
    rows[:, SUMS:] = 0
    return rows


def _overlapped(into: _Rows, span: Rows, last: Rows, stores: float) -> None:
    """Append the work of *span*, and the sums of *last*, as pieces: each is copied while the one before is computed."""
    flights = span[span[:, KIND] == IO_FLIGHT]
    sums = span[:, SUMS:].sum(axis=0) + last[SUMS:]
    load = flights[:, OWN:SUMS].sum(axis=0)
    blocking = sums[q.TRANSACTIONS]
    load[_TRANSACTIONS - OWN] += blocking
    load[_STALLS - OWN] += sums[q.STALLS]
    load[STORES_OF - OWN] += round(blocking * stores)
    copies = len(flights) + int(sums[q.IO_STARTS])
    for move in span[span[:, KIND] == MOVE_FLIGHT]:
        into.add(_without_sums(move[None]))
    if not load[_TRANSACTIONS - OWN]:
        into.add(_row(END, 0, sums=sums))
        return
    load[_SEGMENTS - OWN] += sums[q.SEGMENTS]
    sums[[q.TRANSACTIONS, q.STALLS, q.IO_STARTS, q.STORE_STARTS, q.SEGMENTS, q.STORED]] = 0
    pieces = min(max(PIECES, ceil(copies / 2)), _MOST_PIECES)
    flight, wait = _row(IO_FLIGHT, 0, load=-(-load // pieces)), _row(WAIT, FOR_ALL, sums=-(-sums // pieces))
    # The first load is not overlapped; stores have a channel of their own.
    into.add(np.concatenate([flight, _row(WAIT, FOR_ALL)]))
    into.add(np.concatenate([flight, wait]), pieces - 1)
    into.add(wait)


def _row(kind: int, argument: int, load: Any = 0, sums: Any = 0) -> Rows:
    row = np.zeros((1, COLUMNS), np.int64)
    row[0, KIND], row[0, ARGUMENT], row[0, OWN:SUMS], row[0, SUMS:] = kind, argument, load, sums
    return row


def _each(log: CoreLog, change: Callable[[Any], Any]) -> CoreLog:
    """Return *log* with *change* applied to a copy of its distinct rows."""
    return CoreLog(tuple((change(distinct.copy()), turns) for distinct, turns in log.chunks))
