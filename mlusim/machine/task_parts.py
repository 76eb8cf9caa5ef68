"""The record that a run in C keeps of the pointer variables of a task."""

from typing import Any

import numpy as np
from attrs import define

from mlusim.memory.allocation import Allocation


@define(eq=False)
class TaskParts:
    """The pointer variables of a task, and what was touched through them, as the tables of `engine.native.screen.PARTS`.

    ``allocations`` are those of the numbers; ``tasks`` the tasks that are like the first.  Without ``whole`` there was no room for all.
    """

    whole: bool
    contexts: np.ndarray[Any, Any]
    kept: np.ndarray[Any, Any]
    touched: np.ndarray[Any, Any]
    allocations: dict[int, Allocation]
    tasks: set[int]
