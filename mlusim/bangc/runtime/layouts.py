"""Layouts: create values of types, view memory as values; also classes of objects, and read-only constants."""

import contextlib
import itertools
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

from mlusim.arch.dtypes import DType, uint8, uint64
from mlusim.bangc import types as t
from mlusim.bangc.runtime.followed import Value
from mlusim.bangc.runtime.pointers import (
    Address,
    InVariable,
    Items,
    Layout,
    Placed,
    Pointer,
    ScratchPointer,
    VariableAddress,
    address_of,
    copy,
    no_bytes,
    no_number,
    number,
    read_only,
    see,
    size_of,
)
from mlusim.bangc.runtime.variables import Cell, LonePointer
from mlusim.errors import MlusimError, RuleFault, Unsupported
from mlusim.memory.pointer import Ptr

NULL = Address()


SIZE = 8  # bytes of a pointer


class StructLayout:
    """A struct: the layouts and offsets of its fields in order, and the Python class of its objects."""

    def __init__(self, struct: t.Struct) -> None:
        self.name = struct.name
        self.names = struct.names
        self.virtual = struct.virtual
        self.derived = struct.derived
        self.union = struct.union
        self.size = self.step = struct.size  # the machine's pointer to a struct counts bytes
        self.fields: dict[str, tuple[Any, int]] = {}
        self.cls: Any = type(struct.name, (Object,), {"__slots__": (), "layout": self})
        self._variants: dict[str, Any] = {}

    def variant(self, words: str, base: type) -> Any:
        """Return the class of constant objects: *base*, which refuses stores, then the usual class; *words* describe the constant."""
        variant = self._variants.get(words)
        if variant is None:
            inner = {"__slots__": (), "layout": self, "words": words}
            variant = self._variants[words] = type(self.name, (base, self.cls), inner)
        return variant

    def make(self, *values: object) -> "Object":
        """Return an object from field values; missing fields are zero."""
        struct: Object = self.cls.__new__(self.cls)
        for name, value in itertools.zip_longest(self.fields, values):
            struct.__dict__[name] = fresh(self.fields[name][0]) if value is None else value
        if not self.union or not values:
            return struct
        return self._seen([*self.fields][: len(values)], struct)

    def _seen(self, names: list[str], struct: "Object") -> "Object":
        """Return a union after storing the fields *names* of *struct* in order: all members show its bytes; a value without bytes shows zeros."""
        name = names[-1]
        value = struct.__dict__[name]
        raw: Any = ScratchPointer(bytearray(self.size))
        with contextlib.suppress(MlusimError, AttributeError):  # a pointer to a variable has no bytes
            for stored in names:
                setattr(StructPointer(raw, self), stored, struct.__dict__[stored])
            struct = StructPointer(raw, self).copied()
        del struct.__dict__[name]
        struct.__dict__[name] = value  # stored last when a union is stored
        return struct

    def of(self, pointer: object) -> Any:
        """Return *pointer* as a pointer to this struct; unchanged if the struct is only declared."""
        if not self.fields and isinstance(pointer, StructPointer | Object):
            return pointer
        if isinstance(pointer, Ptr | ScratchPointer):
            return StructPointer(pointer.cast(uint8), self)
        if isinstance(pointer, StructPointer):
            return pointer if pointer.layout is self else StructPointer(pointer.raw, self)
        if isinstance(pointer, Address):
            return pointer.cast(self)
        layout = type(pointer).layout if isinstance(pointer, Object) else self  # a field may have that name
        if layout is not self and len(pointer.__dict__) and not layout.same(self):
            return InVariable(pointer, self, 0)
        return pointer

    def among(self, raw: Pointer) -> "StructPointer":
        """Return the bytes at *raw*, a pointer to bytes of a variable, seen as this struct."""
        return StructPointer(raw, self)

    def same(self, other: "StructLayout") -> bool:
        """Return whether *other* is the same struct in another file, or one is a base of the other."""
        if self.name in other.names or other.name in self.names:
            return self.name != other.name or [*self.fields] == [*other.fields]
        return (self.name, self.size, [*self.fields]) == (other.name, other.size, [*other.fields])

    def __repr__(self) -> str:
        return self.name


