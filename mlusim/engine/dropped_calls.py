"""What has no effect in compiled code: on a memory core what needs NRAM, on an IPU core what the memory core does.

The vendor compiles one source for both kinds of core, and kernels run vector instructions, copies of NRAM and
scalars there without a guard; and they copy between GDRAM and SRAM on all cores of a union where the memory core is
the one that does it.  All of this is inferred from kernels whose results are right with it.
"""

from collections.abc import Callable
from typing import Any

from mlusim.engine.contract import Mlu
from mlusim.engine.recipes.steps import LeaveOthers, Nothing
from mlusim.isa.declare import Intrinsic
from mlusim.memory.direction import Direction
from mlusim.memory.space import GDRAM, NRAM, SRAM, WRAM


def nothing(row: Intrinsic, step: Nothing) -> Callable[..., Any]:
    """The method of a row that has no effect; a result that no core computed is 0."""

    def nothing(*_: Any, **__: Any) -> Any:
        return step.result

    nothing.__name__ = row.name
    return nothing


def copies_of_one_kind(method: Callable[..., None], step: LeaveOthers) -> Callable[..., None]:
    """The copy *method*, which leaves the directions of the other kind of core to it."""

    def copy(mlu: Mlu, dst: Any, src: Any, size: int, direction: Direction, *shape: int) -> None:
        ends = {getattr(direction, "src", None), getattr(direction, "dst", None)}
        idle = ends & {NRAM, WRAM} if step.memory_core else ends == {GDRAM, SRAM}
        if not idle:
            method(mlu, dst, src, size, direction, *shape)

    copy.__name__ = method.__name__
    return copy
