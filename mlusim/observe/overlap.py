"""Whether two accesses touch a byte in common; exact for strided ones."""

from typing import Any

import numpy as np

from mlusim.machine.events import Access

Ints = np.ndarray[Any, np.dtype[np.int64]]


def common(first: Access, second: Access) -> tuple[int, int] | None:
    """Return the first run of bytes [low, high) that both touch, or None."""
    if first.allocation is not second.allocation:
        return None
    if not first.steps and not second.steps:
        low = max(first.start, second.start)
        high = min(first.start + first.size, second.start + second.size)
        return (low, high) if low < high else None
    a, b = first.span, second.span
    if a[0] >= b[1] or b[0] >= a[1]:
        return None
    return _runs_in_common(starts(first), first.size, starts(second), second.size)


def starts(access: Access) -> Ints:
    """Return the first byte of every repetition of *access*, ascending."""
    found = np.array([access.start], np.int64)
    for stride, count in access.steps:
        found = (found[:, None] + stride * np.arange(count, dtype=np.int64)).reshape(-1)
    return np.sort(found)


def _runs_in_common(a: Ints, size_a: int, b: Ints, size_b: int) -> tuple[int, int] | None:
    """Return the first overlap of runs at *a* with runs at *b*; equal sizes within each, sorted starts."""
    behind = np.searchsorted(b, a + size_a)  # runs of b that begin before the end of each run of a
    last = np.where(behind > 0, b[np.maximum(behind - 1, 0)], np.iinfo(np.int64).min // 2)
    hits = np.flatnonzero((behind > 0) & (last + size_b > a))
    if not len(hits):
        return None
    n = int(hits[0])
    m = int(np.searchsorted(b, int(a[n]) - size_b, side="right"))  # the first run of b that reaches a[n]
    low, high = max(int(a[n]), int(b[m])), min(int(a[n]) + size_a, int(b[m]) + size_b)
    return low, high
