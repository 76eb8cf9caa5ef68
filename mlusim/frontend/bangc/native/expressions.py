"""Expressions and places of the intermediate form in C.

C leaves the order of arguments open, so that what has effects goes through temporaries, from left to right.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import define, field

from mlusim.arch.board import Arch
from mlusim.engine.native.door import Use
from mlusim.engine.native.layout import BUILTINS
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native import classes, functions, records, registers, texts
from mlusim.frontend.bangc.native.assembly import assembly
from mlusim.frontend.bangc.native.numbers import (
    IDS,
    NoForm,
    computed,
    converted,
    ctype,
    dtype_of,
    literal,
    no_form,
    rounded,
    suffix,
)

EFFECTS = (
    ir.Call,
    ir.Invoke,
    ir.Dispatch,
    ir.IntrinsicCall,
    ir.LibraryCall,
    ir.Assign,
    ir.Update,
    ir.Asm,
    ir.Comma,
)


@define(eq=False)
class ProgramRendering:
    """A program while it is rendered: what it refers to, by number."""

    arch: Arch
    uses: dict[Use, None] = field(factory=dict)
    sites: dict[tuple[str, int], int] = field(factory=dict)
    texts: dict[str, int] = field(factory=dict)
    library: dict[str, int] = field(factory=dict)
    places: dict[Any, int] = field(factory=dict)  # variables at file scope and arrays of functions
    near: tuple[ir.Local, ...] = ()  # of the function at hand: see `records.looked_up`
    temporaries: int = 0
    values: list[ir.Local] = field(factory=list)  # of the function at hand: those whose address is taken
    statics: dict[str, ir.Local] = field(factory=dict)  # of functions, by what they are by
    literals: dict[str, int] = field(
        factory=dict
    )  # strings that are read, and the places of pointers to them
    pointed: dict[str, int] = field(factory=dict)  # functions whose address is taken
    classes: dict[tuple[str, ...], int] = field(factory=dict)  # with virtual methods, by their names
    dispatches: dict[int, tuple[int, ir.Dispatch]] = field(factory=dict)  # calls of virtual methods
    casts: dict[str, int] = field(factory=dict)  # classes that pointers are cast to dynamically
    leaving: list[Any] = field(
        factory=list
    )  # what is around the statement at hand: loops, switches, labels, and objects that end
    signatures: dict[functions.Signature, int] = field(factory=dict)  # of what is called through pointers

    def site(self, span: ir.Span) -> int:
        """The number of a place in the source."""
        return self.sites.setdefault((span.file, span.line), len(self.sites))

    def text(self, text: str) -> int:
        """The number of a string."""
        return self.texts.setdefault(text, len(self.texts))

    def literal(self, text: str) -> int:
        """The place of the pointer to a string that is read."""
        place = self.place(("literal", text))
        return self.literals.setdefault(text, place)

    def function(self, name: str) -> int:
        """The number of a function of the C library."""
        return self.library.setdefault(name, len(self.library))

    def place(self, variable: Any) -> int:
        """The number of a variable that Python declares."""
        return self.places.setdefault(variable, len(self.places))

    def static(self, local: ir.Local) -> int:
        """The number of a static variable, which several functions may see."""
        first = self.statics.setdefault(local.home, local)
        return self.place((local.home, first))

    def temporary(self) -> str:
        """A name that nothing else has."""
        self.temporaries += 1
        return f"t_{self.temporaries}"


def value(c: ProgramRendering, node: ir.Expr) -> str:
    """The value of *node*."""
    made = _VALUES.get(type(node))
    if made is None:
        raise no_form(node)
    return made(c, node)


def effectful(node: Any) -> bool:
    """Return whether the order of *node* among others may matter."""
    if isinstance(node, EFFECTS):
        return True
    if isinstance(node, tuple):
        return any(effectful(n) for n in node)
    inner = (
        getattr(node, n, None)
        for n in (
            "value",
            "left",
            "right",
            "test",
            "then",
            "other",
            "pointer",
            "index",
            "place",
            "base",
            "count",
        )
    )
    return any(effectful(n) for n in inner if n is not None and hasattr(n, "span"))


def in_order(c: ProgramRendering, nodes: tuple[ir.Expr, ...], make: Callable[..., str]) -> str:
    """``make`` of the values of *nodes*, evaluated from left to right."""
    open_ = [n for n in nodes if not isinstance(n, ir.Const)]
    if len(open_) < 2 or not any(effectful(n) for n in open_):
        return make(*(value(c, n) for n in nodes))
    names = [c.temporary() for _ in nodes]
    kept = " ".join(f"{ctype(n.type)} {name} = {value(c, n)};" for n, name in zip(nodes, names, strict=True))
    return f"({{ {kept} {make(*names)}; }})"


# -- places ------------------------------------------------------------------------------------------


def name(local: ir.Local) -> str:
    """A local's name in C."""
    return f"v_{local.name}"


