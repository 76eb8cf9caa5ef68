"""Which bytes have a value behind discrete atomics: places that data choose, each with sources of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlusim.machine.events import Effect
from mlusim.observe.shadow import Mask


def index_reads(effect: Effect) -> int:
    """Return how many reads of the discrete atomic *effect*, the first ones, say where: offsets and mask."""
    masked, from_memory = effect.arguments[4] is not None, hasattr(effect.arguments[3], "view")
    runs = (len(effect.reads) - masked - _updates(effect)) // (1 + from_memory)
    return runs + masked


def atomics(effect: Effect, known: Sequence[Mask], places: int) -> list[Mask]:
    """Return the flags of what the discrete atomic *effect* writes; *known* are those of its reads.

    A place has a value where it had one before and all that is done to it has; what the kernel gets back
    is what stood there, of a place that several elements change the same as the place.
    """
    dst, base, offset = effect.arguments[:3]
    size, updates = base.view.itemsize, _updates(effect)
    results = effect.writes[updates:]
    before = _each(known[len(known) - updates :], size)
    chosen = np.array([(access.start - dst.offset) // size for access in results], np.int64)
    _, place, times = np.unique(
        offset.view.array[offset.index + chosen], return_inverse=True, return_counts=True
    )
    source = _each(known[places : len(known) - updates], size)
    after = before.copy()
    if len(source):
        np.logical_and.at(after, place, source)
    found = np.where(times[place] > 1, after[place], before[place])
    return [np.full(size, flag) for flag in (*after, *found)]


def _updates(effect: Effect) -> int:
    """Return how many elements the instruction changes."""
    base = effect.arguments[1].view.allocation
    return sum(access.allocation is base for access in effect.writes)


def _each(flags: Sequence[Mask], size: int) -> Any:
    """Return one flag for each element of *size* bytes."""
    return np.concatenate(flags).reshape(-1, size).all(axis=1) if len(flags) else np.zeros(0, np.bool_)
