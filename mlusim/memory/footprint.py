"""Footprints: the bytes that an access touches, dense, strided in up to three dimensions or in pieces, and their algebra.

All code that intersects or subtracts accesses, or that maps bytes of one access to bytes of another, uses
this module. Offsets are in bytes from the start of an allocation.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from attrs import frozen

from mlusim.memory.allocation import Allocation

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Steps = tuple[tuple[int, int], ...]

NO_INTS: Ints = np.empty(0, np.int64)


class Access(NamedTuple):
    """The bytes of one operand: ``size`` bytes at ``start`` of an allocation.

    ``steps`` repeats these bytes: ``((stride, count), ...)``, outermost first, strides in bytes; empty for a
    single run.
    """

    allocation: Allocation
    start: int
    size: int
    steps: Steps = ()

    @property
    def span(self) -> tuple[int, int]:
        """The range [first, stop) from the first byte touched to the end of the last, as offsets in the allocation."""
        if not self.steps:
            return self.start, self.start + self.size
        low, high = _reach(self.steps)
        return self.start + low, self.start + self.size + high

    @property
    def nbytes(self) -> int:
        """Number of bytes touched; a byte that several repetitions touch counts once for each."""
        total = self.size
        for _, count in self.steps:
            total *= count
        return total

    @property
    def starts(self) -> Ints:
        """The start offset of each repetition, in the order of access."""
        starts = np.array([self.start], np.int64)
        for stride, count in self.steps:
            starts = (starts[:, None] + stride * np.arange(count, dtype=np.int64)).reshape(-1)
        return starts

    def starts_within(self, low: int, high: int) -> Ints:
        """Return the starts of all repetitions that touch a byte of [low, high), in order of access; some others may be included."""
        starts = np.array([self.start], np.int64)
        for n, (stride, count) in enumerate(self.steps):
            starts = (starts[:, None] + stride * np.arange(count, dtype=np.int64)).reshape(-1)
            before, behind = _reach(self.steps[n + 1 :])
            starts = starts[(starts + before < high) & (starts + behind + self.size > low)]
        return starts

    @property
    def apart(self) -> bool:
        """True if no two repetitions share a byte."""
        # From the inner stride outwards: each stride must exceed the extent of everything inside it.
        steps = sorted((abs(stride), count) for stride, count in self.steps if count > 1)
        reach = self.size
        for stride, count in steps:
            if stride < reach:
                break
            reach += stride * (count - 1)
        else:
            return True
        if len(steps) == 1 or steps[0][0] < self.size:
            return False
        # Accesses with three interlaced strides are rare; they are decided by comparing all starts.
        if len(steps) > 2:
            return bool((np.diff(np.sort(self.starts)) >= self.size).all())
        return _interlaced(self.size, *steps)

    # -- queries about bytes -------------------------------------------------------------------

    def touches(self, low: int, high: int) -> bool:
        """Return whether the access touches a byte of [low, high)."""
        if not self.steps:
            return self.start < high and low < self.start + self.size
        first, stop = self.span
        return first < high and low < stop and bool(self.starts_within(low, high).size)

    def index_of(self, offset: int) -> int:
        """Return the index, in order of access, of the byte at *offset*.

        If several repetitions contain the byte, the first counts; a byte in a gap has the index of the
        touched byte before it.
        """
        if not self.steps:
            return min(max(offset - self.start, 0), self.size - 1)
        starts = self.starts
        held = np.flatnonzero((starts <= offset) & (offset < starts + self.size))
        if not held.size:
            before = np.where(starts <= offset, starts, np.iinfo(np.int64).min)
            held = np.array([int(before.argmax())])
        at = int(held[0])
        return at * self.size + min(max(offset - int(starts[at]), 0), self.size - 1)

    def offset_of(self, index: int) -> int:
        """Return the offset of the byte that is accessed as number *index*; inverse of `index_of`."""
        index, rest = divmod(index, self.size)
        at = self.start + rest
        for stride, count in reversed(self.steps):
            index, turn = divmod(index, count)
            at += stride * turn
        return at

    def rows_of(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return a view of the accessed bytes in *array* (one-byte elements), with one row per repetition."""
        if not self.steps:
            return array[self.start : self.start + self.size]
        return np.ndarray(
            (*(count for _, count in self.steps), self.size),
            array.dtype,
            array,
            self.start,
            (*(stride for stride, _ in self.steps), 1),
        )

    # -- queries about two accesses ------------------------------------------------------------

    def common(self, other: "Access") -> tuple[int, int] | None:
        """Return the first run of bytes [low, high) that both accesses touch, or None."""
        if self.allocation is not other.allocation:
            return None
        (low, high), (first, last) = self.span, other.span
        shared = max(low, first), min(high, last)
        if shared[0] >= shared[1]:
            return None
        if not self.steps and not other.steps:
            return shared
        # Look only at repetitions near the shared span: two tiles of a matrix meet in a few rows.
        mine, theirs = np.sort(self.starts_within(*shared)), np.sort(other.starts_within(*shared))
        return _first_in_common(mine, self.size, theirs, other.size)

    def meets(self, other: "Access") -> bool:
        """Return whether some byte is touched by both accesses."""
        return self.common(other) is not None

    def before_read_by(self, other: "Access") -> int:
        """Return how many bytes a copy from *other* to this access overwrites before it reads them.

        Both accesses have the same number of bytes and the same run size, and the repetitions of this access
        are apart. The copy goes byte by byte in ascending order; a byte that is copied to itself does not
        count.
        """
        shared = self.common(other)
        if shared is None or self == other:
            return 0
        to, frm = self.starts, other.starts
        # One row: in ascending order, only a destination behind its source overwrites bytes still to be read.
        if len(to) == 1:
            return 0 if to[0] <= frm[0] else shared[1] - shared[0]
        order = np.argsort(to, kind="stable")
        first = np.searchsorted(to[order], frm - self.size, side="right")
        overwritten = 0
        # As the repetitions are apart, at most two of them overlap one repetition of *other*.
        for beside in (0, 1):
            near = first + beside
            writer = order[np.minimum(near, len(to) - 1)]
            apart = np.abs(to[writer] - frm)
            reader = np.arange(len(frm))
            earlier = (writer < reader) & (to[writer] != frm[writer])
            upwards = (writer == reader) & (to[writer] > frm)
            hit = (near < len(to)) & (apart < self.size) & (earlier | upwards)
            overwritten += int((self.size - apart)[hit].sum())
        return overwritten

    def begins_with(self, other: "Access") -> bool:
        """Return whether both accesses start at the same byte, and no later repetition of this access overlaps *other*."""
        if self == other:
            return True
        if self.allocation is not other.allocation or self.start != other.start:
            return False
        first = self._replace(steps=())
        return not (ByteRuns.of([self]) - ByteRuns.of([first])).meets(ByteRuns.of([other]))