class Object(LonePointer):
    """A struct outside simulated memory, which is also the pointer to itself."""

    __slots__ = ("__dict__", "_c_acting", "_c_home")
    layout: StructLayout
    _c_home: tuple[Any, int]  # the enclosing variable, and its offset there in bytes
    _c_acting: tuple[str, ...]  # class and bases while a base is constructed or destroyed

    @property
    def here(self) -> "Object":
        """The struct to which the pointer points."""
        return self

    def copied(self) -> "Object":
        """Return a copy by value."""
        layout = type(self).layout
        struct: Object = layout.cls.__new__(layout.cls)
        fields = layout.fields
        for name, value in self.__dict__.items():
            pointer = name in fields and isinstance(fields[name][0], PointerLayout)
            copied = value if pointer else value.copy() if isinstance(value, Items) else copy(value)
            struct.__dict__[name] = copied
        return struct

    def assign(self, other: Pointer) -> None:
        """Take the values of another struct; nested structs and arrays keep their identity, as pointers to them may exist."""
        mine, kind = self.__dict__, type(self).layout
        theirs: StructLayout = type(other).layout if isinstance(other, Object) else other.layout
        base = theirs.name != kind.name and theirs.name in kind.names  # the common members
        for name, (layout, _) in (theirs if base else kind).fields.items():
            value = getattr(other, name)
            if isinstance(layout, StructLayout | ArrayLayout) and name in mine:
                mine[name].assign(value)
            else:
                mine[name] = value

    def cast(self, layout: Layout) -> Any:
        """Return the pointer to this struct cast to *layout*."""
        kind = type(self).layout
        if isinstance(layout, StructLayout) and kind.same(layout):
            return self
        first = next(iter(kind.fields), None)
        if first is not None and kind.fields[first][0] is layout:
            return FieldPointer(self, first)
        return InVariable(self, layout, 0)

    def spot(self) -> tuple[Any, int]:
        """Return the variable into which the pointer points, and the offset in bytes."""
        home = getattr(self, "_c_home", None)
        if home is None:
            return self, 0
        variable, at = home[0].spot()
        return variable, at + home[1]

    def part(self, at: int, layout: Layout) -> Any:
        """Return the struct of *layout* at byte *at*, or None."""
        if at == 0 and type(self).layout.same(layout):
            return self
        for name, (inner, offset) in type(self).layout.fields.items():
            if offset <= at < offset + inner.size and isinstance(inner, StructLayout | ArrayLayout):
                return self.__dict__[name].part(at - offset, layout)
        return None

    def leaf(self, at: int) -> tuple[Any, int]:
        """Return a pointer to the number or pointer that contains byte *at*, and the byte's index in it; None between members."""
        kind = type(self).layout
        if kind.union:
            raise Unsupported(
                f"bytes of the union {kind.name}, which is kept in registers, are seen by a pointer",
                hint="name its members",
            )
        for name, (layout, offset) in kind.fields.items():
            if offset <= at < offset + layout.size:
                inner = self.__dict__[name]
                parts = isinstance(layout, StructLayout | ArrayLayout)
                return inner.leaf(at - offset) if parts else (FieldPointer(self, name), at - offset)
        if kind.virtual and at < SIZE:  # what tells the class
            raise no_bytes()
        return None, 0

    def __getattr__(self, name: str) -> Any:
        raise no_number() if name == "address" else AttributeError(name)

    def __repr__(self) -> str:
        members = self.__dict__.items()
        inner = ", ".join(
            f"{k.rstrip(t.MARK)} = {v.listed if isinstance(v, Items) else repr(v)}" for k, v in members
        )
        return f"{{{inner}}}"


def copy_as(struct: Any, layout: StructLayout) -> Object:
    """Return a copy by value of a struct, or of its base that *layout* describes."""
    whole: Object = struct.copied()
    if type(whole).layout.name == layout.name:
        return whole
    base: Object = layout.cls.__new__(layout.cls)
    base.__dict__.update({name: whole.__dict__[name] for name in layout.fields})
    return base


def part_of(struct: Any, name: str) -> Any:
    """Return the pointer to a field that is a struct or an array; it can be moved to neighbouring fields."""
    part = getattr(struct, name)
    if isinstance(struct, Object) and isinstance(part, Object | Items):
        object.__setattr__(part, "_c_home", (struct, type(struct).layout.fields[name][1]))
    return part


