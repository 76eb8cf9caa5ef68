"""The typed intermediate form of BANG C: what analysis makes and what every rendering reads."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from attrs import Factory, define, frozen

from mlusim.frontend.bangc import names, types as t
from mlusim.frontend.bangc.types import BOOL, INT8, INT64, VOID, Field, Pointer, Record, Type

# The referents of nodes: pieces of source text, locals, variables at file scope.


class Span(NamedTuple):
    """A piece of a source file: lines and columns count from 1, ``end_column`` is behind the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Storage(Enum):
    """The storage of a local's bytes; see the module's text."""

    VALUE = "value"
    CELL = "cell"
    MEMORY = "memory"
    STATIC = "static"


@define(eq=False)
class Local:
    """A parameter or a variable of a function.

    ``name`` is unique in the function and safe as an identifier; ``source_name`` is what the
    programmer wrote; ``spelling`` the type as written.  ``space`` is "nram", "wram", "sram" or
    "ldram" for MEMORY.  With ``stack`` the source names no space: a compiler has the bytes on its stack.
    ``block`` is the statement at whose end the name goes out of scope; None: the function.  ``fixed`` has the words for a
    static one in the sentence that refuses a store to it; "" where stores are allowed.  ``constant`` has them for one that is
    const and not static.  ``align`` are the bytes of an alignment of its own, or of its structure, else 1.
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
    home: str = ""  # of STATIC: its key, the same in every function that sees it
    block: Span | None = None
    fixed: str = ""
    constant: str = ""
    align: int = 1

    @property
    def in_memory(self) -> bool:
        """Return whether its bytes are in simulated memory; those of a static array of numbers are, but device memory has no doubles."""
        if self.storage is not Storage.STATIC or not isinstance(self.type, t.Array):
            return self.storage is Storage.MEMORY
        kind = t.element_of(self.type)
        return isinstance(kind, t.Arithmetic) and kind != t.DOUBLE

    @property
    def begins_unset(self) -> bool:
        """Return whether it has no value behind a declaration without one, as far as checkers follow it: a number or a struct outside of memory."""
        whole = isinstance(self.type, Record) and not self.type.union
        outside = self.storage in (Storage.VALUE, Storage.CELL) and bool(self.source_name)
        return outside and (whole or isinstance(self.type, t.Arithmetic))

    @property
    def points_to_const(self) -> bool:
        """Return whether it is spelt as a pointer through which nothing is written, as ``const T *`` or ``T const *``."""
        pointee, star, _ = self.spelling.rpartition("*")
        # In a pointer to pointers, const says nothing about the pointers that it points to.
        return bool(star) and "*" not in pointee and "const" in pointee.split()


GDRAM = "gdram"
"""The space of a variable that the device has once: ``__mlu_device__`` and ``__mlu_const__`` at file scope."""


@define(eq=False)
class Global:
    """A variable at file scope: memory of ``space``, or a host or constant variable where that is "".

    ``symbol`` is its mangled name, unique in the file.  ``initial`` are the values of its scalars in
    order of memory where it has an initialiser that is constant, None where it has none.  ``fixed`` names what
    no store may change in a sentence; "" for what may change.  ``copied``: the host may copy to it, so that code loads it.
    ``align`` are the bytes of an alignment of its own, or of its structure, else 1.
    """

    name: str
    symbol: str
    type: "Type"
    space: str
    span: Span
    initial: "tuple[Any, ...] | None" = None
    fixed: str = ""
    alone: bool = True  # no other variable of the file has the name
    copied: bool = False
    align: int = 1

    @property
    def alias(self) -> str:
        """A name that nothing else has."""
        return names.VARIABLE + re.sub(r"\W", "_", self.symbol)

    @property
    def called(self) -> str:
        """Its name in code: its own, if nothing else has that."""
        return self.name if self.alone and not names.taken(self.name) else self.alias


@frozen
class TranslationProblem:
    """Why something does not translate: the construct in two or three words, a sentence, the text with a caret."""

    construct: str
    message: str
    span: Span
    excerpt: str = ""

    def __str__(self) -> str:
        return f"{self.span}: {self.message}" + (f"\n{self.excerpt}" if self.excerpt else "")


# -- places ----------------------------------------------------------------------------------------
#
# The type of a node that follows from its parts is not a field of it: two could differ.


@define(eq=False)
class LocalStorage:
    """The storage of a local."""

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
    """``pointer[index]``: *index* counts elements of what the pointer points to."""

    pointer: "Expr"
    index: "Expr"
    span: Span

    @property
    def type(self) -> Type:
        """The type that the pointer points to."""
        return self.pointer.type.to  # type: ignore[union-attr]


@define(eq=False)
class Member:
    """A member of a record at a place: ``base.name``."""

    base: "Place"
    field: Field
    span: Span

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.field.name

    @property
    def offset(self) -> int:
        """The bytes in front of it in the record."""
        return self.field.offset

    @property
    def type(self) -> Type:
        """The type of the member."""
        return self.field.type


@define(eq=False)
class Temporary:
    """A value that is given a place of its own, as where a constant binds to a reference; ``fixed`` names a constant at file scope."""

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
    """A number (int, float, bool) or, for a pointer, None: the null pointer."""

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
    """The value at a place; of a record, a copy."""

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
    span: Span
    type = BOOL


@define(eq=False)
class Logical:
    """``&&`` or ``||`` of two bools; the right one is evaluated only where it decides."""

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
    """Evaluate the first for its effect; the value is the second's."""

    first: "Expr"
    second: "Expr"
    type: Type
    span: Span


