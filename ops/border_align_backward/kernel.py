"""The kernel of border_align_backward: every point of every border, added to four cells of grad_input.

The N*K*4 borders are dealt to the cores in runs.  A border has pool_size + 1 points, and each of its
channels was sampled at one of them: a point adds the gradient of the channels whose argmax names it,
and zeros for the others.  ``BA-n`` marks a correction of the document;
`docs/operators/border_align_backward.md` gives the reasons.
"""

from typing import Any

from attrs import frozen

from mlusim.bang import (
    GDRAM2NRAM,
    NFU_ALIGN_SIZE,
    PAD_UP,
    DType,
    Mlu,
    Ptr,
    float32,
    int8,
    int16,
    int32,
    kernel,
)
from mlusim.plan import Layout
from .plan import PLAN

Tap = tuple[Any, int, int]
"""A tap: its weight in T, and y and x of its cell."""


@frozen
class BorderOperands:
    """The operands that every border needs: tensors in GDRAM, sizes, and the document's buffers in NRAM."""

    grad_output: Ptr
    argmax_idx: Ptr
    grad_input: Ptr
    pool_size: int
    K: int
    H: int
    W: int
    C: int
    bbox_nram: Ptr
    nram_ping: Ptr  # gradient of the border
    grad_input_nram: Ptr
    grad_output_temp: Ptr
    argmax_idx_nram: Ptr
    argmax_idx_temp: Ptr  # as integers of the width of T: the mask, all bits of a channel or none (BA-16)
    grad_input_bits: Ptr  # grad_input_nram and grad_output_temp as such integers
    grad_output_temp_bits: Ptr


