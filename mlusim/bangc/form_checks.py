"""Checks a form that was read from a file before code is rendered from it: layouts, sizes, types of nodes.

The rendered C code relies on the sizes and offsets of the form. Forms from the compiler satisfy these rules;
any other form is refused with the first rule that it breaks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mlusim.bangc import ir, types as t
from mlusim.counted import counted
from mlusim.isa.table import ISA

MOST_BYTES = 1 << 40
"""Limit of the size of one object, in bytes."""
MOST_ALIGN = 1 << 16
"""Limit of an alignment, in bytes."""
MOST_PARTS = 1 << 20
"""Limit of the members of one struct, with those of nested structs, each counted as often as it occurs."""
MOST_CONSTANT = 1 << 23
"""Limit, in bytes, of a constant outside the device's memory; the rendered code lists its numbers."""
MOST_FIELDS = 1 << 14
"""Limit of the members of one struct."""
MOST_LINES = 1 << 31
"""Limit of the lines of a file, as in the compiler."""
_SIZES: Mapping[str, tuple[int, ...]] = {
    "bool": (1,),
    "int": (1, 2, 4, 8),
    "uint": (1, 2, 4, 8),
    "float": (2, 4, 8),
}
_SCALARS: Mapping[str, t.Arithmetic] = {kind.name: kind for kind in t.SCALARS}
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")

Rule = Callable[[Any], Iterable[str]]
"""Yields descriptions of what is wrong with a type or node."""
Rules = Mapping[type, Rule]


def problems(nodes: Sequence[Any]) -> Iterator[str]:
    """Return the problems of *nodes*, which are all nodes of a form, types first; empty if code may be rendered."""
    structs = [node for node in nodes if type(node) is t.Struct]
    yield from _circles(structs)
    for rules in (_TYPES, _NODES):
        for node in nodes:
            rule = rules.get(type(node))
            if rule is not None:
                yield from rule(node)


# -- types -----------------------------------------------------------------------------------------


def _circles(structs: Sequence[t.Struct]) -> Iterator[str]:
    """Yield the structs that contain themselves (pointers do not count), or more than `MOST_PARTS` parts."""
    parts: dict[int, int] = {}
    open_: set[int] = set()
    stack = [*structs]
    while stack:
        struct = stack[-1]
        if id(struct) in parts:
            stack.pop()
            continue
        inner = [kind for kind in (t.element_of(f.type) for f in struct.fields) if isinstance(kind, t.Struct)]
        left = [kind for kind in inner if id(kind) not in parts]
        if id(struct) in open_ and left:
            yield f"{struct.name!r:.40} holds itself"
            return
        if left:
            open_.add(id(struct))
            stack += left
            continue
        stack.pop()
        parts[id(struct)] = 1 + len(struct.fields) + sum(parts[id(kind)] for kind in inner)
        if parts[id(struct)] > MOST_PARTS:
            yield f"{struct.name!r:.40} has too many parts"
            return


def _arithmetic(kind: t.Arithmetic) -> Iterator[str]:
    standard = _SCALARS.get(kind.name)
    if (
        kind.size not in _SIZES[kind.kind]
        or (standard or kind) != kind
        or (standard is None and kind.kind == "float")
    ):
        yield f"{kind.name!r:.40} has no such size"


def _struct(kind: t.Struct) -> Iterator[str]:
    name = f"{kind.name!r:.40}"
    if not 0 <= kind.size <= MOST_BYTES:
        yield f"{name} of {kind.size:,} bytes is larger than any memory of a board"
    elif len(kind.fields) > MOST_FIELDS:
        yield f"{name} has more than {MOST_FIELDS:,} members"
    # An alignment is a power of two and divides the size, so that arrays keep it.
    if not 1 <= kind.align <= MOST_ALIGN or kind.align & (kind.align - 1) or kind.size % kind.align:
        yield f"{name} has no such alignment"
    if any(base is kind or base.size > kind.size for base in (*kind.bases, *kind.others)):
        yield f"{name} has a base class that does not fit"
    if kind.bases and kind.fields[: len(kind.bases[0].fields)] != kind.bases[0].fields:
        yield f"{name} does not begin as its base class does"
    yield from _members(kind)


def _members(kind: t.Struct) -> Iterator[str]:
    """Yield members that overlap or lie outside the struct, and a size that does not match the members."""
    name, end = f"{kind.name!r:.40}", 0
    for field in kind.fields:
        size = _known(field.type)
        # A struct without members may share its byte with another member.
        apart = size and not (isinstance(field.type, t.Struct) and not field.type.fields)
        if not 0 <= field.offset <= kind.size - size:
            yield f"{name}: the member {field.name!r:.40} is not inside"
        if kind.union and field.offset:
            yield f"{name}: the member {field.name!r:.40} of a union is not at its beginning"
        if apart and not kind.union and field.offset < end:
            yield f"{name}: the member {field.name!r:.40} is in another"
        end = max(end, field.offset + _held(field.type)) if apart else end
    yield from _whole(kind)


