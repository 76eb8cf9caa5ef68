"""Expressions and places of the intermediate form in C."""

from collections.abc import Callable, Mapping
from typing import Any

from mlusim.engine.contract import BUILT_INS
from mlusim.frontend.bangc import ir, names, types as t
from mlusim.frontend.bangc.ir.walk import effectful
from mlusim.frontend.bangc.native import calls, classes, records, registers, screening
from mlusim.frontend.bangc.native.calls import assembly, intrinsic, library
from mlusim.frontend.bangc.native.numbers import (
    IDS,
    NoForm,
    computed,
    converted,
    ctype,
    dtype_of,
    in_register,
    literal,
    name,
    suffix,
)
from mlusim.frontend.bangc.native.rendering import Rendering, literal_pointer


class ProgramRendering(Rendering):
    """A program while it is rendered, with the functions of this file."""

    def value(self, node: ir.Expr) -> str:
        """Render the value of *node*."""
        return _VALUES[type(node)](self, node)

    def address(self, at: ir.Place) -> str:
        """Render a pointer to a place."""
        if isinstance(at, ir.LocalStorage):
            if in_register(at.local):
                raise NoForm("the address of a variable in a register")
            return name(at.local)
        if isinstance(at, ir.Element):
            size = at.type.size
            return self.in_order((at.pointer, at.index), lambda p, i: f"moved_({p}, {i}, {size})")
        if isinstance(at, ir.GlobalPlace):
            return f"PLACES_(m)[{self.place(at.variable)}]"
        if isinstance(at, ir.Member):
            return f"moved_({records.pointer_to(self, at.base)}, {at.offset}, 1)"
        return _kept(self, at)

    def spread(self, at: ir.Place, make: Callable[[str, str], str]) -> str:
        """Render ``make`` of a pointer and the index of the element that a place is."""
        if isinstance(at, ir.Element) and at.type.size == at.pointer.type.to.size:  # type: ignore[union-attr]
            return self.in_order((at.pointer, at.index), records.inside(self, at, make))
        return make(self.address(at), "0")

    def fetched(self, kind: t.Type, pointer: str, index: str, span: ir.Span, waits: int = 0) -> str:
        """Render the load of element *index* behind *pointer*; *waits*: what waits for it."""
        more = "" if isinstance(kind, t.Pointer) else f", {waits}"
        made = f"load_{_in_memory(kind)}(m, {pointer}, {index}, {self.site(span)}{more})"
        # A byte of memory may be any number.
        return f"({made} != 0)" if isinstance(kind, t.Arithmetic) and kind.kind == "bool" else made

    def put(self, kind: t.Type, pointer: str, index: str, given: str, span: ir.Span) -> str:
        """Render a store to element *index* behind *pointer*; its value is what was stored."""
        return f"store_{_in_memory(kind)}(m, {pointer}, {index}, {given}, {self.site(span)})"


def _in_memory(kind: t.Type) -> str:
    """Return what the functions that load and store a *kind* are named by."""
    if not isinstance(kind, t.Pointer | t.Arithmetic):
        raise NoForm(f"a {kind} in memory")
    return "pointer" if isinstance(kind, t.Pointer) else suffix(kind)


# -- places ------------------------------------------------------------------------------------------


def _kept(c: Rendering, at: ir.Temporary) -> str:
    """Render a pointer to a value, which is kept until the function is left."""
    if isinstance(at.value, ir.Text):
        return literal_pointer(c, at.value)
    if isinstance(at.type, t.VectorRegister):
        return registers.pointer(c, c.value(at.value), at.span)
    if not isinstance(at.type, t.Arithmetic | t.Pointer | t.Record):
        raise NoForm("the address of a value")
    local = ir.Local(f"{names.OWN}{c.temporary()}_", "", at.type, str(at.type), at.span, ir.Storage.CELL)
    c.values.append(local)
    made = c.value(at.value)
    kept = f"fixed_(m, {name(local)}, {c.text(at.fixed)});" if at.fixed else f"{name(local)};"
    return f"({{ {ctype(at.type)} i_ = {made}; memcpy(d_{local.name}, &i_, sizeof i_); {kept} }})"


def _direct(at: ir.Place) -> str | None:
    """Render a variable outside memory, or a part of one, as an lvalue of C."""
    if isinstance(at, ir.LocalStorage) and in_register(at.local):
        return name(at.local)
    base = records.raw(at)
    if base is None or not isinstance(at.type, t.Arithmetic | t.Pointer):
        return None
    if isinstance(at.type, t.Arithmetic) and at.type.kind == "bool":
        return f"(*(uint8_t *)({base}))"  # a _Bool that is neither 0 nor 1 is undefined in C
    return f"(*({ctype(at.type)} *)({base}))"


def _changing(at: ir.Place) -> str | None:
    """Render the same of what is going to be stored to: None for a constant, of which a store is refused."""
    return None if records.fixed(at) else _direct(at)


