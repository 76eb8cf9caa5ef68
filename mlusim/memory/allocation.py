"""Allocations, which are pieces of a memory space with an address, bytes and an owner; and their declarations."""

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.dtypes import DType
from mlusim.counted import plural
from mlusim.errors import Ended, Fault, OutOfMemory, ReadOnly, RuleFault, Unsupported, shown_file
from mlusim.memory.space import NRAM, Space

POISON = 0xFF  # NaN in half, bfloat16 and float; -1 in every signed integer

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]

NO_BYTES: Bytes = np.empty(0, np.uint8)


HOST_PAGE = 4096


def fresh_bytes(nbytes: int) -> Bytes:
    """Return *nbytes* uninitialised bytes, aligned to 64 bytes, where NumPy's loops are fastest."""
    # NumPy aligns to 16 bytes; a cache line of the host has 64.
    raw = np.empty(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def on_chip_bytes(nbytes: int) -> Bytes:
    """Return *nbytes* uninitialised bytes for an on-chip memory, from the middle of a page of the host.

    Large tensors begin where pages do, and a host that compares the last 12 bits of addresses lets loads
    of one wait for stores to the other if both are at the same place of a page.
    """
    raw = np.empty(nbytes + HOST_PAGE, np.uint8)
    start = (HOST_PAGE // 2 - raw.ctypes.data) % HOST_PAGE
    return raw[start : start + nbytes]


def pages(nbytes: int) -> Bytes:
    """Return *nbytes* zero bytes in pages that the system provides as they are written; a forked process has its own."""
    return np.frombuffer(mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)


class Allocation:
    """A contiguous piece of one memory space.

    ``address`` is the device address of its first byte; ``raw`` is a byte array that holds the ``nbytes``
    bytes; ``declared`` is its declaration, ``site`` the declaration in words. ``filled`` is true if the host
    or the declaration initialised every byte; if the host initialised only parts, ``given`` has their byte
    ranges [start, stop) in ascending order. ``launches`` counts the launches that may have changed the bytes.
    ``heap`` is the device heap that the allocation is from, None on chip. ``shadow`` is shadow memory in
    which observers store facts about the bytes from one launch to the next; the machine never reads it.
    """

    __slots__ = (
        "_where", "address", "declared", "filled", "given", "heap", "launches", "live", "nbytes", "raw", "shadow", "space", "writable",
    )  # fmt: skip

    def __init__(
        self, space: Space, address: int, raw: Bytes, declared: "MemoryDeclaration", *, writable: bool = True
    ) -> None:
        self.heap: Heap | None = None
        self.filled = False
        self.given: tuple[tuple[int, int], ...] = ()
        self.launches = 0
        self.shadow: Any = None
        self.space = space
        self.address = address
        self.raw = raw
        self.nbytes = raw.size
        self.declared = declared
        self.writable = writable
        self.live = True
        self._where = 0

    def where(self) -> int:
        """Return the host address of the bytes; cached, because NumPy needs a microsecond for it."""
        if not self._where:
            self._where = int(self.raw.__array_interface__["data"][0])
        return self._where

    @property
    def site(self) -> str:
        """The declaration of the allocation, in words."""
        return str(self.declared)

    def __repr__(self) -> str:
        return f"<{self.space} {self.address:#x}..{self.address + self.nbytes:#x} {self.site}>"

    def give(self, start: int, stop: int) -> None:
        """Record that the host initialised bytes [*start*, *stop*); once all bytes are covered, the allocation is ``filled``."""
        merged: list[tuple[int, int]] = []
        for low, high in sorted({*self.given, (start, stop)}):
            if merged and low <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(high, merged[-1][1])
            else:
                merged.append((low, high))
        self.given = tuple(merged)
        self.filled = self.filled or self.given == ((0, self.nbytes),)

    def has(self, offset: int) -> bool:
        """Return whether the host or the declaration initialised the byte at *offset*."""
        return self.filled or any(low <= offset < high for low, high in self.given)

    def ended(self, start: int = 0) -> Ended:
        """Return the fault for an access to byte *start* of an allocation that has ended."""
        return Ended(
            f"{self.site} ended with its task or launch",
            space=self.space.name,
            address=self.address + start,
            hint="take the pointer from this launch's own declarations",
        )

    def const_fault(self, operand: str | None = None, *, does: str = "it would change") -> ReadOnly:
        """Return the fault for a store to const memory: a tensor passed as const, or a variable that the kernel declares const."""
        if self.declared.file:
            return ReadOnly(
                f"{does} {self.site}, which is const there",
                operand=operand,
                hint="copy it to a variable of the task, and store there",
            )
        return ReadOnly(
            f"{does} {self.site}, which the host passed as const",
            operand=operand,
            hint="store to another tensor, or pass one that may change: device.put(), --arg NAME=inout:F.npy",
        )

    def end(self) -> None:
        """Drop the bytes: every later access through a view of this allocation faults."""
        self.live = False
        self.raw = NO_BYTES

    def begin_again(self, raw: Bytes, *, poison: bool = True) -> None:
        """Revive an ended allocation with its former bytes *raw*, as if just declared: writable, and filled with poison if *poison*."""
        if poison:
            raw.fill(POISON)
        self.raw = raw
        self.live = self.writable = True
        self.filled = False


class Absent(Allocation):
    """A declaration in a memory that the core does not have: it has no bytes, and every use faults."""

    __slots__ = ()

    def __init__(self, space: Space, declared: "MemoryDeclaration") -> None:
        super().__init__(space, 0, NO_BYTES, declared)

    def fault(self) -> Fault:
        """Return the fault for a use of it."""
        return Unsupported(
            f"a memory core has no {self.space}; {self.site} is for the IPU cores",
            space=self.space.name,
            hint="leave it to the IPU cores: `if mlu.is_mpu(): return`",
        )


class Arena:
    """One physical on-chip (or stack) memory, which allocates its declarations one after the other.

    *capacity* is the number of bytes that a kernel may use. The bytes are taken from *pool* at the first
    declaration, so that a memory which a core never uses costs nothing.
    """

    __slots__ = ("allocations", "base", "capacity", "high_water", "pool", "raw", "space", "top", "unit")

    def __init__(self, space: Space, base: int, capacity: int, pool: "Pool", unit: int = 1) -> None:
        self.space = space
        self.base = base
        self.capacity = capacity
        self.pool = pool
        self.unit = unit
        self.raw: Bytes | None = None
        self.top = 0
        self.high_water = 0
        self.allocations: list[Allocation] = []

    def allocate(self, nbytes: int, align: int, declared: "MemoryDeclaration") -> Allocation:
        """Allocate *nbytes* bytes, aligned to *align*, and fill them with poison.

        Raises `OutOfMemory`, which names the bytes requested, the bytes left and the limit.
        """
        # Operands need this alignment: 64 bytes on MLU2xx, 8 in WRAM.
        align = max(align, self.unit, declared.align)
        start = -(-self.top // align) * align
        if start + nbytes > self.capacity:
            left = self.capacity - start if start < self.capacity else 0
            raise OutOfMemory(
                f"{self.space} declaration of {nbytes} {plural(nbytes, 'byte')} does not fit: {left} of {self.capacity} bytes are left",
                space=self.space.name,
                address=self.base + start,
                nbytes=nbytes,
                legal=f"at most {self.capacity} bytes of {self.space} a {self.space.owner} on this board",
                hint="declare less, or declare once and reuse it (`mlusim plan` shows what fits)",
            )
        if self.raw is None:
            self.raw = self.pool.take(self.space, self.capacity)
        piece = self.raw[start : start + nbytes]
        # Real memory holds bytes of earlier use; poison makes a read of them visible in the results.
        piece.fill(POISON)
        self.top = start + nbytes
        self.high_water = max(self.high_water, self.top)
        allocation = Allocation(self.space, self.base + start, piece, declared)
        self.allocations.append(allocation)
        return allocation

    def allocate_again(self, allocation: Allocation, *, poison: bool = True) -> None:
        """Allocate the ended *allocation* again at its old address, when the memory is as full as it was then.

        Without *poison* the bytes stay as they are, because C code allocated them and the kernel may have
        written them.
        """
        assert self.raw is not None
        start = allocation.address - self.base
        self.top = top = start + allocation.nbytes
        allocation.begin_again(self.raw[start:top], poison=poison)
        self.high_water = max(self.high_water, top)
        self.allocations.append(allocation)

    def reaches(self, allocation: Allocation) -> None:
        """Include *allocation*, which was allocated here and has ended, in the high-water mark."""
        self.high_water = max(self.high_water, allocation.address - self.base + allocation.nbytes)

    def cut(self, top: int, count: int) -> None:
        """End all but the first *count* declarations, whose bytes lie below *top*, and fill the bytes above *top* with poison."""
        for allocation in self.allocations[count:]:
            allocation.end()
        del self.allocations[count:]
        self.top = top
        if self.raw is not None:
            self.raw[:top].fill(POISON)

    def release(self) -> None:
        """End every declaration and give the bytes back to the pool."""
        for allocation in self.allocations:
            allocation.end()
        self.allocations.clear()
        if self.raw is not None:
            self.pool.give(self.space, self.raw)
            self.raw = None
        self.top = 0


class Pool:
    """Byte arrays of finished cores, reused by later cores of the same launch."""

    def __init__(self) -> None:
        self._free: dict[tuple[Space, int], list[Bytes]] = {}

    def take(self, space: Space, nbytes: int) -> Bytes:
        """Return a byte array of *nbytes* bytes with unspecified contents."""
        free = self._free.get((space, nbytes))
        # The bytes are as the last core left them; `Arena.allocate` fills each declaration with poison.
        return free.pop() if free else on_chip_bytes(nbytes)

    def give(self, space: Space, raw: Bytes) -> None:
        """Return *raw* to the pool for a later `take`."""
        self._free.setdefault((space, raw.size), []).append(raw)

    def clear(self) -> None:
        """Drop all byte arrays at the end of the launch."""
        self._free.clear()


class Heap:
    """The device's GDRAM: allocations at growing addresses, bounded by *capacity* bytes.

    ``kept`` has, by address, the allocations that a kernel may reach by an address stored in memory, in
    addition to its arguments: allocations of the driver, which the program frees by a call. ``advice`` is the
    hint of the error when the heap is full.
    """

    ALIGN = 256  # bytes; inferred, the driver's allocation granularity is not published

    def __init__(self, space: Space, base: int, capacity: int) -> None:
        self.space = space
        self.base = base
        self.capacity = capacity
        self.used = 0
        self.kept: dict[int, Allocation] = {}
        self._next = base
        self.advice = "free tensors with `device.free`, or use a board with more memory"

    def allocate(self, raw: Bytes, declared: "MemoryDeclaration", *, writable: bool = True) -> Allocation:
        """Give *raw* an address.  Raises `OutOfMemory` when the board's memory is exhausted."""
        self.reserve(raw.size)
        address = self._next
        # Leave a gap after each allocation, so that an access past its end does not hit its neighbour.
        self._next += -(-max(raw.size, 1) // self.ALIGN) * self.ALIGN + self.ALIGN
        self.used += raw.size
        allocation = Allocation(self.space, address, raw, declared, writable=writable)
        allocation.heap = self
        return allocation

    def place_of(self, nbytes: int, most: int) -> int:
        """Return the offset (bytes from the base) at which the next allocation of *nbytes* bytes will begin.

        Raises `OutOfMemory` if it would end after byte *most*, or exceed the capacity.
        """
        self.reserve(nbytes)
        start = self._next - self.base
        if start + nbytes > most:
            raise OutOfMemory(
                f"the {most} addresses of GDRAM are used up: none is used twice",
                space=self.space.name,
                hint="allocate once and use it again",
            )
        return start

    def skip_to(self, multiple: int, beyond: int = 0) -> None:
        """Let the next allocation begin *beyond* bytes behind an address that is a multiple of *multiple*."""
        self._next += (beyond - self._next) % multiple

    def reserve(self, nbytes: int) -> None:
        """Raise `OutOfMemory` unless *nbytes* more bytes fit."""
        if self.used + nbytes > self.capacity:
            raise OutOfMemory(
                f"GDRAM allocation of {nbytes} {plural(nbytes, 'byte')} does not fit: {self.capacity - self.used} {plural(self.capacity - self.used, 'byte is', 'bytes are')} left",
                space=self.space.name,
                legal=f"{self.capacity} bytes of GDRAM on this board",
                hint=self.advice,
            )

    def free(self, allocation: Allocation) -> None:
        """Give the bytes of *allocation* back; its address is never used again."""
        # The address is not reused: a pointer that outlives its tensor would read another tensor's bytes
        # without a fault.
        if allocation.live:
            self.used -= allocation.nbytes
            self.kept.pop(allocation.address, None)
            allocation.end()


def as_bytes(array: np.ndarray[Any, Any]) -> Bytes:
    """Return the bytes of a C-contiguous *array*, without a copy."""
    return array.reshape(-1).view(np.uint8)


@frozen
class MemoryDeclaration:
    """A declaration of *count* elements of *dtype* in *space*.

    For on-chip memory *file* and *line* are the place of the kernel's statement, and *name* is the variable's
    name if the front end knows it. A tensor of the host has a *shape* instead, the *name* of the parameter
    that it is passed to if that is known, and *const* if a kernel may not write it. *stack* is true for a
    local array of BANG C, which a compiler puts on its stack; *align* is the alignment of an ``alignas`` in
    bytes. *told* describes a tensor in words if a program has a better name for it than its shape.
    """

    space: Space
    dtype: DType
    count: int
    file: str = ""
    line: int = 0
    name: str | None = None
    shape: tuple[int, ...] | None = None
    const: bool = False
    stack: bool = False
    align: int = 1
    told: Callable[[], str] | None = field(default=None, eq=False)

    @property
    def counted(self) -> Space:
        """The space to which scalar accesses are charged: NRAM for stack variables, as the compiler places them there."""
        return NRAM if self.stack else self.space

    @property
    def place(self) -> str:
        """``kernel.py:21``; "" for a tensor."""
        return f"{shown_file(self.file)}:{self.line}" if self.file else ""

    def element_at(self, offset: int) -> str:
        """Return the element at byte *offset*, as "out[49, 0, 0]"; "" for fewer than two dimensions or an offset outside the tensor."""
        number = offset // self.dtype.size
        if self.shape is None or len(self.shape) < 2 or not 0 <= number < self.count:
            return ""
        at: list[str] = []
        for size in reversed(self.shape):
            number, index = divmod(number, size)
            at.append(str(index))
        return f"{self.name or 'element '}[{', '.join(reversed(at))}]"

    def __str__(self) -> str:
        if self.told is not None:
            return self.told()
        if self.shape is not None:
            name = f"{self.name} " if self.name else ""
            return f"{'const ' if self.const else ''}tensor {name}{self.dtype}{list(self.shape)}"
        name = f" {self.name}" if self.name else ""
        return f"{self.space} {self.dtype}{name}[{self.count}] declared at {self.place}"


@frozen
class StackVariable:
    """A local variable that a compiler puts on the stack: its kind ("array" or "structure"), its bytes and its location."""

    told: str
    kind: str
    nbytes: int
    file: str
    line: int


def elements(space: Space, count: Any) -> int:
    """Return *count*, a number of elements to declare in *space*, as an integer; raise `RuleFault` if it is not a positive integer."""
    try:
        # NumPy's integers have `__index__`; floats and text do not.
        number: int = count.__index__()
    except (AttributeError, TypeError):
        number = 0
    if number <= 0:
        raise RuleFault(
            f"{count!r} elements of {space} cannot be declared", legal="a whole number, 1 or more"
        )
    return number
