"""The announcements of a launch: what observers are told, and when."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attrs import define

from mlusim.errors import shown_file
from mlusim.memory.footprint import Access

if TYPE_CHECKING:
    from mlusim.arch.board import Pipe
    from mlusim.isa.declare import Flow, Intrinsic
    from mlusim.machine.observed import Core


# Files in which names are spelled as in C.
BANG_C = (
    ".mlu",
    ".mluh",
    ".cpp",
    ".cc",
    ".cxx",
    ".c",
    ".hpp",
    ".h",
)


class ValueChange(NamedTuple):
    """A number that C changed without a word.

    *rule* names what happened; *value* of type *have* became *kept* of type *to*, which has *span* numbers.  Of a shift
    *value* and *kept* are its count.
    """

    rule: str
    value: float
    have: str
    kept: int
    to: str
    span: int

    @property
    def bits(self) -> int:
        """The bits of the type *to*."""
        return self.span.bit_length() - 1


class Follower(Protocol):
    """The follower of a scalar without a value, through what is computed from it, for an observer."""

    def used(self, what: str) -> None: ...
    def handed(self, name: str) -> None: ...


class Site(NamedTuple):
    """A place in a kernel's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}"

    def told_from(self, here: "Site") -> str:
        """``line 7`` in a sentence about *here*, or file and line where that is another file."""
        return f"line {self.line}" if self.file == here.file else str(self)

    @property
    def python(self) -> bool:
        """True where the kernel is written in Python, not in BANG C."""
        return not self.file.endswith(BANG_C)

    def spelled(self, name: str) -> str:
        """*name*, an intrinsic or a built-in variable without underscores, as the language of the file spells it.

        ``sync`` is ``mlu.sync`` in Python and ``__sync`` in BANG C, ``taskId`` is ``mlu.taskId`` and ``taskId``.
        """
        if self.python:
            return f"mlu.{name}"
        return f"__{name}" if name.islower() else name

    def respelled(self, text: str) -> str:
        """*text* with what it calls ``mlu.name`` as the language of the file spells it."""
        return re.sub(r"\bmlu\.(\w+)", lambda found: self.spelled(found[1]), text)


@define(eq=False)  # never changed, but made for every copy: a frozen class takes twice as long
class Step:
    """An intrinsic with its operands at one place of a kernel: everything that it reads and writes.

    ``row`` is None for a scalar access.  A repeated instruction with the same operands at the same
    place is the same object, so that an observer may keep what it knows about a step.
    """

    name: str
    row: "Intrinsic | None"
    pipe: "Pipe"
    flow: "Flow"
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    site: Site


class TensorStore(NamedTuple):
    """A store to a tensor: the byte behind its last, its number in the order of issue, its place, its name and how it is told, its core."""

    end: int
    number: int
    site: Site
    name: str
    told: str
    label: str


@define(eq=False)
class Effect:
    """One execution of a step by a core.

    ``number`` counts the launch's effects in the order of their issue.  ``landed`` is false until the
    bytes have changed.  ``arguments`` are the kernel's, in their order; ``result`` is what the kernel
    gets back.
    """

    step: Step
    core: "Core"
    number: int
    arguments: tuple[Any, ...] = ()
    asynchronous: bool = False
    landed: bool = False
    result: Any = None

    @property
    def name(self) -> str:
        """The intrinsic, without leading underscores."""
        return self.step.name

    @property
    def pipe(self) -> "Pipe":
        """The pipe that carries it."""
        return self.step.pipe

    @property
    def reads(self) -> tuple[Access, ...]:
        """The bytes that it reads."""
        return self.step.reads

    @property
    def writes(self) -> tuple[Access, ...]:
        """The bytes that it writes."""
        return self.step.writes

    @property
    def site(self) -> Site:
        """File and line of the kernel statement that issued it."""
        return self.step.site


@define(eq=False)
class Sync:
    """A core has waited for its own pipes (``pipes``: their names), or a barrier has completed.

    Where only some pipes wait for these, ``waiting`` names them; empty: everything does.  A wait for the copies of
    one direction alone has its two spaces in ``route``.
    At a barrier ``scope`` says who meets (a key of `mlusim.machine.cluster.SCOPES`), ``participants``
    are the cores that met and ``core`` is the last to arrive; their pipes are empty then.  A mutex that
    is taken or about to be given back has the scope "mutex" and its numbers in ``mutex``.  Half a barrier has
    the scope "arrive" or "wait", and in ``mutex`` the numbers of the union and of the meeting.
    """

    name: str
    core: "Core"
    pipes: tuple[str, ...]
    scope: str | None = None
    participants: tuple["Core", ...] = ()
    mutex: tuple[int, int] | None = None
    waiting: tuple[str, ...] = ()
    route: tuple[str, ...] = ()

    @property
    def site(self) -> Site:
        """File and line at which ``core`` is."""
        return Site(*self.core.site())
