"""Assignments in Python: as statements where they are statements, as expressions elsewhere."""

import ast

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import arithmetic, checked, ranges
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render.context import Context, cell, refers
from mlusim.frontend.bangc.render.expressions import constant_of, moved, place, record, residue, value


def statement(c: Context, node: ir.Assign | ir.Update) -> list[ast.stmt]:
    """An assignment whose value is not used."""
    before: list[ast.stmt] = []
    if isinstance(node, ir.Assign):
        given = _chain(c, node.value, before) if isinstance(node.value, ir.Assign) else value(c, node.value)
        return [*before, *stored(c, node.place, given)]
    place = _once(c, node.place, before)
    return [*before, *stored(c, place, _combined(c, node, _read(c, place)))]


def _chain(c: Context, node: ir.Assign, before: list[ast.stmt]) -> ast.expr:
    """``a = b = v``: v is computed once and stored from the right."""
    given = _chain(c, node.value, before) if isinstance(node.value, ir.Assign) else value(c, node.value)
    if not (isinstance(given, ast.Constant) or (b.simple(given) and isinstance(node.place, ir.LocalStorage))):
        name = c.temporary()  # the place may change a variable
        before.append(b.at(b.assign(b.target(name), given), node.span))
        given = b.name(name)
    before.extend(b.at(s, node.span) for s in stored(c, node.place, given))
    return given


def stored(c: Context, at: ir.Place, given: ast.expr) -> list[ast.stmt]:
    """Statements that store *given* at a place."""
    if isinstance(at.type, t.Record):
        if isinstance(at, ir.LocalStorage) and at.local.storage is ir.Storage.CELL:
            # The object stays the same: there may be pointers to it.
            return [ast.Expr(b.call(b.attribute(b.name(at.local.name), "assign"), given))]
        name = c.temporary()  # what is stored comes before the place
        stored = b.call(b.attribute(record(c, at), "assign"), b.name(name))
        return [b.assign(b.target(name), given), ast.Expr(stored)]
    if isinstance(at.type, t.VectorRegister):
        return [ast.Expr(b.call("_c_set_register", record(c, at), given))]
    return [b.assign(_target(c, at), given)]


def _target(c: Context, at: ir.Place) -> ast.expr:
    if isinstance(at, ir.LocalStorage):
        local = at.local
        if not cell(local):
            return b.target(local.name)
        if local.storage is ir.Storage.CELL:
            return ast.Attribute(b.name(local.name), "v", b.STORE)
        return ast.Subscript(b.name(local.name), b.constant(0), b.STORE)
    if isinstance(at, ir.Element) and refers(at):
        return ast.Attribute(value(c, at.pointer), "v", b.STORE)
    if isinstance(at, ir.Element):
        return ast.Subscript(value(c, at.pointer), place(c, at.index, at.type), b.STORE)
    if isinstance(at, ir.Member):
        return ast.Attribute(record(c, at.base), at.name, b.STORE)
    if isinstance(at, ir.GlobalPlace):
        return ast.Subscript(c.variable(at.variable), b.constant(0), b.STORE)
    if at.fixed:
        return ast.Attribute(constant_of(c, at), "v", b.STORE)
    return b.target(c.temporary())


def _once(c: Context, at: ir.Place, before: list[ast.stmt]) -> ir.Place:
    """*at* with everything in it that has an effect or a cost evaluated, once."""
    if isinstance(at, ir.Element):
        pointer = _kept(c, at.pointer, before)
        return ir.Element(pointer, _kept(c, at.index, before), at.type, at.span, at.space)
    if isinstance(at, ir.Member):
        return ir.Member(_once(c, at.base, before), at.name, at.offset, at.type, at.span)
    return at


def _kept(c: Context, node: ir.Expr, before: list[ast.stmt]) -> ir.Expr:
    if isinstance(node, ir.Const) or (isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage)):
        return node
    name = c.temporary()
    before.append(b.at(b.assign(b.target(name), value(c, node)), node.span))
    local = ir.Local(name, "", node.type, str(node.type), node.span)
    return ir.Load(ir.LocalStorage(local, node.type, node.span), node.type, node.span)


def _read(c: Context, at: ir.Place) -> ast.expr:
    return value(c, ir.Load(at, at.type, at.span))


