"""The two kernels of dynamic_scatter_backward (max): find the point that gave each maximum, and store its gradient there.

The first follows the document's listing, with either of the document's two schemes for its second stage; the second
has no listing and follows the document's sentence about it.  ``DS-n`` marks a correction;
`docs/operators/dynamic_scatter_backward.md` gives the reasons.
"""

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, int8, int32, kernel
from mlusim.plan import Layout, Regions
from .plan import PLANS, POINTS, VOXELS, m, n

POINTS_PER_PASS, VOXELS_PER_PASS = n.name, m.name
FREE, OCCUPIED = 0, 1  # of a voxel's flag; the document's bool is a word here, the smallest type of an atomic
WORD = int32.size  # bytes, of indices and features alike
NONE = 0xFFFFFFFF  # __bang_findfirst1's result if nothing is found


@kernel
def max_reduce_traceback_scatter_idx_kernel(
    mlu: Mlu,
    feats_gdram: Ptr,
    reduce_feats_gdram: Ptr,
    result_gdram: Ptr,
    coors_map: Ptr,
    is_occupy: Ptr | None,
    num_input: int,
    num_feats: int,
    layout: Layout,
) -> None:
    """Kernel 1: lower result [M, C] to the smallest point that has its voxel's features [N, C], [M, C].

    result holds num_input for every element without a point so far (DS-11).  is_occupy is int32 [M], all free
    (DS-10), for the document's scheme 2; None for its scheme 1, which needs no flags.
    """
    if mlu.is_mpu():
        return
    nram_buffer = mlu.nram(int8, layout.stage(POINTS.name).used)
    points = layout.values[POINTS_PER_PASS]
    nram = PLANS[layout.plan].place(nram_buffer, C=num_feats, n=points, m=layout.values[VOXELS_PER_PASS])
    start, count = task_share(mlu, num_input)
    for i in range(min(points, count)):  # DS-1
        mlu.bang_write_value(nram.index_mask + i * num_feats, num_feats, start + i)  # DS-2
    for n_start in range(start, start + count, points):  # DS-3
        now = min(points, start + count - n_start)
        if n_start > start:  # DS-2: the rows of the previous pass, advanced by one pass
            mlu.bang_add_scalar(nram.index_mask, nram.index_mask, points, now * num_feats)
        mlu.memcpy(nram.reduce_offset, coors_map + n_start, now * WORD, GDRAM2NRAM)
        index_offset = int(nram.reduce_offset[0])
        get_mask(mlu, nram, feats_gdram + n_start * num_feats, reduce_feats_gdram, now, num_input, num_feats)
        if is_occupy is None:
            reduce_minimum(mlu, nram, result_gdram, index_offset, now, num_feats)
        else:
            write_minimum(mlu, nram, result_gdram, is_occupy, index_offset, now, num_feats)


def task_share(mlu: Mlu, total: int) -> tuple[int, int]:
    """Return the first of this task's share of *total* items, and their number."""
    share, rest = divmod(total, mlu.taskDim)
    return mlu.taskId * share + min(mlu.taskId, rest), share + (mlu.taskId < rest)


def get_mask(
    mlu: Mlu, nram: Regions, feats_gdram: Ptr, reduce_feats_gdram: Ptr, n: int, num_input: int, c: int
) -> None:
    """Stage 1: set value_mask [n, C] to the point's index where the point has its voxel's feature, else to the sentinel."""
    reduce_offset, reduce_feats_nram, value_mask = nram.reduce_offset, nram.reduce_feats, nram.value_mask
    memcpy_async, row = mlu.memcpy_async, c * float32.size
    memcpy_async(nram.feats, feats_gdram, n * row, GDRAM2NRAM)
    for i in range(n):
        voxel = int(reduce_offset[i])
        if voxel >= 0:
            memcpy_async(reduce_feats_nram + i * c, reduce_feats_gdram + voxel * c, row, GDRAM2NRAM)
    mlu.sync_io()
    equal = value_mask.cast(float32)
    mlu.bang_eq(equal, reduce_feats_nram, nram.feats, n * c)  # DS-14
    mlu.bang_float2int32(value_mask, equal, n * c, 0)  # DS-4
    mlu.bang_not(nram.tmp_mask, value_mask, n * c)
    mlu.bang_mul(value_mask, value_mask, nram.index_mask, n * c)
    mlu.bang_mul_scalar(nram.tmp_mask, nram.tmp_mask, num_input, n * c)  # DS-5
    mlu.bang_add(value_mask, value_mask, nram.tmp_mask, n * c)


