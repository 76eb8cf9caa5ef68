"""Planted faults of values: bytes that were never written, which initcheck must find where they escape."""

import numpy as np
from quality_plants import Empty, floats, plant

import mlusim
from mlusim.bang import (
    GDRAM2GDRAM,
    GDRAM2NRAM,
    GDRAM2SRAM,
    GDRAM2WRAM,
    LDRAM2NRAM,
    NRAM2GDRAM,
    NRAM2LDRAM,
    SRAM2NRAM,
    float32,
    half,
    int32,
    uint32,
)

N = 64


@plant("initcheck-undefined-stored", Empty(N), floats(N))
def one_element_more_is_stored_than_loaded(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 4 * 50, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    mlu.memcpy(dst, a, 4 * (51 if wrong else 50), NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(N), floats(N), floats(N))
def the_second_operand_is_loaded_short(mlu, wrong, dst, x, y):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, x, 256, GDRAM2NRAM)
    mlu.memcpy(b, y, 256 - (4 if wrong else 0), GDRAM2NRAM)
    mlu.bang_mul(a, a, b, N)
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(N), floats(4 * N))
def the_accumulator_is_not_cleared(mlu, wrong, dst, src):
    total, a = mlu.nram(float32, N), mlu.nram(float32, N)
    if not wrong:
        mlu.bang_write_zero(total, N)
    for row in range(4):
        mlu.memcpy(a, src + row * N, 256, GDRAM2NRAM)
        mlu.bang_add(total, total, a, N)
    mlu.memcpy(dst, total, 256, NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(4 * N), floats(4 * N))
def pong_is_stored_before_it_was_filled(mlu, wrong, dst, src):
    buffers = mlu.nram(float32, 2 * N)
    for turn in range(5):
        if turn < 4:
            mlu.memcpy(buffers + turn % 2 * N, src + turn * N, 256, GDRAM2NRAM)
        if wrong or turn > 0:
            at = max(turn - 1, 0)
            mlu.memcpy(dst + at * N, buffers + (turn + 1) % 2 * N, 256, NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", lambda board: None, Empty(N), floats(N))
def the_output_is_not_zeroed_before_atomics(mlu, wrong, _, dst, zeros):
    a = mlu.nram(float32, N, [1.0] * N)
    mlu.bang_atomic_reduce_add(dst if wrong else zeros, a, N)  # fault


@plant("initcheck-undefined-stored", Empty(N), floats(N), dim=(4, 1, 1), kind=mlusim.UNION1)
def the_memory_core_fills_one_row_less(mlu, wrong, dst, src):
    s = mlu.shared(float32, N)
    if mlu.is_mpu():
        mlu.memcpy(s, src, 64, GDRAM2SRAM, 64, 64, 2 if wrong else 3)
    mlu.sync_cluster()
    if mlu.is_ipu():
        a = mlu.nram(float32, 16)
        mlu.memcpy(a, s + mlu.coreId * 16, 64, SRAM2NRAM)
        mlu.memcpy(dst + mlu.coreId * 16, a, 64, NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(N), floats(N))
def gaps_between_strided_rows_are_stored(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 12, GDRAM2NRAM, 16, 12, 15)
    mlu.memcpy(dst, a, 16 if wrong else 12, NRAM2GDRAM, 16, 16, 15)  # fault


@plant("initcheck-undefined-stored", Empty(N), np.ones(N, np.float16))
def the_widened_tail_is_stored(mlu, wrong, dst, src):
    h, f = mlu.nram(half, N), mlu.nram(float32, N)
    mlu.memcpy(h, src, 2 * 40, GDRAM2NRAM)
    mlu.bang_half2float(f, h, N)
    mlu.memcpy(dst, f, 4 * (48 if wrong else 40), NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(N), floats(N), np.eye(8, dtype=np.float32).reshape(-1))
def more_is_stored_than_the_filter_kept(mlu, wrong, dst, src, mask):
    a, m, kept = mlu.nram(float32, N), mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.memcpy(m, mask, 256, GDRAM2NRAM)
    count = mlu.bang_filter(kept, a, m, N)
    mlu.memcpy(dst, kept, 4 * (N if wrong else count), NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(N))
def the_fill_is_as_wide_as_its_value(mlu, wrong, dst):
    a = mlu.nram(float32, N)
    zero = half(0.0) if wrong else float32(0.0)
    mlu.bang_write_value(a, N, zero)
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)  # fault


