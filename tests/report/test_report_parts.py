"""The parts of a report: numbers as words, sums over cases, reasons, pictures, safe text."""

import csv
import html
import io
import json
import math
import re
from enum import Enum

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, strategies as st

from mlusim.arch.catalog import find_board
from mlusim.counted import brief, count, microseconds, share, size
from mlusim.document import json_text, plain
from mlusim.machine.tally import Usage
from mlusim.report.advice import Advice
from mlusim.report.efficiency import efficiency, engines, summaries
from mlusim.report.explain import explained
from mlusim.report.page.html import html_text
from mlusim.report.page.pictures import roofline, timeline
from mlusim.report.record import (
    NO_COPY,
    Argument,
    CallRecord,
    LaunchRecord,
    csv_text,
    document,
    markdown_text,
)
from mlusim.report.tables import verdict
from mlusim.time.lines import Line
from mlusim.time.timing import TaskSpan

BOARD = find_board("MLU370-X4")
SUCCESS = "MLUOP_STATUS_SUCCESS"


def spans(*busy):
    """Tasks on as many cores, whose IO-DMA is busy for the given us."""
    return tuple(TaskSpan(n, False, n, 0.0, us, (0.0, 0.0, 0.0, us, 0.0)) for n, us in enumerate(busy))


def record(
    time_us=100.0, ios=1_000_000, moved=1_000_000, case="a", busy=(9.0, 9.0), bound="IO-DMA", launches=1
):
    """A clean record with the given quantities."""
    made = LaunchRecord(
        "k", (4, 1, 1), "BLOCK", time_us / launches, bound, {}, moved // launches, spans(*busy)
    )
    return CallRecord(
        operator="op",
        case=case,
        board=BOARD.name,
        status=SUCCESS,
        expected=SUCCESS,
        passed=True,
        inputs=(Argument("x", "float", (4, 5)),),
        efficiency=efficiency(BOARD, "float", 1_000_000, ios, time_us),
        traffic={"GDRAM2NRAM": moved, "NRAM2NRAM": 5},
        instructions={"memcpy": 2},
        memory={s: Usage(1000, 250) for s in ("NRAM", "WRAM", "SRAM")},
        launches=(made,) * launches,
        accuracy={
            "y": {"diff1": 0.0, "diff2": 0.0, "diff3": 0.0, "passed": True, "note": "", "worst_index": None}
        },
    )


