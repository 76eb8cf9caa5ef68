"""A kernel as C: the output of a front end, the text that is compiled, its library, and its run during one launch."""

import ctypes
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DType
from mlusim.engine.contract import Mode
from mlusim.engine.issue import left_to_others
from mlusim.engine.preference import NATIVE
from mlusim.errors import Fault
from mlusim.isa.table import ISA, NUMBERS
from mlusim.machine.native.build import CHOICE, BuildError, available, load
from mlusim.machine.native.core import NativeCore
from mlusim.machine.native.seat import shared_counters
from mlusim.machine.native.steps import StepLog, StepTable
from mlusim.machine.native.text import layout, sums
from mlusim.machine.native.text.copies import copies, costs
from mlusim.machine.native.text.door import IDS, MEETS, Use, barrier, door
from mlusim.machine.native.text.layout import preamble
from mlusim.machine.native.text.screen import CONSTANTS, KEPT_PAGE, Returns
from mlusim.machine.native.text.templates import TENSOR_MARK, tensor_header
from mlusim.machine.observed import ValueTest
from mlusim.memory.space import DIRECTIONS, WRAM, Direction, Space, grain

if TYPE_CHECKING:
    from mlusim.engine.copies import Routes
    from mlusim.machine.tally import Tally
    from mlusim.time.log import Table

PARTS = ("core.h", "floats.h", "rows.h", "copies.h", "scalars.h")
OF_MODES = {
    Mode.SCREENED: "screen",
    Mode.BESIDE: "beside",
    Mode.NOTED: "steps",
}  # additions of a mode to the run-time
# A row for the other kind of core has no effect; with a screen, Python reports it.
UNSCREENED = "#define SCREENED_(...)\n#define IDLE_(test, result) if (UNLIKELY(test)) return result;\n"
NOT_BESIDE = "#define BESIDE_(...)\n"
NOT_NOTED = "#define NOTED_(...)\n"
GRAINED = 3  # the generation whose alignments of copies are in copies.h, and which later ones have
FLIES = "#define ASYNCHRONOUS\n"  # needs more records in a screened run


Local = tuple[int, int, Space, DType, int, str, bool, int]
"""An array of a function: its number in the program and that of its line, its memory, the type and number of elements; whether it is on the stack; its alignment in bytes."""


@frozen(eq=False, slots=False)
class NativeProgram:
    """A kernel's C for one architecture.

    ``text`` is everything that is compiled.  ``entry`` is the function ``int64_t entry(Core *, const uint64_t
    *words)`` that runs it; ``sites`` are the files and lines by the numbers of places, ``texts`` the string literals
    and ``library`` Python's implementations for the C library, by their numbers; *recursive* programs check the end
    of the stack. ``covers`` are the statements (None) and the outcomes of conditions by the numbers under which it
    counts them. ``fault`` returns the fault for an undefined operation, ``nowhere`` a pointer that leads to no
    memory. ``crowded`` are the numbers of places with several calls of a row, and that of the row. ``locals``
    are the arrays of functions that the first task of a launch has declared, by the sizes of its memories.
    ``followed`` are the functions and the pointer variables by their numbers in a screen; ``changes`` convert two
    numbers into the change that a test of values found. ``returns`` are those of functions that may reach a barrier,
    unless a screen cannot follow them.
    """

    text: str
    entry: str
    sites: Sequence[tuple[str, int]]
    texts: Sequence[str] = ()
    library: Sequence[Callable[..., Any]] = ()
    fault: Callable[..., Fault] = field(kw_only=True)
    nowhere: Callable[..., Any] = field(kw_only=True)
    recursive: bool = False
    mode: Mode = Mode.ALONE
    crowded: frozenset[tuple[int, int]] = frozenset()
    followed: tuple[Sequence[str], Sequence[Any]] = (), ()
    covers: Sequence[tuple[str, int, int, bool | None]] = ()
    changes: Sequence[ValueTest] = ()
    locals: dict[tuple[int, ...], Sequence[Local]] = field(factory=dict)
    returns: Returns | None = None

    @property
    def flies(self) -> bool:
        """Return whether a screened run records the possible conflicts of asynchronous effects."""
        return self.text.startswith(FLIES)

    @functools.cached_property
    def adds(self) -> bool:
        """Return whether tasks that run at once may defer off-chip sums."""
        return sums.SUMMED in self.text

    @functools.cached_property
    def follows(self) -> bool:
        """Return whether it makes pointers from addresses that it reads from memory."""
        return "load_pointer(" in self._code or "pointer_of(" in self._code

    @functools.cached_property
    def pauses(self) -> bool:
        """Return whether a task may let others of its union run before it ends."""
        return "meet_(" in self._code or "atomic_step_(" in self._code

    @functools.cached_property
    def _code(self) -> str:
        """Return the text without the run-time, which has every function."""
        return self.text.removeprefix(FLIES).removeprefix(runtime(self.mode))


