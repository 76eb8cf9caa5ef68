"""Why a call is as efficient as it is: figures of launches, reasons in order, the vendor's acceptance rule."""

import csv
import io

import numpy as np
import pytest
from attrs import evolve

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.document import plain
from mlusim.machine.tally import Usage
from mlusim.operators.registry import find_operator
from mlusim.report.efficiency import Rule, acceptance, efficiency, headline, summaries, verdicts
from mlusim.report.explain import below_the_bar, explained, reasons
from mlusim.report.figures import Figures, figures
from mlusim.report.record import BELOW, CallRecord, LaunchRecord, csv_text, markdown_text
from mlusim.time.log import Lanes

BOARD = find_board("MLU370-X4")
SUCCESS = "MLUOP_STATUS_SUCCESS"
EVEN = Figures(
    cores=32,
    tasks=32,
    working=32,
    slowest=0,
    balance=1.0,
    places=8,
    waves=1,
    last_wave=1.0,
    busy={"scalar": 0.0, "vector": 0.4, "tensor": 0.0, "IO-DMA": 0.8, "move-DMA": 0.0},
    lanes={"bang_mul": Lanes(1280, 1280)},
    vectors=10,
    starts=0.1,
    transfers=1000,
    io_bytes=1_000_000,
    line_bytes=1_000_000,
    overlap=0.5,
    waits={"pipes": 0.1, "cores": 0.0, "memory": 0.0},
)
SETS = "the IO-DMA sets the time, busy 80% of it"


