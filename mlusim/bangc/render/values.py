"""Renders expressions and places in Python."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from mlusim.bangc import ir, names, types as t
from mlusim.bangc.ir.walk import member_array, walk
from mlusim.bangc.render import arithmetic, emit as b
from mlusim.bangc.render.emit import PythonWalker, named_layout
from mlusim.bangc.runtime.ended import TEMPORARY
from mlusim.bangc.scalars import OVERFLOW
from mlusim.isa.table import ISA
from mlusim.memory.space import DIRECTIONS


def asked(c: PythonWalker, test: ast.expr, *nodes: ir.Expr) -> ast.expr:
    """Return *test*, computed from *nodes*; in checked code, wrapped so that a test of a number without a value is reported."""
    numbers = any(isinstance(n.type, t.Arithmetic) and _may_lack(n) for n in nodes)
    return b.call("_c_asked", test) if c.checked and numbers else test


def place(c: PythonWalker, index: ir.Expr, element: t.Type) -> ast.expr:
    """Return the value of *index*; in checked code a missing value is reported here if the array is outside simulated memory."""
    value = c.value(index)
    outside = not isinstance(element, t.Arithmetic) or element == t.DOUBLE
    return b.call("_c_place", value) if c.checked and outside and _may_lack(index) else value


def _may_lack(node: ir.Expr) -> bool:
    """Return whether a number may depend on a load, and so may lack a value."""
    return any(isinstance(n, _LOADING) for n in walk(node))


_LOADING = (ir.Load, ir.Call, ir.IntrinsicCall, ir.LibraryCall, ir.Invoke)


# -- places ----------------------------------------------------------------------------------------


def _loaded(c: PythonWalker, node: ir.Load) -> ast.expr:
    at = node.place
    if isinstance(at.type, t.VectorRegister):
        return struct(c, at)
    if isinstance(at, ir.LocalStorage):
        return _variable(at)
    if isinstance(at.type, t.Struct):
        if isinstance(at, ir.Element) and at.type.derived:  # the object there may be of a derived class
            return b.call("_c_copy_as", struct(c, at), c.layout(at.type))
        return b.call("_c_copy", struct(c, at))
    if isinstance(at, ir.Element):
        return (
            struct(c, at) if isinstance(at.type, t.ClassType) else _element(c, at, c.waits.get(id(node), 0))
        )
    if isinstance(at, ir.Member):
        return _got(c, b.attribute(struct(c, at.base), t.attribute_of(at.name)), at.type)
    if isinstance(at, ir.GlobalPlace):
        return as_number(b.item(c.variable(at.variable), b.constant(0)), at.type)
    return c.value(at.value)


def _variable(at: ir.LocalStorage) -> ast.expr:
    local = at.local
    if isinstance(local.type, t.Struct):
        return b.call("_c_copy", b.name(local.name))
    if not cell(local):
        return b.name(local.name)
    if local.storage is ir.Storage.CELL:
        return b.attribute(b.name(local.name), "v")
    return as_number(b.item(b.name(local.name), b.constant(0)), local.type)


def as_number(value: ast.expr, kind: t.Type) -> ast.expr:
    """Render a loaded value as a Python number."""
    if not isinstance(kind, t.Arithmetic):
        return value
    if kind.kind == "float":
        return b.call("float", value)
    return b.call("bool" if kind.kind == "bool" else "int", value)


def _got(c: PythonWalker, value: ast.expr, kind: t.Type) -> ast.expr:
    """Return *value*, a number that may have been loaded; checked code tracks it if it has no value."""
    return b.call("_c_got", value) if c.checked and isinstance(kind, t.Arithmetic) else value


def _element(c: PythonWalker, at: ir.Element, waits: int) -> ast.expr:
    if refers(at):
        pointer = c.value(at.pointer)
        value = (
            as_number(b.call(b.attribute(pointer, "load"), b.constant(0), b.constant(waits)), at.type)
            if waits
            else b.attribute(pointer, "v")
        )
        value = _got(c, value, at.type)
        return b.call("bool", value) if at.type.kind == "bool" else value  # type: ignore[union-attr]
    pointer, index = _indexed(c, at)
    if isinstance(at.type, t.Pointer):
        return b.call("_c_pointer_at", pointer, index, c.layout(at.type.to))
    if waits:
        return as_number(b.call(b.attribute(pointer, "load"), index, b.constant(waits)), at.type)
    return as_number(b.item(pointer, index), at.type)


def _indexed(c: PythonWalker, at: ir.Element) -> tuple[ast.expr, ast.expr]:
    """Return the pointer and the index of an element; the index into an array member of a struct is checked."""
    array = member_array(at)
    if array is None:
        return c.value(at.pointer), place(c, at.index, at.type)
    low, high = arithmetic.range_of(at.index, c.ranges)
    size, before = at.type.size, b.constant(0)
    count = array.at.type.size // size
    inside = array.whole and low >= 0 and high < count
    pointer = c.value(at.pointer) if array.open and not inside else _accessed(c, at.pointer)
    index = place(c, at.index, at.type)
    if array.open or inside:
        return pointer, index
    if not array.whole:
        pointer, again = b.twice(pointer, c.temporary())
        start = _accessed(c, ir.AddressOf(array.at, t.Pointer(at.type), at.span))
        before = b.binary(again, ast.Sub(), start)
    bounds = (b.constant(bound) for bound in (count, size, array.words))
    return pointer, b.call("_c_inside", index, before, *bounds)


def _accessed(c: PythonWalker, node: ir.Expr) -> ast.expr:
    """Return the pointer *node* into an array of a struct, without bounds of the struct: the index has been checked."""
    at = node.place if isinstance(node, ir.AddressOf) else None
    if isinstance(at, ir.Member):
        accessed: ast.expr = b.attribute(struct(c, at.base), t.attribute_of(at.name))
    elif isinstance(at, ir.Element):
        accessed = moved(c, _accessed(c, at.pointer), at.type, at.index, back=False)
    else:
        return c.value(node)
    return c.valued(accessed, node)


def _owner(c: PythonWalker, at: ir.Place) -> ast.expr:
    """Return the object of a struct whose address (or whose member's address) is taken."""
    if not isinstance(at, ir.Member):
        return struct(c, at)
    return b.call("_c_part", _owner(c, at.base), b.constant(t.attribute_of(at.name)))


def struct(c: PythonWalker, at: ir.Place) -> ast.expr:
    """Return the object of a struct."""
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
        return b.attribute(struct(c, at.base), t.attribute_of(at.name))
    if isinstance(at, ir.GlobalPlace):
        return c.variable(at.variable)
    return c.value(at.value)


# -- pointers --------------------------------------------------------------------------------------


def _address(c: PythonWalker, node: ir.AddressOf) -> ast.expr:
    at = node.place
    if isinstance(at, ir.LocalStorage):
        return b.name(at.local.name)
    if isinstance(at, ir.Element):
        return moved(c, c.value(at.pointer), at.type, at.index, back=False)
    if isinstance(at, ir.Member):
        base, name = _owner(c, at.base), t.attribute_of(at.name)
        # An object with several values is also the pointer to itself.
        if isinstance(at.type, t.VectorRegister):
            return b.attribute(base, name)
        part = isinstance(at.type, t.Array | t.Struct)
        return b.call("_c_part" if part else "_c_member", base, b.constant(name))
    if isinstance(at, ir.GlobalPlace):
        return c.variable(at.variable)
    value = c.value(at.value)
    if at.fixed:
        return constant_of(c, at)
    whole = isinstance(at.type, t.Struct | t.VectorRegister) or isinstance(at.value, ir.Text)
    held = value if whole else b.call("_c_Cell", c.layout(at.type), value)
    if id(at) not in c.outliving.temporaries:
        return held
    return b.registered(held, c.temporary(), TEMPORARY)


def constant_of(c: PythonWalker, at: ir.Temporary) -> ast.expr:
    """Return a pointer to the constant at file scope with the value of *at*."""
    return b.call("_c_fixed_Cell", c.layout(at.type), c.value(at.value), b.constant(at.fixed))


def moved(c: PythonWalker, pointer: ast.expr, pointee: t.Type, count: ir.Expr, *, back: bool) -> ast.expr:
    """Return a pointer moved by *count* elements."""
    # Pointers of the run-time library count innermost elements.
    scale, pointee = t.elements_in(pointee), t.element_of(pointee)
    if isinstance(pointee, t.Void):  # as in GNU C, a void has one byte
        pointer = b.call(b.attribute(pointer, "cast"), c.layout(t.UINT8))
    if isinstance(count, ir.Const) and count.value == 0:
        return pointer
    steps = place(c, count, pointee)
    if scale != 1:
        steps = b.binary(steps, ast.Mult(), b.constant(scale))
    return b.binary(pointer, ast.Sub() if back else ast.Add(), steps)


def _offset(c: PythonWalker, node: ir.Offset) -> ast.expr:
    assert isinstance(node.type, t.Pointer)
    if node.referred and not isinstance(node.type.to, t.Array):
        pointer, index = _indexed(c, ir.Element(node.pointer, node.count, node.span))
        return b.binary(pointer, ast.Add(), index)
    return moved(c, c.value(node.pointer), node.type.to, node.count, back=node.back)


def _distance(c: PythonWalker, node: ir.Distance) -> ast.expr:
    assert isinstance(node.left.type, t.Pointer)
    scale = t.elements_in(node.left.type.to)
    distance = b.binary(c.value(node.left), ast.Sub(), c.value(node.right))
    # The division is exact: C subtracts pointers into one array only.
    return distance if scale == 1 else b.binary(distance, ast.FloorDiv(), b.constant(scale))


def _converted(c: PythonWalker, node: ir.Convert) -> ast.expr:
    have, to = node.value.type, node.type
    if isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic):
        values = arithmetic.range_of(node.value, c.ranges)
        if c.checked:
            value = arithmetic.checked_conversion(c.value(node.value), have, to, values, cast=node.cast)
            return asked(c, value, node.value) if to.kind == "bool" else value
        if arithmetic.keeps(have, to, to.size) and not (to.low <= values[0] and values[1] <= to.high):
            return arithmetic.wrapped(residue(c, node.value, to.size), to)
        return arithmetic.converted(c.value(node.value), have, to, values)
    value = c.value(node.value)
    if isinstance(have, t.Pointer) and isinstance(to, t.Pointer):
        return cast(c, value, node.value, to)
    if isinstance(to, t.Arithmetic):
        return arithmetic.wrapped(b.call("_c_address", value), to)
    assert isinstance(to, t.Pointer)
    return b.call("_c_pointer_of", value, c.layout(to.to))


