"""How a BANG C kernel divides its on-chip arrays: the bytes of each pointer variable, inferred from a launch, and the totals.

The kernel runs twice.  The first run finds the pointer variables that keep one address throughout a task.  Such a
variable has a part of its array.  A variable that moves belongs to the variable that it is computed from, and so does
one that always equals that variable, such as a pointer to a row in a loop of one iteration.  The second run finds the
bytes that are accessed through each part, and whether a part overwrites bytes that another part still reads.
"""

import contextlib
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeGuard

from attrs import define, evolve, field, frozen

from mlusim.arch.board import STACK_RESERVE
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.counted import plural
from mlusim.document import members
from mlusim.errors import UsageError
from mlusim.machine.announcer import arguments_behind
from mlusim.machine.core import Core, RunningLaunch
from mlusim.machine.hub import Effect, Observer
from mlusim.machine.observed import Site
from mlusim.machine.tally import Usage
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access, WrittenBytes
from mlusim.memory.pointer import Ptr
from mlusim.observe.checker import Allowed, Checker, place_of
from mlusim.observe.finding import Finding, RelatedPlace
from mlusim.plan.layout import STACK, Layout, PlacedRegion, StageLayout
from mlusim.programs.pointer_frames import Chain, Frames, PointerVariable

if TYPE_CHECKING:
    from mlusim.bangc.module import BangKernel
    from mlusim.programs.kernel_call import KernelCall
    from mlusim.programs.launch_again import LaunchAgain

ON_CHIP = ("NRAM", "WRAM", "SRAM")
OVERLAP = "plan-carved-overlap"


def on_chip(allocation: Allocation | None) -> "TypeGuard[Allocation]":
    """Return whether *allocation* is in an on-chip memory."""
    return allocation is not None and allocation.space.name in ON_CHIP


@frozen
class DeclaredArray:
    """A declared array: its name, its memory, its size in bytes, its declaration, and its first byte in the memory."""

    name: str
    space: str
    bytes: int
    file: str
    line: int
    start: int = 0


@define(eq=False)
class ArrayPart:
    """The part of an array that a pointer variable refers to, from byte *offset* on; bytes ``low`` to ``high`` are accessed through it.

    ``names`` are variables of the same name in their functions; if empty, the part is the array itself.  ``moving``
    are variables whose address in it changes.  ``offsets`` has the offset in each task.
    """

    array: DeclaredArray
    text: str
    offset: int
    names: list[PointerVariable] = field(factory=list)
    offsets: dict[int, int] = field(factory=dict)
    low: int | None = None
    high: int | None = None
    moving: dict[str, None] = field(factory=dict)

    def touch(self, low: int, high: int) -> None:
        """Note an access to bytes [low, high) of the array."""
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)

    def meets(self, other: "ArrayPart") -> bool:
        """Return whether both parts access a common range of bytes."""
        if self.low is None or other.low is None or self.high is None or other.high is None:
            return False
        return self.array is other.array and self.low < other.high and other.low < self.high


@frozen(eq=False)
class Carving:
    """The arrays that a kernel declares, their parts in order, and the overlaps found (inferred).

    ``overlaps`` are the pairs of parts in ``findings``: one overwrites the other.  ``allowed`` are findings that a
    comment in the kernel allows.  ``stack`` is the largest number of bytes of local variables that are alive on the
    stack at once.
    """

    kernel: str
    board: str
    arrays: tuple[DeclaredArray, ...]
    parts: tuple[ArrayPart, ...]
    findings: tuple[Finding, ...]
    allowed: tuple[Allowed, ...] = ()
    memory: Mapping[str, Usage] = field(factory=dict)  # the declared bytes of each memory, and the limit
    stack: int = 0
    overlaps: tuple[tuple[ArrayPart, ArrayPart], ...] = ()

    def parts_of(self, array: DeclaredArray) -> list[ArrayPart]:
        """Return the parts of *array* by offset."""
        return [part for part in self.parts if part.array is array]

    def touched(self, array: DeclaredArray) -> int:
        """Return the byte after the last one that is touched."""
        return max((part.high or 0 for part in self.parts_of(array)), default=0)


def carve(call: "KernelCall | LaunchAgain") -> Carving:
    """Run *call* twice and infer how its kernel divides on-chip memory.

    Raises the exceptions of the launch; after a fault the division is unknown.
    """
    call = call.watched()
    kernel = call.loaded()
    # Two runs, since it is known only at the end of the first whether a variable keeps one address.
    held = PointerPlaces(kernel)
    call.run([held])
    extents = Extents(held)
    launch = call.run([extents]).launch
    parts = sorted(extents.parts(), key=lambda p: (p.array.line, p.array.start, p.offset, p.low or 0))
    arrays = tuple(held.arrays.values())
    findings = tuple(evolve(finding, kernel=launch.kernel) for finding in extents.findings)
    stack = sum(variable.nbytes for variable in kernel.on_stack)
    return Carving(
        launch.kernel,
        launch.board,
        arrays,
        tuple(parts),
        findings,
        extents.allowed,
        launch.memory,
        stack,
        tuple(extents.overlaps),
    )


