"""Records outside memory in C, and inline assembly."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from mlusim.engine.native.door import NUMBERS
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import changed, walk
from mlusim.frontend.bangc.native.numbers import NoForm, ctype
from mlusim.time.log import FOR_ALL


def raw(at: ir.Place) -> str | None:
    """Where the bytes of a variable outside memory are, or those of a part of it."""
    if isinstance(at, ir.LocalStorage):
        return f"(uint8_t *)d_{at.local.name}" if at.local.storage is ir.Storage.CELL else None
    base = raw(at.base) if isinstance(at, ir.Member) else None
    return None if base is None else f"({base} + {at.offset})"  # type: ignore[union-attr]


def looked_up(c: Any, form: ir.Function) -> Iterator[str]:
    """Lines for the beginning of *form*: the parameters by which it reads members of one record several times."""
    nodes = walk(form.body)
    stores = changed(nodes)
    read = Counter(local for node in nodes if isinstance(node, ir.Load) for local, _ in _led_to(node.place))
    given = {p for p in form.parameters if p.storage is ir.Storage.VALUE and not stores.get(p)}
    c.near = tuple(local for local, times in read.items() if times > 1 and local in given)
    for local in c.near:
        yield f"  const uint8_t *n_{local.name} = record_(m, v_{local.name}, {local.type.to.size});"


def _led_to(at: ir.Place) -> Iterator[tuple[ir.Local, int]]:
    """The pointer by which *at* is a member of the record behind it, and how far from its beginning."""
    offset, base = 0, at
    while isinstance(base, ir.Member):
        offset, base = offset + base.offset, base.base
    if base is at or not isinstance(base, ir.Element) or not isinstance(base.type, t.Record):
        return
    first = isinstance(base.index, ir.Const) and base.index.value == 0
    by = base.pointer.place if isinstance(base.pointer, ir.Load) else None
    if first and isinstance(by, ir.LocalStorage):
        yield by.local, offset


def member(c: Any, at: ir.Place, far: str) -> str:
    """A member of a record that was looked up already, where it is a variable; otherwise *far*, the usual load of *at*."""
    for local, offset in _led_to(at):
        if local in c.near:
            narrow = isinstance(at.type, t.Arithmetic) and at.type.kind == "bool"
            kind = "uint8_t" if narrow else ctype(at.type)
            found = f"*(const {kind} *)(n_{local.name} + {offset})"
            return f"(LIKELY(n_{local.name}) ? {found}{' != 0' if narrow else ''} : {far})"
    return far


def inside(c: Any, at: ir.Element, make: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """*make* of an element's pointer and index, which is checked where the array is a member of a record."""
    from mlusim.frontend.bangc.native.expressions import address, effectful  # noqa: PLC0415 - two halves of one subject

    array = _array(at)
    if not isinstance(array, ir.Member) or effectful(array):
        return make
    base, size, span = address(c, array), at.type.size, at.span
    given = f"{array.type.size // size}, {size}, {c.site(span)}"
    return lambda p, i: make(p, f"member_(m, {base}, {p}, {i}, {given})")


def _array(at: ir.Place) -> ir.Place | None:
    """The whole array that an element is said to be of, through arrays of arrays; None where only a pointer says so."""
    if not isinstance(at, ir.Element):
        return at if isinstance(at.type, t.Array) else None
    return _array(at.pointer.place) if isinstance(at.pointer, ir.AddressOf) else None


def record(c: Any, at: ir.Place) -> str:
    """A record by value."""
    from mlusim.frontend.bangc.native.expressions import value  # noqa: PLC0415 - two halves of one subject

    place = raw(at)
    if isinstance(at, ir.Temporary):
        return value(c, at.value)
    if place is None:
        raise NoForm(f"a copy of a {at.type} in memory")
    made = ctype(at.type)
    return f"({{ {made} r_; memcpy(&r_, {place}, sizeof r_); r_; }})"


def compose(c: Any, node: ir.Compose) -> str:
    """A record from the values of its fields."""
    kind = node.type
    if not isinstance(kind, t.Record) or kind.union:
        raise NoForm("this initial value")
    held = c.temporary()
    parts = " ".join(_parts(c, held, kind, 0, node))
    return f"({{ {ctype(kind)} {held} = {{{{0}}}}; {parts} {held}; }})"


def _parts(c: Any, held: str, kind: t.Type, offset: int, given: ir.Expr) -> Iterator[str]:
    """Stores of what *given* has for *kind*, which begins *offset* bytes behind *held*."""
    from mlusim.frontend.bangc.native.expressions import value  # noqa: PLC0415 - two halves of one subject

    if isinstance(given, ir.Compose) and isinstance(kind, t.Record) and not kind.union:
        for field_, one in zip(kind.fields, given.values, strict=False):
            yield from _parts(c, held, field_.type, offset + field_.offset, one)
    elif isinstance(given, ir.Compose) and isinstance(kind, t.Array):
        for number, one in enumerate(given.values):
            yield from _parts(c, held, kind.of, offset + number * kind.of.size, one)
    elif isinstance(kind, t.Array):
        raise NoForm("an array in a record that is no list")
    else:
        yield f"{{ {ctype(kind)} f_ = {value(c, given)}; memcpy({held}.b + {offset}, &f_, sizeof f_); }}"


def assigned(c: Any, at: ir.Place, node: ir.Assign) -> str:
    """A store of a whole record."""
    from mlusim.frontend.bangc.native.expressions import value  # noqa: PLC0415 - two halves of one subject

    place, held = raw(at), c.temporary()
    if place is None:
        raise NoForm(f"a copy of a {at.type} to memory")
    return f"({{ {ctype(at.type)} {held} = {value(c, node.value)}; memcpy({place}, &{held}, sizeof {held}); {held}; }})"


def assembly(_c: Any, node: ir.Asm) -> str:
    """Inline assembly: a sync, or none."""
    code = " ".join(node.text.split()).rstrip(";").strip()
    if node.outputs or node.inputs or code not in ("sync", ""):
        raise NoForm("inline assembly")
    return f"wait_(m, {NUMBERS['sync']}, {FOR_ALL})"
