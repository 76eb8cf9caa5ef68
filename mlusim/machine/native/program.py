"""A kernel as C: what a front end hands over, and the whole text that is compiled."""

import functools
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import Any, Protocol

from attrs import frozen

from mlusim.arch.board import Arch
from mlusim.engine.native import sums
from mlusim.engine.native.copies import copies, costs
from mlusim.engine.native.door import IDS, NUMBERS, Use, door
from mlusim.engine.native.layout import preamble
from mlusim.engine.native.rows import MEETS, barrier
from mlusim.engine.native.screen import CONSTANTS, KEPT_PAGE, Mode
from mlusim.engine.native.tensors import MARK, header
from mlusim.isa.table import ISA

PARTS = ("core.h", "floats.h", "rows.h", "copies.h", "scalars.h")
UNSCREENED = "#define SCREENED_(...)\n"
NOT_BESIDE = "#define BESIDE_(...)\n"
FLIES = "#define ASYNCHRONOUS\n"  # what a screened run has to remember more for


@frozen(eq=False, slots=False)
class NativeProgram:
    """A kernel's C for one architecture.

    ``text`` is everything that is compiled.  ``entry`` is the function ``int64_t entry(Core *, const uint64_t *words)``
    that runs it; ``sites`` are the file and line that each number of a place means, ``texts`` the string literals and
    ``library`` what Python does for the C library, by their numbers; *recursive* programs watch the end of the stack.
    ``covers`` are the statements (None) and the outcomes of tests by the numbers under which it counts them.
    ``followed`` are the functions and the pointer variables by the numbers that a screen knows them by.
    """

    text: str
    entry: str
    sites: Sequence[tuple[str, int]]
    texts: Sequence[str] = ()
    library: Sequence[Callable[..., Any]] = ()
    recursive: bool = False
    mode: Mode = Mode.ALONE
    followed: tuple[Sequence[str], Sequence[Any]] = (), ()
    covers: Sequence[tuple[str, int, int, bool | None]] = ()

    @property
    def flies(self) -> bool:
        """True where a screened run remembers what an asynchronous effect may meet."""
        return self.text.startswith(FLIES)

    @functools.cached_property
    def adds(self) -> bool:
        """True where tasks that run at once may leave sums off chip for later."""
        return sums.SUMMED in self.text

    @functools.cached_property
    def follows(self) -> bool:
        """True where it makes pointers of addresses that it reads from memory."""
        # The run-time has these functions itself.
        own = self.text.removeprefix(FLIES).removeprefix(runtime(self.mode))
        return "load_pointer(" in own or "pointer_of(" in own


class Words(Protocol):
    """How a front end names pointers for the words of a kernel's arguments."""

    def pointer(self, pointer: object) -> int:
        """Return the word of a pointer of this core."""


@functools.cache
def runtime(mode: Mode = Mode.ALONE) -> str:
    """Return the C that every kernel begins with in a *mode*."""
    folder = files("mlusim.engine.native") / "c"
    parts = {
        part: (folder / part).read_text(encoding="utf-8")
        for part in ("pointers.h", "screen.h", "beside.h", *PARTS)
    }
    parts["core.h"] = costs() + parts["core.h"]
    parts["copies.h"] += copies()
    looks = _constants() + parts["screen.h"] if mode is Mode.SCREENED else UNSCREENED
    looks += (
        f"enum {{ KEPT_PAGE = {KEPT_PAGE} }};\n" + parts["beside.h"] if mode is Mode.BESIDE else NOT_BESIDE
    )
    return "".join((preamble(), parts["pointers.h"], looks, *(parts[p] for p in PARTS)))


def _constants() -> str:
    """Return the names that a screen knows its reasons by, and the rows that are waits of some kind."""
    syncs = {f"ROW_{name}": NUMBERS[name] for name in ("sync", "sync_io", "sync_move")}
    among = " || ".join(
        f"(row) == {NUMBERS[name]}" for name in MEETS if barrier(name)[1].startswith("cluster")
    )
    named = ", ".join(f"{name} = {number}" for name, number in (CONSTANTS | syncs).items())
    return f"enum {{ {named} }};\n#define CLUSTER_ROW(row) ({among})\n"


@functools.cache
def _starts() -> tuple[str, ...]:
    """Return how calls begin that start something asynchronous, in C or in Python."""
    return "memcpy_start(", *(f"UP(m, {NUMBERS[name]}," for name in ISA if "async" in name)


def assemble(arch: Arch, uses: Iterable[Use], functions: str, mode: Mode = Mode.ALONE) -> str:
    """Return the whole text: the run-time, the doors of the rows in *uses* that have C, and *functions*."""
    uses = tuple(dict.fromkeys(uses))
    doors = "\n".join(text for use in uses if (text := door(use, arch, mode)) is not None)
    flies = FLIES if mode is Mode.SCREENED and any(call in functions for call in _starts()) else ""
    tensor = header() if MARK in doors else ""
    summed = _sums(uses) if sums.MARK in doors else ""
    return f"{flies}{runtime(mode)}\n{tensor}{summed}{doors}\n{functions}"


def _sums(uses: Iterable[Use]) -> str:
    """Return what the rows in *uses* that add off chip need."""
    added = [(ISA[use.row], use.given[0].dtype) for use in uses if sums.adds(ISA[use.row])]
    return sums.header([(row, dtype) for row, dtype in added if dtype is not None], IDS)
