"""Expressions that only host code has."""

from typing import TYPE_CHECKING

from attrs import define

from mlusim.frontend.bangc.ir.names import Span
from mlusim.frontend.bangc.types import Type

if TYPE_CHECKING:
    from mlusim.frontend.bangc.ir.expressions import Expr


@define(eq=False)
class New:
    """``new``: memory for one object of type *of* or, with a count, for an array.

    With *zero* that is its first value; *arguments* are what the constructor of a library class takes.
    """

    of: Type
    count: "Expr | None"
    zero: bool
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class Throw:
    """``throw``: of *value*, whose type is called by *names*, its own and those of its bases; again without one."""

    value: "Expr | None"
    names: tuple[str, ...]
    type: Type
    span: Span


@define(eq=False)
class Dispatch:
    """A call of a virtual method: *targets* are the symbols by the class of the first argument's object."""

    name: str
    targets: dict[str, str]
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class DynamicCast:
    """``dynamic_cast``: the pointer, or null where its object is no *name*."""

    value: "Expr"
    name: str
    type: Type
    span: Span


@define(eq=False)
class Delete:
    """``delete`` and, with *array*, ``delete[]``."""

    pointer: "Expr"
    array: bool
    type: Type
    span: Span