@plant("initcheck-undefined-stored", Empty(N), Empty(N), floats(N))
def a_tensor_is_copied_before_it_was_written(mlu, wrong, dst, middle, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    if not wrong:
        mlu.memcpy(middle, a, 256, NRAM2GDRAM)
    mlu.memcpy(dst, middle, 256, GDRAM2GDRAM)  # fault
    if wrong:
        mlu.memcpy(middle, a, 256, NRAM2GDRAM)


@plant("initcheck-undefined-stored", Empty(N), floats(N))
def a_transposed_padding_is_stored(mlu, wrong, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, 20, GDRAM2NRAM, 32, 20, 7)  # 8 rows of 5
    mlu.bang_transpose(b, a, 8, 8)
    mlu.memcpy(dst, b, 4 * 8 * (6 if wrong else 5), NRAM2GDRAM)  # fault


@plant("initcheck-undefined-scalar", floats(N))
def a_decision_is_taken_on_padding(mlu, wrong, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 4 * 50, GDRAM2NRAM)
    largest = 0.0
    for i in range(51 if wrong else 50):
        largest = max(largest, float(a[i]))  # fault
    assert largest >= 1.0


@plant("initcheck-undefined-scalar", floats(N), floats(1))
def padding_is_counted(mlu, wrong, src, dst):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, 4 * 50, GDRAM2NRAM)
    dst[0] = mlu.bang_count(a, N if wrong else 50)  # fault


@plant("initcheck-lanes-mixed", Empty(32), floats(N))
def a_padded_row_is_summed(mlu, wrong, dst, src):
    a = mlu.nram(float32, N)
    if not wrong:
        mlu.bang_write_zero(a, N)
    mlu.memcpy(a, src, 4 * 50, GDRAM2NRAM)
    mlu.bang_reduce_sum(a, a, N)  # fault
    mlu.memcpy(dst, a, 4, NRAM2GDRAM, 4, 128, 1)


@plant("initcheck-lanes-mixed", Empty(4), floats(N))
def the_largest_of_a_padded_row(mlu, wrong, dst, src):
    a, top = mlu.nram(float32, N), mlu.nram(float32, 32)
    if not wrong:
        mlu.bang_write_value(a, N, float32(-1e30))
    mlu.memcpy(a, src, 4 * 50, GDRAM2NRAM)
    mlu.bang_max(top, a, N)  # fault
    mlu.memcpy(dst, top, 4, NRAM2GDRAM)


@plant("initcheck-undefined-address", Empty(N), floats(N), np.arange(N, dtype=np.uint32))
def the_index_of_a_table_is_padding(mlu, wrong, dst, table, index):
    t, i, out = mlu.nram(float32, N), mlu.nram(uint32, N), mlu.nram(float32, N)
    mlu.memcpy(t, table, 256, GDRAM2NRAM)
    mlu.memcpy(i, index, 128 if wrong else 256, GDRAM2NRAM)
    mlu.bang_lut(out, i, t, N, N)  # fault
    mlu.memcpy(dst, out, 256, NRAM2GDRAM)


@plant("initcheck-undefined-scalar", np.zeros(4, np.int32))
def a_table_is_read_behind_its_values(mlu, wrong, dst):
    table = mlu.nram(int32, 4) if wrong else mlu.nram(int32, 4, [1, 2])
    if wrong:
        table[0], table[1] = 1, 2
    dst[0] = int(table[3])  # fault


@plant(
    "initcheck-undefined-address", Empty(N), floats(N), np.arange(N, dtype=np.uint32) * 4, board="MLU590-H8"
)
def the_offsets_of_a_gather_are_loaded_short(mlu, wrong, dst, src, offsets):
    a, o = mlu.nram(float32, N), mlu.nram(uint32, N)
    mlu.memcpy(o, offsets, 128 if wrong else 256, GDRAM2NRAM)
    mlu.gather(a, src, o, 4, GDRAM2NRAM, 4, N)  # fault
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)


@plant("initcheck-undefined-address", floats(N), np.arange(8, dtype=np.uint32), board="MLU590-H8")
def atomics_go_to_offsets_of_padding(mlu, wrong, dst, index):
    a, o = mlu.nram(float32, N, [1.0] * N), mlu.nram(uint32, N)
    mlu.memcpy(o, index, 32, GDRAM2NRAM)
    mlu.bang_mul_scalar(o, o, 4, N)
    mlu.bang_discrete_atomic_add(a, dst, o, a, 16 if wrong else 8)  # fault


@plant("initcheck-lanes-mixed", Empty(4 * N), floats(4 * N), floats(N * N))
def the_weights_are_loaded_short(mlu, wrong, dst, left, right):
    a, w, out = mlu.nram(float32, 4 * N), mlu.wram(float32, N * N), mlu.nram(float32, 4 * N)
    mlu.memcpy(a, left, 16 * N, GDRAM2NRAM)
    mlu.memcpy(w, right, 4 * N * N - (256 if wrong else 0), GDRAM2WRAM)
    mlu.bang_matmul(out, a, w, 4, N, N)  # fault
    mlu.memcpy(dst, out, 16 * N, NRAM2GDRAM)


@plant("initcheck-undefined-stored", Empty(N), floats(N))
def a_spilled_row_is_read_back_longer(mlu, wrong, dst, src):
    a, spilled = mlu.nram(float32, N), mlu.ldram(float32, N)
    mlu.memcpy(a, src, 256, GDRAM2NRAM)
    mlu.memcpy(spilled, a, 192, NRAM2LDRAM)
    mlu.memcpy(a, spilled, 256 if wrong else 192, LDRAM2NRAM)
    mlu.memcpy(dst, a, 256, NRAM2GDRAM)  # fault