class FieldPointer(LonePointer, VariableAddress):
    """A pointer to a field of an object."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Object, name: str) -> None:
        self.owner = owner
        self.name = name

    @property
    def layout(self) -> Layout:
        """The layout of the field."""
        return type(self.owner).layout.fields[self.name][0]

    def spot(self) -> tuple[Any, int]:
        """Return the variable into which the pointer points, and the offset in bytes."""
        variable, at = self.owner.spot()
        return variable, at + type(self.owner).layout.fields[self.name][1]

    def __add__(self, n: int) -> Any:
        at = type(self.owner).layout.fields[self.name][1] + n * size_of(self)
        return InVariable(self.owner, self.layout, at) if n else self

    def __getitem__(self, i: int) -> Any:
        return (self + i)[0] if i else self.here

    def __setitem__(self, i: int, value: object) -> None:
        if i:
            (self + i)[0] = value
            return
        # A pointer stored through void ** gets the element type of the field's pointer type.
        inner = getattr(self.layout, "pointee", None)
        setattr(self.owner, self.name, see(value, inner) if isinstance(inner, DType) else value)

    @property
    def here(self) -> Any:
        """The object in the field."""
        return getattr(self.owner, self.name)

    @property
    def shown(self) -> Any:
        """The value of the field, for debuggers."""
        return getattr(self.owner, self.name)

    def cast(self, layout: Layout) -> "FieldPointer | InVariable":
        """Return a pointer to the same field, cast to another type."""
        pointers = isinstance(layout, PointerLayout) and isinstance(self.layout, PointerLayout)
        return self if layout is self.layout or pointers else InVariable(self, layout, 0)


class InMemory(Placed):
    """A pointer to structs or pointers in simulated memory, based on the machine's pointer to their bytes or words."""

    __slots__ = ("layout", "raw")
    raw: Ptr
    layout: Layout

    def __init__(self, raw: Ptr, layout: Layout) -> None:
        object.__setattr__(self, "raw", raw)
        object.__setattr__(self, "layout", layout)

    @property
    def address(self) -> int:  # type: ignore[override]
        """The device address of the first element."""
        return self.raw.address

    @property
    def _unit(self) -> int:  # type: ignore[override]
        return int(self.layout.size)

    def __add__(self, n: int) -> Self:
        return type(self)(self.raw + n * self.layout.step, self.layout)

    def __sub__(self, other: Pointer) -> Any:
        if isinstance(other, InMemory):
            return (self.raw - other.raw) // self.layout.step
        return super().__sub__(other)

    def cast(self, layout: Layout) -> Any:
        """Return the same address cast to another layout."""
        return see(self.raw, layout)


class StructPointer(InMemory):
    """A pointer to structs in simulated memory; its attributes are the fields of the first struct."""

    __slots__ = ()

    @property
    def here(self) -> "StructPointer":
        """The struct to which the pointer points."""
        return self

    def __getattr__(self, name: str) -> Any:
        field = self.layout.fields.get(name)
        if field is None:
            raise AttributeError(name)
        return fetch(self.raw + field[1], field[0])

    def __setattr__(self, name: str, value: object) -> None:
        layout, offset = self.layout.fields[name]
        keep(self.raw + offset, layout, value)

    def copied(self, follow: Callable[[Any], Any] | None = None) -> Object:
        """Return the struct by value; *follow* receives each number that is read and returns its replacement."""
        struct: Object = self.layout.cls.__new__(self.layout.cls)
        for name in self.layout.fields:
            value = getattr(self, name)
            struct.__dict__[name] = _by_value(value, self.layout.fields[name][0], follow)
        return struct

    def assign(self, other: object) -> None:
        """Take the values of another struct."""
        for name in other.__dict__ if isinstance(other, Object) else self.layout.fields:
            if name in self.layout.fields:  # a derived object has more fields
                setattr(self, name, getattr(other, name))

    def field(self, name: str) -> Any:
        """Return a pointer to a field, or to the first element of an array field."""
        layout, offset = self.layout.fields[name]
        leaf = layout.leaf if isinstance(layout, ArrayLayout) else layout
        at = self.raw + offset
        return InVariable(at, leaf, 0) if isinstance(at, VariableAddress) else see(at, leaf)

    def __repr__(self) -> str:
        return f"<{self.layout.name} * {self.raw!r}>"


class ArrayLayout:
    """An array inside a struct, or a braced list that initialises one."""

    def __init__(self, of: Any, count: int) -> None:
        self.element = of
        self.count = count
        self.size = of.size * count

    def make(self, *values: Any) -> Items:
        """Return a new array; missing elements are zero, nested arrays are flattened."""
        items = list(values) + [fresh(self.element) for _ in range(self.count - len(values))]
        if isinstance(self.element, ArrayLayout):
            items = [v for part in items for v in part.items]
        return Items(items, self.leaf).owning()

    @property
    def leaf(self) -> Any:
        """The innermost element type."""
        return self.element.leaf if isinstance(self.element, ArrayLayout) else self.element

    def __repr__(self) -> str:
        return f"{self.element}[{self.count}]"


