"""Traces: tracks that do not overlap, the program's order, the prediction's total."""

import io
import json
from itertools import groupby, pairwise

import numpy as np
import pytest

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.observe.recorder import Recorder
from mlusim.operators.registry import operators
from mlusim.operators.runner import run_case
from mlusim.report.chrome import write_trace
from mlusim.report.layout import placed

COUNT = 4096
NEAR = 1e-4  # us; times are rounded to 1e-6


@kernel
def pipelined(mlu: Mlu, dst: Ptr, src: Ptr, asynchronous: bool) -> None:
    """Load and square side by side, or one after the other; then meet and store."""
    if mlu.is_mpu():
        mlu.sync_cluster()
        return
    loaded, squared = mlu.nram(float32, COUNT), mlu.nram(float32, COUNT, [1.0])
    if asynchronous:
        mlu.memcpy_async(loaded, src, COUNT * 4, GDRAM2NRAM)
    else:
        mlu.memcpy(loaded, src, COUNT * 4, GDRAM2NRAM)
    for _ in range(1 + mlu.taskId):
        mlu.bang_mul(squared, squared, squared, COUNT)
    mlu.sync_cluster()
    mlu.memcpy(dst + mlu.taskId * COUNT, loaded, COUNT * 4, NRAM2GDRAM)


def launched(tasks=4, asynchronous=True, kind=mlusim.UNION1):
    """A launch of `pipelined` and its recorder."""
    device, recorder = mlusim.Device(), Recorder()
    src = device.put(np.ones(COUNT, np.float32))
    dst = device.empty(tasks * COUNT, "float")
    return device.launch(pipelined, tasks, kind, (dst, src, asynchronous), observe=[recorder]), recorder


def events_of(launches, recorder):
    """The complete events of a trace."""
    file = io.BytesIO()
    write_trace(file, recorder, launches)
    return [event for event in json.loads(file.getvalue())["traceEvents"] if event["ph"] == "X"]


def spans(launch, recorder, name):
    """(start, end) of each slice of the instruction *name*, by core."""
    found = {}
    for s in placed(recorder.recordings[0], launch, find_board(launch.board)):
        if s.step is not None and s.step.name == name:
            found.setdefault(s.core, []).append((s.start, s.start + s.duration))
    return found


def test_an_asynchronous_copy_overlaps_and_a_blocking_one_does_not():
    """The first product begins with the copy, or after it."""
    for name, asynchronous in (("memcpy_async", True), ("memcpy", False)):
        launch, recorder = launched(asynchronous=asynchronous)
        loads, products = spans(launch, recorder, name), spans(launch, recorder, "bang_mul")
        for core, (load, *_) in loads.items():
            begin = products[core][0][0]

            assert begin == pytest.approx(load[0] if asynchronous else load[1], abs=NEAR)


def test_a_barrier_lets_everybody_go_at_once():
    """Each core stores when the slowest has come."""
    launch, recorder = launched()
    starts = [copies[-1][0] for copies in spans(launch, recorder, "memcpy").values()]
    slowest = max(end for products in spans(launch, recorder, "bang_mul").values() for _, end in products)

    assert starts == pytest.approx([slowest] * 4, abs=NEAR)


@pytest.mark.parametrize(("tasks", "kind"), [(4, mlusim.UNION1), (100, mlusim.UNION1), (70, mlusim.BLOCK)])
def test_a_trace_ends_with_the_prediction(tasks, kind):
    """The last slice ends at the predicted time, however many tasks wait for their turn."""
    launch, recorder = launched(tasks, kind=kind)
    ends = [event["ts"] + event["dur"] for event in events_of([launch], recorder)]

    assert launch.time_us == pytest.approx(max(ends), abs=NEAR)
    assert tasks == sum(event["name"] == "__memcpy_async" for event in events_of([launch], recorder))


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("name", operators())
def test_no_two_slices_of_a_track_overlap(name, board):
    """On every track of every operator's trace one slice follows the other, inside its launch."""
    case = next(c for c in operators()[name].cases if c.group == "golden")
    recorder = Recorder()
    run = run_case(name, case, board=board, observe=[recorder])
    events = sorted(events_of(run.launches, recorder), key=lambda e: (e["pid"], e["tid"], e["ts"], e["dur"]))
    total = sum(launch.time_us for launch in run.launches)

    assert all(0 <= e["ts"] and e["ts"] + e["dur"] <= total + NEAR for e in events)
    for _, track in groupby(events, key=lambda e: (e["pid"], e["tid"])):
        for before, after in pairwise(track):
            assert before["ts"] + before["dur"] <= after["ts"] + NEAR


def test_tracks_have_names_and_no_two_cores_share_one():
    """Each core of the board is a process with a name; tasks on it follow each other."""
    launch, recorder = launched(100)
    file = io.BytesIO()
    write_trace(file, recorder, [launch])
    events = json.loads(file.getvalue())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}

    assert {e["pid"] for e in events} == set(names)
    assert len(names) == len(set(names.values()))
    assert {"cluster 0 core 0", "cluster 7 core 3", "cluster 7 memory core", "launches"} <= set(
        names.values()
    )