class PointerPlaces(Observer):
    """The first run: the addresses that each pointer variable holds, task by task."""

    name = "held"

    def __init__(self, kernel: "BangKernel", frames: Frames | None = None) -> None:
        self.kernel = kernel
        self.frames = Frames(kernel) if frames is None else frames  # reads every function once
        self._starts: dict[str, int] = {}  # the first address of each memory
        self.arrays: dict[tuple[str, int, str, str], DeclaredArray] = {}
        self.places: dict[PointerVariable, dict[int, set[tuple[DeclaredArray, int]]]] = {}
        self.plain: set[PointerVariable] = set()
        self._named: set[PointerVariable] = set()  # variables computed from another variable
        self._apart: set[PointerVariable] = set()  # of these, the ones seen at another address

    def declare(self, core: Core, allocation: Allocation) -> None:
        """Record a declaration of on-chip memory."""
        self._starts.update({arena.space.name: arena.base for arena in core.arenas.values()})
        if on_chip(allocation):
            self.array_of(allocation)

    def issue(self, effect: Effect) -> None:
        """Record the addresses held by the variables that the operands come from."""
        task = effect.core.place.task
        for _, _, chains in self.frames.behind(effect):
            for chain in chains:
                self.note(chain, task)

    def note(self, chain: Chain, task: int) -> None:
        """Record the addresses held by the variables of *chain* in *task*."""
        for step, behind in zip_longest(chain, chain[1:]):
            if step.name is not None and on_chip(step.allocation):
                places = self.places.setdefault(step.name, {}).setdefault(task, set())
                places.add((self.array_of(step.allocation), step.offset))
                if step.moved:
                    # Add a second, impossible address, so that the variable does not count as stable.
                    places.add((self.array_of(step.allocation), -1))
                if step.plain:
                    self.plain.add(step.name)
                if behind is not None and behind.name is not None:
                    self._named.add(step.name)
                    if step.apart or behind.allocation is not step.allocation or behind.offset != step.offset:
                        self._apart.add(step.name)

    def array_of(self, allocation: Allocation) -> DeclaredArray:
        """Return the array of *allocation*."""
        where = allocation.declared
        key = where.file, where.line, allocation.space.name, where.name or "array"
        array = self.arrays.get(key)
        if array is None:
            array = self.arrays[key] = DeclaredArray(
                key[-1],
                allocation.space.name,
                allocation.nbytes,
                where.file,
                where.line,
                allocation.address - self._starts.get(allocation.space.name, allocation.address),
            )
        return array

    def stable(self, name: PointerVariable | None) -> bool:
        """Return whether *name* keeps one address in every task, and is not just a copy of another variable."""
        if name is None or name in self.plain or name in self._named - self._apart:
            return False
        places = self.places.get(name, {})
        return bool(places) and all(len(p) == 1 for p in places.values())


