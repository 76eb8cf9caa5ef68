"""The document's listing of mutual_information_backward, each of its defects to be corrected or left in.

``fixed`` holds the numbers of the corrections to apply; the rest runs as the document prints it.  This
is written from the listing, apart from the kernel of the operator, and shares none of its code.
Where a boundary is given, the loops run over its region and the rows begin at its first frame.
"""

from typing import Any

from attrs import frozen

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, Mlu, Ptr, float32, int8, int32, kernel

EVERY_CORRECTION = frozenset(range(1, 21))


@frozen
class Entry:
    """One batch entry: its pointers, sizes, region, and the corrections in force."""

    mlu: Mlu
    fixed: frozenset[int]
    buffer: Ptr
    px: Ptr
    py: Ptr
    p: Ptr
    S: int
    T: int
    box: tuple[int, int, int, int]

    @property
    def term1(self) -> Ptr:
        """S rows of T+1, first in the buffer."""
        return self.buffer

    @property
    def term2(self) -> Ptr:
        """S+1 rows of T, behind term1."""
        return self.buffer + self.S * (self.T + 1)

    @property
    def rest(self) -> Ptr:
        """What lies behind term2: scratch in step 1, p_grad from step 2 on."""
        return self.term2 + (self.S + 1) * self.T

    @property
    def t_len(self) -> int:
        """Frames of the region, both ends included."""
        return self.box[3] - self.box[1] + 1


def setNanInfToZero(mlu: Mlu, src: Ptr, mask: Ptr, num: int) -> None:
    """As printed."""
    mlu.bang_sub(mask, src, src, num)
    mlu.bang_eq_scalar(mask, mask, 0.0, num)
    mlu.bang_float2int32_rn(mask.cast(int32), mask, num, 0)
    mlu.bang_mul_scalar(mask.cast(int32), mask.cast(int32), -1, num)
    mlu.bang_band(src.cast(int8), src.cast(int8), mask.cast(int8), num * 4)


def safeExp(mlu: Mlu, dst: Ptr, src: Ptr, mask: Ptr, num: int) -> None:
    """As printed; exp is two to the power of log2(e) times the argument."""
    setNanInfToZero(mlu, src, mask, num)
    mlu.bang_mul_scalar(dst, src, float32(1.442695041), num)
    mlu.bang_pow2(dst, dst, num)
    mlu.bang_band(dst.cast(int8), dst.cast(int8), mask.cast(int8), num * 4)
    setNanInfToZero(mlu, dst, mask, num)


def computeTerm1AndTerm2(e: Entry) -> None:
    """Step 1 of the listing."""
    mlu, T, (s0, t0, s1, _), n = e.mlu, e.T, e.box, e.t_len
    cur_p = e.rest
    next_p, large_neg, mask = cur_p + n, cur_p + 2 * (T + 1), cur_p + 4 * (T + 1)
    mlu.bang_write_value(large_neg, 2 * n, float32(-1.0e30))
    for i in range(s0, s1 + 1):
        row1, row2 = i * (T + 1) + t0, i * T + t0
        if i < s1:
            mlu.memcpy(e.term1 + row1, e.px + row1, n * 4, GDRAM2NRAM)
        if n > 1 or 4 not in e.fixed:
            mlu.memcpy(e.term2 + row2, e.py + row2, (n - 1) * 4, GDRAM2NRAM)
        if i == s1:
            mlu.memcpy(cur_p, e.p + row1, n * 4, GDRAM2NRAM)
        elif 3 in e.fixed:
            mlu.memcpy(cur_p, e.p + row1, n * 4, GDRAM2NRAM, n * 4, (T + 1) * 4, 1)
        else:
            mlu.memcpy(cur_p, e.p + row1, 2 * n * 4, GDRAM2NRAM)
        if i < s1:
            mlu.bang_nan_maximum(cur_p, cur_p, large_neg, 2 * n)
            mlu.bang_add(e.term1 + row1, e.term1 + row1, cur_p, n)
            mlu.bang_sub(e.term1 + row1, e.term1 + row1, next_p, n)
            safeExp(mlu, e.term1 + row1, e.term1 + row1, mask, n)
        elif 2 in e.fixed:
            mlu.bang_nan_maximum(cur_p, cur_p, large_neg, n)
        if n > 1 or 4 not in e.fixed:
            mlu.bang_add(e.term2 + row2, e.term2 + row2, cur_p, n - 1)
            mlu.bang_sub(e.term2 + row2, e.term2 + row2, cur_p + 1, n - 1)
            safeExp(mlu, e.term2 + row2, e.term2 + row2, mask, n - 1)


