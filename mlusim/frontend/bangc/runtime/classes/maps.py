"""``std::map`` and ``std::set``, which give their entries by key, and those without an order, in that of insertion."""

import bisect
from typing import Any, TypeVar

from attrs import define

from mlusim.errors import OutOfBounds, Unsupported
from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout, HostObject, braces
from mlusim.frontend.bangc.runtime.classes.strings import String
from mlusim.frontend.bangc.runtime.host_memory import HostPtr
from mlusim.frontend.bangc.runtime.layouts import FieldPointer, Object, fresh
from mlusim.frontend.bangc.runtime.pointers import Items, copy
from mlusim.frontend.bangc.runtime.referred import Referred
from mlusim.memory.pointer import Ptr


def plain(key: Any) -> Any:
    """A key that Python can look up and compare."""
    if isinstance(key, String):
        return key.text
    if isinstance(key, Object):
        return tuple(plain(v) for v in key.__dict__.values())
    return key.address if isinstance(key, HostPtr | Ptr) else key


@define(eq=False)
class Both:
    """The pair that an insertion returns: where the entry is, and whether it is new."""

    first: Any
    second: bool

    @property
    def here(self) -> "Both":
        """Itself: it is the pointer to itself."""
        return self


class Ordered(HostObject):
    """What maps and sets have in common: ``entries`` by plain key."""

    __slots__ = ("_order", "_sign", "entries", "layout", "sorted")

    def __init__(self, layout: ClassLayout, *, in_order: bool) -> None:
        self.layout = layout
        self.entries: dict[Any, Any] = {}
        self.sorted = in_order
        self._order: list[Any] | None = None  # keys as they are walked over; None where entries have changed
        order = str(layout.arguments[1 if len(layout.arguments) == 2 else 2])
        self._sign = order.startswith("std::greater")
        if in_order and not order.startswith(("std::greater", "std::less")):
            raise Unsupported(
                f"a map or a set that is ordered by {order}", hint="use std::less or std::greater"
            )

    def order(self) -> list[Any]:
        """The plain keys in the order of a walk."""
        if self._order is None:
            keys = list(self.entries)
            self._order = sorted(keys, reverse=self._sign) if self.sorted else keys
        return self._order

    def __repr__(self) -> str:
        entries = ((key, self.entries[key]) for key in self.order())
        texts = (
            f"{key!r}: {entry.second!r}" if hasattr(entry, "second") else repr(key) for key, entry in entries
        )
        return braces(texts, len(self.entries))

    def _put(self, key: Any, entry: Any) -> "Both":
        known = plain(key)
        new = known not in self.entries
        if new:
            self.entries[known] = entry
            self._order = None
        return Both(Walk(self, known), new)

    def count(self, key: Any) -> int:
        """1 where *key* is there, otherwise 0."""
        return int(plain(key) in self.entries)

    def find(self, key: Any) -> "Walk":
        """Where *key* is, or the end."""
        known = plain(key)
        return Walk(self, known) if known in self.entries else Walk(self)

    def erase(self, key: Any) -> Any:
        """Drop a key: how many were there; or the entry that an iterator is at: the next one."""
        if not isinstance(key, Walk):
            self._order = None
            return int(self.entries.pop(plain(key), None) is not None)
        after = key + 1
        key.entry()
        del self.entries[key.key]
        self._order = None
        return after

    def lower_bound(self, key: Any) -> "Walk":
        """The first entry that is not before *key*."""
        return self._bound(bisect.bisect_left, key)

    def upper_bound(self, key: Any) -> "Walk":
        """The first entry behind *key*."""
        return self._bound(bisect.bisect_right, key)

    def _bound(self, search: Any, key: Any) -> "Walk":
        order = self.order()
        if self._sign:
            raise Unsupported("a search in a map that is ordered by std::greater")
        n = search(order, plain(key))
        return Walk(self, order[n]) if n < len(order) else Walk(self)

    def begin(self) -> "Walk":
        """The first entry."""
        order = self.order()
        return Walk(self, order[0], 0) if order else Walk(self)

    def end(self) -> "Walk":
        """Behind the last entry."""
        return Walk(self)

    def size(self) -> int:
        """Entries."""
        return len(self.entries)

    def empty(self) -> bool:
        """Whether there are none."""
        return not self.entries

    def clear(self) -> None:
        """Drop all entries."""
        self.entries.clear()
        self._order = None

    def copied(self) -> Any:
        """Another with the same entries."""
        made = type(self)(self.layout, in_order=self.sorted)
        made.entries = {key: copy(entry) for key, entry in self.entries.items()}
        return made

    def assign(self, other: Any) -> Any:
        """Take the entries of another."""
        self.entries = other.copied().entries
        self._order = None
        return self

    def forget(self) -> None:
        """Look the order up again."""
        self._order = None

    def swap(self, other: Any) -> None:
        """Exchange the entries with those of another."""
        self.entries, other.entries = other.entries, self.entries
        for map_ in (self, other):
            map_.forget()


