"""Classes with virtual methods in C: the number of an object's class, where C++ has a pointer to its table, and calls by it.

Objects outside simulated memory have one from where they come to life; a copy by value is of the type that is copied.
"""

from collections.abc import Iterator

from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.native.numbers import NoForm, ctype
from mlusim.frontend.bangc.native.rendering import Rendering

BECOME = "__mlusim_become"


def within(kind: t.Type, offset: int = 0) -> Iterator[tuple[int, t.Record]]:
    """Yield the objects with virtual methods in a *kind*, itself among them, and how far from its beginning each is."""
    if isinstance(kind, t.Array):
        for n in range(kind.count if any(True for _ in within(kind.of)) else 0):
            yield from within(kind.of, offset + n * kind.of.size)
    elif isinstance(kind, t.Record):
        if kind.virtual:
            # The number stands where C++ has the pointer to the table, in the first eight bytes; a base
            # without one lies there.
            if any(f.offset < 8 for f in kind.fields):
                raise NoForm(f"{kind}, whose base has no virtual methods")
            yield offset, kind
        for field in kind.fields:
            yield from within(field.type, offset + field.offset)


def stamped(c: Rendering, kind: t.Type, base: str) -> str:
    """Return the statements that let the objects at *base*, a pointer to bytes, be of their types."""
    return " ".join(
        f"{{ const uint64_t k_ = {number(c, part)}; memcpy({base} + {offset}, &k_, 8); }}"
        for offset, part in within(kind)
    )


def kept(kind: t.Type, place: str, held: str) -> str:
    """Return the statements that give *held*, bytes that are going to be stored, the classes of the objects at *place*."""
    return " ".join(f"memcpy({held} + {offset}, {place} + {offset}, 8);" for offset, _ in within(kind))


def number(c: Rendering, kind: t.Record) -> int:
    """Return the number of a class."""
    return _number(c, kind.names)


def _number(c: Rendering, names: tuple[str, ...]) -> int:
    # From 1: bytes that nothing was constructed in are 0, and of no class.
    return int(c.classes.setdefault(names, len(c.classes) + 1))


def become(c: Rendering, node: ir.LibraryCall) -> str:
    """Let an object choose its methods as one of another class: while its base is made, or ends."""
    this, names = node.arguments
    assert isinstance(names, ir.Text)
    return f"become_(m, {c.value(this)}, {_number(c, tuple(names.value.split(chr(10))))})"


def dispatch(c: Rendering, node: ir.Dispatch) -> str:
    """Render a call of a virtual method."""
    place = c.dispatches.setdefault(id(node), (len(c.dispatches), node))[0]
    return c.in_order(
        node.arguments, lambda *a: f"virtual_{place}({', '.join(('m', *a))}, {c.site(node.span)})"
    )


def dynamic(c: Rendering, node: ir.DynamicCast) -> str:
    """``dynamic_cast``: the pointer, or null where its object is of another class."""
    place = c.casts.setdefault(node.name, len(c.casts))
    kind = _pointee(node.value)
    return f"dynamic_{place}(m, {c.value(node.value)}, {number(c, kind)}, {int(kind.derived)}, {c.site(node.span)})"


def _pointee(node: ir.Expr) -> t.Record:
    kind = node.type.to if isinstance(node.type, t.Pointer) else node.type
    if not isinstance(kind, t.Record):
        raise NoForm("a virtual call of what is no object")
    return kind


def heads(c: Rendering) -> Iterator[str]:
    """Render the prototypes of the functions that call by class."""
    for place, node in c.dispatches.values():
        yield f"{_head(place, node)};"
    for place in c.casts.values():
        yield f"static Ptr dynamic_{place}(Core *m, Ptr p, uint64_t own, int derived, int site);"


def _head(place: int, node: ir.Dispatch) -> str:
    given = "".join(f", {ctype(a.type)} a_{n}" for n, a in enumerate(node.arguments))
    return f"static {ctype(node.type)} virtual_{place}(Core *m{given}, int site)"


def bodies(c: Rendering) -> Iterator[str]:
    """Render the functions that call by class."""
    for place, node in c.dispatches.values():
        yield _chosen(c, place, node)
    for name, place in c.casts.items():
        cases = "".join(f"case {n}: " for names, n in c.classes.items() if name in names)
        chosen = f"switch (class_(m, p, own, derived, site)) {{ {cases}return p; default: return 0; }}"
        yield (
            f"static Ptr dynamic_{place}(Core *m, Ptr p, uint64_t own, int derived, int site)"
            f" {{ if (!p) return 0; {chosen if cases else 'return 0;'} }}"
        )


def _chosen(c: Rendering, place: int, node: ir.Dispatch) -> str:
    kind, void = _pointee(node.arguments[0]), isinstance(node.type, t.Void)
    given = "".join(f", a_{n}" for n in range(len(node.arguments)))
    cases = []
    for names, n in c.classes.items():
        symbol = node.targets.get(names[0])
        if symbol is not None:
            called = f"k_{symbol}(m{given});"
            cases.append(f"case {n}: {called} return;" if void else f"case {n}: return {called}")
    # A pure virtual method, or an object that was never made: Python says which.
    lost = f"CALL_UP(m, {c.function('__pure')}, site, a_text({c.text(node.name)})); __builtin_unreachable();"
    looked = f"class_(m, a_0, {number(c, kind)}, {int(kind.derived)}, site)"
    return f"{_head(place, node)} {{ switch ({looked}) {{ {' '.join(cases)} default: break; }} {lost} }}"
