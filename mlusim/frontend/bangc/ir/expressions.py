"""Places and expressions of the intermediate form."""

from typing import Any

from attrs import define

from mlusim.frontend.bangc.ir.names import Global, Local, Span
from mlusim.frontend.bangc.types import Type

# -- places ----------------------------------------------------------------------------------------


@define(eq=False)
class LocalStorage:
    """The storage of a local."""

    local: Local
    type: Type
    span: Span


@define(eq=False)
class GlobalPlace:
    """The storage of a variable at file scope."""

    variable: Global
    type: Type
    span: Span


@define(eq=False)
class Element:
    """``pointer[index]``: *index* counts elements of ``type``; ``space`` is "" where it is not known."""

    pointer: "Expr"
    index: "Expr"
    type: Type
    span: Span
    space: str = ""


@define(eq=False)
class Member:
    """A member of a record at a place: ``base.name``, at ``offset`` bytes."""

    base: "Place"
    name: str
    offset: int
    type: Type
    span: Span


@define(eq=False)
class Temporary:
    """A value that is given a place of its own, as where a constant binds to a reference; ``fixed`` names a constant at file scope."""

    value: "Expr"
    type: Type
    span: Span
    fixed: str = ""


Place = LocalStorage | GlobalPlace | Element | Member | Temporary


# -- expressions -----------------------------------------------------------------------------------


@define(eq=False)
class Const:
    """A number (int, float, bool) or, for a pointer, None: the null pointer."""

    value: Any
    type: Type
    span: Span


@define(eq=False)
class Text:
    """A string literal of the source."""

    value: str
    type: Type
    span: Span


@define(eq=False)
class Builtin:
    """A built-in variable of the device: ``taskId``, ``coreDim``, ..."""

    name: str
    type: Type
    span: Span


@define(eq=False)
class Load:
    """The value at a place; of a record, a copy."""

    place: Place
    type: Type
    span: Span


@define(eq=False)
class AddressOf:
    """A pointer to a place; to its first element where the place is an array and ``type`` points to elements."""

    place: Place
    type: Type
    span: Span


@define(eq=False)
class Convert:
    """A conversion from ``value.type`` to ``type``; those of one width and kind are left out.

    Numbers convert as in C (float to integer toward zero; out of range saturates, as the vendor's
    conversions do).  Between pointers it is a cast; between pointers and integers the device
    address; to bool a comparison with zero.  ``cast``: the source writes it.
    """

    value: "Expr"
    type: Type
    span: Span
    cast: bool = False


@define(eq=False)
class Unary:
    """``-``, ``~`` in the type of the operand, or ``!`` of a bool."""

    op: str
    value: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Binary:
    """``+ - * / % & | ^ << >>`` on two operands of ``type``; the right one of a shift keeps its own."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Compare:
    """``== != < <= > >=`` between two numbers of one type, or two pointers; a bool."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Logical:
    """``&&`` or ``||`` of two bools; the right one is evaluated only where it decides."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Conditional:
    """``test ? then : other``."""

    test: "Expr"
    then: "Expr"
    other: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Comma:
    """Evaluate the first for its effect; the value is the second's."""

    first: "Expr"
    second: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Offset:
    """``pointer + count`` or, with *back*, ``pointer - count``; in elements of what it points to."""

    pointer: "Expr"
    count: "Expr"
    back: bool
    type: Type
    span: Span


@define(eq=False)
class Distance:
    """``left - right`` of two pointers, in elements."""

    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Assign:
    """Store a value of the place's type; the value of the expression is what was stored."""

    place: Place
    value: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Update:
    """``place op= value``, ``++`` and ``--``: the place is evaluated once.

    The old value is converted to ``within``, combined with *value* (of type ``within`` but for
    shifts and pointers), and converted back to ``type``.  With *old* the result is the old value
    (``i++``), otherwise the new one.  On pointers ``op`` is "+" or "-" and *value* counts elements.
    """

    place: Place
    op: str
    value: "Expr"
    within: Type
    old: bool
    type: Type
    span: Span


@define(eq=False)
class Call:
    """A call of a function of the sources, by symbol; a method has its object's address as first argument."""

    symbol: str
    name: str
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class IntrinsicCall:
    """A call of the instruction set: ``row`` names the table's row, ``overload`` are the chosen parameter types.

    Arguments of ``mluMemcpyDirection_t`` and other enumerations are integers.
    """

    row: str
    overload: tuple[Type, ...]
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class LibraryCall:
    """A call of the C library by name: ``sqrtf``, ``std::max``."""

    name: str
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span
    template: "tuple[Type | int, ...]" = ()


@define(eq=False)
class Compose:
    """A record from the values of its fields in order; those that are absent are zero.

    For an array the values of its elements; arrays and records nest.
    """

    values: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class FunctionAddress:
    """A pointer to a function of the sources."""

    symbol: str
    name: str
    type: Type
    span: Span


@define(eq=False)
class Invoke:
    """A call through a pointer to a function."""

    function: "Expr"
    arguments: "tuple[Expr, ...]"
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
class AsmOperand:
    """An operand of inline assembly: its name (or number), its constraint, and its value or place."""

    name: str
    constraint: str
    value: "Expr | Place"


@define(eq=False)
class Asm:
    """Inline assembly: its text with ``%[name]`` and its operands."""

    text: str
    outputs: tuple[AsmOperand, ...]
    inputs: tuple[AsmOperand, ...]
    type: Type
    span: Span


Expr = (
    Const
    | Text
    | Builtin
    | Load
    | AddressOf
    | Convert
    | Unary
    | Binary
    | Compare
    | Logical
    | Conditional
    | Comma
    | Offset
    | Distance
    | Assign
    | Update
    | Call
    | IntrinsicCall
    | LibraryCall
    | Dispatch
    | DynamicCast
    | Compose
    | FunctionAddress
    | Invoke
    | Asm
)