def literal_data_num(i: int, S: int, T: int) -> int:
    """Cells on anti-diagonal *i*, as the listing has it."""
    return min(i + 1, S) if i < T else T + S - i


def data_num(e: Entry, i: int) -> int:
    """Cells on anti-diagonal *i*, as far as the corrections go."""
    s0, _, s1, _ = e.box
    rows, columns = s1 - s0 + 1, e.t_len
    if 7 not in e.fixed:
        return literal_data_num(i, rows - 1, columns - 1)
    shorter = min(rows, columns) if 13 in e.fixed else min(e.S, e.T) + 1
    return min(i + 1, shorter, rows + columns - 1 - i)


def computePGrad(e: Entry, ans_grad: Ptr, overwrite_ans_grad: bool) -> None:
    """Step 2 of the listing."""
    mlu, T, (s0, t0, s1, t1) = e.mlu, e.T, e.box
    longest = min(e.S, e.T) + 1
    p_grad = e.rest
    cur_term1 = p_grad + (e.S + 1) * (T + 1)
    cur_term2 = cur_term1 + longest + (1 if 11 in e.fixed else 0)
    cur_p_grad = cur_term2 + longest
    if 11 not in e.fixed:
        mlu.bang_write_value(cur_p_grad, min(e.S, T) + 2, float32(0.0))
    elif 10 in e.fixed:
        mlu.bang_write_value(cur_term1, 3 * longest + 1, float32(0.0))
    else:
        mlu.bang_write_value(cur_p_grad, longest, float32(0.0))
    if 6 in e.fixed:
        p_grad[s1 * (T + 1) + t1] = ans_grad[0]
        cur_p_grad[0] = ans_grad[0]
    for i in range(1, s1 - s0 + t1 - t0 + 1):
        diagonal(e, i, p_grad, (cur_term1, cur_term2, cur_p_grad))
    if overwrite_ans_grad and 12 in e.fixed:
        ans_grad[0] = p_grad[s0 * (T + 1) + t0]


def diagonal(e: Entry, i: int, p_grad: Ptr, scratch: tuple[Ptr, Ptr, Ptr]) -> None:
    """One pass of the loop of step 2; cur_p_grad still holds the diagonal before, so it is not loaded."""
    mlu, T, (s0, _, s1, t1) = e.mlu, e.T, e.box
    cur_term1, cur_term2, cur_p_grad = scratch
    rows, columns, num = s1 - s0 + 1, e.t_len, data_num(e, i)
    rising = i < rows  # the diagonal still begins in the last column
    s, t = (s1 - i, t1) if rising else (s0, t1 + rows - i - 1)
    num1, num2 = num - (i < columns), num - rising
    if num1 and 8 in e.fixed:
        mlu.memcpy(cur_term1, e.term1 + (s * (T + 1) + t), 4, NRAM2NRAM, 4, T * 4, num1 - 1)
    if num2 and 8 in e.fixed:
        first = (s + rising) * T + t - rising
        mlu.memcpy(cur_term2, e.term2 + first, 4, NRAM2NRAM, 4, (T - 1) * 4, num2 - 1)
    apart = 9 in e.fixed
    if num1:
        mlu.bang_mul(cur_term1, cur_term1, cur_p_grad + (1 if apart and not rising else 0), num1)
    if num2:
        mlu.bang_mul(cur_term2, cur_term2, cur_p_grad, num2)
    mlu.bang_add(cur_p_grad, cur_term1, cur_term2 - (1 if apart and rising else 0), num)
    if 8 in e.fixed:
        mlu.memcpy(p_grad + (s * (T + 1) + t), cur_p_grad, 4, NRAM2NRAM, T * 4, 4, num - 1)