class Extents(Checker):
    """The second run: the bytes accessed through each part, and the parts that overwrite others."""

    name = "plan"

    def __init__(self, held: PointerPlaces) -> None:
        super().__init__()
        self._held = held
        self.overlaps: list[tuple[ArrayPart, ArrayPart]] = []
        self._parts: dict[tuple[DeclaredArray, str, int], ArrayPart] = {}
        self._numbers: list[ArrayPart] = []
        self._written: dict[Allocation, WrittenBytes] = {}
        self._sites: dict[Site, int] = {}
        # The results, and for each instruction the parts that it reads (False) and writes (True).
        self._lost: list[tuple[ArrayPart, ArrayPart, Site, Site, int, int]] = []
        self._calls: dict[Hashable, dict[bool, set[ArrayPart]]] = defaultdict(
            lambda: {False: set(), True: set()}
        )
        self._known: dict[PointerVariable, ArrayPart | None] = defaultdict(lambda: None)
        self._known |= {name: self._part_of(name) for name in held.places if held.stable(name)}

    def parts(self) -> Iterator[ArrayPart]:
        """Return the parts; an array itself only if it is accessed by its own name."""
        return (part for part in self._numbers if part.names or part.low is not None)

    def issue(self, effect: Effect) -> None:
        """Attribute each access to the part that it goes through."""
        if not any(on_chip(access.allocation) for access in (*effect.reads, *effect.writes)):
            return
        ways = list(self._held.frames.behind(effect))
        behind = arguments_behind(effect.step.row, effect.arguments)
        for stores, accesses, arguments in (
            (False, effect.reads, behind[0]),
            (True, effect.writes, behind[1]),
        ):
            for access, argument in zip_longest(accesses, arguments):
                if access is not None and on_chip(access.allocation):
                    part = self._through(access, ways, argument)
                    part.touch(*access.span)
                    self.goes_through((effect.site, effect.name), part, stores=stores)
                    self._order(effect, access, part, stores=stores)

    def task_end(self, core: Core) -> None:
        """Forget the writers of bytes of arrays that belong to the core."""
        for arena in core.arenas.values():
            for allocation in arena.allocations:
                self._written.pop(allocation, None)

    def _order(self, effect: Effect, access: Access, part: ArrayPart, *, stores: bool) -> None:
        # From 1: 0 stands for a byte that was never written.
        writer = self.number(part) + 1
        written = self._written.get(access.allocation)
        if written is None:
            written = self._written[access.allocation] = WrittenBytes(access.allocation.nbytes)
        if stores:
            written.store(access, writer, self._sites.setdefault(effect.site, len(self._sites)))
            return
        for by, place, count in written.lost(access, writer):
            site = list(self._sites)[place]
            self.lose(self.numbered(by - 1), part, site, effect.site, effect.core.place.task, count)

    def goes_through(self, call: Hashable, part: ArrayPart, *, stores: bool) -> None:
        """Record that the instruction *call*, a place and a name, reads *part*, or, with *stores*, writes to it."""
        self._calls[call][stores].add(part)

    def lose(self, by: ArrayPart, of: ArrayPart, site: Site, read: Site, task: int, count: int) -> None:
        """Record that the part *by*, at *site*, overwrote *count* bytes of the part *of*, which *task* reads later, at *read*."""
        self._lost.append((by, of, site, read, task, count))

    def launch_end(self, _launch: RunningLaunch | None) -> None:
        """Report the overwritten parts, except two names of one address for a computation in place, which reads one name and writes the other."""
        in_place = {
            frozenset((source, target))
            for sides in self._calls.values()
            for target in sides[True] - sides[False]
            for source in sides[False]
            if (source.array, source.offset) == (target.array, target.offset)
        }
        for lost in self._lost:
            if frozenset(lost[:2]) not in in_place:
                self.tell(*lost)

    def number(self, part: ArrayPart) -> int:
        """Return the number that identifies *part*."""
        return self._numbers.index(part)

    def numbered(self, number: int) -> ArrayPart:
        """Return the part with the number *number*."""
        return self._numbers[number]

    def tell(self, by: ArrayPart, of: ArrayPart, site: Site, read: Site, task: int, count: int) -> None:
        """Report an overlap: the part *by*, at *site*, overwrote *count* bytes of the part *of*, which *task* reads later, at *read*."""
        lower, upper = sorted((by, of), key=lambda part: part.offset)

        def make() -> Finding:
            self.overlaps.append((by, of))
            return Finding(
                OVERLAP,
                f"{by.text} overwrites {count} {plural(count, 'byte')} of {of.text} that are read afterwards (inferred)",
                **place_of(site, task),
                context=tuple(_range(part) for part in (by, of)),
                places=(RelatedPlace(read.file, read.line, f"{of.text} is read here"),),
                hint=f"begin {upper.text} behind what {lower.text} takes, or let {lower.text} take less",
            )

        self.report((by, of, site), make)

    def _through(
        self, access: Access, ways: Sequence[tuple[int, Ptr | None, Sequence[Chain]]], argument: int | None
    ) -> ArrayPart:
        """Return the part that *access* goes through: the one of *argument*, or else of the first argument that leads to the accessed array."""
        chains: list[Chain] = []
        for number, pointer, led_by in ways:
            if argument is not None and pointer is not None and number != argument:
                continue
            if pointer is None:
                chains += led_by
            elif pointer.view.allocation is access.allocation and pointer.offset == access.start:
                chains = list(led_by)
                break
        reached = [self.nearest(chain, access.allocation) for chain in chains]
        parts = [part for part in reached if part is not None]
        task_low = access.span[0]
        # An access belongs to the last part that begins before it.
        before = [part for part in parts if part.offset <= task_low] or parts
        return max(before, key=lambda part: part.offset) if before else self.whole(access.allocation)

    def nearest(self, chain: Chain, allocation: Allocation) -> ArrayPart | None:
        """Return the part of the nearest variable in *chain* that has a part of the array in *allocation*."""
        moving: list[str] = []
        for step in chain:
            if step.allocation is not allocation:
                return None
            part = None if step.name is None else self._known[step.name]
            if part is not None:
                part.moving.update(dict.fromkeys(moving))
                return part
            if step.name is not None and step.name not in self._held.plain:
                moving.append(step.name.text)
        return self.whole(allocation)

    def whole(self, allocation: Allocation) -> ArrayPart:
        """Return the part for the whole array in *allocation*, accessed by its own name."""
        array = self._held.array_of(allocation)
        return self._part(array, array.name, 0)

    def _part_of(self, name: PointerVariable) -> ArrayPart:
        places = {task: next(iter(p)) for task, p in self._held.places[name].items()}
        array, offset = places[min(places)]
        part = self._part(array, name.text, offset)
        if name not in part.names:
            part.names.append(name)
            part.offsets.update({task: place[1] for task, place in places.items()})
        return part

    def _part(self, array: DeclaredArray, text: str, offset: int) -> ArrayPart:
        part = self._parts.get((array, text, offset))
        if part is None:
            part = self._parts[array, text, offset] = ArrayPart(array, text, offset)
            self._numbers.append(part)
        return part