def record(*changed, time_us=100.0, ios=1_000_000, ops=1_000_000, moved=1_000_000, bound="IO-DMA"):
    """A call whose launches have the figures *changed*, one launch for each."""
    about = changed or (EVEN,)
    launches = tuple(
        LaunchRecord("k", (4, 8, 1), "UNION1", time_us / len(about), bound, {}, moved // len(about), (), one)
        for one in about
    )
    return CallRecord(
        operator="op",
        case="a",
        board=BOARD.name,
        status=SUCCESS,
        expected=SUCCESS,
        passed=True,
        efficiency=efficiency(BOARD, "float", ops, ios, time_us),
        traffic={"GDRAM2NRAM": moved},
        memory={"NRAM": Usage(1000, 250), "SRAM": Usage(0, 0), "WRAM": Usage(0, 0)},
        launches=launches,
        group="network",
    )


CAUSES = {
    "nothing": ({}, {}, [SETS]),
    "more bytes": ({}, {"moved": 3_000_000}, [SETS, "it moves 2.86 MiB, 3.0 times the theory bytes"]),
    "fewer bytes": (
        {},
        {"moved": 100_000},
        [SETS, "it moves 97.7 KiB, less than the 976.6 KiB that the theory counts"],
    ),
    "idle cores": ({"working": 16}, {}, [SETS, "16 of 32 cores have work"]),
    "uneven": (
        {"balance": 2.1, "slowest": 31},
        {},
        [SETS, "core 31 works 2.1 times the mean"],
    ),
    "last wave": (
        {"waves": 2, "last_wave": 0.125},
        {},
        [SETS, "the last of 2 waves fills 12% of the places"],
    ),
    "small transfers": (
        {"transfers": 10_000},
        {},
        [SETS, "its 10.0k off-chip transfers carry 100 bytes each, 512 and more are best"],
    ),
    "lines used in part": (
        {"line_bytes": 2_000_000},
        {},
        [SETS, "lines of 64 bytes that are used in part make the off-chip memory move 2.0 times the bytes"],
    ),
    "padding": (
        {"lanes": {"bang_mul": Lanes(590, 1000), "bang_add": Lanes(1000, 1000)}},
        {},
        [SETS, "41% of the lanes of bang_mul are padding"],
    ),
    "short instructions": (
        {"starts": 0.75},
        {},
        [SETS, "75% of the vector cycles only start instructions, which take 128 bytes in the mean"],
    ),
    "no overlap": (
        {"overlap": 0.02},
        {},
        [SETS, "IO-DMA and vector take turns: they overlap for only 2.0% of the shorter one's time"],
    ),
    "never at once": ({"overlap": 0.0}, {}, [SETS, "IO-DMA and vector take turns: they never overlap"]),
    "barriers": (
        {"waits": {"pipes": 0.1, "cores": 0.3, "memory": 0.0}},
        {},
        [SETS, "cores wait 30% of the time for others at barriers"],
    ),
    "shared memory": (
        {"waits": {"pipes": 0.1, "cores": 0.0, "memory": 0.25}},
        {},
        [SETS, "tasks take 25% of their time waiting for the memory that all share"],
    ),
    "another pipe": ({}, {"bound": "vector"}, ["the vector pipe sets the time, busy 40% of it"]),
    "the memory is full": (
        {"line_bytes": 26_200_000, "io_bytes": 26_200_000, "balance": 3.0, "slowest": 2},
        {},
        ["the off-chip memory moves 99% of what it can"],
    ),
}


@pytest.mark.parametrize("kind", CAUSES)
def test_each_cause_has_its_sentence(kind):
    """A cause is named where it applies, and nothing else is."""
    changes, call, expected = CAUSES[kind]

    assert expected == reasons(record(evolve(EVEN, **changes), **call))


def test_bytes_of_atomics_are_told_where_they_are_many():
    """Two of three bytes that no copy carried."""
    atomics = evolve(record(moved=3_000_000), traffic={"GDRAM2NRAM": 1_000_000})

    assert "it moves 2.86 MiB, 3.0 times the theory bytes, 67% of them by atomics and fills" in reasons(
        atomics
    )


def test_the_weightiest_cause_comes_first():
    """Half of the cores idle costs more than a tenth of padding; launches that are most of the time, more than all."""
    both = evolve(EVEN, working=16, lanes={"bang_mul": Lanes(800, 1000)})
    short = record(EVEN, EVEN, time_us=6.0)

    assert ["16 of 32 cores have work", "20% of the lanes of bang_mul are padding"] == reasons(record(both))[
        1:
    ]
    assert "starting 2 launches are 40% of the time" == reasons(short)[0]
    assert ["starting one launch is 95% of the time"] == reasons(record(time_us=1.26))


def test_the_sentence_names_side_class_and_causes():
    """One sentence: what bounds the call, what the rule asks, and why."""
    made = explained(record(evolve(EVEN, balance=2.1, slowest=31)))

    assert (
        "IO bound at 3.3% of the bandwidth, which misses the 60% asked of network shapes: "
        f"{SETS}; core 31 works 2.1 times the mean."
    ) == made.sentence
    assert (2.1, 31, 0.25) == (made.balance, made.slowest, made.memory["NRAM"])
    assert "SRAM" not in made.memory


FREE = Rule(source="a document", asked=False)


def test_a_document_that_asks_for_no_efficiency():
    """No sentence, first line, table, file or page counts a call as a miss where nothing is asked of it."""
    free = evolve(record(), rule=FREE)
    refused = evolve(free, efficiency=None)
    other = record()

    assert not below_the_bar(free)
    assert (
        f"IO bound at 3.3% of the bandwidth; its document asks for no efficiency, the library's standard for 60% on network shapes: {SETS}."
        == explained(free).sentence
    )
    assert "1 call, of which the design documents ask for no efficiency." == headline(
        verdicts([free, refused])
    )
    assert headline(verdicts([free, other, free])).startswith("0 of 1 calls meet the rule: ")
    assert headline(verdicts([free, other, free])).endswith(
        "; of 2 more the design documents ask for no efficiency."
    )
    assert [(0, 0, 2, True), (0, 1, 1, False)] == [
        (v.met, v.judged, v.calls, v.passed) for v in verdicts([free, other, free])
    ]
    assert [(0, 0), (0, 1)] == [
        (s.accepted, s.judged) for s in summaries([free, evolve(other, operator="o")])
    ]
    assert BELOW not in markdown_text([free], "0")
    assert "" == next(csv.DictReader(io.StringIO(csv_text([free]))))["accepted"]


@pytest.mark.parametrize(
    ("operator", "asks"),
    [
        ("mutual_information_backward", False),
        ("dynamic_scatter_backward", False),
        ("three_interpolate_backward", True),
        ("tin_shift_forward", True),
        ("tin_shift_backward", True),
        ("border_align_backward", True),
    ],
)
def test_what_the_design_documents_ask(operator, asks):
    """Chapter 1.5.2 of each: the standard, at least 50 %, or nothing."""
    rule = find_operator(operator).rule

    assert asks == rule.asked
    assert "asked for" in rule.words or asks
    assert ("border" in operator) == (rule.network == 0.5)


def test_the_numbers_of_all_launches():
    """Shares of pipes are weighted by time, lanes are added; what has no memory of a kind has no share."""
    one = evolve(EVEN, overlap=0.5, busy={"vector": 0.2}, lanes={"bang_mul": Lanes(100, 128)})
    two = evolve(EVEN, overlap=0.1, busy={"vector": 0.4}, lanes={"bang_mul": Lanes(28, 128)})
    made = explained(record(one, two, moved=3_000_000))

    assert (pytest.approx(0.3), pytest.approx(0.3)) == (made.overlap, made.busy["vector"])
    assert (0.5, {"bang_mul": 0.5}) == (made.padding, made.lanes)
    assert (3.0, {"GDRAM2NRAM": 3.0}) == (made.of_theory, made.directions)
    assert made.to_json() == plain(made.to_json()) | {"reasons": made.reasons}


def test_what_launched_nothing_has_no_numbers():
    """A refusal is explained by its sentence."""
    refused = evolve(record(), efficiency=None, launches=(), message="no")

    assert ("no", ()) == (explained(refused).sentence, explained(refused).reasons)
    assert ["nothing was launched"] == reasons(refused)
    assert [] == reasons(evolve(refused, fault={"type": "Deadlock"}))


@pytest.mark.parametrize(("share", "accepted"), [(0.5, True), (0.49, False)])
@pytest.mark.parametrize("group", ["network", "random", None])
def test_the_rule_that_an_operator_declares(share, accepted, group):
    """One efficiency of 50 % on every shape, whatever the standard asks; the sentence says so."""
    rule = Rule(0.5, 0.5, "a document")
    found = efficiency(BOARD, "float", 1, round(share * 1e-4 * 307.2e9), 100.0)
    made = evolve(record(), efficiency=found, group=group, rule=rule)

    assert accepted == acceptance(found, group, rule).accepted
    assert accepted != below_the_bar(made)
    assert "50% asked of every shape" in explained(made).sentence
    assert "at least one efficiency of 50% or more" == rule.words


def test_the_verdict_counts_by_rule():
    """The first line of a report: how many calls meet the rule, and which; calls without a time are not judged."""
    half = evolve(
        record(), efficiency=efficiency(BOARD, "float", 1, int(0.55e-4 * 307.2e9), 100.0), group="network"
    )
    other = evolve(half, rule=Rule(0.5, 0.5, "a document"))
    refused = evolve(record(), efficiency=None)
    both = verdicts([half, other, half, refused])

    assert [(0, 2, False), (1, 1, True)] == [(v.met, v.judged, v.passed) for v in both]
    assert headline(verdicts([half])) == (
        "0 of 1 calls meet the rule: at least one efficiency of 60% or more on network shapes, of 30% or more on others."
    )
    assert headline(both).startswith(
        "1 of 3 calls meet the rule of their operator. 0 of 2: at least one efficiency of 60%"
    )
    assert "No call was timed" in headline(verdicts([refused]))


@pytest.mark.parametrize(
    ("share", "group", "grade", "accepted"),
    [
        (0.61, "network", ">=60%", True),
        (0.59, "network", ">=30%", False),
        (0.59, "boundary", ">=30%", True),
        (0.59, None, ">=30%", True),
        (0.29, "boundary", "<30%", False),
    ],
)
def test_the_rule_of_the_vendor(share, group, grade, accepted):
    """The bottleneck side has to reach 60 % on network shapes and 30 % on others, be it IO or compute."""
    moved = efficiency(BOARD, "float", 1, int(share * 1e-4 * 307.2e9), 100.0)
    compute = efficiency(BOARD, "float", int(share * 1e-4 * 1.024e12), 1, 100.0)

    for found, side in ((moved, "io"), (compute, "compute")):
        judged = acceptance(found, group)
        assert (side, grade, accepted) == (judged.side, judged.grade, judged.accepted)
        assert share == pytest.approx(judged.efficiency, abs=1e-6)
        assert accepted != below_the_bar(evolve(record(), efficiency=found, group=group))


# -- figures of real launches ----------------------------------------------------------------------


@kernel
def uneven(mlu: Mlu, dst: Ptr, src: Ptr) -> None:
    """Task 0 works four times as much as the others; 33 floats at a time."""
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, 64)
    for _ in range(400 if mlu.taskId == 0 else 100):
        mlu.memcpy(a, src, 33 * 4, GDRAM2NRAM)
        mlu.bang_add_scalar(a, a, 1.0, 33)
    mlu.memcpy(dst + mlu.taskId * 64, a, 33 * 4, NRAM2GDRAM)


