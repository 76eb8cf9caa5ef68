"""Milestones of a launch: what a second run may begin with, or pass unwatched, on its way to a moment.

A mark says which moment the n-th rare event (a task begins or ends, a wait begins) is, so that a run may
go unwatched, at full speed, up to a mark before the moment asked for.  A snapshot holds the tensors at a
moment at which no task was under way, so that a run may leave out everything before it.
"""

from bisect import bisect_right, insort
from typing import NamedTuple

from attrs import define, field, frozen

from mlusim.memory.allocation import Allocation, Bytes

MARKS = 1 << 16  # marks kept of a launch; every other one is given up when there are more
SNAPSHOTS = 12  # snapshots kept of a launch
SPACING = 2000  # moments between two snapshots, at least


class Mark(NamedTuple):
    """The moment of the *rare*-th rare event, and how many groups of tasks had ended before it where no more than one was under way.

    -1 groups: several were under way.  Of the next group *members* cores had ended besides, the first to begin, and the others have
    nothing to do with them.
    """

    moment: int
    rare: int
    groups: int = -1
    members: int = 0


@frozen(eq=False)
class Snapshot:
    """The launch just before *moment*, at which a group of tasks begins and no other is under way.

    *rare* counts the rare events before it, *groups* the groups that had ended, *finished* their cores,
    *ended* are the names of these, *pieces* counts what the kernels had printed, and *printed* are the lines of
    ``__bang_printf``.
    """

    moment: int
    rare: int
    groups: int
    finished: int
    tensors: dict[Allocation, Bytes]
    ended: frozenset[str] = frozenset()
    pieces: int = 0
    printed: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return sum(raw.size for raw in self.tensors.values())


@define(eq=False)
class Milestones:
    """The marks and snapshots of one launch; snapshots take at most *room* bytes."""

    room: int
    _marks: list[Mark] = field(factory=list, init=False)
    _snapshots: list[Snapshot] = field(factory=list, init=False)
    _stride: int = field(default=1, init=False)
    _spacing: int = field(default=SPACING, init=False)

    def note(self, mark: Mark) -> None:
        """Note a rare event at which nothing is in flight."""
        if mark.rare % self._stride:
            return
        if not self._marks or mark.moment > self._marks[-1].moment:
            self._marks.append(mark)
        else:
            at = bisect_right(self._marks, (mark.moment, 1 << 62))
            if at and self._marks[at - 1].moment == mark.moment:
                return
            insort(self._marks, mark)
        if len(self._marks) > MARKS:
            self._marks, self._stride = self._marks[1::2], self._stride * 2

    def mark(self, moment: int) -> Mark | None:
        """Return the last mark at or before *moment*."""
        at = bisect_right(self._marks, (moment, 1 << 62))
        return self._marks[at - 1] if at else None

    def wanted(self, moment: int, nbytes: int) -> bool:
        """Return whether a snapshot of *nbytes* bytes should be made at *moment*."""
        last = self._snapshots[-1].moment if self._snapshots else 0
        return moment >= last + self._spacing and 2 * nbytes <= self.room

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot that is later than all others; give up every other one where they are too many."""
        self._snapshots.append(snapshot)
        total = sum(one.nbytes for one in self._snapshots)
        if len(self._snapshots) > SNAPSHOTS or total > self.room:
            self._snapshots, self._spacing = self._snapshots[1::2], self._spacing * 2

    def forget(self) -> None:
        """Drop the snapshots; marks stay."""
        self._snapshots, self._spacing = [], SPACING

    def snapshot(self, moment: int) -> Snapshot | None:
        """Return the last snapshot at or before *moment*."""
        before = [one for one in self._snapshots if one.moment <= moment]
        return before[-1] if before else None
