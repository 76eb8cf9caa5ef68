"""The memory of a host program: blocks of bytes with addresses, and pointers into them that C can move and cast."""

import bisect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, uint8
from mlusim.counted import plural
from mlusim.errors import Ended, Fault, MemoryFault, OutOfBounds, ReadOnly, UsageError, shown_file
from mlusim.frontend.bangc.runtime.referred import Referred
from mlusim.kernel_frames import kernel_site

POISON = 0xFF  # what memory holds that nothing has written, as on the device
_BASE = 0x5500_0000_0000  # of the addresses that blocks get where a program asks for them
_GUARD = 64  # bytes between two blocks
_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
        "uint64": "Q", "float": "f", "double": "d",
    }
)  # fmt: skip
_new = object.__new__


class HostMemory:
    """The address space of one program."""

    def __init__(self) -> None:
        self._next = _BASE
        self._starts: list[int] = []
        self._blocks: list[HostBlock] = []
        self.files: list[Any] = []  # of the disk, that the program has opened

    def place(self, block: "HostBlock") -> int:
        """An address for *block*, which has none yet."""
        address = self._next
        self._next += -(-(block.nbytes + _GUARD) // _GUARD) * _GUARD
        self._starts.append(address)
        self._blocks.append(block)
        return address

    def close(self) -> None:
        """Write what files hold back, and close them: the program has ended."""
        for file in self.files:
            file.close()

    def at(self, address: int) -> "HostPtr | None":
        """A pointer to the byte at *address*; None where no block is."""
        n = bisect.bisect_right(self._starts, address) - 1
        if n < 0 or address > self._starts[n] + self._blocks[n].nbytes:
            return None
        return HostPtr(self._blocks[n].view(uint8), address - self._starts[n])


class HostBlock:
    """A piece of host memory: ``what`` says in words whose it is, ``kind`` who may give it back.

    ``used`` is the number of bytes that may be accessed, as a vector has more room than elements.
    """

    __slots__ = ("_address", "freed", "kind", "memory", "nbytes", "raw", "text", "used", "views", "what")

    def __init__(
        self, memory: HostMemory, raw: "bytearray | bytes", what: str, kind: str = "", used: int | None = None
    ) -> None:
        self.memory = memory
        self.raw = raw
        self.nbytes = len(raw)
        self.used = self.nbytes if used is None else used
        self.what = what
        self.kind = kind
        self.freed = ""  # file and line, once it is given back
        self.text: str | None = None  # of a string literal
        self.views: dict[tuple[DType, int], HostView] = {}
        self._address = 0

    @property
    def address(self) -> int:
        """Where it begins; it gets an address when one is wanted first."""
        if not self._address:
            self._address = self.memory.place(self)
        return self._address

    def view(self, dtype: DType, phase: int = 0) -> "HostView":
        """The block as an array of *dtype* whose first element is *phase* bytes behind its first byte."""
        found = self.views.get((dtype, phase))
        if found is None:
            found = self.views[dtype, phase] = HostView(self, dtype, phase)
        return found

    def resize(self, used: int) -> None:
        """Let the first *used* bytes be accessed."""
        self.used = used
        for view in self.views.values():
            view.size = max(used - view.phase, 0) // view.itemsize

    def end(self) -> None:
        """Answer no access any more: it was given back, here."""
        file, line = kernel_site()
        self.freed = f"{shown_file(file)}:{line}"
        for view in self.views.values():
            view.size = -1


class HostView:
    """A block as an array of one type: ``items`` holds at least ``size`` elements."""

    __slots__ = ("block", "dtype", "items", "itemsize", "phase", "size")

    def __init__(self, block: HostBlock, dtype: DType, phase: int) -> None:
        self.block = block
        self.dtype = dtype
        self.itemsize = dtype.size
        self.phase = phase
        count = max(block.nbytes - phase, 0) // dtype.size
        code: Any = _FORMATS.get(dtype.name)
        self.items: Any
        if code is None:
            self.items = np.frombuffer(block.raw, dtype.dtype, count, phase if count else 0)
        else:
            self.items = memoryview(block.raw)[phase : phase + count * dtype.size].cast(code)
        self.size = -1 if block.freed else max(block.used - phase, 0) // dtype.size

    def refused(self, at: int, verb: str) -> Fault:
        """The fault of an access to element *at*."""
        block = self.block
        start = self.phase + at * self.itemsize
        if block.freed:
            return Ended(
                f"a {verb} of {self.itemsize} {plural(self.itemsize, 'byte')} at byte {start} of {block.what}, which was freed at {block.freed}",
                hint="free it after its last use",
            )
        return OutOfBounds(
            f"a {verb} of {self.itemsize} {plural(self.itemsize, 'byte')} at byte {start} of {block.what}",
            legal=f"bytes 0 to {block.used - 1}" if block.used else "it has no bytes",
        )


class HostPtr(Referred):
    """A typed pointer into a block; it moves by elements, as a device's `Ptr` does."""

    __slots__ = ("index", "view")
    __array_ufunc__ = None

    def __init__(self, view: HostView, index: int = 0) -> None:
        self.view = view
        self.index = index

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, i: int) -> Any:
        view = self.view
        at = self.index + i
        if 0 <= at < view.size:
            return view.items[at]
        raise view.refused(at, "load")

    def __setitem__(self, i: int, value: Any) -> None:
        view = self.view
        at = self.index + i
        if not 0 <= at < view.size:
            raise view.refused(at, "store")
        try:
            view.items[at] = value
        except TypeError:
            raise self._unfit(value) from None

    def _unfit(self, value: Any) -> Fault:
        if memoryview(self.view.block.raw).readonly:
            return ReadOnly(f"a store to {self.view.block.what}, which is constant")
        return MemoryFault(f"{value!r:.60} is stored as {self.view.dtype}; nothing of that kind fits there")

    def __add__(self, n: int) -> "HostPtr":
        made = _new(HostPtr)
        made.view = self.view
        made.index = self.index + n
        return made

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, HostPtr):
            if other.view.block is not self.view.block:
                raise MemoryFault(
                    f"the difference of a pointer into {self.view.block.what} and one into {other.view.block.what} "
                    "means nothing"
                )
            return (self.offset - other.offset) // self.view.itemsize
        made = _new(HostPtr)
        made.view = self.view
        made.index = self.index - other
        return made

    @property
    def offset(self) -> int:
        """Bytes from the first byte of the block."""
        return self.view.phase + self.index * self.view.itemsize

    @property
    def address(self) -> int:
        """Its number, where a program wants one."""
        return self.view.block.address + self.offset

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.view.dtype

    def _key(self, other: Any) -> tuple[int, int]:
        if isinstance(other, HostPtr) and other.view.block is self.view.block:
            return self.offset, other.offset
        return self.address, int(getattr(other, "address", 0))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HostPtr):
            return other.view.block is self.view.block and other.offset == self.offset
        return bool(getattr(other, "address", None) == self.address)

    def __lt__(self, other: Any) -> bool:
        a, b = self._key(other)
        return a < b

    def __le__(self, other: Any) -> bool:
        a, b = self._key(other)
        return a <= b

    def __gt__(self, other: Any) -> bool:
        a, b = self._key(other)
        return a > b

    def __ge__(self, other: Any) -> bool:
        a, b = self._key(other)
        return a >= b

    def cast(self, layout: Any) -> Any:
        """The same address as a pointer to what *layout* describes."""
        if layout.__class__ is not DType:
            caster = getattr(layout, "of", None)
            return self if caster is None else caster(self)
        view = self.view
        if view.dtype is layout:
            return self
        element, phase = divmod(self.offset, layout.size)
        return HostPtr(view.block.view(layout, phase), element)

    def span(self, nbytes: int, verb: str) -> memoryview:
        """The *nbytes* bytes from here on.  Raises `OutOfBounds` where there are fewer, `Ended` where they are freed."""
        block, start = self.view.block, self.offset
        if block.freed:
            raise Ended(
                f"a {verb} of {nbytes} {plural(nbytes, 'byte')} at {block.what}, which was freed at {block.freed}",
                hint="free it after its last use",
            )
        if start < 0 or start + nbytes > block.used:
            raise OutOfBounds(
                f"a {verb} of {nbytes} {plural(nbytes, 'byte')} at byte {start} of {block.what}",
                legal=f"{max(block.used - start, 0)} {plural(max(block.used - start, 0), 'byte')} are there",
            )
        return memoryview(block.raw)[start : start + nbytes]

    def __repr__(self) -> str:
        return (
            f"<{self.view.dtype} * {self.offset} {plural(self.offset, 'byte')} into {self.view.block.what}>"
        )


def array_block(memory: HostMemory, array: "np.ndarray[Any, Any]", what: str) -> HostBlock:
    """A block that is the bytes of a NumPy array: what the program stores the caller sees.

    Raises `UsageError` for an array that is not contiguous.
    """
    if not array.flags.c_contiguous:
        raise UsageError(f"{what} is an array that is not contiguous; give numpy.ascontiguousarray(it)")
    flat: Any = array.reshape(-1).view(np.uint8).data if array.size else b""
    return HostBlock(memory, flat, what)
