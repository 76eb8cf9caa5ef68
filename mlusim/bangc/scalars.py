"""C arithmetic: tables of operators and floating types, from which constant folding, the debugger and both renderers derive their code."""

import ast
import math
import operator
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from attrs import frozen

from mlusim.bangc import types as t

_HALF = struct.Struct("<e")


def single_rounder() -> Callable[[float], float]:
    """Return a function that rounds to float; it has a buffer of four bytes, so each thread needs its own."""
    cell = memoryview(bytearray(4)).cast("f")

    def f32(x: float) -> float:
        cell[0] = x
        return cell[0]

    return f32


def to_half(x: float) -> float:
    """Return *x* rounded to half."""
    try:
        # struct rounds to nearest even, like the device, and is faster than a NumPy scalar.
        return float(_HALF.unpack(_HALF.pack(float(x)))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def to_bfloat16(x: float) -> float:
    """Return *x* rounded to float, then to bfloat16, as compilers do."""
    with np.errstate(all="ignore"):
        # Rounding directly from double differs in the last bit if the intermediate float is a tie.
        return float(np.float32(x).astype(ml_dtypes.bfloat16))


def to_single(x: float) -> float:
    """Return *x* rounded to float."""
    with np.errstate(all="ignore"):
        return float(np.float32(x))


@frozen
class Real:
    """A floating type: rounding in Python and its name in translated code, and the conversions in C.

    Integers up to *exact* are representable. ``c_read`` converts a value of the type to float or double; the
    others convert a float, a double and an integer to the type.
    """

    type: t.Arithmetic
    rounds: Callable[[float], float]
    name: str | None
    exact: int
    c: str
    c_type: str
    c_read: str
    c_of_float: str
    c_of_double: str
    c_of_whole: str


REALS: Mapping[t.Arithmetic, Real] = {
    real.type: real
    for real in (
        # Through float, a double would be rounded twice on its way to half.
        Real(
            t.HALF, to_half, "_c_f16", 1 << 11, "f16", "f16", "from_f16({})", "to_f16({})",
            "narrow_to_f16({}, RN)", "narrow_to_f16((double)({}), RN)",
        ),
        Real(
            t.BFLOAT16, to_bfloat16, "_c_bf16", 1 << 8, "b16", "b16", "from_b16({})",
            "to_b16((float)({}))", "to_b16((float)({}))", "to_b16((float)({}))",
        ),
        Real(
            t.FLOAT, to_single, "_c_f32", 1 << 24, "f32", "float", "{}",
            "((float)({}))", "((float)({}))", "((float)({}))",
        ),
        Real(
            t.DOUBLE, float, None, 1 << 53, "f64", "double", "{}",
            "((double)({}))", "((double)({}))", "((double)({}))",
        ),
    )
}  # fmt: skip


def real_type(kind: t.Arithmetic) -> Real | None:
    """Return the row of a floating type, or None."""
    return REALS.get(t.Arithmetic(kind.name, kind.kind, kind.size))


def whole(x: float, low: int, high: int) -> int:
    """Round *x* toward zero; values out of range saturate and NaN becomes 0, as in the vendor's conversions (inferred)."""
    if x != x:  # noqa: PLR0124 - NaN is what differs from itself
        return 0
    return low if x <= low else high if x >= high else int(x)


NARROWED, OVERFLOW, SHIFT = "narrowed", "overflow", "shift"
FLOAT, COUNTER = "float-to-integer", "counter-wraps"
BEYOND, HALF = "float-overflow", "half-overflow"
"""Names of the ways in which C silently changes a number."""


def change_of_conversion(
    have: t.Arithmetic, to: t.Arithmetic, *, cast: bool = False, steps: bool = False
) -> str | None:
    """Return how C may silently change a number when it converts it from *have* to *to*; None if it only rounds.

    An explicit *cast* may drop bits of integers. With *steps* the number is a loop counter.
    """
    if to.kind == "float":
        if real_type(to) is REALS[t.HALF] and have.kind != "bool" and real_type(have) is not REALS[t.HALF]:
            return HALF
        return BEYOND if to == t.FLOAT and have == t.DOUBLE else None
    if have.kind == "float":
        return None if to.kind == "bool" else FLOAT
    if "bool" in (have.kind, to.kind) or cast or not (to.size < have.size or steps):
        return None
    return COUNTER if steps else NARROWED


def change_of_operation(op: str, kind: t.Arithmetic, *, steps: bool = False) -> str | None:
    """Return how C may silently change the result of ``op`` in the type *kind* (for a shift: the count); None if it only rounds."""
    if kind.kind == "float":
        return BEYOND if kind == t.FLOAT else HALF if real_type(kind) is REALS[t.HALF] else None
    if op in SHIFTS:
        return SHIFT
    # Unsigned numbers wrap by C's rules; a loop counter that wraps is reported in any type.
    if not BINARY[op].tested or not (kind.kind == "int" or steps):
        return None
    return COUNTER if steps else OVERFLOW


def kept(value: float, rule: str, low: int, high: int) -> int:
    """Return C's value for *value*, which does not fit an integer type [*low*, *high*]; for a shift, the value is the count."""
    if rule == SHIFT:
        # Larger counts are undefined in C; mask them as unchecked code does.
        return int(value) & ((high - low).bit_length() - 1)
    if isinstance(value, float):
        return whole(value, low, high)
    return (value - low) % (high - low + 1) + low


def divide(a: int, b: int) -> int:
    """``a / b`` toward zero."""
    # Python divides toward minus infinity, and a float division would lose bits of 64-bit integers.
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b > 0) else -quotient


def int_divide(a: int, b: int) -> int:
    """``a / b`` of int; the smallest int by -1 gives itself, which is undefined in C++."""
    quotient = divide(a, b)
    return quotient if quotient != 1 << 31 else -quotient


