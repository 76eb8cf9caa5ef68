"""Values and places of the form in C: numbers, pointers, structs, vector registers, and classes of objects."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlusim.bangc import ir, names, types as t
from mlusim.bangc.ir.walk import changed, effectful, innermost, member_array, walk, within
from mlusim.bangc.native import screening
from mlusim.bangc.native.emit import (
    IDS,
    CWalker,
    NoForm,
    computed,
    converted,
    ctype,
    dtype_of,
    in_cell,
    in_register,
    literal,
    literal_bytes,
    literal_pointer,
    name,
    suffix,
)
from mlusim.bangc.runtime.ended import BLOCK, TEMPORARY
from mlusim.engine.contract import BUILT_INS

# -- places ------------------------------------------------------------------------------------------


def address(c: CWalker, at: ir.Place) -> str:
    """Render a pointer to a place."""
    if isinstance(at, ir.LocalStorage):
        if in_register(at.local):
            raise NoForm("the address of a variable in a register")
        return name(at.local)
    if isinstance(at, ir.Element):
        size = at.type.size
        return c.in_order((at.pointer, at.index), lambda p, i: f"moved_({p}, {i}, {size})")
    if isinstance(at, ir.GlobalPlace):
        return f"PLACES_(m)[{c.place(at.variable)}]"
    if isinstance(at, ir.Member):
        return f"moved_({pointer_to(c, at.base)}, {at.offset}, 1)"
    return _kept(c, at)


def spread(c: CWalker, at: ir.Place, make: Callable[[str, str], str]) -> str:
    """Render ``make`` applied to the pointer and index of the element *at*."""
    if isinstance(at, ir.Element) and at.type.size == at.pointer.type.to.size:  # type: ignore[union-attr]
        return c.in_order((at.pointer, at.index), inside(c, at, make))
    return make(address(c, at), "0")


def _kept(c: CWalker, at: ir.Temporary) -> str:
    """Render a pointer to a value, which is stored until the function returns."""
    if isinstance(at.value, ir.Text):
        return literal_pointer(c, at.value)
    if isinstance(at.type, t.VectorRegister):
        return register_pointer(c, c.value(at.value), at.span)
    if not isinstance(at.type, t.Arithmetic | t.Pointer | t.Struct):
        raise NoForm("the address of a value")
    local = ir.Local(f"{names.OWN}{c.temporary()}_", "", at.type, str(at.type), at.span, ir.Storage.CELL)
    c.addressed.append(local)
    again = ""
    if id(at) in c.outliving.temporaries:
        c.ending.add(local)
        again = f"{renewed(c, local)} "
    value = c.value(at.value)
    pointer = f"fixed_(m, {name(local)}, {c.text(at.fixed)});" if at.fixed else f"{name(local)};"
    return f"({{ {ctype(at.type)} i_ = {value}; {again}memcpy(d_{local.name}, &i_, sizeof i_); {pointer} }})"


def called(local: ir.Local) -> str:
    """Return how a fault names a variable that has ended."""
    return local.source_name or TEMPORARY


def renewed(c: CWalker, local: ir.Local) -> str:
    """Render the end of the variable *local* of a block before it begins again."""
    text = c.text(BLOCK.format(called(local)))
    return f"{name(local)} = renewed_(m, {name(local)}, {text});"


def _direct(at: ir.Place) -> str | None:
    """Render a variable outside memory, or a part of it, as an lvalue of C."""
    if isinstance(at, ir.LocalStorage) and in_register(at.local):
        return name(at.local)
    base = raw(at)
    if base is None or not isinstance(at.type, t.Arithmetic | t.Pointer):
        return None
    if isinstance(at.type, t.Arithmetic) and at.type.kind == "bool":
        return f"(*(uint8_t *)({base}))"  # a _Bool other than 0 and 1 is undefined in C
    return f"(*({ctype(at.type)} *)({base}))"


def _changing(at: ir.Place) -> str | None:
    """Render the lvalue of a store; None for a constant, whose store is refused."""
    return None if is_fixed(at) else _direct(at)


def _loaded(c: CWalker, at: ir.Place, span: ir.Span, waits: int) -> str:
    """Render the value at a place."""
    if isinstance(at.type, t.Struct):
        return struct(c, at, span)
    if isinstance(at.type, t.VectorRegister):
        return register_place(c, at, span)
    direct = _direct(at)
    if direct is not None:
        return _assigned_by_now(c, at, direct, span)
    if isinstance(at, ir.Temporary):
        return c.value(at.value)
    part = of_value(at)
    if part is not None and isinstance(at.type, t.Arithmetic | t.Pointer):
        return read_record(c, *part, at.type)
    fetched = spread(c, at, lambda p, i: c.fetched(at.type, p, i, span, waits))
    return screening.with_pointer(c, at, looked_up_member(c, at, fetched), span)


def _assigned_by_now(c: CWalker, at: ir.Place, direct: str, span: ir.Span) -> str:
    """Render the read of the variable *direct*, with the check that it has a value."""
    if isinstance(at, ir.LocalStorage) and at.local in c.held:
        return screening.held_read(c, at.local, direct, span)
    lacks = screening.lacking(c.unset, at) if c.unset else None
    return direct if lacks is None else f"ASSIGNED_({lacks}, {direct}, {c.site(span)})"


def _assign(c: CWalker, node: ir.Assign) -> str:
    at = node.place
    if isinstance(at.type, t.Struct):
        return record_assigned(c, at, node)
    if isinstance(at.type, t.VectorRegister):
        return register_assigned(c, node)
    direct = _changing(at)
    if direct is not None:
        stored = f"({direct} = {c.value(node.value)})"
        assigned = screening.given(c.unset, at)
        return f"({{ {stored}; {assigned} {direct}; }})" if assigned else stored
    ordered = effectful(node.value) or effectful(at) or c.order_matters((*within(at), node.value))
    if isinstance(node.value, ir.Const) or not ordered:
        value = c.value(node.value)
        return screening.with_pointer(
            c, at, spread(c, at, lambda p, i: c.put(at.type, p, i, value, node.span)), node.span
        )
    held = c.temporary()  # the stored value is evaluated first
    stored = screening.with_pointer(
        c, at, spread(c, at, lambda p, i: c.put(at.type, p, i, held, node.span)), node.span
    )
    return f"({{ {ctype(node.value.type)} {held} = {c.value(node.value)}; {stored}; }})"


def _update(c: CWalker, node: ir.Update) -> str:
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
    # Evaluate the address once, because it may have side effects.
    first = spread(c, node.place, lambda p, i: f"{at} = {p}; {index} = {i}")
    loaded = c.fetched(node.type, at, index, node.span, c.waits.get(id(node), 0))
    fetched = screening.with_pointer(c, node.place, loaded, node.span)
    return (
        f"({{ Ptr {at}; int64_t {index}; {first}; {kind} {old} = {fetched}; "
        f"{kind} {new} = {_combined(c, node, old)}; {c.put(node.type, at, index, new, node.span)}; {result}; }})"
    )


def _combined(c: CWalker, node: ir.Update, old: str) -> str:
    kind, within = node.type, node.within
    value = c.value(node.value)
    if isinstance(kind, t.Pointer):
        # Convert before negating: the negative of an unsigned number is a large number.
        return f"moved_({old}, {'back_' if node.op == '-' else ''}((int64_t)({value})), {kind.to.size})"
    assert isinstance(kind, t.Arithmetic)
    assert isinstance(within, t.Arithmetic)
    old = converted(old, kind, within)
    if not c.checked:
        return converted(computed(node.op, old, value, within, c.site(node.span)), within, kind)
    steps = c.steps(node)
    code = screening.computed(c, node.op, old, value, within, c.site(node.span), steps=steps)
    if t.alike(kind, within):
        return code
    return screening.converted(c, code, within, kind, c.site(node.span), steps=steps)


# -- numbers and pointers ----------------------------------------------------------------------------


def _builtin(_c: CWalker, node: ir.Builtin) -> str:
    if node.name not in BUILT_INS:
        raise NoForm(f"{node.name} as a variable of the device")
    return f"m->{node.name}"


def _convert(c: CWalker, node: ir.Convert) -> str:
    have, to = node.value.type, node.type
    value = c.value(node.value)
    if isinstance(have, t.Arithmetic) and isinstance(to, t.Arithmetic):
        if c.checked:
            return screening.converted(c, value, have, to, c.site(node.span), cast=node.cast)
        return converted(value, have, to)
    if isinstance(to, t.Void):
        return f"((void)({value}))"
    if isinstance(have, t.Pointer | t.Array) and isinstance(to, t.Pointer):
        if isinstance(to.to, t.VectorRegister) and not has_registers(
            have.to if isinstance(have, t.Pointer) else have
        ):
            raise NoForm("memory that is seen as a register")
        return value
    if isinstance(to, t.Arithmetic):
        number = f"shown_(m, {value}, {c.site(node.span)})"
        return f"({value} != 0)" if to.kind == "bool" else f"(({ctype(to)}){number})"
    if isinstance(to, t.Pointer):
        return f"pointer_of(m, (uint64_t)({value}))"
    raise NoForm(f"a conversion to {to}")


def _unary(c: CWalker, node: ir.Unary) -> str:
    value = c.value(node.value)
    kind = node.type
    if node.op == "!":
        return f"(!{value})"
    assert isinstance(kind, t.Arithmetic)
    if kind.kind == "float":
        # f16 and b16 are bit patterns, which C would negate as integers.
        return computed("*", literal(-1.0, kind), value, kind, 0)
    if c.checked and node.op == "-" and kind.kind == "int":
        return screening.negated(c, value, kind, c.site(node.span))
    return f"(({ctype(kind)})({node.op}{value}))"


def _binary(c: CWalker, node: ir.Binary) -> str:
    kind = node.type
    assert isinstance(kind, t.Arithmetic)
    site = c.site(node.span)
    if c.checked:
        return c.in_order(
            (node.left, node.right), lambda a, b: screening.computed(c, node.op, a, b, kind, site)
        )
    return c.in_order((node.left, node.right), lambda a, b: computed(node.op, a, b, kind, site))


def _compare(c: CWalker, node: ir.Compare) -> str:
    kind = node.left.type

    def render(a: str, b: str) -> str:
        if isinstance(kind, t.Arithmetic) and kind.kind == "float" and kind.size == 2:
            form = "f16" if suffix(kind) == "f16" else "b16"
            return f"(from_{form}({a}) {node.op} from_{form}({b}))"
        if isinstance(kind, t.Pointer) and not any(isinstance(n, ir.Const) for n in (node.left, node.right)):
            if node.op in ("==", "!="):
                return f"(address_(m, {a}) {node.op} address_(m, {b}))"
            dtype = dtype_of(kind.to)
            facts = f"{-1 if dtype is None else IDS[dtype]}, {c.site(node.span)}"
            return f"(order_(m, {a}, {b}, {facts}) {node.op} 0)"
        return f"({a} {node.op} {b})"

    nodes = node.left, node.right
    return c.decided(nodes, node.span, lambda: c.in_order(nodes, render))


def _offset(c: CWalker, node: ir.Offset) -> str:
    assert isinstance(node.type, t.Pointer)
    if isinstance(node.type.to, t.ClassType):
        raise NoForm(f"a pointer to {node.type.to}")
    size, way = node.type.to.size, "back_" if node.back else ""

    def render(p: str, n: str) -> str:
        return f"moved_({p}, {way}((int64_t)({n})), {size})"

    if node.referred and not isinstance(node.type.to, t.Array):
        within = inside(c, ir.Element(node.pointer, node.count, node.span), render)
        return c.in_order((node.pointer, node.count), within)
    return c.in_order((node.pointer, node.count), render)


def _distance(c: CWalker, node: ir.Distance) -> str:
    kind = node.left.type
    assert isinstance(kind, t.Pointer)
    dtype = dtype_of(kind.to)
    more = f"{kind.to.size}, {-1 if dtype is None else IDS[dtype]}, {c.site(node.span)}"
    return c.in_order((node.left, node.right), lambda a, b: f"distance_(m, {a}, {b}, {more})")


# -- structs, which are outside of memory ------------------------------------------------------------


def raw(at: ir.Place) -> str | None:
    """Render the address of a variable outside memory, or of a part of it."""
    if isinstance(at, ir.LocalStorage):
        return f"(uint8_t *)d_{at.local.name}" if in_cell(at.local) else None
    base = raw(at.base) if isinstance(at, ir.Member) else None
    return None if base is None else f"({base} + {at.offset})"  # type: ignore[union-attr]


def is_fixed(at: ir.Place) -> bool:
    """Return whether *at* is a static constant of a function, or part of one."""
    at = innermost(at)
    return isinstance(at, ir.LocalStorage) and bool(at.local.fixed)


def looked_up(c: CWalker, form: ir.Function) -> Iterator[str]:
    """Yield the lines at the start of *form* that look up structs of which it reads several members through a parameter."""
    nodes = walk(form.body)
    stores = changed(nodes)
    read = Counter(local for node in nodes if isinstance(node, ir.Load) for local, _ in _led_to(node.place))
    # A parameter that is never assigned points to the same struct during the whole call. A struct that is
    # read once is looked up at that read.
    fixed = {p for p in form.parameters if p.storage is ir.Storage.VALUE and not stores.get(p)}
    c.near = tuple(local for local, times in read.items() if times > 1 and local in fixed)
    for local in c.near:
        assert isinstance(local.type, t.Pointer)
        yield f"  const uint8_t *n_{local.name} = record_(m, {name(local)}, {local.type.to.size}, {c.words(local.type.to)});"


def _led_to(at: ir.Place) -> Iterator[tuple[ir.Local, int]]:
    """Yield the pointer variable through which *at*, a member of a struct, is reached, and the member's offset in the struct."""
    offset, base = 0, at
    while isinstance(base, ir.Member):
        offset, base = offset + base.offset, base.base
    if base is at or not isinstance(base, ir.Element) or not isinstance(base.type, t.Struct):
        return
    first = isinstance(base.index, ir.Const) and base.index.value == 0
    by = base.pointer.place if isinstance(base.pointer, ir.Load) else None
    if first and isinstance(by, ir.LocalStorage):
        yield by.local, offset


