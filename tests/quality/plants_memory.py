"""Planted faults of memory and of operand rules: what memcheck must find."""

import numpy as np
from quality_plants import Const, floats, plant

import mlusim
from mlusim.bang import (
    GDRAM2NRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    NRAM2SRAM,
    NRAM2WRAM,
    SRAM2GDRAM,
    float32,
    int8,
    int32,
)

N = 64


@plant("memcheck-out-of-bounds", floats(100), floats(100))
def the_tail_is_loaded_in_full(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    for done in range(0, 100, N):
        n = min(N, 100 - done)
        mlu.memcpy(a, src + done, 4 * (N if wrong else n), GDRAM2NRAM)  # fault
        mlu.memcpy(dst + done, a, 4 * n, NRAM2GDRAM)


@plant("memcheck-out-of-bounds", floats(100), floats(100))
def the_tail_is_stored_in_full(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.bang_write_zero(a, N)
    for done in range(0, 100, N):
        n = min(N, 100 - done)
        mlu.memcpy(a, src + done, 4 * n, GDRAM2NRAM)
        mlu.memcpy(dst + done, a, 4 * (N if wrong else n), NRAM2GDRAM)  # fault


@plant("memcheck-out-of-bounds", floats(N), floats(N))
def the_halo_begins_before_the_tensor(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    for row in range(4):
        halo = 1 if wrong or row else 0
        mlu.memcpy(a, src + (row * 16 - halo), 4 * (16 + halo), GDRAM2NRAM)  # fault
        mlu.memcpy(dst + row * 16, a + halo, 64, NRAM2GDRAM)


@plant("memcheck-out-of-bounds", floats(50), floats(50))
def the_padded_count_is_longer_than_the_buffer(mlu, wrong, dst, src):
    a = mlu.nram(float32, 50 if wrong else N)
    mlu.memcpy(a, src, 200, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)  # fault
    mlu.memcpy(dst, a, 200, NRAM2GDRAM)


@plant("memcheck-out-of-bounds", floats(N), floats(N))
def bytes_are_multiplied_twice(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    nbytes = N * float32.size
    mlu.memcpy(a, src, nbytes * (float32.size if wrong else 1), GDRAM2NRAM)  # fault
    mlu.memcpy(dst, a, nbytes, NRAM2GDRAM)


@plant("memcheck-out-of-bounds", floats(N), floats(N))
def the_number_of_segments_is_not_reduced_by_one(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 16, GDRAM2NRAM, 16, 16, 16 if wrong else 15)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("memcheck-out-of-bounds", floats(N), np.arange(4, dtype=np.int32) * 20)
def an_index_from_memory_is_too_large(mlu, wrong, dst, rows):
    for i in range(4):
        row = int(rows[i])
        dst[row + (8 if wrong else 0)] = 2.0  # fault


@plant("memcheck-use-after-end", [], floats(N), dim=(2, 1, 1))
def a_pointer_of_another_task_is_used(mlu, wrong, kept, src):
    own = mlu.nram(float32, N)
    kept.append(own)
    mlu.memcpy(kept[0] if wrong else own, src, 256, GDRAM2NRAM)  # fault


@plant("memcheck-read-only", Const(floats(N)), floats(N))
def an_input_is_used_as_scratch(mlu, wrong, src, dst):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.memcpy(src if wrong else dst, a, 256, NRAM2GDRAM)  # fault


@plant("memcheck-wrong-space", floats(N), floats(N))
def a_vector_works_on_gdram(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.bang_add(a, a, src if wrong else a, N)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("memcheck-wrong-space", floats(N), floats(N))
def the_direction_is_the_other_one(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, NRAM2GDRAM if wrong else GDRAM2NRAM)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("memcheck-wrong-space", floats(N), floats(N))
def integers_are_added_to_floats(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(int32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.bang_write_value(b, N, int32(1))
    mlu.bang_add(a, a, b if wrong else a, N)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("memcheck-out-of-memory")
def the_buffers_are_larger_than_nram(mlu, wrong):
    mlu.nram(int8, mlu.MAX_NRAM_SIZE - 1024)
    mlu.nram(float32, 257 if wrong else 256)  # fault


@plant("memcheck-broken-rule", floats(N), floats(N), 0)
def nothing_is_left_to_compute(mlu, wrong, dst, src, rest):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    if wrong or rest > 0:
        mlu.bang_add(a, a, a, rest)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("memcheck-broken-rule", floats(N), floats(4 * N))
def the_strides_are_swapped(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    near, far = 16, 64
    strides = (near // 2, far) if wrong else (near, far)
    mlu.memcpy(a, src, near, GDRAM2NRAM, *strides, 15)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("memcheck-broken-rule", floats(N), floats(N), board="MLU590-H8")  # MLU370 reads first
def the_destination_overlaps_the_source(mlu, wrong, dst, src):
    a = mlu.nram(float32, 2 * N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.bang_add(a + (1 if wrong else N), a, a, N)  # fault
    mlu.memcpy(dst, a + (1 if wrong else N), 256, NRAM2GDRAM)


@plant("memcheck-broken-rule", floats(N))
def a_row_for_wram_is_not_padded(mlu, wrong, src):
    a, w = mlu.nram(float32, N), mlu.wram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.memcpy(w, a, 25 * 4 if wrong else 28 * 4, NRAM2WRAM)  # fault


@plant("memcheck-broken-rule", floats(N), floats(N), board="MLU270-S4")
def on_2xx_the_count_is_not_padded(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.bang_add(a, a, a, 50 if wrong else N)  # fault
    mlu.memcpy(dst, a, 200, NRAM2GDRAM)


@plant("memcheck-misaligned", floats(N), np.arange(64, dtype=np.int8))
def a_word_is_read_out_of_packed_bytes(mlu, wrong, dst, packed):
    header = 2 if wrong else 4
    dst[0] = float((packed + header).cast(int32)[0])  # fault


@plant("memcheck-unsupported", floats(4 * N), dim=(4, 1, 1), kind=mlusim.UNION1)
def the_memory_core_is_not_told_apart(mlu, wrong, dst):
    s = mlu.shared(float32, N)
    if mlu.is_mpu() and not wrong:
        mlu.sync_cluster()
        mlu.memcpy(dst, s, 256, SRAM2GDRAM)
        return
    a = mlu.nram(float32, 16)
    mlu.bang_write_zero(a, 16)  # fault
    mlu.memcpy(s + mlu.coreId * 16, a, 64, NRAM2SRAM)
    mlu.sync_cluster()


@plant("memcheck-unsupported", floats(N), floats(N))
def an_intrinsic_of_another_architecture(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    if wrong:
        mlu.bang_div(b, a, a, N)  # fault
    else:
        mlu.bang_recip(b, a, N)
        mlu.bang_mul(b, b, a, N)
    mlu.memcpy(dst, b, 256, NRAM2GDRAM)


@plant("memcheck-unsupported", floats(N))
def a_block_task_copies_to_shared_memory(mlu, wrong, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    target = mlu.shared(float32, N) if wrong else b  # fault
    mlu.memcpy(target, a, 256, NRAM2NRAM)
