"""The elements of a plan: regions in stages, and the position of each region as formulas.

The regions of a stage are packed in the order of their declaration, as in the box drawings of design
documents. A later stage reuses the space of an earlier one, except for the regions that it *keeps*.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import field, frozen
from attrs.converters import optional

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.formula import expr
from mlusim.plan.formulas import unit


def _in_bytes(value: Any) -> expr.Expr:
    """Return an alignment as a formula; a plain integer is a number of bytes."""
    # Sizes without a unit count elements, but hardware alignments are in bytes.
    return value if isinstance(value, expr.Expr) else expr.nbytes(value)


def _names(value: "Region | str | Iterable[Region | str]") -> tuple[str, ...]:
    if isinstance(value, Region | str):
        value = (value,)
    return tuple(v.name if isinstance(v, Region) else v for v in value)


@frozen
class Region:
    """A named piece of on-chip memory.

    *size* counts elements of *dtype*, or bytes where its unit says so (``nbytes(128)``). *align* is the
    alignment of its first byte, in bytes; 1, the default, packs tightly. *at* is an explicit position
    (elements of *dtype* from the start of the buffer, or bytes) instead of the one after its predecessor.
    *reuses* declares an alias: the regions whose space it shares on purpose; without *at* it starts where the
    first of them starts. *touches* is how much the kernel actually reads and writes, from the region's first
    element on; by default *size*.
    """

    name: str = field()
    size: expr.Expr = field(converter=expr.as_expr)
    dtype: DType | expr.ElementType
    meaning: str = ""
    align: expr.Expr = field(default=expr.nbytes(1), converter=_in_bytes, kw_only=True)
    at: expr.Expr | None = field(default=None, converter=optional(expr.as_expr), kw_only=True)
    reuses: tuple[str, ...] = field(default=(), converter=_names, kw_only=True)
    touches: expr.Expr | None = field(default=None, converter=optional(expr.as_expr), kw_only=True)

    @name.validator
    def _is_a_name(self, _: object, value: str) -> None:
        if not value.isidentifier() or value.startswith("_"):
            raise UsageError(f"{value!r} cannot name a region; use an identifier, the pointer's name")

    def in_bytes(self, size: expr.Expr) -> expr.Expr:
        """Return *size* in bytes: multiplied by the sizeof of the region's dtype unless its unit is bytes."""
        return size if unit(size) is expr.Unit.BYTES else size * expr.SizeOf(self.dtype)

    @property
    def bytes(self) -> expr.Expr:
        """The region's size in bytes."""
        return self.in_bytes(self.size)


@frozen
class Stage:
    """Regions that are alive at the same time. *keeps* names regions of earlier stages that stay alive."""

    name: str
    regions: tuple[Region, ...] = field(converter=tuple[Region, ...])
    keeps: tuple[str, ...] = field(default=(), converter=_names)


@frozen
class RegionBounds:
    """The bounds of a region, as formulas in bytes: its first byte and the byte after its last."""

    region: Region
    offset: expr.Expr
    end: expr.Expr
    kept: bool = False


@frozen
class StagePlaces:
    """A stage with the bounds of all regions alive in it, and its size in bytes."""

    name: str
    places: tuple[RegionBounds, ...]
    used: expr.Expr


def _outermost(ends: Sequence[expr.Expr]) -> expr.Expr:
    # Sizes are never negative, so max(a, a + b) is a + b, which keeps the displayed formula short.
    """Return the maximum of *ends*, without ends that are a part of another end."""
    distinct = list(dict.fromkeys(ends))
    inside = {part for end in distinct for part in list(expr.walk(end))[1:]}
    last = [end for end in distinct if end not in inside]
    return last[0] if len(last) == 1 else expr.maximum(*last)


def _offset(region: Region, cursor: expr.Expr, alive: dict[str, RegionBounds]) -> expr.Expr:
    if region.at is not None:
        return region.in_bytes(region.at)
    if region.reuses:
        return alive[region.reuses[0]].offset
    # The start of a buffer satisfies every alignment, and an alignment of 1 needs no rounding.
    return cursor if region.align == expr.nbytes(1) or cursor == _START else expr.PAD_UP(cursor, region.align)


_START = expr.Amount(0, expr.Unit.BYTES)


def _check_names(stage: Stage, earlier: dict[str, RegionBounds]) -> None:
    for name in stage.keeps:
        if name not in earlier:
            legal = ", ".join(earlier) or "none"
            raise UsageError(
                f"stage {stage.name!r} keeps {name!r}, which no earlier stage has; earlier regions: {legal}"
            )
    seen = set(stage.keeps)
    for region in stage.regions:
        if region.name in seen:
            raise UsageError(f"stage {stage.name!r} has two regions called {region.name!r}; rename one")
        for alias in region.reuses:
            if alias not in seen:
                raise UsageError(
                    f"{region.name!r} reuses {alias!r}, which is not alive in stage {stage.name!r};"
                    " name a region that the stage keeps or that stands before it"
                )
        seen.add(region.name)


def _place_stage(stage: Stage, earlier: dict[str, RegionBounds]) -> StagePlaces:
    _check_names(stage, earlier)
    alive = {
        n: RegionBounds(earlier[n].region, earlier[n].offset, earlier[n].end, kept=True) for n in stage.keeps
    }
    cursor = _outermost([p.end for p in alive.values()]) if alive else _START
    for region in stage.regions:
        offset = _offset(region, cursor, alive)
        # Otherwise, the formula of each first region would show "0 + size".
        end = region.bytes if offset == _START else offset + region.bytes
        alive[region.name] = RegionBounds(region, offset, end)
        # An alias takes no space of its own: the next region is packed after the region before it.
        if not region.reuses:
            cursor = end
    if not alive:
        raise UsageError(f"stage {stage.name!r} has no region; give it one or leave it out")
    return StagePlaces(stage.name, tuple(alive.values()), _outermost([p.end for p in alive.values()]))


def place_stages(stages: Sequence[Stage]) -> tuple[StagePlaces, ...]:
    """Return the bounds of all regions in every stage.

    Raises `UsageError` for names that are declared twice or not at all.
    """
    earlier: dict[str, RegionBounds] = {}
    placed = []
    for stage in stages:
        done = _place_stage(stage, earlier)
        for place in done.places:
            before = earlier.get(place.region.name)
            if before is not None and not place.kept and place != before:
                raise UsageError(
                    f"region {place.region.name!r} of stage {stage.name!r} lies elsewhere in an earlier stage;"
                    " keep it, or give it another name"
                )
            # A region that keeps its position is not a contradiction.
            earlier[place.region.name] = place
        placed.append(done)
    names = [s.name for s in stages]
    if len(set(names)) != len(names) or not names:
        raise UsageError("a plan has one stage or more, each with its own name")
    return tuple(placed)