Word = Callable[[Any], int]
"""Converts a pointer into a word of a kernel's arguments."""


def _part(name: str) -> str:
    return (files("mlusim.machine.native") / "c" / name).read_text(encoding="utf-8")


@functools.cache
def runtime(mode: Mode = Mode.ALONE) -> str:
    """Return the C at the beginning of every kernel in a *mode*; its functions are compiled separately (`functions`)."""
    looks = _constants() + _part("screen.h") if mode is Mode.SCREENED else UNSCREENED
    looks += (
        f"enum {{ KEPT_PAGE = {KEPT_PAGE} }};\n" + _part("beside.h") if mode is Mode.BESIDE else NOT_BESIDE
    )
    looks += _part("steps.h") if mode is Mode.NOTED else NOT_NOTED
    before, behind = {"core.h": costs()}, {"copies.h": copies()}
    parts = (before.get(part, "") + _part(part) + behind.get(part, "") for part in PARTS)
    return "".join((preamble(), _part("pointers.h"), looks, *parts))


@functools.cache
def functions(mode: Mode) -> str:
    """Return the C of the functions that are compiled once per *mode* and linked with each kernel."""
    more = [OF_MODES[mode]] if mode in OF_MODES else []
    return runtime(mode) + "".join(
        _part(f"{name}.c") for name in ("pointers", *more, "core", "scalars", "tasks")
    )


@functools.cache
def vector_registers() -> str:
    """Return the C at the beginning of kernels with vector registers."""
    mark = f"static const uint8_t UNSET_[] = {{{','.join(map(str, layout.UNSET))}}};\n"
    return mark + _part("registers.h")


def _constants() -> str:
    """Return a screen's constants for its reasons, and for rows that are waits."""
    syncs = {f"ROW_{name}": NUMBERS[name] for name in ("sync", "sync_io", "sync_move")}
    among = " || ".join(
        f"(row) == {NUMBERS[name]}" for name in MEETS if barrier(name)[1].startswith("cluster")
    )
    named = ", ".join(f"{name} = {number}" for name, number in (CONSTANTS | syncs).items())
    return f"enum {{ {named} }};\n#define CLUSTER_ROW(row) ({among})\n"


@functools.cache
def _starts() -> tuple[str, ...]:
    """Return the beginnings of calls that start an asynchronous effect, in C or in Python."""
    return "memcpy_start(", *(f"UP(m, {NUMBERS[name]}," for name in ISA if "async" in name)


def assemble(arch: Arch, uses: Iterable[Use], functions: str, mode: Mode = Mode.ALONE) -> str:
    """Return the whole text: the run-time, the doors of the rows in *uses* that have C, and *functions*."""
    uses = tuple(dict.fromkeys(uses))
    doors = "\n".join(text for use in uses if (text := door(use, arch, mode)) is not None)
    flies = FLIES if mode is Mode.SCREENED and any(call in functions for call in _starts()) else ""
    tensor = tensor_header() if TENSOR_MARK in doors else ""
    summed = _sums(uses) if sums.MARK in doors else ""
    return f"{flies}{runtime(mode)}\n{tensor}{summed}{doors}\n{functions}"


