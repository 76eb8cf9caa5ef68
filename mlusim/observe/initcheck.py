"""initcheck: bytes that were never written, reported when they escape.

A byte without a value may be copied and computed with, as kernels do with the padding of a tail.  It is
reported when it is stored to GDRAM, when Python reads it, or when an instruction cannot be executed
without it.  If lanes with and without a value were mixed, the mixing instruction is reported once its result escapes.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from mlusim.counted import plural
from mlusim.errors import Fault
from mlusim.isa.declare import Flow
from mlusim.isa.table import ISA, settles
from mlusim.machine.hub import Effect, ObservedScreen
from mlusim.machine.observed import (
    CountedEscape,
    Escape,
    EscapedAt,
    HeardEnough,
    Screened,
    Site,
    Step,
    TensorStore,
)
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, Mask
from mlusim.memory.space import GDRAM, SRAM
from mlusim.observe.checker import Allowed, Checker, operand_of, place_of
from mlusim.observe.finding import Finding, RelatedPlace
from mlusim.observe.shadow import Shadow, atomics, index_reads
from mlusim.observe.value_flow import (
    decisive,
    dependence,
    discarded,
    in_flight,
    lacking,
    neighbours,
    never_stored,
    of_elements,
    places,
    same,
    settled,
    takes,
    tensor_store,
    trail,
    unread,
)

if TYPE_CHECKING:
    from mlusim.machine.core import Core, RunningLaunch


DROPPED = (
    "where another core writes it, put a barrier that both pass before this, as __sync_cluster(); where this core copies it "
    "from GDRAM, that has no effect on an IPU core of a union: let the memory core do it, where __is_mpu() is true"
)
"""The hint about SRAM to which nothing was written, in a BANG C kernel."""

EVERY = {
    dtype.itemsize: np.frombuffer(b"\1" * dtype.itemsize, dtype)[0]
    for dtype in map(np.dtype, ("u1", "u2", "u4", "u8"))
}
"""The flags of all bytes of a lane that has a value, as one integer."""

NEVER = 1 << 62  # greater than the number of any effect of a launch

PARTIAL = frozenset(row.name for row in ISA.values() if any(o.partial for o in row.operands.values()))
"""Instructions that may leave a part of their destination unchanged."""


@frozen
class Kept:
    """The state of a tensor that initcheck keeps between launches; valid while the tensor has had *launches* launches."""

    shadow: Shadow
    launches: int
    stores: tuple[TensorStore, ...] = ()  # the last store of each statement, if some byte has no value
    kernel: str = ""  # of the last launch that accessed it


MOST_AGAIN = 64  # scalars kept for repeated loads of the same address, as in a polling loop

RETURNS = "returns a scalar that depends on"


class UndefinedScalar:
    """A scalar without a value that *effect* has loaded from *access*, or has computed from it; a `Follower`.

    Its history is recorded at once: the bytes may change before an operation depends on the scalar.
    """

    __slots__ = ("access", "checker", "content", "count", "effect", "hops", "verb")

    def __init__(
        self, checker: "InitCheck", effect: Effect, access: Access, verb: str, content: bytes = b""
    ) -> None:
        self.checker = checker
        self.effect = effect
        self.access = access
        self.verb = verb
        self.content = content  # empty if unknown
        self.count, self.hops = checker.lack(access)

    def holds(self, value: object) -> bool:
        """Return whether *value* may be the scalar."""
        return not self.content or same(value, self.effect, self.content)

    def used(self, what: str) -> None:
        """Report that the operation *what* depends on it."""
        self.told(Site(*self.effect.core.site()), what)

    def handed(self, name: str) -> None:
        """Note that the next *name* of the core receives it as a value."""
        self.checker.hand(self.effect.core, self, name)

    def told(self, site: Site, what: str) -> None:
        """Report that the operation *what* at *site* depends on it."""
        self.checker.depends(self, site, what)

    @property
    def sources(self) -> tuple[Access, ...]:
        """The bytes from which it is computed."""
        return (self.access,)


class UnsetVariable:
    """The value of a variable in a register, to which the kernel has assigned nothing; a `Follower`."""

    __slots__ = ("checker", "core", "name", "site")
    sources: tuple[Access, ...] = ()  # no bytes

    def __init__(self, checker: "InitCheck", core: "Core", name: str) -> None:
        self.checker = checker
        self.core = core
        self.name = name
        self.site = Site(*core.site())  # of its declaration

    def used(self, what: str) -> None:
        """Report that the operation *what* depends on it."""
        self.told(Site(*self.core.site()), what)

    def handed(self, name: str) -> None:
        """Record that the core's next execution of *name* receives it as a value."""
        self.checker.hand(self.core, self, name)

    def told(self, site: Site, what: str) -> None:
        """Report that the operation *what* at *site* depends on it."""
        self.checker.report(
            ("initcheck-undefined-scalar", site, self.site, self.name),
            lambda: Finding(
                "initcheck-undefined-scalar",
                f"{what} depends on {self.name}, to which nothing has been assigned",
                **place_of(site, self.core.place.task),
                places=(RelatedPlace(*self.site, f"{self.name} is declared here"),),
                note="a variable holds no zero at the start: what is never assigned holds whatever was there before",
                hint=f"give {self.name} a value where it is declared",
            ),
        )