def _null_test(c: PythonWalker, node: ir.Compare) -> ast.expr | None:
    """Return the comparison of a pointer with null, or None."""
    for operand, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(other, ir.Const) and other.value is None:
            test = b.call("bool", c.value(operand))  # run-time pointers are false if they are null
            return test if node.op == "!=" else ast.UnaryOp(ast.Not(), c.value(operand))
    return None


# -- numbers ---------------------------------------------------------------------------------------


def _unary(c: PythonWalker, node: ir.Unary) -> ast.expr:
    if node.op == "!":
        return ast.UnaryOp(ast.Not(), c.truth(node.value))
    value = c.value(node.value)
    assert isinstance(node.type, t.Arithmetic)
    if node.op == "~":
        flipped = ast.UnaryOp(ast.Invert(), value)
        # ~x of a signed number always fits the type.
        return arithmetic.wrapped(flipped, node.type) if node.type.kind == "uint" else flipped
    negated = ast.UnaryOp(ast.USub(), value)
    if c.checked and node.type.kind == "int":
        return arithmetic.fitting(negated, node.type, OVERFLOW)
    # Of signed numbers, only the lowest has no negative in its type.
    fits = node.type.kind == "float" or arithmetic.range_of(node.value, c.ranges)[0] > node.type.low
    if fits and node.type.kind != "uint":
        return negated
    return arithmetic.wrapped(negated, node.type)


