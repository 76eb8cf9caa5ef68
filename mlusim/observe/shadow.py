"""`Shadow`: which bytes of an allocation have a value, and the writes near them."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mlusim.machine.hub import Effect
from mlusim.machine.observed import Step
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, Mask
from mlusim.memory.space import GDRAM

MOST = 256  # writes of bytes without a value that are recorded separately


class Write(NamedTuple):
    """The last write of one statement to an allocation; ``whole`` if every byte of it had a value."""

    access: Access
    effect: Effect
    whole: bool = True

    @property
    def step(self) -> Step:
        """The step that wrote the bytes."""
        return self.effect.step

    @property
    def number(self) -> int:
        """The number of the effect that wrote the bytes."""
        return self.effect.number

    def covers(self, offset: int) -> bool:
        """Return whether the byte at *offset* is between its first and its last byte."""
        low, high = self.access.span
        return low <= offset < high


class Shadow:
    """One flag per byte of an allocation, stored only while some byte has no value.

    Every byte without a value is in [``low``, ``high``), so that most questions need only two
    comparisons.  ``writes`` has the last write of each statement.
    """

    __slots__ = ("_loose", "_mask", "allocation", "high", "low", "writes")

    def __init__(self, allocation: Allocation, *, filled: bool) -> None:
        self.allocation = allocation
        self._mask: Mask | None = None  # None: no byte in [low, high) has a value
        self._loose = False  # whether low and high may be further apart than necessary
        self.low, self.high = (0, 0) if filled else (0, allocation.nbytes)
        self.writes: dict[Hashable, tuple[Access, Effect, bool]] = {}

    def copy(self) -> "Shadow":
        """Return a copy of the flags, without the writes."""
        other = Shadow(self.allocation, filled=True)
        other.low, other.high, other._loose = self.low, self.high, self._loose
        other._mask = None if self._mask is None else self._mask.copy()
        return other

    @property
    def full(self) -> bool:
        """True if every byte has a value."""
        return self.low >= self.high

    def lacks(self, access: Access) -> bool:
        """Return whether some byte of *access* has no value."""
        low, high = access.span if access.steps else (access.start, access.start + access.size)
        if low >= self.high or high <= self.low:
            return False
        if not access.rows_of(self._flags()).all():
            return True
        self._tighten()
        return False

    def flags(self, access: Access) -> Mask:
        """Return the flags of *access*, flat, in the order in which it accesses the bytes."""
        if self.full:
            return np.ones(access.nbytes, np.bool_)
        return access.rows_of(self._flags()).reshape(-1)

    def unfilled(self) -> tuple[int, int, Mask | None]:
        """Return the range [low, high) that contains all bytes without a value, and the allocation's flags; None if no byte in the range has a value."""
        return self.low, self.high, self._mask

    def fill(self, access: Access) -> bool:
        """Note that every byte of *access* has a value now; return whether that changed a flag."""
        low, high = access.span if access.steps else (access.start, access.start + access.size)
        if low >= self.high or high <= self.low:
            return False
        if self._mask is None and not access.steps and (low <= self.low or high >= self.high):
            if low <= self.low:
                self.low = high
            else:
                self.high = low
            if self.low >= self.high:
                self.low = self.high = 0
            return True
        view = access.rows_of(self._flags())
        if view.all():
            return False
        view[...] = True
        self._loose = True
        if low <= self.low:
            self._tighten()
        return True

    def put(self, access: Access, flags: Mask) -> bool:
        """Set the flags of *access* to *flags*, in the order in which it accesses the bytes; return whether that changed a flag."""
        if flags.all():
            return self.fill(access)
        view = access.rows_of(self._flags())
        flags = flags.reshape(view.shape)
        if np.array_equal(view, flags):
            return False
        view[...] = flags
        low, high = access.span
        self.low, self.high = (low, high) if self.full else (min(low, self.low), max(high, self.high))
        self._loose = True
        return True

    def wrote(self, access: Access, effect: Effect, *, whole: bool = True) -> None:
        """Record the write as the last one of its statement, and whether all written bytes had a value.

        If it wrote bytes without a value, record the last such write of each core at each offset, up to `MOST`.
        """
        site = effect.step.site
        key: Hashable = site if whole or len(self.writes) >= MOST else (site, effect.core, access.start)
        self.writes[key] = access, effect, whole
        # Record the write that reached furthest, too: it is next to bytes that were never stored.
        if self.allocation.space is GDRAM:
            held = self.writes.get((site, None))
            if held is None or access.span[1] > held[0].span[1]:
                self.writes[site, None] = access, effect, whole

    def log(self) -> list[Write]:
        """Return the last write of each statement."""
        return [Write(*write) for write in self.writes.values()]

    def _flags(self) -> Mask:
        """Return the flags of all bytes of the allocation."""
        if self._mask is None:
            self._mask = np.ones(self.allocation.nbytes, np.bool_)
            self._mask[self.low : self.high] = False
        return self._mask

    def _tighten(self) -> None:
        """Move low and high to the bytes that still have no value."""
        if not self._loose or self._mask is None:
            return
        self._loose = False
        flags = self._mask[self.low : self.high]
        if flags.all():
            self._mask, self.low, self.high = None, 0, 0
        else:  # both searches end at the first byte without a value
            self.high = self.low + _last(flags) + 1
            self.low += int(flags.argmin())


def _last(flags: Mask) -> int:
    """Return the index of the last False; there must be one."""
    stop, size = len(flags), 4096
    while flags[max(0, stop - size) : stop].all():
        stop, size = stop - size, 2 * size
    start = max(0, stop - size)
    return start + int(np.flatnonzero(~flags[start:stop])[-1])


# -- bytes of discrete atomics: each address is chosen by data and has sources of its own --------------


def index_reads(effect: Effect) -> int:
    """Return how many of the first reads of the discrete atomic *effect* belong to its offsets and mask."""
    masked, from_memory = effect.arguments[4] is not None, hasattr(effect.arguments[3], "view")
    runs = (len(effect.reads) - masked - _updates(effect)) // (1 + from_memory)
    return runs + masked


def atomics(effect: Effect, masks: Sequence[Mask], places: int) -> list[Mask]:
    """Return the flags of the bytes that the discrete atomic *effect* writes; *masks* are those of its reads.

    An updated element has a value if it had one before and all its sources have one; an element returned to the
    kernel has a value if the updated element had one before or, if several lanes update it, has one after.
    """
    dst, base, offset = effect.arguments[:3]
    size, updates = base.view.itemsize, _updates(effect)
    results = effect.writes[updates:]
    before = _each(masks[len(masks) - updates :], size)
    chosen = np.array([(access.start - dst.offset) // size for access in results], np.int64)
    _, place, times = np.unique(
        offset.view.array[offset.index + chosen], return_inverse=True, return_counts=True
    )
    source = _each(masks[places : len(masks) - updates], size)
    after = before.copy()
    if len(source):
        np.logical_and.at(after, place, source)
    returned = np.where(times[place] > 1, after[place], before[place])
    return [np.full(size, flag) for flag in (*after, *returned)]


def _updates(effect: Effect) -> int:
    """Return how many elements the instruction updates."""
    base = effect.arguments[1].view.allocation
    return sum(access.allocation is base for access in effect.writes)


def _each(flags: Sequence[Mask], size: int) -> Any:
    return np.concatenate(flags).reshape(-1, size).all(axis=1) if len(flags) else np.zeros(0, np.bool_)
