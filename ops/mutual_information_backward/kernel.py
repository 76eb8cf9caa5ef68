"""The kernel of mutual_information_backward: one batch entry on chip at a time, anti-diagonal by anti-diagonal.

The functions, buffers and steps are those of the document's listing.  ``MI-n`` marks a correction of
it; `docs/operators/mutual_information_backward.md` gives the reasons.
"""

from typing import Any

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, Mlu, Ptr, float32, int8, int32, kernel
from mlusim.plan import Layout, Regions
from .plan import PLAN

Box = tuple[int, int, int, int]
"""The region of a batch entry: s_begin, t_begin, s_end, t_end, with both ends included."""

LARGE_NEGATIVE = float32(-1.0e30)
LOG2_E = float32(1.4426950408889634)  # 0x3fb8aa3b
ZERO = float32(0.0)
FLOAT = float32.size  # bytes


@kernel
def MLUKernelMutualInformationBackward(
    mlu: Mlu,
    px: Ptr | None,
    py: Ptr | None,
    opt_boundary: Ptr | None,
    p: Ptr,
    ans_grad: Ptr,
    overwrite_ans_grad: bool,
    workspace: Ptr | None,
    px_grad: Ptr | None,
    py_grad: Ptr | None,
    batches: int,  # MI-19: this argument and the following ones
    S: int,
    T: int,
    layout: Layout,
) -> None:
    """Write the gradients of px [B, S, T+1] and py [B, S+1, T]; p is [B, S+1, T+1], ans_grad [B]."""
    del workspace  # MI-19: the plan needs none
    nram_buffer = mlu.nram(int8, layout.high_water)
    nram = PLAN.place(nram_buffer, S=S, T=T)
    num_per_core = batches // mlu.taskDim
    num_rem = batches % mlu.taskDim
    num_cur_core = num_per_core + (mlu.taskId < num_rem)
    b_offset = mlu.taskId * num_cur_core + (mlu.taskId >= num_rem) * num_rem
    box = (0, 0, S, T)
    for i in range(b_offset, b_offset + num_cur_core):
        # MI-1: the pointers of this batch entry; an empty tensor may come as a null pointer.
        cur_px, cur_px_grad = offset(px, i * S * (T + 1)), offset(px_grad, i * S * (T + 1))
        cur_py, cur_py_grad = offset(py, i * (S + 1) * T), offset(py_grad, i * (S + 1) * T)
        if opt_boundary is not None:  # MI-20
            box = boundary_of(opt_boundary, i)
            mlu.bang_write_zero(nram.term1, S * (T + 1) + (S + 1) * T)
        if box[0] <= box[2] and box[1] <= box[3]:  # MI-20: else the zeros are the gradients
            computeTerm1AndTerm2(mlu, nram, cur_px, cur_py, p + i * (S + 1) * (T + 1), T, box)
            computePGrad(mlu, nram, ans_grad + i, overwrite_ans_grad, S, T, box)
            computePxGradAndPyGrad(mlu, nram, T, box)
        storePxGradAndPyGrad(mlu, nram, cur_px_grad, cur_py_grad, S, T)


def offset(pointer: Ptr | None, elements: int) -> Any:
    """Return ``pointer + elements``; the null pointer of an empty tensor stays null and is never accessed."""
    return None if pointer is None else pointer + elements


def boundary_of(opt_boundary: Ptr, batch: int) -> Box:
    """Return the region of a batch entry, by four scalar loads from GDRAM: the plan has no bytes for it (MI-20)."""
    at = 4 * batch
    return (
        int(opt_boundary[at]),
        int(opt_boundary[at + 1]),
        int(opt_boundary[at + 2]),
        int(opt_boundary[at + 3]),
    )


