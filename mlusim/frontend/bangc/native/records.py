"""Records outside memory in C, and inline assembly."""

from collections.abc import Callable, Iterator
from typing import Any

from mlusim.engine.native.door import NUMBERS
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native.numbers import NoForm, ctype
from mlusim.time.log import FOR_ALL


def raw(at: ir.Place) -> str | None:
    """Where the bytes of a variable outside memory are, or those of a part of it."""
    if isinstance(at, ir.LocalStorage):
        return f"(uint8_t *)d_{at.local.name}" if at.local.storage is ir.Storage.CELL else None
    base = raw(at.base) if isinstance(at, ir.Member) else None
    return None if base is None else f"({base} + {at.offset})"  # type: ignore[union-attr]


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