def _range(part: ArrayPart) -> str:
    functions = ", ".join(dict.fromkeys(name.function for name in part.names))
    where = f" of {functions}" if functions else ""
    return f"{part.text}{where} begins at byte {part.offset:,} of {part.array.name}"


# -- totals against the limits of the memories, and layouts that plans are drawn from --------------


@frozen
class MemoryTotal:
    """The bytes of one memory: *declared* for arrays, *stack* for local variables, and the *reserve* of the stack.

    *limit* is the size of the memory; the compiler keeps *reserve* bytes of it for the stack, which declarations may
    use up.
    """

    space: str
    declared: int
    stack: int
    reserve: int
    limit: int

    @property
    def used(self) -> int:
        """Bytes of arrays and of local variables on the stack."""
        return self.declared + self.stack

    @property
    def slack(self) -> int:
        """Bytes that may still be declared without using the stack's reserve; negative if some of it is used."""
        return self.limit - self.reserve - self.declared

    @property
    def fits(self) -> bool:
        """Return whether arrays and stack fit together."""
        return self.used <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return all members as a document of JSON."""
        return members(self, "declared", "stack", "reserve", "used", "limit", "slack", "fits")


def totals_of(carving: Carving) -> Mapping[str, MemoryTotal]:
    """Return the totals of the memories that the kernel uses, by name."""
    arch = find_board(carving.board).arch
    # The compiler puts the stack in NRAM, and the memory core's in SRAM.
    reserves = {"NRAM": STACK_RESERVE, "SRAM": STACK_RESERVE}
    limits = arch.limits(compiled=True)
    return {
        space: MemoryTotal(
            space,
            usage.high_water,
            carving.stack if space == "NRAM" else 0,
            reserves.get(space, 0),
            limits[space],
        )
        for space, usage in carving.memory.items()
        if space in limits and (usage.high_water or (space == "NRAM" and carving.stack))
    }


def layouts_of(carving: Carving) -> tuple[Layout, ...]:
    """Return a layout of each memory in use, with one stage that has the parts of its arrays and the stack's reserve."""
    return tuple(_layout(carving, total) for total in totals_of(carving).values())


def _layout(carving: Carving, total: MemoryTotal) -> Layout:
    arrays = [array for array in carving.arrays if array.space == total.space]
    regions = [region for array in arrays for region in _regions(carving, array)]
    # Declarations come first; the rest of the reserve is at the end of the memory.
    left = min(total.reserve, total.limit - total.declared)
    if left > 0:
        regions.append(PlacedRegion(STACK, "bytes", left, total.limit - left, left))
    stage = StageLayout(total.space, total.used, tuple(regions))
    return Layout(carving.kernel, carving.board, None, {}, total.limit, (stage,))


def _elements(part: ArrayPart) -> tuple[str, int]:
    """Return the element type of the pointers to *part* and its size; ("bytes", 1) if the board lacks the type."""
    for name in part.names[:1]:
        with contextlib.suppress(UsageError):
            kind = name.type.rstrip("* ").removeprefix("const ").removesuffix("_t")
            return kind, as_dtype(kind).size
    return "bytes", 1


def _regions(carving: Carving, array: DeclaredArray) -> Iterator[PlacedRegion]:
    """Yield the parts of *array* with the bytes accessed through each, and then the bytes accessed through no part."""
    before: list[ArrayPart] = []
    for part in carving.parts_of(array):
        if part.high is None or part.high <= part.offset:
            continue
        shared = tuple(other.text for other in before if part.meets(other))
        nbytes = part.high - part.offset
        kind, size = _elements(part)
        yield PlacedRegion(part.text, kind, nbytes // size, array.start + part.offset, nbytes, reuses=shared)
        # In the order of the offsets, so that each part names the parts before it that it overlaps.
        before.append(part)
    end = carving.touched(array)
    if end < array.bytes:
        rest = array.bytes - end
        yield PlacedRegion(f"{array.name} (untouched)", "bytes", rest, array.start + end, rest, rest=True)
