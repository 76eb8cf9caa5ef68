"""Arithmetic of the vendor's kernels: on C integers, single numbers and vectors, and sequences.

The integer functions include the padding macros; the vector functions are division, remainder, exponential,
logarithm and sigmoid.
"""

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex, overload

import numpy as np

from mlusim.arch.dtypes import DType, as_dtype, float32, half, int32, uint32
from mlusim.engine.arguments import Padded
from mlusim.errors import RuleFault, UsageError
from mlusim.isa.declare import NUMBERS
from mlusim.isa.fusion import FUSION_FMA, FUSION_FMS
from mlusim.isa.vv import LANES, Register
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr
from mlusim.mluops.checks import Helper

# Integer arithmetic as in C, and the padding macros.


def _whole(value: SupportsIndex) -> int:
    """Return *value* as a Python integer, which cannot overflow."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{value!r:.80} is not an integer; divide floats with `/`") from None


def cdiv(a: SupportsIndex, b: SupportsIndex) -> int:
    """``a / b`` of C integers: the quotient toward zero.

    Raises `UsageError` for operands that are not integers and `ZeroDivisionError` for b = 0.
    """
    a, b = _whole(a), _whole(b)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def cmod(a: SupportsIndex, b: SupportsIndex) -> int:
    """``a % b`` of C integers: the remainder with the sign of *a*; raises like `cdiv`."""
    a, b = _whole(a), _whole(b)
    return a - b * cdiv(a, b)


def i32(value: int) -> int:
    """Return *value* wrapped to a signed 32-bit integer."""
    wrapped = int(value) & 0xFFFF_FFFF
    return wrapped - (1 << 32) if wrapped >> 31 else wrapped


def u32(value: int) -> int:
    """Return *value* wrapped to an unsigned 32-bit integer."""
    return int(value) & 0xFFFF_FFFF


def DIV_UP(x: SupportsIndex, y: SupportsIndex) -> int:
    """Return the quotient of non-negative integers, rounded up; raises like `cdiv`."""
    x, y = _whole(x), _whole(y)
    return (x + y - 1) // y


def PAD_UP(x: SupportsIndex, y: SupportsIndex) -> int:
    """Return *x* rounded up to a multiple of *y*; the result remembers *x* if it differs."""
    rounded = DIV_UP(x, y) * _whole(y)
    before = getattr(x, "unpadded", _whole(x))
    return rounded if rounded == before else Padded(rounded, before)


def PAD_DOWN(x: SupportsIndex, y: SupportsIndex) -> int:
    """Return *x* rounded down to a multiple of *y*."""
    x, y = _whole(x), _whole(y)
    return x // y * y


def CEIL_ALIGN(x: SupportsIndex, align: SupportsIndex) -> int:
    """Return *x* rounded up to a multiple of *align*: another name of `PAD_UP` in the vendor's kernels."""
    return PAD_UP(x, align)


def FLOOR_ALIGN(x: SupportsIndex, align: SupportsIndex) -> int:
    """Return *x* rounded down to a multiple of *align*: another name of `PAD_DOWN` in the vendor's kernels."""
    return PAD_DOWN(x, align)


# Minimum, maximum and type tests of single numbers, and the conversion of floats to half.
#
# Every helper takes ``mlu`` first, including the first four, which execute no instruction.

_MIN, _MAX, _FLOAT2HALF = (Helper(f"__mluop_{name}") for name in ("min", "max", "float2half"))


def mluop_min(mlu: Mlu, a: object, b: object) -> Any:
    """Return the smaller of two numbers, as C writes it: ``a < b ? a : b``, so *b* if one is NaN.

    Certain (vendor's common.h). Raises `WrongSpace` unless both are numbers.
    """
    return a if _MIN.number(mlu, "a", a) < _MIN.number(mlu, "b", b) else b


def mluop_max(mlu: Mlu, a: object, b: object) -> Any:
    """Return the larger of two numbers, as C writes it: ``a > b ? a : b``, so *b* if one is NaN.

    Certain (vendor's common.h). Raises `WrongSpace` unless both are numbers.
    """
    return a if _MAX.number(mlu, "a", a) > _MAX.number(mlu, "b", b) else b


def mluop_is_float(mlu: Mlu, dtype: object) -> bool:  # noqa: ARG001 - mlu comes first everywhere
    """Return whether an element type, or its name, is float: ``__mluop_is_float<T>()``.

    Certain (vendor's common.h). Raises `UsageError` for other arguments.
    """
    return as_dtype(dtype) is float32


