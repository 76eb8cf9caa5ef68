"""Values in a notebook: their text from the terminal, as HTML and as plain text."""

import io
import linecache
import traceback
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.text import Text

from mlusim.arch.board import Board
from mlusim.counted import counted, plural, size
from mlusim.errors import Fault, MlusimError, said
from mlusim.isa.declare import Intrinsic
from mlusim.kernel_frames import installed
from mlusim.machine.device import Device
from mlusim.machine.launch import Launch
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import POISON
from mlusim.memory.pointer import Ptr
from mlusim.observe.finding import Finding
from mlusim.plan.layout import Layout
from mlusim.plan.plan import Plan
from mlusim.plan.render import plan_view
from mlusim.plan.svg import layout_svg
from mlusim.report.advice import advice
from mlusim.report.explain import bottleneck, costliest_line
from mlusim.report.launches import launch_view, launches_view, time, title
from mlusim.report.page.excerpt import excerpt_of
from mlusim.report.page.parts import place_of
from mlusim.report.page.pictures import memories_of
from mlusim.report.page.pipes import chart_html
from mlusim.report.page.writer import parts_html
from mlusim.report.profiled import Profiled
from mlusim.text_grid import facts

_MAGIC = "get_ipython().run_cell_magic("  # how IPython runs the text of a cell with a magic
WIDTH = 110
MOST = 8  # elements of a tensor that are shown
MOST_CHARTS = 4  # for launches that were profiled together
FRAME = '<pre style="line-height:1.25;white-space:pre;overflow-x:auto;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace">{code}</pre>'


def text_of(value: object) -> str:
    """Return *value* as plain text."""
    lines = _console(value).export_text(styles=False).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def html_of(value: object) -> str:
    """Return *value* as self-contained HTML: a layout with its map, a launch with recorded instructions with its pipes."""
    told = _console(value).export_html(inline_styles=True, code_format=FRAME)
    if isinstance(value, Layout):
        return f"{layout_svg(value)}{told}"
    launches = (
        value.launches[:MOST_CHARTS]
        if isinstance(value, Profiled)
        else [value]
        if isinstance(value, Launch)
        else []
    )
    excerpts = (excerpt_of(launch) for launch in launches if launch.timeline.named)
    charts = "".join(chart_html(excerpt) for excerpt in excerpts if excerpt is not None)
    return (_card(value) if isinstance(value, Launch) else "") + charts + told


def _card(launch: Launch) -> str:
    """Return the summary of a launch: its time with the band, the cause and its line, advice, the map of its memory."""
    told = [Text(f"{title(launch)}: {time(launch)}", "bold")]
    told += [Text(words) for words in (bottleneck(launch),) if words]
    line = costliest_line(launch)
    told += [place_of(line)] if line is not None else []
    told += [Text(f"What would help most: {change}") for change in advice(launch)[:1]]
    return parts_html([Text("\n").join(told)]) + memories_of(launch)


def _console(value: object) -> Console:
    console = Console(
        file=io.StringIO(),
        width=WIDTH,
        record=True,
        highlight=False,
        emoji=False,
        markup=False,
        force_jupyter=False,
    )
    console.print(view(value))
    return console


@singledispatch
def view(value: object) -> RenderableType:
    """Return the view of *value* in a cell."""
    return Text(repr(value))


view.register(Launch)(launch_view)


@view.register
def _profiled(profiled: Profiled) -> RenderableType:
    numbered = list(enumerate(profiled.launches, 1))
    return launches_view(numbered, every=True) if numbered else Text("nothing was launched")


@view.register
def _finding(finding: Finding) -> RenderableType:
    return finding if hasattr(finding, "__rich_console__") else Text(str(finding))


@view.register
def _plan(plan: Plan) -> RenderableType:
    return plan_view(plan, ())


