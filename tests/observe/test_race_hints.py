"""Hints that would spoil the result are not given, and what is folded below a finding keeps its bytes and its count."""

import json
from pathlib import Path

import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2SRAM, SRAM2NRAM, float32, int32
from mlusim.check.findings import Checked, CheckReport
from mlusim.check.formats import sarif

N = 64
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1, "observe": ["racecheck"]}
RACE = ["racecheck"]


def _load_into_the_operand(at, count):
    """A row in NRAM, of which a load in flight overwrites *count* elements from *at* on, is scaled."""

    def body(mlu, dst, src):
        a = mlu.nram(float32, 2 * N)
        mlu.memcpy(a, src, 4 * N, GDRAM2NRAM)
        mlu.memcpy_async(a + at, src, 4 * count, GDRAM2NRAM)  # load
        mlu.bang_mul_scalar(a + N, a, 0.5, N)  # here
        mlu.sync()
        mlu.memcpy(dst, a + N, 4 * N, NRAM2GDRAM)

    return body, found(body, floats(N), floats(N), observe=RACE)


@pytest.mark.parametrize(
    ("at", "count", "begins"),
    [(0, N, "put mlu.sync_io()"), (0, 16, "put mlu.sync_io()"), (32, 16, "check where __memcpy_async")],
)
def test_a_copy_that_hits_a_part_of_the_operand_is_told(at, count, begins):
    """To wait for a copy into the middle of the operand may spoil it: that hint holds under a condition."""
    body, (finding,) = _load_into_the_operand(at, count)
    part = f"bytes [{4 * at}, {4 * (at + count)}) of the operand's [0, {4 * N})"

    assert finding.hint.startswith(begins)
    assert (part in finding.hint) is (count < N)
    assert f"mlu.sync_io() before line {line_of(body, '# here')}" in finding.hint
    assert finding.facts["hint_verified"] is (at == 0)