def _binary(c: PythonWalker, node: ir.Binary) -> ast.expr:
    assert isinstance(node.type, t.Arithmetic)
    kind = node.type
    if kind == t.FLOAT and arithmetic.exponents(node) is not None:  # exact without rounding
        return arithmetic.real(node.op, c.value(node.left), c.value(node.right))
    a, other = arithmetic.range_of(node.left, c.ranges), arithmetic.range_of(node.right, c.ranges)
    if c.checked:
        return arithmetic.checked_operation(node.op, c.value(node.left), c.value(node.right), kind, a, other)
    if arithmetic.modular(node.op, kind) and arithmetic.overflows(node.op, kind, a, other):
        return arithmetic.wrapped(_residue(c, node, kind.size), kind)
    return arithmetic.arithmetic(node.op, c.value(node.left), c.value(node.right), kind, a, other)


def residue(c: PythonWalker, node: ir.Expr, size: int) -> ast.expr:
    """Return a number with the low *size* bytes of *node*; a wrapped expression needs no wrapping inside."""
    rendered = _residue(c, node, size)
    return b.at(rendered, node.span)  # type: ignore[no-any-return]


def _residue(c: PythonWalker, node: ir.Expr, size: int) -> ast.expr:
    kind = node.type
    if isinstance(kind, t.Arithmetic) and kind.size >= size:
        if isinstance(node, ir.Binary) and arithmetic.modular(node.op, kind):
            return arithmetic.plain(node.op, residue(c, node.left, size), residue(c, node.right, size))
        if isinstance(node, ir.Convert) and arithmetic.keeps(node.value.type, kind, size):
            return residue(c, node.value, size)
    return c.value(node)