class InitCheck(Checker):
    """Reports bytes without a value when they escape."""

    name = "initcheck"
    screens = Screened.INIT

    def __init__(self, *, notes: bool = False) -> None:
        super().__init__(notes=notes)
        self._shadows: dict[Allocation, Shadow] = {}
        self._mixed: set[Site] = set()
        self._compiled = False
        self._loaded: dict[Core, UndefinedScalar] = {}  # the scalar that the current statement has loaded
        # The scalars that were loaded since the last write.
        self._again: dict[tuple[Step, Core], UndefinedScalar] = {}
        # By core: the name of an instruction, and the scalar that its next execution receives.
        self._handed: dict[Core, tuple[str, Any]] = {}
        self._ended: dict[Any, list[Any]] = {}  # memories of tasks that have ended, by union
        self._first: FirstEscapes | None = None  # for a launch that runs in C

    # -- allocations begin and end -------------------------------------------------------------

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Begin with the flags of the tensors from earlier launches."""
        super().launch_begin(launch)
        self._compiled = launch.request.kernel.compiled
        self._again.clear()
        self._shadows, self._mixed, self._loaded, self._handed, self._ended = {}, set(), {}, {}, {}
        for allocation in launch.given:
            self._shadows[allocation] = _remembered(allocation)

    def screen_begin(self, launch: "RunningLaunch", screen: ObservedScreen) -> bool:
        """Pass the flags of tensors that have bytes without a value to C."""
        for allocation in launch.given:
            shadow = _remembered(allocation)
            if not shadow.full:
                screen.lack(allocation, *shadow.unfilled())
        return super().screen_begin(launch, screen)

    def screen_end(self, screen: ObservedScreen) -> bool:
        """Return whether C's records suffice: it knows the stores that left tensors with bytes without a value, and no fault depends on such bytes."""
        if screen.needs_values():
            return False
        partly = (allocation for allocation, has in screen.lacking() if has is not None)
        return all(screen.stores(allocation) is not None for allocation in partly)

    def hears_again(self, screen: ObservedScreen) -> "FirstEscapes | None":
        """Return the observer of a repeated run that records the first escape at each place; None if nothing escaped."""
        self._first = FirstEscapes(screen.escapes()) if screen.escapes() else None
        return self._first

    def screened(self, screen: ObservedScreen) -> None:
        """Keep the flags of the tensors, and report the escapes."""
        if self._first is not None:
            self._found, self._counts = self._first.known()
        stores = {}
        for allocation, has in screen.lacking():
            whole = Access(allocation, 0, allocation.nbytes)
            if has is not None:
                self._shadows[allocation].put(whole, has)
                stores[allocation] = screen.stores(allocation) or ()
            else:
                self._shadows[allocation].fill(whole)
        self._keep(stores)

    def declare(self, _core: "Core", allocation: Allocation) -> None:
        """Note an allocation to which nothing has been stored."""
        self._shadows[allocation] = Shadow(allocation, filled=allocation.filled)

    def task_end(self, core: "Core") -> None:
        """Drop the task's memory, and the SRAM of the clusters after their last task."""
        self._tell_loaded(core)
        shared = [cluster.sram for cluster in core.union.clusters]
        arenas = self._ended.setdefault(core.union, [])
        arenas += core.arenas.values()
        lacking = any(a in self._shadows and not self._shadows[a].full for s in shared for a in s.allocations)
        if core.union.finished():
            arenas += shared
        elif lacking:
            return  # bytes in SRAM may come from this memory, and their history leads through it
        del self._ended[core.union]
        for arena in arenas:
            for allocation in arena.allocations:
                self._shadows.pop(allocation, None)

    def fault(self, core: "Core", fault: Fault) -> None:
        """Report bytes without a value that led to the fault, and keep the flags of the tensors."""
        self._tell_loaded(*self._loaded)
        if any(self._shadow(access.allocation).lacks(access) for access in fault.read):
            name = (fault.intrinsic or "").lstrip("_")
            row, site = ISA[name], Site(fault.file or "<unknown>", fault.line or 0)
            refused = Effect(Step(name, row, row.pipe, row.flow, fault.read, (), site), core, NEVER)
            self._escape("initcheck-undefined-address", refused, "needs")
        self._keep()

    def error(self, _core: "Core", _error: BaseException) -> None:
        """Keep the flags of the tensors."""
        self._tell_loaded(*self._loaded)
        self._keep()

    def launch_end(self, _launch: "RunningLaunch") -> None:
        """Keep the flags of the tensors."""
        self._keep()

    def fetched(self, allocation: Allocation, low: int, high: int) -> None:
        """Report bytes that the host reads as a result although no task has stored them."""
        left = allocation.shadow
        if isinstance(left, Kept) and left.launches == allocation.launches and not allocation.filled:
            shadow, taken = _remembered(allocation), Access(allocation, low, high - low)
            if shadow.lacks(taken):
                at, count = lacking(shadow, taken)
                self.report(
                    ("never-stored", allocation.site),
                    lambda: evolve(never_stored(left.stores, allocation, at, count), kernel=left.kernel),
                )

    def _keep(self, logged: Mapping[Allocation, tuple[TensorStore, ...]] = MappingProxyType({})) -> None:
        for allocation, shadow in self._shadows.items():
            if allocation.space is GDRAM:
                stores = (
                    () if shadow.full else logged.get(allocation) or tuple(map(tensor_store, shadow.log()))
                )
                shadow.writes.clear()
                allocation.shadow = Kept(shadow, allocation.launches + 1, stores, self.kernel)
        self._shadows = {}

    def _shadow(self, allocation: Allocation) -> Shadow:
        shadow = self._shadows.get(allocation)
        if shadow is None:
            shadow = self._shadows[allocation] = Shadow(allocation, filled=True)
        return shadow

    # -- effects of instructions ---------------------------------------------------------------

    def effect(self, effect: Effect) -> bool:
        """Propagate the flags as the instruction propagates the bytes; return True if no flag changed."""
        step = effect.step
        if self._takes(effect):
            return False
        lacks, steady = False, True
        for access in step.reads:
            if not (shadow := self._shadow(access.allocation)).full and shadow.lacks(access):
                lacks = True
        if step.row is None:
            if lacks:
                self._scalar(effect)
                steady = False  # what becomes of the value is counted each time
            news = self._fill(effect)
        elif not lacks and (
            step.name not in PARTIAL or all(self._shadow(a.allocation).full for a in step.writes)
        ):
            news = self._fill(effect)
        elif step.row.form == "copy":
            (source,), (target,) = effect.reads, effect.writes
            news = self._put(effect, target, self._shadow(source.allocation).flags(source))
        else:
            news, steady = self._carry(effect)
        if news:
            effect.core.announce_again()
        return steady and not news

    def _fill(self, effect: Effect) -> bool:
        """Note that every written byte has a value; return whether that changed a flag."""
        news = False
        for access in effect.step.writes:
            shadow = self._shadow(access.allocation)
            if not shadow.full:
                shadow.wrote(access, effect)
                if shadow.fill(access) and access.allocation.space is not GDRAM:
                    news = (
                        True  # missing values in GDRAM were reported earlier, so that this changes no finding
                    )
        return news

    def _carry(self, effect: Effect) -> tuple[bool, bool]:
        """Propagate the flags if a source byte has no value, or if the data decide which bytes are written.

        Return whether a flag changed, and whether the same step has the same effect with other contents.
        """
        row = effect.step.row
        assert row is not None
        masks = [self._shadow(a.allocation).flags(a) for a in effect.reads]
        if row.form in ("gather", "discrete"):
            return self._scattered(effect, row.form == "gather", masks), True
        before = [self._shadow(a.allocation).flags(a).copy() for a in effect.writes]
        by_lanes = _by_lanes(effect, masks) if row.flow is Flow.LANEWISE else None
        if by_lanes is not None:
            return self._put_all(effect, by_lanes[0]), by_lanes[1]
        outcome = dependence(effect, masks, before)
        if outcome.refused:
            self._escape("initcheck-undefined-address", effect, "needs")
            if all(flags.all() for flags in masks[1:]) and len(masks[0]) == len(
                before[0]
            ):  # one place per lane
                return self._put_all(effect, masks[:1]), False
        elif outcome.result and not discarded(effect):
            blamed = decisive(effect, masks, before)
            if self._compiled:
                self._loaded[effect.core] = UndefinedScalar(self, effect, blamed, RETURNS)
            elif not unread(effect):
                self._escape("initcheck-undefined-scalar", effect, RETURNS, blamed)
        if row.flow is not Flow.LANEWISE and not outcome.moved:
            self._mixed.add(effect.site)
        return self._put_all(effect, outcome.writes) or outcome.result, False

    def _scattered(self, effect: Effect, gathers: bool, masks: list[Mask]) -> bool:
        """Propagate each piece of a gather or a scatter to its address; results of atomics depend on their own sources."""
        places = len(masks) - len(effect.writes) if gathers else index_reads(effect)
        if not all(flags.all() for flags in masks[:places]):
            self._escape("initcheck-undefined-address", effect, "needs")
        return self._put_all(effect, masks[places:] if gathers else atomics(effect, masks, places))

    def _put_all(self, effect: Effect, written: Sequence[Mask]) -> bool:
        news = [self._put(effect, a, w) for a, w in zip(effect.writes, written, strict=True)]
        return any(news)

    def _put(self, effect: Effect, access: Access, flags: Mask) -> bool:
        shadow = self._shadow(access.allocation)
        if access.allocation.space is GDRAM and not flags.all():
            self._escape("initcheck-undefined-stored", effect, "stores")
            if not shadow.full:
                shadow.wrote(access, effect)
            shadow.fill(access)  # reported once; later readers are not at fault
            return True
        news = shadow.put(access, flags)
        shadow.wrote(access, effect, whole=bool(flags.all()))
        return news

    # -- escapes -------------------------------------------------------------------------------

    def _scalar(self, effect: Effect) -> None:
        """Remember the loaded value until the statement uses it: passing it on is not a use yet."""
        (access,) = effect.reads
        if not self._compiled and unread(effect):
            return
        if any(effect.core.flights) or (access.allocation.space is GDRAM and not self._compiled):
            # With effects in flight it must be reported now.
            self._escape("initcheck-undefined-scalar", effect, "reads")
            return
        core = effect.core
        scalar = self._again.get((effect.step, core))
        if scalar is None:
            content = access.allocation.raw[access.start : access.start + access.size].tobytes()
            scalar = UndefinedScalar(self, effect, access, "reads", content)
            if len(self._again) >= MOST_AGAIN:
                self._again.clear()
            self._again[effect.step, core] = scalar
        self._loaded[core] = scalar
        if not self._compiled:  # code of BANG C asks for the value with `taken`, and announces its uses
            core.announce_again()

    def taken(
        self, core: "Core", value: object, variable: str = ""
    ) -> "UndefinedScalar | UnsetVariable | None":
        """Return a `Follower` of *value* if it is a scalar without a value that BANG C code has just loaded, or the value of an unset *variable*."""
        if variable:
            return UnsetVariable(self, core, variable)
        held = self._loaded.pop(core, None)
        if held is not None and not held.holds(value):
            self._escape("initcheck-undefined-scalar", held.effect, held.verb, held.access)
            return None
        return held

    def _tell_loaded(self, *cores: "Core") -> None:
        """Report the scalars that *cores* have loaded, since their uses are unknown."""
        for core in cores:
            held = self._loaded.pop(core, None)
            if held is not None:
                self._escape("initcheck-undefined-scalar", held.effect, held.verb, held.access)

    def _takes(self, effect: Effect) -> bool:
        """Return whether *effect* receives a scalar without a value and has been handled here."""
        core = effect.core
        if self._again and effect.writes:
            self._again.clear()
        if self._handed and core in self._handed and self._takes_handed(effect):
            return True
        return bool(self._loaded) and core in self._loaded and self._takes_loaded(effect)

    def _takes_loaded(self, effect: Effect) -> bool:
        """Return whether *effect* receives the value that its statement has just loaded, and only writes it on chip.

        The bytes that it writes then have no value.
        """
        held = self._loaded[effect.core]
        target = (
            effect.writes[0] if len(effect.writes) == 1 and effect.writes[0] not in effect.reads else None
        )
        if (
            target is None
            or target.allocation.space is GDRAM
            or effect.site != held.effect.site
            or not takes(effect, held.effect, held.content)
        ):
            self._tell_loaded(effect.core)
            return False
        del self._loaded[effect.core]
        step = effect.step
        self._put_lacking(evolve(effect, step=evolve(step, reads=(*step.reads, held.access))), target)
        effect.core.announce_again()
        return True

    def _takes_handed(self, effect: Effect) -> bool:
        """Return whether *effect* is the one that receives a passed scalar without a value; the bytes that it writes then have no value."""
        name, scalar = self._handed[effect.core]
        if effect.name != name:
            return False
        del self._handed[effect.core]
        step = evolve(effect.step, reads=(*effect.reads, *scalar.sources))
        for target in effect.writes:
            if target.allocation.space is GDRAM:
                scalar.told(effect.site, effect.step.spelled if effect.step.row is not None else f"a {name}")
                self._shadow(target.allocation).fill(target)
            elif len(effect.writes) == 1:
                self._put_lacking(evolve(effect, step=step), target)
            else:
                self._shadow(target.allocation).fill(target)  # old values do not depend on it
        effect.core.announce_again()
        return True

    def _put_lacking(self, effect: Effect, target: Access) -> None:
        shadow = self._shadow(target.allocation)
        shadow.put(target, np.zeros(target.nbytes, np.bool_))
        shadow.wrote(target, effect, whole=False)

    def hand(self, core: "Core", scalar: "UndefinedScalar | UnsetVariable", name: str) -> None:
        """Note that the next instruction of *core* called *name* receives *scalar* as a value."""
        self._handed[core] = name, scalar
        core.announce_again()

    def depends(self, scalar: "UndefinedScalar", site: Site, what: str) -> None:
        """Report that the operation *what* at *site* depends on *scalar*."""
        effect, hops, rule = scalar.effect, scalar.hops, "initcheck-undefined-scalar"
        lacks = scalar.access, scalar.count

        def make() -> Finding:
            told = self._told(rule, effect, scalar.verb, lacks, hops)
            if site == effect.site:
                return told
            verb = "reads them here" if scalar.verb == "reads" else "returns the scalar here"
            return evolve(
                told,
                message=f"{what} depends on {scalar.count} {plural(scalar.count, 'byte')} without a value, from byte "
                f"{hops[0].offset} of {scalar.access.allocation.site} on",
                file=site.file,
                line=site.line,
                intrinsic=None,
                places=(RelatedPlace(*effect.site, f"{effect.step.spelled} {verb}"), *told.places),
            )

        mix = self._mix(hops)
        if mix is None:
            self.report((rule, site, effect.site), make)
        else:
            self.report(("mixed", mix.site), lambda: self._told_mixed(mix, effect, scalar.verb, hops))

    def lack(self, source: Access) -> tuple[int, list[Any]]:
        """Return how many bytes of *source* have no value, and the history of the first."""
        offset, count = lacking(self._shadow(source.allocation), source)
        return count, trail(source, offset, self._shadow)

    def _mix(self, hops: list[Any]) -> Step | None:
        return next(
            (h.write.step for h in hops if h.write is not None and h.write.step.site in self._mixed), None
        )

    def _escape(self, rule: str, effect: Effect, verb: str, source: Access | None = None) -> None:
        if source is None:
            source = next(a for a in effect.reads if self._shadow(a.allocation).lacks(a))
        count, hops = self.lack(source)
        mix = self._mix(hops)
        if mix is None:
            self.report((rule, effect.site), lambda: self._told(rule, effect, verb, (source, count), hops))
        else:
            self.report(("mixed", mix.site), lambda: self._told_mixed(mix, effect, verb, hops))

    def _told(
        self, rule: str, effect: Effect, verb: str, lacks: tuple[Access, int], hops: list[Any]
    ) -> Finding:
        source, count = lacks
        where = f" to {effect.writes[0].allocation.site}" if verb == "stores" else ""
        context, note, hint, trace = self._history(effect, hops)
        operand = operand_of(effect.step, source, written=False)
        return Finding(
            rule,
            f"{effect.step.spelled} {verb} {count} {plural(count, 'byte')} without a value{where}, from byte {hops[0].offset} of "
            f"{source.allocation.site} on",
            **place_of(effect.site, effect.core.place.task, effect.name),
            context=(
                *context,
                *((operand,) if operand else ()),
                *_goes_to(effect, verb, source, hops[0].offset),
            ),
            places=trace,
            note=note,
            hint=hint,
            facts={"bytes": count, "offset": hops[0].offset, "space": hops[-1].allocation.space.name},
        )

    def _told_mixed(self, mix: Step, effect: Effect, verb: str, hops: list[Any]) -> Finding:
        at = next(n for n, h in enumerate(hops) if h.write is not None and h.write.step is mix)
        context, note, hint, trace = self._history(effect, hops[at + 1 :] or hops[at:])
        return Finding(
            "initcheck-lanes-mixed",
            f"__{mix.name} mixes bytes of {hops[-1].allocation.site} without a value into lanes that have one",
            **place_of(mix.site, effect.core.place.task, mix.name),
            context=context,
            places=(*trace, RelatedPlace(*effect.site, f"here {effect.step.spelled} {verb} the result")),
            note=note,
            hint=hint,
            facts={"offset": hops[-1].offset, "space": hops[-1].allocation.space.name},
        )

    def _history(
        self, effect: Effect, hops: list[Any]
    ) -> tuple[tuple[str, ...], str, str, tuple[RelatedPlace, ...]]:
        """Return the origin of the bytes, the nearest writes, a hint, and related places."""
        origin = hops[-1]
        shadow = self._shadow(origin.allocation)
        flight = in_flight(effect.core, origin)
        context = (
            f"they come from byte {origin.offset} of {origin.allocation.site}",
            *neighbours(origin, shadow, effect.site),
        )
        if flight is not None:
            return context, str(flight), "wait for the asynchronous copy first", tuple(places(hops))
        note = f"{origin.allocation.space} holds no zeros at the start: what is never written holds whatever was there before"
        if origin.allocation.space is GDRAM:
            hint = "fill the tensor before this launch, or write all of it before it is read"
        elif shadow.writes:
            reader = effect.step if len(hops) == 1 else hops[-2].write.step
            hint = (
                of_elements(origin, shadow, reader)
                or "compare the count of the last write with the count used here, or fill the whole buffer first"
            )
        elif self._compiled and origin.allocation.space is SRAM:
            hint = DROPPED
        else:
            hint = "load or fill the buffer before it is used"
        return context, note, hint, tuple(places(hops))


