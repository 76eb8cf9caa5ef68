"""Records outside memory in C."""

from collections import Counter
from collections.abc import Callable, Iterator

from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.ir.walk import changed, member_array, walk
from mlusim.frontend.bangc.native import classes, registers, screening
from mlusim.frontend.bangc.native.numbers import NoForm, ctype, in_cell, name
from mlusim.frontend.bangc.native.rendering import Rendering, literal_bytes


def raw(at: ir.Place) -> str | None:
    """Render the address of a variable outside memory, or of a part of one."""
    if isinstance(at, ir.LocalStorage):
        return f"(uint8_t *)d_{at.local.name}" if in_cell(at.local) else None
    base = raw(at.base) if isinstance(at, ir.Member) else None
    return None if base is None else f"({base} + {at.offset})"  # type: ignore[union-attr]


def fixed(at: ir.Place) -> bool:
    """Return whether *at* is a static constant of a function, or a part of one."""
    while isinstance(at, ir.Member):
        at = at.base
    return isinstance(at, ir.LocalStorage) and bool(at.local.fixed)


def looked_up(c: Rendering, form: ir.Function) -> Iterator[str]:
    """Yield the lines for the beginning of *form*: the parameters by which it reads members of one record several times."""
    nodes = walk(form.body)
    stores = changed(nodes)
    read = Counter(local for node in nodes if isinstance(node, ir.Load) for local, _ in _led_to(node.place))
    # Behind a parameter that nothing stores to, the record is one and the same in the whole call; what is read once is
    # looked up where it is read.
    given = {p for p in form.parameters if p.storage is ir.Storage.VALUE and not stores.get(p)}
    c.near = tuple(local for local, times in read.items() if times > 1 and local in given)
    for local in c.near:
        assert isinstance(local.type, t.Pointer)
        yield f"  const uint8_t *n_{local.name} = record_(m, {name(local)}, {local.type.to.size});"


def _led_to(at: ir.Place) -> Iterator[tuple[ir.Local, int]]:
    """Yield the pointer to the record that *at* is a member of, and how far *at* is from the beginning of the record."""
    offset, base = 0, at
    while isinstance(base, ir.Member):
        offset, base = offset + base.offset, base.base
    if base is at or not isinstance(base, ir.Element) or not isinstance(base.type, t.Record):
        return
    first = isinstance(base.index, ir.Const) and base.index.value == 0
    by = base.pointer.place if isinstance(base.pointer, ir.Load) else None
    if first and isinstance(by, ir.LocalStorage):
        yield by.local, offset


def member(c: Rendering, at: ir.Place, far: str) -> str:
    """Render a member of a record that was looked up already, where it is a variable; otherwise *far*, the usual load of *at*."""
    for local, offset in _led_to(at):
        if local in c.near:
            narrow = isinstance(at.type, t.Arithmetic) and at.type.kind == "bool"
            kind = "uint8_t" if narrow else ctype(at.type)
            found = f"*(const {kind} *)(n_{local.name} + {offset})"
            return f"(LIKELY(n_{local.name}) ? {found}{' != 0' if narrow else ''} : {far})"
    return far


def pointer_to(c: Rendering, at: ir.Place) -> str:
    """Render a pointer to a record that is going to be accessed; one in an array that is a member of another is in that array."""
    if isinstance(at, ir.Element):
        return c.spread(at, lambda p, i: f"moved_({p}, {i}, {at.type.size})")
    return c.address(at)


def of_value(at: ir.Place) -> tuple[ir.Expr, int] | None:
    """Return the record by value that *at* is a member of, and how far from its beginning; None elsewhere."""
    offset = 0
    while isinstance(at, ir.Member):
        offset, at = offset + at.offset, at.base
    return (at.value, offset) if isinstance(at, ir.Temporary) and isinstance(at.type, t.Record) else None


def read(c: Rendering, given: ir.Expr, offset: int, kind: t.Type) -> str:
    """Render the *kind* that lies *offset* bytes into a record by value."""
    held, found = c.temporary(), c.temporary()
    read_ = f"{ctype(kind)} {found}; memcpy(&{found}, {held}.b + {offset}, sizeof {found});"
    return f"({{ const {ctype(given.type)} {held} = {c.value(given)}; {read_} {found}; }})"


