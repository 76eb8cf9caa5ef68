"""Layouts of what a kernel declares, without a plan: for the same maps of memory as a plan has."""

import linecache
import re
from collections.abc import Iterable

from mlusim.memory.allocation import Allocation
from mlusim.plan.layout import Layout, PlacedRegion, StageLayout

_PYTHON = re.compile(r"\s*(\w+)\s*(?::[^=]+)?=[^=]")
_BANG = re.compile(r"__(?:nram|wram)__\s[^;=({]*?(\w+)\s*(?:\[[^;,]*)?[;=]")


def _written(file: str, line: int) -> str:
    """Return the name of the only variable that a line declares, as it is written there; "" for several."""
    text = linecache.getline(file, line)
    found = (_PYTHON if file.endswith(".py") else _BANG).match(text.lstrip())
    return found[1] if found else ""


def layout_of_regions(
    kernel: str, board: str, space: str, capacity: int, regions: Iterable[PlacedRegion]
) -> Layout:
    """Return the layout of one memory, whose one stage has the name of the *space*."""
    found = tuple(regions)
    used = max((region.end for region in found), default=0)
    return Layout(kernel, board, None, {}, capacity, (StageLayout(space, used, found),))


def declared_region(allocation: Allocation, base: int) -> PlacedRegion:
    """Return a declaration as a region; *base* is the address of the memory's first byte."""
    declared = allocation.declared
    name = declared.name or _written(declared.file, declared.line) or f"{declared.dtype}[{declared.count}]"
    if declared.line:
        name = f"{name} (line {declared.line})"
    return PlacedRegion(
        name, str(declared.dtype), declared.count, allocation.address - base, allocation.nbytes
    )
