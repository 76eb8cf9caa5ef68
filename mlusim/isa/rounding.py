"""The rounding modes named by the suffixes of conversions, exact, on whole vectors.

==== ===========================================================
tz   toward zero; also what a conversion without a suffix does
oz   away from zero
up   toward plus infinity
dn   toward minus infinity
rd   to the nearest, ties away from zero
rn   to the nearest, ties to the even neighbour
rm   to the nearest, ties toward plus infinity (inferred)
==== ===========================================================
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[Any]]


def _ties_away(x: Vector) -> Vector:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x).astype(x.dtype), whole)


def _ties_up(x: Vector) -> Vector:
    whole = np.floor(x)
    return np.where(x - whole >= 0.5, whole + x.dtype.type(1), whole)


# To an integer; float32 and float64 in, the same type out.
TO_WHOLE: Mapping[str, Callable[..., Any]] = {
    "tz": np.trunc,
    "oz": lambda x: np.copysign(np.ceil(np.abs(x)), x),  # keeps the sign of -0.0
    "up": np.ceil,
    "dn": np.floor,
    "rd": _ties_away,
    "rn": np.rint,
    "rm": _ties_up,
}

WORDS: Mapping[str, str] = {
    "tz": "toward zero",
    "oz": "away from zero",
    "up": "toward plus infinity",
    "dn": "toward minus infinity",
    "rd": "to the nearest, ties away from zero",
    "rn": "to the nearest, ties to even",
    "rm": "to the nearest, ties toward plus infinity (inferred)",
}


def saturate(whole: Vector, dtype: np.dtype[Any]) -> Vector:
    """Convert whole numbers to integers of *dtype*: values out of range become the nearest limit, NaN becomes 0.

    The result for NaN is unknown on the hardware; 0 is the default chosen.
    """
    limits = np.iinfo(dtype)
    # nan_to_num makes infinities finite as well; double represents every int32.
    clipped = np.clip(np.nan_to_num(whole.astype(np.float64), nan=0.0), limits.min, limits.max)
    return clipped.astype(np.int64).astype(dtype)


def to_nearest(exact: Vector, dtype: np.dtype[Any]) -> Vector:
    """Round float64 values once to the nearest number of a smaller float type, ties to even.

    The conversion to bfloat16 goes through float and would round twice, so the float is rounded to odd.
    """
    if dtype.name != "bfloat16":
        return exact.astype(dtype)
    near = np.asarray(exact, np.float64).astype(np.float32)
    back = near.astype(np.float64)
    even = near.view(np.int32) & 1 == 0
    side = np.where(exact > back, np.inf, -np.inf).astype(np.float32)
    odd = np.where((back != exact) & np.isfinite(near) & even, np.nextafter(near, side), near)
    return odd.astype(dtype)


def narrow(exact: Vector, dtype: np.dtype[Any], mode: str) -> Vector:
    """Round float64 values to a smaller float type in *mode*; NaN and infinities are kept.

    Directed modes overflow to the largest finite number or to infinity, as in IEEE 754.
    """
    nearest = to_nearest(exact, dtype)
    if mode == "rn":
        return nearest
    magnitude = np.abs(exact)
    # The neighbour toward zero: rounding to nearest may have gone beyond *exact*.
    near = np.where(
        np.abs(nearest.astype(np.float64)) > magnitude, np.nextafter(nearest, dtype.type(0)), nearest
    ).astype(dtype)
    if mode == "tz":
        return near
    infinity = np.copysign(np.full(exact.shape, np.inf), exact).astype(dtype)
    far = np.nextafter(near, infinity)
    return np.where(_takes_far(exact, near, far, mode), far, near).astype(dtype)


def _takes_far(exact: Vector, near: Vector, far: Vector, mode: str) -> Any:
    """Return a mask of the numbers *exact*, between *near* (toward zero) and *far*, that round to *far*."""
    here = near.astype(np.float64)
    rest = np.abs(exact - here)
    inexact = rest > 0
    if mode == "oz":
        return inexact
    if mode in ("up", "dn"):
        return inexact & ((exact > 0) == (mode == "up"))
    last = np.nextafter(near, near.dtype.type(0)).astype(np.float64)  # for the step beyond the largest number
    step = np.where(np.isfinite(far), np.abs(far.astype(np.float64) - here), np.abs(here - last))
    tie = 2 * rest == step
    return inexact & ((2 * rest > step) | (tie & ((exact > 0) if mode == "rm" else True)))


def odd_sum(first: Vector, second: Vector, total: Vector) -> Vector:
    """Round float64 *total*, the nearest sum of *first* and *second*, to odd.

    A later rounding to a type with fewer bits is then correct: an inexact sum ends in an odd bit, so it is
    never taken for a tie or for a number of that type.
    """
    # Knuth's two-sum: no assumption about which of both is larger.
    part = total - first
    rest = (first - (total - part)) + (second - part)  # exactly the rounding error of the sum
    lost = (rest != 0) & np.isfinite(rest)
    even = total.view(np.int64) & 1 == 0
    return np.where(lost & even, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)
