"""The order of one core's own instructions: which of them may still be running when the next one is issued.

The rules, with the vendor's guide and the fixes in the vendor's kernels as their source:

* scalar code, vector and tensor instructions are ordered with each other;
* a blocking copy, fill or atomic waits for them and for the earlier copies on its own pipe, and is
  complete when it returns; copies of one pipe are ordered;
* a gather, a scatter or a discrete atomic reads its offsets and its mask when it is issued, blocking or not: earlier
  copies on its own pipe may not have brought them yet;
* an asynchronous instruction waits for nothing but its pipe: it may overtake the accesses of scalar code and the
  vector unit, until a sync waits for them;
* a scalar store to GDRAM or SRAM is in flight until ``__sync`` or a barrier; scalar loads of the same
  core see it, but copies may not.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from mlusim.arch.board import Pipe
from mlusim.machine.hub import Effect
from mlusim.machine.observed import Step
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.observe.shadow import index_reads

COMPUTE = frozenset({Pipe.VECTOR, Pipe.TENSOR})
SCALAR, VECTOR, IO, MOVE = (pipe.value for pipe in (Pipe.SCALAR, Pipe.VECTOR, Pipe.IO, Pipe.MOVE))
EVERY = tuple(pipe.value for pipe in Pipe)
# The cheapest first: pipes that are not waited for continue.
WAITS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sync_move", (Pipe.MOVE.value,)),
    ("sync_io", (Pipe.IO.value,)),
    ("sync_compute", (Pipe.VECTOR.value, Pipe.TENSOR.value)),
    ("sync", EVERY),
)
MOST = 1 << 16  # scalar accesses that are recorded between two syncs


class Clash(NamedTuple):
    """Two instructions of one core that access the same bytes [low, high) and are not ordered."""

    kind: str
    first: Step
    second: Step
    access: Access
    low: int
    high: int


class Remedy(NamedTuple):
    """The advice for a clash, and whether the recorded run was evaluated again with it and has no conflict."""

    text: str
    verified: bool = False


class Wait(NamedTuple):
    """A wait before an instruction, and everything that it would have waited for."""

    remedy: Remedy
    covers: frozenset[Step]


class PipeOrder:
    """The instructions that one core has issued and not waited for yet."""

    __slots__ = ("computing", "io", "move", "passed", "scalars", "stores")

    def __init__(self) -> None:
        self.io: list[Step] = []
        self.move: list[Step] = []
        self.computing: dict[Step, None] = {}
        self.scalars: dict[tuple[Access, bool], Step] = {}
        self.stores: dict[Allocation, list[Step]] = {}
        self.passed: dict[Step, frozenset[str]] = {}  # the pipes that were made to wait for a step

    def copy(self) -> "PipeOrder":
        """Return a copy of the state, for experiments."""
        other = PipeOrder()
        other.io, other.move = list(self.io), list(self.move)
        other.computing, other.scalars = dict(self.computing), dict(self.scalars)
        other.stores = {allocation: list(steps) for allocation, steps in self.stores.items()}
        other.passed = dict(self.passed)
        return other

    @property
    def busy(self) -> bool:
        """True if an asynchronous instruction may be running."""
        return bool(self.io or self.move)

    # -- events --------------------------------------------------------------------------------

    def clashes(self, effect: Effect) -> Iterator[Clash]:
        """Yield the clashes of *effect*, which is about to be issued."""
        step = effect.step
        yield from self._with_flights(effect)
        if step.pipe in COMPUTE or step.pipe is Pipe.SCALAR:
            return
        for allocation in {a.allocation for a in (*step.reads, *step.writes)} if self.stores else ():
            for first in self.stores.get(allocation, ()):
                yield from _between(first, step)
        if effect.asynchronous:
            for first in self.computing:
                yield from self._between(first, step)
            for first in self.scalars.values():
                yield from _between(first, step)

    def _with_flights(self, effect: Effect) -> Iterator[Clash]:
        """Yield the clashes with steps in flight: on another pipe, or on the same pipe with operands that are read at issue."""
        step = effect.step
        early = at_issue(effect)
        for pipe, steps in ((Pipe.IO, self.io), (Pipe.MOVE, self.move)):
            if pipe is not step.pipe:
                for first in steps:
                    yield from self._between(first, step)
            elif early is not None:
                for first in steps:
                    yield from _between(first, early)

    def _between(self, first: Step, step: Step) -> Iterator[Clash]:
        """Yield the clashes of *step* with *first*, unless its pipe was made to wait for *first*."""
        if step.pipe.value not in self.passed.get(first, ()):
            yield from _between(first, step)

    def pending(self) -> Iterator[Step]:
        """Yield the steps that nothing has waited for."""
        yield from (*self.io, *self.move, *self.computing, *self.scalars.values())
        for steps in self.stores.values():
            yield from steps

    @property
    def empty(self) -> bool:
        """True if everything was waited for."""
        return not (self.io or self.move or self.computing or self.scalars or self.stores)

    @property
    def shared(self) -> bool:
        """True if an access to shared memory may be in flight."""
        flying = (access for step in (*self.io, *self.move) for access in (*step.reads, *step.writes))
        return bool(self.stores) or any(access.allocation.space.shared for access in flying)

    @property
    def stores_to_others(self) -> bool:
        """True if an asynchronous instruction may still write to shared memory."""
        return any(
            access.allocation.space.shared for step in (*self.io, *self.move) for access in step.writes
        )

    def keep_only(self, pipes: Collection[str]) -> None:
        """Drop everything that a sync for *pipes* does not wait for."""
        self.wait({pipe.value for pipe in Pipe} - set(pipes))

    def flies(self, step: Step) -> None:
        """Record an asynchronous instruction."""
        self.passed.pop(step, None)
        (self.io if step.pipe is Pipe.IO else self.move).append(step)

    def computes(self, step: Step) -> None:
        """Record a vector or tensor instruction."""
        self.passed.pop(step, None)
        self.computing[step] = None

    def blocks(self, step: Step) -> None:
        """Record a blocking copy, fill or atomic: it has waited for everything but the other pipe and scalar stores."""
        if step.pipe is Pipe.IO:
            self.io.clear()
        else:
            self.move.clear()
        self.computing.clear()
        self.scalars.clear()

    def loads_or_stores(self, step: Step) -> None:
        """Record a scalar access."""
        stores = bool(step.writes)
        access = (step.writes or step.reads)[0]
        if stores and access.allocation.space.shared:
            pending = self.stores.setdefault(access.allocation, [])
            if len(pending) < MOST:
                pending.append(step)
        elif len(self.scalars) < MOST:
            self.scalars[access, stores] = step

    def direct(self, pipes: Collection[str], waiting: Collection[str]) -> None:
        """Record a sync that makes only the pipes *waiting* wait for *pipes*."""
        ahead = [*self.io] * (IO in pipes) + [*self.move] * (MOVE in pipes)
        for step in (*ahead, *(self.computing if VECTOR in pipes else ())):
            self.passed[step] = self.passed.get(step, frozenset()) | set(waiting)

    def wait_for_route(self, pipes: Collection[str], route: tuple[str, ...]) -> None:
        """Record a sync for the copies between two spaces: it waits for these, and for earlier copies on their pipe."""
        for pipe, steps in ((IO, self.io), (MOVE, self.move)):
            matching = [n for n, step in enumerate(steps) if pipe in pipes and _route(step) == route]
            if matching:
                del steps[: matching[-1] + 1]
        if VECTOR in pipes:
            self.computing.clear()

    def wait(self, pipes: Collection[str]) -> None:
        """Record a sync for *pipes*; a sync for the scalar pipe waits for everything."""
        if IO in pipes:
            self.io.clear()
        if MOVE in pipes:
            self.move.clear()
        if VECTOR in pipes:
            self.computing.clear()
        if SCALAR in pipes:
            self.scalars.clear()
            self.stores.clear()
        if not (self.io or self.move or self.computing):
            self.passed.clear()


def wait_for(order: PipeOrder, effect: Effect) -> Wait:
    """Find the cheapest wait that, before *effect*, leaves it no clash."""
    for name, pipes in WAITS:
        tried = order.copy()
        tried.wait(pipes)
        if next(tried.clashes(effect), None) is None:
            covers = frozenset(order.pending()).difference(tried.pending())
            return Wait(_placed(f"put {effect.site.spelled(name)}()", order, effect), covers)
    return Wait(Remedy(f"put {effect.site.spelled('sync')}() between the two lines"), frozenset())


def _placed(put: str, order: PipeOrder, effect: Effect) -> Remedy:
    """Return the advice where to put a wait, and what the wait would not mend.

    A copy to the second part of an operand may be meant for another address: waiting for it
    would surely overwrite the operand, so that the hint is conditional.
    """
    step, line = effect.step, effect.site.line
    clashes = list(order.clashes(effect))
    beside = any(clash.first.site == effect.site for clash in clashes)
    text = f"{put} in line {line}, in front of its {step.name}" if beside else f"{put} before line {line}"
    for clash in clashes:
        flies = clash.first in order.io or clash.first in order.move
        part = _part(order, clash) if flies and clash.kind == "read-after-write" else None
        if part is None:
            continue
        access = clash.access
        what = f"bytes [{part[0]}, {part[1]}) of the operand's [{access.start}, {access.start + access.size})"
        if part[0] == access.start:
            return Remedy(f"{text}; the copy brings only {what}", verified=True)
        at = clash.first.site.told_from(effect.site)
        return Remedy(
            f"check where {spelled(clash.first.name)} at {at} writes: it overwrites only {what}; if it should, {text}",
        )
    return Remedy(text, verified=True)


def _part(order: PipeOrder, clash: Clash) -> tuple[int, int] | None:
    """Return the bytes of the operand of *clash* that steps in flight write, if they do not write all of it."""
    access = clash.access
    if access.steps:
        return None
    writes = [
        write
        for step in (*order.io, *order.move)
        for write in step.writes
        if write.allocation is access.allocation
    ]
    if any(write.steps for write in writes):
        return None
    end = access.start
    for low, high in sorted(write.span for write in writes):
        if low <= end:
            end = max(end, high)
    return None if end >= access.start + access.size else (clash.low, clash.high)


def spelled(name: str) -> str:
    """Return the name of an intrinsic in BANG C; the description of a scalar access is returned unchanged."""
    return name if " " in name else f"__{name}"


def at_issue(effect: Effect) -> Step | None:
    """Return a step with the operands that a gather, a scatter or a discrete atomic reads when it is issued, before its pipe reaches it.

    These are its offsets and its mask, whether it is blocking or not.
    """
    step = effect.step
    if step.row is None or step.row.form not in ("gather", "discrete"):
        return None
    gathers = step.row.form == "gather"
    index = step.reads[: len(step.reads) - len(step.writes) if gathers else index_reads(effect)]
    return Step(step.name, step.row, step.pipe, step.flow, index, (), step.site)


def _route(step: Step) -> tuple[str, ...]:
    """Return the source and target spaces of a copy; empty for a fill."""
    ends = step.reads[:1] + step.writes[:1]
    return tuple(access.allocation.space.name for access in ends) if len(ends) == 2 else ()


def _between(first: Step, second: Step) -> Iterator[Clash]:
    """Yield, for each kind of clash, the first common bytes of two instructions."""
    for kind, firsts, seconds in (
        ("read-after-write", first.writes, second.reads),
        ("write-after-read", first.reads, second.writes),
        ("write-after-write", first.writes, second.writes),
    ):
        shared = ((b, a.common(b)) for a in firsts for b in seconds)
        overlap = next(((b, both) for b, both in shared if both is not None), None)
        if overlap is not None:
            yield Clash(kind, first, second, overlap[0], *overlap[1])
