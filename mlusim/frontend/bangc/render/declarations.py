"""Locals as they come to life, by where their bytes are."""

import ast

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render import ranges
from mlusim.frontend.bangc.render.context import Context
from mlusim.frontend.bangc.render.expressions import value


def declare(c: Context, node: ir.Declare, symbol: str) -> list[ast.stmt]:
    """Return the statement that makes a local."""
    local = node.local
    if local.storage is ir.Storage.STATIC:
        c.inside = True
        body = made(c, local, node.value, symbol)
        if local.fixed:
            body = b.call("_c_fixed", body, b.constant(local.fixed))
        # A lambda, since a static variable is made in the first call that comes to it, and in no other.
        maker = ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)
        c.inside = False
        once = b.call("_c_static", b.constant(local.home), maker)
        return [b.assign(b.target(local.name), once)]
    _note(c, local, node.value)
    return [b.assign(b.target(local.name), made(c, local, node.value, symbol))]


def _note(c: Context, local: ir.Local, initial: ir.Expr | None) -> None:
    """Note what is known of the values of a local that begins as *initial*."""
    kind = local.type
    # Outside of loops it is declared once, so that what is known of it holds to the end of the function.
    if not c.turns:
        c.steady.add(local)
    if initial is None or local.storage is not ir.Storage.VALUE or not isinstance(kind, t.Arithmetic):
        return
    if kind.whole:
        found = ranges.of(initial, c.known)
        c.begins[local.name] = found
        if local not in c.changed:
            c.known[local.name] = found


def arrives(c: Context, local: ir.Local, symbol: str) -> list[ast.stmt]:
    """Render the preparation of a parameter that is not a plain value; the caller gave a number, a pointer or a copy."""
    if isinstance(local.type, t.VectorRegister):
        return [b.at(b.assign(b.target(local.name), b.call("_c_copy", b.name(local.name))), local.span)]
    if local.storage is ir.Storage.VALUE or isinstance(local.type, t.ClassType):
        return []
    if isinstance(local.type, t.Record) and local.storage is ir.Storage.CELL:
        return []
    given = ir.Load(ir.LocalStorage(_plain(local), local.type, local.span), local.type, local.span)
    return [b.at(b.assign(b.target(local.name), made(c, local, given, symbol)), local.span)]


def _plain(local: ir.Local) -> ir.Local:
    return ir.Local(local.name, local.source_name, local.type, local.spelling, local.span)


def made(c: Context, local: ir.Local, initial: ir.Expr | None, symbol: str) -> ast.expr:
    """Return the object that a local is."""
    kind = local.type
    if local.storage is ir.Storage.MEMORY or (local.storage is ir.Storage.STATIC and _bytes(kind)):
        return _memory(c, local, initial, symbol)
    unset = c.checked and initial is None and local.source_name and local.storage is not ir.Storage.STATIC
    if isinstance(kind, t.Record | t.ClassType | t.Array):
        whole = _whole(c, kind, initial)
        named = isinstance(kind, t.Record) and not kind.union
        return b.call("_c_unset", whole, b.constant(local.source_name)) if unset and named else whole
    if isinstance(kind, t.VectorRegister):
        copied = [] if initial is None or isinstance(initial, ir.Compose) else [value(c, initial)]
        return b.call("_c_register", c.layout(kind), *copied)
    given = zero(kind) if initial is None else value(c, initial)
    if unset and isinstance(kind, t.Arithmetic):
        given = b.call("_c_unset", given, b.constant(local.source_name))
    if c.checked and local.constant and local.storage is ir.Storage.CELL:
        return b.call("_c_fixed_Cell", c.layout(kind), given, b.constant(local.constant))
    return given if local.storage is ir.Storage.VALUE else b.call("_c_Cell", c.layout(kind), given)


def _bytes(kind: t.Type) -> bool:
    while isinstance(kind, t.Array):
        kind = kind.of
        if isinstance(kind, t.Arithmetic):
            return kind != t.DOUBLE  # of which device memory has none: they are in a list
    return False


def zero(kind: t.Type) -> ast.expr:
    """Return the initial value of a variable without one; in C it may be anything."""
    if isinstance(kind, t.Arithmetic):
        return b.constant({"float": 0.0, "bool": False}.get(kind.kind, 0))
    return b.name("_c_null")


def _whole(c: Context, kind: t.Type, initial: ir.Expr | None) -> ast.expr:
    if initial is None:
        return b.call(b.attribute(c.layout(kind), "make"))
    return value(c, initial)


def _memory(c: Context, local: ir.Local, initial: ir.Expr | None, symbol: str) -> ast.expr:
    """Render bytes of simulated memory; the run-time finds the same ones again in the next call."""
    arguments = [
        b.constant("stack" if local.stack else local.space or "ldram"),
        b.constant(f"{symbol}.{local.name}"),
        c.layout(local.type),
    ]
    if initial is not None:
        # A table of constants is one constant of Python, and not a list that each call builds.
        known = _numbers(initial)
        arguments.append(value(c, initial) if known is None else b.constant(known))
    constant = c.checked and local.constant and initial is not None
    return b.call("_c_constant_local" if constant else "_c_local", *arguments)


def _numbers(initial: ir.Expr) -> tuple[float, ...] | None:
    """Return the elements of an array that is given constants; None where something else is among them, or arrays are."""
    if not isinstance(initial, ir.Compose) or not isinstance(initial.type, t.Array):
        return None
    if not isinstance(initial.type.of, t.Arithmetic):
        return None
    found = tuple(v.value for v in initial.values if isinstance(v, ir.Const))
    return found if len(found) == len(initial.values) else None
