"""Planted races: between the pipes of a core, and between tasks, which racecheck must find."""

import numpy as np
from quality_plants import floats, plant

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    GDRAM2SRAM,
    GDRAM2WRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    NRAM2SRAM,
    SRAM2NRAM,
    float32,
    int32,
    uint32,
)

N = 64
BYTES = 256
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}


@plant("racecheck-read-after-write", floats(N), floats(N))
def a_vector_reads_what_is_still_loaded(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    if not wrong:
        mlu.sync_io()
    mlu.bang_add(b, a, a, N)  # fault
    mlu.sync()
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


@plant("racecheck-read-after-write", floats(N), floats(N))
def the_wrong_pipe_is_waited_for(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    if wrong:
        mlu.sync_move()
    else:
        mlu.sync_io()
    mlu.bang_add(b, a, a, N)  # fault
    mlu.sync()
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


@plant("racecheck-read-after-write", floats(N), floats(N))
def a_scalar_is_read_before_it_arrives(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    if not wrong:
        mlu.sync()
    limit = float(a[0])  # fault
    mlu.sync()
    dst[0] = limit


@plant("racecheck-read-after-write", floats(N), floats(N))
def a_result_is_stored_while_it_is_computed(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    if not wrong:
        mlu.sync_compute()
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)  # fault
    mlu.sync()


@plant("racecheck-read-after-write", floats(N), floats(N))
def an_order_is_copied_while_it_is_sorted(mlu, wrong, dst, src):
    order, copy = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(order, src, BYTES, GDRAM2NRAM)
    mlu.bang_mul_scalar(order, order, 2.0, N)
    if not wrong:
        mlu.sync()
    mlu.memcpy_async(copy, order, BYTES, NRAM2NRAM)  # fault
    mlu.sync()
    mlu.memcpy(dst, copy, BYTES, NRAM2GDRAM)


@plant("racecheck-write-after-read", floats(N), floats(4 * N))
def the_next_load_overtakes_the_vector(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    for turn in range(4):
        mlu.memcpy_async(a, src + turn * N, BYTES, GDRAM2NRAM)  # fault
        mlu.sync_io()
        mlu.bang_add(b, a, a, N)
        if not wrong:
            mlu.sync_compute()
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


@plant("racecheck-write-after-read", floats(N), floats(4 * N))
def the_next_load_overtakes_scalar_loads(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    total = 0.0
    for turn in range(4):
        mlu.memcpy_async(a, src + turn * N, BYTES, GDRAM2NRAM)  # fault
        mlu.sync_io()
        total += float(a[0]) + float(a[N - 1])
        if not wrong:
            mlu.sync()
    mlu.sync()
    dst[0] = total


@plant("racecheck-write-after-read", floats(N), floats(N))
def a_gather_overwrites_what_is_still_stored(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    if not wrong:
        mlu.sync_io()
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)  # fault
    mlu.sync()


@plant("racecheck-write-after-read", floats(2 * N), floats(2 * N))
def ping_is_computed_into_while_it_is_stored(mlu, wrong, dst, src):
    a, ping = mlu.nram(float32, 2 * N), mlu.nram(float32, 2 * N)
    mlu.memcpy(a, src, 2 * BYTES, GDRAM2NRAM)
    for turn in range(2):
        half = 0 if wrong else turn * N
        mlu.bang_add(ping + half, a + turn * N, a + turn * N, N)  # fault
        mlu.sync_compute()
        mlu.memcpy_async(dst + turn * N, ping + half, BYTES, NRAM2GDRAM)
    mlu.sync_io()


@plant("racecheck-write-after-write", floats(N), floats(N))
def a_fill_and_a_load_meet(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.bang_write_zero(a, N)
    if not wrong:
        mlu.sync_compute()
    mlu.memcpy_async(a, src, BYTES // 2, GDRAM2NRAM)  # fault
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


@plant("racecheck-write-after-write", floats(N), floats(N))
def two_pipes_fill_one_buffer(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    if not wrong:
        mlu.sync_io()
    mlu.memcpy_async(a, b, BYTES // 2, NRAM2NRAM)  # fault
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


@plant("racecheck-scalar-store", floats(N), floats(N))
def a_copy_reads_a_score_that_was_just_stored(mlu, wrong, scores, dst):
    a = mlu.nram(float32, N)
    scores[7] = 0.0
    if not wrong:
        mlu.sync()
    mlu.memcpy(a, scores, BYTES, GDRAM2NRAM)  # fault
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


@plant("racecheck-tasks-same-word", np.zeros(4, np.int32), **UNION)
def every_task_writes_the_number_of_results(mlu, wrong, result_num):
    if mlu.is_ipu() and (wrong or mlu.taskId == 0):
        result_num[0] = 17  # fault


@plant("racecheck-tasks-write-write", floats(4 * N), floats(4 * N), **UNION)
def shares_are_rounded_up_and_overlap(mlu, wrong, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    share = 40
    at = mlu.taskId * share
    mlu.memcpy(a, src + at, 4 * share, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N if wrong else share)
    mlu.memcpy(dst + at, a, 4 * (48 if wrong else share), NRAM2GDRAM)  # fault


@plant("racecheck-tasks-read-write", floats(4 * N), floats(4 * N), **UNION)
def the_neighbours_result_is_read_without_a_barrier(mlu, wrong, dst, src):
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(dst + mlu.taskId * N, a, BYTES, NRAM2GDRAM)
    if not wrong:
        mlu.sync_all_ipu()
    mlu.memcpy(a, dst + (mlu.taskId + 1) % 4 * N, BYTES, GDRAM2NRAM)  # fault


@plant("racecheck-tasks-read-write", np.arange(4, dtype=np.int32), floats(4), **UNION)
def a_coordinate_is_read_again_while_it_changes(mlu, wrong, coors, dst):
    if mlu.is_mpu():
        return
    first = int(coors[0])
    mlu.sync_all_ipu()
    if mlu.taskId == 0:
        coors[0] = 9
    again = int(coors[0]) if wrong else first  # fault
    dst[mlu.taskId] = float(again)


@plant("racecheck-tasks-read-write", floats(4 * N), floats(4 * N), **UNION)
def shared_memory_is_reused_too_early(mlu, wrong, dst, src):
    s = mlu.shared(float32, N)
    for turn in range(3):
        if mlu.is_mpu():
            mlu.memcpy(s, src + turn * N, BYTES, GDRAM2SRAM)  # fault
        mlu.sync_cluster()
        if mlu.is_ipu():
            a = mlu.nram(float32, N)
            mlu.memcpy(a, s, BYTES, SRAM2NRAM)  # fault
            mlu.memcpy(dst + mlu.taskId * 16, a, 64, NRAM2GDRAM)
        if not wrong:
            mlu.sync_cluster()


@plant("racecheck-tasks-write-write", floats(4 * N), **UNION)
def two_regions_of_shared_memory_overlap(mlu, wrong, src):
    s = mlu.shared(float32, 4 * 32)
    if mlu.is_ipu():
        a = mlu.nram(float32, 32)
        mlu.memcpy(a, src, 128, GDRAM2NRAM)
        stride = 28 if wrong else 32
        mlu.memcpy(s + mlu.coreId * stride, a, 128, NRAM2SRAM)  # fault
    mlu.sync_cluster()


@plant("racecheck-tasks-write-write", floats(N), floats(N), dim=(3, 1, 1))
def block_tasks_add_without_atomics(mlu, wrong, total, src):
    a = mlu.nram(float32, 16)
    mlu.memcpy(a, src + mlu.taskId * 16, 64, GDRAM2NRAM)
    if wrong:
        b = mlu.nram(float32, 16)
        mlu.memcpy(b, total, 64, GDRAM2NRAM)
        mlu.bang_add(b, b, a, 16)
        mlu.memcpy(total, b, 64, NRAM2GDRAM)  # fault
    else:
        mlu.bang_atomic_reduce_add(total, a, 16)


@plant("racecheck-tasks-read-write", floats(4), np.zeros(4, np.int32), **UNION)
def the_flag_is_set_before_the_data(mlu, wrong, data, flag):
    if mlu.is_mpu() or mlu.taskId > 1:
        return
    old = mlu.nram(int32, 1)
    if mlu.taskId == 0:
        if not wrong:
            data[0] = 3.0
            mlu.sync()
        mlu.bang_atomic_exch(old, flag, 1, 1)
        if wrong:
            data[0] = 3.0  # fault
    else:
        while True:
            mlu.bang_atomic_add(old, flag, 0, 1)
            if old[0]:
                break
        assert float(data[0]) > 0  # fault


@plant("racecheck-tasks-read-write", floats(N), **UNION)
def a_mutex_is_given_back_with_a_store_on_its_way(mlu, wrong, total):
    if mlu.is_mpu():
        return
    mlu.bang_lock(0, 0)
    total[0] = total[0] + 1.0  # fault
    if not wrong:
        mlu.sync()
    mlu.bang_unlock(0, 0)


@plant("racecheck-tasks-read-write", floats(N), np.zeros(1, np.int32), **UNION)
def a_task_counts_itself_before_its_store_is_over(mlu, wrong, dst, counter):
    if mlu.is_mpu():
        return
    old, all_of_it = mlu.nram(int32, 1), mlu.nram(float32, 4)
    dst[mlu.taskId] = 1.0
    if not wrong:
        mlu.sync()
    mlu.bang_atomic_add(old, counter, 1, 1)
    if old[0] == mlu.taskDim - 1:
        mlu.sync()
        mlu.memcpy(all_of_it, dst, 16, GDRAM2NRAM)  # fault


@plant(
    "racecheck-write-after-read", floats(N), floats(N), np.arange(N, dtype=np.uint32) * 4, board="MLU590-H8"
)
def offsets_change_while_a_gather_reads_them(mlu, wrong, dst, src, offsets):
    a, o = mlu.nram(float32, N), mlu.nram(uint32, N)
    mlu.memcpy(o, offsets, BYTES, GDRAM2NRAM)
    mlu.gather_async(a, src, o, 4, GDRAM2NRAM, 4, N)
    if not wrong:
        mlu.sync_io()
    mlu.bang_write_value(o, N, uint32(0))  # fault
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


@plant("racecheck-read-after-write", floats(N), floats(N))
def rows_of_a_volume_are_read_while_they_are_loaded(mlu, wrong, dst, src):
    a = mlu.nram(float32, N, [0.0] * N)
    mlu.memcpy_async(a, src, 8, GDRAM2NRAM, 16, 1, 64, 1, 16, 1, 64, 1)
    mlu.bang_add(a + 18, a + 18, a + 18, 2)  # between two pieces
    if not wrong:
        mlu.sync_io()
    mlu.bang_add(a + 20, a + 20, a + 20, 2)  # fault
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


@plant("racecheck-tasks-read-write", floats(4 * N), **UNION)
def a_core_arrives_before_it_writes(mlu, wrong, dst):
    room = mlu.shared(float32, 4 * N)
    if mlu.is_mpu():
        return
    a, b = mlu.nram(float32, N, [1.0] * N), mlu.nram(float32, N, [0.0] * N)
    mine, next_one = room + N * mlu.coreId, room + N * ((mlu.coreId + 1) % 4)
    if wrong:
        mlu.sync_cluster_arrive(0, 4)
    mlu.memcpy(mine, a, BYTES, NRAM2SRAM)  # fault
    if not wrong:
        mlu.sync_cluster_arrive(0, 4)
    mlu.sync_cluster_wait(0, 4)
    mlu.memcpy(b, next_one, BYTES, SRAM2NRAM)  # fault
    mlu.memcpy(dst + N * mlu.taskId, b, BYTES, NRAM2GDRAM)


@plant("racecheck-tasks-read-write", floats(4 * N), floats(N), **UNION)
def the_half_that_waits_is_missing(mlu, wrong, dst, src):
    room = mlu.shared(float32, N)
    if mlu.is_mpu():
        mlu.memcpy(room, src, BYTES, GDRAM2SRAM)  # fault
        mlu.sync_cluster_arrive(0, 5)
        return
    mlu.sync_cluster_arrive(0, 5)
    if not wrong:
        mlu.sync_cluster_wait(0, 5)
    a = mlu.nram(float32, N, [0.0] * N)
    mlu.memcpy(a, room, BYTES, SRAM2NRAM)  # fault
    mlu.memcpy(dst + N * mlu.taskId, a, BYTES, NRAM2GDRAM)


@plant("racecheck-read-after-write", floats(4 * N), floats(4 * N), floats(N * N))
def weights_are_used_while_they_are_loaded(mlu, wrong, dst, left, right):
    a, w, out = mlu.nram(float32, 4 * N), mlu.wram(float32, N * N), mlu.nram(float32, 4 * N)
    mlu.memcpy(a, left, 16 * N, GDRAM2NRAM)
    mlu.memcpy_async(w, right, 4 * N * N, GDRAM2WRAM)
    if not wrong:
        mlu.sync_io()
    mlu.bang_matmul(out, a, w, 4, N, N)  # fault
    mlu.sync()
    mlu.memcpy(dst, out, 16 * N, NRAM2GDRAM)


@plant("racecheck-write-after-read", floats(4 * N), floats(4 * N), floats(N * N))
def weights_are_replaced_while_they_are_used(mlu, wrong, dst, left, right):
    a, w, out = mlu.nram(float32, 4 * N), mlu.wram(float32, N * N), mlu.nram(float32, 4 * N)
    mlu.memcpy(a, left, 16 * N, GDRAM2NRAM)
    mlu.memcpy(w, right, 4 * N * N, GDRAM2WRAM)
    mlu.bang_matmul(out, a, w, 4, N, N)
    if not wrong:
        mlu.sync_compute()
    mlu.memcpy_async(w, right, 4 * N * N, GDRAM2WRAM)  # fault
    mlu.sync()
    mlu.memcpy(dst, out, 16 * N, NRAM2GDRAM)
