"""Cores that run one Block task after another, and one union after another: the state that is renewed for each task or kept, and the plans of their buffers."""

import sys
from collections.abc import Hashable, Sequence
from typing import Any

from mlusim.machine.observed import TaskPlace
from mlusim.memory.allocation import Allocation
from mlusim.memory.regions import PlacedPlan, Placement, RegionMap
from mlusim.time.quantities import LOADS, OPENING, STORES, WORK, Head

# The plans of a core's buffers: the launch's plan, or the plans that the kernel itself places.


class Placements:
    """The places of the regions of plans in the memories that *core* of the launch *owner* can access.

    A plan that is placed again at the same byte replaces the previous one, as the next iteration of a loop over tiles
    does; so does a plan that overlaps bytes of another, unless it lies in one region of the other.
    """

    def __init__(self, owner: Any, core: object) -> None:
        self._owner, self._core = owner, core
        self._given: RegionMap | None = owner.request.options.layout  # until a buffer for it is declared
        self._planned: dict[tuple[Allocation, int, str], PlacedPlan | RegionMap] = {}
        self._changed = False
        self._live: tuple[Placement, ...] = ()

    def declared(self, allocation: Allocation) -> None:
        """Use *allocation*, just declared in NRAM, as the buffer of the launch's plan if it has space for a stage of it."""
        layout = self._given
        if layout is not None and allocation.nbytes >= min(stage.used for stage in layout.stages):
            self._given = None
            self._planned[allocation, 0, layout.plan] = layout
            self._tell()

    def place(self, allocation: Allocation, start: int, planned: PlacedPlan) -> None:
        """Record that the kernel places *planned* from the byte *start* of *allocation* on."""
        key = allocation, start, planned.name
        self._planned.pop(key, None)
        self._planned[key] = planned
        self._tell()

    def _tell(self) -> None:
        self._changed = True
        place = self._owner.hub.place
        if place is not None:
            before = [(p.allocation, p.start, p.layout) for p in self._live]
            after = self.live
            if before != [(p.allocation, p.start, p.layout) for p in after]:
                place(self._core, after)

    @property
    def live(self) -> tuple[Placement, ...]:
        """Return every active plan, the latest last."""
        if self._changed:
            live: list[Placement] = []
            for (allocation, start, _), planned in self._planned.items():
                fresh = Placement(allocation, start, self._layout(planned))
                live = [p for p in live if not _replaces(fresh, p)] + [fresh]
            self._live = tuple(live)
            counting = {(p.allocation, p.start, p.layout.plan) for p in live}
            self._planned = {key: p for key, p in self._planned.items() if key in counting}
            self._changed = False
        return self._live

    def _layout(self, planned: PlacedPlan | RegionMap) -> RegionMap:
        if isinstance(planned, RegionMap):
            return planned
        layouts: dict[Hashable, RegionMap] = self._owner.layouts
        if planned.key not in layouts:
            layouts[planned.key] = planned.layout(self._owner.board)
        return layouts[planned.key]

    def label(self, allocation: Allocation, offset: int) -> str:
        """Return the regions at byte *offset* of *allocation*, as in a pointer's label; empty if there are none."""
        inside = [p for p in self.live if p.allocation is allocation]
        names = dict.fromkeys(
            f"{region.name}+{offset - p.start - region.offset:#x}"
            for p in inside
            for _, region in p.regions_at(offset)
        )
        return f", region {' or '.join(names)}" if names else ""


def _replaces(fresh: Placement, old: Placement) -> bool:
    """Return whether placing *fresh* ends *old*: they share bytes, and neither lies in one region of the other."""
    if fresh.allocation is not old.allocation or fresh.end <= old.start or old.end <= fresh.start:
        return False
    return not (_inside(fresh, old) or _inside(old, fresh))


def _inside(inner: Placement, outer: Placement) -> bool:
    return any(
        inner.end <= outer.start + region.offset + region.bytes for _, region in outer.regions_at(inner.start)
    )


KEPT = 2  # references to an `Mlu` held only by its core: the core's, and the call's own


def repeats(core: Any) -> bool:
    """Return whether *core* may run further tasks: without observers, for a kernel that keeps no objects of earlier tasks.

    A core in C whose task is the only one may, too, in the next launch.
    """
    machine, union = core.machine, core.union
    together = len(union.cores) - len(union.clusters) * machine.board.arch.memory_core
    more = core.mlu.taskDim > together or not core.in_python
    return bool(machine.alone and more and machine.request.options.layout is None)


def run(core: Any, kernel: Any, arguments: Sequence[Any]) -> None:
    """Run the body of *kernel* on *core*, for this task and, if that can be prepared, for the following ones."""
    if kernel.prepared is None:
        result = kernel.body(core.mlu, *arguments)
        if result is not None:
            kernel.refuse_later(result)
        return
    if core.prepared is None:
        core.arguments_bound = len(core.bindings)
        core.prepared = kernel.prepared(core.mlu, arguments)
    core.prepared()
    core.renewable = repeats(core)


def forget(core: Any) -> None:
    """Break the reference cycles of *core*, which has ended: it is freed at once, unless the kernel keeps its `Mlu`."""
    if core.arguments is None:  # it was released before
        return
    core.arguments = None
    if core.union.block:
        core.union.cores.clear()
    attributes = core.__dict__
    attributes.pop("polls", None)
    attributes.pop("placements", None)
    if sys.getrefcount(core.mlu) == KEPT:
        del core.mlu.core


def renew(core: Any, place: TaskPlace, union: Any) -> None:
    """Let *core* run the task at *place* next, with the same arguments, as if it had just begun."""
    core.begin(place, union)
    core.close_bindings(core.arguments_bound)
    for arena in core.used.values():
        arena.cut(0, 0)
    mlu = core.mlu
    mlu.work, core.loads, core.stores = WORK.zeros(), LOADS.zeros(), STORES.zeros()
    for name in ("polls", "placements"):
        core.__dict__.pop(name, None)
    core.away.clear()
    core.source, core.source_at = None, 0


def begin(core: Any, place: TaskPlace, union: Any) -> None:
    """Set *core* to the beginning of the task at *place*, as far as both engines share it."""
    core.place, core.union, core.ended, core.renewable = place, union, False, False
    mlu = core.mlu
    mlu.taskId, mlu.taskIdX, mlu.taskIdY, mlu.taskIdZ, _, mlu.coreId = place[:6]
    core.log, core.head = core.machine.make_log(core), Head()
    core.pending, core.fence = OPENING, False
    for binding in core.bindings:
        for view in binding.values():
            view.read = 0
