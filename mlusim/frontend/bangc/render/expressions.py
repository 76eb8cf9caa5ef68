"""Expressions and places in Python."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from mlusim.frontend.bangc import ir, names, types as t
from mlusim.frontend.bangc.ir.walk import is_branch, member_array, walk
from mlusim.frontend.bangc.render import arithmetic, build as b, context
from mlusim.frontend.bangc.render.context import Context, cell, named_layout, refers
from mlusim.frontend.bangc.runtime.pointers import MOST_STEP
from mlusim.frontend.bangc.scalars import COUNTER, OVERFLOW
from mlusim.isa.table import ISA
from mlusim.kernel_frames import own_file
from mlusim.memory.space import DIRECTIONS


def value(c: Context, node: ir.Expr) -> ast.expr:
    """Return the value of *node*."""
    made = _VALUES[type(node)](c, node)
    return b.at(made, node.span)  # type: ignore[no-any-return]


def condition(c: Context, node: ir.Expr) -> ast.expr:
    """Return the value of a test; code under coverage reports its outcome."""
    made = truth(c, node)
    if not c.covered or own_file(node.span.file) or not is_branch(node):
        return made
    span = node.span
    return b.call("_c_branch", made, b.constant((span.file, span.line, span.column)))


def truth(c: Context, node: ir.Expr) -> ast.expr:
    """Return the value of a number or a pointer that is used as a condition: null pointers and zeros are false."""
    made = value(c, node)
    decided = isinstance(node, ir.Compare | ir.Logical) or (isinstance(node, ir.Unary) and node.op == "!")
    return made if decided else asked(c, made, node)


def asked(c: Context, made: ast.expr, *nodes: ir.Expr) -> ast.expr:
    """Return *made*, the outcome of a test of *nodes*; checked code reports it if one of them has no value."""
    numbers = any(isinstance(n.type, t.Arithmetic) and _may_lack(n) for n in nodes)
    return b.call("_c_asked", made) if c.checked and numbers else made


def place(c: Context, index: ir.Expr, element: t.Type) -> ast.expr:
    """Return the value of *index*; an array that is no simulated memory does not ask of it whether it has a value."""
    made = value(c, index)
    outside = not isinstance(element, t.Arithmetic) or element == t.DOUBLE
    return b.call("_c_place", made) if c.checked and outside and _may_lack(index) else made


def _may_lack(node: ir.Expr) -> bool:
    """Return whether a number may be computed from one that was loaded."""
    return any(isinstance(n, _LOADING) for n in walk(node))


_LOADING = (ir.Load, ir.Call, ir.IntrinsicCall, ir.LibraryCall, ir.Invoke)


# -- places ----------------------------------------------------------------------------------------


def _loaded(c: Context, node: ir.Load) -> ast.expr:
    at = node.place
    if isinstance(at.type, t.VectorRegister):
        return record(c, at)
    if isinstance(at, ir.LocalStorage):
        return _variable(at)
    if isinstance(at.type, t.Record):
        if isinstance(at, ir.Element) and at.type.derived:  # what is there may be more
            return b.call("_c_copy_as", record(c, at), c.layout(at.type))
        return b.call("_c_copy", record(c, at))
    if isinstance(at, ir.Element):
        return (
            record(c, at) if isinstance(at.type, t.ClassType) else _element(c, at, c.waits.get(id(node), 0))
        )
    if isinstance(at, ir.Member):
        return _got(c, b.attribute(record(c, at.base), t.attribute_of(at.name)), at.type)
    if isinstance(at, ir.GlobalPlace):
        return as_number(b.item(c.variable(at.variable), b.constant(0)), at.type)
    return value(c, at.value)


def _variable(at: ir.LocalStorage) -> ast.expr:
    local = at.local
    if isinstance(local.type, t.Record):
        return b.call("_c_copy", b.name(local.name))
    if not cell(local):
        return b.name(local.name)
    if local.storage is ir.Storage.CELL:
        return b.attribute(b.name(local.name), "v")
    return as_number(b.item(b.name(local.name), b.constant(0)), local.type)


def as_number(made: ast.expr, kind: t.Type) -> ast.expr:
    """Render a loaded value as a number of Python."""
    if not isinstance(kind, t.Arithmetic):
        return made
    if kind.kind == "float":
        return b.call("float", made)
    return b.call("bool" if kind.kind == "bool" else "int", made)


def _got(c: Context, made: ast.expr, kind: t.Type) -> ast.expr:
    """Return *made*, a number that may have just been loaded; checked code follows it if it has no value."""
    return b.call("_c_got", made) if c.checked and isinstance(kind, t.Arithmetic) else made


def _element(c: Context, at: ir.Element, waits: int) -> ast.expr:
    if refers(at):
        pointer = value(c, at.pointer)
        made = (
            as_number(b.call(b.attribute(pointer, "load"), b.constant(0), b.constant(waits)), at.type)
            if waits
            else b.attribute(pointer, "v")
        )
        made = _got(c, made, at.type)
        return b.call("bool", made) if at.type.kind == "bool" else made  # type: ignore[union-attr]
    pointer, index = _indexed(c, at)
    if isinstance(at.type, t.Pointer):
        return b.call("_c_pointer_at", pointer, index, c.layout(at.type.to))
    if waits:
        return as_number(b.call(b.attribute(pointer, "load"), index, b.constant(waits)), at.type)
    return as_number(b.item(pointer, index), at.type)


def _indexed(c: Context, at: ir.Element) -> tuple[ast.expr, ast.expr]:
    """Return the pointer and the index of an element; the index does not leave an array that is a member of a record."""
    pointer, index, array = value(c, at.pointer), place(c, at.index, at.type), member_array(at)
    if array is None or array.open:
        return pointer, index
    low, high = arithmetic.range_of(at.index, c.known)
    size, before = at.type.size, b.constant(0)
    count = array.at.type.size // size
    if array.whole:
        if low >= 0 and high < count:
            return pointer, index
    else:
        pointer, again = b.twice(pointer, c.temporary())
        start = value(c, ir.AddressOf(array.at, t.Pointer(at.type), at.span))
        before = b.binary(again, ast.Sub(), start)
    given = (b.constant(one) for one in (count, size, array.words))
    return pointer, b.call("_c_inside", index, before, *given)


def record(c: Context, at: ir.Place) -> ast.expr:
    """Return the object that holds a record."""
    if isinstance(at, ir.LocalStorage):
        return b.name(at.local.name)
    if isinstance(at, ir.Element):
        pointer, index = _indexed(c, at)
        if isinstance(at.type, t.VectorRegister):
            return b.call("_c_register_at", moved(c, pointer, at.type, at.index, back=False))
        if isinstance(at.index, ir.Const) and at.index.value == 0:
            return b.attribute(pointer, "here")
        return b.attribute(b.binary(pointer, ast.Add(), index), "here")
    if isinstance(at, ir.Member):
        return b.attribute(record(c, at.base), t.attribute_of(at.name))
    if isinstance(at, ir.GlobalPlace):
        return c.variable(at.variable)
    return value(c, at.value)


# -- pointers --------------------------------------------------------------------------------------


def _address(c: Context, node: ir.AddressOf) -> ast.expr:
    at = node.place
    if isinstance(at, ir.LocalStorage):
        return b.name(at.local.name)
    if isinstance(at, ir.Element):
        return moved(c, value(c, at.pointer), at.type, at.index, back=False)
    if isinstance(at, ir.Member):
        base = record(c, at.base)
        # What holds several values is the pointer to itself.
        if isinstance(at.type, t.Array | t.Record | t.VectorRegister):
            return b.attribute(base, t.attribute_of(at.name))
        return b.call("_c_member", base, b.constant(t.attribute_of(at.name)))
    if isinstance(at, ir.GlobalPlace):
        return c.variable(at.variable)
    made = value(c, at.value)
    if at.fixed:
        return constant_of(c, at)
    whole = isinstance(at.type, t.Record | t.VectorRegister) or isinstance(at.value, ir.Text)
    return made if whole else b.call("_c_Cell", c.layout(at.type), made)


def constant_of(c: Context, at: ir.Temporary) -> ast.expr:
    """Return a pointer to the constant at file scope that *at* is the value of."""
    return b.call("_c_fixed_Cell", c.layout(at.type), value(c, at.value), b.constant(at.fixed))


def moved(c: Context, pointer: ast.expr, pointee: t.Type, count: ir.Expr, *, back: bool) -> ast.expr:
    """Return a pointer that has moved by *count* elements; one that is led too far away does not come back, as in C."""
    scale, most = 1, MOST_STEP // max(pointee.size, 1)
    while isinstance(pointee, t.Array):  # pointers of the run-time count the innermost elements
        scale *= pointee.count
        pointee = pointee.of
    if isinstance(pointee, t.Void):  # as in GNU C: a void has one byte
        pointer = b.call(b.attribute(pointer, "cast"), c.layout(t.UINT8))
    if isinstance(count, ir.Const) and count.value == 0:
        return pointer
    steps = place(c, count, pointee)
    low, high = arithmetic.range_of(count, c.known)
    gone = None
    if low < -most or high > most:
        pointer, to = b.twice(pointer, c.temporary())
        steps, again = b.twice(steps, c.temporary())
        ahead = steps if b.simple(pointer) else b.last(pointer, steps)
        inside = b.between(-most, ahead, most)
        gone = b.call("_c_far", to, ast.UnaryOp(ast.USub(), again) if back else again)
        pointer, steps = to, again
    if scale != 1:
        steps = b.binary(steps, ast.Mult(), b.constant(scale))
    moved = b.binary(pointer, ast.Sub() if back else ast.Add(), steps)
    return moved if gone is None else ast.IfExp(inside, moved, gone)


def _offset(c: Context, node: ir.Offset) -> ast.expr:
    assert isinstance(node.type, t.Pointer)
    if node.referred and not isinstance(node.type.to, t.Array):
        pointer, index = _indexed(c, ir.Element(node.pointer, node.count, node.span))
        return b.binary(pointer, ast.Add(), index)
    return moved(c, value(c, node.pointer), node.type.to, node.count, back=node.back)


def _distance(c: Context, node: ir.Distance) -> ast.expr:
    assert isinstance(node.left.type, t.Pointer)
    pointee, scale = node.left.type.to, 1
    while isinstance(pointee, t.Array):
        scale, pointee = scale * pointee.count, pointee.of
    made = b.binary(value(c, node.left), ast.Sub(), value(c, node.right))
    # Exact: C subtracts pointers into one array only.
    return made if scale == 1 else b.binary(made, ast.FloorDiv(), b.constant(scale))


def _converted(c: Context, node: ir.Convert) -> ast.expr:
    have, to = node.value.type, node.type
    if isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic):
        values = arithmetic.range_of(node.value, c.known)
        if c.checked:
            made = arithmetic.checked_conversion(value(c, node.value), have, to, values, cast=node.cast)
            return asked(c, made, node.value) if to.kind == "bool" else made
        if arithmetic.keeps(have, to, to.size) and not (to.low <= values[0] and values[1] <= to.high):
            return arithmetic.wrapped(residue(c, node.value, to.size), to)
        return arithmetic.converted(value(c, node.value), have, to, values)
    made = value(c, node.value)
    if isinstance(have, t.Pointer) and isinstance(to, t.Pointer):
        return context.cast(c, made, node.value, to)
    if isinstance(to, t.Arithmetic):
        return arithmetic.wrapped(b.call("_c_address", made), to)
    assert isinstance(to, t.Pointer)
    return b.call("_c_pointer_of", made, c.layout(to.to))


def _null_test(c: Context, node: ir.Compare) -> ast.expr | None:
    """Return a pointer compared with the null pointer."""
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(other, ir.Const) and other.value is None:
            made = b.call("bool", value(c, one))  # pointers of the run-time are false where they are null
            return made if node.op == "!=" else ast.UnaryOp(ast.Not(), value(c, one))
    return None


# -- numbers ---------------------------------------------------------------------------------------


def _const(c: Context, node: ir.Const) -> ast.expr:
    if node.value is None:
        return context.null(c, node.type)
    return b.constant(node.value)


def _unary(c: Context, node: ir.Unary) -> ast.expr:
    made = value(c, node.value)
    if node.op == "!":
        return ast.UnaryOp(ast.Not(), truth(c, node.value))
    assert isinstance(node.type, t.Arithmetic)
    if node.op == "~":
        flipped = ast.UnaryOp(ast.Invert(), made)
        # ~x of a signed number is always one.
        return arithmetic.wrapped(flipped, node.type) if node.type.kind == "uint" else flipped
    negated = ast.UnaryOp(ast.USub(), made)
    if c.checked and node.type.kind == "int":
        return arithmetic.fitting(negated, node.type, OVERFLOW)
    # Of signed numbers only the lowest has no negation in its type.
    fits = node.type.kind == "float" or arithmetic.range_of(node.value, c.known)[0] > node.type.low
    if fits and node.type.kind != "uint":
        return negated
    return arithmetic.wrapped(negated, node.type)


def _binary(c: Context, node: ir.Binary) -> ast.expr:
    assert isinstance(node.type, t.Arithmetic)
    kind = node.type
    if kind == t.FLOAT and arithmetic.exponents(node) is not None:  # a number that is exact without rounding
        return arithmetic.real(node.op, value(c, node.left), value(c, node.right))
    a, other = arithmetic.range_of(node.left, c.known), arithmetic.range_of(node.right, c.known)
    if c.checked:
        return arithmetic.arithmetic_of(node.op, value(c, node.left), value(c, node.right), kind, a, other)
    if arithmetic.modular(node.op, kind) and arithmetic.overflows(node.op, kind, a, other):
        return arithmetic.wrapped(_residue(c, node, kind.size), kind)
    return arithmetic.arithmetic(node.op, value(c, node.left), value(c, node.right), kind, a, other)


def residue(c: Context, node: ir.Expr, size: int) -> ast.expr:
    """Return a number with the low *size* bytes of *node*; what is wrapped around it needs no wrapping inside."""
    made = _residue(c, node, size)
    return b.at(made, node.span)  # type: ignore[no-any-return]


def _residue(c: Context, node: ir.Expr, size: int) -> ast.expr:
    kind = node.type
    if isinstance(kind, t.Arithmetic) and kind.size >= size:
        if isinstance(node, ir.Binary) and arithmetic.modular(node.op, kind):
            return arithmetic.plain(node.op, residue(c, node.left, size), residue(c, node.right, size))
        if isinstance(node, ir.Convert) and arithmetic.keeps(node.value.type, kind, size):
            return residue(c, node.value, size)
    return value(c, node)


def _compare(c: Context, node: ir.Compare) -> ast.expr:
    tested = _null_test(c, node)
    if tested is not None:
        return tested
    made = b.compare(value(c, node.left), arithmetic.comparison(node.op), value(c, node.right))
    return asked(c, made, node.left, node.right)


def _logical(c: Context, node: ir.Logical) -> ast.expr:
    op = ast.And() if node.op == "&&" else ast.Or()
    return ast.BoolOp(op, [condition(c, node.left), condition(c, node.right)])


# -- calls -----------------------------------------------------------------------------------------


def _call(c: Context, node: ir.Call) -> ast.expr:
    c.uses.symbols[node.symbol] = None
    return b.call(names.of_function(node.symbol), *(value(c, a) for a in node.arguments))


def _intrinsic(c: Context, node: ir.IntrinsicCall) -> ast.expr:
    row = ISA[node.row]
    c.uses.rows[node.row] = None
    made = [
        _operand(c, row, n, a, k) for n, (a, k) in enumerate(zip(node.arguments, node.overload, strict=False))
    ]
    made += [_given(c, a) for a in node.arguments[len(node.overload) :]]
    return as_number(b.call(row.spelling, *made), node.type)


def _operand(c: Context, row: Any, n: int, argument: ir.Expr, kind: t.Type) -> ast.expr:
    if isinstance(kind, t.Arithmetic) and kind.name == "mluMemcpyDirection_t":
        if isinstance(argument, ir.Const) and argument.value in range(len(DIRECTIONS)):
            return b.name(DIRECTIONS[argument.value].name)
        return b.call("_c_direction", value(c, argument))
    made = _given(c, argument)
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.VectorRegister):
        at = argument.place if isinstance(argument, ir.AddressOf) else None
        plain = isinstance(at, ir.LocalStorage) and at.type == kind.to
        return made if plain else b.call("_c_register_at", made)
    # Its type says how untyped operands are seen, and a number of Python has none.
    if isinstance(kind, t.Arithmetic) and n in row.typing:
        name = names.NUMBER + named_layout(kind)[0].removeprefix(names.LAYOUT)
        c.uses.layouts[name] = kind
        return b.call(name, made)
    return made


def _library(c: Context, node: ir.LibraryCall) -> ast.expr:
    c.uses.library[node.name] = None
    made: ast.expr = b.call(f"_c_lib_{node.name}", *(_given(c, a) for a in node.arguments))
    if c.checked and node.type == t.FLOAT:
        return b.call("_c_single", made)
    if isinstance(node.type, t.Arithmetic) and node.type.kind == "float":  # Python computes in double
        return arithmetic.rounded(made, node.type)
    return made


def compose(c: Context, node: ir.Compose) -> ast.expr:
    """Return a record or an array from its parts."""
    parts = [_own(c, v) for v in node.values]
    return b.call(b.attribute(c.layout(node.type), "make"), *parts)


def _own(c: Context, node: ir.Expr) -> ast.expr:
    """Return a value that is kept: a register of its own."""
    made = value(c, node)
    return b.call("_c_copy", made) if isinstance(node.type, t.VectorRegister) else made


def _function(c: Context, node: ir.FunctionAddress) -> ast.expr:
    c.uses.symbols[node.symbol] = c.uses.pointed[node.symbol] = None
    return b.name(names.of_function(node.symbol))


def _invoked(c: Context, node: ir.Invoke) -> ast.expr:
    c.uses.invokes = True
    return b.call(value(c, node.function), *(value(c, a) for a in node.arguments))


def _dispatch(c: Context, node: ir.Dispatch) -> ast.expr:
    """Return a call of the method that the object's class chooses."""
    c.uses.symbols.update(dict.fromkeys(node.targets.values()))
    first, *rest = node.arguments
    held = c.temporary()
    classes: list[ast.expr | None] = [b.constant(n) for n in node.targets]
    targets = ast.Dict(classes, [b.name(names.of_function(s)) for s in node.targets.values()])
    chosen = b.call("_c_class", b.held(held, value(c, first)))
    # Made in every call; it is a fault only where it is itself called.
    absent = b.call("_c_pure", b.constant(node.name))
    method = b.call(b.attribute(targets, "get"), chosen, absent)
    return b.call(method, b.name(held), *(value(c, a) for a in rest))


