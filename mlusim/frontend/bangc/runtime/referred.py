"""Referents of C++ references that are no variables: an element somewhere."""

from typing import Any

import numpy as np


class Referred:
    """A pointer whose first element is ``v``, as a `Cell` has its value, so that code need not know what a reference is."""

    __slots__ = ()

    @property
    def v(self) -> Any:
        """The element that is pointed to; numbers are those of Python."""
        found = self[0]  # type: ignore[index]
        if not isinstance(found, np.generic):
            return found
        return int(found) if found.dtype.kind in "iub" else float(found)

    @v.setter
    def v(self, value: Any) -> None:
        self[0] = value  # type: ignore[index]
