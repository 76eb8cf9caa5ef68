"""Rows with a longer form: with one more operand before the counts, a call belongs to another row.

As in C, the types of the arguments decide; the code of the shorter form tests the class of one argument.
"""

from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from mlusim.counted import plural
from mlusim.engine.refuse import refuse_here
from mlusim.errors import RuleFault
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic


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


def open_signature(row: "Intrinsic") -> str:
    """Return a parameter list that accepts calls of both forms."""
    names = (f"{p.name}=LEFT" if p.kind == "count" else p.name for p in row.given)
    return ", ".join(("mlu", *names, "*more", "**named"))


def other_form(row: "Intrinsic", arguments: str) -> Iterator[str]:
    """Yield code that forwards a call of the longer form, and fills in the defaults of the shorter one."""
    counts = [p for p in row.given if p.kind == "count"]
    longer = f"longer(mlu, *present({arguments}).values(), *more)"
    inserted = f"{counts[0].name}.__class__ is Ptr or more" if counts else "more"
    yield f"if {inserted}: return {longer}"
    # A keyword that this form does not have: the longer form accepts or refuses it.
    yield f"if named: return longer(mlu, **present({arguments}), **named)"
    for p in counts:
        if p.default is not Parameter.empty:
            yield f"if {p.name} is LEFT: {p.name} = default_{p.name}"


def complete(row: "Intrinsic", longer: Callable[..., Any]) -> Callable[..., Any]:
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
    row: "Intrinsic", shorter: Callable[..., Any], longer: Callable[..., Any]
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
