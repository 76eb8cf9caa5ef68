"""Barriers, memory cores, waves, divergence and deadlock."""

from pathlib import Path

import numpy as np
import pytest

import mlusim
from mlusim import BLOCK, UNION1, UNION2, UNION4
from mlusim.bang import GDRAM2SRAM, NRAM2GDRAM, SRAM2GDRAM, SRAM2NRAM, SRAM2SRAM, float32, int32, kernel
from mlusim.errors import Deadlock, Divergence, Unsupported


@pytest.fixture
def device():
    """Give an MLU370-X4."""
    return mlusim.Device("MLU370-X4")


def test_memory_core_stages_through_sram(device):
    """The memory core loads SRAM, the IPU cores take their parts after the barrier."""
    data = np.arange(400, dtype=np.float32)
    src, dst = device.put(data), device.empty(400, "float")

    @kernel
    def staged(mlu, dst, src):
        """Double each quarter on its own core."""
        sram = mlu.shared(float32, 400)
        if mlu.is_mpu():
            mlu.memcpy(sram, src, 1600, GDRAM2SRAM)
        mlu.sync_cluster()
        if mlu.is_ipu():
            a = mlu.nram(float32, 100)
            mlu.memcpy(a, sram + 100 * mlu.coreId, 400, SRAM2NRAM)
            mlu.bang_add(a, a, a, 100)
            mlu.memcpy(dst + 100 * mlu.taskId, a, 400, NRAM2GDRAM)

    launch = device.launch(staged, dim=4, kind=UNION1, args=(dst, src))

    assert np.array_equal(2 * data, device.get(dst))
    assert launch.memory["SRAM"].high_water == 1600
    assert launch.instructions["sync_cluster"] == 5


def test_sram_to_sram_reaches_the_same_array_of_another_cluster(device):
    """SRAM2SRAM with a cluster number writes that cluster's copy of the declaration."""
    out = device.empty(8, "int32")

    @kernel
    def swap(mlu, out):
        """Each cluster sends its number to its neighbour."""
        mine = mlu.shared(int32, 1)
        theirs = mlu.shared(int32, 1)
        if mlu.is_mpu():
            mlu.sramset(mine, 1, int32(100 + mlu.clusterId))
            mlu.memcpy(theirs, mine, 4, SRAM2SRAM, 1 - mlu.clusterId)
        mlu.sync_all()
        if mlu.is_ipu():
            a = mlu.nram(int32, 4)
            mlu.memcpy(a, theirs, 4, SRAM2NRAM)
            mlu.memcpy(out + mlu.taskId, a, 4, NRAM2GDRAM)

    device.launch(swap, dim=8, kind=UNION2, args=(out,))

    assert [101] * 4 + [100] * 4 == device.get(out).tolist()