def test_figures_of_an_uneven_launch():
    """Nine unions on eight clusters: two waves; task 0 on core 0; 33 of 64 lanes; 132 bytes of three lines."""
    device = mlusim.Device(BOARD)
    src, dst = device.put(np.zeros(64, np.float32)), device.put(np.zeros(64 * 36, np.float32))
    launch = device.launch(uneven, dim=(4, 9, 1), kind=mlusim.UNION1, args=(dst, src))
    found = figures(launch)
    runs = 400 + 35 * 100

    assert (32, 36, 32, 8, 2, 0.125) == (
        found.cores,
        found.tasks,
        found.working,
        found.places,
        found.waves,
        found.last_wave,
    )
    assert 0 == found.slowest
    assert 4 * 32 / (4 + 35) == pytest.approx(found.balance, rel=0.02)
    assert {"bang_add_scalar": Lanes(132 * runs, 256 * runs)} == found.lanes
    assert (runs, runs + 36) == (found.vectors, found.transfers)
    assert 20 / 22 == pytest.approx(found.starts)
    assert 132 * (runs + 36) == found.io_bytes
    assert 192 * runs + 36 * 64 * 4 == found.line_bytes
    assert 0 < found.busy["vector"] < found.busy["IO-DMA"] < 1
    assert 1.0 >= sum(found.busy.values()) > 0.3
    assert launch.profile.overlap == found.overlap
    assert launch.profile.pipe_wait_us / launch.profile.elapsed_us == found.waits["pipes"]


def test_idle_cores_are_no_part_of_the_mean():
    """One Block task on a board of 32 cores: one works, evenly."""
    device = mlusim.Device(BOARD)
    src, dst = device.put(np.zeros(64, np.float32)), device.put(np.zeros(64, np.float32))
    found = figures(device.launch(uneven, args=(dst, src)))

    assert (1, 1, 1.0, 32, 1, 1 / 32) == (
        found.tasks,
        found.working,
        found.balance,
        found.places,
        found.waves,
        found.last_wave,
    )