def _compare(c: PythonWalker, node: ir.Compare) -> ast.expr:
    tested = _null_test(c, node)
    if tested is not None:
        return tested
    test = b.compare(c.value(node.left), arithmetic.comparison(node.op), c.value(node.right))
    return asked(c, test, node.left, node.right)


# -- calls -----------------------------------------------------------------------------------------


def _call(c: PythonWalker, node: ir.Call) -> ast.expr:
    c.uses.symbols[node.symbol] = None
    return b.call(names.of_function(node.symbol), *(c.value(a) for a in node.arguments))


def _intrinsic(c: PythonWalker, node: ir.IntrinsicCall) -> ast.expr:
    row = ISA[node.row]
    c.uses.rows[node.row] = None
    arguments = [
        _operand(c, row, n, a, k) for n, (a, k) in enumerate(zip(node.arguments, node.overload, strict=False))
    ]
    arguments += [_argument(c, a) for a in node.arguments[len(node.overload) :]]
    return as_number(b.call(row.spelling, *arguments), node.type)


def _operand(c: PythonWalker, row: Any, n: int, argument: ir.Expr, kind: t.Type) -> ast.expr:
    if isinstance(kind, t.Arithmetic) and kind.name == "mluMemcpyDirection_t":
        if isinstance(argument, ir.Const) and argument.value in range(len(DIRECTIONS)):
            return b.name(DIRECTIONS[argument.value].name)
        return b.call("_c_direction", c.value(argument))
    operand = _argument(c, argument)
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.VectorRegister):
        at = argument.place if isinstance(argument, ir.AddressOf) else None
        plain = isinstance(at, ir.LocalStorage) and at.type == kind.to
        return operand if plain else b.call("_c_register_at", operand)
    # The C type decides the type of untyped operands, and a plain Python number has none.
    if isinstance(kind, t.Arithmetic) and n in row.typing:
        name = names.NUMBER + named_layout(kind)[0].removeprefix(names.LAYOUT)
        c.uses.layouts[name] = kind
        return b.call(name, operand)
    return operand


