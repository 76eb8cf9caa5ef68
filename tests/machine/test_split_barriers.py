"""Barriers in two halves: which core waits for which, under every schedule; what the checkers, the clock and faults say."""

import numpy as np
import pytest

import mlusim
from mlusim import BLOCK, UNION1, UNION2
from mlusim.bang import GDRAM2NRAM, GDRAM2SRAM, NRAM2GDRAM, NRAM2SRAM, SRAM2NRAM, float32, int32, kernel
from mlusim.errors import Deadlock, RuleFault
from mlusim.time.rates import BARRIER

BOARDS = ("MLU370-X4", "MLU590-H8")
SEEDS = (None, 0, 1, 2, 3)
ALL = ["synccheck", "racecheck", "initcheck"]


@kernel
def neighbours(mlu, out, rounds, *, scope, count):
    """Each core writes its part of SRAM, arrives, does something of its own, waits and reads its neighbour's."""
    room = mlu.shared(int32, 8 * 16)
    if mlu.is_mpu():
        return
    a, got = mlu.nram(int32, 16), mlu.nram(int32, 16)
    arrive, wait = getattr(mlu, f"sync_{scope}_arrive"), getattr(mlu, f"sync_{scope}_wait")
    for turn in range(rounds):
        mlu.bang_write_value(a, 16, 100 * turn + mlu.coreId)
        mlu.memcpy(room + 16 * (4 * (turn % 2) + mlu.coreId), a, 64, NRAM2SRAM)
        arrive(0, count)
        mlu.bang_write_value(a, 16, -1)
        wait(0, count)
        mlu.memcpy(got, room + 16 * (4 * (turn % 2) + (mlu.coreId + 1) % 4), 64, SRAM2NRAM)
        mlu.memcpy(out + 16 * (mlu.taskId * rounds + turn), got, 64, NRAM2GDRAM)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("scope", "kind", "count"), [("cluster", UNION1, 4), ("all", UNION1, 4), ("all", UNION2, 8)]
)
def test_what_was_written_before_arriving_is_there_after_waiting(board, seed, scope, kind, count):
    """Again and again with the same id: two buffers in turn, no race, nothing left waiting."""
    device = mlusim.Device(board)
    tasks, rounds = 4 * kind.unions, 5
    out = device.empty((tasks, rounds, 16), int32)

    def body(mlu, out):
        neighbours.body(mlu, out, rounds, scope=scope, count=count)

    launch = device.launch(body, dim=tasks, kind=kind, args=(out,), seed=seed, observe=ALL)
    got = device.get(out)

    assert () == launch.findings
    for task in range(tasks):
        for turn in range(rounds):
            assert {100 * turn + (task % 4 + 1) % 4} == set(got[task, turn].tolist())


