"""Typed pointers: C element arithmetic over an allocation, as seen by one core."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from mlusim.arch.dtypes import MEMORY_TYPES, DType, as_dtype, as_elements, is_number
from mlusim.counted import plural, with_article
from mlusim.errors import Fault, OutOfBounds, RuleFault, UsageError, WrongSpace
from mlusim.memory.allocation import NO_BYTES, POISON, Absent, Allocation
from mlusim.memory.space import SPACES, Space
from mlusim.presenting import Presented


class PointerKind:
    """A memory space with an element type; one object per pair, so that checks compare identity."""

    __slots__ = ("dtype", "name", "space")

    def __init__(self, space: Space, dtype: DType) -> None:
        self.space = space
        self.dtype = dtype
        self.name = f"{space} {dtype}"

    def __repr__(self) -> str:
        return self.name


KINDS: Mapping[tuple[Space, DType], PointerKind] = {
    (space, dtype): PointerKind(space, dtype) for space in SPACES for dtype in MEMORY_TYPES
}


_INTEGERS = frozenset({int} | {d.dtype.type for d in MEMORY_TYPES if d.kind != "float"})
NUMBERS = _INTEGERS | {float, np.float64} | {d.dtype.type for d in MEMORY_TYPES}


def _legal(dtype: DType) -> tuple[frozenset[type], float, float]:
    if dtype.kind == "float":
        return NUMBERS, -sys.float_info.max, sys.float_info.max
    limits = np.iinfo(dtype.dtype)
    return _INTEGERS, int(limits.min), int(limits.max)


LEGAL: Mapping[DType, tuple[frozenset[type], float, float]] = {d: _legal(d) for d in MEMORY_TYPES}
"""By element type: the number classes that NumPy converts as C does, and the lowest and highest value for which it does."""


# Kernels move and cast pointers in every loop, so pointers are created without calling `__init__`.
_new = object.__new__


class Port(Protocol):
    """The interface of a core that a pointer needs."""

    place: Any
    machine: Any
    direct: bool
    loads: list[int]
    stores: list[int]

    def scalar_load(self, view: "View", index: int, waits: int = 0) -> None: ...
    def scalar_store(self, view: "View", index: int, value: object) -> None: ...
    def region_at(self, allocation: Allocation, offset: int) -> str: ...
    def placed(self, allocation: Allocation, start: int, plan: Any) -> None: ...
    def blame(self, fault: Fault) -> Fault: ...


class View:
    """An allocation as an array of one dtype, for one core.

    ``array`` holds ``size`` elements; element 0 lies ``phase`` bytes (less than one element) behind the
    allocation's first byte, so that a pointer cast at an odd address keeps its address. ``cell`` is a buffer
    for one scalar operand of an instruction. NumPy converts a value as C does if its class is in ``accepts``
    and it lies between ``low`` and ``high``. ``own`` is true if only the view's core can access the bytes.
    """

    __slots__ = (
        "accepts", "allocation", "array", "cell", "dtype", "high", "itemsize", "kind", "lane", "low", "nbytes",
        "number", "own", "phase", "port", "raw", "read", "scalar", "siblings", "size", "space",
    )  # fmt: skip

    def __init__(
        self,
        allocation: Allocation,
        dtype: DType,
        port: Port | None,
        phase: int = 0,
        siblings: "dict[Any, View] | None" = None,
    ) -> None:
        self.allocation = allocation
        self.dtype = dtype
        self.port = port
        self.phase = phase
        self.space = allocation.space
        self.kind = KINDS[allocation.space, dtype]
        self.itemsize = dtype.size
        # mlu-ops counts 64 elements per cycle for one-byte elements, as for two-byte elements.
        self.lane = max(dtype.size, 2)  # bytes of the vector unit that an element occupies
        self.raw = allocation.raw
        self.nbytes = allocation.nbytes
        self.size = max(allocation.nbytes - phase, 0) // dtype.size
        self.array: np.ndarray[Any, Any] = np.ndarray(
            # NumPy refuses an offset past the last byte even for zero elements.
            (self.size,),
            dtype.dtype,
            allocation.raw,
            phase if self.size else 0,
        )
        if not allocation.writable:
            self.array.flags.writeable = False
        self.siblings = {} if siblings is None else siblings  # by element type, with the phase if it is not 0
        self.siblings[(dtype, phase) if phase else dtype] = self
        self.read = 0  # bytes that copies read through this view, for the last-level cache
        # Integers wrap in C; NumPy's type would raise.
        self.scalar: Callable[[Any], Any] = dtype.dtype.type if dtype.kind == "float" else dtype
        self.cell: np.ndarray[Any, Any] = np.empty((), dtype.dtype)
        self.accepts, self.low, self.high = LEGAL[dtype]
        self.number = allocation.declared.counted.number
        self.own = port is not None and not allocation.space.shared

    def open_again(self) -> None:
        """Allow accesses again, through the first view of an allocation that was revived."""
        allocation = self.allocation
        self.raw = allocation.raw
        self.nbytes = allocation.nbytes
        self.size = allocation.nbytes // self.itemsize
        self.array = self.raw.view(self.dtype.dtype)
        self.read = 0
        self.siblings[self.dtype] = self

    def close(self) -> None:
        """Refuse every later access: all bounds checks fail."""
        self.size = self.nbytes = -1
        self.array = self.raw = NO_BYTES

    def recast(self, dtype: DType, phase: int) -> "View":
        """Return a view of the same allocation and core with another element type."""
        sibling = self.siblings.get((dtype, phase) if phase else dtype)
        if sibling is not None:
            return sibling
        if not self.allocation.live:
            fault = self.allocation.ended()
            raise fault if self.port is None else self.port.blame(fault)
        view = View(self.allocation, dtype, self.port, phase, self.siblings)
        if self.nbytes < 0:
            view.close()
        return view


# Less than half the range of the C engine's signed 48-bit offsets, so that a sum of two cannot wrap.
REACH = 1 << 46
"""Limit, in bytes, of a pointer's distance from its memory; all pointers farther away count as out of bounds."""