def long_divide(a: int, b: int) -> int:
    """``a / b`` of long; the smallest long by -1 gives itself, which is undefined in C++."""
    quotient = divide(a, b)
    return quotient if quotient != 1 << 63 else -quotient


def remainder(a: int, b: int) -> int:
    """``a % b`` with the sign of *a*."""
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def real_divide(a: float, b: float) -> float:
    """``a / b`` as in IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:  # noqa: PLR0124 - NaN is what differs from itself
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


@frozen
class BinaryOperator:
    """A binary operator: *whole* on integers and, unless None, *real* on floats, before wrapping or rounding.

    *python* is Python's operator for integers (for a division: with non-negative operands). With *ring*, low
    bits of the result depend only on low bits of the operands; with *grows*, the result may overflow.
    *helpers* are functions for translated Python by type size, *c* is the name prefix of the C run-time
    function; *tested* is the compiler's overflow-checking built-in.
    """

    sign: str
    python: type[ast.AST]
    whole: Callable[[Any, Any], Any]
    real: Callable[[Any, Any], Any] | None = None
    ring: bool = False
    grows: bool = False
    helpers: Mapping[int, tuple[str, Callable[[int, int], int]]] = MappingProxyType({})
    c: str = ""
    tested: str = ""
    shift: bool = False


_REST = ("_c_mod", remainder)
BINARY: Mapping[str, BinaryOperator] = {
    row.sign: row
    for row in (
        BinaryOperator("+", ast.Add, operator.add, operator.add, ring=True, grows=True, tested="add"),
        BinaryOperator("-", ast.Sub, operator.sub, operator.sub, ring=True, grows=True, tested="sub"),
        BinaryOperator("*", ast.Mult, operator.mul, operator.mul, ring=True, grows=True, tested="mul"),
        BinaryOperator(
            "/", ast.FloorDiv, divide, real_divide, c="quotient",
            helpers={4: ("_c_div", int_divide), 8: ("_c_long_div", long_divide)},
        ),
        BinaryOperator("%", ast.Mod, remainder, c="rest", helpers={4: _REST, 8: _REST}),
        BinaryOperator("&", ast.BitAnd, operator.and_, ring=True),
        BinaryOperator("|", ast.BitOr, operator.or_, ring=True),
        BinaryOperator("^", ast.BitXor, operator.xor, ring=True),
        BinaryOperator("<<", ast.LShift, operator.lshift, grows=True, shift=True),
        BinaryOperator(">>", ast.RShift, operator.rshift, shift=True),
    )
}  # fmt: skip
COMPARE: Mapping[str, BinaryOperator] = {
    row.sign: row
    for row in (
        BinaryOperator("==", ast.Eq, operator.eq, operator.eq),
        BinaryOperator("!=", ast.NotEq, operator.ne, operator.ne),
        BinaryOperator("<", ast.Lt, operator.lt, operator.lt),
        BinaryOperator("<=", ast.LtE, operator.le, operator.le),
        BinaryOperator(">", ast.Gt, operator.gt, operator.gt),
        BinaryOperator(">=", ast.GtE, operator.ge, operator.ge),
    )
}
SHIFTS = frozenset(sign for sign, row in BINARY.items() if row.shift)
DIVISIONS = frozenset(sign for sign, row in BINARY.items() if row.helpers)
HELPERS: Mapping[str, Callable[..., Any]] = {
    **{name: function for row in BINARY.values() for name, function in row.helpers.values()},
    **{real.name: real.rounds for real in REALS.values() if real.name and real.type != t.FLOAT},
    "_c_fdiv": real_divide,
    "_c_whole": whole,
}
"""The functions that translated Python calls, except rounding to float, which every core has itself (`single_rounder`)."""


def most_shift(kind: t.Arithmetic) -> int:
    """Return the largest legal shift count in an integer type; larger counts are undefined in C and taken modulo the width."""
    return 8 * kind.size - 1


def compute(op: str, a: Any, b: Any, within: t.Arithmetic) -> Any:
    """Return ``a op b`` in the type *within*; None if it is undefined in C: division by zero, or a shift count out of range."""
    row = BINARY[op]
    if within.kind == "float":
        assert row.real is not None
        return REALS[within].rounds(row.real(a, b))
    if (row.helpers and b == 0) or (row.shift and not 0 <= b <= most_shift(within)):
        return None
    return within.wrapped(row.whole(int(a), int(b)))


def compare(op: str, a: object, b: object) -> bool:
    """Return ``a op b``, a comparison of C."""
    return bool(COMPARE[op].whole(a, b))


def converted(value: Any, to: t.Arithmetic) -> Any:
    """Return a number converted to type *to*."""
    if to.kind == "bool":
        return bool(value)
    if to.kind == "float":
        return REALS[t.Arithmetic(to.name, to.kind, to.size)].rounds(_real(value))
    if isinstance(value, float):
        return whole(value, to.low, to.high)
    return to.wrapped(int(value))


def _real(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def usual(a: t.Arithmetic, b: t.Arithmetic) -> t.Arithmetic:
    """Return the type in which C computes with operands of types *a* and *b*."""
    # In order of rank; half and bfloat16 have no common type in C++.
    for real in (t.DOUBLE, t.FLOAT, t.HALF, t.BFLOAT16):
        if real in (a, b):
            return real
    a, b = promoted(a), promoted(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    # If both have one size, the unsigned one wins, as in C: -1 < 1u is false.
    return a if a.kind == "uint" else b


def promoted(a: t.Arithmetic) -> t.Arithmetic:
    """Return the promoted type of an operand of type *a*."""
    if a.kind == "float" or a.size > 4:
        return a
    return t.UINT32 if a.kind == "uint" and a.size == 4 else t.INT32
