"""Regions as pointers: what a kernel gets from its plan."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from mlusim.errors import UsageError


class PointerLike(Protocol):
    """The part of a pointer that a plan needs: moving by elements, and another dtype at the same place."""

    @property
    def dtype(self) -> Any:
        """The element type that it points to."""
        ...

    def __add__(self, count: int) -> "PointerLike": ...

    def cast(self, dtype: object) -> "PointerLike":
        """Return the same address as a pointer to *dtype*."""
        ...

    def placed(self, plan: object) -> None:
        """Tell the machine that the regions of *plan* lie from here on."""
        ...


class Regions:
    """The pointers of a plan, by attribute (``regions.term1``) or key (``regions["term1"]``)."""

    def __init__(self, plan: str, pointers: Mapping[str, Any]) -> None:
        self.__dict__.update(pointers)
        self.__dict__["_plan"] = plan

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"plan {self._plan} has no region {name!r}; it has {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise UsageError(f"plan {self._plan} has no region {name!r}; it has {', '.join(self)}")
        return self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__ and name != "_plan"

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.__dict__ if name != "_plan")

    def __len__(self) -> int:
        return len(self.__dict__) - 1

    def __repr__(self) -> str:
        return f"Regions({self._plan}: {', '.join(self)})"