def looked_up_member(c: CWalker, at: ir.Place, far: str) -> str:
    """Render a member of a looked-up struct; if *at* is not one, return *far*, the usual load."""
    for local, offset in _led_to(at):
        if local in c.near:
            narrow = isinstance(at.type, t.Arithmetic) and at.type.kind == "bool"
            kind = "uint8_t" if narrow else ctype(at.type)
            member = f"*(const {kind} *)(n_{local.name} + {offset})"
            return f"(LIKELY(n_{local.name}) ? {member}{' != 0' if narrow else ''} : {far})"
    return far


def pointer_to(c: CWalker, at: ir.Place) -> str:
    """Render a pointer to a struct for an access; a struct in an array member stays within that array."""
    if isinstance(at, ir.Element):
        return spread(c, at, lambda p, i: f"moved_({p}, {i}, {at.type.size})")
    return address(c, at)


def of_value(at: ir.Place) -> tuple[ir.Expr, int] | None:
    """Return the by-value struct of which *at* is a member, and the member's offset; else None."""
    offset = 0
    while isinstance(at, ir.Member):
        offset, at = offset + at.offset, at.base
    return (at.value, offset) if isinstance(at, ir.Temporary) and isinstance(at.type, t.Struct) else None


def read_record(c: CWalker, whole: ir.Expr, offset: int, kind: t.Type) -> str:
    """Render the *kind* at byte *offset* of a by-value struct."""
    held, part = c.temporary(), c.temporary()
    read_ = f"{ctype(kind)} {part}; memcpy(&{part}, {held}.b + {offset}, sizeof {part});"
    return f"({{ const {ctype(whole.type)} {held} = {c.value(whole)}; {read_} {part}; }})"


