"""Pointers that do not point into simulated memory: null, to a variable, to elements of a Python list."""

from typing import Any, NoReturn

import numpy as np

from mlusim.arch.dtypes import DType, uint8
from mlusim.errors import MemoryFault, OutOfBounds, Unsupported
from mlusim.memory.pointer import REACH, Ptr


class Address:
    """A pointer to no allocation: the null pointer, or an integer that was made a pointer.

    It moves and compares as any other; a load or a store through it is a fault.
    """

    __slots__ = ("address", "size")
    __array_ufunc__ = None

    def __init__(self, address: int = 0, size: int = 1) -> None:
        self.address = max(-REACH, min(address, REACH))
        self.size = size

    def __bool__(self) -> bool:
        return self.address != 0

    def __add__(self, n: int) -> "Address":
        return Address(self.address + n * self.size, self.size)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if hasattr(other, "address"):
            return (self.address - other.address) // self.size
        return Address(self.address - other * self.size, self.size)

    def __eq__(self, other: object) -> bool:
        return self.address == getattr(other, "address", None)

    def __lt__(self, other: Any) -> bool:
        return self.address < int(other.address)

    def __le__(self, other: Any) -> bool:
        return self.address <= int(other.address)

    def __gt__(self, other: Any) -> bool:
        return self.address > int(other.address)

    def __ge__(self, other: Any) -> bool:
        return self.address >= int(other.address)

    def cast(self, layout: Any) -> "Address":
        """The same address as a pointer to something else."""
        return Address(self.address, getattr(layout, "size", 1))

    def _refuse(self, verb: str) -> NoReturn:
        what = "the null pointer" if self.address == 0 else f"{self.address:#x}, the address of nothing"
        raise MemoryFault(
            f"{verb} through {what}",
            address=self.address,
            legal="a pointer to memory",
            hint="test the pointer first",
        )

    @property
    def here(self) -> Any:
        """The record that is pointed to."""
        self._refuse("an access")

    def __getitem__(self, i: int) -> Any:
        self._refuse("a load")

    def __setitem__(self, i: int, value: Any) -> None:
        self._refuse("a store")

    def __repr__(self) -> str:
        return "nullptr" if self.address == 0 else f"{self.address:#x}"


class Cell:
    """A variable whose address is taken, and the pointer to it; it is not in simulated memory.

    ``v`` is the value: a number, or a pointer.
    """

    __slots__ = ("layout", "v")

    def __init__(self, layout: Any, v: Any = 0) -> None:
        self.layout = layout
        self.v = v

    def put(self, v: Any) -> None:
        """Store a value."""
        self.v = v

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, i: int) -> Any:
        if i:
            raise _past(i)
        return self.v

    def __setitem__(self, i: int, value: Any) -> None:
        if i:
            raise _past(i)
        # What is stored through void ** gets the element type of the pointer.
        inner = getattr(self.layout, "pointee", None)
        self.v = value if inner is None or isinstance(value, Cell) else see(value, inner)

    def __add__(self, n: int) -> "Cell | BesideVariable":
        return self if n == 0 else BesideVariable(self, n)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, int):
            return self if other == 0 else BesideVariable(self, -other)
        if other is self:
            return 0
        return -other.n if isinstance(other, BesideVariable) and other.cell is self else _unrelated()

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def here(self) -> Any:
        """The value, where it is an object."""
        return self.v

    @property
    def shown(self) -> Any:
        """The value, for who looks at the variable."""
        return self.v

    @property
    def address(self) -> int:
        """A variable outside memory has none."""
        raise Unsupported(
            "the address of a variable that is kept in a register is wanted as a number",
            hint="make the variable an array of one element",
        )

    def cast(self, layout: Any) -> "Cell | Bits":
        """The variable seen as another type."""
        if layout is self.layout or layout is uint8 or getattr(layout, "pointee", None) is not None:
            return self
        return Bits(self, layout)

    def __repr__(self) -> str:
        return f"&{self.v!r}"


class BesideVariable:
    """A pointer beside a variable, *n* elements away: it may be compared and moved back."""

    __slots__ = ("cell", "n")

    def __init__(self, cell: Cell, n: int) -> None:
        self.cell = cell
        self.n = n

    def __add__(self, n: int) -> "Cell | BesideVariable":
        return self.cell + (self.n + n)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, int):
            return self.cell + (self.n - other)
        if other is self.cell:
            return self.n
        return (
            self.n - other.n
            if isinstance(other, BesideVariable) and other.cell is self.cell
            else _unrelated()
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BesideVariable) and other.cell is self.cell and other.n == self.n

    def __bool__(self) -> bool:
        return True

    def cast(self, _layout: Any) -> "BesideVariable":
        """The same place."""
        return self

    def __getitem__(self, i: int) -> Any:
        if self.n + i:
            raise _past(self.n + i)
        return self.cell.v

    def __setitem__(self, i: int, value: Any) -> None:
        if self.n + i:
            raise _past(self.n + i)
        self.cell[0] = value


