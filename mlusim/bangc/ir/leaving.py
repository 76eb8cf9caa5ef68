"""Variables whose addresses leave their function, or their block: a pointer to one may be used when it no longer exists."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import innermost, walk

OUTSIDE = "outside"
"""The origin of pointers that are not known: memory that the function does not own."""

Origin = Any
"""That from which a pointer is computed: a local, the `ir.Temporary` of a value, or `OUTSIDE`."""


@frozen(eq=False)
class Outliving:
    """The variables of a function whose addresses leave it, or the block in which they are declared again and again."""

    locals: frozenset[ir.Local] = frozenset()
    temporaries: frozenset[int] = frozenset()  # the `id` of each
    again: frozenset[ir.Local] = frozenset()  # each of these ends when it is declared again

    def __bool__(self) -> bool:
        return bool(self.locals or self.temporaries)


STAYING = Outliving()
"""The value for a function that no pointer to a variable leaves."""


@frozen(eq=False)
class _Stored:
    """A pointer (or a struct with pointers) that is stored where *to* leads, or into the local *into*."""

    value: frozenset[Origin]
    to: frozenset[Origin] = frozenset()
    into: ir.Local | None = None


@define(eq=False)
class PointerFlow:
    """How pointers go through a function: its stores, what it returns, and what it hands to calls, with the callee's symbol and parameter."""

    function: ir.Function
    stores: list[_Stored] = field(factory=list)
    handed: list[tuple[str, int, frozenset[Origin]]] = field(factory=list)
    returned: set[Origin] = field(factory=set)
    lost: set[Origin] = field(factory=set)  # handed to what is not known
    temporaries: list[ir.Temporary] = field(factory=list)
    repeated: set[ir.Local] = field(factory=set)  # locals that a loop declares again
    jumped: set[ir.Local] = field(factory=set)  # locals that a jump may declare again
    leaks: set[Origin] = field(factory=set)  # so far: what others may hold when the function has returned
    holds: dict[Origin, set[Origin]] = field(factory=dict)  # so far: what can be reached from each origin


def leaving(flows: Mapping[str, PointerFlow]) -> dict[str, Outliving]:
    """Return the variables whose addresses leave the functions of *flows*, by symbol; only functions that have such ones."""
    if not any(flow.temporaries or any(map(_in_frame, flow.function.locals)) for flow in flows.values()):
        return {}
    while sum(_spread(flow, flows) for flow in flows.values()):
        pass  # until no further parameter leaks
    every = {symbol: _result(flow) for symbol, flow in flows.items()}
    return {symbol: result for symbol, result in every.items() if result}


def _in_frame(local: ir.Local) -> bool:
    """Return whether *local* is in no memory of the board, but has an address."""
    return local.storage is ir.Storage.CELL and not isinstance(local.type, t.VectorRegister | t.ClassType)


def _points(kind: t.Type) -> bool:
    """Return whether a value of *kind* is or contains a pointer."""
    if isinstance(kind, t.Array):
        return _points(kind.of)
    if isinstance(kind, t.Struct):
        return any(_points(f.type) for f in kind.fields)
    return isinstance(kind, t.Pointer | t.FunctionType)


# -- the flow of one function ------------------------------------------------------------------------


def flow_of(function: ir.Function) -> PointerFlow:
    """Return the flow of *function*, from one pass over its nodes."""
    flow = PointerFlow(function)
    for node in walk(function.body):
        if isinstance(node, ir.Declare) and node.value is not None:
            flow.stores.append(_Stored(_origins(node.value), into=node.local))
        elif isinstance(node, ir.Assign):
            into = _inside(node.place)
            to = _owners(node.place) if into is None else frozenset()
            value = _origins(node.value)
            # An object that holds its own address, or what it leads to already, leads nowhere new.
            if value != frozenset((_through(node.place),)):
                flow.stores.append(_Stored(value, to, into))
        elif isinstance(node, ir.Loop | ir.Labelled):
            again = flow.repeated if isinstance(node, ir.Loop) else flow.jumped
            again.update(n.local for n in walk(node) if isinstance(n, ir.Declare))
        elif isinstance(node, ir.Return) and node.value is not None:
            flow.returned |= _origins(node.value)
        elif isinstance(node, ir.AddressOf) and isinstance(node.place, ir.Temporary):
            flow.temporaries.append(node.place)
            flow.stores.append(_Stored(_origins(node.place.value), frozenset((node.place,))))
        else:
            _hand(flow, node)
    flow.stores = [stored for stored in flow.stores if stored.value]
    return flow


def _hand(flow: PointerFlow, node: Any) -> None:
    """Add what a call hands over."""
    if isinstance(node, ir.Call):
        flow.handed += [
            (node.symbol, n, origins) for n, a in enumerate(node.arguments) if (origins := _origins(a))
        ]
    elif isinstance(node, ir.Invoke | ir.Dispatch):
        flow.lost.update(*map(_origins, node.arguments))
    elif isinstance(node, ir.Asm):
        flow.lost.update(*(_origins(operand.value) for operand in node.inputs))  # type: ignore[arg-type]


def _origins(node: ir.Expr) -> frozenset[Origin]:
    """Return from what the pointers in the value of *node* are computed."""
    if not _points(node.type):
        return frozenset()
    return frozenset(_each(node))


