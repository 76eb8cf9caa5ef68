"""The announcements of a launch: what observers are told, and when."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import define

from mlusim.memory.allocation import Allocation

if TYPE_CHECKING:
    from mlusim.isa.declare import Flow, Intrinsic, Pipe
    from mlusim.machine.core import Core


class Access(NamedTuple):
    """The bytes of one operand: ``size`` bytes at ``start`` of an allocation.

    ``steps`` repeats them: ``((stride, count), ...)``, outermost first, in bytes; empty: once.
    """

    allocation: Allocation
    start: int
    size: int
    steps: tuple[tuple[int, int], ...] = ()

    @property
    def span(self) -> tuple[int, int]:
        """The first byte touched and the one after the last, from the allocation's start."""
        if not self.steps:
            return self.start, self.start + self.size
        low = self.start + sum(min(0, stride * (count - 1)) for stride, count in self.steps)
        high = self.start + self.size + sum(max(0, stride * (count - 1)) for stride, count in self.steps)
        return low, high

    @property
    def nbytes(self) -> int:
        """Bytes touched in all."""
        total = self.size
        for _, count in self.steps:
            total *= count
        return total

    @property
    def apart(self) -> bool:
        """Whether no two repetitions share a byte."""
        steps = sorted((abs(stride), count) for stride, count in self.steps if count > 1)
        reach = self.size
        for stride, count in steps:
            if stride < reach:
                break
            reach += stride * (count - 1)
        else:
            return True
        if len(steps) == 1 or steps[0][0] < self.size:
            return False
        (near, few), (far, many) = steps  # one comb in the gaps of another, or not
        rest = np.arange(1, many) * far
        steps_back = np.minimum(rest // near, few - 1)
        rest -= steps_back * near
        rest[steps_back < few - 1] = np.minimum(rest, near - rest)[steps_back < few - 1]
        return bool((rest >= self.size).all())

    def meets(self, other: "Access") -> bool:
        """Whether a repetition of this one and one of *other* share a byte; both repeat in one direction."""
        (low, high), (first, last) = self.span, other.span
        if self.allocation is not other.allocation or high <= first or last <= low:
            return False
        mine, theirs = np.sort(self.starts), np.sort(other.starts)
        before = np.searchsorted(theirs, mine, side="right") - 1  # the last that begins at or before each
        behind = np.minimum(before + 1, len(theirs) - 1)
        covered = (before >= 0) & (theirs[before] + other.size > mine)
        covers = (theirs[behind] >= mine) & (theirs[behind] < mine + self.size)
        return bool((covered | covers).any())

    @property
    def starts(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Where the repetitions begin, one after the other, in bytes from the allocation's start."""
        starts = np.array([self.start])
        for stride, count in self.steps:
            starts = np.add.outer(starts, np.arange(count) * stride).reshape(-1)
        return starts


class Site(NamedTuple):
    """A place in a kernel's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


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
    At a barrier ``scope`` says who meets (a key of `mlusim.machine.barrier.SCOPES`), ``participants``
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
