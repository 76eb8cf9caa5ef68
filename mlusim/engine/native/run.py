"""A compiled kernel during one launch: its library, the sums that all cores share, buffers that cores take in turn."""

import contextlib
import ctypes
import functools
import mmap
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from mlusim.engine.native import layout
from mlusim.engine.native.build import BuildError, load
from mlusim.engine.native.core import NativeCore
from mlusim.engine.native.preference import NATIVE
from mlusim.engine.native.program import NativeProgram
from mlusim.engine.native.stack import end_of_stack
from mlusim.isa.table import ISA
from mlusim.memory.allocation import Allocation
from mlusim.memory.direction import GDRAM2SRAM, SRAM2GDRAM, Direction
from mlusim.memory.space import WRAM
from mlusim.time.counters import LAUNCH
from mlusim.time.log import CHUNK, COLUMNS

if TYPE_CHECKING:
    from mlusim.engine.routes import Lanes, Routes
    from mlusim.machine.tally import Tally

ALLOCATIONS = 1 << 16  # that a pointer can name
WORDS = 5  # of each: bytes, size, address, space and whether writable, what was read
READ = 4  # the place of the bytes that copies read
FIRST_FLIGHTS = 64
KEPT = 128  # buffers without a core that a process keeps: those of the largest union; a page that was never touched takes no memory


@functools.lru_cache(maxsize=256)
def library_of(text: str, compiler: tuple[str | None, ...]) -> ctypes.PyDLL:
    """The library of *text*, compiled once a process; *compiler* is what chose it."""
    del compiler
    library = load(text)
    library.mlusim_sizeof.restype = ctypes.c_int64
    if library.mlusim_sizeof() != ctypes.sizeof(layout.Core):
        raise BuildError("the compiler lays structures out otherwise than Python does; please report this")
    for name in (
        "mlusim_drain",
        "mlusim_land_inside",
        "mlusim_poll_load",
        "mlusim_poll_copy",
        "mlusim_poll_again",
    ):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_uint64], ctypes.c_int64
    return library


@functools.lru_cache(maxsize=1024)
def entry_of(program: NativeProgram, compiler: tuple[str | None, ...]) -> tuple[ctypes.PyDLL, Any]:
    """The library of *program* and the function that runs its kernel."""
    library = library_of(program.text, compiler)
    entry = getattr(library, program.entry)
    entry.argtypes, entry.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int64
    return library, entry


@functools.cache
def _mask(lanes: tuple[Direction, ...]) -> int:
    return sum(1 << d.value for d in lanes)


def _bits(lanes: "Lanes", *, wram: bool = True) -> int:
    kept = tuple(d for d in lanes if wram or WRAM not in (d.src, d.dst))
    return _mask(kept)


@functools.lru_cache(maxsize=64)
def _directions(routes: "Routes", *, idle: bool) -> tuple[int, int, int]:
    """The directions of blocking copies, of blocking rows, and of asynchronous ones that C performs, as bits.

    Where some are *idle*, because the other kind of core does them, Python knows which.
    """
    left = ~_mask((GDRAM2SRAM, SRAM2GDRAM)) if idle else -1
    both = {d: p for d, p in routes.one_async.items() if d in routes.two_async}
    return _bits(routes.one) & left, _bits(routes.rows) & left, _bits(both, wram=False) & left


@functools.cache
def _kept() -> "list[Buffers]":
    """Buffers of cores that have ended, for the next ones of any launch of the process."""
    return []


