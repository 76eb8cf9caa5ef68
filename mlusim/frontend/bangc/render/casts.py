"""Casts of pointers in Python, and null pointers, which know what they do not point to."""

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render import layouts

if TYPE_CHECKING:
    from mlusim.frontend.bangc.render.context import Context


def cast(c: "Context", made: ast.expr, given: ir.Expr, to: t.Pointer) -> ast.expr:
    """*made*, the value of *given*, as a pointer of type *to*; types whose layouts have one name are one."""
    pointee = to.to
    while isinstance(pointee, t.Array):
        pointee = pointee.of
    if isinstance(pointee, t.Void | t.FunctionType | t.ClassType):
        return made
    have = given.type
    name = layouts.of(pointee)[0]
    if isinstance(have, t.Pointer) and layouts.of(have.to)[0] == name:
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
    """Return how the names of casts of *local* that are made once begin; the name of a layout is behind it."""
    return f"_c_{local}"


def kept_casts(local: str, names: Iterable[str]) -> list[str]:
    """Return those of a frame's *names* that hold casts of the pointer *local*, or None until they are made."""
    return [name for name in names if name.startswith(_kept(local) + layouts.BEGIN)]


def _again(c: "Context", given: ir.Expr, to: t.Pointer) -> bool:
    """Return whether a cast to *to* is wanted again while *given* is the same: of a local that does not change, there or in a loop."""
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
