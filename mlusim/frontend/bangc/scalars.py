"""Arithmetic of C on Python numbers: what folds constants is what translated code calls."""

import math
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from mlusim.frontend.bangc import types as t

_HALF = struct.Struct("<e")


def single_rounder() -> Callable[[float], float]:
    """Return a function that rounds to float; it owns four bytes, so each thread wants its own."""
    cell = memoryview(bytearray(4)).cast("f")

    def f32(x: float) -> float:
        cell[0] = x
        return cell[0]

    return f32


def to_half(x: float) -> float:
    """*x* rounded to half."""
    try:
        # struct rounds to nearest, ties to even, as the device does, and is cheaper than a scalar of NumPy.
        return float(_HALF.unpack(_HALF.pack(float(x)))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def to_bfloat16(x: float) -> float:
    """*x* rounded to float, then to bfloat16, as compilers compute with it."""
    with np.errstate(all="ignore"):
        # Straight from double, the last bit differs where the float in between is a tie.
        return float(np.float32(x).astype(ml_dtypes.bfloat16))


def to_single(x: float) -> float:
    """*x* rounded to float."""
    with np.errstate(all="ignore"):
        return float(np.float32(x))


ROUND: Mapping[t.Arithmetic, Callable[[float], float]] = MappingProxyType(
    {t.HALF: to_half, t.BFLOAT16: to_bfloat16, t.FLOAT: to_single, t.DOUBLE: float}
)


def wrap(value: int, to: t.Arithmetic) -> int:
    """*value* in the range of an integer type, modulo its size."""
    low, span = to.low, to.high - to.low + 1
    return (value - low) % span + low


def whole(x: float, low: int, high: int) -> int:
    """*x* toward zero; what does not fit saturates, and NaN is 0, as the vendor's conversions do (inferred)."""
    if x != x:  # noqa: PLR0124 - NaN is what differs from itself
        return 0
    return low if x <= low else high if x >= high else int(x)


def divide(a: int, b: int) -> int:
    """``a / b`` toward zero."""
    # Python divides toward minus infinity, and a float would lose bits of 64.
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b > 0) else -quotient


def int_divide(a: int, b: int) -> int:
    """``a / b`` of int: the smallest one by -1 is itself, where C++ leaves the result undefined."""
    quotient = divide(a, b)
    return quotient if quotient != 1 << 31 else -quotient


def long_divide(a: int, b: int) -> int:
    """``a / b`` of long: the smallest one by -1 is itself, where C++ leaves the result undefined."""
    quotient = divide(a, b)
    return quotient if quotient != 1 << 63 else -quotient


def remainder(a: int, b: int) -> int:
    """``a % b`` with the sign of *a*."""
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def real_divide(a: float, b: float) -> float:
    """``a / b`` of IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:  # noqa: PLR0124 - NaN is what differs from itself
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


_WHOLE: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": divide,
        "%": remainder,
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b,
        "<<": lambda a, b: a << b,
        ">>": lambda a, b: a >> b,
    }
)
_REAL: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": real_divide}
)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
)


def compute(op: str, a: Any, b: Any, within: t.Arithmetic) -> Any:
    """``a op b`` in the type *within*; None for what C leaves undefined: division by zero, a shift too far."""
    if within.kind == "float":
        return ROUND[within](_REAL[op](a, b))
    if (op in "/%" and b == 0) or (op in ("<<", ">>") and not 0 <= b < 8 * within.size):
        return None
    return wrap(_WHOLE[op](int(a), int(b)), within)


def compare(op: str, a: object, b: object) -> bool:
    """Return ``a op b``, a comparison of C."""
    return _COMPARE[op](a, b)


def converted(value: Any, to: t.Arithmetic) -> Any:
    """Return a number as one of type *to*."""
    if to.kind == "bool":
        return bool(value)
    if to.kind == "float":
        return ROUND[t.Arithmetic(to.name, to.kind, to.size)](_real(value))
    if isinstance(value, float):
        return whole(value, to.low, to.high)
    return wrap(int(value), to)


def _real(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def usual(a: t.Arithmetic, b: t.Arithmetic) -> t.Arithmetic:
    """Return the type in which C computes with *a* and *b*."""
    # In the order of their ranks; half beside bfloat16 has no common type in C++.
    for real in (t.DOUBLE, t.FLOAT, t.HALF, t.BFLOAT16):
        if real in (a, b):
            return real
    a, b = promoted(a), promoted(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    # Of equal size the one without a sign wins, as C has it: -1 < 1u is false.
    return a if a.kind == "uint" else b


def promoted(a: t.Arithmetic) -> t.Arithmetic:
    """Return the type that C computes in for one operand of type *a*."""
    if a.kind == "float" or a.size > 4:
        return a
    return t.UINT32 if a.kind == "uint" and a.size == 4 else t.INT32
