"""The GDRAM of one board as a native program has it: pieces of a map, by address."""

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

MOST_POISON = 1 << 30  # bytes: more of one piece is not poisoned, and stays 0 until something is written
REMEMBERED = 65536  # pieces that were freed
PAGE = mmap.PAGESIZE
MAP_FIXED = 0x10  # on every architecture of Linux that there is Python for


class HostMistake(UsageError):
    """A mistake of the host of a program; ``rule`` is the finding's."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@define(eq=False)
class Piece:
    """The memory that one call of ``cnrtMalloc`` gave.  *caller* and *freed* are the addresses of the calls that made and freed it."""

    tensor: DeviceTensor
    start: int
    stop: int
    caller: int
    freed: int | None = None
    managed: str = ""  # what it is for, where a library of the program manages it
    strided: bool = False  # whether a tensor lies there whose elements do not follow one another
    shared: bool = False  # whether other processes may have it
    ptr: Ptr = field(init=False)
    mapped: ClassVar[bool] = True  # whether its bytes lie in the map
    _poisoned: bool = False

    def __attrs_post_init__(self) -> None:
        self.ptr = self.tensor.ptr

    @property
    def nbytes(self) -> int:
        """The size of the allocation, in bytes."""
        return self.stop - self.start

    def poison(self) -> None:
        """Poison what the host has given no value, once, before anything reads it."""
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
        """Return whether nothing has been written to bytes [*start*, *stop*), not even poison."""
        allocation = self.tensor.allocation
        overlapped = any(low < stop and start < high for low, high in allocation.given)
        return not (self._poisoned or allocation.filled or overlapped)


class PrivatePiece(Piece):
    """Memory that the program does not have: its place in the map is used while bytes are moved."""

    mapped = False

    def poison(self) -> None:
        """Do nothing: it was poisoned when it was allocated."""


class LentPiece(PrivatePiece):
    """Memory of another owner, which is not for ``cnrtFree``."""

    def __attrs_post_init__(self) -> None:
        self.ptr = self.tensor.ptr.cast(uint8)


class VariablePiece(LentPiece):
    """A variable at file scope that lies in the map."""

    mapped = True


class SharedPiece(VariablePiece):
    """Memory of another process, whose pages lie in the map."""


class MappedMemory:
    """The pieces of *device*, which lie in *memory*, a part of *map* from byte *first* on; *where* names a caller."""

    shares: ClassVar[bool] = True  # whether other processes may have it

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
        """Cut *nbytes* bytes; their address.  *managed* is what they are for, where a library asks that frees them by itself.

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
        """Return memory for *nbytes* bytes, and the kind of its piece; *told* names it."""
        return self.device.cut(self._memory, nbytes, told), Piece

    def describe(self, address: int, managed: str, *, strided: bool = False) -> None:
        """Name the piece of *address* by the words *managed* from now on; memory of the host, too, which a kernel may be given by mistake."""
        piece = self.find(address)
        if piece is not None:
            piece.managed, piece.strided = managed, strided
            return
        self._of_host.pop(address, None)
        self._of_host[address] = managed
        if len(self._of_host) > REMEMBERED:
            del self._of_host[next(iter(self._of_host))]

    def _pieces_name(self, start: int, nbytes: int, caller: int) -> str:
        """Return the words that tell a piece from others: what a library says of it, or its bytes and the line that asked for it."""
        piece = self._pieces.get(start) or self._freed.get(start)
        return (
            piece.managed
            if piece is not None and piece.managed
            else f"{nbytes} {plural(nbytes, 'byte')} of cnrtMalloc at {self._where(caller)}"
        )

    def lend(self, allocation: Allocation, kind: "type[LentPiece]" = LentPiece) -> None:
        """Let addresses in *allocation*, which is another's, be found; it is not for ``cnrtFree``."""
        start = allocation.address
        if start not in self._pieces:
            nbytes = allocation.raw.size
            tensor = DeviceTensor(self.device, allocation, (nbytes,), uint8)
            insort(self._starts, start)
            self._pieces[start] = kind(tensor, start, start + nbytes, 0)

    def hold_variables(self) -> None:
        """Let variables at file scope lie in the map from now on."""
        self.device.hold_variables_in(self._memory)
        self._variables_kind = VariablePiece

    def lend_variable(self, allocation: Allocation) -> None:
        """Let addresses in a variable at file scope be found."""
        self.lend(allocation, self._variables_kind)

    def has_mapped(self, address: int) -> bool:
        """Return whether the bytes at *address* lie in the map."""
        piece = self.find(address)
        return piece is None or piece.mapped

    def window(self, address: int, nbytes: int) -> Bytes:
        """Return the bytes of the map that stand for *address* and on."""
        first = address - self.device.base
        return self._memory[first : first + nbytes]

    def free(self, address: int, caller: int) -> None:
        """Give a piece back.  Raises `UsageError` where there is no such piece."""
        piece = self._pieces.get(address)
        if piece is None or isinstance(piece, LentPiece):
            raise self.mistaken(
                address, f"cnrtFree is given {self.told(address)}; free what cnrtMalloc gave, once"
            )
        self._end(piece, caller)
        if piece.shared:  # others keep it
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
        """Return the piece that begins at *address*, which other processes may map from now on.  Raises `UsageError` where no piece begins there."""
        self._refuse_sharing()
        piece = self._pieces.get(address)
        if piece is None or isinstance(piece, LentPiece):
            raise self.mistaken(
                address, f"{call} is given {self.told(address)}; give the pointer that cnrtMalloc gave"
            )
        piece.poison()
        piece.shared = piece.tensor.allocation.filled = True  # who else writes to it is not seen here
        return piece

    def _refuse_sharing(self) -> None:
        if not self.shares:
            raise UsageError("a program that is not trusted shares no memory with other processes")

    def map_file(self, path: str, first: int, nbytes: int, caller: int) -> int:
        """Let *nbytes* bytes of the file *path* from byte *first* on be memory here, too; their address.

        Raises `UsageError` where the file cannot be mapped, and `OutOfMemory`.
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
        """Forget memory of another process, and return how many bytes that was.  Raises `UsageError` for an address without such memory."""
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
        """Put the pages of *file* from byte *first* on in place of those of *address*.  Raises `OSError`."""
        within = address % PAGE
        at = self._memory.ctypes.data + address - self.device.base - within
        rights = mmap.PROT_READ | mmap.PROT_WRITE
        if _mmap(at, within + nbytes, rights, flags | MAP_FIXED, file, first - within) != at:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def find(self, address: int) -> Piece | None:
        """Return the piece in which *address* lies, or right behind which: pointers to the end are legal."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        piece = self._pieces[self._starts[at]]
        if isinstance(piece, LentPiece) and not piece.tensor.allocation.live:  # its owner has freed it
            del self._pieces[self._starts.pop(at)]
            return self.find(address)
        return piece if address <= piece.stop else None

    def span(self, address: int, nbytes: int, what: str) -> Piece:
        """Return the piece that has *nbytes* bytes at *address*.  Raises `UsageError` with *what* wants them where none has."""
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
        """Describe the memory at *address*, in words."""
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
        """Say what to give in place of the *address* of no memory of the device."""
        if not self._of_host:
            return "give memory of cnrtMalloc"
        name = self._of_host.get(address, next(reversed(self._of_host.values())))
        which = "" if address in self._of_host else f"an extension was given {name}: "
        return f"{which}give {name.partition(',')[0]}.mlu()"

    def _freed_at(self, address: int) -> Piece | None:
        return next((p for p in reversed(self._freed.values()) if p.start <= address < p.stop), None)

    def mistaken(self, address: int, message: str) -> HostMistake:
        """Return the mistake of using *address*, where no memory is, or none any more."""
        freed = self.find(address) is None and self._freed_at(address) is not None
        return HostMistake("hostcheck-use-after-free" if freed else "hostcheck-no-memory", message)

    def pieces(self) -> list[Piece]:
        """Return the pieces that were not freed."""
        return [piece for piece in self._pieces.values() if not isinstance(piece, LentPiece)]

    def every(self) -> list[Piece]:
        """Return the pieces that there are, and those that were freed, as far as they are remembered."""
        return [*self.pieces(), *self._freed.values()]

    def clear(self, caller: int) -> None:
        """Free everything that is left."""
        for piece in self.pieces():
            self.free(piece.start, caller)


_mmap = ctypes.CDLL(None, use_errno=True).mmap  # Python's own module maps nothing at a place that is given
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
    """The memory of a program that is not trusted: it never has a byte mapped, and each copy passes through the simulator."""

    shares = False

    def _cut(self, nbytes: int, told: Callable[[], str]) -> tuple[DeviceTensor, type[Piece]]:
        tensor = self.device.empty((nbytes,), uint8)
        allocation = tensor.allocation
        allocation.declared = evolve(allocation.declared, told=told)
        return tensor, PrivatePiece