def test_two_copies_that_fill_the_operand_together_are_no_part_of_it():
    """What is in flight brings all of it."""

    def halves(mlu, dst, src):
        a = mlu.nram(float32, N)
        mlu.memcpy_async(a, src, 2 * N, GDRAM2NRAM)
        mlu.memcpy_async(a + N // 2, src, 2 * N, GDRAM2NRAM)
        mlu.bang_mul_scalar(a, a, 0.5, N)  # here
        mlu.sync()
        mlu.memcpy(dst, a, 4 * N, NRAM2GDRAM)

    (finding,) = found(halves, floats(N), floats(N), observe=RACE)

    assert f"put mlu.sync_io() before line {line_of(halves, '# here')}" == finding.hint


def test_a_write_over_all_that_is_in_flight_asks_for_the_destinations():
    """A wait makes only sure that the copy was for nothing."""

    def twice(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy_async(a, src, 4 * N, GDRAM2NRAM)
        mlu.bang_mul_scalar(a, b, 1.0, N)
        mlu.sync()
        mlu.memcpy(dst, a, 4 * N, NRAM2GDRAM)

    (finding,) = found(twice, floats(N), floats(N), observe=RACE)

    assert finding.note is not None
    assert "all that __memcpy_async writes is overwritten" in finding.note


def _writers(value):
    """Every core, the memory core with them, writes *value* of it to one word."""

    def body(mlu, dst):
        dst[0] = value(mlu)

    return found(body, floats(N), **UNION)


def test_equal_and_unequal_values_are_two_findings():
    """The writer whose value differs is named, and no hint promises that one task may do it."""
    same, differs = sorted(_writers(lambda mlu: 0.0 if mlu.is_mpu() else 4.0), key=lambda f: f.id)

    assert ["racecheck-tasks-same-word", "racecheck-tasks-write-write"] == [same.id, differs.id]
    assert (3, 1) == (same.count, differs.count)
    assert "memory core of cluster 0" in differs.message
    assert "another value" in differs.message
    assert any("the value 0.0" in line for line in differs.context)


def test_two_numbers_that_are_none_are_not_said_to_differ():
    """By their values that cannot be told."""
    (finding,) = _writers(lambda _: float("nan"))

    assert "racecheck-tasks-write-write" == finding.id
    assert "another value" not in finding.message


def test_the_guard_of_the_hint_lets_one_core_through():
    """The memory core has the task number of core 0."""
    (finding,) = _writers(lambda mlu: 4.0)

    assert "let one task do it: `if mlu.taskId == 0 and mlu.is_ipu():`" == finding.hint


def test_each_cluster_needs_a_writer_of_its_own_sram():
    """Task 0 alone would leave the SRAM of the other clusters as it was."""

    def flag(mlu, dst):
        s = mlu.shared(int32, 4)
        s[0] = 1

    (finding,) = found(flag, floats(N), **UNION | {"dim": (8, 1, 1)})

    assert "let one task do it: `if mlu.coreId == 0:`" == finding.hint


def test_what_the_others_read_behind_their_own_write_needs_a_barrier_too():
    """A guard alone would let them read before the one task has written."""

    def flag(mlu, dst):
        s = mlu.shared(int32, 4)
        s[0] = 1
        int(s[0])

    hints = {f.id: f.hint for f in found(flag, floats(N), **UNION)}

    assert hints["racecheck-tasks-same-word"].endswith(
        "`if mlu.coreId == 0:`, and mlu.sync_cluster() behind it, where all pass"
    )


def test_a_guarded_store_gets_its_barrier_behind_the_read():
    """Before the store only one core would pass the barrier."""

    def guarded(mlu, dst):
        if mlu.is_mpu():
            return
        s, a = mlu.shared(float32, N), mlu.nram(float32, N)
        mlu.memcpy(a, s, 4 * N, SRAM2NRAM)  # read
        if mlu.coreId == 0:
            s[0] = 1.0

    (finding,) = found(guarded, floats(N), **UNION)

    sync = f"put mlu.sync_all_ipu_within_cluster() behind line {line_of(guarded, '# read')}, where all of them pass"
    assert sync == finding.hint
    assert finding.facts["hint_verified"]


def test_a_sum_of_many_tasks_asks_for_an_atomic():
    """A barrier would leave the sum as wrong as it is."""

    def add(mlu, total):
        if mlu.is_ipu():
            total[0] = float(total[0]) + 1.0

    findings = found(add, floats(N), **UNION)

    assert len(findings) >= 2
    for finding in findings:
        assert "for a sum, use mlu.bang_atomic_add" in finding.hint


def test_two_calls_on_a_line_are_no_overlapping_shares():
    """Which of them race cannot be told apart."""

    def one_line(mlu, dst):
        if mlu.is_ipu():
            a = mlu.nram(float32, N)
            mlu.memcpy(dst + mlu.taskId * 8, a, 32, NRAM2GDRAM); mlu.memcpy(dst + 4, a, 16, NRAM2GDRAM)  # noqa: E702  # fmt: skip

    (finding,) = found(one_line, floats(N), **UNION)

    assert "has several calls: give each a line of its own" in finding.hint


def test_what_is_folded_keeps_its_bytes_its_memory_and_its_count():
    """In text, JSON and SARIF; another memory is another finding."""

    def exchange(mlu, dst):
        if mlu.is_mpu():
            return
        s, a = mlu.shared(float32, N), mlu.nram(float32, N)
        mlu.memcpy(s + mlu.coreId * 16, a, 64, NRAM2SRAM)
        mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
        mlu.memcpy(a, s + (mlu.coreId + 1) % 4 * 16, 64, SRAM2NRAM)  # first
        mlu.memcpy(a, s + (mlu.coreId + 1) % 4 * 16 + 8, 32, SRAM2NRAM)  # second
        mlu.memcpy(a, dst + (mlu.taskId + 1) % 4 * 16, 64, GDRAM2NRAM)

    findings = found(exchange, floats(N), **UNION)
    (sram,) = (f for f in findings if "SRAM" in f.message)
    (below,) = (place for place in sram.places if place.victim)
    report = CheckReport((), (Checked("x", findings=findings), Checked("x", findings=findings)))
    (folded,) = (f for f in report.findings if "SRAM" in f.message)
    log = sarif(report, "1", Path())["runs"][0]["results"]
    told = [place["message"]["text"] for result in log for place in result["relatedLocations"]]

    assert 2 == len(findings)
    assert "reads bytes [" in below.message
    assert "of SRAM float[64]" in below.message
    assert 4 == below.count
    assert [8] == [place.count for place in folded.places if place.victim]
    assert f"{below.message}, 8 times" in told
    assert f"{below.message}, 8 times" in json.dumps(report.to_json())
