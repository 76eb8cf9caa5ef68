"""The time of each kernel line as a table for a terminal, and where the lines' text comes from."""

import linecache
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.counted import plural
from mlusim.errors import shown_file
from mlusim.report.quantities import brief, count, share, size
from mlusim.report.record import CallRecord, LaunchRecord
from mlusim.text_grid import table
from mlusim.time.lines import Line

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch

LEAST = 0.001  # of the time of a launch; lines below are summed up in one
NUMBERS = ("time", "us", "count", "scalar", "vector", "tensor", "IO", "move", "wait", "bytes")

END = "end of the tasks"
NOTE = (
    "time: a line's share of everything that cores do or wait for.  us: that, added over all cores; then the share "
    "of it by pipe and in waiting, for pipes, other cores and the memory that all share."
)


def lines_table(record: CallRecord) -> RenderableType:
    """Return a table for each launch of *record* that kept its instructions: its lines, the dearest first."""
    parts: list[RenderableType] = []
    for launch in record.launches:
        if launch.lines:
            parts += [Text(), launch_lines(launch)]
    return Group(*parts, Text(NOTE, style="dim")) if parts else Text("no launch, so no lines", style="dim")


def launch_lines(launch: "LaunchRecord | Launch", most: int | None = None) -> RenderableType:
    """Return the lines of *launch*, which kept its instructions, the dearest first; at most *most* by themselves."""
    total = sum(line.time_us for line in launch.lines)
    ordered = sorted(launch.lines, key=lambda line: -line.time_us)
    dear = [line for line in ordered if line.time_us >= LEAST * total and line.time_us][:most]
    files = {line.file for line in dear if line.line}
    title, place = f"lines of {launch.kernel}", _place
    if len(files) == 1 and (file := shown_file(*files)) != Path(file).name:
        title += f" in {file}"
        place = _place_inside
    shown = table("line", *NUMBERS, right=NUMBERS, title=title, tight=True)
    for line in dear:
        shown.add_row(place(line), *_cells(line, total))
    rest = ordered[len(dear) :]
    if rest:
        time_us = sum(line.time_us for line in rest)
        number = sum(line.count for line in rest)
        part = share(time_us / total) if total else "-"
        shown.add_row(
            f"{len(rest)} {plural(len(rest), 'other')}",
            part,
            brief(count(time_us)),
            brief(count(number)),
            *[""] * 7,
        )
    return shown


def _place(line: Line) -> str:
    """Return the line's file and number; of what no line is of, the end of tasks."""
    return f"{shown_file(line.file)}:{line.line}" if line.line else END


def _place_inside(line: Line) -> str:
    """Return the same with the name of the file alone, whose folders the title has."""
    return f"{Path(shown_file(line.file)).name}:{line.line}" if line.line else END


def _cells(line: Line, total: float) -> Iterator[str]:
    time_us = line.time_us
    yield share(time_us / total)
    yield brief(count(round(time_us, 3)))
    yield brief(count(line.count))
    waits = line.wait_us + line.memory_us
    for part in (*line.busy_us.values(), waits):
        yield f"{100 * part / time_us:.0f}%" if part else ""
    yield brief(size(line.nbytes)).replace("iB", "").replace(" B", "").replace(" ", "") if line.nbytes else ""


def source_lines(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return the text of each file that *lines* are of, where it can still be read; without ends of lines."""
    files = dict.fromkeys(line.file for line in lines if line.line)
    return {file: [text.rstrip("\n") for text in linecache.getlines(file)] for file in files}
