"""Baselines: written so that a diff reads well, read so that nothing odd gets in."""

import json

import pytest
from attrs import evolve
from hypothesis import given, strategies as st

from mlusim.errors import UsageError
from mlusim.operators.campaign import Job, perform
from mlusim.report.compare import Baseline, Entry, baseline_in, baseline_text, entry_of, merged

RECORD = perform(Job("tin_shift_forward", "golden_document", "MLU370-X4"))
ENTRY = entry_of(RECORD)
WORDS = st.text(max_size=12)
COUNTS = st.integers(0, 2**62)
FIGURES = st.floats(0, 1e12)
ENTRIES = st.builds(
    Entry, WORDS, WORDS, WORDS, FIGURES, FIGURES, FIGURES, st.dictionaries(WORDS, COUNTS), COUNTS, COUNTS
)


@given(st.lists(ENTRIES, max_size=5), WORDS)
def test_what_is_written_is_read(entries, version):
    """Whatever the names and figures; a line for each call, sorted; written again, the same bytes."""
    baseline = Baseline(version, {entry.key: entry for entry in entries})
    text = baseline_text(baseline)
    back = baseline_in(text, "f")

    assert baseline == back
    assert text == baseline_text(back)
    assert sorted(baseline.entries) == list(back.entries)
    assert len(baseline.entries) == sum(line.startswith('{"operator"') for line in text.splitlines())


def test_the_figures_are_those_of_the_record():
    """Rounded to digits that mean something; directions sorted."""
    assert ENTRY == Entry(
        operator="tin_shift_forward",
        case="golden_document",
        board="MLU370-X4",
        hardware_time_us=float(f"{RECORD.efficiency.hardware_time_us:.6g}"),
        io_efficiency=float(f"{RECORD.efficiency.io_efficiency:.5g}"),
        compute_efficiency=float(f"{RECORD.efficiency.compute_efficiency:.5g}"),
        bytes={"GDRAM2NRAM": 120, "NRAM2GDRAM": 144},
        nram_high_water=128,
        instructions=sum(RECORD.instructions.values()),
        overlap=0.0,
    )


def test_a_baseline_of_before_has_no_overlap():
    """It is read as it is, and says nothing of overlap."""
    back = baseline_in(_without("overlap"), "f")

    assert [evolve(ENTRY, overlap=None)] == list(back.entries.values())


def test_a_call_without_figures_has_no_entry():
    """A refused call launches nothing, arrays of a user are not a case."""
    assert entry_of(perform(Job("tin_shift_forward", "refused_data_rank_3", "MLU370-X4"))) is None
    assert entry_of(evolve(RECORD, case=None)) is None
    assert entry_of(evolve(RECORD, fault={"type": "OutOfBounds"})) is None


def test_a_run_replaces_its_own_calls_only():
    """Others stay, what is gone goes."""
    slow = evolve(ENTRY, hardware_time_us=99.0)
    other, gone = evolve(ENTRY, case="other"), evolve(ENTRY, case="gone")
    before = Baseline("1", {e.key: e for e in (slow, other, gone)})
    made = merged(before, [ENTRY], "2", lambda key: key[1] != "gone")

    assert Baseline("2", {e.key: e for e in (ENTRY, other)}) == made
    assert {ENTRY.key: ENTRY} == merged(None, [ENTRY], "2", lambda key: True).entries


def _document(**changes):
    call = json.loads(baseline_text(Baseline("1", {ENTRY.key: ENTRY})))["calls"][0]
    return json.dumps({"mlusim baseline": 1, "written by": "1", "calls": [call | changes]})


def _without(name):
    document = json.loads(_document())
    del document["calls"][0][name]
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "f is not JSON"),
        ("operator,case", "f is not JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ("NaN", "NaN is not a number of JSON"),
        ("9" * 5000, "f is not JSON"),
        ("[]", "is JSON, but no baseline"),
        ("null", "is JSON, but no baseline"),
        ('{"runs": []}', "is JSON, but no baseline"),
        ('{"mlusim baseline": 2}', "baseline of format 2, and this mlusim reads format 1"),
        ('{"mlusim baseline": true}', "baseline of format True"),
        ('{"mlusim baseline": "1"}', "baseline of format '1'"),
        ('{"mlusim baseline": 1}', "lacks its calls"),
        ('{"mlusim baseline": 1, "calls": {}, "written by": "1"}', "lacks its calls"),
        ('{"mlusim baseline": 1, "calls": [], "written by": 1}', "lacks its calls"),
        ('{"mlusim baseline": 1, "calls": [7], "written by": "1"}', "call 1 is not an object but 7"),
        (_without("hardware_time_us"), "call 1 lacks 'hardware_time_us'"),
        (_without("bytes"), "call 1 lacks 'bytes'"),
        (_document(overlap="much"), "overlap = 'much' is not a number of 0 or more"),
        (_document(colour="red"), "call 1 has 'colour', which no baseline has"),
        (_document(operator=3), "operator = 3 is not a text"),
        (_document(hardware_time_us="3"), "hardware_time_us = '3' is not a number of 0 or more"),
        (_document(hardware_time_us=True), "hardware_time_us = True is not a number"),
        (_document(hardware_time_us=-1), "hardware_time_us = -1 is not a number of 0 or more"),
        (
            _document().replace(str(json.loads(_document())["calls"][0]["hardware_time_us"]), "1e999"),
            "hardware_time_us = inf is not a number",
        ),
        (_document(io_efficiency=10**400), "io_efficiency = 10+ is not a number|io_efficiency = 10"),
        (_document(io_efficiency=None), "io_efficiency = None is not a number"),
        (_document(instructions=1.5), "instructions = 1.5 is not a whole number"),
        (_document(nram_high_water=False), "nram_high_water = False is not a whole number"),
        (_document(bytes=[1]), r"bytes = \[1\] is not an object of whole numbers"),
        (_document(bytes={"GDRAM2NRAM": "1"}), "is not an object of whole numbers"),
        (
            json.dumps(
                {"mlusim baseline": 1, "written by": "1", "calls": json.loads(_document())["calls"] * 2}
            ),
            "call 2: tin_shift_forward golden_document on MLU370-X4 is there twice",
        ),
    ],
)
def test_anything_else_is_refused_in_a_sentence(text, words):
    """It begins with the file's name and has one line."""
    with pytest.raises(UsageError, match=words) as caught:
        baseline_in(text, "f")

    assert str(caught.value).startswith("f")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