@frozen(eq=False)
class ByteRuns:
    """Bytes of one allocation as ascending, disjoint and non-adjacent runs [lows[i], highs[i])."""

    lows: Ints
    highs: Ints

    @staticmethod
    def of(accesses: Iterable[Access]) -> "ByteRuns":
        """Return the union of the bytes of *accesses*, which all touch one allocation."""
        lows, highs = [NO_INTS], [NO_INTS]
        for access in accesses:
            starts = access.starts
            lows.append(starts)
            highs.append(starts + access.size)
        return ByteRuns.joined(np.concatenate(lows), np.concatenate(highs))

    @staticmethod
    def joined(lows: Ints, highs: Ints) -> "ByteRuns":
        """Return the union of the ranges [lows[i], highs[i]), which may come in any order and overlap."""
        nonempty = lows < highs
        lows, highs = lows[nonempty], highs[nonempty]
        order = np.argsort(lows, kind="stable")
        # A long range may reach beyond several later ones.
        lows, highs = lows[order], np.maximum.accumulate(highs[order])
        first = np.r_[True, lows[1:] > highs[:-1]][: len(lows)]
        last = np.r_[first[1:], True][: len(lows)]
        return ByteRuns(lows[first], highs[last])

    @property
    def nbytes(self) -> int:
        """Number of bytes in all runs."""
        return int((self.highs - self.lows).sum())

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.lows.tolist(), self.highs.tolist(), strict=True)

    def __and__(self, other: "ByteRuns") -> "ByteRuns":
        """Return the bytes in both sets."""
        # Runs are sorted and disjoint, so each run here overlaps a contiguous range [first, behind) of the
        # other's runs.
        first = np.searchsorted(other.highs, self.lows, side="right")
        behind = np.searchsorted(other.lows, self.highs, side="left")
        count = np.maximum(behind - first, 0)
        mine = np.repeat(np.arange(len(count)), count)
        theirs = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + first[mine]
        return ByteRuns(
            np.maximum(self.lows[mine], other.lows[theirs]), np.minimum(self.highs[mine], other.highs[theirs])
        )

    def __or__(self, other: "ByteRuns") -> "ByteRuns":
        """Return the bytes in either set."""
        return ByteRuns.joined(np.r_[self.lows, other.lows], np.r_[self.highs, other.highs])

    def __sub__(self, other: "ByteRuns") -> "ByteRuns":
        """Return the bytes of this set that are not in *other*."""
        if not self.lows.size or not other.lows.size:
            return self
        # Intersect with the gaps between the other's runs, extended to the ends of both sets.
        gap_lows = np.r_[min(self.lows[0], other.lows[0]), other.highs]
        gap_highs = np.r_[other.lows, max(self.highs[-1], other.highs[-1])]
        nonempty = gap_lows < gap_highs
        return self & ByteRuns(gap_lows[nonempty], gap_highs[nonempty])

    def meets(self, other: "ByteRuns") -> bool:
        """Return whether the two sets share a byte."""
        return bool((self & other).lows.size)