@define(eq=False)
class Offset:
    """``pointer + count`` or, with *back*, ``pointer - count``; in elements of what it points to.

    With *referred* it is a reference, so that the element is there.
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
    """Store a value of the place's type; the value of the expression is what was stored."""

    value: "Expr"
    span: Span


@define(eq=False)
class Update(_OfPlace):
    """``place op= value``, ``++`` and ``--``: the place is evaluated once.

    The old value is converted to ``within``, combined with *value* (of type ``within`` but for
    shifts and pointers), and converted back to ``type``.  With *old* the result is the old value
    (``i++``), otherwise the new one.  On pointers ``op`` is "+" or "-" and *value* counts elements.
    """

    op: str
    value: "Expr"
    within: Type
    old: bool
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
    """``dynamic_cast``: the pointer, or null where its object is not a *name*."""

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


# Compared by identity, here and below: two statements of the same text are two places of the program.
@define(eq=False)
class Declare:
    """A local comes to life, with a value (a `Compose` for arrays and records) or without.

    Without one its bytes are unspecified.  STATIC: the value is computed once.
    """

    local: Local
    value: "Expr | None"
    span: Span


@define(eq=False)
class Evaluate:
    """An expression for its effect."""

    value: "Expr"
    span: Span


@define(eq=False)
class If:
    """``if``; *other* may be empty.  The test is a bool."""

    test: "Expr"
    then: "tuple[Statement, ...]"
    other: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Loop:
    """``while`` and ``for``; with *late* ``do``, which tests after the body.

    ``continue`` goes to *step*, then to *test*; a test of None is true.  What a ``for`` declares is
    in a `Block` around the loop.  *unrolled*: a pragma in front asks for its turns to be written out.
    """

    test: "Expr | None"
    step: "Expr | None"
    body: "tuple[Statement, ...]"
    late: bool
    span: Span
    unrolled: bool = False


@define(eq=False)
class Section:
    """A part of a switch: the values that jump to it (``default`` too, where *default*), then its statements.

    Control falls through into the next section unless a `Break` leaves the switch.
    """

    # C++ wants constants here, and analysis has folded them.
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
    """Statements in sections, of which the first has no label and *labels* name the others; a `Goto` continues there."""

    sections: "tuple[tuple[Statement, ...], ...]"
    labels: tuple[str, ...]
    span: Span


@define(eq=False)
class Goto:
    """Continue at a label of a `Labelled` around."""

    label: str
    span: Span


@define(eq=False)
class Finally:
    """*body*, and *last* where it is left, in whatever way: the ends of objects with destructors."""

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
    """Statements with a scope of their own; without any it is a place to stop at: the invocation of a macro."""

    body: "tuple[Statement, ...]"
    span: Span


Statement = (
    Declare | Evaluate | If | Loop | Switch | Break | Continue | Return | Block | Labelled | Goto | Finally
)


# Functions and modules of the intermediate form.

REST = f"{names.OWN}rest"  # the arguments behind the parameters, in a function that takes some


@define(eq=False)
class Function:
    """One function of the sources, or one specialisation of a template.

    ``name`` is the display name, ``f<float>``; ``symbol`` the mangled one.  ``kind`` is "kernel",
    "device" or "host".  Parameters come first in ``locals``.  Where ``problem`` is set the body is
    empty and a call of it is a fault with that sentence.  ``owner`` is the class of a method, whose
    first parameter is ``this``.
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
    external: bool = False  # declared here, defined in another file: found by symbol when linked
    variadic: bool = False  # takes more arguments than it has parameters
    hosted: "Span | None" = None  # the place of a host function's body, which only the host's compiler reads
    scope: str = ""  # the namespaces and classes around it, with "::" behind each

    @property
    def definition(self) -> tuple[str, str, int]:
        """Return the key that no other function has: static ones of two files share a symbol."""
        return self.symbol, self.span.file, self.span.line


@define(eq=False)
class TranslationUnit:
    """One translation unit: its functions and variables by symbol, in the order in which they are met."""

    path: str
    functions: dict[str, Function] = Factory(dict)
    globals: dict[str, Global] = Factory(dict)
    initialisers: "dict[str, Expr]" = Factory(
        dict
    )  # of host variables whose value is not a constant, by symbol
    records: dict[str, Record] = Factory(dict)
    # Of each enumeration, by its name, the numbers by theirs.
    enumerations: Mapping[str, Mapping[str, int]] = Factory(dict)
    includes: Mapping[str, str] = Factory(dict)  # path of everything read -> digest of its content
