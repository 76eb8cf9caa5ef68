"""Instructions that note themselves: a log with every step, filled by the methods of the `Mlu`."""

import functools
from collections.abc import Callable
from typing import Any

from mlusim.engine.contract import Mlu
from mlusim.engine.place import ACCESSOR, KernelFrame, caller
from mlusim.engine.recipes.steps import Note
from mlusim.memory.pointer import View
from mlusim.memory.space import Direction
from mlusim.time.log import NotedLog


class Accesses:
    """Notes scalar accesses of a core, and tells its *watch* of them where it has one."""

    __slots__ = ("_kernel", "_log", "_watch")

    def __init__(self, log: NotedLog, watch: Any) -> None:
        self._log, self._watch, self._kernel = log, watch, KernelFrame()

    def scalar(self, name: str, view: View, index: int, value: Any = None) -> None:
        """Note a scalar load, or a store of *value*."""
        store = name == "scalar store"
        if not self._log.again(caller(ACCESSOR), view.number, store=store):
            self._log.access(self._kernel(caller(1)), view.number, store=store)
        if self._watch is not None:
            self._watch.scalar(name, view, index, value)


def noted(method: Callable[..., Any], number: int, step: Note) -> Callable[..., Any]:
    """*method*, the intrinsic of *number*, which tells the core's log when and where it begins."""
    place = step.lanes

    @functools.wraps(method)
    def noting(mlu: Mlu, *given: Any, **named: Any) -> Any:
        lanes = given[place] if 0 <= place < len(given) else 0
        if lanes.__class__ is not int:
            # Below 0 is a direction, from 0 on a number of lanes.
            lanes = -1 - lanes.value if lanes.__class__ is Direction else 0
        mlu.core.log.begin(caller(1), number, lanes)
        return method(mlu, *given, **named)

    return noting
