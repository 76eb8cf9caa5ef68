"""The map of what a launch declared on the chip: as a plan's, on the page and in a notebook."""

from mlusim.machine.launch import Launch
from mlusim.plan.declared import declared_region, layout_of_regions
from mlusim.plan.layout import Layout
from mlusim.plan.svg import memories_svg


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
