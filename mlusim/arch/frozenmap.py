"""A mapping that cannot change, so that specs holding one can be hashed, copied and pickled."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

V = TypeVar("V")


class FrozenMap(Mapping[str, V]):
    """An immutable mapping from names to hashable values; equal to any mapping with the same items."""

    __slots__ = ("_items",)
    _items: dict[str, V]

    def __init__(self, items: Mapping[str, V]) -> None:
        object.__setattr__(self, "_items", dict(items))

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a FrozenMap does not change; {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a FrozenMap does not change; {name} cannot be deleted")

    def __reduce__(self) -> tuple[type["FrozenMap[V]"], tuple[dict[str, V]]]:
        return (FrozenMap, (dict(self._items),))