def reduce_minimum(mlu: Mlu, nram: Regions, result_gdram: Ptr, index_offset: int, n: int, c: int) -> None:
    """Stage 2, scheme 1: lower the result of each point's voxel to the point's row by atomic minima in GDRAM."""
    reduce_offset, value_mask, reduce_min = nram.reduce_offset, nram.value_mask, mlu.bang_atomic_reduce_min
    ddr_offset = index_offset * c
    for i in range(n):
        if index_offset >= 0:  # DS-6, DS-7
            reduce_min(result_gdram + ddr_offset, value_mask + i * c, c)
        if i < n - 1:
            index_offset = int(reduce_offset[i + 1])
            ddr_offset = index_offset * c


def write_minimum(
    mlu: Mlu, nram: Regions, result_gdram: Ptr, is_occupy: Ptr, index_offset: int, n: int, c: int
) -> None:
    """Stage 2, scheme 2: lower the result of each point's voxel to the point's row, one task at a time per voxel."""
    reduce_offset, result_nram, value_mask = nram.reduce_offset, nram.result, nram.value_mask
    memcpy, bang_minimum, cas, exch = mlu.memcpy, mlu.bang_minimum, mlu.bang_atomic_cas, mlu.bang_atomic_exch
    row = c * WORD  # DS-12
    ddr_offset = index_offset * c
    for i in range(n):
        if index_offset >= 0:  # DS-6, DS-7; DS-8: nothing is tested or set before the loop
            flag, result = is_occupy + index_offset, result_gdram + ddr_offset
            while True:
                # pvLock, test, set and pvUnlock are one atomic step; the old value of the flag is left in result_nram.
                cas(result_nram, flag, FREE, OCCUPIED)
                is_go_local = int(result_nram[0]) == FREE
                if is_go_local:
                    memcpy(result_nram, result, row, GDRAM2NRAM)
                    bang_minimum(result_nram, result_nram, value_mask + i * c, c)
                    memcpy(result, result_nram, row, NRAM2GDRAM)
                    exch(result_nram, flag, FREE, 1)  # DS-9
                    break
        if i < n - 1:
            index_offset = int(reduce_offset[i + 1])
            ddr_offset = index_offset * c


@kernel
def max_reduce_scatter_grad_kernel(
    mlu: Mlu,
    grad_feats: Ptr,
    grad_reduced_feats: Ptr,
    reduce_from: Ptr,
    voxel_num: Ptr,
    num_input: int,
    num_feats: int,
    layout: Layout,
) -> None:
    """Kernel 2 (DS-13): give each gradient [M, C] of the first voxel_num[0] voxels to the point it came from."""
    if mlu.is_mpu():
        return
    nram_buffer = mlu.nram(int8, layout.stage(VOXELS.name).used)
    voxels = layout.values[VOXELS_PER_PASS]
    points = layout.values[POINTS_PER_PASS]
    nram = PLANS[layout.plan].place(nram_buffer, C=num_feats, n=points, m=voxels)
    start, count = task_share(mlu, int(voxel_num[0]))
    for x in range(start, start + count, voxels):
        now = min(voxels, start + count - x)
        size = now * num_feats * WORD
        mlu.memcpy(nram.scatter_to, reduce_from + x * num_feats, size, GDRAM2NRAM)
        mlu.memcpy(nram.grad_reduced_feats, grad_reduced_feats + x * num_feats, size, GDRAM2NRAM)
        scatter(mlu, nram, grad_feats, now, num_input, num_feats)


def scatter(mlu: Mlu, nram: Regions, grad_feats: Ptr, voxels: int, num_input: int, c: int) -> None:
    """Store, for each voxel and each of its points, the point's row: its gradients, and zero elsewhere.

    A point belongs to one voxel, so its row is stored once, and its zeros overwrite only zeros.
    """
    rest, mask, grad, row = nram.rest, nram.mask, nram.grad, c * float32.size
    find, eq_scalar, mul_scalar = mlu.bang_findfirst1, mlu.bang_eq_scalar, mlu.bang_mul_scalar
    grad_bits = grad.cast(int32)
    for i in range(voxels):
        scatter_to = nram.scatter_to + i * c
        bits = (nram.grad_reduced_feats + i * c).cast(int32)
        mlu.bang_ne_scalar(rest, scatter_to, num_input, c)  # DS-13: a maximum without a point is dropped
        while (first := find(rest, c)) != NONE:
            point = int(scatter_to[first])
            eq_scalar(mask, scatter_to, point, c)
            mul_scalar(mask, mask, -1, c)
            mlu.bang_add(rest, rest, mask, c)
            mlu.bang_band(grad_bits, bits, mask, c)  # bits, since a product makes NaN of infinity * 0
            mlu.memcpy(grad_feats + point * c, grad, row, NRAM2GDRAM)