def _past(i: int) -> OutOfBounds:
    return OutOfBounds(f"element {i} of a pointer to one variable is accessed", legal="element 0")


def _unrelated() -> NoReturn:
    raise MemoryFault("the difference of pointers to two variables means nothing")


class Bits:
    """The bytes of a variable seen as another type: ``*(int *)&x``."""

    __slots__ = ("cell", "dtype")

    def __init__(self, cell: Cell, dtype: DType) -> None:
        self.cell = cell
        self.dtype = dtype

    def _bytes(self) -> Any:
        return np.array([self.cell.v]).astype(self.cell.layout.dtype).view(np.uint8)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, i: int) -> Any:
        raw = self._bytes()
        size = self.dtype.size
        if not 0 <= i < raw.size // size:
            raise _past(i)
        return raw[i * size : (i + 1) * size].view(self.dtype.dtype)[0]

    def __setitem__(self, i: int, value: Any) -> None:
        raw = self._bytes()
        size = self.dtype.size
        if not 0 <= i < raw.size // size:
            raise _past(i)
        raw[i * size : (i + 1) * size] = np.array([value]).astype(self.dtype.dtype).view(np.uint8)
        self.cell.v = number(raw.view(self.cell.layout.dtype)[0], self.cell.layout)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bits) and other.cell is self.cell

    def cast(self, layout: Any) -> "Cell | Bits":
        """The variable seen as yet another type."""
        return self.cell.cast(layout)


class Items:
    """A pointer into a list: an array of pointers, of records or of doubles, which is no simulated memory."""

    __slots__ = ("items", "layout", "offset")

    def __init__(self, items: list[Any], layout: Any, offset: int = 0) -> None:
        self.items = items
        self.layout = layout
        self.offset = offset

    def __bool__(self) -> bool:
        return True

    def _at(self, i: int) -> int:
        at = self.offset + i
        if not 0 <= at < len(self.items):
            raise OutOfBounds(
                f"element {at} of an array of {len(self.items)} is accessed",
                legal=f"0 to {len(self.items) - 1}",
            )
        return at

    def __getitem__(self, i: int) -> Any:
        return self.items[self._at(i)]

    def __setitem__(self, i: int, value: Any) -> None:
        self.items[self._at(i)] = value

    def __add__(self, n: int) -> "Items":
        return type(self)(self.items, self.layout, self.offset + n)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Items):
            return self.offset - other.offset if other.items is self.items else _unrelated()
        return type(self)(self.items, self.layout, self.offset - other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items) and other.items is self.items and other.offset == self.offset

    def __lt__(self, other: "Items") -> bool:
        return self.offset < other.offset

    def __le__(self, other: "Items") -> bool:
        return self.offset <= other.offset

    def __gt__(self, other: "Items") -> bool:
        return self.offset > other.offset

    def __ge__(self, other: "Items") -> bool:
        return self.offset >= other.offset

    @property
    def here(self) -> Any:
        """The object that is pointed to."""
        return self[0]

    def size(self) -> int:
        """Values, of a list in braces."""
        return len(self.items)

    def begin(self) -> "Items":
        """The first value of a list in braces."""
        return self

    def end(self) -> "Items":
        """Behind the last value of a list in braces."""
        return self + len(self.items)

    def copy(self) -> "Items":
        """Another array with the same values; records are copied too."""
        return Items([copy(v) for v in self.items], self.layout, self.offset)

    def cast(self, layout: Any) -> "Items":
        """The same place; only the element type that it has may be seen."""
        if layout is self.layout or layout is uint8:
            return self
        raise Unsupported(f"an array of {self.layout} that is kept in registers is seen as {layout}")

    def __repr__(self) -> str:
        return repr(self.items[self.offset :])


def copy(value: Any) -> Any:
    """A record by value; numbers and pointers are their own copies."""
    copied = getattr(value, "copied", None)
    return value if copied is None else copied()


def number(value: Any, dtype: DType) -> Any:
    """A NumPy scalar as a number of Python."""
    return float(value) if dtype.kind == "float" else int(value)


def see(pointer: Any, layout: Any) -> Any:
    """*pointer* as one to what *layout* describes."""
    caster = getattr(layout, "of", None)
    return pointer.cast(layout) if caster is None else caster(pointer)


def seen(pointer: Any, layout: Any) -> Any:
    """*pointer* cast to one to a record or to pointers."""
    return see(pointer, layout) if isinstance(pointer, Ptr) else pointer.cast(layout)
