"""The forms of copies as Python: one condition for all that must hold, then what is done.

In the code ``to`` and ``frm`` are the views of both sides, ``d`` and ``s`` their first bytes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from mlusim.engine.contract import POLL_BYTES
from mlusim.engine.recipes import copy_rows as at, steps

if TYPE_CHECKING:
    from mlusim.arch.board import Arch

Lines = Iterator[str]
STRIDES = ", ".join(at.STRIDES)
_EXPLAINED = (
    "size = explain_copy(mlu, row, dst, src, size, direction, (), asynchronous=False)",
    "return memcpy(mlu, dst, src, size, direction)",  # only the type of the size was at fault
)
_VIEWS = {"dst": ("to", "d"), "src": ("frm", "s")}


def copy_lines(arch: "Arch", number: int, copy: at.Copy) -> Lines:
    """Yield the body of the method of a copy, the table's *number*, on *arch*."""
    taken = f"strided_copy(mlu, row, {number}, (dst, src, size, direction, shape), asynchronous={copy.asynchronous})"
    for form in copy.forms:
        if form.shaped:
            yield "if shape:"
            yield f"    if len(shape) != {len(at.STRIDES)}: return {taken}"
            yield f"    {STRIDES} = shape"
            yield from (f"    {line}" for line in _form(arch, number, form, (f"return {taken}",)))
            yield "    return"
        elif form.shaped is False:
            yield from _form(arch, number, form, _EXPLAINED)
        else:  # compiled code has it; Python has the general copy
            yield taken
            yield "remember_flight(mlu.core, dst, src, size, shape)"


def _form(arch: "Arch", number: int, form: at.CopyForm, otherwise: tuple[str, ...]) -> Lines:
    rows = bool(form.shaped)
    yield "try:"
    yield "    core, to, frm = mlu.core, dst.view, src.view"
    yield "    d = to.phase + dst.index * to.itemsize"
    yield "    s = frm.phase + src.index * frm.itemsize"
    yield f"    pipe = mlu.directions.{form.lanes}[direction]"
    held = [text for condition in form.conditions for text in _held(arch, condition, rows=rows)]
    yield "    legal = ("
    yield from (f"        {'and ' * bool(n)}{text}" for n, text in enumerate(held))
    yield "    )"
    yield "except (AttributeError, KeyError, TypeError):"
    yield "    legal = False"
    yield "if not legal:"
    yield from (f"    {line}" for line in otherwise)
    for step in form.steps:
        yield from DONE[type(step)](number, rows)


def _held(arch: "Arch", condition: at.CopyCondition, *, rows: bool) -> Iterator[str]:
    match condition:
        case at.Unobserved():
            yield "mlu.watch is None"
        case at.PlainIntegers(names):
            yield f"{'.__class__ is '.join(names)}.__class__ is int"
        case at.HasBytes():
            yield "size > 0"
        case at.Segments():
            yield f"size <= dst_stride and 0 <= segnum <= {at.MOST_SEGMENTS} and src_stride >= 0"
        case at.TargetWritable():
            yield "to.allocation.writable"
        case at.SidesApart(in_front):
            reach = "segnum * max(dst_stride, src_stride) + size" if rows else "size"
            apart = f"d <= s or d - s >= {reach}" if in_front else f"abs(d - s) >= {reach}"
            yield f"(to.allocation is not frm.allocation or {apart})"
        case at.Grained():
            asked = f"misaligned({arch.generation}, direction, d, s, size)"
            on_2xx = f"not {asked}"  # elsewhere only WRAM asks for multiples
            yield on_2xx if arch.generation == 2 else f"(to.space is not WRAM is not frm.space or {on_2xx})"
        case _:
            yield _end(condition, rows=rows)


def _end(condition: at.OfThisCore | at.Within | at.Directed, *, rows: bool) -> str:
    """Render what must hold of one side."""
    view, first = _VIEWS[condition.side]
    match condition:
        case at.OfThisCore():
            return f"{view}.port is core"
        case at.Within(side):
            spread = f"segnum * {side}_stride + " * rows
            return f"{first} >= 0 and {first} + {spread}size <= {view}.nbytes"
        case at.Directed(side):
            return f"{view}.space is direction.{side}"


def _traffic(_: int, rows: bool) -> Lines:
    nbytes = "size"
    if rows:
        nbytes = "nbytes"
        yield "nbytes = size * (segnum + 1)"
    yield f"mlu.traffic[direction.value] += {nbytes}"
    yield f"frm.read += {nbytes}"


def _move_rows(_: int, __: bool) -> Lines:
    # The commonest rows are plain slices of arrays: one segment, whose strides do not matter, and segments of one element.
    yield "step, skip = dst_stride // size, src_stride // size"
    yield "if segnum == 0: to.raw[d : d + size] = frm.raw[s : s + size]"
    yield "elif to.dtype is frm.dtype and size == to.itemsize and skip and step * size == dst_stride and skip * size == src_stride:"
    yield "    i, j = dst.index, src.index"
    yield "    to.array[i : i + segnum * step + 1 : step] = frm.array[j : j + segnum * skip + 1 : skip]"
    yield "else: move_rows(to, frm, d, s, size, dst_stride, src_stride, segnum + 1)"


DONE: Mapping[type, Callable[[int, bool], Iterable[str]]] = {
    at.SettlePipe: lambda _number, _rows: ["if core.pending: core.settle(pipe)"],
    at.MoveBytes: lambda _number, _rows: [
        "if mlu.watch is None: to.raw[d : d + size] = frm.raw[s : s + size]",
        "else: observed_copy(mlu.watch, row, pipe, (dst, src, size, direction), d, s)",
    ],
    at.MoveRows: _move_rows,
    at.ChargeLine: lambda _number, _rows: ["charge_line(mlu.work, pipe, direction.value, d, s, size)"],
    at.ChargeRows: lambda _number, _rows: [
        (
            "charge(mlu.work, pipe, rows_load(pipe, direction.value, d & 63, dst_stride, s & 63, src_stride, "
            "size, segnum + 1), nbytes)"
        )
    ],
    at.Traffic: _traffic,
    at.Remember: lambda _number, _rows: [
        f"if size > {POLL_BYTES} and (frm.allocation is not core.source or s != core.source_at):",
        "    core.source, core.source_at = frm.allocation, s",
        f"else: look(core, to, frm, s, size, small=size <= {POLL_BYTES})",
    ],
    steps.Count: lambda number, _rows: [f"mlu.counts[{number}] += 1"],
}