def _asm(c: Context, node: ir.Asm) -> ast.expr:
    names = [b.constant(o.name) for o in (*node.outputs, *node.inputs)]
    outputs = [_address(c, ir.AddressOf(o.value, t.Pointer(o.value.type), node.span)) for o in node.outputs]  # type: ignore[arg-type]
    inputs = [value(c, i.value) for i in node.inputs]  # type: ignore[arg-type]
    operands = ast.Tuple([*outputs, *inputs], b.LOAD)
    return b.call("_c_asm", b.constant(node.text), ast.Tuple(list(names), b.LOAD), operands)


def _given(c: Context, node: ir.Expr) -> ast.expr:
    """Return an argument of a row or of the library; the device's take a string as it is."""
    if isinstance(node, ir.Text):
        return b.at(b.constant(node.value), node.span)  # type: ignore[no-any-return]
    return value(c, node)


def _builtin(c: Context, node: ir.Builtin) -> ast.expr:
    c.uses.builtins[node.name] = None
    return b.name(node.name)


# -- assignments: as statements where they are statements, as expressions elsewhere ----------------


def assignment(c: Context, node: ir.Assign | ir.Update) -> list[ast.stmt]:
    """Return an assignment whose value is not used."""
    before: list[ast.stmt] = []
    if isinstance(node, ir.Assign):
        given = _chain(c, node.value, before) if isinstance(node.value, ir.Assign) else value(c, node.value)
        return [*before, *stored(c, node.place, given)]
    place = _once(c, node.place, before)
    return [*before, *stored(c, place, _combined(c, node, _read(c, place, node)))]