@view.register
def _layout(layout: Layout) -> RenderableType:
    told = (
        f"fits, {layout.slack:,} {plural(layout.slack, 'byte')} to spare"
        if layout.fits
        else f"{layout.overflow:,} {plural(layout.overflow, 'byte')} too many"
    )
    rows = [
        (region.name, f"{region.offset:,}: {region.bytes:,} {plural(region.bytes, 'byte')}")
        for stage in layout.stages
        for region in stage.regions
    ]
    return Group(Text(f"{layout.plan} on {layout.board}: {told}", style="bold"), facts(rows))


@view.register
def _board(board: Board) -> RenderableType:
    arch = board.arch
    memory = f"NRAM {size(arch.max_nram)}, WRAM {size(arch.max_wram)}, SRAM {size(arch.max_sram)}"
    rows = [
        ("architecture", arch.name),
        ("cores", f"{counted(board.clusters, 'cluster')}, {counted(board.cores, 'core')}"),
        ("clock", f"{board.clock_mhz} MHz"),
        ("a kernel may use", memory),
        ("GDRAM", f"{size(board.gdram)}, {board.bandwidth / 1e9:,.1f} GB/s"),
    ]
    return Group(Text(board.name, style="bold"), facts(rows))


@view.register
def _device(device: Device) -> RenderableType:
    return Group(Text("a device:", style="dim"), view(device.board))


@view.register
def _tensor(tensor: DeviceTensor) -> RenderableType:
    raw = tensor.allocation.raw if tensor.allocation.live else None
    return Group(Text(repr(tensor)), Text(f"  {_values(raw, 0, tensor.size, tensor.dtype)}"))


@view.register
def _pointer(pointer: Ptr) -> RenderableType:
    allocation, at = pointer.view.allocation, pointer.address - pointer.view.allocation.address
    raw = allocation.raw if allocation.live and at >= 0 else None
    return Group(Text(repr(pointer)), Text(f"  {_values(raw, at, MOST + 1, pointer.dtype)}"))


def _values(raw: Any, at: int, number: int, dtype: Any) -> str:
    """Return the first elements at byte *at*; those whose bytes are all poison are shown as poison."""
    if raw is None:
        return "no memory that lives"
    room = min(number, (len(raw) - at) // dtype.size)
    piece = np.array(raw[at : at + min(room, MOST) * dtype.size], np.uint8)
    poison = (piece.reshape(-1, dtype.size) == POISON).all(axis=1)
    told = [
        "poison" if bad else str(value) for value, bad in zip(piece.view(dtype.dtype), poison, strict=True)
    ]
    return f"[{', '.join(told)}{', ...' if room > MOST else ''}]"


@view.register
def _intrinsic(row: Intrinsic) -> RenderableType:
    named = ", ".join(parameter.name for parameter in row.parameters)
    parts = [("pipe", row.pipe.value), *(("rule", rule.legal) for rule in row.rules)]
    return Group(Text(f"{row.spelling}({named})", style="bold"), Text(row.doc), facts(parts))


@view.register
def _fault(fault: Fault) -> RenderableType:
    return Group(*_fault_lines(fault))


def _fault_lines(fault: Fault) -> Iterator[Text]:
    yield Text(f"{type(fault).__name__}: {fault}", style="bold red")
    if fault.file is not None and fault.line is not None:
        source = linecache.getline(fault.file, fault.line).rstrip()
        if source:
            yield Text(f"  {fault.line} | {source}")


def traceback_of(error: MlusimError) -> list[str]:
    """Return the lines that a notebook shows if *error* ends a cell: the message, and the line of the kernel or of the cell."""
    if isinstance(error, Fault):
        return [line.plain for line in _fault_lines(error)]
    called = [entry for entry in traceback.extract_tb(error.__traceback__) if not installed(entry.filename)]
    return [
        f"{type(error).__name__}: {said(error)}",
        *(
            f"  {entry.lineno} | {entry.line}"
            for entry in called[-1:]
            if entry.line and not entry.line.startswith(_MAGIC)
        ),
    ]
