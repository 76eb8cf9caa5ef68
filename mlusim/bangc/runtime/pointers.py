"""Pointers outside simulated memory: null, into Python lists of elements, and into string literals."""

from collections.abc import Iterator
from typing import Any, NoReturn, Self

import numpy as np

from mlusim.arch.dtypes import DType, int8, uint8
from mlusim.bangc.runtime.followed import Value, like, plain
from mlusim.errors import Ended, MemoryFault, OutOfBounds, ReadOnly, Unsupported
from mlusim.memory.pointer import FAR, REACH, Ptr, moved_to

Layout = Any
"""The type as which memory is accessed: a `DType` of numbers, or a layout of structs, arrays or pointers (`layouts`)."""
Pointer = Any
"""A pointer of any class of the run-time library or of the machine (`Ptr`)."""


_WHOLE = (int, np.integer)


class Moving:
    """Pointer arithmetic, derived from ``+`` and the distance between two pointers."""

    __slots__ = ()
    _unit = 1  # size of an element, in the unit of `_ahead`

    def _ahead(self, other: Pointer) -> int:
        """Return how far this pointer is ahead of *other*; raises `MemoryFault` if they are not comparable."""
        raise NotImplementedError

    def load(self, i: int, waits: int) -> Any:  # noqa: ARG002 - the core waits for memory only
        """Return the element at index *i*."""
        return self[i]  # type: ignore[index]

    def __add__(self, n: int) -> Any:
        raise NotImplementedError  # each kind of pointer moves in its own way

    def __radd__(self, n: int) -> Any:
        return self + n

    def __sub__(self, other: Pointer) -> Any:
        return self + -other if isinstance(other, _WHOLE) else self._ahead(other) // self._unit  # type: ignore[operator]  # also of NumPy

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __lt__(self, other: object) -> bool:
        return self._ahead(other) < 0

    def __le__(self, other: object) -> bool:
        return self._ahead(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._ahead(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._ahead(other) >= 0


class Unplaced(Moving):
    """A pointer to a variable outside simulated memory, which has no address."""

    __slots__ = ()

    def spot(self) -> tuple[Any, int]:
        """Return the variable into which the pointer points, and the offset in bytes."""
        return self, 0

    def exists(self) -> None:
        """Raise a fault if the variable has ended."""

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Unplaced):
            return self is other
        (variable, at), (others, there) = self.spot(), other.spot()
        return at == there and same(variable, others)

    def _ahead(self, other: Pointer) -> int:
        variable, at = self.spot()
        others, there = other.spot() if isinstance(other, Unplaced) else (None, 0)
        return within(at, 1) - within(there, 1) if same(variable, others) else unrelated()


def same(variable: Pointer, other: Pointer) -> bool:
    """Return whether two variables returned by `Unplaced.spot` are the same."""
    return variable is other or (
        isinstance(variable, Items) and isinstance(other, Items) and variable.items is other.items
    )


class Placed(Moving):
    """A pointer with an address, in bytes."""

    __slots__ = ()
    address: int

    def __eq__(self, other: object) -> bool:
        return not isinstance(other, Unplaced) and self.address == getattr(other, "address", None)

    def _ahead(self, other: Pointer) -> int:
        return unrelated() if isinstance(other, Unplaced) else self.address - int(other.address)


class Referred:
    """A pointer whose first element is its attribute ``v``, as in `Cell`, so that code treats all references alike."""

    __slots__ = ()

    @property
    def v(self) -> Any:
        """The element at the pointer, as a Python number if it is one."""
        element = self[0]  # type: ignore[index]
        if not isinstance(element, np.generic):
            return element
        return int(element) if element.dtype.kind in "iub" else float(element)

    @v.setter
    def v(self, value: object) -> None:
        self[0] = value  # type: ignore[index]


class ScratchPointer(Referred):
    """A typed pointer into the bytes *raw*."""

    __slots__ = ("dtype", "offset", "raw")

    def __init__(self, raw: bytearray, offset: int = 0, dtype: DType = uint8) -> None:
        self.raw = raw
        self.offset = offset
        self.dtype = dtype

    def _element(self, i: int) -> "np.ndarray[Any, Any]":
        return np.frombuffer(self.raw, self.dtype.dtype, 1, self.offset + i * self.dtype.size)

    def __getitem__(self, i: int) -> Any:
        return self._element(i)[0]

    def load(self, i: int, waits: int) -> Any:  # noqa: ARG002 - as in `Moving`
        """Return the element at index *i*."""
        return self._element(i)[0]

    def __setitem__(self, i: int, value: object) -> None:
        self._element(i)[0] = value

    def __add__(self, n: int) -> "ScratchPointer":
        return ScratchPointer(self.raw, self.offset + n * self.dtype.size, self.dtype)

    def cast(self, layout: Layout) -> Any:
        """Return a pointer to the same byte, cast to *layout*."""
        if isinstance(layout, DType):
            return ScratchPointer(self.raw, self.offset, layout)
        return layout.of(self)


BESIDE = -REACH // 2  # the address read beside an array of pointers (the same in scalars.h)


class Address(Placed, Referred):
    """A pointer to no allocation: null, or an integer converted to a pointer.

    It supports arithmetic and comparison; a load or a store through it is a fault.
    """

    __slots__ = ("address", "layout", "size")
    outside = ", which leads to no memory", "let it point to an array first"
    __array_ufunc__ = None  # lets p + n with a NumPy number use this class

    def __init__(self, address: int = 0, size: int = 1, layout: Layout = None) -> None:
        self.address = max(-REACH, min(address, REACH))
        self.size = size
        self.layout = layout  # of the structs that the pointer's type names

    @property
    def _unit(self) -> int:  # type: ignore[override]
        return self.size

    def __bool__(self) -> bool:
        return self.address != 0

    def __add__(self, n: int) -> "Address":
        return Address(self.address + n * self.size, self.size, self.layout)

    def cast(self, layout: Layout) -> "Address":
        """Return the same address cast to another layout."""
        return Address(
            self.address, getattr(layout, "size", 1), layout if hasattr(layout, "fields") else None
        )

    def refuse(self, verb: str) -> NoReturn:
        """Raise `MemoryFault` for *verb*, "a load" or "a store"."""
        what = "the null pointer" if self.address == 0 else f"{self.address:#x}, the address of nothing"
        if self.address < BESIDE // 2:
            what = "a pointer that was read beside an array of pointers"
        raise MemoryFault(
            f"{verb} through {what}",
            address=self.address,
            legal="a pointer to memory",
            hint="test the pointer first",
        )

    @property
    def here(self) -> Any:
        """The struct at the pointer, whose members all refuse access."""
        return NoStruct(self)

    def __getitem__(self, i: int) -> Any:
        self.refuse("a load")

    def __setitem__(self, i: int, value: object) -> None:
        self.refuse("a store")

    def __call__(self, *_: object) -> NoReturn:
        """Refuse a call through a pointer to no function."""
        self.refuse("a call")

    def __repr__(self) -> str:
        return "nullptr" if self.address == 0 else f"{self.address:#x}"


class NoStruct:
    """The struct at a pointer to no memory: its members have addresses but no values."""

    def __init__(self, pointer: Address) -> None:
        object.__setattr__(self, "_pointer", pointer)  # its own __setattr__ refuses every store

    def __getitem__(self, name: str) -> Address:
        """Return the pointer to a field, or to the first element of an array field."""
        pointer = object.__getattribute__(self, "_pointer")
        if pointer.layout is None:
            return Address(pointer.address)
        layout, offset = pointer.layout.fields[name]
        return Address(pointer.address + offset).cast(getattr(layout, "leaf", layout))

    def __getattr__(self, name: str) -> Any:
        pointer = object.__getattribute__(self, "_pointer")
        fields = {} if pointer.layout is None else pointer.layout.fields
        if name not in fields:  # methods of structs and pointers
            return self if name == "here" else pointer.refuse("a store" if name == "assign" else "a load")
        layout = fields[name][0]
        if hasattr(layout, "fields"):
            return self[name].here
        if hasattr(layout, "leaf"):
            return self[name]
        return self[name].refuse("a load")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self[name].refuse("a store")


def unrelated() -> NoReturn:
    """Refuse the difference, or the order, of pointers into two variables."""
    raise MemoryFault(
        "pointers to two variables have no difference and no order",
        hint="subtract and compare pointers into one array",
    )


def beyond(at: int, count: int, size: int, array: str = "") -> OutOfBounds:
    """Return the fault of an access to element *at* (*size* bytes) outside an *array* of *count* elements."""
    which = f", {array}," if array else ""
    return OutOfBounds(
        f"element {within(at, size)} of an array of {count}{which} is accessed", legal=f"0 to {count - 1}"
    )


def inside(index: int, before: int, count: int, size: int, array: str) -> int:
    """Return *index* into an array of *count* elements, relative to element *before*; raises `OutOfBounds` if it is outside."""
    if not 0 <= before + index < count:
        raise beyond(before + index, count, size, array)
    return index


def gone(words: str) -> Ended:
    """Return the fault of an access to a variable that has ended, which *words* say."""
    return Ended(words, legal="while it exists", hint="return its value, or declare it where it is needed")


def read_only(words: str) -> ReadOnly:
    """Return the fault of a store to the constant that *words* describe."""
    return ReadOnly(f"a store to {words}", hint="copy it to a variable of the task, and store there")


def beside(layout: Layout, fault: OutOfBounds) -> Address:
    """Return the value read beside an array of pointers on the stack, an address whose use is a fault; for other arrays raise *fault*."""
    pointee = getattr(layout, "pointee", None)
    if pointee is None or isinstance(fault, Ended):
        raise fault
    return Address(BESIDE, getattr(pointee, "size", 1))


def within(at: int, size: int) -> int:
    """Return index *at* for elements of *size* bytes, clamped to the reach of pointers."""
    return max(-(REACH // size), min(at, REACH // size))


def no_number() -> Unsupported:
    """Return the fault of converting the address of a variable to a number."""
    return Unsupported(
        "the address of a variable that is kept in a register is wanted as a number",
        hint="make the variable an array of one element",
    )


def no_bytes() -> Unsupported:
    """Return the fault of an access to a pointer in a register as to a number, or to a number as to a pointer."""
    return Unsupported(
        "a pointer is seen as a number through another pointer", hint="convert the value itself"
    )


def too_far() -> MemoryFault:
    """Return the fault of converting to a number a pointer that has moved too far from its memory."""
    return MemoryFault(
        "a pointer that was moved by 2^46 bytes or more from its memory is wanted as a number",
        hint="make the pointer a number first, and compute with that",
    )


def address_of(pointer: Pointer) -> int:
    """Return the address of *pointer* as a number; raises `MemoryFault` beyond the reach of pointers."""
    address: int = pointer.address
    raw = getattr(pointer, "raw", pointer)
    if raw.__class__ is Ptr and not -REACH <= raw.offset < REACH:
        raise too_far()
    return address


LOST = frozenset((FAR, -FAR))  # the offsets of pointers that were moved out of reach
SMALL = 1 << 20  # indexes below this are within reach, for elements of up to 32 MiB
SHOWN = 16  # elements of an array that are displayed


class VariableAddress(Unplaced, Referred):
    """The base class of pointers to variables: their address is not a number."""

    __slots__ = ()
    outside = (
        " that lies in no memory of the board",
        "declare the variable __nram__, or in the memory that is meant",
    )

    @property
    def address(self) -> int:
        """Refused: a variable outside memory has no address."""
        raise no_number()

    def __repr__(self) -> str:
        return "the address of a variable"


class Items(VariableAddress):
    """A pointer into a list: an array of pointers, structs or doubles outside simulated memory.

    An array inside another variable has that variable and the array's byte offset in it as its home.
    """

    __slots__ = ("_c_home", "items", "layout", "offset")

    def __init__(
        self, items: list[Any], layout: Layout, offset: int = 0, home: tuple[Any, int] | None = None
    ) -> None:
        self.items = items
        self.layout = layout
        self.offset = offset
        self._c_home = home

    def exists(self) -> None:
        """Raise a fault if the array has ended."""
        words = getattr(self.items, "words", "")
        if words:
            raise gone(words)

    def _past(self, at: int) -> OutOfBounds:
        self.exists()
        return beyond(at, len(self.items), getattr(self.layout, "size", 8))

    def __getitem__(self, i: int) -> Any:
        at = self.offset + i
        return self.items[at] if 0 <= at < len(self.items) else self._outside(at)

    def _outside(self, at: int) -> Any:
        """Return element *at* outside the array: a part of the enclosing variable, if there is one."""
        if self._c_home is None or not self.items:
            return beside(self.layout, self._past(at))
        place = InVariable(self._c_home[0], self.layout, self._c_home[1] + at * self._unit)
        return place.here if hasattr(self.layout, "fields") else place[0]

    def __setitem__(self, i: int, value: object) -> None:
        at = self.offset + i
        if 0 <= at < len(self.items):
            self.items[at] = value
        elif self._c_home is None or not self.items:
            raise self._past(at)
        else:
            InVariable(self._c_home[0], self.layout, self._c_home[1] + at * self._unit)[0] = value

    def __add__(self, n: int) -> "Items":
        return Items(self.items, self.layout, self._moved(n), self._c_home)

    def _moved(self, n: int) -> int:
        """Return the index *n* elements ahead; out of reach of the array, or of the variable around it, a pointer stays where it is."""
        at = self.offset + n
        if -SMALL < at < SMALL:
            return at
        if self.offset in LOST:
            return self.offset
        to = moved_to(at * self._unit + (0 if self._c_home is None else self._c_home[1]))
        return to if to in LOST else at

    @property
    def _unit(self) -> int:  # type: ignore[override]
        return int(getattr(self.layout, "size", 8))

    def spot(self) -> tuple[Any, int]:
        """Return the variable into which the pointer points, and the offset in bytes."""
        if self._c_home is None:
            whole = Items(self.items, self.layout) if self.offset in LOST else self + -self.offset
            return whole, moved_to(self.offset * self._unit)
        variable, at = self._c_home[0].spot()
        return variable, moved_to(at + self._c_home[1] + self.offset * self._unit)

    def __sub__(self, other: Pointer) -> Any:
        # In elements, here and below, because loops over arrays compare pointers often.
        same = (
            isinstance(other, Items) and other.items is self.items and not {self.offset, other.offset} & LOST
        )
        return self.offset - other.offset if same else super().__sub__(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Items):
            return super().__eq__(other)
        return other.items is self.items and other.offset == self.offset

    def _ahead(self, other: Pointer) -> int:
        if isinstance(other, Items) and other.items is self.items:
            return self.offset - other.offset
        return super()._ahead(other)

    @property
    def here(self) -> Any:
        """The object to which the pointer points."""
        return self[0]

    def assign(self, other: "Items") -> None:
        """Take the values of another array; structs keep their identity, as pointers to them may exist."""
        if not hasattr(self.layout, "fields"):
            self.items[:] = map(copy, other.items)
            return
        for mine, theirs in zip(self.items, other.items, strict=True):
            mine.assign(theirs)

    @property
    def listed(self) -> str:
        """The first elements as text, for display."""
        more = ", ..." if len(self.items) - self.offset > SHOWN else ""
        return f"{{{', '.join(map(repr, self.items[self.offset :][:SHOWN]))}{more}}}"

    def copy(self) -> "Items":
        """Return a new array with the same values; structs are copied too."""
        return Items([copy(v) for v in self.items], self.layout, self.offset).owning()

    def owning(self) -> Self:
        """Set the array as the home of its structs, and return the array."""
        if hasattr(self.layout, "fields"):
            for n, struct in enumerate(self.items):
                struct._c_home = self, n * self.layout.size  # noqa: SLF001 - a name that no field has
        return self

    def part(self, at: int, layout: Layout) -> Any:
        """Return the struct of *layout* at byte *at*, or None."""
        n, rest = divmod(at, self._unit)
        within = 0 <= n < len(self.items) and hasattr(self.layout, "fields")
        return self.items[n].part(rest, layout) if within else None

    def leaf(self, at: int) -> tuple[Any, int]:
        """Return a pointer to the number or pointer that contains byte *at*, and the byte's index in it; None between members."""
        n, rest = divmod(at, self._unit)
        if not self.items:  # it has ended
            raise self._past(n)
        parts = hasattr(self.layout, "fields")
        return self.items[n].leaf(rest) if parts else (self + (n - self.offset), rest)

    def cast(self, layout: Layout) -> Any:
        """Return a pointer to the same position, cast to another type."""
        if layout is self.layout:
            return self
        if hasattr(layout, "pointee") and hasattr(self.layout, "pointee"):
            return Items(self.items, layout, self.offset, self._c_home)
        return InVariable(self, layout, 0)


class InVariable(VariableAddress):
    """A pointer *offset* bytes into (or beside) a variable outside simulated memory, with elements of *layout*.

    It accesses numbers as other types, ``*(int *)&x``, and moves between members of a struct, as in C.
    """

    __slots__ = ("layout", "offset", "variable")

    def __init__(self, variable: Pointer, layout: Layout, offset: int) -> None:
        self.variable, at = variable.spot()  # the whole variable, of which *variable* may be a part
        self.layout = layout
        self.offset = moved_to(at + offset)

    @property
    def _unit(self) -> int:  # type: ignore[override]
        return size_of(self)

    def spot(self) -> tuple[Any, int]:
        """Return the variable into which the pointer points, and the offset in bytes."""
        return self.variable, self.offset

    def __add__(self, n: int) -> Any:
        if self.offset in LOST:
            return self
        at = self.offset + n * self._unit
        whole = at == 0 and self.layout is self.variable.layout
        return self.variable if whole else InVariable(self.variable, self.layout, at)

    def cast(self, layout: Layout) -> Any:
        """Return a pointer to the same position, cast to another type."""
        return InVariable(self.variable, layout, self.offset) if self.offset else self.variable.cast(layout)

    @property
    def here(self) -> Any:
        """The struct at the pointer: a part of the variable, or bytes that are seen as one."""
        struct = self.variable.part(self.offset, self.layout)
        if struct is None and hasattr(self.layout, "fields"):
            return self.layout.among(InVariable(self, uint8, 0))
        if struct is None:  # a register
            raise self._past(self.offset)
        return struct

    def _past(self, at: int) -> OutOfBounds:
        """Return the fault of an access at byte *at*, outside the variable."""
        if isinstance(self.variable, Items):
            return outside(at, self._unit, size_of(self.variable), len(self.variable.items))
        layout = self.variable.layout
        return outside(at, self._unit, layout.size if hasattr(layout, "fields") else 0)

    def _leaves(self, at: int) -> Iterator[tuple[Any, int, int]]:
        """Yield the numbers and pointers that overlap the element at byte *at*: each as a pointer, with its first byte and end used."""
        end = at + self._unit
        while at < end:
            leaf, first = self.variable.leaf(at)
            most = 1 if leaf is None else size_of(leaf) - first  # padding between two members
            yield leaf, first, first + min(most, end - at)
            at += most

    def _inside(self, i: int) -> int:
        """Return the first byte of element *i*; raises `OutOfBounds` unless it is completely inside the variable."""
        at = self.offset + i * self._unit
        count = len(self.variable.items) if isinstance(self.variable, Items) else 1
        if not 0 <= at <= count * size_of(self.variable) - self._unit:
            self.variable.exists()
            raise self._past(at)
        return at

    def _whole(self, leaf: Pointer, first: int) -> bool:
        """Return whether an access at byte *first* of *leaf* reads exactly that number or pointer."""
        if leaf is None or first:
            return False
        return leaf.layout is self.layout or (
            hasattr(leaf.layout, "pointee") and hasattr(self.layout, "pointee")
        )

    def __getitem__(self, i: int) -> Any:
        try:
            at = self._inside(i)
        except OutOfBounds as fault:
            variable = self.variable
            table = isinstance(variable, Items) and size_of(variable) == 8
            if not table or not hasattr(variable.leaf(0)[0].layout, "pointee"):
                raise
            return beside(self.layout, fault)
        leaf, first = self.variable.leaf(at)
        if self._whole(leaf, first):
            return leaf[0]
        dtype = _dtype_of(self)
        if leaf is not None and first + self._unit <= size_of(leaf):
            return like(number(np.frombuffer(_bytes_of(leaf), dtype, 1, first)[0], self.layout), leaf[0])
        leaves = list(self._leaves(at))
        raw = b"".join(_bytes_of(leaf)[first:end] for leaf, first, end in leaves)
        held = (leaf[0] for leaf, _, _ in leaves if leaf is not None)
        return like(number(np.frombuffer(raw, dtype)[0], self.layout), *held)

    def __setitem__(self, i: int, value: Value) -> None:
        leaves = list(self._leaves(self._inside(i)))
        if self._whole(*leaves[0][:2]):
            leaves[0][0][0] = value
            return
        raw = _dtype_of(self).type(plain(value)).tobytes()
        for leaf, first, end in leaves:
            if leaf is not None:
                dtype, held = _dtype_of(leaf), _bytes_of(leaf)
                changed = held[:first] + raw[: end - first] + held[end:]
                leaf[0] = like(number(np.frombuffer(changed, dtype)[0], leaf.layout), value, leaf[0])
            raw = raw[end - first :]


def _dtype_of(pointer: Pointer) -> Any:
    """Return the NumPy type of the number at *pointer*."""
    if not isinstance(pointer.layout, DType):
        raise no_bytes()
    return pointer.layout.dtype


def _bytes_of(leaf: Pointer) -> bytes:
    """Return the bytes of a number; one zero byte for padding."""
    if leaf is None:
        return b"\0"
    raw: bytes = _dtype_of(leaf).type(plain(leaf[0])).tobytes()
    return raw


def past(i: int, size: int) -> OutOfBounds:
    """Return the fault of an access to element *i* (*size* bytes) of a single variable."""
    return OutOfBounds(
        f"element {within(i, size)} of a pointer to one variable is accessed", legal="element 0"
    )


def outside(at: int, size: int, element: int, count: int = 0) -> OutOfBounds:
    """Return the fault of an access of *size* bytes at byte *at*, outside a variable.

    The variable is an array of *count* elements of *element* bytes; without *count*, a struct of *element*
    bytes, or a number (*element* is 0).
    """
    if count:
        return beyond(at // element, count, element)
    return past(at // (element or size), element or size)


def size_of(variable: Any) -> int:
    """Return the size in bytes of a variable, of a struct, or of the target of a pointer."""
    # Layouts of pointers have no size attribute; a pointer has eight bytes.
    return int(getattr(variable.layout, "size", 8))


def copy(value: object) -> Any:
    """Return a value for passing by value: a copy of a struct; numbers and pointers unchanged."""
    copied = getattr(value, "copied", None)
    return value if copied is None else copied()


def number(value: Value, dtype: DType) -> Any:
    """Return a NumPy scalar as a Python number."""
    return float(value) if dtype.kind == "float" else int(value)


def see(pointer: Pointer, layout: Layout) -> Any:
    """Return *pointer* cast to *layout*."""
    caster = getattr(layout, "of", None)
    return pointer.cast(layout) if caster is None else caster(pointer)


def seen(pointer: Pointer, layout: Layout) -> Any:
    """Return *pointer* cast to structs or pointers."""
    return see(pointer, layout) if isinstance(pointer, Ptr) else pointer.cast(layout)


# String literals in device code: arguments of prints, and readable bytes.


class TextPointer(Unplaced, str):
    """A pointer to a character of a literal; its value as a Python string is the text from there to the end."""

    __slots__ = ("dtype", "offset", "raw")

    raw: bytes  # of the whole literal; equal literals are one
    offset: int  # in bytes
    dtype: DType  # of its elements

    def __new__(cls, text: str) -> Self:
        """Return the pointer to the first character of *text*."""
        return cls.at(text.encode("utf-8", "surrogateescape") + b"\0", 0, int8)

    @classmethod
    def at(cls, raw: bytes, offset: int, dtype: DType) -> Self:
        """Return the pointer *offset* bytes into a literal, to elements of *dtype*."""
        rest = raw[offset:] if offset >= 0 else b""
        pointer = super().__new__(cls, rest.partition(b"\0")[0].decode("utf-8", "surrogateescape"))
        pointer.raw, pointer.offset, pointer.dtype = raw, offset, dtype
        return pointer

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return super().__getitem__(i)
        size = self.dtype.size
        start = self.offset + i * size
        if not 0 <= start <= len(self.raw) - size:
            raise beyond(start // size, len(self.raw) // size, size)
        return number(np.frombuffer(self.raw, self.dtype.dtype, 1, start)[0], self.dtype)

    def __setitem__(self, i: int, value: object) -> None:
        raise MemoryFault("a store to a string literal", hint="make it an array: char text[] = ...")

    @property
    def v(self) -> Any:
        """The character at the pointer."""
        return self[0]

    def __add__(self, n: Any) -> Any:
        if self.offset in LOST:
            return self
        return self.at(self.raw, moved_to(self.offset + n * self.dtype.size), self.dtype)

    def _ahead(self, other: object) -> int:
        if not isinstance(other, TextPointer) or other.raw != self.raw:
            unrelated()
        return (within(self.offset, 1) - within(other.offset, 1)) // self.dtype.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextPointer):
            return isinstance(other, str) and str(self) == other
        return other.raw == self.raw and other.offset == self.offset

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def address(self) -> NoReturn:
        """Refused: a literal is in no simulated memory."""
        raise no_number()

    def cast(self, layout: Layout) -> "TextPointer":
        """Return the same bytes with another element type."""
        if not isinstance(layout, DType):
            raise Unsupported(f"a string literal is seen as {layout}", hint="declare an array of that type")
        return self.at(self.raw, self.offset, layout)