def inside(c: CWalker, at: ir.Element, make: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """Return *make* for an element's pointer and index; the index into an array member of a struct is checked."""
    array = member_array(at)
    if array is None:
        return make
    size = at.type.size
    limits = (
        f"{array.at.type.size // size}, {size}, {int(array.open)}, {c.text(array.words)}, {c.site(at.span)}"
    )
    base = address(c, array.at)
    return lambda p, i: make(p, f"member_(m, {base}, {p}, {i}, {limits})")


def struct(c: CWalker, at: ir.Place, span: ir.Span) -> str:
    """Render a by-value struct: the bytes of a variable, or loads of its fields."""
    if isinstance(at, ir.Temporary):
        return c.value(at.value)
    part = of_value(at)
    if part is not None:
        return read_record(c, *part, at.type)
    c_type, place, held = ctype(at.type), raw(at), c.temporary()
    stamps = stamped(c, at.type, f"{held}.b")
    if place is not None:
        lacks = screening.lacking(c.unset, at)
        if lacks is not None:
            place = f"ASSIGNED_({lacks}, {place}, {c.site(span)})"
        return f"({{ {c_type} {held}; memcpy(&{held}, {place}, sizeof {held}); {stamps} {held}; }})"

    def load(kind: t.Type, pointer: str, offset: str) -> str:
        if isinstance(kind, t.VectorRegister):
            return f"memmove({held}.b + {offset}, register_(m, {pointer}, {c.site(span)}), REGISTER_BYTES);"
        value = c.fetched(kind, pointer, "0", span)
        return f"{{ {ctype(kind)} f_ = {value}; memcpy({held}.b + {offset}, &f_, sizeof f_); }}"

    bytes_ = f"memcpy(&{held}, n_, sizeof {held});"
    return f"({{ {c_type} {held} = {{{{0}}}}; {_each(c, at.type, pointer_to(c, at), bytes_, load)} {stamps} {held}; }})"


def compose(c: CWalker, node: ir.Compose) -> str:
    """Render a struct from its field values."""
    kind = node.type
    if isinstance(kind, t.VectorRegister):
        raise NoForm("a vector in a register")
    if not isinstance(kind, t.Struct):
        raise NoForm("this initial value")
    held = c.temporary()
    # All bytes start as zero, as C defines for fields that the list omits.
    stores = " ".join(parts(c, f"{held}.b", kind, 0, node))
    stamps = stamped(c, kind, f"{held}.b")
    unset = cleared(kind, f"{held}.b")
    return f"({{ {ctype(kind)} {held} = {{{{0}}}}; {unset} {stores} {stamps} {held}; }})"


def parts(c: CWalker, held: str, kind: t.Type, offset: int, value: ir.Expr) -> Iterator[str]:
    """Yield the stores of *value*, a *kind*, at byte *offset* behind *held*, a pointer to bytes."""
    if isinstance(value, ir.Compose) and isinstance(kind, t.Struct):
        for field_, element in zip(kind.fields, value.values, strict=False):
            yield from parts(c, held, field_.type, offset + field_.offset, element)
    elif isinstance(value, ir.Compose) and isinstance(kind, t.Array):
        for number, element in enumerate(value.values):
            yield from parts(c, held, kind.of, offset + number * kind.of.size, element)
    elif isinstance(kind, t.Array) and isinstance(value, ir.Text):
        yield f"memcpy({held} + {offset}, at(see(m, {c.value(value)})), {min(kind.size, len(literal_bytes(value.value)))});"
    elif isinstance(kind, t.Array):
        raise NoForm("an array in a struct that is not a list")
    elif isinstance(kind, t.VectorRegister):
        if not isinstance(value, ir.Compose):  # else it has no value
            yield f"memmove({held} + {offset}, {c.value(value)}, REGISTER_BYTES);"
    else:
        yield f"{{ {ctype(kind)} f_ = {c.value(value)}; memcpy({held} + {offset}, &f_, sizeof f_); }}"


def record_assigned(c: CWalker, at: ir.Place, node: ir.Assign) -> str:
    """Render a store of a whole struct; the stored value is evaluated first."""
    place, held = raw(at), c.temporary()
    if place is not None and not is_fixed(at):
        stored = _stored(at.type, place, held) + screening.given(c.unset, at)
    else:
        stored = put_record(c, at.type, pointer_to(c, at), held, node.span)
    return f"({{ {ctype(at.type)} {held} = {c.value(node.value)}; {stored} {held}; }})"


def put_record(c: CWalker, kind: t.Type, pointer: str, held: str, span: ir.Span) -> str:
    """Return the statements that store *held*, a C variable, at *pointer*."""

    def store(
        kind: t.Type, pointer: str, offset: str
    ) -> str:  # of a constant struct, the first store is refused
        if isinstance(kind, t.VectorRegister):
            return f"memmove(register_(m, {pointer}, {c.site(span)}), {held}.b + {offset}, REGISTER_BYTES);"
        stored = c.put(kind, pointer, "0", "f_", span)
        return f"{{ {ctype(kind)} f_; memcpy(&f_, {held}.b + {offset}, sizeof f_); {stored}; }}"

    return _each(c, kind, pointer, _stored(kind, "(uint8_t *)n_", held), store, "changing_")


def _stored(kind: t.Type, place: str, held: str) -> str:
    """Return the statements that store *held* at *place*; objects there keep their classes.

    Only the members are copied: the tail of a base may have members of the derived object.
    """
    assert isinstance(kind, t.Struct)
    size = max((f.offset + f.type.size for f in kind.fields), default=0) if kind.derived else kind.size
    classes = class_kept(kind, f"({place})", "o_.b")
    if not classes:
        return f"memcpy({place}, &{held}, {size});"
    return f"{{ {ctype(kind)} o_ = {held}; {classes} memcpy({place}, &o_, {size}); }}"


def _each(
    c: CWalker,
    kind: t.Type,
    pointer: str,
    whole: str,
    access: Callable[[t.Type, str, str], str],
    look: str = "record_",
) -> str:
    """Render *whole*, with the bytes in n_, if *look* resolves *pointer* to a variable of *kind*; else *access* to each field."""
    at = c.temporary()
    fields = " ".join(_scalars(c, kind, "0", lambda part, o: access(part, f"moved_({at}, {o}, 1)", o)))
    lookup = f"const Ptr {at} = {pointer}; const uint8_t *n_ = {look}(m, {at}, {kind.size}, {c.words(kind)});"
    return f"{lookup} if (LIKELY(n_)) {{ {whole} }} else {{ {fields} }}"


def _scalars(c: CWalker, kind: t.Type, offset: str, access: Callable[[t.Type, str], str]) -> Iterator[str]:
    """Yield *access* to each number and pointer of a *kind* at byte *offset* of a struct, in order."""
    if isinstance(kind, t.Struct):
        for field_ in kind.fields:
            yield from _scalars(c, field_.type, f"{offset} + {field_.offset}", access)
    elif isinstance(kind, t.Array):
        turn = c.temporary()
        inner = " ".join(_scalars(c, kind.of, f"{offset} + {turn} * {kind.of.size}", access))
        yield f"for (int64_t {turn} = 0; {turn} < {kind.count}; {turn}++) {{ {inner} }}"
    else:
        yield access(kind, offset)


# -- vector registers: bytes of a variable with an address; a value points to them until the next effect --


def register_place(c: CWalker, at: ir.Place, span: ir.Span) -> str:
    """Render the address of the bytes of the register at a place."""
    if isinstance(at, ir.Temporary):
        return c.value(at.value)
    if isinstance(at, ir.LocalStorage):
        return f"(uint8_t *)d_{at.local.name}"
    if isinstance(at, ir.Element):
        pointer = spread(c, at, lambda p, i: f"moved_({p}, {i}, {at.type.size})")
    else:
        pointer = address(c, at)
    return f"register_(m, {pointer}, {c.site(span)})"


def register_kept(c: CWalker, value: str, span: ir.Span) -> str:
    """Store the result of a call in a register of the calling function."""
    kind = t.VectorRegister(t.INT32)  # any element type: it is only bytes
    local = ir.Local(f"{names.OWN}{c.temporary()}_", "", kind, str(kind), span, ir.Storage.CELL)
    c.addressed.append(local)
    return f"((const uint8_t *)memmove(d_{local.name}, {value}, REGISTER_BYTES))"


def register_assigned(c: CWalker, node: ir.Assign) -> str:
    """Render a store of a whole register."""
    held = c.temporary()
    # memmove instead of memcpy: a register may be assigned to itself.
    stored = f"memmove({register_place(c, node.place, node.span)}, {held}, REGISTER_BYTES)"
    return f"({{ const uint8_t *{held} = {c.value(node.value)}; (const uint8_t *){stored}; }})"


def register_pointer(c: CWalker, value: str, span: ir.Span) -> str:
    """Render a pointer to a by-value register."""
    filled = register_kept(c, value, span)
    return f"({{ (void){filled}; {name(c.addressed[-1])}; }})"


def register_declared(c: CWalker, node: ir.Declare) -> list[str]:
    """Render the declaration of a register, with a copy of another one or without a value."""
    at = f"d_{node.local.name}"
    # A default-initialised register has no value either.
    if node.value is None or isinstance(node.value, ir.Compose):
        return [f"unset_({at});"]
    return [f"memmove({at}, {c.value(node.value)}, REGISTER_BYTES);"]


def cleared(kind: t.Type, bytes_: str) -> str:
    """Return C that marks the registers in a *kind* at *bytes_* as having no value; "" if it has no registers."""
    if isinstance(kind, t.VectorRegister):
        return f"unset_({bytes_});"
    if not has_registers(kind):
        return ""
    if isinstance(kind, t.Struct):
        return " ".join(filter(None, (cleared(f.type, f"{bytes_} + {f.offset}") for f in kind.fields)))
    assert isinstance(kind, t.Array)
    if isinstance(kind.of, t.VectorRegister):
        return f"unset_all_({bytes_}, {kind.count});"
    each = cleared(kind.of, "e_")
    return f"for (uint8_t *e_ = {bytes_}, *end_ = e_ + {kind.size}; e_ < end_; e_ += {kind.of.size}) {{ {each} }}"


def has_registers(kind: t.Type) -> bool:
    """Return whether *kind* is or contains a vector register."""
    if isinstance(kind, t.Array):
        return has_registers(kind.of)
    if isinstance(kind, t.Struct):
        return any(has_registers(field.type) for field in kind.fields)
    return isinstance(kind, t.VectorRegister)


def registers_in_union(kind: t.Type) -> bool:
    """Return whether *kind* contains a union with a register, which Python refuses when it is executed."""
    if isinstance(kind, t.Array):
        return registers_in_union(kind.of)
    if not isinstance(kind, t.Struct):
        return False
    return has_registers(kind) if kind.union else any(registers_in_union(field.type) for field in kind.fields)


def uses_registers(form: ir.Function) -> bool:
    """Return whether a function has local vector registers."""
    return any(has_registers(local.type) for local in form.locals)


def register_arrives(name: str) -> str:
    """Render the copy of a register parameter that is passed by value."""
    return f"  memmove(d_{name}, g_{name}, REGISTER_BYTES);"


# -- classes with virtual methods ----------------------------------------------------------------------
#
# An object contains the number of its class where C++ stores a pointer to the virtual table. Objects outside
# simulated memory get it when their lifetime begins; a copy by value gets the number of the copied type.


def objects_within(kind: t.Type, offset: int = 0) -> Iterator[tuple[int, t.Struct]]:
    """Yield the byte offset and type of each object with virtual methods in a *kind*, including itself."""
    if isinstance(kind, t.Array):
        for n in range(kind.count if any(True for _ in objects_within(kind.of)) else 0):
            yield from objects_within(kind.of, offset + n * kind.of.size)
    elif isinstance(kind, t.Struct):
        if kind.virtual:
            # The class number is stored where C++ has the pointer to the table, in the first eight bytes; a
            # base without virtual methods has members there.
            if any(f.offset < 8 for f in kind.fields):
                raise NoForm(f"{kind}, whose base has no virtual methods")
            yield offset, kind
        for field in kind.fields:
            yield from objects_within(field.type, offset + field.offset)


def stamped(c: CWalker, kind: t.Type, base: str) -> str:
    """Return the statements that store the class numbers of the objects at *base*, a pointer to bytes."""
    return " ".join(
        f"{{ const uint64_t k_ = {class_number(c, part.names)}; memcpy({base} + {offset}, &k_, 8); }}"
        for offset, part in objects_within(kind)
    )


def class_kept(kind: t.Type, place: str, held: str) -> str:
    """Return the statements that copy the class numbers of the objects at *place* into *held*, bytes about to be stored."""
    return " ".join(
        f"memcpy({held} + {offset}, {place} + {offset}, 8);" for offset, _ in objects_within(kind)
    )


def class_number(c: CWalker, names: tuple[str, ...]) -> int:
    """Return the number of the class with these *names*: its own and those of its bases."""
    # Numbers start at 1: 0 is the value of bytes without a constructed object.
    return int(c.classes.setdefault(names, len(c.classes) + 1))


VALUES: Mapping[type, Callable[[CWalker, Any], str]] = {
    ir.Const: lambda _, node: literal(node.value, node.type),
    ir.Builtin: _builtin,
    ir.Load: lambda c, node: _loaded(c, node.place, node.span, c.waits.get(id(node), 0)),
    ir.AddressOf: lambda c, node: address(c, node.place),
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
    ir.Text: literal_pointer,
    ir.Compose: compose,
}
