"""Comparisons: what is a regression, a trade, an improvement or nothing, and the words for it."""

import pytest
from attrs import evolve
from hypothesis import given, strategies as st

from mlusim.operators.campaign import Job, perform
from mlusim.report.compare import (
    SAME,
    TIME,
    Baseline,
    Change,
    Entry,
    compare,
    comparison_json,
    comparison_markdown,
    entry_of,
    headline,
    lines,
    measured_call,
    verdict,
)
from mlusim.report.explain import explained

BEFORE = Entry("op", "case", "MLU370-X4", 100.0, 0.5, 0.1, {"GDRAM2NRAM": 1000, "NRAM2GDRAM": 500}, 4096, 200)
RECORD = perform(Job("tin_shift_forward", "golden_document", "MLU370-X4"))
ENTRY = entry_of(RECORD)


def against(*entries, record=RECORD, threshold=0.05, exists=lambda key: True):
    """*record* compared with a baseline of *entries*."""
    baseline = Baseline("0", {entry.key: entry for entry in entries})
    return compare(baseline, [measured_call(record)], "base.json", threshold, exists)


def test_the_same_is_nothing():
    """Deterministic predictions: no figure moves without a reason."""
    found = against(ENTRY)

    assert found.passed
    assert (1, (), (), (), (), ()) == (
        found.compared, found.regressions, found.trades, found.improvements, found.new, found.missing
    )  # fmt: skip
    assert [] == list(lines(found))
    assert (
        "1 call compared with base.json (written by mlusim 0, this is 1), threshold 5%: nothing moved."
        == headline(found, "1")
    )


def test_a_regression_says_what_by_how_much_and_why():
    """Time and efficiency are what got worse, more bytes what can be seen of why."""
    after = evolve(
        BEFORE,
        hardware_time_us=112.0,
        io_efficiency=0.44,
        bytes={"GDRAM2NRAM": 1120, "NRAM2GDRAM": 500},
        instructions=190,
    )
    found = verdict(BEFORE, after, 0.05)

    assert ["hardware time", "IO efficiency", "GDRAM2NRAM bytes"] == [change.figure for change in found.worse]
    assert (
        "op case on MLU370-X4: hardware time 100 -> 112 us (+12.0%), IO efficiency 50% -> 44% (-12.0%); "
        "because GDRAM2NRAM bytes 1,000 -> 1,120 (+12.0%)"
    ) == str(found)


def test_a_slower_call_says_what_costs_it_now():
    """The weightiest reasons of the call as it is, where its time or efficiency got worse."""
    slower = against(evolve(ENTRY, hardware_time_us=ENTRY.hardware_time_us / 2)).regressions[0]
    larger = against(evolve(ENTRY, instructions=1)).regressions[0]

    assert explained(RECORD).reasons[:2] == slower.now
    assert str(slower).endswith(f"; what costs it most now: {', '.join(slower.now)}")
    assert "what costs it" not in str(larger)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hardware_time_us": 120.0}, f"hardware time 100 -> 120 us (+20.0%); {SAME}"),
        (
            {"hardware_time_us": 120.0, "instructions": 100},
            "hardware time 100 -> 120 us (+20.0%); with instructions 200 -> 100 (-50.0%)",
        ),
        (
            {"hardware_time_us": 120.0, "nram_high_water": 8192},
            "hardware time 100 -> 120 us (+20.0%); with NRAM bytes 4,096 -> 8,192 (+100.0%)",
        ),
        ({"compute_efficiency": 0.05}, f"compute efficiency 10% -> 5% (-50.0%); {SAME}"),
        ({"nram_high_water": 8192}, "NRAM bytes 4,096 -> 8,192 (+100.0%)"),
        ({"instructions": 300}, "instructions 200 -> 300 (+50.0%)"),
        (
            {"bytes": BEFORE.bytes | {"GDRAM2SRAM": 7}},
            "GDRAM2SRAM bytes 0 -> 7 (new)",
        ),
    ],
)
def test_every_figure_is_judged(changes, words):
    """Each of them alone makes a regression."""
    found = verdict(BEFORE, evolve(BEFORE, **changes), 0.05)

    assert found.worse
    assert not found.is_trade
    assert f"op case on MLU370-X4: {words}" == str(found)


def test_more_work_that_pays_is_a_trade():
    """A call that got faster past the threshold may use more NRAM and move other bytes."""
    after = evolve(BEFORE, hardware_time_us=80.0, io_efficiency=0.625, nram_high_water=8192)
    found = verdict(BEFORE, after, 0.05)
    slightly = verdict(BEFORE, evolve(after, hardware_time_us=98.0), 0.05)

    assert found.is_trade
    assert (
        "op case on MLU370-X4: hardware time 100 -> 80 us (-20.0%), IO efficiency 50% -> 62.5% (+25.0%), "
        "for NRAM bytes 4,096 -> 8,192 (+100.0%)"
    ) == str(found)
    assert not slightly.is_trade
    assert slightly.worse