def _chain(c: Context, node: ir.Assign, before: list[ast.stmt]) -> ast.expr:
    """Render ``a = b = v``: compute v once, and store it from right to left."""
    given = _chain(c, node.value, before) if isinstance(node.value, ir.Assign) else value(c, node.value)
    if not (isinstance(given, ast.Constant) or (b.simple(given) and isinstance(node.place, ir.LocalStorage))):
        name = c.temporary()  # the place may change a variable
        before.append(b.at(b.assign(b.target(name), given), node.span))
        given = b.name(name)
    before.extend(b.at(s, node.span) for s in stored(c, node.place, given))
    return given


def stored(c: Context, at: ir.Place, given: ast.expr) -> list[ast.stmt]:
    """Return the statements that store *given* at a place."""
    if isinstance(at.type, t.Record):
        if isinstance(at, ir.LocalStorage) and at.local.storage is ir.Storage.CELL:
            # The object stays the same: there may be pointers to it.
            return [ast.Expr(b.call(b.attribute(b.name(at.local.name), "assign"), given))]
        name = c.temporary()  # what is stored comes before the place
        stored = b.call(b.attribute(record(c, at), "assign"), b.name(name))
        return [b.assign(b.target(name), given), ast.Expr(stored)]
    if isinstance(at.type, t.VectorRegister):
        return [ast.Expr(b.call(b.attribute(record(c, at), "assign"), given))]
    return [b.assign(_target(c, at), given)]


