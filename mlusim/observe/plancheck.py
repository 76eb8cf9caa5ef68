"""plancheck: the accesses of a kernel to its NRAM buffer, compared with the plan of its regions."""

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mlusim.counted import plural
from mlusim.machine.hub import Effect, ObservedScreen
from mlusim.machine.observed import Screened, Step
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.regions import Placement, RegionMap
from mlusim.memory.space import NRAM
from mlusim.observe.checker import Checker, place_of
from mlusim.observe.finding import Finding

if TYPE_CHECKING:
    from mlusim.machine.core import Core, RunningLaunch
    from mlusim.machine.kernel import Kernel


class PlanCheck(Checker):
    """Reports accesses that exceed their region, accesses to slack, and regions without accesses.

    The plans are those that the kernel places (``PLAN.place``) and the launch's; if *layout* is given, it replaces
    them.  The buffer of a plan that the kernel does not place is a task's first NRAM declaration that is large enough
    for the smallest stage.  An operand may cover several whole regions, such as two neighbours that are filled at
    once; one that covers only a part of the second has overrun.  ``touched`` is the measured high-water mark of the
    buffer in bytes, ``planned`` the plan's; ``checked`` is false if there was no plan.
    """

    name = "plancheck"
    needs = "plan"
    screens = Screened.PLAN

    def __init__(self, layout: RegionMap | None = None, *, notes: bool = False) -> None:
        self._given = layout
        self.touched = self.planned = 0
        self._layouts: dict[str, RegionMap] = {}
        super().__init__(notes=notes)

    @property
    def checked(self) -> bool:
        """True if the launch had a plan."""
        return bool(self._layouts)

    def repeats(self, kernel: "Kernel") -> bool:
        """Return whether there was no plan: with a plan, more than findings is recorded."""
        return self._given is None and not self.checked and super().repeats(kernel)

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Forget the last launch's plans."""
        super().launch_begin(launch)
        self._plans: dict[Core, dict[Allocation, tuple[Placement, ...]]] = {}
        self._known: dict[Any, bool] = {}
        self._used: set[tuple[str, str, str]] = set()
        self._layouts = {}  # the largest layout of each plan, by its name
        self.touched = self.planned = 0

    def screen_begin(self, launch: "RunningLaunch", screen: ObservedScreen) -> bool:
        """Accept C only if there is no plan; kernels that place one themselves run in Python."""
        without = self._given is None and launch.request.options.layout is None
        return without and super().screen_begin(launch, screen)

    def declare(self, core: "Core", allocation: Allocation) -> None:
        """Choose the first declaration that is large enough for a stage as the buffer of the checker's own plan."""
        layout = self._given
        if layout is None or allocation.space is not NRAM or core in self._plans:
            return
        if allocation.nbytes >= min(stage.used for stage in layout.stages):
            self._take(core, (Placement(allocation, 0, layout),))

    def place(self, core: "Core", placements: tuple[Placement, ...]) -> None:
        """Record the placements of the launch or the kernel."""
        if self._given is None:
            self._take(core, placements)
            core.announce_again()

    def _take(self, core: "Core", placements: tuple[Placement, ...]) -> None:
        plans: dict[Allocation, tuple[Placement, ...]] = {}
        for placement in reversed(placements):
            plans[placement.allocation] = (*plans.get(placement.allocation, ()), placement)
            layout = placement.layout
            largest = self._layouts.setdefault(layout.plan, layout)
            if layout.high_water > largest.high_water:
                self._layouts[layout.plan] = layout
        self._plans[core] = plans
        planned = sum(max(p.layout.high_water for p in of) for of in plans.values())
        self.planned = max(self.planned, planned)

    def issue(self, effect: Effect) -> bool:
        """Check that one region contains each operand in a buffer."""
        plans = self._plans.get(effect.core)
        good = True
        if plans:
            step = effect.step
            for access in (*step.reads, *step.writes):
                if good and access.allocation in plans:
                    good = self._fits(effect, access, plans[access.allocation])
        return good

    def _fits(self, effect: Effect, access: Access, placements: tuple[Placement, ...]) -> bool:
        low, high = access.span
        key = low, high, *((p.start, id(p.layout)) for p in placements)
        fits = self._known.get(key)
        if fits is None:
            fits = self._known[key] = _held(placements, low, high)
            self._used.update(_touched(placements, low, high))
            self.touched = max(self.touched, high)
        if not fits:
            self._misses(effect, placements, low, high)
        return fits

    # -- findings ------------------------------------------------------------------------------

    def _misses(self, effect: Effect, placements: tuple[Placement, ...], low: int, high: int) -> None:
        meant = next((p for p in placements if p.regions_at(low)), placements[0])
        rule = "plancheck-crosses-regions" if meant.regions_at(low) else "plancheck-slack"
        self.report(
            (rule, effect.name, effect.site), lambda: _told(rule, effect.step, effect, meant, low, high)
        )

    def task_end(self, core: "Core") -> None:
        """Compare the bytes that the task declared with the plan."""
        buffers = [a for a in self._plans.pop(core, ()) if a.space is NRAM]
        declared = core.arenas[NRAM].high_water if buffers else 0
        if declared > max(self.planned, sum(buffer.nbytes for buffer in buffers)):
            self.report("high-water", lambda: self._more(core, declared, buffers[0]))

    def _more(self, core: "Core", declared: int, buffer: Allocation) -> Finding:
        return Finding(
            "plancheck-high-water",
            f"the task declares {declared} {plural(declared, 'byte')} of NRAM, {declared - self.planned} more than the plan has",
            task=core.place.task,
            context=(f"the plan's buffer is {buffer.site}",),
            hint="make what is declared beside the buffer a region of the plan",
            facts={"declared": declared, "planned": self.planned},
        )

    def launch_end(self, _launch: "RunningLaunch") -> None:
        """Report the regions without accesses of every stage that has accesses."""
        if not self._known:
            return
        for layout in self._layouts.values():
            for stage in layout.stages:
                unused = [r for r in stage.regions if (layout.plan, stage.name, r.name) not in self._used]
                entered = len(unused) < len(stage.regions)
                for region in (r for r in unused if entered and not r.kept):
                    key = layout.plan, stage.name, region.name
                    self.report(key, functools.partial(self._unused, layout, stage, region))

    def _unused(self, layout: RegionMap, stage: Any, region: Any) -> Finding:
        return Finding(
            "plancheck-unused-region",
            f"region {region.name} of stage {stage.name} ({region.bytes} {plural(region.bytes, 'byte')}) is never used",
            note=f"the launch touched {self.touched} of the {layout.high_water} bytes that {layout.plan} has",
            hint=f"take {region.name} out of the plan, or use it",
            facts={"region": region.name, "stage": stage.name, "bytes": region.bytes},
        )


