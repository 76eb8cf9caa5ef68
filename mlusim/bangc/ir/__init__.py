"""The typed intermediate form of BANG C, produced by lowering and read by all renderers."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from attrs import Factory, define, frozen

from mlusim.bangc import names, types as t
from mlusim.bangc.types import BOOL, INT8, INT64, VOID, Field, Pointer, Struct, Type

# The objects to which nodes refer: pieces of source text, locals, variables at file scope.


class Span(NamedTuple):
    """A piece of a source file; lines and columns count from 1, ``end_column`` is the column after the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Storage(Enum):
    """The storage class of a local: where its bytes are."""

    VALUE = "value"
    CELL = "cell"
    MEMORY = "memory"
    STATIC = "static"


@define(eq=False)
class Local:
    """A parameter or a variable of a function.

    ``name`` is unique in the function and safe as an identifier; ``source_name`` is the name in the source;
    ``spelling`` the type as written. ``space`` is "nram", "wram", "sram" or "ldram" for MEMORY. With
    ``stack`` the source names no space, so a compiler would put the bytes on its stack. ``block`` is the
    statement at whose end the name goes out of scope; None: the function. ``fixed`` describes a static const
    variable in the message that refuses a store; "" if stores are allowed. ``constant`` does so for a const
    variable that is not static. ``align`` is the explicit alignment, in bytes, of the variable or of its
    structure, else 1.
    """

    name: str
    source_name: str
    type: "Type"
    spelling: str
    span: Span
    storage: Storage = Storage.VALUE
    space: str = ""
    parameter: bool = False
    stack: bool = False
    home: str = ""  # key of a STATIC variable, the same in all functions that see it
    block: Span | None = None
    fixed: str = ""
    constant: str = ""
    align: int = 1

    @property
    def in_memory(self) -> bool:
        """True if its bytes are in simulated memory; static arrays of numbers are, except doubles, which device memory lacks."""
        if self.storage is not Storage.STATIC or not isinstance(self.type, t.Array):
            return self.storage is Storage.MEMORY
        kind = t.element_of(self.type)
        return isinstance(kind, t.Arithmetic) and kind != t.DOUBLE

    @property
    def begins_unset(self) -> bool:
        """True if it has no value after a declaration without initialiser, as checkers track it: a number or struct outside memory."""
        whole = isinstance(self.type, Struct) and not self.type.union
        outside = self.storage in (Storage.VALUE, Storage.CELL) and bool(self.source_name)
        return outside and (whole or isinstance(self.type, t.Arithmetic))

    @property
    def points_to_const(self) -> bool:
        """True if its spelled type is a pointer to const, such as ``const T *`` or ``T const *``."""
        pointee, star, _ = self.spelling.rpartition("*")
        # In a pointer to pointers, const does not apply to the inner pointers.
        return bool(star) and "*" not in pointee and "const" in pointee.split()


GDRAM = "gdram"
"""The space of variables that exist once per device: ``__mlu_device__`` and ``__mlu_const__`` at file scope."""


@define(eq=False)
class Global:
    """A variable at file scope: memory of ``space``, or a host variable or constant if that is "".

    ``symbol`` is its mangled name, unique in the file. ``initial`` has the values of its scalars in order of
    memory, or None without a constant initialiser. ``fixed`` describes a const variable in the message that
    refuses a store; "" if stores are allowed. ``copied``: the host may copy to it, so code must load its
    value. ``align`` is the explicit alignment, in bytes, of the variable or of its structure, else 1.
    """

    name: str
    symbol: str
    type: "Type"
    space: str
    span: Span
    initial: "tuple[Any, ...] | None" = None
    fixed: str = ""
    alone: bool = True  # no other variable in the file has this name
    copied: bool = False
    align: int = 1

    @property
    def alias(self) -> str:
        """A name that is unique in the rendered code."""
        return names.VARIABLE + re.sub(r"\W", "_", self.symbol)

    @property
    def called(self) -> str:
        """Its name in rendered code: the source name if that is unique."""
        return self.name if self.alone and not names.taken(self.name) else self.alias


@frozen
class TranslationProblem:
    """The reason why code does not translate: the construct in two or three words, a sentence, and the text with a caret."""

    construct: str
    message: str
    span: Span
    excerpt: str = ""

    def __str__(self) -> str:
        return f"{self.span}: {self.message}" + (f"\n{self.excerpt}" if self.excerpt else "")


# -- places ----------------------------------------------------------------------------------------
#
# A type that follows from the parts of a node is a property, not a field, so the two cannot differ.


@define(eq=False)
class LocalStorage:
    """The storage of a local variable."""

    local: Local
    span: Span

    @property
    def type(self) -> Type:
        """The type of the local."""
        return self.local.type


@define(eq=False)
class GlobalPlace:
    """The storage of a variable at file scope."""

    variable: Global
    span: Span

    @property
    def type(self) -> Type:
        """The type of the variable."""
        return self.variable.type


