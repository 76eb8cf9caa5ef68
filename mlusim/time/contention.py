"""From the time that cores take by themselves to the time on the board, where they share the off-chip memory.

What a task is longer than by itself goes to its copies, evenly, and to nothing else: a vector instruction
takes what it takes.  Cores that meet at barriers share one time, others each have their own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.time.intervals import ON_IO, ON_MOVE, ON_SCALAR, ON_STORE, WAITING, Pieces
from mlusim.time.log import MEET
from mlusim.time.pace import Times
from mlusim.time.row_times import Spans, Track, joined
from mlusim.time.timing import TaskSpan

WAITS_ALWAYS = (WAITING,)  # a wait lasts until what it is for is done


@frozen(eq=False)
class Warp:
    """Time by itself, ``alone``, and on the board, ``there``; ``where`` are the places whose pieces last longer."""

    alone: Times
    there: Times
    where: tuple[int, ...]

    def __call__(self, times: Any) -> Any:
        """*times* by itself, on the board."""
        return np.interp(times, self.alone, self.there)

    def ends(self, found: Pieces) -> Any:
        """Return the times at which *found* end on the board."""
        longer = np.isin(found.where, (*self.where, *WAITS_ALWAYS))
        return np.where(longer, self(found.end), self(found.start) + found.end - found.start)


def warps(tracks: Sequence[Track], found: Sequence[Pieces], spans: Sequence[TaskSpan]) -> list[Warp]:
    """Return the time of each core of a task or union, whose pieces are *found* and which runs in *spans*."""
    if any((track.kinds == MEET).any() for track in tracks):
        alone = max(track.end for track in tracks)
        begin, end = min(s.start_us for s in spans), max(s.end_us for s in spans)
        return [_warp(found, alone, begin, end)] * len(tracks)
    return [
        _warp([own], track.end, span.start_us, span.end_us)
        for track, own, span in zip(tracks, found, spans, strict=True)
    ]


def _warp(found: Sequence[Pieces], alone: float, begin: float, end: float) -> Warp:
    """Return the time on the board: what exceeds *alone* goes to the pieces that use the memory, as far as there are any."""
    where = next(
        # Copies use the memory, else scalar accesses.
        (places for places in ((ON_IO, ON_STORE), (ON_SCALAR,)) if _any(found, places)),
        tuple(range(ON_MOVE + 1)),
    )
    chosen = [own.chosen(np.isin(own.where, where)) for own in found]
    starts, ends = np.concatenate([c.start for c in chosen]), np.concatenate([c.end for c in chosen])
    together = joined(Spans(np.zeros(len(starts), np.int64), starts, ends))
    low, high = together.starts, together.ends
    extra, total = max(0.0, end - begin - alone), float((high - low).sum())
    if not extra or not total:
        return Warp(np.array([0.0, max(alone, 1e-12)]), np.array([begin, max(end, begin)]), where)
    points = np.concatenate([[0.0], np.stack([low, high], axis=1).reshape(-1), [max(alone, high[-1])]])
    gained = np.cumsum(high - low) * (extra / total)
    late = np.stack([np.concatenate([[0.0], gained[:-1]]), gained], axis=1).reshape(-1)
    return Warp(points, begin + points + np.concatenate([[0.0], late, [extra]]), where)


def _any(found: Sequence[Pieces], places: tuple[int, ...]) -> bool:
    return any(np.isin(own.where, places).any() for own in found)
