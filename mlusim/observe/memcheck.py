"""memcheck: accesses outside of memory, broken operand rules, misaligned scalars, wasted lanes.

The machine checks every access of every launch; an illegal one ends the launch as a fault.  memcheck
turns the fault into a finding that names the neighbouring allocations, and adds mistakes that the machine accepts.
"""

import functools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import define, field

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType
from mlusim.counted import plural, with_article
from mlusim.errors import (
    Ended,
    Fault,
    OutOfBounds,
    OutOfMemory,
    ReadOnly,
    RuleFault,
    Unsupported,
    WrongSpace,
    shown_file,
)
from mlusim.isa.declare import Intrinsic
from mlusim.isa.factors import LANES, PAD, laid_out
from mlusim.isa.tensor import FILTERS
from mlusim.machine.hub import Effect, MisplacedScalar, ObservedScreen, OnMemoryCore, TaskRan
from mlusim.machine.observed import Screened, Site, Step
from mlusim.memory.allocation import Allocation, StackVariable
from mlusim.memory.footprint import Access
from mlusim.memory.space import NRAM, WRAM
from mlusim.observe.checker import Checker, argument, guard_of, place_of, told_of
from mlusim.observe.finding import Finding, RelatedPlace

if TYPE_CHECKING:
    from mlusim.machine.core import Core, RunningLaunch
    from mlusim.machine.kernel import Kernel


LINE = 128  # bytes that the vector unit processes in a cycle
MOST_SHOWN = 4  # variables on the stack that a finding lists
HALF = 64  # bytes; MLU2xx requires addresses that are multiples of it

RULE_OF: tuple[tuple[type[Fault], str], ...] = (
    (Ended, "memcheck-use-after-end"),
    (OutOfBounds, "memcheck-out-of-bounds"),
    (OutOfMemory, "memcheck-out-of-memory"),
    (ReadOnly, "memcheck-read-only"),
    (WrongSpace, "memcheck-wrong-space"),
    (RuleFault, "memcheck-broken-rule"),
    (Unsupported, "memcheck-unsupported"),
)


class MemCheck(Checker):
    """Reports accesses and operands that the memory or the instruction set forbids, and misaligned scalar accesses."""

    name = "memcheck"
    screens = Screened.MEMORY

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Note the tensors among the arguments."""
        super().launch_begin(launch)
        self._given = launch.given
        self._unguarded: Site | None = None  # where a memory core first needed NRAM
        self._on_stack = launch.request.kernel.on_stack
        for name, declared, used, how in getattr(launch.request.kernel, "outlived", ()):
            self.report(
                ("outlived", used, name), functools.partial(_outlived, name, declared[:2], used[:2], how)
            )

    def task_end(self, core: "Core") -> None:
        """Check that the stack has room for the local variables, given all declarations of the task."""
        variables = self._on_stack
        if variables and not core.place.memory_core:
            room = core.machine.board.arch.stack_left(core.arenas[NRAM].top)
            if sum(v.nbytes for v in variables) > room:
                self.report("stack", lambda: _beyond_the_stack(core, variables, room))

    def scalar(self, effect: Effect) -> bool:
        """Check that the scalar pipe reaches the memory and that the type's size divides the address; return True if so."""
        return self._scalar(effect.core, effect.step, effect.arguments[0])

    def _scalar(self, core: "Core | TaskRan", step: Step, dtype: DType, times: int = 1) -> bool:
        access, task = (step.reads or step.writes)[0], core.place.task
        address = access.allocation.address + access.start
        if core.place.memory_core and access.allocation.space in (NRAM, WRAM):
            self._on_memory_core(core, step.site, step.name, access.allocation.site, times)
            return False
        if access.allocation.space.name == "WRAM":
            self.report((step.name, step.site), lambda: _scalar_of_wram(step, access, task), times)
            return False
        if address % access.size:
            self.report((step.name, step.site), lambda: _misaligned(step, access, task, dtype), times)
            return False
        return True

    def left_out(self, core: "Core", row: Intrinsic) -> None:
        """Report an instruction in compiled code that a memory core cannot execute."""
        self._on_memory_core(core, Site(*core.site()), row.name, None)

    def screened(self, screen: ObservedScreen) -> None:
        """Report the mistakes of these kinds that C has recorded."""
        for out in screen.left():
            if isinstance(out, MisplacedScalar):
                self._scalar(out.core, out.step, out.dtype, out.times)
            elif isinstance(out, OnMemoryCore):
                self._on_memory_core(out.core, out.site, out.name, None, out.times)

    def _on_memory_core(
        self, core: "Core | TaskRan", site: Site, name: str, memory: str | None, times: int = 1
    ) -> None:
        """Report that a memory core executes *name*, which needs NRAM or WRAM: one finding for a kernel, with other lines as related places."""
        key = "memory core"
        if self._unguarded in (None, site):
            self._unguarded = site
            self.report(key, lambda: _of_the_memory_core(core, site, name, memory), times)
        else:
            spelled = site.spelled(name) if memory is None else name
            self.join(
                key, spelled, lambda: RelatedPlace(*site, f"{spelled} there, too", victim=True), times, site
            )

    def fault(self, core: "Core", fault: Fault) -> None:
        """Convert the fault to a finding, and make the checks of a task's end."""
        self.task_end(core)
        rule = next((name for kind, name in RULE_OF if isinstance(fault, kind)), None)
        if rule is not None:
            self.report((rule, fault.file, fault.line), lambda: self._refused(rule, core, fault))

    def _refused(self, rule: str, core: "Core", fault: Fault) -> Finding:
        context = [*_typed(fault)] + ([] if fault.legal is None else [f"legal: {fault.legal}"])
        if isinstance(fault, OutOfBounds) and not isinstance(fault, Ended) and fault.address is not None:
            context += _neighbours(core, self._given, fault.address, fault.space)
            context += region_label(core, fault)
        return told_of(
            fault,
            rule,
            context=tuple(context),
            note=f"it is the {core.place.label}" if core.place.memory_core else "the launch ended here",
            facts={"operand": fault.operand, "address": fault.address, "space": fault.space},
        )


