"""The kernel of tin_shift, forward and backward: shift on the way into NRAM, store from NRAM.

Jobs are dealt round robin: channels, segments of a channel's frames, or single frames, by the
regime that the host chose (`ops.tin_shift.plan`).  ``TS-n`` marks a correction of the document;
`docs/operators/tin_shift.md` gives the reasons.
"""

from attrs import frozen

from mlusim.bang import DIV_UP, GDRAM2NRAM, NFU_ALIGN_SIZE, NRAM2GDRAM, PAD_UP, Mlu, Ptr, int8, kernel
from mlusim.plan import Layout
from .plan import CHUNK_NAME, FRAMES, FRAMES_NAME, PIXELS, WHOLE_CHANNEL


@frozen
class ShiftOperands:
    """The operands that every job needs: tensors in GDRAM, the buffer in NRAM, sizes in elements."""

    data_nram: Ptr
    input: Ptr
    shifts: Ptr
    output: Ptr
    t_size: int
    channel_size: int
    hw_size: int
    group_size: int


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
    tensors, sizes = (input, shifts, output), (t_size, channel_size, hw_size, group_size)
    if layout.plan == WHOLE_CHANNEL.name:
        data_nram = WHOLE_CHANNEL.place(nram_buffer, dtype=input.dtype, T=t_size, HW=hw_size).data
        call = ShiftOperands(data_nram, *tensors, *sizes)
        for cur_channel_index in range(mlu.taskId, batch_size * channel_size, mlu.taskDim):
            whole_channel(mlu, call, cur_channel_index)
    elif layout.plan == FRAMES.name:
        frames = layout.values[FRAMES_NAME]
        data_nram = FRAMES.place(nram_buffer, dtype=input.dtype, G=frames, HW=hw_size).data
        call = ShiftOperands(data_nram, *tensors, *sizes)
        segments = DIV_UP(t_size, frames)
        for job in range(mlu.taskId, batch_size * channel_size * segments, mlu.taskDim):
            cur_channel_index, segment = divmod(job, segments)
            some_frames(mlu, call, cur_channel_index, segment * frames, frames)
    else:
        chunk = layout.values[CHUNK_NAME]
        data_nram = PIXELS.place(nram_buffer, dtype=input.dtype, chunk=chunk).data
        call = ShiftOperands(data_nram, *tensors, *sizes)
        for job in range(mlu.taskId, batch_size * channel_size * t_size, mlu.taskDim):
            cur_channel_index, frame = divmod(job, t_size)
            one_frame(mlu, call, cur_channel_index, frame, chunk)


def channel_start(cur_channel_index: int, t_size: int, channel_size: int, hw_size: int) -> int:
    """Return the index of the first element of a channel's frame 0: the document's ``index``."""
    n_index = cur_channel_index // channel_size  # TS-3
    return (cur_channel_index % channel_size) * hw_size + n_index * t_size * channel_size * hw_size


def shift_of(shifts: Ptr, cur_channel_index: int, channel_size: int, group_size: int) -> int:
    """Return the shift of a channel's group: the document's ``offset`` and ``t_shift`` (TS-4)."""
    n_index = cur_channel_index // channel_size  # TS-3
    group_id = (cur_channel_index % channel_size) // (channel_size // group_size)
    return int(shifts[n_index * group_size + group_id])


def fill_zero(mlu: Mlu, data_nram: Ptr, count: int) -> None:
    """Set *count* elements to zero (TS-1), and those up to the next multiple of 128 bytes, the unit of a fill on MLU2xx (TS-9)."""
    mlu.bang_write_zero(data_nram, PAD_UP(count, NFU_ALIGN_SIZE // data_nram.dtype.size))


def opening(call: ShiftOperands, cur_channel_index: int) -> tuple[Ptr, Ptr, int]:
    """Return frame 0 of a channel in input and in output, and the shift of the channel's group."""
    index = channel_start(cur_channel_index, call.t_size, call.channel_size, call.hw_size)
    t_shift = shift_of(call.shifts, cur_channel_index, call.channel_size, call.group_size)
    return call.input + index, call.output + index, t_shift


def whole_channel(mlu: Mlu, call: ShiftOperands, cur_channel_index: int) -> None:
    """Regime 1: store all T frames of a channel at once (steps 1.1 to 1.3)."""
    source, target, t_shift = opening(call, cur_channel_index)
    data_nram, t_size, hw_size = call.data_nram, call.t_size, call.hw_size
    pitch = call.channel_size * hw_size  # elements from one frame to the next
    es = source.dtype.size
    size, stride = hw_size * es, pitch * es
    fill_zero(mlu, data_nram, t_size * hw_size)
    if abs(t_shift) >= t_size:  # TS-2: no frame stays inside; the channel is all zeros
        pass
    elif t_shift > 0:
        # TS-5: data_nram moves by elements, as input does.
        mlu.memcpy(
            data_nram + t_shift * hw_size, source, size, GDRAM2NRAM, size, stride, t_size - 1 - t_shift
        )
    else:
        mlu.memcpy(data_nram, source + -t_shift * pitch, size, GDRAM2NRAM, size, stride, t_size - 1 + t_shift)
    mlu.memcpy(target, data_nram, size, NRAM2GDRAM, stride, size, t_size - 1)


def some_frames(mlu: Mlu, call: ShiftOperands, cur_channel_index: int, first: int, frames: int) -> None:
    """Regime 2: store output frames [first, first + frames) of a channel (step 2, cases 1 to 3; TS-6)."""
    source, target, t_shift = opening(call, cur_channel_index)
    data_nram, t_size, hw_size = call.data_nram, call.t_size, call.hw_size
    pitch = call.channel_size * hw_size  # elements from a frame to the next
    es = source.dtype.size
    size, stride = hw_size * es, pitch * es
    count = min(frames, t_size - first)  # TS-7: the last segment is short
    low = max(first, t_shift, 0)
    high = min(first + count, t_size + t_shift, t_size)
    fill_zero(mlu, data_nram, count * hw_size)
    if low < high:
        mlu.memcpy(
            data_nram + (low - first) * hw_size, source + (low - t_shift) * pitch, size, GDRAM2NRAM,
            size, stride, high - low - 1,
        )  # fmt: skip
    mlu.memcpy(target + first * pitch, data_nram, size, NRAM2GDRAM, stride, size, count - 1)


def one_frame(mlu: Mlu, call: ShiftOperands, cur_channel_index: int, frame: int, chunk: int) -> None:
    """Regime 3: store one output frame, a part of HW at a time (step 3; TS-6)."""
    source, target, t_shift = opening(call, cur_channel_index)
    data_nram, hw_size = call.data_nram, call.hw_size
    pitch, es = call.channel_size * hw_size, source.dtype.size
    taken = frame - t_shift
    copied = 0 <= taken < call.t_size
    if not copied:
        fill_zero(mlu, data_nram, min(chunk, hw_size))
    for done in range(0, hw_size, chunk):
        count = min(chunk, hw_size - done)
        if copied:
            mlu.memcpy(data_nram, source + (taken * pitch + done), count * es, GDRAM2NRAM)
        mlu.memcpy(target + (frame * pitch + done), data_nram, count * es, NRAM2GDRAM)
