"""Plans as observers see them: the layout among a launch's arguments, and which region a byte is in.

A layout is anything with ``stages``, ``high_water`` and ``regions_at(offset)``, as `mlusim.plan.Layout`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from mlusim.errors import Fault


class PlacedRegion(Protocol):
    """A region with its place, in bytes from the start of the buffer."""

    name: str
    offset: int
    bytes: int


class Layout(Protocol):
    """What the checkers need of a plan's layout."""

    plan: str
    high_water: int
    stages: Any

    def regions_at(self, offset: int) -> tuple[tuple[str, Any], ...]:
        """Return (stage name, region) for every region that holds the byte at *offset*."""
        ...


def layout_of(arguments: Iterable[Any]) -> Layout | None:
    """Return the first plan layout among the arguments of a launch."""
    return next((a for a in arguments if hasattr(a, "regions_at") and hasattr(a, "stages")), None)


def region_label(layout: Layout | None, core: Any, fault: Fault) -> Iterator[str]:
    """Say in which region of the plan the operand of a fault in NRAM begins."""
    if layout is None or fault.space != "NRAM" or fault.address is None:
        return
    buffer = next(
        (a for s, arena in core.arenas.items() if s.name == "NRAM" for a in arena.allocations), None
    )
    if buffer is not None:
        offset = fault.address - buffer.address
        for stage, region in layout.regions_at(offset):
            yield f"in the plan it begins in region {region.name} of stage {stage}, byte {offset - region.offset}"