class MemCheckFilters(MemCheck):
    """`MemCheck` that also checks the filters of the tensor unit, for launches whose instructions are announced anyway."""

    screens = Screened.MEMORY

    def screen_begin(self, launch: "RunningLaunch", screen: ObservedScreen) -> bool:
        """Return False if the kernel reshapes filters, which later launches may use."""
        return RESHAPE not in _rows(launch.request.kernel) and super().screen_begin(launch, screen)

    def screened(self, screen: ObservedScreen) -> None:
        """Forget the copies to WRAM of the launch."""
        super().screened(screen)
        self._layouts.linear.clear()

    def repeats(self, kernel: "Kernel") -> bool:
        """Return whether *kernel* neither reshapes filters, which later launches may use, nor uses them."""
        return not any(row == RESHAPE or row in FILTERS for row in _rows(kernel)) and super().repeats(kernel)

    def __init__(self, *, notes: bool = False) -> None:
        super().__init__(notes=notes)
        self._layouts = Layouts()  # of all launches: a kernel may reshape filters for later ones

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Forget the copies to WRAM of a launch that ended in a fault."""
        super().launch_begin(launch)
        self._layouts.linear.clear()

    def task_end(self, core: "Core") -> None:
        """Forget the copies to the WRAM of *core*, whose task has ended."""
        super().task_end(core)
        self._layouts.linear.pop(core, None)

    def effect(self, effect: Effect) -> bool:
        """Check that filters in WRAM have the layout that the tensor unit reads; return True if the same step needs no further check."""
        if effect.step.row is None or not self._layouts.wants(effect):
            return True
        told = self._layouts.learn(effect)
        if told is not None:
            self.report((told.id, effect.site), lambda: told)
        return False


class MemCheckNotes(MemCheckFilters):
    """`MemCheck` with notes on filters, and on vectors that do not fill the lines of the vector unit."""

    def __init__(self) -> None:
        super().__init__(notes=True)

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Note whether alignment is only advice on this architecture, not a rule that the machine enforces."""
        super().launch_begin(launch)
        self._advice = launch.board.arch.generation > 2
        self._full: set[Step] = set()

    def issue(self, effect: Effect) -> None:
        """Check that the operands of a vector instruction end with a full line."""
        step = effect.step
        if not self._advice or step.pipe is not Pipe.VECTOR or step.row is None or step in self._full:
            return
        touched = [(a.size, (a.allocation.address + a.start) % HALF) for a in step.reads + step.writes]
        size, offset = max(touched, key=lambda t: (-(-sum(t) // LINE) * LINE - t[0], t), default=(LINE, 0))
        if size % LINE == 0 and not offset:
            self._full.add(step)
        else:
            self.report((step.name, step.site, size, offset), lambda: _wasted(effect, size, offset))


def _rows(kernel: "Kernel") -> Collection[str]:
    """Return the intrinsics that *kernel* reaches; empty unless it is a BANG C kernel."""
    return getattr(getattr(kernel, "plan", None), "rows", ())


def _outlived(name: str, declared: tuple[str, int], used: tuple[str, int], how: str) -> Finding:
    """Make the finding about a variable on the stack that a pointer outlives."""
    return Finding(
        "memcheck-use-after-end",
        f"{name} ends before the pointer to it: {how}",
        **place_of(Site(*used)),
        places=(RelatedPlace(*declared, f"{name} is declared here"),),
        note="the next variable may take its bytes on the stack; found in the source, whatever the run did",
        hint=f"declare {name} where all that use it see it, or let the caller give it",
    )


def _beyond_the_stack(core: "Core", variables: Sequence["StackVariable"], room: int) -> Finding:
    largest = max(variables, key=lambda v: v.nbytes)
    total = sum(v.nbytes for v in variables)
    alone = largest.nbytes > room
    what = f"a local {largest.kind} of" if alone else "the local variables that are alive at once take"
    nbytes = largest.nbytes if alone else total
    verb = "does not fit on the stack, which has" if alone else "and the stack has"
    most = sorted(variables, key=lambda v: -v.nbytes)[: 0 if alone else MOST_SHOWN]
    return Finding(
        "memcheck-stack",
        f"{what} {nbytes:,} {plural(nbytes, 'byte')}{'' if alone else ','} {verb} {room:,} (inferred)",
        file=largest.file,
        line=largest.line,
        task=core.place.task,
        context=tuple(
            f"{v.told} takes {v.nbytes:,} {plural(v.nbytes, 'byte')} ({shown_file(v.file)}:{v.line})"
            for v in most
        ),
        note="the compiler keeps its stack in NRAM, unless it is told --bang-stack-on-ldram",
        hint="declare it __nram__ or __ldram__, or work on a part of it at a time",
        facts={"bytes": nbytes, "room": room},
    )


def _of_the_memory_core(core: "Core | TaskRan", site: Site, name: str, memory: str | None) -> Finding:
    """Make the finding about *name* on a memory core; *memory* is the target of a scalar access, else None."""
    what = f"is at {site.spelled(name)}" if memory is None else f"makes {with_article(name)} of {memory}"
    which = "which needs NRAM or WRAM" if memory is None else "which it does not have"
    return Finding(
        "memcheck-memory-core",
        f"the {core.place.label} {what}, {which}",
        **place_of(site, core.place.task, name),
        note="it runs the kernel beside the IPU cores, with the number of its cluster's first task; here such an instruction "
        "does nothing, and the core's own NRAM holds zeros; a card may fault",
        hint=f"let only IPU cores get there: {guard_of(site)}",
    )


def _misaligned(step: Step, access: Access, task: int, dtype: DType) -> Finding:
    address, size = access.allocation.address + access.start, access.size
    return Finding(
        "memcheck-misaligned",
        f"{step.name} of {size} {plural(size, 'byte')} at {address:#x}, which is not a multiple of {size}",
        **place_of(step.site, task),
        context=(f"byte {access.start} of {access.allocation.site}",),
        hint=f"keep {dtype} data at offsets that are multiples of {size} {plural(size, 'byte')}, "
        "or load the bytes one by one",
        facts={"address": address, "space": access.allocation.space.name},
    )


def _scalar_of_wram(step: Step, access: Access, task: int) -> Finding:
    copy = step.site.spelled("memcpy")
    return Finding(
        "memcheck-wrong-space",
        f"{with_article(step.name)} of {access.allocation.site}: scalar code does not reach WRAM",
        **place_of(step.site, task, step.name),
        context=(f"byte {access.start} of {access.allocation.site}",),
        note="on a card the value is not a number that was stored there",
        hint=f"keep in NRAM what scalar code uses; {copy} moves it between NRAM and WRAM",
        facts={"address": access.allocation.address + access.start, "space": "WRAM"},
    )


def _wasted(effect: Effect, size: int, offset: int) -> Finding:
    lines = -(-(offset + size) // LINE)
    idle = lines * LINE - size
    width = next((a.dtype.size for a in effect.arguments if hasattr(a, "view")), 1)
    behind = f", {offset} {plural(offset, 'byte')} behind a multiple of {HALF}," if offset else ""
    return Finding(
        "memcheck-lanes-wasted",
        f"__{effect.name} of {size} {plural(size, 'byte')}{behind} takes {lines} line{'s' * (lines > 1)} of {LINE} bytes and "
        f"leaves {idle // width} of {lines * LINE // width} lanes idle",
        **place_of(effect.site, effect.core.place.task, effect.name),
        hint=f"work on more elements at once, or on multiples of {LINE // width}"
        + f", and begin at multiples of {HALF} bytes" * bool(offset),
        facts={"bytes": size, "offset": offset, "idle_lanes": idle // width},
    )


def _typed(fault: Fault) -> Iterator[str]:
    """Yield the source text of a fault's operand, since a pointer has a name of its own there."""
    if fault.file is not None and fault.line is not None and fault.operand is not None:
        word = argument(fault.intrinsic or "", fault.operand, Site(fault.file, fault.line))
        if word and not re.search(rf"\b{re.escape(word)}\b", fault.message):
            yield f"{fault.operand} is {word}"


def _neighbours(
    core: "Core", tensors: Collection[Allocation], address: int, space: str | None
) -> Iterator[str]:
    """Yield the allocations before and after *address*, among those that *core* can access and the *tensors* of its launch."""
    lone = () if core.cluster is None else (core.cluster,)  # also of a lone task, which is in no union
    arenas = (*core.arenas.values(), *(cluster.sram for cluster in core.union.clusters or lone))
    reached = (*tensors, *(allocation for arena in arenas for allocation in arena.allocations))
    live = sorted((a for a in reached if a.live and a.space.name == space), key=lambda a: a.address)
    at = next((a for a in live if a.address <= address < a.address + a.nbytes), None)
    end = address if at is None else at.address + at.nbytes
    behind = next((a for a in live if a is not at and a.address >= end), None)
    before = next((a for a in reversed(live) if a is not at and a.address < address), None)
    if at is not None:
        element = at.declared.element_at(address - at.address)
        yield f"it begins in {at.site}{f' at {element}' if element else ''}, which ends at {end:#x}"
    elif before is not None:
        yield f"before it lies {before.site}, which ends at {before.address + before.nbytes:#x}"
    if behind is not None:
        gap = behind.address - end
        yield f"behind it lies {behind.site}, " + (
            f"{gap} {plural(gap, 'byte')} further" if gap else "immediately"
        )


def region_label(core: "Core", fault: Fault) -> Iterator[str]:
    """Yield the region of a placed plan in which the operand of a fault begins."""
    for placement in core.plans:
        if fault.address is None or fault.space != placement.allocation.space.name:
            continue
        offset = fault.address - placement.allocation.address
        for stage, region in placement.regions_at(offset):
            inside = offset - placement.start - region.offset
            yield f"in the plan it begins in region {region.name} of stage {stage}, byte {inside}"


# -- filters in WRAM with the layout of memory --------------------------------------------------------------
#
# If the tensor unit reads exactly the bytes that a reshape has as its source, the reshaped result was not
# used.  If nothing was reshaped, and one linear copy brought the filters to WRAM, the host may have reshaped
# them; that is a note. Up to 64 filters have the same layout in WRAM as in memory, and equal filters fit any
# layout.

RESHAPE = "bang_reshape_filter"


class _Copy(NamedTuple):
    """One linear copy to WRAM: the first and last byte that it wrote, and its place."""

    low: int
    high: int
    site: Site


@define
class Layouts:
    """The filters that were reshaped for the tensor unit, and the linear copies to WRAM."""

    sources: dict[int, Site] = field(factory=dict)  # sources of reshapes, by the hash of their contents
    results: set[int] = field(factory=set)  # hashes of the results
    reshaped: bool = False
    linear: "dict[Core, dict[Allocation, _Copy]]" = field(factory=dict)

    def learn(self, effect: Effect) -> Finding | None:
        """Record *effect*, whose bytes are about to change; return a finding if it multiplies filters that were not reshaped."""
        name = effect.name
        if name == RESHAPE:
            self._reshape(effect)
        elif name in FILTERS:
            return self._used(effect)
        elif effect.writes and (target := effect.writes[0]).allocation.space is WRAM:
            self._copied(effect, target)
        return None

    def wants(self, effect: Effect) -> bool:
        """Return whether another execution of the same step may give a new finding."""
        writes = effect.step.writes
        return (
            effect.name == RESHAPE
            or effect.name in FILTERS
            or bool(writes and writes[0].allocation.space is WRAM)
        )

    def _reshape(self, effect: Effect) -> None:
        self.reshaped = True
        content, count = _content(effect.reads[0]), int(_argument(effect, "n"))
        laid = _laid_out(effect, content, count)
        if laid != content:
            self.sources.setdefault(hash(content), effect.site)
            self.results.add(hash(laid))

    def _copied(self, effect: Effect, target: Access) -> None:
        source = effect.reads[0] if effect.reads else target
        if source.steps or target.steps or not effect.reads:
            self.linear.get(effect.core, {}).pop(target.allocation, None)
        else:
            copies = self.linear.setdefault(effect.core, {})
            copies[target.allocation] = _Copy(*target.span, effect.site)

    def _used(self, effect: Effect) -> Finding | None:
        operand, parameter = FILTERS[effect.name]
        count = int(_argument(effect, parameter))
        if count % LANES:
            return _padded(effect, count)
        if count == LANES:
            return None
        access = _operand(effect, operand)
        copy = self.linear.get(effect.core, {}).get(access.allocation)
        if self.reshaped and not self.sources:
            return None
        content = _content(access)
        if _laid_out(effect, content, count) == content:
            return None
        number = hash(content)
        if number in self.sources:
            return None if number in self.results else _passed_by(effect, count, self.sources[number], copy)
        if self.reshaped or copy is None or copy.low > access.span[0] or copy.high < access.span[1]:
            return None
        return _not_reshaped(effect, count, copy)


def _argument(effect: Effect, name: str) -> int:
    row = effect.step.row
    assert row is not None
    return next(int(a) for a, p in zip(effect.arguments, row.given, strict=True) if p.name == name)


def _operand(effect: Effect, name: str) -> Access:
    row = effect.step.row
    assert row is not None
    read = [key for key, operand in row.operands.items() if operand.access != "write"]
    return effect.reads[read.index(name)]


def _content(access: Access) -> bytes:
    return access.rows_of(access.allocation.raw).tobytes()


def _laid_out(effect: Effect, content: bytes, count: int) -> bytes:
    """Return *count* filters, given in order, in the layout of the 64 lanes."""
    return laid_out(
        np.frombuffer(content, np.uint8), count, effect.core.machine.board.arch.generation
    ).tobytes()


def _passed_by(effect: Effect, count: int, reshaped: Site, copy: _Copy | None) -> Finding:
    places: tuple[RelatedPlace, ...] = (
        RelatedPlace(*reshaped, f"{reshaped.spelled(RESHAPE)} lays these filters out here"),
    )
    if copy is not None:
        places += (RelatedPlace(*copy.site, "they are copied to WRAM here"),)
    return Finding(
        "memcheck-filters-before-reshape",
        f"the {count} filters in WRAM are those that {reshaped.spelled(RESHAPE)} read, not what it wrote",
        **place_of(effect.site, effect.core.place.task, effect.name),
        places=places,
        note=f"the tensor unit takes other filters for them: it reads WRAM as {LANES} lanes of {count // LANES}",
        hint="copy the destination of the reshape to WRAM",
        facts={"filters": count, "reshaped": str(reshaped)},
    )


def _not_reshaped(effect: Effect, count: int, copy: _Copy) -> Finding:
    return Finding(
        "memcheck-filters-not-reshaped",
        f"the {count} filters in WRAM came there in one linear copy, and no {effect.site.spelled(RESHAPE)} laid them out",
        **place_of(effect.site, effect.core.place.task, effect.name),
        places=(RelatedPlace(*copy.site, "they are copied to WRAM here"),),
        note=f"the tensor unit reads WRAM as {LANES} lanes of {count // LANES} filters (inferred); it is right where the "
        "host has laid them out like that",
        hint=f"filters that lie one after the other go through {effect.site.spelled(RESHAPE)} before the copy to WRAM",
        facts={"filters": count},
    )


def _padded(effect: Effect, count: int) -> Finding:
    return Finding(
        "memcheck-filters-padded",
        f"{count} {plural(count, 'filter leaves', 'filters leave')} {-count % LANES} of {-(-count // LANES) * LANES} lanes of the tensor unit idle",
        **place_of(effect.site, effect.core.place.task, effect.name),
        note=f"the compiler pads, and the elements of each filter begin at a multiple of {PAD} bytes in WRAM (inferred)",
        hint=f"work on multiples of {LANES} filters",
        facts={"filters": count},
    )
