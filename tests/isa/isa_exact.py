"""Exact arithmetic with rational numbers, and its rounding to the float formats: the tests' own definition."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

# name of the NumPy type: precision in bits, smallest exponent, largest exponent
FORMATS = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127), "float32": (24, -126, 127)}


def floor_log2(x):
    """The largest e with 2**e <= x, for a positive fraction."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def whole(x, mode):
    """A fraction to an integer, as the rounding suffix says."""
    low = math.floor(x)
    rest = x - low
    if rest == 0:
        return low
    half = Fraction(1, 2)
    return {
        "tz": low + (x < 0),
        "oz": low + (x > 0),
        "up": low + 1,
        "dn": low,
        "rd": low + (rest > half or (rest == half and x > 0)),
        "rn": low + (rest > half or (rest == half and low % 2 == 1)),
        "rm": low + (rest >= half),
    }[mode]


def nearest(x, dtype, mode="rn"):
    """A fraction rounded to a float format, as a Python float; too large ones become infinite as IEEE 754 says."""
    if x == 0:
        return 0.0
    precision, lowest, highest = FORMATS[np.dtype(dtype).name]
    exponent = max(floor_log2(abs(x)), lowest) - precision + 1
    unit = Fraction(2) ** exponent
    rounded = whole(x / unit, mode) * unit
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** highest
    if abs(rounded) <= largest:
        return float(rounded)
    inward = mode == "tz" or (mode == "dn" and x > 0) or (mode == "up" and x < 0)
    return math.copysign(float(largest) if inward else math.inf, x)


def fraction(value):
    """The exact value of a finite number of any NumPy type."""
    return Fraction(float(value))


def same(expected, actual):
    """Whether two floats are the same number, NaN being the same as NaN; zeros of either sign are."""
    expected, actual = float(expected), float(actual)
    return expected == actual or (math.isnan(expected) and math.isnan(actual))


BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float16), BF16, np.dtype(np.float32))
INTS = tuple(np.dtype(t) for t in ("int8", "int16", "int32", "uint8", "uint16", "uint32"))
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-7, 65504.0, -3.5, 6e-8, 1e38, 2.0**-149]
TAILS = (1, 31, 32, 33, 63, 64, 65, 127, 128, 129)


def samples(dtype, count, seed):
    """Values of every size of a type, the special ones of floats first."""
    rng = np.random.default_rng(seed)
    if dtype in INTS:
        limits = np.iinfo(dtype)
        values = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
        values[: min(count, 3)] = [limits.min, limits.max, 0][: min(count, 3)]
        return values
    with np.errstate(over="ignore"):
        values = (rng.standard_normal(count) * 2.0 ** rng.integers(-20, 16, count)).astype(dtype)
        special = np.array(SPECIAL).astype(dtype)
    rng.shuffle(special)
    values[: min(count, len(special))] = special[:count]
    return values


def exact(op, dtype, *operands):
    """*op* on exact numbers, rounded to *dtype*; not-a-number and infinities by Python's own floats."""
    if dtype in INTS:
        bits = 8 * dtype.itemsize
        low = op(*(int(x) for x in operands)) % (1 << bits)
        return low - (1 << bits) if dtype.kind == "i" and low >> (bits - 1) else low
    numbers = [float(x) for x in operands]
    if all(map(math.isfinite, numbers)):
        return nearest(op(*map(Fraction, numbers)), dtype)
    try:
        return op(*numbers)
    except OverflowError:
        return math.inf


def number_wins(choose):
    """The maximum or minimum where a NaN loses against a number."""

    def reference(a, b):
        a, b = float(a), float(b)
        return b if math.isnan(a) else a if math.isnan(b) else choose(a, b)

    return reference


def nan_wins(choose):
    """The maximum or minimum where a NaN is the result."""

    def reference(a, b):
        a, b = float(a), float(b)
        return math.nan if math.isnan(a) or math.isnan(b) else choose(a, b)

    return reference
