"""Names that the user may say for memory: variables, regions of the plan, tensors, declarations."""

import re
from collections.abc import Mapping
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from mlusim.arch.dtypes import as_dtype
from mlusim.debug.look.declaring_calls import declared
from mlusim.debug.look.evaluate import pointer_at
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.source.frames import variables_of
from mlusim.kernel_frames import SCOPES
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.machine.core import Core

BARE = re.compile(r"(?:(?P<of>tensor|region)\.)?(?P<name>[A-Za-z_]\w*)$")


def named(text: str, paused: PausedRun, core: "Core | None", frame: FrameType | None) -> Ptr | None:
    """Return the pointer called *text*: a variable of the frame, a region of the plan, a tensor, or a declaration.

    ``region.NAME`` and ``tensor.NAME`` say which, where a region and a tensor share a name.
    """
    form = BARE.match(text)
    if form is None:
        return None
    name = form["name"]
    if form["of"]:
        return (tensor_pointers(paused) if form["of"] == "tensor" else region_pointers(paused, core)).get(
            name
        )
    value = variables_of(frame).get(name) if frame is not None else None
    if isinstance(value, Ptr):
        return value
    found = names_of(paused, core).get(name)
    return found if isinstance(found, Ptr) else None


def tensor_at(pointer: Ptr, paused: PausedRun) -> DeviceTensor | None:
    """Return the tensor that *pointer* stands at the beginning of, if it does."""
    for allocation, argument in paused.tensors.values():
        if allocation is pointer.view.allocation and isinstance(argument, DeviceTensor):
            return argument if pointer.offset == 0 and pointer.dtype == argument.dtype else None
    return None


def names_of(paused: PausedRun, core: "Core | None") -> dict[str, Any]:
    """Return the pointers that an expression may name besides the frame's variables."""
    tensors, regions = tensor_pointers(paused), region_pointers(paused, core)
    both = {"tensor": SimpleNamespace(**tensors), "region": SimpleNamespace(**regions)}
    scopes = getattr(paused.session.request.kernel.body, "__globals__", {}).get(SCOPES)
    of_c = {} if scopes is None else {SCOPES: scopes}  # for expressions where no function is in progress
    return {**of_c, **both, **declared_pointers(paused, core), **tensors, **regions}


def tensor_pointers(paused: PausedRun) -> dict[str, Ptr]:
    """Return a pointer to each tensor of the launch, by the name of its parameter."""
    found = {}
    for name, (allocation, argument) in paused.tensors.items():
        offset = 0 if isinstance(argument, DeviceTensor) else argument.offset
        found[name] = pointer_at(allocation, offset, argument.dtype)
    return found


def region_pointers(paused: PausedRun, core: "Core | None") -> dict[str, Ptr]:
    """Return a pointer to each region of the plans in *core*'s memories, by name."""
    found: dict[str, Ptr] = {}
    for placement in paused.placements(core):
        buffer = placement.allocation
        for region in (region for stage in placement.layout.stages for region in stage.regions):
            start = placement.start + region.offset
            if region.name not in found and start < buffer.nbytes:
                found[region.name] = pointer_at(buffer, start, as_dtype(region.dtype))
    return found


def declared_pointers(paused: PausedRun, core: "Core | None") -> Mapping[str, Ptr]:
    """Return a pointer to each declaration of *core* and its cluster that one variable alone keeps, by that name."""
    if core is None:
        return {}
    mine: list[Allocation] = [a for arena in core.arenas.values() for a in arena.allocations]
    mine += core.cluster.sram.allocations if core.cluster is not None else []
    found: dict[str, Ptr] = {}
    twice: set[str] = set()
    for allocation in mine:
        name, dtype = declared(paused.observed.cores, allocation)
        if name is None or dtype is None or not name.isidentifier():
            continue
        twice |= {name} & found.keys()
        found[name] = pointer_at(allocation, 0, dtype)
    return {name: pointer for name, pointer in found.items() if name not in twice}