class Colour(Enum):
    """An enumeration."""

    RED = 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([np.float32(1.5), np.int64(7), np.bool_(True), np.nan, Colour.RED, object(), SUCCESS]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@given(st.dictionaries(st.text(), VALUES))
def test_whatever_comes_is_json(document):
    """Every document is strict JSON and reads back as what `plain` made of it."""

    def refuse(word):
        raise AssertionError(word)

    assert plain(document) == json.loads(json_text(document), parse_constant=refuse)


def test_plain_values():
    """Numbers without a JSON form are words; members are names; NumPy's scalars are numbers."""
    given_values = [math.nan, math.inf, -math.inf, Colour.RED, np.float32(0.5), np.int8(3), np.bool_(False)]

    assert ["nan", "inf", "-inf", "RED", 0.5, 3, False] == plain(given_values)


def test_quantities_in_words():
    """Bytes, counts, shares and times as the tables write them."""
    assert ["0 B", "1023 B", "1.00 KiB", "124.8 MiB", "2.00 GiB"] == [
        size(n) for n in (0, 1023, 1024, 130_852_896, 1 << 31)
    ]
    assert ["950", "32.7M", "1.02T"] == [count(n) for n in (950, 32_713_200, 1.024e12)]
    assert ["125 MiB", "97.7 KiB", "1.00 KiB", "12 B", "130k"] == [
        brief(words) for words in ("124.8 MiB", "97.7 KiB", "1.00 KiB", "12 B", "129.6k")
    ]
    assert ("140.0%", "1,746.2") == (share(1.3997), microseconds(1746.21))


def test_a_summary_adds_times_and_divides_theory_by_them():
    """Two calls of 100 us that move a MB each in theory: 2 MB in 200 us."""
    total = summaries([record(), record(case="b")])

    assert 1 == len(total)
    assert (2, 2, 200.0) == (total[0].cases, total[0].clean, pytest.approx(total[0].time_us))
    assert 2e6 / (200e-6 * 307.2e9) == pytest.approx(total[0].io_efficiency)
    assert 2e6 / (200e-6 * 1.024e12) == pytest.approx(total[0].compute_efficiency)
    assert ("io", 0.25) == (total[0].bottleneck, total[0].nram)
    assert (2, 0) == (total[0].judged, total[0].accepted)
    assert (1, 1) == (
        summaries([record(time_us=5.0)])[0].judged,
        summaries([record(time_us=5.0)])[0].accepted,
    )


def test_a_summary_of_nothing_launched():
    """Without a launch there is no efficiency, and the call still counts."""
    total = summaries([evolve(record(), efficiency=None, launches=())])[0]

    assert (1, None, None, "-") == (
        total.cases,
        total.io_efficiency,
        total.compute_efficiency,
        total.bottleneck,
    )


def test_each_ending_of_a_call_has_one_word():
    """One word for each way in which a call can end."""
    clean = record()
    finding = {"message": "odd", "level": "error"}

    assert "passed" == verdict(clean)
    assert "ran" == verdict(evolve(clean, accuracy={}))
    assert "refused" == verdict(evolve(clean, message="no", status="BAD", expected="BAD"))
    assert "status" == verdict(evolve(clean, status="BAD", passed=False))
    assert "FAILED" == verdict(evolve(clean, passed=False))
    assert "fault" == verdict(evolve(clean, fault={"type": "Deadlock"}, passed=False))
    assert "2 found" == verdict(evolve(clean, findings=(finding, finding)))
    assert "passed" == verdict(evolve(clean, findings=({"message": "by the way", "level": "note"},)))


def test_bytes_that_no_copy_carried_are_shown():
    """Atomics and fills are what the IO-DMA carried beyond the copies; on-chip copies are not part of it."""
    with_atomics = evolve(record(moved=1000), traffic={"GDRAM2NRAM": 600, "NRAM2NRAM": 50})

    assert {"GDRAM2NRAM": 600, NO_COPY: 400} == with_atomics.off_chip
    assert {"GDRAM2NRAM": 600, "NRAM2NRAM": 50, NO_COPY: 400} == with_atomics.moved
    assert {"GDRAM2NRAM": 1_000_000} == record().off_chip


def test_names_cannot_break_a_page():
    """Whatever a case is called is text: in the page, in the pictures, in the tables."""
    evil = "<script>alert('&')</script>|x"
    page = html_text([record(case=evil)], "0")
    tables = re.findall(r"(?:^\|.*\|\n)+", markdown_text([record(case=evil)], "0"), re.MULTILINE)
    rows = list(csv.DictReader(io.StringIO(csv_text([record(case=evil)]))))

    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert all(1 == len({line.count("|") for line in table.splitlines()}) for table in tables)
    assert [evil] == [row["case"] for row in rows]


def test_a_page_of_calls_that_launched_nothing():
    """Refusals and faults alone still make a page."""
    refused = evolve(record(), efficiency=None, launches=(), message="no")
    text = html_text([refused, evolve(refused, case="b", fault={"type": "Deadlock"}, passed=False)], "0")

    assert "fault" in text
    assert "refused" in text


def test_a_point_below_the_roof_is_drawn_below_it():
    """A call at a tenth of the bandwidth lies under the slope; without operations it has no place."""
    ten_percent = record(time_us=10 * 1e6 * 1_000_000 / BOARD.bandwidth)
    picture = roofline([ten_percent], BOARD, {"op": "c0"})
    none = roofline(
        [evolve(ten_percent, efficiency=efficiency(BOARD, "float", 0, 5, 9.0))], BOARD, {"op": "c0"}
    )

    assert 1 == picture.count("<title>")
    assert 0 == none.count("<title>")


def test_a_timeline_has_a_bar_for_each_task_that_works():
    """Idle tasks have no bar; tasks too short to tell apart are one."""
    working = timeline("title", record(busy=(9.0, 0.0, 4.0)).launches, BOARD)
    crowd = tuple(
        TaskSpan(n, False, 0, n * 0.001, (n + 1) * 0.001, (0.0, 0.001, 0.0, 0.0, 0.0)) for n in range(5000)
    )
    crowded = record(time_us=7.0)
    crowded = evolve(crowded, launches=(evolve(crowded.launches[0], spans=crowd),))

    assert 2 == working.count("<title>")
    assert timeline("title", crowded.launches, BOARD).count("M ") < 2000


def test_the_page_begins_with_the_call_that_hurts_most():
    """The dearest of those that miss their rule: why, where, and what would help; how the page was made comes last."""
    fine, missed = (
        record(time_us=900.0, ios=200_000_000, case="fine"),
        record(time_us=50.0, ios=1000, case="slow"),
    )
    dear = Line("k.mlu", 7, 3, {"IO-DMA": 2.0}, 0.0, 0.0, 64, ("memcpy",))
    helps = Advice("overlap", "a second buffer", "line 7", 25.0, 2.0)
    launch = evolve(missed.launches[0], lines=(dear,), advice=(helps,))
    head, rest = html_text([fine, evolve(missed, launches=(launch,))], "0", command="mlusim report op").split(
        '<h2 id="operators">'
    )

    assert "<h3>op slow on MLU370-X4</h3>" in head
    assert explained(missed).sentence in html.unescape(head)
    assert "<b>k.mlu:7</b> keeps the IO-DMA busy for 100%" in head
    assert "What would help" in head
    assert "a second buffer" in head
    assert "mlusim report op" not in head
    assert "mlusim report op" in rest
    assert "<code>mlusim check op --case slow --board MLU370-X4</code>" in head
    assert "<h3>op fine on MLU370-X4</h3>" in html_text([fine], "0").split('<h2 id="operators">')[0]


def test_every_form_says_which_engine_ran():
    """One engine is a sentence, several are counted; calls that launched nothing have none."""
    python, refused = record(), evolve(record(case="c"), launches=())
    native = evolve(python, case="b", launches=(evolve(python.launches[0], engine="native"),) * 2)
    mixed, counted = (
        [python, native, refused],
        "2 launches on the native engine, 1 launch on the python engine.",
    )
    rows = list(csv.DictReader(io.StringIO(csv_text(mixed))))

    assert "Launched on the native engine." == engines([native])
    assert "" == engines([refused])
    assert counted == engines(mixed)
    assert ["native", "python"] == document(mixed, "1")["engines"]
    assert ["python", "native", ""] == [row["engine"] for row in rows]
    assert counted in markdown_text(mixed, "1")
    assert counted in html_text(mixed, "1")
    assert ["native", "native"] == [launch["engine"] for launch in native.to_json()["launches"]]