@define(eq=False)
class Element:
    """``pointer[index]``: *index* counts elements of the pointer's target type."""

    pointer: "Expr"
    index: "Expr"
    span: Span

    @property
    def type(self) -> Type:
        """The type that the pointer points to."""
        return self.pointer.type.to  # type: ignore[union-attr]


@define(eq=False)
class Member:
    """A member of the struct at a place: ``base.name``."""

    base: "Place"
    field: Field
    span: Span

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.field.name

    @property
    def offset(self) -> int:
        """The offset of the member in the struct, in bytes."""
        return self.field.offset

    @property
    def type(self) -> Type:
        """The type of the member."""
        return self.field.type


@define(eq=False)
class Temporary:
    """A value in storage of its own, for example one that is bound to a reference; ``fixed`` describes a constant at file scope."""

    value: "Expr"
    span: Span
    fixed: str = ""

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.value.type


Place = LocalStorage | GlobalPlace | Element | Member | Temporary


@define(eq=False)
class _OfPlace:
    place: Place

    @property
    def type(self) -> Type:
        """The type of the place."""
        return self.place.type


# -- expressions -----------------------------------------------------------------------------------


@define(eq=False)
class Const:
    """A number (int, float, bool), or None for the null pointer."""

    value: Any
    type: Type
    span: Span


@define(eq=False)
class Text:
    """A string literal of the source."""

    value: str
    span: Span
    type = Pointer(INT8)


@define(eq=False)
class Builtin:
    """A built-in variable of the device: ``taskId``, ``coreDim``, ..."""

    name: str
    type: Type
    span: Span


@define(eq=False)
class Load(_OfPlace):
    """The value stored at a place; of a struct, a copy."""

    span: Span


@define(eq=False)
class AddressOf:
    """A pointer to a place; if the place is an array and ``type`` points to its elements, a pointer to the first element."""

    place: Place
    type: Type
    span: Span


@define(eq=False)
class Convert:
    """A conversion from ``value.type`` to ``type``; conversions within one width and kind are omitted.

    Numbers convert as in C (float to integer toward zero; out of range saturates, as the vendor's conversions
    do). Between pointers it is a cast; between pointers and integers it gives the device address; to bool it
    compares with zero. ``cast``: the conversion is explicit in the source.
    """

    value: "Expr"
    type: Type
    span: Span
    cast: bool = False


@define(eq=False)
class Unary:
    """``-`` or ``~`` in the type of the operand, or ``!`` of a bool."""

    op: str
    value: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Binary:
    """``+ - * / % & | ^ << >>`` on two operands of ``type``; the right operand of a shift keeps its type."""

    op: str
    left: "Expr"
    right: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Compare:
    """``== != < <= > >=`` of two numbers of one type or of two pointers; the result is a bool."""

    op: str
    left: "Expr"
    right: "Expr"
    span: Span
    type = BOOL


@define(eq=False)
class Logical:
    """``&&`` or ``||`` of two bools; the right one is evaluated only if the left one does not decide."""

    op: str
    left: "Expr"
    right: "Expr"
    span: Span
    type = BOOL


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
    """The comma operator: evaluate the first operand for its effect; the value is that of the second."""

    first: "Expr"
    second: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Offset:
    """``pointer + count`` or, with *back*, ``pointer - count``; counts elements of the target type.

    With *referred* the result is a reference, so the element must exist.
    """

    pointer: "Expr"
    count: "Expr"
    back: bool
    span: Span
    referred: bool = False

    @property
    def type(self) -> Type:
        """The type of the pointer."""
        return self.pointer.type


@define(eq=False)
class Distance:
    """``left - right`` of two pointers, in elements."""

    left: "Expr"
    right: "Expr"
    span: Span
    type = INT64


@define(eq=False)
class Assign(_OfPlace):
    """Store a value to a place of its type; the value of the expression is the stored value."""

    value: "Expr"
    span: Span


@define(eq=False)
class Update(_OfPlace):
    """``place op= value``, ``++`` and ``--``: the place is evaluated once.

    The old value is converted to ``within``, combined with *value* (which has type ``within``, except for
    shifts and pointers), and converted back to ``type``. With *old* the result is the old value (``i++``),
    otherwise the new one. On pointers ``op`` is "+" or "-" and *value* counts elements.
    """

    op: str
    value: "Expr"
    within: Type
    old: bool
    span: Span


@define(eq=False)
class Call:
    """A call of a function of the sources, by symbol; the first argument of a method is the address of its object."""

    symbol: str
    name: str
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class IntrinsicCall:
    """A call of an instruction: ``row`` is the name of its row, ``overload`` the parameter types of the chosen overload.

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
    """A struct built from the values of its fields in order; missing fields are zero.

    For an array, the values are its elements; arrays and structs may be nested.
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
    """A call of a virtual method: *targets* has the symbols by class of the object, which is the first argument."""

    name: str
    targets: dict[str, str]
    arguments: "tuple[Expr, ...]"
    type: Type
    span: Span