def _reach(steps: Steps) -> tuple[int, int]:
    """Return the lowest and highest offset of a repetition, relative to the first one (bytes)."""
    low = sum(min(0, stride * (count - 1)) for stride, count in steps)
    high = sum(max(0, stride * (count - 1)) for stride, count in steps)
    return low, high


def _interlaced(size: int, inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    """Return whether two overlapping combs of runs of *size* bytes share no byte, because the runs of each lie in gaps of the other."""
    (near, few), (far, many) = inner, outer
    # The distance from each outer start to the inner run before it and, if there is one, to the inner run
    # after it.
    rest = np.arange(1, many) * far
    steps_back = np.minimum(rest // near, few - 1)
    rest -= steps_back * near
    rest[steps_back < few - 1] = np.minimum(rest, near - rest)[steps_back < few - 1]
    return bool((rest >= size).all())


def _first_in_common(a: Ints, size_a: int, b: Ints, size_b: int) -> tuple[int, int] | None:
    """Return the first bytes that runs at *a* and runs at *b* share. The starts are sorted; each side has one run size."""
    behind = np.searchsorted(b, a + size_a)  # runs of b that begin before the end of each run of a
    last = np.where(behind > 0, b[np.maximum(behind - 1, 0)], np.iinfo(np.int64).min // 2) if len(b) else b
    hits = np.flatnonzero((behind > 0) & (last + size_b > a)) if len(b) else NO_INTS
    if not len(hits):
        return None
    n = int(hits[0])
    m = int(np.searchsorted(b, int(a[n]) - size_b, side="right"))  # the first run of b that reaches a[n]
    low, high = max(int(a[n]), int(b[m])), min(int(a[n]) + size_a, int(b[m]) + size_b)
    return low, high


# -- the last writer of each byte, and the writer whose bytes it overwrote; Python and C use the same layout
# ----

WORD = 8  # bytes stored for each byte: two integers of 16 bits and one of 32
MOST_WRITERS = (1 << 16) - 1  # the largest writer id in 16 bits; 0 means no writer


class WrittenBytes:
    """For each of *nbytes* bytes: its last writer, the writer before, and the id of the source location of the last write.

    Ids of writers start at 1. The three tables lie one after the other, in the layout of `screen.h`
    (``written_``).
    """

    def __init__(self, nbytes: int) -> None:
        self.table = np.zeros(WORD * nbytes, np.uint8)
        self.last = self.table[: 2 * nbytes].view(np.uint16)
        self.lost_of = self.table[2 * nbytes : 4 * nbytes].view(np.uint16)
        self.place = self.table[4 * nbytes :].view(np.int32)

    def store(self, access: Access, who: int, place: int) -> None:
        """Record that writer *who* wrote the bytes of *access* at location *place*."""
        at = _indices(access)
        last = self.last[at]
        # A second store by the same writer must not hide whose bytes its first store overwrote.
        self.lost_of[at] = np.where(last == who, self.lost_of[at], last)
        self.last[at] = who
        self.place[at] = place

    def lost(self, access: Access, who: int) -> list[tuple[int, int, int]]:
        """Return who overwrote the bytes that *who* wrote and now reads in *access*: (writer, location, number of bytes) each."""
        at = _indices(access)
        last = self.last[at]
        gone = (self.lost_of[at] == who) & (last != who)
        if not gone.any():
            return []
        pairs, counts = np.unique(
            np.stack([last[gone].astype(np.int32), self.place[at][gone]]), axis=1, return_counts=True
        )
        return [(int(p[0]), int(p[1]), int(n)) for p, n in zip(pairs.T, counts, strict=True)]


def _indices(access: Access) -> Any:
    if not access.steps:
        return slice(access.start, access.start + access.size)
    return (access.starts[:, None] + np.arange(access.size)).reshape(-1)