def _held(placements: tuple[Placement, ...], low: int, high: int) -> bool:
    """Return whether a region, or some whole neighbouring regions of a stage, contain bytes [low, high) of the buffer."""
    for placement in placements:
        first, last = low - placement.start, high - placement.start
        if any(last <= region.end for _, region in placement.layout.regions_at(first)):
            return True
        for stage in placement.layout.stages:
            touched = [r for r in stage.regions if r.offset < last and first < r.end]
            if _whole(touched, first, last):
                return True
    return False


def _touched(placements: tuple[Placement, ...], low: int, high: int) -> Iterator[tuple[str, str, str]]:
    """Yield the plan, stage and name of every region that overlaps bytes [low, high) of the buffer."""
    for placement in placements:
        first, last = low - placement.start, high - placement.start
        for stage in placement.layout.stages:
            for region in stage.regions:
                if region.offset < last and first < region.end:
                    yield placement.layout.plan, stage.name, region.name


def _told(rule: str, step: Step, effect: Effect, placement: Placement, low: int, high: int) -> Finding:
    start = placement.start
    begins, ends = placement.regions_at(low), placement.regions_at(high - 1)
    where = [
        f"byte {low - start - r.offset} of {r.name} (stage {s}, {r.bytes} {plural(r.bytes, 'byte')})"
        for s, r in begins
    ]
    reach = [f"byte {high - 1 - start - r.offset} of {r.name} (stage {s})" for s, r in ends] or ["slack"]
    over = start + max((r.end for _, r in begins), default=low - start)
    if rule == "plancheck-slack":
        message = f"{step.spelled} touches bytes [{low}, {high}) of the buffer, where the plan has no region"
        hint = "place the data in a region, or add one to the plan"
    else:
        region = max(begins, key=lambda b: b[1].end)[1].name
        message = f"{step.spelled} takes {high - low} {plural(high - low, 'byte')} and leaves region {region} by {high - over} {plural(high - over, 'byte')}"
        hint = f"check the count, or make {region} larger in the plan"
    return Finding(
        rule,
        message,
        **place_of(step.site, effect.core.place.task, step.name),
        context=(f"it begins at {' or '.join(where) or 'slack'}", f"it ends at {' or '.join(reach)}"),
        note=f"the plan is {placement.layout.plan}",
        hint=hint,
        facts={"bytes": [low, high], "regions": [r.name for _, r in begins]},
    )


def _whole(regions: list[Any], low: int, high: int) -> bool:
    """Return whether *regions* are adjacent and together are exactly the bytes [low, high)."""
    at = low
    for region in sorted(regions, key=lambda r: (r.offset, r.end)):
        if region.offset != at:
            return False
        at = region.end
    return at == high
