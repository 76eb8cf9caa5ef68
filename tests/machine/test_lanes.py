"""Lanes of the vector unit: what instructions used and what they paid for, whole lines of 128 bytes."""

import numpy as np
from hypothesis import given, strategies as st

import mlusim
from mlusim.bang import PAD_UP, Mlu, Ptr, float32, half, int8, kernel, vv_uint32
from mlusim.time.log import Lanes


@kernel
def adds(mlu: Mlu, dtype: object, counts: tuple[int, ...]) -> None:
    """Add as many elements as each of *counts* says."""
    a, b = mlu.nram(dtype, 4096), mlu.nram(dtype, 4096)
    mlu.bang_write_zero(a, 4096)
    mlu.bang_write_zero(b, 4096)
    for count in counts:
        mlu.bang_add(a, a, b, count)


@given(st.lists(st.integers(1, 4096), min_size=1, max_size=5), st.sampled_from([half, float32]))
def test_a_started_line_is_paid_whole(counts, dtype):
    """Used are the elements' bytes; paid are the lines, each rounded up for its own instruction."""
    launch = mlusim.Device("MLU370-X4").launch(adds, args=(dtype, tuple(counts)))
    used = [count * dtype.size for count in counts]

    assert Lanes(sum(used), sum(-(-nbytes // 128) * 128 for nbytes in used)) == launch.lanes["bang_add"]


def test_single_bytes_take_two_each():
    """The vector unit has 64 lanes, however narrow the elements."""
    launch = mlusim.Device("MLU370-X4").launch(adds, args=(int8, (64, 65)))

    assert Lanes(258, 384) == launch.lanes["bang_add"]


def test_lanes_add_up_over_tasks_and_explain_the_vector_cycles():
    """Four tasks pay four times; copies and scalars pay none; 20 cycles more start each instruction."""
    launch = mlusim.Device("MLU370-X4").launch(adds, dim=(4, 1, 1), args=(float32, (33,)))
    cycles = sum(task.work[1] for task in launch.tasks)

    assert Lanes(4 * 132, 4 * 256) == launch.lanes["bang_add"]
    assert sum(lanes.paid for lanes in launch.lanes.values()) // 128 + 20 * 4 * 3 == cycles


def test_no_vector_instruction_no_lanes():
    """A kernel that only copies has none."""

    @kernel
    def copies(mlu: Mlu, source: Ptr) -> None:
        mlu.memcpy(mlu.nram(float32, 8), source, 32, mlusim.bang.GDRAM2NRAM)

    device = mlusim.Device("MLU370-X4")
    launch = device.launch(copies, args=(device.put(np.zeros(8, np.float32)),))

    assert {} == launch.lanes


@kernel
def padded_rows(mlu: Mlu, rows: int, columns: int) -> None:
    """Turn a matrix whose sides are padded to 32, and scale every element of it."""
    height, width = PAD_UP(rows, 32), PAD_UP(columns, 32)
    a, b = mlu.nram(float32, height * width), mlu.nram(float32, height * width)
    mlu.bang_write_zero(a, height * width)
    mlu.bang_transpose(b, a, height, width)
    mlu.bang_mul_scalar(b, b, 2.0, 3 * width)
    mlu.bang_mul_scalar(b, b, 2.0, columns)


@given(st.integers(1, 70), st.integers(1, 70))
def test_what_pad_up_adds_is_no_element(rows, columns):
    """Counts that PAD_UP made, and their products, pay for all and use what was asked for."""
    launch = mlusim.Device("MLU370-X4").launch(padded_rows, args=(rows, columns))
    height, width = -(-rows // 32) * 32, -(-columns // 32) * 32
    whole = Lanes(4 * rows * columns, 4 * height * width)

    assert (whole, whole) == (launch.lanes["bang_write_zero"], launch.lanes["bang_transpose"])
    assert Lanes(4 * 4 * columns, 4 * (3 * width + width)) == launch.lanes["bang_mul_scalar"]


def test_padding_changes_no_time():
    """Padded lanes take as long as others."""
    device = mlusim.Device("MLU370-X4")
    padded, plain = (device.launch(padded_rows, args=sides) for sides in ((33, 33), (64, 64)))

    assert plain.lanes["bang_transpose"].paid == padded.lanes["bang_transpose"].paid
    assert plain.lanes["bang_transpose"].used > 3 * padded.lanes["bang_transpose"].used
    assert [task.work[1] for task in plain.tasks] == [task.work[1] for task in padded.tasks]


def test_strided_instructions_pay_for_each_repetition():
    """Four pieces of 96 bytes take a line each, a tile of 10 rows of 64 bytes ten."""

    @kernel
    def strided(mlu):
        a, b = mlu.nram(float32, 1024, [0]), mlu.nram(float32, 1024)
        mlu.bang_move(b, a, 96, 128, 128, 3)
        mlu.bang_tiling_2d_b32(b, a, 10, 16, 1, 2)

    lanes = mlusim.Device("MLU370-X4").launch(strided).lanes

    assert Lanes(384, 512) == lanes["bang_move"]
    assert Lanes(640, 1280) == lanes["bang_tiling_2d_b32"]


def test_registers_are_full_lines():
    """64 elements of 32 bits, whatever is stored of them later."""

    @kernel
    def counted(mlu):
        register = vv_uint32()
        mlu.vv_index(register, 0, 1)
        mlu.vv_add(register, register, 1)

    lanes = mlusim.Device("MLU370-X4").launch(counted).lanes

    assert Lanes(256, 256) == lanes["vv_index"] == lanes["vv_add"]
