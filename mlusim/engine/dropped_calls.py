"""Calls without effect in compiled code: on a memory core what needs NRAM, on an IPU core what the memory core does.

The vendor compiles one source for both kinds of core, and kernels run vector instructions, copies of NRAM and
scalars there without a guard; and they copy between GDRAM and SRAM on all cores of a union where the memory core is
the one that does it.  All of this is inferred from kernels whose results are right with it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mlusim.engine.contract import Mlu
from mlusim.engine.recipes.recipe import LaunchPolicy
from mlusim.engine.recipes.steps import LeaveOthers, Nothing
from mlusim.isa.declare import Intrinsic
from mlusim.memory.space import DIRECTIONS, GDRAM, NRAM, SRAM, WRAM, Direction


def nothing(row: Intrinsic, step: Nothing) -> Callable[..., Any]:
    """Return the method of a row that has no effect; a result that no core computed is 0."""

    def nothing(*_: object, **__: object) -> Any:
        return step.result

    nothing.__name__ = row.name
    return nothing


def copies_of_one_kind(method: Callable[..., None], step: LeaveOthers) -> Callable[..., None]:
    """Return the copy *method*, which leaves the directions of the other kind of core to it."""
    idle = frozenset(d for d in DIRECTIONS if _others(d, memory_core=step.memory_core))

    def copy(mlu: Mlu, dst: object, src: object, size: int, direction: Direction, *shape: int) -> None:
        # What is no direction is for the method to refuse.
        if direction.__class__ is not Direction or direction not in idle:
            if shape:
                method(mlu, dst, src, size, direction, *shape)
            else:
                method(mlu, dst, src, size, direction)

    copy.__name__ = method.__name__
    return copy


def has_no_effect(row: Intrinsic, policy: LaunchPolicy, arguments: Sequence[Any]) -> bool:
    """Return whether a call of *row* with *arguments* is one that has no effect under *policy*."""
    if not policy.compiled:
        return False
    if row.form == "copy":
        direction = arguments[3] if len(arguments) > 3 else None
        return isinstance(direction, Direction) and _others(direction, memory_core=policy.memory_core)
    return policy.memory_core and not row.memory_core


def _others(direction: Direction, *, memory_core: bool) -> bool:
    """Return whether the other kind of core makes the copies of *direction*."""
    ends = {direction.src, direction.dst}
    return bool(ends & {NRAM, WRAM}) if memory_core else ends == {GDRAM, SRAM}  # decision 0016
