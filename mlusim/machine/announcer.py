"""The announcer of one core: makes effects of the core's actions and announces them to the hub.

A core has an announcer only while an observer listens or another schedule is explored; otherwise nothing here costs
time.
"""

from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from attrs import define

from mlusim.arch.board import Pipe
from mlusim.formula.expr import ONE
from mlusim.isa.declare import Flow, Intrinsic
from mlusim.kernel_frames import ACCESSOR, KernelFrame, caller, file_of, is_own
from mlusim.machine.hub import Effect
from mlusim.machine.observed import Site, Step
from mlusim.memory.footprint import Access
from mlusim.time.log import NotedLog

if TYPE_CHECKING:
    from mlusim.machine.core import Core
    from mlusim.machine.hub import Hub
    from mlusim.memory.pointer import View


STEPS = 4096  # steps of either kind that a core remembers before it starts over
Side = tuple[Access, ...]  # the accesses that an effect reads, or writes
Given = tuple[Any, ...]  # the arguments of an intrinsic
LOUD = -1  # epochs and marks count from 0 and never have this number


@define(eq=False)
class _Known:
    """A step that may be repeated: its method and code, the mark at its last execution, and the epoch since which it is quiet.

    ``plain`` is set once no observer needs its computed value.
    """

    step: Step
    row: Intrinsic | None
    code: CodeType
    mark: int = LOUD
    quiet: int = LOUD
    plain: bool = False


class Announcer:
    """The announcements of *core* to *hub*, called by its intrinsics before and after they act.

    *numbers* yields the numbers of the launch's effects; *explore*, given when another schedule is tried, is called
    before each instruction.
    """

    __slots__ = (
        "_core", "_explore", "_fresh", "_hub", "_kernel", "_numbers", "_scalars", "_since", "_sites", "_steps",
        "computed", "computes", "effect", "issue", "retired",
    )  # fmt: skip

    def __init__(
        self, core: "Core", hub: "Hub", numbers: Iterator[int], explore: Callable[[], None] | None
    ) -> None:
        self._core = core
        self._hub = hub
        self._numbers = numbers
        self._explore = explore
        self._kernel = KernelFrame()
        self._steps: dict[Any, _Known] = {}
        # Stored separately, so that a long loop over scalars does not displace the others.
        self._scalars: dict[Any, _Known] = {}
        self._fresh: list[Step] = []
        self._since = 0
        self._sites: dict[tuple[int, int], tuple[Site, CodeType]] = {}
        self.issue, self.effect, self.retired = hub.issue, hub.effect, hub.retire
        self.computes, self.computed = hub.computes, hub.computed

    # -- before and after ----------------------------------------------------------------------

    def row(self, row: Intrinsic, frame: FrameType, operands: Given, arguments: Given) -> Effect | None:
        """Announce an intrinsic, unless every observer has learned all it needs from this step.

        *frame* called it, *operands* are (view, first element, one after the last) of each in turn.
        """
        if self._explore is not None:
            self._explore()
        entry = self._steps.get((frame.f_lasti, operands))
        # Offsets of instructions repeat from function to function.
        if entry is None or entry.code is not frame.f_code or entry.row is not row:
            entry = self._step(row, self._kernel(frame), operands)
        if entry.mark != self._since:
            entry.mark = self._since
            self._fresh.append(entry.step)
        computes = None if entry.plain else self.computes
        if entry.quiet == self._hub.epoch:
            if computes is None:
                return None
            effect = Effect(entry.step, self._core, next(self._numbers), arguments)
            entry.plain = computes(effect) is True
            return effect
        effect = Effect(entry.step, self._core, next(self._numbers), arguments)
        satisfied = self.issue is None or self.issue(effect) is True
        if self.effect is not None and self.effect(effect) is not True:
            satisfied = False
        # `retire` returns nothing, so an observer cannot end announcements there.
        if satisfied and self.retired is None:
            entry.quiet = self._hub.epoch
        if computes is not None:
            entry.plain = computes(effect) is True
        return effect

    def mark(self) -> list[Step]:
        """Return the steps of intrinsics and scalar accesses since the last mark, announced or not, each once.

        Only one observer may use it: the one that orders pipes.
        """
        fresh, self._fresh = self._fresh, []
        if fresh:
            self._since += 1
        return fresh

    def copy(self, row: Intrinsic, pipe: Pipe, reads: Side, writes: Side, arguments: Given) -> Effect:
        """Announce a blocking copy, or another blocking effect with strides."""
        effect = self._made(row, pipe, reads, writes, arguments)
        if self.issue is not None:
            self.issue(effect)
        if self.effect is not None:
            self.effect(effect)
        return effect

    def flight(self, row: Intrinsic, pipe: Pipe, reads: Side, writes: Side, arguments: Given) -> Effect:
        """Announce the issue of an asynchronous effect; `lands` and `retire` announce its later events."""
        effect = self.in_flight(row, pipe, reads, writes, arguments)
        if self.issue is not None:
            self.issue(effect)
        return effect

    def in_flight(self, row: Intrinsic, pipe: Pipe, reads: Side, writes: Side, arguments: Given) -> Effect:
        """Return an asynchronous effect at its issue without announcing it."""
        effect = self._made(row, pipe, reads, writes, arguments)
        effect.asynchronous = True
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
        if self.computed is not None:
            self.computed(effect)

    def scalar(self, name: str, view: "View", index: int, value: object = None, _waits: int = 0) -> None:
        """Announce a scalar load, or a store of *value*, of element *index*, unless every observer has learned all it needs from it.

        Accesses to memory that others share are announced every time.
        """
        if self._explore is not None:
            self._explore()
        frame = caller(ACCESSOR)
        private = not view.space.shared
        entry = self._scalars.get((frame.f_lasti, view, index, value is None)) if private else None
        if entry is None or entry.code is not frame.f_code:
            entry = self._scalar_step(name, self._kernel(caller(1)), view, index, loads=value is None)
        if entry.mark != self._since:
            entry.mark = self._since
            self._fresh.append(entry.step)
        if entry.quiet == self._hub.epoch:
            return
        effect = Effect(entry.step, self._core, next(self._numbers), (view.dtype, value))
        satisfied = self._hub.scalar is None or self._hub.scalar(effect) is True
        if self.issue is not None and self.issue(effect) is not True:
            satisfied = False
        if self.effect is not None and self.effect(effect) is not True:
            satisfied = False
        if satisfied and private:
            entry.quiet = self._hub.epoch

    # -- what is announced ---------------------------------------------------------------------

    def _made(self, row: Intrinsic, pipe: Pipe, reads: Side, writes: Side, arguments: Given) -> Effect:
        if self._explore is not None:
            self._explore()
        step = Step(row.name, row, pipe, row.flow, reads, writes, self._site(self._kernel(caller(1))))
        return Effect(step, self._core, next(self._numbers), arguments)

    def _scalar_step(self, name: str, frame: FrameType, view: "View", index: int, *, loads: bool) -> _Known:
        """Return the step of a scalar access at the kernel's *frame*; it may be known although the first look-up missed it."""
        key = frame.f_lasti, view, index, loads
        entry = self._scalars.get(key)
        if entry is not None and entry.code is frame.f_code:
            return entry
        access = (Access(view.allocation, view.phase + index * view.itemsize, view.itemsize),)
        reads, writes = (access, ()) if loads else ((), access)
        step = Step(name, None, Pipe.SCALAR, Flow.LANEWISE, reads, writes, self._site(frame))
        entry = _Known(step, None, frame.f_code)
        if not view.space.shared:
            _keep(self._scalars, key, entry)
        return entry

    def _step(self, row: Intrinsic, frame: FrameType, operands: tuple[Any, ...]) -> _Known:
        """Return the step of *row* at the kernel's *frame*; it may be known although the caller did not find it."""
        key = frame.f_lasti, operands
        entry = self._steps.get(key)
        if entry is None or entry.code is not frame.f_code or entry.row is not row:
            reads, writes = accesses_of(row, operands, self._core.machine.board.arch.generation)
            step = Step(row.name, row, row.pipe, row.flow, reads, writes, self._site(frame))
            entry = _Known(step, row, frame.f_code)
            _keep(self._steps, key, entry)
        return entry

    def _site(self, frame: FrameType) -> Site:
        """Return the place of the statement at the kernel's *frame*."""
        key = id(frame.f_code), frame.f_lasti
        entry = self._sites.get(key)
        if entry is None:
            site = Site("<unknown>", 0) if is_own(frame) else Site(file_of(frame.f_code), frame.f_lineno)
            entry = self._sites[key] = site, frame.f_code
        return entry[0]


