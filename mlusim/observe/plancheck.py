"""plancheck: what a kernel does to its NRAM buffer, held against the plan of its regions."""

import functools
from typing import Any

from mlusim.machine.events import Access, Effect, Step
from mlusim.memory.allocation import Allocation
from mlusim.memory.space import NRAM
from mlusim.observe.checker import Checker, place_of
from mlusim.observe.finding import Finding
from mlusim.observe.regions import Layout, layout_of


class PlanCheck(Checker):
    """Reports accesses that leave their region, slack that is used, and regions that are not.

    *layout* is the plan with numbers; without one, the layout among the launch's arguments is taken, and
    a launch with none is not watched.  The buffer is a task's first NRAM declaration that holds the
    smallest stage.  An operand may take several whole regions at once, as a fill of two neighbours does;
    what takes a part of the second has run over.  ``touched`` is the real high-water mark of the buffer in bytes, ``planned`` the plan's.
    """

    name = "plancheck"

    def __init__(self, layout: Layout | None = None, *, notes: bool = False) -> None:
        self._given = layout
        self.touched = self.planned = 0
        super().__init__(notes=notes)

    def launch_begin(self, launch: Any) -> None:
        """Find the plan."""
        super().launch_begin(launch)
        self._layout = self._given if self._given is not None else layout_of(launch.request.arguments)
        self._buffers: dict[Any, Allocation] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self._used: set[tuple[str, str]] = set()
        self.touched, self.planned = 0, 0 if self._layout is None else self._layout.high_water

    def declare(self, core: Any, allocation: Allocation) -> None:
        """Take the first declaration that holds a stage as the buffer."""
        if self._layout is None or allocation.space is not NRAM or core in self._buffers:
            return
        if allocation.nbytes >= min(stage.used for stage in self._layout.stages):
            self._buffers[core] = allocation

    def issue(self, effect: Effect) -> bool:
        """Ask for each operand in the buffer whether one region holds it."""
        buffer = self._buffers.get(effect.core)
        good = True
        if buffer is not None:
            step = effect.step
            for access in (*step.reads, *step.writes):
                if good and access.allocation is buffer:
                    good = self._fits(effect, access)
        return good

    def _fits(self, effect: Effect, access: Access) -> bool:
        low, high = access.span
        known = self._known.get((low, high))
        if known is None:
            known = self._known[low, high] = self._held(low, high)
            self.touched = max(self.touched, high)
        if not known:
            self._misses(effect, low, high)
        return known

    def _held(self, low: int, high: int) -> bool:
        """Whether a region, or some neighbouring ones as a whole, hold bytes [low, high); these count as used."""
        assert self._layout is not None
        held = any(high <= region.end for _, region in self._layout.regions_at(low))
        for stage in self._layout.stages:
            touched = [r for r in stage.regions if r.offset < high and low < r.end]
            self._used.update((stage.name, region.name) for region in touched)
            held = held or _whole(touched, low, high)
        return held

    # -- what is found -------------------------------------------------------------------------

    def _misses(self, effect: Effect, low: int, high: int) -> None:
        assert self._layout is not None
        begins = self._layout.regions_at(low)
        rule = "plancheck-crosses-regions" if begins else "plancheck-slack"
        self.report(
            (rule, effect.name, effect.site), lambda: self._told(rule, effect.step, effect, low, high)
        )

    def _told(self, rule: str, step: Step, effect: Effect, low: int, high: int) -> Finding:
        assert self._layout is not None
        begins, ends = self._layout.regions_at(low), self._layout.regions_at(high - 1)
        where = [f"byte {low - r.offset} of {r.name} (stage {s}, {r.bytes} bytes)" for s, r in begins]
        reach = [f"byte {high - 1 - r.offset} of {r.name} (stage {s})" for s, r in ends] or ["slack"]
        over = max((r.end for _, r in begins), default=low)
        name = step.name if step.row is None else f"__{step.name}"
        if rule == "plancheck-slack":
            message = f"{name} touches bytes [{low}, {high}) of the buffer, where the plan has no region"
            hint = "place the data in a region, or add one to the plan"
        else:
            region = max(begins, key=lambda b: b[1].end)[1].name
            message = f"{name} takes {high - low} bytes and leaves region {region} by {high - over} bytes"
            hint = f"check the count, or make {region} larger in the plan"
        return Finding(
            rule,
            message,
            **place_of(step.site),
            task=effect.core.place.task,
            intrinsic=step.name,
            context=(f"it begins at {' or '.join(where) or 'slack'}", f"it ends at {' or '.join(reach)}"),
            note=f"the plan is {self._layout.plan}",
            hint=hint,
            facts={"bytes": [low, high], "regions": [r.name for _, r in begins]},
        )

    def task_end(self, core: Any) -> None:
        """Hold the bytes that the task declared against the plan."""
        buffer = self._buffers.pop(core, None)
        declared = core.arenas[NRAM].high_water if buffer is not None else 0
        if declared > max(self.planned, buffer.nbytes if buffer is not None else 0):
            self.report("high-water", lambda: self._more(core, declared, buffer))

    def _more(self, core: Any, declared: int, buffer: Allocation | None) -> Finding:
        return Finding(
            "plancheck-high-water",
            f"the task declares {declared} bytes of NRAM, {declared - self.planned} more than the plan has",
            task=core.place.task,
            context=() if buffer is None else (f"the plan's buffer is {buffer.site}",),
            hint="make what is declared beside the buffer a region of the plan",
            facts={"declared": declared, "planned": self.planned},
        )

    def launch_end(self, launch: Any) -> None:
        """Name the regions of every stage that was entered which nobody used."""
        del launch
        if self._layout is None or not self._known:
            return
        for stage in self._layout.stages:
            names = [region.name for region in stage.regions]
            used = [name for name in names if (stage.name, name) in self._used]
            for region in stage.regions:
                if used and region.name not in used and not region.kept:
                    self.report((stage.name, region.name), functools.partial(self._unused, stage, region))

    def _unused(self, stage: Any, region: Any) -> Finding:
        assert self._layout is not None
        return Finding(
            "plancheck-unused-region",
            f"region {region.name} of stage {stage.name} ({region.bytes} bytes) is never used",
            note=f"the launch touched {self.touched} of the {self.planned} bytes that {self._layout.plan} has",
            hint=f"take {region.name} out of the plan, or use it",
            facts={"region": region.name, "stage": stage.name, "bytes": region.bytes},
        )


def _whole(regions: list[Any], low: int, high: int) -> bool:
    """Whether *regions* lie one behind the other and are just the bytes [low, high)."""
    at = low
    for region in sorted(regions, key=lambda r: (r.offset, r.end)):
        if region.offset != at:
            return False
        at = region.end
    return at == high