class FirstEscapes(InitCheck):
    """Observes a repeated run in Python, until it has recorded the first bytes without a value at each place of *escapes*.

    It marks copies of the tensors' flags, and leaves those of the launch unchanged.
    """

    def __init__(self, escapes: Mapping[EscapedAt, CountedEscape]) -> None:
        super().__init__()
        self._times: dict[Hashable, int] = {_key(at): escape.times for at, escape in escapes.items()}

    @property
    def complete(self) -> bool:
        """True if it has recorded all of them, and nothing else has escaped."""
        return self._times.keys() == self._counts.keys() and not self.beyond

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Begin with copies of the tensors' flags."""
        super().launch_begin(launch)
        self._shadows = {allocation: shadow.copy() for allocation, shadow in self._shadows.items()}

    def report(self, key: Hashable, make: Callable[[], Finding], times: int = 1) -> None:
        """Record the first finding of *key*; raises `HeardEnough` as soon as all are recorded."""
        super().report(key, make, times)
        if key not in self._times or self.complete:
            raise HeardEnough

    def known(self) -> tuple[dict[Hashable, Finding | Allowed], dict[Hashable, int]]:
        """Return the recorded findings, with the counts of C."""
        return self._found, {key: self._times[key] for key in self._found}

    def _keep(self, logged: Mapping[Allocation, tuple[TensorStore, ...]] = MappingProxyType({})) -> None:
        del logged


