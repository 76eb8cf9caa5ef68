"""Arrays and shapes that the host gives a device."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlusim.errors import UsageError


def host_array(array: Any) -> np.ndarray[Any, Any]:
    """*array* as NumPy has it; raises `UsageError` for what is none."""
    try:
        return np.asarray(array)
    except ValueError as error:
        raise UsageError(f"{array!r:.80} is no array: {error}") from None


def shape_of(shape: Any) -> tuple[int, ...]:
    """Return a shape from an integer or a sequence of them; raises `UsageError` for anything else."""
    one = isinstance(shape, int | np.integer)
    many = isinstance(shape, Sequence | np.ndarray) and not isinstance(shape, str | bytes)
    try:
        sizes = tuple(operator.index(n) for n in ((shape,) if one or not many else shape))
    except TypeError:
        raise UsageError(f"shape {shape!r:.80} is no shape; give an integer or a sequence of them") from None
    if any(n < 0 for n in sizes):
        raise UsageError(f"shape {sizes} has a negative size; give sizes of 0 or more")
    if len(sizes) > 64:  # NumPy has no more
        raise UsageError(f"a shape of {len(sizes)} sizes has no array on the host; give 64 or fewer")
    return sizes
