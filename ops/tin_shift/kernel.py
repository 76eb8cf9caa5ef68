"""The kernel of tin_shift, forward and backward: shift on the way into NRAM, store from NRAM.

Jobs are dealt round robin: channels, segments of a channel's frames, or single frames, by the
regime that the host chose (`ops.tin_shift.plan`).  ``TS-n`` marks a correction of the document;
`docs/operators/tin_shift.md` gives the reasons.
"""

from mlusim.bang import DIV_UP, GDRAM2NRAM, NFU_ALIGN_SIZE, NRAM2GDRAM, PAD_UP, Mlu, Ptr, int8, kernel
from mlusim.plan import Layout
from .plan import CHUNK_NAME, FRAMES, FRAMES_NAME, PIXELS, WHOLE_CHANNEL


@kernel
def MLUUnion1TinShift(
    mlu: Mlu,
    input: Ptr,  # noqa: A002 - the document's name
    shifts: Ptr,
    output: Ptr,
    batch_size: int,
    t_size: int,
    channel_size: int,
    hw_size: int,
    group_size: int,
    layout: Layout,
) -> None:
    """Shift every channel of input [N, T, C, HW] by its group's shifts [N, G] into output."""
    if mlu.is_mpu():
        return
    nram_buffer = mlu.nram(int8, layout.high_water)
    sizes = (t_size, channel_size, hw_size, group_size)
    if layout.plan == WHOLE_CHANNEL.name:
        data_nram = WHOLE_CHANNEL.place(nram_buffer, dtype=input.dtype, T=t_size, HW=hw_size).data
        for cur_channel_index in range(mlu.taskId, batch_size * channel_size, mlu.taskDim):
            whole_channel(mlu, data_nram, input, shifts, output, cur_channel_index, *sizes)
    elif layout.plan == FRAMES.name:
        frames = layout.values[FRAMES_NAME]
        data_nram = FRAMES.place(nram_buffer, dtype=input.dtype, G=frames, HW=hw_size).data
        segments = DIV_UP(t_size, frames)
        for job in range(mlu.taskId, batch_size * channel_size * segments, mlu.taskDim):
            cur_channel_index, segment = divmod(job, segments)
            some_frames(
                mlu, data_nram, input, shifts, output, cur_channel_index, segment * frames, frames, *sizes
            )
    else:
        chunk = layout.values[CHUNK_NAME]
        data_nram = PIXELS.place(nram_buffer, dtype=input.dtype, chunk=chunk).data
        for job in range(mlu.taskId, batch_size * channel_size * t_size, mlu.taskDim):
            cur_channel_index, frame = divmod(job, t_size)
            one_frame(mlu, data_nram, input, shifts, output, cur_channel_index, frame, chunk, *sizes)


def channel_start(cur_channel_index: int, t_size: int, channel_size: int, hw_size: int) -> int:
    """The element of frame 0 of a channel: the document's ``index``."""
    n_index = cur_channel_index // channel_size  # TS-3
    return (cur_channel_index % channel_size) * hw_size + n_index * t_size * channel_size * hw_size


def shift_of(shifts: Ptr, cur_channel_index: int, channel_size: int, group_size: int) -> int:
    """The shift of a channel's group: the document's ``offset`` and ``t_shift`` (TS-4)."""
    n_index = cur_channel_index // channel_size  # TS-3
    group_id = (cur_channel_index % channel_size) // (channel_size // group_size)
    return int(shifts[n_index * group_size + group_id])


