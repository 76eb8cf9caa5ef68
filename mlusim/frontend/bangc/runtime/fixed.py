"""Constants of a kernel: what stands at file scope as ``const`` or ``__mlu_const__``, which no store changes."""

from typing import Any, NoReturn

from mlusim.frontend.bangc.runtime.layouts import ArrayLayout, Object, RecordLayout
from mlusim.frontend.bangc.runtime.pointers import Items, Layout, Pointer, read_only
from mlusim.frontend.bangc.runtime.variables import Cell
from mlusim.memory.pointer import Ptr


def fixed(made: object, words: str) -> Any:
    """*made*, the value of a variable at file scope that *words* name, as one that may only be read."""
    if isinstance(made, Items):
        return _items(made, words)
    if isinstance(made, Object):
        return _object(made, words)
    if isinstance(made, Cell):
        return FixedCell(made.layout, made.v, words)
    raw = getattr(made, "raw", made)
    if isinstance(raw, Ptr):
        lock(raw)
    return made


def lock(pointer: Ptr, *, writable: bool = False) -> None:
    """Let the allocation that *pointer* leads to be one that no store changes, or that stores change again."""
    pointer.view.allocation.writable = writable
    # NumPy keeps the flag with each array, and views of other types are arrays of their own.
    for view in pointer.view.siblings.values():
        view.array.flags.writeable = writable


def _object(made: Object, words: str) -> Object:
    layout = type(made).layout
    # By its class and not by a flag: an object that may change asks nothing as it is stored to.
    made.__class__ = layout.variant(words, FixedObject)
    for name, value in made.__dict__.items():
        inner = layout.fields[name][0] if name in layout.fields else None
        if isinstance(inner, RecordLayout):
            _object(value, words)
        elif isinstance(inner, ArrayLayout):
            made.__dict__[name] = _items(value, words)
    return made


def _items(made: Items, words: str) -> "FixedItems":
    if isinstance(made.layout, RecordLayout):
        for value in made.items:
            _object(value, words)
    return FixedItems(made.items, made.layout, made.offset, words)


class FixedCell(Cell):
    """A constant that is one value, and the pointer to it."""

    __slots__ = ("_value", "words")

    def __init__(self, layout: Layout, v: object, words: str) -> None:
        self.layout = layout
        self.words = words
        self._value = v

    @property
    def v(self) -> Any:
        """The value, which nothing changes."""
        return self._value

    @v.setter
    def v(self, _: object) -> None:
        raise read_only(self.words)


class FixedItems(Items):
    """A pointer into an array of constants."""

    __slots__ = ("words",)

    def __init__(self, items: list[Any], layout: Layout, offset: int, words: str) -> None:
        super().__init__(items, layout, offset)
        self.words = words

    def __setitem__(self, i: int, value: object) -> None:
        at = self.offset + i
        raise read_only(self.words) if 0 <= at < len(self.items) else self._past(at)

    def __add__(self, n: int) -> "FixedItems":
        return FixedItems(self.items, self.layout, self.offset + n, self.words)

    __radd__ = __add__

    def __sub__(self, other: Pointer) -> Any:
        return super().__sub__(other) if isinstance(other, Items) else self + -other

    def assign(self, _: Items) -> None:
        """Refuse to take other values."""
        raise read_only(self.words)


class FixedObject(Object):
    """A record that is a constant; its class has the *words* for it."""

    __slots__ = ()
    words: str

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise read_only(type(self).words)

    def assign(self, _: object) -> NoReturn:
        """Refuse to take other values."""
        raise read_only(type(self).words)
