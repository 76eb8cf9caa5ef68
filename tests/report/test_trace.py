"""Traces: the rules of the trace-event format, the launch's own spans and totals, and what is left out."""

import io
import json
import re
import sqlite3
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.machine.hub import EveryStep
from mlusim.operators.registry import operators
from mlusim.operators.runner import run_case
from mlusim.report.chrome import write_trace
from mlusim.time.timing import PIPES

COUNT = 4096
NEAR = 2e-6  # us; times are rounded to 1e-6
KEYS = {
    "C": {"ts", "args"},
    "X": {"ts", "dur", "args"},
    "M": {"args"},
    "s": {"ts", "id"},
    "f": {"ts", "id", "bp"},
}


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


def launched(tasks=4, asynchronous=True, kind=mlusim.UNION1, keep=True):
    """A launch of `pipelined`."""
    device = mlusim.Device()
    src = device.put(np.ones(COUNT, np.float32))
    dst = device.empty(tasks * COUNT, "float")
    return device.launch(
        pipelined, tasks, kind, (dst, src, asynchronous), observe=[EveryStep()] if keep else []
    )


def document_of(launches, **options):
    """The whole trace."""
    file = io.BytesIO()
    write_trace(file, launches, **options)
    return json.loads(file.getvalue())


def spans_of(document, **wanted):
    """The complete events of a trace in which the facts *wanted* are so, by track and time."""
    found = [e for e in document["traceEvents"] if e["ph"] == "X"]
    chosen = [e for e in found if all(e[key] == value for key, value in wanted.items())]
    return sorted(chosen, key=lambda e: (e["pid"], e["tid"], e["ts"], e["dur"]))


