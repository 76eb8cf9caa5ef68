"""A launch as observers see it: its cores, of which they change nothing, and the events that they hear.

The machine's own classes have more; `Observer` is declared over these, so that a checker sees no more than this.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntFlag
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attrs import define

from mlusim.errors import shown_file

if TYPE_CHECKING:
    import numpy as np

    from mlusim.arch.board import Board, Pipe
    from mlusim.engine.contract import Flight
    from mlusim.engine.values import VectorChange
    from mlusim.errors import Fault
    from mlusim.isa.declare import Flow, Intrinsic
    from mlusim.machine.options import LaunchOptions
    from mlusim.machine.parts import KeptParts
    from mlusim.memory.allocation import Allocation, Arena, StackVariable
    from mlusim.memory.footprint import Access
    from mlusim.memory.regions import Placement
    from mlusim.memory.space import Space


class TaskPlace(NamedTuple):
    """The identity of a task and the core on which it runs.

    ``cluster_id`` is the kernel's ``clusterId``, counted in its union; ``before`` are the clusters of the unions in front.
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
        """The number of the cluster in the launch."""
        return self.before + self.cluster_id

    @property
    def label(self) -> str:
        """How messages name the core."""
        return f"memory core of cluster {self.cluster}" if self.memory_core else f"task {self.task}"


class ObservedKernel(Protocol):
    """A kernel: its name, and the function where it has one."""

    name: str
    body: Callable[..., Any]

    @property
    def on_stack(self) -> "tuple[StackVariable, ...]": ...  # its locals where they take most
    @property
    def compiled(self) -> bool: ...  # whether it is one of BANG C


class ObservedRequest(Protocol):
    """The request for a launch."""

    @property
    def kernel(self) -> ObservedKernel: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...  # those of the kernel, behind ``mlu``
    @property
    def variables(self) -> tuple[Any, ...]: ...  # tensors for its variables in GDRAM
    @property
    def options(self) -> "LaunchOptions": ...


class ObservedLaunch(Protocol):
    """A launch while it runs."""

    board: "Board"

    @property
    def request(self) -> ObservedRequest: ...
    @property
    def given(self) -> "list[Allocation]": ...  # memories of its arguments and variables, each once
    @property
    def tally(self) -> Any: ...  # its `Tally`: that knows places of tasks, which are declared here


class ObservedCluster(Protocol):
    """The cores that share SRAM."""

    number: int  # its number on the board
    sram: "Arena"  # the SRAM that the cores share


class ObservedUnion(Protocol):
    """The cores that may meet at a barrier, or the lone core of a Block task."""

    block: bool  # whether it is the core of a Block task

    @property
    def clusters(self) -> Sequence[ObservedCluster]: ...
    @property
    def cores(self) -> "Sequence[ObservedCore]": ...
    def finished(self) -> bool: ...  # whether every core of it has ended


class ObservedCore(Protocol):
    """A core: where it runs, what is in flight, what it declared."""

    number: int  # its number, in the order in which the cores of the launch begin
    place: "TaskPlace"  # which task it runs, and where

    @property
    def session(self) -> ObservedLaunch: ...
    @property
    def plans(self) -> "tuple[Placement, ...]": ...  # those of its buffers that are in force
    @property
    def union(self) -> ObservedUnion: ...
    @property
    def cluster(self) -> ObservedCluster | None: ...  # None for a Block task
    @property
    def flights(self) -> "Iterable[Flight]": ...  # its asynchronous effects that have not landed
    @property
    def arenas(self) -> "Mapping[Space, Arena]": ...  # the memories that belong to this core alone
    def announce_again(self) -> None: ...  # steps of repeated instructions, which were left out
    def fresh_steps(self) -> "list[Step]": ...  # those since the last time, announced or not, each once
    def site(self) -> tuple[str, int]: ...  # the file and line of the kernel statement that it is at


class Screened(IntFlag):
    """The things that C looks for in a launch on behalf of checkers, by the checker that would report them."""

    MEMORY = 1
    INIT = 2
    RACE = 4
    SYNC = 8
    VALUE = 16
    PLAN = 32  # nothing that C could see: Python runs a launch that has a plan
    PARTS = 64  # which pointer variable has which part of an on-chip array
    VECTORS = 128  # what vectors do to numbers (`engine.values`)


READS, CHANGES, WRITES = range(3)
"""Kinds of accesses; an atomic changes what it reads."""


class HeardEnough(Exception):
    """Ends a run in Python of which an observer needs no more."""


class ObservedScreen(Protocol):
    """The record that a launch in C has kept for checkers; `mlusim.machine.native.screen.Screen` says what each member is."""

    def lack(self, allocation: "Allocation", tell: "Callable[[np.ndarray[Any, Any]], None]") -> None: ...
    def lacking(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]": ...
    def stores(self, allocation: "Allocation") -> "tuple[TensorStore, ...] | None": ...

    refused: "Fault | None"
    whole: bool
    met: list[tuple[int, ...]]
    parts: "KeptParts"

    def needs_values(self) -> bool: ...
    def sharing(self) -> "SharedRun | None": ...
    def unordered(self) -> "Iterator[Any]": ...  # each a `machine.native.screen.Window`
    def shared(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]": ...
    def changes(self) -> "Sequence[ChangedValue | ChangedVector]": ...
    def escapes(self) -> "Mapping[Site, CountedEscape]": ...
    def left(self) -> "Sequence[OnMemoryCore]": ...


