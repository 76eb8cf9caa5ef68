"""Initial values of a declaration, as C gives them: those that are given, zeros behind them."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import as_elements
from mlusim.counted import plural
from mlusim.errors import RuleFault
from mlusim.memory.pointer import View


def initialise(view: View, values: Any) -> RuleFault | None:
    """Write *values* and then zeros to *view*, or say what is wrong with them."""
    if values.__class__ is np.ndarray and values.dtype is view.array.dtype and values.size == view.size:
        view.array[:] = values
        view.allocation.filled = True
        return None
    given = as_elements(values, view.dtype)
    if given is None or given.size > view.size:
        what = f"{values!r:.80} is no row of numbers" if given is None else f"{given.size} initial values"
        return RuleFault(
            f"{what} for {view.size} {plural(view.size, 'element')}",
            operand="values",
            legal="as many or fewer",
        )
    view.array[: given.size] = given
    view.array[given.size :] = 0
    view.allocation.filled = True
    return None