def _library(c: PythonWalker, node: ir.LibraryCall) -> ast.expr:
    result: ast.expr = b.call(f"_c_lib_{node.name}", *(_argument(c, a) for a in node.arguments))
    if c.checked and node.type == t.FLOAT:
        return b.call("_c_single", result)
    if isinstance(node.type, t.Arithmetic) and node.type.kind == "float":  # Python computes in double
        return arithmetic.rounded(result, node.type)
    return result


def compose(c: PythonWalker, node: ir.Compose) -> ast.expr:
    """Return a struct or an array built from its parts."""
    registers = [isinstance(v.type, t.VectorRegister) for v in node.values]  # registers are copied
    parts = [
        b.call("_c_copy", c.value(v)) if register else c.value(v)
        for v, register in zip(node.values, registers, strict=True)
    ]
    return b.call(b.attribute(c.layout(node.type), "make"), *parts)


def _function(c: PythonWalker, node: ir.FunctionAddress) -> ast.expr:
    c.uses.symbols[node.symbol] = c.uses.pointed[node.symbol] = None
    return b.name(names.of_function(node.symbol))


def _invoked(c: PythonWalker, node: ir.Invoke) -> ast.expr:
    c.uses.invokes = True
    return b.call(c.value(node.function), *(c.value(a) for a in node.arguments))


def _dispatch(c: PythonWalker, node: ir.Dispatch) -> ast.expr:
    """Return a virtual call."""
    c.uses.symbols.update(dict.fromkeys(node.targets.values()))
    first, *rest = node.arguments
    held = c.temporary()
    classes: list[ast.expr | None] = [b.constant(n) for n in node.targets]
    targets = ast.Dict(classes, [b.name(names.of_function(s)) for s in node.targets.values()])
    chosen = b.call("_c_class", b.held(held, c.value(first)))
    # The stub is created in every call of the function; it raises its fault only if it is called.
    absent = b.call("_c_pure", b.constant(node.name))
    method = b.call(b.attribute(targets, "get"), chosen, absent)
    return b.call(method, b.name(held), *(c.value(a) for a in rest))


def _asm(c: PythonWalker, node: ir.Asm) -> ast.expr:
    names = [b.constant(o.name) for o in (*node.outputs, *node.inputs)]
    outputs = [_address(c, ir.AddressOf(o.value, t.Pointer(o.value.type), node.span)) for o in node.outputs]  # type: ignore[arg-type]
    inputs = [c.value(i.value) for i in node.inputs]  # type: ignore[arg-type]
    operands = ast.Tuple([*outputs, *inputs], b.LOAD)
    return b.call("_c_asm", b.constant(node.text), ast.Tuple(list(names), b.LOAD), operands)


def _argument(c: PythonWalker, node: ir.Expr) -> ast.expr:
    """Return an argument of a row or of the library; these take strings directly."""
    if isinstance(node, ir.Text):
        return b.at(b.constant(node.value), node.span)  # type: ignore[no-any-return]
    return c.value(node)


# -- assignments, as statements where possible, else as expressions --------------------------------


def assignment(c: PythonWalker, node: ir.Assign | ir.Update) -> list[ast.stmt]:
    """Return the statements of an assignment whose value is not used."""
    before: list[ast.stmt] = []
    if isinstance(node, ir.Assign):
        value = _chain(c, node.value, before) if isinstance(node.value, ir.Assign) else c.value(node.value)
        return [*before, *stored(c, node.place, value)]
    place = _once(c, node.place, before)
    return [*before, *stored(c, place, _combined(c, node, _read(c, place, node)))]


def _chain(c: PythonWalker, node: ir.Assign, before: list[ast.stmt]) -> ast.expr:
    """Render ``a = b = v``: evaluate v once, and store it from right to left."""
    value = _chain(c, node.value, before) if isinstance(node.value, ir.Assign) else c.value(node.value)
    if not (isinstance(value, ast.Constant) or (b.simple(value) and isinstance(node.place, ir.LocalStorage))):
        name = c.temporary()  # evaluating the place may change a variable
        before.append(b.at(b.assign(b.target(name), value), node.span))
        value = b.name(name)
    before.extend(b.at(s, node.span) for s in stored(c, node.place, value))
    return value