def fill_zero(mlu: Mlu, data_nram: Ptr, count: int) -> None:
    """Give *count* elements zeros (TS-1), and those up to the next 128 bytes, which MLU2xx fills at a time (TS-9)."""
    mlu.bang_write_zero(data_nram, PAD_UP(count, NFU_ALIGN_SIZE // data_nram.dtype.size))


def whole_channel(
    mlu: Mlu,
    data_nram: Ptr,
    input: Ptr,  # noqa: A002 - the document's name
    shifts: Ptr,
    output: Ptr,
    cur_channel_index: int,
    t_size: int,
    channel_size: int,
    hw_size: int,
    group_size: int,
) -> None:
    """Regime 1: all T frames of a channel at once (steps 1.1 to 1.3)."""
    es = input.dtype.size
    index = channel_start(cur_channel_index, t_size, channel_size, hw_size)
    t_shift = shift_of(shifts, cur_channel_index, channel_size, group_size)
    stride = channel_size * hw_size * es
    fill_zero(mlu, data_nram, t_size * hw_size)
    if abs(t_shift) >= t_size:  # TS-2: nothing stays inside; the zeros are the channel
        pass
    elif t_shift > 0:
        # TS-5: data_nram moves by elements, as input does.
        mlu.memcpy(
            data_nram + t_shift * hw_size, input + index, hw_size * es, GDRAM2NRAM, hw_size * es, stride,
            t_size - 1 - t_shift,
        )  # fmt: skip
    else:
        mlu.memcpy(
            data_nram, input + (index - t_shift * channel_size * hw_size), hw_size * es, GDRAM2NRAM, hw_size * es,
            stride, t_size - 1 + t_shift,
        )  # fmt: skip
    mlu.memcpy(output + index, data_nram, hw_size * es, NRAM2GDRAM, stride, hw_size * es, t_size - 1)


def some_frames(
    mlu: Mlu,
    data_nram: Ptr,
    input: Ptr,  # noqa: A002 - the document's name
    shifts: Ptr,
    output: Ptr,
    cur_channel_index: int,
    first: int,
    frames: int,
    t_size: int,
    channel_size: int,
    hw_size: int,
    group_size: int,
) -> None:
    """Regime 2: output frames [first, first + frames) of a channel (step 2, cases 1 to 3; TS-6)."""
    es = input.dtype.size
    index = channel_start(cur_channel_index, t_size, channel_size, hw_size)
    t_shift = shift_of(shifts, cur_channel_index, channel_size, group_size)
    stride = channel_size * hw_size * es
    count = min(frames, t_size - first)  # TS-7: the last segment is short
    low = max(first, t_shift, 0)
    high = min(first + count, t_size + t_shift, t_size)
    fill_zero(mlu, data_nram, count * hw_size)
    if low < high:
        mlu.memcpy(
            data_nram + (low - first) * hw_size, input + (index + (low - t_shift) * channel_size * hw_size),
            hw_size * es, GDRAM2NRAM, hw_size * es, stride, high - low - 1,
        )  # fmt: skip
    mlu.memcpy(
        output + (index + first * channel_size * hw_size), data_nram, hw_size * es, NRAM2GDRAM, stride, hw_size * es,
        count - 1,
    )  # fmt: skip


def one_frame(
    mlu: Mlu,
    data_nram: Ptr,
    input: Ptr,  # noqa: A002 - the document's name
    shifts: Ptr,
    output: Ptr,
    cur_channel_index: int,
    frame: int,
    chunk: int,
    t_size: int,
    channel_size: int,
    hw_size: int,
    group_size: int,
) -> None:
    """Regime 3: one output frame, a part of HW at a time (step 3; TS-6)."""
    es = input.dtype.size
    index = channel_start(cur_channel_index, t_size, channel_size, hw_size)
    t_shift = shift_of(shifts, cur_channel_index, channel_size, group_size)
    source = frame - t_shift
    copied = 0 <= source < t_size
    if not copied:
        fill_zero(mlu, data_nram, min(chunk, hw_size))
    for done in range(0, hw_size, chunk):
        count = min(chunk, hw_size - done)
        if copied:
            mlu.memcpy(
                data_nram, input + (index + source * channel_size * hw_size + done), count * es, GDRAM2NRAM
            )
        mlu.memcpy(
            output + (index + frame * channel_size * hw_size + done), data_nram, count * es, NRAM2GDRAM
        )
