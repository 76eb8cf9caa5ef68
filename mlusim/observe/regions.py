"""Plans as observers see them: which region a byte is in."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlusim.errors import Fault

if TYPE_CHECKING:
    from mlusim.machine.observed import Core


def region_label(core: "Core", fault: Fault) -> Iterator[str]:
    """Say in which region of a placed plan the operand of a fault begins."""
    for placement in core.placements.live:
        if fault.address is None or fault.space != placement.allocation.space.name:
            continue
        offset = fault.address - placement.allocation.address
        for stage, region in placement.regions_at(offset):
            inside = offset - placement.start - region.offset
            yield f"in the plan it begins in region {region.name} of stage {stage}, byte {inside}"