def _target(c: Context, at: ir.Place) -> ast.Name | ast.Attribute | ast.Subscript:
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
        return ast.Subscript(*_indexed(c, at), b.STORE)
    if isinstance(at, ir.Member):
        return ast.Attribute(record(c, at.base), t.attribute_of(at.name), b.STORE)
    if isinstance(at, ir.GlobalPlace):
        return ast.Subscript(c.variable(at.variable), b.constant(0), b.STORE)
    if at.fixed:
        return ast.Attribute(constant_of(c, at), "v", b.STORE)
    return b.target(c.temporary())


def _once(c: Context, at: ir.Place, before: list[ast.stmt]) -> ir.Place:
    """Return *at* with every part that has an effect or a cost evaluated once, ahead of it."""
    if isinstance(at, ir.Element):
        if member_array(at) is None:
            return ir.Element(_kept(c, at.pointer, before), _kept(c, at.index, before), at.span)
        pointer, index = _indexed(c, at)  # checked here: behind this the pointer is one of any array
        return ir.Element(_named(c, at.pointer, pointer, before), _named(c, at.index, index, before), at.span)
    if isinstance(at, ir.Member):
        return ir.Member(_once(c, at.base, before), at.field, at.span)
    return at


def _kept(c: Context, node: ir.Expr, before: list[ast.stmt]) -> ir.Expr:
    if isinstance(node, ir.Const) or (isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage)):
        return node
    return _named(c, node, value(c, node), before)