def in_register(local: ir.Local) -> bool:
    """Return whether a local is a variable of C."""
    return local.storage is ir.Storage.VALUE and not isinstance(local.type, t.VectorRegister)


def address(c: ProgramRendering, at: ir.Place) -> str:
    """A pointer to a place."""
    if isinstance(at, ir.LocalStorage):
        if in_register(at.local):
            raise NoForm("the address of a variable in a register")
        return name(at.local)
    if isinstance(at, ir.Element):
        size = at.type.size
        return in_order(c, (at.pointer, at.index), lambda p, i: f"moved_({p}, {i}, {size})")
    if isinstance(at, ir.GlobalPlace):
        return f"PLACES_(m)[{c.place(at.variable)}]"
    if isinstance(at, ir.Member):
        return f"moved_({records.pointer_to(c, at.base)}, {at.offset}, 1)"
    return _kept(c, at)


def _kept(c: ProgramRendering, at: ir.Temporary) -> str:
    """A pointer to a value, which is kept until the function is left."""
    if isinstance(at.value, ir.Text):
        return texts.pointer(c, at.value)
    if isinstance(at.type, t.VectorRegister):
        return registers.pointer(c, value(c, at.value), at.span)
    if not isinstance(at.type, t.Arithmetic | t.Pointer | t.Record):
        raise NoForm("the address of a value")
    local = ir.Local(c.temporary(), "", at.type, str(at.type), at.span, ir.Storage.CELL)
    c.values.append(local)
    made = value(c, at.value)
    kept = f"fixed_(m, {name(local)}, {c.text(at.fixed)});" if at.fixed else f"{name(local)};"
    return f"({{ {ctype(at.type)} i_ = {made}; memcpy(d_{local.name}, &i_, sizeof i_); {kept} }})"


def _direct(at: ir.Place) -> str | None:
    """A variable outside memory, or a part of one, as an lvalue of C."""
    if isinstance(at, ir.LocalStorage) and in_register(at.local):
        return name(at.local)
    base = records.raw(at)
    if base is None or not isinstance(at.type, t.Arithmetic | t.Pointer):
        return None
    if isinstance(at.type, t.Arithmetic) and at.type.kind == "bool":
        return f"(*(uint8_t *)({base}))"
    return f"(*({ctype(at.type)} *)({base}))"


def _changing(at: ir.Place) -> str | None:
    """The same of what is going to be stored to: None for a constant, of which a store is refused."""
    return None if records.fixed(at) else _direct(at)


def loaded(c: ProgramRendering, at: ir.Place, span: ir.Span) -> str:
    """The value at a place."""
    if isinstance(at.type, t.Record):
        return records.record(c, at, span)
    if isinstance(at.type, t.VectorRegister):
        return registers.place(c, at, span)
    direct = _direct(at)
    if direct is not None:
        return direct
    if isinstance(at, ir.Temporary):
        return value(c, at.value)
    found = records.of_value(at)
    if found is not None and isinstance(at.type, t.Arithmetic | t.Pointer):
        return records.read(c, *found, at.type)
    return records.member(c, at, spread(c, at, lambda p, i: fetched(c, at.type, p, i, span)))


def spread(c: ProgramRendering, at: ir.Place, make: Callable[[str, str], str]) -> str:
    """``make`` of a pointer and the index of the element that a place is."""
    if isinstance(at, ir.Element) and at.type.size == at.pointer.type.to.size:  # type: ignore[union-attr]
        return in_order(c, (at.pointer, at.index), records.inside(c, at, make))
    return make(address(c, at), "0")