def computePxGradAndPyGrad(e: Entry) -> None:
    """The products of step 3 of the listing."""
    mlu, S, T, (s0, t0, s1, _), n = e.mlu, e.S, e.T, e.box, e.t_len
    p_grad = e.rest
    for i in range(s0, s1 + 1):
        row1, row2 = i * (T + 1) + t0, i * T + t0
        if i < s1:
            source = row1 if 15 in e.fixed else S * (T + 1)
            below = row1 + T + 1 if 15 in e.fixed else S * (T + 1)
            mlu.bang_mul(e.term1 + row1, e.term1 + source, p_grad + below, n)
        corrected = (14 if i == s1 else 16) in e.fixed
        if n > 1:
            right = (row1 if corrected else row2) + 1
            mlu.bang_mul(e.term2 + row2, e.term2 + row2, p_grad + right, n - 1)


def store(e: Entry, px_grad: Any, py_grad: Any, batch: int) -> None:
    """The copies at the end of step 3; ``i`` is S after the loop."""
    mlu, S, T = e.mlu, e.S, e.T
    if 17 not in e.fixed:
        mlu.memcpy(px_grad + S * (T + 1), e.term1 + S * (T + 1), (T + 1) * 4, NRAM2GDRAM)
        mlu.memcpy(py_grad + S * T, e.term2 + S * T, T * 4, NRAM2GDRAM)
        return
    target = px_grad if 18 in e.fixed else py_grad  # the comment calls both products py_grad
    if S:
        mlu.memcpy(target + batch * S * (T + 1), e.term1, S * (T + 1) * 4, NRAM2GDRAM)
    if T:
        mlu.memcpy(py_grad + batch * (S + 1) * T, e.term2, (S + 1) * T * 4, NRAM2GDRAM)


def scratch_floats(fixed: frozenset[int], S: int, T: int) -> int:
    """Floats behind the terms: the drawings' (5 and 11 not corrected), or what the steps touch."""
    first = 5 * (T + 1) if 5 in fixed else 5 * T
    second = (S + 1) * (T + 1) + 3 * min(S, T) + (4 if 11 in fixed else 2)
    return max(first, second)


@kernel
def listing(
    mlu: Mlu, px: Ptr, py: Ptr, opt_boundary: Any, p: Ptr, ans_grad: Ptr, overwrite_ans_grad: bool,
    px_grad: Ptr, py_grad: Ptr, sizes: tuple[int, int, int], fixed: frozenset[int],
) -> None:  # fmt: skip
    """The kernel of the listing on one core."""
    B, S, T = sizes
    floats = S * (T + 1) + (S + 1) * T + scratch_floats(fixed, S, T)
    buffer = mlu.nram(float32, floats)
    for b in range(B):
        at = b if 1 in fixed else 0
        box = (0, 0, S, T)
        if opt_boundary is not None and 20 in fixed:
            box = tuple(int(opt_boundary[4 * b + k]) for k in range(4))
            mlu.bang_write_zero(buffer, S * (T + 1) + (S + 1) * T)
        base_px, base_py = px + at * S * (T + 1), py + at * (S + 1) * T
        e = Entry(mlu, fixed, buffer, base_px, base_py, p + at * (S + 1) * (T + 1), S, T, box)
        if box[0] <= box[2] and box[1] <= box[3]:
            computeTerm1AndTerm2(e)
            computePGrad(e, ans_grad + b, overwrite_ans_grad)
            computePxGradAndPyGrad(e)
        store(e, px_grad, py_grad, b)


@kernel
def kernel_as_printed(
    mlu, px, py, opt_boundary, p, ans_grad, overwrite_ans_grad, workspace, px_grad, py_grad
):
    """The kernel of the document, its nine parameters and its calls without arguments (MI-19)."""
    num_per_core = batches // mlu.taskDim  # noqa: F821 - so it is printed
    num_rem = batches % mlu.taskDim  # noqa: F821
    num_cur_core = num_per_core + (mlu.taskId < num_rem)
    b_offset = mlu.taskId * num_cur_core + (mlu.taskId >= num_rem) * num_rem
    for _ in range(b_offset, b_offset + num_cur_core):
        computeTerm1AndTerm2()
        computePGrad()
        computePxGradAndPyGrad()
