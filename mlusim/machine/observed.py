"""Places of tasks and statements, steps and changed values: the data that observers get about a launch, without its cores.

Types that refer to cores as well, such as `Effect` and `Observer`, are in `mlusim.machine.hub`.
"""

import enum
import re
from enum import IntFlag
from typing import TYPE_CHECKING, NamedTuple, Protocol

from attrs import define

from mlusim.errors import shown_file

if TYPE_CHECKING:
    from mlusim.arch.board import Pipe
    from mlusim.engine.values import VectorChange
    from mlusim.isa.declare import Flow, Intrinsic
    from mlusim.memory.footprint import Access


class TaskPlace(NamedTuple):
    """The identity of a task and the core on which it runs.

    ``cluster_id`` is the kernel's ``clusterId``, counted in its union; ``before`` is the number of clusters in
    earlier unions.
    """

    task: int
    task_x: int
    task_y: int
    task_z: int
    cluster_id: int
    core_id: int
    memory_core: bool = False
    before: int = 0

    @property
    def cluster(self) -> int:
        """Return the number of the cluster in the launch."""
        return self.before + self.cluster_id

    @property
    def label(self) -> str:
        """Return the name of the core in messages."""
        return f"memory core of cluster {self.cluster}" if self.memory_core else f"task {self.task}"


class Screened(IntFlag):
    """The problems for which C searches a launch on behalf of checkers, by the checker that would report them."""

    MEMORY = 1
    INIT = 2
    RACE = 4
    SYNC = 8
    VALUE = 16
    PLAN = 32  # C cannot detect these: Python runs a launch with a plan
    PARTS = 64  # the part of an on-chip array in each pointer variable
    VECTORS = 128  # changes of numbers by vectors (`engine.values`)


READS, CHANGES, WRITES = range(3)
"""Kinds of accesses; an atomic changes what it reads."""

SCALAR_ACCESSES = "scalar load", "scalar store"


class HeardEnough(Exception):
    """Ends a run in Python when its observer needs no more of it."""


# -- the events that observers hear -----------------------------------------------------------------

# Names in these files are spelled as in C.
BANG_C = (".mlu", ".mluh", ".cpp", ".cc", ".cxx", ".c", ".hpp", ".h")


class ValueChange(NamedTuple):
    """A number that C silently changed.

    *rule* names the change; *value* of type *have* became *kept* of type *to*, which has *span* numbers.  For a
    shift, *value* and *kept* are its count.
    """

    rule: str
    value: float
    have: str
    kept: float
    to: str
    span: int

    @property
    def bits(self) -> int:
        """Return the number of bits of the type *to*."""
        return self.span.bit_length() - 1


class ValueTest(Protocol):
    """A test of a value in C: returns the change of *a* and *b* if it fails, and has the attributes common to every such change."""

    @property
    def rule(self) -> str: ...
    @property
    def have(self) -> str: ...
    @property
    def to(self) -> str: ...
    def __call__(self, a: float, b: float) -> ValueChange: ...


class Follower(Protocol):
    """Follows an uninitialized scalar through computations for an observer."""

    def used(self, what: str) -> None: ...
    def handed(self, name: str) -> None: ...


class Site(NamedTuple):
    """A place in a kernel's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}"

    def told_from(self, here: "Site") -> str:
        """Return ``line 7`` in a sentence about *here*, or file and line if the files differ."""
        return f"line {self.line}" if self.file == here.file else str(self)

    @property
    def python(self) -> bool:
        """Return whether the kernel is written in Python, not in BANG C."""
        return not self.file.endswith(BANG_C)

    def spelled(self, name: str) -> str:
        """Return *name*, an intrinsic or a built-in variable without underscores, as the language of the file spells it.

        ``sync`` is ``mlu.sync`` in Python and ``__sync`` in BANG C, ``taskId`` is ``mlu.taskId`` and ``taskId``.
        """
        if self.python:
            return f"mlu.{name}"
        return f"__{name}" if name.islower() else name

    def respelled(self, text: str) -> str:
        """Return *text* with each ``mlu.name`` as the language of the file spells it."""
        return re.sub(r"\bmlu\.(\w+)", lambda match: self.spelled(match[1]), text)


class ChangedValue(NamedTuple):
    """The first change at a place with its task, and the number of changes."""

    change: ValueChange
    site: Site
    task: int
    times: int


class Escape(enum.Enum):
    """How bytes without a value escape: they are stored to GDRAM, or come of lanes that were mixed, or decide a test."""

    STORED = enum.auto()
    MIXED = enum.auto()
    DECIDES = enum.auto()


class EscapedAt(NamedTuple):
    """The place at which bytes without a value escape; of mixed lanes that of the instruction that mixed them.

    Where a variable held a number that decides a test, the number was ``loaded`` at another place.
    """

    site: Site
    how: Escape
    loaded: Site | None = None


class CountedEscape(NamedTuple):
    """The lowest task that has stored uninitialized bytes to GDRAM at a place, and how often tasks did."""

    task: int
    times: int


class ChangedVector(NamedTuple):
    """The first number at a place that a vector instruction has changed, its task, and the number of changes."""

    change: "VectorChange"
    site: Site
    task: int
    times: int


@define(eq=False)  # never changed, but made for every copy: a frozen class takes twice as long
class Step:
    """An intrinsic with its operands at one place of a kernel: everything that it reads and writes.

    ``row`` is None for a scalar access.  A repeated instruction with the same operands at the same
    place is the same object, so that an observer may store data about a step.
    """

    name: str
    row: "Intrinsic | None"
    pipe: "Pipe"
    flow: "Flow"
    reads: "tuple[Access, ...]"
    writes: "tuple[Access, ...]"
    site: Site

    @property
    def spelled(self) -> str:
        """Return the intrinsic as BANG C spells it, or the name of a scalar access."""
        return self.name if self.row is None else f"__{self.name}"


class WordSign(NamedTuple):
    """The atomic on one word of a *row*: other tasks may learn from it the progress of its task, but not while data is still on its way to memory that tasks share."""

    row: int
    pending: bool


class MutexTurn(NamedTuple):
    """A *task* takes a mutex, or releases it after the instruction *time*: for others not while data is still on its way to memory that tasks share."""

    site: Site
    task: int
    key: tuple[int, int]
    time: int
    releases: bool
    pending: bool


class TensorStore(NamedTuple):
    """A store to a tensor: the byte after its last, its number in the order of issue, its place, its name, its description, and its core."""

    end: int
    number: int
    site: Site
    name: str
    told: str
    label: str
