"""Minimum, maximum and type tests of single numbers, and the conversion of floats to half.

Every helper takes ``mlu`` first, these too, although the first four execute nothing.
"""

from typing import Any, overload

import numpy as np

from mlusim.arch.dtypes import as_dtype, float32, half
from mlusim.errors import RuleFault
from mlusim.frontend.mluops.checks import Helper
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr

_MIN, _MAX, _FLOAT2HALF = (Helper(f"__mluop_{name}") for name in ("min", "max", "float2half"))


def mluop_min(mlu: Mlu, a: object, b: object) -> Any:
    """Return the smaller of two numbers, as C writes it: ``a < b ? a : b``, so *b* where one is NaN.

    Certain (vendor's common.h).  Raises `WrongSpace` for what is no number.
    """
    return a if _MIN.number(mlu, "a", a) < _MIN.number(mlu, "b", b) else b


def mluop_max(mlu: Mlu, a: object, b: object) -> Any:
    """Return the larger of two numbers, as C writes it: ``a > b ? a : b``, so *b* where one is NaN.

    Certain (vendor's common.h).  Raises `WrongSpace` for what is no number.
    """
    return a if _MAX.number(mlu, "a", a) > _MAX.number(mlu, "b", b) else b


def mluop_is_float(mlu: Mlu, dtype: object) -> bool:  # noqa: ARG001 - mlu comes first everywhere
    """Return whether an element type, or its name, is float: ``__mluop_is_float<T>()``.

    Certain (vendor's common.h).  Raises `UsageError` for what is no element type.
    """
    return as_dtype(dtype) is float32


def mluop_is_half(mlu: Mlu, dtype: object) -> bool:  # noqa: ARG001 - mlu comes first everywhere
    """Return whether an element type, or its name, is half: ``__mluop_is_half<T>()``.

    Certain (vendor's common.h).  Raises `UsageError` for what is no element type.
    """
    return as_dtype(dtype) is half


@overload
def mluop_float2half(mlu: Mlu, dst: object) -> np.float16: ...


@overload
def mluop_float2half(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None: ...


def mluop_float2half(mlu: Mlu, dst: Any, src: Any = None, n: Any = None) -> np.float16 | None:
    """Convert floats to half, to the nearest, ties to even: *n* elements of *src*, or the number given alone.

    *dst* is half, *src* float, both in NRAM; *dst* may be exactly *src*.  Certain (vendor's common.h);
    that MLU2xx, which lacks this rounding, rounds ties away from zero is inferred.  Raises `WrongSpace`,
    `OutOfBounds` and `RuleFault` for operands of another type, room or count.
    """
    nearest = mlu.BANG_ARCH >= 300
    if src is None and n is None:
        value = float32(_FLOAT2HALF.number(mlu, "the number", dst))
        return mlu.float2half_rn(value) if nearest else mlu.float2half_rd(value)
    if src is None or n is None:
        fault = RuleFault("two operands are given", legal="(mlu, dst, src, n), or (mlu, number)")
        raise _FLOAT2HALF.refuse(mlu, fault)
    n = _FLOAT2HALF.count(mlu, "n", n)
    _FLOAT2HALF.span(mlu, "dst", dst, n * half.size, (half,))
    _FLOAT2HALF.span(mlu, "src", src, n * float32.size, (float32,))
    (mlu.bang_float2half_rn if nearest else mlu.bang_float2half_rd)(dst, src, n)
    return None