def test_an_improvement_is_told_with_its_reason():
    """Fewer bytes, less time."""
    found = verdict(
        BEFORE, evolve(BEFORE, hardware_time_us=80.0, bytes={"GDRAM2NRAM": 700, "NRAM2GDRAM": 500}), 0.05
    )

    assert ((), False) == (found.worse, found.is_trade)
    assert (
        "op case on MLU370-X4: hardware time 100 -> 80 us (-20.0%); because GDRAM2NRAM bytes 1,000 -> 700 (-30.0%)"
    ) == str(found)


@given(st.floats(1e-3, 1e6), st.floats(0, 0.5), st.floats(0, 1))
def test_the_threshold_is_what_decides(before, threshold, growth):
    """A time is worse exactly when it grew by more than the threshold; an efficiency when it fell by more."""
    time = Change("hardware time", before, before * (1 + growth))
    efficiency = Change("IO efficiency", before, before * (1 - growth), less_is_worse=True)
    close = abs(growth - threshold) < 1e-9

    assert close or (time.worsening > threshold) == (growth > threshold)
    assert close or (efficiency.worsening > threshold) == (growth > threshold)


def test_calls_that_are_new_gone_or_not_run_are_told():
    """Those that are gone make it fail, and so does a comparison of nothing, unless that is allowed."""
    other, gone = evolve(ENTRY, case="other"), evolve(ENTRY, case="gone")
    found = against(other, gone, exists=lambda key: key[1] != "gone")

    assert (False, "nothing was compared") == (found.passed, found.incomplete)
    assert "nothing was compared, which fails unless --allow-missing is given." in headline(found, "0")
    assert evolve(found, allow_missing=True).passed
    assert "1 missing" == against(ENTRY, gone, exists=lambda key: key[1] != "gone").incomplete
    assert ((ENTRY,), (gone,), 1, 0) == (found.new, found.missing, found.absent, found.compared)
    assert [
        ("new", "tin_shift_forward golden_document on MLU370-X4 is not in the baseline"),
        (
            "missing",
            "tin_shift_forward gone on MLU370-X4 is in the baseline, and there is no such call any more",
        ),
        ("note", "not part of this run: 1 more of the baseline's calls"),
    ] == list(lines(found))


def test_a_call_that_faults_now_is_a_regression():
    """It had a time, and has none."""
    fault = evolve(
        RECORD, efficiency=None, fault={"type": "OutOfBounds"}, message="out of bounds", passed=False
    )
    refused = evolve(RECORD, efficiency=None)

    assert not against(ENTRY, record=fault).passed
    assert [
        ("regression", f"{ENTRY}: it took {ENTRY.hardware_time_us:g} us, and now it ends in out of bounds")
    ] == list(lines(against(ENTRY, record=fault)))
    assert "nothing is launched" in str(against(ENTRY, record=refused).regressions[0])


def test_json_and_markdown_carry_it():
    """Numbers in one, sentences in both."""
    slower = evolve(
        ENTRY, hardware_time_us=ENTRY.hardware_time_us / 2, bytes={"GDRAM2NRAM": 100, "NRAM2GDRAM": 144}
    )
    found = against(slower)
    document, text = comparison_json(found), comparison_markdown(found, "0")
    facts = document["regressions"][0]

    assert (False, 0.05, 1, "base.json") == (
        document["passed"], document["threshold"], document["compared"], document["baseline"]
    )  # fmt: skip
    assert {
        "figure": "hardware time",
        "before": slower.hardware_time_us,
        "after": ENTRY.hardware_time_us,
        "change": 1.0,
    } == (facts["worse"][0])
    assert {"figure": "GDRAM2NRAM bytes", "before": 100, "after": 120, "change": 0.2} == facts["seen"][0]
    assert f"- **regression**: {facts['message']}" in text
    assert "### Compared with base.json" in text
    assert "1 regression." in text


def test_a_change_inside_the_band_says_so():
    """A time that the model allows for the work as it is now may be no change on the board."""
    inside, outside = (Change(TIME, before, 110.0, " us", band=(90.0, 120.0)) for before in (100.0, 80.0))

    assert "hardware time 100 -> 110 us (+10.0%, within the model's band)" == str(inside)
    assert "hardware time 80 -> 110 us (+37.5%)" == str(outside)
    assert inside.to_json()["within_band"]
    assert "within_band" not in outside.to_json()


def test_a_verdict_names_lost_overlap_and_not_a_few_instructions():
    """Pipes that no longer work at once are why; instructions are too where they grew as the time did. Overlap alone is not a regression."""
    before = evolve(BEFORE, overlap=0.96)
    slower = evolve(before, hardware_time_us=180.0, io_efficiency=0.28, overlap=0.02, instructions=206)
    told = str(verdict(before, slower, 0.05))

    assert "because overlap of pipes 96% -> 2% (-97.9%)" in told
    assert "instructions" not in told
    assert "instructions 200 -> 400" in str(verdict(before, evolve(slower, instructions=400), 0.05))
    assert not verdict(before, evolve(before, overlap=0.1), 0.05).worse
    assert "instructions" in str(verdict(BEFORE, evolve(slower, overlap=None), 0.05))