FAR = 1 << 90
"""The offset, in bytes, of a pointer that was moved beyond its reach: no step leads back from there."""


def moved_to(offset: int) -> int:
    """Return *offset*, in bytes, or `FAR` (or its negative) if it is beyond the reach of pointers."""
    if -REACH <= offset < REACH:
        return offset
    return FAR if offset > 0 else -FAR


class Ptr(Presented):
    """A typed pointer with C arithmetic: ``p + n`` and ``p - n`` move by elements, not bytes.

    ``p[i]`` loads and ``p[i] = v`` stores one element, ``p - q`` is in elements, ``p.cast(dtype)`` keeps the
    address.
    """

    __slots__ = ("index", "view")
    __array_ufunc__ = None  # so that `numpy_integer + p` reaches __radd__

    def __init__(self, view: View, index: int = 0) -> None:
        self.view = view
        self.index = index

    def __add__(self, n: int) -> "Ptr":
        if n.__class__ is not int:
            n = self._elements(n)
        at = self.index + n
        if not -0x2000_0000 < at < 0x2000_0000:  # small numbers, which Python compares fastest
            at = self._far(at)
        moved = _new(Ptr)
        moved.view = self.view
        moved.index = at
        return moved

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        if other.__class__ is Ptr:
            return self._distance(other)
        at = self.index - (other if other.__class__ is int else self._elements(other))
        if not -0x2000_0000 < at < 0x2000_0000:  # small numbers, which Python compares fastest
            at = self._far(at)
        moved = _new(Ptr)
        moved.view = self.view
        moved.index = at
        return moved

    def __getitem__(self, i: int) -> Any:
        view = self.view
        at = self.index + (i if i.__class__ is int else self._elements(i))
        port = view.port
        # The common case in line: memory of this core alone, and no observer listens to its loads (`direct`).
        if (
            view.own
            and port is not None
            and 0 <= at < view.size
            and port.direct
            and port.machine.scheduler.running is port
        ):
            port.loads[view.number] += 1
            return view.array[at]
        if port is None or not 0 <= at < view.size:
            raise self._refused(at, "load")
        port.scalar_load(view, at)
        return view.array[at]

    def load(self, i: int, waits: int) -> Any:
        """Return ``p[i]`` by a load that is charged as *waits*, a quantity of `time.quantities`."""
        view = self.view
        at = self.index + (i if i.__class__ is int else self._elements(i))
        port = view.port
        if port is None or not 0 <= at < view.size:
            raise self._refused(at, "load")
        if view.own and port.direct and port.machine.scheduler.running is port:
            port.loads[view.number + waits] += 1
        else:
            port.scalar_load(view, at, waits)
        return view.array[at]

    def __setitem__(self, i: int, value: object) -> None:
        view = self.view
        at = self.index + (i if i.__class__ is int else self._elements(i))
        port = view.port
        if port is None or not 0 <= at < view.size or not view.allocation.writable:
            raise self._refused(at, "store")
        if value.__class__ not in NUMBERS:
            value = self._number(value)
        # As in `__getitem__`; NumPy converts a float for float memory, but an integer would have to be
        # wrapped first.
        if (
            value.__class__ is float
            and view.own
            and view.scalar.__class__ is type
            and port.direct
            and port.machine.scheduler.running is port
        ):
            port.stores[view.number] += 1
            view.array[at] = value
            return
        try:
            value = view.scalar(value)
        except OverflowError:
            raise port.blame(_no_number(view, value)) from None
        port.scalar_store(view, at, value)
        view.array[at] = value

    @property
    def v(self) -> Any:
        """The element at the pointer, ``*p``, as a Python number."""
        view = self.view
        port = view.port
        if (
            view.own
            and port is not None
            and 0 <= self.index < view.size
            and port.direct
            and port.machine.scheduler.running is port
        ):
            port.loads[view.number] += 1
            element = view.array[self.index]
        else:
            element = self[0]
        return float(element) if view.dtype.kind == "float" else int(element)

    @v.setter
    def v(self, value: object) -> None:
        self[0] = value

    def cast(self, dtype: object) -> "Ptr":
        """Return a pointer to the same address with another element type, as ``(T *)p`` in C."""
        view = self.view
        if dtype.__class__ is not DType:
            dtype = as_dtype(dtype)
        if view.dtype is dtype:
            return self
        seen = None if view.phase else view.siblings.get(dtype)
        if seen is not None:  # most casts, which are frequent in vendor kernels
            index, rest = self.index, 0
            if seen.itemsize != view.itemsize:
                index, rest = divmod(index * view.itemsize, seen.itemsize)
            if not rest:
                moved = _new(Ptr)
                moved.view = seen
                moved.index = index
                return moved
        # A cast to a wider type at an odd address: that type's view begins *phase* bytes into the allocation.
        element, phase = divmod(view.phase + self.index * view.itemsize, dtype.size)
        return Ptr(view.recast(dtype, phase), element)

    def placed(self, plan: object) -> None:
        """Tell the core that the regions of *plan* begin at this pointer; see `Plan.place`."""
        if self.view.port is not None:
            self.view.port.placed(self.view.allocation, self.offset, plan)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.view.dtype

    @property
    def space(self) -> Space:
        """The memory space that the pointer points into."""
        return self.view.space

    @property
    def offset(self) -> int:
        """Bytes from the first byte of the allocation."""
        view = self.view
        return view.phase + self.index * view.itemsize

    @property
    def address(self) -> int:
        """The device address, in bytes, as C would print it."""
        return self.view.allocation.address + self.offset

    def _far(self, at: int) -> int:
        """Return *at*, the index after a step that may lead out of reach; out of reach a pointer stays where it is."""
        size = self.view.itemsize
        if not -REACH <= self.offset < REACH:
            return self.index
        to = moved_to(self.view.phase + at * size)
        return at if -REACH <= to < REACH else to // size

    def _elements(self, n: Any) -> int:
        """Return the offset *n* as a Python integer; raise for floats and other types."""
        try:
            return n.__index__()  # type: ignore[no-any-return]
        except (AttributeError, TypeError):
            fault = RuleFault(
                f"a pointer moves by whole elements, not by {n!r}",
                legal="an integer",
                hint="use `//` where C divides",
            )
            raise fault if self.view.port is None else self.view.port.blame(fault) from None

    def _number(self, value: object) -> Any:
        """Return *value* as a number that a store can convert; raise if it is not a number."""
        handed = getattr(value, "handed", None)
        if handed is not None:  # an observer tracks this value
            return handed()
        if is_number(value):
            return value[()] if isinstance(value, np.ndarray) else value
        assert self.view.port is not None
        raise self.view.port.blame(_no_number(self.view, value))

    def _distance(self, other: "Ptr") -> int:
        if other.view.dtype is not self.view.dtype:
            raise UsageError(
                f"the difference of {with_article(str(self.dtype))} pointer and {with_article(str(other.dtype))} pointer has no unit; cast one of them"
            )
        if other.view.space is not self.view.space:
            raise UsageError(
                f"the difference of a pointer into {self.space} and one into {other.space} means nothing; "
                "subtract pointers into one memory"
            )
        apart = reached(self) - reached(other)
        distance, rest = divmod(apart, self.view.itemsize)
        if rest:
            raise UsageError(
                f"the two pointers are {apart} {plural(apart, 'byte')} apart, no multiple of the "
                f"{self.view.itemsize} {plural(self.view.itemsize, 'byte')} of {self.dtype}; cast both to int8 for bytes"
            )
        return distance

    def _refused(self, at: int, verb: str) -> Fault:
        view = self.view
        port = view.port
        if port is None:
            return WrongSpace(
                f"the host cannot {verb} through a device pointer",
                space=view.space.name,
                hint="use device.get()",
            )
        address = view.allocation.address + view.phase + at * view.itemsize
        if isinstance(view.allocation, Absent):
            fault: Fault | None = view.allocation.fault()
        else:
            fault = bounds_fault(view, at * view.itemsize + view.phase, view.itemsize)
        if fault is None:
            fault = view.allocation.const_fault(does="store to")
        fault.intrinsic, fault.address, fault.space = f"scalar {verb}", address, view.space.name
        return port.blame(fault)

    def __eq__(self, other: object) -> bool:
        return self.address == other.address if isinstance(other, Ptr) else NotImplemented

    def __lt__(self, other: "Ptr") -> bool:
        return self.address < other.address if isinstance(other, Ptr) else NotImplemented

    def __le__(self, other: "Ptr") -> bool:
        return self.address <= other.address if isinstance(other, Ptr) else NotImplemented

    def __gt__(self, other: "Ptr") -> bool:
        return self.address > other.address if isinstance(other, Ptr) else NotImplemented

    def __ge__(self, other: "Ptr") -> bool:
        return self.address >= other.address if isinstance(other, Ptr) else NotImplemented

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        view = self.view
        head = f"<{self.dtype} * {view.space}+{self.offset:#x} ({self.address:#x}) of {view.allocation.site}"
        if view.nbytes < 0:
            return f"{head}: its launch has ended>"
        if not 0 <= self.index < view.size:
            return f"{head}: outside>"
        region = "" if view.port is None else view.port.region_at(view.allocation, self.offset)
        return f"{head}{region}: {values_shown(view.array[self.index : self.index + 4])}>"