# -- the events that observers hear -----------------------------------------------------------------

# Files in which names are spelled as in C.
BANG_C = (".mlu", ".mluh", ".cpp", ".cc", ".cxx", ".c", ".hpp", ".h")


class ValueChange(NamedTuple):
    """A number that C changed without a word.

    *rule* names what happened; *value* of type *have* became *kept* of type *to*, which has *span* numbers.  Of a shift
    *value* and *kept* are its count.
    """

    rule: str
    value: float
    have: str
    kept: float
    to: str
    span: int

    @property
    def bits(self) -> int:
        """The bits of the type *to*."""
        return self.span.bit_length() - 1


class ValueTest(Protocol):
    """A test of a value in C: the change of *a* and *b* if it fails, and what is the same of every such change."""

    @property
    def rule(self) -> str: ...
    @property
    def have(self) -> str: ...
    @property
    def to(self) -> str: ...
    def __call__(self, a: float, b: float) -> ValueChange: ...


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


class ChangedValue(NamedTuple):
    """The first of the changes of a place and its task, and how often they happened."""

    change: ValueChange
    site: Site
    task: int
    times: int


class CountedEscape(NamedTuple):
    """The lowest task that has stored bytes without a value to GDRAM at a place, and how often tasks did."""

    task: int
    times: int


class ChangedVector(NamedTuple):
    """The first number of a place that a vector instruction has made so, its task, and how often they were made."""

    change: "VectorChange"
    site: Site
    task: int
    times: int


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
    reads: "tuple[Access, ...]"
    writes: "tuple[Access, ...]"
    site: Site

    @property
    def spelled(self) -> str:
        """The intrinsic as BANG C spells it, or what a scalar access is called."""
        return self.name if self.row is None else f"__{self.name}"


class TaskRan(NamedTuple):
    """The core on which a task began: which task it ran, and with which others."""

    place: TaskPlace
    union: ObservedUnion
    cluster: ObservedCluster | None


class OnMemoryCore(NamedTuple):
    """An instruction that a memory core cannot execute: the core that came to it first, its place and name, and how often cores did."""

    core: TaskRan
    site: Site
    name: str
    times: int


class WordSign(NamedTuple):
    """The atomic on one word of a *row*: others may learn from it what its task did, but not while something is on its way to memory that tasks share."""

    row: int
    pending: bool


@define
class SharedRun:
    """All accesses of a launch to memory that tasks share, in their order, each piece of an operand by itself.

    A row of ``accesses`` has the first byte, the bytes, the kind (`READS`, `CHANGES` or `WRITES`), the task, the number of the statement and the number of
    the instruction among those that touch such memory.  ``memory`` has the number of each one's memory, ``ends`` is true of the last piece of an operand.
    The rows ``valued`` are small stores of which the ``values`` are known.  ``events`` are what happened before the row of a number: a task began, tasks met
    at a barrier, an atomic had acted on one word, or memories ended.
    """

    accesses: "np.ndarray[Any, np.dtype[np.int64]]"
    memory: "np.ndarray[Any, np.dtype[np.int64]]"
    ends: "np.ndarray[Any, np.dtype[np.bool_]]"
    memories: "Sequence[Allocation]"
    statements: "Sequence[tuple[str, Pipe, Site]]"
    valued: Sequence[int]
    values: Sequence[Any]
    events: "Sequence[tuple[int, TaskRan | WordSign | tuple[int, ...] | list[Allocation]]]"


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
    gets back.  ``kept`` is what an observer keeps from `Observer.computes` to `Observer.computed`.
    """

    step: Step
    core: "ObservedCore"
    number: int
    arguments: tuple[Any, ...] = ()
    asynchronous: bool = False
    landed: bool = False
    result: Any = None
    kept: object = None

    @property
    def name(self) -> str:
        """The intrinsic, without leading underscores."""
        return self.step.name

    @property
    def pipe(self) -> "Pipe":
        """The pipe that carries it."""
        return self.step.pipe

    @property
    def reads(self) -> "tuple[Access, ...]":
        """The bytes that it reads."""
        return self.step.reads

    @property
    def writes(self) -> "tuple[Access, ...]":
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
    core: "ObservedCore"
    pipes: tuple[str, ...]
    scope: str | None = None
    participants: tuple["ObservedCore", ...] = ()
    mutex: tuple[int, int] | None = None
    waiting: tuple[str, ...] = ()
    route: tuple[str, ...] = ()

    @property
    def site(self) -> Site:
        """File and line at which ``core`` is."""
        return Site(*self.core.site())
