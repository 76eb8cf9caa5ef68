"""The steps of rows with an operand at offsets as Python.

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
    yield from (f"    {'or ' * bool(n)}{asked}" for n, asked in enumerate(step.asked))
    yield ")"
    yield "if fault: raise refuse_here(mlu, row, fault)"


# -- where it lies -----------------------------------------------------------------------------------


def _settle(_: object, _step: at.SettleDirection) -> Lines:
    yield "if mlu.core.pending: mlu.core.settle(pipe_of(direction))"


def _take_part(_: object, step: at.TakePart) -> Lines:
    yield f"chosen, places = taking_part(mlu, row, offset, bitmask, {step.count})"


def _places_at(_: object, step: at.PlacesAt) -> Lines:
    yield f"at_{step.name} = {step.name}.offset + places"


def _places_in_row(_: object, step: at.PlacesInRow) -> Lines:
    yield f"at_{step.name} = {step.name}.offset + chosen * stride"


def _repeats(_: object, _step: at.ReadRepeats) -> Lines:
    yield "times = repeats_of(repeats, count)"
    yield "wide = int(times.sum()) * size"


def _constant(_: object, step: at.ConstantFor) -> Lines:
    name = step.name
    yield f"c_{name} = {name} if isinstance({name}, Ptr) else constant(mlu, row, {name!r}, {step.like}.view, {name})"


# -- what is done ------------------------------------------------------------------------------------


def _announce(_: object, step: at.AnnouncePlaces) -> Lines:
    yield f"pipe = {'pipe_of(direction)' if step.pipe is None else step.pipe.name}"
    how = "copy" if step.waits else "flight"
    reads, writes, given = map(", ".join, (step.reads, step.writes, step.given))
    yield "seen = None"
    yield f"if mlu.watch is not None: seen = mlu.watch.{how}(row, pipe, ({reads},), ({writes},), ({given}))"


def _move(_: object, step: at.MovePieces) -> Lines:
    call = "dst.view.raw, at_dst, src.view.raw, at_src, size"
    apart = "at_dst" if step.scatters else "at_src"
    yield f"load = pieces_load({apart}, size, pipe, {step.scatters})"
    if step.waits:
        yield f"move_pieces({call})"
    else:
        yield f"mlu.core.fly(Flight(pipe, partial(move_pieces, {call}), seen), load)"


def _update(_: object, _step: at.UpdatePlaces) -> Lines:
    yield "memory, touched = elements_at(base, at_base)"
    yield "before = memory[touched].tobytes()"
    yield "update_places(body, memory, touched, dst, chosen, elem_count, c_src)"


def _repeat(_: object, _step: at.RepeatPieces) -> Lines:
    yield "repeat_pieces(dst, src, size, count, times, wide)"


def _charge_pieces(_: object, step: at.ChargePieces) -> Lines:
    yield "nbytes = len(chosen) * size"
    yield "charge(mlu.work, pipe, load, nbytes)" if step.waits else "charge_flight(mlu.work, pipe, nbytes)"
    yield "mlu.traffic[direction.value] += nbytes"
    yield "src.view.read += nbytes"


def _charge_places(_: object, _step: at.ChargePlaces) -> Lines:
    yield "charge(mlu.work, pipe, places_load(base, len(chosen)), len(chosen) * base.view.itemsize)"
    yield f"mlu.work[{ATOMICS}] += len(chosen)"


def _charge_repeats(writer: Any, _step: at.ChargeRepeats) -> Lines:
    yield f"paid = -(-max(wide, 1) // {LINE})"
    yield "charge(mlu.work, pipe, CopyLoad(lines=paid), wide)"
    yield f"mlu.lines[{writer.number}] += paid"


def _spin(_: object, _step: at.SpinPlaces) -> Lines:
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
