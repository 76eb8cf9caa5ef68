"""The kernel of three_interpolate_backward: weighted gradients, added row by row to the features.

The document gives steps 1 to 13 and no pseudocode; the comments name the step that a statement
implements.  ``TI-n`` marks a correction of the document; `docs/operators/three_interpolate_backward.md`
gives the reasons.  In NRAM a row is one feature with its channels side by side, so that a
contribution is one vector addition.
"""

from mlusim.bang import (
    DIV_UP,
    GDRAM2NRAM,
    NFU_ALIGN_SIZE,
    NRAM2GDRAM,
    NRAM2NRAM,
    PAD_UP,
    Mlu,
    Ptr,
    float32,
    half,
    int8,
    int16,
    int32,
    kernel,
)
from mlusim.plan import Layout, Regions
from .plan import PLAN, Co, Mo, No

FLOAT_OF_0 = 0x4B000000
"""The bits of the float 2^23; with a number below 2^23 in its lower bits, they are the float 2^23 plus that number (TI-12)."""
LOWER_BITS = 0x7FFFFF
INDEX_LIMIT = 1 << 23


@kernel
def MLUUnion1ThreeInterpolateBackward(
    mlu: Mlu,
    grad_output: Ptr,
    indices: Ptr,
    weights: Ptr,
    grad_features: Ptr,
    b: int,
    c: int,
    n: int,
    m: int,
    layout: Layout,
) -> None:
    """Overwrite grad_features [B, C, M] from grad_output [B, C, N], indices and weights [B, N, 3].

    *layout* holds the tiles Co, No and Mo (elements, multiples of 128 bytes) and the bytes of NRAM.
    """
    if mlu.is_mpu():
        return
    dtype = grad_output.dtype
    co, no, mo = (layout.values[tile.name] for tile in (Co, No, Mo))
    nram = PLAN.place(mlu.nram(int8, layout.high_water), dtype=dtype, Co=co, No=no, Mo=mo)
    align = NFU_ALIGN_SIZE // dtype.size
    m_tiles = DIV_UP(m, mo)
    repeat_m = b * m_tiles  # TI-3: a tile of features belongs to one batch
    rem_num = repeat_m % mlu.taskDim
    task_repeats = repeat_m // mlu.taskDim + (1 if mlu.taskId < rem_num else 0)  # step 1
    first = mlu.taskId * task_repeats + (0 if mlu.taskId < rem_num else rem_num)
    for item in range(first, first + task_repeats):  # step 13, TI-11
        batch, m_tile = divmod(item, m_tiles)
        m_begin = m_tile * mo
        m_real = min(mo, m - m_begin)  # TI-3: the tail of M
        m_deal = PAD_UP(m_real, align)
        for c_begin in range(0, c, co):  # step 12
            c_real = min(co, c - c_begin)  # TI-3: the tail of C
            c_deal = PAD_UP(c_real, align)
            channel = batch * c + c_begin
            clear_features(mlu, nram, mo, c_deal)
            rows = [nram.grad_output_transpose + i * c_deal for i in range(min(no, n))]
            for n_begin in range(0, n, no):  # step 10, TI-1: steps 3 to 9 for every tile of N
                n_real = min(no, n - n_begin)  # TI-3: the tail of N
                n_deal = PAD_UP(n_real, align)
                point = (batch * n + n_begin) * 3
                load_neighbours(mlu, nram, indices + point, weights + point, n_real, n_deal)
                load_gradients(
                    mlu, nram, grad_output + (channel * n + n_begin), n, n_real, n_deal, c_real, c_deal
                )
                for j in range(3):  # TI-2: one neighbour after the other
                    select_rows(mlu, nram, j, n_deal, m_begin, m_begin + m_real, mo, c_deal)
                    multiply(mlu, nram, j, n_deal, c_deal)
                    add_rows(mlu, nram, rows[:n_real], c_deal)
            store_features(
                mlu, nram, grad_features + (channel * m + m_begin), m, m_real, m_deal, c_real, c_deal
            )


def clear_features(mlu: Mlu, nram: Regions, mo: int, c_deal: int) -> None:
    """Set the rows of *mo* features and the spare row to zero, where the document transposes (step 7, TI-4)."""
    mlu.bang_write_zero(nram.grad_features, (mo + 1) * c_deal)


