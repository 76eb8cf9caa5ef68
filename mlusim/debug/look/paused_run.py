"""`PausedRun`: a paused machine for the debugger's commands; its memory by the variables that declare it."""

import ast
import functools
import linecache
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import define, frozen

from mlusim.arch.dtypes import DType
from mlusim.debug.source.frames import cluster_name, name_of, stack_of
from mlusim.debug.stop.stops import Op, Stop, Tracing
from mlusim.errors import UsageError
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr
from mlusim.memory.regions import Placement
from mlusim.memory.space import GDRAM, GDRAM_BASE, LDRAM_BASE, NRAM, SRAM, WRAM, Space

if TYPE_CHECKING:
    from mlusim.debug.run.launches import KeptLaunch
    from mlusim.debug.run.moments import RunObserver
    from mlusim.machine.core import Core
    from mlusim.machine.machine import Machine


@define(eq=False)
class PausedRun:
    """One launch at one position: its machine, its active cores, and the reason of the stop."""

    recorded: "KeptLaunch"
    machine: "Machine"
    observed: "RunObserver"
    stop: Stop

    @property
    def cores(self) -> "list[Core]":
        """The active cores (begun and not ended), in the order of their tasks."""
        return sorted(self.observed.cores, key=lambda c: (c.place.task, c.place.memory_core))

    @property
    def recent(self) -> tuple[Op, ...]:
        """The last operations, oldest first; none if nothing observed the run."""
        return tuple(self.observed.recent) if isinstance(self.observed, Tracing) else ()

    @property
    def watched(self) -> bool:
        """True if every instruction was announced, so that it is known which are in flight."""
        return isinstance(self.observed, Tracing)

    def stack(self, core: "Core") -> list[FrameType]:
        """Return the kernel frames of *core*, innermost first."""
        return stack_of(core, self.stop.error if core is self.observed.failed else None)

    @property
    def nram_regions(self) -> Iterator[tuple[int, Any]]:
        """The regions of plans that tasks have placed in NRAM, then those of the launch's plan: (byte of NRAM, region)."""
        base, asked = self.base(NRAM), self.machine.request.options.layout
        live = [p for core in self.cores for p in self.placements(core) if p.allocation.space is NRAM]
        plans = [(p.allocation.address - base + p.start, p.layout) for p in live]
        for start, layout in plans if asked is None else (*plans, (0, asked)):
            yield from ((start + region.offset, region) for s in layout.stages for region in s.regions)

    @property
    def region_names(self) -> set[str]:
        """The names of the regions of all plans and stages."""
        return {region.name for _, region in self.nram_regions}

    def placements(self, core: "Core | None") -> tuple[Placement, ...]:
        """Return the plans placed in the memories of *core*, the latest first."""
        return () if core is None else core.placements.live[::-1]

    # -- memory --------------------------------------------------------------------------------

    @property
    def tensors(self) -> dict[str, tuple[Allocation, Any]]:
        """The launch's tensors by parameter: the allocation, and the argument itself.

        A pointer to bytes, as a host program has from ``cnrtMalloc``, has the element type of the kernel's parameter.
        """
        tensors = {}
        types = self.machine.request.kernel.element_types
        for name, argument in zip(self.recorded.parameters, self.machine.request.arguments, strict=True):
            allocation = tensor_of(argument)
            if allocation is not None:
                as_given = name not in types or not isinstance(argument, Ptr)
                tensors[name] = allocation, argument if as_given else argument.cast(types[name])
        return tensors

    def allocations(self, core: "Core | None") -> list[tuple[str | None, Allocation]]:
        """Return everything that *core* can address, with the owner: tensors, its cluster's SRAM, its own memories."""
        owners: dict[Allocation, str | None] = {a: None for a, _ in self.tensors.values()}
        if core is not None:
            if core.cluster is not None:
                owners |= dict.fromkeys(core.cluster.sram.allocations, cluster_name(core))
            for arena in core.arenas.values():
                owners |= dict.fromkeys(arena.allocations, name_of(core))
        return [(owner, allocation) for allocation, owner in owners.items() if allocation.live]

    def every_allocation(self) -> list[tuple[str | None, Allocation]]:
        """Return the `allocations` of all cores together, each once, in a fixed order."""
        owners: dict[Allocation, str | None] = {}
        for core in (None, *self.cores):
            for owner, allocation in self.allocations(core):
                owners.setdefault(allocation, owner)
        return sorted(
            ((owner, a) for a, owner in owners.items()),
            key=lambda e: (e[0] or "", e[1].space.name, e[1].address),
        )

    def base(self, space: Space) -> int:
        """Return the address from which offsets in *space* count."""
        arch = self.machine.board.arch
        bases = {NRAM: arch.nram_base, WRAM: arch.wram_base, SRAM: arch.sram_base}
        return bases.get(space, GDRAM_BASE if space is GDRAM else LDRAM_BASE)

    def regions_at(self, allocation: Allocation, offset: int) -> dict[str, tuple[int, Any]]:
        """Return the plan regions that contain byte *offset* of *allocation*, by name: the beginning of each, and the region."""
        regions: dict[str, tuple[int, Any]] = {}
        for core in self.cores:
            for placement in self.placements(core):
                if placement.allocation is allocation:
                    for _, region in placement.regions_at(offset):
                        regions.setdefault(region.name, (placement.start + region.offset, region))
        return regions

    def declared(self, allocation: Allocation) -> tuple[str | None, DType | None]:
        """Return the variable of a declaration, as spelled in the source, and the element type.

        For example ``row``, or ``pair[1]`` for an element of a list; None for a part that is unknown.
        """
        return _variable_of(allocation, self.observed.cores)


