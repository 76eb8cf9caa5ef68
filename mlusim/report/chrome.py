"""Launches as a trace-event file, which Perfetto and chrome://tracing show: a track per core and pipe.

The bytes depend on the launches alone.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.isa.table import ISA
from mlusim.machine.launch import Launch
from mlusim.machine.timing import LAUNCH_US, PIPES
from mlusim.observe.recorder import RecordedCore, Recorder, Step
from mlusim.report.layout import Slice, placed, slots

TRACKS = ("task", *PIPES)
UNITS = ("operations", "cycles", "MACs", "bytes", "bytes")

Event = dict[str, Any]


def write_trace(file: BinaryIO, recorder: Recorder, launches: Sequence[Launch]) -> None:
    """Write the launches that *recorder* watched, one after the other, to *file*.

    *launches* are their results in the same order.  Times are in us, predicted.
    """
    about = {
        "board": launches[0].board if launches else "",
        "kernels": [launch.kernel for launch in launches],
        "time": "predicted, in us; order and overlap are the program's, the total is the prediction's",
    }
    file.write(f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(about)}, "traceEvents": ['.encode())
    comma = ""
    for event in _events(recorder, launches):
        file.write(f"{comma}\n{json.dumps(event)}".encode())
        comma = ","
    file.write(b"\n]}\n")


def _events(recorder: Recorder, launches: Sequence[Launch]) -> Iterator[Event]:
    named: set[tuple[int, int]] = set()
    begin = 0.0
    yield from _names(0, "launches", 0, first=True)
    for recording, launch in zip(recorder.recordings, launches, strict=True):
        board = find_board(launch.board)
        where = slots(launch)
        homes = [_home(core, where[core.task, core.memory_core], launch, board) for core in recording.cores]
        yield _launch_event(launch, begin)
        for piece in placed(recording, launch, board):
            track = 0 if piece.step is None else TRACKS.index(piece.step.pipe)
            pid, name = homes[piece.core]
            if (pid, track) not in named:
                yield from _names(pid, name, track, first=all(known != pid for known, _ in named))
                named.add((pid, track))
            yield _event(piece, recording.cores[piece.core], pid, track, begin)
        begin += launch.time_us


def _home(core: RecordedCore, slot: int, launch: Launch, board: Board) -> tuple[int, str]:
    """The number and the name of the core of the board that ran *core*'s task."""
    width = board.arch.cores_per_cluster
    unions = int(launch.kind.removeprefix("UNION")) if launch.kind.startswith("UNION") else 0
    cluster, at = (slot * unions + core.cluster, core.core) if unions else divmod(slot, width)
    if core.memory_core:
        return 1 + cluster * (width + 1) + width, f"cluster {cluster} memory core"
    return 1 + cluster * (width + 1) + at, f"cluster {cluster} core {at}"


def _names(pid: int, name: str, track: int, *, first: bool) -> Iterator[Event]:
    if first:
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": track, "args": {"name": TRACKS[track]}}
    yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": track, "args": {"sort_index": track}}


def _launch_event(launch: Launch, begin: float) -> Event:
    arguments = {"dim": launch.dim, "kind": launch.kind, "bound": launch.bound, "time_us": launch.time_us}
    return _complete(launch.kernel, "launch", begin, launch.time_us, (0, 0), arguments)


def _event(piece: Slice, core: RecordedCore, home: int, track: int, begin: float) -> Event:
    step, start = piece.step, begin + LAUNCH_US + piece.start
    if step is None:
        return _complete(
            f"task {core.task}", "task", start, piece.duration, (home, track), {"task": core.task}
        )
    spelling = ISA[step.name].spelling if step.name in ISA else step.name
    return _complete(spelling, step.pipe, start, piece.duration, (home, track), _arguments(step, core))


def _arguments(step: Step, core: RecordedCore) -> Event:
    """What a slice says when it is clicked: quantities, direction, the kernel's line."""
    file, line = step.site
    arguments: Event = {"task": core.task, "line": f"{Path(file).name}:{line}"}
    if step.detail:
        arguments["direction"] = step.detail
    if step.count > 1:
        arguments["count"] = step.count
    arguments |= {unit: amount for unit, amount in zip(UNITS, step.work, strict=True) if amount}
    return arguments


def _complete(
    name: str, category: str, start: float, duration: float, track: tuple[int, int], arguments: Event
) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": round(start, 6),
        "dur": round(duration, 6),
        "pid": track[0],
        "tid": track[1],
        "args": arguments,
    }
