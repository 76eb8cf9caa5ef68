"""The GDRAM of one board for a native program: pieces of a memory map, by address."""

import ctypes
import mmap
import os
from bisect import bisect_right, insort
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import define, evolve, field

from mlusim.arch.dtypes import uint8
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import POISON, Allocation, Bytes
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.machine.device import Device

MOST_POISON = 1 << 30  # bytes: beyond them a piece is not poisoned, and is 0 until it is written
REMEMBERED = 65536  # freed pieces that are remembered
PAGE = mmap.PAGESIZE
MAP_FIXED = 0x10  # the same on every architecture for which Python exists on Linux


class HostMistake(UsageError):
    """A mistake in a program's host code; ``rule`` is the finding's."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@define(eq=False)
class Piece:
    """The memory of one call of ``cnrtMalloc``.  *caller* and *freed* are the return addresses of the calls that allocated and freed it."""

    tensor: DeviceTensor
    start: int
    stop: int
    caller: int
    freed: int | None = None
    managed: str = ""  # its purpose, if a library of the program manages it
    strided: bool = False  # whether a tensor in it is not contiguous
    shared: bool = False  # whether other processes may map it
    ptr: Ptr = field(init=False)
    mapped: ClassVar[bool] = True  # whether its bytes are in the map
    _poisoned: bool = False

    def __attrs_post_init__(self) -> None:
        self.ptr = self.tensor.ptr

    @property
    def nbytes(self) -> int:
        """The size of the allocation, in bytes."""
        return self.stop - self.start

    def poison(self) -> None:
        """Poison the bytes that the host has not written, once, before they are first read."""
        if self._poisoned:
            return
        self._poisoned = True
        allocation = self.tensor.allocation
        if allocation.filled:
            return
        at = 0
        for low, high in (*allocation.given, (self.nbytes, self.nbytes)):
            allocation.raw[at : min(low, MOST_POISON)].fill(POISON)
            at = high

    def is_fresh(self, start: int, stop: int) -> bool:
        """Return whether bytes [*start*, *stop*) were never written, not even with poison."""
        allocation = self.tensor.allocation
        overlapped = any(low < stop and start < high for low, high in allocation.given)
        return not (self._poisoned or allocation.filled or overlapped)


class PrivatePiece(Piece):
    """Memory outside of the map, whose place in the map is used only during copies."""

    mapped = False

    def poison(self) -> None:
        """Do nothing, since it was poisoned when it was allocated."""


class LentPiece(PrivatePiece):
    """Memory of another owner, which ``cnrtFree`` refuses."""

    def __attrs_post_init__(self) -> None:
        self.ptr = self.tensor.ptr.cast(uint8)


class VariablePiece(LentPiece):
    """A variable at file scope in the map."""

    mapped = True


class SharedPiece(VariablePiece):
    """Memory of another process, whose pages are in the map."""


class MappedMemory:
    """The pieces of *device*; they are in *memory*, a part of *map* from byte *first* on; *where* names a caller."""

    shares: ClassVar[bool] = True  # whether other processes may map it

    def __init__(
        self, device: "Device", memory: Bytes, mapped: mmap.mmap, first: int, where: Callable[[int], Any]
    ) -> None:
        self.device = device
        self._memory, self._map, self._first, self._where = memory, mapped, first, where
        self._starts: list[int] = []
        self._variables_kind: type[LentPiece] = LentPiece
        self._pieces: dict[int, Piece] = {}
        self._freed: dict[int, Piece] = {}
        self._of_host: dict[int, str] = {}
        device.advise("free what is not used any more, or name a board with more memory in MLUSIM_BOARD")

    def malloc(self, nbytes: int, caller: int, managed: str = "") -> int:
        """Allocate *nbytes* bytes and return their address.  *managed* is their purpose, if a library requests them and frees them itself.

        Raises `OutOfMemory`.
        """
        start = 0

        def told() -> str:
            return self._pieces_name(start, nbytes, caller)

        tensor, kind = self._cut(nbytes, told)
        start = tensor.address
        insort(self._starts, start)
        self._pieces[start] = kind(tensor, start, start + nbytes, caller, managed=managed)
        return start

    def _cut(self, nbytes: int, told: Callable[[], str]) -> tuple[DeviceTensor, type[Piece]]:
        """Return memory of *nbytes* bytes, and the class of its piece; *told* returns its name."""
        return self.device.cut(self._memory, nbytes, told), Piece

    def describe(self, address: int, managed: str, *, strided: bool = False) -> None:
        """Name the piece at *address* by the words *managed* from now on; also memory of the host, which may be passed to a kernel by mistake."""
        piece = self.find(address)
        if piece is not None:
            piece.managed, piece.strided = managed, strided
            return
        self._of_host.pop(address, None)
        self._of_host[address] = managed
        if len(self._of_host) > REMEMBERED:
            del self._of_host[next(iter(self._of_host))]

    def _pieces_name(self, start: int, nbytes: int, caller: int) -> str:
        """Return a phrase that identifies a piece: a library's words for it, or its size and the line that allocated it."""
        piece = self._pieces.get(start) or self._freed.get(start)
        return (
            piece.managed
            if piece is not None and piece.managed
            else f"{nbytes} {plural(nbytes, 'byte')} of cnrtMalloc at {self._where(caller)}"
        )

    def lend(self, allocation: Allocation, kind: "type[LentPiece]" = LentPiece) -> None:
        """Make the addresses of *allocation*, which has another owner, known here; ``cnrtFree`` refuses them."""
        start = allocation.address
        if start not in self._pieces:
            nbytes = allocation.raw.size
            tensor = DeviceTensor(self.device, allocation, (nbytes,), uint8)
            insort(self._starts, start)
            self._pieces[start] = kind(tensor, start, start + nbytes, 0)

    def hold_variables(self) -> None:
        """Put variables at file scope into the map from now on."""
        self.device.hold_variables_in(self._memory)
        self._variables_kind = VariablePiece

    def lend_variable(self, allocation: Allocation) -> None:
        """Make the addresses of a variable at file scope known here."""
        self.lend(allocation, self._variables_kind)

    def has_mapped(self, address: int) -> bool:
        """Return whether the bytes at *address* are in the map."""
        piece = self.find(address)
        return piece is None or piece.mapped

    def window(self, address: int, nbytes: int) -> Bytes:
        """Return *nbytes* bytes of the map from *address* on."""
        first = address - self.device.base
        return self._memory[first : first + nbytes]

    def free(self, address: int, caller: int) -> None:
        """Free a piece.  Raises `UsageError` if there is none at *address*."""
        piece = self._pieces.get(address)
        if piece is None or isinstance(piece, LentPiece):
            raise self.mistaken(
                address, f"cnrtFree is given {self.told(address)}; free what cnrtMalloc gave, once"
            )
        self._end(piece, caller)
        if piece.shared:  # other processes keep it
            return
        low = -(-(piece.start - self.device.base) // PAGE) * PAGE
        high = (piece.stop - self.device.base) // PAGE * PAGE
        if high > low:
            self._map.madvise(mmap.MADV_REMOVE, self._first + low, high - low)

    def _end(self, piece: Piece, caller: int) -> None:
        piece.freed = caller
        del self._pieces[piece.start]
        del self._starts[bisect_right(self._starts, piece.start) - 1]
        if len(self._freed) >= REMEMBERED:
            del self._freed[next(iter(self._freed))]
        self._freed[piece.start] = piece
        self.device.free(piece.tensor)

    def share(self, address: int, call: str) -> Piece:
        """Return the piece that begins at *address*, and let other processes map it.  Raises `UsageError` if no piece begins there."""
        self._refuse_sharing()
        piece = self._pieces.get(address)
        if piece is None or isinstance(piece, LentPiece):
            raise self.mistaken(
                address, f"{call} is given {self.told(address)}; give the pointer that cnrtMalloc gave"
            )
        piece.poison()
        piece.shared = piece.tensor.allocation.filled = True  # writes of other processes are not seen here
        return piece

    def _refuse_sharing(self) -> None:
        if not self.shares:
            raise UsageError("a program that is not trusted shares no memory with other processes")

    def map_file(self, path: str, first: int, nbytes: int, caller: int) -> int:
        """Map *nbytes* bytes of the file *path* from byte *first* on; return their address.

        Raises `UsageError` if the file cannot be mapped, and `OutOfMemory`.
        """
        self._refuse_sharing()
        owner = path.split("/")[2]
        called = f"{nbytes} {plural(nbytes, 'byte')} of process {owner}, mapped at {self._where(caller)}"
        tensor = self.device.cut_pages(self._memory, PAGE, first % PAGE, nbytes, lambda: called)
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                self._lay(tensor.address, nbytes, mmap.MAP_SHARED, file, first)
            finally:
                os.close(file)
        except OSError as error:
            self.device.free(tensor)
            raise UsageError(f"the memory of process {owner} cannot be mapped: {error.strerror}") from None
        start = tensor.address
        insort(self._starts, start)
        self._pieces[start] = SharedPiece(tensor, start, start + nbytes, caller, managed=called)
        return start

    def unmap(self, address: int, caller: int) -> int:
        """Unmap memory of another process, and return its size in bytes.  Raises `UsageError` for an address without such memory."""
        piece = self._pieces.get(address)
        if not isinstance(piece, SharedPiece):
            raise self.mistaken(
                address,
                f"cnrtUnMapMemHandle is given {self.told(address)}; unmap what cnrtMapMemHandle gave, once",
            )
        self._end(piece, caller)
        self._lay(address, piece.nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, address)
        return piece.nbytes

    def _lay(self, address: int, nbytes: int, flags: int, file: int, first: int) -> None:
        """Map the pages of *file* from byte *first* on in place of those at *address*.  Raises `OSError`."""
        within = address % PAGE
        at = self._memory.ctypes.data + address - self.device.base - within
        rights = mmap.PROT_READ | mmap.PROT_WRITE
        if _mmap(at, within + nbytes, rights, flags | MAP_FIXED, file, first - within) != at:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def find(self, address: int) -> Piece | None:
        """Return the piece that contains *address*, or that ends there, since pointers to the end are legal."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        piece = self._pieces[self._starts[at]]
        if isinstance(piece, LentPiece) and not piece.tensor.allocation.live:  # its owner has freed it
            del self._pieces[self._starts.pop(at)]
            return self.find(address)
        return piece if address <= piece.stop else None

    def span(self, address: int, nbytes: int, what: str) -> Piece:
        """Return the piece that has *nbytes* bytes at *address*.  Raises `UsageError`, which says *what* needs them, if there is none."""
        piece = self.find(address)
        if piece is None or address == piece.stop:
            where = self.told(address)
            place = where if where.startswith(f"{address:#x}") else f"{address:#x}, {where}"
            raise self.mistaken(address, f"{what} {nbytes} {plural(nbytes, 'byte')} at {place}")
        if address + nbytes > piece.stop:
            raise HostMistake(
                "hostcheck-beyond-allocation",
                f"{what} {nbytes} {plural(nbytes, 'byte')} at {address:#x}, where {piece.stop - address} {plural(piece.stop - address, 'byte is', 'bytes are')} left of "
                f"{piece.tensor.allocation.site}",
            )
        return piece

    def told(self, address: int) -> str:
        """Describe the memory at *address* as a phrase."""
        piece = self.find(address)
        if piece is not None:
            return f"byte {address - piece.start} of {piece.tensor.allocation.site}"
        freed = self._freed_at(address)
        if freed is not None:
            return (
                f"byte {address - freed.start} of {self._pieces_name(freed.start, freed.nbytes, freed.caller)}, "
                f"which was freed at {self._where(freed.freed or 0)}"
            )
        if address in self._of_host:
            return f"{self._of_host[address]}, which lies in the host's memory"
        return f"{address:#x}, where no memory of the device is"

    def remedy(self, address: int) -> str:
        """Return a phrase with the right argument in place of *address*, where the device has no memory."""
        if not self._of_host:
            return "give memory of cnrtMalloc"
        name = self._of_host.get(address, next(reversed(self._of_host.values())))
        which = "" if address in self._of_host else f"an extension was given {name}: "
        return f"{which}give {name.partition(',')[0]}.mlu()"

    def _freed_at(self, address: int) -> Piece | None:
        return next((p for p in reversed(self._freed.values()) if p.start <= address < p.stop), None)

    def mistaken(self, address: int, message: str) -> HostMistake:
        """Return the mistake for the use of *address*, where there is no memory, or no longer any."""
        freed = self.find(address) is None and self._freed_at(address) is not None
        return HostMistake("hostcheck-use-after-free" if freed else "hostcheck-no-memory", message)

    def pieces(self) -> list[Piece]:
        """Return the pieces that were not freed."""
        return [piece for piece in self._pieces.values() if not isinstance(piece, LentPiece)]

    def every(self) -> list[Piece]:
        """Return all pieces, and the remembered freed ones."""
        return [*self.pieces(), *self._freed.values()]

    def clear(self, caller: int) -> None:
        """Free all remaining pieces."""
        for piece in self.pieces():
            self.free(piece.start, caller)


_mmap = ctypes.CDLL(None, use_errno=True).mmap  # Python's mmap module cannot map at a given address
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)


class PrivateMemory(MappedMemory):
    """The memory of an untrusted program: none of its bytes are mapped, and each copy is made by the simulator."""

    shares = False

    def _cut(self, nbytes: int, told: Callable[[], str]) -> tuple[DeviceTensor, type[Piece]]:
        tensor = self.device.empty((nbytes,), uint8)
        allocation = tensor.allocation
        allocation.declared = evolve(allocation.declared, told=told)
        return tensor, PrivatePiece
