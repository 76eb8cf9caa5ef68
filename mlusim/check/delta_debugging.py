"""The smallest part of a list that still does what the whole list does: delta debugging."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def smallest(items: Sequence[T], still: Callable[[Sequence[T]], bool], tries: int) -> tuple[T, ...]:
    """Remove items as long as *still* is true of the rest, in at most *tries* tries.

    Where the tries suffice, no single item of the result can be left out.  *still* is true of *items*.
    """
    kept, pieces = tuple(items), 2
    while kept and tries > 0:
        size = -(-len(kept) // pieces)
        parts = [kept[at : at + size] for at in range(0, len(kept), size)]
        candidates = [*parts, *_complements(parts)] if len(parts) > 2 else parts
        candidates = candidates if len(kept) > 1 else [()]
        found = None
        for candidate in candidates:
            tries -= 1
            if still(candidate):
                found = candidate
                break
            if tries <= 0:
                break
        if found is not None:
            pieces = max(pieces - 1, 2) if len(found) > size else 2
            kept = tuple(found)
        elif size == 1:
            break
        else:
            pieces = min(2 * pieces, len(kept))
    return kept


def _complements(parts: Sequence[tuple[T, ...]]) -> list[tuple[T, ...]]:
    """Return everything but one part, for each part."""
    return [
        tuple(item for m, other in enumerate(parts) if m != n for item in other) for n in range(len(parts))
    ]
