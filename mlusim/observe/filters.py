"""Filters in WRAM that lie as in memory: not as ``__bang_reshape_filter`` leaves them, and as the tensor unit reads them.

Where the tensor unit has the very bytes that a reshape was given, the reshape has been passed by.  Where nothing was
reshaped, and one linear copy brought the filters to WRAM, the host may have laid them out; that is a note.  Up to 64
filters lie in WRAM as in memory, and filters that are all alike lie anywhere.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import define, field

from mlusim.isa.tensor import FILTERS
from mlusim.isa.wram import LANES, laid_out
from mlusim.machine.events import Effect, Site
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.space import WRAM
from mlusim.observe.checker import place_of
from mlusim.observe.finding import Finding, RelatedPlace

if TYPE_CHECKING:
    from mlusim.machine.observed import Core

RESHAPE = "bang_reshape_filter"


class _Copy(NamedTuple):
    """One linear copy to WRAM: the bytes that it wrote, from and to, and where."""

    low: int
    high: int
    site: Site


@define
class Layouts:
    """The filters that were laid out for the tensor unit, and the copies that came to WRAM in one piece."""

    given: dict[int, Site] = field(factory=dict)  # contents that were reshaped, by their hash
    made: set[int] = field(factory=set)  # what became of them
    reshaped: bool = False
    linear: "dict[Core, dict[Allocation, _Copy]]" = field(factory=dict)

    def learn(self, effect: Effect) -> Finding | None:
        """Note *effect*, whose bytes are about to change; a finding where it multiplies filters that lie as in memory."""
        name = effect.name
        if name == RESHAPE:
            self._reshape(effect)
        elif name in FILTERS:
            return self._used(effect)
        elif effect.writes and (target := effect.writes[0]).allocation.space is WRAM:
            self._copied(effect, target)
        return None

    def wants(self, effect: Effect) -> bool:
        """Return whether the same step may tell something new the next time."""
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
            self.given.setdefault(hash(content), effect.site)
            self.made.add(hash(laid))

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
        if count <= LANES:
            return None
        access = _operand(effect, operand)
        copy = self.linear.get(effect.core, {}).get(access.allocation)
        if self.reshaped and not self.given:
            return None
        content = _content(access)
        if _laid_out(effect, content, count) == content:
            return None
        number = hash(content)
        if number in self.given:
            return None if number in self.made else _passed_by(effect, count, self.given[number], copy)
        if self.reshaped or copy is None or copy.low > access.span[0] or copy.high < access.span[1]:
            return None
        return _not_reshaped(effect, count, copy)


def _argument(effect: Effect, name: str) -> int:
    row = effect.step.row
    assert row is not None
    return next(int(a) for a, p in zip(effect.arguments, row.given, strict=True) if p.name == name)


def _operand(effect: Effect, name: str) -> Access:
    """Return the access that the operand *name* reads."""
    row = effect.step.row
    assert row is not None
    read = [key for key, operand in row.operands.items() if operand.access != "write"]
    return effect.reads[read.index(name)]


def _content(access: Access) -> bytes:
    return access.rows_of(access.allocation.raw).tobytes()


def _laid_out(effect: Effect, content: bytes, count: int) -> bytes:
    """*count* filters in their order as the 64 lanes hold them."""
    return laid_out(
        np.frombuffer(content, np.uint8), count, effect.core.session.board.arch.generation
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
        **place_of(effect.site),
        task=effect.core.place.task,
        intrinsic=effect.name,
        places=places,
        note=f"the tensor unit takes other filters for them: it reads WRAM as {LANES} lanes of {count // LANES}",
        hint="copy the destination of the reshape to WRAM",
        facts={"filters": count, "reshaped": str(reshaped)},
    )


def _not_reshaped(effect: Effect, count: int, copy: _Copy) -> Finding:
    return Finding(
        "memcheck-filters-not-reshaped",
        f"the {count} filters in WRAM came there in one linear copy, and no {effect.site.spelled(RESHAPE)} laid them out",
        **place_of(effect.site),
        task=effect.core.place.task,
        intrinsic=effect.name,
        places=(RelatedPlace(*copy.site, "they are copied to WRAM here"),),
        note=f"the tensor unit reads WRAM as {LANES} lanes of {count // LANES} filters (inferred); it is right where the "
        "host has laid them out like that",
        hint=f"filters that lie one after the other go through {effect.site.spelled(RESHAPE)} before the copy to WRAM",
        facts={"filters": count},
    )