@define(eq=False)
class Buffers:
    """What one core needs while it runs and another one may have afterwards."""

    log: np.ndarray[Any, Any]
    allocs: np.ndarray[Any, Any]
    cells: np.ndarray[Any, Any]
    flights: Any
    most_flights: int = FIRST_FLIGHTS
    log_at: int = field(init=False)
    allocs_at: int = field(init=False)
    cells_at: int = field(init=False)
    words: "memoryview[int]" = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.log_at, self.allocs_at, self.cells_at = (
            int(a.__array_interface__["data"][0]) for a in (self.log, self.allocs, self.cells)
        )
        self.words = memoryview(self.allocs.data).cast("B").cast("Q")

    @property
    def flights_at(self) -> int:
        """The address of the effects in flight."""
        return ctypes.addressof(self.flights)

    def describe(self, number: int, allocation: Allocation) -> None:
        """Write down where the bytes of allocation *number* are."""
        raw = allocation.raw.__array_interface__["data"][0] if allocation.nbytes else 0
        flags = allocation.space.number | allocation.writable << 32
        words, at = self.words, WORDS * number
        words[at], words[at + 1], words[at + 2], words[at + 3] = (
            raw,
            allocation.nbytes,
            allocation.address,
            flags,
        )

    def forget(self, first: int, end: int, cells: int) -> None:
        """Forget the allocations from *first* to before *end*, the *cells* at the other end, and what was read of the rest."""
        self.allocs[first:end] = 0
        self.allocs[1:first, READ] = 0
        if cells:
            self.allocs[ALLOCATIONS - cells :] = 0

    def read(self, many: int) -> list[int]:
        """The bytes that copies in C took from the first *many* allocations but the null one."""
        return [self.words[WORDS * n + READ] for n in range(1, many)]

    def variable(self, number: int) -> tuple[int, int]:
        """The bytes of a variable that C keeps, and of its elements, as `program.NativeForm.nowhere` has them."""
        described = self.allocs[number].view(np.int64)
        return int(described[1]), int(described[READ])

    def grow(self, c: Any) -> None:
        """Twice the room for effects in flight."""
        more = (layout.Flight * (2 * self.most_flights))()
        ctypes.memmove(more, self.flights, ctypes.sizeof(self.flights))
        self.flights, self.most_flights = more, 2 * self.most_flights
        c.flights, c.most_flights = self.flights_at, self.most_flights


def _pages(nbytes: int) -> "np.ndarray[Any, Any]":
    """*nbytes* bytes of zeros, of which the system provides a page when it is written."""
    return np.frombuffer(mmap.mmap(-1, nbytes), np.uint8)


class Loaded:
    """A kernel's compiled program during one launch; ``engine`` is the engine's name, ``core_class`` runs its cores."""

    engine = NATIVE
    core_class = NativeCore

    def __init__(self, form: Any, program: NativeProgram) -> None:
        self.form = form
        self.program = program
        self.library, self.entry = entry_of(program, (os.environ.get("MLUSIM_CC"), os.environ.get("PATH")))
        self.stack_end = end_of_stack() if program.recursive else 0
        self._sums: Any = None

    def take(self) -> Buffers:
        """Buffers for a core that begins; no allocation is described in them but that of the null pointer."""
        with contextlib.suppress(IndexError):
            return _kept().pop()
        allocs = _pages(8 * ALLOCATIONS * WORDS).view(np.uint64).reshape(ALLOCATIONS, WORDS)
        allocs[0] = 0, 0, 0, layout.NOWHERE, 0
        flights = (layout.Flight * FIRST_FLIGHTS)()
        rows = _pages(8 * CHUNK * COLUMNS).view(np.int64).reshape(CHUNK, COLUMNS)
        return Buffers(rows, allocs, _pages(layout.CELL_BYTES), flights)

    def give(self, buffers: Buffers) -> None:
        """Take the buffers of a core that has ended back."""
        kept = _kept()
        if len(kept) < KEPT and buffers.most_flights == FIRST_FLIGHTS:
            kept.append(buffers)

    @staticmethod
    def directions(routes: "Routes", *, idle: bool) -> tuple[int, int, int]:
        """The directions of copies that C performs, as bits: blocking ones, those of rows, asynchronous ones."""
        return _directions(routes, idle=idle)

    def sums(self, tally: "Tally") -> tuple[int, int]:
        """The addresses of the lines and spare bytes of all cores, which the tally reads from now on."""
        if self._sums is None:
            self._sums = tuple(layout.words_type(field.many(len(ISA)))() for field in LAUNCH)
            for field, sums in zip(LAUNCH, self._sums, strict=True):
                setattr(tally, field.name, memoryview(sums).cast("B").cast("q"))
        return ctypes.addressof(self._sums[0]), ctypes.addressof(self._sums[1])

    def fly(self, core: "NativeCore", pipe: int, number: int) -> None:
        """Write effect *number* of Python's behind those in flight."""
        c = core.c
        if c.nflights == c.most_flights:
            core.grow()
        assert core.buffers is not None
        flight = core.buffers.flights[c.nflights]
        flight.pipe, flight.number, flight.size = pipe, number, int(core.flight_inside(number))
        flight.rows = 1
        c.nflights += 1
