"""Barriers in two halves: a core arrives and goes on, and waits later, or another core does.

Inferred from their names: a barrier of an *id* is complete when *count* arrivals have come, and then
starts over.  Arriving finishes the core's own pipes, as every barrier does, so that what it did is over
for the cores that wait; waiting finishes nothing.  The n-th wait of a core at an id is for its n-th completion.
"""

from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.isa.declare import Refused
from mlusim.machine.events import Sync
from mlusim.machine.sync.barrier import Meeting, participants
from mlusim.time.log import ARRIVES, ROLE, WAITS_FOR

if TYPE_CHECKING:
    from mlusim.machine.core import Core


@define(eq=False)
class Half(Meeting):
    """One completion of the split barrier *ident*: the *number*-th meeting of the union, of *count* arrivals."""

    ident: int = 0
    number: int = 0
    count: int = 1
    waiting: list["Core"] = field(factory=list)

    @property
    def complete(self) -> bool:
        """True where all arrivals have come."""
        return len(self.arrived) >= self.count

    @property
    def missing(self) -> list["Core"]:
        """Those who have not arrived: first of all those who do not wait either."""
        left = [core for core in self.expected if core not in self.arrived]
        return [core for core in left if core not in self.waiting] or left

    @property
    def wanted(self) -> str:
        """How many arrivals have come of those that complete it, in words."""
        return f" ({len(self.arrived)} of {self.count} arrivals at barrier {self.ident} came)"


class SplitBarriers:
    """The split barriers of one union."""

    def __init__(self) -> None:
        self._halves: dict[Any, list[Half]] = {}
        self._waited: dict[Any, int] = {}

    def arrive(self, core: "Core", name: str, scope: str, ident: int, count: int) -> None:
        """Count an arrival of *core*, and let those go on who wait for the last one."""
        halves = self._at(core, scope, ident)
        if not halves or halves[-1].complete:
            halves.append(self._new(core, name, scope, ident, count))
        half = halves[-1]
        _agree(half, count)
        half.arrived.append(core)
        core.met(half.number, count + ARRIVES * ROLE)
        _tell(core, name, "arrive", half)
        if half.complete:
            for other in half.waiting:
                other.waiting = None
            core.session.scheduler.wake(half.waiting)
            half.waiting = []

    def wait(self, core: "Core", name: str, scope: str, ident: int, count: int) -> None:
        """Let *core* wait until the completion that it has not waited for yet."""
        halves = self._at(core, scope, ident)
        turn = self._waited.get((scope, ident, core), 0)
        if turn == len(halves):
            halves.append(self._new(core, name, scope, ident, count))
        half = halves[turn]
        _agree(half, count)
        if not half.complete:
            if core.hub.block is not None:
                core.hub.block(core, f"{name}: {len(half.arrived)} of {count} arrived")
            half.name = name
            half.waiting.append(core)
            core.waiting = half
            core.session.scheduler.block(core)
        self._waited[scope, ident, core] = turn + 1
        core.met(half.number, count + WAITS_FOR * ROLE)
        _tell(core, name, "wait", half)

    @property
    def begun(self) -> list[Half]:
        """Return the barriers at which some have arrived or wait, and which are not complete."""
        return [half for halves in self._halves.values() for half in halves if not half.complete]

    def _at(self, core: "Core", scope: str, ident: int) -> list[Half]:
        where = core.cluster.number if scope == "cluster" and core.cluster is not None else None
        return self._halves.setdefault((scope, where, ident), [])

    @staticmethod
    def _new(core: "Core", name: str, scope: str, ident: int, count: int) -> Half:
        expected = participants(core, scope)
        return Half(name, scope, expected, ident=ident, number=core.union.next_meeting(), count=count)


def half_barrier(core: "Core", name: str, scope: str, ident: int, count: int, *, waits: bool) -> None:
    """Arrive at a barrier in two halves, or wait for it; in a Block task a wait for the own pipes."""
    if core.hub.control is not None:
        core.hub.control(core, name)
    union = core.union
    if not union.block:
        _check(core, scope, ident, count)
    if union.block or not waits:
        core.empty()
    if union.block:
        union.arrive(core, name, scope)
    elif waits:
        union.splits.wait(core, name, scope, ident, count)
    else:
        union.splits.arrive(core, name, scope, ident, count)


def _check(core: "Core", scope: str, ident: Any, count: Any) -> None:
    """Refuse an *ident* or a *count* that no barrier of *scope* has."""
    most = len(participants(core, scope))
    for name, value, low, high in (("barrier_id", ident, 0, None), ("count", count, 1, most)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < low or (high is not None and value > high):
            legal = f"{low} or more" if high is None else f"{low} to {high}, the cores that can arrive here"
            raise Refused(f"{name} = {value!r}", operand=name, legal=legal)


def _agree(half: Half, count: int) -> None:
    if half.count != count:
        others = [*half.arrived, *half.waiting]
        raise Refused(
            f"count = {count} here and {half.count} on {others[0].place.label}",
            operand="count",
            legal="the same count on every core that arrives or waits",
        )


def _tell(core: "Core", name: str, what: str, half: Half) -> None:
    if core.hub.sync is not None:
        core.hub.sync(Sync(name, core, (), what, (core,), (core.union.number, half.number)))
