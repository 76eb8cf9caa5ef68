"""Planted faults of barriers: what synccheck must find."""

import numpy as np
from quality_plants import plant

import mlusim
from mlusim.bang import int32

UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}
WIDE = {"dim": (8, 1, 1), "kind": mlusim.UNION2}


@plant("synccheck-memory-core-left", **UNION)
def the_memory_core_returns_first(mlu, wrong):
    if mlu.is_mpu() and wrong:
        return
    mlu.sync_cluster()  # fault


@plant("synccheck-memory-core-left", **WIDE)
def the_memory_cores_miss_the_union(mlu, wrong):
    if mlu.is_mpu():
        if not wrong:
            mlu.sync_all()
        return
    mlu.sync_all()  # fault


@plant("synccheck-memory-core-left", **UNION)
def the_memory_core_has_one_turn_less(mlu, wrong):
    turns = 3 - (wrong and mlu.is_mpu())
    for _ in range(turns):
        mlu.sync_cluster()  # fault


@plant("synccheck-early-return", 3, **UNION)
def a_task_without_work_returns(mlu, wrong, work):
    if mlu.is_mpu():
        return
    if wrong and mlu.taskId >= work:
        return
    mlu.sync_all_ipu()  # fault


@plant("synccheck-early-return", 10, **UNION)
def the_number_of_turns_depends_on_the_task(mlu, wrong, total):
    if mlu.is_mpu():
        return
    mine = -(-total // 4) if not wrong else (total + 3 - mlu.taskId) // 4
    for _ in range(mine):
        mlu.sync_all_ipu()  # fault


@plant("synccheck-early-return", **UNION)
def only_task_zero_meets(mlu, wrong):
    if mlu.is_mpu():
        return
    if not wrong or mlu.taskId == 0:
        mlu.sync_all_ipu()  # fault


@plant("synccheck-early-return", **UNION)
def only_the_memory_core_meets(mlu, wrong):
    if mlu.is_mpu() or not wrong:
        mlu.sync_cluster()  # fault


@plant("synccheck-early-return", np.zeros(1, np.int32), **WIDE)
def a_cluster_leaves_on_an_error(mlu, wrong, status):
    if mlu.is_mpu():
        return
    mlu.sync_all_ipu()
    if mlu.clusterId == 1 and wrong:
        return
    mlu.sync_all_ipu()  # fault
    if mlu.taskId == 0:
        status[0] = 1


@plant("synccheck-divergence", **UNION)
def two_halves_meet_in_another_order(mlu, wrong):
    if mlu.is_mpu():
        mlu.sync_cluster()
        return
    if wrong and mlu.coreId % 2:
        mlu.sync_all_ipu()  # fault
        mlu.sync_cluster()
    else:
        mlu.sync_cluster()
        mlu.sync_all_ipu()


@plant("synccheck-divergence", **UNION)
def the_memory_core_waits_for_all_and_they_for_each_other(mlu, wrong):
    if mlu.is_mpu():
        mlu.sync_all()
        return
    if wrong:
        mlu.sync_all_ipu()
        if mlu.coreId == 3:
            mlu.sync_all_ipu()  # fault
    mlu.sync_all()


@plant("synccheck-stuck", 2, **UNION)
def the_mutex_is_kept_on_one_path(mlu, wrong, failing):
    if mlu.is_mpu():
        return
    mlu.bang_lock(1, 1)  # fault
    if not (wrong and mlu.taskId == failing):
        mlu.bang_unlock(1, 1)


@plant("synccheck-stuck", np.zeros(4, np.int32), **UNION)
def the_flag_is_never_set(mlu, wrong, flag):
    if mlu.is_mpu():
        return
    old = mlu.nram(int32, 1)
    if mlu.taskId == 0 and not wrong:
        mlu.bang_atomic_exch(old, flag, 1, 1)
    while True:
        mlu.bang_atomic_cas(old, flag, 0, 0)  # fault
        if old[0] == 1:  # fault
            break


@plant("synccheck-block-cluster", dim=(4, 1, 1))
def block_tasks_meet_their_cluster(mlu, wrong):
    if wrong:
        mlu.sync_cluster()  # fault
    else:
        mlu.sync()


@plant("synccheck-block-cluster", np.zeros(4, np.int32), dim=(4, 1, 1))
def block_tasks_meet_within_the_cluster(mlu, wrong, done):
    done[mlu.taskId] = 1
    if wrong:
        mlu.sync_all_ipu_within_cluster()  # fault
    else:
        mlu.sync()


@plant("synccheck-divergence", **UNION)
def no_core_arrives_under_the_id_that_is_waited_for(mlu, wrong):
    if mlu.is_mpu():
        return
    mlu.sync_cluster_arrive(1, 4)
    mlu.sync_cluster_wait(2 if wrong else 1, 4)  # fault


@plant("synccheck-divergence", **UNION)
def more_are_waited_for_than_arrive(mlu, wrong):
    if mlu.is_mpu():
        return
    mlu.sync_cluster_arrive(0, 5 if wrong else 4)
    mlu.sync_cluster_wait(0, 5 if wrong else 4)  # fault
