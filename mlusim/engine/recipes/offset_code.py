"""The steps of rows with an operand at offsets as Python: each demand is a call that returns what is wrong, or None.

In the code the places of the operand ``x``, in bytes from the start of its allocation, are ``at_x``, and ``chosen`` are the
numbers of the elements that take part.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlusim.engine.recipes import offset_rows as at
from mlusim.time.copy_costs import LINE
from mlusim.time.quantities import ATOMICS

Lines = Iterator[str]


# -- what is asked -----------------------------------------------------------------------------------


def _arguments(_: object, step: at.Arguments) -> Lines:
    asked = f"mlu, row, {step.names}, {step.optional!r}, {step.front}, given, named"
    yield f"{', '.join(step.names)} = arguments_of({asked})"
    if "bitmask" not in step.names:
        yield "bitmask = None"


def _direction(_: object, step: at.DirectionOf) -> Lines:
    first, *others = step.directions
    if others:
        yield f"direction = {first} if getattr({step.operand}, 'space', None) is {first.src} else {others[0]}"
    else:
        yield f"direction = {first}"


# -- what is checked ---------------------------------------------------------------------------------


def _demand(_: object, step: at.Demand) -> Lines:
    yield "fault = ("
    for n, demanded in enumerate(step.demanded):
        yield f"    {'or ' * bool(n)}{DEMANDED[type(demanded)](demanded)}"
    yield ")"
    yield "if fault: raise refuse_here(mlu, row, fault)"


def _pointing(one: at.Pointing) -> str:
    space = one.space or f"direction.{one.name}"
    asked = f"misplaced(mlu, {one.name!r}, {one.name}, {space})"
    match one.unless:
        case "":
            return asked
        case "number":
            return f"isinstance({one.name}, Ptr) and {asked}"
    return f"{one.name} is not None and {asked}"


def _holding(one: at.Holding) -> str:
    if not one.dtypes:
        return f"no_integers({one.name!r}, {one.name})"
    return f"mistyped({one.name!r}, {one.name}, {tuple(d.name for d in one.dtypes)})"


def _room(one: at.Room) -> str:
    pointer = f'{one.name}.cast("uint8")' if one.in_bytes else one.name
    return f"no_room({pointer}, {one.name!r}, {one.extent})"


def _inside(one: at.EachInside) -> str:
    size = "size" if one.at_offsets is False or one.name != "base" else "base.view.itemsize"
    source = "offset" if one.at_offsets else "None"
    return f"outside({one.name!r}, {one.name}, at_{one.name}, {size}, chosen, {source})"


def _aligned(one: at.EachAligned) -> str:
    return f"unaligned({one.name}, at_{one.name}, chosen, offset)"


DEMANDED: Mapping[type, Callable[[Any], str]] = {
    at.Positive: lambda one: f"not_positive({one.name!r}, {one.name})",
    at.FitsInt: lambda one: f"no_int({one.name!r}, {one.name})",
    at.PiecesApart: lambda _: "pieces_meet(size, stride, count)",
    at.OneOf: lambda one: f"not_directed(direction, ({', '.join(map(str, one.directions))},))",
    at.Pointing: _pointing,
    at.Holding: _holding,
    at.TypedAs: lambda one: f"unlike({one.name!r}, {one.name}, {one.like!r}, {one.like})",
    at.Room: _room,
    at.Separate: lambda one: f"meeting({one.target}, {one.source}, {one.source!r}, elem_count, {one.exact})",
    at.ToWritable: lambda one: f"not_writable({one.name}, {one.name!r})",
    at.EachInside: _inside,
    at.EachAligned: _aligned,
    at.RepeatsApart: lambda _: "repeats_meet(dst, wide, src, count * size, repeats, count)",
}


# -- where it lies -----------------------------------------------------------------------------------


def _settle(_: object, step: at.SettleDirection) -> Lines:
    del step
    yield "if mlu.core.pending: mlu.core.settle(pipe_of(direction))"


def _take_part(_: object, step: at.TakePart) -> Lines:
    yield f"chosen, places = taking_part(mlu, row, offset, bitmask, {step.count})"


def _places_at(_: object, step: at.PlacesAt) -> Lines:
    yield f"at_{step.name} = {step.name}.offset + places"


def _places_in_row(_: object, step: at.PlacesInRow) -> Lines:
    yield f"at_{step.name} = {step.name}.offset + chosen * stride"


def _repeats(_: object, step: at.ReadRepeats) -> Lines:
    del step
    yield "times = repeats_of(repeats, count)"
    yield "wide = int(times.sum()) * size"


def _constant(_: object, step: at.ConstantFor) -> Lines:
    name = step.name
    yield f"c_{name} = {name} if isinstance({name}, Ptr) else constant(mlu, row, {name!r}, {step.like}.view, {name})"


# -- what is done ------------------------------------------------------------------------------------


def _announce(_: object, step: at.AnnouncePlaces) -> Lines:
    yield f"pipe = {'pipe_of(direction)' if step.pipe is None else step.pipe.name}"
    reads, writes = (", ".join(map(_part, parts)) for parts in (step.reads, step.writes))
    how = "copy" if step.waits else "flight"
    given = ", ".join(step.given)
    yield "seen = None"
    yield f"if mlu.watch is not None: seen = mlu.watch.{how}(row, pipe, ({reads},), ({writes},), ({given}))"


def _part(part: at.Part) -> str:
    match part:
        case at.ChosenOf(name, True):
            return f"*each_of({name}, chosen)"
        case at.ChosenOf(name):
            return f"*elements_of({name}, chosen)"
        case at.MaskOf(count):
            return f"*mask_of(bitmask, {count})"
        case at.PiecesOf(name, True):
            return f"*distinct_of({name}, at_{name})"
        case at.PiecesOf(name):
            return f"*pieces_of({name}, at_{name}, size)"
        case at.BytesOf(name, count):
            return f"bytes_of({name}, 0, {count})"
        case at.RepeatedOf():
            return "*(bytes_of(src, i * size, size) for i in repeated(times))"
        case at.RepeatsOf():
            return "*(bytes_of(dst, n * size, size) for n in range(int(times.sum())))"


def _move(_: object, step: at.MovePieces) -> Lines:
    call = "dst.view.raw, at_dst, src.view.raw, at_src, size"
    apart = "at_dst" if step.scatters else "at_src"
    yield f"load = pieces_load({apart}, size, pipe, {step.scatters})"
    if step.waits:
        yield f"move_pieces({call})"
    else:
        yield f"mlu.core.fly(Flight(pipe, moving_pieces({call}), seen), load)"


def _update(_: object, step: at.UpdatePlaces) -> Lines:
    del step
    yield "memory, touched = elements_at(base, at_base)"
    yield "before = memory[touched].tobytes()"
    yield "update_places(body, memory, touched, dst, chosen, elem_count, c_src)"


def _repeat(_: object, step: at.RepeatPieces) -> Lines:
    del step
    yield "repeat_pieces(dst, src, size, count, times, wide)"


def _charge_pieces(_: object, step: at.ChargePieces) -> Lines:
    yield "nbytes = len(chosen) * size"
    yield "charge(mlu.work, pipe, load, nbytes)" if step.waits else "charge_flight(mlu.work, pipe, nbytes)"
    yield "mlu.traffic[direction.value] += nbytes"
    yield "src.view.read += nbytes"


def _charge_places(_: object, step: at.ChargePlaces) -> Lines:
    del step
    yield "charge(mlu.work, pipe, places_load(base, len(chosen)), len(chosen) * base.view.itemsize)"
    yield f"mlu.work[{ATOMICS}] += len(chosen)"


def _charge_repeats(writer: Any, step: at.ChargeRepeats) -> Lines:
    del step
    yield f"paid = -(-max(wide, 1) // {LINE})"
    yield "charge(mlu.work, pipe, lines_load(paid), wide)"
    yield f"mlu.lines[{writer.number}] += paid"


def _spin(_: object, step: at.SpinPlaces) -> Lines:
    del step
    yield "mlu.core.atomic_step(before == memory[touched].tobytes())"


OFFSET_STEPS: Mapping[type, Callable[[Any, Any], Lines]] = {
    at.Arguments: _arguments,
    at.DirectionOf: _direction,
    at.Demand: _demand,
    at.SettleDirection: _settle,
    at.TakePart: _take_part,
    at.PlacesAt: _places_at,
    at.PlacesInRow: _places_in_row,
    at.ReadRepeats: _repeats,
    at.ConstantFor: _constant,
    at.AnnouncePlaces: _announce,
    at.MovePieces: _move,
    at.UpdatePlaces: _update,
    at.RepeatPieces: _repeat,
    at.ChargePieces: _charge_pieces,
    at.ChargePlaces: _charge_places,
    at.ChargeRepeats: _charge_repeats,
    at.SpinPlaces: _spin,
}
