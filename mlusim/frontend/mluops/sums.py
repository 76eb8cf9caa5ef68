"""Sums of many rows by pooling, again and again."""

from mlusim.arch.dtypes import float32, half
from mlusim.frontend.mluops.checks import Helper
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr

_POOL = Helper("__mluop_recursive_sum_pool")


def mluop_recursive_sum_pool(mlu: Mlu, dst: Ptr, low_dim: int, high_dim: int, kernel_limit: int) -> None:
    """Sum rows in place: ``dst[c] = sum of dst[r][c]`` over *high_dim* rows of *low_dim* elements, half or float.

    ``__bang_sumpool`` adds up to *kernel_limit* rows at a time, in place, until one is left; the rows
    behind the first are destroyed.  *kernel_limit* is at least 2, for one row at a time never ends.
    Certain (vendor's common.h).  The order of the additions follows the windows, so compare floats with a
    tolerance.  Raises `RuleFault` for counts, `OutOfBounds` and `WrongSpace` as the other helpers do.
    """
    low_dim = _POOL.count(mlu, "low_dim", low_dim)
    high_dim = _POOL.count(mlu, "high_dim", high_dim)
    limit = _POOL.count(mlu, "kernel_limit", kernel_limit, 2)
    _POOL.vectors(mlu, low_dim * high_dim, (half, float32), dst=dst)
    while high_dim > 1:
        whole, rest = divmod(high_dim, limit)
        if whole:
            mlu.bang_sumpool(dst, dst, low_dim, 1, limit * whole, 1, limit, limit, 1)
        if rest:
            behind = dst + low_dim * limit * whole
            mlu.bang_sumpool(dst + low_dim * whole, behind, low_dim, 1, rest, 1, rest, rest, 1)
        high_dim = whole + (rest > 0)
