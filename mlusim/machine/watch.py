"""The announcer of one core: makes effects of what the core does and tells the hub.

A core has one only while somebody listens, or a seed explores; everything here costs nothing otherwise.
"""

import random
import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from mlusim.isa.declare import Flow, Intrinsic, Pipe
from mlusim.machine.events import Access, Effect, Site, Step
from mlusim.machine.kernel import kernel_frame

if TYPE_CHECKING:
    from mlusim.machine.core import Core
    from mlusim.memory.pointer import View

STEPS = 4096  # steps that a core remembers; beyond that it begins anew


class Watch:
    """What the intrinsics of *core* call before and after they act."""

    __slots__ = ("_core", "_hub", "_numbers", "_rng", "_sites", "_steps", "effect", "issue", "retired")

    def __init__(self, core: "Core", rng: random.Random | None) -> None:
        session = core.session
        self._core = core
        self._hub = session.hub
        self._numbers = session.numbers
        self._rng = rng
        self._steps: dict[Any, tuple[Step, Intrinsic, CodeType]] = {}
        self._sites: dict[tuple[int, int], tuple[Site, CodeType]] = {}
        self.issue, self.effect, self.retired = session.hub.issue, session.hub.effect, session.hub.retire

    # -- before and after ----------------------------------------------------------------------

    def row(self, row: Intrinsic, operands: tuple[Any, ...], arguments: tuple[Any, ...]) -> Effect:
        """Announce an intrinsic; *operands* are (view, first element, one after the last) of each in turn."""
        if self._rng is not None:
            self._explore(self._rng)
        frame = sys._getframe(2)  # noqa: SLF001 - the kernel, behind the intrinsic's method
        key = frame.f_lasti, operands
        known = self._steps.get(key)
        if known is None or known[2] is not frame.f_code or known[1] is not row:
            step = self._remember(key, row, frame)
        else:
            step = known[0]
        effect = Effect(step, self._core, next(self._numbers), arguments)
        if self.issue is not None:
            self.issue(effect)
        if self.effect is not None:
            self.effect(effect)
        return effect

    def copy(
        self,
        row: Intrinsic,
        pipe: Pipe,
        reads: tuple[Access, ...],
        writes: tuple[Access, ...],
        arguments: tuple[Any, ...],
    ) -> Effect:
        """Announce a blocking copy, or another blocking effect with strides."""
        effect = self._made(row, pipe, reads, writes, arguments)
        if self.issue is not None:
            self.issue(effect)
        if self.effect is not None:
            self.effect(effect)
        return effect

    def flight(
        self,
        row: Intrinsic,
        pipe: Pipe,
        reads: tuple[Access, ...],
        writes: tuple[Access, ...],
        arguments: tuple[Any, ...],
    ) -> Effect:
        """Announce the issue of an asynchronous effect; `lands` announces the rest."""
        effect = self._made(row, pipe, reads, writes, arguments)
        effect.asynchronous = True
        if self.issue is not None:
            self.issue(effect)
        return effect

    def lands(self, effect: Effect) -> None:
        """Announce that an asynchronous effect is about to change its bytes."""
        if self.effect is not None:
            self.effect(effect)

    def retire(self, effect: Effect) -> None:
        """Announce that the bytes of *effect* have changed."""
        effect.landed = True
        if self.retired is not None:
            self.retired(effect)

    def scalar(self, name: str, view: "View", index: int, value: Any = None) -> None:
        """Announce a scalar load, or a store of *value*, of element *index*."""
        if self._rng is not None:
            self._explore(self._rng)
        access = (Access(view.allocation, view.phase + index * view.itemsize, view.itemsize),)
        reads, writes = (access, ()) if value is None else ((), access)
        site = self._site(sys._getframe(3))  # noqa: SLF001 - behind the core's account and the pointer's
        step = Step(name, None, Pipe.SCALAR, Flow.LANEWISE, reads, writes, site)
        effect = Effect(step, self._core, next(self._numbers), (view.dtype, value))
        if self._hub.scalar is not None:
            self._hub.scalar(effect)
        if self.issue is not None:
            self.issue(effect)
        if self.effect is not None:
            self.effect(effect)

    # -- what is announced ---------------------------------------------------------------------

    def _made(
        self,
        row: Intrinsic,
        pipe: Pipe,
        reads: tuple[Access, ...],
        writes: tuple[Access, ...],
        arguments: tuple[Any, ...],
    ) -> Effect:
        if self._rng is not None:
            self._explore(self._rng)
        site = self._site(sys._getframe(3))  # noqa: SLF001 - behind `copy` and the copy's method
        step = Step(row.name, row, pipe, row.flow, reads, writes, site)
        return Effect(step, self._core, next(self._numbers), arguments)

    def _remember(self, key: Any, row: Intrinsic, frame: FrameType) -> Step:
        reads, writes = [], []
        operands = key[1]
        for n, operand in enumerate(row.operands.values()):
            view, first, stop = operands[3 * n : 3 * n + 3]
            if view is None:
                continue
            size = (stop - first) * view.itemsize
            start = view.phase + first * view.itemsize
            if operand.step == "1":
                access = Access(view.allocation, start, size)
            else:
                skip = operand.step_on(self._core.session.board.arch.generation, view.itemsize)
                steps = ((skip * view.itemsize, -(-(stop - first) // skip)),)
                access = Access(view.allocation, start, view.itemsize, steps)
            if operand.access != "write":
                reads.append(access)
            if operand.access != "read":
                writes.append(access)
        step = Step(row.name, row, row.pipe, row.flow, tuple(reads), tuple(writes), self._site(frame))
        if kernel_frame(frame) is frame:  # what calls through another function has more than one place
            if len(self._steps) >= STEPS:
                self._steps.clear()
            self._steps[key] = step, row, frame.f_code
        return step

    def _site(self, frame: FrameType | None) -> Site:
        """The place of the kernel statement at or above *frame*."""
        found = kernel_frame(frame)
        if found is None:
            return Site("<unknown>", 0)
        key = id(found.f_code), found.f_lasti
        known = self._sites.get(key)
        if known is None:
            known = self._sites[key] = Site(found.f_code.co_filename, found.f_lineno), found.f_code
        return known[0]

    def _explore(self, rng: random.Random) -> None:
        """With a seed: perhaps land something that is in flight, perhaps let another core go first."""
        core = self._core
        if core.flights and rng.random() < 0.5:
            core.land_one(rng.choice([flight.pipe for flight in core.flights]))
        core.session.scheduler.point(core)
