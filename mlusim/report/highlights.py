"""The highlights of a launch for a page and a notebook: the line that costs most, the map of what it declared on the chip."""

import linecache
from collections.abc import Sequence

from attrs import frozen

from mlusim.errors import shown_file
from mlusim.machine.launch import Launch
from mlusim.plan.layout import Layout, declared_region, layout_of_regions
from mlusim.plan.svg import memories_svg
from mlusim.report.quantities import percent
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES


@frozen
class CostliestLine:
    """A line of a kernel, its text, and in words what it does to the time."""

    where: str
    text: str
    words: str


def costliest_line(launch: Launch) -> CostliestLine | None:
    """Return the line that keeps the pipe which sets the time of *launch* busy longest, or else costs most; None without lines."""
    named = launch.tasks and launch.timeline.named
    return costliest_of(launch.lines, launch.bound) if named else None


def costliest_of(every: Sequence[Line], bound: str) -> CostliestLine | None:
    """Return the same of a launch whose time *bound* sets, and of which *every* line is known."""
    lines = [line for line in every if line.line]
    total = sum(line.busy_us.get(bound, 0.0) for line in lines)
    if bound in PIPES and total > 0:
        line = max(lines, key=lambda one: one.busy_us.get(bound, 0.0))
        pipe = bound if "DMA" in bound else f"{bound} pipe"
        words = f"keeps the {pipe} busy for {percent(line.busy_us[bound] / total)} of what it is busy"
    elif any(line.time_us for line in lines):
        line = max(lines, key=lambda one: one.time_us)
        words = f"costs {percent(line.time_us / sum(one.time_us for one in lines))} of the time of all cores"
    else:
        return None
    text = linecache.getline(line.file, line.line).strip()
    return CostliestLine(f"{shown_file(line.file)}:{line.line}", text, words)


def layouts_of_launch(launch: Launch) -> list[Layout]:
    """Return a layout of each memory in which the first task to end declared something."""
    return [
        layout_of_regions(
            launch.kernel,
            launch.board,
            space,
            launch.memory[space].capacity,
            (declared_region(allocation, base) for allocation in declared),
        )
        for base, declared in launch.declared
        if (space := declared[0].space.name) in launch.memory
    ]


def memories_of(launch: Launch) -> str:
    """Return the maps as one SVG picture, empty where nothing was declared."""
    layouts = layouts_of_launch(launch)
    return memories_svg(layouts) if layouts else ""