@kernel
def produced(mlu, out, source, early):
    """The memory core loads and only arrives; the IPU cores only wait, in turn with an id for the way back."""
    room = mlu.shared(float32, 64)
    for turn in range(3):
        if mlu.is_mpu():
            if turn:
                mlu.sync_cluster_wait(1, 4)
            mlu.memcpy_async(room, source + 64 * turn, 256, GDRAM2SRAM)
            mlu.sync_cluster_arrive(0, 1)
        else:
            if not early:
                mlu.sync_cluster_wait(0, 1)
            a = mlu.nram(float32, 16)
            mlu.memcpy(a, room + 16 * mlu.coreId, 64, SRAM2NRAM)
            if early:
                mlu.sync_cluster_wait(0, 1)
            mlu.memcpy(out + 64 * turn + 16 * mlu.coreId, a, 64, NRAM2GDRAM)
            mlu.sync_cluster_arrive(1, 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_core_produces_and_others_wait(seed):
    """Cores that arrive without waiting and wait without arriving; arriving finishes the copy in flight."""
    device = mlusim.Device("MLU370-X4")
    data = np.arange(192, dtype=np.float32)
    out, source = device.empty(192, float32), device.put(data)

    launch = device.launch(produced, dim=4, kind=UNION1, args=(out, source, False), seed=seed, observe=ALL)

    assert () == launch.findings
    assert np.array_equal(data, device.get(out))


def test_reading_before_the_wait_is_a_race():
    """The consumer reads SRAM first and waits then."""
    device = mlusim.Device("MLU370-X4")
    out, source = device.empty(192, float32), device.put(np.zeros(192, np.float32))

    launch = device.launch(produced, dim=4, kind=UNION1, args=(out, source, True), observe=["racecheck"])

    assert "racecheck-tasks-read-write" in {finding.id for finding in launch.findings}


def test_waiting_does_not_finish_the_own_copies():
    """A load that is in flight across the wait is still to be waited for."""
    device = mlusim.Device("MLU370-X4")
    source = device.put(np.ones(64, np.float32))

    @kernel
    def load(mlu, source, sync):
        if mlu.is_ipu():
            a = mlu.nram(float32, 64)
            mlu.sync_cluster_arrive(0, 4)
            mlu.memcpy_async(a, source, 256, GDRAM2NRAM)
            mlu.sync_cluster_wait(0, 4)
            if sync:
                mlu.sync_io()
            mlu.bang_add(a, a, a, 64)

    launch = device.launch(load, dim=4, kind=UNION1, args=(source, False), observe=["racecheck"])

    assert {"racecheck-read-after-write"} == {finding.id for finding in launch.findings}
    assert () == device.launch(load, dim=4, kind=UNION1, args=(source, True), observe=["racecheck"]).findings


def test_ids_are_barriers_of_their_own_and_clusters_do_not_meet():
    """Two ids at once, of different counts; the same id in another cluster is another barrier."""
    device = mlusim.Device("MLU370-X4")
    seen = []

    @kernel
    def both(mlu):
        if mlu.is_mpu():
            return
        if mlu.clusterId == 0:
            mlu.sync_cluster_arrive(7, 4)
            mlu.sync_cluster_wait(7, 4)
        if mlu.coreId < 2:
            mlu.sync_cluster_arrive(3, 2)
            mlu.sync_cluster_wait(3, 2)
        seen.append((mlu.clusterId, mlu.coreId))

    device.launch(both, dim=8, kind=UNION2, observe=ALL)

    assert {(c, i) for c in range(2) for i in range(4)} == set(seen)


def test_arriving_may_run_ahead_of_waiting():
    """Three arrivals of every core, then three waits: each is for a completion that was there."""
    device = mlusim.Device("MLU370-X4")
    done = []

    @kernel
    def ahead(mlu):
        if mlu.is_ipu():
            for _ in range(3):
                mlu.sync_all_arrive(0, 4)
            for _ in range(3):
                mlu.sync_all_wait(0, 4)
            done.append(mlu.taskId)

    device.launch(ahead, dim=4, kind=UNION1)

    assert [0, 1, 2, 3] == sorted(done)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_arrival_that_never_comes_is_a_deadlock(seed):
    """The fault says who waits where, and who has not arrived."""
    device = mlusim.Device("MLU370-X4")

    @kernel
    def left(mlu):
        if mlu.is_ipu():
            if mlu.coreId != 2:
                mlu.sync_cluster_arrive(0, 4)
            mlu.sync_cluster_wait(0, 4)

    with pytest.raises(Deadlock, match="waits in __sync_cluster_wait at .*test_split_barriers.py") as caught:
        device.launch(left, dim=4, kind=UNION1, seed=seed, observe=["synccheck"])

    assert {"synccheck-divergence"} == {finding.id for finding in caught.value.findings}
    assert 4 == len(caught.value.waits)
    assert "as many arrive as the count says" in caught.value.hint
    assert caught.value.file.endswith("test_split_barriers.py")


def test_a_core_that_returns_leaves_the_others_waiting():
    """One arrival of two: the other core is gone."""

    @kernel
    def gone(mlu):
        if mlu.is_ipu() and mlu.coreId == 0:
            mlu.sync_cluster_arrive(0, 2)
            mlu.sync_cluster_wait(0, 2)

    with pytest.raises(Deadlock, match="task 0 waits in __sync_cluster_wait .* for task 1, task 2, task 3"):
        mlusim.Device("MLU370-X4").launch(gone, dim=4, kind=UNION1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 0), "count = 0; legal: 1 to 5"),
        ((0, 6), "count = 6; legal: 1 to 5"),
        ((-1, 4), "barrier_id = -1; legal: 0 or more"),
        ((0, 2.0), "count = 2.0 is not an integer"),
        (("a", 4), "barrier_id = 'a' is not an integer"),
    ],
)
@pytest.mark.parametrize("name", ["sync_cluster_arrive", "sync_cluster_wait"])
def test_bad_numbers_are_refused(name, arguments, said):
    """The count is at most that of the cores that can arrive."""

    @kernel
    def bad(mlu):
        getattr(mlu, name)(*arguments)

    with pytest.raises(RuleFault) as caught:
        mlusim.Device("MLU370-X4").launch(bad, dim=4, kind=UNION1)

    assert said in str(caught.value)
    assert f"__{name}" == caught.value.intrinsic