def _no_number(view: View, value: object) -> RuleFault:
    return RuleFault(
        f"{value!r:.80} is not a number that {view.dtype} can hold",
        intrinsic="scalar store",
        operand="value",
        space=view.space.name,
        legal="one number",
        hint="store arrays with a copy or an intrinsic, element by element otherwise",
    )


def reached(pointer: Ptr) -> int:
    """Return the address of *pointer*, limited to `REACH` bytes from its allocation."""
    return pointer.view.allocation.address + max(-REACH, min(pointer.offset, REACH))


def bounds_fault(view: View, place: int, nbytes: int, ahead: int = 0) -> OutOfBounds | None:
    """Return the fault for an access to *nbytes* bytes that starts *ahead* bytes after byte *place* of the allocation, or None.

    *place* is the offset of a pointer and is clamped to `REACH`.
    """
    allocation = view.allocation
    start = max(-REACH, min(place, REACH)) + ahead
    if view.nbytes < 0 or not allocation.live:
        return allocation.ended(start)
    if start >= 0 and start + nbytes <= allocation.nbytes:
        return None
    over = max(start + nbytes - allocation.nbytes, 0)
    sides = [f"{over} {plural(over, 'byte')} past its end"] if over else []
    if start < 0:
        sides.append(f"{-start} {plural(-start, 'byte')} before its start")
    legal = (
        f"bytes [0, {allocation.nbytes}), addresses {allocation.address:#x} to "
        f"{allocation.address + allocation.nbytes - 1:#x} of {allocation.space}"
    )
    return OutOfBounds(
        f"bytes [{start}, {start + nbytes}) of {allocation.site} reach {' and '.join(sides)}",
        space=allocation.space.name,
        address=allocation.address + start,
        nbytes=nbytes,
        declared=(allocation.declared.file, allocation.declared.line),
        legal=legal if allocation.nbytes else "none, for it has no bytes",
        hint="check the offset, which points before the start"
        if start < 0
        else "check the count against what is left at that offset",
    )


