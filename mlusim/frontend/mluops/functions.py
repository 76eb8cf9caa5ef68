"""Exponential, natural logarithm and sigmoid of vectors, out of powers and logarithms of two."""

import numpy as np

from mlusim.arch.dtypes import float32, half
from mlusim.frontend.mluops.arithmetic import invert, through_floats
from mlusim.frontend.mluops.checks import Helper
from mlusim.frontend.mluops.scalars import mluop_float2half
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr

LOG2_E = np.uint32(0x3FB8AA3B).view(np.float32)  # log2(e), rounded to float
LN_2 = np.uint32(0x3F317217).view(np.float32)  # the vendor's bits: cut off, not rounded

_EXP, _LOG, _SIGMOID = (Helper(f"__mluop_{name}") for name in ("exp", "log", "sigmoid"))


def _power_of_e(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None:
    """``dst[i] = e ** src[i]`` in float, in place or apart."""
    if mlu.BANG_ARCH >= 300:
        mlu.bang_mul_scalar(dst, src, LOG2_E, n)
        mlu.bang_pow2(dst, dst, n)
    else:
        mlu.bang_active_exphp(dst, src, n)


def _log2(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None:
    """``dst[i] = log2(src[i])`` in float, in place or apart."""
    mlu.bang_log2(dst, src, n)


def mluop_exp(mlu: Mlu, dst: Ptr, src: Ptr, addition: Ptr | None, is_high_precision: bool, n: int) -> None:
    """Exponential: ``dst[i] = e ** src[i]`` as ``2 ** (src[i] * log2(e))``, *n* elements of half or float in NRAM.

    *dst* may be exactly *src*.  Half goes through floats in *addition* (room for *n* floats, destroyed,
    apart from *src*); float leaves *addition* alone, and it may be None.  The product is rounded to float,
    so the relative error grows with ``|src|``: about ``|src| * 2**-24``.  Certain (vendor's common.h).
    Inferred: MLU2xx uses ``__bang_active_exphp``, there alone *is_high_precision* matters, and false
    keeps half in half.  Raises faults as `mluop_div` does.
    """
    n = _EXP.count(mlu, "n", n)
    precise = _EXP.flag(mlu, "is_high_precision", is_high_precision)
    _, source = _EXP.vectors(mlu, n, dst=dst, src=src)
    if dst.dtype is float32:
        _power_of_e(mlu, dst, src, n)
    elif mlu.BANG_ARCH < 300 and not precise:
        mlu.bang_active_exphp(dst, src, n)
    else:
        through_floats(mlu, _power_of_e, dst, src, _EXP.scratch(mlu, "addition", addition, n, source), n)


def mluop_log(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    addition: Ptr | None,
    is_high_precision: bool,
    n: int,
) -> None:
    """Natural logarithm: ``dst[i] = log2(src[i]) * ln(2)`` for *n* elements of half or float in NRAM.

    *dst* may be exactly *src*.  Half takes the binary logarithm in floats in *addition* (room for *n*
    floats, destroyed, apart from *src*), converts it **and then multiplies in half**, so it is rounded
    twice; float leaves *addition* alone, and it may be None.  *is_high_precision* has no effect.
    Certain (vendor's common.h).  MLU2xx has no ``__bang_log2``: `Unsupported`.  Raises other faults as
    `mluop_div` does.
    """
    n = _LOG.count(mlu, "n", n)
    _LOG.flag(mlu, "is_high_precision", is_high_precision)
    _, source = _LOG.vectors(mlu, n, dst=dst, src=src)
    if dst.dtype is half:
        through_floats(mlu, _log2, dst, src, _LOG.scratch(mlu, "addition", addition, n, source), n)
    else:
        _log2(mlu, dst, src, n)
    mlu.bang_mul_scalar(dst, dst, LN_2, n)


def mluop_sigmoid(
    mlu: Mlu,
    dst: Ptr,
    src: Ptr,
    addition: Ptr | None,
    is_high_precision: bool,
    n: int,
) -> None:
    """Sigmoid: ``dst[i] = 1 / (1 + e ** -src[i])`` for *n* elements of half or float in NRAM.

    *dst* may be exactly *src*.  Half goes through floats in *addition* (room for *n* floats, destroyed,
    apart from *src* and *dst*), and the reciprocals are written **as floats into dst** before they are
    converted: dst needs room for *n* floats, and its second half is destroyed.  Float leaves *addition*
    alone, and it may be None.  *is_high_precision* has no effect.  Certain (vendor's common.h); that MLU2xx
    uses ``__bang_active_sigmoid`` is inferred.  Raises faults as `mluop_div` does.
    """
    n = _SIGMOID.count(mlu, "n", n)
    _SIGMOID.flag(mlu, "is_high_precision", is_high_precision)
    to, source = _SIGMOID.vectors(mlu, n, dst=dst, src=src)
    if mlu.BANG_ARCH < 300:
        mlu.bang_active_sigmoid(dst, src, n)
        return
    first, room, wide = src, dst, dst
    if dst.dtype is half:
        to = _SIGMOID.span(
            mlu, "dst", dst, float32.size * n, hint="half writes floats into dst: give it twice the room"
        )
        if dst != src:
            _SIGMOID.apart(mlu, to, source, "half writes floats into dst; give it room behind, or dst = src")
        first = room = _SIGMOID.scratch(mlu, "addition", addition, n, source, to)
        wide = dst.cast(float32)
        mlu.bang_half2float(room, src, n)
    mlu.bang_mul_scalar(room, first, -1, n)
    _power_of_e(mlu, room, room, n)
    mlu.bang_add_scalar(room, room, 1, n)
    invert(mlu, wide, room, n)
    if dst.dtype is half:
        mluop_float2half(mlu, dst, wide, n)
