"""The announcements of a launch: what observers are told, and when."""

from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import define

from mlusim.memory.allocation import Allocation

if TYPE_CHECKING:
    from mlusim.isa.declare import Flow, Pipe
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


@define(eq=False)
class Effect:
    """One instruction's work: everything that it reads and everything that it writes.

    ``number`` counts the launch's effects in the order of their issue.  ``landed`` is false while
    an asynchronous effect is in flight.
    """

    name: str
    core: "Core"
    pipe: "Pipe"
    flow: "Flow"
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    number: int
    asynchronous: bool = False
    landed: bool = False
    detail: Any = None

    @property
    def site(self) -> tuple[str, int]:
        """File and line of the kernel statement that the core is at now."""
        return self.core.site()


@define(eq=False)
class Sync:
    """A core waits for its own pipes (``pipes``: their names) or has passed a barrier."""

    name: str
    core: "Core"
    pipes: tuple[str, ...]
    scope: str | None = None
    participants: tuple[int, ...] = ()
