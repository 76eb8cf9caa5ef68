"""racecheck: what orders several tasks, and what does not, each as a kernel."""

import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    GDRAM2SRAM,
    NRAM2GDRAM,
    SRAM2GDRAM,
    SRAM2NRAM,
    float32,
)

RACE = ["racecheck"]
N = 64
BYTES = 4 * N
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}


def _ids(body, *args, **options):
    return [f.id for f in found(body, *args, observe=RACE, **options)]


def everybody_writes_the_word(mlu, dst, src):
    del src
    if mlu.is_mpu():
        return
    dst[0] = 7.0  # here


def own_shares(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    at = mlu.taskId * (N // 4)
    mlu.memcpy(a, src + at, BYTES // 4, GDRAM2NRAM)
    mlu.memcpy(dst + at, a, BYTES // 4, NRAM2GDRAM)


def interleaved_columns(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES // 4, GDRAM2NRAM)
    mlu.memcpy(dst + mlu.taskId, a, 4, NRAM2GDRAM, 16, 4, N // 4 - 1)


def overlapping_shares(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    at = mlu.taskId * (N // 4)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(dst + at, a, min(BYTES // 4 + 4, BYTES - at * 4), NRAM2GDRAM)  # here


def neighbour_without_barrier(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    share = N // 4
    mlu.memcpy(a, src, 4 * share, GDRAM2NRAM)
    mlu.memcpy(dst + mlu.taskId * share, a, 4 * share, NRAM2GDRAM)
    mlu.memcpy(a, dst + (mlu.taskId + 1) % 4 * share, 4 * share, GDRAM2NRAM)  # here


def neighbour_behind_barrier(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    share = N // 4
    mlu.memcpy(a, src, 4 * share, GDRAM2NRAM)
    mlu.memcpy(dst + mlu.taskId * share, a, 4 * share, NRAM2GDRAM)
    mlu.sync_all_ipu()
    mlu.memcpy(a, dst + (mlu.taskId + 1) % 4 * share, 4 * share, GDRAM2NRAM)


def atomics_add(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_atomic_reduce_add(dst, a, N)


def atomics_against_a_store(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    if mlu.taskId == 0:
        mlu.memcpy(dst, a, 8, NRAM2GDRAM)
    else:
        mlu.bang_atomic_reduce_add(dst, a, N)  # here


def through_shared_memory(mlu, dst, src):
    s = mlu.shared(float32, N)
    for _ in range(3):
        if mlu.is_mpu():
            mlu.memcpy(s, src, BYTES, GDRAM2SRAM)
        mlu.sync_cluster()
        if mlu.is_ipu():
            a = mlu.nram(float32, N)
            mlu.memcpy(a, s, BYTES, SRAM2NRAM)
            mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
        mlu.sync_cluster()


def shared_memory_reused_too_early(mlu, dst, src):
    s = mlu.shared(float32, N)
    for _ in range(3):
        if mlu.is_mpu():
            mlu.memcpy(s, src, BYTES, GDRAM2SRAM)  # here
        mlu.sync_cluster()
        if mlu.is_ipu():
            a = mlu.nram(float32, N)
            mlu.memcpy(a, s, BYTES, SRAM2NRAM)
            mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)


TASKS = (
    (own_shares, None),
    (interleaved_columns, None),
    (neighbour_behind_barrier, None),
    (atomics_add, None),
    (through_shared_memory, None),
    (everybody_writes_the_word, "racecheck-tasks-same-word"),
    (overlapping_shares, "racecheck-tasks-write-write"),
    (neighbour_without_barrier, "racecheck-tasks-read-write"),
    (atomics_against_a_store, "racecheck-tasks-write-write"),
    (shared_memory_reused_too_early, "racecheck-tasks-read-write"),
)


@pytest.mark.parametrize(("body", "rule"), TASKS, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("options", [{}, {"seed": 2}], ids=str)
def test_tasks_are_in_order_only_where_something_orders_them(body, rule, options):
    """The rule and the line, in the order of tasks and in another one."""
    findings = found(body, floats(4 * N), floats(N), observe=RACE, **UNION, **options)

    assert [rule] * (rule is not None) == [f.id for f in findings]
    if rule is not None:
        assert line_of(body, "# here") in {findings[0].line, *(place.line for place in findings[0].places)}


def test_the_barrier_of_the_hint_is_tried_out():
    """The cheapest barrier in front of the line orders every pair; a common word is for one task."""
    (barrier,) = found(neighbour_without_barrier, floats(N), floats(N), observe=RACE, **UNION)
    (word,) = found(everybody_writes_the_word, floats(N), floats(N), observe=RACE, **UNION)
    line = line_of(neighbour_without_barrier, "# here")

    assert f"put mlu.sync_all_ipu_within_cluster() before line {line}, where all of them pass" == barrier.hint
    assert "let one task do it: `if mlu.taskId == 0:`" == word.hint
    assert barrier.facts["hint_verified"] is True is word.facts["hint_verified"]


def test_a_barrier_may_stand_in_two_places():
    """The memory core has no line in common with the others: it meets them behind its load, they before theirs."""

    def no_barrier(mlu, dst, src):
        s = mlu.shared(float32, N)
        if mlu.is_mpu():
            mlu.memcpy(s, src, BYTES, GDRAM2SRAM)
        else:
            a = mlu.nram(float32, N)
            mlu.memcpy(a, s, BYTES, SRAM2NRAM)
            mlu.memcpy(dst + mlu.taskId * N, a, BYTES, NRAM2GDRAM)

    (finding,) = found(no_barrier, floats(4 * N), floats(N), observe=RACE, **UNION)
    load, read = line_of(no_barrier, "GDRAM2SRAM"), line_of(no_barrier, "SRAM2NRAM")

    assert finding.facts["hint_verified"]
    assert f"put mlu.sync_cluster() behind line {load} and before line {read}, so that" in finding.hint

    def both(mlu, dst, src):
        s = mlu.shared(float32, N)
        if mlu.is_mpu():
            mlu.memcpy(s, src, BYTES, GDRAM2SRAM)
            mlu.sync_cluster()
        else:
            a = mlu.nram(float32, N)
            mlu.sync_cluster()
            mlu.memcpy(a, s, BYTES, SRAM2NRAM)
            mlu.memcpy(dst + mlu.taskId * N, a, BYTES, NRAM2GDRAM)

    assert [] == _ids(both, floats(4 * N), floats(N), **UNION)


def test_a_barrier_in_two_places_must_be_enough():
    """Where the memory core loads again while the others read, one barrier each turn is too few to be promised."""

    def turns(mlu, dst, src):
        s = mlu.shared(float32, N)
        for _ in range(3):
            if mlu.is_mpu():
                mlu.memcpy(s, src, BYTES, GDRAM2SRAM)
            else:
                a = mlu.nram(float32, N)
                mlu.memcpy(a, s, BYTES, SRAM2NRAM)

    (finding,) = found(turns, floats(4 * N), floats(N), observe=RACE, **UNION)

    assert not finding.facts["hint_verified"]


@pytest.mark.parametrize(("rounds", "enough"), [(1, True), (3, False)])
def test_a_barrier_must_be_enough_in_every_turn(rounds, enough):
    """Before the load it orders one turn; the store of the next turn would race with it all the same."""

    def turns(mlu, total, rounds):
        if mlu.is_mpu():
            return
        for _ in range(rounds):
            if mlu.taskId == 0:
                total[0] = 1.0
            float(total[0])  # all of them

    (finding,) = found(turns, floats(N), rounds, observe=RACE, **UNION)

    assert enough is finding.facts["hint_verified"]
    assert (f"before line {line_of(turns, '# all of them')}" in finding.hint) is enough


def test_between_block_tasks_no_sync_helps():
    """The hint is another launch, and says why."""

    def reads_the_next(mlu, dst, src):
        a = mlu.nram(float32, 16)
        mlu.memcpy(a, src, 64, GDRAM2NRAM)
        mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
        mlu.memcpy(a, dst + (mlu.taskId + 1) % 3 * 16, 64, GDRAM2NRAM)

    (finding,) = found(reads_the_next, floats(N), floats(N), observe=RACE, dim=(3, 1, 1))

    assert "two launches" in finding.hint


def test_unions_share_no_sram():
    """Each union has its own shared memory: the same declaration twice is two memories."""
    args = floats(4 * N), floats(N)

    assert [] == [
        f.id
        for f in found(through_shared_memory, *args, observe=RACE, dim=(4, 1, 1), kind=mlusim.UNION1)
        if "SRAM" in f.message
    ]

    def store_from_sram(mlu, dst, src):
        s = mlu.shared(float32, N)
        if mlu.is_mpu():
            mlu.memcpy(s, src, BYTES, GDRAM2SRAM)
            mlu.memcpy(dst + mlu.taskIdY * N, s, BYTES, SRAM2GDRAM)

    assert [] == _ids(store_from_sram, floats(4 * N), floats(N), dim=(4, 3, 1), kind=mlusim.UNION1)
