"""Counts that a kernel padded: what they were before, for the lanes that hold an element."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Self

from mlusim.engine.refuse import count_of
from mlusim.isa.declare import Intrinsic, Parameter

if TYPE_CHECKING:
    from mlusim.engine.contract import IssuingMlu


class Padded(int):
    """An integer that was rounded up, and that remembers from what: ``unpadded``; ``plain`` is it without that.

    It is an integer in every other way.  Products keep both, so that a count of padded rows and padded columns
    says how many of its elements are padding; the lanes of a launch are counted by it.
    """

    plain: int
    unpadded: int

    def __new__(cls, value: int, unpadded: int) -> Self:
        """Make the count *value*, which was *unpadded* before it was rounded up."""
        count = int.__new__(cls, value)
        count.plain = int(value)
        count.unpadded = unpadded
        return count

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]
        """Return the arguments from which a copy is made."""
        return self.plain, self.unpadded

    def __mul__(self, other: int) -> int:
        """Return the product; the count before padding is multiplied, too."""
        if other.__class__ is not int and not isinstance(other, int):
            return NotImplemented  # for NumPy's numbers and the like
        product = int.__new__(Padded, self.plain * other)
        product.plain = self.plain * other
        product.unpadded = self.unpadded * getattr(other, "unpadded", other)
        return product

    __rmul__ = __mul__


def count_code(counts: list[Parameter], *, vector: bool) -> Iterator[str]:
    """Yield the code that makes *counts* integers and, for *vector* rows, ``unpadded`` what they were before padding, or None.

    That is the number itself where the row has one count, else a mapping by name.
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
    """Return *value* as `count_of` does, and *before* with what *name* was before it was padded, if it was."""
    if value.__class__ is Padded:
        return value.plain, {**(before or {}), name: value.unpadded}
    return count_of(mlu, row, name, value), before
