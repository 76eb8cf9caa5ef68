"""Casts of pointers in Python, and null pointers, which know what they do not point to."""

import ast
from collections.abc import Callable

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import build as b

Layout = Callable[[t.Type], ast.expr]  # the name of the layout of a type


def cast(
    layout: Layout, name: Callable[[t.Type], str], made: ast.expr, given: ir.Expr, to: t.Pointer
) -> ast.expr:
    """*made*, the value of *given*, as a pointer of type *to*; types with one *name* are one."""
    pointee = to.to
    while isinstance(pointee, t.Array):
        pointee = pointee.of
    if isinstance(pointee, t.Void | t.FunctionType | t.ClassType):
        return made
    have = given.type
    if isinstance(have, t.Pointer) and name(have.to) == name(pointee):
        return made
    if isinstance(pointee, t.Record | t.Pointer):
        return b.call("_c_seen", made, layout(pointee))
    return b.call(b.attribute(made, "cast"), layout(pointee))


def null(layout: Layout, kind: t.Type) -> ast.expr:
    """The null pointer of type *kind*; one to numbers moves by their size."""
    made = b.name("_c_null")
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.Arithmetic):
        return b.call(b.attribute(made, "cast"), layout(kind.to))
    return made