def inside(c: Rendering, at: ir.Element, make: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """Return *make* for an element's pointer and index; the index is checked if the array is a member of a record."""
    array = member_array(at)
    if array is None:
        return make
    size = at.type.size
    given = (
        f"{array.at.type.size // size}, {size}, {int(array.open)}, {c.text(array.words)}, {c.site(at.span)}"
    )
    base = c.address(array.at)
    return lambda p, i: make(p, f"member_(m, {base}, {p}, {i}, {given})")


def record(c: Rendering, at: ir.Place, span: ir.Span) -> str:
    """Render a record by value: the bytes of a variable, otherwise the loads of its fields."""
    if isinstance(at, ir.Temporary):
        return c.value(at.value)
    found = of_value(at)
    if found is not None:
        return read(c, *found, at.type)
    made, place, held = ctype(at.type), raw(at), c.temporary()
    own = classes.stamped(c, at.type, f"{held}.b")
    if place is not None:
        lacks = screening.lacking(c.unset, at)
        if lacks is not None:
            place = f"ASSIGNED_({lacks}, {place}, {c.site(span)})"
        return f"({{ {made} {held}; memcpy(&{held}, {place}, sizeof {held}); {own} {held}; }})"

    def load(kind: t.Type, pointer: str, offset: str) -> str:
        if isinstance(kind, t.VectorRegister):
            return f"memmove({held}.b + {offset}, register_(m, {pointer}, {c.site(span)}), REGISTER_BYTES);"
        given = c.fetched(kind, pointer, "0", span)
        return f"{{ {ctype(kind)} f_ = {given}; memcpy({held}.b + {offset}, &f_, sizeof f_); }}"

    bytes_ = f"memcpy(&{held}, n_, sizeof {held});"
    return f"({{ {made} {held} = {{{{0}}}}; {_each(c, at.type, pointer_to(c, at), bytes_, load)} {own} {held}; }})"


def compose(c: Rendering, node: ir.Compose) -> str:
    """Render a record from the values of its fields."""
    kind = node.type
    if isinstance(kind, t.VectorRegister):
        raise NoForm("a vector in a register")
    if not isinstance(kind, t.Record):
        raise NoForm("this initial value")
    held = c.temporary()
    # All bytes are zero at first, as C has it for fields that the list leaves out.
    given = " ".join(parts(c, f"{held}.b", kind, 0, node))
    own = classes.stamped(c, kind, f"{held}.b")
    unset = registers.cleared(kind, f"{held}.b")
    return f"({{ {ctype(kind)} {held} = {{{{0}}}}; {unset} {given} {own} {held}; }})"


def parts(c: Rendering, held: str, kind: t.Type, offset: int, given: ir.Expr) -> Iterator[str]:
    """Yield the stores of what *given* has for *kind*, which begins *offset* bytes behind *held*, a pointer to bytes."""
    if isinstance(given, ir.Compose) and isinstance(kind, t.Record):
        for field_, one in zip(kind.fields, given.values, strict=False):
            yield from parts(c, held, field_.type, offset + field_.offset, one)
    elif isinstance(given, ir.Compose) and isinstance(kind, t.Array):
        for number, one in enumerate(given.values):
            yield from parts(c, held, kind.of, offset + number * kind.of.size, one)
    elif isinstance(kind, t.Array) and isinstance(given, ir.Text):
        yield f"memcpy({held} + {offset}, at(see(m, {c.value(given)})), {min(kind.size, len(literal_bytes(given.value)))});"
    elif isinstance(kind, t.Array):
        raise NoForm("an array in a record that is no list")
    elif isinstance(kind, t.VectorRegister):
        if not isinstance(given, ir.Compose):  # else it has no value
            yield f"memmove({held} + {offset}, {c.value(given)}, REGISTER_BYTES);"
    else:
        yield f"{{ {ctype(kind)} f_ = {c.value(given)}; memcpy({held} + {offset}, &f_, sizeof f_); }}"


def assigned(c: Rendering, at: ir.Place, node: ir.Assign) -> str:
    """Render a store of a whole record; the value that is stored comes first."""
    place, held = raw(at), c.temporary()
    if place is not None and not fixed(at):
        stored = _stored(at.type, place, held) + screening.given(c.unset, at)
    else:
        stored = put_record(c, at.type, pointer_to(c, at), held, node.span)
    return f"({{ {ctype(at.type)} {held} = {c.value(node.value)}; {stored} {held}; }})"


def put_record(c: Rendering, kind: t.Type, pointer: str, held: str, span: ir.Span) -> str:
    """Return the statements that store *held*, a variable of C, behind *pointer*."""

    def store(
        kind: t.Type, pointer: str, offset: str
    ) -> str:  # where the record is a constant, the first store is refused
        if isinstance(kind, t.VectorRegister):
            return f"memmove(register_(m, {pointer}, {c.site(span)}), {held}.b + {offset}, REGISTER_BYTES);"
        stored = c.put(kind, pointer, "0", "f_", span)
        return f"{{ {ctype(kind)} f_; memcpy(&f_, {held}.b + {offset}, sizeof f_); {stored}; }}"

    return _each(c, kind, pointer, _stored(kind, "(uint8_t *)n_", held), store, "changing_")


def _stored(kind: t.Type, place: str, held: str) -> str:
    """Return the statements that store *held* at *place*, whose objects stay of their classes.

    Behind the members of a base there may be those of the object that it is a part of.
    """
    assert isinstance(kind, t.Record)
    size = max((f.offset + f.type.size for f in kind.fields), default=0) if kind.derived else kind.size
    own = classes.kept(kind, f"({place})", "o_.b")
    if not own:
        return f"memcpy({place}, &{held}, {size});"
    return f"{{ {ctype(kind)} o_ = {held}; {own} memcpy({place}, &o_, {size}); }}"


def _each(
    c: Rendering,
    kind: t.Type,
    pointer: str,
    whole: str,
    access: Callable[[t.Type, str, str], str],
    look: str = "record_",
) -> str:
    """*whole* where *look* finds the *kind* behind *pointer* to be a variable, with its bytes at n_; elsewhere *access* to each of its fields."""
    at = c.temporary()
    fields = " ".join(_scalars(c, kind, "0", lambda part, o: access(part, f"moved_({at}, {o}, 1)", o)))
    found = f"const Ptr {at} = {pointer}; const uint8_t *n_ = {look}(m, {at}, {kind.size});"
    return f"{found} if (LIKELY(n_)) {{ {whole} }} else {{ {fields} }}"


def _scalars(c: Rendering, kind: t.Type, offset: str, access: Callable[[t.Type, str], str]) -> Iterator[str]:
    """Yield *access* to each number and pointer, in order, in a *kind* that begins *offset* bytes into a record."""
    if isinstance(kind, t.Record):
        for field_ in kind.fields:
            yield from _scalars(c, field_.type, f"{offset} + {field_.offset}", access)
    elif isinstance(kind, t.Array):
        turn = c.temporary()
        inner = " ".join(_scalars(c, kind.of, f"{offset} + {turn} * {kind.of.size}", access))
        yield f"for (int64_t {turn} = 0; {turn} < {kind.count}; {turn}++) {{ {inner} }}"
    else:
        yield access(kind, offset)