def stored(c: PythonWalker, at: ir.Place, value: ast.expr) -> list[ast.stmt]:
    """Return the statements that store *value* to a place."""
    if isinstance(at.type, t.Struct):
        if isinstance(at, ir.LocalStorage) and at.local.storage is ir.Storage.CELL:
            # The object is kept, because there may be pointers to it.
            return [ast.Expr(b.call(b.attribute(b.name(at.local.name), "assign"), value))]
        name = c.temporary()  # the stored value is evaluated before the place
        stored = b.call(b.attribute(struct(c, at), "assign"), b.name(name))
        return [b.assign(b.target(name), value), ast.Expr(stored)]
    if isinstance(at.type, t.VectorRegister):
        return [ast.Expr(b.call(b.attribute(struct(c, at), "assign"), value))]
    return [b.assign(_target(c, at), value)]


def _target(c: PythonWalker, at: ir.Place) -> ast.Name | ast.Attribute | ast.Subscript:
    if isinstance(at, ir.LocalStorage):
        local = at.local
        if not cell(local):
            return b.target(local.name)
        if local.storage is ir.Storage.CELL:
            return ast.Attribute(b.name(local.name), "v", b.STORE)
        return ast.Subscript(b.name(local.name), b.constant(0), b.STORE)
    if isinstance(at, ir.Element) and refers(at):
        return ast.Attribute(c.value(at.pointer), "v", b.STORE)
    if isinstance(at, ir.Element):
        return ast.Subscript(*_indexed(c, at), b.STORE)
    if isinstance(at, ir.Member):
        return ast.Attribute(struct(c, at.base), t.attribute_of(at.name), b.STORE)
    if isinstance(at, ir.GlobalPlace):
        return ast.Subscript(c.variable(at.variable), b.constant(0), b.STORE)
    if at.fixed:
        return ast.Attribute(constant_of(c, at), "v", b.STORE)
    return b.target(c.temporary())


def _once(c: PythonWalker, at: ir.Place, before: list[ast.stmt]) -> ir.Place:
    """Return *at* with every part that has a side effect or a cost evaluated once, in *before*."""
    if isinstance(at, ir.Element):
        if member_array(at) is None:
            return ir.Element(_kept(c, at.pointer, before), _kept(c, at.index, before), at.span)
        pointer, index = _indexed(c, at)  # checked here; the pointer no longer shows its array
        return ir.Element(_named(c, at.pointer, pointer, before), _named(c, at.index, index, before), at.span)
    if isinstance(at, ir.Member):
        return ir.Member(_once(c, at.base, before), at.field, at.span)
    return at


def _kept(c: PythonWalker, node: ir.Expr, before: list[ast.stmt]) -> ir.Expr:
    if isinstance(node, ir.Const) or (isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage)):
        return node
    return _named(c, node, c.value(node), before)


def _named(c: PythonWalker, node: ir.Expr, value: ast.expr, before: list[ast.stmt]) -> ir.Expr:
    """Assign *value*, the value of *node*, to a new variable in *before*, and return the variable."""
    name = c.temporary()
    before.append(b.at(b.assign(b.target(name), value), node.span))
    local = ir.Local(name, "", node.type, str(node.type), node.span)
    return ir.Load(ir.LocalStorage(local, node.span), node.span)


def _read(c: PythonWalker, at: ir.Place, node: ir.Update) -> ast.expr:
    waits = c.waits.get(id(node), 0)
    if not waits or not isinstance(at, ir.Element):
        return c.value(ir.Load(at, at.span))
    return b.at(_element(c, at, waits), at.span)  # type: ignore[no-any-return]


