"""The last-level cache: what a launch reads again and again comes from the off-chip memory once, while it fits.

The model is coarse (inferred): of the tensors of which more bytes are read than they have, the smallest are
held as far as they fit together; the first tasks to read one fetch it, all others find it.  Loads by scalar
code, a line each, find their lines where all tensors of the launch fit.  Stores are never held back.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mlusim.time.copy_costs import UNIT
from mlusim.time.log import LOADS

if TYPE_CHECKING:
    from mlusim.time.task_work import TaskWork


def found_in_cache(groups: "Sequence[Sequence[TaskWork]]", capacity: int) -> list[float]:
    """Return the bytes that each of *groups*, in the order of their start, finds in a cache of *capacity* bytes."""
    tensors, read = _tensors(task for group in groups for task in group)
    left = _held(tensors, read, capacity)
    scalar = _scalar_share(groups, sum(tensors.values()), capacity)
    found = []
    for group in groups:
        hits = 0.0
        for task in group:
            for address, _, nbytes in task.reads:
                if address in left:
                    fetched = min(nbytes, left[address])
                    left[address] -= fetched
                    hits += nbytes - fetched
            if scalar:
                hits += _scalar_bytes(task) * scalar
        found.append(hits)
    return found


def _tensors(tasks: "Iterable[TaskWork]") -> tuple[dict[int, int], dict[int, int]]:
    """Return, by address, the bytes of each tensor and those that all *tasks* read of it."""
    sizes: dict[int, int] = {}
    read: dict[int, int] = {}
    for task in tasks:
        for address, size, nbytes in task.reads:
            sizes[address] = size
            read[address] = read.get(address, 0) + nbytes
    return sizes, read


def _held(sizes: dict[int, int], read: dict[int, int], capacity: int) -> dict[int, int]:
    """Return the tensors that are read again and held, by address, with the bytes that have to be fetched once."""
    again = sorted((size, address) for address, size in sizes.items() if read[address] > size)
    held: dict[int, int] = {}
    for size, address in again:
        if size > capacity:  # the smallest come first, so that none of the others fits either
            break
        capacity -= size
        held[address] = size
    return held


def _scalar_share(groups: "Sequence[Sequence[TaskWork]]", whole: int, capacity: int) -> float:
    """Return the share of scalar loads that hit the cache: all but one fetch of every tensor, where all tensors fit."""
    if not capacity or whole > capacity:
        return 0.0
    nbytes = sum(_scalar_bytes(task) for group in groups for task in group)
    return max(0.0, 1 - whole / nbytes) if nbytes else 0.0


def _scalar_bytes(task: "TaskWork") -> int:
    return UNIT * int(task.log.total[LOADS])