def _loaded(c: Rendering, at: ir.Place, span: ir.Span, waits: int) -> str:
    """Render the value at a place."""
    if isinstance(at.type, t.Record):
        return records.record(c, at, span)
    if isinstance(at.type, t.VectorRegister):
        return registers.place(c, at, span)
    direct = _direct(at)
    if direct is not None:
        return _assigned_by_now(c, at, direct, span)
    if isinstance(at, ir.Temporary):
        return c.value(at.value)
    found = records.of_value(at)
    if found is not None and isinstance(at.type, t.Arithmetic | t.Pointer):
        return records.read(c, *found, at.type)
    fetched = c.spread(at, lambda p, i: c.fetched(at.type, p, i, span, waits))
    return screening.with_pointer(c, at, records.member(c, at, fetched), span)


def _assigned_by_now(c: Rendering, at: ir.Place, direct: str, span: ir.Span) -> str:
    """Render the variable *direct*, whose value is wanted."""
    lacks = screening.lacking(c.unset, at) if c.unset else None
    return direct if lacks is None else f"ASSIGNED_({lacks}, {direct}, {c.site(span)})"


def _assign(c: Rendering, node: ir.Assign) -> str:
    at = node.place
    if isinstance(at.type, t.Record):
        return records.assigned(c, at, node)
    if isinstance(at.type, t.VectorRegister):
        return registers.assigned(c, node)
    direct = _changing(at)
    if direct is not None:
        stored = f"({direct} = {c.value(node.value)})"
        given = screening.given(c.unset, at)
        return f"({{ {stored}; {given} {direct}; }})" if given else stored
    if isinstance(node.value, ir.Const) or not (effectful(node.value) or effectful(at)):
        given = c.value(node.value)
        return screening.with_pointer(
            c, at, c.spread(at, lambda p, i: c.put(at.type, p, i, given, node.span)), node.span
        )
    held = c.temporary()  # what is stored comes first
    stored = screening.with_pointer(
        c, at, c.spread(at, lambda p, i: c.put(at.type, p, i, held, node.span)), node.span
    )
    return f"({{ {ctype(node.value.type)} {held} = {c.value(node.value)}; {stored}; }})"


def _update(c: Rendering, node: ir.Update) -> str:
    direct = _changing(node.place)
    if direct is not None and not node.old:
        old = _assigned_by_now(c, node.place, direct, node.span)
        return f"({direct} = {_combined(c, node, old)})"
    kind = ctype(node.type)
    old, new = c.temporary(), c.temporary()
    result = old if node.old else new
    if direct is not None:
        begun = _assigned_by_now(c, node.place, direct, node.span)
        return f"({{ {kind} {old} = {begun}; {direct} = {_combined(c, node, old)}; {old}; }})"
    at, index = c.temporary(), c.temporary()
    # Found once, for its parts may act.
    first = c.spread(node.place, lambda p, i: f"{at} = {p}; {index} = {i}")
    loaded = c.fetched(node.type, at, index, node.span, c.waits.get(id(node), 0))
    fetched = screening.with_pointer(c, node.place, loaded, node.span)
    return (
        f"({{ Ptr {at}; int64_t {index}; {first}; {kind} {old} = {fetched}; "
        f"{kind} {new} = {_combined(c, node, old)}; {c.put(node.type, at, index, new, node.span)}; {result}; }})"
    )


def _combined(c: Rendering, node: ir.Update, old: str) -> str:
    kind, within = node.type, node.within
    given = c.value(node.value)
    if isinstance(kind, t.Pointer):
        # Before the sign: minus an unsigned number is a large one.
        return f"moved_({old}, {'back_' if node.op == '-' else ''}((int64_t)({given})), {kind.to.size})"
    assert isinstance(kind, t.Arithmetic)
    assert isinstance(within, t.Arithmetic)
    old = converted(old, kind, within)
    if not c.screened:
        return converted(computed(node.op, old, given, within, c.site(node.span)), within, kind)
    steps = c.stepping and node.op in ("+", "-")
    made = screening.computed(c, node.op, old, given, within, c.site(node.span), steps=steps)
    if (kind.kind, kind.size) == (within.kind, within.size):
        return made
    return screening.converted(c, made, within, kind, c.site(node.span), steps=steps)


# -- numbers and pointers ----------------------------------------------------------------------------


def _builtin(_c: Rendering, node: ir.Builtin) -> str:
    if node.name not in BUILT_INS:
        raise NoForm(f"{node.name} as a variable of the device")
    return f"m->{node.name}"


def _convert(c: Rendering, node: ir.Convert) -> str:
    have, to = node.value.type, node.type
    made = c.value(node.value)
    if isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic):
        if c.screened:
            return screening.converted(c, made, have, to, c.site(node.span), cast=node.cast)
        return converted(made, have, to)
    if isinstance(to, t.Void):
        return f"((void)({made}))"
    if isinstance(have, t.Pointer | t.Array) and isinstance(to, t.Pointer):
        if isinstance(to.to, t.VectorRegister) and not registers.inside(
            have.to if isinstance(have, t.Pointer) else have
        ):
            raise NoForm("memory that is seen as a register")
        return made
    if isinstance(to, t.Arithmetic):
        number = f"shown_(m, {made}, {c.site(node.span)})"
        return f"({made} != 0)" if to.kind == "bool" else f"(({ctype(to)}){number})"
    if isinstance(to, t.Pointer):
        return f"pointer_of(m, (uint64_t)({made}))"
    raise NoForm(f"a conversion to {to}")