def computeTerm1AndTerm2(mlu: Mlu, nram: Regions, px: Ptr, py: Ptr, p: Ptr, T: int, box: Box) -> None:
    """Step 1: term1 = exp(p + px - p below) and term2 = exp(p + py - p to the right), in place of px and py."""
    s_begin, t_begin, s_end, t_end = box
    t_len = t_end - t_begin + 1
    cur_p, large_neg, mask = nram.cur_p, nram.large_neg, nram.mask
    right_p = cur_p + 1
    next_p = cur_p + t_len  # MI-3: rows of p are as long as the region is wide
    mlu.bang_write_value(large_neg, 2 * t_len, LARGE_NEGATIVE)
    for i in range(s_begin, s_end + 1):
        first, t_first = i * (T + 1) + t_begin, i * T + t_begin
        if i == s_end:
            if t_len > 1:  # MI-4
                term2 = nram.term2 + t_first
                mlu.memcpy(term2, py + t_first, (t_len - 1) * FLOAT, GDRAM2NRAM)
                mlu.memcpy(cur_p, p + first, t_len * FLOAT, GDRAM2NRAM)
                mlu.bang_nan_maximum(cur_p, cur_p, large_neg, t_len)  # MI-2
                mlu.bang_add(term2, term2, cur_p, t_len - 1)
                mlu.bang_sub(term2, term2, right_p, t_len - 1)
                safeExp(mlu, term2, term2, mask, t_len - 1)
            break
        term1, term2 = nram.term1 + first, nram.term2 + t_first
        mlu.memcpy(term1, px + first, t_len * FLOAT, GDRAM2NRAM)
        if t_len > 1:  # MI-4
            mlu.memcpy(term2, py + t_first, (t_len - 1) * FLOAT, GDRAM2NRAM)
        load_two_rows(mlu, cur_p, p + first, t_len, T)
        mlu.bang_nan_maximum(cur_p, cur_p, large_neg, 2 * t_len)
        mlu.bang_add(term1, term1, cur_p, t_len)
        mlu.bang_sub(term1, term1, next_p, t_len)
        safeExp(mlu, term1, term1, mask, t_len)
        if t_len > 1:  # MI-4
            mlu.bang_add(term2, term2, cur_p, t_len - 1)
            mlu.bang_sub(term2, term2, right_p, t_len - 1)
            safeExp(mlu, term2, term2, mask, t_len - 1)


def load_two_rows(mlu: Mlu, dst: Ptr, src: Ptr, t_len: int, T: int) -> None:
    """Load t_len elements of two rows of p, one row directly after the other, as rows of length T+1 already are."""
    if t_len == T + 1:
        mlu.memcpy(dst, src, 2 * t_len * FLOAT, GDRAM2NRAM)
    else:  # MI-3
        mlu.memcpy(dst, src, t_len * FLOAT, GDRAM2NRAM, t_len * FLOAT, (T + 1) * FLOAT, 1)


def safeExp(mlu: Mlu, dst: Ptr, src: Ptr, mask: Ptr, num: int) -> None:
    """Take exp(src), or 0 where src or the exponential is not finite."""
    setNanInfToZero(mlu, src, mask, num)
    computeExp(mlu, dst, src, None, 0, num)
    dst_bytes = dst.cast(int8)
    mlu.bang_band(dst_bytes, dst_bytes, mask.cast(int8), num * FLOAT)
    setNanInfToZero(mlu, dst, mask, num)


def setNanInfToZero(mlu: Mlu, src: Ptr, mask: Ptr, num: int) -> None:
    """Set non-finite elements to 0; mask becomes all ones where src is finite, and zero elsewhere."""
    mask_int, src_bytes = mask.cast(int32), src.cast(int8)
    mlu.bang_sub(mask, src, src, num)
    mlu.bang_eq_scalar(mask, mask, ZERO, num)
    mlu.bang_float2int32_rn(mask_int, mask, num, 0)
    mlu.bang_mul_scalar(mask_int, mask_int, -1, num)
    mlu.bang_band(src_bytes, src_bytes, mask.cast(int8), num * FLOAT)


def computeExp(mlu: Mlu, dst: Ptr, src: Ptr, addition: Ptr | None, is_high_precision: int, num: int) -> None:
    """Compute 2 to the power of src * log2(e): the float exponential of the vendor's helper library (MI-A)."""
    del addition, is_high_precision  # for half
    mlu.bang_mul_scalar(dst, src, LOG2_E, num)
    mlu.bang_pow2(dst, dst, num)