def _named(c: Context, node: ir.Expr, made: ast.expr, before: list[ast.stmt]) -> ir.Expr:
    """Return the variable that *made*, the value of *node*, is assigned to *before* it is used."""
    name = c.temporary()
    before.append(b.at(b.assign(b.target(name), made), node.span))
    local = ir.Local(name, "", node.type, str(node.type), node.span)
    return ir.Load(ir.LocalStorage(local, node.span), node.span)


def _read(c: Context, at: ir.Place, node: ir.Update) -> ast.expr:
    waits = c.waits.get(id(node), 0)
    if not waits or not isinstance(at, ir.Element):
        return value(c, ir.Load(at, at.span))
    return b.at(_element(c, at, waits), at.span)  # type: ignore[no-any-return]


def _combined(c: Context, node: ir.Update, old: ast.expr) -> ast.expr:
    """Return the new value of an update."""
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
    other = arithmetic.range_of(node.value, c.known)
    if c.checked:
        rule = COUNTER if c.stepping and node.op in ("+", "-") else None
        made = arithmetic.arithmetic_of(node.op, old, value(c, node.value), within, have, other, rule)
        if (kind.kind, kind.size) == (within.kind, within.size):
            return made
        whole = (within.low, within.high) if within.whole else (0, 0)
        return arithmetic.checked_conversion(made, within, kind, whole, rule=rule)
    if arithmetic.modular(node.op, within) and arithmetic.overflows(node.op, within, have, other):
        made = arithmetic.wrapped(arithmetic.plain(node.op, old, residue(c, node.value, within.size)), within)
    else:
        made = arithmetic.arithmetic(node.op, old, value(c, node.value), within, have, other)
    if (kind.kind, kind.size) == (within.kind, within.size):
        return made
    return arithmetic.converted(made, within, kind, (within.low, within.high) if within.whole else (0, 0))


