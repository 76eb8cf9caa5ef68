"""Whether an access touches bytes that are watched."""

import numpy as np

from mlusim.machine.events import Access


def touches(access: Access, low: int, high: int) -> bool:
    """Whether *access* touches a byte of [low, high) of its allocation."""
    if not access.steps:
        return access.start < high and low < access.start + access.size
    first, stop = access.span
    if first >= high or stop <= low:
        return False
    starts = np.array([access.start], np.int64)
    for n, (stride, count) in enumerate(access.steps):
        starts = (starts[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
        inner = Access(access.allocation, 0, access.size, access.steps[n + 1 :]).span
        starts = starts[(starts + inner[0] < high) & (starts + inner[1] > low)]
    return bool(starts.size)
