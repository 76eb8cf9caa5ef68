"""How intervals of time lie to each other: joined, and side by side; those of many owners are worked out together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.time.pace import Times

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@frozen(eq=False)
class Spans:
    """Intervals in us, and whose each is."""

    owner: Numbers
    starts: Times
    ends: Times


def joined(spans: Spans) -> Spans:
    """The union of the intervals of each owner, in order."""
    order = np.lexsort((spans.starts, spans.owner))
    owner, starts, ends = spans.owner[order], spans.starts[order], spans.ends[order]
    by_end = np.lexsort((ends, owner))
    rank = np.empty(len(ends), np.int64)
    rank[by_end] = np.arange(len(ends))  # every end of a later owner ranks above those of an earlier one
    reach = ends[by_end][np.maximum.accumulate(rank)]
    fresh = np.ones(len(starts), bool)
    fresh[1:] = (starts[1:] > reach[:-1]) | (owner[1:] != owner[:-1])
    last = np.concatenate([fresh[1:], np.ones(min(1, len(fresh)), bool)])
    return Spans(owner[fresh], starts[fresh], reach[last])


def coverage(spans: Sequence[Spans], owners: int) -> tuple[Times, Times]:
    """For how long at least one of the intervals of each owner lasts, and at least two."""
    owner = np.concatenate([s.owner for s in spans] * 2)
    when = np.concatenate([*(s.starts for s in spans), *(s.ends for s in spans)])
    change = np.repeat(np.array([1, -1]), len(owner) // 2)
    order = np.lexsort((when, owner))
    lasting, count, owner = np.diff(when[order]), np.cumsum(change[order])[:-1], owner[order][:-1]
    return tuple(  # type: ignore[return-value]
        np.bincount(owner[count >= least], lasting[count >= least], owners) for least in (1, 2)
    )
