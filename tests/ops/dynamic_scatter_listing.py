"""The document's first kernel line by line, with the power to put single lines back to what it says."""

from types import SimpleNamespace

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int32, kernel


def listing(*wrong, sentinel=None, word=int32):
    """Return the document's first kernel; *wrong* names the defects that it keeps.

    *sentinel* stands for its Batch, *word* for the T of its copies.
    """

    @kernel
    def literal(mlu, feats, reduce_feats, result, coors_map, is_occupy, num_input, c, layout):
        """Do what the document says."""
        if mlu.is_mpu():
            return
        n = layout.values["n"]
        nram = _buffers(mlu, n, c)
        for n_start, now in _passes(mlu, num_input, n, wrong):
            for i in range(now):
                index = i if "DS-2" in wrong else n_start + i
                mlu.bang_write_value(nram.index_mask + i * c, c, index)
            mlu.memcpy(nram.reduce_offset, coors_map + n_start, now * 4, GDRAM2NRAM)
            _load(mlu, nram, feats + n_start * c, reduce_feats, now, c)
            _mask(mlu, nram, now * c, num_input if sentinel is None else sentinel, wrong)
            for i in range(now):
                index_offset = int(nram.reduce_offset[i])
                if _is_written(index_offset, wrong):
                    flag, ddr = is_occupy + index_offset, result + index_offset * c
                    _write(mlu, nram.result, nram.value_mask + i * c, flag, ddr, c, word.size, wrong)

    return literal


def _buffers(mlu, n, c):
    """Declare the buffers that the listing names."""
    names = ("index_mask", "value_mask", "tmp_mask", "feats", "reduce_feats")
    buffers = {name: mlu.nram(int32 if "mask" in name else float32, n * c) for name in names}
    return SimpleNamespace(**buffers, reduce_offset=mlu.nram(int32, n), result=mlu.nram(int32, c))


def _passes(mlu, num_input, n, wrong):
    """Yield (first point, points) of each pass of this task."""
    if "DS-3" in wrong:  # no outer loop: every task takes the first n points, and none the others
        yield 0, min(n, num_input)
        return
    share, rest = divmod(num_input, mlu.taskDim)
    start = mlu.taskId * share + min(mlu.taskId, rest)
    stop = start + share + (mlu.taskId < rest)
    for n_start in range(start, stop, n):
        yield n_start, min(n, stop - n_start)


def _load(mlu, nram, feats, reduce_feats, now, c):
    """Load the features of the points and of their voxels."""
    mlu.memcpy_async(nram.feats, feats, now * c * 4, GDRAM2NRAM)
    for i in range(now):
        if nram.reduce_offset[i] != -1:
            source = reduce_feats + int(nram.reduce_offset[i]) * c
            mlu.memcpy_async(nram.reduce_feats + i * c, source, c * 4, GDRAM2NRAM)
    mlu.sync_io()


def _mask(mlu, nram, count, batch, wrong):
    """Put the point's index where the features are equal, and the sentinel elsewhere."""
    equal = nram.value_mask.cast(float32)
    mlu.bang_eq(equal, nram.reduce_feats, nram.feats, count)
    if "DS-4" in wrong:
        mlu.bang_mul(equal, equal, nram.index_mask, count)
    mlu.bang_float2int32(nram.value_mask, equal, count, 0)
    mlu.bang_not(nram.tmp_mask, nram.value_mask, count)
    mlu.bang_mul(nram.value_mask, nram.value_mask, nram.index_mask, count)
    mlu.bang_mul_scalar(nram.tmp_mask, nram.tmp_mask, batch, count)
    mlu.bang_add(nram.value_mask, nram.value_mask, nram.tmp_mask, count)


def _is_written(index_offset, wrong):
    """Return whether the listing writes a point of this voxel."""
    if "DS-7" in wrong:
        return index_offset > 0
    return index_offset != -1 or "DS-6" in wrong


def _write(mlu, result_nram, value, flag, ddr, c, size, wrong):
    """Take one point's row into its voxel's result."""
    if "DS-8" in wrong:  # as the assignment that it must have been meant to be
        mlu.bang_atomic_cas(result_nram, flag, 0, 1)
    while "no lock" not in wrong:
        mlu.bang_atomic_cas(result_nram, flag, 0, 1)
        if result_nram[0] == 0:
            break
    mlu.memcpy(result_nram, ddr, c * size, GDRAM2NRAM)
    mlu.bang_minimum(result_nram, result_nram, value, c)
    mlu.memcpy(ddr, result_nram, c * size, NRAM2GDRAM)
    if "DS-9" not in wrong:
        mlu.bang_atomic_exch(result_nram, flag, 0, 1)