def values_shown(array: np.ndarray[Any, Any]) -> str:
    """Return the elements as text; unwritten ones as "poison", or with a ``?`` if the number may be a real value."""
    fresh = (array.view(np.uint8).reshape(array.size, -1) == POISON).all(axis=1)
    if not fresh.any():
        return np.array2string(array, separator=", ", threshold=4)
    unwritten = (
        "-1?" if array.dtype.kind == "i" else f"{array[fresh][0]}?" if array.dtype.kind == "u" else "poison"
    )
    texts = [unwritten if is_fresh else f"{value}" for value, is_fresh in zip(array, fresh, strict=True)]
    return f"[{', '.join(texts)}]"


def initialise(view: View, values: object) -> RuleFault | None:
    """Write *values*, then zeros, to *view*; return the fault if *values* cannot be stored."""
    if values.__class__ is np.ndarray and values.dtype is view.array.dtype and values.size == view.size:
        view.array[:] = values
        view.allocation.filled = True
        return None
    elements = as_elements(values, view.dtype)
    if elements is None or elements.size > view.size:
        what = (
            f"{values!r:.80} is not a row of numbers"
            if elements is None
            else f"{elements.size} initial values"
        )
        return RuleFault(
            f"{what} for {view.size} {plural(view.size, 'element')}",
            operand="values",
            legal="as many or fewer",
        )
    view.array[: elements.size] = elements
    view.array[elements.size :] = 0
    view.allocation.filled = True
    return None