class PointerLayout:
    """A pointer in memory: an address of eight bytes."""

    size = 8
    step = 1  # the machine's pointer to it counts words
    dtype = uint64.dtype

    def __init__(self, pointee: object, find: Callable[[int, Any], Any]) -> None:
        self.pointee = pointee
        self.find = find

    def of(self, pointer: object) -> Any:
        """Return *pointer* as a pointer to pointers."""
        if isinstance(pointer, StructPointer):
            pointer = pointer.raw
        raw = isinstance(pointer, Ptr | ScratchPointer)
        return PointerArray(pointer.cast(uint64), self) if raw else pointer  # type: ignore[attr-defined]

    def make(self, *values: object) -> Any:
        """Return the given pointer, or null."""
        return values[0] if values else NULL

    def __repr__(self) -> str:
        return f"{self.pointee} *"


class PointerArray(InMemory):
    """A pointer to pointers in simulated memory."""

    __slots__ = ()

    def __getitem__(self, i: int) -> Any:
        return self.layout.find(int(self.raw[i]), self.layout.pointee)

    def __setitem__(self, i: int, value: Value) -> None:
        self.raw[i] = address_of(value)


def fresh(layout: Layout) -> Any:
    """Return the zero value of a layout."""
    if isinstance(layout, DType):
        return 0.0 if layout.kind == "float" else 0
    return layout.make()


def fetch(raw: Ptr, layout: Layout) -> Any:
    """Read the value at *raw*: a number, a pointer, or a pointer to a struct or an array."""
    if isinstance(raw, VariableAddress):
        seen = InVariable(raw, getattr(layout, "leaf", layout), 0)
        if isinstance(layout, StructLayout):
            return seen.here
        return seen if isinstance(layout, ArrayLayout) else seen[0]
    if isinstance(layout, DType):
        return number(raw.cast(layout)[0], layout)
    if isinstance(layout, PointerLayout):
        return layout.find(int(raw.cast(uint64)[0]), layout.pointee)
    return see(raw, layout.leaf if isinstance(layout, ArrayLayout) else layout)


def keep(raw: Ptr, layout: Layout, value: Value) -> None:
    """Store *value* at *raw*."""
    if isinstance(raw, VariableAddress) and isinstance(layout, DType | PointerLayout):
        InVariable(raw, layout, 0)[0] = value
    elif isinstance(raw, VariableAddress) and isinstance(layout, StructLayout):
        InVariable(raw, layout, 0).here.assign(value)
    elif isinstance(layout, DType):
        raw.cast(layout)[0] = value
    elif isinstance(layout, PointerLayout):
        raw.cast(uint64)[0] = address_of(value)
    elif isinstance(layout, StructLayout):
        layout.of(raw).assign(value)
    else:
        leaf = layout.leaf
        count = layout.size // leaf.size
        for n in range(count):
            keep(raw + n * leaf.size, leaf, value[n])


def _by_value(value: Value, layout: Layout, follow: Callable[[Any], Any] | None) -> Any:
    """Return a field's value in the form in which an object stores it."""
    if follow is not None and isinstance(layout, DType):
        return follow(value)
    if isinstance(layout, ArrayLayout):
        count = layout.size // layout.leaf.size
        structs = isinstance(layout.leaf, StructLayout)
        if follow is not None and not structs:
            return Items([follow(value[n]) for n in range(count)], layout.leaf)
        return Items([copy(value + n if structs else value[n]) for n in range(count)], layout.leaf).owning()
    return copy(value)


# Destruction of objects, and their classes.


def ending() -> bool:
    """Return whether objects are destroyed at the end of their block; not if an exception stops the program."""
    return sys.exc_info()[1] is None


def class_of(pointer: Pointer) -> str:
    """Return the class name of an object; refuse one in memory if its type has derived classes, as bytes do not identify the class."""
    struct = pointer.here
    if not isinstance(struct, Object) and struct.layout.derived:
        raise no_class(pointer)
    return _classes(struct)[0]


def no_class(pointer: object) -> Unsupported:
    """Return the fault of a virtual call on an object that does not exist or whose class is unknown."""
    if isinstance(pointer, Address):
        pointer.refuse("a load")
    if isinstance(pointer, VariableAddress):
        return pointer[0]  # type: ignore[index, no-any-return]  # which is refused
    return Unsupported(
        "an object in simulated memory is asked which class it is of",
        hint="keep it in a variable of the function, or call the method by its class: object.Class::method()",
    )