def fetched(c: ProgramRendering, kind: t.Type, pointer: str, index: str, span: ir.Span) -> str:
    """Element *index* behind *pointer*."""
    if isinstance(kind, t.Pointer):
        return f"load_pointer(m, {pointer}, {index}, {c.site(span)})"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"a {kind} in memory")
    if kind.kind == "bool":
        return f"(load_u8(m, {pointer}, {index}, {c.site(span)}) != 0)"
    return f"load_{suffix(kind)}(m, {pointer}, {index}, {c.site(span)})"


def put(c: ProgramRendering, kind: t.Type, pointer: str, index: str, given: str, span: ir.Span) -> str:
    """A store to element *index* behind *pointer*; its value is what was stored."""
    if isinstance(kind, t.Pointer):
        return f"store_pointer(m, {pointer}, {index}, {given}, {c.site(span)})"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"a {kind} in memory")
    return f"store_{suffix(kind)}(m, {pointer}, {index}, {given}, {c.site(span)})"


def _load(c: ProgramRendering, node: ir.Load) -> str:
    return loaded(c, node.place, node.span)


def _address_of(c: ProgramRendering, node: ir.AddressOf) -> str:
    return address(c, node.place)


def _assign(c: ProgramRendering, node: ir.Assign) -> str:
    at = node.place
    if isinstance(at.type, t.Record):
        return records.assigned(c, at, node)
    if isinstance(at.type, t.VectorRegister):
        return registers.assigned(c, node)
    direct = _changing(at)
    if direct is not None:
        return f"({direct} = {value(c, node.value)})"
    if isinstance(node.value, ir.Const) or not (effectful(node.value) or effectful(at)):
        given = value(c, node.value)
        return spread(c, at, lambda p, i: put(c, at.type, p, i, given, node.span))
    held = c.temporary()  # what is stored comes first
    stored = spread(c, at, lambda p, i: put(c, at.type, p, i, held, node.span))
    return f"({{ {ctype(node.value.type)} {held} = {value(c, node.value)}; {stored}; }})"


def _update(c: ProgramRendering, node: ir.Update) -> str:
    direct = _changing(node.place)
    if direct is not None and not node.old:
        return f"({direct} = {_combined(c, node, direct)})"
    kind = ctype(node.type)
    old, new = c.temporary(), c.temporary()
    result = old if node.old else new
    if direct is not None:
        return f"({{ {kind} {old} = {direct}; {direct} = {_combined(c, node, old)}; {old}; }})"
    at, index = c.temporary(), c.temporary()
    first = spread(c, node.place, lambda p, i: f"{at} = {p}; {index} = {i}")
    return (
        f"({{ Ptr {at}; int64_t {index}; {first}; {kind} {old} = {fetched(c, node.type, at, index, node.span)}; "
        f"{kind} {new} = {_combined(c, node, old)}; {put(c, node.type, at, index, new, node.span)}; {result}; }})"
    )


def _combined(c: ProgramRendering, node: ir.Update, old: str) -> str:
    kind, within = node.type, node.within
    given = value(c, node.value)
    if isinstance(kind, t.Pointer):
        return f"moved_({old}, {'-' if node.op == '-' else ''}(int64_t)({given}), {kind.to.size})"
    assert isinstance(kind, t.Arithmetic)
    assert isinstance(within, t.Arithmetic)
    made = computed(node.op, converted(old, kind, within), given, within, None, c.site(node.span))
    return converted(made, within, kind)


# -- numbers and pointers ----------------------------------------------------------------------------


def _const(_c: ProgramRendering, node: ir.Const) -> str:
    return literal(node.value, node.type)


def _builtin(_c: ProgramRendering, node: ir.Builtin) -> str:
    if node.name not in BUILTINS:
        raise NoForm(f"{node.name} as a variable of the device")
    return f"m->{node.name}"


def _convert(c: ProgramRendering, node: ir.Convert) -> str:
    have, to = node.value.type, node.type
    made = value(c, node.value)
    if isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic):
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


def _unary(c: ProgramRendering, node: ir.Unary) -> str:
    made = value(c, node.value)
    kind = node.type
    if node.op == "!":
        return f"(!{made})"
    assert isinstance(kind, t.Arithmetic)
    if kind.kind == "float":
        return computed("*", literal(-1.0, kind), made, kind, None, 0)
    return f"(({ctype(kind)})({node.op}{made}))"


