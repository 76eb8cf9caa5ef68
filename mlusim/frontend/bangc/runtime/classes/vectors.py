"""``std::vector`` and ``std::array``: numbers as bytes that the driver copies, other elements as a list."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.counted import plural
from mlusim.errors import OutOfBounds, RuleFault
from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout, HostObject, braces
from mlusim.frontend.bangc.runtime.host_memory import HostBlock, HostPtr
from mlusim.frontend.bangc.runtime.layouts import fresh
from mlusim.frontend.bangc.runtime.pointers import Items, copy, number


def vector(layout: ClassLayout, *values: Any) -> "Vector":
    """``std::vector``: of nothing, of a count, of a count and a value, of a list, or of a range."""
    element = layout.arguments[0]
    made = Numbers(layout, element) if isinstance(element, DType) else Objects(layout, element)
    if len(values) == 1 and isinstance(values[0], Items):
        made.extend(values[0].items)
    elif len(values) == 1 and isinstance(values[0], Vector):  # a list, as a parameter
        made.extend(values[0].values())
    elif len(values) == 1:
        made.resize(values[0])
    elif len(values) == 2 and isinstance(values[0], int):
        made.resize(*values)
    elif len(values) == 2:
        made.extend(_between(*values))
    return made


def array(layout: ClassLayout, *values: Any) -> "Vector":
    """``std::array``: the elements that are given, and zeros."""
    element, count = layout.arguments
    made = Numbers(layout, element) if isinstance(element, DType) else Objects(layout, element)
    given = values[0].items if len(values) == 1 and isinstance(values[0], Items) else values
    made.extend(given)
    made.resize(count)
    return made


def _between(first: Any, last: Any) -> list[Any]:
    return [copy(first[n]) for n in range(last - first)]


def _inserted(first: Any, last: Any) -> list[Any]:
    """What an insertion is given: a value, a list, a count and a value, or a range."""
    if last is None:
        return first.items if isinstance(first, Items) else [first]
    return [copy(last) for _ in range(first)] if isinstance(first, int) else _between(first, last)


def _fitting(element: Any, values: tuple[Any, ...]) -> list[Any]:
    """Numbers as the members of a record have them."""
    kinds = [layout for layout, _ in getattr(element, "fields", {}).values()]
    if len(kinds) != len(values):
        return list(values)
    pairs = zip(kinds, values, strict=True)
    return [number(v, k) if isinstance(k, DType) and isinstance(v, int | float) else v for k, v in pairs]


class Vector(HostObject):
    """What vectors have in common; ``first`` points to element 0."""

    __slots__ = ("count", "element", "first", "layout")

    def __init__(self, layout: ClassLayout, element: Any) -> None:
        self.layout = layout
        self.element = element
        self.count = 0
        self.first: Any = None

    def data(self) -> Any:
        """A pointer to the first element."""
        return self.first

    begin = data

    def end(self) -> Any:
        """A pointer behind the last element."""
        return self.first + self.count

    def size(self) -> int:
        """Elements."""
        return self.count

    def empty(self) -> bool:
        """Whether there are no elements."""
        return not self.count

    def front(self) -> Any:
        """A pointer to the first element, which must be there."""
        return self._checked(0)

    def back(self) -> Any:
        """A pointer to the last element, which must be there."""
        return self._checked(self.count - 1)

    def _checked(self, n: int) -> Any:
        if not 0 <= n < self.count:
            raise OutOfBounds("an element of an empty vector is accessed", hint="test empty() first")
        return self.first + n

    def __repr__(self) -> str:
        return braces((repr(self.first[n]) for n in range(self.count)), self.count)

    def values(self) -> list[Any]:
        """The elements."""
        return [self.first[n] for n in range(self.count)]

    def extend(self, values: Any) -> None:
        """Append several."""
        for value in values:
            self.push_back(value)

    def push_back(self, value: Any) -> None:
        """Append one."""
        raise NotImplementedError

    def resize(self, count: int, value: Any = None) -> None:
        """Have *count* elements; new ones are zero or *value*."""
        raise NotImplementedError

    def emplace_back(self, *values: Any) -> Any:
        """Append one that is made of *values*."""
        made = (
            self.element.make(*_fitting(self.element, values))
            if hasattr(self.element, "make")
            else values[0]
            if values
            else 0
        )
        self.push_back(made)
        return self.back()

    def pop_back(self) -> None:
        """Drop the last element."""
        self._checked(self.count - 1)
        self.resize(self.count - 1)

    def clear(self) -> None:
        """Drop all elements."""
        self.resize(0)

    def reserve(self, count: int) -> None:
        """Room for *count* elements."""

    def capacity(self) -> int:
        """Elements that there is room for."""
        return self.count

    def assign(self, first: Any, value: Any = None) -> "Vector":
        """Take the elements of another, or *first* copies of *value*, or those of a range."""
        if isinstance(first, Vector):
            kept = [copy(v) for v in first.values()]
        elif isinstance(first, Items) and value is None:
            kept = list(first.items)
        elif isinstance(first, int):
            kept = [value] * first
        else:
            kept = _between(first, value)
        self.resize(0)
        self.extend(kept)
        return self

    def fill(self, value: Any) -> None:
        """Make all elements *value*."""
        self.assign(self.count, value)

    def insert(self, at: Any, first: Any, last: Any = None) -> Any:
        """Insert a value, so many of it, or those of a list or of a range, before *at*."""
        n = at - self.first
        values = self.values()
        values[n:n] = _inserted(first, last)
        self.resize(0)
        self.extend(values)
        return self.first + n

    def erase(self, first: Any, last: Any = None) -> Any:
        """Drop the element at *first*, or those before *last*."""
        n = first - self.first
        values = self.values()
        del values[n : n + 1 if last is None else last - self.first]
        self.resize(0)
        self.extend(values)
        return self.first + n

    def swap(self, other: "Vector") -> None:
        """Exchange the elements with those of another."""
        mine, theirs = self.copied(), other.copied()
        self.assign(theirs)
        other.assign(mine)

    def copied(self) -> "Vector":
        """A vector with the same elements."""
        made = type(self)(self.layout, self.element)
        made.extend(copy(v) for v in self.values())
        return made


class Numbers(Vector):
    """A vector of numbers: bytes, which the driver copies as they are."""

    __slots__ = ("block",)

    def __init__(self, layout: ClassLayout, element: DType) -> None:
        super().__init__(layout, element)
        self.block = HostBlock(layout.memory, bytearray(), "the elements of a vector")
        self._room(0)

    def _room(self, count: int) -> None:
        """A new block for *count* elements; pointers into the old one are dangling."""
        size = self.element.size
        old = None if self.first is None else self.block
        raw = bytearray(count * size)
        if old is not None:
            kept = min(self.count, count) * size
            raw[:kept] = old.raw[:kept]
            old.end()
        self.block = HostBlock(
            self.layout.memory, raw, f"the elements of a vector<{self.element}>", used=self.count * size
        )
        self.first = HostPtr(self.block.view(self.element))

    def resize(self, count: int, value: Any = None) -> None:
        """Have *count* elements; new ones are zero or *value*."""
        size, old = self.element.size, self.count
        if count * size > 1 << 40:
            raise RuleFault(
                f"a vector of {count} {plural(count, 'element')} is too large",
                hint="look for a negative count",
            )
        if count * size > self.block.nbytes:
            self._room(count)
        self.count = count
        self.block.resize(count * size)
        if count > old:
            self.block.raw[old * size : count * size] = bytes((count - old) * size)  # type: ignore[index]
            if value:
                np.frombuffer(self.block.raw, self.element.dtype, count)[old:] = value

    def push_back(self, value: Any) -> None:
        """Append one."""
        count = self.count + 1
        size = self.element.size
        if count * size > self.block.nbytes:
            self._room(2 * count)
        self.count = count
        self.block.resize(count * size)
        self.first[count - 1] = value

    def reserve(self, count: int) -> None:
        """Room for *count* elements."""
        if count * self.element.size > self.block.nbytes:
            self._room(count)

    def capacity(self) -> int:
        """Elements that there is room for."""
        return self.block.nbytes // int(self.element.size)

    def copied(self) -> "Vector":
        """A vector with the same elements."""
        made = Numbers(self.layout, self.element)
        made.resize(self.count)
        nbytes = self.count * self.element.size
        made.block.raw[:nbytes] = self.block.raw[:nbytes]  # type: ignore[index]
        return made


class Objects(Vector):
    """A vector of records, pointers or objects: a list."""

    __slots__ = ("items",)

    def __init__(self, layout: ClassLayout, element: Any) -> None:
        super().__init__(layout, element)
        self.items: list[Any] = []
        self.first = Items(self.items, element)

    def resize(self, count: int, value: Any = None) -> None:
        """Have *count* elements; new ones are zero or copies of *value*."""
        if count > 1 << 32:
            raise RuleFault(
                f"a vector of {count} {plural(count, 'element')} is too large",
                hint="look for a negative count",
            )
        del self.items[count:]
        while len(self.items) < count:
            self.items.append(fresh(self.element) if value is None else copy(value))
        self.count = count

    def push_back(self, value: Any) -> None:
        """Append one."""
        self.items.append(copy(value))
        self.count += 1
