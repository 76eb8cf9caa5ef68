"""Elements of memory as text."""

from typing import Any

import numpy as np

from mlusim.memory.allocation import POISON


def values_shown(array: np.ndarray[Any, Any]) -> str:
    """Elements as text; those that consist of poison are called so, or get a ``?`` where a number may be meant."""
    fresh = (array.view(np.uint8).reshape(array.size, -1) == POISON).all(axis=1)
    if not fresh.any():
        return np.array2string(array, separator=", ", threshold=4)
    unwritten = (
        "-1?" if array.dtype.kind == "i" else f"{array[fresh][0]}?" if array.dtype.kind == "u" else "poison"
    )
    texts = [unwritten if is_fresh else f"{value}" for value, is_fresh in zip(array, fresh, strict=True)]
    return f"[{', '.join(texts)}]"