def check_format(document):
    """Hold *document* to the format: keys, names of tracks, order on tracks, flows that lead from slice to slice."""
    events = document["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    spans = spans_of(document)
    flows = {}
    for event in events:
        assert KEYS[event["ph"]] | {"name", "pid", "tid"} <= set(event)
        assert (event["pid"], event["tid"]) in named
        if event["ph"] in "sf":
            flows.setdefault(event["id"], []).append(event)
    for _, track in groupby(spans, key=lambda e: (e["pid"], e["tid"])):
        for before, after in pairwise(track):
            assert before["ts"] + before["dur"] <= after["ts"] + NEAR
    around = {}
    for span in spans:
        around.setdefault((span["pid"], span["tid"]), []).append(span)
    for start, end in flows.values():
        assert ("s", "f", "e") == (start["ph"], end["ph"], end["bp"])
        assert start["name"] == end["name"]
        assert start["ts"] <= end["ts"]
        for event in (start, end):
            tracks = around[event["pid"], event["tid"]]

            assert any(s["ts"] <= event["ts"] <= s["ts"] + s["dur"] for s in tracks)
    return flows


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("name", operators())
def test_the_trace_of_every_operator_keeps_the_rules(name, board):
    """Format, total time, and busy times by pipe, which are the launches' own."""
    case = next(c for c in operators()[name].cases if c.group == "golden")
    run = run_case(name, case, board=board, observe=[EveryStep()])
    document = document_of(run.launches)
    check_format(document)
    total = sum(launch.time_us for launch in run.launches)

    assert total == pytest.approx(max(e["ts"] + e["dur"] for e in spans_of(document)), abs=NEAR)
    assert "" == document["otherData"]["left out"]
    for pipe in PIPES:
        own = spans_of(document, cat=pipe)
        waits = sum(e["args"].get("of it waiting for a share of the memory, us", 0.0) for e in own)
        busy = sum(launch.profile.busy_us[pipe] for launch in run.launches)

        assert busy == pytest.approx(sum(e["dur"] for e in own) - waits, abs=NEAR * (1 + len(own)) * 6)


@pytest.mark.parametrize(("tasks", "kind"), [(4, mlusim.UNION1), (100, mlusim.UNION1), (70, mlusim.BLOCK)])
def test_a_trace_ends_with_the_prediction(tasks, kind):
    """The launch, its last task and its last span end at the predicted time; every task is there."""
    launch = launched(tasks, kind=kind)
    document = document_of([launch])
    check_format(document)

    for category in ("launch", "task"):
        ends = [e["ts"] + e["dur"] for e in spans_of(document, cat=category)]

        assert launch.time_us == pytest.approx(max(ends), abs=NEAR)
    assert len(launch.tasks) == len(spans_of(document, cat="task"))
    assert tasks == len(spans_of(document, name="__memcpy_async", cat="IO-DMA"))


def test_an_asynchronous_copy_overlaps_and_a_blocking_one_does_not():
    """Vector work begins when the copy is issued, or when it has ended."""
    for name, asynchronous in (("__memcpy_async", True), ("__memcpy", False)):
        document = document_of([launched(asynchronous=asynchronous)])
        loads = {e["pid"]: e for e in reversed(spans_of(document, name=name, cat="IO-DMA"))}
        for pid, load in loads.items():
            first = spans_of(document, name="__bang_mul", pid=pid)[0]["ts"]

            assert asynchronous == (first < load["ts"] + load["dur"] - NEAR)


def test_arrows_join_waits_with_what_they_waited_for():
    """Each core's barrier waits for the own vector unit or copy first; the last to arrive lets the others go."""
    document = document_of([launched()])
    flows = check_format(document)
    barriers = [(s, f) for s, f in flows.values() if s["name"] == "barrier"]
    last = {s["pid"] for s, _ in barriers}

    assert 4 == len(barriers)
    assert 1 == len(last)
    assert {2, 3, 4, 5, 6} - last == {f["pid"] for _, f in barriers}
    assert all("wait" == e["cat"] for e in spans_of(document, name="__sync_cluster") if e["dur"] > 0.01)


def test_a_slice_says_its_line_its_task_and_its_bytes():
    """What is shown when a slice is clicked."""
    document = document_of([launched()])
    store = spans_of(document, name="__memcpy", pid=5)[0]["args"]
    product = spans_of(document, name="__bang_mul", pid=5)[0]["args"]
    lines = Path(__file__).read_text().splitlines()
    at = 1 + next(n for n, text in enumerate(lines) if "mlu.memcpy(dst" in text)

    assert {"task": 3, "line": f"{__file__}:{at}", "bytes": 4 * COUNT} == {
        key: store[key] for key in ("task", "line", "bytes")
    }
    assert ("NRAM2GDRAM", lines[at - 1].strip()) == (store["direction"], store["call"])
    assert "direction" not in product
    assert COUNT == product["elements"]


def test_the_question_of_the_page_is_answered():
    """The page's query, on the slices as Perfetto's tables have them: the bytes by direction are the launch's traffic."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "see-where-time-goes.md"
    query = re.search(r"```sql\n(.*?)```", page.read_text(), re.DOTALL)[1]
    launch = launched()
    slices = spans_of(document_of([launch]))
    tables = sqlite3.connect(":memory:")
    tables.execute("create table slice (category, dur, arg_set_id)")
    tables.executemany(
        "insert into slice values (?, ?, ?)", [(e["cat"], e["dur"] * 1e3, n) for n, e in enumerate(slices)]
    )
    tables.create_function(
        "extract_arg", 2, lambda n, name: slices[n]["args"].get(name.removeprefix("args."))
    )
    moved = {}
    for direction, line, nbytes, ns in tables.execute(query):
        moved[direction] = moved.get(direction, 0) + nbytes

        assert re.fullmatch(r".+\.py:\d+", line)
        assert 0 < ns
    assert dict(launch.traffic) == moved


def test_counters_add_up_to_what_the_launch_did():
    """The rate over time is the bytes that moved; cores, NRAM and bytes in flight begin and end with nothing."""
    launch = launched()
    counted = {}
    for event in document_of([launch])["traceEvents"]:
        if event["ph"] == "C":
            counted.setdefault(event["name"], []).append((event["ts"], event["args"]["value"]))
    moved = sum(
        rate * 1e3 * (later - now) for (now, rate), (later, _) in pairwise(counted["GB/s off the chip"])
    )
    most = {name: max(value for _, value in points) for name, points in counted.items()}

    assert launch.io_bytes == pytest.approx(moved, rel=1e-3)
    assert 4 == most["cores at work"]
    assert 4 * launch.memory["NRAM"].high_water == most["NRAM in use, bytes"]
    assert COUNT * 4 <= most["bytes in flight"] <= 4 * COUNT * 4
    assert {0} == {points[-1][1] for points in counted.values()}
    assert all(sorted(points) == points for points in counted.values())


def test_tracks_have_names_and_no_two_cores_share_one():
    """Each core of the board is a process with a name; tasks on it follow each other."""
    events = document_of([launched(100)])["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}

    threads = {(e["pid"], e["tid"]) for e in events}

    assert len(threads) == len({tid for _, tid in threads})
    assert 0 not in {number for pair in threads for number in pair}
    assert {e["pid"] for e in events} == set(names)
    assert len(names) == len(set(names.values()))
    assert {"cluster 0 core 0", "cluster 7 core 3", "cluster 7 memory core", "launches"} <= set(
        names.values()
    )


def test_a_launch_that_kept_no_instructions_has_a_trace_of_rows():
    """Without every step the spans are whole rows of the log, without lines, with the same busy times."""
    document = document_of([launched(keep=False)])
    check_format(document)
    named = document_of([launched()])
    own, other = (sum(e["dur"] for e in spans_of(d, cat="vector")) for d in (document, named))

    assert other == pytest.approx(own, abs=1e-4)
    assert not any("line" in e["args"] for e in spans_of(document))


def test_a_trace_of_a_giant_launch_says_what_it_leaves_out():
    """Beyond the bound each task is one span that says so, and the file counts them."""
    launch = launched(70, kind=mlusim.BLOCK)
    document = document_of([launch], most=100)
    check_format(document)
    tasks = spans_of(document, cat="task")
    short = [e for e in tasks if "left out" in e["name"]]

    assert 100 == len(spans_of(document)) - len(tasks) - 1
    assert 70 == len(tasks)
    assert 0 < len(short) < 70
    assert 1 == sum(e["name"].endswith(", later instructions left out") for e in short)
    assert f"last {len(short)} of 70 tasks" in document["otherData"]["left out"]
    assert "1 of these their first instructions" in document["otherData"]["left out"]


def test_the_same_launch_makes_the_same_bytes():
    """A trace depends on the launch alone."""
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        write_trace(file, [launched(), launched(72)])

    assert files[0].getvalue() == files[1].getvalue()