def test_counts_must_agree():
    """The second to come says how many the first one gave."""

    @kernel
    def differ(mlu):
        if mlu.is_ipu():
            mlu.sync_all_arrive(0, 4 if mlu.coreId else 3)

    with pytest.raises(RuleFault, match="count = 4 here and 3 on task 0"):
        mlusim.Device("MLU370-X4").launch(differ, dim=4, kind=UNION1)


def test_in_a_block_task_both_halves_are_a_plain_sync():
    """They land what is in flight and meet no core; the cluster form is remarked on, as the whole barrier is."""
    device = mlusim.Device("MLU370-X4")
    out, source = device.empty(64, float32), device.put(np.arange(64, dtype=np.float32))

    @kernel
    def alone(mlu, out, source):
        a = mlu.nram(float32, 64)
        mlu.memcpy_async(a, source, 256, GDRAM2NRAM)
        mlu.sync_cluster_arrive(0, 4)
        mlu.bang_add(a, a, a, 64)
        mlu.sync_cluster_wait(0, 4)
        mlu.memcpy_async(out, a, 256, NRAM2GDRAM)

    launch = device.launch(alone, kind=BLOCK, args=(out, source), observe=ALL)

    assert np.array_equal(2 * np.arange(64), device.get(out))
    assert {"synccheck-block-cluster"} == {finding.id for finding in launch.findings}


@kernel
def worked(mlu, work, between, whole):
    """Core 0 works long before the barrier, the others *between* the halves, or behind the whole barrier."""
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, 65536)
    for _ in range(work if mlu.coreId == 0 else 1):
        mlu.bang_add(a, a, a, 65536)
    if whole:
        mlu.sync_all_ipu()
    else:
        mlu.sync_cluster_arrive(0, 4)
    for _ in range(between if mlu.coreId else 0):
        mlu.bang_add(a, a, a, 65536)
    if not whole:
        mlu.sync_cluster_wait(0, 4)


def test_work_between_the_halves_hides_the_wait():
    """Time: a waiting core goes on when the last has arrived; what it does meanwhile costs nothing."""
    device = mlusim.Device("MLU370-X4")
    times = {
        (between, whole): device.launch(worked, dim=4, kind=UNION1, args=(10, between, whole)).time_us
        for between in (0, 8)
        for whole in (False, True)
    }
    step = 65536 * 4 / 128 / 1000

    assert pytest.approx(times[0, True], rel=0.01) == times[0, False]
    assert pytest.approx(times[0, True] + 8 * step, rel=0.02) == times[8, True]
    assert pytest.approx(times[0, True], rel=0.01) == times[8, False]


def test_a_waiting_core_is_free_when_the_last_has_arrived():
    """A consumer that only waits ends a barrier's cost behind the producer."""
    device = mlusim.Device("MLU370-X4")

    @kernel
    def handed(mlu, hand):
        if mlu.is_mpu() or mlu.coreId > 1:
            return
        if mlu.coreId == 0:
            a = mlu.nram(float32, 65536)
            for _ in range(20):
                mlu.bang_add(a, a, a, 65536)
            if hand:
                mlu.sync_cluster_arrive(0, 1)
        elif hand:
            mlu.sync_cluster_wait(0, 1)

    alone, handed_on = (device.launch(handed, dim=4, kind=UNION1, args=(h,)).time_us for h in (False, True))

    assert alone < handed_on <= alone + (BARRIER.value + 20) / 1000
    launch = device.launch(handed, dim=4, kind=UNION1, args=(True,))
    assert 1 == launch.instructions["__sync_cluster_arrive"] == launch.instructions["__sync_cluster_wait"]