def computePGrad(
    mlu: Mlu, nram: Regions, ans_grad: Ptr, overwrite_ans_grad: bool, S: int, T: int, box: Box
) -> None:
    """Step 2: compute p_grad of the region, one anti-diagonal after the other, from cell (s_end, t_end) back.

    The cells of a diagonal are counted from top right to bottom left, so the next one lies T elements
    on in term1 and p_grad, and T - 1 elements on in term2.
    """
    s_begin, t_begin, s_end, t_end = box
    s_len, t_len = s_end - s_begin + 1, t_end - t_begin + 1  # MI-13
    p_grad, cur_term1, cur_term2, cur_p_grad = nram.p_grad, nram.cur_term1, nram.cur_term2, nram.cur_p_grad
    shifted_term2, shifted_p_grad = cur_term2 - 1, cur_p_grad + 1
    mlu.bang_write_value(cur_term1, 3 * (min(S, T) + 1) + 1, ZERO)  # MI-10, MI-11
    stride, stride2 = T * FLOAT, (T - 1) * FLOAT
    data_num, cell = 1, s_end * (T + 1) + t_end
    p_grad[cell] = ans_grad[0]  # MI-6
    for i in range(1, s_len + t_len - 1):
        last_data_num, last_cell = data_num, cell
        data_num = min(i + 1, s_len, t_len, s_len + t_len - 1 - i)  # MI-7
        s, t = (s_end - i, t_end) if i < s_len else (s_begin, t_end + s_len - i - 1)
        cell = s * (T + 1) + t
        # MI-8: a cell without a neighbour below, or to the right, has no term1, or no term2.
        num1 = data_num - 1 if i < t_len else data_num
        num2 = data_num - 1 if i < s_len else data_num
        if num1 > 0:
            mlu.memcpy(cur_term1, nram.term1 + cell, FLOAT, NRAM2NRAM, FLOAT, stride, num1 - 1)
        if num2 > 0:
            cell2 = s * T + t if i >= s_len else (s + 1) * T + t - 1
            mlu.memcpy(cur_term2, nram.term2 + cell2, FLOAT, NRAM2NRAM, FLOAT, stride2, num2 - 1)
        mlu.memcpy(cur_p_grad, p_grad + last_cell, FLOAT, NRAM2NRAM, FLOAT, stride, last_data_num - 1)
        # MI-9: the neighbour below and the one to the right are adjacent on the previous diagonal.
        if num1 > 0:
            mlu.bang_mul(cur_term1, cur_term1, cur_p_grad if i < s_len else shifted_p_grad, num1)
        if num2 > 0:
            mlu.bang_mul(cur_term2, cur_term2, cur_p_grad, num2)
        # mlusim: allow plancheck-crosses-regions: the zero in front of cur_term2 is read with it (MI-10)
        mlu.bang_add(cur_p_grad, cur_term1, shifted_term2 if i < s_len else cur_term2, data_num)
        mlu.memcpy(p_grad + cell, cur_p_grad, FLOAT, NRAM2NRAM, stride, FLOAT, data_num - 1)
    if overwrite_ans_grad:  # MI-12
        ans_grad[0] = p_grad[s_begin * (T + 1) + t_begin]


def computePxGradAndPyGrad(mlu: Mlu, nram: Regions, T: int, box: Box) -> None:
    """Step 3: compute px_grad = p_grad below * term1 and py_grad = p_grad to the right * term2, in place of the terms."""
    s_begin, t_begin, s_end, t_end = box
    t_len = t_end - t_begin + 1
    for i in range(s_begin, s_end + 1):
        first, t_first = i * (T + 1) + t_begin, i * T + t_begin
        p_grad, term2 = nram.p_grad + first, nram.term2 + t_first
        if i == s_end:
            if t_len > 1:  # MI-4
                mlu.bang_mul(term2, term2, p_grad + 1, t_len - 1)  # MI-14
            break
        term1 = nram.term1 + first
        mlu.bang_mul(term1, term1, p_grad + (T + 1), t_len)  # MI-15; MI-18: this is px_grad
        if t_len > 1:  # MI-4
            mlu.bang_mul(term2, term2, p_grad + 1, t_len - 1)  # MI-16


def storePxGradAndPyGrad(mlu: Mlu, nram: Regions, px_grad: Ptr, py_grad: Ptr, S: int, T: int) -> None:
    """Store all rows of both gradients: the end of step 3 (MI-17)."""
    if S > 0:
        mlu.memcpy(px_grad, nram.term1, S * (T + 1) * FLOAT, NRAM2GDRAM)
    if T > 0:
        mlu.memcpy(py_grad, nram.term2, (S + 1) * T * FLOAT, NRAM2GDRAM)
