"""What has no effect in compiled code: on a memory core what needs NRAM, on an IPU core what the memory core does.

The vendor compiles one source for both kinds of core, and kernels run vector instructions, copies of NRAM and
scalars there without a guard; and they copy between GDRAM and SRAM on all cores of a union where the memory core is
the one that does it.  All of this is inferred from kernels whose results are right with it.
"""

import functools
from collections.abc import Callable
from typing import Any

from mlusim.engine.contract import Mlu
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import ISA
from mlusim.memory.direction import Direction
from mlusim.memory.space import GDRAM, NRAM, SRAM, WRAM


@functools.cache
def idle_class(methods: Any, *, memory_core: bool) -> Any:
    """The class *methods* for compiled code in a union, for its memory core or its IPU cores."""
    changed: dict[str, Any] = {"__slots__": (), "__doc__": methods.__doc__}
    for row in ISA.values():
        if row.form == "copy":
            changed[row.name] = _copy(getattr(methods, row.name), memory_core=memory_core)
        elif memory_core and not row.memory_core:
            changed[row.name] = _nothing(row)
    return type(f"{methods.__name__}_compiled", (methods,), changed)


def _nothing(row: Intrinsic) -> Callable[..., Any]:
    """The method of a row that has no effect; a result that no core computed is 0."""
    result = None if row.returns == "None" else 0

    def nothing(*_: Any, **__: Any) -> Any:
        return result

    nothing.__name__ = row.name
    return nothing


def _copy(method: Callable[..., None], *, memory_core: bool) -> Callable[..., None]:
    """A copy that leaves the directions of the other kind of core to it."""

    def copy(mlu: Mlu, dst: Any, src: Any, size: int, direction: Direction, *shape: int) -> None:
        ends = {getattr(direction, "src", None), getattr(direction, "dst", None)}
        idle = ends & {NRAM, WRAM} if memory_core else ends == {GDRAM, SRAM}
        if not idle:
            method(mlu, dst, src, size, direction, *shape)

    copy.__name__ = method.__name__
    return copy
