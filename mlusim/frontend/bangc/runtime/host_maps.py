"""``std::map`` and ``std::set``, and those without an order: both keep theirs by key here."""

from typing import Any

from mlusim.errors import OutOfBounds
from mlusim.frontend.bangc.runtime.host_objects import ClassLayout, HostObject
from mlusim.frontend.bangc.runtime.host_strings import String
from mlusim.frontend.bangc.runtime.layouts import fresh
from mlusim.frontend.bangc.runtime.pointers import Cell, Items, copy


def _plain(key: Any) -> Any:
    """A key that Python can look up."""
    return key.text if isinstance(key, String) else key


class Map(HostObject):
    """A map: ``cells`` holds key and variable of each entry, by plain key."""

    __slots__ = ("cells", "layout")

    def __init__(self, layout: ClassLayout) -> None:
        self.layout = layout
        self.cells: dict[Any, tuple[Any, Any]] = {}

    def __getitem__(self, key: Any) -> Any:
        """A reference to the value of *key*, which is made where there is none."""
        plain = _plain(key)
        found = self.cells.get(plain)
        if found is None:
            kind = self.layout.arguments[1]
            value = fresh(kind)
            found = self.cells[plain] = (
                copy(key),
                Cell(kind, value) if isinstance(value, int | float) else value,
            )
        return found[1]

    def at(self, key: Any) -> Any:
        """A reference to the value of *key*.  Raises `OutOfBounds` where there is none."""
        found = self.cells.get(_plain(key))
        if found is None:
            raise OutOfBounds(f"the map has no key {key!r}", hint="test count() first")
        return found[1]

    def count(self, key: Any) -> int:
        """1 where *key* is there, otherwise 0."""
        return int(_plain(key) in self.cells)

    def erase(self, key: Any) -> int:
        """Drop an entry; how many were there."""
        return int(self.cells.pop(_plain(key), None) is not None)

    def size(self) -> int:
        """Entries."""
        return len(self.cells)

    def empty(self) -> bool:
        """Whether there are none."""
        return not self.cells

    def clear(self) -> None:
        """Drop all entries."""
        self.cells.clear()

    def copied(self) -> "Map":
        """A map with the same entries."""
        made = Map(self.layout)
        for plain, (key, value) in self.cells.items():
            made.cells[plain] = (
                copy(key),
                Cell(value.layout, value.v) if isinstance(value, Cell) else copy(value),
            )
        return made

    def assign(self, other: "Map") -> "Map":
        """Take the entries of another."""
        self.cells = other.copied().cells
        return self


class Set(HostObject):
    """A set of keys."""

    __slots__ = ("keys", "layout")

    def __init__(self, layout: ClassLayout) -> None:
        self.layout = layout
        self.keys: dict[Any, Any] = {}

    def insert(self, key: Any) -> None:
        """Add a key."""
        self.keys.setdefault(_plain(key), copy(key))

    def count(self, key: Any) -> int:
        """1 where *key* is there, otherwise 0."""
        return int(_plain(key) in self.keys)

    def erase(self, key: Any) -> int:
        """Drop a key; how many were there."""
        return int(self.keys.pop(_plain(key), None) is not None)

    def size(self) -> int:
        """Keys."""
        return len(self.keys)

    def empty(self) -> bool:
        """Whether there are none."""
        return not self.keys

    def copied(self) -> "Set":
        """A set with the same keys."""
        made = Set(self.layout)
        made.keys = {plain: copy(key) for plain, key in self.keys.items()}
        return made

    def assign(self, other: "Set") -> "Set":
        """Take the keys of another."""
        self.keys = other.copied().keys
        return self


def mapping(layout: ClassLayout, *values: Any) -> Map:
    """A map: empty, or of a list of pairs."""
    made = Map(layout)
    for pair in values[0].items if values and isinstance(values[0], Items) else ():
        kept = made[pair.first]
        if isinstance(kept, Cell):
            kept.v = pair.second
        else:
            kept.assign(pair.second)
    return made


def keys(layout: ClassLayout, *values: Any) -> Set:
    """A set: empty, or of a list."""
    made = Set(layout)
    for value in values[0].items if values and isinstance(values[0], Items) else ():
        made.insert(value)
    return made
