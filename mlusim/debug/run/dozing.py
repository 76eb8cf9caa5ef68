"""The way to the moment of interest through a task: what the task does is counted, and not announced."""

from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from mlusim.arch.pipe import Pipe
from mlusim.isa.declare import Intrinsic
from mlusim.machine.announcer import Announcer
from mlusim.machine.events import Effect, Step
from mlusim.memory.footprint import Access

if TYPE_CHECKING:
    from mlusim.memory.pointer import View


class Counting(Protocol):
    """A run that counts its moments."""

    def unheard(self) -> None:
        """Count a moment of which nothing is announced."""
        ...


class DozingAnnouncer:
    """Stands for the *announcer* of a core on the way: tells *run* of each moment, and makes no effect of it.

    Effects that are in flight when the run wakes are announced as they land, so they are made.
    """

    __slots__ = ("_announcer", "_run")

    def __init__(self, run: Counting, announcer: Announcer) -> None:
        self._run, self._announcer = run, announcer

    def row(
        self, row: Intrinsic, frame: FrameType, operands: tuple[Any, ...], arguments: tuple[Any, ...]
    ) -> Effect | None:
        """Count an intrinsic, and announce nothing."""
        del row, frame, operands, arguments
        self._run.unheard()
        return None

    def copy(
        self,
        row: Intrinsic,
        pipe: Pipe,
        reads: tuple[Access, ...],
        writes: tuple[Access, ...],
        arguments: tuple[Any, ...],
    ) -> Effect | None:
        """Count a blocking copy, or another blocking effect with strides."""
        del row, pipe, reads, writes, arguments
        self._run.unheard()
        return None

    def flight(
        self,
        row: Intrinsic,
        pipe: Pipe,
        reads: tuple[Access, ...],
        writes: tuple[Access, ...],
        arguments: tuple[Any, ...],
    ) -> Effect:
        """Count the issue of an asynchronous effect."""
        effect = self._announcer.in_flight(row, pipe, reads, writes, arguments)
        self._run.unheard()
        return effect

    def lands(self, effect: Effect) -> None:
        """Count the landing of an asynchronous effect."""
        del effect
        self._run.unheard()

    def retire(self, effect: Effect | None) -> None:
        """Note that the bytes of *effect* have changed."""
        if effect is not None:
            effect.landed = True

    def scalar(self, name: str, view: "View", index: int, value: object = None) -> None:
        """Count a scalar access."""
        del name, view, index, value
        self._run.unheard()

    def mark(self) -> list[Step]:
        """Return none: pipes are ordered where steps are announced."""
        return []
