"""The on-chip memories of a kernel as totals against their limits, and as layouts that plans are drawn from."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.arch.board import STACK_RESERVE
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.errors import UsageError
from mlusim.plan.layout import STACK, Layout, PlacedRegion, StageLayout

if TYPE_CHECKING:
    from mlusim.programs.carving import ArrayPart, Carving, DeclaredArray


@frozen
class MemoryTotal:
    """The bytes of one memory: *declared* by arrays, *stack* of local variables, and the *reserve* of the stack.

    *limit* is all that there is; the compiler keeps *reserve* of it, from which declarations may take.
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
        """Bytes that may still be declared without the stack's reserve; negative where some of it is taken."""
        return self.limit - self.reserve - self.declared

    @property
    def fits(self) -> bool:
        """Return whether arrays and stack have room together."""
        return self.used <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "declared": self.declared,
            "stack": self.stack,
            "reserve": self.reserve,
            "used": self.used,
            "limit": self.limit,
            "slack": self.slack,
            "fits": self.fits,
        }


def totals_of(found: "Carving") -> Mapping[str, MemoryTotal]:
    """Return the totals of the memories that the kernel uses, by name."""
    arch = find_board(found.board).arch
    # The compiler keeps the stack in NRAM, and that of the memory core in SRAM.
    kept = {"NRAM": STACK_RESERVE, "SRAM": STACK_RESERVE}
    limits = arch.limits(compiled=True)
    return {
        space: MemoryTotal(
            space,
            usage.high_water,
            found.stack if space == "NRAM" else 0,
            kept.get(space, 0),
            limits[space],
        )
        for space, usage in found.memory.items()
        if space in limits and (usage.high_water or (space == "NRAM" and found.stack))
    }


def layouts_of(found: "Carving") -> tuple[Layout, ...]:
    """Return a layout of each memory that the kernel uses, whose one stage has the parts of its arrays and the stack's reserve."""
    return tuple(_layout(found, total) for total in totals_of(found).values())


def _layout(found: "Carving", total: MemoryTotal) -> Layout:
    arrays = [array for array in found.arrays if array.space == total.space]
    regions = [region for array in arrays for region in _regions(found, array)]
    # Declarations come first; what they leave of the reserve is at the end of the memory.
    left = min(total.reserve, total.limit - total.declared)
    if left > 0:
        regions.append(PlacedRegion(STACK, "bytes", left, total.limit - left, left))
    stage = StageLayout(total.space, total.used, tuple(regions))
    return Layout(found.kernel, found.board, None, {}, total.limit, (stage,))


def _elements(part: "ArrayPart") -> tuple[str, int]:
    """Return the element type of the pointers to *part* and its bytes; bytes, where that is no type of the board."""
    for name in part.names[:1]:
        with contextlib.suppress(UsageError):
            kind = name.type.rstrip("* ").removeprefix("const ").removesuffix("_t")
            return kind, as_dtype(kind).size
    return "bytes", 1


def _regions(found: "Carving", array: "DeclaredArray") -> Iterator[PlacedRegion]:
    """Yield the parts of *array* by what is touched through them, and what is touched through none."""
    before: list[ArrayPart] = []
    for part in found.parts_of(array):
        if part.high is None or part.high <= part.offset:
            continue
        shared = tuple(other.text for other in before if part.meets(other))
        nbytes = part.high - part.offset
        kind, size = _elements(part)
        yield PlacedRegion(part.text, kind, nbytes // size, array.start + part.offset, nbytes, reuses=shared)
        # In the order of the offsets, so that a part names those it lies on, and not the reverse.
        before.append(part)
    end = found.touched(array)
    if end < array.bytes:
        rest = array.bytes - end
        yield PlacedRegion(f"{array.name} (untouched)", "bytes", rest, array.start + end, rest, rest=True)