@define(eq=False)
class DynamicCast:
    """``dynamic_cast``: the pointer, or null if its object is not a *name*."""

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
    span: Span
    type = VOID


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


# Statements of the intermediate form.


# Statements are compared by identity: two statements with the same text are different places of the program.
@define(eq=False)
class Declare:
    """The declaration of a local, with a value (a `Compose` for arrays and structs) or without.

    Without a value, its bytes are unspecified. The value of a STATIC local is computed once.
    """

    local: Local
    value: "Expr | None"
    span: Span


@define(eq=False)
class Evaluate:
    """An expression that is evaluated for its effect."""

    value: "Expr"
    span: Span


@define(eq=False)
class If:
    """``if``; *other* may be empty. The type of the test is bool."""

    test: "Expr"
    then: "tuple[Statement, ...]"
    other: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Loop:
    """``while`` and ``for``; with *late* ``do``, which tests after the body.

    ``continue`` goes to *step*, then to *test*; a test of None is true. The variables that a ``for`` declares
    are in a `Block` around the loop. *unrolled*: a pragma requests that the loop be unrolled.
    """

    test: "Expr | None"
    step: "Expr | None"
    body: "tuple[Statement, ...]"
    late: bool
    span: Span
    unrolled: bool = False


@define(eq=False)
class Section:
    """A part of a switch: the values that jump to it (also ``default``, if *default*), then its statements.

    Control falls through into the next section unless a `Break` leaves the switch.
    """

    # C++ requires constants here, and the lowering has folded them.
    labels: tuple[int, ...]
    default: bool
    body: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Switch:
    """A switch over an integer."""

    value: "Expr"
    sections: tuple[Section, ...]
    span: Span


@define(eq=False)
class Labelled:
    """Statements in sections; the first has no label, *labels* name the others. A `Goto` continues at a section."""

    sections: "tuple[tuple[Statement, ...], ...]"
    labels: tuple[str, ...]
    span: Span


@define(eq=False)
class Goto:
    """Continue at a label of an enclosing `Labelled`."""

    label: str
    span: Span


@define(eq=False)
class Finally:
    """Run *body*, and then *last* however *body* is left: the destructors of its objects."""

    body: "tuple[Statement, ...]"
    last: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Break:
    """Leave the innermost loop or switch."""

    span: Span


@define(eq=False)
class Continue:
    """Go to the step of the innermost loop."""

    span: Span


@define(eq=False)
class Return:
    """Leave the function, with a value of its result type."""

    value: "Expr | None"
    span: Span


@define(eq=False)
class Block:
    """Statements with a scope of their own; an empty block is only a location for the debugger, such as a macro invocation."""

    body: "tuple[Statement, ...]"
    span: Span


Statement = (
    Declare | Evaluate | If | Loop | Switch | Break | Continue | Return | Block | Labelled | Goto | Finally
)


# Functions and translation units of the intermediate form.

REST = f"{names.OWN}rest"  # the arguments after the parameters of a variadic function


@define(eq=False)
class Function:
    """One function of the sources, or one specialisation of a template.

    ``name`` is the display name, ``f<float>``; ``symbol`` the mangled one. ``kind`` is "kernel", "device" or
    "host". Parameters come first in ``locals``. If ``problem`` is set, the body is empty and a call is a
    fault with that message. ``owner`` is the class of a method, whose first parameter is ``this``.
    """

    name: str
    symbol: str
    kind: str
    parameters: tuple[Local, ...]
    locals: tuple[Local, ...]
    result: Type
    body: "tuple[Statement, ...]"
    span: Span
    problem: TranslationProblem | None = None
    external: bool = False  # declared here but defined in another file: found by symbol when linked
    variadic: bool = False  # accepts more arguments than parameters
    hosted: "Span | None" = None  # the location of a host function's body, which only the host compiler reads
    scope: str = ""  # the enclosing namespaces and classes, each followed by "::"
    end: int = 0  # the line at which its body ends, 0 without a body

    @property
    def definition(self) -> tuple[str, str, int]:
        """The key of the definition; the symbol is not enough, as static functions in two files may share it."""
        return self.symbol, self.span.file, self.span.line

    @property
    def framed(self) -> tuple[str, int, str]:
        """The key of its frames in Python, as `kernel_frames.function_of` has it."""
        return self.span.file, self.span.line, self.name


@define(eq=False)
class TranslationUnit:
    """One translation unit: its functions and variables by symbol, in the order in which lowering reaches them."""

    path: str
    functions: dict[str, Function] = Factory(dict)
    globals: dict[str, Global] = Factory(dict)
    initialisers: "dict[str, Expr]" = Factory(
        dict
    )  # values of host variables that are not constants, by symbol
    structs: dict[str, Struct] = Factory(dict)
    # For each enumeration, by name, the values of its enumerators by name.
    enumerations: Mapping[str, Mapping[str, int]] = Factory(dict)
    includes: Mapping[str, str] = Factory(dict)  # path of each file that was read -> digest of its content
