"""Syncs that order nothing are notes on request, and only those."""

import numpy as np
import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int32
from mlusim.observe.racecheck import RaceCheck

N = 64
BYTES = 256
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}


def _idle(body, *args, **options):
    findings = found(body, *args, observe=[RaceCheck(notes=True)], **options)
    assert {"racecheck-idle-sync"} >= {f.id for f in findings}
    return [f.line for f in findings]


def needed(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    for _ in range(3):
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.sync_io()
        mlu.bang_add(b, a, a, N)
        mlu.sync_compute()
        mlu.memcpy_async(dst, b, BYTES, NRAM2GDRAM)
        mlu.sync_io()


def twice(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.sync_io()  # one
    mlu.sync_io()  # two
    mlu.bang_add(a, a, a, N)
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def for_nobody(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.sync_io()  # idle
    mlu.bang_add(a, a, a, N)
    mlu.sync()  # idle, too
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def barrier_between_strangers(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    at = mlu.taskId * 16
    mlu.memcpy(a, src + at, 64, GDRAM2NRAM)
    mlu.sync_all_ipu()  # idle
    mlu.memcpy(dst + at, a, 64, NRAM2GDRAM)


def barrier_between_neighbours(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 64, GDRAM2NRAM)
    mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
    mlu.sync_all_ipu()
    mlu.memcpy(a, dst + (mlu.taskId + 1) % 4 * 16, 64, GDRAM2NRAM)


def barrier_that_only_drains(mlu, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.sync_all_ipu()
    mlu.bang_add(a, a, a, N)
    mlu.memcpy(dst + mlu.taskId * N, a, BYTES, NRAM2GDRAM)


def store_before_a_flag(mlu, dst, counter):
    if mlu.is_mpu():
        return
    old = mlu.nram(int32, 1)
    dst[mlu.taskId] = 1.0
    mlu.sync()
    mlu.bang_atomic_add(old, counter, 1, 1)
    if old[0] == 3:
        mlu.memcpy(mlu.nram(float32, 4), dst, 16, GDRAM2NRAM)


@pytest.mark.parametrize("body", [needed, barrier_between_neighbours, barrier_that_only_drains])
def test_syncs_that_order_something_are_left_alone(body):
    """Every sync of these is needed by something behind it."""
    options = {} if body is needed else UNION

    assert [] == _idle(body, floats(4 * N), floats(N), **options)


def test_of_two_syncs_in_a_row_the_second_is_idle():
    """The first has waited for everything already; one of them has to stay."""
    assert [line_of(twice, "# two")] == _idle(twice, floats(N), floats(N))


def test_syncs_around_blocking_copies_are_idle():
    """A blocking copy has waited, and waits."""
    expected = [line_of(for_nobody, "# idle\n"), line_of(for_nobody, "# idle, too")]

    assert expected == _idle(for_nobody, floats(N), floats(N))


def test_a_barrier_between_tasks_that_share_nothing_is_idle():
    """Without it, no two tasks would be in conflict."""
    assert [line_of(barrier_between_strangers, "# idle")] == _idle(
        barrier_between_strangers, floats(N), floats(N), **UNION
    )


def test_a_sync_before_an_atomic_flag_publishes():
    """It finishes the scalar store that the flag announces."""
    assert [] == _idle(store_before_a_flag, floats(4), np.zeros(1, np.int32), **UNION)


def test_nobody_is_told_who_did_not_ask():
    """Without notes there is no finding."""
    assert () == found(twice, floats(N), floats(N), observe=["racecheck"])
