"""racecheck: the rules of the pipes and of the tasks, each as a kernel that is right and one that is not."""

import numpy as np
import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    GDRAM2SRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    SRAM2GDRAM,
    SRAM2NRAM,
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


# -- one core: what needs no sync ------------------------------------------------------------------


def blocking_copies(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    for _ in range(3):
        mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(b, a, a, N)
        mlu.memcpy(a, b, BYTES, NRAM2NRAM)
        mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def scalars_and_vectors(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    a[0] = a[1] + 1
    mlu.bang_add(a, a, a, N)
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def one_pipe_in_order(mlu, dst, src):
    a = mlu.nram(float32, N)
    for _ in range(3):
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.sync_io()


def atomics_between_vectors(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    for _ in range(3):
        mlu.bang_add(a, a, a, N)
        mlu.bang_atomic_reduce_add(dst, a, N)


def ping_pong(mlu, dst, src):
    ping = mlu.nram(float32, 2 * N)
    out = mlu.nram(float32, 2 * N)
    for turn in range(5):
        half = turn % 2 * N
        if turn < 4:
            mlu.memcpy_async(ping + half, src, BYTES, GDRAM2NRAM)
        if turn > 0:
            mlu.bang_add(out + (N - half), ping + (N - half), ping + (N - half), N)
        if turn > 1:
            mlu.memcpy_async(dst, out + half, BYTES, NRAM2GDRAM)
        mlu.sync()


def waited_for_each(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.sync_io()
    mlu.bang_add(b, a, a, N)
    mlu.sync_compute()
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)
    mlu.sync_move()
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.sync_io_move_compute()
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)


def neighbouring_halves(mlu, dst, src):
    a = mlu.nram(float32, 2 * N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a + N, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def columns_of_one_buffer(mlu, dst, src):
    a = mlu.nram(float32, 2 * N)
    mlu.memcpy_async(a, src, 4, GDRAM2NRAM, 8, 4, N - 1)
    mlu.memcpy_async(a + 1, a + 1, 4, NRAM2NRAM, 8, 8, N - 1)
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def scalar_store_then_load(mlu, dst, src):
    del src
    dst[3] = 2.0
    dst[4] = dst[3]
    mlu.sync()
    a = mlu.nram(float32, N)
    mlu.memcpy(a, dst, BYTES, GDRAM2NRAM)


SAFE = (
    blocking_copies,
    scalars_and_vectors,
    one_pipe_in_order,
    atomics_between_vectors,
    ping_pong,
    waited_for_each,
    neighbouring_halves,
    columns_of_one_buffer,
    scalar_store_then_load,
)


@pytest.mark.parametrize("body", SAFE, ids=lambda b: b.__name__)
@pytest.mark.parametrize("effects", ["late", "eager"])
def test_what_needs_no_sync_is_silent(body, effects):
    """The pipes' own order, blocking copies, and syncs where they are owed."""
    assert [] == _ids(body, floats(N), floats(N), effects=effects)


# -- one core: what was a real bug ------------------------------------------------------------------


def vector_reads_copy_in_flight(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(b, a, a, N)  # here
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


def scalar_reads_copy_in_flight(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    x = a[0]  # here
    mlu.sync()
    dst[0] = x


def copy_overtakes_vector(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(b, a, a, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)  # here
    mlu.sync()
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


def copy_overtakes_scalar_load(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    x = a[5]
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)  # here
    mlu.sync()
    dst[0] = x


def store_overtakes_vector(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)  # here


def move_overtakes_store(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)  # here
    mlu.sync()


def blocking_move_overtakes_store(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.memcpy(a, b, BYTES, NRAM2NRAM)  # here


def two_pipes_write(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)  # here
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def copy_reads_scalar_store(mlu, dst, src):
    del src
    a = mlu.nram(float32, N)
    dst[3] = 2.0
    mlu.memcpy(a, dst, BYTES, GDRAM2NRAM)  # here


UNSAFE = (
    (vector_reads_copy_in_flight, "racecheck-read-after-write", "sync_io"),
    (scalar_reads_copy_in_flight, "racecheck-read-after-write", "sync_io"),
    (copy_overtakes_vector, "racecheck-write-after-read", "sync_compute"),
    (copy_overtakes_scalar_load, "racecheck-write-after-read", "sync"),
    (store_overtakes_vector, "racecheck-read-after-write", "sync_compute"),
    (move_overtakes_store, "racecheck-write-after-read", "sync_io"),
    (blocking_move_overtakes_store, "racecheck-write-after-read", "sync_io"),
    (two_pipes_write, "racecheck-write-after-write", "sync_io"),
    (copy_reads_scalar_store, "racecheck-scalar-store", "sync"),
)


@pytest.mark.parametrize(("body", "rule", "sync"), UNSAFE, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("options", [{}, {"effects": "eager"}, {"seed": 5}], ids=str)
def test_real_bugs_are_found_on_their_line_with_the_cheapest_sync(body, rule, sync, options):
    """Whatever the schedule: the rule, the line of the later access, and a sync that was tried out."""
    (finding,) = found(body, floats(N), floats(N), observe=RACE, **options)

    assert rule == finding.id
    line = line_of(body, "# here")
    assert line == finding.line
    assert f"put mlu.{sync}() before line {line}" == finding.hint
    assert finding.facts["hint_verified"]
    assert finding.places


def test_the_hint_works_in_the_kernel():
    """With the sync of the hint in front of the line, nothing is left to report."""

    def mended(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(b, a, a, N)
        mlu.sync_compute()
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.sync()
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    assert [] == _ids(mended, floats(N), floats(N))


def test_a_vector_that_was_announced_long_ago_still_counts():
    """A step that observers hear no more of, since it repeats, races with the copy behind its last run."""

    def repeats(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        for turn in range(6):
            mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
            mlu.bang_add(b, a, a, N)
            if turn == 5:
                mlu.memcpy_async(b, src, BYTES, GDRAM2NRAM)  # here
        mlu.sync()
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    (finding,) = found(repeats, floats(N), floats(N), observe=RACE)

    assert line_of(repeats, "# here") == finding.line
    assert [line_of(repeats, "bang_add")] == [p.line for p in finding.places]


def test_on_2xx_a_copy_inside_nram_is_work_of_the_vector_unit():
    """There the asynchronous form of NRAM2NRAM is in order with vector instructions."""

    def move(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(a, a, a, N)
        mlu.memcpy_async(b, a, BYTES, NRAM2NRAM)
        mlu.bang_add(b, b, b, N)
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    assert [] == _ids(move, floats(N), floats(N), board="MLU270-S4")
    assert ["racecheck-read-after-write"] * 2 == _ids(move, floats(N), floats(N))


# -- several tasks ----------------------------------------------------------------------------------


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


def test_small_writes_to_shared_memory_end_with_it():
    """A scalar store to SRAM and nothing else: its memory, and what is known of it, is gone at the end."""

    def flag(mlu):
        s = mlu.shared(int32, 4)
        if mlu.taskId == 0 and mlu.is_ipu():
            s[0] = 1

    assert [] == _ids(flag, **UNION)