def _key(at: EscapedAt) -> Hashable:
    """Return the key for `InitCheck.report` of the finding about an escape."""
    match at.how:
        case Escape.STORED:
            return "initcheck-undefined-stored", at.site
        case Escape.MIXED:
            return "mixed", at.site
        case Escape.DECIDES:
            return "initcheck-undefined-scalar", at.site, at.loaded or at.site


def _goes_to(effect: Effect, verb: str, source: Access, offset: int) -> Iterator[str]:
    """Yield the tensor element to which the byte at *offset* of *source* is stored, if source and target are contiguous."""
    target = effect.writes[0] if verb == "stores" and effect.writes else None
    if target is None or target.steps or source.steps or target.size != source.size:
        return
    element = target.allocation.declared.element_at(target.start + offset - source.start)
    if element:
        yield f"the first of them goes to {element}"


def _remembered(allocation: Allocation) -> Shadow:
    """Return the flags of a tensor after the last launch and the host's writes; bytes of unknown state count as written."""
    left = allocation.shadow
    if isinstance(left, Kept) and left.launches == allocation.launches and not allocation.filled:
        shadow = left.shadow
    else:
        shadow = Shadow(allocation, filled=allocation.filled or allocation.launches > 0)
    for start, stop in allocation.given:
        shadow.fill(Access(allocation, start, stop - start))
    return shadow


