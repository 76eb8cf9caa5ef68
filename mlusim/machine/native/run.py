"""A compiled kernel during one launch: its library, and the sums that all cores share."""

import ctypes
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mlusim.arch.board import Arch
from mlusim.engine.native import layout
from mlusim.engine.native.build import BuildError, available, load
from mlusim.engine.native.screen import Mode
from mlusim.engine.native.stack import end_of_stack
from mlusim.engine.preference import NATIVE
from mlusim.errors import Fault
from mlusim.machine.native.core import NativeCore
from mlusim.machine.native.program import NativeProgram, Words
from mlusim.machine.native.seat import sums
from mlusim.memory.direction import GDRAM2SRAM, SRAM2GDRAM, Direction
from mlusim.memory.space import WRAM

if TYPE_CHECKING:
    from mlusim.engine.routes import Lanes, Routes
    from mlusim.machine.tally import Tally


@functools.lru_cache(maxsize=256)
def library_of(text: str, compiler: tuple[str, ...] | None) -> ctypes.PyDLL:
    """Return the library of *text*, compiled once a process; *compiler* is what chose it."""
    # It is in the key of the cache alone: the library of another compiler is another one.
    del compiler
    library = load(text)
    library.mlusim_beside.argtypes = [ctypes.c_void_p] * 3
    library.mlusim_beside.restype = None
    library.mlusim_sizeof.restype = ctypes.c_int64
    # Padding is the compiler's choice; where it differs, C would write over what Python reads.
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
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_uint64], None
    return library


@functools.lru_cache(maxsize=1024)
def entry_of(program: NativeProgram, compiler: tuple[str, ...] | None) -> tuple[ctypes.PyDLL, Any]:
    """Return the library of *program* and the function that runs its kernel."""
    library = library_of(program.text, compiler)
    entry = getattr(library, program.entry)
    entry.argtypes, entry.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    return library, entry


@functools.cache
def _mask(lanes: tuple[Direction, ...]) -> int:
    return sum(1 << d.value for d in lanes)


def _bits(lanes: "Lanes", *, wram: bool = True) -> int:
    kept = tuple(d for d in lanes if wram or WRAM not in (d.src, d.dst))
    return _mask(kept)


@functools.lru_cache(maxsize=64)
def _directions(routes: "Routes", *, idle: bool) -> tuple[int, int, int]:
    """Return the directions of blocking copies, of blocking rows, and of asynchronous ones that C performs, as bits.

    Where some are *idle*, because the other kind of core does them, Python knows which.
    """
    left = ~_mask((GDRAM2SRAM, SRAM2GDRAM)) if idle else -1
    # C has one function for both shapes of a copy, so that it takes a direction only if both fly.
    both = {d: p for d, p in routes.one_async.items() if d in routes.two_async}
    return _bits(routes.one) & left, _bits(routes.rows) & left, _bits(both, wram=False) & left


class Loaded:
    """A kernel's compiled program during one launch; ``engine`` is the engine's name, ``core_class`` runs its cores."""

    engine = NATIVE
    core_class = NativeCore

    def __init__(
        self, form: "NativeForm", program: NativeProgram, compiler: tuple[str, ...] | None = None
    ) -> None:
        self.form = form
        self.beside = program.mode is Mode.BESIDE  # whether it runs in threads that are not Python's alone
        self.program = program
        self.library, self.entry = entry_of(program, available() if compiler is None else compiler)
        self.stack_end = end_of_stack() if program.recursive else 0
        self._sums: tuple[int, int] | None = None
        self._at = ctypes.cast(self.entry, ctypes.c_void_p).value

    def again(self) -> "Loaded":
        """Return the program for one more launch."""
        return Loaded(self.form, self.program)

    @staticmethod
    def directions(routes: "Routes", *, idle: bool) -> tuple[int, int, int]:
        """Return the directions of copies that C performs, as bits: blocking ones, those of rows, asynchronous ones."""
        return _directions(routes, idle=idle)

    def run(self, core: int, words: int) -> None:
        """Run the kernel on the C structure at *core*, with the arguments at *words*; beside others it gives Python's lock back."""
        if self.beside:
            self.library.mlusim_beside(core, words, self._at)
        else:
            self.entry(core, words)

    def sums(self, tally: "Tally") -> tuple[int, int]:
        """Return the addresses of the lines and spare bytes of all cores, which the tally reads from now on."""
        if self._sums is None:
            self._sums, (tally.lines, tally.spare) = sums()  # type: ignore[assignment]
        return self._sums

    def fly(self, core: "NativeCore", pipe: int, number: int) -> None:
        """Write effect *number* of Python's behind those in flight."""
        c = core.c
        # The array is Python's, which alone can make it larger.
        if c.nflights == c.most_flights:
            core.grow()
        assert core.seat is not None
        flight = core.seat.flights[c.nflights]
        flight.pipe, flight.number, flight.size = pipe, number, int(core.flight_inside(number))
        flight.rows = 1
        c.nflights += 1


class NativeForm(Protocol):
    """The ``native`` of a kernel that can run natively."""

    def loaded(
        self, arch: Arch, compiler: tuple[str, ...] | None = None, mode: Mode = ..., *, covered: bool = ...
    ) -> Loaded | None:
        """Return the kernel's C for *arch*, compiled by *compiler*, or by the one there is, and loaded, for one launch; None where something in it has none."""

    @property
    def constants(self) -> tuple[bool, ...]:
        """For each parameter, whether it is written as a pointer to what is const; a kernel may store there all the same."""

    def words(self, core: NativeCore, arguments: Sequence[Any], words: Words) -> tuple[list[int], list[int]]:
        """Return the arguments and the variables at file scope as words of 64 bits; declares the latter on *core*."""

    def fault(self, why: int, *given: int) -> Fault:
        """Make the fault for a place where C has no meaning: the number is one of `scalars.h`, which also says what is *given*."""

    def nowhere(self, number: int, offset: int, size: int, nbytes: int, element: int, words: str) -> Any:
        """Make a pointer that leads to no memory of the board, for Python to refuse.

        It is *offset* bytes into what has *nbytes* and the *number*, and its own elements have *size* bytes.  *element* is
        that of an array's elements, 0 of a number or a pointer, and the negative size of a record.  *words* name a constant,
        which a store does not change; they are "" for what may change.
        """