def _binary(c: ProgramRendering, node: ir.Binary) -> str:
    kind = node.type
    assert isinstance(kind, t.Arithmetic)
    return in_order(
        c, (node.left, node.right), lambda a, b: computed(node.op, a, b, kind, None, c.site(node.span))
    )


def _compare(c: ProgramRendering, node: ir.Compare) -> str:
    kind = node.left.type

    def made(a: str, b: str) -> str:
        if isinstance(kind, t.Arithmetic) and kind.kind == "float" and kind.size == 2:
            form = "f16" if suffix(kind) == "f16" else "b16"
            return f"(from_{form}({a}) {node.op} from_{form}({b}))"
        if isinstance(kind, t.Pointer) and not any(isinstance(n, ir.Const) for n in (node.left, node.right)):
            return f"((int64_t)address_(m, {a}) {node.op} (int64_t)address_(m, {b}))"
        return f"({a} {node.op} {b})"

    return in_order(c, (node.left, node.right), made)


def _logical(c: ProgramRendering, node: ir.Logical) -> str:
    return f"({value(c, node.left)} {node.op} {value(c, node.right)})"


def _conditional(c: ProgramRendering, node: ir.Conditional) -> str:
    return f"({value(c, node.test)} ? {value(c, node.then)} : {value(c, node.other)})"


def _comma(c: ProgramRendering, node: ir.Comma) -> str:
    return f"({value(c, node.first)}, {value(c, node.second)})"


def _offset(c: ProgramRendering, node: ir.Offset) -> str:
    assert isinstance(node.type, t.Pointer)
    if isinstance(node.type.to, t.ClassType):
        raise NoForm(f"a pointer to {node.type.to}")
    size, sign = node.type.to.size, "-" if node.back else ""
    return in_order(c, (node.pointer, node.count), lambda p, n: f"moved_({p}, {sign}(int64_t)({n}), {size})")


def _distance(c: ProgramRendering, node: ir.Distance) -> str:
    kind = node.left.type
    assert isinstance(kind, t.Pointer)
    found = dtype_of(kind.to)
    more = f"{kind.to.size}, {-1 if found is None else IDS[found]}, {c.site(node.span)}"
    return in_order(c, (node.left, node.right), lambda a, b: f"distance_(m, {a}, {b}, {more})")


def _call(c: ProgramRendering, node: ir.Call) -> str:
    made = in_order(c, node.arguments, lambda *a: f"k_{node.symbol}({', '.join(('m', *a))})")
    if not isinstance(node.type, t.Void):
        ctype(node.type)
    return registers.kept(c, made, node.span) if isinstance(node.type, t.VectorRegister) else made


def _intrinsic(c: ProgramRendering, node: ir.IntrinsicCall) -> str:
    from mlusim.frontend.bangc.native.calls import intrinsic  # noqa: PLC0415 - two halves of one subject

    return intrinsic(c, node)


def _library(c: ProgramRendering, node: ir.LibraryCall) -> str:
    from mlusim.frontend.bangc.native.calls import library  # noqa: PLC0415 - two halves of one subject

    return library(c, node)


_VALUES: Mapping[type, Callable[[ProgramRendering, Any], str]] = MappingProxyType(
    {
        ir.Const: _const,
        ir.Builtin: _builtin,
        ir.Load: _load,
        ir.AddressOf: _address_of,
        ir.Convert: _convert,
        ir.Unary: _unary,
        ir.Binary: _binary,
        ir.Compare: _compare,
        ir.Logical: _logical,
        ir.Conditional: _conditional,
        ir.Comma: _comma,
        ir.Offset: _offset,
        ir.Distance: _distance,
        ir.Assign: _assign,
        ir.Update: _update,
        ir.Call: _call,
        ir.Text: texts.pointer,
        ir.FunctionAddress: functions.pointer,
        ir.Invoke: functions.invoked,
        ir.Dispatch: classes.dispatch,
        ir.DynamicCast: classes.dynamic,
        ir.IntrinsicCall: _intrinsic,
        ir.LibraryCall: _library,
        ir.Compose: records.compose,
        ir.Asm: assembly,
    }
)

__all__ = [
    "IDS",
    "NoForm",
    "ProgramRendering",
    "address",
    "dtype_of",
    "in_order",
    "loaded",
    "rounded",
    "value",
]