def mluop_is_half(mlu: Mlu, dtype: object) -> bool:  # noqa: ARG001 - mlu comes first everywhere
    """Return whether an element type, or its name, is half: ``__mluop_is_half<T>()``.

    Certain (vendor's common.h). Raises `UsageError` for other arguments.
    """
    return as_dtype(dtype) is half


@overload
def mluop_float2half(mlu: Mlu, dst: object) -> np.float16: ...


@overload
def mluop_float2half(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None: ...


def mluop_float2half(mlu: Mlu, dst: Any, src: Any = None, n: Any = None) -> np.float16 | None:
    """Convert floats to half, to the nearest, ties to even: *n* elements of *src*, or a single number.

    *dst* is half, *src* float, both in NRAM; *dst* may be exactly *src*.  Certain (vendor's common.h);
    that MLU2xx, which lacks this rounding, rounds ties away from zero is inferred.  Raises `WrongSpace`,
    `OutOfBounds` and `RuleFault` for operands of another type, room or count.
    """
    nearest = mlu.BANG_ARCH >= 300
    if src is None and n is None:
        value = float32(_FLOAT2HALF.number(mlu, "the number", dst))
        return mlu.float2half_rn(value) if nearest else mlu.float2half_rd(value)
    if src is None or n is None:
        legal = "(mlu, dst, src, n), or (mlu, number)"
        raise _FLOAT2HALF.refuse(mlu, RuleFault, "two operands are given", legal=legal)
    n = _FLOAT2HALF.count(mlu, "n", n)
    _FLOAT2HALF.span(mlu, "dst", dst, n * half.size, (half,))
    _FLOAT2HALF.span(mlu, "src", src, n * float32.size, (float32,))
    (mlu.bang_float2half_rn if nearest else mlu.bang_float2half_rd)(dst, src, n)
    return None


_DIV, _MOD = (Helper(f"__mluop_{name}") for name in ("div", "mod"))


def divides(mlu: Mlu) -> bool:
    """Return whether the architecture has a vector division: all from 3xx on except mtp_372."""
    return mlu.BANG_ARCH >= 300 and mlu.BANG_ARCH != 372


def invert(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None:
    """``dst[i] = 1 / src[i]`` in float, in the best precision of the architecture; *dst* is *src* or apart from it."""
    if mlu.BANG_ARCH >= 300:
        mlu.bang_recip(dst, src, n)
    else:
        mlu.bang_active_reciphp(dst, src, n)


def through_floats(
    mlu: Mlu, function: Callable[[Mlu, Ptr, Ptr, int], None], dst: Ptr, src: Ptr, room: Ptr, n: int
) -> None:
    """Apply *function* to *n* halves: convert them to floats in the buffer *room*, compute there in place, and round to *dst*."""
    mlu.bang_half2float(room, src, n)
    function(mlu, room, room, n)
    mluop_float2half(mlu, dst, room, n)


def mluop_div(
    mlu: Mlu, dst: Ptr, a: Ptr, b: Ptr, addition: Ptr | None, is_high_precision: bool, n: int
) -> None:
    """Divide: ``dst[i] = a[i] / b[i]`` for *n* elements of half or float in NRAM.

    On architectures with a division (3xx and later, except mtp_372) this is ``__bang_div``: *dst* may be
    exactly *a* or *b*, and *addition* is unused. Elsewhere it is a reciprocal and a product:

    * float: *dst* becomes ``1 / b`` first, so it must be apart from *a*; it may be exactly *b*.
    * half in high precision: *addition*, room for *n* floats, takes b; **b is overwritten by 1 / b**.
      *dst* may be exactly *a* or *b*; *a* and *b* must be apart, and *addition* apart from both.
    * half in low precision: by ``__bang_active_reciphp``, aliases as for float.

    *addition* may be None where it is not needed.  Certain (vendor's common.h); that MLU2xx inverts with
    ``__bang_active_reciphp`` is inferred.  Raises `RuleFault` for aliases and counts, `OutOfBounds` and
    `WrongSpace` for operands that are too short, of another type or in another memory.
    """
    n = _DIV.count(mlu, "n", n)
    precise = _DIV.flag(mlu, "is_high_precision", is_high_precision)
    to, dividend, divisor = _DIV.vectors(mlu, n, dst=dst, a=a, b=b)
    if divides(mlu):
        mlu.bang_div(dst, a, b, n)
        return
    if dst.dtype is half and precise:
        room = _DIV.scratch(mlu, "addition", addition, n, dividend, divisor)
        _DIV.apart(mlu, divisor, dividend, "b is overwritten by 1 / b before a is read; copy one of them")
        mlu.bang_half2float(room, b, n)
        invert(mlu, room, room, n)
        mluop_float2half(mlu, b, room, n)
        mlu.bang_mul(dst, a, b, n)
        return
    _DIV.apart(
        mlu, to, dividend, "without a division instruction dst is 1 / b before a is read; use another dst"
    )
    if dst.dtype is half:
        mlu.bang_active_reciphp(dst, b, n)
    else:
        invert(mlu, dst, b, n)
    mlu.bang_mul(dst, a, dst, n)


def mluop_mod(mlu: Mlu, dst: Ptr, src: Ptr, divisor: object, addition: Ptr | None, n: int) -> None:
    """Remainder of floats by one number: ``dst[i] = fmod(src[i], divisor)``, with the sign of *src*.

    *dst*, *src*: *n* floats in NRAM; *divisor*: a positive number. On architectures with a division this is
    ``__bang_rem``; *dst* may be exactly *src*, and *addition* may be None. On mtp_372 it is a product with
    the reciprocal, floor, and a correction by one: *dst* must be apart from *src*, *addition* is room for *n*
    floats, destroyed, apart from both, and quotients must stay below 2**22. Whole numbers come out exactly,
    others to a unit in the last place of *divisor*.

    Inferred: the vendor has a remainder of this name in its transforms; operands and method are mlusim's.
    Raises `RuleFault` for a divisor that is not positive and for aliases, others as `mluop_div`.
    """
    n = _MOD.count(mlu, "n", n)
    to, source = _MOD.vectors(mlu, n, (float32,), dst=dst, src=src)
    by = float32(_MOD.number(mlu, "divisor", divisor))
    if not 0 < by < np.inf:
        message, legal = f"divisor = {divisor!r}", "a positive finite number"
        raise _MOD.refuse(mlu, RuleFault, message, operand="divisor", legal=legal)
    if divides(mlu):
        mlu.bang_rem(dst, src, by, n)
        return
    _MOD.apart(mlu, to, source, "src is read again for its sign; use another dst")
    room = _MOD.scratch(mlu, "addition", addition, n, to, source)
    _remainder(mlu, dst, src, by, room, n)


def _remainder(mlu: Mlu, dst: Ptr, src: Ptr, by: Any, room: Ptr, n: int) -> None:
    """Compute the remainder without a division: *dst* holds the quotient first, then minus the remainder of ``|src|``."""
    mlu.bang_abs(room, src, n)
    mlu.bang_mul_scalar(dst, room, float32(1 / by), n)
    mlu.bang_floor(dst, dst, n)
    mlu.bang_fusion(FUSION_FMS, dst, dst, by, room, n, n)
    # As the reciprocal is rounded, the quotient may be one too large or too small.
    mlu.bang_gt_scalar(room, dst, 0, n)
    mlu.bang_mul_scalar(room, room, by, n)
    mlu.bang_sub(dst, dst, room, n)
    mlu.bang_le_scalar(room, dst, -by, n)
    mlu.bang_mul_scalar(room, room, by, n)
    mlu.bang_add(dst, dst, room, n)
    # The factor is -1 where src is not negative, else 1, because dst is minus the remainder.
    mlu.bang_ge_scalar(room, src, 0, n)
    mlu.bang_fusion(FUSION_FMA, room, room, -2, 1, n)
    mlu.bang_mul(dst, dst, room, n)


_POOL = Helper("__mluop_recursive_sum_pool")


def mluop_recursive_sum_pool(mlu: Mlu, dst: Ptr, low_dim: int, high_dim: int, kernel_limit: int) -> None:
    """Sum rows in place: ``dst[c] = sum of dst[r][c]`` over *high_dim* rows of *low_dim* elements, half or float.

    ``__bang_sumpool`` adds up to *kernel_limit* rows at a time, in place, until one is left; the rows after
    the first are destroyed. *kernel_limit* is at least 2, because with 1 the loop would never end. Certain
    (vendor's common.h). The order of the additions follows the windows, so compare floats with a tolerance.
    Raises `RuleFault` for counts, `OutOfBounds` and `WrongSpace` as the other helpers do.
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


# Exponential, natural logarithm and sigmoid of vectors, from powers and logarithms of two.

LOG2_E = np.uint32(0x3FB8AA3B).view(np.float32)  # log2(e), rounded to float
LN_2 = np.uint32(0x3F317217).view(np.float32)  # the vendor's bits: truncated, not rounded

_EXP, _LOG, _SIGMOID = (Helper(f"__mluop_{name}") for name in ("exp", "log", "sigmoid"))


def _power_of_e(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None:
    """``dst[i] = e ** src[i]`` in float; *dst* is *src* or apart from it."""
    if mlu.BANG_ARCH >= 300:
        mlu.bang_mul_scalar(dst, src, LOG2_E, n)
        mlu.bang_pow2(dst, dst, n)
    else:
        mlu.bang_active_exphp(dst, src, n)


def _log2(mlu: Mlu, dst: Ptr, src: Ptr, n: int) -> None:
    """``dst[i] = log2(src[i])`` in float; *dst* is *src* or apart from it."""
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


def mluop_log(mlu: Mlu, dst: Ptr, src: Ptr, addition: Ptr | None, is_high_precision: bool, n: int) -> None:
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
    mlu: Mlu, dst: Ptr, src: Ptr, addition: Ptr | None, is_high_precision: bool, n: int
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


# Arithmetic sequences: eight vector registers give the start, which vector additions then double repeatedly.
# Registers hold elements of 32 bits and exist from arch 372 on; elsewhere scalar stores write the first line.
# Values are those of the element type: integers wrap, and floats are exact for integers that the type
# represents exactly (below 2**24 in float, 2**11 in half).

LINE = 128  # bytes that a vector instruction processes per cycle: the part written by scalar stores
IN_REGISTERS = (float32, int32, uint32)
REGISTERS = 8  # registers at the start of a sequence

_STAGE, _TFUSE, _INDICES = (
    Helper(f"__mluop_{name}") for name in ("gen_stage_index", "get_stage_indices_tfuse", "get_indices")
)


def _ask(
    helper: Helper, mlu: Mlu, dst: Ptr, name: str, count: object, dtypes: tuple[DType, ...] = NUMBERS
) -> int:
    """Return *count* as a number of elements; raise the fault if dst is too short for them."""
    number = helper.count(mlu, name, count)
    helper.vectors(mlu, number, dtypes, dst=dst)
    return number


def _fill(helper: Helper, mlu: Mlu, dst: Ptr, n: int, start: object, step: object) -> None:
    # Return the terms as Python numbers of the element type of dst.
    first = dst.dtype(helper.number(mlu, "start", start)).item()
    stride = dst.dtype(helper.number(mlu, "step", step)).item()
    if dst.dtype in IN_REGISTERS and mlu.BANG_ARCH >= 372:
        filled = min(n, REGISTERS * LANES)
        begun = Register(dst.dtype)
        mlu.vv_index(begun, first, stride)
        mlu.vv_store(dst, begun, min(filled, LANES))
        for at in range(LANES, filled, LANES):
            register = Register(dst.dtype)
            mlu.vv_add(register, begun, dst.dtype(at * stride))
            mlu.vv_store(dst + at, register, min(filled - at, LANES))
    else:
        filled = min(n, LINE // dst.dtype.size)
        for i in range(filled):
            dst[i] = dst.dtype(first + i * stride)
    while filled < n:
        more = min(filled, n - filled)
        mlu.bang_add_scalar(dst + filled, dst, dst.dtype(filled * stride), more)
        filled += more


def mluop_gen_stage_index(mlu: Mlu, dst: Ptr, n: int, start: object = 0, step: object = 1) -> None:
    """Fill a sequence: ``dst[i] = start + i * step``, *n* elements of any type up to 32 bits in NRAM.

    *start* and *step* are converted to the element type first. The first 2048 bytes come from vector
    registers, or, for a type or an architecture without registers, the first 128 bytes from scalar stores;
    the rest is doubled. Certain (vendor's common.h) but for the defaults of *start* and *step* and for the
    length of the prologues, which are inferred. Raises `RuleFault` for counts, `OutOfBounds` and `WrongSpace`
    for dst and for terms that are not numbers.
    """
    _fill(_STAGE, mlu, dst, _ask(_STAGE, mlu, dst, "n", n), start, step)


def mluop_get_stage_indices_tfuse(mlu: Mlu, dst: Ptr, length: int) -> None:
    """Count: ``dst[i] = i``, *length* int32 in NRAM, any length.

    The vendor uses a fused assembly instruction for doubling; here it is ``__bang_add_scalar``, at the same
    cost. Certain (vendor's common.h). Raises faults like `mluop_gen_stage_index` does.
    """
    _fill(_TFUSE, mlu, dst, _ask(_TFUSE, mlu, dst, "length", length, (int32,)), 0, 1)


def mluop_get_indices(mlu: Mlu, dst: Ptr, start_index: float, length: int) -> None:
    """Count in floats: ``dst[i] = start_index + i``, *length* floats in NRAM; exact below 2**24.

    Certain (vendor's common.h).  Raises faults as `mluop_gen_stage_index` does.
    """
    number = _ask(_INDICES, mlu, dst, "length", length, (float32,))
    _fill(_INDICES, mlu, dst, number, _INDICES.number(mlu, "start_index", start_index), 1)
