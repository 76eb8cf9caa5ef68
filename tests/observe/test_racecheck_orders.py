"""racecheck: mutexes, atomic flags, waits with flags, launches put accesses in order."""

import numpy as np
import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    float32,
    int32,
    kernel,
)

RACE = ["racecheck"]
N = 64
BYTES = 4 * N
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}


def _ids(body, *args, **options):
    return [f.id for f in found(body, *args, observe=RACE, **options)]


def test_a_mutex_orders_what_it_guards_and_nothing_else():
    """Read, change and write between lock and unlock is in order; the word outside is not."""

    def guarded(mlu, dst, src, outside):
        del src
        if mlu.is_mpu():
            return
        a = mlu.nram(float32, 1)
        mlu.bang_lock(0, 0)
        mlu.memcpy(a, dst, 4, GDRAM2NRAM)
        mlu.bang_add_scalar(a, a, 1.0, 1)
        mlu.memcpy(dst, a, 4, NRAM2GDRAM)
        mlu.bang_unlock(0, 0)
        mlu.memcpy(dst + outside, a, 4, NRAM2GDRAM)

    assert ["racecheck-tasks-write-write"] == _ids(guarded, floats(N), floats(N), 9, **UNION)

    def only_guarded(mlu, dst, src):
        guarded(mlu, dst, src, 16 + mlu.taskId)

    assert [] == _ids(only_guarded, floats(N), floats(N), **UNION)


def test_an_atomic_flag_hands_on_what_was_done_before():
    """The last task to count itself may read what the others wrote; the one before it may not."""

    def last_one_sums(mlu, dst, counter, last):
        if mlu.is_mpu():
            return
        a, old = mlu.nram(float32, 16, [1.0] * 16), mlu.nram(int32, 1)
        mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
        mlu.bang_atomic_add(old, counter, 1, 1)
        if old[0] == last:
            b = mlu.nram(float32, N)
            mlu.memcpy(b, dst, BYTES, GDRAM2NRAM)

    counter = np.zeros(1, np.int32)

    assert [] == _ids(last_one_sums, floats(N), counter, 3, **UNION)
    assert ["racecheck-tasks-read-write"] == _ids(last_one_sums, floats(N), counter, 2, **UNION)


def test_a_store_in_flight_is_not_handed_on():
    """Counting oneself before one's own asynchronous store is over publishes nothing."""

    def too_early(mlu, dst, counter):
        if mlu.is_mpu():
            return
        a, old = mlu.nram(float32, 16, [1.0] * 16), mlu.nram(int32, 1)
        mlu.memcpy_async(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
        mlu.bang_atomic_add(old, counter, 1, 1)
        if old[0] == 3:
            b = mlu.nram(float32, N)
            mlu.memcpy(b, dst, BYTES, GDRAM2NRAM)

    # The atomic goes through the IO-DMA behind the store and waits for it: in order after all.
    assert [] == _ids(too_early, floats(N), np.zeros(1, np.int32), **UNION)

    def never_waited(mlu, dst, counter):
        if mlu.is_mpu():
            return
        old = mlu.nram(int32, 1)
        dst[mlu.taskId] = 1.0
        mlu.bang_atomic_add(old, counter, 1, 1)
        if old[0] == 3:
            b = mlu.nram(float32, N)
            mlu.sync()
            mlu.memcpy(b, dst, BYTES, GDRAM2NRAM)

    assert ["racecheck-tasks-read-write"] == _ids(never_waited, floats(N), np.zeros(1, np.int32), **UNION)


@pytest.mark.parametrize("guarded", [True, False])
def test_what_hands_on_too_little_needs_a_sync_before_it(guarded):
    """A barrier inside a mutex would never end; a sync before the mutex is given back is enough."""

    def count(mlu, total, counter):
        if mlu.is_mpu():
            return
        if guarded:
            mlu.bang_lock(0, 0)
            total[0] = total[0] + 1.0
            mlu.bang_unlock(0, 0)
            return
        old = mlu.nram(int32, 1)
        total[mlu.taskId] = 1.0
        mlu.bang_atomic_add(old, counter, 1, 1)
        if old[0] == mlu.taskDim - 1:
            mlu.sync()
            mlu.memcpy(old, total, 4, GDRAM2NRAM)

    findings = found(count, floats(N), np.zeros(1, np.int32), observe=RACE, **UNION)
    line = line_of(count, "bang_unlock" if guarded else "bang_atomic_add")

    assert findings
    assert all(f"put mlu.sync() before line {line}, which passes on" in finding.hint for finding in findings)
    assert all(finding.facts["hint_verified"] for finding in findings)


@pytest.mark.parametrize(
    ("flags", "rules"),
    [
        ((True, False, False, False, True, False), []),  # the move waits for the store
        ((True, False, False, False, False, True), ["racecheck-write-after-read"]),  # only the vectors do
        ((False, True, False, False, True, False), ["racecheck-write-after-read"]),  # for another pipe
        ((False, False, False, True, True, True), ["racecheck-write-after-read"]),  # for nothing
        ((True, True, True, True, True, True), []),
    ],
)
def test_a_wait_with_flags_orders_the_pipes_that_it_names(flags, rules):
    """A store of a buffer, and a copy inside NRAM that overwrites it, as the vendor's attention does."""

    def overwrite(mlu, dst, src):
        a, b = mlu.nram(float32, N, [1.0] * N), mlu.nram(float32, N, [2.0] * N)
        mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
        mlu.sync_io_move_compute(*flags)
        mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)
        mlu.sync()

    assert rules == _ids(overwrite, floats(N), floats(N))


def test_a_wait_with_flags_holds_for_what_was_issued_before_it():
    """The same statement once more is a new store, for which nothing waited."""

    def overwrite(mlu, dst, rounds):
        a, b = mlu.nram(float32, N, [1.0] * N), mlu.nram(float32, N, [2.0] * N)
        for turn in range(rounds):
            mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
            if not turn:
                mlu.sync_io_move_compute(True, False, False, False, True, False)
        mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)
        mlu.sync()

    assert [] == _ids(overwrite, floats(N), 1)
    assert ["racecheck-write-after-read"] == _ids(overwrite, floats(N), 2)


def test_launches_are_in_order():
    """What one launch wrote the next may read."""
    device = mlusim.Device()
    tensor = device.put(floats(N))

    @kernel
    def everybody_reads(mlu, src):
        if mlu.is_ipu():
            mlu.memcpy(mlu.nram(float32, N), src, BYTES, GDRAM2NRAM)

    @kernel
    def one_writes(mlu, dst):
        if mlu.taskId == 0 and mlu.is_ipu():
            mlu.memcpy(dst, mlu.nram(float32, N, [0.0]), BYTES, NRAM2GDRAM)

    for body in (one_writes, everybody_reads, one_writes):
        assert () == device.launch(body, (4, 1, 1), mlusim.UNION1, (tensor,), observe=RACE).findings


def test_small_writes_to_shared_memory_end_with_it():
    """A scalar store to SRAM and nothing else: its memory, and what is known of it, is gone at the end."""

    def flag(mlu):
        s = mlu.shared(int32, 4)
        if mlu.taskId == 0 and mlu.is_ipu():
            s[0] = 1

    assert [] == _ids(flag, **UNION)