def load_neighbours(mlu: Mlu, nram: Regions, indices: Ptr, weights: Ptr, n_real: int, n_deal: int) -> None:
    """Load *n_real* points' indices and weights, N x 3, and transpose them to 3 x N of pitch *n_deal* (step 3)."""
    if n_real < n_deal:  # TI-8: the lanes behind the last point name no feature and weigh nothing
        mlu.bang_write_value(nram.indices, n_deal * 3, int32(-1))
        mlu.bang_write_zero(nram.weights, n_deal * 3)
    mlu.memcpy(nram.indices, indices, n_real * 3 * indices.dtype.size, GDRAM2NRAM)
    turn_neighbours(mlu, nram.indices_transpose, nram.indices, n_deal)
    mlu.memcpy(nram.weights, weights, n_real * 3 * weights.dtype.size, GDRAM2NRAM)
    turn_neighbours(mlu, nram.weights_transpose, nram.weights, n_deal)


def turn_neighbours(mlu: Mlu, target: Ptr, source: Ptr, n_deal: int) -> None:
    """Transpose N x 3 to 3 x N; MLU2xx cannot transpose rows of three elements and copies each separately (TI-12)."""
    if mlu.BANG_ARCH >= 300:
        mlu.bang_transpose(target, source, n_deal, 3)
        return
    es = source.dtype.size
    for j in range(3):
        mlu.memcpy(target + j * n_deal, source + j, es, NRAM2NRAM, es, 3 * es, n_deal - 1)


def load_gradients(
    mlu: Mlu, nram: Regions, grad_output: Ptr, n: int, n_real: int, n_deal: int, c_real: int, c_deal: int
) -> None:
    """Load *n_real* points of *c_real* channels that are *n* apart, to a pitch of *n_deal* (step 4)."""
    es = grad_output.dtype.size
    if n_real < n_deal or c_real < c_deal:  # TI-8: no undefined value is used
        mlu.bang_write_zero(nram.grad_output, c_deal * n_deal)
    mlu.memcpy(nram.grad_output, grad_output, n_real * es, GDRAM2NRAM, n_deal * es, n * es, c_real - 1)


def select_rows(
    mlu: Mlu,
    nram: Regions,
    j: int,
    n_deal: int,
    m_begin: int,
    m_end: int,
    spare: int,
    c_deal: int,
) -> None:
    """Convert neighbour *j*'s indices to row offsets; one outside [m_begin, m_end) gets the row *spare* and weight 0.

    Step 8 and TI-6.  Indices stay int32 (TI-9), and so do the comparisons in the document's two regions of floats.
    MLU2xx has no arithmetic of int32 and uses `select_rows_by_floats` instead.
    """
    if mlu.BANG_ARCH < 300:
        select_rows_by_floats(mlu, nram, j, n_deal, m_begin, m_end, spare, c_deal)
        return
    cells = nram.indices_transpose + j * n_deal
    weight = nram.weights_transpose + j * n_deal
    offsets = nram.indices_transpose_addition
    inside = nram.indices_transpose_inside
    other = nram.indices_transpose_outside
    mlu.bang_ge_scalar(inside, cells, m_begin, n_deal)
    mlu.bang_lt_scalar(other, cells, m_end, n_deal)
    mlu.bang_and(inside, inside, other, n_deal)
    mlu.bang_sub_scalar(offsets, cells, m_begin, n_deal)
    mlu.bang_mul(offsets, offsets, inside, n_deal)
    mlu.bang_not(other, inside, n_deal)
    mlu.bang_mul_scalar(other, other, spare, n_deal)
    mlu.bang_add(offsets, offsets, other, n_deal)
    mlu.bang_mul_scalar(offsets, offsets, c_deal, n_deal)
    # A mask of bits instead of a factor: NaN * 0 would stay NaN.
    mlu.bang_mul_scalar(inside, inside, -1, n_deal)
    if weight.dtype is half:
        mlu.bang_int322int16(other.cast(int16), inside, n_deal, 0, 0)
        inside = other
    mlu.bang_band(weight.cast(int8), weight.cast(int8), inside.cast(int8), n_deal * weight.dtype.size)