class Focus(NamedTuple):
    """The part of a paused launch that the user looks at: a core, and one of its frames; None where there is none."""

    paused: PausedRun
    core: "Core | None" = None
    frame: FrameType | None = None


def tensor_of(argument: object) -> Allocation | None:
    """Return the allocation of a launch's argument, if it is a tensor or a pointer."""
    if isinstance(argument, DeviceTensor):
        return argument.allocation
    return argument.view.allocation if isinstance(argument, Ptr) else None


def need_core(paused: PausedRun, name: str) -> "Core":
    """Return the active core *name*; otherwise raises `UsageError`, which says what became of it."""
    core = paused.observed.core(name)
    if core is None:
        alive = ", ".join(name_of(c) for c in paused.cores[:8]) or "none"
        if name in paused.observed.ended or paused.stop.position.at_end:
            fate = "has ended; `reverse-stepi all` goes back"
        else:
            fate = "has not begun"
        if unknown := no_such_task(paused, name):
            raise UsageError(unknown)
        raise UsageError(f"{name} {fate}; running now: {alive} (`info tasks`)")
    return core


def no_such_task(paused: PausedRun, name: str) -> str:
    """Return a sentence about why the launch has no core *name*, or "" if it has one."""
    x, y, z = paused.machine.dim
    number, memory = int(name.removeprefix("task ").rstrip("m")), name.endswith("m")
    board = paused.machine.board
    if number >= x * y * z:
        has = f"the tasks 0 to {x * y * z - 1}" if x * y * z > 1 else "task 0 only"
        return f"the launch has {has}, and no {name}"
    if not memory:
        return ""
    if not (paused.machine.kind.unions and board.arch.memory_core):
        return f"the launch has no memory cores: {paused.machine.kind.name} on {board.name}"
    width = board.arch.cores_per_cluster
    if number % x % width:
        return f"a memory core is named after the first task of its cluster, 0m, {width}m and so on; there is no {name}"
    return ""


# -- declarations ----------------------------------------------------------------------------------
#
# Memory has no name of its own: the variable is found in the source line that declared it.

# C spells the memories as qualifiers, Python as methods of mlu.
_CALLS = {"nram": "NRAM", "wram": "WRAM", "shared": "SRAM", "ldram": "LDRAM"}


@frozen
class DeclaringCall:
    """A call that declares memory: its line, its memory, and the variable that holds it, if any.

    With ``many`` the call is an element of a list comprehension, and is executed once for each element.
    """

    line: int
    space: str
    name: str | None
    many: bool = False


def _variable_of(allocation: Allocation, cores: "Sequence[Core]") -> tuple[str | None, DType | None]:
    """Return the variable and the element type of a declaration, for active *cores*."""
    declared = allocation.declared
    if not declared.file:
        return None, None
    dtype = declared.dtype
    if (
        declared.name is not None and not declared.stack
    ):  # a variable on the stack is shown as a local of its function
        return declared.name, dtype
    every = _declarations("".join(linecache.getlines(declared.file))) if declared.file.endswith(".py") else ()
    calls = [d for d in every if d.line == declared.line and d.space == allocation.space.name]
    if len(calls) == 1 and not calls[0].many:
        return calls[0].name, dtype
    at = _place(cores, allocation)
    # If a list is on one line with other calls, it is unknown how often each of them ran.
    if not calls or at is None or (len(calls) > 1 and any(d.many for d in calls)):
        return None, dtype
    # A line in a loop declares the same number again in each iteration.
    call = calls[at % len(calls)]
    return f"{call.name}[{at}]" if call.many and call.name is not None else call.name, dtype


def _place(cores: "Sequence[Core]", allocation: Allocation) -> int | None:
    """Return how many earlier declarations of the same line its memory has; None if its task has ended."""
    for core in cores:
        arenas = [*core.arenas.values(), *([core.cluster.sram] if core.cluster is not None else [])]
        for arena in arenas:
            if allocation in arena.allocations:
                where = allocation.declared.file, allocation.declared.line
                same = [a for a in arena.allocations if (a.declared.file, a.declared.line) == where]
                return same.index(allocation)
    return None


@functools.lru_cache(maxsize=32)
def _declarations(source: str) -> tuple[DeclaringCall, ...]:
    """Return every declaration of a module, in the order of its source."""
    try:
        tree = ast.parse(source)
    # The text may be edited during debugging; then only the variable's name is lost.
    except (SyntaxError, ValueError):
        return ()
    names: dict[ast.AST, tuple[str, bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            names |= {call: (name, many) for call, name, many in _kept(node.targets[0], node.value)}
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            names |= {call: (name, many) for call, name, many in _kept(node.target, node.value)}
    calls = sorted((n for n in ast.walk(tree) if _space(n)), key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]
    return tuple(
        DeclaringCall(call.lineno, _space(call), *names.get(call, (None, False)))  # type: ignore[attr-defined]
        for call in calls
    )


def _space(node: ast.AST | None) -> str:
    """Return the memory that a call declares, or ""."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    # A plain name before the dot, as in mlu.nram; a method of a computed value declares nothing.
    return _CALLS.get(node.func.attr, "") if isinstance(node.func.value, ast.Name) else ""


def _kept(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield the declarations in *value*, with the name in *target* of each."""
    if isinstance(target, ast.Tuple | ast.List):
        # If anything but a literal is unpacked, the names have no expressions of their own.
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            for element, part in zip(target.elts, value.elts, strict=True):
                yield from _kept(element, part)
        return
    name = ast.unparse(target)
    if _space(value):
        yield value, name, False
    elif isinstance(value, ast.Tuple | ast.List):
        yield from (
            (element, f"{name}[{n}]", False) for n, element in enumerate(value.elts) if _space(element)
        )
    elif isinstance(value, ast.ListComp) and _space(value.elt) and len(value.generators) == 1:
        yield value.elt, name, True
