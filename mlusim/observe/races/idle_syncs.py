"""Syncs that order nothing: what each one closed is held against everything that comes behind it.

A wait is of use when something behind it touches what it was the first to wait for, so that all idle
syncs may go at once.  A barrier is of use for that, too, or when the run without it would have a conflict
between tasks.
"""

from collections import deque
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mlusim.machine.observed import Effect, Site, Sync
from mlusim.observe.races.clocks import Clocks, Segment
from mlusim.observe.races.pipes import PipeOrder
from mlusim.observe.races.sharing import Sharing

if TYPE_CHECKING:
    from mlusim.machine.observed import Core

KEPT = 256  # syncs of a core whose use is still open; older ones count as of use


class SyncPlace(NamedTuple):
    """A sync at a place of the kernel."""

    name: str
    site: Site


class IdleSyncs:
    """Which syncs of a launch were executed, and which of them were of use."""

    def __init__(self) -> None:
        self.seen: dict[SyncPlace, int] = {}
        self.useful: set[SyncPlace] = set()
        self.barriers: set[SyncPlace] = set()
        self._behind: dict[Any, deque[tuple[SyncPlace, PipeOrder]]] = {}

    # -- what happens --------------------------------------------------------------------------

    def wait(self, core: "Core", place: SyncPlace, order: PipeOrder, pipes: Collection[str]) -> None:
        """Take note of a sync at *place*, before *order* learns of it."""
        self.seen[place] = self.seen.get(place, 0) + 1
        if place in self.useful:
            return
        closed = order.copy()
        closed.keep_only(pipes)
        if not closed.empty:
            entries = self._behind.setdefault(core, deque())
            entries.append((place, closed))
            if len(entries) > KEPT:
                self.useful.add(entries.popleft()[0])

    def issue(self, effect: Effect) -> None:
        """Ask which syncs *effect* needed."""
        entries = self._behind.get(effect.core)
        if not entries:
            return
        needed = {place for place, closed in entries if next(closed.clashes(effect), None) is not None}
        if needed:
            self.useful |= needed
            self._behind[effect.core] = deque(entry for entry in entries if entry[0] not in needed)

    def publish(self, core: "Core") -> None:
        """Let other tasks know *core*'s past: a sync that finished stores to shared memory was needed."""
        entries = self._behind.get(core, ())
        self.useful.update(place for place, closed in entries if closed.shared)

    def end(self, core: "Core") -> None:
        """Forget the past of *core*, whose task has ended."""
        self._behind.pop(core, None)

    # -- what came of it -----------------------------------------------------------------------

    def judge(self, sharing: Sharing, clocks: Clocks) -> None:
        """Find the barriers without which tasks would have a conflict."""
        for place in self.barriers - self.useful:
            if _needed(sharing, clocks.without(place)):
                self.useful.add(place)

    def idle(self) -> Iterator[tuple[SyncPlace, int]]:
        """Return the syncs that were of no use, and how often each was executed."""
        return ((place, count) for place, count in self.seen.items() if place not in self.useful)


def place_of_sync(sync: Sync, core: "Core") -> SyncPlace:
    """Return the place at which *core* is, in *sync*."""
    return SyncPlace(sync.name, Site(*core.site()))


def _needed(sharing: Sharing, segments: list[Segment]) -> bool:
    return any(
        next(sharing.conflicts(allocation, table, segments=segments), None) is not None
        for allocation, table in sharing.tables().items()
    )