def pure(name: str) -> NoReturn:
    """Refuse a call of the pure virtual method *name*."""
    raise RuleFault(
        f"{name} is called, which is virtual and has no body in the object's class", hint="define it there"
    )


def _classes(struct: Any) -> tuple[str, ...]:
    """Return the class name of an object and of its bases; during construction or destruction, of the current class."""
    if not isinstance(struct, Object):
        return struct.layout.names  # type: ignore[no-any-return]
    acting = getattr(struct, "_c_acting", None)
    return type(struct).layout.names if acting is None else acting


def become(pointer: Pointer, names: str) -> None:
    """Make an object act as the first class in *names* (one per line); its bases follow."""
    struct = pointer.here
    if isinstance(struct, Object):
        struct._c_acting = tuple(names.split("\n"))  # noqa: SLF001 - a name that no field has


def dynamic(pointer: Pointer, name: str) -> Any:
    """Return the pointer if its object has that class, else null."""
    if not pointer:
        return NULL
    class_of(pointer)
    return pointer if name in _classes(pointer.here) else NULL


LEAVING: Mapping[str, Callable[..., Any] | type] = {
    "_c_ending": ending,
    "_c_class": class_of,
    "_c_dynamic": dynamic,
    "_c_pure": lambda name: lambda *_: pure(name),
}


# Constants of a kernel: variables at file scope that are ``const`` or ``__mlu_const__``.


def fixed(value: object, words: str) -> Any:
    """Return the read-only form of *value*, a variable at file scope that *words* describe."""
    if isinstance(value, Items):
        return _items(value, words)
    if isinstance(value, Object):
        return _object(value, words)
    if isinstance(value, Cell):
        return FixedCell(value.layout, value.v, words)
    raw = getattr(value, "raw", value)
    if isinstance(raw, Ptr):
        lock(raw)
    return value


def lock(pointer: Ptr, *, writable: bool = False) -> None:
    """Make the allocation at *pointer* read-only, or with *writable* writable again."""
    pointer.view.allocation.writable = writable
    # NumPy has the flag in each array, and views with other types are separate arrays.
    for view in pointer.view.siblings.values():
        view.array.flags.writeable = writable


def _object(struct: Object, words: str) -> Object:
    layout = type(struct).layout
    # By class, not by flag: stores to ordinary objects then need no check.
    struct.__class__ = layout.variant(words, FixedObject)
    for name, value in struct.__dict__.items():
        inner = layout.fields[name][0] if name in layout.fields else None
        if isinstance(inner, StructLayout):
            _object(value, words)
        elif isinstance(inner, ArrayLayout):
            struct.__dict__[name] = _items(value, words)
    return struct


def _items(array: Items, words: str) -> "FixedItems":
    if isinstance(array.layout, StructLayout):
        for value in array.items:
            _object(value, words)
    return FixedItems(array.items, array.layout, array.offset, words, array._c_home)  # noqa: SLF001 - a name that no field has


class FixedCell(Cell):
    """A constant with one value, which is also the pointer to itself."""

    __slots__ = ("_value", "words")

    def __init__(self, layout: Layout, v: object, words: str) -> None:
        self.layout = layout
        self.words = words
        self._value = v

    @property
    def v(self) -> Any:
        """The value; stores to it are refused."""
        return self._value

    @v.setter
    def v(self, _: object) -> None:
        raise read_only(self.words)


class FixedItems(Items):
    """A pointer into an array of constants."""

    __slots__ = ("words",)

    def __init__(
        self, items: list[Any], layout: Layout, offset: int, words: str, home: tuple[Any, int] | None = None
    ) -> None:
        super().__init__(items, layout, offset, home)
        self.words = words

    def __setitem__(self, i: int, value: object) -> None:
        at = self.offset + i
        if 0 <= at < len(self.items):
            raise read_only(self.words)
        super().__setitem__(i, value)

    def __add__(self, n: int) -> "FixedItems":
        return FixedItems(self.items, self.layout, self._moved(n), self.words, self._c_home)

    def assign(self, _: Items) -> None:
        """Refuse the assignment: this is a constant."""
        raise read_only(self.words)


class FixedObject(Object):
    """A constant struct; its class has the *words* that describe it."""

    __slots__ = ()
    words: str

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise read_only(type(self).words)

    def assign(self, _: object) -> NoReturn:
        """Refuse the assignment: this is a constant."""
        raise read_only(type(self).words)
