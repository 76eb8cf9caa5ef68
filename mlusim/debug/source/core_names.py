"""Names of cores: ``task 3`` for an IPU core, ``task 4m`` for the memory core whose cluster begins with task 4."""

import re
from typing import TYPE_CHECKING

from mlusim.errors import UsageError
from mlusim.memory.space import GDRAM, SRAM

if TYPE_CHECKING:
    from mlusim.machine.observed import Core, TaskPlace
    from mlusim.memory.allocation import Allocation

_NAME = re.compile(r"(?:task\s+)?(\d+)\s*(m|mpu|memory)?$", re.IGNORECASE)


def name_of(core: "Core") -> str:
    """Return the debugger's name of *core*."""
    return name_at(core.place)


def name_at(place: "TaskPlace") -> str:
    """Return the debugger's name of the core at *place*."""
    return f"task {place.task}{'m' * place.memory_core}"


def full_name(core: "Core") -> str:
    """Return the name, with the cluster for a memory core."""
    place = core.place
    return (
        f"{name_of(core)} (memory core of cluster {place.cluster_id})" if place.memory_core else name_of(core)
    )


def parse_name(text: str) -> str:
    """Return the name that the user means by ``3``, ``task 3`` or ``4m``; raises `UsageError` for anything else."""
    found = _NAME.match(text.strip())
    if found is None:
        raise UsageError(
            f"{text!r} is no task; give its number, as in `task 3`, or `task 4m` for a memory core"
        )
    return f"task {int(found[1])}{'m' * bool(found[2])}"


def cluster_name(core: "Core") -> str:
    """Return the debugger's name of the cluster of *core*: its number, and the union's first task where there are more."""
    assert core.cluster is not None
    first = min(c.place.task for c in core.union.cores)
    return f"cluster {core.cluster.number}" + (f" of the union of task {first}" if first else "")


def owner_of(core: "Core", allocation: "Allocation") -> str | None:
    """Return whose memory *allocation* is, which an instruction of *core* names: a core's, a cluster's, or the device's."""
    if allocation.space is GDRAM:
        return None
    if allocation.space is not SRAM:
        return name_of(core)
    holders = (
        c for c in core.union.cores if c.cluster is not None and allocation in c.cluster.sram.allocations
    )
    holder = next(holders, None)
    return None if holder is None else cluster_name(holder)