def _combined(c: PythonWalker, node: ir.Update, old: ast.expr) -> ast.expr:
    """Return the new value of an update."""
    kind = node.type
    if isinstance(kind, t.Pointer):
        return moved(c, old, kind.to, node.value, back=node.op == "-")
    assert isinstance(kind, t.Arithmetic)
    assert isinstance(node.within, t.Arithmetic)
    within = node.within
    have = (kind.low, kind.high) if kind.whole else (0, 0)
    if isinstance(node.place, ir.LocalStorage):
        have = c.ranges.get(node.place.local.name, have)
    if not t.alike(kind, within):
        old = arithmetic.converted(old, kind, within, have)
        if within.kind == "uint" and have[0] < 0:
            have = (within.low, within.high)
    other = arithmetic.range_of(node.value, c.ranges)
    if c.checked:
        steps = c.steps(node)
        operand = c.value(node.value)
        result = arithmetic.checked_operation(node.op, old, operand, within, have, other, steps=steps)
        if t.alike(kind, within):
            return result
        whole = (within.low, within.high) if within.whole else (0, 0)
        return arithmetic.checked_conversion(result, within, kind, whole, steps=steps)
    if arithmetic.modular(node.op, within) and arithmetic.overflows(node.op, within, have, other):
        result = arithmetic.wrapped(
            arithmetic.plain(node.op, old, residue(c, node.value, within.size)), within
        )
    else:
        result = arithmetic.arithmetic(node.op, old, c.value(node.value), within, have, other)
    if t.alike(kind, within):
        return result
    return arithmetic.converted(result, within, kind, (within.low, within.high) if within.whole else (0, 0))


def _assigned(c: PythonWalker, node: ir.Assign) -> ast.expr:
    """Return an assignment as an expression."""
    value = c.value(node.value)
    at = node.place
    if (
        isinstance(at, ir.LocalStorage)
        and not cell(at.local)
        and isinstance(at.type, t.Arithmetic | t.Pointer)
    ):
        return b.held(at.local.name, value)
    name = c.temporary()
    if isinstance(at.type, t.Struct):
        return b.first(b.held(name, value), b.call(b.attribute(struct(c, at), "assign"), b.name(name)))
    return b.first(b.held(name, value), _put(c, at, b.name(name)))


def _updated(c: PythonWalker, node: ir.Update) -> ast.expr:
    """Render ``++``, ``+=`` and similar operators as an expression."""
    at = node.place
    if isinstance(at, ir.LocalStorage) and not cell(at.local):
        new = b.held(at.local.name, _combined(c, node, b.name(at.local.name)))
        return b.first(b.name(at.local.name), new) if node.old else new
    parts: list[ast.expr] = []
    place = _once_inline(c, at, parts)
    before, after = c.temporary(), c.temporary()
    # The tuple ends with the old value, the new value and the store; the first or second of these is
    # selected.
    parts += [b.held(before, _read(c, place, node)), b.held(after, _combined(c, node, b.name(before)))]
    parts.append(_put(c, place, b.name(after)))
    return b.item(ast.Tuple(parts, b.LOAD), b.constant(len(parts) - (3 if node.old else 2)))


def _once_inline(c: PythonWalker, at: ir.Place, parts: list[ast.expr]) -> ir.Place:
    before: list[ast.stmt] = []
    place = _once(c, at, before)  # as statements, which become assignment expressions
    for statement in before:
        assert isinstance(statement, ast.Assign)
        assert isinstance(statement.targets[0], ast.Name)
        parts.append(b.held(statement.targets[0].id, statement.value))
    return place


def _put(c: PythonWalker, at: ir.Place, value: ast.expr) -> ast.expr:
    """Return a store as an expression, executed in the frame of the function itself."""
    target = _target(c, at)
    if isinstance(target, ast.Name):
        return b.held(target.id, value)
    if isinstance(target, ast.Attribute):
        return b.call("_c_setattr", target.value, b.constant(target.attr), value)
    # Python assigns to items only by statements.
    return b.call(b.attribute(target.value, "__setitem__"), target.slice, value)