class Accesses:
    """Records the scalar accesses of a core, and announces them to its *watch* if it has one."""

    __slots__ = ("_kernel", "_log", "_watch")

    def __init__(self, log: NotedLog, watch: Any) -> None:
        self._log, self._watch, self._kernel = log, watch, KernelFrame()

    def scalar(self, name: str, view: "View", index: int, value: object = None, waits: int = 0) -> None:
        """Record a scalar load, where *waits* says which pipe waits for it, or a store of *value*."""
        store, counter = name == "scalar store", view.number + waits
        if not self._log.again(caller(ACCESSOR), counter, store=store):
            self._log.access(self._kernel(caller(1)), counter, store=store)
        if self._watch is not None:
            self._watch.scalar(name, view, index, value)


def _keep(steps: dict[Any, _Known], key: object, entry: _Known) -> None:
    if len(steps) >= STEPS:
        steps.clear()
    steps[key] = entry


def accesses_of(row: Intrinsic, operands: tuple[Any, ...], generation: int) -> tuple[Side, Side]:
    """Return the reads and the writes of *row*; *operands* are (view, first element, one after the last) of each in turn."""
    reads, writes = [], []
    for n, operand in enumerate(row.operands.values()):
        view, first, stop = operands[3 * n : 3 * n + 3]
        if view is None:
            continue
        size = (stop - first) * view.itemsize
        start = view.phase + first * view.itemsize
        if operand.step == ONE:
            access = Access(view.allocation, start, size)
        else:
            skip = operand.step_on(generation, view.itemsize)
            steps = ((skip * view.itemsize, -(-(stop - first) // skip)),)
            access = Access(view.allocation, start, view.itemsize, steps)
        if operand.access != "write":
            reads.append(access)
        if operand.access != "read":
            writes.append(access)
    return tuple(reads), tuple(writes)


def arguments_behind(row: Intrinsic | None, arguments: Given) -> tuple[list[int], list[int]]:
    """Return the numbers of the *arguments* of *row* that its reads come from, and those of its writes, in the order of `accesses_of`.

    Both are empty for a scalar access, and if data decide which bytes are accessed.
    """
    if row is None or row.form in ("gather", "discrete"):
        return [], []
    if row.form == "copy":
        return [1], [0]
    places = {p.name: n for n, p in enumerate(row.given)}
    pointers = [
        (places[o.name], o.access)
        for o in row.operands.values()
        if hasattr(arguments[places[o.name]], "view")
    ]
    return [n for n, access in pointers if access != "write"], [
        n for n, access in pointers if access != "read"
    ]
