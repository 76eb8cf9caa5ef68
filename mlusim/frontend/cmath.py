"""Integer arithmetic as C does it, and the padding macros of the vendor's kernels."""

import operator
from typing import SupportsIndex

from mlusim.engine.padding import Padded
from mlusim.errors import UsageError


def _whole(value: SupportsIndex) -> int:
    """*value* as a Python integer, which does not overflow."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{value!r:.80} is no integer; divide floats with `/`") from None


def cdiv(a: SupportsIndex, b: SupportsIndex) -> int:
    """``a / b`` of C integers: the quotient toward zero.

    Raises `UsageError` for what is no integer and `ZeroDivisionError` for b = 0.
    """
    a, b = _whole(a), _whole(b)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def cmod(a: SupportsIndex, b: SupportsIndex) -> int:
    """``a % b`` of C integers: the remainder with the sign of *a*; raises as `cdiv` does."""
    a, b = _whole(a), _whole(b)
    return a - b * cdiv(a, b)


def i32(value: int) -> int:
    """*value* wrapped to a signed 32-bit integer."""
    wrapped = int(value) & 0xFFFF_FFFF
    return wrapped - (1 << 32) if wrapped >> 31 else wrapped


def u32(value: int) -> int:
    """*value* wrapped to an unsigned 32-bit integer."""
    return int(value) & 0xFFFF_FFFF


def DIV_UP(x: SupportsIndex, y: SupportsIndex) -> int:
    """Return the quotient of non-negative integers, rounded up; raises as `cdiv` does."""
    x, y = _whole(x), _whole(y)
    return (x + y - 1) // y


def PAD_UP(x: SupportsIndex, y: SupportsIndex) -> int:
    """*x* rounded up to a multiple of *y*; it remembers *x* where that is another."""
    rounded = DIV_UP(x, y) * _whole(y)
    before = getattr(x, "unpadded", _whole(x))
    return rounded if rounded == before else Padded(rounded, before)


def PAD_DOWN(x: SupportsIndex, y: SupportsIndex) -> int:
    """*x* rounded down to a multiple of *y*."""
    x, y = _whole(x), _whole(y)
    return x // y * y


def CEIL_ALIGN(x: SupportsIndex, align: SupportsIndex) -> int:
    """*x* rounded up to a multiple of *align*: another name of `PAD_UP` in the vendor's kernels."""
    return PAD_UP(x, align)


def FLOOR_ALIGN(x: SupportsIndex, align: SupportsIndex) -> int:
    """*x* rounded down to a multiple of *align*: another name of `PAD_DOWN` in the vendor's kernels."""
    return PAD_DOWN(x, align)