def _values(c: Context, at: ir.Place, kind: t.Arithmetic) -> arithmetic.Range:
    if isinstance(at, ir.LocalStorage) and at.local.name in c.known:
        return c.known[at.local.name]
    return (kind.low, kind.high) if kind.whole else (0, 0)


def _assigned(c: Context, node: ir.Assign) -> ast.expr:
    """Return an assignment as a value."""
    given = value(c, node.value)
    at = node.place
    if (
        isinstance(at, ir.LocalStorage)
        and not cell(at.local)
        and isinstance(at.type, t.Arithmetic | t.Pointer)
    ):
        return b.held(at.local.name, given)
    name = c.temporary()
    if isinstance(at.type, t.Record):
        return b.first(b.held(name, given), b.call(b.attribute(record(c, at), "assign"), b.name(name)))
    return b.first(b.held(name, given), _put(c, at, b.name(name)))


def _updated(c: Context, node: ir.Update) -> ast.expr:
    """Render ``++``, ``+=`` and the like as a value."""
    at = node.place
    if isinstance(at, ir.LocalStorage) and not cell(at.local):
        new = b.held(at.local.name, _combined(c, node, b.name(at.local.name)))
        return b.first(b.name(at.local.name), new) if node.old else new
    parts: list[ast.expr] = []
    place = _once_inline(c, at, parts)
    before, after = c.temporary(), c.temporary()
    # The tuple ends with the old value, the new one and the store, and one of the first two is taken.
    parts += [b.held(before, _read(c, place, node)), b.held(after, _combined(c, node, b.name(before)))]
    parts.append(_put(c, place, b.name(after)))
    return b.item(ast.Tuple(parts, b.LOAD), b.constant(len(parts) - (3 if node.old else 2)))


