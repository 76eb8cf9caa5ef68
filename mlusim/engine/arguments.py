"""The arguments of a call before a row takes them: counts that were padded, and the operand that makes it a call of a longer form.

A kernel's padding is remembered for the lanes without an element. As in C, the types of the arguments decide which
form is called; the code of the shorter one tests the class of one argument.
"""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

from mlusim.counted import plural
from mlusim.engine.refuse import count_of, refuse_here
from mlusim.errors import RuleFault
from mlusim.isa.declare import NO_DEFAULT, Intrinsic, Parameter
from mlusim.memory.pointer import Ptr

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


class LeftOut:
    """The default of a count parameter, until it is clear which form was called."""

    def __index__(self) -> int:
        raise TypeError

    def __repr__(self) -> str:
        return "left out"


LEFT = LeftOut()


def present(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the caller passed."""
    return {name: value for name, value in arguments.items() if value is not LEFT}


def open_signature(row: Intrinsic) -> str:
    """Return a parameter list that accepts calls of both forms."""
    names = (f"{p.name}=LEFT" if p.kind == "count" else p.name for p in row.given)
    return ", ".join(("mlu", *names, "*more", "**named"))


def other_form(row: Intrinsic, arguments: str) -> Iterator[str]:
    """Yield code that forwards a call of the longer form, and fills in the defaults of the shorter one."""
    counts = [p for p in row.given if p.kind == "count"]
    longer = f"longer(mlu, *present({arguments}).values(), *more)"
    inserted = f"{counts[0].name}.__class__ is Ptr or more" if counts else "more"
    yield f"if {inserted}: return {longer}"
    # A keyword that this form does not have: the longer form accepts or refuses it.
    yield f"if named: return longer(mlu, **present({arguments}), **named)"
    for p in counts:
        if p.default is not NO_DEFAULT:
            yield f"if {p.name} is LEFT: {p.name} = default_{p.name}"


def complete(row: Intrinsic, longer: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method *longer* in a wrapper that reports missing operands as faults of *row*, the row that the user named."""
    parameters = signature(longer).parameters.values()
    needed = sum(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters) - 1

    def method(mlu: Any, *arguments: object, **named: object) -> Any:
        if len(arguments) + len(named) < needed:
            fault = RuleFault(
                f"{len(arguments) + len(named)} {plural(len(arguments) + len(named), 'operand')}",
                legal=row.signature,
            )
            raise refuse_here(mlu, row, fault)
        return longer(mlu, *arguments, **named)

    return method


def either_form(
    row: Intrinsic, shorter: Callable[..., Any], longer: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the method of *row*, which forwards calls of the longer form to the method *longer*."""
    assert row.overload is not None
    longer = complete(row, longer)
    if "longer" in shorter.__code__.co_names:
        shorter.__globals__["longer"] = longer
        return shorter
    at, inserted = sum(p.kind != "count" for p in row.given), row.overload[1]

    def refused_unless_longer(mlu: object, *arguments: object, **named: object) -> Any:
        if inserted in named or (len(arguments) > at and arguments[at].__class__ is Ptr):
            return longer(mlu, *arguments, **named)
        return shorter(mlu, *arguments, **named)

    return refused_unless_longer