def _sums(uses: Iterable[Use]) -> str:
    """Return the C required by the rows in *uses* that add off chip."""
    added = [(ISA[use.row], use.arguments[0].dtype) for use in uses if sums.adds(ISA[use.row])]
    return sums.header([(row, dtype) for row, dtype in added if dtype is not None], IDS)


# The end of the calling thread's stack, so that recursion ends in a fault before it.

MARGIN = 512 << 10  # bytes for Python's work for the innermost call
# The most bytes of records by value in a kernel's functions, apart from recursion.
FRAMES = 256 << 10
CIRCLES = 4 << 20  # bytes of those in recursive calls at their deepest


def end_of_stack() -> int:
    """Return the address below which no call of generated code begins; 0 if the system does not provide it."""
    try:
        lowest = _on_darwin() if sys.platform == "darwin" else _by_attributes()
    except (AttributeError, OSError):
        return 0
    return lowest + MARGIN if lowest else 0


def _by_attributes() -> int:
    library = ctypes.CDLL(None)
    library.pthread_self.restype = ctypes.c_void_p
    attributes, lowest, size = ctypes.create_string_buffer(256), ctypes.c_void_p(), ctypes.c_size_t()
    if library.pthread_getattr_np(ctypes.c_void_p(library.pthread_self()), attributes):
        return 0
    library.pthread_attr_getstack(attributes, ctypes.byref(lowest), ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return lowest.value or 0


def _on_darwin() -> int:
    library = ctypes.CDLL(None)
    library.pthread_self.restype = library.pthread_get_stackaddr_np.restype = ctypes.c_void_p
    library.pthread_get_stacksize_np.restype = ctypes.c_size_t
    thread = ctypes.c_void_p(library.pthread_self())
    return int(library.pthread_get_stackaddr_np(thread) - library.pthread_get_stacksize_np(thread))


@functools.lru_cache(maxsize=256)
def library_of(text: str, mode: Mode, compiler: tuple[str, ...] | None) -> ctypes.PyDLL:
    """Return the library of *text* for a *mode*, compiled once per process by *compiler*."""
    # The compiler is a parameter only for the cache's key: the library of another compiler is another one.
    del compiler
    library = load(text, shared=functions(mode))
    library.mlusim_sizeof.restype = ctypes.c_int64
    # Padding is the compiler's choice; if it differs, C would overwrite fields that Python reads.
    if library.mlusim_sizeof() != ctypes.sizeof(layout.Core):
        raise BuildError(
            f"the compiler lays out structures in another way than Python; name another compiler in {CHOICE}, and please report this"
        )
    run, with_number = [ctypes.c_void_p] * 3, [ctypes.c_void_p, ctypes.c_uint64]
    takes = {"beside": run, "crew": run, "chain": [*run, ctypes.c_int64]}
    takes |= dict.fromkeys(("drain", "land_inside", "poll_load", "poll_again"), with_number)
    takes["poll_copy"] = [*with_number, ctypes.c_int64]
    library.mlusim_again.argtypes, library.mlusim_again.restype = run, ctypes.c_int64
    library.mlusim_team.argtypes, library.mlusim_team.restype = run[:2], ctypes.c_int64
    library.mlusim_counted.argtypes, library.mlusim_counted.restype = run[:2], ctypes.c_int64
    takes |= dict.fromkeys(("team_begins", "team_ends"), run[:1])
    for name, arguments in takes.items():
        function = getattr(library, f"mlusim_{name}")
        function.argtypes, function.restype = arguments, None
    return library


@functools.lru_cache(maxsize=1024)
def entry_of(program: NativeProgram, compiler: tuple[str, ...] | None) -> tuple[ctypes.PyDLL, Any]:
    """Return the library of *program* and the function that runs its kernel."""
    library = library_of(program.text, program.mode, compiler)
    entry = getattr(library, program.entry)
    entry.argtypes, entry.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    return library, entry


def _bits(lanes: Iterable[Direction]) -> int:
    return sum(1 << d.value for d in lanes)


@functools.lru_cache(maxsize=64)
def _directions(
    routes: "Routes", generation: int, *, memory_core: bool, away: bool
) -> tuple[int, int, int, int]:
    """Return as bits the directions of blocking copies, of blocking rows, and of asynchronous ones that C performs; and those without effect.

    The last belong to the other kind of core, in a launch for both kinds (*away*).
    """
    idle = [d for d in DIRECTIONS if away and left_to_others(d, memory_core=memory_core)]
    # C has one function for both shapes of a copy, so it accepts a direction only if both may be
    # asynchronous.
    both = (d for d in routes.one_async if d in routes.two_async and WRAM not in (d.src, d.dst))
    # It has the alignments of later generations; copies with other ones on MLU2xx are left to Python.
    others = (
        d for d in DIRECTIONS if grain(d, generation, strided=False) != grain(d, GRAINED, strided=False)
    )
    left = ~_bits(idle) & ~_bits(others)
    return _bits(routes.one) & left, _bits(routes.rows) & left, _bits(both) & left, _bits(idle)


class Loaded:
    """A kernel's compiled program during one launch; ``engine`` is the engine's name, ``core_class`` runs its cores."""

    engine = NATIVE
    core_class = NativeCore
    directions = staticmethod(_directions)

    def __init__(self, program: NativeProgram, compiler: tuple[str, ...] | None = None) -> None:
        self.beside = program.mode is Mode.BESIDE  # whether it runs in several threads without Python's lock
        self.program = program
        self.library, self.entry = entry_of(program, available() if compiler is None else compiler)
        self.stack_end = end_of_stack() if program.recursive else 0
        self._sums: tuple[int, int] | None = None
        self._steps: StepTable | None = None
        self._at = ctypes.cast(self.entry, ctypes.c_void_p).value

    def again(self) -> "Loaded":
        """Return the program for another launch."""
        return Loaded(self.program)

    def run(self, core: int, words: int) -> None:
        """Run the kernel on the C structure at *core*, with the arguments at *words*; in several threads it releases Python's lock."""
        if self.beside:
            self.library.mlusim_beside(core, words, self._at)
        else:
            self.entry(core, words)

    def run_chain(self, core: int, words: int) -> None:
        """Run the kernel in the same way for the tasks of a chain, one after the other."""
        self.library.mlusim_chain(core, words, self._at, self.beside)

    def run_again(self, core: int, words: int) -> int:
        """Run the kernel for the tasks of a chain, from the current one on; return the result of `mlusim_again`."""
        left: int = self.library.mlusim_again(core, words, self._at)
        return left

    def run_team(self, team: int) -> int:
        """Run tasks of the team at *team* on the calling strand; return the result of `mlusim_team`."""
        left: int = self.library.mlusim_team(team, self._at)
        return left

    def run_crew(self, core: int, words: int) -> None:
        """Run the kernel in the same way for tasks of a chain that other threads take, too."""
        self.library.mlusim_crew(core, words, self._at)

    def noted_log(self, core: NativeCore, table: "Table") -> StepLog:
        """Return the log of *core* with every instruction; *table* has those of the launch."""
        if self._steps is None:
            self._steps = StepTable(table, self.program.sites, self.library)
        return StepLog(lambda: core.seat.at, self._steps)

    def sums(self, tally: "Tally") -> tuple[int, int]:
        """Return the addresses of the lines and spare bytes of all cores, which the tally reads from now on."""
        if self._sums is None:
            self._sums, (tally.lines, tally.spare) = shared_counters()  # type: ignore[assignment]
        return self._sums
