"""The facts of a function while it is rendered, the forms of its locals and places, names of layouts, and casts of pointers."""

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

from mlusim.frontend.bangc import ir, names, types as t
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render.arithmetic import Range


@define(eq=False)
class Uses:
    """The names that a function's code refers to."""

    symbols: dict[str, None] = field(factory=dict)  # functions of the sources
    pointed: dict[str, None] = field(factory=dict)  # those of them whose address is taken
    invokes: bool = False  # whether a pointer to a function is called
    rows: dict[str, None] = field(factory=dict)  # of the instruction set
    globals: dict[str, None] = field(factory=dict)  # variables at file scope
    library: dict[str, None] = field(factory=dict)  # functions of the C library
    layouts: dict[str, Any] = field(factory=dict)  # what records and registers are made by
    builtins: dict[str, None] = field(factory=dict)


@define(eq=False)
class Context:
    """One function while it is rendered."""

    uses: Uses = field(factory=Uses)
    known: dict[str, Range] = field(factory=dict)  # values of locals that are bounded
    begins: dict[str, Range] = field(factory=dict)  # values that locals have at first
    changed: Mapping[ir.Local, int] = field(factory=dict)  # how many places store to a local
    waits: Mapping[int, int] = field(factory=dict)  # of loads from memory, as `ir.waits` tells
    # How many places cast a local to a type.
    casts: Mapping[tuple[ir.Local, t.Type], int] = field(factory=dict)
    steady: set[ir.Local] = field(factory=set)  # parameters, and locals that are made once in a call
    kept: dict[str, None] = field(factory=dict)  # names of casts that are made once; None until then
    names: frozenset[str] = frozenset()  # of locals
    turns: bool = False  # whether the code is in a loop
    checked: bool = False  # whether silent changes of values are reported
    covered: bool = False  # whether statements and outcomes of tests are reported
    within: bool = False  # whether the code is a part of a statement that has been reported
    stepping: bool = False  # whether the code is the step of a loop
    inside: bool = False  # whether the code is a function of its own, which has no other's names
    temporaries: int = 0
    before: list[ast.stmt] | None = None  # statements that come first, if the place allows any

    def temporary(self) -> str:
        """Return a name that nothing else has."""
        self.temporaries += 1
        return f"{names.OWN}{self.temporaries}"

    def variable(self, variable: ir.Global) -> ast.Name:
        """Return the name of a variable at file scope: its own, unless another variable or a local has the same."""
        self.uses.globals[variable.symbol] = None
        return b.name(variable.alias if variable.name in self.names else variable.called)

    def layout(self, kind: t.Type) -> ast.expr:
        """Return the name of the layout of a type that memory holds."""
        name, made = named_layout(kind)
        self.uses.layouts[name] = made
        return b.name(name)


def named_layout(kind: t.Type) -> tuple[str, t.Type]:
    """Return the name of the layout of a type, and the type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Arithmetic):
        plain = t.Arithmetic(t.element_name(kind), kind.kind, kind.size)
        return names.LAYOUT + plain.name, plain
    if isinstance(kind, t.Void | t.FunctionType):
        return f"{names.LAYOUT}void", t.VOID
    # A structure may be called float32, too, and two types may have names of which the same is left.
    text = str(kind)
    word = re.sub(r"\W+", "_", text).strip("_")[:40]
    return f"{names.LAYOUT}{word}_{hashlib.blake2b(text.encode(), digest_size=3).hexdigest()}", kind


def cell(local: ir.Local) -> bool:
    """Return whether a local is an object that holds a number, a pointer or a register."""
    return local.storage is not ir.Storage.VALUE and not isinstance(
        local.type, t.Array | t.Record | t.ClassType | t.VectorRegister
    )


def refers(at: ir.Element) -> bool:
    """Return whether *at* is the number that a variable points or refers to, which has it as ``v``.

    An object seen as bytes has none.
    """
    pointer = at.pointer
    if not (isinstance(pointer, ir.Load) and isinstance(pointer.place, ir.LocalStorage)):
        return False
    kind = pointer.place.local.type
    first = isinstance(at.index, ir.Const) and at.index.value == 0
    if not (isinstance(kind, t.Pointer) and first and isinstance(at.type, t.Arithmetic)):
        return False
    return kind.reference or at.type.size > 1 or at.type.kind == "bool"


# Casts of pointers in Python, and null pointers, which have a type, too.


def cast(c: "Context", made: ast.expr, given: ir.Expr, to: t.Pointer) -> ast.expr:
    """Return *made*, the value of *given*, as a pointer of type *to*; types whose layouts share a name need no cast."""
    pointee = to.to
    while isinstance(pointee, t.Array):
        pointee = pointee.of
    if isinstance(pointee, t.Void | t.FunctionType | t.ClassType):
        return made
    have = given.type
    name = named_layout(pointee)[0]
    if isinstance(have, t.Pointer) and named_layout(have.to)[0] == name:
        return made
    if isinstance(pointee, t.Record | t.Pointer | t.VectorRegister):
        return b.call("_c_seen", made, c.layout(pointee))
    cast = b.call(b.attribute(made, "cast"), c.layout(pointee))
    if not _again(c, given, to):
        return cast
    assert isinstance(given, ir.Load)
    assert isinstance(given.place, ir.LocalStorage)
    held = _kept(given.place.local.name) + name
    c.kept[held] = None
    return ast.IfExp(b.compare(b.name(held), ast.IsNot(), b.constant(None)), b.name(held), b.held(held, cast))


def _kept(local: str) -> str:
    """Return the beginning of the names that hold casts of *local*, which are made once; the name of a layout follows it."""
    return f"{names.KEPT}{local}"


def kept_casts(local: str, there: Iterable[str]) -> list[str]:
    """Return those of the names *there*, in a frame, that hold casts of the pointer *local*, or None until they are made."""
    return [name for name in there if name.startswith(_kept(local) + names.LAYOUT)]


def _again(c: "Context", given: ir.Expr, to: t.Pointer) -> bool:
    """Return whether a cast to *to* is made more than once of the same *given*: a local that does not change, cast in several places or in a loop."""
    if c.inside or not (isinstance(given, ir.Load) and isinstance(given.place, ir.LocalStorage)):
        return False
    local = given.place.local
    steady = local.storage is ir.Storage.VALUE and local not in c.changed and local in c.steady
    return steady and (c.turns or c.casts.get((local, to.to), 0) > 1)


def null(c: "Context", kind: t.Type) -> ast.expr:
    """Return the null pointer of type *kind*; one to numbers or records moves by their size."""
    made = b.name("_c_null")
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.Arithmetic | t.Record):
        return b.call(b.attribute(made, "cast"), c.layout(kind.to))
    return made
