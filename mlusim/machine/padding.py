"""Counts that a kernel padded: what they were before, for the lanes that hold an element.

A count that has an attribute ``unpadded``, as what PAD_UP returns, was rounded up from that number.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlusim.isa.declare import Intrinsic
from mlusim.machine.refuse import count_of

if TYPE_CHECKING:
    from mlusim.machine.mlu import Mlu


def padded_count(
    mlu: "Mlu", row: Intrinsic, name: str, value: Any, before: Mapping[str, int] | None
) -> tuple[int, Mapping[str, int] | None]:
    """*value* as `count_of` gives it, and *before* with what it was before it was padded, if it was."""
    count, unpadded = count_of(mlu, row, name, value), getattr(value, "unpadded", None)
    return count, before if unpadded is None else {**(before or {}), name: unpadded}


def before_padding(row: Intrinsic, extent: str) -> str:
    """Code for *extent* with the counts of *row* as they were before, which the code has as ``unpadded``."""
    names = [p.name for p in row.given if p.kind == "count"]
    counts = ", ".join(f"unpadded.get({name!r}, {name})" for name in names)
    return f"(lambda {', '.join(names)}: {extent})({counts})"