def _by_lanes(effect: Effect, masks: list[Mask]) -> tuple[list[Mask], bool] | None:
    """Return the flags of the results of a lane-wise instruction, and whether they are the same for all contents of its operands.

    None if its body has to run on copies.
    """
    bits = settled(effect, masks)
    if bits is not None:
        return [bits], False
    row = effect.step.row
    written = (
        None
        if row is None or settles(row, getattr(effect.arguments[0], "dtype", None))
        else _lanes(effect, masks)
    )
    return None if written is None else (written, True)


def _lanes(effect: Effect, masks: list[Mask]) -> list[Mask] | None:
    """Return the flags of the results of a lane-wise instruction: a lane has a value if it has one in all sources.

    None if the operands have different numbers of lanes.
    """
    pointer = next(a for a in effect.arguments if hasattr(a, "view"))
    lanes = (effect.writes or effect.reads)[0].nbytes // pointer.dtype.size
    if any(len(flags) % lanes for flags in masks) or any(a.nbytes % lanes for a in effect.writes):
        return None
    defined = np.ones(lanes, np.bool_)
    for flags in masks:
        every = EVERY.get(len(flags) // lanes)
        defined &= flags.reshape(lanes, -1).all(axis=1) if every is None else flags.view(every.dtype) == every
    return [_bytes_of(defined, access.nbytes // lanes) for access in effect.writes]


def _bytes_of(defined: Mask, size: int) -> Mask:
    every = EVERY.get(size)
    if every is None:
        return np.repeat(defined, size)
    flags: Mask = np.multiply(defined, every).view(np.bool_)
    return flags