_END = object()


class Walk(Referred):
    """An iterator over a map or a set: at a key, or at the end."""

    __slots__ = ("key", "n", "owner")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, owner: Ordered, key: Any = _END, n: int = -1) -> None:
        self.owner = owner
        self.key = key
        self.n = n  # where the key was in the order, when it was looked up

    def entry(self) -> Any:
        """The entry.  Raises `OutOfBounds` at the end and where it was erased."""
        found = self.owner.entries.get(self.key, _END)
        if found is _END:
            what = "the end of a map or a set" if self.key is _END else "an entry that was erased"
            raise OutOfBounds(f"an iterator at {what} is accessed", hint="compare it with end() first")
        return found

    here = property(entry)

    def __getitem__(self, i: int) -> Any:
        return (self + i).entry()

    def _at(self) -> int:
        order = self.owner.order()
        if self.key is _END:
            return len(order)
        if not (0 <= self.n < len(order) and order[self.n] == self.key):
            self.entry()
            self.n = order.index(self.key)
        return self.n

    def __add__(self, n: int) -> "Walk":
        if n == 0:
            return self
        order, at = self.owner.order(), self._at() + n
        if not 0 <= at <= len(order):
            raise OutOfBounds("an iterator is moved past the end of a map or a set")
        return Walk(self.owner, order[at], at) if at < len(order) else Walk(self.owner)

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, int) else self._at() - other._at()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Walk) and other.owner is self.owner and other.key == self.key

    def __bool__(self) -> bool:
        return True


class Map(Ordered):
    """A map: entries are pairs."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """A reference to the value of *key*, which is made where there is none."""
        found = self.entries.get(plain(key))
        if found is None:
            found = self.layout.arguments[-1].make(copy(key), fresh(self.layout.arguments[1]))
            self._put(key, found)
        return _second(found)

    def at(self, key: Any) -> Any:
        """A reference to the value of *key*.  Raises `OutOfBounds` where there is none."""
        found = self.entries.get(plain(key))
        if found is None:
            raise OutOfBounds(f"the map has no key {plain(key)!r}", hint="test count() first")
        return _second(found)

    def insert(self, pair: Any) -> Both:
        """Add an entry where its key is not there yet."""
        return self._put(pair.first, copy(pair))

    def emplace(self, key: Any, value: Any) -> Both:
        """Add an entry where its key is not there yet."""
        return self._put(key, self.layout.arguments[-1].make(copy(key), copy(value)))


def _second(pair: Any) -> Any:
    """A reference to the value of an entry."""
    value = pair.second
    return value if isinstance(value, HostObject | Object) else FieldPointer(pair, "second")


class Set(Ordered):
    """A set: entries are keys."""

    __slots__ = ()

    def insert(self, key: Any) -> Both:
        """Add a key."""
        return self._put(key, copy(key))


_Made = TypeVar("_Made", Map, Set)


def _given(values: tuple[Any, ...]) -> list[Any]:
    """What a constructor is given: nothing, a list, or a range."""
    if not values:
        return []
    first, *last = values
    return (
        [first[n] for n in range(last[0] - first)]
        if last
        else list(first.items if isinstance(first, Items) else [])
    )


def mapping(layout: ClassLayout, *values: Any) -> Map:
    """``std::map``: empty, or of a list of pairs."""
    return _filled(Map(layout, in_order=True), values)


def hashed(layout: ClassLayout, *values: Any) -> Map:
    """``std::unordered_map``."""
    return _filled(Map(layout, in_order=False), values)


def keys(layout: ClassLayout, *values: Any) -> Set:
    """``std::set``: empty, of a list, or of a range."""
    return _filled(Set(layout, in_order=True), values)


def hashed_keys(layout: ClassLayout, *values: Any) -> Set:
    """``std::unordered_set``."""
    return _filled(Set(layout, in_order=False), values)


def _filled(made: _Made, values: tuple[Any, ...]) -> _Made:
    for value in _given(values):
        made.insert(value)
    return made
