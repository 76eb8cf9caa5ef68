"""The work of a launch with one thing done in another way, for the model to time again.

Each function takes finished logs and gives new ones; nothing runs.  What is kept is what the kernel computes and how many
bytes it moves off the chip; what changes is how the work is cut, placed or waited for.
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
"""Bytes of a copy, and of an operand of a vector instruction, beside which what each of them takes to start is little."""
PIECES = 4
"""Pieces in which work is cut that is loaded, computed and stored at once, so that a second buffer has something to overlap."""
FLOAT = 4  # bytes that a scalar access is taken for
_FEW = 16  # rows of a log that is scaled, and not cut
_MOST_PIECES = 1 << 15
_DISTINCT = 1 << 15  # rows of a chunk, which numbers of 16 bits tell apart

_TRANSACTIONS = OWN + CopyLoad._fields.index("transactions")
_STALLS = OWN + CopyLoad._fields.index("stalls")
_SEGMENTS = OWN + CopyLoad._fields.index("lines")  # of a flight off the chip

Change = Callable[[CoreLog], CoreLog]


def changed(tasks: Sequence[TaskWork], change: Change) -> list[TaskWork]:
    """Return *tasks* with *change* applied to the log of each."""
    logs = {log: change(log) for log in dict.fromkeys(task.log for task in tasks)}
    return [task._replace(log=logs[task.log], steps=None) for task in tasks]


# -- places ----------------------------------------------------------------------------------------


def pieces_of(groups: Sequence[Sequence[TaskWork]]) -> int:
    """Return into how many pieces the work of *groups* divides: one a group, or one for each `LONG_COPY` bytes that it loads or stores.

    Of work without copies nothing is known, and it divides as finely as asked.
    """
    moved = [sum(int(task.log.total[SUMS + q.IO]) for task in group) for group in groups]
    return sum(max(1, nbytes // (2 * LONG_COPY)) for nbytes in moved) if all(moved) else 1 << 40


def spread(tasks: Sequence[TaskWork], times: Sequence[float], places: int) -> list[TaskWork]:
    """Return the same work in groups of equal length on *places*, as far as it divides; *times* are those of the groups, in us.

    The longest group stands for all: its tasks do a part of what they did.
    """
    groups = groups_of(tasks)
    longest = max(range(len(groups)), key=lambda n: times[n])
    pieces = pieces_of(groups)
    places = min(places, pieces)
    # A sum of equal floats may end a little above a whole number.
    waves = ceil(sum(times) / (places * times[longest]) - 1e-9)
    # A place has a whole number of pieces: the one that has one more ends last.
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
    """Return the first *part* of *log*; of one with few rows, or with barriers that others meet at, a part of each row."""
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


# -- what a core does --------------------------------------------------------------------------------


def vectorised(log: CoreLog) -> CoreLog:
    """Vector instructions of `LONG_COPY` bytes instead of loops of scalars, and copies instead of scalar accesses off the chip.

    Each scalar store on the chip is an element of a result, or each load where nothing is stored; loads beyond those
    of one operand are further instructions.
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
    """Vector instructions in *part* of the cycles, since fewer start and their lines are full."""

    def change(rows: Rows) -> Rows:
        rows[:, SUMS + q.VECTOR] = np.ceil(rows[:, SUMS + q.VECTOR] * part)
        return rows

    return _each(log, change)


def longer_copies(log: CoreLog, fewer: float, lines: float) -> CoreLog:
    """Blocking off-chip copies *fewer* in number (a part of them), all with a part *lines* of the transactions, in long pieces."""

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
    """Return *tasks* where each loads a tensor of at most *room* bytes once, instead of twice or more, and the most bytes that one keeps so.

    The copies that load it again are taken out of all rows of its log alike.
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
    """Return *log* with so many loaded transactions and copies fewer."""
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
    """Return *log* without every second barrier that a whole group meets at, and without the wait for own pipes there.

    *left_out* is shared by the logs of a launch: by the number of a meeting, whether it is left out.
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
    """Return whether the core computes while an asynchronous load flies: it has two buffers."""
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
    """Return for each of *rows* whether vector or tensor instructions come before its end."""
    return (rows[:, SUMS + q.VECTOR] > 0) | (rows[:, SUMS + q.TENSOR_CYCLES] > 0)


def waits_at_once(log: CoreLog) -> list[int]:
    """Return the rows of *log* that wait for asynchronous stores right behind them, with nothing computed between."""
    rows = np.concatenate(list(log))
    return _waits_behind(rows, _stores(rows))


def loads_at_once(log: CoreLog) -> list[int]:
    """Return the rows of *log* that wait for asynchronous loads right behind them, with nothing computed between."""
    rows = np.concatenate(list(log))
    return _waits_behind(rows, (rows[:, KIND] == IO_FLIGHT) & ~_stores(rows))


def _waits_behind(rows: Rows, flights: Any) -> list[int]:
    """Return which of *rows* wait right behind one of *flights*, true where a row is one, with nothing computed between."""
    waits = (rows[:, KIND] == WAIT) & (rows[:, ARGUMENT] & FOR_IO > 0) & ~_computes(rows)
    places: list[int] = (np.flatnonzero(waits[1:] & flights[:-1]) + 1).tolist()
    return places


def _stores(rows: Rows) -> Any:
    """Return for each of *rows* whether it is a flight that only stores."""
    return (
        (rows[:, KIND] == IO_FLIGHT)
        & (rows[:, STORES_OF] > 0)
        & (rows[:, STORES_OF] == rows[:, _TRANSACTIONS])
    )


def waits_later(log: CoreLog) -> CoreLog:
    """Return *log* where the core no longer waits for asynchronous stores right behind them, but before: for what flew until then."""
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
    """Off-chip copies that fly while the piece before is computed; *stores*: the part of them that stores.

    Between two barriers there are as many pieces as there were pairs of copies, or `PIECES`.
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
    """Rows of a log to be, of which some come many times in turn."""

    blocks: list[Rows] = field(factory=list)
    turns: list[Any] = field(factory=list)
    held: int = 0
    chunks: list[Any] = field(factory=list)

    def add(self, rows: Rows, times: int = 1) -> None:
        """Add *rows*, one after the other, so many *times*."""
        if self.held + len(rows) > _DISTINCT:
            self._pack()
        self.blocks.append(rows)
        self.turns.append(np.tile(np.arange(self.held, self.held + len(rows), dtype=np.uint16), times))
        self.held += len(rows)

    def log(self) -> CoreLog:
        """Return the log of the changed work."""
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
    """Add the rows of *span*, then the sums of *last*, as pieces, one of which is copied while another is computed."""
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
    # Nothing hides the first load; stores have a channel of their own.
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