def test_builtin_variables_of_unions_and_blocks(device):
    """Every task sees its own coordinates; clusterDim is 0 for Block and N for UnionN."""
    seen = []

    @kernel
    def look(mlu):
        """Note the built-in variables."""
        seen.append(
            (
                mlu.taskId,
                mlu.taskIdX,
                mlu.taskIdY,
                mlu.taskIdZ,
                mlu.clusterId,
                mlu.clusterDim,
                mlu.coreId,
                mlu.is_mpu(),
            )
        )

    device.launch(look, dim=(2, 3, 2), kind=BLOCK)
    expected = [(z * 6 + y * 2 + x, x, y, z) for z in range(2) for y in range(3) for x in range(2)]
    assert expected == [s[:4] for s in seen]
    assert {0} == {s[5] for s in seen}

    seen.clear()
    device.launch(look, dim=(16, 1, 1), kind=UNION2)
    assert [i // 4 % 2 for i in range(16)] == [s[4] for s in sorted(seen) if not s[7]]
    assert [0x80] * 4 == [s[6] for s in seen if s[7]]
    assert {2} == {s[5] for s in seen}


def test_more_tasks_than_cores_run_in_waves(device):
    """More tasks than cores all run, and on-chip memory is held for the resident ones only."""
    done = []

    @kernel
    def work(mlu):
        """Note the task."""
        mlu.nram(float32, 163840)
        done.append(mlu.taskId)

    launch = device.launch(work, dim=100, kind=BLOCK)

    assert list(range(100)) == done
    assert {0: 4, 31: 3} == {slot: sum(s.slot == slot for s in launch.timeline) for slot in (0, 31)}


def test_early_return_before_a_barrier_is_a_divergence(device):
    """The fault says who left, who waits and where, at once."""

    @kernel
    def diverge(mlu):
        """Leave on core 2."""
        if mlu.is_mpu() or mlu.coreId == 2:
            return
        mlu.sync_all_ipu()

    with pytest.raises(
        Divergence, match=r"task 2 returned without reaching .* task 0 waits in __sync_all_ipu"
    ) as caught:
        device.launch(diverge, dim=4, kind=UNION1)
    assert caught.value.file == __file__
    assert caught.value.intrinsic == "__sync_all_ipu"


def test_a_memory_core_that_left_is_named(device):
    """`if is_mpu(): return` before __sync_cluster is the classic; the hint names the other barrier."""

    @kernel
    def classic(mlu):
        """Send the memory core home too early."""
        if mlu.is_mpu():
            return
        mlu.sync_cluster()

    with pytest.raises(Divergence, match=r"memory core of cluster 0 returned .*\*_ipu barriers"):
        device.launch(classic, dim=4, kind=UNION1)


def test_a_memory_core_is_named_by_its_cluster_in_the_launch(device):
    """Not by the kernel's ``clusterId``, which begins at 0 in each union."""

    @kernel
    def second(mlu):
        """Send the memory core of the second union home too early."""
        if mlu.is_mpu() and mlu.taskId:
            return
        mlu.sync_cluster()

    with pytest.raises(Divergence, match=r"memory core of cluster 1 returned .*\*_ipu barriers"):
        device.launch(second, dim=8, kind=UNION1)


def test_different_barriers_deadlock_at_once(device):
    """Cores that wait for each other at different barriers are reported with both places."""

    @kernel
    def cross(mlu):
        """Wait in two places."""
        if mlu.is_mpu():
            return
        if mlu.coreId == 2:
            mlu.sync_all_ipu()
        else:
            mlu.sync_all_ipu_within_cluster()

    with pytest.raises(
        Deadlock, match=r"task 0 waits in __sync_all_ipu_within_cluster .* for task 2.*task 2 waits in"
    ):
        device.launch(cross, dim=4, kind=UNION1)


def test_a_deadlock_names_its_file_once(device, monkeypatch):
    """From the current folder, behind the first place each by its line."""

    @kernel
    def cross(mlu):
        """Wait in two places."""
        if mlu.is_mpu():
            return
        if mlu.coreId == 2:
            mlu.sync_all_ipu()
        else:
            mlu.sync_all_ipu_within_cluster()

    monkeypatch.chdir(Path(__file__).parent)
    with pytest.raises(Deadlock) as caught:
        device.launch(cross, dim=4, kind=UNION1)
    head, *others = caught.value.message.split("; ")

    assert f"__sync_all_ipu_within_cluster at {Path(__file__).name}:" in head
    assert 1 == str(caught.value).count(Path(__file__).name)
    assert str(Path(__file__).parent) not in str(caught.value)
    assert others
    assert all(" at line " in one for one in others)


def test_polling_that_can_never_end_is_a_deadlock(device):
    """A task that polls memory that no task changes does not hang the launch."""
    flag = device.put(np.zeros(1, np.int32))

    @kernel
    def poll(mlu, flag):
        """Wait for a store that never comes."""
        while flag[0] == 0:
            pass

    with pytest.raises(Deadlock, match="task 0 spins at .* on memory that no task changes"):
        device.launch(poll, dim=2, args=(flag,))


def test_polling_that_ends_is_no_deadlock(device):
    """A task may poll what another one stores later."""
    flag = device.put(np.zeros(1, np.int32))

    @kernel
    def relay(mlu, flag):
        """Task 1 raises the flag for task 0."""
        if mlu.taskId == 1:
            flag[0] = 1
        while flag[0] == 0:
            pass

    device.launch(relay, dim=2, args=(flag,))

    assert device.get(flag)[0] == 1


def test_reading_much_shared_memory_is_not_polling(device):
    """A million scalar loads of a big tensor are work, not a deadlock."""
    data = device.put(np.ones(700_000, np.int8))
    total = []

    @kernel
    def scan(mlu, data, count):
        """Add up by scalar loads."""
        acc = 0
        for i in range(count):
            acc += int(data[i])
        total.append(acc)

    launch = device.launch(scan, args=(data, 700_000))

    assert [700_000] == total
    assert {"GDRAM": 700_000} == launch.scalar_loads


def test_block_tasks_take_barriers_as_plain_syncs(device):
    """In a Block task every barrier is a sync of the own core."""

    @kernel
    def block(mlu):
        """Pass every barrier alone."""
        mlu.sync_cluster()
        mlu.sync_all()
        mlu.sync_all_ipu()

    assert device.launch(block, dim=3).instructions["sync_all"] == 3


def test_sram_in_a_block_task_is_refused(device):
    """A Block task shares no SRAM."""

    @kernel
    def shares(mlu):
        """Ask for SRAM."""
        mlu.shared(float32, 4)

    with pytest.raises(Unsupported, match="launch as UNION1"):
        device.launch(shares)


def test_memory_core_has_no_nram_and_no_vector_unit(device):
    """What a memory core lacks is refused with the guard to write."""

    @kernel
    def unguarded(mlu):
        """Forget the guard."""
        mlu.nram(float32, 4)[0] = 1.0

    with pytest.raises(Unsupported, match=r"a memory core has no NRAM.*if mlu.is_mpu\(\): return"):
        device.launch(unguarded, dim=4, kind=UNION1)


def test_barriers_of_wide_unions_hold_all_clusters(device):
    """After __sync_all_ipu in a UNION4 every task of the union has stored."""
    out = device.put(np.zeros(32, np.int32))
    sums = []

    @kernel
    def meet(mlu, out):
        """Store, meet, read the others'."""
        if mlu.is_mpu():
            return
        out[mlu.taskId] = mlu.taskId
        mlu.sync_all_ipu()
        first = mlu.taskId // 16 * 16
        sums.append((first, sum(int(out[first + i]) for i in range(16))))

    device.launch(meet, dim=32, kind=UNION4, args=(out,))

    assert {(0, sum(range(16))), (16, sum(range(16, 32)))} == set(sums)
    assert len(sums) == 32


def test_a_barrier_of_others_is_nothing_at_all(device):
    """A memory core passes the barriers of IPU cores, and its copies stay in flight; so the other way round."""
    tensor = device.put(np.zeros((2, 8), np.int32))

    @kernel
    def pass_by(mlu, data):
        shared = mlu.shared(int32, 4)
        if mlu.taskId == 0 and mlu.is_mpu():
            shared[0] = 1
            mlu.memcpy_async(data, shared, 4, SRAM2GDRAM)
            mlu.sync_all_ipu()
            mlu.sync_all_ipu_within_cluster()
            seen.append(int(data[0]))
            mlu.sync()
            seen.append(int(data[0]))
        elif mlu.taskId == 0:
            word = mlu.nram(int32, 4, [1])
            mlu.memcpy_async(data + 8, word, 4, NRAM2GDRAM)
            mlu.sync_all_mpu()
            seen.append(int(data[8]))
        if mlu.is_ipu():
            mlu.sync_all_ipu()
            mlu.sync_all_ipu_within_cluster()
        else:
            mlu.sync_all_mpu()

    for kind, expected in (
        (UNION2, [0, 1, 0]),
        (UNION1, [0, 1, 1]),
    ):  # one cluster: a plain sync of each core
        seen = []
        device.set(tensor, 0)
        device.launch(pass_by, dim=4 * kind.unions, kind=kind, args=(tensor,))

        assert expected == seen