@kernel
def MLUUnion1BorderAlignBackward(
    mlu: Mlu,
    grad_output: Ptr,
    bbox_gdram: Ptr,
    argmax_idx: Ptr,
    pool_size: int,
    grad_input: Ptr,
    N: int,
    K: int,
    H: int,
    W: int,
    C: int,
    layout: Layout,
) -> None:
    """Add grad_output [N, K, 4, C] to the cells of grad_input [N, H, W, 4C], which holds zeros (BA-11)."""
    if mlu.is_mpu():
        return
    deal_num = layout.values["deal_num"]  # BA-15
    buffers = make_buffers(mlu.nram(int8, layout.high_water), grad_output.dtype, deal_num)
    call = BorderOperands(grad_output, argmax_idx, grad_input, pool_size, K, H, W, C, **buffers)
    bbox_nram, bbox_size = call.bbox_nram, 4 * bbox_gdram.dtype.size
    nfu_align_num = NFU_ALIGN_SIZE // grad_output.dtype.size  # BA-13
    start_per_core, end_per_core = share(N * K * 4, mlu.taskId, mlu.taskDim)  # BA-12
    c_tail = C % deal_num
    for num_loop in range(start_per_core, end_per_core):
        mlu.memcpy(bbox_nram, bbox_gdram + num_loop // 4 * 4, bbox_size, GDRAM2NRAM)  # BA-5
        box_width = bbox_nram[2] - bbox_nram[0]
        box_height = bbox_nram[3] - bbox_nram[1]
        for c in range(C // deal_num):
            computeImpl(mlu, call, num_loop, box_width, box_height, c * deal_num, deal_num, deal_num)
        if c_tail:  # BA-9: a length of its own; deal_num stays
            padded = PAD_UP(c_tail, nfu_align_num)
            computeImpl(mlu, call, num_loop, box_width, box_height, C - c_tail, c_tail, padded)


def share(total_num: int, task: int, tasks: int) -> tuple[int, int]:
    """Return the range of a core's borders, first and one past the last, by the document's formula (BA-14)."""
    num_per_core, num_rem = divmod(total_num, tasks)
    num_per_core += task < num_rem
    if num_rem > task:
        start_per_core = task * num_per_core
    else:
        start_per_core = (num_per_core + 1) * num_rem + (task - num_rem) * num_per_core
    return start_per_core, start_per_core + num_per_core


def make_buffers(nram_buffer: Ptr, dtype: DType, deal_num: int) -> dict[str, Ptr]:
    """Return the document's buffers in its order."""
    regions = PLAN.place(nram_buffer, dtype=dtype, deal_num=deal_num)
    bits = int32 if dtype is float32 else int16
    return {
        "bbox_nram": regions.box,
        "nram_ping": regions.grad_output,
        "grad_input_nram": regions.grad_input,
        "grad_output_temp": regions.grad_output_temp,
        "argmax_idx_nram": regions.argmax,
        "argmax_idx_temp": regions.argmax_temp.cast(bits),
        "grad_input_bits": regions.grad_input.cast(bits),
        "grad_output_temp_bits": regions.grad_output_temp.cast(bits),
    }


def computeImpl(
    mlu: Mlu,
    call: BorderOperands,
    num_loop: int,
    box_width: Any,
    box_height: Any,
    c_offset: int,
    deal_num: int,
    padded: int,
) -> None:
    """Add channels [c_offset, c_offset + deal_num) of a border, point by point; vectors take *padded* channels."""
    pool_size, H, W = call.pool_size, call.H, call.W
    border = num_loop % 4  # BA-4
    x0 = call.bbox_nram[border % 4 // 2 * 2]  # BA-D: read once, not at every point
    y0 = call.bbox_nram[1 + border % 4 // 2 * 2]
    x_stride = y_stride = 0
    match border:
        case 0:
            x_stride = box_width / pool_size
        case 1:
            y_stride = box_height / pool_size
        case 2:
            x_stride = -box_width / pool_size
        case 3:
            y_stride = -box_height / pool_size
        case _:
            mlu.bang_printf("Invalid Border Type.")
    n = num_loop // call.K // 4
    source = num_loop * call.C + c_offset  # BA-6: ((n*K + k)*4 + border)*C, and the channel
    # BA-8: image and border here, the cell with each tap.
    target = call.grad_input + (n * H * W * 4 * call.C + border * call.C + c_offset)
    for pool_loop in range(pool_size + 1):  # BA-2: one step per iteration
        x = x0 + x_stride * pool_loop
        y = y0 + y_stride * pool_loop
        taps = bilinear_interpolate_gradient(H, W, y, x)  # BA-10
        if not taps:  # BA-1: every point is computed; one without cells is skipped
            continue
        loadInput(mlu, call, source, deal_num)
        mask_point(mlu, call, pool_loop, padded)
        computeGradInput(mlu, call, target, taps, deal_num, padded)


def bilinear_interpolate_gradient(H: int, W: int, y: Any, x: Any) -> tuple[Tap, ...]:
    """Return the four cells around (y, x) with their weights, in the type of y and x; () outside [-1, H] x [-1, W].

    A NaN coordinate counts as outside; which cell number the board makes of one is unknown.
    """
    at_y, at_x = float(y), float(x)  # only to compare: exact, and faster than NumPy's scalars
    if not (-1.0 <= at_y <= H and -1.0 <= at_x <= W):
        return ()
    kind = type(y)
    if at_y <= 0.0:
        y, at_y = kind(0), 0.0
    if at_x <= 0.0:
        x, at_x = kind(0), 0.0
    y_tl, x_tl = int(at_y), int(at_x)
    y_br, x_br = y_tl + 1, x_tl + 1
    if y_br >= H:
        y_tl = y_br = H - 1
        y = kind(y_tl)
    if x_br >= W:
        x_tl = x_br = W - 1
        x = kind(x_tl)
    ly, lx = y - y_tl, x - x_tl
    hy, hx = 1 - ly, 1 - lx
    return (hy * hx, y_tl, x_tl), (hy * lx, y_tl, x_br), (ly * hx, y_br, x_tl), (ly * lx, y_br, x_br)


def loadInput(mlu: Mlu, call: BorderOperands, source: int, deal_num: int) -> None:
    """Load argmax and gradient of the channels from element *source* of both tensors (BA-6, BA-9)."""
    mlu.memcpy(call.argmax_idx_nram, call.argmax_idx + source, deal_num * int32.size, GDRAM2NRAM)
    nbytes = deal_num * call.grad_output.dtype.size
    mlu.memcpy(call.nram_ping, call.grad_output + source, nbytes, GDRAM2NRAM)


def mask_point(mlu: Mlu, call: BorderOperands, pool_loop: int, padded: int) -> None:
    """Set every bit of the channels whose maximum was at point *pool_loop*, and clear the others (BA-3, BA-16).

    A comparison of int32 gives int32: in float that is as wide as T; in half it replaces argmax, which is loaded
    again for the next point (BA-C).
    """
    argmax, mask = call.argmax_idx_nram, call.argmax_idx_temp
    if mask.dtype is int32:
        mlu.bang_eq_scalar(mask, argmax, pool_loop, padded)
        mlu.bang_mul_scalar(mask, mask, -1, padded)
    else:
        mlu.bang_eq_scalar(argmax, argmax, pool_loop, padded)
        mlu.bang_mul_scalar(argmax, argmax, -1, padded)
        mlu.bang_int322int16(mask, argmax, padded, 0, 0)


def computeGradInput(
    mlu: Mlu, call: BorderOperands, target: Ptr, taps: tuple[Tap, ...], deal_num: int, padded: int
) -> None:
    """Add the masked gradient times its weight to the cell of each tap; *target* is the cell (0, 0).

    BA-7, BA-16: gradient and mask are both in NRAM, and whole bits are kept or cleared.  BA-8, BA-9: the addition
    goes to this image, cell and border, and includes no more channels than were loaded.
    """
    weighted, masked, mask = call.grad_input_bits, call.grad_output_temp_bits, call.argmax_idx_temp
    grad_input_nram, grad_output_temp, nram_ping = call.grad_input_nram, call.grad_output_temp, call.nram_ping
    (w1, y_tl, x_tl), (w2, _, x_br), (w3, y_br, _), (w4, _, _) = taps
    W, pixel = call.W, 4 * call.C
    mlu.bang_mul_scalar(grad_input_nram, nram_ping, w1, padded)
    mlu.bang_band(masked, weighted, mask, padded)
    mlu.bang_atomic_reduce_add(target + (y_tl * W + x_tl) * pixel, grad_output_temp, deal_num)
    mlu.bang_mul_scalar(grad_input_nram, nram_ping, w2, padded)
    mlu.bang_band(masked, weighted, mask, padded)
    mlu.bang_atomic_reduce_add(target + (y_tl * W + x_br) * pixel, grad_output_temp, deal_num)
    mlu.bang_mul_scalar(grad_input_nram, nram_ping, w3, padded)
    mlu.bang_band(masked, weighted, mask, padded)
    mlu.bang_atomic_reduce_add(target + (y_br * W + x_tl) * pixel, grad_output_temp, deal_num)
    mlu.bang_mul_scalar(grad_input_nram, nram_ping, w4, padded)
    mlu.bang_band(masked, weighted, mask, padded)
    mlu.bang_atomic_reduce_add(target + (y_br * W + x_br) * pixel, grad_output_temp, deal_num)