def _whole(kind: t.Struct) -> Iterator[str]:
    """Yield a problem if a struct consists of its members only and its size does not match them."""
    if (
        kind.fields
        and not (kind.others or kind.virtual or kind.bitfields)
        and all(isinstance(t.element_of(f.type), t.Arithmetic | t.Pointer | t.Struct) for f in kind.fields)
    ):
        last = max(f.offset + f.type.size for f in kind.fields)
        if kind.size != -(-max(last, 1) // kind.align) * kind.align:  # in C++ an empty struct has one byte
            yield f"{kind.name!r:.40} is not as large as its members"


def _known(kind: t.Type) -> int:
    """Return the size of a type; 0 if only the library knows it, as no C code depends on it."""
    return 0 if isinstance(t.element_of(kind), t.ClassType | t.FunctionType | t.Void) else kind.size


def _held(kind: t.Type) -> int:
    """Return the size of a type without its tail padding, which a derived class may use for its own members."""
    if isinstance(kind, t.Struct) and kind.derived:
        return max((f.offset + f.type.size for f in kind.fields), default=0)
    return _known(kind)


# -- nodes -----------------------------------------------------------------------------------------


def _global(variable: ir.Global) -> Iterator[str]:
    if not _known(variable.type) <= MOST_BYTES:
        yield f"{variable.name!r:.40} has no such size"
    if variable.initial is not None and not variable.space and variable.type.size > MOST_CONSTANT:
        yield f"{variable.name!r:.40} has too many values"


def _constant(node: ir.Const) -> Iterator[str]:
    kind, value = node.type, node.value
    if value is None:
        return
    if type(value) not in (bool, int, float) or not isinstance(kind, t.Arithmetic | t.Pointer):
        yield "a constant is not a number"
    elif type(value) is int and not -(1 << 63) <= value < 1 << 64:  # 64 bits, signed or unsigned
        yield "a constant is too large"
    elif type(value) is float and not (isinstance(kind, t.Arithmetic) and kind.kind == "float"):
        yield "a constant is not a whole number"


def _compose(node: ir.Compose) -> Iterator[str]:
    kind = node.type
    if isinstance(kind, t.Struct):
        if len(node.values) > len(kind.fields):
            yield f"{kind.name!r:.40} is given too many values"
        wanted = [f.type for f in kind.fields]
    elif isinstance(kind, t.Array):
        if len(node.values) > kind.count:
            yield "an array is given too many values"
        wanted = [kind.of] * len(node.values)
    else:
        return
    for value, inner in zip(node.values, wanted, strict=False):
        if isinstance(value, ir.Compose) and value.type != inner:
            yield "a list has another type than what it is for"


def _intrinsic(node: ir.IntrinsicCall) -> Iterator[str]:
    if node.row not in ISA:
        yield f"the instruction set has no {node.row!r:.40}"
    elif len(node.overload) > len(node.arguments):
        yield f"{node.row} is chosen by {len(node.overload)} parameters and has {counted(len(node.arguments), 'argument')}"


def _unless(holds: Callable[[Any], bool], words: str) -> Rule:
    """Return a rule that is satisfied if *holds* is true; *words* is the format of the message otherwise."""
    return lambda node: () if holds(node) else (words.format(node),)


_TYPES: Rules = {
    t.Arithmetic: _arithmetic,
    t.Array: _unless(
        lambda kind: kind.count >= 0 and 0 <= kind.size <= MOST_BYTES,
        "an array of {0.size:,} bytes is larger than any memory of a board",
    ),
    t.ClassType: _unless(lambda kind: kind.size == 8, "{0.name!r:.40} has no such size"),
    t.Struct: _struct,
}
_NODES: Rules = {
    ir.Span: _unless(
        lambda span: 0 <= span.line < MOST_LINES and 0 <= span.end_line < MOST_LINES,
        "a line has no such number",
    ),
    ir.Function: _unless(
        lambda function: function.kind == "host" or _IDENTIFIER.match(function.symbol) is not None,
        "{0.symbol!r:.40} is not a name",
    ),
    ir.Global: _global,
    ir.Element: _unless(lambda node: isinstance(node.pointer.type, t.Pointer), "an element is of no pointer"),
    ir.Member: _unless(
        lambda node: isinstance(node.base.type, t.Struct) and node.field in node.base.type.fields,
        "{0.base.type!s:.40} has no such member {0.name!r:.40}",
    ),
    ir.Const: _constant,
    ir.Call: _unless(
        lambda node: _IDENTIFIER.match(node.symbol) is not None, "{0.symbol!r:.40} is not a name"
    ),
    ir.IntrinsicCall: _intrinsic,
    ir.Compose: _compose,
}