def _combined(c: Context, node: ir.Update, old: ast.expr) -> ast.expr:
    """The new value of an update."""
    kind = node.type
    if isinstance(kind, t.Pointer):
        return moved(c, old, kind.to, node.value, back=node.op == "-")
    assert isinstance(kind, t.Arithmetic)
    assert isinstance(node.within, t.Arithmetic)
    within = node.within
    have = _values(c, node.place, kind)
    if (kind.kind, kind.size) != (within.kind, within.size):
        old = arithmetic.converted(old, kind, within, have)
        if within.kind == "uint" and have[0] < 0:
            have = (within.low, within.high)
    other = ranges.of(node.value, c.known)
    if c.checked:
        rule = checked.COUNTER if c.stepping and node.op in ("+", "-") else None
        made = checked.arithmetic_of(node.op, old, value(c, node.value), within, have, other, rule)
        if (kind.kind, kind.size) == (within.kind, within.size):
            return made
        whole = (within.low, within.high) if within.whole else (0, 0)
        return checked.converted(made, within, kind, whole, rule=rule)
    if arithmetic.modular(node.op, within) and arithmetic.overflows(node.op, within, have, other):
        made = arithmetic.wrapped(arithmetic.plain(node.op, old, residue(c, node.value, within.size)), within)
    else:
        made = arithmetic.arithmetic(node.op, old, value(c, node.value), within, have, other)
    if (kind.kind, kind.size) == (within.kind, within.size):
        return made
    return arithmetic.converted(made, within, kind, (within.low, within.high) if within.whole else (0, 0))


def _values(c: Context, at: ir.Place, kind: t.Arithmetic) -> ranges.Range:
    if isinstance(at, ir.LocalStorage) and at.local.name in c.known:
        return c.known[at.local.name]
    return (kind.low, kind.high) if kind.whole else (0, 0)


# -- as expressions --------------------------------------------------------------------------------


def assigned(c: Context, node: ir.Assign) -> ast.expr:
    """An assignment as a value."""
    given = value(c, node.value)
    at = node.place
    if (
        isinstance(at, ir.LocalStorage)
        and not cell(at.local)
        and isinstance(at.type, t.Arithmetic | t.Pointer)
    ):
        return b.held(at.local.name, given)
    if isinstance(at.type, t.Record):
        name = c.temporary()
        return b.first(b.held(name, given), b.call(b.attribute(record(c, at), "assign"), b.name(name)))
    name = c.temporary()
    return b.first(b.held(name, given), _put(c, at, b.name(name)))


def updated(c: Context, node: ir.Update) -> ast.expr:
    """``++``, ``+=`` and their like as a value."""
    at = node.place
    if isinstance(at, ir.LocalStorage) and not cell(at.local):
        new = b.held(at.local.name, _combined(c, node, b.name(at.local.name)))
        return b.first(b.name(at.local.name), new) if node.old else new
    parts: list[ast.expr] = []
    place = _once_inline(c, at, parts)
    before, after = c.temporary(), c.temporary()
    parts += [b.held(before, _read(c, place)), b.held(after, _combined(c, node, b.name(before)))]
    parts.append(_put(c, place, b.name(after)))
    return b.item(ast.Tuple(parts, b.LOAD), b.constant(len(parts) - (3 if node.old else 2)))


def _once_inline(c: Context, at: ir.Place, parts: list[ast.expr]) -> ir.Place:
    before: list[ast.stmt] = []
    place = _once(c, at, before)
    for made in before:
        assert isinstance(made, ast.Assign)
        assert isinstance(made.targets[0], ast.Name)
        parts.append(b.held(made.targets[0].id, made.value))
    return place


def _put(c: Context, at: ir.Place, given: ast.expr) -> ast.expr:
    """A store as an expression; the frame that stores is the function's own."""
    if isinstance(at, ir.LocalStorage):
        local = at.local
        if local.storage is ir.Storage.CELL:
            return b.call(b.attribute(b.name(local.name), "put"), given)
        return b.call(b.attribute(b.name(local.name), "__setitem__"), b.constant(0), given)
    if isinstance(at, ir.Element):
        return b.call(b.attribute(value(c, at.pointer), "__setitem__"), place(c, at.index, at.type), given)
    if isinstance(at, ir.Member):
        return b.call("setattr", record(c, at.base), b.constant(at.name), given)
    if isinstance(at, ir.Temporary):
        return b.call(b.attribute(constant_of(c, at), "__setitem__"), b.constant(0), given)
    return b.call(b.attribute(c.variable(at.variable), "__setitem__"), b.constant(0), given)