def _unary(c: Rendering, node: ir.Unary) -> str:
    made = c.value(node.value)
    kind = node.type
    if node.op == "!":
        return f"(!{made})"
    assert isinstance(kind, t.Arithmetic)
    if kind.kind == "float":
        # f16 and b16 are bits, which C would negate as integers.
        return computed("*", literal(-1.0, kind), made, kind, 0)
    if c.screened and node.op == "-" and kind.kind == "int":
        return screening.negated(c, made, kind, c.site(node.span))
    return f"(({ctype(kind)})({node.op}{made}))"


def _binary(c: Rendering, node: ir.Binary) -> str:
    kind = node.type
    assert isinstance(kind, t.Arithmetic)
    site = c.site(node.span)
    if c.screened:
        return c.in_order(
            (node.left, node.right), lambda a, b: screening.computed(c, node.op, a, b, kind, site)
        )
    return c.in_order((node.left, node.right), lambda a, b: computed(node.op, a, b, kind, site))


def _compare(c: Rendering, node: ir.Compare) -> str:
    kind = node.left.type

    def made(a: str, b: str) -> str:
        if isinstance(kind, t.Arithmetic) and kind.kind == "float" and kind.size == 2:
            form = "f16" if suffix(kind) == "f16" else "b16"
            return f"(from_{form}({a}) {node.op} from_{form}({b}))"
        if isinstance(kind, t.Pointer) and not any(isinstance(n, ir.Const) for n in (node.left, node.right)):
            return f"((int64_t)address_(m, {a}) {node.op} (int64_t)address_(m, {b}))"
        return f"({a} {node.op} {b})"

    return c.in_order((node.left, node.right), made)


def _offset(c: Rendering, node: ir.Offset) -> str:
    assert isinstance(node.type, t.Pointer)
    if isinstance(node.type.to, t.ClassType):
        raise NoForm(f"a pointer to {node.type.to}")
    size, way = node.type.to.size, "back_" if node.back else ""

    def made(p: str, n: str) -> str:
        return f"moved_({p}, {way}((int64_t)({n})), {size})"

    if node.referred and not isinstance(node.type.to, t.Array):
        within = records.inside(c, ir.Element(node.pointer, node.count, node.span), made)
        return c.in_order((node.pointer, node.count), within)
    return c.in_order((node.pointer, node.count), made)


def _distance(c: Rendering, node: ir.Distance) -> str:
    kind = node.left.type
    assert isinstance(kind, t.Pointer)
    found = dtype_of(kind.to)
    more = f"{kind.to.size}, {-1 if found is None else IDS[found]}, {c.site(node.span)}"
    return c.in_order((node.left, node.right), lambda a, b: f"distance_(m, {a}, {b}, {more})")


def _call(c: Rendering, node: ir.Call) -> str:
    if c.screened and not isinstance(node.type, t.VectorRegister):
        return screening.with_call(c, node)
    made = c.in_order(node.arguments, lambda *a: f"k_{node.symbol}({', '.join(('m', *a))})")
    if not isinstance(node.type, t.Void):
        ctype(node.type)  # refuses a type without a form
    return registers.kept(c, made, node.span) if isinstance(node.type, t.VectorRegister) else made


_VALUES: Mapping[type, Callable[[Rendering, Any], str]] = {
    ir.Const: lambda _, node: literal(node.value, node.type),
    ir.Builtin: _builtin,
    ir.Load: lambda c, node: _loaded(c, node.place, node.span, c.waits.get(id(node), 0)),
    ir.AddressOf: lambda c, node: c.address(node.place),
    ir.Convert: _convert,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Logical: lambda c, node: f"({c.tested(node.left)} {node.op} {c.tested(node.right)})",
    ir.Conditional: lambda c, n: f"({c.tested(n.test)} ? {c.value(n.then)} : {c.value(n.other)})",
    ir.Comma: lambda c, node: f"({c.value(node.first)}, {c.value(node.second)})",
    ir.Offset: _offset,
    ir.Distance: _distance,
    ir.Assign: _assign,
    ir.Update: _update,
    ir.Call: _call,
    ir.Text: literal_pointer,
    ir.FunctionAddress: calls.pointer,
    ir.Invoke: calls.invoked,
    ir.Dispatch: classes.dispatch,
    ir.DynamicCast: classes.dynamic,
    ir.IntrinsicCall: intrinsic,
    ir.LibraryCall: library,
    ir.Compose: records.compose,
    ir.Asm: assembly,
}
