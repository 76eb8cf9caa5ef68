"""Maximum and minimum, of -0 and +0 too, the same wherever they run."""

from collections.abc import Callable
from typing import Any

import numpy as np

# NumPy leaves the sign of a zero to the vector unit, so that it differs between processors, element types and the
# places of one array.  Here -0 is below +0, as IEEE 754-2019 has it; that the device does so is inferred.
# Given a signalling NaN and a float, the vector unit takes the float, the C library the NaN; NumPy asks the library about
# the last elements of an array, and on aarch64 about all.  Here a NaN of any kind loses, as it does for halves and bfloat16.

ZEROS = "-0 is below +0 (inferred)."
"""What the pages of these rows say."""
_SINGLE = np.dtype(np.float32)
_QUIET = np.uint32(1 << 22)


def _quiet(numbers: Any) -> Any:
    """*numbers*, floats, with the bit set in each NaN that makes it a quiet one."""
    bits = np.asarray(numbers, _SINGLE).view(np.uint32)
    return np.where(np.isnan(numbers), bits | _QUIET, bits).view(_SINGLE)


def _extreme(choose: np.ufunc, ties: np.ufunc, doc: str) -> Callable[..., Any]:
    """*choose* with the sign of zeros by *ties*, which joins the bits of equal numbers; *fmax* and *fmin* say that NaN loses."""
    loses = choose in (np.fmax, np.fmin)

    def extreme(a: Any, b: Any, out: Any = None) -> Any:
        if loses and getattr(a, "dtype", None) == _SINGLE and np.count_nonzero(np.isnan(np.maximum(a, b))):
            a, b = _quiet(a), _quiet(b)
        equal = np.equal(a, b)
        # Equal integers have the same bits.
        if not np.count_nonzero(equal) or np.result_type(a, b).kind in "iu":
            return choose(a, b, out=out)
        dtype = np.result_type(a, b)
        word = np.dtype(f"u{dtype.itemsize}")
        # Equal floats differ in their bits only as +0 and -0: `and` gives -0 of two, `or` of one.
        joined = ties(np.asarray(a, dtype).view(word), np.asarray(b, dtype).view(word))
        chosen = np.asarray(choose(a, b, out=out))
        np.copyto(chosen.view(word), joined, where=equal)
        return chosen if chosen.ndim else chosen[()]

    extreme.__doc__ = doc
    return extreme


maximum = _extreme(np.fmax, np.bitwise_and, "The larger number; a NaN loses against a number.")
minimum = _extreme(np.fmin, np.bitwise_or, "The smaller number; a NaN loses against a number.")
nan_maximum = _extreme(np.maximum, np.bitwise_and, "The larger number, or NaN where either is.")
nan_minimum = _extreme(np.minimum, np.bitwise_or, "The smaller number, or NaN where either is.")
EXTREMES = (maximum, minimum, nan_maximum, nan_minimum)
