"""A kernel as C: what a front end hands over, and the whole text that is compiled."""

import functools
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from mlusim.arch.board import Arch
from mlusim.engine.native.door import Use, door
from mlusim.engine.native.layout import preamble
from mlusim.errors import Fault

if TYPE_CHECKING:
    from mlusim.machine.native.run import Loaded

PARTS = ("core.h", "floats.h", "rows.h", "copies.h", "scalars.h")


@frozen(eq=False, slots=False)
class NativeProgram:
    """A kernel's C for one architecture.

    ``text`` is everything that is compiled.  ``entry`` is the function ``int64_t entry(Core *, const uint64_t *words)``
    that runs it; ``sites`` are the file and line that each number of a place means, ``texts`` the string literals and
    ``library`` what Python does for the C library, by their numbers; *recursive* programs watch the end of the stack.
    """

    text: str
    entry: str
    sites: Sequence[tuple[str, int]]
    texts: Sequence[str] = ()
    library: Sequence[Callable[..., Any]] = ()
    recursive: bool = False

    @functools.cached_property
    def follows(self) -> bool:
        """True where it makes pointers of addresses that it reads from memory."""
        own = self.text.removeprefix(runtime())
        return "load_pointer(" in own or "pointer_of(" in own


class Words(Protocol):
    """How a front end names pointers for the words of a kernel's arguments."""

    def pointer(self, pointer: Any) -> int:
        """The word of a pointer of this core."""


class NativeForm(Protocol):
    """The ``native`` of a kernel that can run natively."""

    def program(self, arch: Arch) -> NativeProgram | None:
        """The kernel's C for *arch*; None where something in it has none."""

    def loaded(self, arch: Arch, compiler: tuple[str, ...] | None = None) -> "Loaded | None":
        """That C compiled by *compiler*, or by the one there is, and loaded, for one launch."""

    def words(self, core: Any, arguments: Sequence[Any], words: Words) -> tuple[list[int], list[int]]:
        """The arguments and the variables at file scope as words of 64 bits; declares the latter on *core*."""

    def fault(self, why: int, *given: int) -> Fault:
        """Make the fault for a place where C has no meaning: the number is one of `scalars.h`, which also says what is *given*."""

    def nowhere(self, number: int, offset: int, size: int, nbytes: int, element: int, words: str) -> Any:
        """Make a pointer that leads to no memory of the board, for Python to refuse.

        It is *offset* bytes into what has *nbytes* and the *number*, and its own elements have *size* bytes.  *element* is
        that of an array's elements, 0 of a number or a pointer, and the negative size of a record.  *words* name a constant,
        which a store does not change; they are "" for what may change.
        """


@functools.cache
def runtime() -> str:
    """The C that every kernel begins with."""
    folder = files("mlusim.engine.native") / "c"
    return preamble() + "".join((folder / part).read_text(encoding="utf-8") for part in PARTS)


def assemble(arch: Arch, uses: Iterable[Use], functions: str) -> str:
    """The whole text: the run-time, the doors of the rows in *uses* that have C, and *functions*."""
    doors = "\n".join(text for use in dict.fromkeys(uses) if (text := door(use, arch)) is not None)
    return f"{runtime()}\n{doors}\n{functions}"