def _once_inline(c: Context, at: ir.Place, parts: list[ast.expr]) -> ir.Place:
    before: list[ast.stmt] = []
    place = _once(c, at, before)  # as statements, which become walruses
    for made in before:
        assert isinstance(made, ast.Assign)
        assert isinstance(made.targets[0], ast.Name)
        parts.append(b.held(made.targets[0].id, made.value))
    return place


def _put(c: Context, at: ir.Place, given: ast.expr) -> ast.expr:
    """Return a store as an expression; the frame that stores is the function's own."""
    target = _target(c, at)
    if isinstance(target, ast.Name):
        return b.held(target.id, given)
    if isinstance(target, ast.Attribute):
        return b.call("_c_setattr", target.value, b.constant(target.attr), given)
    # Python assigns to items by statements only.
    return b.call(b.attribute(target.value, "__setitem__"), target.slice, given)


_VALUES: Mapping[type, Callable[[Context, Any], ast.expr]] = {
    ir.Const: _const,
    ir.Text: lambda _, node: b.call("_c_text", b.constant(node.value)),
    ir.Builtin: _builtin,
    ir.Load: _loaded,
    ir.AddressOf: _address,
    ir.Convert: _converted,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Logical: _logical,
    ir.Conditional: lambda c, n: ast.IfExp(condition(c, n.test), value(c, n.then), value(c, n.other)),
    ir.Comma: lambda c, node: b.last(value(c, node.first), value(c, node.second)),
    ir.Offset: _offset,
    ir.Distance: _distance,
    ir.Assign: _assigned,
    ir.Update: _updated,
    ir.Call: _call,
    ir.IntrinsicCall: _intrinsic,
    ir.LibraryCall: _library,
    ir.Compose: compose,
    ir.FunctionAddress: _function,
    ir.Invoke: _invoked,
    ir.Dispatch: _dispatch,
    ir.DynamicCast: lambda c, node: b.call("_c_dynamic", value(c, node.value), b.constant(node.name)),
    ir.Asm: _asm,
}