def select_rows_by_floats(
    mlu: Mlu, nram: Regions, j: int, n_deal: int, m_begin: int, m_end: int, spare: int, c_deal: int
) -> None:
    """Convert neighbour *j*'s indices to row offsets on MLU2xx; one outside [m_begin, m_end) gets the row *spare*.

    *m_end* is at most 2^23 (TI-12).  An index below 2^23 becomes the float 2^23 + index by an exclusive or; any other
    int32 becomes NaN or a float outside [2^23, 2^24), which is in no window.  Weights stay: the row *spare* is never
    stored.  The indices of the neighbour are overwritten.
    """
    words = nram.indices_transpose + j * n_deal
    other_words = nram.indices_transpose_outside
    cells, offsets, inside, other = (
        region.cast(float32)
        for region in (words, nram.indices_transpose_addition, nram.indices_transpose_inside, other_words)
    )
    cell_bytes, offset_bytes, other_bytes = (region.cast(int8) for region in (cells, offsets, other))
    nbytes = n_deal * int32.size
    mlu.bang_write_value(other_words, n_deal, int32(FLOAT_OF_0))
    mlu.bang_bxor(cell_bytes, cell_bytes, other_bytes, nbytes)
    mlu.bang_ge_scalar(inside, cells, INDEX_LIMIT + m_begin, n_deal)
    mlu.bang_ge_scalar(other, cells, INDEX_LIMIT + m_end, n_deal)
    mlu.bang_sub(inside, inside, other, n_deal)
    # Only numbers of the window's kind enter arithmetic: NaN * 0 would stay NaN.
    mlu.bang_write_value(other_words, n_deal, int32(LOWER_BITS))
    mlu.bang_band(cell_bytes, cell_bytes, other_bytes, nbytes)
    mlu.bang_write_value(other_words, n_deal, int32(FLOAT_OF_0))
    mlu.bang_bor(cell_bytes, cell_bytes, other_bytes, nbytes)
    mlu.bang_sub_scalar(offsets, cells, INDEX_LIMIT + m_begin, n_deal)
    mlu.bang_sub_scalar(offsets, offsets, spare, n_deal)
    mlu.bang_mul(offsets, offsets, inside, n_deal)
    mlu.bang_add_scalar(offsets, offsets, spare, n_deal)
    mlu.bang_mul_scalar(offsets, offsets, c_deal, n_deal)
    mlu.bang_add_scalar(offsets, offsets, INDEX_LIMIT, n_deal)
    mlu.bang_bxor(offset_bytes, offset_bytes, other_bytes, nbytes)


def multiply(mlu: Mlu, nram: Regions, j: int, n_deal: int, c_deal: int) -> None:
    """Multiply grad_output by the weights of neighbour *j* and transpose the product to N x C (steps 5 and 6)."""
    product = nram.grad_features_transpose  # free until the features are transposed back
    weight = nram.weights_transpose + j * n_deal
    mlu.bang_cycle_mul(product, nram.grad_output, weight, c_deal * n_deal, n_deal)
    mlu.bang_transpose(nram.grad_output_transpose, product, c_deal, n_deal)


def add_rows(mlu: Mlu, nram: Regions, rows: list[Ptr], c_deal: int) -> None:
    """Add every row to the row of features at its offset, one after the other (step 9, TI-5).

    A vector addition of all rows at once would keep one of several contributions to a feature.
    """
    bang_add = mlu.bang_add
    features, offsets = nram.grad_features, nram.indices_transpose_addition
    for i, row in enumerate(rows):
        selected = features + int(offsets[i])
        bang_add(selected, selected, row, c_deal)


def store_features(
    mlu: Mlu, nram: Regions, grad_features: Ptr, m: int, m_real: int, m_deal: int, c_real: int, c_deal: int
) -> None:
    """Transpose the rows back to C x M (TI-4) and store *c_real* channels that are *m* apart (step 11)."""
    es = grad_features.dtype.size
    features = nram.grad_features_transpose
    mlu.bang_transpose(features, nram.grad_features, m_deal, c_deal)
    mlu.memcpy(grad_features, features, m_real * es, NRAM2GDRAM, m * es, m_deal * es, c_real - 1)