def _each(node: ir.Expr) -> Iterator[Origin]:
    match node:
        case ir.AddressOf() | ir.Load() | ir.Update():
            yield from _owners(node.place)
        case ir.Const() | ir.Text() | ir.FunctionAddress():
            pass
        case _:
            parts = _parts(node)
            if parts is None or (isinstance(node, ir.Convert) and not _points(node.value.type)):
                yield OUTSIDE
            # A call may return what it was given.
            for part in getattr(node, "arguments", ()) if parts is None else parts:
                yield from _origins(part)


def _parts(node: ir.Expr) -> "Sequence[ir.Expr] | None":
    """Return the expressions from whose values the value of *node* is made; None if there may be others."""
    match node:
        case ir.Convert() | ir.Assign() | ir.DynamicCast():
            return (node.value,)
        case ir.Offset():
            return (node.pointer,)
        case ir.Conditional():
            return node.then, node.other
        case ir.Comma():
            return (node.second,)
        case ir.Compose():
            return node.values
        case _:
            return None


def _inside(place: ir.Place) -> ir.Local | None:
    """Return the local of which *place* is a part, if no pointer leads there."""
    while isinstance(place, ir.Member | ir.Element):
        if isinstance(place, ir.Member):
            place = place.base
        elif isinstance(place.pointer, ir.AddressOf):
            place = place.pointer.place
        else:
            return None
    return place.local if isinstance(place, ir.LocalStorage) else None


def _through(place: ir.Place) -> ir.Local | None:
    """Return the pointer variable to whose object *place* belongs, if no other pointer is between them."""
    place = innermost(place)
    pointer = place.pointer if isinstance(place, ir.Element) else None
    while isinstance(pointer, ir.Convert | ir.Offset):
        pointer = pointer.value if isinstance(pointer, ir.Convert) else pointer.pointer
    at = pointer.place if isinstance(pointer, ir.Load) else None
    return at.local if isinstance(at, ir.LocalStorage) else None


def _owners(place: ir.Place) -> frozenset[Origin]:
    """Return from what the address of *place* is computed; what is loaded from there is reached from the same."""
    match place:
        case ir.LocalStorage():
            return frozenset((OUTSIDE if place.local.storage is ir.Storage.STATIC else place.local,))
        case ir.Member():
            return _owners(place.base)
        case ir.Element():
            return _origins(place.pointer)
        case ir.Temporary():
            return frozenset((place,)) | _origins(place.value)
        case _:
            return frozenset((OUTSIDE,))


# -- the whole program -------------------------------------------------------------------------------


def _reached(flow: PointerFlow, origins: Iterable[Origin]) -> set[Origin]:
    """Return *origins* and all that can be reached from them."""
    seen: set[Origin] = set()
    work = list(origins)
    while work:
        origin = work.pop()
        if origin not in seen:
            seen.add(origin)
            work += flow.holds.get(origin, ())
    return seen


def _spread(flow: PointerFlow, flows: Mapping[str, PointerFlow]) -> bool:
    """Add what is stored and handed over to what *flow* holds and leaks; return whether that was new."""
    before = len(flow.leaks), sum(map(len, flow.holds.values()))
    parameters = set(flow.function.parameters)
    leaks = set(flow.lost)
    for symbol, n, origins in flow.handed:
        callee = flows.get(symbol)
        taken: Sequence[ir.Local] = () if callee is None else callee.function.parameters
        if (
            callee is None or n >= len(taken) or taken[n] in callee.leaks
        ):  # of an unknown function all may leak
            leaks |= origins
    for stored in flow.stores:
        targets = _reached(flow, stored.to)
        if stored.into is not None and stored.into.storage is not ir.Storage.STATIC:
            targets.add(stored.into)
        elif stored.into is not None or OUTSIDE in targets or targets & parameters:
            leaks |= stored.value
        for target in targets:
            if target != OUTSIDE:
                flow.holds.setdefault(target, set()).update(stored.value)
    flow.leaks |= _reached(flow, leaks)
    return before != (len(flow.leaks), sum(map(len, flow.holds.values())))


def _result(flow: PointerFlow) -> Outliving:
    gone = _reached(flow, flow.returned) | flow.leaks
    frame = {local for local in flow.function.locals if _in_frame(local)}
    repeated = flow.repeated | flow.jumped
    # Those that something may lead to which exists longer, because its block is around, or which a jump ends.
    again = {
        local
        for holder, held in flow.holds.items()
        if isinstance(holder, ir.Local) and holder.source_name
        for local in held & frame & repeated
        if holder is not local and (local in flow.jumped or not _within(holder.block, local.block))
    } | (frame & repeated & gone)
    temporaries = {id(place) for place in flow.temporaries if place in gone and not place.fixed}
    left = set() if flow.function.kind == "kernel" else frame & gone  # nothing runs after a kernel
    return Outliving(frozenset(left | again), frozenset(temporaries), frozenset(again))


def _within(inner: ir.Span | None, outer: ir.Span | None) -> bool:
    """Return whether the block *inner* is *outer* or in it; None is the whole function."""
    if inner is None or outer is None:
        return outer is None
    begin, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return begin <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= end
