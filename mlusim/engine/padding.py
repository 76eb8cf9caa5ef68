"""Counts that a kernel rounded up (padded): they remember their value before, the number of lanes with real elements."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Self

from mlusim.engine.refuse import count_of
from mlusim.isa.declare import Intrinsic, Parameter

if TYPE_CHECKING:
    from mlusim.engine.contract import IssuingMlu


class Padded(int):
    """An integer that was rounded up; ``unpadded`` is the value before, ``plain`` the rounded value as an ordinary int.

    In every other way it is an integer. A product also multiplies the unpadded values, so that the count of a
    matrix with padded rows and columns knows how many elements are padding. Launches count their useful lanes
    with it.
    """

    plain: int
    unpadded: int

    def __new__(cls, value: int, unpadded: int) -> Self:
        """Create the count *value*, which was *unpadded* before rounding up."""
        count = int.__new__(cls, value)
        count.plain = int(value)
        count.unpadded = unpadded
        return count

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]
        """Return the arguments with which a copy is created."""
        return self.plain, self.unpadded

    def __mul__(self, other: int) -> int:
        """Return the product; the unpadded values are multiplied too."""
        if other.__class__ is not int and not isinstance(other, int):
            return NotImplemented  # for NumPy's numbers and similar types
        product = int.__new__(Padded, self.plain * other)
        product.plain = self.plain * other
        product.unpadded = self.unpadded * getattr(other, "unpadded", other)
        return product

    __rmul__ = __mul__


def count_code(counts: list[Parameter], *, vector: bool) -> Iterator[str]:
    """Yield code that converts *counts* to integers and, for *vector* rows, sets ``unpadded`` to their unpadded values, or None.

    For a row with one count ``unpadded`` is an integer, else a mapping by name.
    """
    if vector:
        yield "unpadded = None"
    for p in counts:
        optional = f"{p.name} is not None and " if p.default is None else ""
        asked = f"(mlu, row, {p.name!r}, {p.name}"
        yield f"if {optional}{p.name}.__class__ is not int:"
        if not vector:
            yield f"    {p.name} = count_of{asked})"
        elif len(counts) == 1:
            yield f"    if {p.name}.__class__ is Padded: unpadded = {p.name}.unpadded; {p.name} = {p.name}.plain"
            yield f"    else: {p.name} = count_of{asked})"
        else:
            yield f"    {p.name}, unpadded = padded_count{asked}, unpadded)"


def padded_count(
    mlu: "IssuingMlu", row: Intrinsic, name: str, value: object, before: Mapping[str, int] | None
) -> tuple[int, Mapping[str, int] | None]:
    """Return *value* as an integer, and the mapping *before*, with the unpadded value of *name* if it was padded."""
    if value.__class__ is Padded:
        return value.plain, {**(before or {}), name: value.unpadded}
    return count_of(mlu, row, name, value), before