def cell(local: ir.Local) -> bool:
    """Return whether a local is an object that holds a number, a pointer or a register."""
    return local.storage is not ir.Storage.VALUE and not isinstance(
        local.type, t.Array | t.Struct | t.ClassType | t.VectorRegister
    )


def refers(at: ir.Element) -> bool:
    """Return whether *at* is the number at which a pointer variable or reference points, which is its attribute ``v``.

    An object accessed as bytes has no such attribute.
    """
    pointer = at.pointer
    if not (isinstance(pointer, ir.Load) and isinstance(pointer.place, ir.LocalStorage)):
        return False
    kind = pointer.place.local.type
    first = isinstance(at.index, ir.Const) and at.index.value == 0
    if not (isinstance(kind, t.Pointer) and first and isinstance(at.type, t.Arithmetic)):
        return False
    return kind.reference or at.type.size > 1 or at.type.kind == "bool"


# Casts of pointers in Python, and null pointers, which have a type too.


def cast(c: PythonWalker, pointer: ast.expr, node: ir.Expr, to: t.Pointer) -> ast.expr:
    """Return *pointer*, the value of *node*, cast to type *to*; types whose layouts share a name need no cast."""
    pointee = t.element_of(to.to)
    if isinstance(pointee, t.Void | t.FunctionType | t.ClassType):
        return pointer
    have = node.type
    name = named_layout(pointee)[0]
    if isinstance(have, t.Pointer) and named_layout(have.to)[0] == name:
        return pointer
    if isinstance(pointee, t.Struct | t.Pointer | t.VectorRegister):
        return b.call("_c_seen", pointer, c.layout(pointee))
    cast = b.call(b.attribute(pointer, "cast"), c.layout(pointee))
    if not _again(c, node, to):
        return cast
    assert isinstance(node, ir.Load)
    assert isinstance(node.place, ir.LocalStorage)
    held = f"{names.KEPT}{node.place.local.name}{name}"
    c.cast_names[held] = None
    return ast.IfExp(b.compare(b.name(held), ast.IsNot(), b.constant(None)), b.name(held), b.held(held, cast))


def _again(c: PythonWalker, node: ir.Expr, to: t.Pointer) -> bool:
    """Return whether the same cast of *node* to *to* is executed repeatedly: of an unchanged local, in several places or in a loop."""
    if c.inside or not (isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage)):
        return False
    local = node.place.local
    steady = local.storage is ir.Storage.VALUE and local not in c.changed and local in c.steady
    return steady and (c.turns or c.casts.get((local, to.to), 0) > 1)


def null(c: PythonWalker, kind: t.Type) -> ast.expr:
    """Return the null pointer of type *kind*; for numbers or structs it knows their size."""
    pointer = b.name("_c_null")
    if isinstance(kind, t.Pointer) and isinstance(kind.to, t.Arithmetic | t.Struct):
        return b.call(b.attribute(pointer, "cast"), c.layout(kind.to))
    return pointer


VALUES: Mapping[type, Callable[[PythonWalker, Any], ast.expr]] = {
    ir.Const: lambda c, node: null(c, node.type) if node.value is None else b.constant(node.value),
    ir.Text: lambda _, node: b.call("_c_text", b.constant(node.value)),
    ir.Builtin: lambda _, node: b.name(node.name),
    ir.Load: _loaded,
    ir.AddressOf: _address,
    ir.Convert: _converted,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Logical: lambda c, node: ast.BoolOp(
        ast.And() if node.op == "&&" else ast.Or(), [c.tested(node.left), c.tested(node.right)]
    ),
    ir.Conditional: lambda c, n: ast.IfExp(c.tested(n.test), c.value(n.then), c.value(n.other)),
    ir.Comma: lambda c, node: b.last(c.value(node.first), c.value(node.second)),
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
    ir.DynamicCast: lambda c, node: b.call("_c_dynamic", c.value(node.value), b.constant(node.name)),
    ir.Asm: _asm,
}
